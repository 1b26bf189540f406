"""Laplace noise on an integer lattice."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from .gaussian import _check
from .lazy import MARGIN, WORD, Exponentials, random_words, widened
from .randomness import Randomness


def lattice_laplace(
    total: NDArray[np.int64], scale: float | NDArray[np.float64], randomness: Randomness
) -> NDArray[np.float64]:
    r"""Add Laplace noise to integers and round to integers.

    Guarantee
    ---------
    As for `lattice_gaussian`, rounding is post-processing: the answer is epsilon-DP with epsilon =
    (l1 sensitivity) / `scale`. The standard deviation is :math:`\sqrt2` times the scale. The
    rounded noise has exactly its law: :math:`P(0) = 1-e^{-1/2b}` and
    :math:`P(\pm k) = \sinh(\tfrac1{2b})\,e^{-k/b}`, without a largest value. It is a fair sign
    times the integer nearest to :math:`bE`, and where E is not known well enough to tell, more bits
    of it are drawn (`lazy`). So there is no delta.
    """
    _check(total, scale)
    generator = randomness.generator()
    words = random_words(total.size, generator)
    top, rest = np.uint64(2 ** (WORD - 1)), np.uint64(2 ** (WORD - 1) - 1)
    upper = words >= top  # one bit for the sign; the distance from the middle for the size
    numbers = Exponentials(np.where(upper, words - top, rest - words), WORD - 1, generator)
    scales = np.broadcast_to(scale, total.shape).ravel()
    size = _rounded(numbers, scales)
    return np.asarray(total + np.where(upper, size, -size).reshape(total.shape), dtype=np.float64)


def _rounded(numbers: Exponentials, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """The integers nearest to scale times number."""
    estimate, radius = numbers.estimates()
    middle, reach = scales * estimate, scales * radius + MARGIN * (scales * estimate + 1)
    found, above = np.floor(middle - reach + 0.5), np.floor(middle + reach + 0.5)
    for j in np.flatnonzero(found != above).tolist():
        found[j] = _nearest(numbers, j, Decimal(float(scales[j])))
    return found


def _nearest(numbers: Exponentials, which: int, scale: Decimal) -> int:
    """The integer nearest to scale times one number."""
    words = 0
    while True:
        words += 1
        with localcontext(numbers.digits(words)):
            low, high = (scale * end for end in numbers.bounds(which, words))
            if high.is_infinite():
                continue
            low, high = widened(low, high, -1), widened(high, high, 1)
            least, most = (int((end + Decimal("0.5")).to_integral_value("ROUND_FLOOR")) for end in (low, high))
            if least == most:
                return max(least, 0)
