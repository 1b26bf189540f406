r"""Poisson-sampled Gaussians: privacy loss distributions, composed by Fourier transform.

A step is (rate, noise multiplier :math:`z = \sigma / \text{(norm of one record)}`, count). Rate 1 means every row, so the
sampled and the unsampled Gaussians of a plan share one convention. The count is a number, or the law of a number that was
drawn from public randomness (`RandomTimes`).

Guarantee
---------
`sampled_delta` and `sampled_epsilon` are upper bounds for any adaptive composition of such steps.

**Composition.** Each step is dominated by a pair that does not depend on earlier answers (`poisson`), and dominating pairs
compose also when each step is chosen from earlier answers [ZDW22]_: losses add up as independent variables.

**Transform.** The circular convolution can carry an upper tail around to small losses; its mass is bounded by Chernoff's
inequality and added to delta. A lower tail that is carried around only adds. `ROUNDING` for each step is added for the
rounding of double precision: an error of :math:`2^{-53}` in a transform grows to T of them in its power, and so does delta's.

**Random counts.** If a count N is drawn independently of the data and published, the divergence of the pair (N, answers) is
:math:`\sum_N P(N)\,\delta_N(\epsilon)`, an equality, since N has the same law under both datasets and given N the answers are
a plan with a fixed count. Delta is linear in the law of the loss, so this is the delta of the mixture of the losses, and its
transform is the generating function of N at the transform of one step: no outcome is left out.

References
----------
.. [ZDW22] Zhu, Dong and Wang, AISTATS 2022, Theorem 10: dominating pairs compose adaptively.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..privacy.adjacency import Adjacency
from ..privacy.curves import gaussian_mu
from ..privacy.plan import RandomTimes
from .pairs import Array, Pair, dominating_pairs

Count = int | RandomTimes
#: (rate, sigma / record norm, count); rate 1 means every row.
SampledGaussian = tuple[float, float, Count]

#: Part of delta that each of the truncations may take.
TAIL = 1e-7
#: Added to delta for each step; four times the error that it covers.
ROUNDING = 2.0**-51
#: Tilts among which Chernoff's inequality is optimised.
TILTS = 2.0 ** np.arange(-14.0, 16.0, 0.5)


@dataclass(frozen=True, eq=False)
class Loss:
    """A composed loss: `mass` on the multiples of `step` from index `low` on, and the probability of an infinite loss."""

    step: float
    low: int
    mass: Array
    infinite: float

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence."""
        first = max(0, math.floor(epsilon / self.step) + 1 - self.low)
        above = self.step * (self.low + np.arange(first, self.mass.size))
        return self.infinite + float(-np.expm1(epsilon - above) @ self.mass[first:])

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon >= 0 with at most this delta."""
        if self.infinite > delta:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0, self.low + self.mass.size  # delta is exceeded at low * step and not at high * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.delta(middle * self.step) > delta else (low, middle)
        # between the two points delta is a constant less a multiple of exp(epsilon)
        rest = self.mass[max(0, high - self.low) :]
        weighted = float(np.exp(-self.step * np.arange(rest.size)) @ rest)
        found = high * self.step + math.log((self.infinite + float(rest.sum()) - delta) / weighted)
        return min(max(found, low * self.step), high * self.step)


def grid_points(total: float) -> int:
    r"""Points of the grid for `total` steps: a power of two near :math:`1024\sqrt T` within 2^15 to 2^17.

    More points change epsilon by less than 0.3 % up to 1e5 steps. The number does not depend on the noise, so that a
    search sees a smooth curve.
    """
    return int(2 ** np.clip(math.ceil(10 + math.log2(max(total, 1.0)) / 2), 15, 17))


def _mean(count: Count) -> float:
    return count.mean if isinstance(count, RandomTimes) else float(count)


def _log_power(log_moment: float, count: Count) -> float:
    """Log of the moment of a composition, from that of one step."""
    return count.log_moment(log_moment) if isinstance(count, RandomTimes) else count * log_moment


def _log_moment(step: float, low: int, mass: Array, tilt: float) -> float:
    """Log of E exp(tilt * loss)."""
    with np.errstate(divide="ignore"):
        exponent = tilt * step * (low + np.arange(mass.size)) + np.log(mass)
    top = float(exponent.max())
    return top + math.log(float(np.exp(exponent - top).sum()))


def _window(pairs: list[tuple[Pair, Count]], tail: float, cut: float) -> tuple[float, float, float]:
    """Where the composed loss begins, how wide it is, and the tilt that bounds its upper tail best; on a coarse grid."""
    coarse, width = [], 0.0
    for pair, count in pairs:
        lowest, highest = pair.ends(cut)
        step = max((highest - lowest) / 512, 1e-9)
        low, mass, _ = pair.losses(step, cut)
        coarse.append((step, low, mass, count))
        width = max(width, step * mass.size)

    def bound(sign: int) -> tuple[float, float]:
        logs = (sum(_log_power(_log_moment(h, k, m, sign * t), n) for h, k, m, n in coarse) for t in TILTS)
        return min(((log - math.log(tail)) / t, float(t)) for log, t in zip(logs, TILTS, strict=True))

    (upper, tilt), (lower, _) = bound(1), bound(-1)
    return -lower, 1.001 * max(upper + lower, width), tilt


def compose(pairs: list[tuple[Pair, Count]], tail: float) -> Loss:
    """The loss of all steps together in one direction; `tail` bounds each truncation."""
    total = sum(_mean(count) for _, count in pairs)
    cut = tail / max(total, 1.0)
    start, width, tilt = _window(pairs, tail, cut)
    if not math.isfinite(width):  # a random count with so heavy a tail that no tilt bounds it
        return Loss(1.0, 0, np.zeros(1), 1.0)
    points = grid_points(total)
    step = width / (points - 4)
    transform = np.ones(points // 2 + 1, dtype=complex)
    finite, log_upper = 1.0, 0.0
    for pair, count in pairs:
        low, mass, infinite = pair.losses(step, cut)
        log_upper += _log_power(_log_moment(step, low, mass, tilt), count)
        one = np.fft.rfft(np.roll(np.r_[mass, np.zeros(points - mass.size)], low % points))
        if isinstance(count, RandomTimes):
            transform *= count.generating(one)
            finite *= float(count.generating(np.array([1.0 - infinite + 0j]))[0].real)
        else:
            transform *= _power(one, count)
            finite *= (1.0 - infinite) ** count
    first = math.floor(start / step)
    carried = math.exp(min(0.0, log_upper - tilt * step * (first + points)))
    composed = np.roll(np.fft.irfft(transform, points), -(first % points))
    return Loss(step, first, composed, 1.0 - finite + carried + ROUNDING * (total + math.log2(points)))


def _power(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Integer powers by squaring."""
    out = np.ones_like(values)
    while count:
        if count & 1:
            out = out * values
        values, count = values * values, count >> 1
    return out


@lru_cache(maxsize=64)
def _losses(steps: tuple[SampledGaussian, ...], relation: Adjacency, tail: float) -> tuple[Loss, ...]:
    """The composed loss in each direction."""
    directions = zip(*(dominating_pairs(rate, multiplier, relation) for rate, multiplier, _ in steps), strict=True)
    counts = [count for *_, count in steps]
    return tuple(compose(list(zip(pairs, counts, strict=True)), tail) for pairs in directions)


def _merged(steps: Iterable[SampledGaussian]) -> tuple[SampledGaussian, ...]:
    """Equal steps counted together, in a fixed order."""
    counted: dict[tuple[float, float], int] = {}
    random: list[SampledGaussian] = []
    for rate, multiplier, count in steps:
        if isinstance(count, RandomTimes):
            random.append((rate, multiplier, count))
        elif count > 0:
            counted[rate, multiplier] = counted.get((rate, multiplier), 0) + count
    return (*((q, z, k) for (q, z), k in sorted(counted.items())), *random)


def composed_losses(steps: Iterable[SampledGaussian], relation: Adjacency, scale: float) -> tuple[Loss, ...]:
    """The loss of all steps together in each direction that matters; truncations take a small part of `scale`."""
    return _losses(_merged(steps), relation, TAIL * scale)


def sampled_delta(steps: Iterable[SampledGaussian], epsilon: float, relation: Adjacency, scale: float = 1e-6) -> float:
    """Upper bound on delta at `epsilon`; truncations take a small part of `scale`."""
    merged = _merged(steps)
    return max(loss.delta(epsilon) for loss in _losses(merged, relation, TAIL * scale)) if merged else 0.0


def sampled_epsilon(steps: Iterable[SampledGaussian], delta: float, relation: Adjacency) -> float:
    """Upper bound on epsilon at `delta` for Poisson-sampled and unsampled Gaussians together.

    Examples
    --------
    >>> round(sampled_epsilon([(0.01, 2.0, 200)], 1e-5, Adjacency.ADD_REMOVE), 3)
    0.269
    """
    merged = _merged(steps)
    return float(max(loss.epsilon(delta) for loss in _losses(merged, relation, TAIL * delta))) if merged else 0.0


@lru_cache(maxsize=256)
def sampled_rate(
    weights: tuple[SampledGaussian, ...], epsilon: float, delta: float, relation: Adjacency, least: float = 0.0
) -> float:
    r"""Largest r such that steps with :math:`\sigma/C = \kappa/\sqrt{2 r w}` stay within (epsilon, delta).

    `weights` are (rate, weight, count). `least` is an r that is known to be valid without sampling; the answer is never
    below it. Every other r that is returned was checked: the search only decides which.
    """

    def excess(log_rate: float) -> float:
        steps = [(q, relation.kappa / math.sqrt(2 * math.exp(log_rate) * w), count) for q, w, count in weights]
        found = sampled_delta(steps, epsilon, relation, delta)
        return math.log(max(found, 1e-300) / delta) + 1e-5

    floor = math.log(least) if least > 0 else -math.inf
    start = low = max(_first_guess(weights, epsilon, delta, relation), floor)
    high, above = math.inf, math.inf
    below, stride = excess(low), 0.05
    while below > 0:
        if low <= floor:
            return least
        high, above = low, below
        low = max(low - stride, floor)
        below, stride = excess(low), 2 * stride
    while math.isinf(high):
        if low > start + 40:  # so few rows take part that delta allows their exposure
            return math.exp(low)
        tried, value = low + stride, excess(low + stride)
        low, below, high, above = (tried, value, high, above) if value <= 0 else (low, below, tried, value)
        stride = min(2 * stride, 2.0)
    for turn in range(100):
        if below > -1e-4 or high - low < 1e-7:
            break
        secant = low + (high - low) * (-5e-5 - below) / (above - below)
        margin = 0.02 * (high - low)
        middle = (low + high) / 2 if turn % 3 == 2 else min(max(secant, low + margin), high - margin)
        value = excess(middle)
        low, below, high, above = (middle, value, high, above) if value <= 0 else (low, below, middle, value)
    return max(math.exp(low), least)


def _first_guess(weights: tuple[SampledGaussian, ...], epsilon: float, delta: float, relation: Adjacency) -> float:
    r"""Log r by the central limit theorem.

    Many small steps have the loss of a Gaussian with :math:`\mu^2 = \sum T q^2 (e^{1/z^2} - 1)`; for replace-one the
    bracket is :math:`2(e^{1/z^2} - e^{-1/z^2})`.
    """
    goal = 2 * math.log(gaussian_mu(epsilon, delta))

    def log_square(log_rate: float) -> float:
        logs = []
        for q, w, count in weights:
            t = 2 * math.exp(log_rate) * w / relation.kappa**2
            replace = relation is Adjacency.REPLACE_ONE
            bracket = t + (math.log(-2 * math.expm1(-2 * t)) if replace else math.log(-math.expm1(-t)))
            logs.append(2 * math.log(q) + math.log(_mean(count)) + bracket)
        return float(np.logaddexp.reduce(logs))

    low, high = -40.0, 25.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if log_square(middle) < goal else (low, middle)
    return low
