"""Private search against one fit with a badly chosen clip, at the same total budget.

``python -m benchmarks.private_search`` runs 20 data seeds; ``--seeds 3`` some. On 000-lin (i) of paper 000 (1000 rows, 1000 features, 10
true coefficients, delta 0.01) DP-IGHT is fitted with total epsilon = 2: once with a clip that somebody chose badly, a tenth or ten times of
what the rule takes; by a private search over steps and clips, each run of which has about a fifth of the zCDP; and, for comparison,
with the rule's own clip, which needs no search here. Errors ||w - w*||/||w*|| are paired by seed.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.settings import relative_error, synthetic
from dpsparse import PrivateSearch, SparseRegressor, recipes

NAME, EPSILON, DELTA = "000-lin-i", 2.0, 0.01
SPACE = {"recipe__steps": [3, 6, 12], "recipe__clip": [1.0, 3.0, 10.0, 30.0, 100.0]}


def model(setting: Any, clip: float | None, seed: int | None) -> SparseRegressor:
    recipe = recipes.DPIGHT(clip=clip)
    return SparseRegressor(
        EPSILON,
        DELTA,
        recipe=recipe,
        sparsity=setting.sparsity,
        fit_intercept=False,
        random_state=seed,
        **setting.bounds,
    )


def methods(setting: Any, seed: int, mean_runs: tuple[int, ...]) -> dict[str, Any]:
    """Unfitted methods by name; the rule's clip is 4.8 here."""
    single = {"clip 50": model(setting, 50.0, seed), "clip 0.5": model(setting, 0.5, seed)}
    searches = {
        f"private search, mean {m} runs": PrivateSearch(
            model(setting, 50.0, None), SPACE, EPSILON, DELTA, mean_runs=m, random_state=seed
        )
        for m in mean_runs
    }
    return {**single, **searches, "rule's own clip": model(setting, None, seed)}


def run(seeds: int, mean_runs: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """Errors and seconds of every method, by seed."""
    found: dict[str, dict[str, Any]] = {}
    for seed in range(seeds):
        setting = synthetic(NAME, seed)
        for label, method in methods(setting, seed, mean_runs).items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                method.fit(setting.X, setting.y)
            fitted = method.best_estimator_ if isinstance(method, PrivateSearch) else method
            record = found.setdefault(label, {"errors": [], "seconds": 0.0, "epsilon": method.statement_.epsilon})
            record["errors"].append(float(relative_error(fitted, setting)))
            record["seconds"] += (time.perf_counter() - start) / seeds
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--mean-runs", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    options = parser.parse_args()
    found = run(options.seeds, tuple(options.mean_runs))
    setting = synthetic(NAME, 0)
    for m in options.mean_runs:
        print(PrivateSearch(model(setting, 50.0, None), SPACE, EPSILON, DELTA, mean_runs=m).plan(*setting.X.shape))
    print(f"\n{NAME}, epsilon {EPSILON}, delta {DELTA}, {options.seeds} seeds")
    print(f"{'':32s} {'mean':>8s} {'+-':>7s} {'median':>8s} {'less clip 50':>13s} {'+-':>7s} {'epsilon':>8s} {'s':>6s}")
    base = np.array(found["clip 50"]["errors"])
    for label, record in found.items():
        errors = np.array(record["errors"])
        gain, root = errors - base, math.sqrt(options.seeds)
        print(
            f"{label:32s} {errors.mean():8.3f} {errors.std() / root:7.3f} {np.median(errors):8.3f} {gain.mean():13.3f} "
            f"{gain.std() / root:7.3f} {record['epsilon']:8.3f} {record['seconds']:6.2f}"
        )
    if options.out:
        options.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
