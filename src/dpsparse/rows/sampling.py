r"""Which rows answer a query: a Poisson sample of them, or one part of a partition.

Both are decided for each row by a secret key and the row's number or the id of its unit, wherever the row is stored.

Guarantee
---------
**Poisson sample** (`PoissonSample`). Row i has the i-th 64-bit word of AES-128 in counter mode under a fresh key. It
takes part if its word is below :math:`\lfloor 2^{64}\,\text{rate}\rfloor`: with probability at most the rate, and
less than it by at most :math:`2^{-64}`, independently of the data and of all other rows. Words are
found by number, so that every partition of the rows draws alike.

**Two parts** (`DataSplit`). Row i is in the first part if its word under the key is below
:math:`\lfloor 2^{64}\,p\rfloor`, and in the second if it is not: in exactly one of them,
independently of its content and of all other rows. Where units are given, the word is the keyed
BLAKE2b hash of the id's digest in the place of that of the number: the same for all rows of a unit, a
function of key and id alone, and nothing that comes or goes elsewhere changes it. To a part the
records of the other are absent, like records without a target: `clip_and_quantise` makes every answer ignore
them, on every host. No number of rows leaves this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from randomgen import AESCounter

from ..core.facts import Vector
from .units import Units

Mask = NDArray[np.bool_]


def _words(key: int, first_row: int, count: int) -> NDArray[np.uint64]:
    """One word for each of some rows."""
    stream = AESCounter(key=key)  # type: ignore[arg-type]
    if first_row:
        stream.advance(first_row)
    return np.asarray(stream.random_raw(count), dtype=np.uint64)


@dataclass(frozen=True, repr=False)
class PoissonSample:
    """A Poisson sample: each row independently with probability `rate`. The key is secret."""

    rate: float
    key: int

    def mask(self, first_row: int, count: int) -> Mask:
        """Which of the rows from `first_row` on take part."""
        below = int(Fraction(self.rate) * 2**64)
        return np.asarray(_words(self.key, first_row, count) < np.uint64(below))


@dataclass(frozen=True, repr=False)
class RandomPartition:
    """A deal of all rows into parts: each row goes to one of them, independently of the others. The key is secret."""

    parts: int
    key: int

    def owners(self, first_row: int, count: int) -> NDArray[np.int64]:
        """The part of each of the rows from `first_row` on."""
        high = _words(self.key, first_row, count) >> np.uint64(32)
        return np.asarray((high * np.uint64(self.parts)) >> np.uint64(32), dtype=np.int64)


@dataclass(frozen=True, repr=False, eq=False)
class DataSplit:
    """A deal of all rows into two parts. The key is secret: the party that tosses the coins drops it after the release.

    Parameters
    ----------
    first : float
        Probability of the first part.
    key : int
    units : Units or None
        The unit of each row; None: every row has a coin of its own.
    """

    first: float
    key: int
    units: Units | None = None

    def targets(self, y: Vector, part: int) -> Vector:
        """Targets of all rows for one part: infinite, no record, in the rows of the other. **Private**.

        A record without a usable target has NaN, which is another value: its cells are still counted.
        """
        mine = PoissonSample(self.first, self.key).mask(0, y.size) if self.units is None else self._by_unit(self.units)
        return np.where(mine if part == 0 else ~mine, np.where(np.isinf(y), np.nan, y), np.inf)

    def _by_unit(self, units: Units) -> Mask:
        """Whether the unit of each row is in the first part."""
        below, key = int(Fraction(self.first) * 2**64), self.key.to_bytes(16, "little")
        words = (blake2b(name, digest_size=8, key=key).digest() for name in units.names)
        mine = np.array([int.from_bytes(word, "little") < below for word in words], dtype=bool)
        return units.of_units(mine)
