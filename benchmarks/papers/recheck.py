"""Numbers drawn at random from the kept results, run again: ``python -m benchmarks.papers --recheck 10``.

A number is the mean of a method on one set of data at one budget, as the pages show it. It agrees if it is within two standard errors of the kept one; runs are seeded, so
with the same code on the same machine it is the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpsparse.report.bench import Results, ScaledStudy
from dpsparse.report.bench.results import mean_and_error
from dpsparse.report.bench.study import Cell

#: Numbers that take longer than this many CPU seconds, as far as is known, are not drawn, unless a study has no others.
DEAREST = 20.0


def entries(results: Results, metric: str) -> list[list[Cell]]:
    """Runs behind each number."""
    groups: dict[tuple[str, str, float, float], list[Cell]] = {}
    for cell, errors in sorted(results.errors.items()):
        if math.isfinite(errors.get(metric, math.nan)):
            groups.setdefault((cell.data, cell.method, cell.epsilon, cell.at), []).append(cell)

    def cost(cells: list[Cell]) -> float:
        return sum(results.errors[cell].get("cost", 1.0) for cell in cells)

    return [cells for cells in groups.values() if cost(cells) < DEAREST] or [min(groups.values(), key=cost)]


def recheck(known: Mapping[str, tuple[ScaledStudy, str, Results]], count: int, seed: int = 0) -> int:
    """Run so many numbers again and print both; how many do not agree."""
    rng = np.random.default_rng(seed)
    names = sorted(known)
    wrong = 0
    for _ in range(count):
        study, metric, results = known[names[rng.integers(len(names))]]
        found = entries(results, metric)
        cells = found[rng.integers(len(found))]
        kept, error = mean_and_error(results.errors[cell][metric] for cell in cells)
        again, _ = mean_and_error(study.run(cell)[metric] for cell in cells)
        agrees = abs(again - kept) <= max(2 * error if math.isfinite(error) else 0.0, 1e-6 * abs(kept))
        wrong += not agrees
        one = cells[0]
        place = f"{study.name}: {one.method}, {one.data}, epsilon {one.epsilon:g}, {len(cells)} seeds"
        print(
            f"{place}: {metric} {kept:.4g} ± {error:.1g}, again {again:.4g}: {'agrees' if agrees else 'DIFFERS'}",
            flush=True,
        )
    return wrong
