"""Compile the kernels of usual fits, so that nobody's first fit waits for it: made-up rows, dense and sparse."""

import os
import warnings

os.environ["DPSPARSE_KERNELS"] = "compiled"
import numpy as np
import scipy.sparse as sp

from dpsparse import SparseClassifier, SparseRegressor

warnings.simplefilter("ignore")  # a seed, and budgets too small for so few rows
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (600, 40))
y = X[:, 0] + 0.1 * rng.standard_normal(600)
for rows in (X, sp.csr_matrix(X * (rng.random(X.shape) < 0.1))):
    SparseClassifier(feature_bound=1.0, random_state=0).fit(rows, (y > 0).astype(int))
    SparseClassifier(feature_bound=1.0, random_state=0).fit(rows, np.digitize(y, [-0.3, 0.3]))
    SparseRegressor(feature_bound=1.0, target_bound=1.0, sparsity=5, random_state=0).fit(rows, y)
