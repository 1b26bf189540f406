r"""One gradient for many classes: a matrix with a row for each coordinate and a column for each class.

A row of a linear model with K margins has the gradient :math:`x_i r_i^\top` for its vector of
slopes :math:`r_i`. That is a matrix of rank one, so that its Frobenius norm in weighted columns is
:math:`\|x_i\circ a\|_2\,\|r_i\|_2`, and a clip is one number for each row.

Guarantee
---------
Row i has K integer factors :math:`c_{ik}` and adds :math:`h\,c_{ik} X_{ij}` to entry (j, k) of the
unweighted sum G, in units of :math:`h = C/(a_{\min} S)` as in `queries.weighted`. The factors are
slopes in their units, shrunk all together by

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

from collections.abc import Sequence

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.block import Block
from ..rows.kernels import products
from ..rows.kernels.interface import UnitClip
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from ..rows.slopes import exact_gradient, slopes
from ..rows.units import pieces_of
from .kinds import JointGradient
from .losses import Loss
from .sensitivity import RELEASE_UNITS, Integers, Sensitivity, SumSpec
from .table import SUMS, SumRule
from .unit_sums import unit_clip, unit_factors
from .weighted import checked_weights, sum_unit

#: What float sums of squares over classes, and the shrinking, can err by.
SLACK = 1.0 - 2.0**-36
#: Classes for which that holds.
MOST_CLASSES = 2**16
#: Entries of units that are written out at once.
PIECE_ENTRIES = 2**20


def joint_measure(question: JointGradient, lattice: Lattice) -> SumSpec:
    """Frobenius norm within the query's."""
    weights = _weights(question, lattice)
    unit, classes = sum_unit(question.norm, weights, lattice), question.w.shape[1]
    steps = np.maximum(1, np.floor(question.norm / (RELEASE_UNITS * unit * weights))).astype(np.int64)
    reach = Sensitivity(question.norm, np.full(weights.size * classes, question.norm))
    return SumSpec(reach, np.repeat(unit * weights, classes), lattice.record_units, np.repeat(steps, classes))


def joint_part(question: JointGradient, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
    """The integers of one shard, unweighted, one class after the other for each coordinate."""
    lattice, norm, weights = shard.lattice, question.norm, question.weights
    if lattice.exact:
        raise TypeError("rows that were built without a lattice answer only the exact oracle.")
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


def joint_exact(question: JointGradient, shards: Sequence[Shard], loss: Loss) -> Vector:
    """Weights times the exact gradient."""
    weights = _weights(question, shards[0].lattice)
    return (weights[:, None] * exact_gradient(question.w, shards, loss, None, question.support)).ravel()


def _weights(question: JointGradient, lattice: Lattice) -> Vector:
    """The weights of a query that the bounds above cover."""
    w = question.w
    if w.ndim != 2 or w.shape[0] != lattice.facts.dimension or not 1 <= w.shape[1] <= MOST_CLASSES:
        raise PrivacyError(f"a joint gradient needs {lattice.facts.dimension} coefficients for each class.")
    return checked_weights(question.weights, question.support, question.norm, np.nextafter(0, 1), lattice)


def _norms(slope: Vector) -> Vector:
    """Norm of each row's slopes, class by class, whatever their size."""
    largest = np.abs(slope).max(axis=1)
    squares = np.zeros_like(largest)
    for column in slope.T:
        squares += (column / np.maximum(largest, np.finfo(float).tiny)) ** 2
    return np.asarray(largest * np.sqrt(squares))


SUMS[JointGradient] = SumRule(joint_measure, joint_part, joint_exact, by_unit=True)
