"""DP-CD: a public order, one entry of the gradient at a time."""

import numpy as np
import pytest
import scipy.sparse as sp

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.core import Noise
from dpsparse.core.facts import Penalty
from truth.coordinates import central_and_exact, easy, objective

PENALTIES = {
    "none": {},
    "l2": {"penalty": "l2", "alpha": 0.05},
    "l1": {"penalty": "l1", "alpha": 0.05},
    "elasticnet": {"penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.5},
    "box": {"penalty": "box", "box": 0.8},
}


def estimator(task, **options):
    options = {"epsilon": 1e4, "delta": 1e-5, "feature_bound": 1.0, "recipe": "dp_cd", **options}
    return SparseClassifier(**options) if task == "classification" else SparseRegressor(target_bound=4.0, **options)


def prepared(recipe=None, task="regression", n=1000, d=100, **options):
    made = estimator(task, **{"recipe": recipe or recipes.DPCD(), "epsilon": 1.0, **options})
    return prepared_for(made, n, d, sparse=False, models=1)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_without_noise_to_speak_of_it_is_the_same_solver_on_exact_answers(task, penalty):
    """At epsilon 1e4 the objective is within 1 % of the exact run with the same constants."""
    X, y = easy(task)
    options = PENALTIES[penalty]
    private, exact, facts = central_and_exact(estimator(task, **options), X, y)
    kind = Penalty(kind=options.get("penalty", "l2"), alpha=options.get("alpha", 0.0), l1_ratio=0.5)
    found, known = (objective(X, y, w[:-1], facts.intercept * w[-1], task, kind) for w in (private, exact))
    assert found == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize("order", ["shuffled", "uniform"])
@pytest.mark.parametrize("curvature", ["average", "private"])
def test_it_reaches_the_lasso(order, curvature):
    X, y = easy("regression")
    recipe = recipes.DPCD(steps=400, order=order, curvature=curvature)
    model = estimator("regression", recipe=recipe, penalty="l1", alpha=0.1).fit(X, y)
    twin = estimator("regression", recipe=recipes.GCD(steps=600), penalty="l1", alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.coef_, twin.coef_, atol=0.02)


def test_sparse_rows_are_fitted_like_dense_ones():
    X, y = easy("regression")
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    recipe = recipes.DPCD(steps=400)
    dense, sparse = (estimator("regression", recipe=recipe).fit(A, y) for A in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=0.02)


def test_the_order_is_public_and_fixed_by_its_seed():
    orders = [prepared(recipes.DPCD(steps=250, order_seed=seed)).plan.public["order"] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[0], orders[2])


def test_a_shuffled_order_visits_everything_once_a_pass_and_the_intercept_first():
    order = prepared(recipes.DPCD(steps=250)).plan.public["order"]
    assert order.size == 250
    for start in (0, 101):
        assert sorted(order[start : start + 101]) == list(range(101))
        assert order[start] == 100


def test_a_uniform_order_is_uniform():
    order = prepared(recipes.DPCD(steps=20_000, order="uniform")).plan.public["order"]
    counts = np.bincount(order, minlength=101)
    assert np.abs(counts - 20_000 / 101).max() < 6 * np.sqrt(20_000 / 101)  # false alarm 2e-7


def test_it_asks_for_one_entry_a_step_and_nothing_else():
    plan = prepared(recipes.DPCD(steps=30)).plan
    assert [(a.name, a.noise, a.times) for a in plan.asks] == [("values", Noise.GAUSSIAN, 30)]
    X, y = easy("regression")
    model = estimator("regression", recipe=recipes.DPCD(steps=42), keep_path=True).fit(X, y)
    assert model.path_.passes[-1] == pytest.approx(42 / 21)
    assert len(model.path_.iterates) == 42


def test_sparsity_keeps_the_largest_in_the_end():
    X, y = easy("regression")
    assert estimator("regression", sparsity=3).fit(X, y).support_.tolist() == [0, 1, 2]


def test_more_budget_more_steps():
    steps = [prepared(epsilon=e).solver.steps for e in (0.1, 1.0, 10.0, 1e4)]
    assert steps == sorted(steps)
    assert steps[0] >= 1
    assert steps[-1] == 10 * 101


def test_pure_privacy_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match="dp_gcd"):
        prepared(delta=0)


@pytest.mark.parametrize(
    ("field", "value"), [("order", "cyclic"), ("order_seed", -1), ("curvature", "data"), ("steps", 0), ("clip", -1.0)]
)
def test_wrong_fields_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=field):
        recipes.DPCD(**{field: value})
