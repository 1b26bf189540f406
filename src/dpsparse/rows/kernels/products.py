r"""Products of a block of rows on the lattice: shifts, intercepts and supports around the kernels.

Guarantee
---------
Everything here is exact for rows, factors and iterates on the lattice, so the order in which
kernels add does not show. Forward products are below :math:`2^{53}` by `Lattice.rounded`. A sum of
factor times row has terms within `Lattice.record_units` for a shifted row, so that those of a block
are at most :math:`2^{52}`: dense rows are stored shifted. Where sparse rows are shifted after the
product, the unshifted terms can be larger, for a row one unit from its shift may have a factor of
:math:`2^{36}` and entries of :math:`2^{16}`. Kernels sum them modulo :math:`2^{64}`; so is the
product of shift and factors; and the sum of shifted terms, which is what is left, is below
:math:`2^{52}`.

Rows of the non-private baselines are floats (`Lattice.exact`), whose sums depend on the order: those
are always numpy's and scipy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from ...core.errors import DataError
from ...core.facts import Vector
from ..block import Block
from ..lattice import Lattice
from ..units import WEIGHTS, pieces_of
from . import plain
from .choice import kernels
from .interface import Away, Indices, Kernels, Sums, UnitClip, entries_of, owners
from .plain import dense_pieces

#: A copy by columns is made once it was asked for this often: it costs about as much as this many products.
PAYS_COPY = 8
#: Sums by unit take plain kernels about this many times as long as sums by row.
UNITS_PAY = 8
#: Dense rows are clipped this many entries at a time.
CLIPPED_ENTRIES = 2**20
#: Whole rows from a centre are made this many entries at a time, and at least this number of rows.
WHOLE_ENTRIES, LEAST_ROWS = 2**18, 512
#: And at most this many, whose outer products are added in floats: squares of at most 2^36, so sums stay below 2^53.
PIECE_ROWS = 2**12

ColumnSum = Callable[[Block, Lattice], Sums]


def _for(lattice: Lattice, entries: int) -> Kernels:
    """Who does the work."""
    return cast("Kernels", plain) if lattice.exact else kernels(entries)


def unit_kernels(lattice: Lattice, x: object) -> Kernels:
    """Who sums an array of rows by unit: compiled loops pay sooner than for other sums."""
    return _for(lattice, UNITS_PAY * entries_of(x))


def kernels_of(lattice: Lattice, x: object) -> Kernels:
    """Who multiplies an array of rows on this lattice, or made from it."""
    return _for(lattice, entries_of(x))


def sum_type(lattice: Lattice) -> Any:
    """Type of sums: 64-bit integers on the lattice, floats beside it."""
    return float if lattice.exact else np.int64


def forward(block: Block, lattice: Lattice, whole: Vector) -> Vector:
    """Products of all rows with coefficients, in units; with each column of a matrix of them."""
    d, x = lattice.facts.n_features, block.x
    offset = _offset(block, lattice, slice(d), whole[:d], whole[d:])
    out = np.empty((x.shape[0], *whole.shape[1:]))
    with np.errstate(all="ignore"):  # a wild iterate of the non-private baselines must not warn
        _for(lattice, entries_of(x) * out[:1].size).forward(x, whole[:d], out, slice(0, x.shape[0]))
        return np.add(out, offset, out=out)


def forward_columns(block: Block, lattice: Lattice, which: Indices, whole: Vector) -> Vector:
    """Products of all rows with coefficients of the coordinates `which`, in units."""
    features = which < lattice.facts.n_features
    picked, head = which[features], whole[features]
    offset = _offset(block, lattice, picked, head, whole[~features])
    out = np.zeros((block.y.size, *whole.shape[1:]))
    if picked.size and block.sparse and not by_columns(block):
        full = np.zeros((lattice.facts.dimension, *whole.shape[1:]))
        full[which] = whole
        return forward(block, lattice, full)
    with np.errstate(all="ignore"):
        if picked.size:
            x = block.csc if block.sparse else block.x
            _for(lattice, block.y.size * picked.size).forward_columns(x, picked, head, out)
        return np.add(out, offset, out=out)


def by_columns(block: Block) -> bool:
    """Whether sparse rows have a copy by columns, which is made where it is asked for often enough to pay."""
    if block.csc is None and block.whole:
        block.asked += 1
        if block.asked >= PAYS_COPY:
            block.csc = block.x.tocsc()
    return block.csc is not None


def _offset(block: Block, lattice: Lattice, which: Indices | slice, head: Vector, last: Vector) -> Vector:
    """What the shift of sparse rows and the intercept column add to every product."""
    shift = lattice.shift[which] @ head if block.sparse and lattice.shifted else 0.0
    return np.asarray(lattice.height * last.sum(axis=0) - shift)


def columns(block: Block, which: Indices) -> Any:
    """Some columns as they are stored, through a copy by columns for sparse rows."""
    if not block.sparse:
        every = which.size == block.x.shape[1] and bool(np.all(np.diff(which) == 1))
        return (block.x if every else block.x[:, which]).astype(float)
    return (block.csc if by_columns(block) else block.x)[:, which]


def shifted_columns(block: Block, lattice: Lattice, which: Indices) -> Vector:
    """Some features of all rows, shifted, as a dense array in units."""
    picked = columns(block, which)
    if not block.sparse:
        return np.asarray(picked)
    return np.asarray(picked.toarray() - lattice.shift[which])


def scatter(block: Block, lattice: Lattice, factor: Vector, acc: Sums, support: Indices | None = None) -> None:
    """Add the sum of factor times row, in units, to `acc`; only the coordinates of `support`, if given.

    Of a matrix of factors each column is one vector of them, and one column of the answer.
    """
    d, x = lattice.facts.n_features, block.x
    summed = factor.sum(axis=0)  # whole numbers: of 2^16 rows with factors within 2^36
    if support is None:
        which: Any = slice(d)
        _for(lattice, entries_of(x) * factor[:1].size).scatter(
            x, factor, acc[:d], slice(0, x.shape[0]), lattice.stored_bound
        )
        acc[d:] += np.asarray(lattice.height * summed).astype(acc.dtype)
    else:
        features = support < d
        picked = support[features]
        if block.sparse and not by_columns(block):
            total = np.zeros((d, *factor.shape[1:]), dtype=acc.dtype)
            run = _for(lattice, entries_of(x) * factor[:1].size)
            run.scatter(x, factor, total, slice(0, x.shape[0]), lattice.stored_bound)
            head = total[picked]
        else:
            head = np.zeros((picked.size, *factor.shape[1:]), dtype=acc.dtype)
            source = block.csc if block.sparse else x
            _for(lattice, block.y.size * picked.size).gather(source, picked, factor, head, lattice.stored_bound)
        acc[features] += head
        acc[~features] += np.asarray(lattice.height * summed).astype(acc.dtype)
        which = features
    if block.sparse and lattice.shifted:
        shift = lattice.shift if support is None else lattice.shift[picked]
        acc[which] -= np.multiply.outer(shift.astype(acc.dtype), np.asarray(summed).astype(acc.dtype))


def unit_scatter(block: Block, lattice: Lattice, factor: Vector, clip: UnitClip, acc: Sums) -> None:
    """Add the sum of factor times row of each unit, clipped and truncated, to `acc`: see `queries.unit_sums`.

    Sparse rows that are shifted are written out, some units at a time.
    """
    ends = np.r_[block.unit_starts, block.y.size]
    centre = np.zeros(lattice.facts.n_features)
    if not (block.sparse and lattice.shifted):
        run = unit_kernels(lattice, block.x)
        run.unit_clipped(block.x, centre, lattice.height, factor, ends, clip, acc)
        return
    every, step = np.arange(centre.size), max(1, CLIPPED_ENTRIES // max(centre.size, 1))
    for start, stop in pieces_of(block.unit_starts, block.y.size, step):
        x = np.ascontiguousarray(shifted_columns(block.rows(slice(start, stop)), lattice, every))
        own = ends[np.searchsorted(ends, start) : np.searchsorted(ends, stop) + 1] - start
        unit_kernels(lattice, x).unit_clipped(x, centre, lattice.height, factor[start:stop], own, clip, acc)


def real_scatter(block: Block, lattice: Lattice, factor: Vector, support: Indices | None = None) -> Sums:
    """As `scatter`, for factors that are no whole numbers: for answers that are exact or public."""
    d, summed = lattice.facts.n_features, factor.sum(axis=0)
    which = np.arange(lattice.facts.dimension) if support is None else support
    features = which < d
    x = block.x if support is None else columns(block, which[features])
    if block.sparse:
        head = x.astype(float, copy=False).T @ factor
    else:
        head = np.zeros((x.shape[1], *factor.shape[1:]))
        for piece, rows in dense_pieces(x):
            head += rows.T @ factor[piece]
    if block.sparse and lattice.shifted:
        head = head - np.multiply.outer(lattice.shift[which[features]], summed)
    total: Sums = np.multiply.outer(np.full(which.size, lattice.height), summed)
    total[features] = head
    return total


def clipped_scatter(
    block: Block, lattice: Lattice, factor: Vector, limits: Vector, acc: Sums, support: Indices | None = None
) -> None:
    """As `scatter`, with every entry of every factor times row clipped to the limit of its column."""
    d = lattice.facts.n_features
    if block.sparse and lattice.shifted:
        raise DataError("clips per column need unshifted sparse rows: leave feature_center out, or use dense rows.")
    x, bounds = block.x, limits[:d]
    if support is not None:
        picked = support[support < d]
        x = sp.csr_matrix(columns(block, picked)) if block.sparse else np.ascontiguousarray(x[:, picked])
        bounds = limits[picked]
    head = np.zeros(bounds.size, dtype=acc.dtype)
    run = _for(lattice, entries_of(x))
    run.clipped_scatter(x, factor, np.ascontiguousarray(bounds), head, slice(0, block.y.size))
    features = slice(d) if support is None else support < d
    acc[features] += head
    if lattice.facts.free:
        constant = np.clip(lattice.height * factor, -limits[-1], limits[-1]).sum().astype(acc.dtype)
        acc[slice(d, None) if support is None else support >= d] += constant


def entry_clipped_scatter(block: Block, lattice: Lattice, factor: Vector, limit: float) -> Sums:
    r"""Sum of factor times row, every entry of the row clipped to :math:`\pm` `limit`; features only.

    Entries that sparse rows do not hold are minus the shift: these come as one product for all
    rows, and the rows mend it.
    """
    kind = sum_type(lattice)
    if not (lattice.exact or (block.sparse and lattice.shifted)):
        acc = np.zeros(lattice.facts.n_features, dtype=np.int64)
        _add_clipped(block.x, factor, limit, acc)
        return acc
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


def _add_clipped(x: Any, factor: Vector, limit: float, acc: Sums) -> None:
    """Add the sum of factor times row with entries within a whole `limit`, some rows at a time."""
    run, n = kernels(entries_of(x)), x.shape[0]
    if sp.issparse(x):
        held = sp.csr_matrix((_clipped(x.data, limit), x.indices, x.indptr), shape=x.shape)
        run.scatter(held, factor, acc, slice(0, n), limit)
    else:
        step = max(1, CLIPPED_ENTRIES // max(x.shape[1], 1))
        for start in range(0, n, step):
            part = _clipped(x[start : start + step], limit)
            run.scatter(part, factor[start : start + step], acc, slice(0, part.shape[0]), limit)


def _clipped(values: Any, limit: float) -> Any:
    """Values within a whole `limit`, in the type that they have."""
    if values.dtype.kind != "i":
        return np.clip(values, -limit, limit)
    if limit > np.iinfo(values.dtype).max:  # whole: so it is at least the largest size of a value
        return values
    least, most = np.array([-limit, limit]).astype(values.dtype)
    return np.clip(values, least, most)


def every_feature(which: Indices, lattice: Lattice) -> bool:
    """Whether these are all features, in their order; each is named at most once."""
    return which.size == lattice.facts.n_features and bool(np.all(np.diff(which) == 1))


def whole_rows(
    block: Block, lattice: Lattice, which: Indices, centre: Vector, norm: float, step: float, most: float
) -> Iterator[Vector]:
    """Features of rows less a centre in real units, clipped to a norm, in whole steps up to a number.

    Absent records are zero. Some rows at a time, which the next ones overwrite. Each is a function of its
    record alone: every float is made by one operation after the other, and squares are added from the first
    column to the last.
    """
    form, every = Away.from_centre(lattice.unit, centre), every_feature(which, lattice) and not block.sparse
    count = whole_count(block.y.size, which.size)
    room, squares = np.empty((count, which.size)), np.empty(count)
    for start in range(0, block.y.size, max(count, 1)):
        piece = block.rows(slice(start, start + count))
        x = piece.x if every else np.ascontiguousarray(shifted_columns(piece, lattice, which))
        run, out, lengths = kernels_of(lattice, x), room[: len(x)], squares[: len(x)]
        with np.errstate(over="ignore"):
            run.away_squares(x, form, piece.present, lengths)
        lengths = np.minimum(np.sqrt(lengths), np.finfo(float).max)
        run.whole_rows(x, form, piece.present, norm / np.maximum(lengths, norm), step, most, out)
        yield out


def whole_count(rows: int, columns: int) -> int:
    """How many of some rows are made whole at once."""
    return min(max(LEAST_ROWS, WHOLE_ENTRIES // max(columns, 1)), PIECE_ROWS, rows)


def squared_sum(block: Block, lattice: Lattice) -> Sums:
    """Sum of squared entries of each coordinate over the rows that count."""
    return _column_sums(block, lattice, np.square)


def absolute_sum(block: Block, lattice: Lattice) -> Sums:
    """Sum of absolute entries of each coordinate over the rows that count."""
    return _column_sums(block, lattice, np.abs)


def unit_column_sum(block: Block, lattice: Lattice, kernel: ColumnSum) -> Sums:
    """Sum over units of the mean over their rows of what `squared_sum` or `absolute_sum` adds up, truncated by unit.

    Entries and their squares are whole numbers within `Lattice.record_units`, at most 2^36, which are
    added with whole weights: within 2^56, and exact in any order.
    """
    function = np.square if kernel is squared_sum else np.abs
    assert block.weight is not None
    every, total = np.arange(lattice.facts.n_features), np.zeros(lattice.facts.dimension, dtype=np.int64)
    step = max(1, CLIPPED_ENTRIES // max(every.size, 1))
    for start, stop in pieces_of(block.unit_starts, block.y.size, step):
        piece = block.rows(slice(start, stop))
        rows = np.column_stack(
            [shifted_columns(piece, lattice, every), *[np.full(stop - start, lattice.height)] * lattice.facts.free]
        )
        whole = function(rows).astype(np.int64) * np.rint(block.weight[start:stop] * WEIGHTS).astype(np.int64)[:, None]
        total += (np.add.reduceat(whole, piece.unit_starts, axis=0) // WEIGHTS).sum(axis=0)
    return total


def _column_sums(block: Block, lattice: Lattice, function: Any) -> Sums:
    d, kind, x = lattice.facts.n_features, sum_type(lattice), block.x
    if block.sparse and not lattice.shifted and not lattice.exact:  # sizes are stored as entries are, squares are not
        data = function(x.data if function is np.abs else x.data.astype(float, copy=False))
        head: Any = np.zeros(d, dtype=kind)
        held, bound = sp.csr_matrix((data, x.indices, x.indptr), shape=x.shape), function(lattice.stored_bound)
        _for(lattice, entries_of(x)).scatter(held, block.present, head, slice(0, block.y.size), bound)
    elif block.sparse:
        data = x.data.astype(float, copy=False)
        values = function(data)
        if lattice.shifted:
            shift = lattice.shift[x.indices]
            values = function(data - shift) - function(shift)
        head = np.bincount(x.indices, weights=values * block.present[owners(x)], minlength=d)
        head = head + function(lattice.shift) * block.present.sum()
    else:
        head = np.zeros(d)
        for piece, rows in dense_pieces(x):
            head += block.present[piece] @ function(rows)
    last = [function(lattice.height) * block.present.sum()] * lattice.facts.free
    return np.asarray(np.r_[head, last].astype(kind))


def weighted_squares(block: Block, lattice: Lattice, weights: Vector) -> Vector:
    r"""Squared norm of each row, column j times ``weights[j]``, in units and rounded up.

    One for each column of a matrix of weights.

    The sum is :math:`B + \sum_j a_j^2 (X_{ij}^2 - s_j^2)` with :math:`B = \sum_j a_j^2 s_j^2` for
    the shift s, added up from the first column to the last: absent entries of sparse rows are
    :math:`-s_j` and add nothing, so that dense and sparse rows give the same floats. A float sum of
    m terms errs by at most :math:`(m + 4)\,2^{-53}` times the sum of their sizes; terms that can
    cancel have :math:`|X_{ij}| < 3|s_j|` and are below :math:`8 a_j^2 s_j^2`, so twice the rounding
    of the sum, and 32 times that of B, are added.
    """
    d = lattice.facts.n_features
    squared = weights[:d] ** 2
    rounding = (d + 8) * 2.0**-52
    total = np.empty((block.y.size, *squared.shape[1:]))
    if block.sparse and lattice.shifted:
        terms = block.x.data.astype(float)
        terms = terms**2 - 2 * terms * lattice.shift[block.x.indices]
        total[:] = sp.csr_matrix((terms, block.x.indices, block.x.indptr), shape=block.x.shape) @ squared
    else:
        # a few times in a fit, and quick by either path: not worth loading kernels for
        _for(lattice, 0).ordered_squares(block.x, np.ascontiguousarray(squared), lattice.shift**2, total)
    if lattice.shifted:
        base = np.cumsum(squared * _like(lattice.shift**2, squared), axis=0)[-1]
        total = np.maximum(total + base, 0.0) + 32 * rounding * base
    if lattice.facts.free:
        total = total + (lattice.height * weights[-1]) ** 2
    return np.asarray(total * (1 + rounding))


def _like(values: Vector, other: Vector) -> Vector:
    """Values of coordinates, as a column where there are several vectors of them."""
    return values.reshape(-1, *[1] * (other.ndim - 1))
