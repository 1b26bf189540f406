r"""Bounded sums: what one record adds is clipped to a declared set, in whole units, whatever function computed it.

Guarantee
---------
A `Bound` is a box around 0, perhaps cut with an l2 ball. `Bound.clipped` brings *any* floats into it, record
by record: what is no number counts as the upper end, entries are clipped to the box, and vectors
beyond the ball are scaled down. Norms of m entries are summed one column after the other, and err
by less than :math:`(m+2)u` for :math:`u = 2^{-53}`, and scaling down by 2u more; the ball is
therefore taken at the part :math:`1 - 2(m+8)u` of itself. Truncation towards zero to whole units
only shrinks. So for any function of records one record adds a vector of the set. Let N be the
radius of the ball, or the norm of the box's far corner without a ball.

* Added or removed: the sum moves by at most N, and by :math:`\max(-l_j, u_j)` in coordinate j.
* Replaced: by at most :math:`u_j - l_j` in coordinate j, hence by :math:`\|u - l\|` in norm; and by
  at most 2N, or :math:`\sqrt2 N` where no number is negative: then :math:`\langle v, v'\rangle \ge 0`, so
  that :math:`\|v - v'\|^2 \le \|v\|^2 + \|v'\|^2`.

What is still believed of a row function is that a record's values do not depend on other records,
which a law tests for every one of them (`tests/laws/test_row_laws.py`). Nobody has to prove a
bound.

Where a record is a unit of several rows, its contribution is made of theirs in one of four ways
(`PerUnit`), summed exactly (`queries.unit_sums`), and brought into the set as any other: the set is
convex and holds 0, so that a mean of rows which are in it is in it already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..core.errors import PrivacyError
from ..core.facts import Vector
from ..rows.kernels.interface import Mask
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from ..rows.units import Indices, weights_of
from .losses import Loss
from .sensitivity import Integers, Sensitivity, SumSpec
from .table import Asked, SumRule
from .unit_sums import HEADROOM, unit_sums, weight_of

#: Units of the fine lattice per bound on one record: a sum is rounded to `RELEASE_UNITS` of them
#: once, and not for each record.
FINE_UNITS = 2.0**30
#: Radii of balls lie between this and its inverse, so that squares of entries neither vanish nor
#: overflow: below 1e-162 they would be zero, and a ball would hold vectors of any length.
SMALLEST_RADIUS = 1e-100


#: How the rows of a unit become one contribution: the mean of bounded rows that are present; the mean of
#: rows, bounded once; the mean of all bounded rows, present or not; or the largest of any bounded row.
PerUnit = Literal["mean", "clipped mean", "mean of all", "any"]


@dataclass(frozen=True, eq=False)
class Bound:
    """The set of what one record may add to a sum: public.

    Parameters
    ----------
    lower, upper : array
        The box: not above, and not below zero.
    norm : float
        Radius of the l2 ball; infinite: no ball.
    units : float
        Units of the sum in the radius, or in the longest side of a box without a ball; fewer for very many rows.
    """

    lower: Vector
    upper: Vector
    norm: float = math.inf
    units: float = FINE_UNITS

    def __post_init__(self) -> None:
        ends = np.r_[self.lower, self.upper]
        if not (np.all(np.isfinite(ends)) and np.all(self.lower <= 0) and np.all(self.upper >= 0) and self.norm > 0):
            raise PrivacyError("what one record adds to a sum is clipped to a finite box around 0.")
        if self.norm < math.inf and not SMALLEST_RADIUS <= self.norm <= 1 / SMALLEST_RADIUS:
            raise PrivacyError(f"the norm of what one record adds must be between {SMALLEST_RADIUS:g} and its inverse.")

    @cached_property
    def _far(self) -> Vector:
        return np.maximum(-self.lower, self.upper)

    def spec(self, lattice: Lattice) -> SumSpec:
        """How the sum is counted, and how far one record moves it."""
        units, ball = lattice.units(self.units), self.norm < math.inf
        width = self.upper - self.lower
        size = self.norm if ball else float(self._far.max())
        radius = self.norm if ball else float(np.linalg.norm(self._far)) if self._far.size > 1 else size
        pair = min((2 if self.lower.any() else math.sqrt(2)) * radius, float(np.linalg.norm(width)))
        reach = Sensitivity(radius, self._far, pair_norm=pair, pair_entry=width)
        return SumSpec(reach, size / units, units)

    def clipped(self, values: Vector) -> Vector:
        """Rows of values, each within the set; the same array where all of them are."""
        with np.errstate(all="ignore"):  # a wild record must not tell anything through a warning
            beyond = ~self._inside(values)
            if not beyond.any():
                return values
            out, far = values.astype(float), values[beyond]
            far = np.clip(np.where(np.isnan(far), self.upper, far), self.lower, self.upper)
            if self.norm < math.inf:
                far = far * (self._limit / np.maximum(_norms(far), self._limit))[:, None]
            out[beyond] = far
        return out

    def shrunk(self, values: Vector) -> Vector:
        """Rows of values, scaled down to the ball where they are longer; unchanged without one."""
        if self.norm == math.inf:
            return values
        return np.asarray(values * (self._limit / np.maximum(_norms(values), self._limit))[:, None])

    @property
    def _limit(self) -> float:
        return self.norm * (1.0 - (self.lower.size + 8) * 2.0**-52)

    def _inside(self, values: Vector) -> Mask:
        """Which rows are in the set; those with an entry that is no number are not."""
        inside = np.ones(len(values), dtype=bool)
        if self.norm < math.inf:
            inside &= _norms(values) <= self._limit
            if np.all(self._far >= self.norm) and np.array_equal(self.lower, -self.upper):  # the ball lies in the box
                return inside
        for value, low, high in zip(values.T, self.lower, self.upper, strict=True):
            inside &= (value >= low) & (value <= high)
        return inside


def _norms(values: Vector) -> Vector:
    """l2 norms, one column after the other: the same wherever a record stands."""
    squares = np.zeros(len(values))
    for column in values.T:
        squares += column**2
    return np.sqrt(squares)


def interval(low: float, high: float, units: float = FINE_UNITS) -> Bound:
    """Numbers between two ends."""
    return Bound(np.array([low]), np.array([high]), units=units)


def ball(norm: float, size: int) -> Bound:
    """Vectors of a norm."""
    return Bound(np.full(size, -norm), np.full(size, norm), norm)


def by_unit(within: Bound, values: Iterator[Vector], shard: Shard, per_unit: PerUnit) -> Iterator[Vector]:
    """What each unit adds, from what row functions give for rows, in the order of the rows; not yet bounded."""
    size = within.norm if within.norm < math.inf else float(np.maximum(-within.lower, within.upper).max())
    starts, weight = units_of(shard, per_unit)
    done = 0
    for rows in values:
        first, last = np.searchsorted(starts, [done, done + len(rows)])
        if first == last or starts[first] != done or (last < starts.size and starts[last] != done + len(rows)):
            raise PrivacyError("a row function has cut a unit.")
        own, here = slice(done, done + len(rows)), starts[first:last] - done
        if per_unit == "any":
            yield np.maximum.reduceat(within.clipped(rows), here, axis=0)
        elif per_unit == "clipped mean":
            yield within.shrunk(unit_sums(rows, here, weight[own], size, HEADROOM))
        else:
            yield unit_sums(within.clipped(rows), here, weight[own], size)
        done += len(rows)


def units_of(shard: Shard, per_unit: PerUnit = "mean") -> tuple[Indices, Vector]:
    """First rows of the units of a shard, and the weights of their rows."""
    starts, weights, done = [np.zeros(0, dtype=np.intp)], [np.zeros(0)], 0
    for block in shard.blocks:
        own, ones = block.unit_starts, np.ones(block.y.size)
        starts.append(own + done)
        done += ones.size
        weights.append(weights_of(own, ones) if per_unit == "mean of all" else weight_of(block))
    return np.concatenate(starts), np.concatenate(weights)


def bounded_sum(
    bound: Callable[[Asked, Lattice], Bound],
    row_function: Callable[[Asked, Shard, Loss], Iterator[Vector]],
    per_unit: PerUnit = "mean",
) -> SumRule:
    """The rule of a sum of what a row function gives for each record, clipped to a set.

    Parameters
    ----------
    bound : (question, lattice) -> Bound
        Public; refuses an invalid query.
    row_function : (question, shard, loss) -> iterator of arrays
        One row of numbers for each row of a block, from that row alone; in pieces that cut no unit.
    per_unit : str
        How the rows of a unit become one contribution.
    """

    def measure(question: Asked, lattice: Lattice) -> SumSpec:
        return bound(question, lattice).spec(lattice)

    def part(question: Asked, spec: SumSpec, shard: Shard, loss: Loss) -> Integers:
        within = bound(question, shard.lattice)
        total = np.zeros(spec.size, dtype=np.int64)
        found = row_function(question, shard, loss)
        for values in by_unit(within, found, shard, per_unit) if shard.facts.by_unit else found:
            whole = within.clipped(values) / spec.unit
            np.trunc(whole, out=whole)
            np.clip(whole, -spec.record, spec.record, out=whole)
            total += whole.sum(axis=0).astype(np.int64)
        return total

    def exact(question: Asked, shards: Sequence[Shard], loss: Loss) -> Vector:
        within = bound(question, shards[0].lattice)
        total = np.zeros(within.lower.size)
        for shard in shards:
            for values in row_function(question, shard, loss):
                total += within.clipped(values).sum(axis=0)
        return total

    return SumRule(measure, part, exact, by_unit=True)
