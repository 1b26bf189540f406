"""diffprivlib in an environment of its own (scikit-learn up to 1.7): its logistic regression, pure epsilon, on dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from answering import answer
from diffprivlib.models import LogisticRegression


def fit(X: np.ndarray, y: np.ndarray, given: dict[str, Any]) -> LogisticRegression:
    """One fit of rows within norm 1."""
    return LogisticRegression(epsilon=given["epsilon"], data_norm=1.0, random_state=given["seed"]).fit(X, y)


if __name__ == "__main__":
    answer(fit)
