"""When a fit ends nothing holds its rows: not even a cycle that the collector would find later."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.rows.shard import Shard

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (300, 6))
Y = X[:, 0] + 0.1 * rng.standard_normal(300)
SHARED = {"epsilon": 2.0, "delta": 1e-6, "feature_bound": 1.0, "random_state": 0}


@pytest.mark.parametrize(
    ("model", "rows", "y"),
    [
        (SparseRegressor(target_bound=1.0, **SHARED), X, Y),
        (SparseRegressor(target_bound=1.0, intervals="split", sparsity=2, **SHARED), X, Y),
        (SparseRegressor(target_bound=1.0, recipe="dp_ight", sparsity=2, **SHARED), sp.csr_matrix(X), Y),
        (SparseRegressor(target_bound=1.0, recipe=recipes.IGHT(steps=3), sparsity=2, **SHARED), X, Y),
        (SparseClassifier(**SHARED), X, np.digitize(Y, [-0.3, 0.3])),
        (SparseClassifier(recipe="dp_gcd", sparsity=2, **SHARED), X, (Y > 0).astype(int)),
    ],
    ids=["auto", "intervals", "sparse", "twin", "three classes", "minimiser"],
)
def test_the_rows_of_a_fit_are_given_back_at_once(model, rows, y):
    gc.collect()
    gc.disable()
    try:
        before = sum(type(held) is Shard for held in gc.get_objects())
        model.fit(rows, y)
        assert sum(type(held) is Shard for held in gc.get_objects()) == before
    finally:
        gc.enable()
