r"""Private selection: which candidates have the largest scores. Only indices are released.

Guarantee
---------
Selections have exactly the law that is named, for the scores as the floats that they are: noise is known to as many digits as it takes to
say which candidate wins (`lazy`). A candidate that trails by any number of scales may win, with its exact probability; so there is no delta.

Scores enter as their distances from the largest score. A common shift changes no selection, and a float difference is right to
:math:`2^{-53}` of itself. Noise in floats adds few roundings to that: `MARGIN` times (distance + scale (1 + noise)) is 64 units, of which a product, a
sum, a difference and a logarithm of 32 units need 35; the logarithm of an E within a part x of itself is off by at most 2x for x up to 1/2.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from .lazy import MARGIN, Bounds, Exponentials, best, widened
from .randomness import Randomness

#: Scores beyond count as this: none is, and what is left after a difference is a number.
LARGEST = 1e300


def _check(scores: NDArray[np.float64], scale: float, count: int) -> NDArray[np.float64]:
    """Refuse what is no selection, by public numbers; scores as numbers whose differences are numbers."""
    if scores.ndim != 1 or not 1 <= count <= scores.size:
        raise ValueError(f"cannot select {count} of {scores.size} candidates.")
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"a noise scale must be positive and finite, got {scale!r}.")
    return np.clip(np.nan_to_num(scores), -LARGEST, LARGEST)


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
    scores = _check(scores, scale, count)
    numbers = Exponentials.draw(scores.size, randomness.generator())
    distance, size = scores - scores.max(), Decimal(float(scale))
    exponential, radius = numbers.estimates()
    noise = -np.log(exponential)
    with np.errstate(invalid="ignore"):
        part = radius / exponential
    doubt = np.where(part <= 0.5, 2 * part, np.inf)  # an E that may be 0 or without bound
    reach = scale * doubt + MARGIN * (-distance + scale * (1 + np.abs(noise)))

    def bounds(which: int, words: int) -> Bounds:
        low, high = numbers.bounds(which, words)
        return _noisy(scores, which, size, _minus_log(high, -1), _minus_log(low, 1))

    return best(count, distance + scale * noise, reach, numbers.digits, bounds)


def permute_and_flip(scores: NDArray[np.float64], scale: float, randomness: Randomness) -> int:
    r"""One index with a large score, by permute-and-flip.

    Guarantee
    ---------
    epsilon-DP with epsilon = 2 * (sensitivity of one score) / `scale`; never worse than the exponential mechanism of the
    same epsilon [MS20]_. It is the argmax after exponential noise of this scale, which has the same law [D21]_.
    It is not of bounded range at that epsilon, so it is priced as a pure mechanism.

    References
    ----------
    .. [MS20] McKenna and Sheldon, NeurIPS 2020.
    .. [D21] Ding, Kifer, Steinke, Wang, Xiao, Zhang, 2021: permute-and-flip is report-noisy-max with exponential noise.
    """
    scores = _check(scores, scale, 1)
    numbers = Exponentials.draw(scores.size, randomness.generator())
    distance, size = scores - scores.max(), Decimal(float(scale))
    exponential, radius = numbers.estimates()
    reach = scale * radius + MARGIN * (-distance + scale * (1 + exponential))

    def bounds(which: int, words: int) -> Bounds:
        return _noisy(scores, which, size, *numbers.bounds(which, words))

    return int(best(1, distance + scale * exponential, reach, numbers.digits, bounds)[0])


def _minus_log(value: Decimal, side: int) -> Decimal:
    """-log(value), moved to a side by more than its rounding."""
    if value.is_infinite():
        return -value
    found = -value.ln()  # of 0: infinite
    return widened(found, found, side)


def _noisy(scores: NDArray[np.float64], which: int, scale: Decimal, low: Decimal, high: Decimal) -> Bounds:
    """Bounds on a score less the largest one plus scale times noise."""
    distance = Decimal(float(scores[which])) - Decimal(float(scores.max()))
    ends = [(distance + scale * end, abs(distance) + abs(scale * end), side) for end, side in ((low, -1), (high, 1))]
    return widened(*ends[0]), widened(*ends[1])
