"""What every peer's script shares: rows from a file, fits asked for line by line, predictions of the held-out rows.

A line of standard input is a JSON object of settings with the file of the rows; the first line is not read. Columns lie in
[-1, 1], or are sparse rows of length 1; numbers to predict lie in [-1, 1], classes are 0 and 1. An answer has predictions, or
log-odds, of the held-out rows; or the type of the error. It is imported in the peers' environments, so it needs NumPy and SciPy alone.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

Parts = tuple[Any, np.ndarray, Any]


@lru_cache(maxsize=1)
def rows(path: str) -> Parts:
    """Training rows, their targets, and the rows to predict."""
    found = []
    with np.load(path) as z:
        for end in ("", "_test"):
            if "data" in z.files:
                parts = (z["data" + end], z["indices" + end], z["indptr" + end])
                found.append(sp.csr_matrix(parts, shape=tuple(z["shape" + end])))
            else:
                found.append(z["X" + end])
        return found[0], z["y"], found[1]


def dense(X: Any) -> np.ndarray:
    """Rows as a dense array of doubles."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)


def log_odds(model: Any, X: np.ndarray) -> np.ndarray:
    """Of the second class, from the probabilities of a classifier."""
    share = np.clip(model.predict_proba(X)[:, 1], 1e-9, 1 - 1e-9)
    return np.log(share / (1 - share))


def serve(fit: Callable[[Parts, dict[str, Any]], Any]) -> None:
    """Answer lines until there are no more."""
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries that print say it elsewhere
    sys.stdin.readline()
    for line in sys.stdin:
        given, start = json.loads(line), time.process_time()
        try:
            answer = {"predicted": np.asarray(fit(rows(given["rows"]), given), dtype=float).tolist()}
        except Exception as failure:  # of a library that is measured: kept as its result
            answer = {"failure": type(failure).__name__ + ": " + str(failure)[:200]}
        print(json.dumps(answer | {"seconds": time.process_time() - start}), file=answers, flush=True)
