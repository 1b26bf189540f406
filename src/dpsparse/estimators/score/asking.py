r"""What metrics have in common: a public design, one way to ask about its cells, and intervals.

Intervals contain both the noise of privacy and the error of sampling; they are post-processing: only
released numbers come in. A mean over a cell is a ratio of two noisy sums, :math:`\bar t = S/C`. To
first order its noise has variance :math:`(\sigma_S^2 + \bar t^2\sigma_C^2)/C^2`, and the rows
themselves, which are a sample of some population, add :math:`\mathrm{var}(t)/(nC)`. Both are
independent, and the interval is of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...core import Ask, Noise
from ...core.facts import Vector
from ...queries.kinds import CellCounts, CellMoments, Cells, Oracle
from .card import CurvePoint, Score

#: Which groups of an answer belong together.
Groups: TypeAlias = NDArray[np.intp]


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

    def each(self) -> Iterator[tuple[str | None, Groups]]:
        """All rows first, and then each group: its name, and which groups of an answer belong to it."""
        yield None, np.arange(max(len(self.groups), 1))
        for place, name in enumerate(self.groups):
            yield name, np.array([place])


@dataclass(frozen=True, eq=False)
class Released:
    """Noisy sums by cell, over the public number of rows, and the standard deviation of the noise in each."""

    values: Vector
    noise: float

    def pooled(self, which: Groups) -> Released:
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


# ------------------------------------------------------------------------------------------------ intervals

#: A cell whose noisy count is below this number of its standard deviations, or of rows, is
#: not told from an empty one.
CLEAR = 5.0
FEWEST = 10.0


@dataclass(frozen=True)
class ScoreEstimate:
    """A number with the variance of its noise and that of sampling."""

    value: float
    noise: float
    sampling: float

    @property
    def deviation(self) -> float:
        """Of both together."""
        return math.sqrt(self.noise + self.sampling)

    def scaled(self, factor: float, shift: float = 0.0) -> ScoreEstimate:
        """The estimate of factor times the number, plus a shift."""
        return ScoreEstimate(factor * self.value + shift, factor**2 * self.noise, factor**2 * self.sampling)


#: Of a cell that is not told from an empty one.
UNKNOWN = ScoreEstimate(math.nan, math.inf, math.inf)


@dataclass(frozen=True)
class GroupSize:
    """A noisy part of the rows, the standard deviation of its noise, and the public number of rows."""

    part: float
    noise: float
    n_rows: int

    @property
    def rows(self) -> float:
        """Estimated number of rows."""
        return self.part * self.n_rows

    @property
    def clear(self) -> bool:
        """Whether it is distinguished from an empty one."""
        return self.part > CLEAR * self.noise and self.rows >= FEWEST


def mean(total: float, square: float | None, noise: float, size: GroupSize) -> ScoreEstimate:
    """The mean of t in [-1, 1] over a cell.

    Parameters
    ----------
    total : float
        Noisy sum of t.
    square : float or None
        Noisy sum of t^2 - 1/2; None where t is 1 or -1: its variance follows from its mean, to
        which four rows of both kinds are added [AC98]_, since a proportion near 0 or 1 would look
        surer than it is.
    noise : float
        Standard deviation of the noise in each of them.
    size : GroupSize

    References
    ----------
    .. [AC98] Agresti and Coull, The American Statistician 1998.
    """
    if not size.clear:
        return UNKNOWN
    t = min(max(total / size.part, -1.0), 1.0)
    if square is None:
        variance = 1.0 - (t * size.rows / (size.rows + 4.0)) ** 2
    else:
        variance = max(min(max(square / size.part + 0.5, 0.0), 1.0) - t**2, 0.0)
    added = (noise**2 + t**2 * size.noise**2) / size.part**2
    return ScoreEstimate(t, added, variance / size.rows)


def around(found: ScoreEstimate, confidence: float, lowest: float, highest: float) -> tuple[float, float]:
    """The value and as much to both sides as noise and sampling call for, within what is possible."""
    if math.isnan(found.value):
        return lowest, highest
    reach = quantile(confidence) * found.deviation
    return max(found.value - reach, lowest), min(found.value + reach, highest)


def of_proportion(found: ScoreEstimate, rows: float, confidence: float) -> tuple[float, float]:
    r"""Wilson's interval with noise.

    All p with :math:`(\hat p - p)^2 \le z^2 (p(1-p)/N + s^2)`, :math:`s^2` the variance of the
    noise.
    """
    if math.isnan(found.value):
        return 0.0, 1.0
    z2 = quantile(confidence) ** 2
    a, b, c = 1 + z2 / rows, 2 * found.value + z2 / rows, found.value**2 - z2 * found.noise
    root = math.sqrt(max(b**2 - 4 * a * c, 0.0))
    return max((b - root) / (2 * a), 0.0), min((b + root) / (2 * a), 1.0)


def quantile(confidence: float) -> float:
    """Of the normal law, two-sided."""
    return float(ndtri(0.5 + confidence / 2))
