"""skglm in an environment of its own, without privacy: l1-penalised logistic and linear regression, one fit for each line of standard input.

A line is a JSON object of settings with the file of the rows; the first line is not read. Answers are coefficients.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from skglm import Lasso, SparseLogisticRegression


@lru_cache(maxsize=1)
def rows(path: str) -> tuple[Any, np.ndarray]:
    """Training rows, sparse ones by columns."""
    with np.load(path) as z:
        if "data" in z.files:
            X = sp.csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"])).astype(float).tocsc()
        else:
            X = np.asfortranarray(z["X"], dtype=float)
        return X, z["y"]


def fit(X: Any, y: np.ndarray, given: dict[str, Any]) -> dict[str, Any]:
    """One fit; the penalty is `part` of the least one that leaves no coefficient."""
    start = time.process_time()
    classes = given["task"] == "classification"
    slope = np.abs(X.T @ (y - y.mean())).max() / y.size
    kind = SparseLogisticRegression if classes else Lasso
    model = kind(alpha=float(given["part"] * slope)).fit(X, y)
    return {
        "coef": np.ravel(model.coef_).tolist(),
        "intercept": float(np.ravel(model.intercept_)[0]),
        "seconds": time.process_time() - start,
    }


def main() -> None:
    """Answer lines until there are no more."""
    warnings.simplefilter("ignore")
    sys.stdin.readline()
    for line in sys.stdin:
        given = json.loads(line)
        print(json.dumps(fit(*rows(given["rows"]), given)), flush=True)


if __name__ == "__main__":
    main()
