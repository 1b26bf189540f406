"""Canaries: pairs of neighbouring datasets that a query distinguishes as well as it can.

A bank of datasets, and of records to exchange in them, is tried without noise; the pair that moves
the answer most, in units of the movement its noise was made for, is kept. That search sees
everything and is no attack: it only chooses where to attack (`plan_attacks`), and says how much of the stated
sensitivity the canaries use (`reach`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..accounting import PricedPlan
from ..core import Adjacency, Ask, EveryRow, Noise, Participation, PoissonRows, Receipt
from ..core.facts import Facts, Vector
from ..core.mechanisms import Randomness
from ..oracles import RecordingOracle, make_oracle
from ..queries.kinds import Gradient, GradientChange, Query, Select, SupportVotes, WeightedGradient
from ..queries.losses import Loss
from ..rows.hosts import MemoryHost
from .responses import Response, SyntheticWorld, respond
from .runs import receipts, spoken, strength_of
from .subject import Subject

Record = tuple[Vector, float]
#: A name, rows and targets.
Base = tuple[str, Vector, Vector]
#: Worlds that differ by less than this part of what they show are equally good.
EQUAL = 1e-6
#: Queries of one ask that are tried, spread over its turns.
TRIED = 3
#: The base in which nothing can be seen but the canary.
QUIET = "quiet"


@dataclass(frozen=True, eq=False)
class NeighbouringData:
    """Two neighbouring datasets: the same rows, then one record or another (or none)."""

    label: str
    X: Vector
    y: Vector
    present: Record
    absent: Record | None

    def data(self, present: bool) -> tuple[Vector, Vector]:
        """The rows and targets of one world; targets as the oracle sees them."""
        return with_record(self.X, self.y, self.present if present else self.absent)


def with_record(X: Vector, y: Vector, record: Record | None) -> tuple[Vector, Vector]:
    """A dataset with one more record, or as it is. The record is the last: leaving it out moves no other row."""
    return (X, y) if record is None else (np.vstack([X, record[0]]), np.append(y, record[1]))


def bases(facts: Facts, loss: Loss) -> Iterator[Base]:
    """Datasets of one row less than is public, in which one more record can matter as much as it may."""
    n, rng = facts.n_rows - 1, np.random.default_rng(0)
    centre, top, bottom = _corners(facts)
    low, high = _targets(facts, loss)
    alternate = np.where(np.arange(n) % 2, high, low)
    yield QUIET, np.tile(centre, (n, 1)), alternate if loss.classes else np.zeros(n)
    # two columns far from zero and equal, so that a record can raise one and lower the other
    pushed = centre.copy()
    pushed[:2] = top[:2]
    yield "push", np.tile(pushed, (n, 1)), np.full(n, low)
    # two columns with the same support in the data: one record decides
    tied = np.tile(centre, (n, 1))
    tied[::2, 0] = top[0]
    tied[1::2, min(1, facts.n_features - 1)] = top[min(1, facts.n_features - 1)]
    yield "tie", tied, np.full(n, high)
    yield "split", np.tile(top, (n, 1)), alternate
    yield "spread", rng.uniform(bottom, top, (n, facts.n_features)), rng.choice([low, high], n)


def extreme_records(facts: Facts, loss: Loss, directions: Sequence[Vector] = ()) -> list[Record]:
    """Records at the ends of what the bounds allow; also along some directions."""
    centre, top, bottom = _corners(facts)
    rows = [centre, top, bottom, np.where(np.arange(facts.n_features) % 2, top, bottom)]
    for j in range(min(2, facts.n_features)):
        for end in (top, bottom):
            rows.append(np.where(np.arange(facts.n_features) == j, end, centre))
    for first, second in ((top, bottom), (bottom, top)):
        row = centre.copy()
        row[:1], row[1:2] = first[:1], second[1:2]
        rows.append(row)
    for direction in directions:
        head = direction[: facts.n_features]
        rows += [np.where(head > 0, top, bottom), np.where(head > 0, bottom, top)]
    targets = dict.fromkeys((*_targets(facts, loss), 0.0))
    return [(row, target) for row in rows for target in targets]


def directions_of(question: Query) -> list[Vector]:
    """Where a record must point for a query to notice it, beyond the corners."""
    if isinstance(question, GradientChange):
        return [question.w - question.anchor]
    of = question.of if isinstance(question, Select | SupportVotes) else question
    return [of.w] if isinstance(of, Gradient | WeightedGradient) else []


class CanarySet:
    """All worlds over one base: with each of the records, and with none."""

    def __init__(self, base: Base, choices: list[Record], facts: Facts, loss: Loss, priced: PricedPlan) -> None:
        self.base = base
        self.choices: list[Record | None] = [*choices]
        if priced.budget.relation is Adjacency.ADD_REMOVE:
            self.choices.append(None)
        _, X, y = base
        self._labels_only = priced.plan.labels_only
        self._held = [
            SyntheticWorld(MemoryHost(*with_record(X, y, record), facts), loss, priced) for record in self.choices
        ]

    def worlds(self, present: int, absent: int) -> NeighbouringData:
        """Two of the datasets; only the second may be the one without a record."""
        first = self.choices[present]
        assert first is not None
        return NeighbouringData(*self.base, first, self.choices[absent])

    def responses(self, question: Query, noise: Noise) -> list[Response]:
        """What each of the datasets answers."""
        return [respond(question, held, noise) for held in self._held]

    def neighbours(self) -> Iterator[tuple[int, int]]:
        """Pairs of datasets that are neighbours; where features are public, those that differ in a label."""
        records = [record for record in self.choices if record is not None]
        if len(records) < len(self.choices):
            yield from ((i, len(records)) for i in range(len(records)))
            return
        for i, first in enumerate(records):
            for j, second in enumerate(records[:i]):
                if not self._labels_only or np.array_equal(first[0], second[0]):
                    yield i, j


@dataclass(frozen=True, eq=False)
class AskAttack:
    """A query, its worlds, and what they answer before noise."""

    question: Query
    ask: Ask
    worlds: NeighbouringData
    here: Response
    there: Response

    @property
    def strength(self) -> float:
        """Mu, eta or epsilon of one draw."""
        return strength_of(self.ask)


# ------------------------------------------------------------------------------------------------ where to attack


def plan_attacks(subject: Subject) -> tuple[list[AskAttack], NeighbouringData, dict[str, int]]:
    """For every ask the query and worlds that show most; worlds for the whole fit.

    How many numbers each ask says.
    """
    best: dict[str, tuple[float, AskAttack]] = {}
    most, whole = -1.0, None
    widths: dict[str, int] = {}
    for base in bases(subject.facts, subject.loss):
        recorded = _recorded(subject, base)
        for name, values in spoken(recorded):
            widths[name] = max(widths.get(name, 0), values.size)
        tried = _tried(recorded, subject)
        directions = [d for question, _, _ in tried for d in directions_of(question)]
        choices = extreme_records(subject.facts, subject.loss, _different(directions))
        zoo = CanarySet(_seen_by(subject, base), choices, subject.single_answer_facts, subject.loss, subject.priced)
        totals: dict[tuple[int, int], float] = dict.fromkeys(zoo.neighbours(), 0.0)
        for question, ask, strength in tried:
            answers = zoo.responses(question, ask.noise)
            # other rows of a sample come and go, which hides the canary unless they contribute nothing
            clear = 0.5 if ask.rate < 1 and base[0] != QUIET else 1.0
            for i, j in totals:
                totals[i, j] += (clear * answers[i].distinguishability(answers[j], strength)) ** 2
                shown = clear * answers[i].shown(answers[j], strength_of(ask))
                if ask.name not in best or shown > best[ask.name][0]:
                    best[ask.name] = shown, AskAttack(question, ask, zoo.worlds(i, j), answers[i], answers[j])
        (i, j), total = max(totals.items(), key=lambda item: item[1])
        if total > most * (1 - EQUAL):  # of equals the later: there the model shows what its answers show
            most, whole = total, NeighbouringData(*base, zoo.worlds(i, j).present, zoo.worlds(i, j).absent)
    assert whole is not None
    return [one for _, one in best.values()], whole, widths


def _seen_by(subject: Subject, base: Base) -> Base:
    """The rows beside the canary that an answer speaks of: in the local model none."""
    _, X, y = base
    return ("one person", X[:0], y[:0]) if subject.plan.local else base


def _recorded(subject: Subject, base: Base) -> RecordingOracle:
    """What a fit of these rows asks; the last row once more, so that there are as many as is public."""
    _, X, y = base
    host = MemoryHost(np.vstack([X, X[-1:]]), np.append(y, y[-1:]), subject.facts)
    oracle = RecordingOracle(make_oracle(host, subject.loss, subject.priced, Randomness(0)))
    subject.solver.run(oracle)
    return oracle


def _tried(recorded: RecordingOracle, subject: Subject) -> list[tuple[Query, Ask, float]]:
    """A few queries of each ask, with the ask as it was answered and the strength of one draw there."""
    by_ask: dict[str, list[tuple[Query, Ask, float]]] = {}
    for question, answer in zip(recorded.questions, receipts(recorded), strict=True):
        ask = Ask(
            name=answer.ask,
            noise=answer.noise,
            draws=answer.draws,
            rows=_participation(subject, answer),
            offset=answer.offset,
        )
        by_ask.setdefault(answer.ask, []).append((question, ask, answer.sensitivity / answer.scale))
    found = []
    for turns in by_ask.values():
        picked = np.unique(np.linspace(0, len(turns) - 1, TRIED).astype(int))
        found += [turns[k] for k in picked]
    return found


def _participation(subject: Subject, answer: Receipt) -> Participation:
    if answer.noise.local:
        return subject.plan[answer.ask].rows
    return PoissonRows(answer.rate) if answer.rate < 1 else EveryRow()


def _different(directions: list[Vector]) -> list[Vector]:
    """Directions whose signs differ, without the zero vector."""
    found = {tuple(np.sign(d)): d for d in directions if np.any(d)}
    return list(found.values())[:4]


# ------------------------------------------------------------------------------------------------ inside


def _corners(facts: Facts) -> tuple[Vector, Vector, Vector]:
    """The row that is zero once it is shifted, and the largest and smallest one."""
    ones = np.ones(facts.n_features)
    top, bottom = facts.upper * ones, facts.lower * ones
    return np.clip(facts.shift * ones, bottom, top), top, bottom


def _targets(facts: Facts, loss: Loss) -> tuple[float, float]:
    return (0.0, 1.0) if loss.classes else (-facts.target_bound, facts.target_bound)
