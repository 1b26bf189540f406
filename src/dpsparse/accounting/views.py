"""What is known of a composed privacy loss: bounds on its delta from one or several grids.

Guarantee
---------
Every view bounds delta from above at every epsilon of which it speaks, so the smallest of them does. `pld` makes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.curves import largest
from .pairs import Array

#: A view is sharp enough if its rounding is at most this part of delta.
SMALL = 1e-4


@dataclass(frozen=True, eq=False)
class TiltedLoss:
    """A composed loss as seen through one tilt.

    `mass` is on the multiples of `step` from index `low` on; delta at epsilon may be too small by
    exp(log_error - tilt epsilon) and by `infinite`, which are added. The window of a tilted loss
    may begin above 0: what lies below it has a small part of the tilted mass and a large one of the
    other, so nothing is said of a smaller epsilon.
    """

    step: float
    low: int
    mass: Array
    infinite: float
    tilt: float
    log_error: float

    def rounding(self, epsilon: float) -> float:
        """How far delta may be from the delta of exact arithmetic."""
        return math.exp(min(0.0, self.log_error - self.tilt * epsilon))

    @property
    def deviation(self) -> float:
        """Standard deviation of the finite loss."""
        places = np.arange(self.mass.size)
        mean, square = (float(places**k @ self.mass) / float(self.mass.sum()) for k in (1, 2))
        return self.step * math.sqrt(max(square - mean * mean, 0.0))

    def _error(self, epsilon: float) -> float:
        return self.infinite + self.rounding(epsilon)

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence; infinite where losses above epsilon are outside of a tilted window."""
        if self.tilt > 0 and epsilon < self.step * self.low:
            return math.inf
        first = max(0, math.floor(epsilon / self.step) + 1 - self.low)
        above = self.step * (self.low + np.arange(first, self.mass.size))
        return self._error(epsilon) + float(-np.expm1(epsilon - above) @ self.mass[first:])

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 with at most this delta."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0, self.low + self.mass.size  # delta is exceeded at low * step
        if self.delta(high * self.step) > delta:
            return math.inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.delta(middle * self.step) > delta else (low, middle)
        if low < self.low:
            return high * self.step
        # between the two points delta is at most a constant less a multiple of exp(epsilon)
        rest = self.mass[max(0, high - self.low) :]
        weighted = float(np.exp(-self.step * np.arange(rest.size)) @ rest)
        excess = self._error(low * self.step) + float(rest.sum()) - delta
        if excess <= 0 or weighted <= 0:
            return high * self.step
        return min(max(high * self.step + math.log(excess / weighted), low * self.step), high * self.step)


#: A loss of which nothing is known.
NOTHING = TiltedLoss(1.0, 0, np.zeros(1), 1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Parted:
    """A composed loss in two parts.

    Of compositions without a large loss, on a fine grid, and of all others on a coarse one.
    """

    fine: TiltedLoss
    rest: TiltedLoss

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence: both parts together."""
        return self.fine.delta(epsilon) + self.rest.delta(epsilon)

    def epsilon(self, delta: float, known: float) -> float:
        """The smallest epsilon >= 0 with at most this delta, if below one that is known to have it."""
        if not known < math.inf or self.delta(known) > delta:
            return known
        return known - largest(lambda gap: self.delta(known - gap) <= delta, 0.0, known, steps=24)


@dataclass(frozen=True, eq=False)
class ComposedLoss:
    """A composed loss: every view bounds its delta from above.

    The tilted one is made where rounding may hide part of delta.
    """

    view: Callable[[float], TiltedLoss]
    tilt: float
    part: Callable[[TiltedLoss], Parted | None]

    @cached_property
    def tilted(self) -> TiltedLoss:
        """Sharp where delta is near the scale for which the loss was composed."""
        return self.view(self.tilt)

    @cached_property
    def plain(self) -> TiltedLoss:
        """Sharp where delta is large."""
        return self.view(0.0)

    @cached_property
    def parted(self) -> Parted | None:
        """Sharp where a few large losses make the grid coarse; None where they do not."""
        return self.part(self.plain)

    def delta(self, epsilon: float) -> float:
        """Delta at `epsilon`: the smallest that the views give; the tilted one where rounding spoils the plain one."""
        found = self.plain.delta(epsilon)
        if self.plain.rounding(epsilon) > SMALL * found and epsilon >= 0:
            found = min(found, self.tilted.delta(epsilon))
        if self.parted is not None:
            found = min(found, self.parted.delta(epsilon))
        return min(1.0, found)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 with at most this delta."""
        found = self.plain.epsilon(delta)
        if self.plain.rounding(found) > SMALL * delta:
            found = min(found, self.tilted.epsilon(delta))
        return found if self.parted is None else self.parted.epsilon(delta, found)
