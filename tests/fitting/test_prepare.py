"""What is known before a row is read."""

import math

import numpy as np
import pytest

from builders import prepared_for
from dpsparse import Budget, SparseClassifier, SparseRegressor, recipes
from dpsparse.core import DataError, LedgerError, Noise
from dpsparse.core.statement import COST_NAMES
from dpsparse.fitting import FitRequest, Shape, plan_fit
from dpsparse.fitting.prepare import per_model, refuse_unguarded

BOUNDS = {"feature_bound": 1.0, "target_bound": 2.0}


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_is_prepared_from_its_arguments_and_a_shape(name):
    needs = tuple(recipes.make(name).needs)
    prepared = prepared_for(SparseRegressor(recipe=name, epsilon=3.0, accept=needs, **BOUNDS), 500, 20)
    assert (prepared.facts.n_rows, prepared.facts.n_features) == (500, 20)
    assert (prepared.priced is None) == (not prepared.recipe.private) == (prepared.bill is None)
    if prepared.priced is not None:
        assert prepared.priced.epsilon(prepared.delta) <= 3.0 * (1 + 1e-9)
        assert prepared.of_one_model.plan is prepared.plan


def test_a_rule_says_what_it_picked_and_why():
    prepared = prepared_for(SparseRegressor(**BOUNDS), 500, 20)
    assert prepared.recipe.name != "auto"
    assert prepared.reason.startswith(f"auto picked {prepared.recipe.name}")


def test_models_share_the_budget():
    clf = SparseClassifier(epsilon=1.0, delta=1e-6, feature_bound=1.0, recipe="dp_ight")
    one, three = (prepared_for(clf, 500, 20, models=k) for k in (1, 3))
    assert three.priced.epsilon(1e-6) == pytest.approx(one.priced.epsilon(1e-6), rel=1e-6)
    assert three.of_one_model.rho == pytest.approx(three.priced.rho / 3, rel=1e-9)
    assert per_model(Budget.zcdp(0.3), 3).rho == pytest.approx(0.1)


def test_baselines_have_no_price():
    prepared = prepared_for(SparseRegressor(recipe="ight", epsilon=-1.0, **BOUNDS), 50, 4)
    assert prepared.priced is None
    assert math.isnan(prepared.delta)


def test_sparse_rows_need_bounds_that_hold_zero():
    model = SparseRegressor(feature_bound=(1.0, 2.0), target_bound=1.0)
    prepared_for(model, 50, 4)
    with pytest.raises(DataError, match="must contain zero"):
        prepared_for(model, 50, 4, sparse=True)


def test_nothing_about_a_row_is_needed():
    """The whole public side is made from a mapping of arguments and four numbers."""
    arguments = SparseRegressor(**BOUNDS).get_params(deep=False)
    prepared = plan_fit(FitRequest.read(arguments, classifies=False), Shape(n_rows=100, n_features=5))
    assert np.all(prepared.facts.first() == 0)


def test_every_noise_has_a_name_in_statements():
    assert set(COST_NAMES) == set(Noise)


def test_ledgers_are_not_charged_for_what_they_do_not_cover():
    model = SparseRegressor(recipe="label_ldp_iht", epsilon=4.0, **BOUNDS)
    with pytest.raises(LedgerError, match="labels only"):
        refuse_unguarded(prepared_for(model, 100, 4).plan, "label_ldp_iht")
