"""Fits with their oracles recorded, or replaced: how audits and laws see what an estimator asked and was told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..facts import Vector
from ..fits import Opened, Prepared, Rows, Watcher, open_oracle, substitute_oracles
from ..ledger import Payment
from ..mechanisms import Randomness
from ..oracles import RecordingOracle


@dataclass(frozen=True, eq=False)
class Recorded:
    """The oracle of one model of a fit, with everything it was asked and said; and what was prepared for it."""

    prepared: Prepared
    oracle: RecordingOracle


@contextmanager
def record_fits() -> Iterator[list[Recorded]]:
    """Record the oracles of all fits inside this block, in the order in which they are opened."""
    seen: list[Recorded] = []

    def wrap(prepared: Prepared, opened: Opened) -> Opened:
        seen.append(Recorded(prepared, RecordingOracle(opened.oracle)))
        return replace(opened, oracle=seen[-1].oracle)

    with wrap_oracles(wrap):
        yield seen


@contextmanager
def wrap_oracles(wrap: Callable[[Prepared, Opened], Opened]) -> Iterator[None]:
    """Put something between the solvers and the oracles of all fits inside this block."""

    def opener(
        prepared: Prepared, X: Rows, y: Vector, randomness: Randomness, payment: Payment, watcher: Watcher
    ) -> Opened:
        return wrap(prepared, open_oracle(prepared, X, y, randomness, payment, watcher))

    with substitute_oracles(opener):
        yield
