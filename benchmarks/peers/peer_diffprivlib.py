"""diffprivlib in an environment of its own: logistic and linear regression with pure epsilon and its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression
from serving import Parts, dense, serve


def fit(parts: Parts, given: dict[str, Any]) -> np.ndarray:
    """Predictions, or log-odds, of one fit."""
    X, y, Z = dense(parts[0]), parts[1], dense(parts[2])
    shared = {"epsilon": given["epsilon"], "random_state": given["seed"]}
    if given["task"] == "classification":
        return LogisticRegression(data_norm=given["row_norm"], **shared).fit(X, y).decision_function(Z)
    return LinearRegression(bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0), **shared).fit(X, y).predict(Z)


if __name__ == "__main__":
    serve(fit)
