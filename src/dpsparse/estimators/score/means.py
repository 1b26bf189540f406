"""Metrics that are means over rows: accuracy, log-loss, Brier score, absolute error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core import Ask, Noise
from ...queries.kinds import CellMoments
from .asking import Released, ScoreResult, ScoreSession
from .card import Score
from .intervals import ScoreEstimate, around, mean, of_proportion


@dataclass(frozen=True)
class Accuracy:
    """Part of the rows whose class is predicted."""

    name: str = "accuracy"

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """One sum for each group."""
        return (Ask(name=self.name, question="CellMoments", noise=noise),)

    def run(self, asker: ScoreSession, people: Released) -> ScoreResult:
        """A proportion of each group."""
        design = asker.design
        told = asker.moments(CellMoments(design.cells(), "correct", squares=False), self.name)
        scores = []
        for group, which in design.each():
            size, part = asker.size(people.pooled(which)), told.pooled(which)
            found = mean(float(part.values[0, 0, 0]), None, part.noise, size).scaled(0.5, 0.5)
            low, high = of_proportion(found, size.rows, design.confidence)
            scores.append(bounded_score(self.name, group, found, low, high))
        return ScoreResult(tuple(scores))


@dataclass(frozen=True)
class BalancedAccuracy:
    """Mean over the classes of the part of each that is predicted."""

    name: str = "balanced_accuracy"

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """One sum for each group and class."""
        return (Ask(name=self.name, question="CellMoments", noise=noise),)

    def run(self, asker: ScoreSession, people: Released) -> ScoreResult:
        """Proportions of each class, and their mean."""
        design = asker.design
        told = asker.moments(CellMoments(design.cells(by_class=True), "correct", squares=False), self.name)
        scores = []
        for group, which in design.each():
            counted, part = people.pooled(which), told.pooled(which)
            recalls = []
            for k in range(design.classes):
                size = asker.size(Released(counted.values[k : k + 1], counted.noise))
                recalls.append(mean(float(part.values[0, k, 0]), None, part.noise, size).scaled(0.5, 0.5))
            found = ScoreEstimate(
                float(np.mean([r.value for r in recalls])),
                math.fsum(r.noise for r in recalls) / design.classes**2,
                math.fsum(r.sampling for r in recalls) / design.classes**2,
            )
            scores.append(bounded_score(self.name, group, found, *around(found, design.confidence, 0.0, 1.0)))
        return ScoreResult(tuple(scores))


@dataclass(frozen=True)
class MeanLossMetric:
    """Mean over rows of a loss that is clipped to [0, bound].

    Parameters
    ----------
    name : str
    value : str
        Kind of the loss.
    """

    name: str
    value: str

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """Two sums for each group: of the losses and of their squares."""
        return (Ask(name=self.name, question="CellMoments", noise=noise),)

    def run(self, asker: ScoreSession, people: Released) -> ScoreResult:
        """A mean of each group."""
        design = asker.design
        bound = design.bounds[self.name]
        told = asker.moments(CellMoments(design.cells(), self.value, bound, within=design.within), self.name)
        scores = []
        for group, which in design.each():
            part = told.pooled(which)
            total, square = part.values[:, 0, 0]
            found = mean(float(total), float(square), part.noise, asker.size(people.pooled(which)))
            found = found.scaled(bound / 2, bound / 2)
            scores.append(bounded_score(self.name, group, found, *around(found, design.confidence, 0.0, bound)))
        return ScoreResult(tuple(scores))


def bounded_score(metric: str, group: str | None, found: ScoreEstimate, low: float, high: float) -> Score:
    """A score of an estimate and its interval; a value beyond its interval is moved to the end of it."""
    value = found.value if math.isnan(found.value) else min(max(found.value, low), high)
    return Score(metric, group, value, low, high, math.sqrt(found.noise), math.sqrt(found.sampling))
