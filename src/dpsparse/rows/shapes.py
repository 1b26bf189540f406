r"""Shapes: a public map of one record that lets the effect of a column of numbers bend.

.. math:: x \mapsto \bigl(P_1(u),\ P_2(u)/2^a,\ \dots,\ P_K(u)/K^a\bigr), \qquad u = 2\,\frac{\bar x - l}{h - l} - 1,

with Legendre polynomials :math:`P_k` and :math:`\bar x` clipped to the declared bounds
:math:`[l, h]`. Every term is declared to lie in [-1, 1], so that the divisors :math:`k^a` are a prior
in the geometry of every solver: higher terms cost more. ``steps`` has the terms
:math:`\operatorname{sign}(u - t_k)` at equidistant :math:`t_k` instead.

Guarantee
---------
What becomes of a record depends on that record and on public numbers alone, so the map has no price.
It is exactly rounded arithmetic on single entries: a record has the same bytes alone and together with other rows.
A record with a cell that is no finite number has terms that are NaN, and is ignored. A
gap, where the column has an indicator for it, is zero in all terms of the column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.facts import Vector
from .unread import CheckedColumns

if TYPE_CHECKING:
    from .records import Records

#: What a column may be declared to be, and what a whole fit may be asked for.
SHAPES, ASKED = ("line", "smooth", "monotone", "steps"), ("line", "smooth", "auto")


@dataclass(frozen=True)
class NumberColumn:
    """What is publicly known about a column of numbers.

    Parameters
    ----------
    column : int
        Its place among the columns of the rows.
    name : str
    low, high : float
        Its bounds in the units of the user's table; rows may hold the column in other units.
    unit : str
    shape : {"line", "smooth", "monotone", "steps"} or None
        None: as the fit is asked for.
    gap : int or None
        The column that says whether the value is missing.
    reference : float or None
        Where its shape is zero, in the user's units; None: the middle of the bounds.
    """

    column: int
    name: str
    low: float
    high: float
    unit: str = ""
    shape: str | None = None
    gap: int | None = None
    reference: float | None = None

    def moved(self, by: int) -> NumberColumn:
        """The same, with that number of columns before it."""
        return replace(self, column=self.column + by, gap=None if self.gap is None else self.gap + by)


@dataclass(frozen=True)
class Curve:
    """One column as the terms of a curve. All of it is public.

    Parameters
    ----------
    of : NumberColumn
    kind : {"smooth", "monotone", "steps"}
    terms : int
        K.
    decay : float
        a: term k is divided by k to this power.
    lower, upper : float
        Bounds of the column as rows hold it.
    """

    of: NumberColumn
    kind: str
    terms: int
    decay: float
    lower: float
    upper: float

    def values(self, x: Vector) -> Vector:
        """The terms of values of the column, as rows hold it: an array of shape (values, terms)."""
        finite = np.isfinite(x)
        middle, half = self.lower + (self.upper - self.lower) / 2, (self.upper - self.lower) / 2
        u = np.clip((np.where(finite, x, 0.0) - middle) / half, -1.0, 1.0)
        out = np.empty((u.size, self.terms))
        if self.kind == "steps":
            for k in range(self.terms):
                out[:, k] = np.where(u < 2 * (k + 1) / (self.terms + 1) - 1, -1.0, 1.0)
        else:
            for k, term in enumerate(legendre(u, self.terms)):
                out[:, k] = term / float(k + 1) ** self.decay
        out[~finite] = np.nan
        return out

    def at(self, values: object) -> Vector:
        """The terms at values in the units of the user's table."""
        given = np.atleast_1d(np.asarray(values, dtype=float))
        share = (given - self.of.low) / (self.of.high - self.of.low)
        return self.values(self.lower + share * (self.upper - self.lower))

    @property
    def reference(self) -> float:
        """Where the shape is zero, in the user's units."""
        return self.of.low + (self.of.high - self.of.low) / 2 if self.of.reference is None else self.of.reference

    @property
    def square(self) -> float:
        """The largest sum of squares of its terms."""
        return math.fsum(1.0 if self.kind == "steps" else k ** (-2 * self.decay) for k in range(1, self.terms + 1))

    def __str__(self) -> str:
        return f"{self.of.name}: {self.kind} ({self.terms} terms)"


def legendre(u: Vector, terms: int) -> Iterator[Vector]:
    """P_1 to P_K of numbers in [-1, 1], by Bonnet's recursion.

    Examples
    --------
    >>> [float(p[0]) for p in legendre(np.array([0.5]), 3)]
    [0.5, -0.125, -0.4375]
    """
    before, now = np.ones_like(u), u
    for k in range(1, terms + 1):
        yield now
        before, now = now, ((2 * k + 1) * u * now - k * before) / (k + 1)


@dataclass(frozen=True)
class Basis:
    """The map of a record, some columns of which are curves. All of it is public.

    The terms of a curve stand in the place of its column. Columns that are no curves stay as they are.

    Parameters
    ----------
    n_features : int
        Columns that come in.
    curves : tuple of Curve
        In the order of their columns.
    others : tuple of NumberColumn
        Columns of numbers that a dictionary describes and that stay lines.

    Examples
    --------
    >>> basis = Basis(2, (Curve(NumberColumn(1, "age", 0.0, 100.0), "smooth", 2, 0.5, 0.0, 100.0),))
    >>> basis.rows(np.array([[7.0, 100.0], [7.0, 50.0]])).round(3).tolist()
    [[7.0, 1.0, 0.707], [7.0, 0.0, -0.354]]
    """

    n_features: int
    curves: tuple[Curve, ...]
    others: tuple[NumberColumn, ...] = ()

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The first place of each column that comes in, among those that come out; last, their number."""
        sizes = np.ones(self.n_features, dtype=np.intp)
        for curve in self.curves:
            sizes[curve.of.column] = curve.terms
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @property
    def width(self) -> int:
        """Columns that come out."""
        return int(self.starts[-1])

    @cached_property
    def parents(self) -> NDArray[np.intp]:
        """The column that each one comes from."""
        return np.repeat(np.arange(self.n_features), np.diff(self.starts))

    @cached_property
    def lines(self) -> NDArray[np.intp]:
        """Columns that stay as they are, by their number among those that come in."""
        bent = {curve.of.column for curve in self.curves}
        return np.array([j for j in range(self.n_features) if j not in bent], dtype=np.intp)

    def place(self, curve: Curve) -> slice:
        """Where the terms of a curve stand."""
        return slice(int(self.starts[curve.of.column]), int(self.starts[curve.of.column + 1]))

    def rows(self, x: Any) -> Vector:
        """Rows behind the map."""
        rows = np.asarray(x.toarray() if sp.issparse(x) else x, dtype=float)
        out = np.empty((rows.shape[0], self.width))
        out[:, self.starts[self.lines]] = rows[:, self.lines]
        for curve in self.curves:
            terms = curve.values(rows[:, curve.of.column])
            if curve.of.gap is not None:
                terms[rows[:, curve.of.gap] >= 0.5] = 0.0
            out[:, self.place(curve)] = terms
        return out

    def __call__(self, source: Records) -> Records:
        """Some rows behind the map, where they are."""
        return source.expanded(self)

    def bounds(self, lower: Any, upper: Any, row_norm: float, *, structural: bool) -> tuple[Vector, Vector, float]:
        r"""Bounds of the rows that come out, from those of the rows that come in.

        A curve of K terms has squares that sum to at most :math:`S = \sum_k k^{-2a}`. A dictionary's
        row norm sums the squares of its columns, of which a curve's is 1 (a gap with its indicator
        included, and :math:`S \ge 1`), so that S takes the place of 1 (`structural`). Any other row
        norm is taken for the columns that stay lines, and curves are added to it.
        """
        every = np.ones(self.n_features)
        low, high = (np.array(v * every, dtype=float)[self.parents] for v in (lower, upper))
        for curve in self.curves:
            low[self.place(curve)], high[self.place(curve)] = -1.0, 1.0
        squares = math.fsum(curve.square for curve in self.curves)
        if structural:
            rest = row_norm**2 - len(self.curves)
        else:
            largest = np.maximum(np.abs(lower * every), np.abs(upper * every))[self.lines]
            rest = min(float(largest @ largest), row_norm**2)
        return low, high, math.sqrt(max(rest, 0.0) + squares)

    def checked(self, columns: CheckedColumns) -> CheckedColumns:
        """The checked columns behind rows, as those that come out have them."""
        filled = self.rows(columns.filled[None, :])[0]
        return CheckedColumns(columns.names, columns.owners[self.parents], filled)

    def names(self, given: Sequence[str]) -> list[str]:
        """Names of the columns that come out: those of lines, and "age [2]" for the second term of a curve."""
        found = [str(given[j]) for j in self.parents]
        for curve in self.curves:
            place = self.place(curve)
            found[place] = [f"{given[curve.of.column]} [{k}]" for k in range(1, curve.terms + 1)]
        return found

    def __str__(self) -> str:
        return ", ".join(map(str, self.curves))
