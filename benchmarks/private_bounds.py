"""Bounds that are 30 times too wide, learned by `PrivateBounds` at a tenth of the budget, against the right ones with all of it.

``python -m benchmarks.private_bounds [--seeds 20] [--confirm]``. Columns are uniform between -1 and 1, or between 9 and 11; the user can only say that no entry, and no target, is
beyond 30 (300). Error: root of the mean squared distance of the predicted from the true mean of the target (or from its log-odds), on other rows.
"""

from __future__ import annotations

import argparse
import math
import warnings
from dataclasses import dataclass

import numpy as np

from dpsparse import PrivateBounds, SparseClassifier, SparseRegressor, make_private_pipeline


@dataclass(frozen=True)
class Design:
    name: str
    rows: int
    features: int
    epsilon: float
    classes: bool = False
    middle: float = 0.0
    limit: float = 30.0
    bell: bool = False


DESIGNS = (
    Design("20 columns", 5000, 20, 1.0),
    Design("20 columns, far from zero", 100_000, 20, 1.0, middle=10.0, limit=300.0),
    Design("100 columns", 20_000, 100, 1.0),
    Design("20 columns, classes", 10_000, 20, 1.0, classes=True),
    Design("800 columns", 5000, 800, 4.0),
)
#: Of another kind, and looked at once, after everything was chosen: columns like truncated bells, all of which matter.
CONFIRM = (
    Design("bells, 15 columns", 8000, 15, 1.0, bell=True),
    Design("bells, 40 columns", 20_000, 40, 2.0, bell=True),
    Design("bells, 40 columns, classes", 20_000, 40, 1.0, classes=True, bell=True),
)


def data(design: Design, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    if design.bell:
        X = np.clip(0.4 * rng.standard_normal((design.rows + 4000, design.features)), -1, 1)
        margin = (6.0 if design.classes else 2.0) * X @ rng.standard_normal(design.features) / design.features**0.5
    else:
        X = rng.uniform(-1, 1, (design.rows + 4000, design.features))
        margin = (3.0 if design.classes else 1.0) * (X[:, 0] - 0.6 * X[:, 3] + 0.5 * X[:, 7])
    y = margin + (rng.logistic(size=len(X)) if design.classes else 0.3 * rng.standard_normal(len(X)))
    return X + design.middle, (y > 0).astype(int) if design.classes else y, margin


def errors(design: Design, seed: int) -> tuple[float, float, float]:
    """With the right bounds, with bounds that were learned, and with the wide ones."""
    X, y, margin = data(design, seed)
    n = design.rows
    right = (design.middle - 1.0, design.middle + 1.0)
    shared = {"sparsity": None if design.bell else 3, "random_state": seed}
    kind = SparseClassifier if design.classes else SparseRegressor
    bounds = {} if design.classes else {"target_bound": 2.8}
    limits = {} if design.classes else {"target_bound": 2.8 * 30}
    budget = {"epsilon": design.epsilon, "delta": 1e-6}

    def error(model: object) -> float:
        model.fit(X[:n], y[:n])  # type: ignore[attr-defined]
        told = model.decision_function(X[n:]) if design.classes else model.predict(X[n:])  # type: ignore[attr-defined]
        return float(np.sqrt(np.mean((told - margin[n:]) ** 2)))

    step = PrivateBounds(feature_bound=design.limit, random_state=seed + 1000, **limits)
    return (
        error(kind(feature_bound=right, **bounds, **budget, **shared)),
        error(make_private_pipeline(step, kind(**shared), **budget)),
        error(kind(feature_bound=design.limit, **limits, **budget, **shared)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--confirm", action="store_true", help="Designs of another kind.")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':28s} {'right':>8s} {'learned':>8s} {'wide':>8s} {'learned/right':>14s} {'+-':>6s}")
    for design in CONFIRM if options.confirm else DESIGNS:
        found = np.array([errors(design, seed) for seed in range(options.seeds)])
        mean = found.mean(axis=0)
        ratio = mean[1] / mean[0]
        spread = np.std(found[:, 1] - ratio * found[:, 0]) / mean[0] / math.sqrt(options.seeds)
        print(f"{design.name:28s} {mean[0]:8.4f} {mean[1]:8.4f} {mean[2]:8.4f} {ratio:14.3f} {spread:6.3f}", flush=True)


if __name__ == "__main__":
    main()
