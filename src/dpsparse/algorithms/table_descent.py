r"""Noisy descent in phases on the rows of a frame, with clips that are asked for and an average behind a burn-in.

For t = 1..T, with step lengths :math:`e_t` that fall to zero and add up to :math:`\tau`, and a
share :math:`e_t/\tau` of the phase's budget each,

.. math:: v \leftarrow .9 v + .1\,\tilde g_t, \qquad w \leftarrow w - e_t v,

with .7 and .3 for classes, which have a third of the steps.

Budget in proportion to step length keeps the noise of the margin of a row of length 1 at
:math:`\nu C` whatever T is, so :math:`\tau = \nu N\sqrt f/2`. Where curvature is h, the last w has
:math:`\tau h/2` times the variance of one Newton step; the weighted average of the path behind the
burn-in has one, without knowing h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.facts import Projection, Vector
from ..ops import soft_threshold
from ..queries.kinds import Path, ProjectedGradient, ProjectedModel
from .constants import FINISH, RACE, TABLES
from .engine import Queries, believed
from .finish import clear_part
from .table_schedule import DescentStage, TableSchedule, grid

#: Where a gradient was asked, the answer, and the noise in each of its numbers.
Turn = tuple[Vector, Vector, float]


class Descent:
    """The state of a path, which lives on between phases; everything in it was released."""

    def __init__(
        self,
        queries: Queries,
        schedule: TableSchedule,
        frame: Projection,
        start: float,
        path: Path | None,
        square: float = 0.0,
        elsewhere: float = 1.0,
    ) -> None:
        self.queries, self.schedule, self.frame, self.start, self.path = queries, schedule, frame, start, path
        self.facts, self.square = queries.facts, square  # mean square of a whitened coordinate
        self.elsewhere = elsewhere  # part of the rows that do not lie at about one place
        self.w, self.dual = np.zeros(frame.size), np.zeros(frame.size)
        self.clip: float | None = None
        self.widest = 0.0  # a typical residual of the first phase
        self.variance = 0.0  # of the noise in `dual`
        self.walked = 0.0
        self.turns: list[Turn] = []  # of a phase
        self.reached, self.left = 0.0, 0.0  # the part of the way that the path went, and the noise in a coordinate of w
        self.slope, self.slope_noise = 1.0, math.inf  # of the target on the score of w
        self.columns = frame.size - frame.free
        self.trail = IterateAverage(self.columns, TABLES.bend * self.facts.curvature / max(self.columns, 1))
        self.soft = schedule.soft if frame.matrix is None and self.columns == schedule.n_features else 0.0
        ones = np.ones(self.columns) if frame.matrix is None else (frame.matrix**2).sum(axis=0)
        ridge = self.facts.penalty.l2 / frame.length**2
        self.ridge = np.r_[ridge * ones, np.zeros(frame.free)]

    def model(self) -> ProjectedModel:
        """Where the path stands."""
        return ProjectedModel(self.frame, self.w, self.start)

    def features(self) -> Vector:
        """Coefficients of the features of the frame's support."""
        return self.frame.features(self.w)

    def intercept(self) -> float:
        """The constant of the margin, for features measured from the frame's centre."""
        return self.start + self.frame.constant * float(self.w[self.columns :].sum())

    def ask_clip(self, ask: str) -> float:
        """A multiple of a middle quantile of the sizes of gradients."""
        middle, bound = self.schedule.middle, self.facts.target_bound
        below, above = TABLES.pair.clip_grid
        low, high, count = bound / below, above * bound, TABLES.whole.grid_points
        factor = self.schedule.clip_factor(self.columns)
        if self.clip is not None:  # a clip hardly rises from one phase to the next
            below, above = TABLES.pair.near_clip
            low, high, count = below * self.clip / factor, above * self.clip / factor, TABLES.whole.near_points
        points = grid(low, high, count, self.schedule.thin)
        part = max(middle.clip_quantile, 1 - self.elsewhere / 2)
        found = self.queries.quantile("gradients", self.model(), part, points, ask)
        self.widest = max(self.widest, TABLES.typical_residual * found)
        events = self.facts.target.events and self.columns < TABLES.whole.event_columns
        return max(factor * found, TABLES.event_clip if events else 0.0)

    def noise(self, clip: float) -> float:
        """Noise on margins in clips: clips that fall are evidence of a signal, which is worth a longer path."""
        if self.schedule.classes:
            return TABLES.class_noise
        if self.soft:
            return TABLES.soft_noise
        fall = 0.0 if self.clip is None else 1 - clip / self.clip
        low, high = TABLES.pair.noise_range
        low = max(low, TABLES.race_noise) if self.schedule.race and not self.schedule.few_records else low
        usual = TABLES.lean_noise if self.schedule.few_records else TABLES.noise
        return min(high, max(low, usual + TABLES.noise_slope * fall))

    def run(self, phase: DescentStage) -> Descent:
        """Spend what a phase has."""
        length, burned = self._begin(phase)
        v, mean, mass = np.zeros_like(self.w), np.zeros_like(self.w), 0.0
        self.turns.clear()
        for turn, weight in enumerate(phase.weights):
            g = self._ask(phase.gradient, length * weight)
            v = self.schedule.momentum * v + (1 - self.schedule.momentum) * g
            self._move(v, length * weight)
            if turn >= burned:
                mean, mass = mean + weight * self.w, mass + weight
            if self.path is not None:
                self.path.add(self.full(), self.queries.oracle)
        self.w = mean / mass
        if self.schedule.classes:
            self._look_back(phase, length, burned)
        return self

    def _look_back(self, phase: DescentStage, length: float, burned: float) -> None:
        r"""How far these steps lead, which noise they leave, and the slope of the target on the score.

        With the curvature h where the path ended, a coordinate of the result is linear in the noise
        of each turn, in the noise that was left before, and in the minimum. The slope is a Newton
        step along the result w, from answers behind the burn-in and weighed by their precision:
        each is moved from its point to w, less :math:`d\,\sigma_tm_t`, which its own noise has in
        common with w.
        """
        across, along = self._curvatures()
        w = np.r_[np.zeros(phase.steps), self.left, self.reached]
        v, mean, mass = np.zeros_like(w), np.zeros_like(w), 0.0
        for turn, weight in enumerate(phase.weights):
            g = across * w
            g[turn] += self.turns[turn][2]
            g[-1] -= across
            v = self.schedule.momentum * v + (1 - self.schedule.momentum) * g
            w = w - length * weight * v
            if turn >= burned:
                mean, mass = mean + weight * w, mass + weight
        response = mean / mass
        self.reached, self.left = float(response[-1]), float(np.linalg.norm(response[:-1]))
        points, answers, noises = (np.array(each) for each in zip(*self.turns, strict=True))
        found, precisions = self.w[: self.columns], (np.arange(phase.steps) >= burned) / np.maximum(noises**2, 1e-300)
        slopes = (answers[:, : self.columns] - along * (points[:, : self.columns] - found)) @ found
        slopes -= self.columns * noises * response[: phase.steps]
        bent = max(along * float(found @ found), 1e-300)
        self.slope = 1 - float(precisions @ slopes) / float(precisions.sum()) / bent
        self.slope_noise = math.sqrt(float(found @ found) / float(precisions.sum())) / bent

    def _curvatures(self) -> tuple[float, float]:
        """Curvature in a whitened coordinate where the path ended, for a normal score: across the score, and along it.

        The curvature of a loss of classes is a density of the margin; a normal one of the same
        height takes its place.
        """
        square, top = self.square or TABLES.bend / max(self.columns, 1), self.facts.curvature
        wide, offset = 1 / (2 * math.pi * top**2), self.intercept()
        size = square * float(self.w[: self.columns] @ self.w[: self.columns])
        part = wide / (wide + size)
        across = square * top * math.sqrt(part) * math.exp(-(offset**2) / (2 * (wide + size)))
        return across, across * (part + size * (offset / (wide + size)) ** 2)

    def _begin(self, phase: DescentStage) -> tuple[float, float]:
        """Set the clip of a phase; the length of its path, and the turns before its average begins."""
        schedule, facts = self.schedule, self.facts
        clip = schedule.class_clip if schedule.classes else self.ask_clip(phase.clip)
        length = min(self.noise(clip) * phase.length, phase.limit)
        self.clip = clip
        square = (clip / schedule.clip_factor(self.columns)) ** 2
        if schedule.classes:
            share = 1 / (1 + math.exp(-self.start))
            square = TABLES.bend * share * (1 - share)
        self.sampling = square / (max(self.columns, 1) * facts.n_rows)
        burned = TABLES.burn * self.columns / (TABLES.bend * facts.curvature * length)
        averaged = math.sqrt(max(TABLES.least_average, 1 - burned))
        return length, phase.steps * (1 - averaged)

    def _ask(self, name: str, step: float) -> Vector:
        """The gradient before a step of this length."""
        assert self.clip is not None
        answer, noise = self.queries.noisy(ProjectedGradient(self.model(), self.clip), name)
        self.trail.add(self.w[: self.columns], answer[: self.columns], noise, step)
        self.walked += step
        self.variance += (step * noise) ** 2
        self.turns.append((self.w, answer, noise))
        return answer

    def _move(self, v: Vector, step: float) -> None:
        """One proximal step along v, or with `soft` one of dual averaging.

        The sum of steps is thresholded by its noise.
        """
        if not self.soft:
            self.w = (self.w - step * v) / (1 + step * self.ridge)
            return
        self.dual = self.dual - step * v
        by = np.full(self.dual.size, self.soft * math.sqrt(self.variance))
        by[self.columns :] = 0.0
        self.w = soft_threshold(self.dual, by) / (1 + self.walked * self.ridge)

    def expected(self, most: int, number: int) -> ExpectedGain:
        """What few coefficients, at most `most`, and many are expected to explain, after a phase."""
        gradient, variance = self.trail.start()
        shares = [phase.share for phase in self.schedule.phases]
        used, later = sum(shares[: number + 1]), sum(shares[number + 1 :])
        total = variance + self.sampling
        left = variance * used / (later + RACE.reused * used) + self.sampling
        return ExpectedGain.of(gradient, math.sqrt(total), left / total, most)

    def kept(self) -> float:
        """Part of the coefficients of classes that is kept, which nothing is asked about.

        How much of them noise explains is drawn back (James and Stein). Of what the path left
        out, only the square root is added, since it is more where columns vary less. The slope of
        the target counts as far as it stands clear of its noise.
        """
        part = believed(self.w[: self.columns], self.left) / math.sqrt(self.reached)
        return max(0.0, part + clear_part(self.slope - part, FINISH.doubt * self.slope_noise))

    def full(self, part: float = 1.0, offset: float | None = None) -> Vector:
        """Coefficients of all coordinates of the facts, the score drawn back to a part of itself.

        `offset` is the constant beside it; None: that of the path.
        """
        facts = self.facts
        out = np.zeros(facts.dimension)
        out[self.frame.support] = part * self.features()
        if facts.free:
            offset = self.intercept() if offset is None else offset
            out[-1] = (offset - float(self.frame.centre @ out[self.frame.support])) / facts.intercept
        return out


# ------------------------------------------------------------------------------------------------ few or many

#: Variances that are tried, in variances of the noise.
VARIANCES = np.geomspace(*RACE.pair.variances, RACE.whole.variance_points)


@dataclass(frozen=True)
class ExpectedGain:
    r"""Few coefficients or many? What either is expected to explain, in variances of the noise.

    A noisy mean gradient :math:`\tilde g_j = g_j + N(0, \sigma^2)` at the constant model is the
    truth in its coordinates, up to a factor, plus noise that is known. Laws of g are tried: a part p
    of the d entries comes from :math:`N(0, t_1)`, the others from :math:`N(0, t_0)` with
    :math:`t_0 < t_1`, or are 0, which is as likely as all :math:`t_0 > 0` together. Each law has the
    posterior weight that the noisy gradient gives it. Under a law few coefficients, at most k,
    explain :math:`\min(k, pd)\,t_1`; many explain :math:`dv^2/(v + r)` for the mean energy v, since a
    path on which noise r is left draws all coordinates back alike.
    """

    few: float
    many: float

    @classmethod
    def of(cls, gradient: Vector, noise: float, left: float, most: int) -> ExpectedGain:
        """From a gradient with noise of a known standard deviation.

        `left` is r, and at most `most` coefficients are few.
        """
        d = gradient.size
        square = np.clip(gradient / noise, -RACE.largest_entry, RACE.largest_entry) ** 2
        variance = 1 + VARIANCES[:, None]
        odds = np.exp(0.5 * square * (1 - 1 / variance)) / np.sqrt(variance)  # against no coefficient; at most e^450
        laws = []
        for count in np.unique(np.geomspace(1, max(1, d // 2), RACE.whole.count_points).astype(int)):
            part = count / d
            none = np.log(1 - part + part * odds).sum(axis=1) + math.log(VARIANCES.size / 2)
            laws.append((none, min(most, count) * VARIANCES, part * VARIANCES))
            for i, base in enumerate((1 - part) * odds[:-1]):
                high = VARIANCES[i + 1 :]
                likely = np.log(base + part * odds[i + 1 :]).sum(axis=1)
                laws.append((likely, min(most, count) * high, part * high + (1 - part) * VARIANCES[i]))
        likely, few, energy = (np.concatenate(parts) for parts in zip(*laws, strict=True))
        weight = np.exp(likely - likely.max())
        weight /= weight.sum()
        return cls(float(weight @ few), float(weight @ (d * energy**2 / (energy + left))))


class IterateAverage:
    r"""Released gradients along a path, and what they would have been at its start.

    Where the loss is nearly quadratic, :math:`\tilde g_t = g_0 + h w_t + \text{noise}_t` with h
    about the same in all coordinates. A typical h is good enough as long as the path is short: an
    error of 30 % in h adds 3 % to the variance of the noise after one relaxation length 1/h, and
    answers beyond that do not count. A budget for which a path gets so far has evidence enough
    before.

    Parameters
    ----------
    size : int
        Coordinates.
    bend : float
        Typical h.
    """

    def __init__(self, size: int, bend: float) -> None:
        self.bend, self.walked, self.precision = bend, 0.0, 0.0
        self.total = np.zeros(size)

    def add(self, w: Vector, gradient: Vector, noise: float, step: float) -> None:
        """One answer at `w`, with the standard deviation of its noise, before a step of some length."""
        if self.walked * self.bend <= 1 and noise > 0:
            self.precision += noise**-2
            self.total += (gradient - self.bend * w) / noise**2
        self.walked += step

    def start(self) -> tuple[Vector, float]:
        """The gradient at the start, and the variance of its noise."""
        return self.total / self.precision, 1 / self.precision
