"""A reservation in a ledger: taken before rows are read, started before the first answer, never silently undone."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Self

from ..accounting.filters import Charge
from ..core.errors import LedgerError, LedgerNotWrittenError
from .chain import Chain, Event
from .state import MAY_FOLLOW, latest
from .store import Store

#: What is known of an entry if an event could not be written: by event, and by what the attempt left.
_KNOWN = {
    "start": {
        "nothing": "No answer was computed.",
        "event": "No answer was computed. Entry {entry} was noted as started all the same: it counts.",
        "unknown": "No answer was computed. It is not known whether entry {entry} was noted as "
        "started; it counts until it is refunded.",
    },
    "confirm": {
        "nothing": "Entry {entry} counts; its end was not noted.",
        "event": "Entry {entry} counts; its end was noted all the same.",
        "unknown": "Entry {entry} counts; it is not known whether its end was noted.",
    },
    "refund": {
        "nothing": "Entry {entry} was not refunded: it counts.",
        "event": "Entry {entry} was refunded all the same: it does not count.",
        "unknown": "It is not known whether entry {entry} was refunded. dpsparse ledger show tells.",
    },
}


class Reservation:
    """What `Ledger.reserve` gives. Use it as a context: it confirms at the end, or refunds what was never answered.

    Guarantee
    ---------
    Until `refund` is durable the cost counts, so a crash at any moment counts as spent. `start` is
    durable before the first answer is computed, and follows one reservation once: of two processes
    that hold the same entry, one answers. After it a refund is refused, by this object and by the
    ledger.

    Attributes
    ----------
    ledger : str
        Identity of the ledger.
    dataset : str
    entry : int
    entry_hash : str
        Hash of the event that reserved it.
    head : str
        Hash of the last event that is known of it.
    """

    def __init__(self, store: Store, ledger: str, event: Event) -> None:
        self.ledger = ledger
        self.dataset = event.dataset
        self.entry = event.entry
        self.entry_hash = event.hash
        self.head = event.hash
        self._store = store
        self._started = False

    def start(self, _: str = "") -> None:
        """Note that an answer is about to be computed; only the first call writes."""
        if not self._started:
            self._advance("start")
            self._started = True

    def confirm(self) -> None:
        """Note that the work ended well."""
        self._advance("confirm")

    def refund(self) -> None:
        """Give everything back; refused once an answer was asked for."""
        if self._started:
            raise LedgerError(f"entry {self.entry} cannot be refunded: an answer was computed.")
        self._advance("refund")

    def citation(self) -> dict[str, str | int]:
        """What names this entry in a model file: no address, nothing to read. See `Ledger.verify_citation`."""
        return {
            "ledger": self.ledger,
            "dataset": self.dataset,
            "entry": self.entry,
            "entry_hash": self.entry_hash,
            "head": self.head,
        }

    def _advance(self, what: str) -> None:
        try:
            self.head = self._store.write(lambda chain: self._append(chain, what)).hash
            return
        except LedgerNotWrittenError as error:
            known = _KNOWN[what][error.left].format(entry=self.entry)
            failure = LedgerNotWrittenError(f"{error} {known}", error.left, error.number)
        raise failure

    def _append(self, chain: Chain, what: str) -> Event:
        events = [e for e in chain.of(self.dataset, self.entry) if e.entry == self.entry]
        if not events or events[-1].what not in MAY_FOLLOW[what]:
            found = events[-1].what if events else "nothing"
            raise LedgerError(f"entry {self.entry} cannot {what}: its last event is {found!r}.")
        state = latest(chain, self.dataset)
        if what == "refund":
            taken = events[0].read()
            state = state.given_back(Charge(taken["costs"], taken["slack"]))
        body: dict[str, object] = {"state": state.to_dict()}
        if what != "confirm":  # how long an entry took tells how many runs a search made, which is secret
            body["time"] = datetime.now(UTC).isoformat(timespec="seconds")
        return chain.append(self.dataset, self.entry, what, body)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None:
            self._end()
        elif self._started:
            _tell(error, f"Entry {self.entry} counts: an answer was asked for.")
        else:
            self._give_back(error)

    def _end(self) -> None:
        """Confirm. What was paid for is there and counts, so nothing that fails here may take it away."""
        try:
            self.confirm()
        except Exception as failure:
            warnings.warn(
                f"entry {self.entry} is charged, but the ledger could not note that it ended: {failure}", stacklevel=4
            )

    def _give_back(self, error: BaseException) -> None:
        """Refund what was never answered, and add to the error what became of that."""
        try:
            self.refund()
            if isinstance(error, LedgerError):
                _tell(error, f"Entry {self.entry} was refunded.")
        except LedgerError as failure:
            left = failure.left if isinstance(failure, LedgerNotWrittenError) else "nothing"
            if left == "event":
                _tell(error, f"Entry {self.entry} was refunded.")
            elif left == "unknown":
                _tell(error, f"It is not known whether entry {self.entry} was refunded. ({failure})")
            else:
                _tell(error, f"Entry {self.entry} could not be refunded and counts as spent. ({failure})")


def _tell(error: BaseException, sentence: str) -> None:
    """Add what is known of an entry: to a message of the ledger itself, or as a note to another error."""
    if isinstance(error, LedgerError):
        error.args = (f"{error} {sentence}", *error.args[1:])
    else:
        error.add_note(sentence)
