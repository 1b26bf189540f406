r"""Correlations of clipped slopes with all features: sums that selections rank.

Guarantee
---------
``Correlation``: a record adds :math:`c\,\mathrm{clip}(x, \pm e)` with :math:`|c| \le R`: coordinate
j within :math:`R\min(B_j, e)`, norm within :math:`R\min(K_2, e\sqrt d)`; :math:`c` and the clipped
row are whole numbers. Its movements are twice these when a record is replaced and once when one is
added or removed, and scores follow as in `scores`. The clip of entries is rounded to whole units,
at least one, and `Lattice.clipped_lattice` gives c so few units that a record stays within
``Lattice.record_units``. Rows of a unit have whole factors within their weight of R, which sum to at most R.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..core.facts import Vector
from ..rows.kernels import products
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .centred import seen
from .kinds import Correlation
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Integers, Sensitivity, SumSpec, check_bound
from .table import SUMS, SumRule
from .unit_sums import weighted_factors


def correlation_measure(question: Correlation, lattice: Lattice) -> SumSpec:
    """Slopes times clipped entries."""
    limit, units = lattice.clipped_lattice(check_bound(question.entry))
    applied, slope, d = limit * lattice.unit, check_bound(question.slope), lattice.facts.n_features
    bounds = np.minimum(lattice.coordinate_bounds, applied) * slope
    bounds[d:] = 0.0
    reach = Sensitivity(slope * min(lattice.norm_bound, applied * math.sqrt(d)), bounds)
    return SumSpec(reach, lattice.unit * slope / units, limit * units, max(1, int(limit * units / RELEASE_UNITS)))


def correlation_part(question: Correlation, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard; the coordinate of the intercept is zero."""
    limit, units = shard.lattice.clipped_lattice(question.entry)
    total = np.zeros(shard.facts.dimension, dtype=np.int64)
    for block, slope in zip(shard.blocks, _clipped_slopes(question, shard, loss), strict=True):
        factor = weighted_factors(slope / (question.slope / units), units, block)
        total[: shard.facts.n_features] += products.entry_clipped_scatter(block, shard.lattice, factor, limit)
    return total


def correlation_exact(question: Correlation, shards: Sequence[Shard], loss: Loss) -> Vector:
    """In floats; the clips, which are part of the query, stay."""
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


SUMS[Correlation] = SumRule(correlation_measure, correlation_part, correlation_exact, by_unit=True)
