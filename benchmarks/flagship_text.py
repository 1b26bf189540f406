"""Dual averaging on real data beside its targets: a table, and JSON in out/.

``python -m benchmarks.flagship_text [--seeds 5] [--only news20] [--recipe dual_averaging]``
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import settings
from .settings import Setting

DELTA = 1e-5


@dataclass(frozen=True)
class Case:
    """A dataset with the figures to reach: test error (or MSE over variance) by epsilon."""

    make: Callable[[], Setting]
    sparsity: int | None
    targets: dict[float, float | None]


def _reuters() -> Setting:
    return settings.unit_text("reuters_moneyfx")


def _raw_imdb() -> Setting:
    return settings.imdb(log=False)


CASES: dict[str, Case] = {
    "news20": Case(settings.news20, None, {0.5: 0.165, 1: 0.127, 2: 0.096, 4: 0.076, 8: 0.062}),
    "news20 s=500": Case(settings.news20, 500, {0.5: 0.245, 1: 0.185, 2: 0.143, 4: 0.117, 8: 0.096}),
    "reuters_moneyfx": Case(_reuters, None, {0.5: 0.052, 1: 0.044, 2: 0.038, 4: 0.033, 8: 0.029}),
    "reuters_moneyfx s=500": Case(_reuters, 500, {0.5: 0.0523, 1: 0.0455, 2: 0.0385, 4: 0.0326, 8: 0.0292}),
    "imdb log1p": Case(settings.imdb, None, {1: 0.198, 8: None}),
    "imdb raw": Case(_raw_imdb, None, {0.5: 0.243, 2: 0.184, 8: 0.145}),
    "basehock": Case(settings.basehock, None, {1: None, 4: None}),
    "california": Case(lambda: settings.table("california"), None, {0.1: 0.359, 1: 0.331, 4: 0.328}),
    "meltingpoint": Case(lambda: settings.table("meltingpoint"), None, {0.5: 0.717, 2: 0.617, 8: 0.560}),
    "covtype 60k": Case(lambda: settings.table("covtype", rows=60_000), None, {0.1: 0.308, 1: 0.249}),
    "a9a": Case(settings.a9a, None, {0.1: 0.167, 1: 0.156}),
    "mnist 12k": Case(lambda: settings.digits(rows=12_000), None, {0.5: 0.154, 2: 0.1345}),
    "madelon": Case(lambda: settings.table("madelon"), None, {1: 0.477, 4: 0.443}),
}


def measure(case: Case, setting: Setting, epsilon: float, recipe: str, seeds: int) -> dict[str, float | None]:
    """Mean and standard error over noise seeds."""
    start = time.perf_counter()
    errors = []
    for seed in range(seeds):
        options = {"fit_intercept": True, "sparsity": case.sparsity, "random_state": 1000 + seed}
        model = settings.fit(setting, epsilon=epsilon, delta=DELTA, recipe=recipe, **options)
        errors.append(settings.held_out_error(model, setting))
    return {
        "epsilon": epsilon,
        "mean": float(np.mean(errors)),
        "error": float(np.std(errors, ddof=1) / math.sqrt(seeds)) if seeds > 1 else None,
        "target": case.targets[epsilon],
        "seconds": (time.perf_counter() - start) / seeds,
    }


def main() -> None:
    """Print the table and write out/flagship_text.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--recipe", default="dual_averaging")
    parser.add_argument("--out", type=Path, default=Path("out"))
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore", message="random_state was given")
    results = {}
    for name, case in CASES.items():
        if chosen.only and not name.startswith(chosen.only):
            continue
        setting = case.make()
        lines = [measure(case, setting, e, chosen.recipe, chosen.seeds) for e in case.targets]
        results[name] = lines
        print(f"{name} ({setting.X.shape[0]} x {setting.X.shape[1]})")
        for line in lines:
            spread = "" if line["error"] is None else f" +- {line['error']:.4f}"
            target = "" if line["target"] is None else f"   target {line['target']:.4f}"
            print(
                f"  eps {line['epsilon']:<4g} {line['mean']:.4f}{spread}{target}   {line['seconds']:.1f} s", flush=True
            )
    chosen.out.mkdir(exist_ok=True)
    suffix = chosen.only.replace(" ", "_") or "all"
    (chosen.out / f"flagship_text_{chosen.recipe}_{suffix}.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
