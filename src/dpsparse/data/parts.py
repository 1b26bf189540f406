r"""Which part a row is in: decided by a key and the row's number, wherever the row is.

Guarantee
---------
Row i is in the first part if its word under the key (see `draws`) is below :math:`\lfloor 2^{64}\,p\rfloor`, and in the second if it is not: in exactly one of them,
independently of its content and of all other rows. To a part the records of the other are absent, like records without a target: `sanitise` makes them count as
nothing in every answer, on every host. No number of rows leaves this file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..facts import Vector
from .draws import Draw


@dataclass(frozen=True, repr=False)
class Parts:
    """A deal of all rows into two parts. The key is secret: whoever tosses the coins drops it after the release.

    Parameters
    ----------
    first : float
        Probability of the first part.
    key : int
    """

    first: float
    key: int

    def targets(self, y: Vector, part: int) -> Vector:
        """Targets of all rows for one part: NaN, no record, in the rows of the other. **Private**."""
        mine = Draw(self.first, self.key).mask(0, y.size)
        return np.where(mine if part == 0 else ~mine, y, np.nan)
