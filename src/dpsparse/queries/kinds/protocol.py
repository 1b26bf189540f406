"""Who answers and who asks: oracles, solvers, and the path of released iterates."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...core.budget import Budget
from ...core.facts import Clip, Facts, Vector
from ...core.plan import Plan
from ...core.statement import Receipt
from ...ops import groups_of
from .questions import (
    Correlation,
    Count,
    Gradient,
    GradientChange,
    Greedy,
    Grouped,
    Indices,
    IntervalContrast,
    Magnitude,
    MeanAbsolute,
    MeanLoss,
    MeanRowNorm,
    MeanSquares,
    MinimiserQuery,
    Query,
    RandomizedLabels,
    Score,
    Select,
    SupportVotes,
    WeightedGradient,
)

#: An answer: numbers, or the positions that were selected.
Released = NDArray[Any]


class NoiseInfo(Protocol):
    """What is known beforehand about the answers of a plan: public numbers, and no rows."""

    @property
    def plan(self) -> Plan:
        """What may be asked."""
        ...

    def branch(self, name: str) -> NoiseInfo:
        """The terms once a branch of the plan is taken."""
        ...

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Standard deviation of the noise in every number of an answer."""
        ...


class Oracle(ABC):
    """Noisy answers about rows. What comes out may be published; so may everything computed from it.

    Attributes
    ----------
    facts : Facts
        What is public about the rows.
    plan : Plan
        What was priced, with its public choices.
    passes : float
        How many times the data has been read so far, in whole passes.
    choices : tuple of str
        Branches of the plan that were chosen so far: public, since they were chosen by answers.
    """

    facts: Facts
    plan: Plan
    passes: float
    choices: tuple[str, ...] = ()

    @abstractmethod
    def answer(self, question: Query, ask: str) -> Released:
        """Charge the ask, then answer.

        Refuses, before anything is charged, what was not priced or cannot be answered.
        """

    @abstractmethod
    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Standard deviation of the noise in every number of the answer to a sum, in the units of the answer."""

    @property
    @abstractmethod
    def terms(self) -> NoiseInfo:
        """How much noise answers get from here on: public numbers."""

    @property
    @abstractmethod
    def unused_turns(self) -> dict[str, int]:
        """Turns that were priced and not asked for."""

    @property
    @abstractmethod
    def receipts(self) -> list[Receipt]:
        """What was drawn so far, for the statement."""

    @abstractmethod
    def take_branch(self, branch: str) -> None:
        """Go on with one of the plan's branches, once everything before it was asked. Public: made from answers."""

    def gradient(self, w: Vector, *, clip: Clip, ask: str = "gradient") -> Vector:
        """Mean gradient at `w`, all coordinates."""
        return np.asarray(self.answer(Gradient(w, clip), ask))

    def gradient_at(self, w: Vector, support: Indices, *, clip: Clip, ask: str = "values") -> Vector:
        """Mean gradient at `w`, on some coordinates only, in the order of `support`."""
        return np.asarray(self.answer(Gradient(w, clip, np.asarray(support)), ask))

    def gradient_change(self, w: Vector, anchor: Vector, *, clip: Clip, change: float, ask: str = "change") -> Vector:
        """Mean change of the row gradients between `anchor` and `w`."""
        return np.asarray(self.answer(GradientChange(w, anchor, clip, change), ask))

    def squares(self, *, ask: str = "squares") -> Vector:
        """Mean square of each coordinate."""
        return np.asarray(self.answer(MeanSquares(), ask))

    def weighted_gradient(
        self, w: Vector, weights: Vector, *, norm: float, support: Indices | None = None, ask: str = "gradient"
    ) -> Vector:
        """Mean gradient at `w` in weighted columns, each row within `norm` there.

        All coordinates, or those of `support`.
        """
        return np.asarray(self.answer(WeightedGradient(w, weights, norm, support), ask))

    def absolute_means(self, *, ask: str = "means") -> Vector:
        """Mean absolute entry of each feature."""
        return np.asarray(self.answer(MeanAbsolute(), ask))

    def row_size(self, weights: Vector, *, top: float, support: Indices | None = None, ask: str = "size") -> float:
        """Mean norm of the weighted rows, each held at `top`."""
        return float(np.asarray(self.answer(MeanRowNorm(weights, top, support), ask))[0])

    def validation_loss(self, models: Vector, *, kind: str, bound: float, ask: str = "score") -> float:
        """Mean loss of the predictions of some coefficients, each row's loss clipped to [0, bound]."""
        return float(np.asarray(self.answer(MeanLoss(models, kind, bound), ask))[0])

    def count(self, *, ask: str = "count") -> float:
        """The number of rows, over the public number of rows."""
        return float(np.asarray(self.answer(Count(), ask))[0])

    def select(
        self, w: Vector, count: int, *, score: Score, clip: Clip, ask: str = "select", excluded: Indices | None = None
    ) -> Indices:
        """The `count` candidates with the largest scores of the mean gradient at `w`, best first.

        The intercept is a candidate only of scores that treat it as one more coordinate (`Vertex`, `Greedy`).
        Where columns have groups, those of `ops.groups_of(count)` groups.
        """
        number = groups_of(count, self.facts.groups if isinstance(score, Magnitude | Greedy) else None)
        return self.choose(Gradient(w, clip), score, number, ask, excluded)

    def choose(
        self,
        of: Gradient | Correlation | IntervalContrast,
        score: Score,
        count: int,
        ask: str,
        excluded: Indices | None = None,
    ) -> Indices:
        """The candidates with the largest scores, best first: `count` columns, or the columns of `count` groups.

        A group is excluded if one of its columns is.
        """
        groups = self.facts.groups
        if groups is None or not isinstance(score, Magnitude | Greedy):
            return np.asarray(self.answer(Select(of, score, count, excluded), ask), dtype=np.intp)
        grouped = Grouped(score, groups)
        labels = grouped.labels(self.facts.dimension)
        barred = None if excluded is None else np.unique(labels[excluded])
        chosen = np.asarray(self.answer(Select(of, grouped, count, barred), ask), dtype=np.intp)
        return np.concatenate([np.flatnonzero(labels == group) for group in chosen])

    def estimate(self, question: MinimiserQuery, *, ask: str) -> Vector:
        """A minimiser on a support, or labels that it gives."""
        return np.asarray(self.answer(question, ask))

    def labels(self, *, ask: str = "labels") -> Vector:
        """Randomised targets of all rows; features are then public, as ``facts.design``."""
        return np.asarray(self.answer(RandomizedLabels(), ask))

    def vote(self, w: Vector, count: int, *, parts: int, clip: Clip, ask: str = "select") -> Indices:
        """The `count` features with the most votes of `parts` parts of the rows, by the gradient at `w`; best first."""
        return np.asarray(self.answer(SupportVotes(Gradient(w, clip), count, parts), ask), dtype=np.intp)


# ------------------------------------------------------------------------------------------------ who asks


@dataclass
class Path:
    """Released iterates and what they took, for curves. Post-processing of released answers, but for the seconds.

    Attributes
    ----------
    iterates : list of arrays
    passes : list of float
        Passes over the data before each iterate.
    thresholds : list of int
        Hard-thresholding operations before each iterate.
    seconds : list of float
        Time since the start. It can depend on the rows, and no guarantee covers it: do not publish it.
    """

    iterates: list[Vector] = field(default_factory=list)
    passes: list[float] = field(default_factory=list)
    thresholds: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter, repr=False)

    def add(self, w: Vector, oracle: Oracle, thresholds: int = 0) -> None:
        """Keep one iterate."""
        self.iterates.append(w.copy())
        self.passes.append(oracle.passes)
        self.thresholds.append(thresholds)
        self.seconds.append(time.perf_counter() - self._start)

    def rescaled(self, scale: float | Vector) -> Path:
        """The same path for columns that are not divided by `scale`: coefficients of features are."""
        if np.ndim(scale) == 0:
            return replace(self, iterates=[w / scale for w in self.iterates]) if scale != 1.0 else self
        d = np.size(scale)
        return replace(self, iterates=[np.concatenate([(w[:d].T / scale).T, w[d:]]) for w in self.iterates])


class Solver(Protocol):
    """A public program: what it will ask, and what it makes of the answers."""

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Everything that `run` will ask, from public facts and the budget alone."""
        ...

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Coefficients, shape (dimension,); `path` keeps the iterates."""
        ...
