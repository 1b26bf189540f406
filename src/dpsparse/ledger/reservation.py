"""A reservation in a ledger: taken before rows are read, started before the first answer, never silently undone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Self

from ..core.errors import LedgerError, LedgerNotWrittenError
from .chain import Chain, Event, Store
from .entries import STATUS
from .state import MAY_FOLLOW, entry_events, latest, replayed

#: What is known of an entry if an event could not be written: by event, and by what the attempt left.
_KNOWN = {
    "start": {
        "nothing": "No answer was computed.",
        "event": "No answer was computed. Entry {entry} was noted as started all the same: it counts.",
        "unknown": "No answer was computed. It is not known whether entry {entry} was noted as "
        "started; it counts until it is refunded.",
    },
    "resume": {
        "nothing": "No answer was computed. Entry {entry} counts.",
        "event": "No answer was computed. Entry {entry} counts.",
        "unknown": "No answer was computed. Entry {entry} counts.",
    },
    "confirm": {
        "nothing": "Entry {entry} counts; its end was not noted.",
        "event": "Entry {entry} counts; its end was noted all the same.",
        "unknown": "Entry {entry} counts; it is not known whether its end was noted.",
    },
    "refund": {
        "nothing": "Entry {entry} was not refunded: it counts.",
        "event": "Entry {entry} was refunded all the same: it does not count.",
        "unknown": "It is not known whether entry {entry} was refunded. Look it up with dpsparse ledger show.",
    },
}


#: What a citation of an entry holds, and of which type.
CITATION: dict[str, type] = {"ledger": str, "dataset": str, "entry": int, "entry_hash": str, "head": str}


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
    status : {"reserved", "started", "done"}
        What was known of the entry when it was taken up.
    token : str
        The last token of a tape that the ledger was given for it; empty if there was none.
    """

    def __init__(self, store: Store, ledger: str, event: Event, last: Event | None = None) -> None:
        last = event if last is None else last
        self.ledger = ledger
        self.dataset = event.dataset
        self.entry = event.entry
        self.entry_hash = event.hash
        self.head = last.hash
        self.status = STATUS[last.what]
        self.token = str(last.read().get("tape", ""))
        self._store = store
        self._started = self._kept = False

    def start(self, token: Callable[[], str] | None = None) -> None:
        """Note that an answer is about to be computed; only the first call writes.

        Parameters
        ----------
        token : callable or None
            Makes a token that is durable on the tape of the run, by which the ledger knows the
            process that goes on; None without a tape.
        """
        if self._started or self.status == "done":
            return
        given = {} if token is None else {"tape": token(), "before": self.token}
        self._advance("start" if self.status == "reserved" else "resume", given)
        self._started, self._kept = True, token is not None

    def confirm(self) -> None:
        """Note that the work ended well."""
        if self.status != "done":
            self._advance("confirm")

    def refund(self) -> None:
        """Give everything back; refused once an answer was asked for."""
        if self._begun:
            raise LedgerError(f"entry {self.entry} cannot be refunded: an answer was computed.")
        self._advance("refund")

    def citation(self) -> dict[str, str | int]:
        """What names this entry in a model file: no address, nothing to read. See `Ledger.verify_citation`."""
        return {name: getattr(self, name) for name in CITATION}

    @property
    def _begun(self) -> bool:
        return self._started or self.status != "reserved"

    def _advance(self, what: str, given: Mapping[str, str] | None = None) -> None:
        try:
            self.head = self._store.write(lambda chain: self._append(chain, what, given or {})).hash
            return
        except LedgerNotWrittenError as error:
            failure = error.saying(_KNOWN[what][error.left].format(entry=self.entry))
        raise failure

    def _append(self, chain: Chain, what: str, given: Mapping[str, str]) -> Event:
        taken = replayed(chain).entries.get(self.entry)
        last = None if taken is None else entry_events(chain, taken, self.entry)[1]
        found = "nothing" if last is None else last.what
        if last is None or found not in MAY_FOLLOW[what]:
            raise LedgerError(f"entry {self.entry} cannot {what}: its last event is {found!r}.")
        body: dict[str, object] = {name: value for name, value in given.items() if name != "before"}
        if what == "resume" and last.read().get("tape", "") != given.get("before"):
            raise LedgerError(f"entry {self.entry} cannot resume: another process has gone on with it.")
        state = latest(chain, self.dataset)
        if what == "refund":
            assert taken is not None
            assert taken.cost is not None
            state = state.given_back(taken.cost)
        body["state"] = state.to_dict()
        if what != "confirm":  # how long an entry took reveals how many runs a search made, which is secret
            body["time"] = datetime.now(UTC).isoformat(timespec="seconds")
        return chain.append(self.dataset, self.entry, what, body)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None:
            self._end()
        elif self._begun:
            goes_on = " The same call goes on where it stopped, at no further cost." if self._kept else ""
            _tell(error, f"Entry {self.entry} counts: an answer was asked for.{goes_on}")
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
