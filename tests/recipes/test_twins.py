"""Twins without privacy reach the optimum: of scikit-learn on a support, and of an exhaustive search where one is possible."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from dpsparse import SparseClassifier, SparseRegressor, recipes

NAMES = ("ight", "sgd_ht", "scsg_ht", "svrg_ht", "gcd")


def data():
    """Columns with a common factor: plain steps creep."""
    rng = np.random.default_rng(0)
    X = np.clip(0.8 * rng.uniform(-1, 1, (400, 1)) + 0.2 * rng.uniform(-1, 1, (400, 8)), -1, 1)
    return X, X @ [2.0, -1.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.5] + 0.1 * rng.standard_normal(400)


@pytest.mark.parametrize("name", NAMES)
def test_coefficients_are_those_of_least_squares_on_the_support(name):
    X, y = data()
    model = SparseRegressor(recipe=name, sparsity=3, feature_bound=1.0, target_bound=5.0, random_state=0).fit(X, y)
    known = LinearRegression().fit(X[:, model.support_], y)
    assert len(model.support_) == 3
    np.testing.assert_allclose(model.coef_[model.support_], known.coef_, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_coefficients_are_those_of_logistic_regression_on_the_support(name):
    X, y = data()
    y = (y > 0).astype(int)
    options = {"sparsity": 3, "feature_bound": 1.0, "alpha": 0.01, "random_state": 0}
    model = SparseClassifier(recipe=name, **options).fit(X, y)
    known = LogisticRegression(C=1 / (400 * 0.01), tol=1e-10, max_iter=5000).fit(X[:, model.support_], y)
    np.testing.assert_allclose(model.coef_.ravel()[model.support_], known.coef_.ravel(), rtol=1e-3, atol=1e-4)


def test_a_restart_finds_the_best_of_all_supports():
    X, y = data()

    def loss(support):
        return float(np.mean((y - LinearRegression().fit(X[:, support], y).predict(X[:, support])) ** 2))

    best = min(loss(list(c)) for c in itertools.combinations(range(8), 3))
    options = {"sparsity": 3, "feature_bound": 1.0, "target_bound": 5.0}
    found = {
        restart: loss(SparseRegressor(recipe=recipes.IGHT(restart=restart), **options).fit(X, y).support_.tolist())
        for restart in (False, True)
    }
    assert found[True] == pytest.approx(best, rel=1e-9)
    assert found[True] <= found[False]


def test_a_loop_that_has_converged_asks_no_more():
    X, y = data()
    model = SparseRegressor(
        recipe="lasso", alpha=0.05, penalty="l1", feature_bound=1.0, target_bound=5.0, keep_path=True
    )
    assert model.fit(X, y).path_.passes[-1] < 1000
