"""Many classes: one multinomial model beside one versus the rest, with the targets and the time of two classes.

``python -m benchmarks.many_classes [--seeds 3] [--only news20] [--apart]``
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpsparse import SparseClassifier
from dpsparse.losses import Custom, Logistic

from . import settings
from .settings import Setting

DELTA = 1e-5
#: The logistic loss as one's own: it has no form for many classes, so that each has a model against the rest.
APART = Custom(derivative=Logistic().slope, curvature=0.25, slope_bound=1.0, classes=True, name="logistic, apart")


@dataclass(frozen=True)
class Case:
    """Data of many classes, which of them are the first of two for the time, and test errors to reach by epsilon."""

    make: Callable[[], Setting]
    half: float
    sparsity: int | None
    targets: dict[float, float | None]


def _news20() -> Setting:
    (X, y), _ = settings.parts_of("news20")
    train, test = settings.split_rows(settings.unit_rows(X), y)
    return Setting(*train, {"row_norm": 1.0}, "classification", None, test=test)


def _mnist() -> Setting:
    (X, y), test = settings.parts_of("mnist")
    assert test is not None
    few = np.random.default_rng(0).permutation(X.shape[0])[:12_000]
    bounds = {"feature_bound": (0.0, 1.0), "row_norm": 9.2}
    return Setting(X[few] / 255.0, y[few], bounds, "classification", None, test=(test[0] / 255.0, test[1]))


CASES = {
    "news20": Case(_news20, 10, None, {1: 0.60, 2: None, 4: 0.31}),
    "news20 s=500": Case(_news20, 10, 500, {4: None}),
    "mnist 12k": Case(_mnist, 4, None, {1: 0.135, 2: None, 4: 0.105}),
    "mnist 12k s=100": Case(_mnist, 4, 100, {4: None}),
}


def measure(
    case: Case, setting: Setting, epsilon: float, recipe: str, seeds: int, apart: bool
) -> tuple[float, float, float]:
    """Mean test error, its standard error over noise seeds, and seconds of processor time."""
    assert setting.test is not None
    errors, start = [], time.process_time()
    for seed in range(seeds):
        model = SparseClassifier(
            epsilon=epsilon,
            delta=DELTA,
            recipe=recipe,
            sparsity=case.sparsity,
            loss=APART if apart else None,
            random_state=1000 + seed,
            **setting.bounds,
        ).fit(setting.X, setting.y)
        errors.append(1 - model.score(*setting.test))
    spread = float(np.std(errors, ddof=1) / math.sqrt(seeds)) if seeds > 1 else math.nan
    return float(np.mean(errors)), spread, (time.process_time() - start) / seeds


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--recipe", default="auto")
    parser.add_argument("--apart", action="store_true", help="one versus the rest too")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore", message="random_state was given")
    for name, case in CASES.items():
        if not name.startswith(chosen.only):
            continue
        setting = case.make()
        assert setting.test is not None
        two = replace(
            setting, y=(setting.y <= case.half).astype(int), test=(setting.test[0], setting.test[1] <= case.half)
        )
        print(f"{name} ({setting.X.shape[0]} x {setting.X.shape[1]}, {np.unique(setting.y).size} classes)")
        for epsilon, target in case.targets.items():
            error, spread, seconds = measure(case, setting, epsilon, chosen.recipe, chosen.seeds, False)
            base = measure(case, two, epsilon, chosen.recipe, 1, False)[2]
            line = f"  eps {epsilon:<4g} {error:.4f} +- {spread:.4f}   target {target}   {seconds:.1f} s, {seconds / base:.1f} x two classes"
            if chosen.apart:
                line += f"   apart {measure(case, setting, epsilon, chosen.recipe, 1, True)[0]:.4f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
