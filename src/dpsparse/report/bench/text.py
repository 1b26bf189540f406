"""Results as text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from .results import Results
from .study import GRID, ON_CURVE, StudyClaim


def single_number_metrics(results: Results) -> list[str]:
    """Metrics that are one number for each run; points of curves are left out."""
    return [name for name in dict.fromkeys(row["metric"] for row in results.rows()) if ON_CURVE not in name]


def table(results: Results, metric: str, by: str | None = None) -> Iterator[str]:
    """One metric: a line for each method, a column for each epsilon; means with standard errors.

    Grids stand at the point that is best by the metric `by`, None: by the one that is shown.
    """
    rows = [row for row in results.rows() if row["metric"] == metric and _kept(results, row, by or metric)]
    for data in dict.fromkeys(row["data"] for row in rows):
        here = [row for row in rows if row["data"] == data]
        epsilons = sorted({row["epsilon"] for row in here})
        lines: dict[str, dict[float, str]] = {}
        for row in here:
            name = row["method"] + (f", at {row['at']:g}" if row["at"] and not row["method"].endswith(GRID) else "")
            lines.setdefault(name, {})[row["epsilon"]] = _number(row["mean"], row["standard_error"])
        width = max(len(name) for name in [*lines, data])
        yield f"{data:{width}s}  " + "  ".join(f"{'epsilon ' + format(e, 'g'):>16s}" for e in epsilons) + f"   {metric}"
        for name, cells in lines.items():
            yield f"{name:{width}s}  " + "  ".join(f"{cells.get(e, ''):>16s}" for e in epsilons)


def _number(mean: float, error: float) -> str:
    return f"{mean:8.4f} ± {error:5.4f}" if math.isfinite(error) else f"{mean:8.4f}         "


def _kept(results: Results, row: dict[str, Any], by: str) -> bool:
    """Whether a row is no grid point, or the best one."""
    if not row["method"].endswith(GRID):
        return True
    return bool(row["at"] == results.best_at(row["data"], row["method"], row["epsilon"], by))


def verdicts(results: Results, claims: Sequence[StudyClaim]) -> Iterator[str]:
    """One line for each claim."""
    for claim in claims:
        yield f"{claim}: {results.verdict(claim)}"
