"""InterpretML in an environment of its own: its private boosting machine (DP-EBM) with its defaults and one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from answering import answer
from interpret.privacy import DPExplainableBoostingClassifier


def fit(X: np.ndarray, y: np.ndarray, given: dict[str, Any]) -> DPExplainableBoostingClassifier:
    """One fit of columns within a bound."""
    bounds = dict.fromkeys(range(X.shape[1]), (-given["bound"], given["bound"]))
    return DPExplainableBoostingClassifier(
        epsilon=given["epsilon"],
        delta=given["delta"],
        privacy_bounds=bounds,
        feature_types=["continuous"] * X.shape[1],
        random_state=given["seed"],
        n_jobs=1,
    ).fit(X, y)


if __name__ == "__main__":
    answer(fit)
