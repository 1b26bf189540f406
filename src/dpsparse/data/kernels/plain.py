r"""Products of a block of rows through numpy and scipy.

Guarantee
---------
Everything here is exact for rows, factors and iterates on the lattice, so the order in which BLAS or scipy add does not show.
Forward products are below :math:`2^{53}` by `Lattice.rounded`. A sum of factor times row has terms within `Lattice.record_units` for
a shifted row. Where sparse rows are shifted after the product, the unshifted terms can be larger: a row one unit from its shift may
have a factor of :math:`2^{36}` and entries of :math:`2^{16}`. Then factors are split into a high and a low word of at most 18 bits each,
whose products with :math:`2^{16}` rows are below :math:`2^{50}`. The words are put together modulo :math:`2^{64}`, and the sum of shifted
terms, which is what is left, is below :math:`2^{52}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...facts import Vector
from ...privacy.errors import DataError
from ..block import Block, Indices, owners
from ..lattice import Lattice

#: Bits of the low word of a factor: half of the 36 that a factor can have.
LOW_BITS = 18
#: Dense rows are stored in two bytes an entry, and become floats this many entries at a time, which a processor's cache holds.
PIECE_ENTRIES = 2**15

Sums = NDArray[Any]  # 64-bit integers on the lattice, floats beside it
ColumnSum = Callable[[Block, Lattice], Sums]


def dense_pieces(x: NDArray[Any]) -> Iterator[tuple[slice, Vector]]:
    """Dense rows as floats, some at a time: which rows, and the rows, which are overwritten by the next ones."""
    rows, d = x.shape
    if x.dtype == np.float64:
        yield slice(0, rows), x
        return
    step = max(1, PIECE_ENTRIES // max(d, 1))
    room = np.empty((min(step, rows), d))
    for start in range(0, rows, step):
        piece = slice(start, min(start + step, rows))
        shown = room[: piece.stop - start]
        np.copyto(shown, x[piece])
        yield piece, shown


def forward(block: Block, lattice: Lattice, whole: Vector) -> Vector:
    """Products of all rows with coefficients, in units; with each column of a matrix of them."""
    d = lattice.facts.n_features
    offset = _offset(block, lattice, slice(d), whole[:d], whole[d:])
    with np.errstate(all="ignore"):  # a wild iterate of the non-private twins must not warn
        if block.sparse:
            return np.asarray(block.x @ whole[:d] + offset)
        out = np.empty((block.y.size, *whole.shape[1:]))
        for piece, x in dense_pieces(block.x):
            np.dot(x, whole[:d], out=out[piece])
        return np.asarray(out + offset)


def forward_columns(block: Block, lattice: Lattice, which: Indices, whole: Vector) -> Vector:
    """Products of all rows with coefficients of the coordinates `which`, in units."""
    features = which < lattice.facts.n_features
    picked, head = which[features], whole[features]
    with np.errstate(all="ignore"):
        return np.asarray(columns(block, picked) @ head + _offset(block, lattice, picked, head, whole[~features]))


def _offset(block: Block, lattice: Lattice, which: Indices | slice, head: Vector, last: Vector) -> Vector:
    """What the shift of sparse rows and the intercept column add to every product."""
    shift = lattice.shift[which] @ head if block.sparse and lattice.shifted else 0.0
    return np.asarray(lattice.height * last.sum(axis=0) - shift)


def columns(block: Block, which: Indices) -> Any:
    """Some columns as they are stored, through a copy by columns for sparse rows."""
    if not block.sparse:
        return block.x[:, which].astype(float, copy=False)
    if not block.whole:
        return block.x[:, which]
    if block.csc is None:
        block.csc = block.x.tocsc()
    return block.csc[:, which]


def shifted_columns(block: Block, lattice: Lattice, which: Indices) -> Vector:
    """Some features of all rows, shifted, as a dense array in units."""
    picked = columns(block, which)
    if not block.sparse:
        return np.asarray(picked)
    return np.asarray(picked.toarray() - lattice.shift[which])


def scatter(block: Block, lattice: Lattice, factor: Vector, support: Indices | None = None) -> Sums:
    """Sum of factor times row, in units; only the coordinates of `support`, if given.

    Of a matrix of factors each column is one vector of them, and one column of the answer.
    """
    if block.sparse and lattice.shifted and not lattice.exact:
        raw = 2.0 * float(lattice.integer_bounds.max(initial=0.0)) + 1.0
        if float(np.abs(factor).max(initial=0.0)) * raw * block.y.size >= 2.0**53:
            high = np.trunc(np.ldexp(factor, -LOW_BITS))
            low = factor - np.ldexp(high, LOW_BITS)
            parts = (_scatter(block, lattice, word, support, np.int64) for word in (high, low))
            return (next(parts) << LOW_BITS) + next(parts)
    return _scatter(block, lattice, factor, support, float if lattice.exact else np.int64)


def real_scatter(block: Block, lattice: Lattice, factor: Vector, support: Indices | None = None) -> Sums:
    """As `scatter`, for factors that are no whole numbers: for answers that are exact or public."""
    return _scatter(block, lattice, factor, support, float)


def _scatter(block: Block, lattice: Lattice, factor: Vector, support: Indices | None, kind: Any) -> Sums:
    d = lattice.facts.n_features
    summed = factor.sum(axis=0)
    shift = lattice.shift if block.sparse and lattice.shifted else None
    if support is None:
        head = np.asarray(block.x.T @ factor if block.sparse else _dense_scatter(block.x, factor)).astype(kind)
        if shift is not None:
            head = head - np.multiply.outer(shift, summed).astype(kind)
        last = np.multiply.outer(np.full(lattice.facts.free, lattice.height), summed).astype(kind)
        return np.asarray(np.concatenate([head, last]))
    total: Sums = np.multiply.outer(np.full(support.size, lattice.height), summed).astype(kind)
    features = support < d
    picked = support[features]
    head = np.asarray(columns(block, picked).T @ factor).astype(kind)
    total[features] = head if shift is None else head - np.multiply.outer(shift[picked], summed).astype(kind)
    return total


def _dense_scatter(x: NDArray[Any], factor: Vector) -> Vector:
    """Sum of factor times row over dense rows."""
    total = np.zeros((x.shape[1], *factor.shape[1:]))
    for piece, rows in dense_pieces(x):
        total += rows.T @ factor[piece]
    return total


def clipped_scatter(
    block: Block, lattice: Lattice, factor: Vector, limits: Vector, support: Indices | None = None
) -> Sums:
    """As `scatter`, with every entry of every factor times row clipped to the limit of its column."""
    d, kind = lattice.facts.n_features, float if lattice.exact else np.int64
    if block.sparse and lattice.shifted:
        raise DataError("clips per column need unshifted sparse rows: leave feature_center out, or use dense rows.")
    which = np.arange(d) if support is None else support[support < d]
    bounds = limits[which]
    if block.sparse and support is None:
        values = block.x.data * factor[owners(block.x)]
        clipped = np.clip(values, -bounds[block.x.indices], bounds[block.x.indices])
        head: Any = np.bincount(block.x.indices, weights=clipped, minlength=d)
    elif block.sparse:
        x = columns(block, which).tocsc()
        column = owners(x.T)
        clipped = np.clip(x.data * factor[x.indices], -bounds[column], bounds[column])
        head = np.bincount(column, weights=clipped, minlength=which.size)
    else:
        head = np.zeros(which.size)
        for piece, x in dense_pieces(block.x if support is None else block.x[:, which]):
            head += np.clip(x * factor[piece, None], -bounds, bounds).sum(axis=0)
    constant = float(np.clip(lattice.height * factor, -limits[-1], limits[-1]).sum()) if lattice.facts.free else 0.0
    if support is None:
        return np.asarray(np.r_[head, [constant] * lattice.facts.free].astype(kind))
    total = np.full(support.size, constant)
    total[support < d] = head
    return total.astype(kind)


def entry_clipped_scatter(block: Block, lattice: Lattice, factor: Vector, limit: float) -> Sums:
    r"""Sum of factor times row, every entry of the row clipped to :math:`\pm` `limit`; features only.

    Entries that sparse rows do not hold are minus the shift: these come as one product for all rows, and the rows mend it.
    """
    kind = float if lattice.exact else np.int64
    if block.sparse:
        away = np.clip(block.x.data - lattice.shift[block.x.indices], -limit, limit)
        absent = np.clip(-lattice.shift, -limit, limit)
        change = (away - absent[block.x.indices]) * factor[owners(block.x)]
        head = np.bincount(block.x.indices, weights=change, minlength=lattice.facts.n_features)
        return np.asarray(head.astype(kind) + (absent * factor.sum()).astype(kind))
    total = np.zeros(lattice.facts.n_features)
    for piece, x in dense_pieces(block.x):
        total += factor[piece] @ np.clip(x, -limit, limit)
    return total.astype(kind)


def squared_sum(block: Block, lattice: Lattice) -> Sums:
    """Sum of squared entries of each coordinate over the rows that count."""
    return _column_sums(block, lattice, np.square)


def absolute_sum(block: Block, lattice: Lattice) -> Sums:
    """Sum of absolute entries of each coordinate over the rows that count."""
    return _column_sums(block, lattice, np.abs)


def _column_sums(block: Block, lattice: Lattice, function: Any) -> Sums:
    d, kind = lattice.facts.n_features, float if lattice.exact else np.int64
    if block.sparse:
        values = function(block.x.data)
        if lattice.shifted:
            shift = lattice.shift[block.x.indices]
            values = function(block.x.data - shift) - function(shift)
        head: Any = np.bincount(block.x.indices, weights=values * block.alive[owners(block.x)], minlength=d)
        head = head + function(lattice.shift) * block.alive.sum()
    else:
        head = np.zeros(d)
        for piece, x in dense_pieces(block.x):
            head += block.alive[piece] @ function(x)
    last = [function(lattice.height) * block.alive.sum()] * lattice.facts.free
    return np.asarray(np.r_[head, last].astype(kind))


def weighted_squares(block: Block, lattice: Lattice, weights: Vector) -> Vector:
    r"""Squared norm of each row, column j times ``weights[j]``, in units and rounded up.

    The sum is :math:`B + \sum_j a_j^2 (X_{ij}^2 - s_j^2)` with :math:`B = \sum_j a_j^2 s_j^2` for the shift s, added up from the first
    column to the last: absent entries of sparse rows are :math:`-s_j` and add nothing, so that dense and sparse rows give the same
    floats. A float sum of m terms errs by at most :math:`(m + 4)\,2^{-53}` times the sum of their sizes; terms that can cancel have
    :math:`|X_{ij}| < 3|s_j|` and are below :math:`8 a_j^2 s_j^2`, so twice the rounding of the sum, and 32 times that of B, are added.
    """
    d = lattice.facts.n_features
    squared = weights[:d] ** 2
    rounding = (d + 8) * 2.0**-52
    if block.sparse:
        terms = block.x.data**2
        if lattice.shifted:
            terms = terms - 2 * block.x.data * lattice.shift[block.x.indices]
        rows = sp.csr_matrix((terms, block.x.indices, block.x.indptr), shape=block.x.shape)
        total = np.asarray(rows @ squared)
    else:
        total = _ordered_sums(block.x, squared, lattice.shift**2 if lattice.shifted else None)
    if lattice.shifted:
        base = float(np.cumsum(squared * lattice.shift**2)[-1])
        total = np.maximum(total + base, 0.0) + 32 * rounding * base
    if lattice.facts.free:
        total = total + (lattice.height * weights[-1]) ** 2
    return np.asarray(total * (1 + rounding))


def _ordered_sums(x: Any, squared: Vector, less: Vector | None) -> Vector:
    """Sums of weighted squares from the first column to the last, some rows at a time."""
    total = np.zeros(x.shape[0])
    if not x.shape[1]:
        return total
    step = max(1, 2**18 // x.shape[1])
    for start in range(0, x.shape[0], step):
        terms = x[start : start + step].astype(float)
        np.square(terms, out=terms)
        if less is not None:
            terms -= less
        terms *= squared
        total[start : start + step] = np.cumsum(terms, axis=1, out=terms)[:, -1]
    return total
