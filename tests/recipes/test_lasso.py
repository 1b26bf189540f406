"""The lasso twin against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.linear_model import Lasso as Reference

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.losses import Huber
from dpsparse.recipes import Lasso
from truth.coordinates import easy


def estimator(**options):
    return SparseRegressor(**{"feature_bound": 1.0, "target_bound": 10.0, "recipe": "lasso", **options})


@pytest.mark.parametrize("shape", [(300, 20), (100, 200)])
@pytest.mark.parametrize("alpha", [0.02, 0.1])
def test_it_reaches_the_solution_of_scikit_learn(shape, alpha):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, shape)
    y = X[:, :3] @ [1.0, -2.0, 0.7] + 0.4 + 0.1 * rng.standard_normal(shape[0])
    known = Reference(alpha=alpha, tol=1e-12, max_iter=200_000).fit(X, y)
    found = estimator(penalty="l1", alpha=alpha).fit(X, y)
    np.testing.assert_allclose(found.coef_, known.coef_, atol=1e-5)
    assert found.intercept_ == pytest.approx(known.intercept_, abs=1e-5)


def test_it_reaches_the_elastic_net():
    X, y = easy("regression")
    known = ElasticNet(alpha=0.2, l1_ratio=0.3, tol=1e-12, max_iter=100_000).fit(X, y)
    found = estimator(penalty="elasticnet", alpha=0.2, l1_ratio=0.3).fit(X, y)
    np.testing.assert_allclose(found.coef_, known.coef_, atol=1e-5)


def test_sparse_rows_give_the_same_coefficients():
    X, y = easy("regression")
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, sparse = (estimator(penalty="l1", alpha=0.05).fit(A, y).coef_ for A in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(dense, sparse, atol=1e-6)


def test_logistic_loss_reaches_the_penalised_optimum():
    X, y = easy("classification")
    known = LogisticRegression(solver="saga", C=1 / (0.02 * 1000), l1_ratio=1.0, tol=1e-9, max_iter=20_000).fit(X, y)
    found = SparseClassifier(feature_bound=1.0, recipe="lasso", penalty="l1", alpha=0.02).fit(X, y)
    np.testing.assert_allclose(np.ravel(found.coef_), np.ravel(known.coef_), atol=1e-4)


def test_a_loss_that_is_flat_at_the_start_is_minimised_too():
    """Huber's second derivative is zero for all rows at w = 0 here, so the power method sees nothing."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (200, 4))
    y = 5.0 + X[:, 0]
    model = estimator(loss=Huber(threshold=0.1), penalty="l1", alpha=1e-4).fit(X, y)
    assert np.mean(np.abs(model.predict(X) - y)) < 0.05


def test_a_default_strength_is_chosen_where_none_is_given():
    X, y = easy("regression")
    model = estimator().fit(X, y)
    assert {0, 1, 2} <= set(model.support_)
    assert model.score(X, y) > 0.9
    assert np.count_nonzero(estimator(sparsity=2).fit(X, y).coef_) == 2


def test_other_penalties_are_refused():
    X, y = easy("regression")
    with pytest.raises(ValueError, match="cannot take penalty"):
        estimator(penalty="l2", alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="steps"):
        Lasso(steps=0)
