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
* ``ModalEntry``: a record adds 1 to one bin. A: 1. R: one bin falls while another rises, so the
  range is 2.
"""

from __future__ import annotations

import numpy as np

from ..core.adjacency import Adjacency
from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.columns import typical_entries
from ..rows.shard import Shard
from .centred import check_centre
from .framed import ProjectedBlock, view_of
from .kinds import ModalEntry, Quantile
from .losses import Loss
from .sensitivity import Integers
from .table import CHOICES, ChoiceRule

#: Parts q are whole numbers of one over this.
PARTS = 2**20
#: Floats hold whole numbers up to this.
LARGEST = 2**53
KINDS = ("slopes", "gradients", "rows", "targets")


def quantile_counts(question: Quantile, shard: Shard, loss: Loss) -> Integers:
    """How many values are at most each point of the grid, all at most the last one, and last how many values count."""
    grid = question.grid * (1 + 1e-6 * (question.of != "targets"))
    counts = np.zeros(grid.size + 1, dtype=np.int64)
    for view in view_of(question.model, shard, loss):
        values = _values(question.of, view)
        counts[:-2] += np.searchsorted(np.sort(values), grid[:-1], side="right")
        counts[-2:] += values.size
    return counts


def _values(of: str, view: ProjectedBlock) -> Vector:
    """The values that count for a quantile."""
    if of == "targets":
        return view.block.y[view.block.present > 0]
    with np.errstate(over="ignore"):
        sizes = {"slopes": np.abs(view.slopes), "rows": view.norms, "gradients": np.abs(view.slopes) * view.norms}[of]
    return np.asarray(sizes[sizes > 0])


def quantile_scores(question: Quantile, counts: Integers) -> Vector:
    """Minus the number of records between each cell and the quantile."""
    wanted = _whole_part(question.part) * int(counts[-1])
    upper = [PARTS * int(count) - wanted for count in counts[:-1]]
    lower = [-wanted, *upper[:-1]]
    pairs = zip(lower, upper, strict=True)
    return np.array([max(min(0, above, -below), -LARGEST) / PARTS for below, above in pairs])


def _whole_part(part: float) -> int:
    return min(max(round(part * PARTS), 1), PARTS - 1)


def quantile_spread(question: Quantile, relation: Adjacency) -> float:
    """Two records, or the larger part of one."""
    if not 0 < question.part < 1 or question.of not in KINDS:
        raise PrivacyError(f"no quantile of this kind: {question.part!r} of {question.of!r}.")
    whole = _whole_part(question.part)
    return 2.0 if relation is Adjacency.REPLACE_ONE else 2 * max(whole, PARTS - whole) / PARTS


def bin_counts(question: ModalEntry, shard: Shard, loss: Loss) -> Integers:
    """How many rows have their typical entry in each bin."""
    counts = np.zeros(question.edges.size - 1, dtype=np.int64)
    if question.centre is not None:
        check_centre(question.centre, shard.facts.n_features)
    for block in shard.blocks:
        middle, largest = typical_entries(block, shard.lattice, question.centre)
        size = np.where(largest > 0, largest, question.part * middle)
        bins = np.searchsorted(question.edges[1:-1], size[size > 0], side="right")
        counts += np.bincount(bins, minlength=counts.size)
    return counts


def bin_scores(question: ModalEntry, counts: Integers) -> Vector:
    """The counts."""
    return np.minimum(counts, LARGEST).astype(float)


def bin_spread(question: ModalEntry, relation: Adjacency) -> float:
    """Two bins, or one."""
    return 2.0 if relation is Adjacency.REPLACE_ONE else 1.0


CHOICES[Quantile] = ChoiceRule(quantile_counts, quantile_scores, quantile_spread)
CHOICES[ModalEntry] = ChoiceRule(bin_counts, bin_scores, bin_spread)
