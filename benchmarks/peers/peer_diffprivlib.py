"""diffprivlib in an environment of its own: logistic and linear regression with pure epsilon, one fit for each line of standard input.

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
from diffprivlib.models import LinearRegression, LogisticRegression


@lru_cache(maxsize=1)
def rows(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Training rows, dense: it takes no others."""
    with np.load(path) as z:
        if "data" in z.files:
            X = sp.csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"])).toarray()
        else:
            X = z["X"]
        return X.astype(float), z["y"]


def fit(X: np.ndarray, y: np.ndarray, given: dict[str, Any]) -> dict[str, Any]:
    """One fit: with its defaults, or with the regularisation that is given."""
    start = time.process_time()
    if given["task"] == "classification":
        strength = {"C": given["C"]} if "C" in given else {}
        model = LogisticRegression(
            epsilon=given["epsilon"], data_norm=given["row_norm"], random_state=given["seed"], **strength
        )
    else:
        low, high = given["entries"]
        model = LinearRegression(
            epsilon=given["epsilon"], bounds_X=(low, high), bounds_y=(-1.0, 1.0), random_state=given["seed"]
        )
    model.fit(X, y)
    intercept = float(np.ravel(model.intercept_)[0])
    return {
        "coef": np.ravel(model.coef_).tolist(),
        "intercept": intercept,
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
