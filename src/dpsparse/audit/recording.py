"""Fits with their oracles recorded, or replaced: how audits and laws see what an estimator asked and was told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..core.facts import Vector
from ..core.mechanisms import Randomness
from ..fitting import FitPlan, ProgressCallback, Rows, Session, open_oracle, with_oracles
from ..ledger import Payment
from ..oracles import RecordingOracle


@dataclass(frozen=True, eq=False)
class Recorded:
    """The oracle of one model of a fit, with everything it was asked and said; and what was prepared for it."""

    prepared: FitPlan
    oracle: RecordingOracle


@contextmanager
def record_fits() -> Iterator[list[Recorded]]:
    """Record the oracles of all fits inside this block, in the order in which they are opened."""
    seen: list[Recorded] = []

    def wrap(prepared: FitPlan, opened: Session) -> Session:
        seen.append(Recorded(prepared, RecordingOracle(opened.oracle)))
        return replace(opened, oracle=seen[-1].oracle)

    with wrap_oracles(wrap):
        yield seen


@contextmanager
def wrap_oracles(wrap: Callable[[FitPlan, Session], Session]) -> Iterator[None]:
    """Put something between the solvers and the oracles of all fits inside this block."""

    def opener(
        prepared: FitPlan, X: Rows, y: Vector, randomness: Randomness, payment: Payment, watcher: ProgressCallback
    ) -> Session:
        return wrap(prepared, open_oracle(prepared, X, y, randomness, payment, watcher))

    with with_oracles(opener):
        yield
