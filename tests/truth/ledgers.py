"""Ledgers for tests: bills, and what a ledger says when it is used."""

from __future__ import annotations

from pathlib import Path

from dpsparse import Ledger
from dpsparse.accounting import PlanCost, price
from dpsparse.core import Ask, Budget, Noise, Plan


def bill(epsilon: float = 1.0, delta: float = 1e-6) -> PlanCost:
    """A fit of Gaussian noise."""
    asks = (Ask(name="gradient", noise=Noise.GAUSSIAN, times=20),)
    return PlanCost.of(price(Plan(asks=asks), Budget.approx(epsilon, delta)))


def used_ledger(path: Path, fits: int = 6) -> Ledger:
    """A ledger with a dataset of which some fits have taken part, one of them to its end."""
    ledger = Ledger(f"sqlite:///{path}")
    ledger.create("trial", 1.0, 1e-5)
    for number in range(fits):
        reservation = ledger.reserve("trial", bill(0.2), label=f"fit {number}")
        if number == 0:
            reservation.start()
            reservation.confirm()
    return ledger


def units_at_use(ledger: Ledger) -> tuple[int | None, int | None]:
    """Units that the dataset says are taken, when it is read and after one more fit; None where it refuses."""
    seen: list[int | None] = []
    for use in (lambda: None, lambda: ledger.reserve("trial", bill(0.2))):
        try:
            use()
            seen.append(ledger.describe("trial").totals["gaussian"])
        except ValueError:
            seen.append(None)
    return seen[0], seen[1]
