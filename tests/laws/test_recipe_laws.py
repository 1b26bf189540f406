"""The laws over every registered recipe: replay, swap, asks = plan."""

import numpy as np
import pytest
import scipy.sparse as sp

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor, audit, recipes
from dpsparse.accounting import price
from dpsparse.core import Budget

PRIVATE = sorted(n for n, cls in recipes.REGISTRY.items() if cls.private)
EVERY = sorted(recipes.REGISTRY)
#: In the local model whoever collects reports sees who reports: neighbours are those of replace-one.
LOCAL = {"label_ldp_iht", "label_ldp_lasso", "ldp_iht", "ldp_moment"}
ADJACENT = [(n, a) for n in PRIVATE for a in ("replace-one", "add-remove") if n not in LOCAL or a == "replace-one"]


def data(kind: str, task: str) -> tuple:
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (120, 30))
    X *= rng.random(X.shape) < 0.5
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(120)
    X = {"dense": X, "sparse": sp.csr_matrix(X), "integers": np.rint(X).astype(np.int8)}[kind]
    return X, (y > 0).astype(int) if task == "classification" else y


def estimator(task: str, name: str, **options):
    options = {
        "epsilon": 3.0,
        "delta": 1e-5,
        "sparsity": 3,
        "feature_bound": 1.0,
        "recipe": name,
        "accept": recipes.get(name).needs,
        **options,
    }
    return SparseClassifier(**options) if task == "classification" else SparseRegressor(target_bound=2.0, **options)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("name", "adjacency"), ADJACENT)
def test_estimators_keep_replay_swap_and_asks_equal_plan(name, kind, task, adjacency):
    X, y = data(kind, task)
    audit.check_estimator_privacy(estimator(task, name, adjacency=adjacency, n_rows=X.shape[0]), X, y)


@pytest.mark.parametrize("name", PRIVATE)
def test_solvers_keep_replay_swap_and_asks_equal_plan(name):
    X, y = data("dense", "regression")
    est = estimator("regression", name)
    prepared = prepared_for(est, *X.shape, sparse=False, models=1)
    w = audit.check_solver(prepared.solver, prepared.facts, est.request().loss, X, y, budget=prepared.priced.budget)
    assert np.count_nonzero(w[:30]) <= 3


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_recipe_named_and_nothing_else_gives_a_working_fit(name, task):
    X, y = data("dense", task)
    model = estimator(task, name, epsilon=1.0, delta=None, sparsity=None).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert model.statement_.private is recipes.get(name).private
    assert model.statement_.recipe == recipes.get(name).name


@pytest.mark.parametrize("name", PRIVATE)
def test_the_plan_of_a_recipe_does_not_need_data_and_is_priced_within_budget(name):
    est = estimator("regression", name)
    prepared = prepared_for(est, 500, 60, sparse=False, models=1)
    budget = Budget.approx(3.0, 1e-5, "replace-one")
    assert price(prepared.plan, budget).epsilon() <= 3.0
    assert est.plan(500, 60).epsilon <= 3.0


@pytest.mark.parametrize("name", PRIVATE)
def test_integers_are_fitted_like_the_same_floats(name):
    X, y = data("integers", "regression")
    big = {"epsilon": 1e4, "delta": 1e-2, "random_state": 3}
    first, second = (estimator("regression", name, **big).fit(A, y).predict(X) for A in (X, X.astype(float)))
    assert np.corrcoef(first, second)[0, 1] > 0.9


@pytest.mark.parametrize("name", sorted(set(EVERY) - set(PRIVATE)))
def test_a_baseline_says_that_it_is_not_private(name):
    X, y = data("dense", "regression")
    statement = estimator("regression", name).fit(X, y).statement_
    assert not statement.private
    assert statement.epsilon == float("inf")
    assert str(statement).startswith("CAVEAT: no privacy")


@pytest.mark.parametrize(
    ("kind", "task", "positions"),
    [
        ("dense", "regression", (0, 59)),
        ("sparse", "classification", (30,)),
        pytest.param("dense", "classification", (0, 30, 59), marks=pytest.mark.slow),
        pytest.param("sparse", "regression", (0, 30, 59), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("name", "adjacency"), ADJACENT)
def test_no_question_moves_further_than_its_noise_was_made_for(name, kind, task, positions, adjacency):
    """Audit A6 for every recipe: adversarial records in the place of the first, of one in the middle and of the last.

    Questions by themselves are tried at every position in `test_row_laws`.
    """
    X, y = data(kind, task)
    X, y = X[:60, :12], y[:60]
    model = estimator(task, name, adjacency=adjacency, n_rows=X.shape[0])
    seen = audit.sensitivity_trace(model, X, y, positions=positions)
    assert seen.largest <= 1 + 1e-9
