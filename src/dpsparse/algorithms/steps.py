r"""Step rules: how long the next step of a loop is, from public bounds and released answers.

A loop says what it asks (`Gradients`) and a `StepRule` how far to go along the answers. The rule starts one `Steps`,
the only object of a run that has state; ``at, g, eta = steps.next(w)`` is where the gradient was taken, the mean of
its answers there, and the step along each coordinate:

* `FixedSteps`: one step of a planned size for each turn;
* `SecantSteps`, `SampledSecantSteps`: one over the curvature that exact answers show;
* `PacedSteps`: as long as noisy answers allow.

Everything here is arithmetic on public numbers and released answers: it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..core.facts import Clip, Facts, Vector
from ..core.plan import Participation, PoissonRows
from ..ops import hard_threshold
from ..queries.kinds import Gradient, Indices, Oracle
from .constants import STEPS

# ------------------------------------------------------------------------------------------------ what is asked


class Turn(NamedTuple):
    """One gradient of the plan: the length of path that it pays for, the name of its ask, and the rows that answer."""

    size: float
    ask: str
    rows: Participation


@dataclass(frozen=True, kw_only=True, eq=False)
class Gradients:
    """The noisy gradients of a loop, turn by turn.

    Parameters
    ----------
    oracle : Oracle
    clip : Clip
        How much one row may contribute, unless a rule widens it.
    turns : sequence of Turn
    ridge : float
        Weight of an l2 penalty, whose gradient is added to every answer.
    support : array of int, or None
        Coordinates that are asked for; None: all.
    first : int
        Number of the first turn within its ask, where the budget of an ask differs by turn.
    thresholded : bool
        Whether the loop thresholds after every step. Momentum would lead it to worse supports, and is not used.
    intercept_cap : bool
        Whether the intercept's step is clipped to its known curvature (`coordinate_steps`).
    changes : bool
        Whether the change of the gradient since the last point may be asked for, at every turn but the first.
    confirmed : bool
        Whether the loop gives its last point to `Steps.confirm`.
    """

    oracle: Oracle
    clip: Clip
    turns: Sequence[Turn]
    ridge: float = 0.0
    support: Indices | None = None
    first: int = 0
    thresholded: bool = True
    intercept_cap: bool = True
    changes: bool = False
    confirmed: bool = False

    def ask(self, w: Vector, turn: int, clip: Clip) -> Vector:
        """One noisy gradient at `w`, with that of the l2 penalty."""
        g = np.asarray(self.oracle.answer(Gradient(w, clip, self.support), self.turns[turn].ask))
        if not self.ridge:
            return g
        penalty = self.ridge * without_intercept(w, self.oracle.facts.free)
        return g + (penalty if self.support is None else penalty[self.support])

    def noise_std(self, turn: int, clip: Clip) -> float:
        """Standard deviation of an answer in one direction: its noise, and the sampling of typical rows."""
        facts, (_, ask, rows) = self.oracle.facts, self.turns[turn]
        noise = self.oracle.deviation(Gradient(facts.first(), clip, self.support), ask, self.first)
        rate = rows.rate if isinstance(rows, PoissonRows) else 1.0
        row = min(clip.norm, facts.target_bound / 3 * facts.norm_bound) / math.sqrt(facts.n_features)
        return math.hypot(noise, row * math.sqrt((1.0 - rate) / (rate * facts.n_rows)))

    def sizes(self, step: float, gain: float = 0.0) -> Vector:
        """The step along each coordinate that is asked for; `gain` as in `coordinate_steps`."""
        facts = self.oracle.facts
        sizes = coordinate_steps(step, facts, gain) if self.intercept_cap else np.full(facts.dimension, step)
        return sizes if self.support is None else sizes[self.support]


# ------------------------------------------------------------------------------------------------ rules


class Step(NamedTuple):
    """Where the gradient was taken, the mean of its answers there, and the step along each coordinate."""

    at: Vector
    gradient: Vector
    sizes: Vector


class StepRule(Protocol):
    """How long steps are."""

    def start(self, gradients: Gradients) -> Steps:
        """The steps of one run."""
        ...


class Steps:
    """The steps of one run, the only state of a loop beside its iterate: here one answer and its planned size a step.

    Attributes
    ----------
    turn : int
        Turns that were used.
    clip : Clip
        That of the last answers.
    length : float
        Length of the last step, or what `see` left of it.
    """

    def __init__(self, gradients: Gradients) -> None:
        self.restart(gradients)

    def restart(self, gradients: Gradients) -> None:
        """Go on with other gradients; what is known about the curvature is kept."""
        self.gradients, self.clip, self.turn, self.length = gradients, gradients.clip, 0, 0.0

    @property
    def left(self) -> int:
        """Turns that are left."""
        return len(self.gradients.turns) - self.turn

    @property
    def proven(self) -> float:
        """The largest curvature that noisy answers proved; 0 where the rule does not look for it."""
        return 0.0

    def next(self, w: Vector) -> Step:
        """The next step from `w`."""
        self.length = self.gradients.turns[self.turn].size
        g = self.ask(w)
        self.compare(w, g)
        return Step(w, g, self.gradients.sizes(self.length))

    def ask(self, w: Vector) -> Vector:
        """The answer of the next turn."""
        self.turn += 1
        return self.gradients.ask(w, self.turn - 1, self.clip)

    def compare(self, w: Vector, g: Vector) -> None:
        """Set `length` by a new answer and those before it."""

    def see(self, change: Vector, w: Vector, anchor: Vector, doubt: float) -> None:
        """Set `length` by the change of the gradient from `anchor` to `w`, which noise leaves open by `doubt`."""

    def confirm(self, w: Vector) -> Vector:
        """The last iterate, or a point nearer to the one before where the last step is proven to be too long."""
        return w

    def longest(self, planned: float = math.inf) -> float:
        """The longest step that may come next, at most the planned one."""
        return planned

    def gain(self, noise: float) -> float:
        """The intercept's part of its longest step, at least (`intercept_gain`), for answers with this noise."""
        return 0.0

    def is_quiet(self, noise: float) -> bool:
        """Whether noise of this standard deviation was far below the harmless level at the last step."""
        return False


@dataclass(frozen=True)
class FixedSteps:
    """One step of its planned size for each turn."""

    def start(self, gradients: Gradients) -> Steps:
        """Steps as planned."""
        return Steps(gradients)


@dataclass(frozen=True)
class SecantSteps:
    r"""One over the curvature :math:`\langle\Delta g, \Delta w\rangle/\|\Delta w\|^2` that two exact gradients show.

    No more than a tenth of the largest curvature is forgotten at a step. The first step has its planned size. With
    noise the differences would be noise alone.
    """

    def start(self, gradients: Gradients) -> Steps:
        """Steps for exact gradients of all rows."""
        return _Secant(gradients)


class _Secant(Steps):
    curvature = 0.0
    before: tuple[Vector, Vector] | None = None

    def compare(self, w: Vector, g: Vector) -> None:
        if self.before is not None:
            moved = w - self.before[0]
            squared = float(moved @ moved)
            if squared > 1e-20 * float(w @ w):  # differences of a loop that has converged are rounding
                self.curvature = max(float((g - self.before[1]) @ moved) / squared, STEPS.kept * self.curvature)
        self.before = (w, g)
        self.length = 1.0 / self.curvature if self.curvature > 0 else self.length


@dataclass(frozen=True)
class SampledSecantSteps:
    """One over the curvature that changes of the exact gradient of sampled rows show (`sampled_curvature`).

    Parameters
    ----------
    sparsity : int
        Coefficients that the loop keeps.
    """

    sparsity: int

    def start(self, gradients: Gradients) -> Steps:
        """Steps for exact gradients of sampled rows."""
        return _SampledSecant(gradients, self.sparsity)


class _SampledSecant(Steps):
    def __init__(self, gradients: Gradients, sparsity: int) -> None:
        super().__init__(gradients)
        self.sparsity, self.curvature = sparsity, 0.0
        self.before: Vector | None = None

    def compare(self, w: Vector, g: Vector) -> None:
        if self.gradients.changes and self.before is not None:
            oracle, clip = self.gradients.oracle, self.clip
            change = oracle.gradient_change(w, self.before, clip=clip, change=2 * clip.norm)
            self.see(change, w, self.before, 0.0)
        self.before = w

    def see(self, change: Vector, w: Vector, anchor: Vector, doubt: float) -> None:
        seen = sampled_curvature(change, w, anchor, self.sparsity)
        self.curvature = max(seen, STEPS.kept * self.curvature) if seen > 0 else self.curvature
        self.length = 1.0 / self.curvature if self.curvature > 0 else self.length


# ------------------------------------------------------------------------------------------------ noisy answers


@dataclass(frozen=True)
class PacedSteps:
    r"""Steps as long as noisy answers allow, and as exact as their length needs.

    Every turn pays for a piece :math:`p` of the path. A step of length :math:`\eta` takes the mean
    of the next :math:`\eta/p` answers at the same point: where columns are uncorrelated a loop
    makes few long steps, where they are correlated many short ones, at the same price and with the
    same noise in the result.

    Between two points the answers show the curvature
    :math:`\langle\Delta g, \Delta w\rangle/\|\Delta w\|^2`, and their noise leaves it open by
    :math:`D/\|\Delta w\|`: D is three standard deviations of a difference of two answers along one
    direction, and what the first of them may have put of its own noise into the direction
    (`selection_noise`). The largest curvature :math:`h` that was *proven*, the one shown less this
    doubt, bounds all steps: none is longer than :math:`r/h`. Where the first answer at a new point
    proves that the step there was too long, the loop goes back most of the way, and asks again. The
    last step has no answer after it: of 30 turns or more, one is kept for that (`_Paced.confirm`).
    Where answers are clear (the doubt is below a tenth of h) h may fall by a tenth a step, so that
    a loop that left a steep region goes on faster; elsewhere h is kept.

    Steps :math:`\eta` along a direction of curvature :math:`\lambda` forget the noise
    :math:`\sigma` of all but the last :math:`1/\eta\lambda`, and keep :math:`\sigma^2\eta/2\lambda`
    of it. A direction adds :math:`\lambda/\beta` times that to the squares of the margins, so that
    s of them add :math:`s\sigma^2\eta/2\beta`, for any curvatures and any length of the path. Where
    :math:`\sigma^2\eta` is harmless (`quiet`), steps get momentum, and the clip is doubled from
    step to step: noise is proportional to the clip, and the price depends on their ratio alone.
    Answers under another clip are those of another loss, and are not compared with the last ones.

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
        Whether `longest` falls linearly with the turns that are left, to a tenth: for answers whose
        noise hides the curvature.
    low_noise : float
        :math:`\sigma^2\eta` below which noise is harmless; 0: never.
    widest : float
        How many times wider the clip may become.
    """

    longest: float
    reach: float = 1.0
    growth: float = 2.0
    group: float = STEPS.group
    falls: bool = False
    low_noise: float = 0.0
    widest: float = 1.0

    def start(self, gradients: Gradients) -> Steps:
        """Steps for noisy gradients."""
        return _Paced(gradients, self)


class StepLimit:
    """The longest step that released answers allow under a rule.

    Attributes
    ----------
    proven, possible, steepest : float
        Curvatures: the largest that was proven, the largest that the last answers leave possible, and the largest that
        was shown clearly.
    last : float
        Length of the last step.
    """

    def __init__(self, rule: PacedSteps) -> None:
        self.rule, self.proven, self.possible, self.steepest, self.last = rule, 0.0, math.inf, 0.0, math.inf

    def see(self, change: Vector, moved: Vector, doubt: float, *, forget: bool = True) -> float:
        """The curvature that the change of the gradient between two points proves; `forget`: the old one may fall."""
        length = float(np.linalg.norm(moved))
        if length == 0:
            return 0.0
        shown, open_by = float(change @ moved) / length**2, doubt / length
        clear = forget and open_by < STEPS.clear * self.proven
        self.proven = max(shown - open_by, self.proven * (STEPS.kept if clear else 1.0))
        if open_by < shown / 2:
            self.steepest = max(self.steepest, shown)
        self.possible = max(shown + open_by, self.proven)
        return shown - open_by

    def hold(self, step: float) -> float:
        """The step itself, or the longest one that the proven curvature allows."""
        return min(step, self.rule.reach / self.proven) if self.proven > 0 else step

    def longest(self, left: float = 1.0) -> float:
        """The longest next step, with this part of the turns left."""
        rule = self.rule
        fallen = max(left, STEPS.least_fall) if rule.falls else 1.0
        longest = max(fallen * rule.longest, rule.reach / self.possible if self.possible > 0 else 0.0)
        return self.hold(min(rule.growth * self.last, longest))

    def take(self, planned: float) -> float:
        """The length of the next step: at most the planned one."""
        self.last = min(planned, self.longest())
        return self.last


class _Paced(Steps):
    def __init__(self, gradients: Gradients, rule: PacedSteps) -> None:
        self.rule, self.limit, self.width = rule, StepLimit(rule), 1.0
        super().__init__(gradients)

    def restart(self, gradients: Gradients) -> None:
        super().restart(gradients)
        self.clip = gradients.clip.times(self.width)
        self.kept = int(gradients.confirmed and len(gradients.turns) >= STEPS.pair.turns[0])  # turns for the last point
        self.before: tuple[Vector, Vector, float] | None = None
        self.points = 0  # that were compared under this clip
        self.momentum = Momentum()
        self.since, self.first_limit = 0, math.inf  # turns and longest step, before this step

    @property
    def left(self) -> int:
        return super().left - self.kept

    @property
    def proven(self) -> float:
        return self.limit.proven

    def next(self, w: Vector) -> Step:
        piece, turns = self.gradients.turns[self.turn].size, len(self.gradients.turns)
        self.since, self.first_limit = self.turn, self.longest()
        self._widen()
        noise = self.gradients.noise_std(self.turn, self.clip)
        w = self._extrapolate(w, noise)
        first = self.ask(w)
        while self.left and (nearer := self._nearer(w, first, noise)) is not None:
            w, first = nearer, self.ask(nearer)
        left = 1 + self.left
        steps = max(1, round(left * piece / self.longest()), math.ceil(left / max(1.0, self.rule.group * turns)))
        answers = max(1, left // steps)
        g = np.mean([first, *(self.ask(w) for _ in range(answers - 1))], axis=0)
        noise_of_mean = noise / math.sqrt(answers)
        if self.points:
            self._prove(w, g, noise_of_mean)
        self.length = self.limit.last = min(answers * piece, self.longest())
        self.before, self.points = (w.copy(), g, noise_of_mean), self.points + 1
        return Step(w, g, self.gradients.sizes(self.length, self.gain(noise)))

    def confirm(self, w: Vector) -> Vector:
        r"""The last iterate; where the loss is proven to rise along the last move, a point on the way back.

        The noise of the answer at the last iterate is independent of the way there, so a slope of three of its
        standard deviations is proof. A parabola with this slope, and the one that the answers before showed at the
        point before, has its minimum at the point that is taken.

        Film reviews (4,000 with ratings, s = 2000, epsilon 4, 4 seeds; the constant has 6.0): squared error
        15.5 -> 9.2 (dp_ight, dense) and 15.9 -> 6.0 (dp_sgd_ht). Confirmed on melting points (epsilon .5, 8
        seeds): 1.30 -> 1.03 and 1.73 -> 1.03 of the constant's. Handwritten digits, chest x-rays, restaurant
        reviews: no difference beyond two standard errors; news at epsilon 4: .519(2) -> .525(2), at that
        border. A first step of at most 20/(beta K^2), for dense columns or for all steps on texts, was tried
        and not taken: melting points 1.30 -> 2.45, news .52 -> .80.
        """
        if not self.kept or self.before is None:
            return w
        self.kept = 0
        noise, g = self.gradients.noise_std(self.turn, self.clip), self.ask(w)
        there, gradient, _ = self.before
        moved = self._on_support(w - there)
        rise, fall = float(g @ moved), max(-float(gradient @ moved), 0.0)
        if rise <= STEPS.doubt * noise * float(np.linalg.norm(moved)):
            return w
        return np.asarray(there + fall / (fall + rise) * (w - there))

    def see(self, change: Vector, w: Vector, anchor: Vector, doubt: float) -> None:
        self.limit.see(change, w - anchor, doubt)
        self.length = self.limit.hold(self.length)

    def longest(self, planned: float = math.inf) -> float:
        return min(planned, self.limit.longest((self.left + 1) / len(self.gradients.turns)))

    def gain(self, noise: float) -> float:
        if self.gradients.support is not None:
            return 0.0
        return intercept_gain(self.turn, self.turn - self.since, noise, self.gradients.oracle.facts)

    def is_quiet(self, noise: float) -> bool:
        return self._quietness(noise) >= STEPS.widened

    def _quietness(self, noise: float) -> float:
        """How many times more noise than this would be harmless."""
        return self.rule.low_noise / max(noise**2 * self.first_limit, 1e-300)

    def _widen(self) -> None:
        """Double the clip where two points were compared under it and its noise stays harmless.

        Twice its noise has to be far below the harmless level.
        """
        wider = min(2 * self.width, self.rule.widest)
        if self.points < 2 or wider <= self.width:
            return
        if self.is_quiet(wider * self.gradients.noise_std(self.turn, self.gradients.clip)):
            self.width, self.points, self.clip = wider, 0, self.gradients.clip.times(wider)

    def _extrapolate(self, w: Vector, noise: float) -> Vector:
        r"""The point ahead of `w` by momentum m, which multiplies the noise that is kept by 1/(1 - m).

        Steps :math:`\eta` with momentum are stable along curvatures up to
        :math:`(1 + 1/(1+2m))/\eta`; m is held where no curvature that answers leave possible is
        beyond.
        """
        if self.gradients.thresholded:
            return w
        excess = self.first_limit * max(self.limit.possible, self.limit.steepest) - 1
        stable = (1 / excess - 1) / 2 if excess > 0 else 1.0
        most = min(1 - 1 / max(self._quietness(noise), 1.0), max(stable, 0.0))
        return self.momentum.extrapolate(w, None if self.before is None else self.before[1], most)

    def _prove(self, w: Vector, g: Vector, noise: float) -> float:
        """The curvature that the last point and this one prove."""
        assert self.before is not None
        there, gradient, noise_there = self.before
        moved = self._on_support(w - there)
        doubt = STEPS.doubt * math.hypot(noise, noise_there) + noise_there * selection_noise(moved)
        return self.limit.see(g - gradient, moved, doubt, forget=not self.momentum.part)

    def _nearer(self, w: Vector, g: Vector, noise: float) -> Vector | None:
        """A point nearer to the last one, if going from there to here is proven to have gone too far.

        A parabola with the proven curvature and the slope at the last point has its minimum at a part of the way.
        """
        if self.before is None or not self.points or self.momentum.part > 0:
            return None
        there, gradient, _ = self.before
        moved = self._on_support(w - there)
        bend, fall = self._prove(w, g, noise) * float(moved @ moved), -float(gradient @ moved)
        if fall <= 0 or bend < STEPS.too_long * fall:
            return None
        part = min(fall / bend, STEPS.cut)
        self.limit.last *= part
        return np.asarray(there + part * (w - there))

    def _on_support(self, w: Vector) -> Vector:
        return w if self.gradients.support is None else w[self.gradients.support]


class Momentum:
    """Nesterov's momentum between the points of a loop, forgotten when it points uphill [OC15]_."""

    part, weight = 0.0, 1.0
    was: Vector | None = None

    def extrapolate(self, w: Vector, slope: Vector | None, most: float) -> Vector:
        """The point ahead of `w`, by at most this part of the last move.

        `slope` is the answer from which it was made.
        """
        was, self.was, self.part = self.was, w, 0.0
        if was is None or slope is None or most <= 0:
            self.weight = 1.0
            return w
        moved = w - was
        if float(slope @ moved) > 0:
            self.weight = 1.0
        larger = (1 + math.sqrt(1 + 4 * self.weight**2)) / 2
        self.part, self.weight = min((self.weight - 1) / larger, most), larger
        return np.asarray(w + self.part * moved)


# ------------------------------------------------------------------------------------------------ formulas


def without_intercept(w: Vector, free: int) -> Vector:
    """The coefficients that a penalty sees: all but the intercept."""
    out = w.copy()
    out[w.size - free :] = 0.0
    return out


def selection_noise(moved: Vector) -> float:
    r"""Noise of an answer along a step that followed it, in standard deviations of the noise.

    It is :math:`\sqrt{2k\ln(ed/k)}` for k of d entries.

    A step goes along the answer's own noise, and a threshold keeps the entries where there is most
    of it.
    """
    many = int(np.count_nonzero(moved))
    return math.sqrt(2 * many * math.log(math.e * moved.size / many)) if many else 0.0


def coordinate_steps(step: float, facts: Facts, least: float = 0.0) -> Vector:
    r"""The same step for every coordinate, with limits for the intercept.

    The step of the intercept is at most :math:`1/(\beta_0 h^2)`, and at least `least` times that.

    Along the intercept, whose column has the height h in every row, the curvature of the loss is at
    most :math:`\beta_0 h^2`: known without a look at the data, and often much more than along any
    feature.
    """
    steps = np.full(facts.dimension, step)
    if facts.free:
        longest = 1.0 / max(facts.curvature * facts.intercept**2, 1e-300)
        steps[-1] = min(max(step, least * longest), longest)
    return steps


def intercept_gain(asked: int, fresh: int, deviation: float, facts: Facts) -> float:
    r"""The least part of the step :math:`1/(\beta_0h^2)` that the intercept takes.

    It is :math:`m/(t + r)` after t answers, of which the last m are new.

    One answer with noise :math:`\sigma` determines the intercept's margin up to
    :math:`\sigma/(\beta_0h)`; r is the square of that over the square of a typical margin. The mean
    of t such estimates, shrunk by their noise (Kalman's gain with a typical margin before them),
    is a constant predictor that is no worse than 0. It needs no path: where noise shortens the
    steps of features to nothing, the constant is still learned.
    """
    if not facts.free:
        return 0.0
    noise = (deviation / (facts.curvature * facts.intercept * facts.target.margin)) ** 2
    return fresh / (asked + noise)


def sampled_curvature(change: Vector, here: Vector, there: Vector, sparsity: int) -> float:
    r"""A curvature at which thresholded steps along sampled gradients contract.

    It is :math:`\|\Delta\|^2/\langle\Delta, v\rangle`.

    Taken where one of the two points, or the threshold of the change :math:`\Delta` itself, is not
    zero. The square of a sampled change holds its variance, so few rows ask for shorter steps.
    """
    support = (here != 0) | (there != 0) | (hard_threshold(change, sparsity) != 0)
    along = float(change @ (here - there))
    return float(np.sum(change[support] ** 2)) / along if along > 0 else 0.0
