"""A server: it has no record. One round is open at a time; reports are checked, taken once, and the round is closed."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from os import PathLike
from typing import ClassVar, Generic, NoReturn, Self, TypeVar

from sklearn.base import clone

from ...core import DataError, Statement
from ...core.facts import Vector
from ...core.release import difference
from ...core.sealed_files import SealedKind
from ...estimators.linear import SparseLinear
from ...fitting import FitPlan, FitResult
from ...fitting.run import coefficients_of
from ...rows.lattice import Lattice
from .protocol import Agreed, MessageError

Taken = TypeVar("Taken")
Model_co = TypeVar("Model_co", covariant=True)


class ServerState:
    """A server between two messages, as a file that appears whole or not at all."""

    kind: ClassVar[SealedKind]

    def write(self, path: str | PathLike[str]) -> None:
        """Write the file; only one of the same kind is replaced."""
        self.kind.write(path, self)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """The inverse.

        Raises
        ------
        DataError
            If the file is of another kind, was edited, or contradicts itself.
        """
        return cls.kind.read(path, cls)


class Coordinator(ABC, Generic[Agreed, Taken, Model_co]):
    """Rounds of a run, as every server keeps them, whatever it trains.

    Guarantee
    ---------
    A message that is malformed or damaged, of another run, protocol or round, or that the server
    does not take for reasons of its own, is refused with `MessageError` and changes nothing. All
    methods may be called from several threads.

    Parameters
    ----------
    protocol : RunProtocol
    who : str
        What participants are called.
    least : int
        With how many reports a round may be closed.
    """

    def __init__(self, protocol: Agreed, who: str, least: int) -> None:
        self._lock = threading.RLock()
        self.protocol = protocol
        self._who = who
        self._least = least
        #: The round that is open; as many as there are when all are closed.
        self.round = 0

    @property
    def finished(self) -> bool:
        """Whether all rounds are closed."""
        return self.round >= self.protocol.rounds

    @property
    def secret(self) -> bool:
        """Whether who is asked, and how many answer, is for this server alone."""
        return False

    @property
    @abstractmethod
    def count(self) -> int:
        """Reports taken in this round."""

    @abstractmethod
    def _task(self) -> bytes: ...

    @abstractmethod
    def _read_report(self, message: bytes) -> tuple[bytes, int, int, Taken]:
        """Run, round and number of values of a report, and the report."""

    @property
    @abstractmethod
    def _size(self) -> int:
        """Numbers in a report."""

    @abstractmethod
    def _take(self, report: Taken) -> None:
        """Take a report of this round, or refuse it with `MessageError`."""

    @abstractmethod
    def _close(self) -> None: ...

    @abstractmethod
    def model(self) -> Model_co:
        """What was learned, with its statement."""

    def _require_open(self) -> None:
        if self.finished:
            raise MessageError("all rounds are closed; ask for the model.")

    def _require_finished(self) -> None:
        if not self.finished:
            raise MessageError(f"round {self.round} of {self.protocol.rounds} is open; close it first.")

    def task(self) -> bytes:
        """What to send to the participants of this round."""
        with self._lock:
            self._require_open()
            return self._task()

    def receive(self, message: bytes) -> None:
        """Take a report, or refuse it with `MessageError` and change nothing."""
        run, turn, size, report = self._read_report(message)
        with self._lock:
            self._require_open()
            if run != self.protocol.identity:
                raise MessageError("the report belongs to another run or another protocol.")
            if turn != self.round:
                raise MessageError(f"the report is of round {turn}, and round {self.round} is open.")
            if size != self._size:
                raise MessageError(f"a report of this protocol holds {self._size} numbers, got {size}.")
            self._take(report)

    def close(self) -> None:
        """End the round with the reports that came, and go on."""
        with self._lock:
            self._require_open()
            if self.count < self._least:
                raise MessageError(
                    f"{self.count} {self._who} have answered, and {self._least} are needed to "
                    "close a round. It stays open."
                )
            self._close()

    def _check_saved(self, path: str | PathLike[str], protocol: str, by: str) -> None:
        """Refuse a state of another release, or of a server with other settings."""
        other = difference("the server that saved it", by, "this one", self.protocol.release)
        if other:
            raise DataError(f"{path}: {other} A run is finished by the release that began it.")
        if protocol != self.protocol.to_json():
            raise DataError(f"{path} was saved by a server with other settings. Give the same estimator and arguments.")

    def __repr__(self) -> str:
        reports = "" if self.secret else f", {self.count} reports"
        return f"{type(self).__name__}(round {self.round} of {self.protocol.rounds}{reports})"

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"a server is stored with server.save(path), and goes on with {name}.resume(path, ...).")


def without_ledger(estimator: SparseLinear) -> SparseLinear:
    """A copy of an estimator for a server; refuses one that names a ledger."""
    made: SparseLinear = clone(estimator)
    if made.ledger is not None or made.dataset is not None:
        raise ValueError("a server holds no dataset to charge; every participant keeps its own. Leave ledger=None.")
    return made


def fitted_model(
    estimator: SparseLinear, prepared: FitPlan, found: Iterable[Vector], statement: Statement, *, exact: bool = False
) -> SparseLinear:
    """The estimator with the coefficients that a server found, in the units of the records."""
    made: SparseLinear = clone(estimator)
    made.n_features_in_ = prepared.facts.n_features
    lattice = Lattice(prepared.facts, exact=exact)
    shift, intercept, scale = lattice.applied_shift, lattice.applied_intercept, prepared.facts.scale
    coefficients = tuple(coefficients_of(w, shift, intercept, scale) for w in found)
    return made.keep(FitResult(coefficients, statement, prepared.row_bounds), prepared.request.classes)
