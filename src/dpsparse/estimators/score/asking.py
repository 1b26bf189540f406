"""What metrics have in common: a public design, and one way to ask about its cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...core import Ask, Noise
from ...core.facts import Vector
from ...queries.kinds import CellCounts, CellMoments, Cells, Oracle
from .card import CurvePoint, Score
from .intervals import GroupSize


@dataclass(frozen=True, eq=False)
class ScorePlan:
    """What is public about an evaluation.

    Attributes
    ----------
    models : int
        Margins of each row. Their rests stand behind them, and the group behind all.
    scale : float
        Of the rests.
    classes : int
        Number of classes; 0 for numbers.
    groups : tuple of str
        Names of the declared groups; empty for none.
    target_bound : float
        Of centred numbers.
    within : float
        To which predictions of centred numbers are clipped, as `predict` does; infinite for models that do not.
    bounds : mapping
        Losses of single rows are clipped to these, by metric.
    bins : int
        Of the calibration curve.
    centre : float
        Where margins are looked for first: the intercept.
    confidence : float
    n_rows : int
    """

    models: int
    scale: float
    classes: int
    groups: tuple[str, ...]
    target_bound: float
    within: float
    bounds: Mapping[str, float]
    bins: int
    centre: float
    confidence: float
    n_rows: int

    def cells(self, *, by_class: bool = False, by_group: bool = True, edges: Vector | None = None) -> Cells:
        """Cells of the rows by group, and also by class and by margin where asked for."""
        grouped = by_group and bool(self.groups)
        return Cells(
            margins=np.arange(self.models),
            rests=np.arange(self.models, 2 * self.models),
            scale=self.scale,
            group=2 * self.models if grouped else None,
            groups=len(self.groups) if grouped else 1,
            classes=self.classes if by_class else 1,
            edges=np.zeros(0) if edges is None else edges,
        )

    def each(self) -> Iterator[tuple[str | None, NDArray[np.intp]]]:
        """All rows first, and then each group: its name, and which groups of an answer belong to it."""
        yield None, np.arange(max(len(self.groups), 1))
        for place, name in enumerate(self.groups):
            yield name, np.array([place])


@dataclass(frozen=True, eq=False)
class Released:
    """Noisy sums by cell, over the public number of rows, and the standard deviation of the noise in each."""

    values: Vector
    noise: float

    def pooled(self, which: NDArray[np.intp]) -> Released:
        """Sums of some groups together, in the shape of one."""
        return Released(self.values[..., which, :, :].sum(axis=-3), self.noise * math.sqrt(which.size))


class ScoreSession:
    """An oracle that is asked about cells, and the design."""

    def __init__(self, oracle: Oracle, design: ScorePlan) -> None:
        self._oracle = oracle
        self._turns: dict[str, int] = {}
        self.design = design

    def counts(self, cells: Cells, ask: str) -> Released:
        """Parts of the rows in each cell: an array of groups, classes and bins."""
        return self._ask(CellCounts(cells), ask, cells.shape)

    def moments(self, question: CellMoments, ask: str) -> Released:
        """The same for t and, behind it, for t^2 - 1/2."""
        return self._ask(question, ask, (1 + question.squares, *question.cells.shape))

    def _ask(self, question: CellCounts | CellMoments, ask: str, shape: tuple[int, ...]) -> Released:
        turn = self._turns.get(ask, 0)
        self._turns[ask] = turn + 1
        found = np.asarray(self._oracle.answer(question, ask))
        return Released(found.reshape(shape), self._oracle.deviation(question, ask, turn))

    def size(self, counted: Released) -> GroupSize:
        """The size of what a count of pooled cells adds up to."""
        return GroupSize(
            float(counted.values.sum()), counted.noise * math.sqrt(counted.values.size), self.design.n_rows
        )


@dataclass(frozen=True)
class ScoreResult:
    """What a metric found."""

    scores: tuple[Score, ...] = ()
    curve: tuple[CurvePoint, ...] = ()


class Metric(Protocol):
    """A public program: what it will ask, and what it makes of the answers."""

    @property
    def name(self) -> str:
        """By which users ask for it."""
        ...

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """Everything that `run` will ask; shares add up to 1."""
        ...

    def run(self, asker: ScoreSession, people: Released) -> ScoreResult:
        """Scores of all rows and of each group.

        `people` are counts by group and, where a metric wants them, by class.
        """
        ...
