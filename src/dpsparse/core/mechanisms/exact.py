r"""Exact discrete Gaussian noise.

Decided in floats where floats are sure, and by as many random bits and digits as it takes where
they are not.

.. math:: P(z) \propto e^{-z^2/2\sigma^2}, \qquad z \in \mathbb Z

Proposals and acceptance are those of [CKS20]_, with :math:`t = \lfloor\sigma\rfloor + 1`: a fair
sign and :math:`n = \lfloor tE_1\rfloor` for an exponential number :math:`E_1`, so that
:math:`P(n) \propto e^{-n/t}`; minus zero is thrown away; n is accepted if
:math:`E_2 > \gamma = (n - \sigma^2/t)^2/2\sigma^2`, with probability :math:`e^{-\gamma}`. Then
:math:`P(\pm n) \propto e^{-n/t-\gamma} \propto e^{-n^2/2\sigma^2}`. 1.32 proposals are made for
each number.

Guarantee
---------
Every decision (which n, accepted or not) is the one that the real numbers E1 and E2 lead to. Of the
uniform numbers behind them 53 and 31 bits are drawn first; where the floats below leave a doubt,
more bits are drawn, digits of `decimal` are added, and :math:`\gamma` is a fraction of integers,
until no doubt is left. So the law is exact, tails included. It depends on random bits and, with
:math:`u = 2^{-53}`, on float operations right to u and logarithms and exponentials right to 32 u
(numpy's are right to 4).

**Which n.** With the first bits m of :math:`U_1`, E1 is computed at the middle:
:math:`e = -\log((m+\frac12)2^{-53})`. The true E1 is within
:math:`\log(1+\frac1{2m}) \le \frac1{2m}` of it; rounding the argument adds 2u and the logarithm 32u
e, and the product with t two more: in all :math:`t\,(\frac1{2m} + u(2 + 34e))`. Where no integer is
that near to :math:`te`, n is its floor.

**Accepted or not.** :math:`c = \sigma^2/t < \sigma` has three roundings, n - c one more: it is off
by at most :math:`4u(n+c) \le 4u(|n-c|+2\sigma)`, and so :math:`\gamma` by
:math:`4u(|n-c|^2 + 2\sigma|n-c|)/\sigma^2 + 4u\gamma = u(12\gamma + 8\sqrt{2\gamma})`. The relative
error of :math:`e^{-\gamma}` is at most that and 32u: below :math:`2^{-39}` for
:math:`\gamma \le 700`, beyond which :math:`e^{-\gamma} < 2^{-1000}`. With the first bits m of
:math:`U_2`, :math:`2^{31}e^{-\gamma}` is right to :math:`2^{-8}`, and a difference to m of more
than :math:`1 + 2^{-7}`, or less than :math:`-2^{-7}`, is sure. A doubt has probability
:math:`2^{-31}`.

References
----------
.. [CKS20] Canonne, Kamath and Steinke, NeurIPS 2020, Algorithm 3 and Theorem 4.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .gaussian import _check
from .lazy import Exponentials, Floats, random_words, widened
from .randomness import Randomness

#: First bits of the two uniform numbers.
SIZE_BITS, TURN_BITS = 53, 31
#: Unit of rounding.
UNIT = 2.0**-53
#: What a difference to first bits must have beyond 0 and 1 to be sure: twice the error of 2**31 exp(-gamma).
SURE = 2.0**-7
#: A U1 below this is looked at more closely. Of all others m is at least 2**43 and e at most 7, so
#: that t E1 is known to t (2**-44 + 240 u) < t NEAR.
EDGE, NEAR = 2.0**-10, 2.0**-43
#: Numbers at a time, so that they stay near the processor.
CHUNK = 2**14


def discrete_gaussian(
    total: NDArray[np.int64], scale: float | NDArray[np.float64], randomness: Randomness
) -> NDArray[np.float64]:
    r"""Add noise from the discrete Gaussian on the integers, sampled exactly by rejection.

    Parameters
    ----------
    total : integer array
    scale : float or array of the shape of `total`
        :math:`\sigma`, in units of the integers.
    randomness : Randomness
        A fresh generator is taken for this call.

    Guarantee
    ---------
    :math:`\rho`-zCDP with :math:`\rho = \Delta_2^2 / (2\sigma^2)` [CKS20]_, without any
    floating-point error. With a scale for each coordinate the coordinates are independent
    mechanisms, and :math:`\rho = \sum_j \Delta_j^2 / (2\sigma_j^2)`.

    Examples
    --------
    >>> noisy = discrete_gaussian(np.array([2**40, 0]), 3.0, Randomness(0))
    >>> bool(np.all(noisy == np.rint(noisy)))
    True
    """
    _check(total, scale)
    generator = randomness.generator()
    noise = np.empty(total.size)
    scales = np.broadcast_to(np.asarray(scale, dtype=float), total.shape).ravel() if np.ndim(scale) else None
    shared_scale = np.array([scale], dtype=float) if scales is None else np.zeros(0)
    pending = np.arange(total.size)
    while pending.size:
        rejected = []
        for start in range(0, pending.size, CHUNK):
            chunk = pending[start : start + CHUNK]
            sigma = shared_scale if scales is None else scales[chunk]
            noise[chunk], accepted = _proposals(chunk.size, sigma, generator)
            rejected.append(chunk[~accepted])
        pending = np.concatenate(rejected)
    noise += total.ravel()
    return noise.reshape(total.shape)


def _proposals(size: int, sigma: Floats, generator: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """A proposal for each number, and which of them are accepted; `sigma` is one or has one for each."""
    t = np.floor(sigma) + 1
    first = generator.random(size)  # the first bits, as a multiple of 2**-53
    e = np.add(first, 2.0 ** -(SIZE_BITS + 1))
    np.log(e, out=e)
    n = np.multiply(e, -t)
    product = n.copy()
    np.floor(n, out=n)
    product -= n
    _correct(n, product, first, e, t, generator)
    gamma = np.subtract(n, sigma * sigma / t, out=product)
    gamma *= gamma
    gamma *= -0.5 / (sigma * sigma)
    ahead = np.exp(gamma, out=gamma)
    ahead *= 2.0**TURN_BITS
    words = random_words(-(-size // 2), generator).view(np.uint32)[:size]
    turn = words >> np.uint32(32 - TURN_BITS)
    ahead -= turn
    accepted = ahead > 1 + SURE
    in_play = ahead >= -SURE
    if np.count_nonzero(in_play) > np.count_nonzero(accepted):
        for j in np.flatnonzero(in_play & ~accepted).tolist():
            own = sigma[j] if sigma.size > 1 else sigma[0]
            accepted[j] = _accepts(int(turn[j]), int(n[j]), float(own), generator)
    sign = np.subtract(1.0, (words & np.uint32(1)) * np.uint32(2), out=e)
    zeros = np.flatnonzero(n == 0)
    accepted[zeros[sign[zeros] < 0]] = False
    n *= sign
    return n, accepted


def _correct(n: Floats, above: Floats, first: Floats, e: Floats, t: Floats, generator: np.random.Generator) -> None:
    """Decide those n of which floats are not sure; `above` is how far t E1 is from n, and e is -E1."""
    near = float(t.max()) * NEAR
    suspects = np.flatnonzero(first < EDGE)
    if above.min() < near or above.max() > 1 - near:
        suspects = np.union1d(suspects, np.flatnonzero((above < near) | (above > 1 - near)))
    each = t[suspects] if t.size > 1 else np.broadcast_to(t, suspects.shape)
    bits = first[suspects] * 2.0**SIZE_BITS
    with np.errstate(divide="ignore"):
        radius = each * (0.5 / bits + UNIT * (2 - 34 * e[suspects]))
    doubtful = (above[suspects] < radius) | (above[suspects] >= 1 - radius)
    for j, own, known in zip(suspects[doubtful], each[doubtful].tolist(), bits[doubtful].tolist(), strict=True):
        n[j] = _whole_part(int(known), int(own), generator)


def _whole_part(first: int, t: int, generator: np.random.Generator) -> int:
    """The integer below t E1 for the E1 = -log(U) that begins with these bits."""
    number = Exponentials(np.array([2**SIZE_BITS - 1 - first], dtype=np.uint64), SIZE_BITS, generator)
    words = 0
    while True:
        words += 1
        with localcontext(number.digits(words)):
            low, high = (t * end for end in number.bounds(0, words))
            if high.is_infinite():
                continue
            ends = [widened(low, high, -1), widened(high, high, 1)]
            least, most = (int(end.to_integral_value("ROUND_FLOOR")) for end in ends)
            if least == most:
                return max(least, 0)


def _accepts(first: int, n: int, sigma: float, generator: np.random.Generator) -> bool:
    """Whether E2 = -log(U) is above gamma, for a uniform U whose first `TURN_BITS` bits are `first`.

    More bits are drawn until the comparison is certain; see *Accepted or not* above.
    """
    square = Fraction(sigma) ** 2
    gamma = (n - square / (math.floor(sigma) + 1)) ** 2 / (2 * square)
    number = Exponentials(np.array([2**TURN_BITS - 1 - first], dtype=np.uint64), TURN_BITS, generator)
    words = 0
    while True:
        words += 1
        with localcontext(number.digits(words)):
            low, high = number.bounds(0, words)
            value = Decimal(gamma.numerator) / Decimal(gamma.denominator)
            if low > widened(value, value, 1):
                return True
            if high < widened(value, value, -1):
                return False
