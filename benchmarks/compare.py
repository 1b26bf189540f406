"""Every private recipe with its defaults on the same data: the table of docs/choose.md, and the papers' orderings.

    python -m benchmarks.compare [--seeds 10] [--only dp_ight two_stage]

Replace-one, honest accounting, nothing tuned. Synthetic settings: relative error of the coefficients at delta = 0.01;
news20: test error with 500 nonzeros at delta = 1e-5 (noise seeds on one split).
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse import recipes

from .settings import data_folder, fit, news20, relative_error, synthetic

EPSILONS = (1.0, 2.0, 4.0)


def names() -> list[str]:
    private = [n for n, cls in recipes.REGISTRY.items() if cls.private]
    return ["auto", *sorted(private)]


def measure(name: str, setting: str, epsilon: float, seeds: int) -> list[float]:
    found = []
    for seed in range(9000, 9000 + seeds):
        if setting == "news20":
            data = news20()
            model = fit(data, epsilon=epsilon, delta=1e-5, recipe=name)
            found.append(1 - model.score(*data.test))  # type: ignore[misc]
        else:
            data = synthetic(setting, seed)
            found.append(relative_error(fit(data, epsilon=epsilon, delta=0.01, recipe=name), data))
    return found


def verdict(first: list[float], second: list[float]) -> str:
    """Whether `first` is better, on paired runs: undecided within 2 standard errors of the difference."""
    gap = np.asarray(second) - np.asarray(first)
    error = gap.std(ddof=1) / math.sqrt(gap.size)
    return "holds" if gap.mean() > 2 * error else "does not hold" if gap.mean() < -2 * error else "undecided"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=None, metavar="RECIPE")
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    settings = ["000-lin-i", "000-log-i"] + (["news20"] if data_folder() else [])
    table: dict[str, Any] = {}
    for name in options.only or names():
        start = time.perf_counter()
        table[name] = {
            s: {e: measure(name, s, e, options.seeds if s != "news20" else 3) for e in EPSILONS} for s in settings
        }
        cells = "  ".join(f"{s} " + " ".join(f"{np.mean(v):.3f}" for v in table[name][s].values()) for s in settings)
        print(f"{name:16s} {cells}   ({time.perf_counter() - start:.0f} s)", flush=True)
    for first, second in (
        ("dp_ight", "two_stage"),
        ("dp_ight", "dp_frank_wolfe"),
        ("dp_gcd", "dp_ight"),
        ("auto", "dp_ight"),
    ):
        if first in table and second in table:
            for s in settings:
                words = [f"eps {e:g}: {verdict(table[first][s][e], table[second][s][e])}" for e in EPSILONS]
                print(f"{first} better than {second} on {s}: {', '.join(words)}")
    options.out.mkdir(exist_ok=True)
    (options.out / "compare.json").write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
