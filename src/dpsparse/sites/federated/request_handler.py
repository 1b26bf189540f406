"""The desk of a site: a task is checked, paid for and noted before anything is computed, and a report is given once."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...accounting import Cost, PlanCost, PricedPlan, price
from ...accounting.costs.base import canonical_json, stored_cost
from ...core import Budget, Plan, Statement, checks
from ...core.errors import LedgerError, PrivacyError, RunRepeatedError
from ...core.facts import Vector
from ...core.release import difference, release
from ...ledger import Ledger
from ...ledger.names import is_seeded, seeded_label
from ...ops import project_ball
from ..rounds import FileStore, MemoryStore, Store
from .agreed import Agreed
from .certificate import Certificate
from .messages import MessageError, Report, Task, message_digest

#: Whom a site trusts: nobody, or the server, with models that hold no noise of the site.
NOBODY, SERVER = "nobody", "server"


def bill_digest(bill: Cost, *, seeded: bool) -> str:
    """Noise of a price: equal for equal bills whose noise comes, or does not come, from a seed, and for no others."""
    return hashlib.sha256(canonical_json(stored_cost(bill)).encode()).hexdigest() + (" from a seed" if seeded else "")


@dataclass(frozen=True)
class PaymentSource:
    """Who pays for a run: a dataset of a ledger, or nobody.

    Guarantee
    ---------
    The whole bill is reserved under the name of the run, noted in the site's memory, and started, in this order, before the first
    report. A run that the ledger knows as started, at this price, goes on only where the memory knows it too; otherwise what was answered is not known, and
    it is refused. A run goes on at the price at which it began, and with a seed only if it began with one; one that the ledger has reserved at another price is refused.
    """

    ledger: Ledger | None
    dataset: str | None
    bill: Cost | None
    label: str
    run: str
    delta: float

    @classmethod
    def of(
        cls, ledger: Ledger | str | None, dataset: str | None, bill: Cost | None, label: str, run: str, delta: float
    ) -> PaymentSource:
        """From the arguments of a site."""
        if dataset is None and ledger is not None:
            raise LedgerError("ledger and dataset belong together: give both, or neither.")
        if dataset is not None and bill is None:
            raise LedgerError("reports without noise have no price: they must not touch data that a ledger guards.")
        return cls(None if dataset is None else Ledger.of(ledger), dataset, bill, label, run, delta)

    @property
    def price(self) -> str:
        """The bill in a word, and whether its noise comes from a seed: equal for equal ones."""
        return "none" if self.bill is None else bill_digest(self.bill, seeded=is_seeded(self.label))

    @property
    def _stored(self) -> str:
        assert self.bill is not None
        return canonical_json(stored_cost(self.bill))

    def pay(self, rounds: Store) -> None:
        """Reserve and start, once for a run; refuses to go on at another price."""
        known = rounds.paid()
        if known not in (None, self.price):
            raise PrivacyError(
                "this site began the run at another price, and goes on at that one only. Give the same epsilon, delta and number of rows, and a "
                "random_state only if it had one."
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
            if known is None or not self._begun(self.ledger, self.dataset):
                raise

    def _begun(self, ledger: Ledger, dataset: str) -> bool:
        """Whether the ledger knows this run as started, at this price."""
        entries = [entry for entry in ledger.entries(dataset) if entry.run_id == self.run and entry.counts]
        return any(entry.status == "started" and canonical_json(entry.content) == self._stored for entry in entries)


class RequestHandler:
    """Answers every round of a run once.

    Parameters
    ----------
    protocol : Agreed
    number : int
        Of the site in the protocol.
    rounds : Store
        What was answered.
    purse : Purse
    walk : function of a model
        What the site changes in it: noisy, or of a site that trusts the server.
    own : str
        The release of the site.
    """

    def __init__(
        self,
        protocol: Agreed,
        number: int,
        rounds: Store,
        purse: PaymentSource,
        walk: Callable[[Vector], Vector],
        own: str,
    ) -> None:
        self._protocol = protocol
        self._number = number
        self._rounds = rounds
        self._purse = purse
        self._round_change = walk
        self._own = own
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
            kept = self._rounds.claim(asked.round, message_digest(bytes(task)))
            if kept is not None:
                return kept
            change = np.nan_to_num(self._round_change(asked.w), posinf=0.0, neginf=0.0)
            held = project_ball(change, protocol.radius * (1 - 1e-9))
            report = Report(protocol.identity, asked.round, self._number, held, self._own).to_bytes()
            self._rounds.keep(asked.round, report)
            return report


class Participant(ABC):
    """What every site does, whatever it trains: it trusts nobody unless told so, prices all rounds beforehand, and answers each of them once.

    Parameters
    ----------
    protocol : Agreed
    name : str
    trust : {"nobody", "server"}
    unit : str
        What the protocol protects, for the refusal.
    libraries : sequence of str
        Packages whose versions belong to the release, beside those that always do.

    Raises
    ------
    MessageError
        If the server that published the protocol runs another release.
    """

    def __init__(self, protocol: Agreed, name: str, trust: str, unit: str, libraries: Sequence[str] = ()) -> None:
        if name not in protocol.sites:
            raise ValueError(f"the protocol has no site {name!r}.")
        self._release = release(*libraries)
        other = difference("the server", protocol.release, f"site {name!r}", self._release)
        if other:
            raise MessageError(other)
        checks.one_of(trust, "trust", (NOBODY, SERVER))
        if not protocol.private and trust != SERVER:
            raise PrivacyError(
                f"this protocol protects {unit}, and its sites send models without noise: the server would have to be "
                "trusted with them. To take part nevertheless, give trust='server'."
            )
        self.name = name
        self._agreed = protocol
        self._number = protocol.sites.index(name)
        self._priced: PricedPlan | None = None
        self._desk: RequestHandler

    def _price(self, plan: Plan, epsilon: float | None, delta: float, adjacency: str) -> None:
        """The price of all rounds, before a row is read."""
        if not self._agreed.private:
            return
        if epsilon is None:
            raise PrivacyError("a site says what it may spend: give epsilon.")
        self._priced = price(plan, Budget.approx(epsilon, delta, adjacency))

    @property
    def _bill(self) -> Cost | None:
        return None if self._priced is None else PlanCost.of(self._priced)

    def _open(
        self,
        walk: Callable[[Vector], Vector],
        label: str,
        delta: float,
        ledger: Ledger | str | None,
        dataset: str | None,
        memory: str | Path | None,
        *,
        seeded: bool,
    ) -> None:
        """Take tasks from now on; an entry that pays for noise from a seed says so."""
        label = seeded_label(label) if seeded else label
        run = f"{self._agreed.identity.hex()}-{self._number}"
        store = MemoryStore() if memory is None else FileStore(memory, run)
        purse = PaymentSource.of(ledger, dataset, self._bill, label, run, delta)
        self._desk = RequestHandler(self._agreed, self._number, store, purse, walk, self._release)

    @property
    @abstractmethod
    def statement(self) -> Statement:
        """What this site promises to the people in its rows, if all rounds are asked for; public."""

    def certificate(self) -> str:
        """What this site tells the server before it takes part: its statement and its bill, as JSON."""
        return Certificate(self._agreed.identity.hex(), self.name, self.statement, self._bill, self._release).to_json()

    def answer(self, task: bytes) -> bytes:
        """A report for this task: paid for and noted first, then computed.

        Raises
        ------
        MessageError
            If the task is damaged, belongs to another run, or does not fit. Nothing was paid or noted.
        PrivacyError
            If this round was answered to another task, or the ledger refuses.
        """
        return self._desk.answer(task)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a site holds rows and is not copied or stored.")
