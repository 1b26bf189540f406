"""Margins of rows under a public linear model, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..facts import Vector
from .block import owners
from .source import Source, silence


def row_margins(source: Source, coef: Vector, intercept: Vector) -> Vector:
    """Margins of each row under some models: **private**.

    Guarantee
    ---------
    The margins of a row are a function of that row and of the public models alone. Products are added one column after the other, the same for
    dense and for sparse rows, so that nothing depends on where a row stands or on its company, as sums of BLAS do in their last bits. A row
    with a cell that is no finite number has no margins: NaN.

    Parameters
    ----------
    source : Source
    coef : array of shape (models, n_features)
    intercept : array of shape (models,)

    Returns
    -------
    array of shape (rows, models)
    """
    parts = [np.zeros((0, intercept.size))]
    with silence():
        for x, _ in source.blocks(np.zeros(0)):
            parts.append(_sparse(x, coef) if sp.issparse(x) else _dense(np.asarray(x, dtype=float), coef))
        found = np.concatenate(parts)
        return np.asarray(found + intercept)


def whole_and_rest(margins: Vector, unit: float, widest: float) -> Vector:
    """Margins within `widest`, cut to multiples of a lattice's unit, and beside them what was cut off, enlarged to the same size.

    A lattice of 15 bits then holds margins of about 30: `unit` / `widest` times the rest belongs to a margin.

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
    """The table of margins behind public models, as `whole_and_rest` gives it: a function of each row alone. All of it is public.

    Parameters
    ----------
    coef : array of shape (models, n_features)
    intercept : array of shape (models,)
    unit, widest : float
    """

    coef: Vector
    intercept: Vector
    unit: float
    widest: float

    def __call__(self, source: Source) -> Source:
        """Of some rows, where they are."""
        return Source(whole_and_rest(row_margins(source, self.coef, self.intercept), self.unit, self.widest))


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
