r"""How wrong predictions are on held-out data, and whether probabilities are what they say.

Error and AUC do not change when every log-odds is doubled; deviance, slope and shift do.

* **deviance**: the log-loss over that of predicting the class shares; for numbers, the mean squared error over the
  variance. 1 is the constant.
* **slope**: of the truth on the predicted log-odds (for numbers, on the prediction). 1 is right,
  below 1 predictions are too extreme.
* **shift**: the mean predicted probability less the class share; for numbers, the mean prediction less the mean, over
  the standard deviation. 0 is right.

For more than two classes, slope and AUC are pooled over one class against the others, and the shift is the largest.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Probabilities are held this far from 0 and 1.
EDGE = 1e-12


def number_scores(predicted: Array, truth: Array) -> dict[str, float]:
    """Deviance, slope and shift of predicted numbers.

    The slope is missing where all predictions are equal, and all of them where all true numbers are.

    >>> number_scores(np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0]))["slope"]
    0.5
    """
    spread = float(np.std(truth))
    if spread == 0:
        return {}
    found = {
        "deviance": float(np.mean((predicted - truth) ** 2)) / spread**2,
        "shift": float(np.mean(predicted) - np.mean(truth)) / spread,
    }
    varied = float(np.var(predicted))
    if varied > EDGE * spread**2:
        found["slope"] = float(np.mean((predicted - predicted.mean()) * (truth - truth.mean()))) / varied
    return found


def class_scores(probabilities: Array, truth: NDArray[np.intp]) -> dict[str, float]:
    """Deviance, AUC, slope and shift of predicted probabilities.

    Parameters
    ----------
    probabilities : array of shape (n, classes)
        Rows add up to 1.
    truth : array of int
        The column of each row's class. Where it is always the same, nothing can be said.
    """
    p = np.clip(np.asarray(probabilities, float), EDGE, 1 - EDGE)
    shares = np.bincount(truth, minlength=p.shape[1]) / truth.size
    null = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    if null == 0:
        return {}
    loss = -float(np.mean(np.log(p[np.arange(truth.size), truth])))
    columns = [1] if p.shape[1] == 2 else [k for k in range(p.shape[1]) if 0 < shares[k] < 1]
    shifts = [float(p[:, k].mean() - shares[k]) for k in columns]
    odds = np.concatenate([np.log(p[:, k] / (1 - p[:, k])) for k in columns])
    return {
        "deviance": loss / null,
        "shift": max(shifts, key=abs),
        "auc": float(np.mean([auc(p[:, k], truth == k) for k in columns])),
        **_slope(odds, np.concatenate([truth == k for k in columns])),
    }


def auc(score: Array, positive: NDArray[np.bool_]) -> float:
    """Chance that a row of the class has the larger score than another one; ties count half.

    >>> auc(np.array([0.1, 0.4, 0.8]), np.array([False, True, True]))
    1.0
    """
    from scipy.stats import rankdata

    ranks = rankdata(score)
    p, q = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * q))


def _slope(odds: Array, positive: NDArray[np.bool_]) -> dict[str, float]:
    """The slope by logistic regression of the truth on log-odds; nothing where these are all equal."""
    from sklearn.linear_model import LogisticRegression

    spread = float(odds.std())
    if not spread > math.sqrt(EDGE):
        return {}
    fitted = LogisticRegression(C=1e6, solver="newton-cholesky").fit(odds[:, None] / spread, positive)
    return {"slope": float(fitted.coef_[0, 0]) / spread}
