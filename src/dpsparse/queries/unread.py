r"""How many cells of each column were not understood.

Guarantee
---------
A record adds one bit for each of the m declared columns, or nothing if it is not in the part that
is asked. Two such vectors differ by at most 1 in each of m coordinates, so the sums move by at most
:math:`\sqrt m` in l2 norm and by 1 in each coordinate, whether a record is replaced, added or
removed. A record without a usable target still says which of its cells were not understood: that is
what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .kinds import Unread
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Integers, Sensitivity, SumSpec
from .table import SUMS, SumRule


def unread_measure(question: Unread, lattice: Lattice) -> SumSpec:
    """One number in [0, 1] for each column."""
    columns = lattice.facts.counts_unread
    if not columns:
        raise PrivacyError("these rows do not remember which cells were not understood: their facts do not say so.")
    units, each = lattice.units(RELEASE_UNITS), np.ones(columns)
    norm = math.sqrt(columns)
    return SumSpec(Sensitivity(norm, each, pair_norm=norm, pair_entry=each), 1.0 / units, units)


def unread_part(question: Unread, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """Sums of the rows of one shard, in units."""
    return _counts(shard) * np.int64(spec.record)


def unread_exact(question: Unread, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The sums."""
    return np.asarray(np.sum([_counts(shard) for shard in shards], axis=0), dtype=float)


def _counts(shard: Shard) -> Integers:
    columns = shard.facts.counts_unread
    total = np.zeros(columns, dtype=np.int64)
    for block in shard.blocks:
        if block.unread is None:  # facts say that rows remember it
            raise PrivacyError("these rows do not remember which cells were not understood.")
        total += np.unpackbits(block.unread, axis=1, count=columns).sum(axis=0, dtype=np.int64)
    return total


SUMS[Unread] = SumRule(unread_measure, unread_part, unread_exact)
