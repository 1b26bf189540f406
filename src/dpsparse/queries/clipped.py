r"""How much of the rows was clipped.

Guarantee
---------
A record adds three numbers in [0, 1], truncated to whole units, or nothing if it is absent. Two records differ by at most 1 in each of them, so the
sums move by at most :math:`\sqrt3` in l2 norm and by 1 in each coordinate, whether a record is replaced, added or removed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .kinds import ClippedShare
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Integers, Sensitivity, SumSpec
from .table import SUMS, SumRule

#: Entries, rows and targets.
NUMBERS = 3


def clipped_measure(question: ClippedShare, lattice: Lattice) -> SumSpec:
    """Three numbers in [0, 1]."""
    if not lattice.facts.counts_clipped:
        raise PrivacyError("these rows do not remember what was clipped: their facts do not say so.")
    units, each = lattice.units(RELEASE_UNITS), np.ones(NUMBERS)
    norm = math.sqrt(NUMBERS)
    return SumSpec(Sensitivity(norm, each, pair_norm=norm, pair_entry=each), 1.0 / units, units)


def clipped_part(question: ClippedShare, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """Sums of the rows of one shard, in units."""
    total = np.zeros(NUMBERS, dtype=np.int64)
    for parts in _parts(shard):
        total += np.trunc(parts * spec.record).sum(axis=0).astype(np.int64)
    return total


def clipped_exact(question: ClippedShare, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The sums."""
    return np.asarray(np.sum([parts.sum(axis=0) for shard in shards for parts in _parts(shard)], axis=0))


def _parts(shard: Shard) -> list[Vector]:
    return [block.clipped * block.present[:, None] for block in shard.blocks if block.clipped is not None]


SUMS[ClippedShare] = SumRule(clipped_measure, clipped_part, clipped_exact)
