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
    """

    longest: float
    reach: float = 1.0
    growth: float = 2.0
    group: float = 0.3
    falls: bool = False

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

    def rest(self, turns: int) -> None:
        """Go on with so many more turns on other coordinates: what was proven is kept, the last answers say nothing about them."""
        self.left = self._turns = turns
        self._before = None

    def walk(
        self,
        w: Vector,
        ask: Callable[[Vector, int], Vector],
        deviation: float,
        piece: float,
        support: Indices | None = None,
    ) -> tuple[Vector, Vector, float]:
        """Where the gradient is taken (`w`, or nearer to the last point), the mean of its answers there, and the step from there.

        `ask` answers at a point for a turn, with noise of this `deviation`, on all coordinates or on those of `support`; every turn
        pays for a `piece` of the path.
        """
        self._support = slice(None) if support is None else support
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
        self._before, self._last = (w.copy(), g, spread), step
        return w, g, step

    def see(self, change: Vector, moved: Vector, doubt: float) -> float:
        """Learn from the change of the gradient between two points; returns the curvature that they prove."""
        length = float(np.linalg.norm(moved))
        if length == 0:
            return 0.0
        shown, open_by = float(change @ moved) / length**2, doubt / length
        clear = open_by < 0.1 * self.proven
        self.proven = max(shown - open_by, self.proven * (KEPT if clear else 1.0))
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
        return self.see(g - told, moved, DOUBT * math.hypot(deviation, spread) + spread * chosen_noise(moved))

    def _nearer(self, w: Vector, g: Vector, deviation: float) -> Vector | None:
        """A point nearer to the last one, if going from there to here is proven to have gone too far.

        A parabola with the proven curvature and the slope at the last point has its minimum at a part of the way.
        """
        if self._before is None:
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


def chosen_noise(moved: Vector) -> float:
    r"""How much noise of an answer lies along a step that followed it, in its deviations: :math:`\sqrt{2k\ln(ed/k)}` for k of d entries.

    A step goes along the answer's own noise, and a threshold keeps the entries where there is most of it.
    """
    many = int(np.count_nonzero(moved))
    return math.sqrt(2 * many * math.log(math.e * moved.size / many)) if many else 0.0


def coordinate_steps(step: float, facts: Facts) -> Vector:
    r"""The same step for every coordinate, but no more than :math:`1/(\beta_0 h^2)` for the intercept.

    Along the intercept, whose column has the height h in every row, the loss bends by at most :math:`\beta_0 h^2`: known without
    a look at the data, and often much more than along any feature.
    """
    steps = np.full(facts.dimension, step)
    if facts.free:
        steps[-1] = min(step, 1.0 / max(facts.curvature * facts.intercept**2, 1e-300))
    return steps


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
