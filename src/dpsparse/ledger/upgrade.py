"""Moving a ledger into a new one of the present format, with everything that was spent.

Guarantee
---------
At no moment do two ledgers take entries of the same datasets. The old one is verified, then closed
for good, and only then written into the new one, event by event and under the same numbers. A
process that is killed in between leaves an old ledger that takes nothing, and the same call goes
on: a closed ledger is moved to the place that it names, and once only. The first event of the new
one cites version, identity and head of the old one, and each event the hash that it had, so that
models and heads of the old one are verified against the new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import LedgerError
from .address import FileAddress
from .chain import CLOSED, VERSION, Chain, Event, Head
from .check import Verified, check_chain
from .entries import read_entries
from .ledger import Ledger


@dataclass(frozen=True)
class _Former:
    """A ledger that is moved: its format, identity (none in the first format), events, and where it was moved."""

    version: int
    ledger: str | None
    events: tuple[Event, ...]
    place: str | None
    done: bool

    def cited(self) -> dict[str, Any]:
        """As the first event of the new ledger cites it."""
        end = self.events[-1]
        return {"version": self.version, "ledger": self.ledger, "number": end.number, "head": end.hash}


def upgrade(old: Ledger, new: Ledger, *, unfinished: bool = False) -> Verified:
    """Move everything of a ledger into a new one, and close it; the same call goes on where it was stopped.

    Parameters
    ----------
    old : Ledger
        Of this or an earlier format.
    new : Ledger
        Another place, without a ledger.
    unfinished : bool
        Whether entries may be reserved or started. Fits that store their answers cannot go on from the new ledger.
    """
    source, target, place = old._store(), new._store(), _place(new)
    if place == _place(old):
        raise LedgerError("a ledger is moved to another place, and both addresses are of the same one.")
    former = source.read(lambda chain: _read(chain, place))
    if not former.done:
        if former.place is None and not unfinished:
            _refuse_unfinished(former)
        target.found()
        target.read(lambda chain: _filled(chain, former))  # before the old one is closed
        former = source.write(lambda chain: _close(chain, place))
        target.write(lambda chain: _fill(chain, former))
    elif not target.read(lambda chain: _filled(chain, former)):
        raise LedgerError(f"this ledger was moved to {place}, which is empty now. Restore that one from a copy.")
    found = new.verify()
    source.write(lambda chain: chain.note_moved())
    return found


def _place(ledger: Ledger) -> str:
    """An address without its password, the same from every working folder."""
    place = ledger._address
    return str(Path(place.path).resolve()) if isinstance(place, FileAddress) else place.text


def _read(chain: Chain, place: str) -> _Former:
    """A ledger of any format, verified; refuses one that was moved elsewhere."""
    (version, number, last), moved, done = chain.former_head(), None, False
    if version == CLOSED:
        version, moved, done = chain.moved()
        if moved != place:
            raise LedgerError(f"this ledger was moved to {moved}. Use that one.")
    elif version == VERSION:
        chain.head()
    elif version > VERSION:
        raise LedgerError(f"this ledger is of version {version}, and this release reads {VERSION}. Update dpsparse.")
    events = tuple(chain.events())
    if not events:
        raise LedgerError("this ledger holds nothing. Make a new one by dpsparse ledger create.")
    ledger: Any = events[0].read().get("ledger")
    check_chain(events, Head(ledger, number, last, {e.dataset: e.number for e in events if e.dataset}), [], None)
    return _Former(version, ledger, events, moved, done)


def _refuse_unfinished(former: _Former) -> None:
    going = [str(e.number) for e in read_entries(former.events) if e.status in ("reserved", "started")]
    if going:
        raise LedgerError(
            f"entries {', '.join(going[:10])} are reserved or started. Let their runs go on to their end first: fits "
            "that store their answers cannot go on from another ledger. Or give unfinished (--unfinished)."
        )


def _close(chain: Chain, place: str) -> _Former:
    """Read it once more, and let it take nothing from now on."""
    former = _read(chain, place)
    if former.place is None:
        chain.close(former.version, place)
    return former


def _filled(chain: Chain, former: _Former) -> bool:
    """Whether the new ledger holds the old one already; refuses one that holds anything else."""
    if chain.head().number == 0:
        return False
    first = chain.event(1)
    if first is None or first.read().get("moved") != former.cited():
        raise LedgerError("the new ledger holds something already. Choose a place without one.")
    return True


def _fill(chain: Chain, former: _Former) -> None:
    """Write all events in one transaction, with the hashes that they had."""
    if _filled(chain, former):
        return
    opened = {"version": VERSION, "ledger": chain.head().ledger, "moved": former.cited()}
    for event in former.events:
        body = {**event.read(), "was": event.hash, **(opened if event.what == "open" else {})}
        chain.append(event.dataset, event.entry, event.what, body)
