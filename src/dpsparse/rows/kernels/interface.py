r"""What a kernel offers: products of stored rows with numbers, over a range of rows.

Guarantee
---------
Entries, coefficients and factors are whole numbers (in floats, but for stored entries), and what is
asked for is a whole number that floats or 64-bit integers hold. So a product has one right value,
and every implementation gives it, in whatever order and in however many threads it adds. What each
function needs for that is said there; `products` is the only caller, and gives the reasons.

Nothing is checked here but what `products` cannot know. The interpreter's lock is released while
compiled loops run. Sums are added to arrays of the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...core.facts import Vector
from ..lattice import Lattice

Matrix = Any  # a numpy array or a CSR matrix
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
Sums = NDArray[Any]  # 64-bit integers on the lattice, floats beside it


@dataclass(frozen=True, eq=False, repr=False)
class WholeRows:
    """Dense rows on the lattice, shifted, and what is known of them (see `rows.block.Block`): **private**."""

    stored: NDArray[Any]
    finite: Mask
    squares: Vector
    largest: Vector


@dataclass(frozen=True, eq=False)
class Away:
    """Rows times a unit, clipped to an interval of their column before it, less a centre in real units; all public."""

    unit: float
    centre: Vector
    lower: Vector
    upper: Vector

    @classmethod
    def from_centre(cls, unit: float, centre: Vector) -> Away:
        """Not clipped."""
        every = np.full(centre.size, np.inf)
        return cls(unit, centre, -every, every)


@dataclass(frozen=True, eq=False)
class UnitClip:
    """What the sum over the rows of a unit is clipped to; public, one number for each coordinate, the constant last.

    `weights` are those of coordinates in the norm, which stays within `limit`; entries stay within
    `entry`, and within `columns` after that.
    """

    weights: Vector
    limit: float
    entry: float
    columns: Vector


class Kernels(Protocol):
    """An implementation."""

    def forward(self, x: Matrix, w: Vector, out: Vector, rows: slice) -> None:
        """Write the products of some rows with coefficients into ``out[rows]``; with each column of a matrix of them.

        Every sum of some of the terms of a row is below 2^53.
        """
        ...

    def forward_columns(self, x: Matrix, which: Indices, w: Vector, out: Vector) -> None:
        """Add the products of all rows with coefficients of a few columns to `out`; `x` is dense, or sparse by columns.

        Every sum of some of the terms of a row is below 2^53, with what `out` held.
        """
        ...

    def scatter(self, x: Matrix, factor: Vector, acc: Sums, rows: slice, bound: float) -> None:
        r"""Add the sum of factor times row over some rows to `acc`.

        Of a matrix of factors, one column for each of its columns.

        Dense rows: the absolute terms of each column add up to at most 2^52. Sparse rows: entries
        are at most `bound`, factors at most 2^36, and there may be terms whose sum 64 bits do not
        hold: sums are right modulo 2^64.
        """
        ...

    def scatter_from(self, x: Matrix, centre: Vector, factor: Vector, acc: Sums, rows: slice) -> None:
        """As `scatter` of dense rows, measured from a whole centre: it is their terms that add up to at most 2^52."""
        ...

    def interval_scatter(self, x: Matrix, factor: Vector, low: Vector, high: Vector, acc: Sums, rows: slice) -> None:
        """As `scatter` of dense rows, of entries clipped to an interval of their column.

        Entries are measured from the lower end of the interval.
        """
        ...

    def quantise(self, x: Matrix, lattice: Lattice, made: WholeRows) -> None:
        """Clip dense rows as they came and put them on a lattice; rows that are not finite are zero."""
        ...

    def away_squares(self, x: Matrix, form: Away, alive: Vector, out: Vector) -> None:
        """Write the sum of squares of each dense row as `form` says into `out`; rows that are not alive are zero.

        Every float is made by one operation after the other, and squares are added from the first
        column to the last: the same bytes wherever a row stands.
        """
        ...

    def whole_rows(
        self, x: Matrix, form: Away, alive: Vector, factor: Vector, step: float, most: float, out: Vector
    ) -> None:
        """Write dense rows as `form` says, without its clips, times a factor and in whole steps, into `out`.

        Every float is made as in `away_squares`. Steps stay within `most`.
        """
        ...

    def gather(self, x: Matrix, which: Indices, factor: Vector, acc: Sums, bound: float) -> None:
        """As `scatter` over all rows, for a few columns; `x` is dense, or sparse by columns."""
        ...

    def ordered_squares(self, x: Matrix, squared: Vector, less: Vector, out: Vector) -> None:
        """Write the sum of ``(entry ** 2 - less[j]) * squared[j]`` of each row into `out`.

        Sparse rows do not look at `less`.

        Floats that are not whole: every operation as it is written, from the first column to the
        last. One for each column of a matrix `squared`.
        """
        ...

    def grid_sums(self, values: Vector, weights: NDArray[np.int64], grid: Vector, sums: NDArray[np.int64]) -> None:
        """Add the weight of each value to the sum of the first point of a grid that is no less, or to the last sum.

        The grid increases; no point of it is less than what is not a number.
        """
        ...

    def clipped_scatter(self, x: Matrix, factor: Vector, limits: Vector, acc: Sums, rows: slice) -> None:
        """As `scatter`, with every factor times entry clipped to the limit of its column, a whole number."""
        ...

    def unit_clipped(
        self, x: Matrix, centre: Vector, height: float, factor: Vector, ends: Indices, clip: UnitClip, acc: Sums
    ) -> None:
        """Add the sum of factor times row of each unit, clipped and truncated, to `acc`.

        Dense rows are measured from a whole centre; sparse rows do not look at it. The constant
        coordinate, last, is `height` where `acc` has one more entry than rows have columns. Rows of unit
        u are those from ``ends[u]`` up to ``ends[u + 1]``. Sums of some of the terms of a unit are below
        2^53. What is no whole number is made by one operation after the other, and squares are added
        from the first coordinate to the last.
        """
        ...


def owners(x: Any) -> Indices:
    """Row of each stored entry of a CSR matrix."""
    return np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))


def entries_of(x: Matrix) -> int:
    """How many entries are stored."""
    return int(x.size if isinstance(x, np.ndarray) else x.data.size)
