"""What a ledger holds, for people: entries and amounts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..accounting.costs.base import Bill, canonical, restored
from ..accounting.filters import PARTS, UNIT, GaussianFilter
from ..privacy.curves import ORDERS, Curve, gaussian_epsilon, renyi_epsilon
from .chain import Event
from .state import State

STATUS = {"reserve": "reserved", "start": "started", "confirm": "done", "refund": "refunded"}


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
    """

    number: int
    dataset: str
    label: str
    time: str
    status: str
    costs: dict[str, int]
    slack: int
    content: dict[str, Any]

    @property
    def counts(self) -> bool:
        """Whether it takes part of the budget."""
        return self.status != "refunded"

    @property
    def bill(self) -> Bill:
        """The bill, from which every price can be computed again."""
        return _bill(canonical(self.content))

    def epsilon(self, delta: float) -> float:
        """What this entry alone costs at `delta`."""
        return self.bill.epsilon(delta)


def entries_of(events: Iterable[Event]) -> tuple[Entry, ...]:
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
            }
        if event.what in STATUS:
            found[event.entry]["status"] = STATUS[event.what]
    return tuple(Entry(**fields) for fields in found.values())


def spent_of(state: State, entries: Iterable[Entry]) -> Amount:
    r"""The smallest total with which a ledger would have taken these entries.

    By the Gaussian filter: the exact curve of :math:`\sum\mu_i^2`, at delta less the slacks. By a Renyi filter: the best
    order for their sum. A single entry may also be taken at its own price. Never above the total.
    """
    live = [e for e in entries if e.counts]
    if not live:
        return Amount(0.0, 0.0)
    found = [state.epsilon]
    if len(live) == 1:
        found.append(live[0].epsilon(state.delta))
    if state.kind == "pure":
        found.append(state.totals["pure"] * UNIT)
    for lead in state.filters:
        if isinstance(lead, GaussianFilter) and state.totals["gaussian"] <= lead.capacity:
            slack = lead.slack * (PARTS - state.slack) / PARTS
            found.append(gaussian_epsilon(math.sqrt(state.totals["gaussian"] * UNIT), state.delta - slack))
    if state.delta > 0:
        found.append(renyi_epsilon(np.sum([_renyi(canonical(e.content)) for e in live], axis=0), state.delta))
    return Amount(min(found), state.delta)


@lru_cache(maxsize=256)
def _bill(text: str) -> Bill:
    import json

    return restored(json.loads(text))


@lru_cache(maxsize=1024)
def _renyi(text: str) -> Curve:
    return _bill(text).renyi(ORDERS)
