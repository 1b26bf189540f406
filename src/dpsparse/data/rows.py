r"""The rows: clipped, on a lattice, and silent.

A linear model's row gradient is one number times the row, :math:`g_i = c_i x_i`. Rows are stored as integers
:math:`x_i / h_x`, the numbers :math:`c_i` are truncated to integers :math:`c_i / h_c`, and so every gradient sum is an
exact integer in units of :math:`h = h_x h_c`: no rounding depends on who else is in the data, and no order of summation
shows. Floats carry these integers (below :math:`2^{53}` they are exact, in any order, through BLAS and scipy alike), and
blocks add up in 64-bit integers.

Guarantee
---------
After construction every record obeys the declared bounds, whatever came in: a record with a non-finite entry or target
contributes nothing; entries are clipped to their bounds, rows to their norm, targets to theirs.
`clipped_gradient_sum` returns integers to which one record contributes a vector of l2 norm at most ``SUM_UNITS`` and of
entries at most ``SUM_UNITS * clip.largest_entry / clip.norm``: the caps on :math:`|c_i|` come from the stored integers'
own norms, rounded against us.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..facts import Clip, Facts, Vector
from ..losses import Loss
from ..privacy.errors import DataError

#: The clip norm of one record, in units of the lattice of sums.
SUM_UNITS = 2.0**36
#: The largest entry of a row, in units of the lattice of rows.
ROW_UNITS = 2.0**18
#: Rows of a block: SUM_UNITS * BLOCK_ROWS stays below 2^53.
BLOCK_ROWS = 2**16
#: Where columns are shifted implicitly, x'c can be far larger than the shifted sum: blocks are shorter and |c_i| is held
#: below `_coefficient_limit`, so that x'c and its shift are both exact.
SHIFTED_BLOCK_ROWS = 2**10
#: Dense blocks are converted to float64 in pieces of about this many entries.
BLOCK_ENTRIES = 2**22

Matrix = Any  # a numpy array or a CSR matrix


@dataclass(frozen=True)
class _Block:
    """Stored rows and what is precomputed about them. `squares` and `largest` are of the shifted row with intercept."""

    x: Matrix
    y: Vector
    alive: Vector
    squares: Vector
    largest: Vector


class PrivateRows:
    """Clipped rows that answer only with sums.

    Parameters
    ----------
    X : array or CSR matrix of shape (rows, n_features)
    y : array of shape (rows,)
        Targets: classes coded 0/1, or centred outcomes.
    facts : Facts
        Bounds to enforce, the shift, and the height of the intercept column.
    lattice : bool
        False keeps floats: for the non-private twins only.
    """

    def __init__(self, X: Matrix, y: Vector, facts: Facts, *, lattice: bool = True) -> None:
        if sp.issparse(X) and (np.any(np.asarray(facts.lower) > 0) or np.any(np.asarray(facts.upper) < 0)):
            raise DataError("sparse rows hold zeros, so feature_bound must contain zero for every feature.")
        if X.ndim != 2 or X.shape[1] != facts.n_features or X.shape[0] != np.shape(y)[0]:
            raise DataError(f"expected rows with {facts.n_features} features and one target each.")
        self.facts = facts
        self._lattice = lattice
        self._count = X.shape[0]
        largest = np.maximum(np.abs(facts.lower), np.abs(facts.upper)) * np.ones(facts.n_features)
        whole = X.dtype.kind in "biu" and _integral(facts.lower) and _integral(facts.upper)
        # integers stay as they are where no row clip can act; half a unit keeps midpoints on the lattice
        self._as_given = (
            lattice
            and not sp.issparse(X)
            and whole
            and facts.row_norm >= np.linalg.norm(largest)
            and largest.max() <= ROW_UNITS / 2
        )
        self._repeat = 2.0 if self._as_given else 1.0
        self._unit = 1.0 if not lattice else 0.5 if self._as_given else facts.entry_bound / ROW_UNITS
        shift = facts.shift * np.ones(facts.n_features)
        # dense floats are stored shifted; integers and sparse rows are shifted implicitly, after every product
        implicit = self._as_given or sp.issparse(X)
        self._stored_shift = 0.0 if implicit else shift
        shift = shift if implicit else np.zeros_like(shift)
        self._shifted = bool(np.any(shift))
        self._shift = np.rint(shift / self._unit) if lattice else shift
        raw = (float(largest.max(initial=0.0)) + float(np.abs(shift).max(initial=0.0))) / self._unit
        self._coefficient_limit = 2.0**52 / (SHIFTED_BLOCK_ROWS * max(raw, 1.0)) if self._shifted else np.inf
        self._height = np.rint(facts.intercept / self._unit) if lattice else facts.intercept
        self._blocks = list(self._build(X, np.asarray(y, dtype=float)))

    # ---------------------------------------------------------------------------------------------- construction

    def _build(self, X: Matrix, y: Vector) -> Iterator[_Block]:
        rows = SHIFTED_BLOCK_ROWS if self._shifted and self._lattice else BLOCK_ROWS
        if not sp.issparse(X):
            rows = max(1, min(rows, BLOCK_ENTRIES // max(1, self.facts.n_features)))
        for start in range(0, self._count, rows):
            part = slice(start, start + rows)
            x = X[part]
            x, finite = self._sanitised_sparse(x) if sp.issparse(x) else self._sanitised_dense(x)
            finite &= np.isfinite(y[part])
            target = np.clip(np.where(finite, y[part], 0.0), -self.facts.target_bound, self.facts.target_bound)
            squares, largest = self._norms(x)
            yield _Block(x, target, finite.astype(float), squares, largest)

    def _sanitised_dense(self, x: NDArray[Any]) -> tuple[Matrix, NDArray[np.bool_]]:
        if self._as_given:
            kept = x.astype(np.uint8) if x.dtype.kind == "b" else x
            limits = np.iinfo(kept.dtype)
            low, high = (
                np.clip(self.facts.lower, limits.min, limits.max),
                np.clip(self.facts.upper, limits.min, limits.max),
            )
            return np.clip(kept, np.asarray(low, kept.dtype), np.asarray(high, kept.dtype)), np.ones(x.shape[0], bool)
        x = x.astype(float)
        finite = np.isfinite(x).all(axis=1)
        x[~finite] = 0.0
        np.clip(x, self.facts.lower, self.facts.upper, out=x)
        norms = np.linalg.norm(x, axis=1)
        x *= np.minimum(1.0, self.facts.row_norm / np.maximum(norms, np.finfo(float).tiny))[:, None]
        x -= self._stored_shift
        x[~finite] = 0.0
        if self._lattice:
            np.trunc(x / self._unit, out=x)
            return x.astype(np.float32), finite
        return x, finite

    def _sanitised_sparse(self, x: Any) -> tuple[Matrix, NDArray[np.bool_]]:
        x = sp.csr_matrix(x, dtype=float, copy=True)
        x.sum_duplicates()
        lengths = np.diff(x.indptr)
        bad = np.add.reduceat(np.r_[~np.isfinite(x.data), False], np.minimum(x.indptr[:-1], x.data.size)) > 0
        finite = ~(bad & (lengths > 0))
        owner = np.repeat(np.arange(x.shape[0]), lengths)
        x.data[~finite[owner]] = 0.0
        lower = self.facts.lower[x.indices] if isinstance(self.facts.lower, np.ndarray) else self.facts.lower
        upper = self.facts.upper[x.indices] if isinstance(self.facts.upper, np.ndarray) else self.facts.upper
        np.clip(x.data, lower, upper, out=x.data)
        norms = np.sqrt(np.bincount(owner, weights=x.data**2, minlength=x.shape[0]))
        x.data *= np.minimum(1.0, self.facts.row_norm / np.maximum(norms, np.finfo(float).tiny))[owner]
        if self._lattice:
            np.trunc(x.data / self._unit, out=x.data)
        return x, finite

    def _norms(self, x: Matrix) -> tuple[Vector, Vector]:
        """Squared l2 norm and largest entry of each shifted row, with the intercept column."""
        if sp.issparse(x):
            owner = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
            away = x.data - self._shift[x.indices]
            # absent entries are -shift: their squares are all of shift's less those of the columns that are present
            squares: Vector = np.bincount(owner, weights=away**2 - self._shift[x.indices] ** 2, minlength=x.shape[0])
            squares = squares + float(self._shift @ self._shift)
            largest = np.full(x.shape[0], float(np.abs(self._shift).max(initial=0.0)))
            np.maximum.at(largest, owner, np.abs(away))
        else:
            away = x.astype(float) * self._repeat - self._shift
            squares = np.einsum("ij,ij->i", away, away)
            largest = np.abs(away).max(axis=1, initial=0.0)
        return np.maximum(squares, 0.0) + self._height**2, np.maximum(largest, self._height)

    # ---------------------------------------------------------------------------------------------- answers

    def clipped_gradient_sum(
        self, loss: Loss, w: Vector, clip: Clip, chosen: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        r"""Sum of row gradients, each shrunk to `clip`, as exact integers.

        One unit is ``clip.norm / SUM_UNITS``. `chosen` restricts the sum to some rows (a Poisson sample).

        The factor of row i is an integer :math:`c_i = \mathrm{trunc}(\phi'_i / h_c)` held within
        :math:`\pm\lfloor \min(S/\|x_i\|_2,\; S_\infty/\|x_i\|_\infty) \rfloor`, where the norms are those of the stored
        integers and :math:`S` = ``SUM_UNITS``. Hence :math:`\|c_i x_i\|_2 \le S` exactly; truncation only shrinks.
        """
        if not self._lattice:
            raise TypeError("rows that were built without a lattice answer only the exact oracle.")
        step = clip.norm / SUM_UNITS / self._unit  # h_c
        entry = SUM_UNITS * (clip.largest_entry / clip.norm)
        total = np.zeros(self.facts.dimension, dtype=np.int64)
        for block, keep in self._walk(chosen):
            x, slope = self._slopes(block, loss, w, keep)
            squares, largest = (
                (block.squares, block.largest) if keep is None else (block.squares[keep], block.largest[keep])
            )
            room = np.minimum(SUM_UNITS / np.maximum(np.sqrt(squares), 1e-300), entry / np.maximum(largest, 1e-300))
            cap = np.floor(np.where(squares > 0, room * (1 - 2.0**-40), 0.0))
            cap = np.minimum(cap, np.floor(self._coefficient_limit))
            c = np.clip(np.trunc(slope / step), -cap, cap)
            total[: self.facts.n_features] += (self._repeat * (x.T @ c)).astype(np.int64)
            summed = np.int64(c.sum())
            if self._shifted:
                total[: self.facts.n_features] -= self._shift.astype(np.int64) * summed
            if self.facts.free:
                total[-1] += np.int64(self._height) * summed
        return total

    def exact_gradient_sum(self, loss: Loss, w: Vector, chosen: NDArray[np.bool_] | None = None) -> Vector:
        """Sum of row gradients, neither clipped nor protected: for the exact oracle."""
        total = np.zeros(self.facts.dimension)
        for block, keep in self._walk(chosen):
            x, slope = self._slopes(block, loss, w, keep)
            total[: self.facts.n_features] += self._unit * (self._repeat * (x.T @ slope) - self._shift * slope.sum())
            if self.facts.free:
                total[-1] += self._unit * self._height * slope.sum()
        return total

    def sample(self, rate: float, generator: np.random.Generator) -> NDArray[np.bool_]:
        """A Poisson sample: each row independently with probability `rate`."""
        return np.asarray(generator.random(self._count) < rate)

    # ---------------------------------------------------------------------------------------------- inside

    def _walk(self, chosen: NDArray[np.bool_] | None) -> Iterator[tuple[_Block, NDArray[np.bool_] | None]]:
        start = 0
        for block in self._blocks:
            stop = start + block.y.size
            yield block, None if chosen is None else chosen[start:stop]
            start = stop

    def _slopes(self, block: _Block, loss: Loss, w: Vector, keep: NDArray[np.bool_] | None) -> tuple[Matrix, Vector]:
        x, y, alive = block.x, block.y, block.alive
        if keep is not None:
            x, y, alive = x[keep], y[keep], alive[keep]
        if not sp.issparse(x):
            x = x.astype(float, copy=False)
        head = w[: self.facts.n_features]
        offset = -float(self._shift @ head) * self._unit
        if self.facts.free:
            offset += self._unit * self._height * w[-1]
        margin = (self._unit * self._repeat) * (x @ head) + offset
        with np.errstate(over="ignore", invalid="ignore"):
            slope = loss.slope(margin, y)
        return x, np.nan_to_num(slope, nan=0.0, posinf=np.finfo(float).max, neginf=np.finfo(float).min) * alive

    def __repr__(self) -> str:
        kind = "sparse" if self.facts.sparse else "dense"
        return f"PrivateRows({kind}, {self.facts.n_features} features)"

    def __reduce__(self) -> Any:
        raise TypeError("private rows are not copied or stored.")


def _integral(value: float | Vector) -> bool:
    return bool(np.all(np.rint(value) == np.asarray(value)))
