r"""The rows: clipped, on a lattice, and silent.

A linear model's row gradient is one number times the row, :math:`g_i = c_i x_i`. Rows are stored as integers
:math:`x_i / h_x`, the numbers :math:`c_i` are truncated to integers :math:`c_i / h_c`, and so every gradient sum is an
exact integer in units of :math:`h = h_x h_c`: no rounding depends on who else is in the data, and no order of summation
shows. Floats carry these integers (below :math:`2^{53}` they are exact, in any order, through BLAS and scipy alike), and
blocks add up in 64-bit integers. Exactness also makes upkeep cheap: when few :math:`c_i` change, a sum is mended with the
rows that changed, and never drifts.

Guarantee
---------
After construction every record obeys the declared bounds, whatever came in: a record with a non-finite entry or target
contributes nothing; entries are clipped to their bounds, rows to their norm, targets to theirs. `gradient_sum` returns
integers to which one record contributes a vector of l2 norm at most ``SUM_UNITS``, and in every coordinate at most what
its `Clip` allows: the caps on :math:`|c_i|` come from the stored integers' own norms, rounded against us.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..facts import Clip, Facts, Vector
from ..losses import Loss
from ..privacy.errors import DataError
from .blocks import SHIFTED_BLOCK_ROWS, Block, Matrix, Storage
from .columns import Columns, clipped_limit, clipped_product, columns_of, factor_units, typical_entries
from .personal import PIECE_ENTRIES, PublicRows, pieces, sparse_rows, whole_rows
from .restricted import RestrictedRows, restrict
from .weighted import absolute_sums, held_sizes, weighted_squares

#: The clip norm of one record, in units of the lattice of sums. Times the rows of a block it stays below 2^53.
SUM_UNITS = 2.0**36
#: Rows beyond which a sum of clipped records might not fit 64-bit integers: SUM_UNITS times this is 2^62.
LARGEST_ROWS = 2**26
#: Margins are mended when few coordinates change, and computed afresh after this many times.
MENDS = 4096

Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]
Indices = NDArray[np.intp]


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
        if X.ndim != 2 or X.shape[1] != facts.n_features or X.shape[0] != np.shape(y)[0]:
            raise DataError(f"expected rows with {facts.n_features} features and one target each.")
        if X.shape[0] > LARGEST_ROWS:
            raise DataError(f"sums are exact for at most {LARGEST_ROWS} rows; split the data.")
        self.facts = facts
        self._store = Storage.choose(X, facts, lattice)
        self._blocks = list(self._store.blocks(X, np.asarray(y, dtype=float)))
        self.coordinate_bounds = self._store.coordinate_bounds
        self.norm_bound = self._store.norm_bound
        self.applied_intercept = self._store.height * self._store.unit
        self.applied_shift = self._store.applied_shift
        # what was computed last; private, and never leaves the room
        self._margin_memory: tuple[Vector, list[Vector], int] | None = None
        self._sum_memory: tuple[Clip, str, list[Vector], Integers] | None = None
        self._norm_memory: tuple[Vector, list[Vector]] | None = None
        self._column_memory: tuple[Indices, list[Columns]] | None = None
        self._typical_memory: list[tuple[Vector, Vector]] | None = None

    # ---------------------------------------------------------------------------------------------- sums for oracles

    def gradient_sum(
        self, loss: Loss, w: Vector, clip: Clip, *, support: Indices | None = None, chosen: Mask | None = None
    ) -> Integers:
        r"""Sum of row gradients, each held within `clip`, as exact integers of ``clip.norm / SUM_UNITS``.

        The factor of row i is an integer :math:`c_i = \mathrm{trunc}(\phi'_i / h_c)` held within
        :math:`\pm\lfloor \min(S/\|x_i\|_2,\; S_\infty/\|x_i\|_\infty,\; S_c) \rfloor`, where the norms are those of the
        stored integers and :math:`S` = ``SUM_UNITS``. Hence :math:`\|c_i x_i\|_2 \le S` exactly; truncation only
        shrinks. Where columns have clips of their own, the integers :math:`c_i x_{ij}` are clipped to them, which only
        shrinks.

        `support` restricts the sum to some coordinates, `chosen` to some rows (a Poisson sample).
        """
        if chosen is not None:
            total = np.zeros(self.facts.dimension if support is None else support.size, dtype=np.int64)
            for block in self._sampled(chosen):
                factor = self._factors(block, self._slope(loss, self._margin(block, w), block), clip)
                total += self._contribution(block, factor, clip, support)
            return total
        factors = [
            self._factors(block, self._slope(loss, margin, block), clip)
            for block, margin in zip(self._blocks, self._margins(w), strict=True)
        ]
        few = support is not None and support.size * 8 <= self.facts.dimension
        if few and not self._mendable(factors, clip, loss, largest=0):
            return np.asarray(
                sum(self._contribution(b, c, clip, support) for b, c in zip(self._blocks, factors, strict=True))
            )
        total = self._mended(factors, clip, loss)
        return total.copy() if support is None else total[support]

    def change_sum(
        self, loss: Loss, w: Vector, anchor: Vector, clip: Clip, change: float, *, chosen: Mask | None = None
    ) -> Integers:
        r"""Sum over rows of :math:`g_i(w) - g_i(a)`, both held within `clip`, the difference within norm `change`.

        Both gradients are multiples of the same row, so the difference is one too, and its factor is truncated and
        capped like any other: integers of ``change / SUM_UNITS``, with l2 norm at most ``SUM_UNITS`` per record.
        """
        total = np.zeros(self.facts.dimension, dtype=np.int64)
        limit = Clip(change)
        for block in self._blocks if chosen is None else self._sampled(chosen):
            here, there = (
                self._held(block, self._slope(loss, self._margin(block, at), block), clip) for at in (w, anchor)
            )
            total += self._contribution(block, self._factors(block, here - there, limit), limit, None)
        return total

    def square_sum(self) -> tuple[Integers, float]:
        r"""Sum over rows of :math:`x_{ij}^2`, as exact integers, and the unit they are counted in."""
        total = np.zeros(self.facts.dimension, dtype=np.int64)
        for block in self._blocks:
            total += self._store.squared(block)
        return total, self._store.unit**2

    def weighted_gradient_sum(
        self, loss: Loss, w: Vector, norm: float, weights: Vector, *, support: Indices | None = None
    ) -> tuple[Integers, float]:
        r"""Sum of row gradients with caps on their *weighted* norm, as exact integers, and the unit they count.

        Row i has an integer factor :math:`c_i` and adds :math:`c_i X_{ij}` to coordinate j, in units of
        :math:`h = C/(a_{\min} S)` with :math:`S` = ``SUM_UNITS``. The factor is held within
        :math:`\pm\lfloor C/(h\,\|X_i\circ a\|_2)\rfloor`, the norm rounded up, over the coordinates of `support` (one
        weight for each, all positive). Hence :math:`h\,|c_i|\,\|X_i\circ a\|_2 \le C`, and, since
        :math:`a_{\min}|X_{ij}| \le \|X_i\circ a\|_2`, every :math:`|c_i X_{ij}| \le S`: sums over a block are exact, as
        they are without weights.
        """
        if not self._store.lattice:
            raise TypeError("rows that were built without a lattice answer only the exact oracle.")
        unit = norm / (float(weights.min()) * SUM_UNITS)
        step = unit / self._store.unit
        total = np.zeros(weights.size, dtype=np.int64)
        squares = self._weighted_squares(weights, support)
        for block, margin, square in zip(self._blocks, self._margins(w), squares, strict=True):
            with np.errstate(divide="ignore", over="ignore"):
                room = np.minimum(norm / (unit * np.sqrt(square)) * (1 - 2.0**-40), self._store.factor_limit)
                cap = np.where(square > 0, np.floor(room), 0.0)
                factor = np.clip(np.trunc(self._slope(loss, margin, block) / step), -cap, cap)
            total += self._store.weighted(block, factor, support).astype(np.int64)
        return total, unit

    def absolute_sum(self) -> tuple[Integers, float]:
        r"""Sum over rows of :math:`|x_{ij}|` for every feature, as exact integers, and the unit they count."""
        total = sum(absolute_sums(self._store, block) for block in self._blocks)
        return np.asarray(total), self._store.unit

    def size_sum(self, weights: Vector, top: float, step: float | None, support: Indices | None = None) -> Any:
        """Sum over rows of their weighted norm on `support`, held at `top`: in whole `step`, truncated, or in real units."""
        total: Any = 0
        for block, squares in zip(self._blocks, self._weighted_squares(weights, support), strict=True):
            sizes = held_sizes(squares, block, self._store.unit, top)
            total = total + (sizes.sum() if step is None else int(np.trunc(sizes / step).sum()))
        return total

    def _weighted_squares(self, weights: Vector, support: Indices | None) -> list[Vector]:
        """Weighted squared norms of all rows; the last ones are kept, since a loop asks for them every step."""
        full = weights
        if support is not None:
            full = np.zeros(self.facts.dimension)
            full[support] = weights
        if self._norm_memory is None or not np.array_equal(self._norm_memory[0], full):
            self._norm_memory = (full.copy(), [weighted_squares(self._store, b, full) for b in self._blocks])
        return self._norm_memory[1]

    def exact_gradient_sum(
        self, loss: Loss, w: Vector, *, support: Indices | None = None, chosen: Mask | None = None
    ) -> Vector:
        """Sum of row gradients, neither clipped nor protected: for the exact oracle."""
        total = np.zeros(self.facts.dimension if support is None else support.size)
        if chosen is None:
            pairs = zip(self._blocks, self._margins(w), strict=True)
        else:
            pairs = ((b, self._margin(b, w)) for b in self._sampled(chosen))  # type: ignore[assignment]
        for block, margin in pairs:
            total += self._store.unit * self._store.weighted(block, self._slope(loss, margin, block), support)
        return total

    def exact_square_sum(self) -> Vector:
        """Sum over rows of squared entries, unprotected: for the exact oracle."""
        total = np.zeros(self.facts.dimension)
        for block in self._blocks:
            total += self._store.squared(block)
        return total * self._store.unit**2

    def support_rows(self, support: Indices, norm: float) -> Iterator[RestrictedRows]:
        """The rows themselves on some coordinates, each held within l2 norm `norm`: **private**, for statistics only.

        A statistic is a function of the trusted room with a written stability proof; what it makes of the rows leaves the
        room only with the noise of that proof.
        """
        for block in self._blocks:
            yield restrict(self._store, block, support, norm)

    def columns(self, support: Indices) -> list[Columns]:
        """Some features of all rows, block by block: **private**, for the trusted room. The last ones are kept."""
        memory = self._column_memory
        if memory is None or not np.array_equal(memory[0], support):
            self._column_memory = memory = (
                support.copy(),
                [columns_of(self._store, block, support) for block in self._blocks],
            )
        return memory[1]

    def clipped_lattice(self, entry: float) -> tuple[float, float]:
        """For entries clipped to `entry`: the clip that is applied, in real units, and how many units factors may have."""
        limit = clipped_limit(self._store, entry)
        return limit * self._store.unit, factor_units(self._store, limit)

    def clipped_sum(self, factors: list[Vector], entry: float) -> NDArray[Any]:
        """Sum of factor times row over all rows, entries clipped to `entry`, features only: in units of entries.

        Whole factors within `clipped_lattice` give exact whole numbers.
        """
        limit = clipped_limit(self._store, entry)
        total = np.zeros(self.facts.n_features, dtype=np.int64 if self._store.lattice else float)
        for block, factor in zip(self._blocks, factors, strict=True):
            total += clipped_product(self._store, block, factor, limit).astype(total.dtype)
        return total

    @property
    def unit(self) -> float:
        """The value of one unit of a stored entry."""
        return self._store.unit

    def typical_entries(self) -> list[tuple[Vector, Vector]]:
        """For each row the median size of its entries, and its largest if it is one-signed: **private**."""
        if self._typical_memory is None:
            self._typical_memory = [typical_entries(self._store, block) for block in self._blocks]
        return self._typical_memory

    def margins_of(self, models: Vector) -> Iterator[tuple[Vector, Vector, NDArray[np.bool_]]]:
        """Margins under each of some models (rows by models), targets, and which rows count: **private**, for the trusted room."""
        for block in self._blocks:
            yield np.column_stack([self._margin(block, w) for w in models]), block.y, block.alive > 0

    def contributions(
        self, loss: Loss, w: Vector, clip: Clip, chosen: Mask, *, entries: int = PIECE_ENTRIES, sparse: bool = False
    ) -> Iterator[Any]:
        """Gradients of the chosen rows, each held within `clip`, some rows at a time: **private**, for local randomisers.

        `sparse`: rows that are stored sparse and unshifted come as CSR matrices.
        """
        for block in self._sampled(chosen):
            for part in pieces(block, self.facts.dimension, entries):
                factor = self._factors(part, self._slope(loss, self._margin(part, w), part), clip)
                factor = factor * (clip.norm / SUM_UNITS)
                if sparse and self._store.sparse and not self._store.shifted:
                    yield sparse_rows(self._store, part, factor)
                else:
                    rows = whole_rows(self._store, part)
                    rows *= factor[:, None]
                    yield rows

    def targets(self) -> Vector:
        """Targets within their bound, zero for records that do not count: **private**, for local randomisers."""
        return np.concatenate([b.y for b in self._blocks]) if self._blocks else np.zeros(0)

    def public(self, loss: Loss) -> PublicRows:
        """The features without the targets, for label privacy, where they were declared public."""
        return PublicRows(self._store, self._blocks, loss)

    def deal(self, parts: int, generator: np.random.Generator) -> Iterator[Mask]:
        """Disjoint parts of the rows: each row goes to one of them, independently of the others and of the data."""
        owner = generator.integers(0, parts, sum(b.y.size for b in self._blocks))
        return (np.asarray(owner == part) for part in range(parts))

    def sample(self, rate: float, generator: np.random.Generator) -> Mask:
        """A Poisson sample: each row independently with probability `rate`."""
        return np.asarray(generator.random(sum(b.y.size for b in self._blocks)) < rate)

    # ---------------------------------------------------------------------------------------------- factors

    def _slope(self, loss: Loss, margin: Vector, block: Block) -> Vector:
        with np.errstate(over="ignore", invalid="ignore"):
            slope = loss.slope(margin, block.y)
        limit = np.finfo(float).max
        return np.asarray(np.nan_to_num(slope, nan=0.0, posinf=limit, neginf=-limit) * block.alive)

    def _room(self, block: Block, clip: Clip) -> Vector:
        """Largest factor of each row that `clip` allows, in units of the lattice; rounded against us."""
        entry = SUM_UNITS * (min(clip.norm, clip.entry or clip.norm) / clip.norm)
        # stored integers: a row that is not zero has norm at least 1
        room = np.minimum(SUM_UNITS / np.sqrt(np.maximum(block.squares, 1.0)), entry / np.maximum(block.largest, 1.0))
        if clip.slope is not None:
            room = np.minimum(room, clip.slope / self._step(clip))
        return np.where(block.squares > 0, np.minimum(room, self._store.factor_limit) * (1 - 2.0**-40), 0.0)

    def _step(self, clip: Clip) -> float:
        """h_c: one unit of a factor."""
        return clip.norm / SUM_UNITS / self._store.unit

    def _factors(self, block: Block, slope: Vector, clip: Clip) -> Vector:
        """Integer factors of the rows, within what `clip` allows."""
        if not self._store.lattice:
            raise TypeError("rows that were built without a lattice answer only the exact oracle.")
        cap = np.floor(self._room(block, clip))
        with np.errstate(over="ignore"):
            return np.clip(np.trunc(slope / self._step(clip)), -cap, cap)

    def _held(self, block: Block, slope: Vector, clip: Clip) -> Vector:
        """Slopes within what `clip` allows, not yet on the lattice."""
        cap = self._room(block, clip) * self._step(clip)
        return np.clip(slope, -cap, cap)

    # ---------------------------------------------------------------------------------------------- products

    def _contribution(self, block: Block, factor: Vector, clip: Clip, support: Indices | None) -> Integers:
        """Integer sum of factor times row over a block."""
        if clip.columns is None:
            return self._store.weighted(block, factor, support).astype(np.int64)
        limits = np.floor(clip.columns / (clip.norm / SUM_UNITS))
        return self._store.weighted_clipped(block, factor, limits, support).astype(np.int64)

    def _mendable(self, factors: list[Vector], clip: Clip, loss: Loss, largest: float = 0.5) -> bool:
        """Whether the last sum was of the same kind and at most a part `largest` of the rows changed since."""
        memory = self._sum_memory
        if memory is None or memory[0] != clip or memory[1] != repr(loss):
            return False
        changed = sum(np.count_nonzero(new != old) for new, old in zip(factors, memory[2], strict=True))
        return bool(changed <= largest * sum(f.size for f in factors))

    def _mended(self, factors: list[Vector], clip: Clip, loss: Loss) -> Integers:
        """The sum for these factors: the last one, mended with the rows that changed, or a fresh one."""
        if self._mendable(factors, clip, loss):
            assert self._sum_memory is not None
            total = self._sum_memory[3].copy()
            for block, new, old in zip(self._blocks, factors, self._sum_memory[2], strict=True):
                rows = np.flatnonzero(new != old)
                if rows.size:
                    part = block.rows(rows)
                    total += self._contribution(part, new[rows], clip, None)
                    total -= self._contribution(part, old[rows], clip, None)
        else:
            total = np.zeros(self.facts.dimension, dtype=np.int64)
            for block, factor in zip(self._blocks, factors, strict=True):
                total += self._contribution(block, factor, clip, None)
        self._sum_memory = (clip, repr(loss), factors, total)
        return total

    def _margins(self, w: Vector) -> list[Vector]:
        """Margins of all rows at w, mended where few coordinates changed since they were last computed."""
        memory = self._margin_memory
        if memory is not None:
            changed = np.flatnonzero(w != memory[0])
            if changed.size == 0:
                return memory[1]
            if changed.size * 8 <= w.size and memory[2] < MENDS:
                step = w[changed] - memory[0][changed]
                margins = [
                    m + self._store.margin_change(b, changed, step)
                    for b, m in zip(self._blocks, memory[1], strict=True)
                ]
                self._margin_memory = (w.copy(), margins, memory[2] + 1)
                return margins
        margins = [self._margin(block, w) for block in self._blocks]
        self._margin_memory = (w.copy(), margins, 0)
        return margins

    def _margin(self, block: Block, w: Vector) -> Vector:
        nonzero = np.flatnonzero(w)
        if nonzero.size * 8 <= w.size and block.whole:
            return self._store.margin_change(block, nonzero, w[nonzero])
        return self._store.margin(block, w)

    def _sampled(self, chosen: Mask) -> Iterator[Block]:
        start = 0
        for block in self._blocks:
            stop = start + block.y.size
            rows = np.flatnonzero(chosen[start:stop])
            if rows.size:
                yield block.rows(rows)
            start = stop

    def __repr__(self) -> str:
        kind = "sparse" if self.facts.sparse else "dense"
        return f"PrivateRows({kind}, {self.facts.n_features} features)"

    def __reduce__(self) -> Any:
        raise TypeError("private rows are not copied or stored.")


__all__ = ["SHIFTED_BLOCK_ROWS", "SUM_UNITS", "PrivateRows"]
