r"""Events of a ledger, chained by hashes, and the SQL that stores of either kind share.

Every event holds the hash of the one before it; the head holds the number of events and the last hash. An event that was
edited, removed, added or moved breaks the chain, and so does a shorter chain, because the head still names the old end.

What a chain without a secret key cannot show: somebody who may write the file and rebuilds *everything* after the place of
an edit, head included. `verify` still recomputes every price, so the rebuilt entries must be honest bills; that entries
are missing shows only against a head that was kept elsewhere (`Ledger.export`, `Ledger.verify(head=...)`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from ..accounting.costs.base import canonical
from ..privacy.errors import LedgerError

#: Version of the tables and of what events hold.
VERSION = 1
#: What stands before the first event.
NOTHING = "0" * 64

COLUMNS = "number, dataset, entry, what, body, previous, hash"
EVENTS, HEAD = "dpsparse_ledger_events", "dpsparse_ledger_head"
TABLES = (
    f"CREATE TABLE {EVENTS} (number BIGINT PRIMARY KEY, dataset TEXT NOT NULL, entry BIGINT NOT NULL, what TEXT NOT NULL, "
    "body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)",
    f"CREATE INDEX {EVENTS}_of ON {EVENTS} (dataset, number)",
    f"CREATE TABLE {HEAD} (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, number BIGINT NOT NULL, "
    "hash TEXT NOT NULL)",
    f"INSERT INTO {HEAD} (one, version, number, hash) VALUES (1, {VERSION}, 0, '{NOTHING}')",
)


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
        text = canonical(body)
        return cls(number, dataset, entry, what, text, previous, digest(number, dataset, entry, what, text, previous))

    @property
    def intact(self) -> bool:
        """Whether the hash belongs to the content."""
        return self.hash == digest(self.number, self.dataset, self.entry, self.what, self.body, self.previous)

    def read(self) -> dict[str, Any]:
        """The body."""
        try:
            content = json.loads(self.body)
        except json.JSONDecodeError:
            content = None
        if not isinstance(content, dict):
            raise LedgerError(f"event {self.number} of the ledger is damaged: its content is not readable.")
        return content


def digest(number: int, dataset: str, entry: int, what: str, body: str, previous: str) -> str:
    """The hash of an event, over everything it says and the hash before it."""
    return hashlib.sha256(canonical([number, dataset, entry, what, body, previous]).encode()).hexdigest()


class Chain:
    """The events of a ledger inside one transaction.

    Parameters
    ----------
    execute : callable
        Runs one statement with parameters and gives rows.
    mark : str
        How this database writes a parameter.
    """

    def __init__(self, execute: Callable[[str, Sequence[Any]], Iterable[Sequence[Any]]], mark: str) -> None:
        self._execute = execute
        self._mark = mark

    def head(self) -> tuple[int, int, str]:
        """Version, number of events, last hash."""
        rows = list(self._execute(f"SELECT version, number, hash FROM {HEAD}", ()))
        if len(rows) != 1:
            raise LedgerError("the ledger is damaged: it has no head.")
        version, number, last = rows[0]
        if version != VERSION:
            age = "a later" if version > VERSION else "an earlier"
            advice = "Update dpsparse." if version > VERSION else "Use the release that wrote it."
            raise LedgerError(
                f"the ledger was written by {age} release (version {version}); this one reads version {VERSION}. {advice}"
            )
        return int(version), int(number), str(last)

    def events(self, dataset: str | None = None, entry: int | None = None) -> Iterator[Event]:
        """Events in order, of one dataset or one entry if named."""
        where, given = [], []
        for column, value in (("dataset", dataset), ("entry", entry)):
            if value is not None:
                where.append(f"{column} = {self._mark}")
                given.append(value)
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return (
            Event(*row) for row in self._execute(f"SELECT {COLUMNS} FROM {EVENTS}{condition} ORDER BY number", given)
        )

    def last(self, dataset: str) -> Event | None:
        """The latest event of a dataset."""
        text = f"SELECT {COLUMNS} FROM {EVENTS} WHERE dataset = {self._mark} ORDER BY number DESC LIMIT 1"
        rows = list(self._execute(text, (dataset,)))
        return Event(*rows[0]) if rows else None

    def append(self, dataset: str, entry: int, what: str, body: dict[str, Any]) -> Event:
        """Add an event at the end. Refuses to build on an end that does not match the head."""
        _, number, last = self.head()
        if number:
            rows = list(self._execute(f"SELECT {COLUMNS} FROM {EVENTS} ORDER BY number DESC LIMIT 1", ()))
            end = Event(*rows[0]) if rows else None
            if end is None or end.number != number or end.hash != last or not end.intact:
                raise LedgerError(
                    "the end of the ledger does not match its head: it was changed from outside. "
                    "Nothing was reserved. See dpsparse ledger verify."
                )
        event = Event.after(number + 1, last, dataset, entry, what, body)
        marks = ", ".join([self._mark] * 7)
        self._execute(
            f"INSERT INTO {EVENTS} ({COLUMNS}) VALUES ({marks})",
            (event.number, dataset, event.entry, what, event.body, last, event.hash),
        )
        self._execute(
            f"UPDATE {HEAD} SET number = {self._mark}, hash = {self._mark} WHERE one = 1", (event.number, event.hash)
        )
        return event


class Store(Protocol):
    """Where a chain lives."""

    def reading(self) -> AbstractContextManager[Chain]:
        """A consistent view. A ledger that is missing is an error."""
        ...

    def writing(self) -> AbstractContextManager[Chain]:
        """An exclusive transaction: durable when it ends, undone if an exception leaves it."""
        ...

    def found(self) -> None:
        """Make an empty ledger if there is none; never touches one that is there."""
        ...
