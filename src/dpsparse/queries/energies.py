r"""How much of the rows' squared length is in which columns: one number for each of a few buckets of features.

Guarantee
---------
A record adds :math:`E_b = \sum_{j\in b} x_j^2 \ge 0` to bucket b. Buckets do not overlap and the
intercept is in none, so that :math:`\sum_b E_b = \|x\|_2^2 \le K_2^2`; this is enforced, by
shrinking all :math:`E_b` of a record together where their float sum is larger, and they are then
truncated to whole units, which only shrinks. Hence :math:`\|E\|_2 \le \|E\|_1 \le K_2^2`: adding or
removing a record moves the sum by at most :math:`K_2^2` in l2 norm and in each number. Replacing
one: for vectors that are not negative :math:`\|E - E'\|_2^2 \le \|E\|_2^2 + \|E'\|_2^2`, so the sum
moves by at most :math:`\sqrt2 K_2^2`, and by :math:`K_2^2` in each number. Rows of a unit add their
weight of this, truncated: numbers that are not negative and sum to at most :math:`K_2^2`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.kernels import products
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .kinds import GroupEnergies
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Integers, Sensitivity, SumSpec
from .table import SUMS, SumRule
from .unit_sums import weight_of

#: More buckets than anybody needs: each is a pass over the rows.
MOST_BUCKETS = 64
#: Rows are held a little below their bound: what a quotient and a product of floats can err by.
SLACK = 1.0 - 2.0**-40


def energies_measure(question: GroupEnergies, lattice: Lattice) -> SumSpec:
    """A millionth of the squared bound on a row."""
    _checked(question, lattice)
    most, units = _most(lattice), lattice.units(RELEASE_UNITS)
    each = np.full(question.count, most)
    return SumSpec(Sensitivity(most, each, pair_norm=math.sqrt(2) * most, pair_entry=each), most / units, units)


def energies_part(question: GroupEnergies, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard."""
    most = _most(shard.lattice)
    total = np.zeros(question.count, dtype=np.int64)
    for found, block in zip(_energies(question, shard), shard.blocks, strict=True):
        sums = np.zeros(found.shape[1])
        for energy in found:
            sums += energy
        held = found * (most * SLACK / np.maximum(sums, most))
        held = held * weight_of(block) if shard.facts.by_unit else held
        total += np.trunc(held * (spec.record / most)).sum(axis=1).astype(np.int64)
    return total


def energies_exact(question: GroupEnergies, shards: Sequence[Shard], loss: Loss) -> Vector:
    """In real units."""
    _checked(question, shards[0].lattice)
    return np.asarray(sum(found.sum(axis=1) for shard in shards for found in _energies(question, shard)))


def _most(lattice: Lattice) -> float:
    """Bound on the squared length of a row."""
    return float(lattice.norm_bound**2)


def _checked(question: GroupEnergies, lattice: Lattice) -> None:
    buckets, count = question.buckets, question.count
    if buckets.shape != (lattice.facts.n_features,) or buckets.dtype.kind != "i" or not 1 <= count <= MOST_BUCKETS:
        raise PrivacyError(f"{lattice.facts.n_features} features are each in one of at most {MOST_BUCKETS} buckets.")
    if buckets.size and not (buckets.min() >= 0 and buckets.max() < count):
        raise PrivacyError(f"buckets are numbered from 0 to {count - 1}.")


def _energies(question: GroupEnergies, shard: Shard) -> Iterator[Vector]:
    """Energies of the rows of each block in real units, one bucket after the other; zero for absent records."""
    lattice = shard.lattice
    used = np.unique(question.buckets)
    weights = np.zeros((lattice.facts.dimension, used.size))
    weights[: lattice.facts.n_features] = question.buckets[:, None] == used
    for block in shard.blocks:
        found = np.zeros((question.count, block.y.size))
        found[used] = (products.weighted_squares(block, lattice, weights) * lattice.unit**2).T * block.present
        yield found


SUMS[GroupEnergies] = SumRule(energies_measure, energies_part, energies_exact, by_unit=True)
