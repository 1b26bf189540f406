"""The ledger: a durable budget that many fits on one dataset share.

Also citations of its entries, which model files hold and a ledger confirms.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn, Self, overload

from ..accounting.costs.base import Cost
from ..core.checks import unit_name
from ..core.errors import LedgerError, LedgerNotWrittenError, LedgerTamperedError
from .address import Address, FileAddress, Secret, Unchanged, default_address, read_address
from .chain import VERSION, Chain, Event, Head, Store
from .charging import Request, charge, present
from .check import Verified, check_chain, former_hashes
from .entries import Amount, Bills, Entry, odometer_of, read_entries, spent_of
from .names import dataset_name, label_text, refuse_likeness, run_name
from .reservation import CITATION, Reservation
from .state import State, entry_events, latest, replayed


def citation_of(head: Head, events: Sequence[Event], dataset: str, entry: int) -> dict[str, str | int]:
    """The citation of an entry, with the present head."""
    for event in events:
        if (event.what, event.entry) == ("reserve", entry):
            return dict(zip(CITATION, (head.ledger, dataset, entry, event.hash, head.hash), strict=True))
    raise LedgerError(f"dataset {dataset!r} has no entry {entry!r}. See Ledger.entries(dataset).")


def check_citation(cited: Mapping[str, Any], head: Head, events: Sequence[Event]) -> Entry:
    """The entry that is cited, if this is its ledger and everything agrees.

    `events` are those of a chain that was verified.
    """
    if not isinstance(cited, Mapping) or any(type(cited.get(name)) is not kind for name, kind in CITATION.items()):
        raise LedgerError(f"a citation of a ledger's entry must hold {', '.join(CITATION)}, as Ledger.cite gives them.")
    place = {event.hash: event.number for event in events}
    if cited["ledger"] != head.ledger:
        if not events or events[0].read().get("moved", {}).get("ledger") != cited["ledger"]:
            raise LedgerTamperedError("the citation names another ledger: its identity is not that of this one.")
        place = former_hashes(events)
    number, dataset = cited["entry"], cited["dataset"]
    if place.get(cited["entry_hash"]) != number or place.get(cited["head"], 0) < number:
        raise LedgerTamperedError(
            f"the citation of entry {number} does not match this ledger: the entry or the head it "
            "names is not part of the chain."
        )
    for entry in read_entries(e for e in events if e.dataset == dataset):
        if entry.number == number:
            if not entry.counts:
                raise LedgerTamperedError(
                    f"the citation names entry {number}, which was refunded: it paid for nothing."
                )
            return entry
    raise LedgerTamperedError(f"the citation names entry {number} of a dataset to which it does not belong.")


FORMAT = "dpsparse-ledger"

_LEFT = {
    "nothing": "The dataset was not opened.",
    "event": "The dataset was opened all the same.",
    "unknown": "It is not known whether the dataset was opened. Look it up with dpsparse ledger show.",
}


class Ledger(Unchanged):
    r"""A durable budget for datasets, in one SQLite file or a PostgreSQL database.

    Guarantee
    ---------
    Everything that was reserved for a dataset and not refunded is together (epsilon, delta)-DP with
    the total that the dataset was created with, also when each fit was chosen after seeing the
    models before it (`filters`). A reservation is durable before it is acknowledged, and is made in
    one transaction with the check that it fits: processes cannot overspend together. A crash counts
    as spent; a refund is possible only before the first answer. Damage that would give budget back
    is found when the ledger is read or charged: it is refused then. No text or pickle that is made
    from a ledger holds its password.

    Parameters
    ----------
    address : str or None
        ``sqlite:///budget.db`` (relative), ``sqlite:////var/lib/budget.db`` (absolute) or
        ``postgresql://user@host:port/database`` (extra ``postgres``). None: that of the environment
        variable ``DPSPARSE_LEDGER``. Nothing is opened until it is needed, and nothing is made but
        by `create`.
    patience : float or None
        Seconds for which a database that is away, restarts or fails over is tried again. None: the
        parameter ``patience`` of its address (``postgresql://.../budgets?patience=60``), or 30.

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

    __slots__ = ("_address",)
    _address: Address

    def __init__(self, address: str | None = None, *, patience: float | None = None) -> None:
        object.__setattr__(self, "_address", read_address(default_address(address), patience))

    @classmethod
    def of(cls, ledger: Ledger | str | None) -> Ledger:
        """A ledger from itself or its address; None: the one that the environment names."""
        return ledger if isinstance(ledger, Ledger) else cls(ledger)

    @property
    def address(self) -> str:
        """The address without its password."""
        return self._address.text

    @property
    def file(self) -> Path | None:
        """The file that holds it; None for a database."""
        return Path(self._address.path) if isinstance(self._address, FileAddress) else None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a ledger is not changed. Make another one from another address.")

    def __getstate__(self) -> object:
        return self._address

    def __setstate__(self, address: object) -> None:
        object.__setattr__(self, "_address", address)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._address == other._address

    def __hash__(self) -> int:
        return hash(self._address.text)

    def __repr__(self) -> str:
        return f"Ledger({self._address.shown!r})"

    def _repr_html_(self) -> str:
        """All datasets; where it cannot be read, its name and why. Addresses are shown without passwords."""
        name = html.escape(repr(self))
        try:
            rows = [
                (one, self.total(one), self.spent(one), self.remaining(one), len(self.entries(one)))
                for one in self.datasets()
            ]
        except LedgerError as error:
            return f"<div><p>{name}</p><p>{html.escape(str(error))}</p></div>"
        head = "".join(f"<th>{word}</th>" for word in ("dataset", "total", "used", "left", "entries"))
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
        return f"<div><p>{name}</p><table><tr>{head}</tr>{body}</table></div>"

    # ---------------------------------------------------------------------------------------------- writing

    def create(
        self,
        dataset: str,
        epsilon: float,
        delta: float,
        adjacency: str = "replace-one",
        *,
        kind: str | None = None,
        unit: str | None = None,
    ) -> None:
        """Open a dataset with its total budget; makes the ledger itself if it does not exist.

        Parameters
        ----------
        dataset : str
            A public name. It is stored in one spelling (NFC, trimmed); one that differs from a
            known name by case or spaces alone is refused.
        epsilon, delta : float
            The total that all fits together may spend. delta = 0 allows pure fits only, whose
            epsilons add up.
        adjacency : {"replace-one", "add-remove"}
        kind : {"gaussian", "renyi"} or None
            How costs are counted (see ``docs/ledger.md``). None: the first entry decides.
        unit : str or None
            The word for what has one id, such as ``"patient"``, if the budget protects all rows with
            the same id; fits then need ``unit`` and ``units``. None: one row.
        """
        name = dataset_name(dataset)
        state = State.opened(epsilon, delta, adjacency, kind, unit_name(unit))

        def act(chain: Chain) -> None:
            head = chain.head()
            if head.number == 0:
                chain.append(
                    "", 0, "open", {"format": FORMAT, "version": VERSION, "ledger": head.ledger, "time": present()}
                )
            replayed(chain)
            if name in head.ends:
                raise LedgerError(
                    f"dataset {name!r} is in the ledger already. A budget is never set anew: use it, or choose another "
                    "name for other data."
                )
            refuse_likeness(name, head.ends)
            chain.append(name, 0, "create", {"time": present(), "state": state.to_dict()})

        store = self._store()
        try:
            store.found()
            store.write(act)
            return
        except LedgerNotWrittenError as error:
            failure = error.saying(_LEFT[error.left])
        raise failure

    def reserve(
        self,
        dataset: str,
        bill: Cost,
        *,
        label: str = "",
        run_id: str | None = None,
        delta: float | None = None,
        resumes: bool = False,
    ) -> Reservation:
        """Take the cost of a bill out of a dataset's budget, durably, before anything is read.

        Parameters
        ----------
        dataset : str
        bill : Cost
        label : str
            What it is for; public.
        run_id : str or None
            Names the run that is paid for, in public, so that a retry is not charged twice. What an
            earlier entry of the same dataset and run_id makes of it: none, or a refunded one: a new
            entry is reserved. *reserved*, with an equal bill: that entry is taken up, and nothing
            more is charged; of several who hold it, one can start. *started*, *done*, or reserved
            with another bill, or for noise from a seed where this run has no seed, or the other way round:
            refused by `RunRepeatedError`. It is written in the same transaction as the entry, so a
            crash cannot part them.
        delta : float or None
            At which a refusal says what would fit; None: the dataset's.
        resumes : bool
            Whether the released answers of the run are kept (`dpsparse.oracles.Resume`). Then an
            entry that is *started* or *done* at an equal bill is returned as well: nothing more is
            charged, and the tape decides whether it can go on.

        Raises
        ------
        BudgetExceededError
            If the budget has less left; nothing is taken.
        RunRepeatedError
            If the run was paid for and began.
        """
        run = None if run_id is None else run_name(run_id)
        return charge(self._store(), Request(dataset_name(dataset), bill, label_text(label), run, delta, resumes))

    # ---------------------------------------------------------------------------------------------- reading

    def datasets(self) -> tuple[str, ...]:
        """Names of all datasets, in the order in which they were opened."""
        _, events = self._everything()
        return tuple(e.dataset for e in events if e.what == "create")

    def identity(self) -> str:
        """The number that was drawn when the ledger was made; a copy has the same."""
        return self._store().read(lambda chain: chain.head().ledger)

    def total(self, dataset: str) -> Amount:
        """What the dataset was created with."""
        state = self.describe(dataset)
        return Amount(state.epsilon, state.delta)

    def spent(self, dataset: str) -> Amount:
        """The used capacity of a dataset, at its delta.

        This is the smallest total with which a ledger would have taken the same entries.

        It is what the budget is measured by, and no guarantee: it is chosen after the fact. The
        guarantee is the total, and `odometer` bounds what was lost so far.
        """
        return spent_of(*self._state_and_bills(dataset))

    def odometer(self, dataset: str) -> Amount:
        """A bound on what was lost so far, valid whenever it is read and whatever was chosen because of it.

        For the transcript at which somebody stops, P(S) <= E_Q[exp(epsilon); S] + delta for every
        set S (`accounting.odometer`). More expensive than `spent`, and near the end above the total, which
        holds as well.
        """
        return odometer_of(*self._state_and_bills(dataset))

    def remaining(self, dataset: str) -> Amount:
        """The largest budget of one all-Gaussian fit (for delta = 0: of a pure one) that would still be taken."""
        state = self.describe(dataset)
        room = state.largest_epsilon()
        return Amount(room, state.delta if room > 0 else 0.0)

    def fits_left(self, dataset: str) -> int | None:
        """How many more fits at the cost of the last one would be taken; None without one that counts.

        Each takes a part of the slack that is left, so that it may cost a little more than the one before.
        """
        state, bills = self._state_and_bills(dataset)
        return None if bills.last is None else state.further(bills.last)

    def entries(self, dataset: str) -> tuple[Entry, ...]:
        """Every reservation, in order."""
        name = dataset_name(dataset)

        def act(chain: Chain) -> list[Event]:
            latest(chain, name)
            return chain.of(name)

        return read_entries(self._store().read(act))

    def find_run(self, dataset: str, run_id: str) -> Entry | None:
        """The entry that pays for a run; None if no entry does, or it was refunded."""
        name, run = dataset_name(dataset), run_name(run_id)

        def act(chain: Chain) -> Entry | None:
            latest(chain, name)
            replay = replayed(chain)
            entry = replay.runs.get((name, run))
            if entry is None:
                return None
            return read_entries(entry_events(chain, replay.entries[entry], entry))[0]

        return self._store().read(act)

    def describe(self, dataset: str) -> State:
        """Adjacency, way of counting, filters and totals."""
        name = dataset_name(dataset)
        return self._store().read(lambda chain: latest(chain, name))

    def cite(self, dataset: str, entry: int) -> dict[str, Any]:
        """What names an entry elsewhere, such as in a model file.

        Identity of the ledger, dataset, entry, its hash and the present head.
        """
        name = dataset_name(dataset)

        def act(chain: Chain) -> dict[str, Any]:
            latest(chain, name)
            return citation_of(chain.head(), chain.of(name), name, entry)

        return self._store().read(act)

    def verify_citation(self, citation: Mapping[str, Any]) -> Entry:
        """Verify the whole ledger, and that the cited entry is in it, counts, and stands before the cited head.

        Raises
        ------
        LedgerTamperedError
            If the citation names another ledger, an entry or a head that is not in it, or one that was refunded.
        """
        self.verify()
        return check_citation(citation, *self._everything())

    def export(self) -> dict[str, Any]:
        """Everything as plain JSON types, with the head.

        Keep a copy elsewhere, and compare it by ``verify(head=...)``.
        """
        head, events = self._everything()
        return {
            "format": FORMAT,
            "version": VERSION,
            "ledger": head.ledger,
            "head": {"number": head.number, "hash": head.hash},
            "events": [asdict(e) for e in events],
        }

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
        stated, events = store.read(lambda chain: (chain.stated_head(), list(chain.events())))
        return check_chain(events, stated, damage, head)

    # ---------------------------------------------------------------------------------------------- inside

    def _store(self) -> Store:
        place = self._address
        if isinstance(place, FileAddress):
            from .sqlite import SqliteStore

            return SqliteStore(place.path)
        from .postgres import PostgresStore

        return PostgresStore(place)

    def _everything(self) -> tuple[Head, list[Event]]:
        return self._store().read(lambda chain: (chain.head(), chain.of(None)))

    def _state_and_bills(self, dataset: str) -> tuple[State, Bills]:
        name = dataset_name(dataset)
        return self._store().read(lambda chain: (latest(chain, name), Bills.of(chain, name)))


class LedgerArgument:
    """The argument ``ledger`` of estimators: an attribute that holds a `Ledger` where an address is set.

    An address is turned into a ledger at once, so that nobody prints or stores its password.
    Nothing is refused when it is set, as scikit-learn wants it: what is neither is kept for
    `check_ledger` to refuse, and a text that is no address is kept as a secret, since it may be one
    with a slip in it.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...

    @overload
    def __get__(self, owner: object, kind: type) -> Ledger | None: ...

    def __get__(self, owner: object | None, kind: type) -> Self | Ledger | None:
        if owner is None:
            return self
        try:
            found: Ledger | None = vars(owner)[self._name]
        except KeyError:
            raise AttributeError(self._name) from None
        return found

    def __set__(self, owner: object, value: Ledger | str | None) -> None:
        vars(owner)[self._name] = _kept(value) if isinstance(value, str) else value


def _kept(text: str) -> Ledger | Secret:
    try:
        return Ledger(text)
    except LedgerError:
        return Secret(text)
