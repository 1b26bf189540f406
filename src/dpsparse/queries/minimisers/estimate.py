"""How the values of a minimiser are released: public, and known before any row is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.facts import Vector

#: The largest integer that a float holds with a bit to spare.
LARGEST = 2.0**52


@dataclass(frozen=True)
class MinimiserSpec:
    r"""Tolerance, proven l2 sensitivity and lattice of the values of a minimiser.

    Parameters
    ----------
    tolerance : float
        :math:`\tau`: bound on the norm of the gradient at the values.
    sensitivity : float
        :math:`\Delta`: bound on the l2 distance of the values of neighbouring datasets.
    size : int
        m: how many values there are.
    strength : float
        Rounded sensitivity over the scale of the noise that the values get.
    units : float
        Steps of the released lattice per sensitivity.

    Guarantee
    ---------
    `whole` rounds to integers of :math:`u = \Delta/` `units`, which moves each of m coordinates by at most u/2, so that
    neighbours differ by at most :math:`\Delta + u\sqrt m` afterwards: `rounded_sensitivity`. Values beyond
    :math:`2^{52}` units are clipped, which moves no two of them apart.
    """

    tolerance: float
    sensitivity: float
    size: int
    strength: float
    units: float = 2.0**20

    @property
    def unit(self) -> float:
        """Width of the lattice that values are rounded to: the sensitivity over `units`."""
        return self.sensitivity / self.units

    @property
    def rounded_sensitivity(self) -> float:
        """l2 sensitivity after rounding to the lattice."""
        return self.sensitivity + self.unit * math.sqrt(self.size)

    @property
    def scale(self) -> float:
        """Standard deviation of the noise, in real units."""
        return self.rounded_sensitivity / self.strength

    def whole(self, values: Vector) -> NDArray[np.int64]:
        """Values in units of the lattice."""
        with np.errstate(all="ignore"):
            units = np.nan_to_num(np.rint(values / self.unit), nan=0.0, posinf=LARGEST, neginf=-LARGEST)
        return np.asarray(np.clip(units, -LARGEST, LARGEST), dtype=np.int64)
