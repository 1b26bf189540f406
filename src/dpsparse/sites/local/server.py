"""The server: it has no row. It asks, checks reports, adds them up, and makes the model.

`Saved` is its state between two messages: what came in, round by round, and nothing that can be computed from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os import PathLike
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import DataError, PrivacyError
from ...core.codec import Count, FormError, Via, form, read
from ...core.facts import Facts, Vector
from ...core.sealed_files import SealedKind
from ...core.statement import Receipt
from ...estimators.input_checks import refuse_named_unit
from ...estimators.linear import SparseLinear
from ...fitting import Shape, plan_fit, rescaled_rows
from ...fitting.drawn import Drawn
from ...fitting.shapes import refuse_shapes
from ...fitting.statement import DEVICES, complete, draft_fit
from ...fitting.targets import refuse_class_weight
from ...oracles import Gate
from ...oracles.local import LocalNoise, Randomiser
from ...queries.kinds import Gradient, Oracle, Query, RandomizedLabels
from ...rows.hosts import MemoryHost
from ...rows.single_records import PublicRows
from ..rounds import Coordinator, MessageError, ServerState, fitted_model, without_ledger
from ..rounds.messages import DeviceReport as Report
from ..rounds.messages import DeviceTask as Task
from .protocol import Protocol

IDENTIFIER = re.compile(r"[0-9a-f]{32}")


def _check_total(total: RoundTotal) -> RoundTotal:
    if not all(abs(v) <= total.count * 2**31 for v in (*total.total.tolist(), *total.labels.values())):
        raise ValueError("sums and labels must be those of this number of reports.")
    return total


@form(made=_check_total)
@dataclass
class RoundTotal:
    """Reports of one round, added up.

    Attributes
    ----------
    total : array of int64
    count : int
        How many reports.
    labels : dict
        Where labels are asked for: each row's report.
    """

    total: NDArray[np.int64]
    count: Count = 0
    labels: dict[int, int] = field(default_factory=dict)


def _identifiers(content: object, where: str) -> frozenset[bytes]:
    listed = read(tuple[str, ...], content, where)
    if not all(map(IDENTIFIER.fullmatch, listed)) or len(set(listed)) != len(listed):
        raise FormError(f"{where} must hold different identifiers.")
    return frozenset(map(bytes.fromhex, listed))


@form(made=lambda saved: saved.check() or saved)
@dataclass(frozen=True)
class Saved(ServerState):
    """A server between two messages.

    Attributes
    ----------
    protocol : Protocol
    open : bool
        Whether the last tally is of a round that is open.
    tallies : list of RoundTotal
        The closed rounds, and the open one if there is one.
    seen : frozenset of bytes
        Identifiers of all reports that were taken.
    """

    #: Space for some million people.
    kind: ClassVar = SealedKind("dpsparse-local-server", 2, 2**28, "a saved server")

    protocol: Protocol
    open: bool
    tallies: list[RoundTotal]
    seen: Annotated[frozenset[bytes], Via(lambda seen: sorted(s.hex() for s in seen), _identifiers)]

    def check(self) -> None:
        """Refuse counts that do not agree with each other or with the protocol."""
        facts = self.protocol.facts
        width = 1 if self.protocol.labels else self.protocol.restored_facts().dimension
        closed = len(self.tallies) - self.open
        counts = [t.count for t in self.tallies]
        holds = (
            closed <= self.protocol.rounds
            and self.open == (closed < self.protocol.rounds)
            and all(t.total.shape == (width,) for t in self.tallies)
            and all(count > 0 for count in counts[:closed])
            and max(counts) <= facts["n_rows"]
            and len(self.seen) == sum(counts)
        )
        if self.protocol.labels:
            numbers = {int.from_bytes(s, "little") for s in self.seen}
            holds = holds and all(
                t.labels.keys() <= numbers and len(t.labels) == t.count and int(t.total[0]) == sum(t.labels.values())
                for t in self.tallies
            )
            holds = holds and all(number < facts["n_rows"] for number in numbers)
        else:
            holds = holds and not any(t.labels for t in self.tallies)
        if not holds:
            raise ValueError


class Server(Coordinator[Protocol, Report, SparseLinear]):
    """Runs a recipe of the local model on the reports of devices.

    Guarantee
    ---------
    A message that is malformed, damaged, of another protocol, of another run of the same one or of
    another round, of a wrong norm, or that carries an identifier which was taken before in this
    run, or of a round in which as many came as there are people, is refused with `MessageError` and
    changes nothing. So every report is taken at most once, in one run, also when it is sent again
    after `resume`. A false report that passes all checks moves the sum of its round by no more than
    the norm that every report has, ``influence``: who made it cannot be told from the report. All
    methods may be called from several threads.

    Parameters
    ----------
    estimator : SparseRegressor or SparseClassifier
        With ``recipe="ldp_iht"``, or another recipe of the local model; two classes, declared.
    n_people : int
        The public number of people who are expected; noise is planned for it, and no round takes
        more reports.
    n_features : int
    features : array of shape (n_people, n_features), optional
        The public features, for label privacy.
    nonce : str or None
        None: a new run. `resume` gives the one of the run that goes on.

    Attributes
    ----------
    protocol : Protocol
        To publish.
    round : int
        The round that is open.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor
    >>> from dpsparse.local import Device, Server
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], (600, 3))
    >>> model = SparseRegressor(epsilon=8.0, recipe="ldp_iht", feature_bound=1.0, target_bound=2.0, sparsity=1)
    >>> server = Server(model, n_people=600, n_features=3)
    >>> people = [Device(x, x[1], server.protocol, epsilon=8.0) for x in X]
    >>> for group in np.array_split(people, server.protocol.rounds):
    ...     task = server.task()
    ...     for device in group:
    ...         server.receive(device.answer(task))
    ...     server.close()
    >>> [int(j) for j in server.model().support_]
    [1]
    """

    def __init__(
        self,
        estimator: SparseLinear,
        *,
        n_people: int,
        n_features: int,
        features: ArrayLike | None = None,
        nonce: str | None = None,
    ) -> None:
        refuse_named_unit(estimator, "a fit on devices")
        self._estimator = without_ledger(estimator)
        request = self._estimator.request()
        refuse_class_weight(request)
        if request.classifies and (request.classes is None or request.classes.size != 2):
            raise ValueError("a server needs the two classes declared: classes=[...].")
        self._prepared = plan_fit(request, Shape(n_rows=n_people, n_features=n_features))
        refuse_shapes(self._prepared.request)
        if self._prepared.priced is None or not self._prepared.plan.local:
            raise PrivacyError("devices answer recipes of the local model only, such as recipe='ldp_iht'.")
        self._loss = self._prepared.loss
        self._terms = LocalNoise(self._prepared.priced, self._prepared.facts, self._loss.classes)
        given = np.asarray(features) if features is not None else np.zeros(0)
        if self._prepared.plan.labels_only and given.shape != (n_people, n_features):
            raise ValueError(f"label privacy needs the public features, of shape ({n_people}, {n_features}).")
        self._features = given.astype(float) if self._prepared.plan.labels_only else np.zeros((0, n_features))
        super().__init__(Protocol.of(self._prepared, nonce=nonce), "devices", least=1)
        self._seen: set[bytes] = set()
        self._answers: list[Vector] = []
        self._receipts: list[Receipt] = []
        self._closed: list[RoundTotal] = []
        self._facts = self._prepared.facts
        self._found: Vector | None = None
        self._question: Query | None = None
        self._advance()

    # ---------------------------------------------------------------------------------------------- rounds

    def _advance(self) -> None:
        """Run the loop on what is known: it ends, or it opens the next round."""
        try:
            self._found = self._prepared.solver.run(Collected(self._facts, self._terms, self._answers))
            self._question = None
        except Open as wanted:
            self._question = wanted.question
            self._randomiser: Randomiser = self._terms.randomiser(wanted.question, self._ask, wanted.turn)
            width = 1 if self.protocol.labels else self._facts.dimension
            self._tally = RoundTotal(np.zeros(width, dtype=np.int64))

    @property
    def _ask(self) -> str:
        return str(self._prepared.plan.asks[0].name)

    @property
    def count(self) -> int:
        """Reports accepted in this round."""
        return 0 if self._question is None else self._tally.count

    @property
    def influence(self) -> float:
        """The most by which one report, honest or not, can move the sum of this round.

        The size of one label, for labels.
        """
        self._require_open()
        return float(self._randomiser.largest)

    @property
    def _size(self) -> int:
        return self._tally.total.size

    def _task(self) -> bytes:
        assert self._question is not None
        w = self._question.w if isinstance(self._question, Gradient) else np.zeros(0)
        return Task(self.protocol.identity, self.round, self._terms.radius(self._question), w).to_bytes()

    def _read_report(self, message: bytes) -> tuple[bytes, int, int, Report]:
        report = Report.from_bytes(message)
        return report.protocol, report.round, report.values.size, report

    def _take(self, report: Report) -> None:
        tally = self._tally
        if not self._randomiser.valid(report.values):
            raise MessageError("no honest report has these values: their norm or their places are not possible.")
        if report.identifier in self._seen:
            raise MessageError("a report with this identifier was taken already.")
        if tally.count >= self._facts.n_rows:  # identifiers are kept, so invented ones must not fill the memory
            raise MessageError(f"{self._facts.n_rows} people were expected, and this round has as many reports.")
        number = int.from_bytes(report.identifier, "little")
        if self.protocol.labels and number >= self._facts.n_rows:
            raise MessageError("the report is about a row that does not exist.")
        self._seen.add(report.identifier)
        tally.total += report.values
        tally.count += 1
        if self.protocol.labels:
            tally.labels[number] = int(report.values[0])

    def _close(self) -> None:
        question, tally = self._question, self._tally
        assert question is not None
        if isinstance(question, RandomizedLabels):
            rows = np.array(sorted(tally.labels))
            features = rescaled_rows(self._prepared, self._features[rows])
            host = MemoryHost(features, np.zeros(rows.size), self._facts)
            self._facts = self._facts.with_(design=PublicRows(host.shards, self._loss))
            told = np.array([tally.labels[i] for i in rows], dtype=np.int32)
            answer = self._terms.label_values(self._randomiser, told)
        else:
            answer = np.asarray(tally.total * (self._randomiser.unit / tally.count), dtype=np.float64)
        apart = 2 * self._terms.radius(question)
        ask = self._prepared.plan.asks[0]
        self._receipts.append(
            Receipt(ask.name, ask.noise, 1, 1 / self.protocol.rounds, apart, apart / self.protocol.strength)
        )
        self._answers.append(answer)
        self._closed.append(tally)
        self.round += 1
        self._advance()

    # ---------------------------------------------------------------------------------------------- saving

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything that came in to a JSON file (no pickle, no row); `resume` goes on from it.

        The file appears whole or not at all. Reports that were taken after the last save are not in
        it: keep messages until a save has followed them, and send them all again after a crash.
        Those in the file are then refused as taken, and the others are taken.
        """
        with self._lock:
            tallies = [*self._closed, *([] if self._question is None else [self._tally])]
            Saved(self.protocol, self._question is not None, tallies, frozenset(self._seen)).write(path)

    @classmethod
    def resume(cls, path: str | PathLike[str], estimator: SparseLinear, *, features: ArrayLike | None = None) -> Server:
        """The server that was saved, in the middle of its round.

        Parameters
        ----------
        path : str or Path
        estimator : SparseRegressor or SparseClassifier
            As it was given to the server that was saved; with other settings the file is refused.
        features : array, optional
            The public features, for label privacy.

        Raises
        ------
        DataError
            If the file is not a saved server of this estimator, was edited, or contradicts itself.
        """
        saved = Saved.read(path)
        facts = saved.protocol.facts
        server = cls(
            estimator,
            n_people=facts["n_rows"],
            n_features=facts["n_features"],
            features=features,
            nonce=saved.protocol.nonce,
        )
        server._check_saved(path, saved.protocol.to_json(), saved.protocol.release)
        for place, tally in enumerate(saved.tallies):
            server._check_tally(tally, path)
            server._tally = tally
            if not (saved.open and place == len(saved.tallies) - 1):
                server.close()
        server._seen = set(saved.seen)
        return server

    def _check_tally(self, tally: RoundTotal, path: str | PathLike[str]) -> None:
        """Refuse sums that no reports have."""
        told = np.array(list(tally.labels.values()), dtype=np.int64)
        longest = tally.count * self._randomiser.largest * (1 + 1e-5)
        length = float(np.linalg.norm(tally.total.astype(float))) * self._randomiser.unit
        if length > longest or np.any(np.abs(told) >= 2**31) or not self._randomiser_takes(told):
            raise DataError(f"{path} holds sums that no reports have. Resume from the original.")

    def _randomiser_takes(self, labels: NDArray[np.int64]) -> bool:
        return not labels.size or self._randomiser.valid(labels.astype(np.int32)[:, None])

    # ---------------------------------------------------------------------------------------------- the model

    def model(self) -> SparseLinear:
        """The fitted estimator, with its statement, once all rounds are closed."""
        with self._lock:
            self._require_finished()
            assert self._found is not None
            statement = complete(
                draft_fit(self._prepared, (DEVICES,), secure=True), [Drawn(self._receipts, self._terms.priced)]
            )
            return fitted_model(self._estimator, self._prepared, [self._found], statement)


class Open(Exception):
    """The loop wants to know something that nobody has answered yet."""

    def __init__(self, question: Query, turn: int) -> None:
        super().__init__()
        self.question = question
        self.turn = turn


class Collected(Oracle):
    """Answers that have come in; the first one that has not stops the loop.

    A solver is a function of its answers and of public facts, so running it again from its start
    costs nothing but time.
    """

    def __init__(self, facts: Facts, terms: LocalNoise, answers: list[Vector]) -> None:
        self.facts = facts
        self.plan = terms.plan
        self.passes = 0.0
        self._terms = terms
        self._gate = Gate(terms)
        self._answers = list(answers)

    def answer(self, question: Query, ask: str) -> Vector:
        """What came in, or a stop."""
        turn = self._gate.next(question, ask).turn
        if turn >= len(self._answers):
            raise Open(question, turn)
        return self._answers[turn].copy()

    @property
    def terms(self) -> LocalNoise:
        """Public numbers."""
        return self._terms

    @property
    def unused_turns(self) -> dict[str, int]:
        """Rounds that were not asked for."""
        return self._gate.unused_turns

    @property
    def receipts(self) -> list[Receipt]:
        """Kept by the server."""
        return self._gate.receipts

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Public."""
        return self._terms.deviation(question, ask, turn)

    def take_branch(self, branch: str) -> None:
        """Local plans have no branches."""
        self._terms.branch(branch)
