r"""Votes for a support: parts of the data each name their favourite coordinates.

Guarantee
---------
Every row is dealt to one of the parts by a coin of its own, independent of the data and of the other rows. Given the
coins, neighbours differ in one part only, which names `count` coordinates, each once: every number of votes moves by at
most 1, and the difference of two of them by at most `VOTE_RANGE` = 2. The coins have the same law for both neighbours
(the added row has one more), so that their release costs nothing and the selection on the votes is what is paid for.
Dealing by position in the file instead would be wrong under add-remove: one row less would shift all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.rows import PrivateRows
from ..facts import Vector
from ..losses import Loss
from ..oracle import SupportVotes

#: How far the difference of two numbers of votes moves between neighbours, under either adjacency.
VOTE_RANGE = 2.0


def votes(
    rows: PrivateRows, loss: Loss, question: SupportVotes, coins: np.random.Generator, exact: bool = False
) -> Vector:
    """How many parts have each feature among their `count` largest gradient sums; private until selected from.

    `exact` leaves rows unclipped, for the exact oracle.
    """
    d = rows.facts.n_features
    total = np.zeros(d)
    for part in rows.deal(question.parts, coins):
        gradient: Any = (
            rows.exact_gradient_sum(loss, question.of.w, chosen=part)
            if exact
            else rows.gradient_sum(loss, question.of.w, question.of.clip, chosen=part)
        )
        score = np.abs(gradient[:d])
        total[np.argsort(-score, kind="stable")[: question.count]] += 1.0
    return total
