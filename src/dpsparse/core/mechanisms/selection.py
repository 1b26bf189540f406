r"""Private selection: which candidates have the largest scores. Only indices are released.

Guarantee
---------
Selections have exactly the law that is named, for the scores as the floats that they are: noise is
known to as many digits as it takes to say which candidate wins (`lazy`), and for those that can win
(`candidates`). A candidate that trails by any number of scales may win, with its exact probability;
so there is no delta.

Scores enter as their distances from the largest score. A common shift changes no selection, and a
float difference is right to :math:`2^{-53}` of itself. Noise in floats adds few roundings to that:
`MARGIN` times (distance + scale (1 + noise)) is 64 units, of which a product, a sum, a difference
and a logarithm of 32 units need 35; the logarithm of an E within a part x of itself is off by at
most 2x for x up to 1/2.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from .candidates import FIRST, Bytes, draw_candidates
from .lazy import Bounds, Exponentials, Floats, best, widened
from .randomness import Randomness

#: Scores beyond count as this: none is, and what is left after a difference is a number.
LARGEST = 1e300


class Gumbel:
    """-log of an exponential number: large where that is small."""

    def estimates(self, numbers: Exponentials) -> tuple[Floats, Floats]:
        """Noise, and how far it may be from that."""
        exponential, radius = numbers.estimates()
        with np.errstate(invalid="ignore"):
            part = radius / exponential
        return -np.log(exponential), np.where(part <= 0.5, 2 * part, np.inf)  # an E that may be 0 or without bound

    def extreme(self, first: Bytes, part: int) -> NDArray[np.bool_]:
        """Whose first bits are among the `part` of 2**FIRST with the largest noise."""
        return first < part

    def edge(self, part: int) -> float:
        """What the noise of all others is below."""
        return -math.log(-math.log1p(-part / 2**FIRST))

    def above(self, level: Floats) -> Floats:
        """Chance of noise above a level, roughly."""
        return np.asarray(-np.expm1(-np.exp(np.minimum(-level, 700.0))))

    def bounds(self, low: Decimal, high: Decimal) -> Bounds:
        """Ends of the noise from ends of the exponential number."""
        return _minus_log(high, -1), _minus_log(low, 1)


class Exponential:
    """The exponential number itself."""

    def estimates(self, numbers: Exponentials) -> tuple[Floats, Floats]:
        """Noise, and how far it may be from that."""
        return numbers.estimates()

    def extreme(self, first: Bytes, part: int) -> NDArray[np.bool_]:
        """Whose first bits are among the `part` of 2**FIRST with the largest noise."""
        return np.asarray(first >= 2**FIRST - part)

    def edge(self, part: int) -> float:
        """What the noise of all others is below."""
        return math.log(2**FIRST / part)

    def above(self, level: Floats) -> Floats:
        """Chance of noise above a level, roughly."""
        return np.asarray(np.exp(np.minimum(-level, 0.0)))

    def bounds(self, low: Decimal, high: Decimal) -> Bounds:
        """Ends of the noise from ends of the exponential number."""
        return low, high


def _check(scores: NDArray[np.float64], scale: float, count: int) -> NDArray[np.float64]:
    """Refuse what is no selection, by public numbers; scores as numbers whose differences are numbers."""
    if scores.ndim != 1 or not 1 <= count <= scores.size:
        raise ValueError(f"cannot select {count} of {scores.size} candidates.")
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"a noise scale must be positive and finite, got {scale!r}.")
    if scores.min() >= -LARGEST and scores.max() <= LARGEST:  # never so with a NaN
        return scores
    return np.clip(np.nan_to_num(scores), -LARGEST, LARGEST)


def _best(scores: Floats, count: int, scale: float, law: Gumbel | Exponential, source: Randomness) -> NDArray[np.intp]:
    """The `count` largest scores after noise of a law, best first."""
    drawn = draw_candidates(scores, count, scale, law, source.generator())
    chosen, size, top = scores[drawn.which], Decimal(float(scale)), Decimal(float(scores.max()))

    def bounds(which: int, words: int) -> Bounds:
        ends = law.bounds(*drawn.numbers.bounds(which, words))
        return _noisy(Decimal(float(chosen[which])) - top, size, *ends)

    return drawn.which[best(count, drawn.noisy, drawn.reach, drawn.numbers.digits, bounds)]


def gumbel_top_k(scores: NDArray[np.float64], count: int, scale: float, randomness: Randomness) -> NDArray[np.intp]:
    r"""The `count` largest scores after Gumbel noise, best first: one-shot peeling.

    .. math:: \mathrm{top}_k\; u_j + b\,G_j,\qquad G_j = -\log(-\log U_j)

    Guarantee
    ---------
    For one index this is the exponential mechanism: :math:`P(j) \propto e^{u_j/b}`. If between neighbours the
    *difference* of any two scores moves by at most :math:`R`, each index is :math:`\eta`-bounded range with
    :math:`\eta = R/b`, hence :math:`\eta`-DP and :math:`\eta^2/8`-zCDP. The whole top-k of one noisy vector has the law
    of `count` such selections without replacement, one after the other [DR21]_, so it costs `count` of them. If single
    scores move by at most :math:`\Delta`, then :math:`R \le 2\Delta`: one may rise while another falls.

    References
    ----------
    .. [DR21] Durfee and Rogers, NeurIPS 2019, Lemma 4.2: one-shot Gumbel noise equals sequential peeling.
    """
    return _best(_check(scores, scale, count), count, scale, Gumbel(), randomness)


def permute_and_flip(scores: NDArray[np.float64], scale: float, randomness: Randomness) -> int:
    r"""One index with a large score, by permute-and-flip.

    Guarantee
    ---------
    epsilon-DP with epsilon = 2 * (sensitivity of one score) / `scale`; never worse than the
    exponential mechanism of the same epsilon [MS20]_. It is the argmax after exponential noise of
    this scale, which has the same law [D21]_. It is not of bounded range at that epsilon, so it is
    priced as a pure mechanism.

    References
    ----------
    .. [MS20] McKenna and Sheldon, NeurIPS 2020.
    .. [D21] Ding, Kifer, Steinke, Wang, Xiao, Zhang, 2021: permute-and-flip is report-noisy-max with exponential noise.
    """
    return int(_best(_check(scores, scale, 1), 1, scale, Exponential(), randomness)[0])


def _minus_log(value: Decimal, side: int) -> Decimal:
    """-log(value), moved to a side by more than its rounding."""
    if value.is_infinite():
        return -value
    found = -value.ln()  # of 0: infinite
    return widened(found, found, side)


def _noisy(distance: Decimal, scale: Decimal, low: Decimal, high: Decimal) -> Bounds:
    """Bounds on a score less the largest one plus scale times noise."""
    ends = [(distance + scale * end, abs(distance) + abs(scale * end), side) for end, side in ((low, -1), (high, 1))]
    return widened(*ends[0]), widened(*ends[1])
