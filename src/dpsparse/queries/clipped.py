r"""How much of the rows was clipped.

Guarantee
---------
A record adds three numbers in [0, 1], truncated to whole units, or nothing if it is absent. Two
records differ by at most 1 in each of them, so the sums move by at most :math:`\sqrt3` in l2 norm
and by 1 in each coordinate, whether a record is replaced, added or removed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .bounds import Bound, bounded_sum
from .kinds import ClippedShare
from .losses import Loss
from .sensitivity import RELEASE_UNITS
from .table import SUMS

#: Entries, rows and targets.
NUMBERS = 3


def clipped_bound(question: ClippedShare, lattice: Lattice) -> Bound:
    """Three numbers in [0, 1]."""
    if not lattice.facts.counts_clipped:
        raise PrivacyError("these rows do not remember what was clipped: their facts do not say so.")
    return Bound(np.zeros(NUMBERS), np.ones(NUMBERS), units=RELEASE_UNITS)


def clipped_parts(question: ClippedShare, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Which part of each record was clipped; zero for absent records."""
    return (block.clipped * block.present[:, None] for block in shard.blocks if block.clipped is not None)


SUMS[ClippedShare] = bounded_sum(clipped_bound, clipped_parts)
