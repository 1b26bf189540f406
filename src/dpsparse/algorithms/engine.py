"""What the default engines share.

Queries that return a number and its noise, the constant they start from, typical lengths, and the
rule by which nothing but the constant is released.

Everything here is post-processing of released answers and of the public size of their noise.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Protocol, runtime_checkable

import numpy as np

from ..core.facts import Facts, Projection, Vector
from ..core.plan import Ask, Noise, Plan
from ..queries.kinds import (
    CentredModel,
    Gram,
    Indices,
    JointGradient,
    Oracle,
    ProjectedModel,
    Quantile,
    Query,
    ResidualMean,
)
from .constants import ENGINE, TABLES, Constants
from .polish_steps import symmetric

#: The model without a feature and without a constant.
EMPTY = CentredModel(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0), 0.0)


class Queries:
    """The queries of one run; turns are counted by the name of their ask."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.facts, self._turns = oracle, oracle.facts, Counter[str]()

    def noisy(self, query: Query, ask: str) -> tuple[Vector, float]:
        """The answer to a sum, and the standard deviation of the noise in each of its numbers."""
        answer = np.asarray(self.oracle.answer(query, ask))
        noise = self.oracle.deviation(query, ask, self._turns[ask])
        self._turns[ask] += 1
        return answer, noise

    def quantile(self, of: str, model: CentredModel | ProjectedModel, part: float, points: Vector, ask: str) -> float:
        """The point of a grid at which about this part of the rows' values is reached."""
        return float(points[int(self.oracle.answer(Quantile(of, model, part, points), ask)[0])])

    def log_odds(self) -> tuple[float, float, float]:
        """The log-odds of the class share to start from, those as far as noise allows, and the noise in that share.

        With no margin a slope is 1/2 less the class. The share is shrunk to one half as far as its
        distance from there may be noise, and clipped to what this noise can distinguish from 0 and 1:
        a path starts where some of the curvature of its loss is left, which no model needs.
        """
        mean, noise = self.noisy(ResidualMean(EMPTY, 0.5), "start")
        found = [shrunken_share(0.5 - float(mean[0]), noise, least) for least in (ENGINE.least_share, 0.0)]
        first, told = (math.log(share / (1 - share)) for share in found)
        return first, told, noise

    def log_shares(self) -> Vector:
        """The logarithms of the shares of many classes, less their mean.

        The shares are shrunk to equal ones by their noise (James and Stein), and are at least twice
        that noise.
        """
        facts, even = self.facts, 1 / self.facts.target.n_classes
        last, weight = np.array([facts.n_features]), np.array([1 / facts.intercept])
        slopes, noise = self.noisy(JointGradient(facts.first(), weight, math.sqrt(1 - even), last), "start")
        away = -slopes + slopes.mean()
        least = min(even, max(ENGINE.least_share, 2 * noise))
        logs = np.log(np.maximum(even + believed(away, noise) * away, least))
        return np.asarray(logs - logs.mean())

    def median(self, points: int) -> float:
        """The median of the targets, on this many points within their bound."""
        bound = self.facts.target_bound
        return self.quantile("targets", EMPTY, 0.5, np.linspace(-bound, bound, points), "start")

    def constant(self, level: float) -> Vector:
        """The model that predicts a constant: what class shares or their log-odds say, or a shrunken median."""
        found = self.facts.first()
        if self.facts.free and self.facts.target.joint:
            found[-1] = self.log_shares() / self.facts.intercept
        elif self.facts.free and self.facts.target.classes:
            found[-1] = self.log_odds()[0] / self.facts.intercept
        elif self.facts.free:
            shrunken = level**2 / (level**2 + ENGINE.median_doubt**2)
            found[-1] = shrunken * self.median(ENGINE.whole.thin_median_points) / self.facts.intercept
        return found

    def row_length(
        self, frame: Projection, points: Vector, choice: Constants, ask: str, elsewhere: float = 1.0
    ) -> float:
        """A typical length of rows in a frame: a multiple of a middle quantile, at most the last point.

        Where only a part of the rows lies elsewhere than at about one place, it is a quantile of those.
        """
        model = ProjectedModel(frame, np.zeros(frame.size), 0.0)
        found = self.quantile("rows", model, max(choice.length_quantile, 1 - elsewhere / 2), points, ask)
        return min(float(points[-1]), choice.length_factor * found)

    def gram(self, support: Indices, centre: Vector, length: float, ask: str) -> tuple[Vector, float]:
        """The mean outer product of centred rows within a length, and the noise of its diagonal."""
        triangle, noise = self.noisy(Gram(support, centre, length), ask)
        return symmetric(triangle, support.size), noise


# ------------------------------------------------------------------------------------------------ scales


def first_share(level: float, scales: int, each: float = 0.0) -> float:
    r"""Share of the first answer about each of some scales: as much as its level needs, if they can afford it.

    A grid query of level L lands in a wrong cell with a probability of about the number of cells
    times :math:`e^{-qL}`, and the whole path is measured in what it returns. Later answers are
    looked for near the first one, so that an error of theirs costs a factor and not the model.

    Parameters
    ----------
    level : float
        N: rows times the Gaussian budget.
    scales : int
        How many scales have a first answer.
    each : float
        Share of any other scalar query; the first answer has no less.
    """
    return max(each, min(ENGINE.first_shares / scales, (ENGINE.first_level / level) ** 2))


def scales(*, classes: bool, intercept: bool) -> int:
    """How many scales have a first answer: start, residuals of numbers, row lengths, spread of the score."""
    return 2 + (not classes) + intercept


def constant_only(facts: Facts, level: float) -> bool:
    """Whether the first answer about a scale would be too noisy: then only the constant is released.

    The whole budget is then spent on it, if there is a constant. The planner calls such a fit
    hopeless.
    """
    free = facts.free > 0
    share = first_share(level, scales(classes=facts.target.classes, intercept=free))
    return free and level * math.sqrt(share) < ENGINE.constant_level


@runtime_checkable
class ReleasesConstant(Protocol):
    """A solver that releases only the constant where more would be noise."""

    def releases_constant(self, facts: Facts) -> bool:
        """Whether it does so for these facts; `plan` then asks for nothing else."""
        ...


def constant_plan(gaussian: Noise, gumbel: Noise, *, classes: bool, joint: bool = False) -> Plan:
    """The plan that asks for the constant only: class shares, or the median of the targets."""
    kind, noise = ("ResidualMean", gaussian) if classes else ("Quantile", gumbel)
    kind = "JointGradient" if joint else kind
    return Plan(asks=(Ask(name="start", question=kind, noise=noise),), order=("start",))


def class_clip(kappa: float, most: float) -> float:
    """Clip of gradients of classes: it grows with kappa up to `most`, which holds back only long rows."""
    growth: float = (kappa / TABLES.class_from) ** TABLES.class_growth
    return min(most, TABLES.class_clip * max(1.0, growth))


def shrunken_share(share: float, noise: float, floor: float) -> float:
    """A noisy class share, shrunk to one half by its noise, at least twice that noise and a floor from 0 and 1."""
    away = share - 0.5
    least = min(0.5, max(floor, 2 * noise, 1e-12))
    found = 0.5 + away * max(0.0, 1 - (noise / max(abs(away), 1e-12)) ** 2)
    return min(1 - least, max(least, found))


def believed(values: Vector, noise: float) -> float:
    """The part of noisy numbers that is kept: the rest is what their noise explains (James and Stein)."""
    return max(0.0, 1 - values.size * noise**2 / max(float(values @ values), 1e-300))
