"""Every recipe with its defaults: without noise to speak of it is never worse than the constant, on correlated columns and behind links."""

import numpy as np
import pytest

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.losses import KnownLink, Poisson

#: All but those that rest on an assumption about the columns, which correlated ones break.
PRIVATE = sorted(name for name, cls in recipes.REGISTRY.items() if cls.private and not cls.needs)
GRADIENTS = sorted({*PRIVATE} - {"two_stage", "dpsl_kt", "select_polish", "label_ldp_lasso"})
N, D = 900, 24


def correlated(seed=0):
    """Columns that share two factors: the largest eigenvalue of their covariance is about 12 times the mean one."""
    rng = np.random.default_rng(seed)
    common = rng.uniform(-1, 1, (N, 2)) @ rng.uniform(0.3, 1.0, (2, D))
    X = np.clip(0.6 * common + 0.25 * rng.uniform(-1, 1, (N, D)), -1, 1)
    return X, X @ np.r_[1.0, -0.7, 0.8, np.zeros(D - 3)], rng


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_it_is_never_worse_than_the_constant_on_correlated_columns(name, task):
    X, margin, rng = correlated()
    options = {"epsilon": 1e4, "delta": 1e-6, "feature_bound": 1.0, "sparsity": 4, "recipe": name, "random_state": 0}
    if task == "regression":
        y = margin + 0.1 * rng.standard_normal(N)
        model = SparseRegressor(target_bound=2.5, **options).fit(X, y)
        assert model.score(X, y) > 0
    else:
        y = (rng.random(N) < 1 / (1 + np.exp(-4 * margin))).astype(int)
        model = SparseClassifier(**options).fit(X, y)
        assert model.score(X, y) >= max(y.mean(), 1 - y.mean())


@pytest.mark.parametrize("name", [name for name in GRADIENTS if name != "tables"])  # which refuses links
@pytest.mark.parametrize("loss", [Poisson(), KnownLink("tanh", target=1.1)], ids=["poisson", "tanh"])
def test_it_moves_behind_a_link_whose_worst_case_bends_far_more_than_it_does(name, loss):
    """At least half of the truth is found, though Poisson's curvature may be 20 and is about 1."""
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (3000, 20))
    truth = np.r_[0.5, -0.4, 0.3, np.zeros(17)]
    mean = X @ truth
    y = rng.poisson(np.exp(mean)).astype(float) if loss.name == "poisson" else np.tanh(mean)
    bound = 10.0 if loss.name == "poisson" else 1.1
    model = SparseRegressor(
        epsilon=1e4,
        delta=1e-6,
        feature_bound=1.0,
        target_bound=bound,
        sparsity=3,
        loss=loss,
        fit_intercept=False,
        recipe=name,
        random_state=0,
    ).fit(X, y)
    assert np.linalg.norm(model.coef_ - truth) < 0.5 * np.linalg.norm(truth)
