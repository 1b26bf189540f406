"""InterpretML in an environment of its own: its private boosting machine (DP-EBM) with declared bounds and its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from serving import Parts, dense, log_odds, serve


def fit(parts: Parts, given: dict[str, Any]) -> np.ndarray:
    """Predictions, or log-odds, of one fit."""
    X, y, Z = dense(parts[0]), parts[1], dense(parts[2])
    d = X.shape[1]
    shared = {
        "epsilon": given["epsilon"],
        "delta": given["delta"],
        "privacy_bounds": dict.fromkeys(range(d), (-1.0, 1.0)),
        "feature_types": ["continuous"] * d,
        "random_state": given["seed"],
        "n_jobs": 1,
    }
    if given["task"] == "classification":
        return log_odds(DPExplainableBoostingClassifier(**shared).fit(X, y.astype(int)), Z)
    model = DPExplainableBoostingRegressor(privacy_target_min=-1.0, privacy_target_max=1.0, **shared)
    return model.fit(X, y).predict(Z)


if __name__ == "__main__":
    serve(fit)
