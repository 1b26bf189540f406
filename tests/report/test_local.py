"""The planner says how many people the local model needs."""

import re

import numpy as np
import pytest

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.report.planner.local import people_needed, warnings


def prepared(recipe="ldp_iht", n=1000, p=500, epsilon=1.0, task="regression", **options):
    shared = {"epsilon": epsilon, "recipe": recipe, "sparsity": 5, "feature_bound": 1.0, **options}
    model = SparseRegressor(target_bound=4.0, **shared) if task == "regression" else SparseClassifier(**shared)
    return prepared_for(model, n, p, sparse=False, models=1)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("recipe", ["ldp_iht", "label_ldp_iht", "label_ldp_lasso"])
def test_too_few_people_are_told_how_many_are_needed(recipe, task):
    *before, said = warnings(prepared(recipe, n=60, task=task))
    public = ["features are treated as public: only labels are protected"] if recipe.startswith("label") else []
    assert before == public
    assert said.startswith("60 people are too few for 500 features at epsilon = 1: about ")
    number = int(re.search(r"about ([\d,]+) are needed", said).group(1).replace(",", ""))
    assert list(warnings(prepared(recipe, n=20 * number, task=task))) == public


def test_the_lower_bounds_are_quoted():
    assert "p/(n eps^2) = 0.5 at least" in warnings(prepared(n=1000, p=500))[0]
    assert "C^2 s ln(p/s)/(n eps^2)" in warnings(prepared("label_ldp_iht", n=100))[1]
    assert "label_ldp_iht" in warnings(prepared(n=1000, p=500))[0]
    assert "label_ldp_iht" not in warnings(prepared("label_ldp_iht", n=100))[1]


@pytest.mark.parametrize("recipe", ["dp_ight", "ight", "auto"])
def test_other_plans_are_left_alone(recipe):
    assert warnings(prepared(recipe, n=50)) == ()


def test_the_number_grows_with_features_in_the_full_local_model_and_hardly_for_labels():
    full = [people_needed(prepared("ldp_iht", n=1000, p=p)) for p in (50, 800)]
    labels = [people_needed(prepared("label_ldp_iht", n=1000, p=p)) for p in (50, 800)]
    assert full[1] / full[0] > 12
    assert labels[1] / labels[0] < 2


def test_the_number_falls_like_the_square_of_a_small_epsilon():
    few, many = (people_needed(prepared("ldp_iht", n=1000, p=100, epsilon=e)) for e in (0.5, 0.25))
    assert many / few == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_the_number_parts_hopeless_plans_from_good_ones(factor):
    p, s = 20, 2
    options = {"epsilon": 2.0, "sparsity": s}
    needed = people_needed(prepared("ldp_iht", n=20_000, p=p, **options))
    n = int(factor * needed)
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, p))
    truth = np.zeros(p)
    truth[:s] = 4 / 3 / np.sqrt(s)
    model = SparseRegressor(recipe="ldp_iht", feature_bound=1.0, target_bound=4.0, random_state=0, **options)
    model.fit(X, X @ truth + rng.uniform(-0.05, 0.05, n))
    error = np.linalg.norm(model.coef_ - truth) / np.linalg.norm(truth)
    assert error > 0.4 if factor < 1 else error < 0.15


def test_summaries_carry_the_warning():
    model = SparseRegressor(recipe="ldp_iht", feature_bound=1.0, target_bound=4.0, sparsity=5)
    assert any("people are too few" in w for w in model.plan(1000, 500).warnings)
