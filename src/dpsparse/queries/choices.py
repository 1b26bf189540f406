r"""Choices on public grids: counts from the rows, scores on the driver.

Guarantee
---------
* ``Quantile``: :math:`T_k = \#\{v\le e_k\} - q\#\{v\}`, values beyond the grid at its last point,
  rises with k, and cell k scores :math:`\min(0, T_k, -T_{k-1})`, of which at most one is below 0. A
  record whose value counts adds :math:`1-q` to :math:`T_k` from its cell on and :math:`-q` before
  it. Added or removed (A): every score moves by at most :math:`\max(q, 1-q)`, since it is
  1-Lipschitz in each of two numbers that matter one at a time and move by :math:`1-q` or
  :math:`-q`; the difference of two by at most :math:`2\max(q,1-q)`. Replaced (R): two values that
  count cancel in q, each T moves by at most 1, so a score does, and the difference of two by at
  most 2; a value that stops or begins to count moves less, as in A. q is rounded to a multiple of
  :math:`2^{-20}`, so that :math:`2^{20}T` is an integer, and scores are exact; beyond
  :math:`2^{53}` they are clamped, which moves no two of them apart.
* ``ColumnQuantile``: the same with the last point of the grid for all values above it, and a value of every
  record that is there.
* ``ModalEntry``: a record adds 1 to one bin. A: 1. R: one bin falls while another rises, so the
  range is 2.

Rows of a unit count with their weights, whole numbers of :math:`2^{-20}`, which sum to at most 1: it
moves T within :math:`[-q, 1-q]`, and bins by at most 1 together, as a record of one row does. Of gradients
a unit has one value, the norm of their mean, with weight 1. Scores are then multiples of :math:`2^{-40}`,
which floats do not hold: they are rounded down to multiples of :math:`2^{-20}`, and the difference
of two moves by less than :math:`2\cdot2^{-20}` more. Ranges of units are larger by `UNIT_SPREAD`, which
covers this, as they are at least 1.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..core.adjacency import Adjacency
from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.block import Block
from ..rows.columns import typical_entries
from ..rows.kernels.choice import kernels
from ..rows.shard import Shard
from ..rows.units import WEIGHTS, pieces_of
from .centred import RowView, check_centre
from .framed import FramedView, view_of
from .kinds import ColumnQuantile, ModalEntry, Quantile
from .losses import Loss
from .sensitivity import Integers
from .table import CHOICES, ChoiceRule
from .unit_sums import HEADROOM, unit_sums, weight_of

#: Parts q are whole numbers of one over this.
PARTS = 2**20
#: Floats hold whole numbers up to this.
LARGEST = 2**53
#: How much larger ranges of scores are where records are units.
UNIT_SPREAD = 1 + 2.0**-19
#: Entries of gradients that are written out at once.
PIECE_ENTRIES = 2**18
#: What the values of a quantile are.
KINDS = {
    Quantile: ("slopes", "gradients", "rows", "targets"),
    ColumnQuantile: ("column", "size", "rows", "target"),
}


def quantile_counts(question: Quantile, shard: Shard, loss: Loss) -> Integers:
    """How many values are at most each point of the grid; all that count are at most the last."""
    grid = question.grid * (1 + 1e-6 * (question.of != "targets"))
    counts = np.zeros(grid.size, dtype=np.int64)
    for view in view_of(question.model, shard, loss):
        values, weights = _values(question.of, view, float(grid[-1]))
        counts[:-1] += weights_below(values, weights, grid[:-1])
        counts[-1] += int(weights.sum())
    return counts


def _values(of: str, view: RowView | FramedView, largest: float) -> tuple[Vector, Integers]:
    """The values that count for a quantile, and their weights.

    Of gradients a unit has one value, of all else each of its rows has.
    """
    if of == "targets":
        there = view.block.present > 0
        return view.block.y[there], whole_weights(view.block)[there]
    if of == "gradients" and view.block.starts is not None:
        sizes = _unit_norms(view, largest)
        sizes = sizes[sizes > 0]
        return sizes, np.full(sizes.size, WEIGHTS, dtype=np.int64)
    with np.errstate(over="ignore"):
        sizes = {"slopes": np.abs(view.slopes), "rows": view.norms, "gradients": np.abs(view.slopes) * view.norms}[of]
    counted = sizes > 0
    return np.asarray(sizes[counted]), whole_weights(view.block)[counted]


def _unit_norms(view: RowView | FramedView, largest: float) -> Vector:
    """Norm of the mean gradient of each unit, which is what `queries.unit_sums` clips."""
    starts, weight = view.block.unit_starts, weight_of(view.block)
    found = [np.zeros(0)]
    for start, stop in pieces_of(starts, weight.size, max(1, PIECE_ENTRIES // max(view.size, 1))):
        rows = slice(start, stop)
        with np.errstate(over="ignore"):
            gradients = view.slopes[rows, None] * view.rows_away(rows)
        own = starts[np.searchsorted(starts, start) : np.searchsorted(starts, stop)] - start
        sums = unit_sums(gradients, own, weight[rows], largest, HEADROOM)
        found.append(np.sqrt(np.cumsum(np.square(sums), axis=1)[:, -1]) if view.size else np.zeros(own.size))
    return np.concatenate(found)


def whole_weights(block: Block) -> Integers:
    """Whole weights of the rows of a block: those of records that are rows are all alike."""
    if block.starts is None:
        return np.full(block.y.size, WEIGHTS, dtype=np.int64)
    return np.rint(weight_of(block) * WEIGHTS).astype(np.int64)


def weights_below(values: Vector, weights: Integers, grid: Vector) -> Integers:
    """Summed weights of the values that are at most each point of a grid, which increases."""
    if not np.all(grid[1:] >= grid[:-1]):  # else the place of a value could depend on another's
        raise PrivacyError("the points of a grid must increase.")
    sums = np.zeros(grid.size + 1, dtype=np.int64)
    kernels(values.size).grid_sums(values, weights, grid, sums)
    return np.cumsum(sums[:-1])


def rounded_scores(ends: list[int]) -> Vector:
    r"""Scores of cells from :math:`2^{40}T` at their ends: rounded down to multiples of :math:`2^{-20}`, and clamped.

    Where every record has the whole weight, they are such multiples already.
    """
    pairs = itertools.pairwise(ends)
    return np.array([max(min(0, above, -below) // WEIGHTS, -LARGEST) / PARTS for below, above in pairs])


def column_counts(question: ColumnQuantile, shard: Shard, loss: Loss) -> Integers:
    """How many values are at most each point of the grid; all are at most the last."""
    counts = np.zeros(question.grid.size, dtype=np.int64)
    for values, block in zip(_column_values(question, shard), shard.blocks, strict=True):
        weights = whole_weights(block)[block.present > 0]
        counts[:-1] += weights_below(question.sign * values, weights, question.grid[:-1])
        counts[-1] += int(weights.sum())
    return counts


def _column_values(question: ColumnQuantile, shard: Shard) -> list[Vector]:
    """Values of the records that are there, block by block."""
    if question.of == "target":
        return [block.y[block.present > 0] for block in shard.blocks]
    if question.of == "rows":
        return [(block.largest * shard.lattice.unit)[block.present > 0] for block in shard.blocks]
    columns = shard.columns(np.array([question.column]))
    found = [x[block.present > 0, 0] for block, x in zip(shard.blocks, columns, strict=True)]
    return [np.abs(values) for values in found] if question.of == "size" else found


def quantile_scores(question: Quantile | ColumnQuantile, counts: Integers) -> Vector:
    """Minus the number of records between each cell and the quantile."""
    wanted = _whole_part(question.part) * int(counts[-1])
    return rounded_scores([-wanted, *(PARTS * int(count) - wanted for count in counts)])


def _whole_part(part: float) -> int:
    return min(max(round(part * PARTS), 1), PARTS - 1)


def quantile_spread(question: Quantile | ColumnQuantile, relation: Adjacency) -> float:
    """Two records, or twice the larger part of one; refuses what is no quantile."""
    if not 0 < question.part < 1 or question.of not in KINDS[type(question)]:
        raise PrivacyError(f"no quantile of this kind: {question.part!r} of {question.of!r}.")
    whole = _whole_part(question.part)
    return 2.0 if relation is Adjacency.REPLACE_ONE else 2 * max(whole, PARTS - whole) / PARTS


def column_spread(question: ColumnQuantile, relation: Adjacency) -> float:
    """The same; refuses a grid, a column or a sign that there is not."""
    if question.sign not in (1, -1) or question.column < 0 or not np.all(np.diff(question.grid) > 0):
        raise PrivacyError(f"no quantile of this kind: of column {question.column!r}, or on a grid that falls.")
    return quantile_spread(question, relation)


def bin_counts(question: ModalEntry, shard: Shard, loss: Loss) -> Integers:
    """How many rows have their typical entry in each bin."""
    counts = np.zeros(question.edges.size - 1, dtype=np.int64)
    if question.centre is not None:
        check_centre(question.centre, shard.facts.n_features)
    for block in shard.blocks:
        middle, largest = typical_entries(block, shard.lattice, question.centre)
        size = np.where(largest > 0, largest, question.part * middle)
        bins = np.searchsorted(question.edges[1:-1], size[size > 0], side="right")
        np.add.at(counts, bins, whole_weights(block)[size > 0])
    return counts


def bin_scores(question: ModalEntry, counts: Integers) -> Vector:
    """The counts."""
    return np.minimum(counts, LARGEST) / WEIGHTS


def bin_spread(question: ModalEntry, relation: Adjacency) -> float:
    """Two bins, or one."""
    return 2.0 if relation is Adjacency.REPLACE_ONE else 1.0


CHOICES[Quantile] = ChoiceRule(quantile_counts, quantile_scores, quantile_spread, by_unit=True)
CHOICES[ColumnQuantile] = ChoiceRule(column_counts, quantile_scores, column_spread, by_unit=True)
CHOICES[ModalEntry] = ChoiceRule(bin_counts, bin_scores, bin_spread, by_unit=True)
