"""What is public about a fit: everything here could be printed on a poster.

Bounds are declarations that the trusted packages *enforce* (rows are clipped), so a wrong bound costs accuracy and
never privacy. The number of rows is public under replace-one adjacency; under add-remove it is a number the user
declares, and the real count stays inside the trusted package: sums are clamped and minimisers use no more records than
were declared, so that a number that is too small costs accuracy, too.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .checks import ROW

Vector = NDArray[np.float64]

#: Rows are spiky where their squared length is below this part of their box's.
SPIKY = 0.15

#: Sizes that a public number may have, such as a bound, a clip or a weight: its fourth power is a normal float
#: (1e-240 to 1e240), so that no square, and no square of a product of two, vanishes or overflows.
SMALLEST_SIZE, LARGEST_SIZE = 1e-60, 1e60

#: What targets are.
TargetKind = Literal["numbers", "classes", "counts", "events"]


def in_range(sizes: float | Vector | None) -> bool:
    """Whether public sizes, all of them, are positive and neither too small nor too large to be squared; None is not.

    Examples
    --------
    >>> in_range(1e-60), in_range(1e-61), in_range(float("nan")), in_range(np.array([1.0, 1e61]))
    (True, False, False, False)
    """
    return sizes is None or bool(np.all((np.asarray(sizes) >= SMALLEST_SIZE) & (np.asarray(sizes) <= LARGEST_SIZE)))


@dataclass(frozen=True, kw_only=True)
class Penalty:
    """A regulariser: a public function of the coefficients, applied after the noise and never clipped.

    Parameters
    ----------
    kind : {"l2", "l1", "elasticnet", "box"}
        ``l2``: ``alpha/2 ||w||^2``. ``l1``: ``alpha ||w||_1``. ``elasticnet``: the mix of both by `l1_ratio`.
        ``box``: every coefficient stays in ``[-box, box]``.
    alpha : float
        Strength; 0 means none.
    l1_ratio : float
        Part of the elastic net that is l1.
    box : float or None
        Half-width for ``kind="box"``.
    """

    kind: str = "l2"
    alpha: float = 0.0
    l1_ratio: float = 0.5
    box: float | None = None

    @property
    def active(self) -> bool:
        """Whether the penalty does anything."""
        return self.kind == "box" or self.alpha > 0

    @property
    def l1(self) -> float:
        """Weight of the l1 part."""
        return {"l1": self.alpha, "elasticnet": self.alpha * self.l1_ratio}.get(self.kind, 0.0)

    @property
    def l2(self) -> float:
        """Weight of the l2 part."""
        return {"l2": self.alpha, "elasticnet": self.alpha * (1 - self.l1_ratio)}.get(self.kind, 0.0)


@dataclass(frozen=True, eq=False)
class Clip:
    r"""How much one row may contribute to a gradient sum. A row's gradient is :math:`c\,x`; all bounds are enforced.

    Parameters
    ----------
    norm : float
        Bound on the l2 norm of the contribution; the factor c is shrunk to keep it.
    entry : float or None
        Bound on its largest absolute entry, kept in the same way; None: no more than `norm`.
    slope : float or None
        Bound on :math:`|c|` itself, so that coordinate j is at most ``slope`` times its own bound.
    columns : array of shape (dimension,) or None
        Bound on each coordinate of the contribution, kept by clipping that coordinate alone.
    """

    norm: float
    entry: float | None = None
    slope: float | None = None
    columns: Vector | None = None

    def __post_init__(self) -> None:
        for value in (self.norm, self.entry, self.slope):
            if not in_range(value):
                raise ValueError(
                    f"a clip must be positive, between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}, got "
                    f"{value!r}. Give the data in other units."
                )
        if self.columns is not None:  # a copy that nobody can change under us
            object.__setattr__(self, "columns", np.array(self.columns, dtype=float))
            self.columns.flags.writeable = False
        if not in_range(self.columns):
            raise ValueError(f"the clips of columns must be between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}.")

    def times(self, factor: float) -> Clip:
        """`factor` times wider, in every bound."""
        if factor == 1:
            return self
        entry, slope = (None if bound is None else factor * bound for bound in (self.entry, self.slope))
        return Clip(factor * self.norm, entry, slope, None if self.columns is None else factor * self.columns)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Clip)
            and (self.norm, self.entry, self.slope) == (other.norm, other.entry, other.slope)
            and np.array_equal(self.columns, other.columns)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    r"""Public coordinates of a row, on which a model may be learned: :math:`z = \bigl((x_S - \mu)M/R,\; h\bigr)`.

    Parameters
    ----------
    support : array of int
        S: features, each once.
    centre : array of the size of `support`
        :math:`\mu`.
    matrix : array of shape (size of `support`, m) or None
        M; None is the identity.
    length : float
        R: rows are divided by it.
    constant : float
        h: height of a constant coordinate, the last one; 0 for none.
    """

    support: NDArray[np.intp]
    centre: Vector
    matrix: Vector | None = None
    length: float = 1.0
    constant: float = 0.0

    def __post_init__(self) -> None:
        for name in ("support", "centre", "matrix"):  # copies that nobody can change under us
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.array(value, dtype=np.intp if name == "support" else float))
                getattr(self, name).flags.writeable = False
        size, matrix = self.support.size, self.matrix
        fits = matrix is None or (matrix.ndim == 2 and matrix.shape[0] == size and bool(np.all(np.isfinite(matrix))))
        if self.centre.shape != (size,) or not np.all(np.isfinite(self.centre)) or not fits:
            raise ValueError("a frame needs one finite centre, and one finite row of its matrix, for each feature.")
        if not (in_range(self.length) and (self.constant == 0 or in_range(self.constant))):
            raise ValueError(
                f"a frame needs a positive length, between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}, "
                "and such a constant or none."
            )

    @property
    def free(self) -> int:
        """1 with a constant coordinate."""
        return int(self.constant > 0)

    @property
    def size(self) -> int:
        """Number of coordinates, with the constant one."""
        return (self.support.size if self.matrix is None else self.matrix.shape[1]) + self.free

    def same(self, other: Projection) -> bool:
        """Whether another frame maps every row to the same coordinates."""
        if self is other:
            return True
        return (self.length, self.constant) == (other.length, other.constant) and self.turns_as(other)

    def turns_as(self, other: Projection) -> bool:
        """Whether another frame has the same support, centre and matrix: all but the length and the constant."""
        pairs = ((self.support, other.support), (self.centre, other.centre), (self.matrix, other.matrix))
        return all(a is b or np.array_equal(a, b) for a, b in pairs)  # type: ignore[arg-type]

    def features(self, w: Vector) -> Vector:
        """Coefficients of the features of the support that coefficients of the coordinates come to."""
        head = w[: self.size - self.free] / self.length
        return head if self.matrix is None else np.asarray(self.matrix @ head)


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is public about the targets.

    The loss says it (`dpsparse.losses.target_of`), and rules ask it instead of the loss's name.

    Parameters
    ----------
    kind : {"numbers", "classes", "counts", "events"}
        ``numbers``: real targets. ``classes``: 0 and 1, and margins are log-odds. ``counts``:
        non-negative targets behind a log link. ``events``: a baseline hazard that a person lived
        through, positive where it ended with the event; margins are log hazard ratios.
    bound : float
        ``|y| <= bound`` after centring; 1 for classes.
    linked : bool
        Whether numbers are predicted through a link, so that the size of a margin is not that of a
        target.
    n_classes : int
        Classes that one model distinguishes: 2, coded 0 and 1, by one margin; or more, coded 0, 1, 2,
        ..., by a margin each.

    Examples
    --------
    >>> Target(bound=6.0).typical, Target(kind="classes").typical
    (2.0, 1.0)
    """

    kind: TargetKind = "numbers"
    bound: float = 1.0
    linked: bool = False
    n_classes: int = 2

    def __post_init__(self) -> None:
        if self.n_classes < 2 or (self.n_classes > 2 and (self.kind != "classes" or self.bound < self.n_classes - 1)):
            raise ValueError(
                "more than two classes are coded 0, 1, 2, ..., and the bound of such a target is the last of them."
            )
        if self.kind not in get_args(TargetKind):
            raise ValueError(
                f"the kind of a target must be one of {', '.join(get_args(TargetKind))}, got {self.kind!r}."
            )

    @property
    def classes(self) -> bool:
        """Whether targets are classes, coded 0 and 1, or further."""
        return self.kind == "classes"

    @property
    def joint(self) -> bool:
        """Whether one model distinguishes more than two classes."""
        return self.n_classes > 2

    @property
    def counts(self) -> bool:
        """Whether targets are counts."""
        return self.kind == "counts"

    @property
    def residual(self) -> bool:
        """Whether the loss compares a margin with a number directly.

        Slopes are then residuals or bounded forms of them.
        """
        return self.kind == "numbers" and not self.linked

    @property
    def direct(self) -> bool:
        """Whether margins speak of targets directly: as numbers of their size, as log-odds, or as log hazard ratios."""
        return self.classes or self.residual or self.events

    @property
    def events(self) -> bool:
        """Whether targets are events or their absence after a time at risk."""
        return self.kind == "events"

    @property
    def typical(self) -> float:
        """The size of a typical target: 1 for classes, else a third of the bound."""
        return 1.0 if self.classes else self.bound / 3

    @property
    def margin(self) -> float:
        """The size of a typical margin.

        It is 1 behind a link (classes, counts, known links), else that of a typical target.
        """
        return self.bound / 3 if self.residual else 1.0

    @property
    def steepest(self) -> float:
        """The largest slope at margin zero: a half for classes, else the bound."""
        return 0.5 if self.classes else self.bound

    @property
    def spread(self) -> float:
        """How far a typical target lies from what margin zero predicts.

        A half for classes, else a third of the bound.
        """
        return 0.5 if self.classes else self.bound / 3


#: The target of facts that say nothing about it.
UNSAID = Target()


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The public side of a fit.

    Parameters
    ----------
    n_rows, n_features : int
        Public shape; sums are divided by `n_rows` after the noise.
    lower, upper : float or array of shape (n_features,)
        Entries are clipped into ``[lower, upper]``.
    row_norm : float
        Rows are clipped to this l2 norm, before any shift.
    shift : float or array of shape (n_features,)
        Subtracted from every row, implicitly (sparse rows stay sparse).
    intercept : float
        Height of the constant column that carries the intercept; 0 for none. It counts in the norm
        of a row.
    target : Target
        What the loss says about the targets: classes, numbers or counts, and their bound.
    target_bound : float
        Short for ``target=Target(bound=...)``, numbers; ``facts.target_bound`` is
        ``facts.target.bound``.
    loss : str
        Name of the loss; for printing only.
    convex : bool
        Whether the minimiser of the loss has a stability proof (`dpsparse.losses.proven`).
    slope_bound, curvature : float
        Bounds on the first and second derivative of the loss in its margin.
    sparsity : int or None
        At most this many nonzero coefficients were asked for; with `groups`, as many as that number of
        groups have on average.
    groups : array of int of shape (n_features,) or None
        The group of each column, from 0 on without gaps: columns of a group are selected, dropped
        and counted together. None: each column by itself.
    penalty : Penalty
        The regulariser.
    start : array or None
        Public start of the coefficients, in the units of the shifted features; zero if None.
    means : array or None
        Public means of the shifted columns, where they are known and the shift is something else.
    sparse : bool
        Whether rows are stored sparse. The storage format is the user's choice and treated as
        public.
    scale : float or array of shape (n_features,)
        What each column was divided by before it is shown. Everything above is in the units of the
        shown columns; a column and its coefficient in the user's units are ``scale`` times and one
        over ``scale`` times as large.
    counts_clipped : bool
        Whether rows remember, beside what they hold, how much of them was clipped, for a priced
        count.
    counts_unread : int
        Declared columns of the table for which rows remember whether their cell was understood, for
        a priced count; 0: rows do not.
    unit : str
        The word for one record: a row, or all rows with the same id (a patient, a household).
        `n_rows` counts records, and their number of rows is private where a record has several.
    offset_bound : (float, float) or None
        Between which a record's offset lies, which is added to its margin; None: records have none.
    weight_bound : float or None
        The largest weight of a record, which multiplies its slope; None: records have none.
    design : PublicRows or None
        Under label privacy: the features, which are public there.

    Examples
    --------
    >>> facts = Facts(n_rows=100, n_features=4, lower=0.0, upper=2.0, row_norm=4.0, shift=1.0)
    >>> facts.feature_bound, facts.row_bound
    (1.0, 2.0)
    """

    n_rows: int
    n_features: int
    lower: float | Vector = -1.0
    upper: float | Vector = 1.0
    row_norm: float = 1.0
    shift: float | Vector = 0.0
    intercept: float = 0.0
    target: Target = UNSAID
    if TYPE_CHECKING:
        target_bound: float = 1.0
    else:
        target_bound: InitVar[float | None] = None
    loss: str = "squared"
    convex: bool = True
    slope_bound: float = float("inf")
    curvature: float = 1.0
    sparsity: int | None = None
    groups: NDArray[np.intp] | None = None
    penalty: Penalty = field(default_factory=Penalty)
    start: Vector | None = None
    means: Vector | None = None
    sparse: bool = False
    scale: float | Vector = 1.0
    counts_clipped: bool = False
    counts_unread: int = 0
    unit: str = ROW
    offset_bound: tuple[float, float] | None = None
    weight_bound: float | None = None
    design: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self, target_bound: float | None) -> None:  # type: ignore[override]
        if target_bound is None or target_bound == self.target.bound:
            return
        if self.target is not UNSAID:
            raise ValueError("target and target_bound disagree; give one of them, and change either by with_().")
        object.__setattr__(self, "target", Target(bound=target_bound))

    @property
    def by_unit(self) -> bool:
        """Whether a record is all rows with the same id."""
        return self.unit != ROW

    @property
    def quadratic(self) -> bool:
        """Whether slopes are whole residuals, as those of squared loss: no link, and no bound on a slope."""
        return self.target.residual and self.slope_bound == float("inf")

    @property
    def has_terms(self) -> bool:
        """Whether records have an offset or a weight."""
        return self.offset_bound is not None or self.weight_bound is not None

    @cached_property
    def half_widths(self) -> Vector:
        """Largest absolute entry of each shifted column, shape (n_features,).

        Clipping a row to `row_norm` moves entries towards zero, so where that clip can act, zero counts as a
        possible entry even if it lies outside ``[lower, upper]``.
        """
        ones = np.ones(self.n_features)
        lower, upper = self.lower * ones, self.upper * ones
        if self.row_norm < np.linalg.norm(np.maximum(np.abs(lower), np.abs(upper))):
            lower, upper = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
        return np.maximum(np.abs(upper - self.shift), np.abs(lower - self.shift))

    @cached_property
    def feature_bound(self) -> float:
        """Largest absolute entry of a shifted row."""
        return float(self.half_widths.max(initial=0.0))

    @cached_property
    def row_bound(self) -> float:
        """Largest l2 norm of a shifted row, without the intercept column."""
        shift = float(np.linalg.norm(self.shift * np.ones(self.n_features)))
        return min(self.row_norm + shift, float(np.linalg.norm(self.half_widths)))

    def heavy_tailed(self, entry: float) -> bool:
        """Whether rows with entries up to `entry` are zero or small in most columns, as their norm bound says."""
        return self.row_bound**2 < SPIKY * self.n_features * entry**2

    @property
    def documents(self) -> bool:
        """Whether rows are treated as text: stored sparse, and spiky by their declared bounds.

        Recipes, solvers and the planner all ask here. Sparse rows of an ordinary box are treated
        like dense ones.
        """
        return self.sparse and self.heavy_tailed(self.feature_bound)

    @property
    def norm_bound(self) -> float:
        """Largest l2 norm of a row, with the intercept column."""
        return float(np.hypot(self.row_bound, self.intercept))

    @property
    def entry_bound(self) -> float:
        """Largest absolute entry of a row, with the intercept column."""
        return max(self.feature_bound, self.intercept)

    @property
    def free(self) -> int:
        """Trailing coordinates that are never thresholded: 1 with an intercept."""
        return int(self.intercept > 0)

    @property
    def dimension(self) -> int:
        """Number of coordinates a solver works with: the features and, last, the intercept."""
        return self.n_features + self.free

    @cached_property
    def candidates(self) -> int:
        """Among how many a selection of features chooses: groups of columns, or columns."""
        return self.n_features if self.groups is None else int(self.groups.max()) + 1

    @property
    def cap(self) -> int:
        """The number of nonzero coefficients that is allowed: `sparsity`, or all features."""
        return self.n_features if self.sparsity is None else min(self.sparsity, self.n_features)

    def first(self) -> Vector:
        """A fresh copy of the start vector, shape (dimension,).

        With a column for each class where one model distinguishes many.
        """
        w = np.zeros((self.dimension, self.target.n_classes) if self.target.joint else self.dimension)
        if self.start is not None:
            w.T[..., : self.n_features] = self.start
        return w

    def with_(self, **changes: Any) -> Facts:
        """A copy with some fields changed."""
        target: Target = changes.pop("target", self.target)
        target = replace(target, bound=changes.pop("target_bound", target.bound))
        return replace(self, target=target, target_bound=target.bound, **changes)


#: A public number of its own name, although the constructor takes it as a short form.
Facts.target_bound = property(lambda facts: facts.target.bound)  # type: ignore[assignment, misc]
