"""Citations: how a model file names the entry that paid for it, and how a ledger answers for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import LedgerError, LedgerTamperedError
from .chain import Event, Head
from .check import former_hashes
from .entries import Entry, read_entries

#: What a citation holds, and of which type.
FIELDS: dict[str, type] = {"ledger": str, "dataset": str, "entry": int, "entry_hash": str, "head": str}


def citation_of(head: Head, events: Sequence[Event], dataset: str, entry: int) -> dict[str, str | int]:
    """The citation of an entry, with the present head."""
    for event in events:
        if (event.what, event.entry) == ("reserve", entry):
            return {
                "ledger": head.ledger,
                "dataset": dataset,
                "entry": entry,
                "entry_hash": event.hash,
                "head": head.hash,
            }
    raise LedgerError(f"dataset {dataset!r} has no entry {entry!r}. See Ledger.entries(dataset).")


def check_citation(cited: Mapping[str, Any], head: Head, events: Sequence[Event]) -> Entry:
    """The entry that is cited, if this is its ledger and everything agrees.

    `events` are those of a chain that was verified.
    """
    if not isinstance(cited, Mapping) or any(type(cited.get(name)) is not kind for name, kind in FIELDS.items()):
        raise LedgerError(f"a citation of a ledger's entry must hold {', '.join(FIELDS)}, as Ledger.cite gives them.")
    place = {event.hash: event.number for event in events}
    if cited["ledger"] != head.ledger:
        if not events or events[0].read().get("moved", {}).get("ledger") != cited["ledger"]:
            raise LedgerTamperedError("the citation names another ledger: its identity is not that of this one.")
        place = former_hashes(events)
    number, dataset = cited["entry"], cited["dataset"]
    if place.get(cited["entry_hash"]) != number or place.get(cited["head"], 0) < number:
        raise LedgerTamperedError(
            f"the citation of entry {number} does not match this ledger: the entry or the head it "
            "names is not part of the chain."
        )
    for entry in read_entries(e for e in events if e.dataset == dataset):
        if entry.number == number:
            if not entry.counts:
                raise LedgerTamperedError(
                    f"the citation names entry {number}, which was refunded: it paid for nothing."
                )
            return entry
    raise LedgerTamperedError(f"the citation names entry {number} of a dataset to which it does not belong.")
