r"""Quantiles of columns, of rows and of targets on public grids.

Guarantee
---------
Point :math:`e_k` of the grid stands for its cell :math:`(e_{k-1}, e_k]`, the first for all values
below and the last for all above. A record has one value, or none if it is absent. With N values and
:math:`T_k = \#\{v \le e_k\} - qN`, :math:`T_{-1} = -qN` and :math:`T_m = (1-q)N` at the last point,
the score of a cell is :math:`\min(0, T_k, -T_{k-1})`: zero for the cell that holds the quantile,
elsewhere minus the number of records between.

A record that is replaced moves every T by at most 1, and one that is added or removed by
:math:`1-q` or :math:`-q`. A minimum is 1-Lipschitz in its terms, so each score moves by at most 1,
or :math:`\max(q, 1-q)`, and the difference of two by at most 2, or :math:`2\max(q, 1-q)`. q is
rounded to a multiple of :math:`2^{-20}`, so that :math:`2^{20}T` is an integer, and scores are
exact; beyond :math:`2^{53}` they are clamped, which moves no two of them apart. Rows of a unit count with
their weights, as in `choices`.
"""

from __future__ import annotations

import numpy as np

from ..core.adjacency import Adjacency
from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.shard import Shard
from .choices import PARTS, rounded_scores, weights_below, whole_weights
from .kinds import ColumnQuantile
from .losses import Loss
from .sensitivity import Integers
from .table import CHOICES, ChoiceRule

KINDS = ("column", "size", "rows", "target")


def column_counts(question: ColumnQuantile, shard: Shard, loss: Loss) -> Integers:
    """How many values are at most each point of the grid; all are at most the last."""
    counts = np.zeros(question.grid.size, dtype=np.int64)
    for values, block in zip(_values(question, shard), shard.blocks, strict=True):
        weights = whole_weights(block)[block.present > 0]
        counts[:-1] += weights_below(question.sign * values, weights, question.grid[:-1])
        counts[-1] += int(weights.sum())
    return counts


def _values(question: ColumnQuantile, shard: Shard) -> list[Vector]:
    """Values of the records that are there, block by block."""
    if question.of == "target":
        return [block.y[block.present > 0] for block in shard.blocks]
    if question.of == "rows":
        return [(block.largest * shard.lattice.unit)[block.present > 0] for block in shard.blocks]
    columns = shard.columns(np.array([question.column]))
    found = [x[block.present > 0, 0] for block, x in zip(shard.blocks, columns, strict=True)]
    return [np.abs(values) for values in found] if question.of == "size" else found


def cell_scores(question: ColumnQuantile, counts: Integers) -> Vector:
    """Minus the number of records between each cell and the quantile."""
    wanted = _whole_part(question.part) * int(counts[-1])
    return rounded_scores([-wanted, *(PARTS * int(count) - wanted for count in counts)])


def _whole_part(part: float) -> int:
    return min(max(round(part * PARTS), 1), PARTS - 1)


def column_spread(question: ColumnQuantile, relation: Adjacency) -> float:
    """Two records, or twice the larger part of one; refuses what is no quantile."""
    known = question.of in KINDS and question.sign in (1, -1) and question.column >= 0
    if not known or not 0 < question.part < 1 or not np.all(np.diff(question.grid) > 0):
        raise PrivacyError(f"no quantile of this kind: {question.part!r} of {question.of!r}.")
    whole = _whole_part(question.part)
    return 2.0 if relation is Adjacency.REPLACE_ONE else 2 * max(whole, PARTS - whole) / PARTS


CHOICES[ColumnQuantile] = ChoiceRule(column_counts, cell_scores, column_spread, by_unit=True)
