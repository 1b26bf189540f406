r"""Loops that numba compiles; imported by `compiled` alone, when it is wanted.

Guarantee
---------
Sums are of whole numbers. Those in floats (products of rows with coefficients, columns of dense
rows) are below :math:`2^{53}` whatever terms are left out, so that neither order nor fused
multiplication shows: the compiler may rearrange sums (`reassoc`) and fuse (`contract`). Those of
sparse rows are 64-bit integers, which wrap: right modulo :math:`2^{64}`, without a bound on terms.

Loops over numbers that are not whole (`ordered_kernel`) may do neither: their floats are those of
numpy's operations one after the other.

Rows are taken one at a time, for a processor then reads memory in one stream: two or four at a time
were 1.5 times slower on rows that no cache holds. Indices are unsigned, so that the loop need not
look for negative ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import int64, uint64

#: Entries of sparse rows are taken four at a time; unsigned, as positions are.
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)

#: Points of a grid that are compared with a value together.
FINE = 16


def kernel(function: Callable[..., None]) -> Any:
    """Compile a loop of whole numbers; see `compile_loop`."""
    return compile_loop(function, {"reassoc", "contract"})


def ordered_kernel(function: Callable[..., None]) -> Any:
    """Compile a loop of floats that are no whole numbers: every operation as it is written, in its order."""
    return compile_loop(function, False)


def compile_loop(function: Callable[..., None], fastmath: object) -> Any:
    """Compile a loop when it is first called, or take it from the cache.

    Without one where no folder for it can be written.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
    with contextlib.suppress(RuntimeError, OSError):
        return numba.njit(cache=True, **options)(function)
    return numba.njit(**options)(function)


@kernel
def dense_forward(x, w, out, start, stop):  # type: ignore[no-untyped-def]
    """Products of rows with coefficients."""
    for i in range(start, stop):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j] * w[j]
        out[i] = total


@kernel
def dense_forward_columns(x, which, w, out, start, stop):  # type: ignore[no-untyped-def]
    """Products of rows with coefficients of some columns, added to what is there."""
    for i in range(start, stop):
        total = out[i]
        for k in range(which.size):
            total += x[i, which[k]] * w[k]
        out[i] = total


@kernel
def dense_scatter(x, factor, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times row."""
    for i in range(start, stop):
        c = factor[i]
        if c != 0.0:
            for j in range(x.shape[1]):
                acc[j] += x[i, j] * c


@kernel
def dense_scatter_from(x, centre, factor, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times row measured from a centre."""
    for i in range(start, stop):
        c = factor[i]
        if c != 0.0:
            for j in range(x.shape[1]):
                acc[j] += (x[i, j] - centre[j]) * c


@kernel
def dense_interval(x, factor, low, high, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times the part of an entry above the lower end of an interval, and within it."""
    for i in range(start, stop):
        c = factor[i]
        if c != 0.0:
            for j in range(x.shape[1]):
                acc[j] += (min(max(x[i, j] * 1.0, low[j]), high[j]) - low[j]) * c


@ordered_kernel
def dense_quantised(  # type: ignore[no-untyped-def]
    x, lower, upper, factor, scale, shift, out, finite, squares, largest, start, stop
):
    """Clipped entries times a factor of their row, truncated to whole numbers; rows that are not finite are zero."""
    for i in range(start, stop):
        unfit, c = 0, factor[i]
        for j in range(x.shape[1]):
            unfit |= int64(not np.isfinite(x[i, j]))
        finite[i] = unfit == 0
        total, most = int64(0), int64(0)
        for j in range(x.shape[1]):
            out[i, j] = 0
            if unfit == 0:
                out[i, j] = np.trunc(min(max(x[i, j] * 1.0, lower[j]), upper[j]) * c * scale) - shift[j]
        for j in range(x.shape[1]):
            value = int64(out[i, j])
            total += value * value
            most = max(most, abs(value))
        squares[i], largest[i] = total, most


@ordered_kernel
def dense_away_squares(x, unit, centre, lower, upper, alive, out, start, stop):  # type: ignore[no-untyped-def]
    """Squares of rows from a centre, added from the first column to the last, for eight rows at once."""
    square = np.empty((8, x.shape[1]))
    for first in range(start, stop, 8):
        last = min(first + 8, stop)
        for i in range(first, last):
            counts = alive[i]
            for j in range(x.shape[1]):
                away = (min(max(x[i, j] * 1.0, lower[j]), upper[j]) * unit * counts - centre[j]) * counts
                square[i - first, j] = away * away
        a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(x.shape[1]):
            a, b, c, d = a + square[0, j], b + square[1, j], c + square[2, j], d + square[3, j]
            e, f, g, h = e + square[4, j], f + square[5, j], g + square[6, j], h + square[7, j]
        totals = (a, b, c, d, e, f, g, h)
        for i in range(first, last):
            out[i] = totals[i - first]


@ordered_kernel
def dense_whole(x, unit, centre, alive, factor, step, most, out, start, stop):  # type: ignore[no-untyped-def]
    """Rows from a centre times a factor, in whole steps."""
    for i in range(start, stop):
        counts, c = alive[i], factor[i]
        for j in range(x.shape[1]):
            whole = np.trunc((x[i, j] * unit * counts - centre[j]) * counts * c / step)
            out[i, j] = min(max(whole, -most), most)


@kernel
def dense_gather(x, which, factor, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times some entries of rows."""
    for i in range(start, stop):
        c = factor[i]
        for k in range(which.size):
            acc[k] += x[i, which[k]] * c


@kernel
def dense_clipped(x, factor, limits, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of clipped factor times entry."""
    for i in range(start, stop):
        c = factor[i]
        if c != 0.0:
            for j in range(x.shape[1]):
                acc[j] += min(max(x[i, j] * c, -limits[j]), limits[j])


@kernel
def sparse_forward(data, indices, ends, w, out, start, stop):  # type: ignore[no-untyped-def]
    """Products of rows with coefficients."""
    for i in range(start, stop):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        k, last = uint64(ends[i]), uint64(ends[i + 1])
        while k + FOUR <= last:
            a += data[k] * w[indices[k]]
            b += data[k + ONE] * w[indices[k + ONE]]
            c += data[k + TWO] * w[indices[k + TWO]]
            d += data[k + THREE] * w[indices[k + THREE]]
            k += FOUR
        while k < last:
            a += data[k] * w[indices[k]]
            k += ONE
        out[i] = (a + b) + (c + d)


@kernel
def sparse_forward_many(data, indices, ends, w, out, start, stop):  # type: ignore[no-untyped-def]
    """Products of rows with each column of coefficients, five at a time, which registers hold."""
    for i in range(start, stop):
        first, last = ends[i], ends[i + 1]
        c = 0
        while c + 5 <= w.shape[1]:
            t0, t1, t2, t3, t4 = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(first, last):
                value, j = data[k] * 1.0, indices[k]
                t0 += value * w[j, c]
                t1 += value * w[j, c + 1]
                t2 += value * w[j, c + 2]
                t3 += value * w[j, c + 3]
                t4 += value * w[j, c + 4]
            out[i, c], out[i, c + 1], out[i, c + 2], out[i, c + 3], out[i, c + 4] = t0, t1, t2, t3, t4
            c += 5
        while c < w.shape[1]:
            t0 = 0.0
            for k in range(first, last):
                t0 += data[k] * w[indices[k], c]
            out[i, c] = t0
            c += 1


@kernel
def sparse_scatter(data, indices, ends, factor, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times row."""
    for i in range(start, stop):
        c = int64(factor[i])
        k, last = uint64(ends[i]), uint64(ends[i + 1])
        if c == 0:
            continue
        while k + FOUR <= last:
            acc[indices[k]] += int64(data[k]) * c
            acc[indices[k + ONE]] += int64(data[k + ONE]) * c
            acc[indices[k + TWO]] += int64(data[k + TWO]) * c
            acc[indices[k + THREE]] += int64(data[k + THREE]) * c
            k += FOUR
        while k < last:
            acc[indices[k]] += int64(data[k]) * c
            k += ONE


@kernel
def sparse_scatter_many(data, indices, ends, factor, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times row, for each column of factors, five at a time."""
    for i in range(start, stop):
        first, last = ends[i], ends[i + 1]
        c = 0
        while c + 5 <= factor.shape[1]:
            f0, f1, f2 = int64(factor[i, c]), int64(factor[i, c + 1]), int64(factor[i, c + 2])
            f3, f4 = int64(factor[i, c + 3]), int64(factor[i, c + 4])
            for k in range(first, last):
                value, j = int64(data[k]), indices[k]
                acc[j, c] += value * f0
                acc[j, c + 1] += value * f1
                acc[j, c + 2] += value * f2
                acc[j, c + 3] += value * f3
                acc[j, c + 4] += value * f4
            c += 5
        while c < factor.shape[1]:
            f0 = int64(factor[i, c])
            for k in range(first, last):
                acc[indices[k], c] += int64(data[k]) * f0
            c += 1


@ordered_kernel
def sparse_squares(data, indices, ends, squared, out, start, stop):  # type: ignore[no-untyped-def]
    """Sums of weighted squares, from the first entry of a row to the last."""
    for i in range(start, stop):
        total = 0.0
        for k in range(ends[i], ends[i + 1]):
            value = data[k] * 1.0
            total += value * value * squared[indices[k]]
        out[i] = total


@ordered_kernel
def sparse_squares_many(data, indices, ends, squared, out, start, stop):  # type: ignore[no-untyped-def]
    """The same for each column of squared weights."""
    for i in range(start, stop):
        for c in range(squared.shape[1]):
            out[i, c] = 0.0
        for k in range(ends[i], ends[i + 1]):
            value, j = data[k] * 1.0, indices[k]
            for c in range(squared.shape[1]):
                out[i, c] += value * value * squared[j, c]


@ordered_kernel
def dense_squares(x, squared, less, out, start, stop):  # type: ignore[no-untyped-def]
    """Sums of weighted squares less a number for each column, from the first column to the last."""
    for i in range(start, stop):
        total = 0.0
        for j in range(x.shape[1]):
            value = x[i, j] * 1.0
            total += (value * value - less[j]) * squared[j]
        out[i] = total


@kernel
def sparse_clipped(data, indices, ends, factor, limits, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of clipped factor times entry."""
    for i in range(start, stop):
        c = factor[i]
        if c != 0.0:
            for k in range(ends[i], ends[i + 1]):
                limit = limits[indices[k]]
                acc[indices[k]] += int64(min(max(data[k] * c, -limit), limit))


@ordered_kernel
def grid_sums(values, weights, grid, size, sums):  # type: ignore[no-untyped-def]
    """Weights by the first point that is no less than a value: counted among every sixteenth, then among sixteen.

    Infinite points follow the `size` points of the grid.
    """
    coarse = np.empty(size // FINE)
    for k in range(coarse.size):
        coarse[k] = grid[FINE * (k + 1) - 1]
    for i in range(values.size):
        value, above, beside = values[i], int64(0), int64(0)
        for k in range(coarse.size):
            above += int64(coarse[k] < value)
        for k in range(FINE):
            beside += int64(grid[FINE * above + k] < value)
        sums[size if np.isnan(value) else FINE * above + beside] += weights[i]


@ordered_kernel
def dense_unit_clipped(  # type: ignore[no-untyped-def]
    x, centre, height, factor, ends, weights, limit, entry, columns, acc, start, stop
):
    """Sums of factor times row of each unit, which are whole, then clipped and truncated."""
    d, size = x.shape[1], weights.size
    total = np.empty(d + 1)
    for u in range(start, stop):
        total[:] = 0.0
        for i in range(ends[u], ends[u + 1]):
            c = factor[i]
            if c != 0.0:
                for j in range(d):
                    total[j] += (x[i, j] - centre[j]) * c
                total[d] += height * c
        squares, largest = 0.0, 0.0
        for j in range(size):
            value = total[j] * weights[j]
            squares += value * value
            largest = max(largest, abs(total[j]))
        shrink = min(1.0, limit / np.sqrt(squares))
        if largest * shrink > entry:
            shrink = entry / largest
        for j in range(size):
            acc[j] += min(max(np.trunc(total[j] * shrink), -columns[j]), columns[j])


@ordered_kernel
def sparse_unit_clipped(  # type: ignore[no-untyped-def]
    data, indices, rows, height, factor, ends, weights, limit, entry, columns, d, acc, start, stop
):
    """The same of sparse rows: only the columns that a unit holds are looked at, in their order."""
    total, seen, held = np.zeros(d), np.zeros(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    for u in range(start, stop):
        count, constant = 0, 0.0
        for i in range(ends[u], ends[u + 1]):
            c = factor[i]
            if c != 0.0:
                constant += height * c
                for k in range(rows[i], rows[i + 1]):
                    j = indices[k]
                    if seen[j] != u + 1:
                        seen[j], held[count], total[j] = u + 1, j, 0.0
                        count += 1
                    total[j] += data[k] * c
        own = np.sort(held[:count])
        squares, largest = 0.0, 0.0
        for j in own:
            value = total[j] * weights[j]
            squares += value * value
            largest = max(largest, abs(total[j]))
        if weights.size > d:
            value = constant * weights[d]
            squares += value * value
            largest = max(largest, abs(constant))
        shrink = min(1.0, limit / np.sqrt(squares))
        if largest * shrink > entry:
            shrink = entry / largest
        for j in own:
            acc[j] += min(max(np.trunc(total[j] * shrink), -columns[j]), columns[j])
        if weights.size > d:
            acc[d] += min(max(np.trunc(constant * shrink), -columns[d]), columns[d])


@kernel
def column_forward(data, indices, ends, which, w, out):  # type: ignore[no-untyped-def]
    """Add products of rows with coefficients of some columns to what is in `out`.

    The columns are stored one after the other.
    """
    for k in range(which.size):
        c = w[k]
        for at in range(ends[which[k]], ends[which[k] + 1]):
            out[indices[at]] += data[at] * c


@kernel
def column_gather(data, indices, ends, which, factor, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times entry of some columns, which are stored one after the other."""
    for k in range(start, stop):
        total = int64(0)
        for at in range(ends[which[k]], ends[which[k] + 1]):
            total += int64(data[at]) * int64(factor[indices[at]])
        acc[k] += total
