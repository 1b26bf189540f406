"""Fits with their oracles recorded, or replaced: how audits and laws see what an estimator asked and was answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..fitting import FitPlan, with_oracles, wrapped
from ..oracles import RecordingOracle
from ..queries.kinds import Oracle


@dataclass(frozen=True, eq=False)
class Recorded:
    """The oracle of one model of a fit, with everything it was asked and said; and what was prepared for it."""

    prepared: FitPlan
    oracle: RecordingOracle


@contextmanager
def record_fits() -> Iterator[list[Recorded]]:
    """Record the oracles of all fits inside this block, in the order in which they are opened."""
    seen: list[Recorded] = []

    def record(prepared: FitPlan, oracle: Oracle) -> Oracle:
        seen.append(Recorded(prepared, RecordingOracle(oracle)))
        return seen[-1].oracle

    with with_oracles(wrapped(record)):
        yield seen
