r"""Who takes part: decided for each row by a key and the row's number, wherever the row is.

Guarantee
---------
Row i has the i-th 64-bit word of AES-128 in counter mode under a fresh key. It takes part if its
word is below :math:`\lfloor 2^{64}\,\text{rate}\rfloor`: with probability at most the rate, and
less than it by at most :math:`2^{-64}`, independently of the data and of all other rows. Words are
found by number, so that every partition of the rows draws alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from randomgen import AESCounter

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
