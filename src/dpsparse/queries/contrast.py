r"""Sums of clipped slopes times every feature, by which selections rank features.

``Correlation`` clips all entries to one bound; ``IntervalContrast`` clips each column to an interval of its own, where
it is known about where the values of the columns lie.

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

``Correlation``: a record adds :math:`c\,\mathrm{clip}(x, \pm e)` with :math:`|c| \le R`: coordinate
j within :math:`R\min(B_j, e)`, norm within :math:`R\min(K_2, e\sqrt d)`; :math:`c` and the clipped
row are whole numbers. Its movements are twice these when a record is replaced and once when one is
added or removed, and scores follow as in `scores`. The clip of entries is rounded to whole units,
at least one, and `Lattice.clipped_lattice` gives c so few units that a record stays within
``Lattice.record_units``. Rows of a unit have whole factors within their weight of R, which sum to at most R.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.block import Block
from ..rows.kernels import products
from ..rows.kernels.interface import Sums, owners
from ..rows.kernels.products import kernels_of
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .centred import seen
from .kinds import Correlation, IntervalContrast
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Integers, Sensitivity, SumSpec, check_bound
from .table import SUMS, Asked, SumRule
from .unit_sums import weighted_factors


def interval_sums(block: Block, lattice: Lattice, factor: Vector, low: Vector, high: Vector) -> Sums:
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


def correlation_measure(question: Correlation, lattice: Lattice) -> SumSpec:
    """Slopes times clipped entries."""
    limit, units = lattice.clipped_lattice(check_bound(question.entry))
    applied, slope, d = limit * lattice.unit, check_bound(question.slope), lattice.facts.n_features
    bounds = np.minimum(lattice.coordinate_bounds, applied) * slope
    bounds[d:] = 0.0
    reach = Sensitivity(slope * min(lattice.norm_bound, applied * math.sqrt(d)), bounds)
    return SumSpec(reach, lattice.unit * slope / units, limit * units)


#: Units of factors, and the sum over the rows of a block of factor times what a query makes of an entry.
Ranked = tuple[float, Callable[[Block, Vector], Sums]]


def interval_contrasts(question: IntervalContrast, lattice: Lattice) -> Ranked:
    """Contrasts of entries; without a lattice, parts of them."""
    low, high = _ends(question, lattice)

    def scatter(block: Block, factor: Vector) -> Sums:
        found = interval_sums(block, lattice, factor, low, high)
        return found / (high - low) if lattice.exact else found

    return _factor_units(lattice, float((high - low).max(initial=1.0))), scatter


def clipped_entries(question: Correlation, lattice: Lattice) -> Ranked:
    """Clipped entries; without a lattice, in real units."""
    limit, units = lattice.clipped_lattice(question.entry)
    return units, lambda block, factor: products.entry_clipped_scatter(block, lattice, factor, limit)


def ranking_sum(measure: Callable[[Asked, Lattice], SumSpec], ranked: Callable[[Asked, Lattice], Ranked]) -> SumRule:
    """The rule of a sum of clipped slopes times what a query makes of entries; the intercept's coordinate is zero."""

    def add(question: Asked, shard: Shard, loss: Loss, total: Sums) -> None:
        units, scatter = ranked(question, shard.lattice)
        for view in seen(question.model, shard, loss):
            if total.dtype == np.int64:
                with np.errstate(over="ignore"):
                    factor = weighted_factors(view.slopes / (question.slope / units), units, view.block)
            else:  # the clip, which is part of the query, stays
                factor = np.clip(view.slopes, -question.slope, question.slope)
            total[: shard.facts.n_features] += scatter(view.block, factor)

    def part(question: Asked, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
        total = np.zeros(spec.size, dtype=np.int64)
        add(question, shard, loss, total)
        return total

    def exact(question: Asked, shards: Sequence[Shard], loss: Loss) -> Vector:
        total = np.zeros(shards[0].facts.dimension)
        for shard in shards:
            add(question, shard, loss, total)
        return total

    return SumRule(measure, part, exact, by_unit=True)


SUMS[IntervalContrast] = ranking_sum(contrast_measure, interval_contrasts)
SUMS[Correlation] = ranking_sum(correlation_measure, clipped_entries)
