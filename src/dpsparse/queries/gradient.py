r"""Clipped gradients: sums of slope times row.

A linear model's row gradient is one number times the row, :math:`g_i = c_i x_i`. Rows are whole
numbers :math:`X_i` of the lattice, the numbers :math:`c_i` are truncated to whole numbers as well,
and so every sum is an exact integer.

Guarantee
---------
* ``Gradient``: the factor of row i is an integer :math:`c_i = \mathrm{trunc}(\phi'_i / h_c)` held
  within :math:`\pm\lfloor \min(S/\|X_i\|_2,\; S_\infty/\|X_i\|_\infty,\; S_c) \rfloor`, with the
  norms of the stored integers, rounded against us, and :math:`S` = ``Lattice.record_units``. Hence
  :math:`\|c_i X_i\|_2 \le S` exactly, in units of :math:`C_2/S`; truncation only shrinks. Where
  columns have clips of their own, the integers :math:`c_i X_{ij}` are clipped to them, which only
  shrinks. Coordinate j is at most :math:`\min(C_2, C_\infty, R\,B_j, C_j)` for the bounds that the
  clip names (:math:`B_j`: largest entry of column j).
* ``GradientChange``: both gradients are multiples of the same row, clipped to `clip`; so is their
  difference, and its factor is truncated and capped like any other, within norm `change`.
* A unit of several rows adds the sum of their gradients, each times the weight of its row, clipped once
  (`queries.unit_sums`). Slopes are clipped to R before the sum: with weights that sum to at most 1 the
  entries of column j stay within :math:`R\,B_j`. Clips of columns act on the clipped sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from ..core.facts import Clip, Vector
from ..rows.block import Block
from ..rows.kernels import products
from ..rows.kernels.interface import Mask, Matrix
from ..rows.lattice import Lattice
from ..rows.sampling import PoissonSample
from ..rows.shard import FEW, Factors, Shard
from ..rows.single_records import PIECE_ENTRIES, record_pieces, sparse_rows, whole_rows
from ..rows.slopes import exact_gradient, slopes
from .charge import Charge, use
from .kinds import Gradient, GradientChange
from .losses import Loss
from .sensitivity import Indices, Integers, Sensitivity, SumSpec, check_support
from .table import NO_LATTICE, SUMS, SumRule
from .unit_sums import unit_clip, unit_factors


def gradient_reach(clip: Clip, lattice: Lattice, support: Indices | None = None) -> Sensitivity:
    """What `clip` allows one record to contribute to a gradient sum."""
    entry = np.full(lattice.facts.dimension, min(clip.norm, clip.entry or clip.norm))
    if clip.slope is not None:
        entry = np.minimum(entry, clip.slope * lattice.coordinate_bounds)
    if clip.columns is not None:
        entry = np.minimum(entry, clip.columns)
    return Sensitivity(clip.norm, entry if support is None else entry[support])


def gradient_measure(question: Gradient, lattice: Lattice) -> SumSpec:
    """Norm and entries within the clip."""
    if question.support is not None:
        check_support(question.support, lattice.facts.dimension)
    units = lattice.record_units
    reach = gradient_reach(question.clip, lattice, question.support)
    return SumSpec(reach, question.clip.norm / units, units)


def gradient_part(question: Gradient, spec: SumSpec, shard: Shard, loss: Loss, draw: PoissonSample | None) -> Integers:
    """The integers of one shard; those of the last query are mended where few rows changed."""
    lattice, clip, support = shard.lattice, question.clip, question.support
    pairs = shard.drawn_margins(question.w, draw)
    if lattice.facts.by_unit:
        found = [(b, slopes(loss, m, b)) for b, m in pairs]
        if clip.slope is not None:
            found = [(b, np.clip(slope, -clip.slope, clip.slope)) for b, slope in found]
        total = _sum_by_unit(found, lattice, clip)
        return total if support is None else total[support]
    held = [factors(b, lattice, slopes(loss, m, b), clip) for b, m in pairs]
    if draw is not None:
        size = lattice.facts.dimension if support is None else support.size
        return _sum_of([b for b, _ in pairs], held, lattice, clip, support, size)
    few = support is not None and support.size * FEW <= lattice.facts.dimension
    if support is not None and few and not _mendable(shard, held, clip, loss, largest=0.0):
        return _sum_of(shard.blocks, held, lattice, clip, support, support.size)
    total = _mended(shard, held, clip, loss)
    return total.copy() if support is None else total[support]


def gradient_exact(question: Gradient, shards: Sequence[Shard], loss: Loss, draw: PoissonSample | None) -> Vector:
    """Sum of row gradients, neither clipped nor protected."""
    return exact_gradient(question.w, shards, loss, draw, question.support)


def change_measure(question: GradientChange, lattice: Lattice) -> SumSpec:
    """Norm within `change`."""
    units = lattice.record_units
    reach = Sensitivity(question.change, np.full(lattice.facts.dimension, question.change))
    return SumSpec(reach, question.change / units, units)


def change_part(
    question: GradientChange, spec: SumSpec, shard: Shard, loss: Loss, draw: PoissonSample | None
) -> Integers:
    """The integers of one shard."""
    lattice, limit = shard.lattice, Clip(question.change)
    total = np.zeros(lattice.facts.dimension, dtype=np.int64)
    if lattice.facts.by_unit:
        blocks = shard.drawn(draw)
        return _sum_by_unit([(b, _change(question, b, shard, loss)) for b in blocks], lattice, limit)
    for block in shard.drawn(draw):
        change = _change(question, block, shard, loss)
        _contribute(block, lattice, factors(block, lattice, change, limit), limit, None, total)
    return total


def change_exact(question: GradientChange, shards: Sequence[Shard], loss: Loss, draw: PoissonSample | None) -> Vector:
    """Difference of two exact sums."""
    here = exact_gradient(question.w, shards, loss, draw)
    return here - exact_gradient(question.anchor, shards, loss, draw)


def contributions(
    charge: Charge,
    shards: Sequence[Shard],
    loss: Loss,
    chosen: Mask,
    entries: int = PIECE_ENTRIES,
    *,
    sparse: bool = False,
) -> Iterator[Matrix]:
    """Gradients of the chosen rows, each clipped, some rows at a time: **private**, for local randomisers.

    `chosen` says of every row whether it answers. `sparse`: rows that are stored sparse and
    unshifted come as CSR matrices. Uses the charge.
    """
    use(charge)
    question: Gradient = charge.query
    lattice, clip = shards[0].lattice, question.clip
    chosen_blocks = (
        (shard, block)
        for shard in shards
        for block in shard.chosen(chosen[shard.first_row : shard.first_row + shard.rows])
    )
    for shard, block in chosen_blocks:
        for piece in record_pieces(block, lattice.facts.dimension, entries):
            held = factors(piece, lattice, slopes(loss, shard.margin(piece, question.w), piece), clip)
            factor = held * (clip.norm / lattice.record_units)
            if sparse and piece.sparse and not lattice.shifted:
                yield sp.csr_matrix(sp.diags(factor) @ sparse_rows(piece, lattice))
            else:
                yield whole_rows(piece, lattice) * factor[:, None]


# ------------------------------------------------------------------------------------------------ factors


def factor_cap(block: Block, lattice: Lattice, clip: Clip) -> Vector:
    """Largest factor of each row that `clip` allows, in units of the lattice; rounded against us."""
    units = lattice.record_units
    entry = units * (min(clip.norm, clip.entry or clip.norm) / clip.norm)
    # stored integers: a row that is not zero has norm at least 1
    most = np.minimum(units / np.sqrt(np.maximum(block.squares, 1.0)), entry / np.maximum(block.largest, 1.0))
    if clip.slope is not None:
        most = np.minimum(most, clip.slope / step(lattice, clip))
    return np.where(block.squares > 0, most * (1 - 2.0**-40), 0.0)


def step(lattice: Lattice, clip: Clip) -> float:
    """h_c: one unit of a factor."""
    return clip.norm / lattice.record_units / lattice.unit


def factors(block: Block, lattice: Lattice, slope: Vector, clip: Clip) -> Vector:
    """Integer factors of the rows, within what `clip` allows."""
    if lattice.exact:
        raise TypeError(NO_LATTICE)
    cap = np.floor(factor_cap(block, lattice, clip))
    with np.errstate(over="ignore"):
        return np.clip(np.trunc(slope / step(lattice, clip)), -cap, cap)


def _change(question: GradientChange, block: Block, shard: Shard, loss: Loss) -> Vector:
    """Difference of two slopes of each row, each within what `clip` allows a row."""
    here, there = (
        _clipped(block, shard.lattice, slopes(loss, shard.margin(block, at), block), question.clip)
        for at in (question.w, question.anchor)
    )
    return here - there


def _clipped(block: Block, lattice: Lattice, slope: Vector, clip: Clip) -> Vector:
    """Slopes within what `clip` allows, not yet on the lattice."""
    cap = factor_cap(block, lattice, clip) * step(lattice, clip)
    return np.clip(slope, -cap, cap)


# ------------------------------------------------------------------------------------------------ sums


def _contribute(
    block: Block, lattice: Lattice, factor: Vector, clip: Clip, support: Indices | None, total: Integers
) -> None:
    """Add the integer sum of factor times row over a block to a total."""
    if clip.columns is None:
        products.scatter(block, lattice, factor, total, support)
    else:
        limits = np.floor(clip.columns / (clip.norm / lattice.record_units))
        products.clipped_scatter(block, lattice, factor, limits, total, support)


def _sum_by_unit(pairs: list[tuple[Block, Vector]], lattice: Lattice, clip: Clip) -> Integers:
    """Integer sum of the gradients of units, each clipped once, over some blocks and the slopes of their rows."""
    ticks = lattice.record_units
    entry = ticks * (min(clip.norm, clip.entry or clip.norm) / clip.norm)
    columns = None if clip.columns is None else np.floor(clip.columns / (clip.norm / ticks))
    held = unit_clip(lattice, ticks, entry=entry, columns=columns)
    total = np.zeros(lattice.facts.dimension, dtype=np.int64)
    for block, slope in pairs:
        factor = unit_factors(slope, step(lattice, clip), block.squares, block)
        products.unit_scatter(block, lattice, factor, held, total)
    return total


def _sum_of(
    blocks: Sequence[Block], held: list[Vector], lattice: Lattice, clip: Clip, support: Indices | None, size: int
) -> Integers:
    """Integer sum of factor times row over some blocks."""
    total = np.zeros(size, dtype=np.int64)
    for block, factor in zip(blocks, held, strict=True):
        _contribute(block, lattice, factor, clip, support, total)
    return total


def _mendable(shard: Shard, held: list[Vector], clip: Clip, loss: Loss, largest: float = 0.5) -> bool:
    """Whether the last sum was of the same kind and at most a part `largest` of the rows changed since."""
    memory = shard.factors
    if memory is None or memory.clip != clip or memory.loss != repr(loss):
        return False
    changed = sum(np.count_nonzero(new != old) for new, old in zip(held, memory.factors, strict=True))
    return bool(changed <= largest * sum(f.size for f in held))


def _mended(shard: Shard, held: list[Vector], clip: Clip, loss: Loss) -> Integers:
    """The sum for these factors: the last one, mended with the rows that changed, or a fresh one."""
    lattice = shard.lattice
    if _mendable(shard, held, clip, loss):
        assert shard.factors is not None
        total = shard.factors.total.copy()
        for block, new, old in zip(shard.blocks, held, shard.factors.factors, strict=True):
            rows = np.flatnonzero(new != old)
            if rows.size:
                changed = block.rows(rows)
                _contribute(changed, lattice, new[rows], clip, None, total)
                _contribute(changed, lattice, -old[rows], clip, None, total)  # clips are symmetric
    else:
        total = _sum_of(shard.blocks, held, lattice, clip, None, lattice.facts.dimension)
    shard.factors = Factors(clip, repr(loss), held, total)
    return total


SUMS[Gradient] = SumRule(gradient_measure, gradient_part, gradient_exact, sampled=True, by_unit=True)
SUMS[GradientChange] = SumRule(change_measure, change_part, change_exact, sampled=True, by_unit=True)
