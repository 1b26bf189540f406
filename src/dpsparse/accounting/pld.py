r"""Poisson-sampled Gaussians: privacy loss distributions, composed by Fourier transform.

A step is (rate, noise multiplier :math:`z = \sigma / \text{(norm of one record)}`, count). Rate 1
means every row, so the sampled and the unsampled Gaussians of a plan share one convention. The
count is a number, or the law of a number that was drawn from public randomness (`RandomTurns`).

Guarantee
---------
`sampled_delta` and `sampled_epsilon` are upper bounds for any adaptive composition of such steps.

**Composition.** Each step is dominated by a pair that does not depend on earlier answers (`pairs`),
and dominating pairs compose also when each step is chosen from earlier answers [ZDW22]_: losses add
up as independent variables.

**Transform.** The circular convolution can carry an upper tail around to small losses; its mass is
bounded by Chernoff's inequality and added to delta. A lower tail that is carried around only adds.
The composition is made twice: of the losses as they are, and of the losses tilted by
:math:`e^{\theta\ell}` (Esscher), whose rounding errors are weighed by :math:`e^{-\theta\epsilon}`
when delta is read off; the smaller delta counts. So tiny deltas have the same relative accuracy as
large ones.

**Rare large losses.** Compositions without a loss above some b and all others are two measures,
whose deltas add up. Where large losses are rare, the first goes on a finer grid; each grid bounds
its own part.

**Rounding.** `_errors` bounds the error of the composed law in total variation, coefficient by
coefficient; it is added to delta. ``docs/guarantees/sampling.md`` has the count.

**Random counts.** If a count N is drawn independently of the data and published, the divergence of
the pair (N, answers) is :math:`\sum_N P(N)\,\delta_N(\epsilon)`, an equality, since N has the same
law under both datasets and given N the answers are a plan with a fixed count. Delta is linear in
the law of the loss, so this is the delta of the mixture of the losses, and its transform is the
generating function of N at the transform of one step: no outcome is left out.

References
----------
.. [ZDW22] Zhu, Dong and Wang, AISTATS 2022, Theorem 10: dominating pairs compose adaptively.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..core.adjacency import Adjacency
from ..core.curves import gaussian_mu, largest
from ..core.plan import RandomTurns
from .pairs import Array, Pair, dominating_pairs
from .views import NOTHING, ComposedLoss, Parted, TiltedLoss

Count = int | RandomTurns
#: (rate, sigma / record norm, count); rate 1 means every row.
SampledGaussian = tuple[float, float, Count]


class LossCounts(NamedTuple):
    """Turns of several answers each: (rate, sigma / record norm) of every answer, and how many turns there are.

    If that number is random, it is one draw for all answers of a turn.
    """

    answers: tuple[tuple[float, float], ...]
    times: Count


#: Part of delta that each of the truncations may take.
TAIL = 1e-7
#: Rounding unit.
UNIT = 2.0**-53
#: Rounding errors of one level of a Fourier transform, in units: a complex product (root of 5), a
#: rotation and a sum need 4.24 of them.
LEVEL = 8.0
#: Rounding errors of the probabilities of one answer, in units: 10 for normal probabilities of both
#: tails, 6 for sharing cells. Those of a tilted answer grow with the square of how many standard
#: deviations its grid reaches (``docs/guarantees/sampling.md``).
PROBABILITY = 16.0
#: Smallest delta for which a composition is made: below, its tails would underflow.
SMALLEST_DELTA = 1e-280
#: Tilts among which Chernoff's inequality is optimised.
TILTS = 2.0 ** np.arange(-14.0, 16.0, 0.5)
#: The same for compositions of small losses.
SHARP_TILTS = 2.0 ** np.arange(0.0, 24.0, 0.5)
#: Large losses are taken apart where the window of a composition is this many times its standard
#: deviation (it is about 16 without them), where fewer of them than this are expected, and up to a
#: grid for the others that is this many times finer. All of these are about sharpness alone.
WIDE, RARE, FINEST = 100.0, 0.05, 64
#: Answers from which on it may matter that each is shared between two points of a coarse grid.
MANY = 1000


def grid_points(total: float) -> int:
    r"""Points of the grid for `total` steps: a power of two near :math:`1024\sqrt T` within 2^15 to 2^17.

    More points change epsilon by less than 0.3 % up to 1e5 steps. The number does not depend on the noise, so that a
    search sees a smooth curve.
    """
    return int(2 ** np.clip(math.ceil(10 + math.log2(max(total, 1.0)) / 2), 15, 17))


def _mean(count: Count) -> float:
    return count.mean if isinstance(count, RandomTurns) else float(count)


def _log_power(log_moment: float, count: Count) -> float:
    """Log of the moment of a composition, from that of one turn."""
    return count.log_moment(log_moment) if isinstance(count, RandomTurns) else count * log_moment


@dataclass(frozen=True, eq=False)
class LossGrid:
    """The loss of one answer on the multiples of a step."""

    step: float
    low: int
    mass: Array
    infinite: float

    @classmethod
    def of(cls, pair: Pair, step: float, cut: float) -> LossGrid:
        """On the multiples of `step`; `cut` bounds each tail."""
        return cls(step, *pair.losses(step, cut))

    @classmethod
    def small(cls, pair: Pair, step: float, cut: float, most: int, least: int | None) -> LossGrid:
        """Losses up to index `most` alone, a law of mass below 1; those below `least` move up to it."""
        low, mass, _ = pair.losses(step, cut, most, least)
        return cls(step, low, mass, 0.0)

    def tilted(self, tilt: float) -> tuple[Array, float]:
        """The law with density proportional to exp(tilt loss), and the logarithm of E exp(tilt loss)."""
        with np.errstate(divide="ignore"):
            exponent = tilt * self.step * (self.low + np.arange(self.mass.size)) + np.log(self.mass)
        top = float(exponent.max())
        weights = np.exp(exponent - top)
        return weights / weights.sum(), top + math.log(float(weights.sum()))

    def log_moment(self, tilt: float) -> float:
        """Log of E exp(tilt loss)."""
        return self.tilted(tilt)[1]


Groups = list[tuple[tuple[Pair, ...], Count]]
Grids = list[tuple[tuple[LossGrid, ...], Count]]


@dataclass(frozen=True, eq=False)
class Composition:
    """Turns in one direction, whose truncations take a small part of `scale`.

    On a coarse grid, from which windows are chosen.
    """

    groups: Groups
    scale: float

    @property
    def total(self) -> float:
        """Answers, in the mean."""
        return sum(_mean(count) * len(pairs) for pairs, count in self.groups)

    @property
    def cut(self) -> float:
        """Part of one answer's loss that may lie beyond either end of its grid."""
        return TAIL * self.scale / max(self.total, 1.0)

    @cached_property
    def coarse(self) -> list[tuple[tuple[LossGrid, ...], Count]]:
        """The losses on a grid of 512 points."""

        def grid(pair: Pair) -> LossGrid:
            lowest, highest = pair.ends(self.cut)
            return LossGrid.of(pair, max((highest - lowest) / 512, 1e-9), self.cut)

        return [(tuple(grid(pair) for pair in pairs), count) for pairs, count in self.groups]

    def log_moment(self, tilt: float) -> float:
        """Log of E exp(tilt loss), on the coarse grid."""
        return _log_moment(self.coarse, tilt)

    def end(self, tilt: float, sign: int, level: float) -> tuple[float, float]:
        """End of a tail of the tilted loss by Chernoff's inequality, and the tilt that gives it.

        The tail is the upper one for sign 1 and the lower one for sign -1, of probability
        exp(level).
        """
        base = self.log_moment(tilt)
        found = ((self.log_moment(tilt + sign * t) - base - level) / t for t in TILTS)
        end, best = min(zip(found, TILTS, strict=True))
        return sign * end, float(best)

    @cached_property
    def tilt(self) -> float:
        """The tilt that bounds delta itself best; 0 where none does."""
        end, best = self.end(0.0, 1, math.log(self.scale))
        return best if math.isfinite(end) else 0.0

    def view(self, tilt: float) -> TiltedLoss:
        """The composition of tilted losses, tilted back. Any window and any tilt give a bound."""
        top, tail_tilt = self.end(0.0, 1, math.log(TAIL * self.scale))
        level = math.log(TAIL * (1.0 if tilt > 0 else self.scale))
        start, top = self.end(tilt, -1, level)[0], max(top, self.end(tilt, 1, level)[0])
        widest = max(g.step * g.mass.size for turn, _ in self.coarse for g in turn)
        width = 1.001 * max(top - start, widest)
        if not math.isfinite(width):  # a random count with so heavy a tail that no tilt bounds it
            return NOTHING
        points = grid_points(self.total)
        step = width / (points - 4)
        grids = [(tuple(LossGrid.of(pair, step, self.cut) for pair in pairs), count) for pairs, count in self.groups]
        first = math.floor(start / step)
        carried = math.exp(min(0.0, _log_moment(grids, tail_tilt) - tail_tilt * step * (first + points)))
        infinite = sum(_mean(count) * g.infinite for turn, count in grids for g in turn) + carried
        reach = float(ndtri(self.cut)) if tilt > 0 else 0.0
        return _view(grids, points, first, infinite, tilt, probability_errors(reach))

    def part(self, whole: TiltedLoss) -> Parted | None:
        """The composition with its large losses apart, where that makes its window much narrower.

        None unless large losses are rare and make the window many times wider than the rest needs.
        """
        if self.total < MANY or any(isinstance(count, RandomTurns) for _, count in self.groups) or whole is NOTHING:
            return None
        points, width = whole.mass.size, whole.step * whole.mass.size
        if whole.deviation > width / WIDE:
            return None
        level = math.log(TAIL * self.scale)
        fits: list[tuple[int, int, float, float]] = []  # (times finer, index, start of the window, tilt)
        for power in range(3, 14):
            most = points >> power  # on the coarse grid, hence on every finer one
            small = self._grids(most * whole.step / 128, 128, -128)
            if sum(_mean(n) * (1 - float(g.mass.sum())) for turn, n in small for g in turn) > RARE:
                break
            (start, _), (top, tilt) = (_chernoff(small, sign, level) for sign in (-1, 1))
            finer = int(2 ** math.floor(math.log2(width / (1.001 * (top - start)))))
            finer = min(finer, FINEST, 2 ** (power - 2))  # one answer's losses, from -most to most, fit into the window
            if finer > max(
                (f[0] for f in fits), default=4
            ):  # of equally fine ones the widest, which leaves least apart
                fits.append((finer, most, start, tilt))
            if finer == FINEST:
                break
        if not fits:
            return None
        finer, most, start, tilt = fits[-1]
        return Parted(self._small(whole.step / finer, most * finer, start, tilt, points), self._large(whole, most))

    def _small(self, step: float, most: int, start: float, tilt: float, points: int) -> TiltedLoss:
        """Compositions without a loss beyond index `most`, a law of mass below 1; any start and tilt give a bound."""
        grids = self._grids(step, most, -most)
        first = math.floor(start / step)
        carried = math.exp(min(0.0, _log_moment(grids, tilt) - tilt * step * (first + points)))
        return _view(grids, points, first, carried, 0.0, probability_errors(0.0))

    def _large(self, whole: TiltedLoss, most: int) -> TiltedLoss:
        """The large losses: the whole less the small ones, on the same grid and by the same cells.

        What is left is therefore a sum of products of parts.
        """
        points = whole.mass.size
        small = _view(self._grids(whole.step, most, None), points, whole.low, 0.0, 0.0, probability_errors(0.0))
        error = math.exp(whole.log_error) + math.exp(small.log_error) + 8 * points * UNIT
        mass = np.maximum(whole.mass - small.mass, 0.0)
        return TiltedLoss(whole.step, whole.low, mass, whole.infinite, 0.0, math.log(error))

    def _grids(self, step: float, most: int, least: int | None) -> Grids:
        """Of losses up to index `most` alone."""
        return [(tuple(LossGrid.small(p, step, self.cut, most, least) for p in pairs), n) for pairs, n in self.groups]


def _log_moment(grids: Grids, tilt: float) -> float:
    """Log of E exp(tilt loss) of a composition."""
    return sum(_log_power(sum(g.log_moment(tilt) for g in turn), n) for turn, n in grids)


def _chernoff(grids: Grids, sign: int, level: float) -> tuple[float, float]:
    """End of a tail of a composition by Chernoff's inequality, and the tilt that gives it.

    The tail is the upper one for sign 1 and the lower one for sign -1, of probability exp(level).
    """
    end, tilt = min(((_log_moment(grids, sign * t) - level) / t, float(t)) for t in SHARP_TILTS)
    return sign * end, tilt


def compose(groups: Groups, scale: float) -> ComposedLoss:
    """The loss of all turns together in one direction; truncations take a small part of `scale`."""
    composition = Composition(groups, scale)
    return ComposedLoss(composition.view, composition.tilt, composition.part)


def probability_errors(reach: float) -> float:
    """Relative error of the probabilities of one answer, in total variation.

    The probabilities extend `reach` standard deviations into a tail.
    """
    return PROBABILITY * (1 + reach * reach) * UNIT


def transform_errors(points: int) -> float:
    """Relative error of a Fourier transform."""
    return LEVEL * math.log2(points) * UNIT


def _view(grids: Grids, points: int, first: int, infinite: float, tilt: float, rough: float) -> TiltedLoss:
    """The view of losses on grids of one step, from index `first` on; `rough` bounds the error of one answer's law."""
    step = grids[0][0][0].step
    one = transform_errors(points) + rough  # error of a coefficient of one answer
    transform = np.ones(points // 2 + 1, dtype=complex)
    size, part = np.ones(points // 2 + 1), np.zeros(points // 2 + 1)
    log_all = mean = 0.0
    for turn, count in grids:
        moved = np.ones(points // 2 + 1, dtype=complex)
        log_turn = 0.0
        for grid in turn:
            mass, log_moment = grid.tilted(tilt)
            moved = moved * np.fft.rfft(np.roll(np.r_[mass, np.zeros(points - mass.size)], grid.low % points))
            log_turn += log_moment
        law = count.tilted(log_turn) if isinstance(count, RandomTurns) else count
        if law is None:
            return NOTHING
        log_all, mean = log_all + _log_power(log_turn, count), mean + _mean(law) * len(turn)
        transform *= law.generating(moved) if isinstance(law, RandomTurns) else _power(moved, law)
        bounds, parts = _errors(np.abs(moved), law, one * len(turn))
        size, part = size * bounds, part + parts
    part = np.minimum(part + 4 * mean * UNIT, 2.0)  # rounding of powers
    inverse = transform_errors(points)
    error = math.sqrt(2 * float(np.sum((size * part) ** 2))) + inverse * math.sqrt(2 * float(np.sum(size**2)))
    composed = np.roll(np.fft.irfft(transform, points), -(first % points))
    begin = max(0, -first) if tilt > 0 else 0  # the tilted view is for epsilon >= 0, which looks at losses > 0 only
    losses = step * (first + np.arange(begin, points))
    with np.errstate(divide="ignore", over="ignore"):
        mass = np.exp(np.log(np.maximum(composed[begin:], 0.0)) + (log_all - tilt * losses)) * (1 + points * 4 * UNIT)
    return TiltedLoss(step, first + begin, mass, infinite, tilt, math.log(error) + log_all)


def _errors(size: Array, count: Count, one: float) -> tuple[Array, Array]:
    r"""Bounds on the power of coefficients of one turn, and on its relative error.

    The coefficients have modulus `size`, with an error of at most `one`.

    With r = size + one, :math:`|z^T - \hat z^T| \le r^T \min(1, T\,one/r)`. For a random number
    with generating function G, whose coefficients are not negative,
    :math:`|G(z) - G(\hat z)| \le one\cdot G'(r)`.
    """
    r = size + one
    if isinstance(count, RandomTurns):
        stay = count.stay * np.minimum(r**count.copies, 1.0 / count.stay)
        left = np.maximum(1 - stay, 1e-300)
        return ((1 - count.stay) / left) ** count.epochs, one / r * count.epochs * count.copies * stay / left
    return r**count, np.minimum(1.0, count * one / r)


def _power(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Integer powers by squaring."""
    out = np.ones_like(values)
    while count:
        if count & 1:
            out = out * values
        values, count = values * values, count >> 1
    return out


@lru_cache(maxsize=64)
def _losses(turns: tuple[LossCounts, ...], relation: Adjacency, scale: float) -> tuple[ComposedLoss, ...]:
    """The privacy loss of all turns together: one for add and one for remove, or one for replace."""
    pairs = [[dominating_pairs(q, z, relation) for q, z in turn.answers] for turn in turns]
    counts = [turn.times for turn in turns]
    ways = range(len(pairs[0][0]))
    return tuple(
        compose([(tuple(p[way] for p in turn), count) for turn, count in zip(pairs, counts, strict=True)], scale)
        for way in ways
    )


def _merged(steps: Iterable[SampledGaussian | LossCounts]) -> tuple[LossCounts, ...]:
    """Equal steps counted together, in a fixed order; every random number is one draw of its own."""
    counted: dict[tuple[tuple[float, float], ...], int] = {}
    random: list[LossCounts] = []
    for step in steps:
        turn = step if isinstance(step, LossCounts) else LossCounts(((step[0], step[1]),), step[2])
        if isinstance(turn.times, RandomTurns):
            random.append(turn)
        elif turn.times > 0:
            counted[turn.answers] = counted.get(turn.answers, 0) + turn.times
    return (*(LossCounts(answers, k) for answers, k in sorted(counted.items())), *random)


def composed_losses(
    steps: Iterable[SampledGaussian | LossCounts], relation: Adjacency, scale: float
) -> tuple[ComposedLoss, ...]:
    """The loss of all steps together in each direction that matters; truncations take a small part of `scale`."""
    return _losses(_merged(steps), relation, max(scale, SMALLEST_DELTA))


def sampled_delta(
    steps: Iterable[SampledGaussian | LossCounts], epsilon: float, relation: Adjacency, scale: float = 1e-6
) -> float:
    """Upper bound on delta at `epsilon`; truncations take a small part of `scale`."""
    merged = _merged(steps)
    scale = max(scale, SMALLEST_DELTA)
    return max(loss.delta(epsilon) for loss in _losses(merged, relation, scale)) if merged else 0.0


def sampled_epsilon(steps: Iterable[SampledGaussian | LossCounts], delta: float, relation: Adjacency) -> float:
    """Upper bound on epsilon at `delta` for Poisson-sampled and unsampled Gaussians together.

    Examples
    --------
    >>> round(sampled_epsilon([(0.01, 2.0, 200)], 1e-5, Adjacency.ADD_REMOVE), 3)
    0.269
    """
    merged = _merged(steps)
    scale = max(delta, SMALLEST_DELTA)
    return float(max(loss.epsilon(delta) for loss in _losses(merged, relation, scale))) if merged else 0.0


@lru_cache(maxsize=256)
def sampled_rate(
    weights: tuple[SampledGaussian | LossCounts, ...],
    epsilon: float,
    delta: float,
    relation: Adjacency,
    least: float = 0.0,
    most: float = math.inf,
) -> float:
    r"""Largest r, at most `most`, with which steps stay within (epsilon, delta).

    The steps have :math:`\sigma/C = \kappa/\sqrt{2 r w}`.

    `weights` have weights where steps have multipliers. `least` is an r that is known to be valid
    without sampling; the answer is never below it. Every other r that is returned was checked: the
    search only decides which. 0 if none was found.
    """
    turns = _merged(weights)
    if delta < SMALLEST_DELTA or least >= most:
        return least

    def excess(log_rate: float) -> float:
        scale = 2 * math.exp(log_rate)
        steps = [LossCounts(tuple((q, relation.kappa / math.sqrt(scale * w)) for q, w in a), n) for a, n in turns]
        found = sampled_delta(steps, epsilon, relation, delta)
        return math.log(max(found, 1e-300) / delta) + 1e-5

    floor, ceiling = math.log(least) if least > 0 else -math.inf, math.log(most)
    low = min(max(_first_guess(turns, epsilon, delta, relation), floor), ceiling)
    start, ceiling = low, min(ceiling, low + 40)
    high, above = math.inf, math.inf
    below, stride = excess(low), 0.05
    while below > 0:
        if low <= floor or low < start - 60:
            return least
        high, above = low, below
        low = max(low - stride, floor)
        below, stride = excess(low), 2 * stride
    while math.isinf(high):
        if low >= ceiling:  # more of them would expose the rows that take part
            return math.exp(low) if ceiling < math.log(most) else most
        tried = min(low + stride, ceiling)
        value = excess(tried)
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


def _first_guess(turns: tuple[LossCounts, ...], epsilon: float, delta: float, relation: Adjacency) -> float:
    r"""Log r by the central limit theorem.

    Many small steps have the loss of a Gaussian with :math:`\mu^2 = \sum T q^2 (e^{1/z^2} - 1)`; for replace-one the
    bracket is :math:`2(e^{1/z^2} - e^{-1/z^2})`.
    """
    goal = 2 * math.log(gaussian_mu(epsilon, delta))

    def log_square(log_rate: float) -> float:
        logs = []
        for q, w, count in ((q, w, n) for answers, n in turns for q, w in answers):
            t = 2 * math.exp(log_rate) * w / relation.kappa**2
            replace = relation is Adjacency.REPLACE_ONE
            bracket = t + (math.log(-2 * math.expm1(-2 * t)) if replace else math.log(-math.expm1(-t)))
            logs.append(2 * math.log(q) + math.log(_mean(count)) + bracket)
        return float(np.logaddexp.reduce(logs))

    return largest(lambda log_rate: log_square(log_rate) < goal, -40.0, 25.0, steps=40)
