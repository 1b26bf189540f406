"""Rows as a fitted model takes them, and their margins under a public linear model, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..core.facts import Vector
from .block import PIECE_ENTRIES, canonical, pieces
from .kernels.interface import owners
from .records import Raw, Records, suppress_messages
from .row_bounds import RowBounds


def served(source: Records, bounds: RowBounds | None) -> Iterator[Raw]:
    """Rows clipped as those of a fit within these bounds, some at a time: **private**.

    They are in the units of the user and not rounded.

    Sparse rows stay sparse, unless a column's bounds leave out zero, which few of them at a time
    are filled for. A row with a cell that is no finite number is NaN in all its cells. None: rows
    as they come.
    """
    for x, _ in source.blocks(np.zeros(0)):
        if bounds is None:
            yield x
        elif sp.issparse(x) and bounds.holds_zero:
            yield from (_clipped(piece, bounds) for _, piece in pieces(canonical(x)))
        else:
            step = max(1, PIECE_ENTRIES // max(1, x.shape[1]))
            for start in range(0, x.shape[0], step):
                piece = x[start : start + step]
                dense = piece.toarray() if sp.issparse(piece) else piece
                yield _clipped(np.array(dense, dtype=float, order="C"), bounds)


def _clipped(x: Raw, bounds: RowBounds) -> Raw:
    """Some rows, clipped in place; a row that is not finite becomes NaN."""
    values = x.data if sp.issparse(x) else x
    finite = np.isfinite(values)
    bounds.clip(x)
    if not finite.all():
        owner = owners(x) if sp.issparse(x) else np.arange(x.shape[0])
        bad = np.zeros(x.shape[0], dtype=bool)
        bad[owner[np.nonzero(~finite)[0]]] = True
        values[bad[owner]] = np.nan
    return x


def row_margins(source: Records, coef: Vector, intercept: Vector, bounds: RowBounds | None) -> Vector:
    """Margins of each row under some models: **private**.

    Guarantee
    ---------
    The margins of a row are a function of that row and of the public models alone. Products are
    added one column after the other, the same for dense and for sparse rows, so that nothing
    depends on where a row stands or on its company, as sums of BLAS do in their last bits. A row
    with a cell that is no finite number has no margins: NaN.

    Parameters
    ----------
    source : Records
    coef : array of shape (models, n_features)
    intercept : array of shape (models,)
    bounds : RowBounds or None
        To which rows are clipped first, as those of the fit were; None: not at all.

    Returns
    -------
    array of shape (rows, models)
    """
    parts = [np.zeros((0, intercept.size))]
    with suppress_messages():
        for x in served(source, bounds):
            parts.append(_sparse(x, coef) if sp.issparse(x) else _dense(np.asarray(x, dtype=float), coef))
        found = np.concatenate(parts)
        return np.asarray(found + intercept)


def whole_and_rest(margins: Vector, unit: float, widest: float) -> Vector:
    """Margins within `widest`, cut to multiples of a lattice's unit, and beside them the rest.

    The rest is what was cut off, enlarged to the same size.

    A lattice of 15 bits then holds margins of about 30: `unit` / `widest` times the rest belongs to
    a margin.

    Examples
    --------
    >>> whole_and_rest(np.array([[0.8125]]), 0.25, 64.0)
    array([[ 0.75, 16.  ]])
    """
    held = np.clip(margins, -widest, widest)
    whole = np.trunc(held / unit) * unit
    return np.column_stack([whole, (held - whole) * (widest / unit)])


@dataclass(frozen=True, eq=False)
class MarginTable:
    """The table of margins behind public models, as `whole_and_rest` gives it: a function of each row alone.

    All of it is public.

    Parameters
    ----------
    coef : array of shape (models, n_features)
    intercept : array of shape (models,)
    bounds : RowBounds or None
        As in `row_margins`.
    unit, widest : float
    """

    coef: Vector
    intercept: Vector
    bounds: RowBounds | None
    unit: float
    widest: float

    def __call__(self, source: Records) -> Records:
        """Of some rows, where they are."""
        margins = row_margins(source, self.coef, self.intercept, self.bounds)
        return Records(whole_and_rest(margins, self.unit, self.widest))


def _dense(x: Vector, coef: Vector) -> Vector:
    total = np.zeros((x.shape[0], coef.shape[0]))
    for k, w in enumerate(coef):
        for j in np.flatnonzero(w):
            total[:, k] += x[:, j] * w[j]
    total[~np.isfinite(x).all(axis=1)] = np.nan
    return total


def _sparse(x: sp.csr_matrix, coef: Vector) -> Vector:
    rows = sp.csr_matrix(x, dtype=float, copy=True)
    rows.sum_duplicates()  # sorts the columns, too
    owner = owners(rows)
    bad = np.bincount(owner, weights=~np.isfinite(rows.data), minlength=rows.shape[0]) > 0
    columns = [np.bincount(owner, weights=rows.data * w[rows.indices], minlength=rows.shape[0]) for w in coef]
    total = np.column_stack(columns)
    total[bad] = np.nan
    return np.asarray(total)
