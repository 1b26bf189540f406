r"""Noisy descent in phases on the rows of a frame, with clips that are asked for and an average behind a burn-in.

For t = 1..T, with step lengths :math:`e_t` that fall to zero and add up to :math:`\tau`, and a share :math:`e_t/\tau` of the phase's
budget each,

.. math:: v \leftarrow .9 v + .1\,\tilde g_t, \qquad w \leftarrow w - e_t v,

with .7 and .3 for classes, which have a third of the steps.

Budget in proportion to step length keeps the noise of the margin of a row of length 1 at :math:`\nu C` whatever T is, so
:math:`\tau = \nu N\sqrt f/2`. Where curvature is h, the last w has :math:`\tau h/2` times the variance of one Newton step; the weighted
average of the path behind the burn-in has one, without knowing h.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.facts import Projection, Vector
from ..ops import soft_threshold
from ..queries.kinds import Oracle, Path, ProjectedGradient, ProjectedModel, Quantile
from .constants import TABLES
from .table_schedule import DescentStage, Schedule, grid
from .table_signal_test import IterateAverage, TableSignalTest


class Descent:
    """The state of a path, which lives on between phases; everything in it was released."""

    def __init__(self, oracle: Oracle, schedule: Schedule, frame: Projection, start: float, path: Path | None) -> None:
        self.oracle, self.schedule, self.frame, self.start, self.path = oracle, schedule, frame, start, path
        self.w, self.dual = np.zeros(frame.size), np.zeros(frame.size)
        self.clip: float | None = None
        self.variance = 0.0  # of the noise in `dual`
        self.walked = 0.0
        self.columns = frame.size - frame.free
        self.trail = IterateAverage(self.columns, TABLES.bend * oracle.facts.curvature / max(self.columns, 1))
        self.soft = schedule.soft if frame.matrix is None and self.columns == schedule.n_features else 0.0
        ones = np.ones(self.columns) if frame.matrix is None else (frame.matrix**2).sum(axis=0)
        ridge = oracle.facts.penalty.l2 / frame.length**2
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
        middle, bound = self.schedule.middle, self.oracle.facts.target_bound
        below, above = TABLES.pair.clip_grid
        points = grid(bound / below, above * bound, TABLES.whole.grid_points, self.schedule.thin)
        question = Quantile("gradients", self.model(), middle.clip_quantile, points)
        found = float(points[int(self.oracle.answer(question, ask)[0])])
        return self.schedule.clip_factor(self.columns) * found

    def noise(self, clip: float) -> float:
        """Noise on margins in clips: clips that fall are evidence of a signal, which is worth a longer path."""
        if self.schedule.classes:
            return TABLES.class_noise
        if self.soft:
            return TABLES.soft_noise
        fall = 0.0 if self.clip is None else 1 - clip / self.clip
        low, high = TABLES.pair.noise_range
        low = max(low, TABLES.race_noise) if self.schedule.race else low
        usual = TABLES.lean_noise if self.schedule.few_records else TABLES.noise
        return min(high, max(low, usual + TABLES.noise_slope * fall))

    def run(self, phase: DescentStage) -> Descent:
        """Spend what a phase has."""
        length, burned = self._begin(phase)
        v, mean, mass = np.zeros_like(self.w), np.zeros_like(self.w), 0.0
        for turn, weight in enumerate(phase.weights):
            g = self._ask(phase.gradient, turn, length * weight)
            v = self.schedule.momentum * v + (1 - self.schedule.momentum) * g
            self._move(v, length * weight)
            if turn >= burned:
                mean, mass = mean + weight * self.w, mass + weight
            if self.path is not None:
                self.path.add(self.full(), self.oracle)
        self.w = mean / mass
        return self

    def _begin(self, phase: DescentStage) -> tuple[float, float]:
        """Set the clip of a phase; the length of its path, and the turns before its average begins."""
        schedule, facts = self.schedule, self.oracle.facts
        clip = TABLES.class_clip if schedule.classes else self.ask_clip(phase.clip)
        length = min(self.noise(clip) * phase.length, phase.limit)
        self.clip = clip
        self.sampling = (clip / schedule.clip_factor(self.columns)) ** 2 / (max(self.columns, 1) * facts.n_rows)
        burned = TABLES.burn * self.columns / (TABLES.bend * facts.curvature * length)
        averaged = math.sqrt(max(TABLES.least_average, 1 - burned))
        return length, phase.steps * (1 - averaged)

    def _ask(self, name: str, turn: int, step: float) -> Vector:
        """The gradient before a step of this length."""
        assert self.clip is not None
        query = ProjectedGradient(self.model(), self.clip)
        answer = np.asarray(self.oracle.answer(query, name))
        noise = self.oracle.deviation(query, name, turn)
        self.trail.add(self.w[: self.columns], answer[: self.columns], noise, step)
        self.walked += step
        self.variance += (step * noise) ** 2
        return answer

    def _move(self, v: Vector, step: float) -> None:
        """One proximal step along v, or with `soft` one of dual averaging: the sum of steps is thresholded by its noise."""
        if not self.soft:
            self.w = (self.w - step * v) / (1 + step * self.ridge)
            return
        self.dual = self.dual - step * v
        by = np.full(self.dual.size, self.soft * math.sqrt(self.variance))
        by[self.columns :] = 0.0
        self.w = soft_threshold(self.dual, by) / (1 + self.walked * self.ridge)

    def evidence(self, most: int) -> TableSignalTest:
        """What all gradients so far say about few coefficients, at most `most`, or many."""
        gradient, variance = self.trail.start()
        return TableSignalTest.of(gradient, math.sqrt(variance + self.sampling), most)

    def full(self, part: float = 1.0) -> Vector:
        """Coefficients of all coordinates of the facts, the score drawn back to a part of itself."""
        facts = self.oracle.facts
        out = np.zeros(facts.dimension)
        out[self.frame.support] = part * self.features()
        if facts.free:
            constant = self.start + part * (self.intercept() - self.start)
            out[-1] = (constant - float(self.frame.centre @ out[self.frame.support])) / facts.intercept
        return out
