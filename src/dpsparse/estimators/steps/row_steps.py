"""Maps of single rows, which cost nothing since no row depends on another, and public bounds of rows on their way."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...core import Adjacency, checks
from ...core.facts import Facts, Vector
from ...fitting import Matrix
from ...rows import read_bounds
from ...rows.declared import Bounded, ColumnBounds
from ...rows.records import suppress_messages
from ..input_checks import our_tags, read_source, unless_refused


class RowStep(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of transformers that look at one row at a time; not for direct use."""

    on_missing: str

    @abstractmethod
    def bounds_after(self, before: Bounds | None, n_features: int) -> Bounds:
        """Public bounds of the rows that come out, from those of the rows that come in, where they are known."""

    def fit(self, X: object, y: object = None) -> Self:
        """Check the arguments and the shape; learns nothing from the rows."""
        unless_refused(self.on_missing, read_source(self, X, reset=True))
        self.bounds_ = self.bounds_after(None, self.n_features_in_)
        return self

    def _rows(self, X: object) -> Matrix:
        check_is_fitted(self, "bounds_")
        source = read_source(self, X, reset=False, adjacency=Adjacency.ADD_REMOVE)  # there may be none
        unless_refused(self.on_missing, source)
        rows: Matrix = source.rows(0, source.shape[0]).astype(float, copy=True)
        return rows

    def __sklearn_tags__(self) -> Tags:
        return our_tags(super().__sklearn_tags__(), noisy=False, allow_nan=self.on_missing == "empty")


def _divisor(norms: Vector) -> Vector:
    """Norms to divide by; empty rows stay empty."""
    return np.where(norms == 0, 1.0, norms)


@dataclass(eq=False, repr=False)
class RowNormalizer(RowStep):
    """Scale each row to a public length. Empty rows stay empty.

    Guarantee
    ---------
    Free: the map of a row does not depend on any other row. Afterwards its l2 norm is at most
    `length` (times the root of the number of features for ``norm="max"``), whatever came in.

    Parameters
    ----------
    norm : {"l2", "l1", "max"}
        Which norm becomes `length`.
    length : float, default=1.0
    on_missing : {"refuse", "empty"}
        As in `SparseRegressor`. ``empty``: what is no number stays none, and the model behind
        counts the record as nothing.

    Attributes
    ----------
    bounds_ : Bounds
        Public bounds of the rows that come out.

    Examples
    --------
    >>> from dpsparse import RowNormalizer
    >>> RowNormalizer().fit_transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    norm: str = "l2"
    length: float = 1.0
    on_missing: str = "refuse"

    def transform(self, X: object) -> Matrix:
        """Scale the rows."""
        rows = self._rows(X)
        with suppress_messages():
            if isinstance(rows, np.ndarray):
                # by the largest entry first: squares neither overflow nor vanish
                rows /= _divisor(np.abs(rows).max(axis=1))[:, None]
                rows *= self.length / _divisor(self._norms(rows))[:, None]
                return rows
            owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            largest = np.zeros(rows.shape[0])
            np.maximum.at(largest, owner, np.abs(rows.data))
            rows.data /= _divisor(largest)[owner]
            rows.data *= (self.length / _divisor(self._sparse_norms(rows.data, owner, rows.shape[0])))[owner]
        return rows

    def _norms(self, rows: Vector) -> Vector:
        size = np.abs(rows)
        if self.norm == "max":
            return np.asarray(size.max(axis=1))
        return np.asarray(size.sum(axis=1) if self.norm == "l1" else np.sqrt((size**2).sum(axis=1)))

    def _sparse_norms(self, data: Vector, owner: NDArray[np.intp], rows: int) -> Vector:
        size = np.abs(data)
        if self.norm == "max":
            largest = np.zeros(rows)
            np.maximum.at(largest, owner, size)
            return largest
        sums = np.bincount(owner, weights=size if self.norm == "l1" else size**2, minlength=rows)
        return np.asarray(sums if self.norm == "l1" else np.sqrt(sums))

    def bounds_after(self, before: Bounds | None, n_features: int) -> Bounds:
        """Entries within `length`, and not negative where those that come in are not."""
        checks.one_of(self.norm, "norm", ("l2", "l1", "max"))
        length = read_bounds(None, self.length, n_features)[2]
        # rounding may leave a row a little longer; who reads it clips it
        row_norm = length * math.sqrt(n_features) if self.norm == "max" else length
        if before is not None and np.all(np.asarray(before.lower) >= 0):
            return Bounds(0.0, length, row_norm)
        return Bounds(-length, length, row_norm)


@dataclass(eq=False, repr=False)
class PublicScaler(RowStep):
    """Map each column from public bounds to [-1, 1]; entries beyond them are clipped.

    Guarantee
    ---------
    Free: the map is made of public constants.

    Parameters
    ----------
    feature_bound : float, array or (lo, hi)
        Public bounds: b for [-b, b], or (lo, hi); each a number or one per feature. Never taken
        from the data.
    center : bool, default=False
        False: divide by the largest absolute bound, which keeps zeros. True: move the midpoint to
        zero first; dense rows only.
    on_missing : {"refuse", "empty"}
        As in `RowNormalizer`.

    Attributes
    ----------
    bounds_ : Bounds
        Public bounds of the rows that come out.

    Examples
    --------
    >>> from dpsparse import PublicScaler
    >>> PublicScaler(feature_bound=(0, [100, 2]), center=True).fit_transform([[75, 1], [120, 0]])
    array([[ 0.5,  0. ],
           [ 1. , -1. ]])
    """

    feature_bound: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None
    center: bool = False
    on_missing: str = "refuse"

    def transform(self, X: object) -> Matrix:
        """Clip, shift and scale the columns."""
        rows = self._rows(X)
        lower, upper, _ = read_bounds(self.feature_bound, None, self.n_features_in_)
        if not isinstance(rows, np.ndarray):
            if self.center:
                raise ValueError("center=True would make sparse rows dense. Use center=False, or dense rows.")
            columns = rows.indices
            low, high = (v[columns] if isinstance(v, np.ndarray) else v for v in (lower, upper))
            scale = np.maximum(np.abs(lower), np.abs(upper)) * np.ones(self.n_features_in_)
            rows.data = np.clip(rows.data, low, high) / scale[columns]
            return rows
        middle, half = self._middle_and_half()
        return (np.clip(rows, lower, upper) - middle) / half

    def _middle_and_half(self) -> tuple[float | Vector, float | Vector]:
        lower, upper, _ = read_bounds(self.feature_bound, None, self.n_features_in_)
        if self.center:
            return (np.asarray(lower) + upper) / 2, (np.asarray(upper) - lower) / 2
        return 0.0, np.maximum(np.abs(lower), np.abs(upper))

    def bounds_after(self, before: Bounds | None, n_features: int) -> Bounds:
        """The declared bounds, scaled."""
        lower, upper, _ = read_bounds(self.feature_bound, None, n_features)
        if self.center:
            return Bounds.read(1.0, None, n_features)
        half = np.maximum(np.abs(lower), np.abs(upper))
        out = Bounds.read((np.asarray(lower) / half, np.asarray(upper) / half), None, n_features)
        if before is None:
            return out
        # columns shrink at least by the smallest divisor, and so do rows
        return Bounds(out.lower, out.upper, min(out.row_norm, before.row_norm / float(np.min(half))))


def bounds_after(step: object, before: Bounds | None, n_features: int | None) -> Bounds | None:
    """Bounds of the rows that come out of a step, from public constants alone; None where they are not known.

    Parameters
    ----------
    step : transformer
        One of ours, a `ColumnTransformer` or a `Pipeline` of them; fitted, or one whose bounds do not depend on a fit.
    before : Bounds or None
        Bounds of the rows that come in.
    n_features : int or None
        Number of columns that come in, as far as a step without names needs it.
    """
    if step is None or isinstance(step, str):
        return before
    if isinstance(step, Bounded):
        known = step.output_bounds()
        if known is None:
            return None
        described = known if known.numbers or known.groups or known.base_rate is not None else None
        return Bounds(known.lower, known.upper, known.row_norm, described)
    if isinstance(step, RowStep):
        return None if n_features is None else step.bounds_after(before, n_features)
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            before = bounds_after(inner, before, vars(inner).get("n_features_in_", n_features))
            n_features = None if before is None else np.size(before.lower)
        return before
    return _side_by_side(step) if isinstance(step, ColumnTransformer) else None


def _side_by_side(step: ColumnTransformer) -> Bounds | None:
    """Bounds of the parts of a `ColumnTransformer`, in their order. What passes through it has none of its own."""
    parts = []
    for _, inner, columns in vars(step).get("transformers_", step.transformers):
        if inner == "drop" or _none(columns):
            continue
        if isinstance(inner, str):
            return None
        width = vars(inner).get("n_features_in_", len(columns) if isinstance(columns, list) else None)
        found = bounds_after(inner, None, width)
        if found is None or (np.size(found.lower) == 1 and width is None):
            return None
        size = max(np.size(found.lower), np.size(found.upper))
        every = np.ones(width if size == 1 and width is not None else size)
        known = found.declared
        parts.append(known or ColumnBounds(found.lower * every, found.upper * every, found.row_norm))
    fitted = "transformers_" in vars(step)
    if not parts or step.transformer_weights is not None or not (fitted or step.remainder == "drop"):
        return None
    together = ColumnBounds.beside(parts)
    described = together if all(part.numbers or part.groups for part in parts) else None
    return Bounds(together.lower, together.upper, together.row_norm, described)


def _none(columns: object) -> bool:
    return isinstance(columns, Sequence) and not isinstance(columns, str) and len(columns) == 0


# ------------------------------------------------------------------------------------------------ bounds


@dataclass(frozen=True, eq=False)
class Bounds:
    """Entries lie in ``[lower, upper]`` and rows within l2 norm `row_norm`.

    Rows that do not are clipped to these bounds when they are read. `declared` is what a dictionary says about the
    columns, right behind its encoder.

    Examples
    --------
    >>> Bounds.read((0, 2), None, 4).row_norm
    4.0
    """

    lower: float | Vector
    upper: float | Vector
    row_norm: float
    declared: ColumnBounds | None = None

    @classmethod
    def read(cls, feature_bound: object, row_norm: object, n_features: int) -> Bounds:
        """From the arguments of a user; refuses if neither is given."""
        return cls(*read_bounds(feature_bound, row_norm, n_features))

    @property
    def feature_bound(self) -> tuple[float | Vector, float | Vector]:
        """As an estimator takes it."""
        return self.lower, self.upper

    @property
    def plain(self) -> bool:
        """Whether a dictionary says nothing but bounds: no curve, no group, and no share of a class."""
        known = self.declared
        if known is None or known.base_rate is not None:
            return known is None
        return not (known.groups or any(one.shape not in (None, "line") for one in known.numbers))

    def output_bounds(self) -> ColumnBounds | None:
        """What a dictionary says about the columns; None without a dictionary."""
        return self.declared

    def largest(self, n_features: int) -> Vector:
        """Largest absolute entry of each column."""
        return np.asarray(np.maximum(np.abs(self.lower), np.abs(self.upper)) * np.ones(n_features))

    def facts(self, n_rows: int, n_features: int, sparse: bool) -> Facts:
        """Facts of rows without targets, shift or intercept."""
        return Facts(
            n_rows=n_rows,
            n_features=n_features,
            lower=self.lower,
            upper=self.upper,
            row_norm=self.row_norm,
            sparse=sparse,
        )
