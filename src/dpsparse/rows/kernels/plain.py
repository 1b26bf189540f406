r"""Kernels of numpy and scipy.

Guarantee
---------
BLAS and scipy add floats, which is exact below :math:`2^{53}` in any order. Terms of dense rows
stay below :math:`2^{52}` by what `Kernels.scatter` asks for. Terms of sparse rows that are shifted
after the product can be larger: a row one unit from its shift may have a factor of :math:`2^{36}`
and entries of :math:`2^{16}`. Then factors are split into a high and a low word of at most 18 bits
each, whose products with :math:`2^{16}` rows are below :math:`2^{50}`. The words are put together
modulo :math:`2^{64}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.facts import Vector
from ..lattice import Lattice
from .interface import Away, Indices, Mask, Matrix, Sums, UnitClip, WholeRows, owners

#: Bits of the low word of a factor: half of the 36 that a factor can have.
LOW_BITS = 18
#: Narrow rows become floats this many entries at a time, which a processor's cache holds.
PIECE_ENTRIES = 2**15
#: Dense rows are clipped this many entries at a time.
QUANTISED_ENTRIES = 2**16
#: Entries and columns that are clipped together where the entries of a column stand next to each other in memory.
TURNED_ENTRIES, COLUMNS_COPIED = 2**18, 512
#: Likewise for sparse rows, where each piece makes a sum of its own.
SPARSE_ENTRIES = 2**18


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


def sparse_pieces(x: Any) -> Iterator[tuple[slice, Any]]:
    """Sparse rows as floats, some at a time, each piece at least as large as a sum over it."""
    rows, d = x.shape
    if x.dtype == np.float64:
        yield slice(0, rows), x
        return
    each = max(SPARSE_ENTRIES, 2 * d)
    start = 0
    while start < rows:
        stop = max(start + 1, int(np.searchsorted(x.indptr, x.indptr[start] + each, side="right")) - 1)
        first, last = x.indptr[start], x.indptr[stop]
        parts = x.data[first:last].astype(float), x.indices[first:last], x.indptr[start : stop + 1] - first
        yield slice(start, stop), sp.csr_matrix(parts, shape=(stop - start, d))
        start = stop


def _pieces(x: Matrix, rows: slice) -> Iterator[tuple[slice, Any]]:
    """Some rows as floats, a few at a time, with their numbers among all."""
    part = x if (rows.start, rows.stop) == (0, x.shape[0]) else x[rows]
    for piece, shown in sparse_pieces(part) if sp.issparse(x) else dense_pieces(part):
        yield slice(piece.start + rows.start, piece.stop + rows.start), shown


def forward(x: Matrix, w: Vector, out: Vector, rows: slice) -> None:
    """See `Kernels.forward`."""
    if isinstance(x, np.ndarray) and x.dtype == np.float64:
        np.dot(x[rows], w, out=out[rows])
        return
    for piece, shown in _pieces(x, rows):
        if sp.issparse(shown):
            out[piece] = shown @ w
        else:
            np.dot(shown, w, out=out[piece])


def forward_columns(x: Matrix, which: Indices, w: Vector, out: Vector) -> None:
    """See `Kernels.forward_columns`."""
    out += x[:, which].astype(float, copy=False) @ w


def scatter(x: Matrix, factor: Vector, acc: Sums, rows: slice, bound: float) -> None:
    """See `Kernels.scatter`."""
    _add(acc, factor, bound * (rows.stop - rows.start), sp.issparse(x), lambda word: _sum(x, word, rows))


def scatter_from(x: Matrix, centre: Vector, factor: Vector, acc: Sums, rows: slice) -> None:
    """See `Kernels.scatter_from`."""
    total = np.zeros(x.shape[1])
    for piece, shown in _pieces(x, rows):
        total += factor[piece] @ (shown - centre)
    acc += total.astype(acc.dtype)


def interval_scatter(x: Matrix, factor: Vector, low: Vector, high: Vector, acc: Sums, rows: slice) -> None:
    """See `Kernels.interval_scatter`."""
    total = np.zeros(x.shape[1])
    for piece, shown in _pieces(x, rows):
        total += factor[piece] @ (np.clip(shown, low, high) - low)
    acc += total.astype(acc.dtype)


def quantised_pieces(x: NDArray[Any]) -> Iterator[slice]:
    """Which rows are clipped at once: as many as a cache holds."""
    entries = QUANTISED_ENTRIES if x.strides[0] >= x.strides[1] else TURNED_ENTRIES
    step = max(1, entries // max(x.shape[1], 1))
    return (slice(start, min(start + step, x.shape[0])) for start in range(0, x.shape[0], step))


def quantise(x: Matrix, lattice: Lattice, made: WholeRows) -> None:
    """See `Kernels.quantise`."""
    for piece in quantised_pieces(x):
        rows, finite = clipped_rows(x[piece], lattice)
        rows *= 1.0 / lattice.unit
        np.trunc(rows, out=rows)
        if lattice.shifted:
            rows -= lattice.shift
        if not finite.all():
            rows[~finite] = 0.0
        made.stored[piece], made.finite[piece] = rows, finite
        exact = not lattice.exact_squares
        squares = (rows**2).astype(np.int64).sum(axis=1) if exact else np.einsum("ij,ij->i", rows, rows)
        made.squares[piece] = squares
        made.largest[piece] = np.abs(rows, out=rows).max(axis=1, initial=0.0)


def row_by_row(x: Any) -> Vector:
    """A copy as floats, one row after the other, some columns at a time where these stand one after the other."""
    if x.strides[0] >= x.strides[1]:
        return np.array(x, dtype=float, order="C")
    rows = np.empty(x.shape)
    for start in range(0, x.shape[1], COLUMNS_COPIED):
        rows[:, start : start + COLUMNS_COPIED] = x[:, start : start + COLUMNS_COPIED]
    return rows


def clipped_rows(x: Any, lattice: Lattice) -> tuple[Vector, Mask]:
    """Dense rows within their bounds, as floats in real units, and which were finite: others are clipped zeros."""
    rows = row_by_row(x)
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    if not finite.all():
        rows[~finite] = 0.0
    lattice.bounds.clip(rows)
    return rows, finite


def away_squares(x: Matrix, form: Away, alive: Vector, out: Vector) -> None:
    """See `Kernels.away_squares`."""
    for piece, shown in dense_pieces(x):
        squares = np.square(_away(np.minimum(np.maximum(shown, form.lower), form.upper), form, alive[piece, None]))
        out[piece] = np.cumsum(squares, axis=1, out=squares)[:, -1] if x.shape[1] else 0.0


def whole_rows(x: Matrix, form: Away, alive: Vector, factor: Vector, step: float, most: float, out: Vector) -> None:
    """See `Kernels.whole_rows`."""
    for piece, shown in dense_pieces(x):
        away = _away(shown, form, alive[piece, None])
        away *= factor[piece, None]
        away /= step
        np.clip(np.trunc(away, out=away), -most, most, out=out[piece])


def _away(shown: Vector, form: Away, alive: Vector) -> Vector:
    """Rows from a centre."""
    away = shown * form.unit
    away *= alive
    away -= form.centre
    away *= alive
    return np.asarray(away)


def gather(x: Matrix, which: Indices, factor: Vector, acc: Sums, bound: float) -> None:
    """See `Kernels.gather`."""
    picked = x[:, which].astype(float, copy=False)
    _add(acc, factor, bound * x.shape[0], sp.issparse(x), lambda word: picked.T @ word)


def clipped_scatter(x: Matrix, factor: Vector, limits: Vector, acc: Sums, rows: slice) -> None:
    """See `Kernels.clipped_scatter`."""
    for piece, shown in _pieces(x, rows):
        if sp.issparse(shown):
            values = shown.data * factor[piece][owners(shown)]
            held = limits[shown.indices]
            np.clip(values, -held, held, out=values)
            acc += np.bincount(shown.indices, weights=values, minlength=acc.size).astype(acc.dtype)
        else:
            acc += np.clip(shown * factor[piece, None], -limits, limits).sum(axis=0).astype(acc.dtype)


def ordered_squares(x: Matrix, squared: Vector, less: Vector, out: Vector) -> None:
    """See `Kernels.ordered_squares`."""
    if sp.issparse(x):
        squares = sp.csr_matrix((np.square(x.data.astype(float)), x.indices, x.indptr), shape=x.shape)
        out[:] = squares @ squared
    elif squared.ndim > 1:
        for k in range(squared.shape[1]):
            column = np.empty(x.shape[0])
            ordered_squares(x, squared[:, k], less, column)
            out[:, k] = column
    elif not x.shape[1]:
        out[:] = 0.0
    else:
        for piece, shown in dense_pieces(x):
            terms = np.square(shown)
            terms -= less
            terms *= squared
            out[piece] = np.cumsum(terms, axis=1, out=terms)[:, -1]


def grid_sums(values: Vector, weights: NDArray[np.int64], grid: Vector, sums: NDArray[np.int64]) -> None:
    """See `Kernels.grid_sums`. Floats hold the weights of a block, at most 2^20 times 2^26 rows together."""
    found = np.bincount(np.searchsorted(grid, values), weights=weights, minlength=sums.size)
    sums += found.astype(np.int64)


def unit_clipped(
    x: Matrix, centre: Vector, height: float, factor: Vector, ends: Indices, clip: UnitClip, acc: Sums
) -> None:
    """See `Kernels.unit_clipped`."""
    d, step = x.shape[1], max(1, SPARSE_ENTRIES // max(x.shape[1], 1))
    edges = np.unique(np.searchsorted(ends, [*range(int(ends[0]), int(ends[-1]), step), int(ends[-1])]))
    for first, last in pairwise(edges.tolist()):
        rows, here = slice(int(ends[first]), int(ends[last])), ends[first : last + 1] - ends[first]
        shown, own = x[rows].astype(float, copy=False), factor[rows]
        units = sp.csr_matrix((own, np.arange(own.size), here), shape=(last - first, own.size))
        constant = (units @ np.full((own.size, 1), height))[:, : acc.size - d]
        if not sp.issparse(shown):
            sums = np.hstack([units @ (shown - centre if np.any(centre) else shown), constant])
            squares = np.square(sums * clip.weights)
            shrink = _shrink(np.cumsum(squares, axis=1)[:, -1], np.abs(sums).max(axis=1, initial=0.0), clip)
            sums *= shrink[:, None]
            acc += np.clip(np.trunc(sums, out=sums), -clip.columns, clip.columns).sum(axis=0).astype(acc.dtype)
            continue
        found = sp.csr_matrix(units @ shown)
        found.sort_indices()
        unit = owners(found)
        squares = np.square(found.data * clip.weights[found.indices])
        total = sp.csr_matrix((squares, np.zeros_like(found.indices), found.indptr), shape=(last - first, 1)) @ np.ones(
            1
        )
        total = total + np.square(constant * clip.weights[d:]).sum(axis=1)
        largest = np.abs(constant).max(axis=1, initial=0.0)
        np.maximum.at(largest, unit, np.abs(found.data))
        shrink, held = _shrink(total, largest, clip), clip.columns[found.indices]
        values = np.clip(np.trunc(found.data * shrink[unit]), -held, held)
        acc[:d] += np.bincount(found.indices, weights=values, minlength=d).astype(acc.dtype)
        last_held = np.clip(np.trunc(constant * shrink[:, None]), -clip.columns[d:], clip.columns[d:])
        acc[d:] += last_held.sum(axis=0).astype(acc.dtype)


def _shrink(squares: Vector, largest: Vector, clip: UnitClip) -> Vector:
    """The factor that brings a unit within its bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.minimum(1.0, clip.limit / np.sqrt(squares))
        return np.where(largest * shrink > clip.entry, clip.entry / largest, shrink)


def _sum(x: Matrix, factor: Vector, rows: slice) -> Vector:
    """Sum of factor times row over some rows, in floats."""
    if x.dtype == np.float64 and (rows.start, rows.stop) == (0, x.shape[0]):
        return np.asarray(x.T @ factor)
    total = np.zeros((x.shape[1], *factor.shape[1:]))
    for piece, shown in _pieces(x, rows):
        total += shown.T @ factor[piece]
    return total


def _add(acc: Sums, factor: Vector, most: float, sparse: bool, total: Any) -> None:
    """Add a sum over factors to `acc`, whose integers may need the factors in two words.

    `most` bounds the sum of absolute entries.
    """
    if sparse and acc.dtype == np.int64 and float(np.abs(factor).max(initial=0.0)) * most >= 2.0**53:
        high = np.trunc(np.ldexp(factor, -LOW_BITS))
        low = factor - np.ldexp(high, LOW_BITS)
        acc += total(high).astype(np.int64) << LOW_BITS
        acc += total(low).astype(np.int64)
    else:
        acc += np.asarray(total(factor)).astype(acc.dtype)
