"""Products of factors with entries clipped to an interval of each column."""

from __future__ import annotations

import numpy as np

from ...core.facts import Vector
from ..block import Block, owners
from ..lattice import Lattice
from .interface import Sums
from .products import kernels_of


def interval_scatter(block: Block, lattice: Lattice, factor: Vector, low: Vector, high: Vector) -> Sums:
    r"""Sum over rows of :math:`c_i\,(2\,\mathrm{clip}(x_{ij}, l_j, u_j) - l_j - u_j)` for each feature j.

    :math:`c_i` is the factor of a row and x its shifted entries; everything is in lattice units, and
    the intercept column is left out. Computed as
    :math:`2\sum c_i(\mathrm{clip}(x_{ij}) - l_j) - \sum c_i(u_j - l_j)`: partial sums of the first
    sum are at most those of the widths, so they stay exact. An entry that a sparse row does not store
    is minus the shift. All entries are first counted as if they were not stored, in one product; then
    each stored entry adds its difference.
    """
    kind = float if lattice.exact else np.int64
    if block.sparse:
        which = block.x.indices
        above = np.clip(block.x.data - lattice.shift[which], low[which], high[which]) - low[which]
        absent = np.clip(-lattice.shift, low, high) - low
        change = (above - absent[which]) * factor[owners(block.x)]
        mended = np.bincount(which, weights=change, minlength=lattice.facts.n_features)
        head = mended.astype(kind) + (absent * factor.sum()).astype(kind)
    else:
        head = np.zeros(lattice.facts.n_features, dtype=kind)
        run, rows = kernels_of(lattice, block.x), slice(0, block.y.size)
        run.interval_scatter(block.x, factor, low, high, head, rows)
    return np.asarray(2 * head - (factor.sum() * (high - low)).astype(kind))
