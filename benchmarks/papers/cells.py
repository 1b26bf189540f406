"""Cells of the tables in the guides, from results that are kept."""

from __future__ import annotations

import math
from pathlib import Path

from dpsparse.report.bench import Results, StudyClaim
from dpsparse.report.bench.results import mean_and_error
from dpsparse.report.bench.study import GRID

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


class NotRunError(LookupError):
    """There are no results of a study."""


def read(name: str) -> Results:
    """Results that are kept."""
    path = RESULTS / f"{name}.parquet"
    if not path.is_file():
        raise NotRunError(f"not run yet: `dpsparse bench {name}`.")
    return Results.read(path)


def origin(name: str, results: Results) -> str:
    """The command that makes the numbers, and how much of it was run."""
    option = " --scale quick" if results.scale == "quick" else ""
    said = {"quick": "quick scale, which decides little", "full": "full scale"}.get(results.scale, results.scale)
    return f"`dpsparse bench {name}{option}` ({said}, {len(results.errors)} runs; means ± one standard error)"


def cell(results: Results, data: str, method: str, epsilon: float, metric: str) -> str:
    """A mean with its standard error, or nothing."""
    values = results.values(data, method, epsilon, metric, None if method.endswith(GRID) else 0.0)
    if not values:
        return ""
    return number(*mean_and_error(values.values()))


def number(mean: float, error: float) -> str:
    """A mean to the digit of its standard error; three digits where there is none."""
    if not math.isfinite(mean):
        return "not finite"
    if not math.isfinite(error) or error <= 1e-6 * abs(mean):
        return f"{mean:.3g}"
    place = math.floor(math.log10(float(f"{error:.0e}")))
    if place > 3:
        return f"{mean:.1e} ± {error:.0e}"
    digits = max(0, -place)
    return f"{round(mean, -place):.{digits}f} ± {round(error, -place):.{digits}f}"


def seeds(results: Results, data: str) -> int:
    """Seeds of a set of data."""
    return len({c.seed for c in results.errors if c.data == data})


def budgets(results: Results, data: str) -> list[float]:
    """Budgets of a set of data."""
    return sorted({c.epsilon for c in results.errors if c.data == data and c.epsilon < math.inf})


def verdict(results: Results, claim: StudyClaim) -> str:
    """The paired difference and what it decides, as two cells."""
    gap, error, pairs = results.gap(claim)
    return f"{number(gap, error)}, {pairs} pairs | {results.verdict(claim)}"
