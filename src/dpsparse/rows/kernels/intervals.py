"""Products of factors with entries clipped to an interval of each column."""

from __future__ import annotations

import numpy as np

from ...core.facts import Vector
from ..block import Block, owners
from ..lattice import Lattice
from .interface import Sums
from .products import kernels_of


def interval_scatter(block: Block, lattice: Lattice, factor: Vector, low: Vector, high: Vector) -> Sums:
    r"""Sum of factor times :math:`2\,\mathrm{clip}(x_j, l_j, u_j) - l_j - u_j`, in units; features only.

    Written as twice the part above the lower end less the width: every partial sum of the first is
    at most that of the widths. Entries that sparse rows do not hold are minus the shift: these come
    as one product for all rows, and the rows mend it.
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
