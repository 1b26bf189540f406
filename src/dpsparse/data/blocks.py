"""How rows are stored: blocks of integers, sanitised once, with the few products that sums are made of.

Faster kernels belong behind `Storage`: everything above it sees blocks, factors and integer sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..facts import Facts, Vector
from ..privacy.errors import DataError

#: The largest entry of a row, in units of the lattice of rows.
ROW_UNITS = 2.0**16
#: Rows of a block: 2^36 (the clip of one record) times this stays below 2^53.
BLOCK_ROWS = 2**16
#: Where columns are shifted implicitly, x'c can be far larger than the shifted sum: blocks are shorter and factors are
#: held below `Storage.factor_limit`, so that x'c and its shift are both exact.
SHIFTED_BLOCK_ROWS = 2**10
#: Dense blocks are converted to float64 in pieces of about this many entries.
BLOCK_ENTRIES = 2**22

Matrix = Any  # a numpy array or a CSR matrix
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass
class Block:
    """Some rows. `squares` and `largest` are of the shifted row with its intercept, in units of the lattice."""

    x: Matrix
    y: Vector
    alive: Vector
    squares: Vector
    largest: Vector
    whole: bool = True
    csc: Any = None

    def rows(self, which: Indices) -> Block:
        """Some of the rows, as a block of their own."""
        return Block(
            self.x[which], self.y[which], self.alive[which], self.squares[which], self.largest[which], whole=False
        )

    def columns(self, which: Indices) -> Matrix:
        """Some columns, through a copy by columns for sparse rows."""
        if not sp.issparse(self.x):
            return self.x[:, which].astype(float, copy=False)
        if not self.whole:
            return self.x[:, which]
        if self.csc is None:
            self.csc = self.x.tocsc()
        return self.csc[:, which]


@dataclass(frozen=True, kw_only=True)
class Storage:
    """The lattice of rows and the products on it.

    Attributes
    ----------
    unit : float
        h_x: the value of one unit of a stored entry.
    repeat : float
        Stored entries count this many units: more than 1 for integers kept as they came, so that shifts are whole units.
    shift : array
        Implicit shift, in units; zero where rows are stored shifted.
    height : float
        Height of the intercept column, in units.
    factor_limit : float
        Largest factor for which products with unshifted rows are exact.
    """

    facts: Facts
    lattice: bool
    as_given: bool
    sparse: bool
    unit: float
    repeat: float
    shift: Vector
    stored_shift: Vector
    shifted: bool
    height: float
    factor_limit: float

    @classmethod
    def choose(cls, X: Matrix, facts: Facts, lattice: bool) -> Storage:
        """Pick the storage from the type of X and the facts: public things only.

        Integers stay as they came where the bounds are integers and no row clip can act. Other dense rows are stored
        shifted, as float32 integers; sparse rows keep their zeros and are shifted after every product.
        """
        sparse = sp.issparse(X)
        if sparse and (np.any(np.asarray(facts.lower) > 0) or np.any(np.asarray(facts.upper) < 0)):
            raise DataError("sparse rows hold zeros, so feature_bound must contain zero for every feature.")
        largest = np.maximum(np.abs(facts.lower), np.abs(facts.upper)) * np.ones(facts.n_features)
        as_given = bool(
            not sparse
            and X.dtype.kind in "biu"
            and _integral(facts.lower)
            and _integral(facts.upper)
            and facts.row_norm >= np.linalg.norm(largest)
            and largest.max() <= ROW_UNITS / 2
            and _holds(X.dtype, facts.lower, facts.upper)
        )
        shift = np.asarray(facts.shift * np.ones(facts.n_features))
        implicit = as_given or sparse
        unit = facts.entry_bound / ROW_UNITS
        if as_given:  # midpoints of integers are whole or half; other centres get a finer unit
            unit = 0.5 if _integral(2 * shift) else 2.0**-8
        if not lattice:
            unit = 1.0
        elif implicit:
            shift = np.rint(shift / unit)
        none = np.zeros_like(shift)
        raw = (float(largest.max()) + float(np.abs(facts.shift).max())) / unit
        shifted = implicit and bool(np.any(shift))
        return cls(
            facts=facts,
            lattice=lattice,
            as_given=as_given,
            sparse=sparse,
            unit=unit,
            repeat=1.0 / unit if as_given else 1.0,
            shift=shift if implicit else none,
            stored_shift=none if implicit else shift,
            shifted=shifted,
            height=max(1.0, float(np.rint(facts.intercept / unit))) * facts.free if lattice else facts.intercept,
            factor_limit=2.0**52 / (SHIFTED_BLOCK_ROWS * max(raw, 1.0)) if shifted and lattice else np.inf,
        )

    @property
    def applied_shift(self) -> Vector:
        """The shift that rows really have, in real units: the declared one, rounded to the lattice where implicit."""
        return self.shift * self.unit + self.stored_shift

    @property
    def coordinate_bounds(self) -> Vector:
        """Largest absolute stored entry of each coordinate, in real units, with the intercept column.

        Clipping and truncation keep ``|x_ij - shift_j|`` within its half-width; an implicit shift that was rounded to the
        lattice can add half a unit, and whole units are what is stored.
        """
        bounds = self.facts.half_widths
        if self.lattice:
            bounds = np.floor(bounds / self.unit * (1 + 1e-12) + (0.5 if self.shifted else 0.0)) * self.unit
        return np.asarray(np.r_[bounds, [self.height * self.unit] * self.facts.free])

    @property
    def norm_bound(self) -> float:
        """Largest l2 norm of a stored row, in real units, with the intercept column.

        The declared bound, plus half a unit per coordinate for a rounded implicit shift and for the intercept's height.
        """
        rounding = 0.5 * self.unit * (float(np.sqrt(self.facts.n_features)) if self.shifted else 0.0) + self.unit
        declared = self.facts.norm_bound * (1 + 1e-9) + (rounding if self.lattice else 0.0)
        return min(declared, float(np.linalg.norm(self.coordinate_bounds)))

    # ---------------------------------------------------------------------------------------------- sanitising

    def blocks(self, X: Matrix, y: Vector) -> Iterator[Block]:
        """Sanitise: non-finite records become empty, entries, rows and targets are clipped, entries go on the lattice."""
        rows = SHIFTED_BLOCK_ROWS if self.shifted and self.lattice else BLOCK_ROWS
        if not self.sparse:
            rows = max(1, min(rows, BLOCK_ENTRIES // max(1, self.facts.n_features)))
        for start in range(0, X.shape[0], rows):
            part = slice(start, start + rows)
            x, finite = self._sparse_rows(X[part]) if self.sparse else self._dense_rows(X[part])
            finite &= np.isfinite(y[part])
            target = np.clip(np.where(finite, y[part], 0.0), -self.facts.target_bound, self.facts.target_bound)
            squares, largest = self._norms(x)
            yield Block(x, target, finite.astype(float), squares, largest)

    def _dense_rows(self, x: NDArray[Any]) -> tuple[Matrix, Mask]:
        if self.as_given:
            kept = x.astype(np.uint8) if x.dtype.kind == "b" else x
            limits = np.iinfo(kept.dtype)
            low, high = (np.clip(v, limits.min, limits.max) for v in (self.facts.lower, self.facts.upper))
            clipped = np.clip(kept, np.asarray(low, kept.dtype), np.asarray(high, kept.dtype))
            return clipped, np.ones(x.shape[0], dtype=bool)
        x = x.astype(float)
        finite = np.isfinite(x).all(axis=1)
        x[~finite] = 0.0
        np.clip(x, self.facts.lower, self.facts.upper, out=x)
        x *= _shrink(np.linalg.norm(x, axis=1), self.facts.row_norm)[:, None]
        x -= self.stored_shift
        x[~finite] = 0.0
        if self.lattice:
            return np.trunc(x / self.unit).astype(np.float32), finite
        return x, finite

    def _sparse_rows(self, x: Any) -> tuple[Matrix, Mask]:
        x = sp.csr_matrix(x, dtype=float, copy=True)
        x.sum_duplicates()
        owner = _owners(x)
        bad = np.bincount(owner, weights=~np.isfinite(x.data), minlength=x.shape[0]) > 0
        x.data[bad[owner]] = 0.0
        lower, upper = (v[x.indices] if isinstance(v, np.ndarray) else v for v in (self.facts.lower, self.facts.upper))
        np.clip(x.data, lower, upper, out=x.data)
        norms = np.sqrt(np.bincount(owner, weights=x.data**2, minlength=x.shape[0]))
        x.data *= _shrink(norms, self.facts.row_norm)[owner]
        if self.lattice:
            np.trunc(x.data / self.unit, out=x.data)
        return x, ~bad

    def _norms(self, x: Matrix) -> tuple[Vector, Vector]:
        if self.sparse:
            owner = _owners(x)
            away = x.data - self.shift[x.indices]
            # absent entries are -shift: their squares are all of shift's less those of the columns that are present
            squares: Any = np.bincount(owner, weights=away**2 - self.shift[x.indices] ** 2, minlength=x.shape[0])
            squares = squares + float(self.shift @ self.shift)
            largest = np.full(x.shape[0], float(np.abs(self.shift).max(initial=0.0)))
            np.maximum.at(largest, owner, np.abs(away))
        else:
            away = x.astype(float) * self.repeat - self.shift
            squares = np.einsum("ij,ij->i", away, away)
            largest = np.abs(away).max(axis=1, initial=0.0)
        return np.maximum(squares, 0.0) + self.height**2, np.maximum(largest, self.height)

    # ---------------------------------------------------------------------------------------------- products

    def margin(self, block: Block, w: Vector) -> Vector:
        """Margins of the rows of a block at w."""
        x = block.x if self.sparse else block.x.astype(float, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):  # a wild iterate must not tell anything through a warning
            return np.asarray((self.unit * self.repeat) * (x @ w[: self.facts.n_features]) + self._offset(w))

    def margin_change(self, block: Block, which: Indices, step: Vector) -> Vector:
        """How the margins change when the coordinates `which` move by `step`."""
        features = which < self.facts.n_features
        moved = np.zeros(self.facts.dimension)
        moved[which] = step
        with np.errstate(over="ignore", invalid="ignore"):
            product = block.columns(which[features]) @ step[features]
            return np.asarray((self.unit * self.repeat) * product + self._offset(moved))

    def _offset(self, w: Vector) -> float:
        offset = -float(self.shift @ w[: self.facts.n_features]) if self.shifted else 0.0
        if self.facts.free:
            offset += self.height * float(w[-1])
        return offset * self.unit

    def weighted(self, block: Block, factor: Vector, support: Indices | None = None) -> Vector:
        """Sum of factor times row, in units of the lattice; only the coordinates of `support`, if given."""
        summed = float(factor.sum())
        if support is None:
            x = block.x if self.sparse else block.x.astype(float, copy=False)
            head = self.repeat * (x.T @ factor)
            out: Vector = np.r_[
                head - self.shift * summed if self.shifted else head, [self.height * summed] * self.facts.free
            ]
            return out
        total = np.full(support.size, self.height * summed)
        features = support < self.facts.n_features
        picked = support[features]
        total[features] = self.repeat * (block.columns(picked).T @ factor) - self.shift[picked] * summed
        return total

    def weighted_clipped(self, block: Block, factor: Vector, limits: Vector, support: Indices | None = None) -> Vector:
        """As `weighted`, with every entry of every factor times row clipped to the limit of its column."""
        d = self.facts.n_features
        if self.sparse and self.shifted:
            raise DataError("clips per column need unshifted sparse rows: leave feature_center out, or use dense rows.")
        which = np.arange(d) if support is None else support[support < d]
        bounds = limits[which]
        if self.sparse and support is None:
            values = block.x.data * factor[_owners(block.x)]
            clipped = np.clip(values, -bounds[block.x.indices], bounds[block.x.indices])
            head: Any = np.bincount(block.x.indices, weights=clipped, minlength=d)
        elif self.sparse:
            x = block.columns(which).tocsc()
            column = _owners(x.T)
            clipped = np.clip(x.data * factor[x.indices], -bounds[column], bounds[column])
            head = np.bincount(column, weights=clipped, minlength=which.size)
        else:
            x = block.x.astype(float) if support is None else block.columns(which)
            head = np.clip((x * self.repeat - self.shift[which]) * factor[:, None], -bounds, bounds).sum(axis=0)
        constant = float(np.clip(self.height * factor, -limits[-1], limits[-1]).sum()) if self.facts.free else 0.0
        if support is None:
            out: Vector = np.r_[head, [constant] * self.facts.free]
            return out
        total = np.full(support.size, constant)
        total[support < d] = head
        return total

    def squared(self, block: Block) -> Any:
        """Sum of squared entries of each column over the rows that count; integers where rows are on the lattice."""
        d = self.facts.n_features
        kind = np.int64 if self.lattice else float
        if self.sparse:
            owner = _owners(block.x)
            away = block.x.data - self.shift[block.x.indices]
            change = (away**2 - self.shift[block.x.indices] ** 2) * block.alive[owner]
            head: Any = np.bincount(block.x.indices, weights=change, minlength=d) + self.shift**2 * block.alive.sum()
        else:
            away = block.x.astype(float) * self.repeat - self.shift
            head = block.alive @ away**2
        return np.r_[head, [self.height**2 * block.alive.sum()] * self.facts.free].astype(kind)


def _owners(x: Any) -> Indices:
    """Row of each stored entry."""
    return np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))


def _shrink(norms: Vector, bound: float) -> Vector:
    """Factor that brings each norm within its bound."""
    return np.asarray(bound / np.maximum(norms, bound))


def _holds(dtype: Any, lower: float | Vector, upper: float | Vector) -> bool:
    """Whether an integer type has room for the bounds."""
    limits = np.iinfo(np.uint8 if dtype.kind == "b" else dtype)
    return bool(np.all(np.asarray(lower) >= limits.min) and np.all(np.asarray(upper) <= limits.max))


def _integral(value: float | Vector) -> bool:
    return bool(np.all(np.rint(value) == np.asarray(value)))
