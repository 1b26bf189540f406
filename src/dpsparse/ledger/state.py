"""The state of one dataset in a ledger, and how each event changes it: charging, reading and verification share this.

Guarantee
---------
`latest` counts what is taken from the costs of the reservations and from what became of each of
them, and refuses a ledger whose last event says anything else. An event that gives budget back is
therefore refused whenever the dataset is read or charged, unless it is a refund of an entry for
which nothing was answered. Intermediate states and prices are compared by `Ledger.verify` alone.

The events of a ledger are read once in a process, or by one user of a machine (`checkpoint`);
afterwards only those that were added since (`replayed`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from ..accounting.costs.base import Cost
from ..accounting.filters import KINDS, PARTS, Charge, Filter, filter_costs, filters_of, portion
from ..core.adjacency import Adjacency
from ..core.budget import Budget
from ..core.checks import ROW
from ..core.codec import Record, canonical_json, form, write
from ..core.errors import BudgetError, LedgerError, LedgerTamperedError
from .chain import NOTHING, SEE, Chain, Event
from .checkpoint import EVERY, Base, CheckpointTable, checkpoint_path, read_checkpoint, write_checkpoint

#: `State.further` counts no further than this.
MANY = 10**6
#: A ledger counts in Renyi divergences if its first entry takes less than this part of what it would take otherwise.
CLEARLY = 0.8


@form(later=(("unit",),))
@dataclass(frozen=True, kw_only=True)
class State(Record):
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
    unit : str
        What neighbours differ in: a row, or all rows of what has one id, such as a patient.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    kind: str | None
    filters: tuple[Filter, ...] = ()
    totals: Mapping[str, int]
    slack: int = PARTS
    live: int = 0
    unit: str = ROW

    @classmethod
    def opened(cls, epsilon: float, delta: float, adjacency: str, kind: str | None, unit: str = ROW) -> State:
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
        budget = {"epsilon": total.epsilon, "delta": total.delta, "adjacency": total.relation}
        state = cls(**budget, kind=None, totals={}, unit=unit)  # type: ignore[arg-type]
        return state if kind is None else state.counting(kind)

    def counting(self, kind: str) -> State:
        """The same with its filters, before anything was taken."""
        filters = _filters_of(kind, self.epsilon, self.delta)
        return replace(self, kind=kind, filters=filters, totals={f.name: 0 for f in filters})

    def decided(self, bill: Cost) -> State:
        """With filters: where they are still open, this first entry decides.

        Renyi, if the entry takes clearly less of it; otherwise Gaussian, which is exact for
        Gaussian entries to come. Nothing was released yet, so this is as good as a decision at the
        start.
        """
        if self.kind is not None:
            return self

        def part(state: State) -> float:
            lead = state.filters[0]
            return lead.cost(bill, portion(PARTS))[0] / max(1, lead.capacity)

        gaussian, renyi = self.counting("gaussian"), self.counting("renyi")
        return renyi if part(renyi) < CLEARLY * part(gaussian) else gaussian

    def charge(self, bill: Cost) -> Charge:
        """What a bill would cost now."""
        return filter_costs(self.filters, bill, self.slack)

    def fits(self, cost: Charge) -> bool:
        """Whether some filter has space for it."""
        if not 0 <= cost.slack <= self.slack:
            return False
        return any(self.totals[f.name] + cost.costs[f.name] <= f.capacity for f in self.filters)

    def whole(self, bill: Cost) -> bool:
        """Whether a bill may take everything at once: nothing else counts, and its own price is within the total.

        It is chosen before anything was released, so its own accountant is valid; afterwards no filter has any left.
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

    def largest_epsilon(self) -> float:
        """The largest epsilon, at delta, of an all-Gaussian (or pure) fit that would be taken."""
        if self.live == 0:
            return self.epsilon
        found = (f.largest_epsilon(f.capacity - self.totals[f.name], self.delta) for f in self.filters)
        return min(self.epsilon, max(found, default=0.0))

    def further(self, bill: Cost) -> int:
        """How many fits of this bill would be taken one after another, at the price of the next one."""
        cost = self.charge(bill)
        if not self.fits(cost):
            return 0
        rooms = [
            (f.capacity - self.totals[f.name]) // cost.costs[f.name] if cost.costs[f.name] else MANY
            for f in self.filters
        ]
        return min(MANY, max(rooms, default=0))

    def largest_factor(self, bill: Cost) -> float:
        """A factor a little below the largest with which the scaled bill would be taken.

        0 if none is above 1e-6.
        """
        factor = 1.0
        for _ in range(10):  # costs are nearly linear in the factor, so that two or three turns are enough
            cost = self.charge(bill.scaled(factor))
            if self.fits(cost):
                return factor
            factor *= 0.99 * max((f.capacity - self.totals[f.name]) / max(1, cost.costs[f.name]) for f in self.filters)
            if factor < 1e-6:
                break
        return 0.0


_filters_of = lru_cache(maxsize=256)(filters_of)


def differs(expected: State, stored: State) -> bool:
    """Whether two states disagree; capacities may differ in their last digits."""
    if replace(expected, filters=()) != replace(stored, filters=()) or len(expected.filters) != len(stored.filters):
        return True
    return not all(map(_close, map(write, expected.filters), map(write, stored.filters)))


def _close(one: dict[str, Any], two: dict[str, Any]) -> bool:
    if set(one) != set(two) or one["name"] != two["name"]:
        return False
    return all(math.isclose(one[k], two[k], rel_tol=1e-9) for k in one if k != "name")


# ------------------------------------------------------------------------------------------------ events

#: From which states an event may follow.
MAY_FOLLOW = {
    "start": ("reserve",),
    "resume": ("start", "resume"),
    "confirm": ("reserve", "start", "resume"),
    "refund": ("reserve",),
}
#: Ledgers whose replays are kept in a process.
KEPT = 16


class Taken(NamedTuple):
    """An entry: its dataset, its last event with number and hash, and the hash of its reservation.

    Cost, run-id and the digest of its bill while it may be refunded.
    """

    dataset: str
    what: str
    number: int
    hash: str = ""
    reserved: str = ""
    cost: Charge | None = None
    run: str | None = None
    bill: str = ""

    def stored(self) -> list[Any]:
        """As JSON."""
        cost = None if self.cost is None else [dict(self.cost.costs), self.cost.slack]
        return [self.dataset, self.what, self.number, self.hash, self.reserved, cost, self.run, self.bill]

    @classmethod
    def restored(cls, content: list[Any]) -> Taken:
        """From `stored`."""
        dataset, what, number, last, reserved, cost, run, bill = content
        return cls(dataset, what, number, last, reserved, None if cost is None else Charge(*cost), run, bill)


class SameBill(NamedTuple):
    """How many entries with equal bills count, and the number of the last one that was reserved."""

    counting: int
    entry: int


@dataclass
class Replay:
    """What the first events of a ledger amount to.

    Attributes
    ----------
    number, hash
        Of the last of these events.
    states : dict
        What is taken of each dataset, counted.
    ends : dict
        Number of the last event of each dataset.
    entries : dict
        What became of each entry, by number.
    runs : dict
        The entry of each dataset and run-id that was not refunded.
    bills : dict
        Entries that count, by dataset and digest of their bill.
    """

    number: int = 0
    hash: str = NOTHING
    states: dict[str, State] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    entries: CheckpointTable[int, Taken] = field(default_factory=lambda: CheckpointTable("entries", Taken.restored))
    runs: CheckpointTable[tuple[str, str], int] = field(default_factory=lambda: CheckpointTable("runs", int))
    bills: CheckpointTable[tuple[str, str], SameBill] = field(
        default_factory=lambda: CheckpointTable("bills", lambda row: SameBill(*row))
    )

    def copy(self) -> Replay:
        """Another one that can go on by itself."""
        tables = self.entries.copy(), self.runs.copy(), self.bills.copy()
        return Replay(self.number, self.hash, dict(self.states), dict(self.ends), *tables)

    def bills_of(self, dataset: str) -> list[SameBill]:
        """The different bills of a dataset's entries that count, in the order of their last entries."""
        bills = self.bills.whole().items()
        return sorted((b for (name, _), b in bills if name == dataset and b.counting), key=lambda b: b.entry)

    @classmethod
    def kept(cls, chain: Chain, ledger: str) -> Replay:
        """What an earlier process of this user has counted, if that is still part of the chain; else nothing yet."""
        path = checkpoint_path(ledger)
        top = read_checkpoint(path)
        if path is None or top is None or not chain.holds(top["number"], top["hash"]):
            return cls()
        states = {name: State.from_dict(state) for name, state in top["states"].items()}
        counted = cls(top["number"], top["hash"], states, dict(top["ends"]))
        return counted.based(Base(path, top["number"], top["generation"]))

    def based(self, base: Base) -> Replay:
        """The same, of which everything stands in a checkpoint."""
        tables = self.entries.on(base), self.runs.on(base), self.bills.on(base)
        return Replay(self.number, self.hash, self.states, self.ends, *tables)

    def keep(self, ledger: str) -> Replay:
        """Write a checkpoint once there is enough that is new, and go on from it."""
        path, base = checkpoint_path(ledger), self.entries.base
        if path is None or self.number - (0 if base is None else base.number) < EVERY:
            return self
        states = {name: state.to_dict() for name, state in self.states.items()}
        top = {"number": self.number, "hash": self.hash, "states": states, "ends": self.ends}
        entries = {key: value.stored() for key, value in self.entries.changed.items() if value}
        changed: dict[str, Mapping[Any, object]] = {
            "entries": entries,
            "runs": self.runs.changed,
            "bills": self.bills.changed,
        }
        written = write_checkpoint(path, top, changed, None if base is None else base.generation)
        return self if written is None else self.based(Base(path, self.number, written))

    def follow(self, event: Event) -> str:
        """Go on by one event, and say what is wrong with it: that it does not follow those before it.

        Empty: nothing.
        """
        if event.number != self.number + 1 or event.previous != self.hash:
            return "is out of place"
        if not event.intact:
            return "was edited"
        self.number, self.hash = event.number, event.hash
        if event.what == "open":
            return "" if event.number == 1 else "opens the ledger once more"
        self.ends[event.dataset] = event.number
        if event.what == "create":
            return self._create(event)
        if event.dataset not in self.states:
            return "belongs to no dataset"
        return self._reserve(event) if event.what == "reserve" else self._advance(event)

    def _create(self, event: Event) -> str:
        after = State.from_dict(event.read()["state"])
        fresh = State.opened(after.epsilon, after.delta, str(after.adjacency), after.kind, after.unit)
        wrong = event.dataset in self.states or differs(fresh, after)
        self.states.setdefault(event.dataset, after)
        return "opens a dataset twice or wrongly" if wrong else ""

    def _reserve(self, event: Event) -> str:
        body, before = event.read(), self.states[event.dataset]
        started = before
        if before.kind is None:  # this entry decided how costs are counted
            stated = State.from_dict(body["state"])
            started = replace(before.counting(str(stated.kind)), filters=stated.filters)
        cost, run = Charge(body["costs"], body["slack"]), body.get("run_id")
        if cost.costs.keys() != started.totals.keys() or not all(
            type(c) is int and c >= 0 for c in cost.costs.values()
        ):
            return "has costs below zero, or of other filters than its dataset"
        if event.entry != event.number:
            return "takes the number of another entry"
        self.states[event.dataset] = started.taken(cost)
        bill = hashlib.blake2b(canonical_json(body["bill"]).encode(), digest_size=16).hexdigest()
        taken = Taken(event.dataset, "reserve", event.number, event.hash, event.hash, cost, run, bill)
        self.entries[event.entry] = taken
        self._count(taken, 1, event.entry)
        if run is not None:
            self.runs.setdefault((event.dataset, run), event.entry)
        if before.kind is None and differs(before.counting(str(started.kind)), started):
            return "has other filters than the budget of its dataset"
        return "" if type(cost.slack) is int and 0 <= cost.slack <= started.slack else "exceeds the budget"

    def _advance(self, event: Event) -> str:
        taken = self.entries.get(event.entry, Taken("", "nothing", 0))
        if taken.dataset != event.dataset or taken.what not in MAY_FOLLOW.get(event.what, ()):
            return f"says {event.what!r} of an entry that is {taken.what!r}"
        self.entries[event.entry] = Taken(event.dataset, event.what, event.number, event.hash, taken.reserved)
        if event.what == "refund":
            assert taken.cost is not None
            self.states[event.dataset] = self.states[event.dataset].given_back(taken.cost)
            self._count(taken, -1)
            if taken.run is not None:
                self.runs.pop((event.dataset, taken.run), None)
        return ""

    def _count(self, taken: Taken, more: int, entry: int = 0) -> None:
        known = self.bills.get((taken.dataset, taken.bill), SameBill(0, 0))
        self.bills[taken.dataset, taken.bill] = SameBill(known.counting + more, max(known.entry, entry))


def entry_events(chain: Chain, taken: Taken, entry: int) -> tuple[Event, Event]:
    """The reservation of an entry and its last event, as they were counted; refuses others."""
    found = []
    for number, counted in ((entry, taken.reserved), (taken.number, taken.hash)):
        event = chain.event(number)
        if event is None or event.hash != counted or not event.intact:
            raise LedgerTamperedError(
                f"event {number} of the ledger is missing, or was changed after it was counted. {SEE}"
            )
        found.append(event)
    return found[0], found[1]


_REPLAYS: dict[str, Replay] = {}


def replayed(chain: Chain) -> Replay:
    """What the events of a ledger amount to; refuses one that does not follow those before it.

    Events that this process has seen to follow are not read again, as long as the last of them is
    still part of the chain: after a transaction that was undone, and for another copy of a ledger,
    it is not.
    """
    head = chain.head()
    known = _REPLAYS.get(head.ledger)
    if known is None or not chain.holds(known.number, known.hash):
        known = Replay.kept(chain, head.ledger)
    now = known
    added: Iterable[Event] = ()
    if known.number != head.number:
        now, added = known.copy(), chain.events(known.number + 1)
    for event in added:
        try:
            problem = now.follow(event)
        except (KeyError, TypeError, ValueError, AttributeError):
            problem = "is not readable"
        if problem:
            raise LedgerTamperedError(
                f"event {event.number} of the ledger {problem}: it was added or changed from "
                f"outside, or is damaged. {SEE}"
            )
    if (now.number, now.hash, now.ends) != (head.number, head.hash, dict(head.ends)):
        raise LedgerTamperedError(
            f"the head of the ledger names other last events than there are: it is damaged. {SEE}"
        )
    if chain.appended is None:  # what this transaction adds may yet be undone
        now = now.keep(head.ledger)
    _REPLAYS[head.ledger] = now
    for ledger in list(_REPLAYS)[:-KEPT]:
        _REPLAYS.pop(ledger, None)
    return now


def latest(chain: Chain, dataset: str) -> State:
    """What is taken of a dataset, as its events and its last event say alike; refuses where they do not."""
    event, counted = chain.last(dataset), replayed(chain).states
    if event is None:
        known = sorted(chain.head().ends)
        raise LedgerError(
            f"dataset {dataset!r} is not in the ledger; it holds {', '.join(map(repr, known)) or 'none'}. "
            "Open it with dpsparse ledger create, or in Python with Ledger.create(dataset, epsilon, delta)."
        )
    try:
        stated = State.from_dict(event.read()["state"])
    except (KeyError, TypeError, ValueError):
        raise LedgerError(f"event {event.number} of the ledger is damaged. Restore the ledger from a copy.") from None
    if differs(counted[dataset], stated):
        raise LedgerTamperedError(
            f"event {event.number}, the last of dataset {dataset!r}, says that other costs were taken than its entries "
            f"have: it was added or changed from outside. {SEE}"
        )
    return stated
