r"""Counts and moments of scored rows, by public cells.

Guarantee
---------
Every record is in one cell at most, found from its own margins, group and target and from public
numbers.

* ``CellCounts``: it adds 1 to its cell. Added or removed: the counts move by 1. Replaced: one cell
  falls and another rises, so they move by at most :math:`\sqrt2` in l2 norm and by 1 in each
  coordinate.
* ``CellMoments``: it adds t and :math:`s = t^2 - \tfrac12` to the two coordinates of its cell,
  :math:`|t| \le 1`, :math:`|s| \le \tfrac12`. Added or removed: the sums move by at most
  :math:`\sqrt{1 + \tfrac14} = \tfrac{\sqrt5}{2}`, or by 1 without squares. Replaced within a cell:
  with :math:`a = |t - t'|` and :math:`b = |t + t'|`, so that :math:`a + b \le 2`, the square of the
  movement is :math:`a^2 + a^2b^2 \le a^2(1 + (2-a)^2)`. Its derivative :math:`2a(2a^2 - 6a + 5)` is
  positive, hence it is largest at a = 2: the sums move by at most 2, and squares cost nothing.
  Replaced by a record of another cell: by at most :math:`\sqrt2\cdot\tfrac{\sqrt5}2 < 2`. Without
  squares the same: 2, and :math:`\sqrt2`.

*Rounding.* t is rounded to whole units of 1/U and s is computed from that and rounded: t stays in
[-1, 1] and is any number there, and s is off by at most 1/(2U), so that norms grow by at most that,
and differences of two records by at most 1/U.

*Units.* A unit of several rows adds the mean of what they add, which lies in the convex hull of what one
row may add: norms and distances are those of a row. Its rows may lie in several cells. Counts are
truncated by row. Moments with squares are summed exactly, and each of 2m numbers for m cells is rounded
once: norms grow by :math:`\sqrt{2m}/(2U)` and distances by :math:`\sqrt{2m}/U`; rows are truncated to
:math:`2^{-32}` first, which one more 1/U covers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.block import Block
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from ..rows.units import WEIGHTS
from .kinds import CellCounts, CellMoments, Cells
from .losses import Loss, classes_of
from .sensitivity import RELEASE_UNITS, Integers, Sensitivity, SumSpec, check_bound, check_support
from .table import SUMS, SumRule
from .tallies import losses_of, predicted
from .unit_sums import unit_numbers, weight_of

#: l2 norm of what a record adds to the moments of its cell, and how far two records are apart there.
MOMENT_NORM = math.sqrt(5) / 2
MOMENT_PAIR = 2.0
#: Steps of the lattice of rows of a unit: times whole weights they are below 2^53, and sums are exact.
ROW_TICKS = 2.0**32
#: How far two records move counts.
COUNT_PAIR = math.sqrt(2)


def count_measure(question: CellCounts, lattice: Lattice) -> SumSpec:
    """A record counts once."""
    _check(question.cells, lattice)
    units, each = lattice.units(RELEASE_UNITS), np.ones(question.cells.size)
    return SumSpec(Sensitivity(1.0, each, pair_norm=COUNT_PAIR, pair_entry=each), 1.0 / units, units)


def count_part(question: CellCounts, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """Counts of the rows of one shard, in units."""
    record = int(spec.record)
    total = np.zeros(question.cells.size, dtype=np.int64)
    for seen in _seen(question.cells, shard):
        if seen.weight is None:
            total += record * np.bincount(seen.cell, minlength=total.size)
        else:
            part = np.trunc(seen.weight * record)
            total += np.bincount(seen.cell, weights=part, minlength=total.size).astype(np.int64)
    return total


def count_exact(question: CellCounts, shards: Sequence[Shard], loss: Loss) -> Vector:
    """Counts."""
    total = np.zeros(question.cells.size)
    for shard in shards:
        for seen in _seen(question.cells, shard):
            total += np.bincount(seen.cell, minlength=total.size)
    return total


def moment_measure(question: CellMoments, lattice: Lattice) -> SumSpec:
    """How far one record moves t and its square."""
    _check(question.cells, lattice)
    if question.value not in VALUES:
        raise PrivacyError(f"rows fare by one of {', '.join(VALUES)}, not by {question.value!r}.")
    check_bound(question.top, "the top of moments of scored rows")
    if not (math.isfinite(question.centre) and math.isfinite(question.ratio) and question.within > 0):
        raise PrivacyError("moments of scored rows need finite numbers, and predictions within a positive range.")
    units, cells = lattice.units(RELEASE_UNITS), np.ones(question.cells.size)
    if not question.squares:
        return SumSpec(Sensitivity(1.0, cells, pair_norm=MOMENT_PAIR), 1.0 / units, units)
    # of a unit every number is rounded, and rows are off by far less than one of them
    rounded = math.sqrt(2 * question.cells.size) + 1 if lattice.facts.by_unit else 1.0
    norm, pair = MOMENT_NORM + 0.5 * rounded / units, MOMENT_PAIR + rounded / units
    return SumSpec(Sensitivity(norm, np.r_[cells, cells / 2], pair_norm=pair), 1.0 / units, units)


def moment_part(question: CellMoments, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """Moments of the rows of one shard, in units."""
    size = question.cells.size
    total = np.zeros((1 + question.squares, size), dtype=np.int64)
    for seen in _seen(question.cells, shard):
        if seen.weight is None:
            parts, places = _powers(question, seen, loss, spec.record, np.rint), seen.cell
        else:
            parts, places = _means(question, seen, loss, spec.record)
        total += _by_cell(places, parts, size).astype(np.int64)
    return total.ravel()


def _powers(
    question: CellMoments, seen: _Seen, loss: Loss, units: float, rounded: Callable[[Vector], Vector]
) -> list[Vector]:
    """T and, with squares, s of each row, rounded in units."""
    t = rounded(_scored(question, seen, loss) * units)
    return [t, rounded(t * (t / units) - units / 2)] if question.squares else [t]


def _means(question: CellMoments, seen: _Seen, loss: Loss, units: float) -> tuple[list[Vector], NDArray[np.intp]]:
    """Means over the rows of a unit in each cell, exact and rounded once, and the cells.

    Without squares they are truncated, so that norms only shrink.
    """
    assert seen.weight is not None
    place, own = np.unique(seen.unit * question.cells.size + seen.cell, return_inverse=True)
    whole, rounded = np.rint(seen.weight * WEIGHTS), np.rint if question.squares else np.trunc
    sums = (part * whole for part in _powers(question, seen, loss, ROW_TICKS, np.trunc))
    means = (np.bincount(own, weights=some, minlength=place.size) * (units / ROW_TICKS / WEIGHTS) for some in sums)
    return [rounded(mean) for mean in means], place % question.cells.size


def _by_cell(places: NDArray[np.intp], parts: list[Vector], size: int) -> Vector:
    return np.array([np.bincount(places, weights=part, minlength=size) for part in parts])


def moment_exact(question: CellMoments, shards: Sequence[Shard], loss: Loss) -> Vector:
    """Moments, not rounded."""
    total = np.zeros((1 + question.squares, question.cells.size))
    for shard in shards:
        for seen in _seen(question.cells, shard):
            total += _by_cell(seen.cell, _powers(question, seen, loss, 1.0, np.asarray), question.cells.size)
    return total.ravel()


class _Seen:
    """Scored rows of a block that are in a cell: their cells, bins, margins and targets."""

    def __init__(self, cells: Cells, columns: Vector, block: Block) -> None:
        y, alive = block.y, block.present
        margins = columns[:, : cells.margins.size]
        if cells.rests is not None:
            margins = margins + cells.scale * columns[:, margins.shape[1] : 2 * margins.shape[1]]
        bins = np.searchsorted(cells.edges, margins[:, 0], side="right")
        group = np.rint(columns[:, -1]) if cells.group is not None else np.zeros(y.size)
        label = np.rint(y) if cells.classes > 1 else np.zeros(y.size)
        known = (alive > 0) & (group >= 0) & (group < cells.groups) & (label >= 0) & (label < cells.classes)
        place = (group * cells.classes + label) * (cells.edges.size + 1) + bins
        self.cell: NDArray[np.intp] = place[known].astype(np.intp)
        self.bins: NDArray[np.intp] = bins[known]
        self.margins: Vector = np.ascontiguousarray(margins[known])
        self.y: Vector = np.ascontiguousarray(y[known])
        self.weight = None if block.starts is None else weight_of(block)[known]
        self.unit = np.zeros(0, dtype=np.intp) if block.starts is None else unit_numbers(block.starts, y.size)[known]


def _seen(cells: Cells, shard: Shard) -> Iterator[_Seen]:
    for block, columns in zip(shard.blocks, shard.columns(_columns(cells)), strict=True):
        yield _Seen(cells, columns, block)


def _columns(cells: Cells) -> NDArray[np.intp]:
    """Columns of margins, of their rests and of the group, in this order."""
    rests: list[int] = [] if cells.rests is None else cells.rests.tolist()
    return np.array([*cells.margins, *rests, *([] if cells.group is None else [cells.group])], dtype=np.intp)


def _check(cells: Cells, lattice: Lattice) -> None:
    """Refuse cells that are no partition of these rows."""
    check_support(_columns(cells), lattice.facts.n_features, "columns")
    if cells.margins.size == 0 or (cells.rests is not None and cells.rests.shape != cells.margins.shape):
        raise PrivacyError("cells need a column of margins, and as many of their rests, or none.")
    if cells.groups < 1 or cells.classes < 1 or not np.all(np.diff(cells.edges) > 0):
        raise PrivacyError("cells need at least one group and one class, and increasing edges.")


# ------------------------------------------------------------------------------------------------ how a row fares


def _scored(question: CellMoments, seen: _Seen, loss: Loss) -> Vector:
    """T of each row, within [-1, 1]; what is no number counts as the worst."""
    with np.errstate(all="ignore"):  # a wild model must not tell anything through a warning
        return np.clip(np.nan_to_num(VALUES[question.value](question, seen, loss), nan=1.0), -1.0, 1.0)


def _correct(question: CellMoments, seen: _Seen, loss: Loss) -> Vector:
    return 1.0 - 2.0 * losses_of("error", seen.margins, seen.y, loss, question.within)


def _loss(question: CellMoments, seen: _Seen, loss: Loss) -> Vector:
    return 2.0 * losses_of(question.value, seen.margins, seen.y, loss, question.within) / question.top - 1.0


def _brier(question: CellMoments, seen: _Seen, loss: Loss) -> Vector:
    p = probabilities(seen.margins, loss)
    off = (
        (p - seen.y[:, None]) ** 2
        if p.shape[1] == 1
        else (p - (np.rint(seen.y)[:, None] == np.arange(p.shape[1]))) ** 2
    )
    return 2.0 * _summed(off) / question.top - 1.0


def _target(question: CellMoments, seen: _Seen, loss: Loss) -> Vector:
    return seen.y / question.top


def _excess(question: CellMoments, seen: _Seen, loss: Loss) -> Vector:
    residual = predicted(np.ascontiguousarray(seen.margins[:, 0]), loss, question.within) - seen.y
    return np.asarray((residual**2 - question.ratio * (seen.y - question.centre) ** 2) / question.top)


def _place(question: CellMoments, seen: _Seen, loss: Loss) -> Vector:
    ends = np.r_[0.0, expit(question.cells.edges), 1.0]
    lower, upper = ends[seen.bins], ends[seen.bins + 1]
    return np.asarray((2.0 * expit(seen.margins[:, 0]) - lower - upper) / (upper - lower))


def probabilities(margins: Vector, loss: Loss) -> Vector:
    """Probabilities of the second class, or of each of several: together, or one versus the rest and normalised."""
    if classes_of(loss) > 1:
        return loss.slope(
            margins, np.full(margins.shape[0], -1.0)
        )  # a softmax slope is the probabilities, less 1 for the own class
    p = expit(margins)
    return np.asarray(p if p.shape[1] == 1 else p / np.maximum(_summed(p), np.finfo(float).tiny)[:, None])


def _summed(values: Vector) -> Vector:
    """Sums of rows, one column after the other: a vectorised sum could depend on where a row stands."""
    total = np.zeros(values.shape[0])
    for k in range(values.shape[1]):
        total = total + values[:, k]
    return total


VALUES: dict[str, Callable[[CellMoments, _Seen, Loss], Vector]] = {
    "correct": _correct,
    "log-loss": _loss,
    "brier": _brier,
    "absolute": _loss,
    "squared": _loss,
    "target": _target,
    "excess": _excess,
    "place": _place,
}

SUMS[CellCounts] = SumRule(count_measure, count_part, count_exact, by_unit=True)
SUMS[CellMoments] = SumRule(moment_measure, moment_part, moment_exact, by_unit=True)
