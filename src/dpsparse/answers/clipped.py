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

from ..data.draws import Draw
from ..data.lattice import Lattice
from ..data.shard import Shard
from ..facts import Vector
from ..losses import Loss
from ..oracle import Clipped
from ..privacy.errors import PrivacyError
from .reach import RELEASE_UNITS, Integers, Measure, Reach
from .table import SUMS, SumRule

#: Entries, rows and targets.
NUMBERS = 3


def clipped_measure(question: Clipped, lattice: Lattice) -> Measure:
    """Three numbers in [0, 1]."""
    if not lattice.facts.counts_clipped:
        raise PrivacyError("these rows do not remember what was clipped: their facts do not say so.")
    units, each = lattice.units(RELEASE_UNITS), np.ones(NUMBERS)
    norm = math.sqrt(NUMBERS)
    return Measure(Reach(norm, each, pair_norm=norm, pair_entry=each), 1.0 / units, units)


def clipped_part(question: Clipped, shard: Shard, loss: Loss, draw: Draw | None) -> Integers:
    """Sums of the rows of one shard, in units."""
    units = clipped_measure(question, shard.lattice).record
    total = np.zeros(NUMBERS, dtype=np.int64)
    for parts in _parts(shard):
        total += np.trunc(parts * units).sum(axis=0).astype(np.int64)
    return total


def clipped_exact(question: Clipped, shards: Sequence[Shard], loss: Loss, draw: Draw | None) -> Vector:
    """The sums."""
    return np.asarray(np.sum([parts.sum(axis=0) for shard in shards for parts in _parts(shard)], axis=0))


def _parts(shard: Shard) -> list[Vector]:
    return [block.clipped * block.alive[:, None] for block in shard.blocks if block.clipped is not None]


SUMS[Clipped] = SumRule(clipped_measure, clipped_part, clipped_exact)
