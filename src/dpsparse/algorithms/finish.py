r"""The finish of every default: the slope of the target on the score, in one or two private dimensions.

.. math:: \min_{a, b}\ \tfrac1n\textstyle\sum_i \ell\bigl(y_i,\; a\,s_i + b\bigr), \qquad
          s_i = \langle x_i - \mu, \hat w\rangle

The score of released coefficients is measured in units of its typical size and put beside a
constant. Noisy gradients of the loss in these two coordinates say which multiple of the score fits
the target: each is a noisy Newton step, weighed against what earlier ones left in doubt. Where that
multiple is clearly below 1 the score is drawn back, to the constant where it is noise; for classes
it is also lengthened where it is clearly above 1, and the constant follows: so probabilities are
calibrated. A score that spreads more than the target did is dropped: clipped steps could not bring
it back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..core.facts import Facts, Projection, Vector
from ..core.plan import Ask, Noise
from ..queries.kinds import Hessian, Indices, ProjectedGradient, ProjectedModel
from .constants import FINISH
from .engine import Queries, class_clip


@dataclass(frozen=True, kw_only=True)
class Finish:
    """What the slope of the target on the score costs, and what is made of it.

    Parameters
    ----------
    share : float
        Of the slope.
    spread_share : float
        Of the typical size of the score.
    level : float
        N: rows times the Gaussian budget.
    classes : bool
        Whether classes are predicted.
    centred : bool
        Whether scores are those of centred columns, and their size is a quantile; otherwise a root
        mean square, and the mean score is asked with it.
    """

    share: float
    spread_share: float
    level: float
    classes: bool
    centred: bool = True

    @property
    def asks(self) -> list[str]:
        """Names of the asks, one for each turn, in order."""
        return ["spread"] + ["slope"] * FINISH.whole.steps

    def plan(self, gaussian: Noise, gumbel: Noise) -> list[Ask]:
        """The typical size of the score, and the gradients."""
        steps = FINISH.whole.steps
        kind, noise = ("Quantile", gumbel) if self.centred else ("Hessian", gaussian)
        return [
            Ask(name="spread", question=kind, noise=noise, share=self.spread_share),
            Ask(name="slope", question="ProjectedGradient", noise=gaussian, times=steps, share=self.share),
        ]

    def run(self, queries: Queries, score: Score, clip: float, typical: float) -> tuple[float, float]:
        """The part of the score that is kept, and the constant beside it.

        Parameters
        ----------
        queries : Queries
        score : Score
        clip : float
            Of the last gradients. Numbers are clipped at `typical` where that is more, so that a
            score that is far too long can come back, and classes as two columns would be.
        typical : float
            A typical residual of the constant model; for classes it is not used.
        """
        typical = 1.0 if self.classes else typical
        limit = (FINISH.class_limit if self.classes else FINISH.limit) * typical
        unit, mean = self._size(queries, score, typical, limit)
        clip = max(clip, self._class_clip if self.classes else typical)
        slope, moved = self._fit(queries, score, clip, unit, min(1.0, limit / unit), typical)
        if not np.any(score.w):
            return 0.0, score.offset
        if unit > limit:
            return 0.0, score.base
        noise = 2 * clip / (self.level * math.sqrt(self.share))
        noise /= self._bend(queries.facts, moved) if self.classes else 1.0
        part, offset = self._kept(slope, moved, score, FINISH.noise * noise / FINISH.square / unit)
        beside = slope if self.classes and slope > 0 else 1.0  # the slope that the constant was found beside
        return part, offset + (beside - part) * mean

    @property
    def _class_clip(self) -> float:
        """That of classes grows with the level of the slope, until it holds back no score that counts."""
        return class_clip(self.level * math.sqrt(self.share) / 4, FINISH.square_norm)

    def _fit(
        self, queries: Queries, score: Score, clip: float, unit: float, part: float, typical: float
    ) -> tuple[float, float]:
        """Slope and constant of the target on a part of the score.

        Each turn is a noisy Newton step, taken as far as a Kalman filter believes it.
        """
        free, bend = queries.facts.free, self._bend(queries.facts, score.offset)
        plane = replace(score.frame, length=unit, constant=FINISH.constant * bool(free))
        theta = np.r_[unit * part, [part * (score.offset - score.base) / FINISH.constant] * free]
        whole = 1 / (bend * np.r_[FINISH.bent, [FINISH.constant**2] * free])
        sizes = np.r_[unit, [typical / FINISH.constant] * free]
        wrong = (FINISH.doubtful * sizes) ** 2
        for _ in range(FINISH.whole.steps):
            model = ProjectedModel(plane, theta, score.base)
            answer, noise = queries.noisy(ProjectedGradient(model, clip), "slope")
            gain = np.minimum(FINISH.most_gain, wrong / (wrong + (whole * noise) ** 2))
            theta = theta - gain * whole * answer
            wrong = (1 - gain) * wrong + (FINISH.settled * sizes) ** 2
        return float(theta[0]) / unit, score.base + FINISH.constant * float(theta[1]) if free else score.offset

    def _size(self, queries: Queries, score: Score, typical: float, limit: float) -> tuple[float, float]:
        """A typical size of the score, and its mean, which is 0 where columns are centred.

        A quantile is looked for on a grid from the least size that matters to just beyond the limit.
        """
        if not self.centred:
            return self._moments(queries, score, typical)
        least = FINISH.least_unit * typical
        points = np.geomspace(least, FINISH.beyond * limit, FINISH.whole.points) / FINISH.length_factor
        model = ProjectedModel(score.frame, np.zeros(1), 0.0)
        return FINISH.length_factor * queries.quantile("rows", model, FINISH.length_quantile, points, "spread"), 0.0

    def _moments(self, queries: Queries, score: Score, typical: float) -> tuple[float, float]:
        """A multiple of the root mean square of the score, and its mean, by a Hessian where all margins are 0."""
        facts = queries.facts
        plane = replace(score.frame, length=typical, constant=FINISH.constant * bool(facts.free))
        norm = FINISH.square_norm
        bound = norm * min(facts.target_bound, facts.slope_bound)
        answer, noise = queries.noisy(Hessian(ProjectedModel(plane, np.zeros(plane.size), 0.0), bound, norm), "spread")
        square = max(float(answer[0]), noise, FINISH.tiny)
        mean = float(answer[1]) / (math.sqrt(2) * FINISH.constant) if facts.free else 0.0
        return FINISH.square_factor * typical * math.sqrt(square), typical * clear_part(mean, noise)

    def _bend(self, facts: Facts, offset: float) -> float:
        """The curvature along the score: for classes p(1-p) of a constant and a part more, at most that of the loss."""
        if not self.classes:
            return facts.curvature
        least, most = FINISH.pair.offsets
        p = 1 / (1 + math.exp(-min(max(offset, least), most)))
        return min(facts.curvature, p * (1 - p) + FINISH.least_bend)

    def _kept(self, found: float, moved: float, score: Score, noise: float) -> tuple[float, float]:
        """The slope as far as it stands clear of 1, or of 0 where it is nearer to that; and the constant.

        The score of numbers is never lengthened, and where all of it is kept, so is its constant.
        """
        doubt = FINISH.doubt * noise
        start = score.offset if score.start is None else score.start
        offset = moved if self.classes and found > 0 else score.offset
        if found > 0.5 and found > 1 - 2 * doubt and doubt < 1:
            longer = clear_part(found - 1, doubt) if self.classes else 0.0
            if longer or found >= 1 - doubt:
                return 1 + longer, offset
        part = min(1.0, clear_part(max(0.0, found), noise))
        # of classes the constant was measured beside the slope that was found, not beside a slope of 1
        sure = part / max(found, part, 1e-12) if self.classes else part
        return part, start + sure * (offset - start)


@dataclass(frozen=True, eq=False)
class Score:
    """A model whose score is measured: coefficients `w` of some features from a centre, and its constant.

    `start` is the constant of the model without features; None: nobody asked.
    """

    support: Indices
    centre: Vector
    w: Vector
    start: float | None
    offset: float

    @property
    def base(self) -> float:
        """The constant that the score is put beside first."""
        return self.offset if self.start is None else self.start

    @property
    def frame(self) -> Projection:
        """The score as the one coordinate of a frame; where it is zero everywhere, a tiny one."""
        w = self.w if np.any(self.w) else np.full(self.w.size, FINISH.tiny)
        return Projection(support=self.support, centre=self.centre, matrix=w[:, None])


def slope_share(level: float) -> float:
    """Share of the slope: as much as its level needs, within bounds."""
    least, most = FINISH.pair.share
    return min(most, max(least, (FINISH.level / level) ** 2))


def clear_part(value: float, noise: float) -> float:
    r"""A number as far as it stands clear of its noise: :math:`v\,(1 - (\sigma/v)^2)_+`."""
    return value * max(0.0, 1 - (noise / max(abs(value), 1e-12)) ** 2)
