r"""Votes for a support: parts of the data each name their favourite coordinates.

Guarantee
---------
Every row is dealt to one of the parts by a coin of its own, independent of the data and of the
other rows (`RandomPartition`). Given the coins, neighbours differ in one part only, which names
`count` coordinates, each once: every number of votes moves by at most 1, and the difference of two
of them by at most `VOTE_RANGE` = 2. The coins have the same law for both neighbours (the added row
has one more), so that their release costs nothing and the selection on the votes is what is paid
for. Dealing by position in the file instead would be wrong under add-remove: one row less would
shift all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Facts, Vector
from ..rows.kernels import products
from ..rows.sampling import RandomPartition
from ..rows.shard import Shard
from ..rows.slopes import slopes
from .charge import Charge, use
from .gradient import factors
from .kinds import SupportVotes
from .losses import Loss
from .unit_sums import weight_of

#: How far the difference of two numbers of votes moves between neighbours, under either adjacency.
VOTE_RANGE = 2.0


def vote_range(question: SupportVotes, facts: Facts) -> float:
    """How far the difference of two numbers of votes moves; refuses parts that cannot hold the rows, and other models.

    Every part holds the sums of all coordinates, so there are at most as many as public rows, or two.
    """
    most = max(2, facts.n_rows)
    if type(question.parts) is not int or not 1 <= question.parts <= most:
        raise PrivacyError(f"{facts.n_rows} rows vote in 1 to {most} parts, and not in {question.parts!r}.")
    if question.of.w.shape != (facts.dimension,):
        raise PrivacyError(f"rows vote on one model with {facts.dimension} coefficients, got {question.of.w.shape}.")
    return VOTE_RANGE


def votes(charge: Charge, shards: Sequence[Shard], loss: Loss, key: int, *, clipped: bool = True) -> Vector:
    """How many parts have each feature among their `count` largest gradient sums; private until selected from.

    `clipped` False: of gradients that are not clipped, for the exact oracle. Uses the charge.
    """
    use(charge)
    question: SupportVotes = charge.query
    d = shards[0].facts.n_features
    deal = RandomPartition(question.parts, key)
    sums = np.zeros((question.parts, shards[0].facts.dimension), dtype=np.int64 if clipped else float)
    for shard in shards:
        owner = deal.owners(shard.first_row, shard.records)  # all rows of a unit go to one part
        for number in range(question.parts):
            for block in shard.chosen(np.asarray(owner == number)):
                slope = slopes(loss, shard.margin(block, question.of.w), block)
                slope = slope if block.starts is None else slope * weight_of(block)
                if clipped:
                    held = factors(block, shard.lattice, slope, question.of.clip)
                    products.scatter(block, shard.lattice, held, sums[number])
                else:
                    sums[number] += products.real_scatter(block, shard.lattice, slope)
    total = np.zeros(d)
    for score in np.abs(sums[:, :d]):
        total[np.argsort(-score, kind="stable")[: question.count]] += 1.0
    return total
