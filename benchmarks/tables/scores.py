"""How wrong a linear model is on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.tables.sets import Array, Table


@dataclass(frozen=True)
class Linear:
    """A linear score in the user's units: a prediction, or a log-odds. `note`: public facts a method wants kept."""

    coef: Array
    intercept: float
    note: str = ""

    def __call__(self, X: Array) -> Array:
        return np.asarray(X @ self.coef + self.intercept, float)


def scores(model: Linear, table: Table) -> dict[str, float]:
    """Errors on the held-out rows; smaller is better.

    Regression: `main` is the mean squared error over the variance of the target (of the signal where it is known).
    Classes: `main` is 1 - AUC; `wrong` is the part of wrong classes over that of the commoner class; `deviance` is over the
    deviance of the class shares. 1 is the constant for every one of them but `main` of classes, where it is one half.
    """
    X, y = table.test
    z = model(X)
    if table.kind == "regression":
        ratio = float(np.mean((z - y) ** 2) / np.var(y))
        return {"main": ratio, "wrong": ratio, "deviance": ratio}
    share = float(np.mean(y))
    minority = max(min(share, 1 - share), 1e-12)
    loss = float(np.mean(np.logaddexp(0, np.clip(z, -500, 500)) - y * np.clip(z, -500, 500)))
    null = -share * np.log(share) - (1 - share) * np.log(1 - share)
    return {"main": 1 - _auc(z, y), "wrong": float(np.mean((z > 0) != (y > 0.5))) / minority, "deviance": loss / null}


def constant_main(table: Table) -> float:
    """`main` of the constant: 1 for regression, one half for classes."""
    return 1.0 if table.kind == "regression" else 0.5


def _auc(z: Array, y: Array) -> float:
    from scipy.stats import rankdata

    ranks, positive = rankdata(z), y > 0.5
    p, q = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * q))
