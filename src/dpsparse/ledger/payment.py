"""Paying for a fit out of a ledger, or without a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from ..accounting.costs.base import Cost
from ..accounting.costs.plan import PlanCost
from ..accounting.costs.unit import bare_cost
from ..core.errors import LedgerError
from .address import Secret, has_default
from .ledger import Ledger
from .names import dataset_name, own_label, run_name, seeded_label
from .reservation import Reservation

#: Arguments of estimators that say how a fit is paid for. They belong to the session: files do not keep them.
PAYING = ("ledger", "dataset", "label", "run_id", "resume")


class Paid(Protocol):
    """What may say how it is paid for: an estimator or a step."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Arguments by name."""
        ...


@dataclass(frozen=True)
class Payment:
    """What `reserve` gives.

    Attributes
    ----------
    reservation : Reservation or None
    token : callable or None
        Makes tokens, where a tape keeps the answers.
    at_once : bool
        Whether the payment starts before anything is asked, so that it is never refunded.
    answered : bool
        Whether everything was answered by an earlier process, so that nothing starts.
    """

    reservation: Reservation | None = None
    token: Callable[[], str] | None = None
    at_once: bool = False
    answered: bool = False

    def start(self) -> None:
        """Write durably that an answer is about to be computed.

        Called before the first one, and only that call writes.
        """
        if self.reservation is not None and not self.answered:
            self.reservation.start(self.token)

    @property
    def record(self) -> dict[str, str | int] | None:
        """For the statement: the citation of the entry, without an address."""
        return None if self.reservation is None else self.reservation.citation()


def check_ledger(ledger: object, dataset: object, label: object = None, run_id: object = None) -> None:
    """Refuse a ledger without a dataset's name, the other way round, and what is neither; a run without a ledger.

    Opens nothing.
    """
    if label is not None:
        own_label(label)
    if ledger is None and dataset is None and run_id is None:
        return
    if ledger is None and dataset is None:
        raise LedgerError("a run_id belongs to a ledger, which knows what was paid: give ledger and dataset too.")
    if dataset is None or (ledger is None and not has_default()):
        raise LedgerError("ledger and dataset belong together: give both, or neither.")
    dataset_name(dataset)
    if run_id is not None:
        run_name(run_id)
    if isinstance(ledger, Secret):  # a text that was no address
        ledger = ledger.reveal() or ""
    if not isinstance(ledger, Ledger | str | None):
        raise TypeError(f"ledger must be a dpsparse Ledger or its address, got {type(ledger).__name__}.")
    Ledger.of(ledger)


def refuse_own_ledger(part: Paid, whole: str) -> None:
    """Refuse a part with a ledger of its own where the whole pays at once: the part's would never be charged."""
    own = part.get_params(deep=False)
    if any(own.get(name) is not None for name in ("ledger", "dataset")):
        raise LedgerError(
            f"{type(part).__name__} has a ledger or dataset of its own, which would not be charged: {whole} is paid "
            f"for as one. Give ledger and dataset to {whole} instead."
        )
    if any(own.get(name) is not None for name in ("label", "run_id", "resume")):
        raise LedgerError(
            f"{type(part).__name__} has a label, run_id or resume of its own, under which nothing would be "
            f"charged: {whole} is paid for as one. Give them to {whole} instead."
        )


@contextmanager
def reserve(
    ledger: Ledger | str | None,
    dataset: str | None,
    bill: Cost | None,
    *,
    label: str,
    run_id: str | None = None,
    delta: float | None = None,
    seeded: bool,
    resumes: bool = False,
) -> Iterator[Payment]:
    """Reserve a bill, run what stands inside, and confirm; refunded if nothing was answered.

    A plan with a number of turns that chance drew is priced by the law of the draw. It is never
    refunded: somebody who saw the number could give it back and draw again, until the law was
    another one.

    Parameters
    ----------
    ledger : Ledger, str or None
        None: the one that ``DPSPARSE_LEDGER`` names, if a dataset is given.
    dataset : str or None
        None: nothing is paid.
    bill : Cost or None
        None: what has no price, such as a baseline; it cannot be paid out of a ledger.
    label : str
        What it is for; public.
    run_id : str or None
        Which run it pays for; public. A retry with the same one is not charged twice
        (`Ledger.reserve`).
    delta : float or None
        At which a refusal says what would fit.
    seeded : bool
        Whether the noise comes from a seed: the entry's label then says so.
    resumes : bool
        Whether a run that began may go on, as in `Ledger.reserve`. The caller then starts a payment
        that is `at_once`, when its tape is open.
    """
    if ledger is None and dataset is None and run_id is None:  # nothing is paid: there is nothing to check
        yield Payment()
        return
    check_ledger(ledger, dataset, label, run_id)
    assert dataset is not None  # the check refuses a ledger or a run without one
    if bill is None:
        raise LedgerError(
            f"{label!r} has no privacy and so no price: it must not touch data that a ledger "
            "guards. Leave ledger=None for it."
        )
    label = seeded_label(label) if seeded else label
    book = Ledger.of(ledger)
    with book.reserve(dataset, bill, label=label, run_id=run_id, delta=delta, resumes=resumes) as reservation:
        cost = bare_cost(bill)
        drawn = isinstance(cost, PlanCost) and cost.account.costs.random
        if drawn and not resumes:
            reservation.start()
        yield Payment(reservation, at_once=drawn)
