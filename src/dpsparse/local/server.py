"""The server: it has no row. It asks, checks reports, adds them up, and makes the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.rows import PrivateRows
from ..estimators.linear import coefficients_of
from ..facts import Clip, Facts, Vector
from ..mechanisms import Randomness
from ..oracle import Gradient, Labels, Oracle, Question
from ..oracles.local import LocalTerms, Randomiser
from ..oracles.till import Till
from ..privacy import PrivacyError
from ..privacy.statement import Answer
from .messages import MessageError, Report, Task
from .protocol import Protocol


class _Open(Exception):
    """The loop wants to know something that nobody has answered yet."""

    def __init__(self, question: Question, turn: int) -> None:
        super().__init__()
        self.question = question
        self.turn = turn


class _Collected(Oracle):
    """Answers that have come in; the first one that has not stops the loop.

    A solver is a function of its answers and of public facts, so running it again from its start costs nothing but time.
    """

    def __init__(self, facts: Facts, terms: LocalTerms, answers: list[Vector]) -> None:
        self.facts = facts
        self.terms = terms
        self.plan = terms.plan
        self.passes = 0.0
        self.till = Till(self.plan)
        self._answers = list(answers)

    def answer(self, question: Question, ask: str) -> Any:
        """What came in, or a stop."""
        _, turn = self.till.charge(ask)
        if turn >= len(self._answers):
            raise _Open(question, turn)
        return self._answers[turn].copy()

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Public."""
        return self.terms.scale(ask, turn, clip)

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Public."""
        return self.terms.deviation(question, ask, turn)

    def choose(self, branch: str) -> None:
        """Local plans have no branches."""
        self.terms.branch(branch)


class Server:
    """Runs a recipe of the local model on the reports of devices.

    Guarantee
    ---------
    A message that is malformed, damaged, of another protocol or round, of a wrong norm, or that carries an identifier which was
    seen before, or of a round in which as many came as there are people, is refused with `MessageError` and changes nothing. A false report that passes all checks moves the sum of its
    round by no more than the norm that every report has, ``influence``: who made it cannot be told from the report.

    Parameters
    ----------
    estimator : SparseRegressor or SparseClassifier
        With ``recipe="ldp_iht"``, or another recipe of the local model; two classes, declared.
    n_people : int
        The public number of people who are expected; noise is planned for it, and no round takes more reports.
    n_features : int
    features : array of shape (n_people, n_features), optional
        The public features, for label privacy.

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

    def __init__(self, estimator: Any, *, n_people: int, n_features: int, features: Any = None) -> None:
        self._estimator = clone(estimator)
        if self._estimator.ledger is not None or self._estimator.dataset is not None:
            raise ValueError(
                "a server holds no dataset to charge; every device keeps its own epsilon. Leave ledger=None."
            )
        classes = _two_classes(self._estimator)
        self._prepared = self._estimator._prepare(n_people, n_features, sparse=False, models=1)
        if self._prepared.priced is None or not self._prepared.plan.local:
            raise PrivacyError("devices answer recipes of the local model only, such as recipe='ldp_iht'.")
        self._loss = self._estimator._loss()
        self._terms = LocalTerms(self._prepared.priced, self._prepared.facts, self._loss.classes)
        if self._prepared.plan.labels_only and np.shape(features) != (n_people, n_features):
            raise ValueError(f"label privacy needs the public features, of shape ({n_people}, {n_features}).")
        self._features = np.asarray(features, dtype=float) if self._prepared.plan.labels_only else None
        self.protocol = Protocol.of(
            self._prepared.priced,
            self._prepared.facts,
            self._loss,
            self._prepared.delta,
            classes,
            float(getattr(self._estimator, "target_center", 0.0)),
        )
        self._identity = self.protocol.identity
        self._seen: set[bytes] = set()
        self._answers: list[Vector] = []
        self._receipts: list[Answer] = []
        self._facts = self._prepared.facts
        self._found: Vector | None = None
        self._question: Question | None = None
        self._advance()

    # ---------------------------------------------------------------------------------------------- rounds

    def _advance(self) -> None:
        """Run the loop on what is known: it ends, or it opens the next round."""
        try:
            self._found = self._prepared.solver.run(_Collected(self._facts, self._terms, self._answers))
            self._question = None
        except _Open as wanted:
            self._question = wanted.question
            self._randomiser: Randomiser = self._terms.randomiser(wanted.question, self._ask, wanted.turn)
            self._total = np.zeros(1 if self.protocol.labels else self._facts.dimension, dtype=np.int64)
            self._labels: dict[int, int] = {}
            self._count = 0

    @property
    def _ask(self) -> str:
        return str(self._prepared.plan.asks[0].name)

    @property
    def round(self) -> int:
        """The round that is open; as many as there are when all are closed."""
        return len(self._answers)

    @property
    def count(self) -> int:
        """Reports accepted in this round."""
        return 0 if self._question is None else self._count

    @property
    def finished(self) -> bool:
        """Whether all rounds are closed."""
        return self._question is None

    @property
    def influence(self) -> float:
        """The most by which one report, honest or not, can move the sum of this round; the size of one label, for labels."""
        self._require_open()
        return float(self._randomiser.largest)

    def _require_open(self) -> Question:
        if self._question is None:
            raise MessageError("all rounds are closed; ask for the model.")
        return self._question

    def task(self) -> bytes:
        """What to send to the people of this round's group."""
        question = self._require_open()
        w = question.w if isinstance(question, Gradient) else np.zeros(0)
        return Task(self._identity, self.round, self._terms.radius(question), w).to_bytes()

    def receive(self, message: bytes) -> None:
        """Take one report, or refuse it with `MessageError` and change nothing."""
        self._require_open()
        report = Report.from_bytes(message)
        if report.protocol != self._identity:
            raise MessageError("the report belongs to another protocol.")
        if report.round != self.round:
            raise MessageError(f"the report belongs to round {report.round}; round {self.round} is open.")
        if report.values.size != self._total.size:
            raise MessageError(f"a report of this protocol holds {self._total.size} numbers, got {report.values.size}.")
        if not self._randomiser.valid(report.values):
            raise MessageError("no honest report has these values: their norm or their places are not possible.")
        if report.identifier in self._seen:
            raise MessageError("a report with this identifier was taken already.")
        if self._count >= self._facts.n_rows:  # identifiers are kept, so made-up ones must not fill the memory
            raise MessageError(f"{self._facts.n_rows} people were expected, and this round has as many reports.")
        number = int.from_bytes(report.identifier, "little")
        if self.protocol.labels and number >= self._facts.n_rows:
            raise MessageError("the report is about a row that does not exist.")
        self._seen.add(report.identifier)
        self._total += report.values
        self._count += 1
        if self.protocol.labels:
            self._labels[number] = int(report.values[0])

    def close(self) -> None:
        """End the round with the reports that came, and go on."""
        question = self._require_open()
        if self._count == 0:
            raise MessageError("no report has come in this round; it cannot be closed.")
        if isinstance(question, Labels):
            rows = np.array(sorted(self._labels))
            public = PrivateRows(self._features[rows], np.zeros(rows.size), self._facts).public(self._loss)  # type: ignore[index]
            self._facts = self._facts.with_(design=public)
            told = np.array([self._labels[i] for i in rows], dtype=np.int32)
            answer = self._terms.label_values(self._randomiser, told)
        else:
            answer = self._total * (self._randomiser.unit / self._count)
        apart = 2 * self._terms.radius(question)
        ask = self._prepared.plan.asks[0]
        self._receipts.append(
            Answer(ask.name, ask.noise, 1, 1 / self.protocol.rounds, apart, apart / self.protocol.strength)
        )
        self._answers.append(answer)
        self._advance()

    # ---------------------------------------------------------------------------------------------- the model

    def model(self) -> Any:
        """The fitted estimator, with its statement, once all rounds are closed."""
        if self._found is None:
            raise MessageError(f"round {self.round} of {self.protocol.rounds} is open; close it first.")
        model = clone(self._estimator)
        model.n_features_in_ = self._facts.n_features
        nobody = PrivateRows(np.zeros((0, self._facts.n_features)), np.zeros(0), self._prepared.facts)
        model._keep([coefficients_of(self._found, nobody)], self.protocol.classes)
        model.statement_ = model._statement(
            self._prepared,
            self._receipts,
            ("every device randomised its own report as the protocol says",),
            Randomness(),
        )
        return model

    def __repr__(self) -> str:
        return f"Server(round {self.round} of {self.protocol.rounds}, {self.count} reports)"


def _two_classes(estimator: Any) -> tuple[Any, ...] | None:
    """The declared classes of a classifier, as plain values."""
    if not estimator._loss().classes:
        return None
    if estimator.classes is None or len(set(np.asarray(estimator.classes).tolist())) != 2:
        raise ValueError("a server needs the two classes declared: classes=[...].")
    return tuple(np.unique(np.asarray(estimator.classes)).tolist())
