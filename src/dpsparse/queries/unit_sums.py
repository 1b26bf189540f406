r"""Sums by unit, where a record is all rows with the same id (`rows.units`).

Guarantee
---------
Write :math:`c_i` for what row i of a unit adds, :math:`w_i = W_i/2^{20}` for its weight,
:math:`\sum w_i \le 1`, and K for the set of what one record may add, with 0 in K.

*Means (T1).* If every :math:`c_i` lies in K, then :math:`\sum w_i c_i` lies in its convex hull: norms,
entries and distances of two records are convex functions, whose suprema over hulls (and over
differences of hulls, which are hulls of differences) are those over K. So what is stated for a row
holds for a unit.

*Clipped sums (T2).* Row i has the whole factor
:math:`c_i = \mathrm{trunc}(w_i\phi'_i/h)`, clipped to :math:`\pm\lfloor w_i 2^{50}/\|X_i\|\rfloor`. Then
:math:`G = \sum c_iX_i` has partial sums within :math:`2^{50}` in every coordinate: floats hold it exactly,
in any order. It is multiplied by :math:`f = \min(1, S(1-2^{-30})/\|G\|)` and truncated entry by entry. The
norm is the root of a sum of squares from the first column to the last, off by less than
:math:`(d+4)2^{-53}` in relation; for :math:`d \le 2^{22}` that is below :math:`2^{-30}`, with the
rounding of the quotient and the products. Truncation shrinks every entry. So one unit adds a vector of
norm at most S, however many rows it has. (To truncate :math:`fc_i` and sum afterwards would be
wrong: where the rows of a unit cancel, norms come to 1.28 S.)

*Explicit contributions.* Rows of floats are put on a lattice of :math:`2^{-42}` of a public size times
`headroom`, multiplied by their whole weights and added as 64-bit integers: at most :math:`2^{62}`, exact
in any order.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.block import Block
from ..rows.kernels.interface import UnitClip
from ..rows.lattice import Lattice
from ..rows.units import WEIGHTS, Indices, lengths_of

#: Whole numbers of a row, before its weight.
STEPS = 2.0**42
#: Rows are clipped to this many bounds before they are averaged and the mean is clipped.
HEADROOM = 2.0**10
#: What one row may add to the exact sum of its unit, before its weight.
ROW_TICKS = 2.0**50
#: The part of a bound within which sums are held; and the columns for which that covers the rounding of norms.
SLACK, MOST_COLUMNS = 1.0 - 2.0**-30, 2**22


def unit_sums(values: Vector, starts: Indices, weight: Vector, size: float, headroom: float = 1.0) -> Vector:
    """Weighted sums over the rows of each unit.

    Parameters
    ----------
    values : array of shape (rows, numbers)
        Clipped to `size` times `headroom`.
    starts : array of int
        First row of each unit.
    weight : array of shape (rows,)
    size, headroom : float
        Public.
    """
    far = size * headroom
    with np.errstate(all="ignore"):  # a wild record must not tell anything through a warning
        whole = np.trunc(np.clip(np.nan_to_num(values, nan=far), -far, far) * (STEPS / far)).astype(np.int64)
    whole *= np.rint(weight * WEIGHTS).astype(np.int64)[:, None]
    if not starts.size:
        return np.zeros((0, values.shape[1]))
    return np.asarray(np.add.reduceat(whole, starts, axis=0) * (far / STEPS / WEIGHTS))


def unit_numbers(starts: Indices, rows: int) -> Indices:
    """The number of the unit of each row."""
    return np.repeat(np.arange(starts.size), lengths_of(starts, rows))


def weight_of(block: Block) -> Vector:
    """The weight of each row of a block of units."""
    block.unit_starts  # noqa: B018  refuses a cut unit
    assert block.weight is not None
    return block.weight


def weighted_factors(factor: Vector, cap: float, block: Block) -> Vector:
    """Factors within a cap, truncated; rows of a unit have their weight of both, and sum to at most the cap."""
    if block.starts is None:
        return np.clip(np.trunc(factor), -cap, cap)
    weight = weight_of(block)
    return np.clip(np.trunc(weight * factor), -np.floor(weight * cap), np.floor(weight * cap))


def unit_factors(slope: Vector, step: float, squares: Vector, block: Block) -> Vector:
    """Whole factors of rows, with their weights, for which sums of a unit are exact; `squares` are of whole rows."""
    weight = weight_of(block)
    cap = np.floor(weight * (ROW_TICKS * (1 - 2.0**-40)) / np.sqrt(np.maximum(squares, 1.0)))
    cap = np.where(squares > 0, cap, 0.0)
    if slope.ndim > 1:
        weight, cap = weight[:, None], cap[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.clip(np.trunc(slope * weight / step), -cap, cap)


def unit_clip(
    lattice: Lattice,
    limit: float,
    *,
    entry: float = math.inf,
    columns: Vector | None = None,
    weights: Vector | None = None,
    support: Indices | None = None,
) -> UnitClip:
    """What the sum of a unit over the coordinates of a lattice is clipped to, in ticks.

    Parameters
    ----------
    lattice : Lattice
    limit, entry : float
        Bounds on the norm and on each entry.
    columns : array, optional
        A bound for each coordinate.
    weights : array, optional
        What each coordinate counts in the norm, and the coordinates of a `support` alone.
    support : array of int, optional
    """
    size = lattice.facts.dimension
    if size > MOST_COLUMNS:
        raise PrivacyError(f"sums by unit are exact for at most {MOST_COLUMNS} columns.")
    measured, held = np.ones(size), np.full(size, math.inf) if columns is None else columns
    if weights is not None:
        which = np.arange(size) if support is None else support
        measured, held = np.zeros(size), np.zeros(size)
        measured[which], held[which] = weights, math.inf
    return UnitClip(measured, limit * SLACK, entry * SLACK, held)
