r"""Correlations of clipped slopes with all features: sums that selections rank.

Guarantee
---------
``Correlation``: a record adds :math:`c\,\mathrm{clip}(x, \pm e)` with :math:`|c| \le R`: coordinate j within
:math:`R\min(B_j, e)`, norm within :math:`R\min(K_2, e\sqrt d)`; :math:`c` and the clipped row are whole numbers. Its movements are
twice these when a record is replaced and once when one is added or removed, and scores follow as in `scores`. The clip of entries is
rounded to whole units, at least one, and `Lattice.clipped_lattice` gives c so few units that a record stays within
``Lattice.record_units``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..data.draws import Draw
from ..data.kernels import products
from ..data.lattice import Lattice
from ..data.shard import Shard
from ..facts import Vector
from ..losses import Loss
from ..oracle import Correlation
from .centred import seen
from .reach import RELEASE_UNITS, Integers, Measure, Reach, positive
from .table import SUMS, SumRule


def correlation_measure(question: Correlation, lattice: Lattice) -> Measure:
    """Slopes times clipped entries."""
    limit, units = lattice.clipped_lattice(positive(question.entry))
    applied, slope, d = limit * lattice.unit, positive(question.slope), lattice.facts.n_features
    bounds = np.minimum(lattice.coordinate_bounds, applied) * slope
    bounds[d:] = 0.0
    reach = Reach(slope * min(lattice.norm_bound, applied * math.sqrt(d)), bounds)
    return Measure(reach, lattice.unit * slope / units, limit * units, max(1, int(limit * units / RELEASE_UNITS)))


def correlation_part(question: Correlation, shard: Shard, loss: Loss, draw: Draw | None) -> Integers:
    """The integers of one shard; the coordinate of the intercept is zero."""
    limit, units = shard.lattice.clipped_lattice(question.entry)
    total = np.zeros(shard.facts.dimension, dtype=np.int64)
    for block, slope in zip(shard.blocks, _clipped_slopes(question, shard, loss), strict=True):
        factor = np.clip(np.trunc(slope / (question.slope / units)), -units, units)
        total[: shard.facts.n_features] += products.entry_clipped_scatter(block, shard.lattice, factor, limit)
    return total


def correlation_exact(question: Correlation, shards: Sequence[Shard], loss: Loss, draw: Draw | None) -> Vector:
    """In floats; the clips, which are part of the question, stay."""
    total = np.zeros(shards[0].facts.dimension)
    for shard in shards:
        limit = question.entry / shard.lattice.unit
        for block, slope in zip(shard.blocks, _clipped_slopes(question, shard, loss), strict=True):
            part = products.entry_clipped_scatter(block, shard.lattice, slope, limit)
            total[: shard.facts.n_features] += part * shard.lattice.unit
    return total


def _clipped_slopes(question: Correlation, shard: Shard, loss: Loss) -> Iterator[Vector]:
    for view in seen(question.model, shard, loss):
        yield np.clip(view.slopes, -question.slope, question.slope)


SUMS[Correlation] = SumRule(correlation_measure, correlation_part, correlation_exact)
