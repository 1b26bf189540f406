"""What the default engines share.

Queries that return a number and its noise, the constant they start from, typical lengths.

Everything here is post-processing of released answers and of the public size of their noise.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..core.facts import Projection, Vector
from ..queries.kinds import (
    CentredModel,
    Gram,
    Indices,
    Oracle,
    ProjectedModel,
    Quantile,
    Query,
    ResidualMean,
)
from .constants import Constants
from .polish_steps import symmetric
from .screening import class_share

#: The model without a feature and without a constant.
EMPTY = CentredModel(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0), 0.0)


class Queries:
    """The queries of one run; turns are counted by the name of their ask."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.facts, self._turns = oracle, oracle.facts, Counter[str]()

    def noisy(self, query: Query, ask: str) -> tuple[Vector, float]:
        """The answer to a sum, and the standard deviation of the noise in each of its numbers."""
        noise = self.oracle.deviation(query, ask, self._turns[ask])
        self._turns[ask] += 1
        return np.asarray(self.oracle.answer(query, ask)), noise

    def quantile(self, of: str, model: CentredModel | ProjectedModel, part: float, points: Vector, ask: str) -> float:
        """The point of a grid at which about this part of the rows' values is reached."""
        return float(points[int(self.oracle.answer(Quantile(of, model, part, points), ask)[0])])

    def class_share(self) -> tuple[float, float]:
        """The share of a class and the noise in it: with no margin a slope is 1/2 less the class."""
        mean, noise = self.noisy(ResidualMean(EMPTY, 0.5), "start")
        return class_share(float(mean[0])), noise

    def median(self, points: int) -> float:
        """The median of the targets, on this many points within their bound."""
        bound = self.facts.target_bound
        return self.quantile("targets", EMPTY, 0.5, np.linspace(-bound, bound, points), "start")

    def row_length(self, frame: Projection, points: Vector, choice: Constants, ask: str) -> float:
        """A typical length of rows in a frame: a multiple of a middle quantile, at most the last point."""
        model = ProjectedModel(frame, np.zeros(frame.size), 0.0)
        found = self.quantile("rows", model, choice.length_quantile, points, ask)
        return min(float(points[-1]), choice.length_factor * found)

    def gram(self, support: Indices, centre: Vector, length: float, ask: str) -> tuple[Vector, float]:
        """The mean outer product of centred rows within a length, and the noise of its diagonal."""
        triangle, noise = self.noisy(Gram(support, centre, length), ask)
        return symmetric(triangle, support.size), noise


def believed(values: Vector, noise: float) -> float:
    """The part of noisy numbers that is kept: the rest is what their noise explains (James and Stein)."""
    return max(0.0, 1 - values.size * noise**2 / max(float(values @ values), 1e-300))
