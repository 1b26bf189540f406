"""The session: the only way from private rows to answers.

Guarantee
---------
*Pay, then read.* The whole cost is durable in the ledger before rows are opened on a host, and the
ledger's start before the first answer is computed. What was never answered is refunded; once an
answer was asked for, the payment counts, whatever fails afterwards. While rows are read no warning
passes, since it could depend on one.

*Where rows are.* In memory, on a disk within a limit, or on a cluster: decided before anything is
paid, by public facts, the limit and how much storage rows take. No answer depends on it. What cannot
work is refused before a ledger is asked: a limit that is too small, a disk that is too full, a
recipe that needs all rows in one place. Such a refusal says whether storage and memory are large or
small, as the machine itself would; see the limits of the guarantee.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..accounting import Cost, PlanCost, PricedPlan, bare_cost
from ..core import DataError, NonPrivateRandomnessWarning, Plan, PrivacyError
from ..core.facts import Facts, Vector
from ..core.mechanisms import Randomness, keyed_generator
from ..ledger import Ledger, Payment, reserve
from ..oracles import ProgressCallback, Resume, Tape, make_oracle, needs_all_rows
from ..queries.kinds import Oracle
from ..queries.losses import Loss
from ..rows.hosts import ClusterHost, ClusterRows, DiskHost, Host, MemoryHost
from ..rows.hosts.cluster_rows import check_memory
from ..rows.hosts.memory_budget import MemoryBudget, memory_needed, refuse_beyond_disk, refuse_beyond_memory
from ..rows.records import Records, suppress_messages
from .prepare import FitPlan
from .progress import ProgressBar

#: Rows as numbers.
Matrix: TypeAlias = np.ndarray | sp.csr_matrix | sp.csr_array
#: Rows as they are handed over.
Rows: TypeAlias = Matrix | Records
Place: TypeAlias = Literal["memory", "disk", "cluster"]

#: The name that a progress bar shows while rows are read, and how many turns of each model reading counts for.
READING = "reading rows"
READING_TURNS = 20


class Payer(Protocol):
    """The payer of a session: the four arguments of every estimator that has a ledger."""

    @property
    def ledger(self) -> Ledger | str | None:
        """The ledger or its address; None: the one that ``DPSPARSE_LEDGER`` names, if a dataset is given."""
        ...

    @property
    def dataset(self) -> str | None:
        """Whose budget it is; None: nothing is paid."""
        ...

    @property
    def label(self) -> str | None:
        """What it is for; None: the name of what is run."""
        ...

    @property
    def run_id(self) -> str | None:
        """Which run it pays for."""
        ...


@dataclass(frozen=True, repr=False)
class PaidBy:
    """The four arguments of a `Payer`, for what is no estimator."""

    ledger: Ledger | str | None
    dataset: str | None
    label: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, eq=False)
class Session:
    """What is paid for, while it is being answered.

    Attributes
    ----------
    payments : tuple of Payment
        One for each payer; none at a site, whose rounds are paid for when their tasks come.
    randomness : Randomness
        Source of the noise.
    progress : function of a name or None
        Called with the name of every query that is charged, which is public.
    tape : Tape or None
        Where released answers are kept before they are returned.
    bill : Cost or None
        What was reserved: oracles answer its plan and no other, once for each of its models.
    """

    payments: tuple[Payment, ...]
    randomness: Randomness
    progress: ProgressCallback | None = None
    tape: Tape | None = None
    bill: Cost | None = None
    _opened: list[PricedPlan | Plan] = field(default_factory=list, init=False)

    @property
    def payment(self) -> Payment:
        """The payment of a single payer; of several, each keeps its own, and no statement cites them."""
        return self.payments[0] if len(self.payments) == 1 else Payment()

    def start(self) -> None:
        """Write durably, for every payer, that an answer is about to be computed."""
        for payment in self.payments:
            payment.start()

    def oracle(self, host: Host, loss: Loss, plan: PricedPlan | Plan, solver: object = None) -> Oracle:
        """An oracle over opened rows; with a tape, its answers are stored before they are returned.

        The tape binds the plan, the loss and the public fields of a solver, where one is named.
        Refuses a plan that the bill of the session does not pay for.
        """
        if self.payments:  # at a site, each round is paid for when its task comes
            self._check_paid(plan)
        paying = self.payments[0] if len(self.payments) == 1 else self
        oracle = make_oracle(host, loss, plan, self.randomness, paying, self.progress)
        return oracle if self.tape is None else self.tape.recorded(oracle, host, self.randomness, plan, loss, solver)

    def _check_paid(self, plan: PricedPlan | Plan) -> None:
        """Refuse a plan that is not of the bill, or has been opened for every model of it."""
        if self.bill is None and (isinstance(plan, Plan) or plan.plan.unproven):
            return  # there is no guarantee, and no price
        cost = None if self.bill is None else bare_cost(self.bill)
        runs = cost.runs(plan) if isinstance(cost, PlanCost) and isinstance(plan, PricedPlan) else 0
        self._opened.append(plan)
        if sum(opened == plan for opened in self._opened) > runs:
            raise PrivacyError(
                "a session answers the plan of its bill, once for each of its models, and this is another."
            )

    def key(self, purpose: str) -> int:
        """A secret key of 128 bits; the same one when the session is resumed, for what must not change then."""
        if self.tape is None or not self.randomness.secure:
            return self.randomness.key()
        return int.from_bytes(self.tape.subkey(purpose)[:16], "little")

    def generator(self, purpose: str) -> np.random.Generator:
        """Secret draws; the same ones when the session is resumed."""
        if self.tape is None or not self.randomness.secure:
            return self.randomness.generator()
        return keyed_generator(self.key(purpose))

    @contextmanager
    def open(self, X: Records, y: Vector, facts: Facts, loss: Loss, plan: PricedPlan | Plan) -> Iterator[Oracle]:
        """An oracle over rows that are opened here, and closed at the end of the block."""
        with closing(open_host(X, y, facts)) as host:
            yield self.oracle(host, loss, plan)


#: The tape of a session that has others inside.
_outer: ContextVar[Tape | None] = ContextVar("dpsparse_tape", default=None)


@contextmanager
def session(
    *payers: Payer,
    bill: Cost | None,
    label: str,
    delta: float,
    randomness: Randomness,
    bar: ProgressBar | None = None,
    nested: bool = False,
    resume: Resume | None = None,
) -> Iterator[Session]:
    """Reserve a bill, answer what stands inside, and confirm; refunded if nothing was answered.

    Everything public must have failed before: prices, names, user code on synthetic rows
    (`trial_run`), the draft of the statement. `complete` makes a statement of that draft and the
    receipts of the oracles; cite the payment once more after the block, when the ledger has noted
    the end.

    Parameters
    ----------
    *payers : Payer
        Each reserves the whole bill.
    bill : Cost or None
        None: what has no price, such as a baseline; no ledger pays for it.
    label : str
        The entry's label where a payer gives none; public.
    delta : float
        At which a refusal says what would fit.
    randomness : Randomness
    bar : ProgressBar, optional
        Made before, so that a missing library is refused before anything is paid.
    nested : bool
        True for a whole of several sessions, such as a pipeline or a search: its payment starts at
        once, so that it counts whatever its parts answer, the parts suppress messages themselves,
        and their answers stand on its tape.
    resume : Resume, optional
        Where the released answers of the run of a single payer are kept. A run that began goes on
        with them, and pays nothing more.
    """
    with ExitStack() as tapes:
        with ExitStack() as stack:
            payments = []
            for payer in payers:
                own = label if payer.label is None else payer.label
                reserved = partial(reserve, payer.ledger, payer.dataset, bill, label=own, run_id=payer.run_id)
                paid = reserved(delta=delta, seeded=not randomness.secure, resumes=resume is not None)
                payments.append(stack.enter_context(paid))
            tape = _outer.get()
            if resume is not None:
                assert payments[0].reservation is not None
                tape = tapes.enter_context(resume.open(payments[0].reservation, randomness))
                payments[0] = replace(payments[0], token=tape.new_token, answered=tape.done)
            if bar is not None:
                stack.callback(bar.stop)
                bar.start()
            opened = Session(tuple(payments), randomness, None if bar is None else bar.advance, tape, bill)
            if nested or any(payment.at_once for payment in payments):
                opened.start()
            stack.enter_context(on_tape(tape) if nested else suppress_messages())
            yield opened
            if tape is not None and resume is not None:
                tape.end()  # before the ledger notes the end: a run that is done there has its whole tape
        if tape is not None and resume is not None:
            tape.forget_key()


@contextmanager
def on_tape(tape: Tape | None) -> Iterator[None]:
    """Let sessions inside this block keep their answers on a tape, where they have none of their own."""
    before = _outer.set(tape)
    try:
        yield
    finally:
        _outer.reset(before)


def warn_if_seeded(randomness: Randomness, what: str, stacklevel: int = 3) -> None:
    """Warn that what is about to be released will not be private, because its noise can be made again.

    Parameters
    ----------
    randomness : Randomness
    what : str
        ``"fit"``, ``"search"``, ``"step"``.
    stacklevel : int
        Frames between the user's line and this one.
    """
    if not randomness.secure:
        warnings.warn(
            f"random_state was given: the noise can be reproduced, so this {what} is not private. "
            "Use random_state=None for a release.",
            NonPrivateRandomnessWarning,
            stacklevel=stacklevel,
        )


# ------------------------------------------------------------------------------------------------ where rows are


def place_of(prepared: FitPlan, source: Records) -> Place:
    """Where the rows of a fit will be; refuses what can be known not to work."""
    limit, facts = prepared.request.memory_limit, prepared.facts
    if isinstance(source.spread, ClusterRows):
        if facts.has_terms:
            raise DataError("rows on a cluster take no weights and no offsets yet. Bring the rows to one machine.")
        _check_sums(
            prepared,
            "they stand on a cluster. Use a recipe of sums, such as recipe='auto', or bring the rows to one machine.",
        )
        check_memory(source.spread, facts, limit)
        return "cluster"
    if limit is None:
        refuse_beyond_memory(source, facts)
        return "memory"
    if memory_needed(source, facts) <= limit:
        return "memory"
    _check_sums(prepared, "they do not fit memory_limit. Raise it, or use a recipe of sums, such as recipe='auto'.")
    MemoryBudget(facts, limit, source.sparse)
    refuse_beyond_disk(source)
    return "disk"


def _check_sums(prepared: FitPlan, why: str) -> None:
    """Refuse a recipe that needs all rows in one place."""
    if not prepared.recipe.private or needs_all_rows(prepared.plan):
        raise DataError(f"recipe {prepared.recipe.name!r} needs all rows in one place, and {why}")


def open_host(source: Records, y: Vector, facts: Facts) -> MemoryHost | ClusterHost:
    """The rows of a step or a score: on their cluster, or in memory."""
    return MemoryHost(source, y, facts) if source.spread is None else ClusterHost(source, y, facts)


def _open_fit(prepared: FitPlan, source: Records, y: Vector, progress: ProgressCallback | None) -> Host:
    """The rows of a fit, in the place that `place_of` says."""
    place, limit, facts = place_of(prepared, source), prepared.request.memory_limit, prepared.facts
    if place == "memory":
        return MemoryHost(source, y, facts, exact=not prepared.recipe.private)
    shown = 0

    def tell(done: float) -> None:
        nonlocal shown
        while shown < int(done * READING_TURNS):
            shown += 1
            if progress is not None:
                progress(READING)

    if place == "cluster":
        return ClusterHost(source, y, facts, limit, tell=tell)
    assert limit is not None
    return DiskHost(source, y, facts, limit, tell=tell)


# ------------------------------------------------------------------------------------------------ oracles of fits


class OpenOracle(Protocol):
    """Who opens the rows of one model of a fit, and gives an oracle over them until the block ends."""

    def __call__(self, prepared: FitPlan, X: Rows, y: Vector, opened: Session, /) -> AbstractContextManager[Oracle]:
        """An oracle over the rows."""
        ...


def rescaled_rows(prepared: FitPlan, X: Rows) -> Records:
    """Rows in the units of the prepared facts, as a host takes them."""
    return Records.of(X).rescaled(prepared.facts.scale)


@contextmanager
def open_oracle(prepared: FitPlan, X: Rows, y: Vector, opened: Session) -> Iterator[Oracle]:
    """The ordinary oracle of one model of a fit."""
    with closing(_open_fit(prepared, rescaled_rows(prepared, X), y, opened.progress)) as host:
        yield opened.oracle(host, prepared.loss, prepared.of_one_model or prepared.plan, prepared.solver)


def wrapped(wrap: Callable[[FitPlan, Oracle], Oracle]) -> OpenOracle:
    """The ordinary oracles with something between them and the solvers."""

    @contextmanager
    def opener(prepared: FitPlan, X: Rows, y: Vector, opened: Session) -> Iterator[Oracle]:
        with open_oracle(prepared, X, y, opened) as oracle:
            yield wrap(prepared, oracle)

    return opener


_opener: ContextVar[OpenOracle] = ContextVar("dpsparse_open_oracle", default=open_oracle)


@contextmanager
def with_oracles(opener: OpenOracle) -> Iterator[None]:
    """Let fits inside this block get their oracles from another function: for audits and laws, which record and replay.

    It holds for this thread and context only, whichever way the fit is called: by an estimator, by
    a user's own subclass, in a pipeline or in a search. `wrapped` keeps the ordinary oracle.
    """
    before = _opener.set(opener)
    try:
        yield
    finally:
        _opener.reset(before)


def current_opener() -> OpenOracle:
    """Who opens the oracles of fits here."""
    return _opener.get()


def substituted() -> bool:
    """Whether fits get their oracles from elsewhere here: then they are part of an audit, and nothing is released."""
    return _opener.get() is not open_oracle
