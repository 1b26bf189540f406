"""GCD, the non-private twin: it reaches the optimum of every convex objective that it takes."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.optimize import lsq_linear
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge

from dpsparse import SparseClassifier, SparseRegressor, recipes
from truth.coordinates import easy

PROXIMAL = ("gs-s", "gs-r", "gs-q")


def regressor(rule="gs-r", steps=600, **options):
    options = {"recipe": recipes.GCD(rule=rule, steps=steps), "feature_bound": 1.0, "target_bound": 9.0, **options}
    return SparseRegressor(**options)


@pytest.mark.parametrize("rule", PROXIMAL)
@pytest.mark.parametrize("ratio", [1.0, 0.4], ids=["l1", "elasticnet"])
def test_it_is_the_lasso(rule, ratio):
    X, y = easy("regression")
    model = regressor(rule, penalty="elasticnet", alpha=0.1, l1_ratio=ratio).fit(X, y)
    known = (Lasso(alpha=0.1, tol=1e-13) if ratio == 1 else ElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-13)).fit(X, y)
    np.testing.assert_allclose(model.coef_, known.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(known.intercept_, abs=1e-6)


@pytest.mark.parametrize("rule", ["gs", *PROXIMAL])
def test_it_is_ridge_regression(rule):
    X, y = easy("regression")
    model = regressor(rule, penalty="l2", alpha=0.1).fit(X, y)
    known = Ridge(alpha=0.1 * y.size).fit(X, y)
    np.testing.assert_allclose(model.coef_, known.coef_, atol=1e-6)


@pytest.mark.parametrize("rule", PROXIMAL)
def test_it_solves_least_squares_in_a_box(rule):
    X, y = easy("regression")
    model = regressor(rule, penalty="box", box=0.8).fit(X, y)
    edge = np.r_[np.full(20, 0.8), np.inf]
    known = lsq_linear(np.c_[X, np.ones(y.size)], y, bounds=(-edge, edge), tol=1e-14)
    np.testing.assert_allclose(model.coef_, known.x[:-1], atol=1e-6)


@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_it_is_logistic_regression(kind):
    X, y = easy("classification")
    model = SparseClassifier(feature_bound=1.0, recipe=recipes.GCD(steps=1500), penalty=kind, alpha=0.02).fit(X, y)
    solver = {"l2": "newton-cholesky", "l1": "saga"}[kind]
    recent = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    ratio = {"l1_ratio": float(kind == "l1")} if recent else {"penalty": kind}
    known = LogisticRegression(C=1 / (0.02 * y.size), solver=solver, tol=1e-10, max_iter=10_000, **ratio).fit(X, y)
    np.testing.assert_allclose(model.coef_, known.coef_, atol=1e-6)


def test_it_finds_the_support_and_stops_at_the_allowed_number():
    X, y = easy("regression")
    assert regressor(sparsity=3).fit(X, y).support_.tolist() == [0, 1, 2]


def test_sparse_rows_give_the_same_model_and_are_not_centred():
    X, y = easy("regression")
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, sparse = (regressor(penalty="l1", alpha=0.05).fit(A, y) for A in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-6)


def test_the_error_falls_linearly_on_a_log_scale():
    """Greedy coordinate descent converges linearly: the log of the gap to the optimum is a line, down to rounding."""
    X, y = easy("regression")
    model = regressor(steps=120, penalty="l2", alpha=0.05, keep_path=True).fit(X, y)
    best = regressor(steps=2000, penalty="l2", alpha=0.05, keep_path=True).fit(X, y).path_.iterates[-1]
    gaps = np.log([np.linalg.norm(w - best) for w in model.path_.iterates[5:80]])
    steps = np.arange(gaps.size)
    fitted = np.polyval(np.polyfit(steps, gaps, 1), steps)
    assert np.corrcoef(fitted, gaps)[0, 1] > 0.97
    assert gaps[-1] < gaps[0] - 5


@pytest.mark.parametrize(("field", "value"), [("rule", "best"), ("steps", 0), ("step_size", -1.0)])
def test_wrong_fields_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=field):
        recipes.GCD(**{field: value})
