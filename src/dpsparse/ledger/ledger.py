"""The ledger: a durable budget that many fits on one dataset share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from ..accounting.costs.base import Bill, stored
from ..privacy.errors import BudgetError, BudgetExceededError, LedgerError
from .chain import VERSION, Event
from .check import Verified, check
from .entries import Amount, Entry, entries_of, spent_of
from .postgres import PostgresStore
from .reservation import Reservation
from .sqlite import SqliteStore
from .state import State, latest

FORMAT = "dpsparse-ledger"

#: How often a reservation is tried again because the ledger changed while it was priced.
ATTEMPTS = 20


@dataclass(frozen=True, repr=False)
class Ledger:
    r"""A durable budget for datasets, in one SQLite file or a PostgreSQL database.

    Guarantee
    ---------
    Everything that was reserved for a dataset and not refunded is together (epsilon, delta)-DP with the total that the
    dataset was created with, also when each fit was chosen after seeing the models before it (`filters`). A reservation
    is durable before it is acknowledged, and is made in one transaction with the check that it fits: processes cannot
    overspend together. A crash counts as spent; a refund is possible only before the first answer.

    Parameters
    ----------
    address : str
        ``sqlite:///budget.db`` (relative), ``sqlite:////var/lib/budget.db`` (absolute) or
        ``postgresql://user@host:port/database`` (extra ``postgres``). Nothing is opened until it is needed, and nothing is
        made but by `create`.

    Examples
    --------
    >>> import tempfile
    >>> from dpsparse import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"sqlite:///{folder.name}/budget.db")
    >>> ledger.create("trial", epsilon=3.0, delta=1e-6)
    >>> ledger.remaining("trial").epsilon
    3.0
    >>> folder.cleanup()
    """

    address: str

    def __post_init__(self) -> None:
        if not isinstance(self.address, str):
            raise TypeError(f"a ledger's address must be text such as 'sqlite:///budget.db', got {self.address!r}.")
        self._store()

    @classmethod
    def of(cls, ledger: Ledger | str) -> Ledger:
        """A ledger from itself or its address."""
        return ledger if isinstance(ledger, Ledger) else cls(ledger)

    def __repr__(self) -> str:
        parts = urlsplit(self.address)
        hidden = self.address if parts.password is None else self.address.replace(f":{parts.password}@", ":...@")
        return f"Ledger({hidden!r})"

    # ---------------------------------------------------------------------------------------------- writing

    def create(
        self, dataset: str, epsilon: float, delta: float, adjacency: str = "replace-one", *, kind: str | None = None
    ) -> None:
        """Open a dataset with its total budget; makes the ledger itself if there is none.

        Parameters
        ----------
        dataset : str
            A public name.
        epsilon, delta : float
            The total that all fits together may spend. delta = 0 allows pure fits only, whose epsilons add up.
        adjacency : {"replace-one", "add-remove"}
        kind : {"gaussian", "renyi"} or None
            How costs are counted (see ``docs/ledger.md``). None: the first entry decides.
        """
        if not isinstance(dataset, str) or not dataset.strip() or len(dataset) > 200 or not dataset.isprintable():
            raise LedgerError(f"a dataset's name must be 1 to 200 printable characters, got {dataset!r}.")
        state = State.opened(epsilon, delta, adjacency, kind)
        store = self._store()
        store.found()
        with store.writing() as chain:
            if chain.head()[1] == 0:
                chain.append("", 0, "open", {"format": FORMAT, "version": VERSION, "time": _now()})
            if chain.last(dataset) is not None:
                raise LedgerError(
                    f"dataset {dataset!r} is in the ledger already. A budget is never set anew: use it, or choose another name for "
                    "other data."
                )
            chain.append(dataset, 0, "create", {"time": _now(), "state": state.to_dict()})

    def reserve(self, dataset: str, bill: Bill, *, label: str = "", delta: float | None = None) -> Reservation:
        """Take the cost of a bill out of a dataset's budget, durably, before anything is read.

        Parameters
        ----------
        dataset : str
        bill : Bill
        label : str
            What it is for; public.
        delta : float or None
            At which a refusal says what would fit; None: the dataset's.

        Raises
        ------
        BudgetExceededError
            If the budget has less left; nothing is taken.
        """
        content = stored(bill)
        for _ in range(ATTEMPTS):
            before = self._state(dataset)
            if bill.adjacency != before.adjacency:
                raise LedgerError(
                    f"dataset {dataset!r} protects {str(before.adjacency)!r} neighbours, and this cost is for "
                    f"{str(bill.adjacency)!r}. Fit with adjacency={str(before.adjacency)!r}."
                )
            if before.delta == 0 and bill.pure() == float("inf"):
                raise BudgetError(
                    f"dataset {dataset!r} has delta = 0 and takes pure fits only; this one has no epsilon at delta = 0. "
                    "Choose a recipe with Laplace noise or selections, or another dataset's budget."
                )
            state = before.decided(bill)  # priced outside the transaction: it may take seconds
            cost = state.charge(bill)
            whole = not state.fits(cost) and state.whole(bill)
            with self._store().writing() as chain:
                now = latest(chain, dataset)
                if now.kind != before.kind or now.slack < cost.slack:
                    continue
                now = now if now.kind is not None else now.counting(str(state.kind))
                if not now.fits(cost) and not (whole and now.live == 0):
                    break
                body = {
                    "time": _now(),
                    "label": label,
                    "bill": content,
                    "costs": dict(cost.costs),
                    "slack": cost.slack,
                    "state": now.taken(cost).to_dict(),
                }
                return Reservation(self._store(), dataset, chain.append(dataset, 0, "reserve", body).entry)
        else:
            raise LedgerError(
                "the ledger changed too often while this cost was priced. Nothing was reserved; try again."
            )
        raise _refusal(now, dataset, bill, delta)

    # ---------------------------------------------------------------------------------------------- reading

    def datasets(self) -> tuple[str, ...]:
        """Names of all datasets."""
        with self._store().reading() as chain:
            chain.head()
            return tuple(e.dataset for e in chain.events() if e.what == "create")

    def total(self, dataset: str) -> Amount:
        """What the dataset was created with."""
        state = self._state(dataset)
        return Amount(state.epsilon, state.delta)

    def spent(self, dataset: str) -> Amount:
        """The smallest total with which a ledger would have taken the same entries, at the dataset's delta."""
        with self._store().reading() as chain:
            state, events = latest(chain, dataset), list(chain.events(dataset))
        return spent_of(state, entries_of(events))

    def remaining(self, dataset: str) -> Amount:
        """The largest budget of one all-Gaussian fit (for delta = 0: of a pure one) that would still be taken."""
        state = self._state(dataset)
        room = state.room()
        return Amount(room, state.delta if room > 0 else 0.0)

    def entries(self, dataset: str) -> tuple[Entry, ...]:
        """Every reservation, in order."""
        with self._store().reading() as chain:
            latest(chain, dataset)
            return entries_of(chain.events(dataset))

    def describe(self, dataset: str) -> State:
        """Adjacency, way of counting, filters and totals."""
        return self._state(dataset)

    def export(self) -> dict[str, Any]:
        """Everything as plain JSON types, with the head: keep a copy elsewhere, and compare it by ``verify(head=...)``."""
        with self._store().reading() as chain:
            _, number, last = chain.head()
            events = [_plain(e) for e in chain.events()]
        return {"format": FORMAT, "version": VERSION, "head": {"number": number, "hash": last}, "events": events}

    def verify(self, head: str | None = None) -> Verified:
        """Check the file, the chain of hashes, every state and every price, from the stored bills.

        Parameters
        ----------
        head : str or None
            A hash that was kept elsewhere (from `export` or an earlier `verify`): it must be part of the chain.

        Raises
        ------
        LedgerTamperedError
            With what was found.
        """
        store = self._store()
        damage = store.damage()
        with store.reading() as chain:
            _, number, last = chain.head()
            events = list(chain.events())
        return check(events, number, last, damage, head)

    # ---------------------------------------------------------------------------------------------- inside

    def _store(self) -> SqliteStore | PostgresStore:
        scheme, separator, rest = self.address.partition("://")
        if separator and scheme in ("postgresql", "postgres"):
            return PostgresStore(self.address)
        if separator and scheme == "sqlite" and rest.startswith("/") and rest.strip("/") and ":memory:" not in rest:
            return SqliteStore(rest[1:])
        raise LedgerError(
            f"{self.address!r} is not the address of a ledger. Write sqlite:///budget.db for a file beside you, sqlite:////full/path.db "
            "for one anywhere, or postgresql://user@host:port/database; a ledger in memory would not last."
        )

    def _state(self, dataset: str) -> State:
        with self._store().reading() as chain:
            return latest(chain, dataset)


def _refusal(state: State, dataset: str, bill: Bill, delta: float | None) -> BudgetExceededError:
    room = state.room()
    at = state.delta if delta is None else delta
    factor = state.largest_factor(bill) if state.filters else 0.0
    fits = bill.scaled(factor).epsilon(at) if factor > 0 else 0.0
    fits = float(f"{fits * 0.999:.3g}")
    advice = (
        f"A fit like this one with epsilon = {fits:g} at delta = {at:g} would fit"
        if fits > 0
        else "Nothing like it fits any more"
    )
    return BudgetExceededError(
        f"dataset {dataset!r} has less left than this fit costs ({bill.epsilon(at):.4g} at delta = {at:g}): of its total "
        f"({state.epsilon:g}, {state.delta:g}) an all-Gaussian fit of epsilon = {room:.4g} could still be taken. {advice}. "
        "Nothing was read or reserved.",
        remaining=room,
        would_fit=fits,
    )


def _plain(event: Event) -> dict[str, Any]:
    return {
        "number": event.number,
        "dataset": event.dataset,
        "entry": event.entry,
        "what": event.what,
        "body": event.body,
        "previous": event.previous,
        "hash": event.hash,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
