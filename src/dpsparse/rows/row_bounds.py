r"""Clipping of rows to their declared bounds.

One function for the rows of a fit and for the rows that a model is applied to.

.. math:: x \mapsto \min\Bigl(1, \frac{K}{\|\bar x / s\|}\Bigr)\,\bar x, \qquad \bar x_j = \min(\max(x_j, l_j), u_j)

for public bounds :math:`l, u`, a norm K and units s of the columns. A fit divides rows by s first
and clips to :math:`l/s, u/s` with units 1; a model that is applied clips rows as the user brings
them. Both are the same map, up to the last bits of floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.facts import Vector

#: Sums of d squares in any two orders differ by less than this part, for d below 10^6 (d times
#: 2^-53): rows whose squares sum to less than the rest are within their norm whatever the order,
#: and their factor is 1.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RowBounds:
    """Public bounds of rows.

    Parameters
    ----------
    lower, upper : float or array of shape (n_features,)
        Entries are clipped into ``[lower, upper]``.
    row_norm : float or None
        Then rows are scaled down to this l2 norm, measured in units of `scale`; None where no row
        within its entries' bounds is longer.
    scale : float or array of shape (n_features,)
        Units of the columns in which the norm is measured.

    Examples
    --------
    >>> rows = np.array([[9.0, -9.0], [0.5, 0.0]])
    >>> RowBounds(-3.0, 4.0, 2.5).clip(rows)
    >>> rows
    array([[ 2. , -1.5],
           [ 0.5,  0. ]])
    """

    lower: float | Vector
    upper: float | Vector
    row_norm: float | None
    scale: float | Vector = 1.0

    @cached_property
    def holds_zero(self) -> bool:
        """Whether zero lies within every column's bounds, as the absent entries of sparse rows need."""
        return not (np.any(np.asarray(self.lower) > 0) or np.any(np.asarray(self.upper) < 0))

    def clip(self, x: Any) -> None:
        """Clip rows of finite floats in place: an array, or a CSR matrix in canonical format where bounds hold zero.

        Squares are summed from the first column to the last, where zeros add nothing: dense and sparse
        rows of the same values become the same.
        """
        if sp.issparse(x):
            lower, upper, scale = (np.take(v, x.indices) if np.ndim(v) else v for v in self._columns)
            values = x.data
        else:
            (lower, upper, scale), values = self._columns, x
        np.maximum(values, lower, out=values)
        np.minimum(values, upper, out=values)
        if self.row_norm is None or not values.size:
            return
        squares = (values / scale) ** 2 if np.ndim(scale) else values**2
        if values is not x:  # as a matrix of one column, whose product adds up the entries of a row in their order
            sums = sp.csr_matrix((squares, np.zeros_like(x.indices), x.indptr), shape=(x.shape[0], 1)) @ np.ones(1)
            factor = shrink(sums, self.row_norm)
            if np.any(factor < 1):
                values *= np.repeat(factor, np.diff(x.indptr))
            return
        long = np.flatnonzero(np.sqrt(squares.sum(axis=1)) > self.row_norm * (1 - ROUNDING))
        if long.size:
            sums = np.cumsum(squares[long], axis=1)[:, -1]
            x[long] *= shrink(sums, self.row_norm)[:, None]

    @property
    def _columns(self) -> tuple[float | Vector, float | Vector, float | Vector]:
        return self.lower, self.upper, self.scale


def shrink(squares: Vector, bound: float) -> Vector:
    """The factor that brings the norm of each row within its bound, from sums of squares; 1 where it is within."""
    return np.asarray(bound / np.maximum(np.sqrt(squares), bound))
