r"""What polishing asks: exact integer sums over a few centred features.

Write :math:`a_i = x_{i,S} - \mu` for a row on a support S of m features, :math:`\phi'_i` for the
slope of its loss at the query's model (see `centred`). What a record adds is put on a lattice by
truncation towards zero, which only shrinks it, and integers are summed. A record that is not finite
adds nothing.

Guarantee
---------
One record's contribution, and how far the sum moves when a record is replaced (R) or added or
removed (A):

* ``ResidualMean``: :math:`\mathrm{clip}(\phi', \pm R)`, within :math:`[-R, R]`. R: 2R. A: R.
* ``ColumnMeans``: :math:`x_S - c`, entries within :math:`\min(B_j + |c_j|, \text{norm})` for the
  bounds :math:`B_j` of their columns, and norm within
  :math:`N = \min(K_2 + \|c\|, \|B_S + |c|\|, \text{norm})`. R: 2N. A: N.
* ``CentredGradient``: :math:`c\,a` with :math:`|c| \le C/\|a\|`, norm within C. R: 2C. A: C.
* ``Curvature``: within :math:`[0, h]`, :math:`h = \beta\,\mathrm{norm}^2/m`, since the second
  derivative is clipped to :math:`[0,\beta]` and f within [0, 1]. Two numbers in [0, h] differ by
  at most h. R and A: h.
* ``Gram``: :math:`b b^\top` for :math:`b = a\min(1, Q/\|a\|)`. Its Frobenius norm is
  :math:`\|b\|^2 \le Q^2`. A: :math:`Q^2`. R:
  :math:`\|bb^\top - cc^\top\|_F^2 = \|b\|^4 + \|c\|^4 - 2\langle b,c\rangle^2 \le 2Q^4`, so
  :math:`\sqrt2\,Q^2`. b is an integer vector in units of :math:`Q/q` for a power of two q with
  :math:`q^2` within ``Lattice.record_units``, so the products are exact. The answer is the upper
  triangle, whose off-diagonal entries count :math:`\sqrt2` times as much: units differ by
  coordinate, no integer is rounded, and the norm is that of the matrix, since each of these entries
  stands twice in it. Dividing by :math:`\sqrt2` after the noise leaves variance :math:`\sigma^2` on
  the diagonal and :math:`\sigma^2/2` off it. Entries off the diagonal are at most
  :math:`b_i b_j \le Q^2/2`, hence :math:`Q^2/\sqrt2` with their weight, and two of them are
  :math:`\sqrt2\,Q^2` apart. Of a unit with weights w the rows :math:`\sqrt{w_i}\,b_i` are truncated:
  their products sum to a positive semi-definite matrix of trace at most :math:`Q^2`, so that its norm is at
  most :math:`Q^2`, and two of them have a product that is not negative: :math:`\sqrt2\,Q^2` apart.

A unit of several rows has clipped means of its residuals and gradients, and means of all else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..core.facts import Vector
from ..rows.kernels import products
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .bounds import Bound, ball, bounded_sum, interval
from .centred import SLACK, away, away_by_pieces, check_centre, clipped, curvature, seen
from .kinds import CentredGradient, ColumnMeans, Curvature, Gram, ResidualMean
from .losses import Loss
from .sensitivity import Indices, Integers, Sensitivity, SumSpec, check_bound, check_support
from .table import SUMS, Asked, SumRule
from .unit_sums import weight_of

#: Steps of the lattice of rows in a Gram matrix per bound on their norm, or fewer for very many rows.
GRAM_UNITS = 2.0**18
#: Supports of more columns are not kept between queries: loops ask about fewer.
KEPT_COLUMNS = 128

# ------------------------------------------------------------------------------------------------ residuals and means


def residual_bound(question: ResidualMean, lattice: Lattice) -> Bound:
    """The bound on slopes."""
    return interval(-check_bound(question.bound), question.bound)


def residuals(question: ResidualMean, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Slopes."""
    return (view.slopes[:, None] for view in seen(question.model, shard, loss))


def means_bound(question: ColumnMeans, lattice: Lattice) -> Bound:
    """Bounds of the columns, and the norm.

    At least one unit of the rows, since columns far narrower than others have no whole units.
    """
    bounds = lattice.coordinate_bounds[check_support(question.support, lattice.facts.n_features, "features")]
    centre = _means_centre(question)
    bounds = np.maximum(bounds, lattice.unit) + np.abs(centre)
    norm = min(lattice.norm_bound + float(np.linalg.norm(centre)), float(np.linalg.norm(bounds))) * (1 + 1e-12)
    if question.norm != math.inf:
        check_bound(question.norm)
    entry = np.minimum(bounds, question.norm)
    return Bound(-entry, entry, min(norm, question.norm))


def _means_centre(question: ColumnMeans) -> Vector:
    return np.zeros(question.support.size) if question.centre is None else question.centre


def entries(question: ColumnMeans, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Rows on the support, within their norm."""
    norm = means_bound(question, shard.lattice).norm
    wide = question.support.size > KEPT_COLUMNS
    rows = away_by_pieces if wide else away
    for x, lengths, *_ in rows(question.support, _means_centre(question), shard):
        yield x * (norm * SLACK / np.maximum(lengths, norm * SLACK))[:, None]


def means_part(question: ColumnMeans, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """As `MEANS` has it; rows on all features go through a kernel, which gives the same whole numbers."""
    if not _by_kernel(question.support, shard):
        return MEANS.part(question, spec, shard, loss)
    total = np.zeros(question.support.size, dtype=np.int64)
    norm, step = spec.reach.norm * SLACK, float(spec.unit)
    for rows in _whole(question.support, _means_centre(question), norm, step, spec.record, shard):
        total += np.add.reduce(rows, axis=0).astype(np.int64)
    return total


def _by_kernel(support: Indices, shard: Shard) -> bool:
    """Whether centred rows are made by a kernel and not kept: those on all features, of records that are rows."""
    return not shard.facts.by_unit and products.every_feature(support, shard.lattice)


def _whole(support: Indices, centre: Vector, norm: float, step: float, most: float, shard: Shard) -> Iterator[Vector]:
    """Centred rows within a norm in whole steps up to a number, some at a time."""
    check_centre(centre, support.size)
    check_support(support, shard.facts.n_features, "features")
    for block in shard.blocks:
        yield from products.whole_rows(block, shard.lattice, support, centre, norm, step, most)


# ------------------------------------------------------------------------------------------------
# gradients and curvature


def centred_bound(question: CentredGradient, lattice: Lattice) -> Bound:
    """The clip."""
    return ball(check_bound(question.clip), question.model.support.size)


def gradients(question: CentredGradient, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Clipped gradients."""
    for view in seen(question.model, shard, loss):
        slopes = view.slopes
        if not shard.facts.by_unit:  # units are clipped once, and not row by row
            cap = clipped(view, question.clip)
            slopes = np.clip(slopes, -cap, cap)
        with np.errstate(over="ignore"):
            yield slopes[:, None] * view.away


def curvature_bound(question: Curvature, lattice: Lattice) -> Bound:
    """The largest curvature."""
    return interval(0.0, lattice.facts.curvature * check_bound(question.norm) ** 2 / question.model.support.size)


def curvatures(question: Curvature, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Curvatures of clipped gradients."""
    for view in seen(question.model, shard, loss):
        with np.errstate(divide="ignore", over="ignore"):
            kept = np.minimum(1.0, clipped(view, question.clip) / np.abs(view.slopes))
        lengths = np.minimum(view.norms, question.norm)
        bent = curvature(loss, view.margins, view.block, shard.facts.curvature)
        yield (kept * bent * lengths**2 / question.model.support.size)[:, None]


# ------------------------------------------------------------------------------------------------ Gram matrices


def gram_units(lattice: Lattice) -> float:
    """Steps of the lattice of rows in outer products, per bound on their norm."""
    return min(GRAM_UNITS, lattice.square_units)


#: Rows of a query within its norm, some at a time: in whole steps of a size, with the root of their weights where they
#: are of units; or, without steps, as floats.
RowsWithin = Callable[[Asked, Shard, Loss, float | None], Iterator[Vector]]


def outer_sum(
    size: Callable[[Asked], int], rows_within: RowsWithin, check: Callable[[Asked, Lattice], object]
) -> SumRule:
    """The rule of a sum of outer products of rows: the upper triangle, row by row.

    `size` is the number of columns of a row; `check` refuses an invalid query.
    """

    def measure(question: Asked, lattice: Lattice) -> SumSpec:
        check(question, lattice)
        square, units = check_bound(question.norm) ** 2, gram_units(lattice)
        row, column = np.triu_indices(size(question))
        twice = np.where(row == column, 1.0, math.sqrt(2))  # off the diagonal: the root of two
        entry, pairs = square * np.where(row == column, 1.0, math.sqrt(0.5)) * (1 + 1e-12), square * twice * (1 + 1e-12)
        reach = Sensitivity(square, entry, pair_norm=math.sqrt(2) * square, pair_entry=pairs)
        return SumSpec(reach, square / units**2 * twice, units**2)

    def part(question: Asked, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
        columns, step = size(question), question.norm / gram_units(shard.lattice)
        matrix = np.zeros((columns, columns), dtype=np.int64)
        for rows in rows_within(question, shard, loss, step):
            matrix += (rows.T @ rows).astype(np.int64)
        return matrix[np.triu_indices(columns)]

    def exact(question: Asked, shards: Sequence[Shard], loss: Loss) -> Vector:
        columns = size(question)
        matrix, (row, column) = np.zeros((columns, columns)), np.triu_indices(columns)
        for shard in shards:
            for rows in rows_within(question, shard, loss, None):
                matrix += rows.T @ rows
        return np.asarray(matrix[row, column] * np.where(row == column, 1.0, math.sqrt(2)))

    return SumRule(measure, part, exact, by_unit=True)


def gram_rows(question: Gram, shard: Shard, loss: Loss, step: float | None) -> Iterator[Vector]:
    """Centred rows within the norm; those of dense rows on all features go through a kernel."""
    limit, weighs = question.norm * SLACK, step is not None and shard.facts.by_unit
    if step is not None and _by_kernel(question.support, shard):
        yield from _whole(question.support, question.centre, limit, step, math.inf, shard)
        return
    wide = question.support.size > KEPT_COLUMNS and not weighs
    rows_of = away_by_pieces if wide else away
    for centred, norms, *block in rows_of(question.support, question.centre, shard):
        rows = centred * (limit / np.maximum(norms, limit))[:, None]
        if weighs:
            rows *= np.sqrt(weight_of(*block))[:, None]
        if step is not None:
            rows /= step
            np.trunc(rows, out=rows)
        yield rows


SUMS[ResidualMean] = bounded_sum(residual_bound, residuals, "clipped mean")
MEANS = bounded_sum(means_bound, entries)
SUMS[ColumnMeans] = SumRule(MEANS.measure, means_part, MEANS.exact, by_unit=True)
SUMS[CentredGradient] = bounded_sum(centred_bound, gradients, "clipped mean")
SUMS[Curvature] = bounded_sum(curvature_bound, curvatures)
SUMS[Gram] = outer_sum(
    lambda question: question.support.size,
    gram_rows,
    lambda question, lattice: check_support(question.support, lattice.facts.n_features, "features"),
)
