r"""The finish of every default: the slope of the target on the score, in one or two private dimensions.

.. math:: \min_{a, b}\ \tfrac1n\textstyle\sum_i \ell\bigl(y_i,\; a\,s_i + b\bigr), \qquad
          s_i = \langle x_i - \mu, \hat w\rangle

The score of released coefficients is measured in units of its typical size and put beside a
constant. Noisy gradients of the loss in these two coordinates say which multiple of the score fits
the target. Where that is clearly below 1 the score is drawn back, to the constant where it is
noise; for classes it is also lengthened where it is clearly above 1, and the constant follows: so
probabilities are calibrated. A score that spreads more than the target did is dropped: clipped
steps could not bring it back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..core.facts import Projection, Vector
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
    selects : bool
        Whether the size of the score is a quantile; otherwise it is a root mean square, for plans
        that hold Gaussian noise only.
    """

    share: float
    spread_share: float
    level: float
    classes: bool
    selects: bool = True

    @property
    def asks(self) -> list[str]:
        """Names of the asks, one for each turn, in order."""
        return ["spread"] + ["slope"] * FINISH.whole.steps

    def plan(self, gaussian: Noise, gumbel: Noise) -> list[Ask]:
        """The typical size of the score, and the gradients."""
        steps = FINISH.whole.steps
        kind, noise = ("Quantile", gumbel) if self.selects else ("Hessian", gaussian)
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
        limit = FINISH.class_limit if self.classes else FINISH.limit * typical
        unit = self._unit(queries, score, FINISH.least_unit * (1.0 if self.classes else typical), limit)
        clip = max(clip, class_clip(self.level * math.sqrt(self.share) / 4) if self.classes else typical)
        slope, moved = self._fit(queries, score, clip, unit, min(1.0, limit / unit))
        if not np.any(score.w):
            return 0.0, score.offset
        if unit > limit:
            return 0.0, score.base
        noise = 2 * clip / (self.level * math.sqrt(self.share)) * self._steep(score.offset)
        return self._kept(slope, moved, score, FINISH.noise * noise / FINISH.square / unit, noise)

    def _fit(self, queries: Queries, score: Score, clip: float, unit: float, part: float) -> tuple[float, float]:
        """Slope and constant of the target on a part of the score: the mean of the path but its beginning."""
        free, bend, steps = queries.facts.free, queries.facts.curvature, FINISH.whole.steps
        if self.classes:
            bend = min(bend, 1 / self._steep(score.offset) + FINISH.least_bend)
        plane = replace(score.frame, length=unit, constant=FINISH.constant * bool(free))
        theta = np.r_[unit * part, [part * (score.offset - score.base) / FINISH.constant] * free]
        mean, skipped = np.zeros(theta.size), steps // 4
        for turn in range(steps):
            answer, _ = queries.noisy(ProjectedGradient(ProjectedModel(plane, theta, score.base), clip), "slope")
            theta = theta - 0.5 * answer / bend
            mean = mean + theta / (steps - skipped) * (turn >= skipped)
        return float(mean[0]) / unit, score.base + FINISH.constant * float(mean[1]) if free else score.offset

    def _unit(self, queries: Queries, score: Score, least: float, limit: float) -> float:
        """A typical size of the score, on a grid from the least that matters to just beyond the limit."""
        if not self.selects:
            query = Hessian(ProjectedModel(score.frame, np.zeros(1), 0.0), FINISH.square_norm, FINISH.square_norm)
            square, noise = queries.noisy(query, "spread")
            return FINISH.square_factor * math.sqrt(max(float(square[0]), noise, FINISH.tiny))
        points = np.geomspace(least, FINISH.beyond * limit, FINISH.whole.points) / FINISH.length_factor
        model = ProjectedModel(score.frame, np.zeros(1), 0.0)
        return FINISH.length_factor * queries.quantile("rows", model, FINISH.length_quantile, points, "spread")

    def _steep(self, offset: float) -> float:
        """The inverse of the curvature where the score is 0: for classes p(1-p), for numbers 1."""
        if not self.classes:
            return 1.0
        least, most = FINISH.pair.offsets
        p = 1 / (1 + math.exp(-min(max(offset, least), most)))
        return 1 / (p * (1 - p))

    def _kept(self, found: float, moved: float, score: Score, noise: float, shift: float) -> tuple[float, float]:
        """The slope as far as it stands clear of 1, and the constant.

        Where it is far below 1, too noisy to tell 1 from 0, or for classes nearer to 0: as far as it stands clear of 0.
        """
        offset = score.offset
        doubt = (FINISH.class_doubt if self.classes else 2.0) * noise
        if self.classes and found > 0:
            offset += clear_part(moved - offset, 2 * shift / FINISH.constant)
        likely = found > 0.5 or not self.classes  # nearer to 1 than to 0
        if likely and 0 < 1 - doubt <= found and (found <= 1 + doubt or not self.classes):
            return 1.0, offset
        if likely and self.classes and doubt < 1 and found > 1 - 3 * noise:
            return 1 + clear_part(found - 1, doubt), offset
        part = min(1.0, clear_part(max(0.0, found), noise))
        start = offset if score.start is None else score.start
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


def clear_part(value: float, noise: float) -> float:
    r"""A number as far as it stands clear of its noise: :math:`v\,(1 - (\sigma/v)^2)_+`."""
    return value * max(0.0, 1 - (noise / max(abs(value), 1e-12)) ** 2)
