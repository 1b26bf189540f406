r"""Worst-case delta curves of selections, and how one more step changes them.

A mechanism has *range* eta when, for any two neighbours, log P/Q stays in an interval of length eta. The
exponential mechanism and a Gumbel-noised argmax do [DDR20]_. Let :math:`U(e)` be the largest
:math:`\delta(e)` that the steps still to come can attain. One step earlier it is

.. math::
    (A_\eta U)(e) = \sup_{0 \le t \le \eta} p_t\, U(e-t) + (1-p_t)\, U(e-t+\eta),
    \qquad p_t = \frac{1-e^{t-\eta}}{1-e^{-\eta}},

    (G U)(e) = E_{x \sim G}\, U(e-x),

:math:`A_\eta` for a selection of range eta, :math:`G` for noise whose privacy loss has one fixed worst law.
A `Curve` holds, at the points of a grid of step h in e, bounds from above on a function that is convex and
decreasing in alpha = exp(e).

**Guarantee.** Both operators return bounds from above of the exact ones: chords take the place of convex
curves, and each operator adds more than its own floating-point error. ``docs/guarantees/accounting.md`` has the proofs
and counts the roundings.

References
----------
.. [DDR20] Dong, Durfee and Rogers, ICML 2020: bounded range, its two-point worst pairs.
.. [ZDW22] Zhu, Dong and Wang, AISTATS 2022: which curves belong to a pair; domination composes.
.. [KOV15] Kairouz, Oh and Viswanath, ICML 2015: randomised response dominates every pure mechanism.
.. [DG22] Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, PETS 2022: joining the dots of a delta curve.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

Curve = NDArray[np.float64]

#: Relative error of one rounded operation.
UNIT = 2.0**-53

#: Least bracket of kappa: so that nothing is divided by 0. Any larger one raises the bound.
TINY = 1e-290

#: Parts of a range between which nodes of a selection are close together. Outside cells grow by
#: this over `nodes` times their distance from there.
NEAR, APART = (0.45, 0.8), 18

#: Root of (1 + theta) / 2: of two numbers whose squares have mean 1 together the smaller has mean
#: at most 1/2, and theta = 2 % of the square of a perturbed objective may go into the noise that
#: covers its error (it is 1 %).
NARROW = math.sqrt(0.51)
#: Where 2 Phi(-t) + 2 Phi(-t / NARROW) is 1; any number gives a bound, and this one the best.
LEAST = 0.5656


# ---------------------------------------------------------------------------------------- closed forms


def nothing_left(e: Curve) -> Curve:
    """Delta when no step is left, max(0, 1 - exp(e)): the U_0 from which the recursion starts."""
    return np.maximum(0.0, -np.expm1(np.minimum(e, 0.0)))


def one_selection(e: Curve, eta: float) -> Curve:
    r"""Exact worst delta of one selection of range eta, which is :math:`A_\eta U_0`.

    .. math:: h^*(e) = \frac{(1-e^{(e-\eta)/2})^2}{1-e^{-\eta}}, \qquad |e| \le \eta

    The pair with the two losses t and t - eta has :math:`(1-e^{t-\eta})(1-e^{e-t})/(1-e^{-\eta})`. The two
    exponentials have a product without t, so the brackets are best equal: t = (e + eta)/2.
    """
    inside = np.expm1((np.clip(e, -eta, eta) - eta) / 2) ** 2 / -math.expm1(-eta)
    return np.where(np.abs(e) < eta, inside, nothing_left(e))


def gaussian(e: Curve, mu: float) -> Curve:
    """Delta of N(0, 1) against N(mu, 1), rounded up."""
    first = np.exp(log_ndtr(mu / 2 - e / mu)) * (1 + (512 + 8 * np.abs(e)) * UNIT)
    return np.asarray(np.clip(first - np.exp(e + log_ndtr(-mu / 2 - e / mu)), 0.0, 1.0))


def laplace(e: Curve, level: float) -> Curve:
    """Delta of Laplace noise with sensitivity / scale = level, 1 - exp((e - level)/2) inside, rounded up."""
    inside = -np.expm1((np.clip(e, -level, level) - level) / 2)
    exact = np.where(np.abs(e) < level, inside, nothing_left(e))
    return np.minimum(1.0, exact + (8 + 4 * np.abs(e)) * UNIT)


def pure(e: Curve, level: float) -> Curve:
    r"""Delta of randomised response, which dominates every epsilon-DP draw [KOV15]_; rounded up.

    .. math:: h(e) = \frac{e^\epsilon - e^e}{1 + e^\epsilon}
              = \frac{1 - e^{e-\epsilon}}{1 + e^{-\epsilon}}, \qquad |e| \le \epsilon
    """
    inside = -np.expm1(np.clip(e, -level, level) - level) / (1 + math.exp(-level))
    exact = np.where(np.abs(e) < level, inside, nothing_left(e))
    return np.minimum(1.0, exact + (8 + 4 * np.abs(e)) * UNIT)


def objective(e: Curve, m: float, offset: float) -> Curve:
    r"""Delta of a loss that is stochastically below that of a perturbed objective; rounded up.

    A perturbed objective has a loss of at most :math:`c + m^2/2 + mV` with
    :math:`P(V>t) \le 2\Phi(-t) + 2\Phi(-t/w)`, `NARROW` = w (``docs/guarantees/two_stage.md``).
    With :math:`d = c + m^2/2` and :math:`t = (e-d)/m`, integrating by parts,

    .. math:: h(e) = \int_e^\infty e^{e-x} P(L>x)\,dx = \sum_{v\in\{1,w\}}
              2\Phi(-t/v) - 2e^{mt+m^2v^2/2}\,\Phi(-t/v-mv),

    and below the place where the two tails add up to 1 the loss is taken to be that place:
    :math:`h(e) = 1 - e^{e-e_0}(1-h(e_0))`. Any place gives a bound, since probabilities are at most
    1.
    """
    start = offset + m * m / 2
    least = start + m * LEAST
    places = np.append(np.maximum(e, least), least)
    t = (places - start) / m
    total = np.zeros_like(t)
    for width in (1.0, NARROW):
        first = 2 * np.exp(log_ndtr(-t / width)) * (1 + (512 + 16 * np.abs(places)) * UNIT)
        total += first - 2 * np.exp(m * t + (m * width) ** 2 / 2 + log_ndtr(-t / width - m * width))
    above, there = total[:-1], float(total[-1])
    below = 1 - np.exp(np.minimum(e - least, 0.0)) * (1 - there)
    return np.asarray(np.clip(np.where(e >= least, above, below) + (16 + 4 * np.abs(e)) * UNIT, 0.0, 1.0))


# ---------------------------------------------------------------------------------------- operators


def before_selection(curve: Curve, eta: float, h: float, nodes: int = 60) -> Curve:
    r"""Bound from above on :math:`A_\eta U`, given bounds on U.

    With :math:`\tau = e^t` and :math:`s = e^{-\eta}`, what is maximised is

    .. math:: f(\tau) = \frac{(1/\tau - s)\, F(\tau) + (1 - 1/\tau)\, F(s\tau)}{1-s},
              \qquad F(\tau) = \tau\, U(e - \log\tau),

    with weights >= 0 and F convex. Between two nodes F is below its chords; putting these in, with
    :math:`\lambda` the place of tau between the nodes, f0 and f1 the values there, up = U(e - t)
    and lo = U(e - t + eta),

    .. math:: f \le (1-\lambda) f_0 + \lambda f_1 + \lambda(1-\lambda)\,\kappa,
              \qquad \kappa = \frac{\tau_1/\tau_0 - 1}{1-s} \bigl[(up_1 - up_0) - s\,(lo_1 - lo_0)\bigr]_+ .

    The largest value of that parabola is f0 + (k + d)^2/4k with d = f1 - f0 and k = max(kappa,
    abs(d)), so no t is left out, whatever the nodes. At most `nodes` places are looked at, fewer
    where the largest value is never found (`_places`).
    """
    ratio = eta / h
    steps = math.ceil(ratio)
    if steps - ratio < 1e-9 * ratio:
        ratio = float(steps)  # a larger range only raises the bound
    eta, whole, s = ratio * h, -math.expm1(-ratio * h), math.exp(-ratio * h)
    wide = _extended(curve, h, steps + 1)
    later = _between(wide, ratio - math.floor(ratio), h)
    start, size = steps + 1, curve.size

    @cache
    def bends(cells: int) -> Curve:
        """The bracket of kappa for two nodes `cells` apart, from the first place on at which both are known."""
        ups, los = wide[:-cells] - wide[cells:], later[:-cells] - later[cells:]
        first = ups[: los.size - math.floor(ratio)] - s * los[math.floor(ratio) :]
        return np.maximum(first, TINY, out=first)

    places = _places(steps, nodes)
    best = wide[start : start + size]
    f0, f, k = best.copy(), np.empty(size), np.empty(size)
    best = best.copy()
    for i0, i in pairwise(places):
        t = i * h
        np.multiply(wide[start - i : start - i + size], -math.expm1(t - eta) / whole, out=f)
        there = start - i + math.floor(ratio)
        f += (math.exp(t - eta) * -math.expm1(-t) / whole) * later[there : there + size]
        bend = bends(i - i0)[start - i : start - i + size]
        np.multiply(bend, math.expm1((i - i0) * h) / whole, out=k)
        _raise(best, f0, f, k)
        f0, f = f, f0
    t0 = places[-1] * h
    up = _between(wide, steps - ratio, h)[1 : 1 + size] - wide[start - places[-1] : start - places[-1] + size]
    there = start - places[-1] + math.floor(ratio)
    up -= s * (curve - later[there : there + size])
    np.maximum(up, TINY, out=up)
    _raise(best, f0, curve.copy(), up * (math.expm1(eta - t0) / whole))
    widest = max(steps - places[-1], *(i - i0 for i0, i in pairwise(places))) if len(places) > 1 else steps
    return np.minimum(1.0, best + (64 + 8 * eta) * math.exp(widest * h) * UNIT)


def _raise(best: Curve, f0: Curve, f1: Curve, kappa: Curve) -> None:
    """Raise `best` to the largest value of the parabola from f0 to f1; `kappa` is overwritten."""
    rise = f1 - f0
    np.maximum(kappa, np.abs(rise), out=kappa)
    rise += kappa
    rise *= rise
    rise /= kappa
    rise *= 0.25
    rise += f0
    np.maximum(best, rise, out=best)


@lru_cache(maxsize=4096)
def _places(steps: int, nodes: int) -> tuple[int, ...]:
    """Cells at which nodes are: close together between `NEAR` parts of the range, and ever farther apart outside.

    Any places give a bound. The largest value is near half of the range where U is flat, and above
    it where U falls exponentially; a cell that is narrower than it is far from there hardly reaches
    up to it. Against equal distances delta grows by .1 to .5 %, and a third of the work is saved.
    """
    stride, apart = math.ceil(steps / nodes), min(0.5, APART / nodes)
    low, high = (part * steps for part in NEAR)
    middle = (low + high) / 2
    found = list(range(math.floor(low), max(math.floor(low) + 1, math.ceil(high)), stride))
    while found[0] > 0:
        found.insert(0, max(0, found[0] - max(stride, math.floor(apart * (middle - found[0])))))
    while (beyond := found[-1] + max(stride, math.floor(apart * (found[-1] - middle)))) < steps:
        found.append(beyond)
    return tuple(found)


def before_noise(curve: Curve, noise: Curve, h: float) -> Curve:
    r"""Bound from above on :math:`G U`; `noise` bounds the delta curve of G at the losses -M h, ..., M h.

    Chords in alpha raise a convex curve, and a curve made of chords belongs to a loss with atoms on the grid
    [DG22]_. The atoms are second differences of the curve. They are negative only where `noise` is not quite
    convex, by rounding; leaving these out raises the bound.
    """
    fall = -np.diff(noise)
    gain = np.concatenate([[1 - noise[0]], fall / -math.expm1(-h)])
    loss = np.concatenate([fall / math.expm1(h), [0.0]])
    atoms = np.maximum(0.0, gain - loss) + 8 * UNIT * (np.abs(gain) + np.abs(loss))
    mean = np.convolve(_extended(curve, h, noise.size // 2), atoms, "valid")
    return np.asarray(np.minimum(1.0, mean * (1 + 4 * (atoms.size + 8) * UNIT) + noise[-1]))


def _between(curve: Curve, part: float, h: float) -> Curve:
    """Values of a curve at part h beyond each point, 0 <= part < 1, by chords in alpha, rounded up."""
    if part == 0:
        return curve
    weight = math.expm1(max(0.0, part - 2.0**-40) * h) / math.expm1(h)
    return (1 - weight) * curve[:-1] + weight * curve[1:]


def _extended(curve: Curve, h: float, cells: int) -> Curve:
    """The curve with cells added: below, its chord to delta = 1 at alpha = 0; above, constant."""
    below = 1 - (1 - curve[0]) * np.exp(-h * np.arange(cells, 0, -1))
    return np.concatenate([below, curve, np.full(cells, curve[-1])])
