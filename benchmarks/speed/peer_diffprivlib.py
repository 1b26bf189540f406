"""diffprivlib in an environment of its own (scikit-learn up to 1.7): its logistic regression, pure epsilon, on dense rows."""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from diffprivlib.models import LogisticRegression


def run(X: Any, y: np.ndarray, test: tuple[Any, np.ndarray], given: dict[str, Any]) -> dict[str, float]:
    """One fit: seconds of processor and clock, and test accuracy."""
    start, clock = time.process_time(), time.perf_counter()
    model = LogisticRegression(epsilon=given["epsilon"], data_norm=1.0, random_state=given["seed"]).fit(X, y)
    done = time.process_time(), time.perf_counter()
    return {"processor": done[0] - start, "clock": done[1] - clock, "accuracy": float(model.score(*test))}


def main() -> None:
    """Answer lines until there are no more."""
    warnings.simplefilter("ignore")
    with np.load(sys.stdin.readline().strip()) as z:
        X, y, test = z["X"], z["y"], (z["X_test"], z["y_test"])
    for line in sys.stdin:
        print(json.dumps(run(X, y, test, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
