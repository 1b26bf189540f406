r"""How many cells of each column were not understood.

Guarantee
---------
A record adds one bit for each of the m declared columns, or nothing if it is not in the part that
is asked: a vector of the box :math:`[0, 1]^m`, to which `bounds` clips it. Two such vectors differ by
at most 1 in each of m coordinates, so the sums move by at most :math:`\sqrt m` in l2 norm and by 1 in
each coordinate, whether a record is replaced, added or removed. A record without a usable target
still says which of its cells were not understood: that is what the query counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .bounds import Bound, bounded_sum
from .kinds import Unread
from .losses import Loss
from .sensitivity import RELEASE_UNITS
from .table import SUMS


def unread_bound(query: Unread, lattice: Lattice) -> Bound:
    """Return the box with one number in [0, 1] for each column; refuse rows without these bits."""
    columns = lattice.facts.counts_unread
    if not columns:
        raise PrivacyError("these rows do not remember which cells were not understood: their facts do not say so.")
    return Bound(np.zeros(columns), np.ones(columns), units=RELEASE_UNITS)


def unread_cells(query: Unread, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Yield 1 for each column of a record whose cell was not understood, else 0."""
    for block in shard.blocks:
        if block.unread is None:  # facts say that rows remember it
            raise PrivacyError("these rows do not remember which cells were not understood.")
        yield np.unpackbits(block.unread, axis=1, count=shard.facts.counts_unread).astype(float)


SUMS[Unread] = bounded_sum(unread_bound, unread_cells, "mean of all")
