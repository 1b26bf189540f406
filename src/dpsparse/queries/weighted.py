r"""Gradients of rows seen through public column weights: of one margin, or of one for each class.

A row of a linear model with K margins has the gradient :math:`x_i r_i^\top` for its vector of
slopes :math:`r_i`. That is a matrix of rank one, so that its Frobenius norm in weighted columns is
:math:`\|x_i\circ a\|_2\,\|r_i\|_2`, and a clip is one number for each row.

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
  millionth of C, or one unit where that is more. A unit of several rows adds the clipped
  sum of its gradients (`queries.unit_sums`).
* ``JointGradient``: row i has K integer factors :math:`c_{ik}` and adds :math:`h\,c_{ik} X_{ij}` to
  entry (j, k) of the unweighted sum G, in units of :math:`h = C/(a_{\min} S)` as above. The factors
  are slopes in their units, shrunk all together by

  .. math:: \min\bigl(1,\; C\,(1-2^{-36})\,/\,(u\,\|X_i\circ a\|_2\,\|r_i\|_2)\bigr), \qquad
            u = \text{the lattice's unit},

  the row's norm rounded up, and then truncated. Shrinking and the norm of at most :math:`2^{16}`
  slopes err by less than :math:`2^{-36}` in relation, and truncation only shrinks, so
  :math:`h\,\|c_i\|_2\,\|X_i\circ a\|_2 \le C`: one record contributes a matrix of Frobenius norm at
  most C to :math:`a\circ G`, which so moves by at most :math:`\kappa C`: 2C where a record is
  replaced, C where one is added or removed. Nothing is multiplied by K: a class more is a column more
  of the same matrix. Entries are within :math:`|c_{ik} X_{ij}| \le S`, since
  :math:`a_{\min}|X_{ij}| \le \|X_i\circ a\|_2`. Rounding to the released lattice and noise are those
  of `WeightedGradient`, entry by entry: the sensitivity grows by :math:`\|u\|_2` over all entries.
  All K slopes of a row are functions of that row alone (`losses.Softmax`).

  The matrix of a unit of several rows is the sum of theirs, no longer of rank one, exact and clipped once
  to its Frobenius norm as `queries.unit_sums` says of vectors: sums of squares of at most :math:`2^{22}`
  entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import LARGEST_SIZE, SMALLEST_SIZE, Vector, in_range
from ..rows.block import Block
from ..rows.kernels import products
from ..rows.kernels.interface import UnitClip
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from ..rows.slopes import exact_gradient, slopes
from ..rows.units import pieces_of
from .kinds import JointGradient, WeightedGradient
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Indices, Integers, Sensitivity, SumSpec, check_support
from .table import SUMS, SumRule
from .unit_sums import unit_clip, unit_factors

#: What float sums of squares over classes, and the shrinking, can err by.
SLACK = 1.0 - 2.0**-36
#: Classes for which that holds.
MOST_CLASSES = 2**16
#: Entries of units that are written out at once.
PIECE_ENTRIES = 2**20


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


def _weights(question: WeightedGradient | JointGradient, lattice: Lattice) -> Vector:
    """The weights of a query that the bounds above cover."""
    w = question.w
    fits = w.ndim == 2 and w.shape[0] == lattice.facts.dimension and 1 <= w.shape[1] <= MOST_CLASSES
    if type(question) is JointGradient and not fits:
        raise PrivacyError(f"a joint gradient needs {lattice.facts.dimension} coefficients for each class.")
    return checked_weights(question.weights, question.support, question.norm, np.nextafter(0, 1), lattice)


def weighted_measure(question: WeightedGradient | JointGradient, lattice: Lattice) -> SumSpec:
    """Norm, or Frobenius norm, within the query's."""
    weights, norm = _weights(question, lattice), question.norm
    unit, classes = sum_unit(norm, weights, lattice), question.w.shape[1] if type(question) is JointGradient else 1
    steps = np.maximum(1, np.floor(norm / (RELEASE_UNITS * unit * weights))).astype(np.int64)
    reach = Sensitivity(norm, np.full(weights.size * classes, norm))
    return SumSpec(reach, np.repeat(unit * weights, classes), lattice.record_units, np.repeat(steps, classes))


def sum_unit(norm: float, weights: Vector, lattice: Lattice) -> float:
    """h: one unit of the unweighted sum."""
    return norm / (float(weights.min(initial=math.inf)) * lattice.record_units) if weights.size else norm


def weighted_part(question: WeightedGradient, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard, unweighted, with caps on their weighted norms."""
    lattice, norm, weights = shard.lattice, question.norm, question.weights
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


def weighted_exact(question: WeightedGradient | JointGradient, shards: Sequence[Shard], loss: Loss) -> Vector:
    """Weights times the exact gradient."""
    weights = _weights(question, shards[0].lattice)
    return np.asarray((weights * exact_gradient(question.w, shards, loss, None, question.support).T).T.ravel())


# ------------------------------------------------------------------------------------------------ many classes


def joint_part(question: JointGradient, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard, unweighted, one class after the other for each coordinate."""
    lattice, norm, weights = shard.lattice, question.norm, question.weights
    units = lattice.record_units
    step = sum_unit(norm, weights, lattice) / lattice.unit
    total = np.zeros((weights.size, question.w.shape[1]), dtype=np.int64)
    squares = shard.weighted_squares(weights, question.support)
    for block, margins, square in zip(shard.blocks, shard.margins(question.w), squares, strict=True):
        factor = slopes(loss, margins, block)
        if lattice.facts.by_unit:
            clip = unit_clip(lattice, norm / (step * lattice.unit), weights=weights, support=question.support)
            _add_by_unit(block, lattice, unit_factors(factor, step, block.squares, block), clip, question, total)
            continue
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            room = norm * SLACK / (lattice.unit * np.sqrt(square) * _norms(factor))
            shrink = np.where(square > 0, np.minimum(room, 1.0), 0.0)
            factor *= np.nan_to_num(shrink)[:, None]  # a row of zeros has space for anything
            factor /= step
        # S for rows whose true norm is zero, which is rounded up to almost nothing: larger factors
        # are not summed exactly
        np.clip(np.trunc(factor, out=factor), -units, units, out=factor)
        products.scatter(block, lattice, factor, total, question.support)
    return total.ravel()


def _add_by_unit(
    block: Block, lattice: Lattice, factor: Vector, clip: UnitClip, question: JointGradient, total: Integers
) -> None:
    """Add the matrices of units, each clipped to its Frobenius norm; some units at a time."""
    every, starts = np.arange(lattice.facts.n_features), block.unit_starts
    step = max(1, PIECE_ENTRIES // (lattice.facts.dimension * factor.shape[1]))
    for start, stop in pieces_of(starts, block.y.size, step):
        piece = block.rows(slice(start, stop))
        constant = np.full((stop - start, lattice.facts.free), lattice.height)
        rows = np.hstack([products.shifted_columns(piece, lattice, every), constant])
        squares, sums = np.zeros(piece.unit_starts.size), []
        for column in factor[start:stop].T:
            sums.append(np.add.reduceat(rows * column[:, None], piece.unit_starts, axis=0))
            squares += np.cumsum(np.square(sums[-1] * clip.weights), axis=1)[:, -1]
        with np.errstate(divide="ignore"):
            shrink = np.minimum(1.0, clip.limit / np.sqrt(squares))[:, None]
        for k, found in enumerate(sums):
            added = np.clip(np.trunc(found * shrink), -clip.columns, clip.columns).sum(axis=0).astype(np.int64)
            total[:, k] += added if question.support is None else added[question.support]


def _norms(slope: Vector) -> Vector:
    """Norm of each row's slopes, class by class, whatever their size."""
    largest = np.abs(slope).max(axis=1)
    squares = np.zeros_like(largest)
    for column in slope.T:
        squares += (column / np.maximum(largest, np.finfo(float).tiny)) ** 2
    return np.asarray(largest * np.sqrt(squares))


SUMS[WeightedGradient] = SumRule(weighted_measure, weighted_part, weighted_exact, by_unit=True)
SUMS[JointGradient] = SumRule(weighted_measure, joint_part, weighted_exact, by_unit=True)
