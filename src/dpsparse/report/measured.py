"""How often intervals of 95 % contained their target when that was measured: what stands behind the marks of a report.

The figures are those of ``docs/intervals_benchmark.md``, pooled over the cells of a kind; a test compares
them with ``docs/coverage.json``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..estimators.intervals import Intervals


@dataclass(frozen=True)
class Coverage:
    """Part of intervals that contained their target, of how many intervals in how many fits."""

    part: float
    intervals: int
    fits: int

    def __str__(self) -> str:
        return (
            f"Measured on simulated data: {100 * self.part:.1f} % of {self.intervals:,} intervals "
            "of 95 % contained their target, in "
            f"{self.fits} fits (docs, page on coverage of intervals). Whether they hold here depends "
            "on the assumptions below, which nobody can measure on private rows."
        )


#: By what the intervals are about.
MEASURED = {
    "mean": Coverage(0.952, 16580, 2000),
    "robust": Coverage(0.952, 17294, 2100),
    "logistic": Coverage(0.949, 19741, 2800),
}


def coverage_of(intervals: Intervals) -> Coverage:
    """What was measured for intervals of this kind."""
    return MEASURED["logistic" if intervals.classes else intervals.target]
