r"""The effects of columns as functions that people can read: post-processing of what a fit released.

The shape of a column is :math:`f(x) = (b(x) - b(x_0))'\,c` with its terms b, their coefficients c and
a public reference :math:`x_0`. With intervals, c and its covariance S come from the rows that did not
select, and the band is :math:`f(x) \pm z\sqrt{(b(x) - b(x_0))' S (b(x) - b(x_0))}`: pointwise with a
normal quantile z, for all x together with :math:`z^2` the quantile of :math:`\chi^2_K` (Scheffé).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, gammaincinv, ndtri

from ..core import checks
from ..core.facts import Vector
from ..fitting import Matrix
from ..fitting.shapes import monotone
from ..io.scikit import BaseEstimator, TransformerMixin, check_is_fitted
from ..rows.margins import served
from ..rows.records import Records
from ..rows.row_bounds import RowBounds
from ..rows.shapes import Basis, Curve, NumberColumn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..rows.records import Records as Rows
    from .intervals import Intervals

#: Points of a curve that is drawn or listed.
POINTS = 41


@dataclass(frozen=True, eq=False)
class ShapeFunction:
    """The effect of one column, relative to its reference. All of it may be published.

    Attributes
    ----------
    column, unit, kind : str
        Kind: ``line``, ``smooth``, ``monotone`` or ``steps``.
    terms : int
    reference : float
        Where the effect is zero.
    grid : array of shape (points,)
        Values of the column, in the user's units.
    value : array of shape (points,) or (classes, points)
        What the column adds to the margin (of two classes: to the log-odds), against the reference.
    low, high : arrays or None
        The band, where intervals were asked for and the column was selected.
    level : float
        Of the band.
    simultaneous : bool
        Whether the band holds for all values together.
    p : float or None
        p-value of "the column has no effect" (Wald test of all terms).
    """

    column: str
    unit: str
    kind: str
    terms: int
    reference: float
    grid: Vector
    value: Vector
    low: Vector | None
    high: Vector | None
    level: float
    simultaneous: bool
    p: float | None

    @property
    def size(self) -> float:
        """From the least to the largest effect."""
        return float(np.max(np.ptp(np.atleast_2d(self.value), axis=1)))

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        kind = "line" if self.kind == "line" else f"{self.kind} ({self.terms} terms)"
        head = f"{self.column}: {kind}; 0 at {self.reference:g}{unit}"
        if self.low is not None:
            head += f"; band of {self.level:.0%}" + (", all values together" if self.simultaneous else "")
        shown = range(0, self.grid.size, max(1, (self.grid.size - 1) // 4))
        lines = []
        for i in shown:
            values = " ".join(f"{v:10.4g}" for v in np.atleast_2d(self.value)[:, i])
            ends = "" if self.low is None or self.high is None else f"  [{self.low[i]:.4g}, {self.high[i]:.4g}]"
            lines.append(f"  {self.grid[i]:10.5g}{unit} {values}{ends}")
        return "\n".join([head, *lines])


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each column adds to the margins of some rows, against a public reference row: **as private as the rows**.

    Attributes
    ----------
    columns : tuple of str
    values : array of shape (rows, columns) or (classes, rows, columns)
    base : float or array
        The margin of the reference row; values of a row and the base sum to its margin.
    """

    columns: tuple[str, ...]
    values: Vector
    base: Vector


class ShapeTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The map of a fitted model's shapes for scikit-learn pipelines: rows in, one column for each coefficient out.

    Learns nothing; the columns that come out are clipped as those of the fit were, so that a linear
    model with `coef_` and `intercept_` behind it predicts as the model does.

    Parameters
    ----------
    basis : Basis or None
        None: rows are clipped and stay as they are otherwise.
    bounds : RowBounds or None
    """

    def __init__(self, basis: Basis | None = None, bounds: RowBounds | None = None) -> None:
        self.basis = basis
        self.bounds = bounds

    def fit(self, X: object, y: object = None) -> Self:
        """Learns nothing."""
        self.n_features_in_ = Records.of(X).shape[1] if self.basis is None else self.basis.n_features
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: object) -> Vector:
        """The terms of rows."""
        blocks = list(served(Records.of(X).expanded(self.basis), self.bounds))
        return np.vstack([np.asarray(b.toarray() if hasattr(b, "toarray") else b) for b in blocks])


class ShapesMixin:
    """Shapes of a fitted model; not for direct use."""

    coef_: Vector
    intercept_: Vector | float
    n_features_in_: int
    intervals_: Intervals

    @property
    def basis_(self) -> Basis | None:
        """The public map of a record to the terms of a fitted model; None: all columns are lines."""
        return vars(self).get("_basis")

    @property
    def fitted_bounds(self) -> RowBounds | None:
        """To what rows are clipped wherever a fitted model is applied: the bounds of its fit.

        None for models of releases that did not keep them.
        """
        return vars(self).get("_fitted_bounds")

    def _column_names(self) -> list[str]:
        names = vars(self).get("feature_names_in_")
        if names is not None:
            return [str(name) for name in names]
        found = {j: one.name for j, one in self._numbers().items()}
        return [found.get(j, f"column {j}") for j in range(self.n_features_in_)]

    def term_names(self) -> list[str]:
        """The name of each coefficient: a column's, or "age [2]" for the second term of its curve."""
        names = self._column_names()
        return names if self.basis_ is None else self.basis_.names(names)

    def shape_transformer(self) -> ShapeTransformer:
        """The public map from rows to the columns that have coefficients, as a fitted scikit-learn transformer."""
        check_is_fitted(self, "coef_")
        return ShapeTransformer(self.basis_, self.fitted_bounds).fit(np.zeros((1, self.n_features_in_)))

    # ---------------------------------------------------------------------------------------------- curves

    def shape_(
        self, column: str | int, grid: ArrayLike | None = None, *, level: float = 0.95, simultaneous: bool = False
    ) -> ShapeFunction:
        """The effect of a column of numbers, relative to its reference, with its band where there are intervals.

        Parameters
        ----------
        column : str or int
            By name, or by number.
        grid : array or None
            Values in the user's units; None: 41 between the declared bounds.
        level : float
        simultaneous : bool
            Whether the band holds for all values together; False: for each by itself.
        """
        curve, place, scale = self._curve(column)
        values = np.linspace(curve.of.low, curve.of.high, POINTS) if grid is None else np.asarray(grid, dtype=float)
        design = (curve.at(values) - curve.at(curve.reference)) * scale
        coef, covariance = self._terms(place)
        value = _drawn(curve, coef) @ design.T
        low = high = p = None
        if covariance is not None:
            error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", design, covariance, design), 0.0))
            off = _quantile(checks.fraction(level, "level"), curve.terms if simultaneous else None) * error
            low, high = coef @ design.T - off, coef @ design.T + off
            p = float(chdtrc(curve.terms, coef @ np.linalg.pinv(covariance) @ coef))
        return ShapeFunction(
            column=self._column_names()[curve.of.column],
            unit=curve.of.unit,
            kind=curve.kind,
            terms=curve.terms,
            reference=curve.reference,
            grid=values,
            value=value[0] if value.shape[0] == 1 else value,
            low=low,
            high=high,
            level=level,
            simultaneous=simultaneous,
            p=p,
        )

    @property
    def shapes_(self) -> tuple[ShapeFunction, ...]:
        """The curves of the model that are not zero, the largest effect first."""
        basis = self.basis_
        found = [self.shape_(curve.of.column) for curve in ([] if basis is None else basis.curves)]
        return tuple(sorted((one for one in found if one.size > 0), key=lambda one: -one.size))

    def contrast(self, column: str | int, value: float, other: float, *, level: float = 0.95) -> tuple[float, ...]:
        """What `value` instead of `other` of a column adds to the margin.

        With intervals: the difference and the ends of its interval. Without: the difference alone; of
        many classes, one for each.
        """
        curve, place, scale = self._curve(column)
        design = (curve.at(value) - curve.at(other))[0] * scale
        coef, covariance = self._terms(place)
        found = _drawn(curve, coef) @ design
        if covariance is None:
            return tuple(found.tolist())
        off = _quantile(checks.fraction(level, "level"), None) * math.sqrt(
            max(float(design @ covariance @ design), 0.0)
        )
        middle = float(coef @ design)
        return float(found[0]), middle - off, middle + off

    def plot_shapes(self, where: str | PathLike[str] | Axes | None = None, column: str | int | None = None) -> Axes:
        """Draw a column's curve, or the curve with the largest effect, with its band where there is one.

        On the current axes of pyplot, on given ones, or in a file; returns the axes. Needs the extra `plots`.
        """
        from ..report.fitted_model import plot_shape

        if column is None and not self.shapes_:
            raise ValueError("this model has no curve. Fit it with shapes='smooth', or name a column.")
        return plot_shape(self.shapes_[0] if column is None else self.shape_(column), where)

    def explain(self, X: object) -> Contributions:
        """What each column adds to the margin of each row, against a public reference row.

        The reference row has every number at its reference (the middle of its bounds, or what the
        dictionary declares) and every 0/1 column at 0. Contributions and base sum to the margin.
        """
        check_is_fitted(self, "coef_")
        terms = np.vstack([np.asarray(x.toarray() if hasattr(x, "toarray") else x) for x in self._served(X)])
        basis = Basis(self.n_features_in_, ()) if self.basis_ is None else self.basis_
        reference = self._reference(basis)
        coef = np.atleast_2d(self.coef_)
        parts = [np.add.reduceat((terms - reference) * w, basis.starts[:-1], axis=1) for w in coef]
        base = coef @ reference + np.atleast_1d(self.intercept_)
        one = coef.shape[0] == 1
        return Contributions(
            tuple(self._column_names()), parts[0] if one else np.array(parts), base[0] if one else base
        )

    # ---------------------------------------------------------------------------------------------- parts

    def _served(self, X: object) -> Iterator[Matrix]:
        return served(self._read_applied(X), self.fitted_bounds)

    def _read_applied(self, X: object) -> Rows:
        raise NotImplementedError

    def _numbers(self) -> dict[int, NumberColumn]:
        """What a dictionary says about columns of numbers, by column."""
        dictionary = vars(self).get("dictionary_")
        known = () if dictionary is None else dictionary.output_bounds().numbers
        own = () if self.basis_ is None else (*self.basis_.others, *(curve.of for curve in self.basis_.curves))
        return {one.column: one for one in (*known, *own)}

    def _reference(self, basis: Basis) -> Vector:
        """The terms of the reference row."""
        found, numbers = np.zeros(basis.width), self._numbers()
        bounds = self.fitted_bounds
        if bounds is not None:
            lower, upper = (np.asarray(v * np.ones(basis.width)) for v in (bounds.lower, bounds.upper))
            middle = np.where((lower == 0) & (upper == 1), 0.0, lower + (upper - lower) / 2)
            found[basis.starts[basis.lines]] = middle[basis.starts[basis.lines]]
        for j in basis.lines:
            one = numbers.get(int(j))
            if one is not None and one.reference is not None:
                found[basis.starts[j]] = 2 * (one.reference - one.low) / (one.high - one.low) - 1  # as it is encoded
        for curve in basis.curves:
            found[basis.place(curve)] = curve.at(curve.reference)[0]
        return found

    def _curve(self, column: str | int) -> tuple[Curve, slice, float]:
        """The curve of a column, the place of its coefficients, and what its terms are multiplied with."""
        check_is_fitted(self, "coef_")
        numbers, names = self._numbers(), self._column_names()
        places = {one.name: j for j, one in numbers.items()} | {name: j for j, name in enumerate(names)}
        j = column if isinstance(column, int | np.integer) else places.get(column, -1)
        if not 0 <= j < self.n_features_in_:
            raise ValueError(f"{column!r} is no column of this model.")
        basis = self.basis_
        bent = None if basis is None else next((curve for curve in basis.curves if curve.of.column == j), None)
        if basis is not None and bent is not None:
            return bent, basis.place(bent), 1.0
        bounds = self.fitted_bounds
        if bounds is None:
            raise ValueError("this model does not keep the bounds of its fit: fit it again.")
        start = int(j) if basis is None else int(basis.starts[j])
        low, high = (float(np.broadcast_to(v, self.coef_.shape[-1:])[start]) for v in (bounds.lower, bounds.upper))
        own = numbers.get(int(j), NumberColumn(int(j), names[j], low, high))
        return Curve(own, "line", 1, 0.0, low, high), slice(start, start + 1), (high - low) / 2

    def _terms(self, place: slice) -> tuple[Vector, Vector | None]:
        """Coefficients of some terms and their covariance; those of the intervals where all of them have some."""
        intervals: Intervals | None = vars(self).get("intervals_")
        wanted = list(range(place.start, place.stop))
        if intervals is None or not set(wanted) <= set(intervals.columns):
            coef = self.coef_[..., place]
            return (coef[0] if coef.ndim > 1 and coef.shape[0] == 1 else coef), None
        own = [intervals.columns.index(j) for j in wanted]
        return intervals.estimate[own], intervals.covariance[np.ix_(own, own)]


def _drawn(curve: Curve, coef: Vector) -> Vector:
    """The coefficients of the curve that is shown, one row for each class: a monotone one where that is declared."""
    return np.atleast_2d(monotone(curve, coef) if curve.kind == "monotone" else coef)


def _quantile(level: float, terms: int | None) -> float:
    return float(-ndtri((1 - level) / 2) if terms is None else math.sqrt(2 * gammaincinv(terms / 2, level)))


def names_or_none(model: ShapesMixin) -> list[str] | None:
    """Names of coefficients, where columns have names or are curves."""
    known = "feature_names_in_" in vars(model) or model.basis_ is not None
    return model.term_names() if known else None
