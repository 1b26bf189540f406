"""The span of a few unit vectors, from their inner products alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

#: A vector is its own direction if so much of its squared length lies outside the span of the ones
#: before it. Smaller parts would be known to fewer digits: products of rows are right to about
#: 1e-15, so a part of 1e-6 is right to nine digits.
NEW = 1e-6
#: It lies in their span if no more than this lies outside, which is what rounding leaves of nothing.
NOTHING = 1e-14


@dataclass(frozen=True)
class Span:
    """An orthonormal basis of the span of some rows U of unit length (or zero): ``Q = inverse(R').T U[first]``.

    Attributes
    ----------
    first : array of int
        The rows that the basis is made of.
    factor : array
        R, upper triangular: ``R' R`` are the inner products of these rows.
    coordinates : array of shape (rows, rank)
        Every row in the basis.
    near : array of bool
        Rows that are near to the span and not in it: floats do not tell well what is outside. Their
        coordinates are not to be used.
    """

    first: NDArray[np.intp]
    factor: Vector
    coordinates: Vector
    near: NDArray[np.bool_]

    @classmethod
    def of(cls, gram: Vector) -> Span:
        """From the inner products of the rows."""
        from scipy.linalg.lapack import dpstrf

        factor, pivots, rank, _ = dpstrf(gram, tol=NEW)
        order = pivots - 1
        upper = np.triu(factor[:rank])
        rows = np.zeros((order.size, rank))
        rows[order] = upper.T
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        near = np.diagonal(gram) - lengths**2 > NOTHING
        near[order[:rank]] = False
        rows /= np.where(lengths > 0, lengths, 1.0)[:, None]
        return cls(order[:rank], upper[:, :rank], rows, near)

    @property
    def rank(self) -> int:
        """Dimensions of the span."""
        return int(self.first.size)

    def solve(self, products: Vector) -> Vector:
        """Coordinates of the part in the span of a vector, from its inner products with the rows."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.factor, products[self.first], trans=1)) if self.rank else np.zeros(0)

    def expand(self, coordinates: Vector) -> Vector:
        """A vector of the span as a combination of the rows."""
        from scipy.linalg import solve_triangular

        out = np.zeros(self.near.size)
        if self.rank:
            out[self.first] = solve_triangular(self.factor, coordinates)
        return out
