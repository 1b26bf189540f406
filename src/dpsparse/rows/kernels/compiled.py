r"""Kernels that numba compiles, over ranges of rows in a few threads.

Guarantee
---------
Each thread has a range of rows and sums of its own, which are added as 64-bit integers: right in
any order, modulo :math:`2^{64}`. Sums of dense rows are floats within a call and whole numbers of
at most :math:`2^{52}`; they become integers before they are added. Every number is that of `plain`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.facts import Vector
from ...core.threads import at_once, thread_count
from ..lattice import Lattice
from ..row_bounds import shrink
from . import loops, plain
from .interface import Away, Indices, Matrix, Sums, UnitClip, WholeRows, entries_of

#: Entries from which on a second thread pays: below, a thread takes about as long to start as a product.
SHARED_ENTRIES = 2**17
#: A thread needs this many entries for each number of a sum of its own.
PER_SUM = 4
#: Types of rows as they came that are read as they are.
READ = ("<f4", "<f8", "|i1")


def forward(x: Matrix, w: Vector, out: Vector, rows: slice) -> None:
    """See `Kernels.forward`."""
    w = np.ascontiguousarray(w)
    if not sp.issparse(x):
        if w.ndim > 1:
            plain.forward(x, w, out, rows)
        else:
            _share(x, rows, lambda start, stop: loops.dense_forward(x, w, out, start, stop))
        return
    loop, stored = (loops.sparse_forward if w.ndim == 1 else loops.sparse_forward_many), _stored(x)
    _share(x, rows, lambda start, stop: loop(*stored, w, out, start, stop))


def forward_columns(x: Matrix, which: Indices, w: Vector, out: Vector) -> None:
    """See `Kernels.forward_columns`."""
    if w.ndim > 1:
        plain.forward_columns(x, which, w, out)
    elif sp.issparse(x):
        loops.column_forward(*_stored(x), _unsigned(which), w, out)
    else:
        at = _unsigned(which)
        loops.dense_forward_columns(x, at, w, out, 0, x.shape[0])


def scatter(x: Matrix, factor: Vector, acc: Sums, rows: slice, bound: float) -> None:
    """See `Kernels.scatter`."""
    factor = np.ascontiguousarray(factor)
    if not sp.issparse(x):
        if factor.ndim > 1:
            plain.scatter(x, factor, acc, rows, bound)
        else:
            _dense(x, rows, acc, lambda total, start, stop: loops.dense_scatter(x, factor, total, start, stop))
        return
    loop, stored = (loops.sparse_scatter if factor.ndim == 1 else loops.sparse_scatter_many), _stored(x)
    _sparse(x, rows, acc, lambda total, start, stop: loop(*stored, factor, total, start, stop))


def scatter_from(x: Matrix, centre: Vector, factor: Vector, acc: Sums, rows: slice) -> None:
    """See `Kernels.scatter_from`."""
    _dense(x, rows, acc, lambda total, a, b: loops.dense_scatter_from(x, centre, factor, total, a, b))


def interval_scatter(x: Matrix, factor: Vector, low: Vector, high: Vector, acc: Sums, rows: slice) -> None:
    """See `Kernels.interval_scatter`."""
    _dense(x, rows, acc, lambda total, a, b: loops.dense_interval(x, factor, low, high, total, a, b))


def quantise(x: Matrix, lattice: Lattice, made: WholeRows) -> None:
    """See `Kernels.quantise`; for the types that most rows have, others become floats some at a time."""
    if made.stored.dtype != np.int16 or not lattice.exact_squares:
        plain.quantise(x, lattice, made)
        return
    ones, bounds = np.ones(x.shape[1]), lattice.bounds
    form = Away(1.0, np.zeros(x.shape[1]), bounds.lower * ones, bounds.upper * ones)
    for piece in plain.quantised_pieces(x):
        rows = x[piece]
        if not rows.flags.carray or rows.dtype.str not in READ:  # numba compiles again for what is read-only
            rows = plain.row_by_row(rows)
        factor = np.ones(rows.shape[0])
        if bounds.row_norm is not None:
            away_squares(rows, form, factor, made.squares[piece])
            factor = shrink(made.squares[piece], bounds.row_norm)
        out = made.stored[piece], made.finite[piece], made.squares[piece], made.largest[piece]
        loops.dense_quantised(
            rows, form.lower, form.upper, factor, 1.0 / lattice.unit, lattice.shift, *out, 0, len(rows)
        )


def away_squares(x: Matrix, form: Away, alive: Vector, out: Vector) -> None:
    """See `Kernels.away_squares`."""
    given = form.unit, form.centre, form.lower, form.upper, alive
    _share(x, slice(0, x.shape[0]), lambda start, stop: loops.dense_away_squares(x, *given, out, start, stop))


def whole_rows(x: Matrix, form: Away, alive: Vector, factor: Vector, step: float, most: float, out: Vector) -> None:
    """See `Kernels.whole_rows`."""
    given = form.unit, form.centre, alive, factor, step, most, out
    _share(x, slice(0, x.shape[0]), lambda start, stop: loops.dense_whole(x, *given, start, stop))


def gather(x: Matrix, which: Indices, factor: Vector, acc: Sums, bound: float) -> None:
    """See `Kernels.gather`."""
    at = _unsigned(which)
    if factor.ndim > 1:
        plain.gather(x, which, factor, acc, bound)
    elif sp.issparse(x):
        loops.column_gather(*_stored(x), at, factor, acc, 0, at.size)
    else:
        total = np.zeros(acc.shape)
        loops.dense_gather(x, at, factor, total, 0, x.shape[0])
        acc += total.astype(np.int64)


def clipped_scatter(x: Matrix, factor: Vector, limits: Vector, acc: Sums, rows: slice) -> None:
    """See `Kernels.clipped_scatter`."""
    if sp.issparse(x):
        stored = _stored(x)
        _sparse(x, rows, acc, lambda total, a, b: loops.sparse_clipped(*stored, factor, limits, total, a, b))
    else:
        _dense(x, rows, acc, lambda total, a, b: loops.dense_clipped(x, factor, limits, total, a, b))


def ordered_squares(x: Matrix, squared: Vector, less: Vector, out: Vector) -> None:
    """See `Kernels.ordered_squares`."""
    rows = slice(0, x.shape[0])
    if sp.issparse(x):
        loop, stored = (loops.sparse_squares if squared.ndim == 1 else loops.sparse_squares_many), _stored(x)
        _share(x, rows, lambda start, stop: loop(*stored, squared, out, start, stop))
    elif squared.ndim > 1:
        plain.ordered_squares(x, squared, less, out)
    else:
        _share(x, rows, lambda start, stop: loops.dense_squares(x, squared, less, out, start, stop))


def grid_sums(values: Vector, weights: NDArray[np.int64], grid: Vector, sums: NDArray[np.int64]) -> None:
    """See `Kernels.grid_sums`."""
    padded = np.r_[grid, np.full(loops.FINE, np.inf)]
    loops.grid_sums(np.ascontiguousarray(values), weights, padded, grid.size, sums)


def unit_clipped(
    x: Matrix, centre: Vector, height: float, factor: Vector, ends: Indices, clip: UnitClip, acc: Sums
) -> None:
    """See `Kernels.unit_clipped`."""
    rows = slice(int(ends[0]), int(ends[-1]))
    edges = [int(np.searchsorted(ends, edge)) for edge, _ in _cut(x, rows, acc.size)] + [ends.size - 1]
    held = clip.weights, clip.limit, clip.entry, clip.columns
    totals = [np.zeros(acc.shape) for _ in edges[1:]]
    if sp.issparse(x):
        given = (*_stored(x), height, factor, ends, *held, x.shape[1])
        tasks = [
            lambda t=t, a=a, b=b: loops.sparse_unit_clipped(*given, t, a, b)
            for t, (a, b) in zip(totals, pairwise(edges), strict=True)
        ]  # type: ignore[misc]
    else:
        dense = (x, centre, height, factor, ends, *held)
        tasks = [
            lambda t=t, a=a, b=b: loops.dense_unit_clipped(*dense, t, a, b)
            for t, (a, b) in zip(totals, pairwise(edges), strict=True)
        ]  # type: ignore[misc]
    at_once(tasks)
    for total in totals:
        acc += total.astype(np.int64)


def _stored(x: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Values, indices and ends of sparse rows or columns, as the loops want them."""
    return x.data, _unsigned(x.indices), _unsigned(x.indptr)


def _unsigned(indices: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(indices).view(f"u{indices.dtype.itemsize}")


def _cut(x: Matrix, rows: slice, size: int) -> list[tuple[int, int]]:
    """Ranges of rows for the threads, of about as many entries; one where more threads would not pay."""
    entries = entries_of(x) * (rows.stop - rows.start) // max(x.shape[0], 1)
    count = thread_count() if entries >= max(SHARED_ENTRIES, PER_SUM * size) else 1
    if count == 1:
        return [(rows.start, rows.stop)]
    if sp.issparse(x):
        first, last = int(x.indptr[rows.start]), int(x.indptr[rows.stop])
        wanted = [first + (last - first) * k // count for k in range(1, count)]
        found = np.searchsorted(x.indptr[rows.start : rows.stop], np.array(wanted, dtype=x.indptr.dtype))
        inner = [int(edge) + rows.start for edge in found]
    else:
        inner = [rows.start + (rows.stop - rows.start) * k // count for k in range(1, count)]
    edges = [rows.start, *inner, rows.stop]
    return list(pairwise(edges))


def _share(x: Matrix, rows: slice, loop: Callable[[int, int], None]) -> None:
    """Run a loop over ranges of rows."""
    at_once(
        [
            lambda start=start, stop=stop: loop(start, stop)  # type: ignore[misc]
            for start, stop in _cut(x, rows, 0)
        ]
    )


def _sparse(x: object, rows: slice, acc: Sums, loop: Callable[[Sums, int, int], None]) -> None:
    """Add integer sums over ranges of rows; the first range has the caller's array."""
    cuts = _cut(x, rows, acc.size)
    totals = [acc, *(np.zeros(acc.shape, dtype=np.int64) for _ in cuts[1:])]
    tasks = [(total, *cut) for total, cut in zip(totals, cuts, strict=True)]
    at_once([lambda task=task: loop(*task) for task in tasks])  # type: ignore[misc]
    for total in totals[1:]:
        acc += total


def _dense(x: object, rows: slice, acc: Sums, loop: Callable[[Sums, int, int], None]) -> None:
    """Add float sums over ranges of rows, as integers."""
    cuts = _cut(x, rows, acc.size)
    totals = [np.zeros(acc.shape) for _ in cuts]
    tasks = [(total, *cut) for total, cut in zip(totals, cuts, strict=True)]
    at_once([lambda task=task: loop(*task) for task in tasks])  # type: ignore[misc]
    for total in totals:
        acc += total.astype(np.int64)
