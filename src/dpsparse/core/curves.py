r"""Exact privacy curves of single mechanisms and of their compositions: pure functions of numbers.

Three languages are spoken here. Hockey-stick: :math:`\delta(\epsilon)`. Gaussian: :math:`\mu`-GDP means "no easier to
tell apart than N(0,1) and N(mu,1)". Renyi: :math:`D_\alpha(P\|Q)` for every order; :math:`\rho`-zCDP means
:math:`D_\alpha \le \rho\alpha`.

References
----------
.. [BW18] Balle and Wang, ICML 2018, Theorem 8: the exact curve of the Gaussian mechanism.
.. [DRS22] Dong, Roth and Su, JRSS-B 2022: Gaussian differential privacy and its exact composition.
.. [CKS20] Canonne, Kamath and Steinke, NeurIPS 2020, Proposition 12: the tight Renyi to (epsilon, delta) conversion.
.. [DDR20] Dong, Durfee and Rogers, ICML 2020: bounded range and the exponential mechanism.
.. [BS16] Bun and Steinke, TCC 2016: zero-concentrated differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr, ndtri_exp

Curve = NDArray[np.float64]

#: Orders at which Renyi curves are evaluated. Any order gives a valid bound, so a finer grid is only tighter: with 40
#: orders per decade the conversion of a zCDP curve is within 1e-3 of the infimum over all orders.
ORDERS: Curve = 1.0 + np.logspace(-3.0, 9.0, 481)

#: Curves in closed form are logarithms that cancel. What rounding can hide is this times the size
#: of their terms; it is added.
ROUNDING = 8 * float(np.finfo(float).eps)

#: Relative error of Mills' ratio and of a few operations with it, sixteen units in the last place; it is added.
CANCEL = 16 * float(np.finfo(float).eps)


def largest(holds: Callable[[float], bool], low: float, high: float, steps: int = 200) -> float:
    """The largest value in [low, high] at which a decreasing property still holds, from below.

    The returned value always satisfies the property: rounding is towards it.
    """
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def largest_smooth(excess: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """The largest value in [low, high] at which a rising function is at most 0, within `tolerance`, from below.

    The function is at most 0 at `low` and above 0 at `high`, and so it is where this returns. False
    positions, and the weight of an end that stays is halved (Illinois): some 8 evaluations of a
    smooth function, where halving intervals takes 40.
    """
    below, above, side = excess(low), excess(high), 0
    for _ in range(200):
        if high - low <= tolerance:
            break
        at = low - below * (high - low) / (above - below) if above > below else (low + high) / 2
        at = min(max(at, low + 0.4 * tolerance), high - 0.4 * tolerance)
        there = excess(at)
        if there <= 0:
            low, below, above, side = at, there, above / 2 if side == -1 else above, -1
        else:
            high, above, below, side = at, there, below / 2 if side == 1 else below, 1
    return low


# ------------------------------------------------------------------------------------------------ Gaussian


def gaussian_delta(epsilon: float, mu: float) -> float:
    """`gaussian_deltas` at one epsilon."""
    return float(gaussian_deltas(np.array([epsilon]), mu)[0])


def gaussian_deltas(epsilons: Curve, mu: float) -> Curve:
    r"""Exact :math:`\delta(\epsilon)` of a mu-GDP Gaussian pair, rounded up.

    .. math:: \delta(\epsilon) = \Phi(\mu/2 - \epsilon/\mu) - e^\epsilon\,\Phi(-\mu/2 - \epsilon/\mu)
              = \varphi(x)\,\bigl(M(x) - M(x+\mu)\bigr), \qquad x = \epsilon/\mu - \mu/2,

    with Mills' ratio :math:`M = (1-\Phi)/\varphi`, since
    :math:`\varphi(x) = e^\epsilon\varphi(x+\mu)`. The second form has no cancelling exponentials.

    Guarantee
    ---------
    Never below the exact value where that is above 1e-300. M is completely monotone, so
    :math:`-M' = 1 - xM` is convex, and the trapezoidal rule for :math:`M(x) - M(x+\mu) = -\int M'`
    is a bound from above; it is used for :math:`\mu < 10^{-4}`, where it is right to :math:`\mu^2`.
    Otherwise the difference of two ratios is right to `CANCEL` times their size, which is added;
    :math:`1 - xM(x)` is right to `CANCEL` in the same way. The exponent :math:`x^2/2` has an
    absolute error of at most :math:`2^{-51}x^2`: `CANCEL` times :math:`1 + x^2`, relatively, covers
    it.
    """
    if mu <= 0:
        return np.zeros_like(epsilons)
    x = epsilons / mu - mu / 2
    mills = math.sqrt(math.pi / 2) * erfcx(np.maximum(x, -3.0) / math.sqrt(2.0))
    later = math.sqrt(math.pi / 2) * erfcx(np.maximum(x + mu, -3.0) / math.sqrt(2.0))
    if mu < 1e-4:
        ends = (1 - x * mills) + (1 - (x + mu) * later)
        fall = mu / 2 * (ends + 2 * CANCEL)
    else:
        fall = mills - later + CANCEL * mills
    near = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * fall * (1 + CANCEL * (1 + x * x))
    far = ndtr(-x) - np.exp(epsilons + log_ndtr(-x - mu)) + CANCEL  # mu > 6: nothing cancels
    return np.asarray(np.clip(np.where(x >= -3.0, near, far), 0.0, 1.0))


@lru_cache(maxsize=1024)
def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which mu-GDP implies (epsilon, delta)-DP, rounded down.

    >>> round(gaussian_mu(1.0, 1e-6), 10)
    0.2367043807
    """
    high = 1.0
    while gaussian_delta(epsilon, high) <= delta:
        high *= 2.0
    return largest(lambda mu: gaussian_delta(epsilon, mu) <= delta, 0.0, high)


@lru_cache(maxsize=1024)
def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon for which mu-GDP implies (epsilon, delta)-DP, rounded up."""
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, mu) > delta:
        high *= 2.0
    return high - largest(lambda gap: gaussian_delta(high - gap, mu) <= delta, 0.0, high)


# ------------------------------------------------------------------------------------------------ Renyi


def gaussian_renyi(mu: float, orders: Curve = ORDERS) -> Curve:
    r"""Renyi curve of a mu-GDP Gaussian pair: :math:`\alpha\mu^2/2`, an equality."""
    return orders * (mu * mu / 2)


def laplace_renyi(epsilon: float, orders: Curve = ORDERS) -> Curve:
    r"""Renyi curve of Laplace noise with sensitivity / scale = epsilon, an equality.

    .. math:: \tfrac{1}{\alpha-1}\log\Bigl(\tfrac{\alpha}{2\alpha-1}e^{(\alpha-1)\epsilon}
              + \tfrac{\alpha-1}{2\alpha-1}e^{-\alpha\epsilon}\Bigr)
    """
    a = orders
    terms = np.logaddexp(np.log(a / (2 * a - 1)) + (a - 1) * epsilon, np.log((a - 1) / (2 * a - 1)) - a * epsilon)
    slack = ROUNDING * (1 + a * epsilon + np.log(a / (a - 1)))
    return np.minimum((terms + slack) / (a - 1), np.minimum(epsilon, a * epsilon**2 / 2))


def pure_renyi(epsilon: float, orders: Curve = ORDERS) -> Curve:
    r"""Renyi curve that dominates every epsilon-DP mechanism: that of randomised response.

    Randomised response attains it, so it is tight for the class; it is never above
    :math:`\min(\epsilon, \alpha\epsilon^2/2)` [BS16]_, which is used where rounding would lose digits.
    """
    a = orders
    log_p, log_q = -float(np.logaddexp(0.0, -epsilon)), -float(np.logaddexp(0.0, epsilon))
    terms = np.logaddexp(a * log_p + (1 - a) * log_q, a * log_q + (1 - a) * log_p)
    slack = ROUNDING * a * (1 - log_q)
    return np.minimum((terms + slack) / (a - 1), np.minimum(epsilon, a * epsilon**2 / 2))


def selection_renyi(eta: float, orders: Curve = ORDERS) -> Curve:
    r"""Exact Renyi curve of the class of eta-bounded-range mechanisms (the exponential mechanism, Gumbel argmax).

    Guarantee
    ---------
    Bounded range: for neighbours the log-ratio of any two outcomes' probabilities moves by at most eta, so the privacy
    loss lies in some :math:`[t-\eta, t]`. Among such losses the Renyi divergence is largest for two outcomes at the
    ends [DDR20]_. With :math:`x = e^t, s = e^{-\eta}`,

    .. math:: e^{(\alpha-1)D_\alpha} = \max_{1 \le x \le 1/s}
              \frac{x^{\alpha-1}(1 - s^\alpha) - x^\alpha (s - s^\alpha)}{1-s}.

    The derivative vanishes at :math:`x^* = \frac{(\alpha-1)(1-s^\alpha)}{\alpha\,(s-s^\alpha)}`, always inside
    :math:`[1, 1/s]`, which gives a closed form: no search over t can miss the maximum. Never above
    :math:`\alpha\eta^2/8` (Hoeffding's lemma), which is used where rounding would lose digits.
    """
    if eta <= 0:
        return np.zeros_like(orders)
    a = orders
    whole = -np.expm1(-a * eta)
    part = -np.expm1(-(a - 1) * eta)
    log_x = np.log1p(-1 / a) + np.log(whole) - np.log(part) + eta
    log_moment = (a - 1) * log_x + np.log(whole) - np.log(a) - math.log(-math.expm1(-eta))
    # the logarithms cancel for small eta: what their rounding can hide is added, and the minimum then takes over
    size = np.abs(np.log1p(-1 / a)) + np.abs(np.log(whole)) + np.abs(np.log(part)) + eta
    slack = ROUNDING * (a * size + np.log(a) + abs(math.log(-math.expm1(-eta))))
    return np.minimum((log_moment + slack) / (a - 1), np.minimum(eta, a * eta * eta / 8))


def objective_renyi(m: float, offset: float = 0.0, orders: Curve = ORDERS) -> Curve:
    r"""Renyi curve of objective perturbation with gradient sensitivity / noise = m and log-determinant `offset`.

    .. math:: c + \frac{\alpha m^2}{2} + \frac{\log 2\Phi((\alpha-1)m)}{\alpha-1}

    It is the curve of a privacy loss of at most :math:`c + m^2/2 + m|Z|` with Z standard normal, since
    :math:`\log E\,e^{a|Z|} = a^2/2 + \log 2\Phi(a)`. That perturbed objectives have such a loss is proved in
    `dpsparse.queries.minimisers.objective_perturbation`.
    """
    a = orders
    folded = np.maximum(math.log(2.0) + log_ndtr((a - 1) * m), 0.0) + 4 * np.finfo(float).eps
    return np.asarray(offset + a * (m * m / 2) + folded / (a - 1))


def objective_rho(m: float, offset: float = 0.0) -> float:
    r"""The zCDP of objective perturbation: :math:`c + m^2/2 + m\sqrt{2/\pi}`.

    The smallest rho with :math:`D_\alpha \le \rho\alpha` for all orders. :math:`\log 2\Phi` is
    concave and zero at zero, so :math:`\log(2\Phi(a))/a` falls from its slope :math:`\sqrt{2/\pi}`
    at 0; hence :math:`D_\alpha/\alpha - m^2/2` falls in :math:`\alpha`, and its supremum is the
    limit at 1.
    """
    return offset + m * m / 2 + m * math.sqrt(2 / math.pi)


def renyi_delta(curve: Curve, epsilon: float, orders: Curve = ORDERS) -> float:
    r"""Convert a Renyi curve at one epsilon [CKS20]_.

    .. math:: \delta = \inf_\alpha \frac{e^{(\alpha-1)(D_\alpha-\epsilon)}}{\alpha-1}\Bigl(1-\frac1\alpha\Bigr)^\alpha
    """
    return math.exp(min(0.0, renyi_log_delta(curve, epsilon, orders)))


def renyi_log_delta(curve: Curve, epsilon: float, orders: Curve = ORDERS) -> float:
    """The logarithm of `renyi_delta`, also above 0."""
    a = orders
    return float(np.min((a - 1) * (curve - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)))


def renyi_epsilon(curve: Curve, delta: float, orders: Curve = ORDERS) -> float:
    """The smallest epsilon that `renyi_delta` certifies for this delta."""
    a = orders
    values = curve + np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / (a - 1)
    return max(0.0, float(np.min(values)))


# ------------------------------------------------------------------------------------------------ GDP of pure things


def pure_mu(epsilon: float) -> float:
    r"""A mu such that every epsilon-DP mechanism is mu-GDP.

    The trade-off curve of epsilon-DP has one kink, at equal errors :math:`1/(1+e^\epsilon)`; the convex Gaussian curve
    through that kink lies below both chords [DRS22]_, so :math:`\mu = -2\Phi^{-1}(1/(1+e^\epsilon))` dominates.
    """
    return float(-2.0 * ndtri_exp(-np.logaddexp(0.0, epsilon)))


def selection_mu(eta: float) -> float:
    r"""A mu such that every eta-bounded-range mechanism is mu-GDP: that of (eta/2)-DP.

    A bounded-range pair whose losses lie in [t - eta, t] is dominated by the two-outcome pair with losses t and
    t - eta, whose trade-off curve has one kink at (q, 1-p); as above it is mu-GDP with
    :math:`\mu = \Phi^{-1}(p) - \Phi^{-1}(q)`. The logits of p and q differ by eta for every t, and
    :math:`g(a) = \Phi^{-1}(\sigma(a))` is odd with a slope that falls in :math:`|a|`, so the difference
    :math:`g(a+\eta) - g(a)` is largest at :math:`a = -\eta/2`: the symmetric pair, randomised response at eta/2.
    """
    return pure_mu(eta / 2)
