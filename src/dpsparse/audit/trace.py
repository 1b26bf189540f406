"""The sensitivity trace: every query of a fit, asked again of neighbouring data.

A deterministic audit. A fit is recorded; then one record is exchanged for adversarial ones (or left
out), every recorded query is answered again without noise, and no answer may move by more than
the sensitivity that its noise was made for. A forgotten clip, a NaN that slips through, a wrong
constant show at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..core import Adjacency, Noise, PrivacyError
from ..core.facts import Facts, Vector
from ..estimators.linear import SparseLinear
from ..fitting import Matrix
from ..io.scikit import clone
from ..queries.kinds import PerturbedMinimum, Query, RandomizedLabels, Select, SupportVotes
from ..rows.hosts import MemoryHost
from .laws import LawBroken
from .responses import Response, SyntheticWorld, respond, respond_each
from .runs import record_fits

#: Queries whose proof is about a law and not about one number; their own audits test them.
PROVED_ELSEWHERE = (PerturbedMinimum, SupportVotes, RandomizedLabels)


@dataclass(frozen=True)
class Trace:
    """What a trace saw: how many answers were compared, and the largest movement over what was stated."""

    compared: int
    largest: float


def sensitivity_trace(
    estimator: SparseLinear, X: Matrix, y: ArrayLike, *, positions: Sequence[int] | None = None
) -> Trace:
    """Check that no query of a fit moves by more than its stated sensitivity, on adversarial neighbours.

    Parameters
    ----------
    estimator : SparseRegressor or SparseClassifier
        Binary, if a classifier.
    X, y
        Some data.
    positions : sequence of int, optional
        Places of the record that is exchanged, added or removed, one after the other. Default: the
        first, the middle and the last.

    Raises
    ------
    LawBroken
        With the kind of query that moved too far.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor, audit
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.uniform(-1, 1, (40, 4)), rng.uniform(-1, 1, 40)
    >>> audit.sensitivity_trace(SparseRegressor(feature_bound=1.0, target_bound=1.0), X, y).largest <= 1
    True
    """
    model = clone(estimator)
    with record_fits() as seen:
        model.fit(X, y)
    [recorded] = seen
    prepared, questions, facts = recorded.prepared, recorded.oracle.questions, recorded.oracle.facts
    loss, priced = prepared.loss, prepared.of_one_model
    if priced is None:
        raise PrivacyError("this recipe guarantees no privacy, so there is no sensitivity to trace.")
    targets = (
        (np.asarray(y) == model.classes_[1]).astype(float)
        if loss.classes
        else np.asarray(y, dtype=float) - prepared.request.target_center
    )
    last = int(X.shape[0]) - 1
    places = sorted({0, last // 2, last}) if positions is None else positions
    local = priced.plan.local
    if not local:
        questions = [question for question in questions if not isinstance(question, PROVED_ELSEWHERE)]

    def answers(A: Matrix, b: Vector) -> _Answers:
        host = MemoryHost(A, b, prepared.facts if local else facts)
        return _Answers(SyntheticWorld(host, loss, priced), questions)

    movements = [moved for place in places for moved in _movements(answers, X, targets, place)]
    return Trace(len(movements), max(movements, default=0.0))


@dataclass(frozen=True, eq=False)
class _Answers:
    """Exact answers of one dataset to the queries of a fit, each computed when it is first compared."""

    world: SyntheticWorld
    questions: Sequence[Query]
    _known: dict[int, tuple[Response, ...]] = field(default_factory=dict)

    def __getitem__(self, number: int) -> tuple[Response, ...]:
        if number not in self._known:
            self._known[number] = tuple(self._answers(self.questions[number]))
        return self._known[number]

    def _answers(self, question: Query) -> Iterator[Response]:
        """The answer to a query; before the scores of a selection the sum that they are computed from."""
        if self.world.priced.plan.local:
            yield respond_each(question, self.world)
            return
        if isinstance(question, Select):
            yield respond(question.of, self.world, Noise.GAUSSIAN)
            question = replace(question, excluded=None)
        yield respond(question, self.world, Noise.GAUSSIAN)


def _movements(answers: Callable[[Matrix, Vector], _Answers], X: Matrix, y: Vector, place: int) -> Iterator[float]:
    """How far all answers move, in units of what is stated, between neighbours that differ in the record at a place."""
    here = answers(X, y)
    priced, facts, questions = here.world.priced, here.world.host.facts, here.questions
    local, replaced = priced.plan.local, priced.budget.relation is Adjacency.REPLACE_ONE
    if not (local or replaced):  # neighbours of the data less this record have any record in its place
        rest = np.arange(X.shape[0]) != place
        here = answers(X[rest], y[rest])
    others = [here]  # under replace-one also the adversarial dataset before: both differ from X in the same record
    for A, b in _neighbours(X, y, facts, place):
        there = answers(X if priced.plan.labels_only else A, b)
        for (number, question), other in itertools.product(enumerate(questions), others):
            for one, two in zip(other[number], there[number], strict=True):
                moved = (
                    one.person_moved(two, place) if local else float(np.maximum(one.moved(two), one.entry_moved(two)))
                )
                if not moved <= 1 + 1e-9:
                    name = type(question).__name__ + " of one person" * local
                    others_too = local and math.isinf(moved)
                    raise LawBroken(
                        f"sensitivity: {name} moved {moved:.4g} times as far as its noise was made for"
                        f"{', and so did what another person reports' if others_too else ''}."
                    )
                yield moved
        if replaced:
            others = [here, there]


def _neighbours(X: Matrix, y: Vector, facts: Facts, place: int) -> Iterator[tuple[Matrix, Vector]]:
    """Datasets in which the record at a place is another one."""
    ones = np.ones(facts.n_features)
    top, bottom = facts.upper * ones, facts.lower * ones
    tiny = np.zeros(facts.n_features)
    tiny[:1] = 1e-8
    sign = np.where(np.arange(facts.n_features) % 2, top, bottom)
    records = [
        (1e6 * ones, 1e9),
        (tiny, -1e12),
        (np.full(facts.n_features, np.nan), 1.0),
        (np.where(np.arange(facts.n_features) == 0, np.inf, 0.0), 0.0),
        (0 * ones, math.nan),
        (0 * ones, 1e12),
        (top, -facts.target_bound),
        (top, facts.target_bound),
        (bottom, facts.target_bound),
        (sign, 1e6),
    ]
    for x, target in records:
        whole = not sp.issparse(X) and X.dtype.kind in "biu"
        if whole and not np.all(np.isfinite(x)):
            continue
        new = np.concatenate([y[:place], [target], y[place + 1 :]])
        if sp.issparse(X):
            yield sp.vstack([X[:place], sp.csr_matrix(x[None]), X[place + 1 :]], format="csr"), new
        else:
            kind = X.dtype if whole else float
            head = np.clip(x, np.iinfo(X.dtype).min, np.iinfo(X.dtype).max) if whole else x
            yield np.vstack([X[:place].astype(kind), head.astype(kind)[None], X[place + 1 :].astype(kind)]), new
