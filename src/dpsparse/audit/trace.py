"""The sensitivity trace: every query of a fit, asked again of neighbouring data.

A deterministic audit. A fit is recorded; then one record is exchanged for adversarial ones (or left
out), every recorded query is answered again without noise, and no answer may move by more than
the sensitivity that its noise was made for. A forgotten clip, a NaN that slips through, a wrong
constant show at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..accounting import PricedPlan
from ..core import Adjacency, PrivacyError
from ..core.facts import Facts, Vector
from ..estimators.linear import SparseLinear
from ..fitting import Matrix
from ..io.scikit import clone
from ..oracles.local import LocalNoise, person_charge
from ..oracles.noise_info import exact_charge
from ..queries.gradient import contributions
from ..queries.kinds import Gradient, PerturbedMinimum, Query, RandomizedLabels, RidgeMinimum, Select, SupportVotes
from ..queries.losses import Loss
from ..queries.minimisers import ridge_minimum, ridge_spec
from ..queries.rules import CHOICES, SUMS, measure
from ..queries.scores import score_sensitivity, scores_of
from ..queries.sensitivity import Integers
from ..rows.hosts import MemoryHost
from ..rows.single_records import private_targets
from .laws import LawBroken
from .responses import SyntheticWorld
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
    if priced.plan.local:
        terms = LocalNoise(priced, prepared.facts, loss.classes)
        return _together([_local_trace(questions, terms, loss, X, targets, place) for place in places])
    return _together([_central_trace(questions, facts, loss, priced, X, targets, place) for place in places])


def _together(traces: list[Trace]) -> Trace:
    return Trace(sum(trace.compared for trace in traces), max(trace.largest for trace in traces))


def _central_trace(
    questions: list[Query], facts: Facts, loss: Loss, priced: PricedPlan, X: Matrix, targets: Vector, place: int
) -> Trace:
    """All queries, of neighbours that differ in the record at one place."""
    # under add-remove neighbours of the data less this record have any record in its place
    rest = np.arange(X.shape[0]) != place
    base_X, base_y = (X[rest], targets[rest]) if priced.budget.relation is Adjacency.ADD_REMOVE else (X, targets)
    questions = [question for question in questions if not isinstance(question, PROVED_ELSEWHERE)]
    here = _Answers(SyntheticWorld(MemoryHost(base_X, base_y, facts), loss, priced), questions)
    compared, largest = 0, 0.0
    others = [here]  # under replace-one also the adversarial dataset before: both differ from X in the same record
    for A, b in _neighbours(X, targets, facts, place):
        there = _Answers(SyntheticWorld(MemoryHost(A, b, facts), loss, priced), questions)
        for (number, question), other in itertools.product(enumerate(questions), others):
            for moved, stated in _movements(question, there.world, other[number], there[number]):
                if not moved <= stated * (1 + 1e-9):
                    raise LawBroken(
                        f"sensitivity: {type(question).__name__} moved {moved / stated:.4g} times "
                        "as far as its noise was made for."
                    )
                compared, largest = compared + 1, max(largest, moved / stated)
        if priced.budget.relation is Adjacency.REPLACE_ONE:
            others = [here, there]
    return Trace(compared, largest)


def _local_trace(questions: list[Query], terms: LocalNoise, loss: Loss, X: Matrix, y: Vector, place: int) -> Trace:
    """The same for people who randomise.

    What one of them would report from must stay within what the randomiser was made for.

    Where labels alone are private, neighbours differ in a label, and the public features must not.
    """
    facts, labels = terms.facts, terms.plan.labels_only
    everybody = np.ones(X.shape[0], dtype=bool)

    def own(A: Matrix, b: Vector, question: Query) -> Vector:
        host, charge = MemoryHost(A, b, facts), person_charge(question, terms)
        if labels:
            y_own = private_targets(charge, host.shards)
            return (y_own == 1 if loss.classes else y_own)[:, None].astype(float)
        assert isinstance(question, Gradient)  # all that a local plan asks beside labels
        return np.vstack(list(contributions(charge, host.shards, loss, everybody)))

    compared, largest = 0, 0.0
    for A, b in _neighbours(X, y, facts, place):
        for question in questions:
            stated = 2 * terms.radius(question)
            moved = np.linalg.norm(own(X, y, question) - own(X if labels else A, b, question), axis=1)
            own_move = float(moved[place])
            if not own_move <= stated * (1 + 1e-9) or np.any(np.delete(moved, place) > 0):
                raise LawBroken(
                    f"sensitivity: {type(question).__name__} of one person moved "
                    f"{own_move / stated:.4g} times as far as its "
                    "randomiser was made for, or somebody else's moved too."
                )
            compared, largest = compared + 1, max(largest, own_move / stated)
    return Trace(compared, largest)


@dataclass(frozen=True, eq=False)
class _Answers:
    """Exact answers of one dataset to the queries of a fit, each computed when it is first compared."""

    world: SyntheticWorld
    questions: Sequence[Query]
    _known: dict[int, Vector | Integers] = field(default_factory=dict)

    def __getitem__(self, number: int) -> Vector | Integers:
        if number not in self._known:
            self._known[number] = _answer(self.questions[number], self.world)
        return self._known[number]


def _answer(question: Query, world: SyntheticWorld) -> Vector | Integers:
    """What a query is answered without noise: a sum in units, the scores of candidates, or a minimum."""
    kind, host, loss = type(question), world.host, world.loss
    if kind in CHOICES:
        return CHOICES[kind].scores(question, host.total(exact_charge(question, host), loss))
    if isinstance(question, RidgeMinimum):
        _, _, spec = ridge_spec(question, loss, host.facts.n_rows, 1.0)
        return ridge_minimum(exact_charge(question, host), host.shards, loss, spec.tolerance)
    of = question if kind in SUMS else question.of  # type: ignore[union-attr]
    return host.total(exact_charge(of, host), loss)  # type: ignore[arg-type]


def _movements(
    question: Query, world: SyntheticWorld, first: Vector | Integers, second: Vector | Integers
) -> Iterator[tuple[float, float]]:
    """How far an exact answer moves between two datasets, and how far it may."""
    relation, facts, kind = world.priced.budget.relation, world.host.facts, type(question)
    if kind in CHOICES:
        yield _range(first - second), CHOICES[kind].spread(question, relation)
    elif isinstance(question, RidgeMinimum):
        _, _, spec = ridge_spec(question, world.loss, facts.n_rows, 1.0)
        yield float(np.linalg.norm(first - second)), spec.sensitivity
    else:
        of = question if kind in SUMS else question.of  # type: ignore[union-attr]
        measured = measure(of, world.host.lattice)
        difference = (first - second) * measured.unit
        yield float(np.linalg.norm(difference)), measured.reach.l2(relation)
        yield float(np.max(np.abs(difference) / np.maximum(measured.reach.linf(relation), 1e-300))), 1.0
        if isinstance(question, Select):
            free, sums = facts.free, (first, second)
            scores = [scores_of(question.score, np.asarray(total * measured.unit, dtype=float), free) for total in sums]
            yield _range(scores[0] - scores[1]), score_sensitivity(question.score, measured.reach, relation, free)


def _range(change: Vector | Integers) -> float:
    return float(np.max(change) - np.min(change)) if np.size(change) else 0.0


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
