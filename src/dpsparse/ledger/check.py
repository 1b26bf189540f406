"""Verification of a ledger: the chain of hashes, the states, and every price computed again from the stored bills."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..accounting.costs.base import canonical, restored
from ..accounting.filters import Charge, recharge, restored_filters
from ..privacy.errors import LedgerTamperedError, PrivacyError
from .chain import NOTHING, Event, Head
from .reservation import MAY_FOLLOW
from .state import State

#: How far a price that is computed again may be above the stored one: other versions of numpy and scipy round differently.
TOLERANCE = 1e-6
#: Problems named in a message.
NAMED = 5


@dataclass(frozen=True)
class Verified:
    """A ledger that was found in order: how many events and datasets, and the head to keep elsewhere."""

    events: int
    datasets: int
    head: str


def check(events: Sequence[Event], head: Head, damage: Sequence[str], kept: str | None) -> Verified:
    """Check everything; raises with what was found."""
    problems = [f"the file is damaged: {d}" for d in damage]
    problems += _chain_problems(events, head)
    if kept is not None and kept not in {e.hash for e in events}:
        problems.append("the head that was kept elsewhere is not part of the chain: events were removed or replaced")
    if not problems:
        problems += _content_problems(events)
    if problems:
        more = f" (and {len(problems) - NAMED} more)" if len(problems) > NAMED else ""
        raise LedgerTamperedError(f"the ledger does not verify: {'; '.join(problems[:NAMED])}{more}.")
    return Verified(len(events), sum(e.what == "create" for e in events), head.hash)


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
    states: dict[str, State] = {}
    taken: dict[int, tuple[str, Charge, str]] = {}
    for event in events:
        if event.what == "open":
            continue
        try:
            problem = _follow(event, event.read(), states, taken)
        except (KeyError, TypeError, ValueError, PrivacyError) as error:
            problem = f"is not readable ({error})"
        if problem:
            found.append(f"event {event.number} {problem}")
    return found


def _follow(
    event: Event, body: dict[str, Any], states: dict[str, State], taken: dict[int, tuple[str, Charge, str]]
) -> str:
    """What is wrong with an event, or nothing; keeps the state it leaves."""
    after = State.from_dict(body["state"])
    before = states.get(event.dataset)
    states[event.dataset] = after
    if event.what == "create":
        fresh = State.opened(after.epsilon, after.delta, str(after.adjacency), after.kind)
        wrong = before is not None or _differs(fresh, after)
        return "opens a dataset twice or wrongly" if wrong else ""
    if before is None:
        return "belongs to no dataset"
    if event.what == "reserve":
        cost = Charge(body["costs"], body["slack"])
        taken[event.entry] = (event.dataset, cost, "reserve")
        started = before if before.kind is not None else before.counting(str(after.kind))
        if _differs(started.taken(cost), after):
            return "does not follow from the state before it"
        return _price_problem(_with_filters(started, after), cost, canonical(body["bill"]))
    dataset, cost, status = taken[event.entry]
    if dataset != event.dataset or status not in MAY_FOLLOW.get(event.what, ()):
        return f"says {event.what!r} of an entry that is {status!r}"
    taken[event.entry] = (dataset, cost, event.what)
    expected = before.given_back(cost) if event.what == "refund" else before
    return "does not follow from the state before it" if _differs(expected, after) else ""


def _with_filters(state: State, stored: State) -> State:
    """A state with the filters as they were stored."""
    return State.from_dict({**state.to_dict(), "filters": stored.to_dict()["filters"]})


def _differs(expected: State, stored: State) -> bool:
    """Whether two states disagree; capacities may differ in their last digits."""
    one, two = expected.to_dict(), stored.to_dict()
    mine, theirs = one.pop("filters"), two.pop("filters")
    return one != two or len(mine) != len(theirs) or any(not _close(a, b) for a, b in zip(mine, theirs, strict=True))


def _close(one: dict[str, Any], two: dict[str, Any]) -> bool:
    if set(one) != set(two) or one["name"] != two["name"]:
        return False
    return all(math.isclose(one[k], two[k], rel_tol=1e-9) for k in one if k != "name")


def _price_problem(state: State, cost: Charge, text: str) -> str:
    """Whether the stored cost covers the stored bill, and was within the budget.

    A stored cost above the one that is computed now counts more than was spent, and is no danger: an earlier release may have had looser prices.
    """
    fresh = _recharged(text, cost.slack, canonical(state.to_dict()["filters"]))
    for name, value in cost.costs.items():
        if fresh[name] - value > TOLERANCE * value + 10:
            return f"states a {name} cost of {value} units where its bill costs {fresh[name]}"
    if not 0 <= cost.slack <= state.slack or (not state.fits(cost) and not state.whole(restored(json.loads(text)))):
        return "exceeds the budget"
    return ""


@lru_cache(maxsize=1024)
def _recharged(bill: str, slack: int, filters: str) -> dict[str, int]:
    return dict(recharge(restored_filters(json.loads(filters)), restored(json.loads(bill)), slack).costs)
