"""What a ledger holds, for people: entries and amounts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..accounting.costs.base import Cost, read_cost
from ..accounting.filters import PARTS, UNBOUNDED, UNIT, GaussianFilter, cost_units
from ..accounting.odometer import Spent, odometer
from ..core.codec import canonical_json
from ..core.curves import ORDERS, Curve, gaussian_epsilon, renyi_epsilon
from .chain import Chain, Event
from .state import State, entry_events, replayed

STATUS = {"reserve": "reserved", "start": "started", "resume": "started", "confirm": "done", "refund": "refunded"}


@dataclass(frozen=True)
class Amount:
    """An amount of privacy in (epsilon, delta)."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"({self.epsilon:.6g}, {self.delta:.3g})"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One reservation.

    Attributes
    ----------
    number : int
        By which statements name it.
    dataset, label, time : str
    status : str
        ``reserved`` (nothing answered yet, or a crash), ``started`` (answered, and not ended, or a crash), ``done`` or
        ``refunded``. All but the last count.
    costs : dict
        Units taken of each filter.
    slack : int
        Parts of slack taken.
    content : dict
        The stored bill.
    run_id : str or None
        The run that it pays for; see `Ledger.reserve`.
    """

    number: int
    dataset: str
    label: str
    time: str
    status: str
    costs: dict[str, int]
    slack: int
    content: dict[str, Any]
    run_id: str | None = None

    @property
    def counts(self) -> bool:
        """Whether it takes part of the budget."""
        return self.status != "refunded"

    @property
    def bill(self) -> Cost:
        """The bill, from which every price can be computed again."""
        return _bill(canonical_json(self.content))

    def epsilon(self, delta: float) -> float:
        """What this entry alone costs at `delta`."""
        return self.bill.epsilon(delta)


def read_entries(events: Iterable[Event]) -> tuple[Entry, ...]:
    """Reservations with what became of them."""
    found: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.what == "reserve":
            body = event.read()
            found[event.entry] = {
                "number": event.entry,
                "dataset": event.dataset,
                "label": body["label"],
                "time": body["time"],
                "costs": body["costs"],
                "slack": body["slack"],
                "content": body["bill"],
                "run_id": body.get("run_id"),
            }
        if event.what in STATUS:
            found[event.entry]["status"] = STATUS[event.what]
    return tuple(Entry(**fields) for fields in found.values())


@dataclass(frozen=True)
class Bills:
    """The bills of a dataset's entries that count: each different one, and how many entries have it."""

    each: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, chain: Chain, dataset: str) -> Bills:
        """From an entry of each, as it was counted: other events are not read."""
        replay = replayed(chain)
        found = []
        for same in replay.bills_of(dataset):
            event, _ = entry_events(chain, replay.entries[same.entry], same.entry)
            found.append((canonical_json(event.read()["bill"]), same.counting))
        return cls(tuple(found))

    @property
    def last(self) -> Cost | None:
        """The bill of the last entry; None without one."""
        return _bill(self.each[-1][0]) if self.each else None

    def renyi(self) -> Curve:
        """Divergences of all entries together."""
        return np.asarray(np.sum([count * _renyi(text) for text, count in self.each], axis=0))

    def pure(self) -> float:
        """Their pure epsilons together, each rounded up to whole units."""
        return sum(count * cost_units(_bill(text).pure()) for text, count in self.each) * UNIT


def spent_of(state: State, bills: Bills) -> Amount:
    r"""The capacity that is used: the smallest total with which a ledger would have taken these entries.

    By the Gaussian filter: the exact curve of :math:`\sum\mu_i^2`, at delta less the slacks. By a
    Renyi filter: the best order for their sum. A single entry may also be taken at its own price.
    Never above the total. It is chosen after the fact, so it is no bound on what was lost: that is
    `odometer_of`.
    """
    if bills.last is None:
        return Amount(0.0, 0.0)
    found = [state.epsilon]
    if state.live == 1:
        found.append(bills.last.epsilon(state.delta))
    if state.kind == "pure":
        found.append(state.totals["pure"] * UNIT)
    for lead in state.filters:
        if isinstance(lead, GaussianFilter) and state.totals["gaussian"] <= lead.capacity:
            found.append(
                gaussian_epsilon(math.sqrt(state.totals["gaussian"] * UNIT), state.delta - _slack(lead, state))
            )
    if state.delta > 0:
        found.append(renyi_epsilon(bills.renyi(), state.delta))
    return Amount(min(found), state.delta)


def odometer_of(state: State, bills: Bills) -> Amount:
    """A bound on what was lost so far, valid whenever it is read; see `dpsparse.accounting.odometer`."""
    if bills.last is None:
        return Amount(0.0, 0.0)
    leads = [f for f in state.filters if isinstance(f, GaussianFilter)]
    taken = Spent(
        count=state.live,
        first=bills.last.epsilon,
        mu_squared=state.totals["gaussian"] * UNIT if leads else math.inf,
        slack=sum(_slack(f, state) for f in leads),
        renyi=bills.renyi(),
        pure=bills.pure(),
    )
    found = odometer(state.epsilon, state.delta, taken)
    return Amount(found if found < UNBOUNDED * UNIT else math.inf, state.delta)


def _slack(lead: GaussianFilter, state: State) -> float:
    """The delta that slacks have taken."""
    return lead.slack * (PARTS - state.slack) / PARTS


@lru_cache(maxsize=256)
def _bill(text: str) -> Cost:
    import json

    return read_cost(json.loads(text))


@lru_cache(maxsize=1024)
def _renyi(text: str) -> Curve:
    return _bill(text).renyi(ORDERS)
