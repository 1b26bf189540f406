r"""Events of a ledger, chained by hashes, and the SQL that stores of either kind share.

Every event holds the hash of the one before it. The head holds the identity of the ledger, the
number of events, the last hash, the number of the last event of each dataset, and a seal over all
of this. Anyone who reads or writes compares first: the head with its seal, the end of the chain with
the head, and the dataset's last event with what the head says it is. Events are found by their
number alone: there is no index that could hide one. What is taken of a budget is counted from the
events (`state.Replay`), and the last event must say the same.

What a chain without a secret key cannot show: somebody who may write the file and rebuilds
*everything* after the place of an edit, head included. `verify` still recomputes every price, so
the rebuilt entries must be honest bills; that entries are missing shows only against a head that
was kept elsewhere (`Ledger.export`, `Ledger.verify(head=...)`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..core.codec import canonical_json
from ..core.errors import LedgerError, LedgerTamperedError

#: Version of the tables and of what events hold.
VERSION = 2
#: In the place of the version, of a ledger that was moved: no release takes an entry there.
CLOSED = 0
#: What stands before the first event.
NOTHING = "0" * 64

COLUMNS = "number, dataset, entry, what, body, previous, hash"
NO_LEDGER = (
    "there is no ledger at {where}. Make one with dpsparse ledger create, or in Python with "
    "Ledger(address).create(dataset, epsilon, delta), or check the address: a ledger that was lost must not be "
    "replaced by an empty one."
)
EVENTS, HEAD = "dpsparse_ledger_events", "dpsparse_ledger_head"
#: Of a ledger that was moved: its version, where it was moved, and whether all of it is there.
MOVED = "dpsparse_ledger_moved"
#: INTEGER PRIMARY KEY is the place of the row itself in SQLite, so that no second structure has to
#: agree with the table.
TABLES = (
    f"CREATE TABLE {EVENTS} (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, entry INTEGER NOT NULL, what TEXT NOT "
    "NULL, body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)",
    f"CREATE TABLE {HEAD} (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, ledger TEXT NOT NULL, "
    "number INTEGER NOT NULL, hash TEXT NOT NULL, ends TEXT NOT NULL, seal TEXT NOT NULL)",
)
SEE = "See dpsparse ledger verify, and restore the ledger from a copy."


@dataclass(frozen=True)
class Event:
    """Something that happened: ``open``, ``create``, ``reserve``, ``start``, ``confirm`` or ``refund``.

    `entry` is the number of the reservation it belongs to; `body` is canonical JSON.
    """

    number: int
    dataset: str
    entry: int
    what: str
    body: str
    previous: str
    hash: str

    @classmethod
    def after(cls, number: int, previous: str, dataset: str, entry: int, what: str, body: dict[str, Any]) -> Event:
        """The event that follows; an entry of 0 stands for the event's own number."""
        if what == "reserve":
            entry = number
        text = canonical_json(body)
        return cls(number, dataset, entry, what, text, previous, digest(number, dataset, entry, what, text, previous))

    @property
    def intact(self) -> bool:
        """Whether the hash belongs to the content."""
        try:
            return self.hash == digest(self.number, self.dataset, self.entry, self.what, self.body, self.previous)
        except (TypeError, ValueError):  # a damaged row may hold anything
            return False

    def read(self) -> dict[str, Any]:
        """The body."""
        try:
            content = json.loads(self.body)
        except (ValueError, TypeError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise LedgerError(f"event {self.number} of the ledger is damaged: its content is not readable.")
        return content


@dataclass(frozen=True)
class Head:
    """Where a ledger ends: its identity, how many events, the last hash, and the last event of each dataset."""

    ledger: str
    number: int
    hash: str
    ends: Mapping[str, int]

    @classmethod
    def fresh(cls) -> Head:
        """That of an empty ledger, with an identity of its own."""
        return cls(secrets.token_hex(16), 0, NOTHING, {})

    def after(self, event: Event) -> Head:
        """With one more event."""
        ends = {**self.ends, event.dataset: event.number} if event.dataset else self.ends
        return Head(self.ledger, event.number, event.hash, ends)

    def row(self) -> tuple[int, str, int, str, str, str]:
        """As it is stored, with its seal."""
        return VERSION, self.ledger, self.number, self.hash, canonical_json(self.ends), self.seal()

    def seal(self) -> str:
        """A hash over everything it says."""
        return hashlib.sha256(
            canonical_json([VERSION, self.ledger, self.number, self.hash, self.ends]).encode()
        ).hexdigest()


def digest(number: int, dataset: str, entry: int, what: str, body: str, previous: str) -> str:
    """The hash of an event, over everything it says and the hash before it."""
    return hashlib.sha256(canonical_json([number, dataset, entry, what, body, previous]).encode()).hexdigest()


class Chain:
    """The events of a ledger inside one transaction.

    Guarantee
    ---------
    `head`, `last` and `append` refuse a ledger in which the head does not agree with its seal, with
    the end of the events, or with the dataset's last event. `entry` and `events` refuse events that
    do not match their hashes, and a range in which one is missing.

    Parameters
    ----------
    execute : callable
        Runs one statement with parameters and gives rows.
    mark : str
        How this database writes a parameter.
    witness : int or None
        How many events a third place says there were when the transaction began; None where there
        is no such place.
    function : str or None
        A function of the database that checks and appends; None: tables are written.
    """

    def __init__(
        self,
        execute: Callable[[str, Sequence[Any]], Iterable[Sequence[Any]]],
        mark: str,
        witness: int | None = None,
        function: str | None = None,
    ) -> None:
        self._execute = execute
        self._mark = mark
        self._witness = witness
        self._function = function
        #: The event that this transaction appended last.
        self.appended: Event | None = None

    def head(self) -> Head:
        """Where the ledger ends, after all comparisons."""
        head = self.stated_head()
        rows = list(self._execute(f"SELECT {COLUMNS} FROM {EVENTS} ORDER BY number DESC LIMIT 1", ()))
        end = Event(*rows[0]) if rows else None
        agrees = head.number == 0 if end is None else (end.number, end.hash) == (head.number, head.hash) and end.intact
        witness = head.number if self._witness is None or self.appended is not None else self._witness
        if not agrees or witness != head.number:
            raise LedgerTamperedError(
                f"the end of the ledger does not match its head: it is damaged or was changed from outside. {SEE}"
            )
        return head

    def stated_head(self) -> Head:
        """What the head says, and its seal confirms; not yet compared with the events."""
        rows = list(self._execute(f"SELECT version FROM {HEAD}", ()))
        if len(rows) != 1:
            raise LedgerTamperedError("the ledger is damaged: it has no head.")
        [version] = rows[0]
        if not isinstance(version, int):
            raise LedgerTamperedError(f"the head of the ledger is damaged. {SEE}")
        if version == CLOSED:
            raise LedgerError("the ledger was moved to another place by dpsparse ledger upgrade. Use that one.")
        if version != VERSION:
            age = "a later" if version > VERSION else "an earlier"
            advice = "Update dpsparse." if version > VERSION else "Move it into a new one by dpsparse ledger upgrade."
            raise LedgerError(
                f"the ledger was written by {age} release (version {version}); this one reads "
                f"version {VERSION}. {advice}"
            )
        [(ledger, number, last, ends, seal)] = self._execute(f"SELECT ledger, number, hash, ends, seal FROM {HEAD}", ())
        try:
            head = Head(ledger, number, last, json.loads(ends))
            sealed = head.seal() == seal
        except (ValueError, TypeError, RecursionError):
            sealed = False
        if not sealed:
            raise LedgerTamperedError(f"the head of the ledger does not match its seal: it is damaged. {SEE}")
        return head

    def former_head(self) -> tuple[int, int, str]:
        """Version, number of events and last hash that the head of a ledger of any format states."""
        [(version, number, last)] = self._execute(f"SELECT version, number, hash FROM {HEAD}", ())
        return version, number, last

    def close(self, version: int, place: str) -> None:
        """Take no entry from now on, in no release, and name the place to which everything is moved."""
        self._execute(
            f"CREATE TABLE {MOVED} (version INTEGER NOT NULL, place TEXT NOT NULL, done INTEGER NOT NULL)", ()
        )
        self._execute(f"INSERT INTO {MOVED} VALUES ({self._mark}, {self._mark}, 0)", (version, place))
        self._execute(f"UPDATE {HEAD} SET version = {CLOSED} WHERE one = 1", ())

    def moved(self) -> tuple[int, str, bool]:
        """Of a ledger that was closed: its version, where it is moved, and whether that was done."""
        [(version, place, done)] = self._execute(f"SELECT version, place, done FROM {MOVED}", ())
        return version, place, bool(done)

    def note_moved(self) -> None:
        """Note that everything is at its new place."""
        self._execute(f"UPDATE {MOVED} SET done = 1", ())

    def events(self, first: int = 1) -> Iterator[Event]:
        """Events in order, from a number on, as they are stored."""
        text = f"SELECT {COLUMNS} FROM {EVENTS} WHERE number >= {self._mark} ORDER BY number"
        return (Event(*row) for row in self._execute(text, (first,)))

    def of(self, dataset: str | None, first: int = 1) -> list[Event]:
        """The events of a dataset, or of all, in order, from a number on.

        None is missing, and each matches its hash.
        """
        number, found = self.head().number, []
        place = first - 1
        for place, event in enumerate(self.events(first), start=first):
            if event.number != place or not event.intact:
                raise LedgerTamperedError(
                    f"event {place} of the ledger does not match its hash, or is missing: it is damaged. {SEE}"
                )
            if dataset in (None, event.dataset):
                found.append(event)
        if place != number:
            raise LedgerTamperedError(
                f"the ledger holds {place} events and its head names {number}: it is damaged. {SEE}"
            )
        return found

    def event(self, number: int) -> Event | None:
        """The event with a number, as it is stored; None if no event has it."""
        rows = list(self._execute(f"SELECT {COLUMNS} FROM {EVENTS} WHERE number = {self._mark}", (number,)))
        return Event(*rows[0]) if rows else None

    def last(self, dataset: str) -> Event | None:
        """The latest event of a dataset, by the head; None if the head knows no such dataset."""
        number = self.head().ends.get(dataset)
        if number is None:
            return None
        event = self.event(number)
        if event is None or (event.number, event.dataset) != (number, dataset) or not event.intact:
            raise LedgerTamperedError(
                f"the ledger was changed from outside, or is damaged: event {number}, the last of dataset {dataset!r}, "
                f"is missing or does not match its hash. {SEE}"
            )
        return event

    def append(self, dataset: str, entry: int, what: str, body: dict[str, Any]) -> Event:
        """Add an event at the end; a mark of chance makes it unlike any other."""
        head = self.head()
        event = Event.after(head.number + 1, head.hash, dataset, entry, what, {**body, "mark": secrets.token_hex(8)})
        written = (event.number, dataset, event.entry, what, event.body, event.previous, event.hash)
        _, _, *moved = head.after(event).row()
        if self._function is not None:
            marks = ", ".join([self._mark] * 9)
            self._execute(f"SELECT {self._function}({marks})", (*written, *moved[-2:]))
        else:
            marks = ", ".join([self._mark] * 7)
            self._execute(f"INSERT INTO {EVENTS} ({COLUMNS}) VALUES ({marks})", written)
            columns = ", ".join(f"{name} = {self._mark}" for name in ("number", "hash", "ends", "seal"))
            self._execute(f"UPDATE {HEAD} SET {columns} WHERE one = 1", moved)
        self.appended = event
        return event

    def holds(self, number: int, known: str) -> bool:
        """Whether the event with this number and hash is part of the chain."""
        text = f"SELECT hash FROM {EVENTS} WHERE number = {self._mark}"
        return [tuple(row) for row in self._execute(text, (number,))] == [(known,)]


T = TypeVar("T")


class Store(Protocol):
    """Where a chain lives: what SQLite and PostgreSQL have in common."""

    def read(self, action: Callable[[Chain], T]) -> T:
        """Run an action on a consistent view. A ledger that is missing is an error."""
        ...

    def write(self, action: Callable[[Chain], T]) -> T:
        """Run an action in an exclusive transaction: durable when this returns, undone if an exception leaves it.

        The action may be run again where a transaction failed and is known to have left nothing.
        """
        ...

    def found(self) -> None:
        """Make an empty ledger if it does not exist; never touches one that is there."""
        ...

    def damage(self) -> list[str]:
        """What is wrong with the tables themselves."""
        ...
