"""Slopes of the loss, row by row: the one place where a loss meets private rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.facts import Vector
from ..queries.losses import Loss
from .block import Block
from .kernels import products
from .kernels.interface import Indices
from .sampling import PoissonSample
from .shard import Shard

#: The largest float: what a slope beyond floats counts as.
LARGEST = float(np.finfo(float).max)


def slopes(loss: Loss, margins: Vector, block: Block) -> Vector:
    """Slope of each row, finite whatever the margin; zero for absent records and where the slope is no number.

    Margins come one after the other in memory, so that a vectorised function treats each row alike
    wherever it stands. Where a row has a margin for each class it has a slope for each, and its
    target comes as a column. The offset of a record is added to its margins, and its weight multiplies
    its slopes: before any clip, so that no sensitivity depends on them.
    """
    terms = block.terms
    with np.errstate(all="ignore"):  # a wild iterate must not tell anything through a warning
        y, alive = _column(block.y, margins), _column(block.present, margins)
        if terms is not None and terms.offset is not None:
            margins = margins + _column(terms.offset, margins)
        slope = np.asarray(loss.slope(np.ascontiguousarray(margins), y))
        if terms is not None and terms.weight is not None:
            slope = slope * _column(terms.weight, margins)
        slope = np.minimum(np.maximum(slope, -LARGEST), LARGEST)  # twice as fast as np.clip on few rows
        slope[np.isnan(slope)] = 0.0
        slope *= alive
    return slope


def _column(values: Vector, margins: Vector) -> Vector:
    """One number for each row, beside the margins of the row."""
    if margins.ndim == 1 and values.flags.c_contiguous:
        return values
    return np.ascontiguousarray(values).reshape(-1, *[1] * (margins.ndim - 1))


def exact_gradient(
    w: Vector, shards: Sequence[Shard], loss: Loss, draw: PoissonSample | None = None, support: Indices | None = None
) -> Vector:
    """Sum of row gradients in real units, neither clipped nor protected."""
    total = np.zeros((shards[0].facts.dimension if support is None else support.size, *w.shape[1:]))
    for shard in shards:
        for block, margin in shard.drawn_margins(w, draw):
            slope = slopes(loss, margin, block)
            total += shard.lattice.unit * products.real_scatter(block, shard.lattice, slope, support)
    return total
