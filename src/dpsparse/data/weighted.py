r"""Rows seen through public column weights: norms, sizes and absolute sums, block by block.

Everything here is in units of the lattice of rows, of the shifted row with its intercept column, like `Block.squares`.

Guarantee
---------
`weighted_squares` is at least :math:`\sum_j a_j^2 X_{ij}^2` for the stored integers :math:`X`: a float sum of m terms that
are not negative errs by at most :math:`(m + 4)\,2^{-53}` of itself, and by twice that we round up. Where sparse rows are
shifted implicitly the sum is :math:`B + \sum_j a_j^2 (X_{ij}^2 - 2 X_{ij}s_j)` with :math:`B = \sum_j a_j^2 s_j^2` for the
shift s; terms that can cancel have :math:`|X_{ij}| < 4|s_j|` and are below :math:`24 a_j^2 s_j^2`, so 32 times that part of B
is added as well. All results are functions of a record alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..facts import Vector
from .blocks import Block, Storage, _owners


def weighted_squares(store: Storage, block: Block, weights: Vector) -> Vector:
    """Squared norm of each row, column j times ``weights[j]``; rounded up. One weight for every coordinate."""
    d = store.facts.n_features
    squared = weights[:d] ** 2
    rounding = (d + 8) * 2.0**-52
    if store.sparse:
        terms = block.x.data**2
        base = 0.0
        if store.shifted:
            terms = terms - 2 * block.x.data * store.shift[block.x.indices]
            base = float(squared @ store.shift**2)
        rows = sp.csr_matrix((terms, block.x.indices, block.x.indptr), shape=block.x.shape)
        total = np.maximum(rows @ squared + base, 0.0) + 32 * rounding * base
    else:
        away = block.x.astype(float) * store.repeat - store.shift
        total = np.einsum("ij,ij,j->i", away, away, squared, optimize=False)
    if store.facts.free:
        total = total + (store.height * weights[-1]) ** 2
    return np.asarray(total * (1 + rounding))


def absolute_sums(store: Storage, block: Block) -> Any:
    """Sum of absolute entries of each feature over the rows that count; integers where rows are on the lattice."""
    d = store.facts.n_features
    if store.sparse:
        shift = store.shift[block.x.indices]
        change = (np.abs(block.x.data - shift) - np.abs(shift)) * block.alive[_owners(block.x)]
        total: Any = np.bincount(block.x.indices, weights=change, minlength=d)
        total = total + np.abs(store.shift) * block.alive.sum()
    else:
        total = block.alive @ np.abs(block.x.astype(float) * store.repeat - store.shift)
    return total.astype(np.int64) if store.lattice else total


def held_sizes(squares: Vector, block: Block, unit: float, top: float) -> Vector:
    """Norm of each row that counts, in real units and held at `top`, from its squared norm in units of the lattice."""
    return np.asarray(np.minimum(unit * np.sqrt(squares), top) * block.alive)
