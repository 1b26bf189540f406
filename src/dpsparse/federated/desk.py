"""The desk of a site: a task is checked, paid for and noted before anything is computed, and a report is given once."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..accounting import Bill
from ..accounting.costs.base import canonical, stored
from ..facts import Vector
from ..ledger import Ledger
from ..ops import project_ball
from ..privacy.errors import LedgerError, PrivacyError, RunRepeatedError
from .agreed import Agreed
from .messages import MessageError, Report, Task, digest
from .rounds import Rounds


@dataclass(frozen=True)
class Purse:
    """Who pays for a run: a dataset of a ledger, or nobody.

    Guarantee
    ---------
    The whole bill is reserved under the name of the run, noted in the site's memory, and started, in this order, before the first
    report. A run that the ledger knows as started goes on only where the memory knows it too; otherwise what was answered is not known, and
    it is refused. A run goes on at the price at which it began.
    """

    ledger: Ledger | None
    dataset: str | None
    bill: Bill | None
    label: str
    run: str
    delta: float

    @classmethod
    def of(
        cls, ledger: Ledger | str | None, dataset: str | None, bill: Bill | None, label: str, run: str, delta: float
    ) -> Purse:
        """From the arguments of a site."""
        if dataset is None and ledger is not None:
            raise LedgerError("ledger and dataset belong together: give both, or neither.")
        if dataset is not None and bill is None:
            raise LedgerError("reports without noise have no price: they must not touch data that a ledger guards.")
        return cls(None if dataset is None else Ledger.of(ledger), dataset, bill, label, run, delta)

    @property
    def price(self) -> str:
        """The bill in a word: equal for equal bills."""
        return "none" if self.bill is None else hashlib.sha256(canonical(stored(self.bill)).encode()).hexdigest()

    def pay(self, rounds: Rounds) -> None:
        """Reserve and start, once for a run; refuses to go on at another price."""
        known = rounds.paid()
        if known not in (None, self.price):
            raise PrivacyError(
                "this site began the run at another price, and goes on at that one only. Give the same epsilon, delta and number of rows."
            )
        if self.ledger is None or self.dataset is None or self.bill is None:
            rounds.note_paid(self.price)
            return
        try:
            reservation = self.ledger.reserve(
                self.dataset, self.bill, label=self.label, run_id=self.run, delta=self.delta
            )
            rounds.note_paid(self.price)
            reservation.start()
        except RunRepeatedError:
            if known is None:
                raise


class Desk:
    """Answers every round of a run once.

    Parameters
    ----------
    protocol : Agreed
    number : int
        Of the site in the protocol.
    rounds : Rounds
        What was answered.
    purse : Purse
    walk : function of a model
        What the site changes in it: noisy, or of a site that trusts the server.
    """

    def __init__(
        self, protocol: Agreed, number: int, rounds: Rounds, purse: Purse, walk: Callable[[Vector], Vector]
    ) -> None:
        self._protocol = protocol
        self._number = number
        self._rounds = rounds
        self._purse = purse
        self._walk = walk
        self._lock = threading.Lock()
        self._paid = False

    def answer(self, task: bytes) -> bytes:
        """A report for a task; see `Site.answer`."""
        asked = Task.from_bytes(task)
        protocol = self._protocol
        if asked.run != protocol.identity:
            raise MessageError("the task belongs to another run or another protocol.")
        if asked.round >= protocol.rounds or asked.w.size != protocol.size:
            raise MessageError("the task does not fit its protocol: another round or another number of coefficients.")
        with self._lock:
            if not self._paid:
                self._purse.pay(self._rounds)
                self._paid = True
            kept = self._rounds.claim(asked.round, digest(bytes(task)))
            if kept is not None:
                return kept
            change = np.nan_to_num(self._walk(asked.w), posinf=0.0, neginf=0.0)
            held = project_ball(change, protocol.radius * (1 - 1e-9))
            report = Report(protocol.identity, asked.round, self._number, held).to_bytes()
            self._rounds.keep(asked.round, report)
            return report
