r"""Rows in the coordinates of a public frame, as whole numbers of one unit.

A frame maps a row to :math:`z = ((x_S - \mu)M/R, h)`. Rows X are whole numbers of the lattice's
unit u already. The centre is rounded to whole numbers of u and the matrix to whole numbers of a
power of two v; then :math:`P = (X_S - \mu)M` is a whole number of :math:`uv`, and
:math:`Z = \mathrm{rint}(P/q)` for a power of two q is a whole number of :math:`uvq/R`. The constant
coordinate has a whole height.

Guarantee
---------
*Products.* v is such that :math:`\sum_j (B_j + |\mu_j|)\,|M_{jk}| < 2^{52}` for the bounds B on
entries, all in whole units: every partial sum is below it, so floats hold P exactly, in any order
of summation. Division by a power of two is exact and rounding is a function of one number. So Z is
a function of its record and of the frame alone, whatever part or place the row is in and however it
is stored.

*Norms.* q is such that entries and the height are at most
:math:`E = 2^{\lfloor(50 - \log_2 m)/2\rfloor}` for m coordinates, and at most :math:`2^{24}`: the
sum of the squares of a row is at most :math:`2^{50}`, and exact, and 32-bit floats hold the
entries.

*Margins.* Coefficients are rounded as in `Lattice`, for rows of norm at most :math:`E\sqrt m`:
products are exact.

*Moved rows.* A frame without a matrix whose coordinates are all features, with q = 1, is not
written out: :math:`Z = X - \mu`. The bound for margins is that of entries :math:`B_j + |\mu_j|`, so
that products of X and of :math:`\mu` with coefficients are exact one by one, and so is
:math:`\|Z\|^2 = \|X\|^2 - 2\langle X, \mu\rangle + \|\mu\|^2`, whose parts are below
:math:`2^{52}`. Sums take the difference before they multiply, for only :math:`c_iZ_i` is bounded. A
record that is ignored is :math:`-\mu` here and has slope, square and factor 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import PrivacyError
from ..core.facts import Projection, Vector
from .block import Block
from .kernels import products
from .kernels.available import narrow_pays
from .kernels.interface import Away, Sums, UnitClip
from .lattice import Lattice, LatticeVector, rounded

#: Partial sums of products stay below this power of two.
PRODUCT_BITS = 52
#: Sums of squares stay within this power of two.
SQUARE_BITS = 50
#: Entries stay within this power of two.
ENTRY_BITS = 24
#: Up to this many entries are kept as 64-bit floats for plain kernels; more of them as 32-bit
#: floats, which hold them too.
WIDE_ENTRIES = 2**24
#: Entries that are mapped at once.
PIECE_ENTRIES = 2**16


@dataclass(frozen=True, eq=False)
class FrameLattice:
    """Units and bounds of rows in a frame: public, made of the frame and the lattice alone.

    Parameters
    ----------
    frame : Frame
    lattice : Lattice
        Of the rows.
    """

    frame: Projection
    lattice: Lattice

    @cached_property
    def centre(self) -> Vector:
        """The centre in whole units of the rows."""
        centre = self.frame.centre
        return centre if self.lattice.exact else np.rint(centre / self.lattice.unit)

    @cached_property
    def _bounds(self) -> Vector:
        """Largest entry of each feature of the support from the centre, in units of the rows."""
        return self.lattice.integer_bounds[: self.lattice.facts.n_features][self.frame.support] + np.abs(self.centre)

    @cached_property
    def _step(self) -> float:
        """v: value of one unit of the matrix; a power of two."""
        if self.frame.matrix is None or self.lattice.exact:
            return 1.0
        largest = float((self._bounds @ np.abs(self.frame.matrix)).max(initial=0.0))
        return math.ldexp(1.0, math.frexp(largest)[1] - (PRODUCT_BITS - 1))

    @cached_property
    def matrix(self) -> Vector | None:
        """The matrix in whole units."""
        found = self.frame.matrix
        return found if found is None or self.lattice.exact else np.rint(found / self._step)

    @cached_property
    def _largest(self) -> float:
        """Largest entry of a product, in units of products; refuses what floats would not hold."""
        whole = self._bounds if self.matrix is None else self._bounds @ np.abs(self.matrix)
        largest = float(whole.max(initial=0.0))
        if not largest < 2.0**PRODUCT_BITS:
            raise PrivacyError("a frame lies too far from the rows, or has too large a matrix, for exact products.")
        return largest

    @cached_property
    def coarse(self) -> float:
        """q: units of products in one unit of a framed row; a power of two, at least 1."""
        if self.lattice.exact:
            return 1.0
        height = self.frame.constant * self.frame.length / (self.lattice.unit * self._step)
        limit = 2.0 ** min(ENTRY_BITS, math.floor((SQUARE_BITS - math.log2(max(self.frame.size, 1))) / 2))
        return math.ldexp(1.0, max(0, math.frexp(max(self._largest, height) / limit)[1]))

    @cached_property
    def unit(self) -> float:
        """Value of one unit of a framed row."""
        return self.lattice.unit * self._step * self.coarse / self.frame.length

    @cached_property
    def height(self) -> float:
        """Height of the constant coordinate, in whole units; 0 for none."""
        if self.lattice.exact:
            return self.frame.constant / self.unit
        return max(1.0, float(np.rint(self.frame.constant / self.unit))) * self.frame.free

    def maps_as(self, other: FrameLattice) -> bool:
        """Whether rows have the same whole coordinates in another frame, but for the constant one.

        Length and constant choose the unit and the height, and of the whole numbers the step q alone. Rows of the
        non-private baselines are no whole numbers.
        """
        alike = not self.lattice.exact and self.coarse == other.coarse
        return alike and self.frame.turns_as(other.frame)

    @cached_property
    def norm(self) -> float:
        """Bound on the norm of a row, in units."""
        return (self._largest / self.coarse + self.height + 1) * math.sqrt(self.frame.size) * (1 + 1e-9)

    def rounded(self, w: Vector) -> LatticeVector:
        """Coefficients of the coordinates on the lattice of iterates."""
        if w.shape != (self.frame.size,):
            raise PrivacyError(f"this frame has {self.frame.size} coordinates, and a model needs as many coefficients.")
        return LatticeVector(w.copy(), 1.0, True) if self.lattice.exact else rounded(w, self.norm)


@dataclass(frozen=True, eq=False, repr=False)
class FramedBlock:
    """The rows of a block in the coordinates of a frame: **private**. Records that are ignored are zero.

    `z` holds all coordinates but the constant one, in units, or those of all features before
    `centre` is subtracted, as they are stored; `squares` the squared norms with the constant
    coordinate, in units.
    """

    z: NDArray[Any]
    squares: Vector
    on: FrameLattice
    block: Block
    centre: Vector | None = None

    @property
    def norms(self) -> Vector:
        """Norms of the rows in real units; zero for records that are ignored."""
        return np.asarray(np.sqrt(self.squares) * self.on.unit)

    @cached_property
    def factor_cap(self) -> Vector:
        """Largest whole factor of each row for which it stays within ``Lattice.record_units``, rounded against us.

        0 for a row of zeros.
        """
        # whole numbers: a row that is not zero has norm at least 1
        found = np.floor(self.on.lattice.record_units / np.sqrt(np.maximum(self.squares, 1.0)) * (1 - 2.0**-40))
        return np.where(self.squares > 0, found, 0.0)

    def seen_from(self, on: FrameLattice) -> FramedBlock:
        """The same rows in a frame that maps them alike: squares are whole, so the heights in them change exactly."""
        squares = (self.squares + (on.height**2 - self.on.height**2)) * self.block.present
        return replace(self, squares=squares, on=on)

    def margins(self, w: Vector, offset: float) -> Vector:
        """Products with coefficients plus the offset, in real units."""
        iterate = self.on.rounded(w)
        head, last = iterate.whole[: self.z.shape[1]], iterate.whole[-1] if self.on.frame.free else 0.0
        rows = slice(0, self.z.shape[0])
        found = np.empty(self.z.shape[0])
        with np.errstate(all="ignore"):  # a wild iterate must not tell anything through a warning
            products.kernels_of(self.on.lattice, self.z).forward(self.z, head, found, rows)
            found += self.on.height * float(last) - (0.0 if self.centre is None else float(self.centre @ head))
            found *= iterate.scale * self.on.unit
            found += offset if iterate.known else np.nan
        return found

    def scatter(self, factor: Vector) -> Sums:
        """Sum of factor times row, in units."""
        kind, rows = products.sum_type(self.on.lattice), slice(0, self.z.shape[0])
        total: Sums = np.zeros(self.on.frame.size, dtype=kind)
        kernels = products.kernels_of(self.on.lattice, self.z)
        head = total[: self.z.shape[1]]
        if self.centre is None:
            kernels.scatter(self.z, factor, head, rows, 2.0**ENTRY_BITS)
        else:
            kernels.scatter_from(self.z, self.centre, factor, head, rows)
        if self.on.frame.free:
            total[-1] += kind(self.on.height * float(np.add.reduce(factor)))
        return total

    def unit_scatter(self, factor: Vector, clip: UnitClip) -> Sums:
        """Sum of factor times row of each unit, clipped and truncated, in units: see `queries.unit_sums`."""
        total: Sums = np.zeros(self.on.frame.size, dtype=np.int64)
        ends = np.r_[self.block.unit_starts, self.z.shape[0]]
        centre = np.zeros(self.z.shape[1]) if self.centre is None else self.centre
        kernels = products.unit_kernels(self.on.lattice, self.z)
        kernels.unit_clipped(self.z, centre, self.on.height, factor, ends, clip, total)
        return total

    def whole_rows(self, factor: Vector, step: float) -> Iterator[Vector]:
        """Rows with the constant coordinate times a factor, in whole steps: some at a time, overwritten by the next.

        Every float is made by one operation after the other.
        """
        n, d = self.z.shape
        count = products.whole_count(n, d)
        room = np.empty((count, self.on.frame.size))
        form, ones = Away.from_centre(1.0, np.zeros(d) if self.centre is None else self.centre), np.ones(count)
        for start in range(0, n, max(count, 1)):
            z, own = self.z[start : start + count], factor[start : start + count]
            out = room[: len(z)]
            run = products.kernels_of(self.on.lattice, z)
            run.whole_rows(z, form, ones[: len(z)], own, step, math.inf, out[:, :d])
            out[:, d:] = np.trunc(self.on.height * own / step)[:, None]
            yield out

    def away(self, rows: slice) -> Vector:
        """Some rows in real units, with the constant coordinate; zero for records that are ignored."""
        return self.shown(rows) * (self.block.present[rows, None] * self.on.unit)

    def shown(self, rows: slice) -> Vector:
        """Some rows as floats in units, with the constant coordinate."""
        z = self.z[rows].astype(float) - (0.0 if self.centre is None else self.centre)
        return np.hstack([z, np.full((z.shape[0], self.on.frame.size - z.shape[1]), self.on.height)])


def framed(block: Block, on: FrameLattice) -> FramedBlock:
    """The rows of a block in the coordinates of a frame, some at a time.

    Where these are all features from another centre, the stored rows are kept.
    """
    if _moved(block, on):
        return _from_centre(block, on)
    n, support = block.y.size, on.frame.support
    size = support.size if on.matrix is None else on.matrix.shape[1]
    z, squares = np.empty((n, size), dtype=_stored(n * size, on)), np.empty(n)
    count = max(1, PIECE_ENTRIES // max(support.size, size, 1))
    room, other = np.empty((min(count, n), support.size)), np.empty((min(count, n), size))
    for start in range(0, n, count):
        rows = slice(start, min(start + count, n))
        away = _away(block.rows(rows), on, room[: min(count, n - start)])
        mapped = away if on.matrix is None else np.matmul(away, on.matrix, out=other[: away.shape[0]])
        if not on.lattice.exact and on.coarse != 1.0:  # whole already
            mapped /= on.coarse
            np.rint(mapped, out=mapped)
        z[rows] = mapped
        squares[rows] = (np.einsum("ij,ij->i", mapped, mapped) + on.height**2) * block.present[rows]
    return FramedBlock(z, squares, on, block)


def _away(piece: Block, on: FrameLattice, out: Vector) -> Vector:
    """Write some rows on the support from the centre, in units, into `out`; zero for records that are ignored."""
    support, alive = on.frame.support, piece.present
    if piece.sparse or on.lattice.exact or not products.every_feature(support, on.lattice):
        np.subtract(products.shifted_columns(piece, on.lattice, support), on.centre, out=out)
        out *= alive[:, None]
    else:  # whole steps of 1, which whole numbers are
        form, run = Away.from_centre(1.0, on.centre), products.kernels_of(on.lattice, piece.x)
        run.whole_rows(piece.x, form, alive, np.ones(alive.size), 1.0, math.inf, out)
    return out


def _moved(block: Block, on: FrameLattice) -> bool:
    """Whether the frame only moves narrow rows: no matrix, no coarser unit, and every feature in its place."""
    lattice = on.lattice
    if block.sparse or lattice.exact or on.matrix is not None or on.coarse != 1.0 or not lattice.exact_squares:
        return False
    return block.x.dtype.kind == "i" and products.every_feature(on.frame.support, lattice)


def _from_centre(block: Block, on: FrameLattice) -> FramedBlock:
    """Stored rows and a centre: squares are mended by one product, which is exact as all squares are."""
    squares = block.squares - on.lattice.height**2
    if np.any(on.centre):
        product, rows = np.empty(block.y.size), slice(0, block.y.size)
        products.kernels_of(on.lattice, block.x).forward(block.x, on.centre, product, rows)
        squares += float(on.centre @ on.centre) - 2 * product
    return FramedBlock(block.x, (squares + on.height**2) * block.present, on, block, on.centre)


def _stored(entries: int, on: FrameLattice) -> type[np.floating[Any]]:
    """32-bit floats where compiled kernels read them as they are or there are very many.

    Entries are whole and within 2^24.
    """
    if on.lattice.exact:
        return np.float64
    return np.float32 if entries > WIDE_ENTRIES or narrow_pays(entries) else np.float64
