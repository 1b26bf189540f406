"""Queries: public data, such as an iterate, a clip or a support, to which an oracle knows a noisy answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...core.facts import Clip, Penalty, Projection, Vector

Indices = NDArray[np.intp]
NO_EDGES = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Gradient:
    """Mean gradient at `w`, each row clipped to `clip`; on all coordinates, or on those of `support`."""

    w: Vector
    clip: Clip
    support: Indices | None = None


@dataclass(frozen=True, eq=False)
class GradientChange:
    """Mean over rows of gradient at `w` less gradient at `anchor`, each row's difference clipped to norm `change`."""

    w: Vector
    anchor: Vector
    clip: Clip
    change: float


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """Mean over rows of the squared entries of each coordinate."""


@dataclass(frozen=True, eq=False)
class WeightedGradient:
    r"""Mean gradient at `w` in columns multiplied by public weights: :math:`a_j g_j`.

    All of its entries have the same noise scale.

    Parameters
    ----------
    w : array of shape (dimension,)
        Coefficients of the columns as they are, not of the weighted ones.
    weights : array
        :math:`a_j > 0`, one for each coordinate of the answer.
    norm : float
        Each row's contribution, on these coordinates and with these weights, is clipped to this l2
        norm.
    support : array of int or None
        Coordinates of the answer; None: all.
    """

    w: Vector
    weights: Vector
    norm: float
    support: Indices | None = None


@dataclass(frozen=True, eq=False)
class MeanAbsolute:
    """Mean over rows of the absolute entries of each feature, as rows are shown (shifted, without the intercept)."""


@dataclass(frozen=True, eq=False)
class MeanRowNorm:
    r"""Mean over rows of :math:`\min(\|x \circ a\|_2, \text{top})`: one number.

    `weights` and `support` as in `WeightedGradient`.

    Weights may be zero here.
    """

    weights: Vector
    top: float
    support: Indices | None = None


@dataclass(frozen=True, eq=False)
class JointGradient:
    r"""As `WeightedGradient` for a model with a margin for each class.

    The mean matrix :math:`(a_j g_{jk})`, row by row in one vector.

    Parameters
    ----------
    w : array of shape (dimension, number of classes)
        Coefficients of the columns as they are, for each class.
    weights, support
        As in `WeightedGradient`: of coordinates, alike for all classes.
    norm : float
        Each row's contribution to the whole matrix is clipped to this Frobenius norm.
    """

    w: Vector
    weights: Vector
    norm: float
    support: Indices | None = None


@dataclass(frozen=True, eq=False)
class GroupEnergies:
    r"""Mean over rows of :math:`\sum_{j \in b} x_j^2` for each of `count` buckets of features.

    This is the part of the squared norm of rows that is in each bucket.

    Parameters
    ----------
    buckets : array of int of shape (n_features,)
        The bucket of each feature, from 0 on.
    count : int
    """

    buckets: Indices
    count: int


Weighted = WeightedGradient | JointGradient | MeanAbsolute | MeanRowNorm | GroupEnergies


@dataclass(frozen=True, eq=False)
class CentredModel:
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
class ProjectedModel:
    r"""A model on the coordinates of a frame: margin :math:`a + \langle z, w\rangle`.

    Parameters
    ----------
    frame : Frame
    w : array
        One coefficient for each coordinate of the frame.
    offset : float
        a.
    """

    frame: Projection
    w: Vector
    offset: float


Model = CentredModel | ProjectedModel


@dataclass(frozen=True, eq=False)
class ProjectedGradient:
    r"""Mean over rows of slope times z, the row in the model's frame, each clipped to l2 norm `clip`.

    Noise is alike in all coordinates.
    """

    model: ProjectedModel
    clip: float


@dataclass(frozen=True, eq=False)
class Correlation:
    """Mean over rows of slope times row, the slope at `model` clipped to `slope`, entries to `entry`; features only.

    For selections, which need a ranking and no gradient. The coordinate of the intercept, if there is one, is zero.
    """

    model: CentredModel
    slope: float
    entry: float


@dataclass(frozen=True, eq=False)
class IntervalContrast:
    r"""Mean over rows of slope times :math:`s_j(x_j)`, the slope at `model` clipped to `slope`; features only.

    .. math:: s_j(x) = \frac{2\,\mathrm{clip}(x, l_j, u_j) - l_j - u_j}{u_j - l_j} \in [-1, 1]

    for public intervals, one for each feature. For selections, as `Correlation`, where it is known
    about where columns lie: every column is as loud as any other, and one of two values is a
    contrast between them wherever it lies.
    """

    model: CentredModel
    slope: float
    lower: Vector
    upper: Vector


@dataclass(frozen=True, eq=False)
class ResidualMean:
    """Mean over rows of the slope at `model`, clipped to `bound`: one number."""

    model: CentredModel
    bound: float


@dataclass(frozen=True, eq=False)
class ColumnMeans:
    """Mean over rows of some features, each once, less a public `centre`.

    Rows are scaled down to l2 norm `norm` where they are longer.
    """

    support: Indices
    norm: float = float("inf")
    centre: Vector | None = None


@dataclass(frozen=True, eq=False)
class Gram:
    r"""Mean over rows of :math:`aa^\top` for :math:`a = x_S - \mu`, scaled down to l2 norm `norm` where it is longer.

    The answer is the upper triangle, row by row, entries off the diagonal times :math:`\sqrt2`: its
    l2 norm is the Frobenius norm of the matrix, and noise alike in all of its numbers leaves half
    the variance off the diagonal.
    """

    support: Indices
    centre: Vector
    norm: float


@dataclass(frozen=True, eq=False)
class Hessian:
    r"""Mean over rows of :math:`zz^\top\ell''/\beta` at `model`, for rows z of its frame.

    Rows are scaled down to l2 norm `norm` where they are longer; those whose gradient is longer than
    `clip` are left out. :math:`\beta` is the largest second derivative of the loss. The answer is a
    triangle as that of `Gram`.
    """

    model: ProjectedModel
    clip: float
    norm: float


@dataclass(frozen=True, eq=False)
class Curvature:
    r"""Mean over rows of :math:`f\,\ell''\min(\|x_S-\mu\|, \text{norm})^2/|S|` at `model`: one number.

    f is the factor by which `CentredGradient` with this `clip` shrinks the row, :math:`\ell''` the
    second derivative of the loss in its margin.
    """

    model: CentredModel
    clip: float
    norm: float


@dataclass(frozen=True, eq=False)
class CentredGradient:
    r"""Mean over rows of slope times :math:`x_S - \mu` at `model`, each clipped to l2 norm `clip`."""

    model: CentredModel
    clip: float


Polish = (
    Correlation
    | IntervalContrast
    | ResidualMean
    | ColumnMeans
    | Gram
    | Hessian
    | Curvature
    | CentredGradient
    | ProjectedGradient
)


@dataclass(frozen=True, eq=False)
class MeanLoss:
    """Mean over rows of the loss of some coefficients, clipped to [0, bound] for each row.

    The answer is one number: how badly the coefficients predict the target.

    Parameters
    ----------
    models : array of shape (number of models, dimension)
        One model for a regression or two classes (coded 0 and 1); one for each class otherwise
        (coded 0, 1, 2, ...).
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


@dataclass(frozen=True, eq=False)
class ClippedShare:
    """Mean part of the entries of a row beyond the bounds, and two parts of the rows.

    These are the rows whose norm, and those whose target, was beyond its bound.
    """


@dataclass(frozen=True, eq=False)
class Unread:
    """Part of the rows, for each declared column of their table, whose cell was not understood."""


# ------------------------------------------------------------------------------------------------
# rows that were scored by a public model


@dataclass(frozen=True, eq=False)
class Cells:
    """A public partition of scored rows: by group, by class, and by where the first margin lies.

    Parameters
    ----------
    margins : array of int
        Columns that hold a model's margins: one for numbers or two classes, otherwise one for each
        class.
    rests : array of int or None
        Columns of what the lattice of rows cuts off the margins, enlarged; `scale` times it belongs
        to the margin. None: nothing.
    scale : float
    group : int or None
        Column that holds the number of a row's group; rows with any other number are in no cell.
    groups : int
        Number of groups.
    classes : int
        Number of classes that are distinguished, coded 0, 1, ...; rows with any other target are in no
        cell. 1: not distinguished.
    edges : array
        Increasing. Bin k holds margins from edge k - 1 on and below edge k; there is one bin more
        than edges.
    """

    margins: NDArray[np.intp]
    rests: NDArray[np.intp] | None = None
    scale: float = 0.0
    group: int | None = None
    groups: int = 1
    classes: int = 1
    edges: Vector = field(default_factory=lambda: NO_EDGES)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Groups, classes and bins, in the order of the answer."""
        return self.groups, self.classes, self.edges.size + 1

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.groups * self.classes * (self.edges.size + 1)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Number of rows in each cell, over the public number of rows."""

    cells: Cells


@dataclass(frozen=True, eq=False)
class CellMoments:
    r"""Sum over the rows of each cell of t and of :math:`t^2 - \tfrac12`, over the public number of rows.

    T in [-1, 1] says how well a row was predicted.

    The answer holds the sums of t of all cells and then, with `squares`, those of
    :math:`t^2 - \tfrac12`.

    Parameters
    ----------
    cells : Cells
    value : {"correct", "log-loss", "brier", "absolute", "squared", "target", "excess", "place"}
        ``correct``: 1 for the right class, else -1. ``log-loss``, ``brier``, ``absolute`` and
        ``squared``: :math:`2\min(\ell, B)/B - 1` for a loss of the prediction. ``target``:
        :math:`y/B`. ``excess``: :math:`(r^2 - c(y-\mu)^2)/B` for the residual r. ``place``: where
        in its bin the probability of the second class lies, from -1 at its lower end to 1 at its
        upper end. Whatever is beyond [-1, 1] is clipped to it.
    top : float
        B.
    centre, ratio : float
        :math:`\mu` and c of ``excess``.
    squares : bool
    within : float
        Predictions of numbers are clipped to [-within, within].
    """

    cells: Cells
    value: str
    top: float = 1.0
    centre: float = 0.0
    ratio: float = 0.0
    squares: bool = True
    within: float = math.inf


# ------------------------------------------------------------------------------------------------ intervals


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    r"""Mean over rows of score, Gram matrix and meat at a pilot, in one vector.

    All numbers of the vector have the same noise scale.

    A row is :math:`\tilde x = (1, (x_S - \mu)/t)`, its weight
    :math:`w = \min(1, Q^2/\|\tilde x\|^2)`, its residual :math:`\psi`: the slope of the loss with
    the other sign, clipped to :math:`\pm R`. The target is not clipped before. With :math:`C = RQ`,
    and v = 1 for numbers, :math:`v = |\psi|(1-|\psi|)` for classes, :math:`v_{\max}` = 1 or 1/4,
    the answer holds

    .. math:: \frac{w\psi\tilde x}{C}, \qquad
              \sqrt{B_H}\,\frac{w v\,\tilde x\tilde x^\top}{Q^2 v_{\max}}, \qquad
              \sqrt{B_M}\,\frac{w^2\psi^2\tilde x\tilde x^\top}{C^2},

    of the matrices the upper triangle, row by row, entries off the diagonal times :math:`\sqrt2`.

    Parameters
    ----------
    model : CentredModel
        The pilot, with support S and centre :math:`\mu`.
    scale : array of the size of the support
        t: what columns are divided by.
    constant : bool
        Whether there is a constant column.
    residual, norm : float
        R and Q. R is 1 for classes.
    gram, meat : float
        :math:`B_H` and :math:`B_M`: how much of the noise's precision the matrices have for each
        unit of the score's.
    """

    model: CentredModel
    scale: Vector
    constant: bool
    residual: float
    norm: float
    gram: float
    meat: float


@dataclass(frozen=True, eq=False)
class CountWithin:
    """Part of the rows whose slope at `model` is within `bound`: one number."""

    model: CentredModel
    bound: float


# ------------------------------------------------------------------------------------------------ kinds of sums


Tally = MeanLoss | Count | ClippedShare | Unread

Inference = ScoreMoments | CountWithin

SumQuery = Gradient | GradientChange | MeanSquares | Weighted | Polish | Tally | CellCounts | CellMoments | Inference


# ------------------------------------------------------------------------------------------------ selections and scores


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
    r"""Score the :math:`2d` vertices of the l1 ball by :math:`\mp g_j`.

    Candidate j is :math:`+e_j`, and candidate d + j is :math:`-e_j`.
    """


@dataclass(frozen=True, eq=False)
class Greedy:
    r"""Score coordinates by how much a step along each decreases the loss, on the scale :math:`g_j/\sqrt{H_j}`.

    Parameters
    ----------
    rule : {"gs", "gs-s", "gs-r", "gs-q"}
        Largest gradient; smallest subgradient; longest proximal step; largest guaranteed decrease (its square root).
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


@dataclass(frozen=True, eq=False)
class Grouped:
    """Score groups of columns by the l2 norm of the scores of their columns.

    Parameters
    ----------
    score : Magnitude or Greedy
        Of single columns.
    groups : array of int of shape (n_features,)
        The group of each column, from 0 on. An intercept that is a candidate comes last, by itself.
    """

    score: Magnitude | Greedy
    groups: NDArray[np.intp]

    def labels(self, size: int) -> NDArray[np.intp]:
        """The candidate that each of `size` scores counts for."""
        rest = int(self.groups.max(initial=-1)) + 1 + np.arange(size - self.groups.size)
        return np.concatenate([self.groups, rest])


Score = Magnitude | Vertex | Greedy | Grouped


@dataclass(frozen=True, eq=False)
class Select:
    """The `count` candidates with the largest scores of a mean gradient, among those not `excluded`."""

    of: Gradient | Correlation | IntervalContrast
    score: Score
    count: int
    excluded: Indices | None = None


@dataclass(frozen=True, eq=False)
class Quantile:
    r"""The cell of a public grid in which a part q of the rows' values is reached, named by its upper end.

    With :math:`T_k = \#\{v \le e_k\} - q\,\#\{v\}` cell k scores :math:`\min(0, T_k, -T_{k-1})`: 0
    for the cell of the quantile, and minus the number of values between it and any other. The last
    cell has no upper end.

    Parameters
    ----------
    of : {"slopes", "gradients", "rows", "targets"}
        Values: sizes of slopes, of gradients :math:`|\text{slope}|\,\|x_S-\mu\|` or of rows
        :math:`\|x_S-\mu\|`, of which only positive ones count; or targets. In a frame :math:`\|z\|`
        takes the place of :math:`\|x_S-\mu\|`.
    model : CentredModel or ProjectedModel
    part : float
        q.
    grid : array
        Increasing.
    """

    of: str
    model: Model
    part: float
    grid: Vector


@dataclass(frozen=True, eq=False)
class ModalEntry:
    """The bin, between neighbours of `edges`, that holds the typical entry of most rows.

    The typical entry of a row is `part` of the median of its absolute nonzero entries; or, if
    nearly all of them have one sign, the largest. Values beyond the edges count in the outermost
    bins. Entries are measured from a public `centre`, if there is one.
    """

    part: float
    edges: Vector
    centre: Vector | None = None


@dataclass(frozen=True, eq=False)
class ColumnQuantile:
    """The point of a public grid with about a part q of some values of the rows below it.

    The point is found by its cell: see `queries.choices`.

    Parameters
    ----------
    of : {"column", "size", "rows", "target"}
        Values: entries of a column, their absolute values, the largest absolute entry of each row,
        or targets.
    column : int
        Which one, of ``column`` and ``size``.
    sign : {1, -1}
        -1: the negative values; for a lower end.
    part : float
        q.
    grid : array
        Increasing.
    """

    of: str
    column: int
    sign: int
    part: float
    grid: Vector


CountQuery = Quantile | ModalEntry | ColumnQuantile


@dataclass(frozen=True, eq=False)
class PerturbedMinimum:
    r"""Minimiser on `support` of the summed loss plus :math:`\tfrac\lambda2\|\theta\|^2` plus a random linear term.

    Parameters
    ----------
    support : array of int
        Coordinates, in the order of the answer.
    clip : Clip
        Bound on the norm of one row's gradient, and on its slope: slopes beyond are clipped, which
        keeps the loss convex.
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
    """Minimiser as in `PerturbedMinimum` without the linear term.

    Or, with `design`, its margins on these public rows.
    """

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


MinimiserQuery = PerturbedMinimum | RidgeMinimum


@dataclass(frozen=True, eq=False)
class RandomizedLabels:
    """An unbiased estimate of every row's target, randomised by the person whom the row is about."""


Query = SumQuery | Select | CountQuery | MinimiserQuery | SupportVotes | RandomizedLabels
