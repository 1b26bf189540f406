r"""Poisson-sampled Gaussians: privacy loss distributions, composed by Fourier transform.

A step is (rate, noise multiplier :math:`z = \sigma / \text{(norm of one record)}`, count): each row takes part with
probability `rate`, contributes a vector of norm at most 1, and noise of standard deviation z is added to the sum. Rate 1
means every row, so sampled and unsampled Gaussians of a plan share one convention. The count is a number, or the law of
a number that was drawn from public randomness (`RandomTimes`).

Guarantee
---------
`sampled_delta` and `sampled_epsilon` are upper bounds for any adaptive composition of such steps, up to the rounding of
double precision (relative errors of 1e-9 in delta, see the tests). Four facts carry it.

**One step.** Condition on which other rows take part; divergences are jointly convex. With the record's contribution
:math:`u` (and :math:`v` for the record that replaces it, which keeps its coin) one step is then
:math:`(1-q)N_0 + qN_u` against :math:`N_0`, or against :math:`(1-q)N_0 + qN_v`, where :math:`N_m = N(m, z^2 I)`. For
:math:`\alpha \ge 1`

.. math:: H_\alpha = q\,\mathbb E_{N_u}\Bigl[\Bigl(1 - \alpha\tfrac{dN_v}{dN_u}
          - (\alpha-1)\tfrac{1-q}{q}\tfrac{dN_0}{dN_u}\Bigr)_+\Bigr],

a convex function of a positive combination of two log-normal variables with mean 1 and logarithmic variances
:math:`\|u-v\|^2/z^2` and :math:`\|u\|^2/z^2`. Among all joint laws with given marginals the comonotone one makes such a sum
largest in convex order, and so does raising either variance (:math:`e^{rZ - r^2/2}` is a martingale in :math:`r^2`)
[DDGKV02]_. Both are reached together by :math:`v = -u, \|u\| = 1`: the pair on the line,
:math:`(1-q)N(0) + qN(1)` against :math:`(1-q)N(0) + qN(-1)`, dominates replace-one. Orders below 1 follow by exchanging the
roles. Add-remove is the case without :math:`v`, in both directions.

**Composition.** Dominating pairs compose, also when each step is chosen from earlier answers [ZDW22]_; the losses of the
dominating pairs add up as independent variables.

**Grid.** A loss between two points of the grid is split between them so that both its probabilities, under P and under Q,
are kept; this replaces the curve :math:`\alpha \mapsto H_\alpha` by its chords, which lie above it [DGKKM22]_. What is above
the grid becomes an infinite loss, what is below it moves up. The circular convolution can carry an upper tail around to
small losses: its mass is bounded by Chernoff's inequality and added to delta.

**Random counts.** If a count N is drawn independently of the data and published, the divergence of the pair (N, answers) is
:math:`\sum_N P(N)\,\delta_N(\epsilon)`, an equality, since N has the same law under both datasets. Delta is linear in the law
of the loss, so this is the delta of the mixture of the losses, and its transform is the generating function of N at the
transform of one step.

References
----------
.. [ZDW22] Zhu, Dong and Wang, AISTATS 2022, Theorem 10: dominating pairs compose adaptively.
.. [DGKKM22] Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, PETS 2022: connect the dots.
.. [DDGKV02] Dhaene, Denuit, Goovaerts, Kaas and Vyncke, Insurance: Mathematics and Economics 31, 2002: comonotone sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from .adjacency import Adjacency
from .curves import gaussian_mu
from .plan import RandomTimes

Array = NDArray[np.float64]

#: (rate, sigma / record norm, count); rate 1 means every row.
SampledGaussian = tuple[float, float, int | RandomTimes]

#: Part of delta that each of the truncations may take.
TAIL = 1e-7


@dataclass(frozen=True)
class _Pair:
    """The dominating pair of one step in one direction: weights of N(0) and N(side) under P and under Q.

    The loss log dP/dQ increases along the line.
    """

    rate: float
    multiplier: float
    above: float  # P = (1-q) N(0) + q N(above); 0: P = N(0)
    below: float  # Q = (1-q) N(0) + q N(below); 0: Q = N(0)

    def loss(self, x: float) -> float:
        """log dP/dQ."""
        return self._log_ratio(x, self.above) - self._log_ratio(x, self.below)

    def _log_ratio(self, x: float, side: float) -> float:
        """log of ((1-q) N(0) + q N(side)) / N(0)."""
        if side == 0:
            return 0.0
        moved = (side * x - 0.5) / self.multiplier**2
        return moved if self.rate >= 1 else float(np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + moved))

    def where(self, loss: Array) -> Array:
        """The place on the line at which the loss is reached; infinite where it never is."""
        q, square = self.rate, self.multiplier**2
        if self.above and self.below:
            if q >= 1:
                return square * loss / 2
            # q c (v - 1/v) = 2 (1-q) sinh(loss/2) with x = square (loss/2 + log v), c = exp(-1/(2 square))
            half = np.abs(loss) / 2
            with np.errstate(divide="ignore"):
                t = math.log((1 - q) / q) + 0.5 / square + half + np.log(-np.expm1(-2 * half)) - math.log(2)
            large = t + np.log1p(np.sqrt(1 + np.exp(-2 * np.maximum(t, 0.0))))
            inverse = np.where(t > 0, large, np.arcsinh(np.exp(np.minimum(t, 0.0))))
            return np.asarray(square * (loss / 2 + np.sign(loss) * inverse))
        sign = 1.0 if self.above else -1.0
        up = sign * loss
        with np.errstate(divide="ignore"):
            small = np.log1p(np.maximum(np.expm1(np.minimum(up, 30.0)) / q, -1.0))
            large = np.maximum(up, 30.0) - math.log(q) + np.log1p((q - 1) * np.exp(-np.maximum(up, 30.0)))
        return np.asarray(sign * (0.5 + square * np.where(up > 30.0, large, small)))

    def masses(self, x: Array) -> tuple[Array, Array]:
        """Probability of each interval between successive places, under P and under Q."""
        middle = _normal_mass(x / self.multiplier)
        sides = {side: _normal_mass((x - side) / self.multiplier) for side in {self.above, self.below} - {0.0}}
        p, q = (
            (1 - self.rate) * middle + self.rate * sides[side] if side else middle for side in (self.above, self.below)
        )
        return p, q

    def losses(self, step: float, tail: float) -> tuple[int, Array, float]:
        """The loss on the grid of multiples of `step`: first index, probabilities, probability of an infinite loss."""
        reach = self.multiplier * -float(ndtri(tail))
        low = math.floor(self.loss(-reach) / step)
        high = max(math.ceil(self.loss(self.above + reach) / step), low + 1)
        points = step * np.arange(low, high + 1)
        edges = self.where(points)
        p, q = self.masses(np.r_[-np.inf, edges, np.inf])
        inner_p, inner_q = p[1:-1], q[1:-1]
        floor = math.exp(-step)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            kept = np.exp(points[:-1] + np.log(inner_q) - np.log(inner_p))
        kept = np.clip(np.nan_to_num(kept, nan=floor, posinf=floor), floor, 1.0)  # in doubt all moves up
        upper = inner_p * (1 - kept) / (1 - floor)
        out = np.zeros(points.size)
        out[:-1] += inner_p - upper
        out[1:] += upper
        out[0] += p[0]
        return low, out, float(p[-1])


def _normal_mass(x: Array) -> Array:
    """Standard normal probability between successive points, each from the nearer tail."""
    side = np.where(x[:-1] > 0, -1.0, 1.0)
    return np.asarray(side * (ndtr(side * x[1:]) - ndtr(side * x[:-1])))


def _pairs(rate: float, multiplier: float, relation: Adjacency) -> tuple[_Pair, ...]:
    """Dominating pairs, one per direction that matters."""
    if relation is Adjacency.REPLACE_ONE:
        return (_Pair(rate, multiplier, 1.0, -1.0),)
    return _Pair(rate, multiplier, 1.0, 0.0), _Pair(rate, multiplier, 0.0, -1.0)


# ------------------------------------------------------------------------------------------------ composition


def _log_moment(step: float, low: int, mass: Array, theta: float) -> float:
    """log E exp(theta loss)."""
    exponent = theta * step * (low + np.arange(mass.size))
    top = float(exponent.max())
    return top + math.log(float(np.exp(exponent - top) @ mass))


def _times(count: int | RandomTimes) -> float:
    return count.mean if isinstance(count, RandomTimes) else float(count)


def _log_power(log_moment: float, count: int | RandomTimes) -> float:
    return count.log_moment(log_moment) if isinstance(count, RandomTimes) else count * log_moment


@dataclass(frozen=True, eq=False)
class _Loss:
    """A composed loss: `mass` on multiples of `step` from index `low` on, and the probability of an infinite loss."""

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
        low, high = 0, self.low + self.mass.size  # delta is above at low * step and not above at high * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.delta(middle * self.step) > delta else (low, middle)
        # between the two points delta is S - exp(epsilon - high * step) U
        rest = self.mass[max(0, high - self.low) :]
        weighted = float(np.exp(-self.step * np.arange(rest.size)) @ rest)
        found = high * self.step + math.log((self.infinite + float(rest.sum()) - delta) / weighted)
        return min(max(found, low * self.step), high * self.step)


def grid_points(total: float) -> int:
    r"""Points of the grid for `total` steps: a power of two near :math:`4096\sqrt T`, so that one point stays well below
    the spread of one loss, within 2^15 to 2^20. It does not depend on the noise, so that a search sees a smooth curve.
    """
    return int(2 ** np.clip(math.ceil(12 + math.log2(max(total, 1.0)) / 2), 15, 20))


def _composed(pairs: list[tuple[_Pair, int | RandomTimes]], tail: float) -> _Loss:
    """The loss of all steps together in one direction; `tail` bounds each truncation."""
    total = sum(_times(count) for _, count in pairs)
    cut = tail / max(total, 1.0)
    coarse = []
    for pair, count in pairs:
        reach = pair.multiplier * -float(ndtri(cut))
        width = max((pair.loss(pair.above + reach) - pair.loss(-reach)) / 512, 1e-300)
        low, mass, _ = pair.losses(width, cut)
        coarse.append((width, low, mass, count))
    # window: where Chernoff's inequality leaves less than `tail` outside
    bounds: dict[int, tuple[float, float]] = {}
    for sign in (1, -1):
        best = (math.inf, 0.0)
        for theta in 2.0 ** np.arange(-14.0, 16.0, 0.5):
            log = sum(_log_power(_log_moment(w, low, mass, sign * theta), count) for w, low, mass, count in coarse)
            best = min(best, ((log - math.log(tail)) / theta, float(theta)))
        bounds[sign] = best
    window = 1.001 * max(bounds[1][0] + bounds[-1][0], *(width * mass.size for width, _, mass, _ in coarse))
    points = grid_points(total)
    step = window / (points - 4)
    transform = np.ones(points // 2 + 1, dtype=complex)
    finite, log_upper = 1.0, 0.0
    for pair, count in pairs:
        low, mass, infinite = pair.losses(step, cut)
        log_upper += _log_power(_log_moment(step, low, mass, bounds[1][1]), count)
        circle = np.zeros(points)
        np.add.at(circle, (low + np.arange(mass.size)) % points, mass)
        part = np.fft.rfft(circle)
        if isinstance(count, RandomTimes):
            transform *= count.generating(part)
            finite *= float(np.real(count.generating(np.array([1.0 - infinite + 0j]))[0]))
        else:
            transform *= _power(part, count)
            finite *= (1.0 - infinite) ** count
    first = math.floor(-bounds[-1][0] / step)
    mass = np.roll(np.fft.irfft(transform, points), -(first % points))
    carried = math.exp(min(0.0, log_upper - bounds[1][1] * step * (first + points)))
    return _Loss(step, first, mass, 1.0 - finite + carried)


def _power(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Integer powers by squaring."""
    out = np.ones_like(values)
    while count:
        if count & 1:
            out = out * values
        values, count = values * values, count >> 1
    return out


@lru_cache(maxsize=64)
def _losses(steps: tuple[SampledGaussian, ...], relation: Adjacency, tail: float) -> tuple[_Loss, ...]:
    directions = zip(*(_pairs(rate, multiplier, relation) for rate, multiplier, _ in steps), strict=True)
    counts = [count for *_, count in steps]
    return tuple(_composed(list(zip(pairs, counts, strict=True)), tail) for pairs in directions)


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


def sampled_delta(steps: Iterable[SampledGaussian], epsilon: float, relation: Adjacency, scale: float = 1e-6) -> float:
    """Upper bound on delta at `epsilon`; `scale` is the size of delta at which truncations may be felt."""
    merged = _merged(steps)
    return max(loss.delta(epsilon) for loss in _losses(merged, relation, TAIL * scale)) if merged else 0.0


def sampled_epsilon(steps: Iterable[SampledGaussian], delta: float, relation: Adjacency) -> float:
    """Upper bound on epsilon at `delta` for Poisson-sampled and unsampled Gaussians together.

    Examples
    --------
    >>> round(sampled_epsilon([(0.01, 2.0, 200)], 1e-5, Adjacency.ADD_REMOVE), 3)
    0.27
    """
    merged = _merged(steps)
    return max(loss.epsilon(delta) for loss in _losses(merged, relation, TAIL * delta)) if merged else 0.0


@lru_cache(maxsize=256)
def sampled_rate(
    weights: tuple[SampledGaussian, ...], epsilon: float, delta: float, relation: Adjacency, least: float = 0.0
) -> float:
    r"""Largest r such that steps with :math:`\sigma/C = \kappa/\sqrt{2 r w}` stay within (epsilon, delta).

    `weights` are (rate, weight, count). `least` is an r that is known to be valid, without sampling; the answer is never
    below it. Every r that is returned was checked; the search only decides which.
    """

    def excess(log_rate: float) -> float:
        steps = [(q, relation.kappa / math.sqrt(2 * math.exp(log_rate) * w), count) for q, w, count in weights]
        found = sampled_delta(steps, epsilon, relation, delta)
        return math.log(max(found, 1e-300) / delta) + 1e-5

    at = _first_guess(weights, epsilon, delta, relation)
    floor = math.log(least) if least > 0 else -math.inf
    low, high = max(at, floor), math.inf
    below, above = excess(low), math.inf
    stride = 0.05
    if below > 0:
        high, above = low, below
        while below > 0:
            if low <= floor:
                return least
            low = max(low - stride, floor)
            below, stride = excess(low), 2 * stride
    while not above > 0 or math.isinf(high):
        high = low + stride
        above, stride = excess(high), 2 * stride
        if above <= 0:
            low, below = high, above
    for turn in range(100):
        if below > -1e-4 or high - low < 1e-7:
            break
        secant = low + (high - low) * (-5e-5 - below) / (above - below)
        margin = 0.02 * (high - low)
        middle = (low + high) / 2 if turn % 3 == 2 else min(max(secant, low + margin), high - margin)
        value = excess(middle)
        low, below, high, above = (middle, value, high, above) if value <= 0 else (low, below, middle, value)
    return max(math.exp(low), least)


def _first_guess(
    weights: tuple[SampledGaussian, ...], epsilon: float, delta: float, relation: Adjacency
) -> float:
    r"""log r by the central limit theorem: the loss of many small steps is that of a Gaussian with
    :math:`\mu^2 = \sum T q^2 (e^{1/z^2} - 1)`, or twice :math:`e^{1/z^2} - e^{-1/z^2}` for replace-one.
    """
    goal = 2 * math.log(gaussian_mu(epsilon, delta))

    def log_square(log_rate: float) -> float:
        logs = []
        for q, w, count in weights:
            t = 2 * math.exp(log_rate) * w / relation.kappa**2
            both = math.log(2) + math.log(-math.expm1(-2 * t)) if relation is Adjacency.REPLACE_ONE else None
            logs.append(2 * math.log(q) + math.log(_times(count)) + t + (math.log(-math.expm1(-t)) if both is None else both))
        return float(np.logaddexp.reduce(logs))

    low, high = -60.0, 25.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if log_square(middle) < goal else (low, middle)
    return low
