"""Step sizes that follow from public things: bounds, and answers that were released."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..facts import Clip, Facts, Vector
from ..ops import hard_threshold
from ..oracle import Gradient, Indices, Oracle
from ..privacy.plan import Participation, PoissonRows

#: Standard deviations by which an answer is doubted.
DOUBT = 3.0
#: A curvature that answers show clearly may fall to this part of the last one at the next step.
KEPT = 0.9
#: Noise has to be so many times below what is no concern for a wider clip, whose use nobody knows.
WIDENED = 25.0
#: A way is proven too long where it is this many times the one to the minimum along it.
TOO_LONG = 1.5
#: A step that was too long is cut to this part of it at most.
CUT = 0.25


@dataclass(frozen=True)
class Pace:
    r"""Step lengths from released answers: as long as they allow, and as exact as their length needs.

    Every turn of a loop pays for a piece :math:`p` of the path. A step of length :math:`\eta` takes the mean of the next
    :math:`\eta/p` answers at the same point: where columns are uncorrelated a loop makes few long steps, where they are not many
    short ones, at the same price and with the same noise in the result.

    Between two points the answers show the curvature :math:`\langle\Delta g, \Delta w\rangle/\|\Delta w\|^2`, and their noise leaves
    it open by :math:`D/\|\Delta w\|`: D is three standard deviations of a difference of two answers along one direction, and what
    the first of them may have put of its own noise into the direction (`chosen_noise`). The largest curvature :math:`h` that was
    *proven*, the one shown less this doubt, bounds all steps: none is longer than :math:`r/h`. Where the first answer at a new point
    proves that the step there was too long, the loop goes back most of the way, and asks again. Where answers are clear (the doubt
    is below a tenth of h) h may fall by a tenth a step, so that a loop that left a steep region goes on faster; where they are
    not, it is kept.

    Public arithmetic on released answers: it asks nothing and costs nothing.

    Parameters
    ----------
    longest : float
        Longest step, unless the last answers show, doubt added, that the curvature allows more.
    reach : float
        r: 1 for plain steps; more for loops whose momentum keeps longer steps stable.
    growth : float
        No step is longer than this many times the one before.
    group : float
        No step takes more than about this part of all turns.
    falls : bool
        Whether `longest` falls linearly with the turns that are left, to a tenth: for answers whose noise hides the curvature.
    quiet : float
        Noise :math:`\sigma^2\eta` of steps below which it is no concern (`Stride.clip`): there the clip is widened and steps get
        momentum, until it is; 0: neither.
    widest : float
        How many times wider the clip may become. Noise follows the clip, and a price sees only their ratio.
    """

    longest: float
    reach: float = 1.0
    growth: float = 2.0
    group: float = 0.3
    falls: bool = False
    quiet: float = 0.0
    widest: float = 1.0

    def start(self, turns: int) -> Stride:
        """The state before the first of so many turns."""
        return Stride(self, turns)


class Stride:
    """One run at a `Pace`: what was seen, and how many turns are left."""

    def __init__(self, pace: Pace, turns: int) -> None:
        self.left = turns
        self.proven = 0.0
        self._turns = turns
        self._pace = pace
        self._before: tuple[Vector, Vector, float] | None = None
        self._support: slice | Indices = slice(None)
        self._last = math.inf
        self._possible = math.inf
        self._momentum = Momentum()
        self._width = 1.0
        self._compared = False
        self._steepest = 0.0
        self._slope: Vector | None = None

    def rest(self, turns: int) -> None:
        """Go on with so many more turns on other coordinates: what was proven is kept, the last answers say nothing about them."""
        self.left = self._turns = turns
        self._before = None
        self._momentum, self._slope = Momentum(), None

    def walk(
        self,
        w: Vector,
        ask: Callable[[Vector, int], Vector],
        deviation: float,
        piece: float,
        support: Indices | None = None,
        *,
        plain: bool = False,
    ) -> tuple[Vector, Vector, float]:
        """Where the gradient is taken (`w`, or nearer to the last point), the mean of its answers there, and the step from there.

        `ask` answers at a point for a turn, with noise of this `deviation`, on all coordinates or on those of `support`; every turn
        pays for a `piece` of the path. `plain`: without momentum, which leads thresholds after every step to worse supports.
        """
        self._support = slice(None) if support is None else support
        w = self.ahead(w, None if plain else self._slope, deviation)
        first, self.left = ask(w, self._turns - self.left), self.left - 1
        while self.left and (nearer := self._nearer(w, first, deviation)) is not None:
            w = nearer
            first, self.left = ask(w, self._turns - self.left), self.left - 1
        most = max(1.0, self._pace.group * self._turns)
        rounds = max(1, round((1 + self.left) * piece / self._limit()), math.ceil((1 + self.left) / most))
        more = max(0, (1 + self.left) // rounds - 1)
        turn = self._turns - self.left
        g = np.mean([first, *(ask(w, turn + i) for i in range(more))], axis=0)
        self.left -= more
        spread = deviation / math.sqrt(1 + more)
        if self._before is not None:
            self._compare(w, g, spread)
        step = min((1 + more) * piece, self._limit())
        self._before, self._last, self._slope = (w.copy(), g, spread), step, g
        return w, g, step

    def clip(self, clip: Clip, deviation: float) -> Clip:
        r"""The clip of the next answers: twice as wide as that of the last ones where noise would stay no concern.

        `deviation` is the noise :math:`\sigma` of an answer under the narrowest clip. Steps :math:`\eta` along a direction of curvature
        :math:`\lambda` forget the noise of all but the last :math:`1/\eta\lambda`, and keep :math:`\sigma^2\eta/2\lambda` of it. A direction
        adds :math:`\lambda/\beta` times that to the squares of the margins, so that s of them add :math:`s\sigma^2\eta/2\beta`, whatever
        the curvatures and however long the path. Answers under another clip are those of another loss, and are not compared with the last ones.
        """
        wider = min(2 * self._width, self._pace.widest)
        if self._compared and wider > self._width and self.calm(wider * deviation):
            self._width, self._before, self._compared = wider, None, False
        return clip.times(self._width)

    def calm(self, deviation: float) -> bool:
        """Whether noise of this deviation is so far from any concern that a bound may be given up for it."""
        return self._room(deviation) >= WIDENED

    def _room(self, deviation: float) -> float:
        """How many times more noise than that of the next step is no concern."""
        return self._pace.quiet / max(deviation**2 * self._limit(), 1e-300)

    def ahead(self, w: Vector, slope: Vector | None, deviation: float) -> Vector:
        r"""The point ahead of `w` by momentum m, which multiplies the noise that is kept by 1/(1 - m).

        Steps :math:`\eta` with momentum are stable along curvatures up to :math:`(1 + 1/(1+2m))/\eta`, and m is held where none that
        answers leave possible is beyond. `slope` is the gradient by which `w` was reached.
        """
        excess = self._limit() * max(self._possible, self._steepest) - 1
        stable = (1 / excess - 1) / 2 if excess > 0 else 1.0
        return self._momentum.ahead(
            w, slope, self._support, min(1 - 1 / max(self._room(deviation), 1.0), max(stable, 0.0))
        )

    def see(self, change: Vector, moved: Vector, doubt: float) -> float:
        """Learn from the change of the gradient between two points; returns the curvature that they prove."""
        length = float(np.linalg.norm(moved))
        if length == 0:
            return 0.0
        shown, open_by = float(change @ moved) / length**2, doubt / length
        clear = open_by < 0.1 * self.proven and not self._momentum.part
        self.proven = max(shown - open_by, self.proven * (KEPT if clear else 1.0))
        if open_by < shown / 2:
            self._steepest = max(self._steepest, shown)
        self._possible = max(shown + open_by, self.proven)
        return shown - open_by

    def hold(self, step: float) -> float:
        """The step itself, or the longest one that the proven curvature allows."""
        return min(step, self._pace.reach / self.proven) if self.proven > 0 else step

    def take(self, planned: float) -> float:
        """One step without a group: at most the planned one."""
        self._last = self.longest(planned)
        return self._last

    def longest(self, planned: float) -> float:
        """The longest step that may come next, at most the planned one."""
        return min(planned, self._limit())

    def _compare(self, w: Vector, g: Vector, deviation: float) -> float:
        """Learn from the last point and this one; returns the curvature that they prove."""
        assert self._before is not None
        there, told, spread = self._before
        moved = (w - there)[self._support]
        self._compared = True
        return self.see(g - told, moved, DOUBT * math.hypot(deviation, spread) + spread * chosen_noise(moved))

    def _nearer(self, w: Vector, g: Vector, deviation: float) -> Vector | None:
        """A point nearer to the last one, if going from there to here is proven to have gone too far.

        A parabola with the proven curvature and the slope at the last point has its minimum at a part of the way.
        """
        if self._before is None or self._momentum.part > 0:
            return None
        there, told, _ = self._before
        moved, seen = w - there, (w - there)[self._support]
        bend, fall = self._compare(w, g, deviation) * float(seen @ seen), -float(told @ seen)
        if fall <= 0 or bend < TOO_LONG * fall:
            return None
        part = min(fall / bend, CUT)
        self._last *= part
        return np.asarray(there + part * moved)

    def _limit(self) -> float:
        """The longest step by what was seen so far."""
        pace = self._pace
        fallen = max((self.left + 1) / self._turns, 0.1) if pace.falls else 1.0
        longest = max(fallen * pace.longest, pace.reach / self._possible if self._possible > 0 else 0.0)
        return self.hold(min(pace.growth * self._last, longest))


class Momentum:
    """Nesterov's momentum between the points of a loop, forgotten when it points uphill [OC15]_."""

    def __init__(self) -> None:
        self.part = 0.0
        self._weight = 1.0
        self._was: Vector | None = None

    def ahead(self, w: Vector, slope: Vector | None, support: slice | Indices, most: float) -> Vector:
        """The point ahead of `w`, by at most this part of the last move; `slope` is the answer from which it was made."""
        was, self._was, self.part = self._was, w, 0.0
        if was is None or slope is None or most <= 0:
            self._weight = 1.0
            return w
        moved = w - was
        if float(slope @ moved[support]) > 0:
            self._weight = 1.0
        larger = (1 + math.sqrt(1 + 4 * self._weight**2)) / 2
        self.part, self._weight = min((self._weight - 1) / larger, most), larger
        return np.asarray(w + self.part * moved)


def chosen_noise(moved: Vector) -> float:
    r"""How much noise of an answer lies along a step that followed it, in its deviations: :math:`\sqrt{2k\ln(ed/k)}` for k of d entries.

    A step goes along the answer's own noise, and a threshold keeps the entries where there is most of it.
    """
    many = int(np.count_nonzero(moved))
    return math.sqrt(2 * many * math.log(math.e * moved.size / many)) if many else 0.0


def coordinate_steps(step: float, facts: Facts, least: float = 0.0) -> Vector:
    r"""The same step for every coordinate, but no more than :math:`1/(\beta_0 h^2)` for the intercept, and no less than `least` times that.

    Along the intercept, whose column has the height h in every row, the loss bends by at most :math:`\beta_0 h^2`: known without
    a look at the data, and often much more than along any feature.
    """
    steps = np.full(facts.dimension, step)
    if facts.free:
        longest = 1.0 / max(facts.curvature * facts.intercept**2, 1e-300)
        steps[-1] = min(max(step, least * longest), longest)
    return steps


def intercept_gain(asked: int, fresh: int, deviation: float, facts: Facts) -> float:
    r"""Part of the step :math:`1/(\beta_0h^2)` that the intercept takes at least: :math:`m/(t + r)` after t answers, the last m of them new.

    One answer with noise :math:`\sigma` tells the intercept's margin up to :math:`\sigma/(\beta_0h)`; r is the square of that over the square of a
    typical margin. The mean of what t answers tell, shrunk by their noise (Kalman's gain with a typical margin before them), is a
    constant predictor that is no worse than 0. It needs no path: where noise shortens the steps of features to
    nothing, the constant is still learned.
    """
    if not facts.free:
        return 0.0
    noise = (deviation / (facts.curvature * facts.intercept * facts.target.margin)) ** 2
    return fresh / (asked + noise)


def sampled_curvature(change: Vector, here: Vector, there: Vector, sparsity: int) -> float:
    r"""A curvature at which thresholded steps along sampled gradients contract: :math:`\|\Delta\|^2/\langle\Delta, v\rangle`.

    Taken where one of the two points, or the threshold of the change :math:`\Delta` itself, is not zero. The square of a sampled
    change holds its variance, so few rows ask for shorter steps.
    """
    support = (here != 0) | (there != 0) | (hard_threshold(change, sparsity) != 0)
    along = float(change @ (here - there))
    return float(np.sum(change[support] ** 2)) / along if along > 0 else 0.0


def follow(old: float, seen: float) -> float:
    """The curvature to go by: what was just seen, forgetting at most a tenth of the old one; the old one if nothing was."""
    return max(seen, 0.9 * old) if seen > 0 else old


def answer_spread(oracle: Oracle, ask: str, clip: Clip, rows: Participation) -> float:
    """Standard deviation of a gradient's answer in one direction: its noise, and the sampling of typical rows."""
    facts = oracle.facts
    share = rows.rate if isinstance(rows, PoissonRows) else 1.0
    row = min(clip.norm, facts.target_bound / 3 * facts.norm_bound) / math.sqrt(facts.n_features)
    return math.hypot(
        oracle.deviation(Gradient(facts.first(), clip), ask, 0), row * math.sqrt((1.0 - share) / (share * facts.n_rows))
    )
