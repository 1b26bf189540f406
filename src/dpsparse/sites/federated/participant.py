"""What every site does, whatever it trains.

A task is checked, paid for and noted before anything is computed, and answered once.
"""

from __future__ import annotations

import hashlib
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...accounting import Cost, PlanCost, PricedPlan, cost_of_units, price
from ...accounting.costs.base import write_cost
from ...core import Adjacency, Budget, Receipt, Statement, checks
from ...core.codec import canonical_json
from ...core.errors import LedgerError, LedgerNotWrittenError, PrivacyError, RunRepeatedError
from ...core.facts import Vector
from ...core.mechanisms import Randomness
from ...fitting import Seed, default_delta, warn_if_seeded
from ...ledger import Ledger, Reservation
from ...ledger.names import is_seeded, seeded_label
from ...ops import project_ball
from ..rounds import AnswerStore, FileStore, MemoryStore, MessageError, Participant
from ..rounds.messages import Report, Task, message_digest
from ..rounds.protocol import AgreedBySites
from .certificate import SEPARATE, Certificate, state_run

#: Whom a site trusts: nobody, or the server, with models that hold no noise of the site.
NOBODY, SERVER = "nobody", "server"


def bill_digest(bill: Cost, *, seeded: bool) -> str:
    """A digest of a price.

    It is equal for equal bills whose noise comes, or does not come, from a seed, and for no others.
    """
    return hashlib.sha256(canonical_json(write_cost(bill)).encode()).hexdigest() + (" from a seed" if seeded else "")


@dataclass(frozen=True)
class PaymentSource:
    """Who pays for a run: a dataset of a ledger, or nobody.

    Guarantee
    ---------
    The whole bill is reserved under the name of the run, noted in the site's memory, and started,
    in this order, before the first report, and confirmed after the last. A run that the ledger
    knows as started, at this price, goes on at no further cost, but only where the memory knows it
    too, and is not a copy from before the last restart; otherwise what was answered is not known,
    and it is refused. A run goes on at the price at which it began, and with a seed only if it
    began with one; one that the ledger has reserved at another price is refused.
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
        """The digest of the bill, and whether its noise comes from a seed: equal for equal ones."""
        return "none" if self.bill is None else bill_digest(self.bill, seeded=is_seeded(self.label))

    def pay(self, store: AnswerStore, mark_rows: Callable[[bytes], str]) -> None:
        """Reserve and start, once for a run; refuses to go on at another price, or with other rows."""
        known = store.paid()
        if known not in (None, self.price):
            raise PrivacyError(
                "this site began the run at another price, and goes on at that one only. Give the same epsilon, "
                "delta and number of rows, and a random_state only if it had one."
            )
        entry = self._entry(store)
        own = mark_rows(store.key(new=known is None))
        if store.note_paid(self.price, own) != own:
            raise PrivacyError(
                "this site began the run with other rows, for which it has paid, and goes on with those only. Give "
                "the rows with which it began."
            )
        if entry is not None:
            entry.start(store.new_token)

    def _entry(self, store: AnswerStore) -> Reservation | None:
        """The entry that pays; refuses one that began, and of which the memory does not know how it went on."""
        if self.ledger is None or self.dataset is None or self.bill is None:
            return None
        entry = self.ledger.reserve(
            self.dataset, self.bill, label=self.label, run_id=self.run, delta=self.delta, resumes=True
        )
        known = store.values("token")  # a run that is done was noted as over first
        if entry.status == "done" or (entry.status == "started" and entry.token not in known):
            raise RunRepeatedError(
                f"entry {entry.entry} of this run is {entry.status}, and the site's memory is missing or an older "
                "copy: what it answered is not known, so nothing more is answered. Give the folder with which it "
                "began.",
                entry.entry,
                entry.status,
            )
        return entry

    def confirm(self, store: AnswerStore) -> None:
        """Note in the ledger that the run is over; nothing happens where it was not paid for, or that is noted."""
        if self.ledger is None or self.dataset is None or store.paid() is None:
            return
        entry = self.ledger.find_run(self.dataset, self.run)
        if entry is None or entry.status != "started":
            return
        try:
            found = self._entry(store)
            assert found is not None
            found.confirm()
        except LedgerNotWrittenError as failure:  # what was paid for is there, and the next message tries again
            warnings.warn(f"the ledger could not note that the run is over: {failure}", stacklevel=2)


class SiteParticipant(Participant[AgreedBySites, Task]):
    """A site: it trusts nobody unless its user says so, prices all rounds beforehand, and answers each of them once.

    Parameters
    ----------
    protocol : SiteProtocol
    name : str
    trust : {"nobody", "server"}
    libraries : str
        Packages whose versions belong to the release, beside those that always do.
    """

    #: What the statement of a site assumes, beside what every statement does.
    _assumptions: tuple[str, ...] = ()

    def __init__(self, protocol: AgreedBySites, name: str, trust: str, *libraries: str) -> None:
        if name not in protocol.sites:
            raise ValueError(f"the protocol has no site {name!r}.")
        super().__init__(protocol, f"site {name!r}", *libraries)
        checks.one_of(trust, "trust", (NOBODY, SERVER))
        if not protocol.private and trust != SERVER:
            raise PrivacyError(
                f"this protocol protects {protocol.about.unit}, and its sites send models without noise: the server "
                "would have to be trusted with them. To take part nevertheless, give trust='server'."
            )
        self.name = name
        self._number = protocol.sites.index(name)

    def _join(
        self,
        n_rows: int,
        epsilon: float | None,
        delta: float | None,
        ledger: Ledger | str | None,
        dataset: str | None,
        memory: str | Path | None,
        random_state: Seed,
    ) -> None:
        """Price all rounds for a public number of rows, before a row is read, and take tasks from now on."""
        protocol, self._n = self.protocol, n_rows
        self._delta = default_delta(n_rows) if delta is None else delta
        self._randomness = Randomness(random_state)
        self._priced: PricedPlan | None = None
        if protocol.private:
            if epsilon is None:
                raise PrivacyError("a site says what it may spend: give epsilon.")
            adjacency = str(Adjacency.named(protocol.adjacency))
            self._priced = price(protocol.site_plan, Budget.approx(epsilon, self._delta, adjacency))
            warn_if_seeded(self._randomness, "site")
        # an entry that pays for noise from a seed says so
        label = protocol.about.recipe if self._randomness.secure else seeded_label(protocol.about.recipe)
        run = f"{protocol.identity.hex()}-{self._number}"
        self._payment = PaymentSource.of(ledger, dataset, self._bill, label, run, self._delta)
        self._store: AnswerStore = MemoryStore() if memory is None else FileStore(memory, run)
        self._paid = False

    @property
    def _bill(self) -> Cost | None:
        record = self.protocol.about.record
        return None if self._priced is None else cost_of_units(PlanCost.of(self._priced), record)

    @property
    def statement(self) -> Statement:
        """What this site guarantees to the people in its rows, if all rounds are asked for; public."""
        about, secure, assumed = self.protocol.about, self._randomness.secure, (*self._assumptions, SEPARATE)
        drawn = self._answers()
        return state_run(about, self._n, self._priced, self._delta, drawn, secure=secure, assumptions=assumed)

    @abstractmethod
    def _answers(self) -> list[Receipt]:
        """What is drawn in all rounds: known beforehand, since clip and price are."""

    def _mark_rows(self, key: bytes) -> str:
        """A keyed mark of the rows, by which other ones are known after a restart; empty where nothing is private."""
        return self._row_mark(key) if self.protocol.private else ""

    @abstractmethod
    def _row_mark(self, key: bytes) -> str:
        """A keyed mark of the rows: equal for equal rows."""

    @abstractmethod
    def _round_change(self, w: Vector) -> Vector:
        """What this site changes in a model: noisy, or of a site that trusts the server."""

    def certificate(self) -> str:
        """What this site sends the server before it takes part: its statement and its bill, as JSON."""
        return Certificate(self.protocol.identity.hex(), self.name, self.statement, self._bill, self._release).to_json()

    def _read_task(self, task: bytes) -> tuple[bytes, int, int, Task]:
        asked = Task.from_bytes(task)
        return asked.run, asked.round, asked.w.size, asked

    def _claim_and_report(self, asked: Task, task: bytes) -> bytes:
        with self._store.alone():
            if not (self._paid or self._store.over):
                self._payment.pay(self._store, self._mark_rows)
                self._paid = True
            report = self._store.answer_once(asked.round, message_digest(bytes(task)), lambda: self._report(asked))
            if asked.round == self.protocol.rounds - 1:
                self._end()
            return report

    def _report(self, asked: Task) -> bytes:
        change = np.nan_to_num(self._round_change(asked.w), posinf=0.0, neginf=0.0)
        held = project_ball(change, self.protocol.radius * (1 - 1e-9))
        return Report(self.protocol.identity, asked.round, self._number, held, self._release).to_bytes()

    def finish(self, end: bytes) -> None:
        """Confirm the entry of the ledger, since the server says that all rounds are closed; compute nothing more.

        Raises
        ------
        MessageError
            If the message is not the end of this run.
        """
        run, turn, size, _ = self._read_task(end)
        if (run, turn, size) != (self.protocol.identity, self.protocol.rounds, 0):
            raise MessageError("the message is not the end of this run.")
        with self._lock, self._store.alone():
            self._end()

    def _end(self) -> None:
        """Note that the run is over: in the memory, and then in the ledger. The same may be noted again."""
        self._store.note_over()
        self._payment.confirm(self._store)
        self._store.forget_key()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
