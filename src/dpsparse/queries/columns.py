r"""Sums about columns: squares, absolute entries, weighted norms of rows, and squared length by bucket.

Guarantee
---------
* ``MeanSquares``: a row contributes :math:`x_{ij}^2 \le B_j^2`; its norm is
  :math:`\sqrt{\sum_j x_{ij}^4} \le B_\infty K_2`. All contributions are non-negative, so two of
  them differ by at most :math:`B_j^2` in a coordinate and, since
  :math:`\|a-b\|^2 \le \|a\|^2 + \|b\|^2` for non-negative vectors, by at most
  :math:`\sqrt2\,B_\infty K_2` in norm.
* ``MeanAbsolute``: a row adds :math:`|x_{ij}| \ge 0`, at most :math:`B_j` in coordinate j and
  :math:`K_2` in norm. Vectors that are not negative differ by at most the root of the sum of their
  squared norms: :math:`\sqrt2 K_2` for replace-one, :math:`K_2` for add-remove; in a coordinate by
  at most :math:`B_j`.
* ``MeanRowNorm``: a row adds a number of :math:`[0, \mathrm{top}]`, truncated to whole units: `top`
  in both relations.
* ``GroupEnergies``: a record adds :math:`E_b = \sum_{j\in b} x_j^2 \ge 0` to bucket b. Buckets do not overlap
  and the intercept is in none, so that :math:`\|E\|_2 \le \sum_b E_b = \|x\|_2^2 \le K_2^2`: `bounds` clips it
  to numbers of :math:`[0, K_2^2]` and this norm. Adding or removing a record moves the sum by at most
  :math:`K_2^2`, and replacing one by :math:`\sqrt2 K_2^2`; in each number by at most :math:`K_2^2`.

A unit of several rows adds the mean over its rows, truncated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.kernels import products
from ..rows.kernels.interface import Sums
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .bounds import Bound, bounded_sum, interval
from .kinds import GroupEnergies, MeanAbsolute, MeanRowNorm, MeanSquares
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Sensitivity, SumSpec
from .table import SUMS, Asked, SumRule
from .weighted import checked_weights

#: More buckets than anybody needs: each is a pass over the rows.
MOST_BUCKETS = 64


def power_sum(power: int, kernel: products.ColumnSum) -> SumRule:
    """The rule of a sum of absolute entries (power 1, of features alone) or of their squares (power 2)."""

    def size(lattice: Lattice) -> int:
        return lattice.facts.n_features if power == 1 else lattice.facts.dimension

    def measure(question: Asked, lattice: Lattice) -> SumSpec:
        entry = lattice.coordinate_bounds[: size(lattice)] ** power
        norm = float(lattice.coordinate_bounds.max()) ** (power - 1) * lattice.norm_bound
        unit, most = lattice.unit**power, float(lattice.integer_bounds.max()) ** power
        reach = Sensitivity(norm, entry, pair_norm=math.sqrt(2) * norm, pair_entry=entry)
        return SumSpec(reach, unit, most, max(1, int(norm / RELEASE_UNITS / unit)))

    def units(shard: Shard) -> Sums:
        total = np.zeros(shard.facts.dimension, dtype=float if shard.lattice.exact else np.int64)
        for block in shard.blocks:
            if shard.facts.by_unit:
                total += products.unit_column_sum(block, shard.lattice, kernel)
            else:
                total += kernel(block, shard.lattice)
        return total[: size(shard.lattice)]

    def exact(question: Asked, shards: Sequence[Shard], loss: Loss) -> Vector:
        return np.asarray(sum(map(units, shards)) * shards[0].lattice.unit ** power)

    return SumRule(measure, lambda question, spec, shard, loss: units(shard), exact, by_unit=True)


def size_bound(question: MeanRowNorm, lattice: Lattice) -> Bound:
    """From zero to `top`."""
    checked_weights(question.weights, question.support, question.top, 0.0, lattice)
    return interval(0.0, question.top, RELEASE_UNITS)


def sizes(question: MeanRowNorm, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Weighted norm of each row, in real units; zero for absent records."""
    weights = checked_weights(question.weights, question.support, question.top, 0.0, shard.lattice)
    for square, block in zip(shard.weighted_squares(weights, question.support), shard.blocks, strict=True):
        yield np.where(block.present > 0, shard.lattice.unit * np.sqrt(square), 0.0)[:, None]


def energies_bound(question: GroupEnergies, lattice: Lattice) -> Bound:
    """The squared bound on a row; refuses buckets that are no partition of the features."""
    buckets, count = question.buckets, question.count
    if buckets.shape != (lattice.facts.n_features,) or buckets.dtype.kind != "i" or not 1 <= count <= MOST_BUCKETS:
        raise PrivacyError(f"{lattice.facts.n_features} features are each in one of at most {MOST_BUCKETS} buckets.")
    if buckets.size and not (buckets.min() >= 0 and buckets.max() < count):
        raise PrivacyError(f"buckets are numbered from 0 to {count - 1}.")
    most = float(lattice.norm_bound**2)
    return Bound(np.zeros(count), np.full(count, most), most, RELEASE_UNITS)


def energies(question: GroupEnergies, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Energies of the rows of each block in real units; zero for absent records."""
    lattice = shard.lattice
    used = np.unique(question.buckets)
    weights = np.zeros((lattice.facts.dimension, used.size))
    weights[: lattice.facts.n_features] = question.buckets[:, None] == used
    for block in shard.blocks:
        found = np.zeros((block.y.size, question.count), order="F")
        found[:, used] = products.weighted_squares(block, lattice, weights) * lattice.unit**2
        yield found * block.present[:, None]


SUMS[MeanSquares] = power_sum(2, products.squared_sum)
SUMS[MeanAbsolute] = power_sum(1, products.absolute_sum)
SUMS[MeanRowNorm] = bounded_sum(size_bound, sizes)
SUMS[GroupEnergies] = bounded_sum(energies_bound, energies)
