r"""Contrasts of clipped slopes with all features: sums that selections rank where it is known about where columns lie.

Guarantee
---------
``IntervalContrast``: a record adds :math:`c\,(2\,\mathrm{clip}(X_j, l_j, u_j) - l_j - u_j)` for
whole numbers :math:`l_j < u_j` and :math:`|c| \le u`, in units of :math:`R/(u(u_j - l_j))`: the
bracket lies within :math:`\pm(u_j - l_j)`, so coordinate j is within R and the norm within
:math:`R\sqrt d`. Movements are twice these when a record is replaced and once when one is added or
removed, and scores follow as in `scores`. Ends are rounded to whole units, at least 64 apart, and
clipped to :math:`\pm 2^{17}` units: rows do not extend beyond :math:`2^{16}`, so nothing is lost. u
is a power of two for which a record stays within ``Lattice.record_units``. A record of which
nothing counts has slope zero. Rows of a unit have whole factors within their weight of u, which sum to
at most u.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.kernels.intervals import interval_scatter
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .centred import seen
from .kinds import IntervalContrast
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Integers, Sensitivity, SumSpec, check_bound
from .table import SUMS, SumRule
from .unit_sums import weighted_factors

#: Ends of intervals are clipped to this many units.
FARTHEST = 2.0**17
#: Intervals are at least this many units wide, so that no coordinate has so coarse a unit that the
#: rounding of scores would count.
LEAST_WIDTH = 64.0
#: Units that a factor may have.
FACTOR_UNITS = 2.0**20


def _ends(question: IntervalContrast, lattice: Lattice) -> tuple[Vector, Vector]:
    """The intervals in whole units of the rows, each at least `LEAST_WIDTH` wide."""
    lower, upper = question.lower, question.upper
    fit = lower.shape == upper.shape == (lattice.facts.n_features,)
    if not fit or not np.all(np.isfinite(lower)) or not np.all(np.isfinite(upper)) or not np.all(lower < upper):
        raise PrivacyError("a contrast needs one finite interval that is not empty for each feature.")
    if lattice.exact:
        return lower, upper
    low = np.clip(np.rint(lower / lattice.unit), -FARTHEST, FARTHEST - LEAST_WIDTH)
    return low, np.maximum(np.clip(np.rint(upper / lattice.unit), -FARTHEST, FARTHEST), low + LEAST_WIDTH)


def _factor_units(lattice: Lattice, width: float) -> float:
    """u: how many units factors may have."""
    if lattice.exact:
        return 1.0
    return min(FACTOR_UNITS, math.ldexp(1.0, math.frexp(lattice.record_units / width)[1] - 1))


def contrast_measure(question: IntervalContrast, lattice: Lattice) -> SumSpec:
    """Every coordinate within the clip of slopes."""
    low, high = _ends(question, lattice)
    slope, free = check_bound(question.slope), lattice.facts.free
    width = float((high - low).max(initial=1.0))
    units = _factor_units(lattice, width)
    reach = Sensitivity(slope * math.sqrt(low.size), np.r_[np.full(low.size, slope), np.zeros(free)])
    widths = np.r_[high - low, np.ones(free)]
    steps = np.maximum(1, np.floor(widths * units / RELEASE_UNITS)).astype(np.int64)
    return SumSpec(reach, slope / units / widths, width * units, steps)


def contrast_part(question: IntervalContrast, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard; the coordinate of the intercept is zero."""
    low, high = _ends(question, shard.lattice)
    units = _factor_units(shard.lattice, float((high - low).max(initial=1.0)))
    total = np.zeros(shard.facts.dimension, dtype=np.int64)
    for view in seen(question.model, shard, loss):
        with np.errstate(over="ignore"):
            factor = weighted_factors(view.slopes / (question.slope / units), units, view.block)
        total[: low.size] += interval_scatter(view.block, shard.lattice, factor, low, high)
    return total


def contrast_exact(question: IntervalContrast, shards: Sequence[Shard], loss: Loss) -> Vector:
    """In floats; the clips, which are part of the query, stay."""
    total = np.zeros(shards[0].facts.dimension)
    for shard in shards:
        low, high = (ends / shard.lattice.unit for ends in (question.lower, question.upper))
        for view in seen(question.model, shard, loss):
            slope = np.clip(view.slopes, -question.slope, question.slope)
            total[: low.size] += interval_scatter(view.block, shard.lattice, slope, low, high) / (high - low)
    return total


SUMS[IntervalContrast] = SumRule(contrast_measure, contrast_part, contrast_exact, by_unit=True)
