r"""Which part a row is in: decided by a key and the row's number, or by a key and the id of its unit.

Guarantee
---------
Row i is in the first part if its word under the key (see `draws`) is below
:math:`\lfloor 2^{64}\,p\rfloor`, and in the second if it is not: in exactly one of them,
independently of its content and of all other rows. Where units are told, the word is the keyed
BLAKE2b hash of the unit's id in the place of that of the number: the same for all rows of a unit, a
function of key and id alone, and nothing that comes or goes elsewhere changes it. To a part the
records of the other are absent, like records without a target: `clip_and_quantise` makes them count
as nothing in every answer, on every host. No number of rows leaves this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.facts import Vector
from .sampling import Mask, PoissonSample


@dataclass(frozen=True, repr=False, eq=False)
class DataSplit:
    """A deal of all rows into two parts. The key is secret: whoever tosses the coins drops it after the release.

    Parameters
    ----------
    first : float
        Probability of the first part.
    key : int
    units : array of str or None
        The unit of each row; None: every row has a coin of its own.
    """

    first: float
    key: int
    units: NDArray[np.str_] | None = None

    def targets(self, y: Vector, part: int) -> Vector:
        """Targets of all rows for one part: infinite, no record, in the rows of the other. **Private**.

        A record without a usable target has NaN, so the two can be told apart: cells of the latter are still counted.
        """
        mine = PoissonSample(self.first, self.key).mask(0, y.size) if self.units is None else self._by_unit(self.units)
        return np.where(mine if part == 0 else ~mine, np.where(np.isinf(y), np.nan, y), np.inf)

    def _by_unit(self, units: NDArray[np.str_]) -> Mask:
        """Whether the unit of each row is in the first part."""
        ids, rows = np.unique(units, return_inverse=True)
        below, key = int(Fraction(self.first) * 2**64), self.key.to_bytes(16, "little")
        words = (blake2b(str(i).encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for i in ids)
        return np.array([int.from_bytes(word, "little") < below for word in words], dtype=bool)[rows]


def read_units(given: object, n_rows: int) -> NDArray[np.str_]:
    """Ids of units as text, one for each row: 7, "7", 7.0 and a numpy integer 7 are one unit.

    Refuses another number of them.

    Whole numbers are floats where a column of them has a gap, so that one missing id must not
    change the ids of all others.
    """
    try:
        ids = np.asarray(given, dtype=object)
    except Exception:  # whatever a user's object raises could hold a value
        ids = np.empty((), dtype=object)
    if ids.shape != (n_rows,):
        raise DataError("units must hold one id for each row: a column of text or whole numbers, as long as y.")
    return np.array([_text(i) for i in ids.tolist()], dtype=np.str_)


def _text(given: object) -> str:
    """An id as text; what has none is one unit, as missing ids are."""
    try:
        return str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)
    except Exception:  # a whole number of more than 4300 digits has none
        return ""
