"""What is measured of a model."""

from __future__ import annotations

import numpy as np

from dpsparse.report.bench.study import ON_CURVE

from .cases import Case
from .methods import Fitted

#: Places of the curves: passes over the data, hard-thresholding operations, seconds.
PASSES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
THRESHOLDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
SECONDS = (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)


def scores(case: Case, model: Fitted) -> dict[str, float]:
    """All that can be measured on a case: distance to the truth, errors on held-out rows, gap of the objective, curves."""
    w = model.coef
    found = {"nonzero": float(np.count_nonzero(w))}
    if case.truth is not None:
        chosen, true = w != 0, case.truth != 0
        found["relative error"] = float(np.linalg.norm(w - case.truth) / np.linalg.norm(case.truth))
        found["precision"] = float((chosen & true).sum() / max(1, chosen.sum()))
        found["recall"] = float((chosen & true).sum() / max(1, true.sum()))
    if case.test is not None:
        X, y = case.test
        margin = np.asarray(X @ w).ravel()
        if case.task == "regression":
            found["MSE"] = float(np.mean((margin - y) ** 2))
            found["MSE/2"] = found["MSE"] / 2
        else:
            found["test error"] = float(np.mean((margin > 0) != y))
            found["log-loss"] = float(np.mean(np.logaddexp(0, margin) - y * margin))
    if case.optimum is not None:
        found["right"] = float(((w != 0) & (case.optimum != 0)).sum())
        found["wrong"] = float(((w != 0) & (case.optimum == 0)).sum())
    if case.least is not None:
        found["gap"] = _gap(case, case.objective(w))
    elif case.truth is None and case.test is None:
        found["objective"] = case.objective(w)
    if model.path is not None:
        what = "gap" if case.least is not None else "objective"
        found |= curves(case, model, what)
    return found


def _gap(case: Case, objective: float) -> float:
    assert case.least is not None
    return objective / case.least - 1 if case.relative else objective - case.least


def curves(case: Case, model: Fitted, what: str) -> dict[str, float]:
    """The objective, or its gap, of the last iterate that had been reached at each place; its value at zero before the first."""
    path = model.path
    assert path is not None

    def value(w: np.ndarray) -> float:
        objective = case.objective(w[: case.X.shape[1]])
        return objective if case.least is None else _gap(case, objective)

    known: dict[int, float] = {-1: value(np.zeros(case.X.shape[1]))}
    found = {}
    for axis, places, reached in (
        ("passes", PASSES, path.passes),
        ("thresholds", THRESHOLDS, path.thresholds),
        ("seconds", SECONDS, path.seconds),
    ):
        for place in places:
            last = int(np.searchsorted(np.asarray(reached, dtype=float), place, side="right")) - 1
            if last not in known:
                known[last] = value(path.iterates[last])
            found[f"{what} by {axis}{ON_CURVE}{place:g}"] = known[last]
    return found
