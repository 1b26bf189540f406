"""The vocabulary of asks: everything a solver may want to know about rows it cannot see.

An oracle holds rows (here, on disk, on workers, at sites, on devices) and answers with noise. A question is public data
(an iterate, a clip, a support); its answer is either a noisy sum over rows of bounded contributions, or the noisy winner
of scores that such a sum gives. Every door takes a question and the name of an ask of the plan, charges that ask, and
returns something that may be published. Nothing here assumes where the rows are: sums add up over parts.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .facts import Clip, Facts, Penalty, Vector
from .privacy.budget import Budget
from .privacy.plan import Plan

Indices = NDArray[np.intp]


# ------------------------------------------------------------------------------------------------ sums


@dataclass(frozen=True, eq=False)
class Gradient:
    """Mean gradient at `w`, each row held within `clip`; on all coordinates, or on those of `support`."""

    w: Vector
    clip: Clip
    support: Indices | None = None


@dataclass(frozen=True, eq=False)
class GradientChange:
    """Mean over rows of gradient at `w` less gradient at `anchor`, each row's difference held within norm `change`."""

    w: Vector
    anchor: Vector
    clip: Clip
    change: float


@dataclass(frozen=True, eq=False)
class Squares:
    """Mean over rows of the squared entries of each coordinate."""


@dataclass(frozen=True, eq=False)
class WeightedGradient:
    r"""Mean gradient at `w` in columns that are multiplied by public weights: :math:`a_j g_j`, with noise alike in all of them.

    Parameters
    ----------
    w : array of shape (dimension,)
        Coefficients of the columns as they are, not of the weighted ones.
    weights : array
        :math:`a_j > 0`, one for each coordinate of the answer.
    norm : float
        Each row's contribution, on these coordinates and with these weights, is held within this l2 norm.
    support : array of int or None
        Coordinates of the answer; None: all.
    """

    w: Vector
    weights: Vector
    norm: float
    support: Indices | None = None


@dataclass(frozen=True, eq=False)
class AbsoluteMeans:
    """Mean over rows of the absolute entries of each feature, as rows are shown (shifted, without the intercept)."""


@dataclass(frozen=True, eq=False)
class RowSize:
    r"""Mean over rows of :math:`\min(\|x \circ a\|_2, \text{top})`: one number. `weights` and `support` as in `WeightedGradient`.

    Weights may be zero here.
    """

    weights: Vector
    top: float
    support: Indices | None = None


Weighted = WeightedGradient | AbsoluteMeans | RowSize


@dataclass(frozen=True, eq=False)
class Centred:
    r"""A model on a few features, measured from a public centre: margin :math:`a + \langle x_S - \mu, w\rangle`.

    Parameters
    ----------
    support : array of int
        S: features, each once.
    centre, w : arrays of the size of `support`
        :math:`\mu` and :math:`w`.
    offset : float
        a.
    """

    support: Indices
    centre: Vector
    w: Vector
    offset: float


@dataclass(frozen=True, eq=False)
class Correlation:
    """Mean over rows of slope times row, the slope at `model` clipped to `slope`, entries to `entry`; features only.

    For selections, which need a ranking and no gradient. The coordinate of the intercept, if there is one, is zero.
    """

    model: Centred
    slope: float
    entry: float


@dataclass(frozen=True, eq=False)
class ResidualMean:
    """Mean over rows of the slope at `model`, clipped to `bound`: one number."""

    model: Centred
    bound: float


@dataclass(frozen=True, eq=False)
class ColumnMeans:
    """Mean over rows of some features, each once."""

    support: Indices


@dataclass(frozen=True, eq=False)
class Gram:
    r"""Mean over rows of :math:`aa^\top` for :math:`a = x_S - \mu`, scaled down to l2 norm `norm` where it is longer.

    The answer is the upper triangle, row by row, entries off the diagonal times :math:`\sqrt2`: its l2 norm is the Frobenius
    norm of the matrix, and noise alike in all of its numbers leaves half the variance off the diagonal.
    """

    support: Indices
    centre: Vector
    norm: float


@dataclass(frozen=True, eq=False)
class Curvature:
    r"""Mean over rows of :math:`f\,\ell''\min(\|x_S-\mu\|, \text{norm})^2/|S|` at `model`: one number.

    f is the factor by which `CentredGradient` with this `clip` shrinks the row, :math:`\ell''` the second derivative of the
    loss in its margin.
    """

    model: Centred
    clip: float
    norm: float


@dataclass(frozen=True, eq=False)
class CentredGradient:
    r"""Mean over rows of slope times :math:`x_S - \mu` at `model`, each held within l2 norm `clip`."""

    model: Centred
    clip: float


Polish = Correlation | ResidualMean | ColumnMeans | Gram | Curvature | CentredGradient


@dataclass(frozen=True, eq=False)
class ValidationLoss:
    """Mean over rows of how badly some coefficients predict the target, each row's loss held within [0, bound]: one number.

    Parameters
    ----------
    models : array of shape (number of models, dimension)
        One model for a regression or two classes (coded 0 and 1); one for each class otherwise (coded 0, 1, 2, ...).
    kind : {"error", "log-loss", "squared", "absolute"}
        Wrong class, negative log-probability of the class, squared or absolute residual.
    bound : float
        Losses are clipped to it.
    """

    models: Vector
    kind: str
    bound: float


@dataclass(frozen=True, eq=False)
class Count:
    """The number of rows, over the public number of rows: one number."""


Tally = ValidationLoss | Count

Sum = Gradient | GradientChange | Squares | Weighted | Polish | Tally


# ------------------------------------------------------------------------------------------------ scores


@dataclass(frozen=True, eq=False)
class Magnitude:
    r"""Score coordinates by :math:`|b_j - \eta\,g_j|` for the mean gradient g: what a gradient step would leave there.

    Parameters
    ----------
    step : float
        :math:`\eta`.
    base : array or None
        :math:`b`, usually the current iterate; None is zero.
    """

    step: float = 1.0
    base: Vector | None = None


@dataclass(frozen=True)
class Vertex:
    r"""Score the :math:`2d` vertices of the l1 ball by :math:`\mp g_j`: candidate j is :math:`+e_j`, d + j is :math:`-e_j`."""


@dataclass(frozen=True, eq=False)
class Greedy:
    r"""Score coordinates by how much a step along each promises, on the scale :math:`g_j/\sqrt{H_j}`.

    Parameters
    ----------
    rule : {"gs", "gs-s", "gs-r", "gs-q"}
        Largest gradient; smallest subgradient; longest proximal step; largest promised decrease (its square root).
    curvature : array of shape (dimension,)
        Public :math:`H_j`: the curvature of loss and l2 penalty along each coordinate.
    w : array of shape (dimension,)
        Where the rules stand.
    penalty : Penalty
    """

    rule: str
    curvature: Vector
    w: Vector
    penalty: Penalty


Score = Magnitude | Vertex | Greedy


@dataclass(frozen=True, eq=False)
class Select:
    """The `count` candidates with the largest scores of a mean gradient, among those not `excluded`."""

    of: Gradient | Correlation
    score: Score
    count: int
    excluded: Indices | None = None


@dataclass(frozen=True, eq=False)
class Quantile:
    r"""The point e of a public grid with about a part q of the rows' values below it, by :math:`-|\#\{v \le e\} - q\,\#\{v\}|`.

    Parameters
    ----------
    of : {"slopes", "gradients", "rows", "targets"}
        Values: sizes of slopes, of gradients :math:`|\text{slope}|\,\|x_S-\mu\|` or of rows :math:`\|x_S-\mu\|`, of which only
        positive ones count; or targets.
    model : Centred
    part : float
        q.
    grid : array
        Increasing.
    """

    of: str
    model: Centred
    part: float
    grid: Vector


@dataclass(frozen=True, eq=False)
class TypicalEntry:
    """The bin, between neighbours of `edges`, that holds the typical entry of most rows.

    The typical entry of a row is `part` of the median of its absolute nonzero entries; or, if nearly all of them have one
    sign, the largest. Values beyond the edges count in the outermost bins.
    """

    part: float
    edges: Vector


Choice = Quantile | TypicalEntry


# ------------------------------------------------------------------------------------------------ statistics


@dataclass(frozen=True, eq=False)
class PerturbedMinimum:
    r"""Minimiser on `support` of the summed loss plus :math:`\tfrac\lambda2\|\theta\|^2` plus a random linear term.

    Parameters
    ----------
    support : array of int
        Coordinates, in the order of the answer.
    clip : Clip
        Bound on the norm of one row's gradient, and on its slope: slopes beyond are clipped, which keeps the loss convex.
    row_norm : float
        Rows are scaled down to this norm on the support.
    ridge : float
        :math:`\lambda`, on the scale of the sum.
    """

    support: Indices
    clip: Clip
    row_norm: float
    ridge: float


@dataclass(frozen=True, eq=False)
class RidgeMinimum:
    """Minimiser as in `PerturbedMinimum` without the linear term; or, with `design`, its margins on these public rows."""

    support: Indices
    clip: Clip
    row_norm: float
    ridge: float
    design: Vector | None = None


@dataclass(frozen=True, eq=False)
class SupportVotes:
    """The `count` features that most of the `parts`, disjoint parts of the rows, have among their largest gradients."""

    of: Gradient
    count: int
    parts: int


@dataclass(frozen=True, eq=False)
class PublishedLabels:
    """Margins on the public rows `design` of a hard-thresholding teacher, whose sensitivity is `claimed` and unproven."""

    design: Vector
    sparsity: int
    steps: int
    step_size: float | None
    ridge: float
    claimed: float


Minimum = PerturbedMinimum | RidgeMinimum | PublishedLabels


@dataclass(frozen=True, eq=False)
class Labels:
    """An unbiased estimate of every row's target, randomised by whoever the row is about."""


Question = Sum | Select | Choice | Minimum | SupportVotes | Labels


# ------------------------------------------------------------------------------------------------ who answers


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
    """

    facts: Facts
    plan: Plan
    passes: float

    @abstractmethod
    def answer(self, question: Question, ask: str) -> Any:
        """Charge the ask, then answer. Refuses what was not priced."""

    @abstractmethod
    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Noise of an answer in the units of a mean gradient: its standard deviation, or the scale of a selection."""

    @abstractmethod
    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Standard deviation of the noise in every number of an answer to this question, in the units of the answer."""

    @abstractmethod
    def choose(self, branch: str) -> None:
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
        return np.asarray(self.answer(Squares(), ask))

    def weighted_gradient(
        self, w: Vector, weights: Vector, *, norm: float, support: Indices | None = None, ask: str = "gradient"
    ) -> Vector:
        """Mean gradient at `w` in weighted columns, each row within `norm` there; all coordinates, or those of `support`."""
        return np.asarray(self.answer(WeightedGradient(w, weights, norm, support), ask))

    def absolute_means(self, *, ask: str = "means") -> Vector:
        """Mean absolute entry of each feature."""
        return np.asarray(self.answer(AbsoluteMeans(), ask))

    def row_size(self, weights: Vector, *, top: float, support: Indices | None = None, ask: str = "size") -> float:
        """Mean norm of the weighted rows, each held at `top`."""
        return float(np.asarray(self.answer(RowSize(weights, top, support), ask))[0])

    def validation_loss(self, models: Vector, *, kind: str, bound: float, ask: str = "score") -> float:
        """Mean loss of the predictions of some coefficients, each row's loss held within [0, bound]."""
        return float(np.asarray(self.answer(ValidationLoss(models, kind, bound), ask))[0])

    def count(self, *, ask: str = "count") -> float:
        """The number of rows, over the public number of rows."""
        return float(np.asarray(self.answer(Count(), ask))[0])

    def select(
        self, w: Vector, count: int, *, score: Score, clip: Clip, ask: str = "select", excluded: Indices | None = None
    ) -> Indices:
        """The `count` candidates with the largest scores of the mean gradient at `w`, best first.

        The intercept is a candidate only of scores that treat it as one more coordinate (`Vertex`, `Greedy`).
        """
        return np.asarray(self.answer(Select(Gradient(w, clip), score, count, excluded), ask), dtype=np.intp)

    def estimate(self, question: Minimum, *, ask: str) -> Vector:
        """A minimiser on a support, or labels that it gives."""
        return np.asarray(self.answer(question, ask))

    def labels(self, *, ask: str = "labels") -> Vector:
        """Randomised targets of all rows; features are then public, as ``facts.design``."""
        return np.asarray(self.answer(Labels(), ask))

    def vote(self, w: Vector, count: int, *, parts: int, clip: Clip, ask: str = "select") -> Indices:
        """The `count` features with the most votes of `parts` parts of the rows, by the gradient at `w`; best first."""
        return np.asarray(self.answer(SupportVotes(Gradient(w, clip), count, parts), ask), dtype=np.intp)


# ------------------------------------------------------------------------------------------------ who asks


@dataclass
class Path:
    """Released iterates and what they took, for curves. Post-processing: it holds only what solvers were told.

    Attributes
    ----------
    iterates : list of arrays
    passes : list of float
        Passes over the data before each iterate.
    thresholds : list of int
        Hard-thresholding operations before each iterate.
    seconds : list of float
        Time since the start.
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


class Solver(Protocol):
    """A public program: what it will ask, and what it makes of the answers."""

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Everything that `run` will ask, from public facts and the budget alone."""
        ...

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Coefficients, shape (dimension,); `path` keeps the iterates."""
        ...
