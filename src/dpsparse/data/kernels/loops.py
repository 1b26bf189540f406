r"""Loops that numba compiles; imported by `compiled` alone, when it is wanted.

Guarantee
---------
Sums are of whole numbers. Those in floats (products of rows with coefficients, columns of dense rows) are below :math:`2^{53}`
whatever terms are left out, so that neither order nor fused multiplication shows: the compiler may rearrange sums (`reassoc`) and fuse
(`contract`). Those of sparse rows are 64-bit integers, which wrap: right modulo :math:`2^{64}`, without a bound on terms.

Rows are taken one at a time, for a processor then reads memory in one stream: two or four at a time were 1.5 times slower on rows that
no cache holds. Indices are unsigned, so that the loop need not look for negative ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numba
from numba import int64


def kernel(function: Callable[..., None]) -> Any:
    """Compile a loop when it is first called, or take it from the cache; without one where no folder for it can be written."""
    options: dict[str, Any] = {"nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
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
        total = 0.0
        for k in range(ends[i], ends[i + 1]):
            total += data[k] * w[indices[k]]
        out[i] = total


@kernel
def sparse_forward_many(data, indices, ends, w, out, start, stop):  # type: ignore[no-untyped-def]
    """Products of rows with each column of coefficients."""
    for i in range(start, stop):
        for c in range(w.shape[1]):
            out[i, c] = 0.0
        for k in range(ends[i], ends[i + 1]):
            value, j = data[k] * 1.0, indices[k]
            for c in range(w.shape[1]):
                out[i, c] += value * w[j, c]


@kernel
def sparse_scatter(data, indices, ends, factor, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times row."""
    for i in range(start, stop):
        c = int64(factor[i])
        if c != 0:
            for k in range(ends[i], ends[i + 1]):
                acc[indices[k]] += int64(data[k]) * c


@kernel
def sparse_scatter_many(data, indices, ends, factor, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of factor times row, for each column of factors."""
    for i in range(start, stop):
        for k in range(ends[i], ends[i + 1]):
            value, j = int64(data[k]), indices[k]
            for c in range(factor.shape[1]):
                acc[j, c] += value * int64(factor[i, c])


@kernel
def sparse_clipped(data, indices, ends, factor, limits, acc, start, stop):  # type: ignore[no-untyped-def]
    """Sum of clipped factor times entry."""
    for i in range(start, stop):
        c = factor[i]
        if c != 0.0:
            for k in range(ends[i], ends[i + 1]):
                limit = limits[indices[k]]
                acc[indices[k]] += int64(min(max(data[k] * c, -limit), limit))


@kernel
def column_forward(data, indices, ends, which, w, out):  # type: ignore[no-untyped-def]
    """Products of rows with coefficients of some columns, which are stored one after the other, added to what is there."""
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
