"""Requests: every argument checked once, and the rules that stand once."""

import dataclasses

import numpy as np
import pytest

from dpsparse import Budget, Ledger, SparseClassifier, SparseRegressor
from dpsparse.core import Adjacency, AssumptionError, BudgetError, PrivacyError
from dpsparse.fitting import FitRequest, Shape, default_delta, models_of, public_rows, stated_budget
from dpsparse.recipes import Auto


def regressor(**options):
    return SparseRegressor(**{"feature_bound": 1.0, "target_bound": 2.0, **options})


@pytest.mark.parametrize(("n", "delta"), [(1, 1e-6), (10**5, 1e-6), (10**6, 1e-7), (None, 1e-6)])
def test_the_default_delta(n, delta):
    assert default_delta(n) == pytest.approx(delta, rel=1e-12)


def test_public_rows_are_found_or_declared():
    assert public_rows(None, Adjacency.REPLACE_ONE, 7) == 7
    assert public_rows(7, Adjacency.REPLACE_ONE, 7) == 7
    assert public_rows(9, Adjacency.ADD_REMOVE, 7) == 9
    with pytest.raises(PrivacyError, match="another number of rows"):
        public_rows(8, Adjacency.REPLACE_ONE, 7)
    with pytest.raises(PrivacyError, match="n_rows must be declared"):
        public_rows(None, Adjacency.ADD_REMOVE, 7)
    with pytest.raises(ValueError, match="n_rows must be a positive integer"):
        public_rows(0, Adjacency.ADD_REMOVE, 7)


def test_messages_about_rows_do_not_tell_how_many_there_are():
    with pytest.raises(PrivacyError) as caught:
        public_rows(8, Adjacency.REPLACE_ONE, 7919)
    assert "7919" not in str(caught.value)


@pytest.mark.parametrize(("classes", "models"), [(None, 1), ([0, 1], 1), ((1, 2, 3), 3), (np.arange(5), 5)])
def test_the_number_of_models(classes, models):
    assert models_of(classes) == models


def test_a_budget_in_another_language_keeps_the_default_delta():
    budget, delta = stated_budget(Budget.zcdp(0.1), 1.0, None, "replace-one", 10**7)
    assert (budget.rho, delta) == (0.1, pytest.approx(1e-8))
    assert stated_budget(None, 2.0, None, "add-remove", 100)[0].epsilon == 2.0
    with pytest.raises(BudgetError, match=r"Budget\.zcdp"):
        stated_budget(0.1, 1.0, None, "replace-one", 100)


def test_a_request_is_frozen_and_holds_every_argument_of_both_estimators():
    fields = {f.name for f in dataclasses.fields(FitRequest)}
    for model in (SparseRegressor(), SparseClassifier()):
        folded = {"alpha", "l1_ratio", "box"}  # in `penalty`
        assert set(model.get_params(deep=False)) - folded <= fields
    request = regressor().request()
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.epsilon = 2.0


def test_arguments_become_plain_things(tmp_path):
    address = f"sqlite:///{tmp_path}/b.db"
    request = regressor(penalty="l1", alpha=0.3, ledger=address, dataset="d", sparsity=np.int64(3)).request()
    assert (request.penalty.kind, request.penalty.alpha) == ("l1", 0.3)
    assert isinstance(request.ledger, Ledger)
    assert isinstance(request.recipe, Auto)
    assert type(request.sparsity) is int
    declared = SparseClassifier(feature_bound=1.0, classes=["b", "a", "b"]).request()
    assert declared.classes.tolist() == ["a", "b"]


def test_a_later_change_of_the_callers_arrays_does_not_reach_facts():
    bound, start = np.ones(3), np.zeros(3)
    request = regressor(feature_bound=bound, start=start).request()
    facts = request.facts(Shape(n_rows=10, n_features=3))
    bound[:], start[:] = 9.0, 9.0
    assert facts.upper.tolist() == [1.0, 1.0, 1.0]
    assert facts.start.tolist() == [0.0, 0.0, 0.0]


def test_assumptions_must_be_accepted_by_name():
    from dpsparse import recipes

    needy = next(r for r in (recipes.make(n) for n in recipes.REGISTRY) if r.needs)
    with pytest.raises(AssumptionError, match="accept="):
        regressor().request().check_accepted(needy)
    regressor(accept=needy.needs).request().check_accepted(needy)


@pytest.mark.parametrize("bad", [True, 2.0, "3", 0, -1])
def test_shapes_are_whole_numbers(bad):
    with pytest.raises(ValueError, match="n_features must be a positive integer"):
        Shape(n_rows=5, n_features=bad)
