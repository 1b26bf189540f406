"""The state of one dataset in a ledger, and how each event changes it. Pure functions: stores and verification share them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..accounting.costs.base import Bill
from ..accounting.filters import (
    KINDS,
    PARTS,
    Charge,
    Filter,
    charge,
    filters_of,
    portion,
    restored_filters,
    stored_filters,
)
from ..privacy.adjacency import Adjacency
from ..privacy.budget import Budget
from ..privacy.errors import BudgetError, LedgerError
from .chain import Chain

#: A ledger counts in Renyi divergences if its first entry takes less than this part of what it would take otherwise.
CLEARLY = 0.8


@dataclass(frozen=True, kw_only=True)
class State:
    """What a dataset allows and what was taken of it.

    Attributes
    ----------
    epsilon, delta : float
        The total.
    adjacency : Adjacency
    kind : str or None
        How costs are counted; None until the first entry decides.
    filters : tuple of Filter
    totals : mapping
        Units taken of each filter.
    slack : int
        Parts of slack that are left.
    live : int
        Entries that count: all that were not refunded.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    kind: str | None
    filters: tuple[Filter, ...] = ()
    totals: Mapping[str, int]
    slack: int = PARTS
    live: int = 0

    @classmethod
    def opened(cls, epsilon: float, delta: float, adjacency: str, kind: str | None) -> State:
        """A dataset of which nothing was taken."""
        total = Budget.approx(epsilon, delta, adjacency)
        assert total.epsilon is not None
        assert total.delta is not None
        if kind is not None and kind not in KINDS:
            raise BudgetError(
                f"kind must be one of {', '.join(KINDS)}, got {kind!r}. Leave it out: the first entry decides."
            )
        if total.delta == 0:
            kind = kind or "pure"
        if kind is not None and (kind == "pure") != (total.delta == 0):
            raise BudgetError(
                f"kind={kind!r} does not go with delta={total.delta:g}: 'pure' is for delta = 0, and nothing else is."
            )
        state = cls(epsilon=total.epsilon, delta=total.delta, adjacency=total.relation, kind=None, totals={})
        return state if kind is None else state.counting(kind)

    def counting(self, kind: str) -> State:
        """The same with its filters, before anything was taken."""
        filters = filters_of(kind, self.epsilon, self.delta)
        return replace(self, kind=kind, filters=filters, totals={f.name: 0 for f in filters})

    def decided(self, bill: Bill) -> State:
        """With filters: where they are still open, this first entry decides.

        Renyi, if the entry takes clearly less of it; otherwise Gaussian, which is exact for Gaussian entries to come. Nothing
        was released yet, so this is as good as a decision at the start.
        """
        if self.kind is not None:
            return self

        def part(state: State) -> float:
            lead = state.filters[0]
            return lead.cost(bill, portion(PARTS))[0] / max(1, lead.capacity)

        gaussian, renyi = self.counting("gaussian"), self.counting("renyi")
        return renyi if part(renyi) < CLEARLY * part(gaussian) else gaussian

    def charge(self, bill: Bill) -> Charge:
        """What a bill would cost now."""
        return charge(self.filters, bill, self.slack)

    def fits(self, cost: Charge) -> bool:
        """Whether some filter has room for it."""
        if not 0 <= cost.slack <= self.slack:
            return False
        return any(self.totals[f.name] + cost.costs[f.name] <= f.capacity for f in self.filters)

    def whole(self, bill: Bill) -> bool:
        """Whether a bill may take everything at once: nothing else counts, and its own price is within the total.

        It is chosen before anything was released, so its own accountant is valid; afterwards no filter has room.
        """
        if self.live or self.delta == 0:
            return False
        return bill.epsilon(self.delta) <= self.epsilon or bill.delta(self.epsilon) <= self.delta

    def taken(self, cost: Charge) -> State:
        """After an entry."""
        totals = {name: self.totals[name] + cost.costs[name] for name in self.totals}
        return replace(self, totals=totals, slack=self.slack - cost.slack, live=self.live + 1)

    def given_back(self, cost: Charge) -> State:
        """After a refund."""
        totals = {name: self.totals[name] - cost.costs[name] for name in self.totals}
        return replace(self, totals=totals, slack=self.slack + cost.slack, live=self.live - 1)

    def room(self) -> float:
        """The largest epsilon, at delta, of an all-Gaussian (or pure) fit that would be taken."""
        if self.live == 0:
            return self.epsilon
        found = (f.room(f.capacity - self.totals[f.name], self.delta) for f in self.filters)
        return min(self.epsilon, max(found, default=0.0))

    def largest_factor(self, bill: Bill) -> float:
        """A factor a little below the largest with which the scaled bill would be taken; 0 if there is none above 1e-6."""
        factor = 1.0
        for _ in range(10):  # costs are nearly linear in the factor, so that two or three turns are enough
            cost = self.charge(bill.scaled(factor))
            if self.fits(cost):
                return factor
            factor *= 0.99 * max((f.capacity - self.totals[f.name]) / max(1, cost.costs[f.name]) for f in self.filters)
            if factor < 1e-6:
                break
        return 0.0

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": str(self.adjacency),
            "kind": self.kind,
            "filters": stored_filters(self.filters),
            "totals": dict(self.totals),
            "slack": self.slack,
            "live": self.live,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> State:
        """The inverse of `to_dict`."""
        given = dict(content)
        given["adjacency"] = Adjacency.named(given["adjacency"])
        given["filters"] = restored_filters(given["filters"])
        return cls(**given)


def latest(chain: Chain, dataset: str) -> State:
    """The state that the last event of a dataset left; the head says which event that is."""
    event = chain.last(dataset)
    if event is None:
        known = sorted(chain.head().ends)
        raise LedgerError(
            f"dataset {dataset!r} is not in the ledger; it holds {', '.join(map(repr, known)) or 'none'}. "
            "Open it with Ledger.create(dataset, epsilon, delta)."
        )
    try:
        return State.from_dict(event.read()["state"])
    except (KeyError, TypeError, ValueError):
        raise LedgerError(f"event {event.number} of the ledger is damaged. Restore the ledger from a copy.") from None
