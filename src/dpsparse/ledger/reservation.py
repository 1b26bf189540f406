"""A reservation in a ledger: taken before rows are read, started before the first answer, never silently undone."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Self

from ..accounting.filters import Charge
from ..privacy.errors import LedgerError
from .chain import Store
from .state import latest

#: From which states an event may follow.
MAY_FOLLOW = {"start": ("reserve",), "confirm": ("reserve", "start"), "refund": ("reserve",)}


class Reservation:
    """What `Ledger.reserve` gives. Use it as a context: it confirms at the end, or refunds what was never answered.

    Guarantee
    ---------
    Until `refund` is durable the cost counts, so a crash at any moment counts as spent. `start` is durable before the
    first answer is computed; after it a refund is refused, by this object and by the ledger.
    """

    def __init__(self, store: Store, dataset: str, entry: int) -> None:
        self.dataset = dataset
        self.entry = entry
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

    def _advance(self, what: str) -> None:
        with self._store.writing() as chain:
            events = list(chain.events(self.dataset, self.entry))
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
            chain.append(self.dataset, self.entry, what, body)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        try:
            if error is None:
                self.confirm()
            elif not self._started:
                self.refund()
        except LedgerError as failure:
            if error is not None:
                error.add_note(f"entry {self.entry} of the ledger could not be refunded and counts as spent: {failure}")
                return
            warnings.warn(
                f"entry {self.entry} is charged, but the ledger could not note that it ended: {failure}", stacklevel=3
            )
