"""Taking the cost of a bill out of a dataset's budget: priced first, then checked and written in one transaction.

Guarantee
---------
What is written fits the state that the same transaction read. A run that the ledger knows by its
`run_id` is never charged again: if nothing was answered for it, its entry is taken up; otherwise it
is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from ..accounting.costs.base import Cost, write_cost
from ..accounting.costs.unit import unit_of
from ..accounting.filters import Charge
from ..core.adjacency import Adjacency
from ..core.checks import ROW
from ..core.codec import canonical_json
from ..core.errors import BudgetError, BudgetExceededError, LedgerError, LedgerNotWrittenError, RunRepeatedError
from .chain import Chain, Store
from .entries import STATUS
from .names import is_seeded
from .reservation import Reservation
from .state import State, entry_events, latest, replayed

T = TypeVar("T")


#: How often a reservation is tried again because the ledger changed while it was priced.
ATTEMPTS = 20

_LEFT = {
    "nothing": "Nothing was reserved; try again when the reason is gone.",
    "event": "Entry {number} was written all the same: it counts.",
    "unknown": (
        "It is not known whether an entry was reserved: if it was, it counts. Look it up with dpsparse ledger show; a "
        "retry with the same run_id is not charged twice."
    ),
}


@dataclass(frozen=True)
class Request:
    """What is to be charged.

    Attributes
    ----------
    dataset : str
    bill : Cost
    label : str
        What it is for.
    run_id : str or None
        Which run it pays for.
    delta : float or None
        At which a refusal says what would fit; None: the dataset's.
    resumes : bool
        Whether the released answers of the run are kept, so that one that was started goes on.
    """

    dataset: str
    bill: Cost
    label: str
    run_id: str | None
    delta: float | None
    resumes: bool = False


def charge(store: Store, request: Request) -> Reservation:
    """Reserve, take up what an earlier attempt of the same run reserved, or refuse."""
    try:
        return _charge(store, request)
    except LedgerNotWrittenError as error:
        failure = error.saying(_LEFT[error.left].format(number=error.number))
    raise failure


def _charge(store: Store, request: Request) -> Reservation:
    content = write_cost(request.bill)
    for _ in range(ATTEMPTS):
        known = store.read(lambda chain: _known(store, chain, request, content))
        if known is not None:
            return known
        before = store.read(lambda chain: latest(chain, request.dataset))
        _refuse_others(before, request)
        priced = _Priced.of(before, request.bill)  # outside the transaction: it may take seconds
        found = store.write(lambda chain, p=priced: _take(store, chain, request, content, p))  # type: ignore[misc]
        if isinstance(found, State):
            raise _refusal(found, request)
        if found is not None:
            return found
    raise LedgerError("the ledger changed too often while this cost was priced. Nothing was reserved; try again.")


@dataclass(frozen=True)
class _Priced:
    """A cost, and the state at which it was computed; `whole` if it may take everything at once."""

    before: State
    kind: str
    cost: Charge
    whole: bool

    @classmethod
    def of(cls, before: State, bill: Cost) -> _Priced:
        state = before.decided(bill)
        cost = state.charge(bill)
        return cls(before, str(state.kind), cost, not state.fits(cost) and state.whole(bill))


def _take(
    store: Store, chain: Chain, request: Request, content: dict[str, Any], priced: _Priced
) -> Reservation | State | None:
    """Write the entry; returns the state if it does not fit, and None if the price is out of date."""
    known = _known(store, chain, request, content)
    if known is not None:
        return known
    now, cost = latest(chain, request.dataset), priced.cost
    if now.kind != priced.before.kind or now.slack < cost.slack:
        return None
    now = now if now.kind is not None else now.counting(priced.kind)
    if not now.fits(cost) and not (priced.whole and now.live == 0):
        return now
    body = {
        "time": present(),
        "label": request.label,
        "bill": content,
        "costs": dict(cost.costs),
        "slack": cost.slack,
        "state": now.taken(cost).to_dict(),
    }
    if request.run_id is not None:
        body["run_id"] = request.run_id
    event = chain.append(request.dataset, 0, "reserve", body)
    return Reservation(store, chain.head().ledger, event)


def _known(store: Store, chain: Chain, request: Request, content: dict[str, Any]) -> Reservation | None:
    """The entry of the same run, if it may go on; None if no entry counts."""
    if request.run_id is None:
        return None
    replay = replayed(chain)
    entry = replay.runs.get((request.dataset, request.run_id))
    if entry is None:
        return None
    taken = replay.entries[entry]
    event, last = entry_events(chain, taken, entry)
    body, state = event.read(), STATUS[taken.what]
    alike = is_seeded(body["label"]) == is_seeded(request.label)
    equal = alike and canonical_json(body["bill"]) == canonical_json(content)
    if equal and (state == "reserved" or request.resumes):
        return Reservation(store, chain.head().ledger, event, last)
    other = f"is {state} for work {'of another cost' if alike else 'with another random_state'}"
    why = {
        "reserved": other,
        "started": other
        if request.resumes
        else "was started, and what it answered may have been seen: to answer again would cost again",
        "done": other if request.resumes else "is done: use the model that it saved",
    }[state]
    raise RunRepeatedError(
        f"run {request.run_id!r} {why}. It is entry {event.entry} of dataset {request.dataset!r}, which counts; "
        "nothing more was charged. Choose another run_id to run, and pay, once more.",
        event.entry,
        state,
    )


def _refuse_others(state: State, request: Request) -> None:
    dataset, bill = request.dataset, request.bill
    if bill.adjacency != state.adjacency:
        raise LedgerError(
            f"dataset {dataset!r} protects {str(state.adjacency)!r} neighbours, and this cost is for "
            f"{str(bill.adjacency)!r}. Fit with adjacency={str(state.adjacency)!r}."
        )
    _refuse_other_unit(state.unit, unit_of(bill), state.adjacency, dataset)
    if state.delta == 0 and bill.pure() == float("inf"):
        raise BudgetError(
            f"dataset {dataset!r} has delta = 0 and takes pure fits only; this one has no epsilon at delta = 0. "
            "Choose a recipe with Laplace noise or selections, or another dataset's budget."
        )


def _refuse_other_unit(kept: str, billed: str, relation: Adjacency, dataset: str) -> None:
    """Refuse a bill that does not cover the unit which a dataset protects.

    A bill for units covers rows where one is replaced: exchanging one row, its id kept, is exchanging
    its unit for another. It does not where one is added or removed: a unit with one row less is still there,
    and going from one to the other takes two steps. Nothing else is covered, and nothing is converted.
    """
    if billed == kept or (kept == ROW and relation is Adjacency.REPLACE_ONE):
        return
    if kept == ROW:
        raise LedgerError(
            f"dataset {dataset!r} protects a row, added or removed, and this cost is for a {billed}: a {billed} with "
            "one row less is exchanged, not removed. Use adjacency='replace-one', or a dataset that was created with "
            f"unit={billed!r}."
        )
    raise LedgerError(
        f"dataset {dataset!r} protects a {kept}: all rows with the same id. This cost is for a {billed}, and would "
        f"guarantee less. Fit with unit={kept!r} and units=, the id of each row; on the command line, with "
        f"--unit-name {kept!r}, and --unit or a dictionary that names the column of ids."
    )


def _refusal(state: State, request: Request) -> BudgetExceededError:
    dataset, bill = request.dataset, request.bill
    room = state.largest_epsilon()
    at = state.delta if request.delta is None else request.delta
    factor = state.largest_factor(bill) if state.filters else 0.0
    fits = bill.scaled(factor).epsilon(at) if factor > 0 else 0.0
    fits = float(f"{fits * 0.999:.3g}")
    advice = (
        f"A fit like this one with epsilon = {fits:g} at delta = {at:g} would fit"
        if fits > 0
        else "Nothing like it fits any more"
    )
    return BudgetExceededError(
        f"dataset {dataset!r} has less left than this fit costs ({bill.epsilon(at):.4g} at delta = {at:g}): of its "
        f"total ({state.epsilon:g}, {state.delta:g}) an all-Gaussian fit of epsilon = {room:.4g} could still be taken. "
        f"{advice}. Nothing was read or reserved.",
        remaining=room,
        would_fit=fits,
    )


def present() -> str:
    """The time, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
