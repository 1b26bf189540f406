r"""Queries about columns: squares, absolute entries, and rows seen through public column weights.

Guarantee
---------
* ``WeightedGradient``: row i has an integer factor :math:`c_i` and adds :math:`h\,c_i X_{ij}` to
  coordinate j of the unweighted sum :math:`G`, in units of :math:`h = C/(a_{\min} S)` with
  :math:`S` = ``Lattice.record_units``. The factor is clipped to
  :math:`\pm\lfloor C/(h\,\|X_i\circ a\|_2)\rfloor`, the norm rounded up, over the coordinates of
  the support (one weight for each, all positive). Hence :math:`h\,|c_i|\,\|X_i\circ a\|_2 \le C`,
  and, since :math:`a_{\min}|X_{ij}| \le \|X_i\circ a\|_2`, every :math:`|c_i X_{ij}| \le S`. The
  query is :math:`a\circ G`; one record contributes a vector of norm at most C to it, so it moves by
  at most :math:`\kappa C` in l2 norm. Only integers get noise, so coordinate j of :math:`G/h` is
  rounded to :math:`k_j` units and gets Gaussian noise of standard deviation :math:`\sigma/u_j` on
  the lattice of integers, :math:`u_j = a_j k_j h`, before it is multiplied by :math:`u_j`. That is
  noise of standard deviation :math:`\sigma` in every coordinate of the weighted query: the Gaussian
  mechanism on :math:`a\circ G`, with multiplication by public numbers after it. Rounding moves
  coordinate j of the weighted query by at most :math:`u_j/2` in each of two neighbours, so the
  sensitivity is at most :math:`\kappa C + \|u\|_2`. The steps :math:`k_j` make :math:`u_j` a
  millionth of C, or one unit where that is more.
* ``MeanSquares``: a row contributes :math:`x_{ij}^2 \le B_j^2`; its norm is
  :math:`\sqrt{\sum_j x_{ij}^4} \le B_\infty K_2`. All contributions are non-negative, so two of
  them differ by at most :math:`B_j^2` in a coordinate and, since
  :math:`\|a-b\|^2 \le \|a\|^2 + \|b\|^2` for non-negative vectors, by at most
  :math:`\sqrt2\,B_\infty K_2` in norm.
* ``MeanAbsolute``: a row adds :math:`|x_{ij}| \ge 0`, at most :math:`B_j` in coordinate j and
  :math:`K_2` in norm. Vectors that are not negative differ by at most the root of the sum of their
  squared norms: :math:`\sqrt2 K_2` for replace-one, :math:`K_2` for add-remove; in a coordinate by
  at most :math:`B_j`.
* ``MeanRowNorm``: a row adds a number of :math:`[0, \mathrm{top}]`, truncated to whole units: `top`
  in both relations.

A unit of several rows adds the clipped sum of its gradients (`queries.unit_sums`), and of all else the
mean over its rows, truncated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import LARGEST_SIZE, SMALLEST_SIZE, Vector, in_range
from ..rows.kernels import products
from ..rows.kernels.interface import Sums
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from ..rows.slopes import exact_gradient, slopes
from .bounds import Bound, bounded_sum, interval
from .kinds import MeanAbsolute, MeanRowNorm, MeanSquares, WeightedGradient
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Indices, Integers, Sensitivity, SumSpec, check_support
from .table import SUMS, SumRule
from .unit_sums import unit_clip, unit_factors


def checked_weights(weights: Vector, support: Indices | None, bound: float, least: float, lattice: Lattice) -> Vector:
    """The weights of a query, one for each coordinate of its support; refuses what the bounds above do not cover."""
    weights = np.asarray(weights, dtype=float)
    size = lattice.facts.dimension
    if support is not None:
        size = check_support(support, lattice.facts.dimension).size
    if weights.shape != (size,):
        raise PrivacyError(f"{size} weights are needed, one for each coordinate of the answer.")
    if not (in_range(weights[weights != 0]) and np.all(weights >= least) and in_range(bound)):
        raise PrivacyError(
            f"column weights must be positive, between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}, and "
            "so must the bound on a row's contribution."
        )
    return weights


# ------------------------------------------------------------------------------------------------ weighted gradients


def _gradient_weights(question: WeightedGradient, lattice: Lattice) -> Vector:
    return checked_weights(question.weights, question.support, question.norm, np.nextafter(0, 1), lattice)


def weighted_measure(question: WeightedGradient, lattice: Lattice) -> SumSpec:
    """Norm within the query's."""
    weights = _gradient_weights(question, lattice)
    units = lattice.record_units
    unit = sum_unit(question.norm, weights, lattice)
    steps = np.maximum(1, np.floor(question.norm / (RELEASE_UNITS * unit * weights))).astype(np.int64)
    reach = Sensitivity(question.norm, np.full(weights.size, question.norm))
    return SumSpec(reach, unit * weights, units, steps)


def sum_unit(norm: float, weights: Vector, lattice: Lattice) -> float:
    """h: one unit of the unweighted sum."""
    return norm / (float(weights.min(initial=math.inf)) * lattice.record_units) if weights.size else norm


def weighted_part(question: WeightedGradient, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard, unweighted, with caps on their weighted norms."""
    lattice, norm, weights = shard.lattice, question.norm, question.weights
    if lattice.exact:
        raise TypeError("rows that were built without a lattice answer only the exact oracle.")
    unit = sum_unit(norm, weights, lattice)
    step = unit / lattice.unit
    total = np.zeros(weights.size, dtype=np.int64)
    caps = shard.caps(weights, question.support, norm, lambda square: _caps(square, norm, unit, lattice))
    for block, margin, cap in zip(shard.blocks, shard.margins(question.w), caps, strict=True):
        factor = slopes(loss, margin, block)
        if shard.facts.by_unit:
            every = np.zeros(lattice.facts.dimension, dtype=np.int64)
            clip = unit_clip(lattice, norm / unit, weights=weights, support=question.support)
            products.unit_scatter(block, lattice, unit_factors(factor, step, block.squares, block), clip, every)
            total += every if question.support is None else every[question.support]
            continue
        with np.errstate(over="ignore"):
            factor /= step
        np.trunc(factor, out=factor)
        products.scatter(block, lattice, np.clip(factor, -cap, cap, out=factor), total, question.support)
    return total


def _caps(square: Vector, norm: float, unit: float, lattice: Lattice) -> Vector:
    """Largest factor of each row.

    At most S, for rows, too, whose true norm is zero, which is rounded up to almost nothing.
    """
    with np.errstate(divide="ignore", over="ignore"):
        room = norm / (unit * np.sqrt(square)) * (1 - 2.0**-40)
    return np.where(square > 0, np.floor(np.minimum(room, lattice.record_units)), 0.0)


def weighted_exact(question: WeightedGradient, shards: Sequence[Shard], loss: Loss) -> Vector:
    """Weights times the exact gradient."""
    gradient = exact_gradient(question.w, shards, loss)
    return _gradient_weights(question, shards[0].lattice) * (
        gradient if question.support is None else gradient[question.support]
    )


# ------------------------------------------------------------------------------------------------ squares and sizes


def squares_measure(question: MeanSquares, lattice: Lattice) -> SumSpec:
    """Squares of whole units."""
    entry = lattice.coordinate_bounds**2
    norm = float(lattice.coordinate_bounds.max()) * lattice.norm_bound
    reach = Sensitivity(norm, entry, pair_norm=math.sqrt(2) * norm, pair_entry=entry)
    unit = lattice.unit**2
    return SumSpec(reach, unit, float(lattice.integer_bounds.max()) ** 2, max(1, int(norm / RELEASE_UNITS / unit)))


def squares_part(question: MeanSquares, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard."""
    return _column_sum(shard, products.squared_sum)


def squares_exact(question: MeanSquares, shards: Sequence[Shard], loss: Loss) -> Vector:
    """In real units."""
    return np.asarray(sum(_column_sum(s, products.squared_sum) for s in shards) * shards[0].lattice.unit ** 2)


def absolute_measure(question: MeanAbsolute, lattice: Lattice) -> SumSpec:
    """Whole units of the features."""
    norm, entry = lattice.norm_bound, lattice.coordinate_bounds[: lattice.facts.n_features]
    reach = Sensitivity(norm, entry, pair_norm=math.sqrt(2) * norm, pair_entry=entry)
    most = float(lattice.integer_bounds.max())
    return SumSpec(reach, lattice.unit, most, max(1, int(norm / RELEASE_UNITS / lattice.unit)))


def absolute_part(question: MeanAbsolute, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard, features only."""
    return _absolute(shard)


def absolute_exact(question: MeanAbsolute, shards: Sequence[Shard], loss: Loss) -> Vector:
    """In real units."""
    return np.asarray(sum(_absolute(s) for s in shards) * shards[0].lattice.unit)


def _absolute(shard: Shard) -> Sums:
    return _column_sum(shard, products.absolute_sum)[: shard.facts.n_features]


def _column_sum(shard: Shard, kernel: products.ColumnSum) -> Sums:
    total = np.zeros(shard.facts.dimension, dtype=float if shard.lattice.exact else np.int64)
    for block in shard.blocks:
        if shard.facts.by_unit:
            total += products.unit_column_sum(block, shard.lattice, kernel)
        else:
            total += kernel(block, shard.lattice)
    return total


def size_bound(question: MeanRowNorm, lattice: Lattice) -> Bound:
    """From zero to `top`."""
    checked_weights(question.weights, question.support, question.top, 0.0, lattice)
    return interval(0.0, question.top, RELEASE_UNITS)


def sizes(question: MeanRowNorm, shard: Shard, loss: Loss) -> Iterator[Vector]:
    """Weighted norm of each row, in real units; zero for absent records."""
    weights = checked_weights(question.weights, question.support, question.top, 0.0, shard.lattice)
    for square, block in zip(shard.weighted_squares(weights, question.support), shard.blocks, strict=True):
        yield np.where(block.present > 0, shard.lattice.unit * np.sqrt(square), 0.0)[:, None]


SUMS[WeightedGradient] = SumRule(weighted_measure, weighted_part, weighted_exact, by_unit=True)
SUMS[MeanSquares] = SumRule(squares_measure, squares_part, squares_exact, by_unit=True)
SUMS[MeanAbsolute] = SumRule(absolute_measure, absolute_part, absolute_exact, by_unit=True)
SUMS[MeanRowNorm] = bounded_sum(size_bound, sizes)
