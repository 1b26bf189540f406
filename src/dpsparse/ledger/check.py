"""Verification of a ledger: the chain of hashes, the states, and every price computed again from the stored bills.

Also of the entry that a statement cites: whether a ledger answers for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ..accounting.costs.base import read_cost
from ..accounting.filters import Charge, Filter, recharge
from ..core import DataError, Statement
from ..core.codec import canonical_json, read, write
from ..core.errors import LedgerTamperedError, PrivacyError
from .chain import NOTHING, Event, Head
from .names import is_seeded
from .state import Replay, State, differs

if TYPE_CHECKING:
    from .entries import Entry
    from .ledger import Ledger

#: How far a price that is computed again may be above the stored one, and what is stated from what the entry's bill
#: gives: other versions of numpy and scipy round differently.
TOLERANCE = 1e-6
#: Problems named in a message.
NAMED = 5


@dataclass(frozen=True)
class Verified:
    """A ledger that was found in order: how many events and datasets, and the head to keep elsewhere."""

    events: int
    datasets: int
    head: str


def check_chain(events: Sequence[Event], head: Head, damage: Sequence[str], kept: str | None) -> Verified:
    """Check everything; raises with what was found."""
    problems = [f"the file is damaged: {d}" for d in damage]
    problems += _chain_problems(events, head)
    if kept is not None and kept not in {e.hash for e in events} and (problems or kept not in former_hashes(events)):
        problems.append("the head that was kept elsewhere is not part of the chain: events were removed or replaced")
    if not problems:
        problems += _content_problems(events)
    if problems:
        more = f" (and {len(problems) - NAMED} more)" if len(problems) > NAMED else ""
        raise LedgerTamperedError(f"the ledger does not verify: {'; '.join(problems[:NAMED])}{more}.")
    return Verified(len(events), sum(e.what == "create" for e in events), head.hash)


def former_hashes(events: Sequence[Event]) -> dict[str, int]:
    """Numbers of events by the hashes that they had in the ledger from which they were moved (`upgrade`)."""
    if not events or "moved" not in events[0].read():
        return {}
    return {str(event.read().get("was")): event.number for event in events}


def _chain_problems(events: Sequence[Event], head: Head) -> list[str]:
    found, previous = [], NOTHING
    for place, event in enumerate(events, start=1):
        if event.number != place:
            found.append(f"event {place} is missing, or {event.number} is out of place")
            return found
        if event.previous != previous:
            found.append(f"event {place} does not follow the one before it")
        if not event.intact:
            found.append(f"event {place} was edited")
        previous = event.hash
    if (len(events), previous) != (head.number, head.hash):
        found.append(f"the chain has {len(events)} events and the head names {head.number}: its end was changed")
    if not found and {e.dataset: e.number for e in events if e.dataset} != dict(head.ends):
        found.append("the head names other last events of its datasets than the chain has")
    if not found and events and events[0].read().get("ledger") != head.ledger:
        found.append("the head has another identity than the first event")
    return found


def _content_problems(events: Sequence[Event]) -> list[str]:
    """Replay: from each event and the state before it follows the state after it."""
    found: list[str] = []
    replay = Replay()
    for event in events:
        try:
            problem = replay.follow(event) or _state_problem(event, replay)
        except (KeyError, TypeError, ValueError, PrivacyError) as error:
            problem = f"is not readable ({error})"
        if problem:
            found.append(f"event {event.number} {problem}")
    return found


def _state_problem(event: Event, replay: Replay) -> str:
    """What is wrong with the state or the price that an event says; goes on from what it says."""
    if event.what == "open":
        return ""
    body = event.read()
    after, counted = State.from_dict(body["state"]), replay.states[event.dataset]
    replay.states[event.dataset] = after
    if differs(counted, after):
        return "does not follow from the state before it"
    if event.what != "reserve":
        return ""
    cost = Charge(body["costs"], body["slack"])
    return _price_problem(after.given_back(cost), cost, canonical_json(body["bill"]))


def _price_problem(state: State, cost: Charge, text: str) -> str:
    """Whether the stored cost covers the stored bill, and was within the budget.

    A stored cost above the one that is computed now counts more than was spent, and is no danger:
    an earlier release may have had looser prices.
    """
    fresh = _recharged(text, cost.slack, canonical_json(write(state.filters)))
    for name, value in cost.costs.items():
        if fresh[name] - value > TOLERANCE * value + 10:
            return f"states a {name} cost of {value} units where its bill costs {fresh[name]}"
    if not 0 <= cost.slack <= state.slack or (not state.fits(cost) and not state.whole(read_cost(json.loads(text)))):
        return "exceeds the budget"
    return ""


@lru_cache(maxsize=1024)
def _recharged(bill: str, slack: int, filters: str) -> dict[str, int]:
    return dict(
        recharge(read(tuple[Filter, ...], json.loads(filters), "filters"), read_cost(json.loads(bill)), slack).costs
    )


@dataclass(frozen=True)
class Cited:
    """What a model file says of its payment: the citation, and the guarantee that it states."""

    record: Mapping[str, object]
    statement: Statement

    def check(self, book: Ledger) -> Entry:
        """The entry that is cited.

        Refuses a ledger that does not hold it, and an entry that paid for another guarantee or for noise from a seed.
        """
        entry = book.verify_citation(self.record)
        epsilon, delta, mu = self.statement.epsilon, self.statement.delta, self.statement.mu
        if not math.isfinite(epsilon):
            raise DataError("the model states no epsilon. Save it again from the original.")
        price = entry.epsilon(delta)
        certified = price <= epsilon * (1 + TOLERANCE) or entry.bill.delta(epsilon) <= delta * (1 + TOLERANCE)
        if not certified:
            raise LedgerTamperedError(
                f"the model states epsilon = {epsilon:.6g} at delta = {delta:.3g}, and entry "
                f"{entry.number} paid for {price:.6g}."
            )
        if math.isfinite(mu) and not math.isclose(entry.bill.mu(), mu, rel_tol=TOLERANCE):
            raise LedgerTamperedError(
                f"the model states mu = {mu:.6g}, and entry {entry.number} paid for "
                f"{entry.bill.mu():.6g}: it is not the entry of this model."
            )
        if self.statement.private and is_seeded(entry.label):
            raise LedgerTamperedError(
                f"entry {entry.number} paid for noise that came from a seed, and the model claims to be private."
            )
        return entry
