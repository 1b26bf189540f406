r"""Exponential numbers with as many digits as a decision needs.

A float from a sampler has 53 random bits: its law has a largest value and holes, and a selection or
a rounding made with it lacks outcomes that the real law has. Here a number :math:`E = -\log(1-W)`
depends on a uniform W of which the first `WORD` bits are drawn, so that E is known within an
interval. A decision (which is largest, which integer is nearest) is made when the intervals leave
no doubt. Otherwise more bits are drawn for the numbers in doubt, and the intervals are computed
with more digits.

Guarantee
---------
Every decision is the one that the *real* number E would have led to, for E exponential with mean 1:
bits are never thrown away, and an interval that decides contains the E of all bits that were not
drawn. So the law of a decision is exact, tails included, whatever its inputs. It depends on random
bits, on floats whose operations are right to :math:`2^{-53}` and logarithms that are right to 32
units (numpy's are right to 4), and on the logarithms of `decimal`, which are rounded correctly at
any number of digits.

**Floats.** With n the first b bits, W lies in :math:`(n, n+1)\,2^{-b}`; E is computed at the
middle.

* :math:`W < 1/2`: :math:`\log E` has slope at most :math:`1/\log 2 < 1.443` in :math:`\log W`,
  which is off by at most :math:`\log(1+\frac{1/2}{n})`. So the *relative* error is at most 1/n, and
  without bound for n = 0.
* :math:`W \ge 1/2`: with :math:`m = 2^b-1-n`, :math:`1-W` lies in :math:`(m, m+1)\,2^{-b}`, and
  :math:`E = -\log(1-W)` is off by at most :math:`\log(1+\frac{1/2}{m}) \le \frac1{2m}`, and without
  bound for m = 0.

Rounding adds `MARGIN` times E: the argument has three roundings, which one logarithm turns into at
most 1.443 times as many of E (below 1/2 relatively; above, of an E > 0.69), and the logarithm is
off by 32 units: 37 of the 64.

**Digits.** With B bits the same two ends are computed with :math:`D = 25 + B\log_{10}2` digits: n
and :math:`2^B` are exact, the quotient has one rounding and the logarithm another, so an end is off
by at most :math:`10^{2-D}(1+E)`, a part of :math:`10^{-20}` of the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: A number known to lie between two others.
Bounds = tuple[Decimal, Decimal]

#: Random bits drawn at a time.
WORD = 64
#: Roundings of a float, relatively: 64 units.
MARGIN = 64 * 2.0**-53
#: Digits beyond those of the random bits.
GUARD = 25


class Exponentials:
    """Independent exponential numbers of mean 1, each known as well as was needed so far.

    Parameters
    ----------
    words : array of uint64
        The first `bits` bits of each uniform number; the number is larger where they are.
    bits : int
    generator : numpy.random.Generator
        Where further bits come from.
    """

    def __init__(self, words: NDArray[np.uint64], bits: int, generator: np.random.Generator) -> None:
        self._words = words
        self._bits = bits
        self._generator = generator
        self._longer: dict[int, tuple[int, int]] = {}

    @classmethod
    def draw(cls, size: int, generator: np.random.Generator) -> Exponentials:
        """Fresh numbers."""
        return cls(random_words(size, generator), WORD, generator)

    def estimates(self) -> tuple[Floats, Floats]:
        """Each number within (estimate - radius, estimate + radius); a radius may be infinite."""
        rest = np.uint64(2**self._bits - 1) - self._words
        low = self._words < rest
        nearer = np.where(low, self._words, rest).astype(np.float64)
        middle = (nearer + 0.5) * 2.0**-self._bits
        estimate = np.log(middle)
        np.log1p(-middle, out=estimate, where=low)
        np.negative(estimate, out=estimate)
        with np.errstate(divide="ignore"):
            radius = MARGIN * estimate + np.where(low, estimate, 0.5) / nearer
        return estimate, radius

    def bounds(self, which: int, words: int) -> Bounds:
        """One number by this many words of random bits more than at first, in the digits of the present context.

        The context needs `digits` of them.
        """
        known, bits = self._longer.get(which, (int(self._words[which]), self._bits))
        while bits < self._bits + words * WORD:
            known, bits = known << WORD | int(random_words(1, self._generator)[0]), bits + WORD
        self._longer[which] = known, bits
        whole = 1 << bits
        return _log_part(whole - known, whole, -1), _log_part(whole - known - 1, whole, 1)

    def digits(self, words: int) -> Context:
        """Digits enough for `bounds` with `words` words."""
        precision = GUARD + math.ceil((self._bits + words * WORD) * math.log10(2))
        return Context(prec=precision, Emin=MIN_EMIN, Emax=MAX_EMAX)


def random_words(size: int, generator: np.random.Generator) -> NDArray[np.uint64]:
    """Independent words of `WORD` random bits."""
    return generator.integers(0, 2**WORD - 1, size, dtype=np.uint64, endpoint=True)


def _log_part(part: int, whole: int, side: int) -> Decimal:
    """-log(part / whole), moved to a side by more than its rounding; never below 0."""
    if part == 0:
        return Decimal("Infinity")
    found = -(Decimal(part) / Decimal(whole)).ln()
    return max(Decimal(0), widened(found, found, side))


def widened(value: Decimal, size: Decimal, side: int) -> Decimal:
    """A value moved to a side by the roundings of a few numbers up to `size`: 100 units of 1 + size."""
    if value.is_infinite():
        return value
    return value + side * Decimal(1).scaleb(2 - getcontext().prec) * (1 + abs(size))


def best(
    count: int, estimate: Floats, radius: Floats, digits: Callable[[int], Context], bounds: Callable[[int, int], Bounds]
) -> NDArray[np.intp]:
    """Indices of the `count` largest of some real numbers, the largest first.

    Parameters
    ----------
    count : int
    estimate, radius : arrays
        Each number is strictly within its radius.
    digits, bounds
        For those in doubt: a context for a number of words of further bits, and bounds on one number by them.
    """
    low, high = estimate - radius, estimate + radius
    chosen = np.flatnonzero(high >= np.partition(low, -count)[-count])
    chosen = chosen[np.argsort(-low[chosen], kind="stable")]
    words = 0
    if chosen.size == count and np.all(low[chosen[:-1]] > high[chosen[1:]]):
        return chosen
    doubtful = chosen.tolist()
    while True:
        words += 1
        with localcontext(digits(words)):
            known = {j: bounds(j, words) for j in sorted(doubtful)}
        doubtful.sort(key=lambda j: known[j][0], reverse=True)
        least = known[doubtful[count - 1]][0]
        doubtful = [j for j in doubtful if known[j][1] >= least]
        apart = all(known[i][0] > known[j][1] for i, j in pairwise(doubtful))
        if len(doubtful) == count and apart:
            return np.array(doubtful, dtype=np.intp)
