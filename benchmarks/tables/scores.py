"""How wrong a model is on held-out rows: one that predicts numbers, or the log-odds of a class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.tables.sets import Array, Table
from dpsparse.report.bench.own import class_scores, number_scores


@dataclass(frozen=True)
class Linear:
    """A linear score in the user's units: a prediction, or a log-odds. `note`: public facts a method wants kept."""

    coef: Array
    intercept: float
    note: str = ""

    def __call__(self, X: Array) -> Array:
        return np.asarray(X @ self.coef + self.intercept, float)


def scores(model: Callable[[Array], Array], table: Table) -> dict[str, float]:
    """Errors on the held-out rows, and whether probabilities are right; `slope` is missing for a constant.

    Regression: `main` is the mean squared error over the variance of the target (of the signal where it is known).
    Classes: `main` is 1 - AUC; `wrong` is the misclassification rate over that of the commoner class; `deviance` is over the
    deviance of the class shares. 1 is the constant for every one of them but `main` of classes, where it is one half.
    Slope and shift are those of `dpsparse.report.bench.own`: 1 and 0 are right.
    """
    X, y = table.test
    z = model(X)
    if table.kind == "regression":
        found = number_scores(z, y)
        return {"main": found["deviance"], "wrong": found["deviance"], **found}
    share = float(np.mean(y))
    minority = max(min(share, 1 - share), 1e-12)
    p = 1 / (1 + np.exp(-np.clip(z, -500, 500)))
    found = class_scores(np.column_stack([1 - p, p]), (y > 0.5).astype(int))
    return {"main": 1 - found.pop("auc"), "wrong": float(np.mean((z > 0) != (y > 0.5))) / minority, **found}


def constant_main(table: Table) -> float:
    """`main` of the constant: 1 for regression, one half for classes."""
    return 1.0 if table.kind == "regression" else 0.5
