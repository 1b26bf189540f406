"""What a statistic hands to the oracle: values, and how far neighbours can move them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.facts import Vector

#: The largest integer that a float holds with a bit to spare.
LARGEST = 2.0**52


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    r"""Private values with a proven l2 sensitivity.

    Parameters
    ----------
    values : array
        Private.
    sensitivity : float
        :math:`\Delta`: bound on the l2 distance of the values of neighbouring datasets.
    units : float
        Steps of the released lattice per sensitivity.

    Guarantee
    ---------
    `lattice` rounds to integers of :math:`u = \Delta/` `units`, which moves each of m coordinates by at most u/2, so that
    neighbours differ by at most :math:`\Delta + u\sqrt m` afterwards: `rounded_sensitivity`. Values beyond
    :math:`2^{52}` units are clipped, which moves no two of them apart.
    """

    values: Vector
    sensitivity: float
    units: float = 2.0**20

    @property
    def unit(self) -> float:
        """Value of one step of the lattice."""
        return self.sensitivity / self.units

    @property
    def rounded_sensitivity(self) -> float:
        """l2 sensitivity after rounding to the lattice."""
        return self.sensitivity + self.unit * float(np.sqrt(self.values.size))

    def lattice(self) -> NDArray[np.int64]:
        """The values in units of the lattice."""
        with np.errstate(all="ignore"):
            units = np.nan_to_num(np.rint(self.values / self.unit), nan=0.0, posinf=LARGEST, neginf=-LARGEST)
        return np.asarray(np.clip(units, -LARGEST, LARGEST), dtype=np.int64)
