r"""Metrics: means over rows, the area under the ROC curve, calibration, and the explained part of the variance.

AUC. With parts :math:`p_b, q_b` of all rows that are positive and negative and lie in bin b,
:math:`P = \sum p_b, N = \sum q_b`,

.. math:: A = \frac1{PN}\sum_b p_b\Bigl(\sum_{c<b} q_c + \tfrac12 q_b\Bigr)
          = \frac1P\sum_b p_b V_b = \frac1N\sum_b q_b W_b

for :math:`V_b` the part of the negatives below bin b (half of those in it) and :math:`W_b` the part
of the positives above it. Noise in :math:`p_b` and :math:`q_b` moves A by :math:`(V_b - A)/P` and
:math:`(W_b - A)/N` per unit, to first order. The error of sampling has variance
:math:`\mathrm{var}_p(V)/(nP) + \mathrm{var}_q(W)/(nN)` [DDC88]_.

The explained part of the variance of a regression.

.. math:: R^2 = 1 - \frac{M}{V}, \qquad M = \overline{\min(r^2, B)}, \quad V = \overline{y^2} - \bar y^2

The error of sampling of :math:`R^2` is, to first order, that of the mean of
:math:`-(r_i^2 - (1-R^2)(y_i-\bar y)^2)/V`; its mean square is asked for once M, V and
:math:`\bar y` are known.

References
----------
.. [DDC88] DeLong, DeLong and Clarke-Pearson, Biometrics 1988.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from ...core import Ask, Noise
from ...core.facts import Vector
from ...queries.kinds import CellMoments
from .asking import (
    CLEAR,
    UNKNOWN,
    Groups,
    GroupSize,
    Released,
    ScoreEstimate,
    ScorePlan,
    ScoreResult,
    ScoreSession,
    around,
    mean,
    of_proportion,
)
from .card import CurvePoint, Score


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

        def estimate(which: Groups) -> ScoreEstimate:
            counted, part = people.pooled(which), told.pooled(which)
            recalls = []
            for k in range(design.classes):
                size = asker.size(Released(counted.values[k : k + 1], counted.noise))
                recalls.append(mean(float(part.values[0, k, 0]), None, part.noise, size).scaled(0.5, 0.5))
            return ScoreEstimate(
                float(np.mean([r.value for r in recalls])),
                math.fsum(r.noise for r in recalls) / design.classes**2,
                math.fsum(r.sampling for r in recalls) / design.classes**2,
            )

        return score_each(self.name, design, estimate, 0.0, 1.0)


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

        def estimate(which: Groups) -> ScoreEstimate:
            part = told.pooled(which)
            total, square = part.values[:, 0, 0]
            found = mean(float(total), float(square), part.noise, asker.size(people.pooled(which)))
            return found.scaled(bound / 2, bound / 2)

        return score_each(self.name, design, estimate, 0.0, bound)


def score_each(
    name: str, design: ScorePlan, estimate: Callable[[Groups], ScoreEstimate], low: float, high: float
) -> ScoreResult:
    """A score of all rows and of each group, with an interval within what is possible."""
    found = [(group, estimate(which)) for group, which in design.each()]
    each = (bounded_score(name, group, one, *around(one, design.confidence, low, high)) for group, one in found)
    return ScoreResult(tuple(each))


def bounded_score(metric: str, group: str | None, found: ScoreEstimate, low: float, high: float) -> Score:
    """A score of an estimate and its interval; a value beyond its interval is moved to the end of it."""
    value = found.value if math.isnan(found.value) else min(max(found.value, low), high)
    return Score(metric, group, value, low, high, math.sqrt(found.noise), math.sqrt(found.sampling))


# ------------------------------------------------------------------------------------------------ two classes

#: Margins lie within this, or count as if they did.
WIDEST = 40.0
#: Distances from the centre at which margins are first looked for.
FIRST = (0.1, 0.3, 1.0, 3.0, 10.0, WIDEST)
#: Turns in which the range of margins is found, and into how many bins it is cut the second time and at last.
TURNS, BINS = 2, 16
#: Part of the rows that may lie beyond each end of the range, and this number of standard deviations of the noise,
#: so that noise does not widen it.
OUTSIDE, CLEARLY = 0.01, 2.0


@dataclass(frozen=True)
class AUC:
    """Area under the ROC curve: how often a row of the second class has a higher margin than one of the first.

    Ties count half.
    """

    name: str = "auc"

    @property
    def grid(self) -> str:
        """Name of the ask that looks for the margins."""
        return f"{self.name}: grid"

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """A few coarse counts of all rows, and one of both classes by margin."""
        looked = Ask(name=self.grid, question="CellCounts", noise=noise, times=TURNS, share=0.25)
        return looked, Ask(name=self.name, question="CellCounts", noise=noise, share=0.75)

    def run(self, asker: ScoreSession, people: Released) -> ScoreResult:
        """Find where margins lie, then count both classes there."""
        design = asker.design
        edges = self._edges(asker)
        told = asker.counts(design.cells(by_class=True, edges=edges), self.name)

        def estimate(which: Groups) -> ScoreEstimate:
            part = told.pooled(which)
            return area(part.values[1], part.values[0], part.noise, design.n_rows)

        return score_each(self.name, design, estimate, 0.0, 1.0)

    def _edges(self, asker: ScoreSession) -> Vector:
        """Edges of equal bins of the range in which nearly all margins lie, as far as noisy counts tell."""
        distances = np.array(FIRST)
        edges = asker.design.centre + np.r_[-distances[::-1], distances]
        for _ in range(TURNS):
            told = asker.counts(asker.design.cells(by_group=False, edges=edges), self.grid)
            counts = told.values.ravel()
            low = _first(counts, told.noise)
            high = edges.size - 1 - _first(counts[::-1], told.noise)
            if low < high:
                edges = np.linspace(edges[low], edges[high], BINS + 1)
        return np.asarray(edges)


def _first(counts: Vector, noise: float) -> int:
    """The last edge below which there are not clearly more than a few rows; the first where all have more."""
    allowed = OUTSIDE + CLEARLY * noise * np.sqrt(np.arange(1, counts.size))
    few = np.cumsum(counts[:-1]) <= allowed
    return int(np.argmin(np.r_[few, False])) - 1 if few[0] else 0


def area(positive: Vector, negative: Vector, noise: float, n_rows: int) -> ScoreEstimate:
    """The area under the ROC curve from noisy parts of the rows by bin, lowest margins first."""
    sizes = [GroupSize(float(v.sum()), noise * math.sqrt(v.size), n_rows) for v in (positive, negative)]
    if not all(size.clear for size in sizes):
        return UNKNOWN
    P, N = sizes[0].part, sizes[1].part
    V = (np.cumsum(negative) - negative / 2) / N
    W = 1.0 - (np.cumsum(positive) - positive / 2) / P
    A = float(positive @ V) / P
    added = noise**2 * float(np.sum((V - A) ** 2) / P**2 + np.sum((W - A) ** 2) / N**2)
    sampled = [
        max(float(parts @ (ranks - A) ** 2) / size.part, 0.0) / size.rows
        for parts, ranks, size in ((positive, V, sizes[0]), (negative, W, sizes[1]))
    ]
    return ScoreEstimate(A, added, math.fsum(sampled))


@dataclass(frozen=True)
class Calibration:
    """For bins of the predicted probability: its mean, and the part of the rows that are of the second class."""

    name: str = "calibration"

    @property
    def place(self) -> str:
        """Name of the ask about the mean predicted probability."""
        return f"{self.name}: predicted"

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """Counts by class and bin, and means within bins, for which a bin is short already."""
        counted = Ask(name=self.name, question="CellCounts", noise=noise, share=0.85)
        return counted, Ask(name=self.place, question="CellMoments", noise=noise, share=0.15)

    def run(self, asker: ScoreSession, people: Released) -> ScoreResult:
        """One point for each bin."""
        design = asker.design
        ends = np.linspace(0.0, 1.0, design.bins + 1)
        edges = logit(ends[1:-1])
        told = asker.counts(design.cells(by_class=True, edges=edges), self.name)
        placed = asker.moments(CellMoments(design.cells(edges=edges), "place", squares=False), self.place)
        points = []
        for group, which in design.each():
            counted, inside = told.pooled(which), placed.pooled(which)
            for b in range(design.bins):
                pair = Released(counted.values[:, b], counted.noise)
                size = asker.size(pair)
                middle, half = (ends[b] + ends[b + 1]) / 2, (ends[b + 1] - ends[b]) / 2
                found = share_of(float(pair.values[1]), float(pair.values[0]), pair.noise, size)
                low, high = of_proportion(found, size.rows, design.confidence)
                predicted = mean(float(inside.values[0, 0, b]), None, inside.noise, size).scaled(half, middle)
                value = found.value if math.isnan(found.value) else min(max(found.value, 0.0), 1.0)
                points.append(
                    CurvePoint(group, ends[b], ends[b + 1], predicted.value, value, low, high, max(size.rows, 0.0))
                )
        return ScoreResult(curve=tuple(points))


def share_of(positive: float, negative: float, noise: float, size: GroupSize) -> ScoreEstimate:
    r"""The share :math:`p = a/(a+b)` of two noisy counts with independent noise.

    It moves p by :math:`(1-p)/(a+b)` and :math:`-p/(a+b)`.
    """
    if not size.clear:
        return UNKNOWN
    p = min(max(positive / size.part, 0.0), 1.0)
    return ScoreEstimate(p, noise**2 * ((1 - p) ** 2 + p**2) / size.part**2, p * (1 - p) / size.rows)


# ------------------------------------------------------------------------------------------------ regression


@dataclass(frozen=True)
class R2:
    """Coefficient of determination."""

    name: str = "r2"

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """Moments of the squared residuals, of the targets, and of what one row adds."""
        return (
            Ask(name=self.name, question="CellMoments", noise=noise, share=0.5),
            Ask(name=f"{self.name}: targets", question="CellMoments", noise=noise, share=0.4),
            Ask(name=f"{self.name}: rows", question="CellMoments", noise=noise, share=0.1),
        )

    def run(self, asker: ScoreSession, people: Released) -> ScoreResult:
        """One number of each group; what one row adds is asked for with the constants of all rows together."""
        design = asker.design
        cells, bound, top = design.cells(), design.target_bound, design.bounds[self.name]
        squared = asker.moments(CellMoments(cells, "squared", top, within=design.within), self.name)
        targets = asker.moments(CellMoments(cells, "target", bound), f"{self.name}: targets")
        everyone = np.arange(max(len(design.groups), 1))
        whole = _parts(
            squared.pooled(everyone), targets.pooled(everyone), asker.size(people.pooled(everyone)), top, bound
        )
        widest = max(top, bound**2)
        ratio = min(whole.ratio, 1.0)
        excess = CellMoments(cells, "excess", widest, centre=whole.centre, ratio=ratio, within=design.within)
        rows = asker.moments(excess, f"{self.name}: rows")

        def estimate(which: Groups) -> ScoreEstimate:
            size = asker.size(people.pooled(which))
            found = _parts(squared.pooled(which), targets.pooled(which), size, top, bound)
            second = float(rows.pooled(which).values[1, 0, 0]) / max(size.part, 1e-9) + 0.5
            return found.estimate(size, widest**2 * min(max(second, 0.0), 1.0))

        return score_each(self.name, design, estimate, -math.inf, 1.0)


@dataclass(frozen=True)
class _Parts:
    """M, V and the centre of the targets, with what noise in each released number does to M and V."""

    error: float
    variance: float
    centre: float
    moved: tuple[tuple[float, float, float], ...]

    @property
    def ratio(self) -> float:
        """M/V, not below zero; 1 where V is not positive."""
        return max(self.error, 0.0) / self.variance if self.variance > 0 else 1.0

    def estimate(self, size: GroupSize, second: float) -> ScoreEstimate:
        """R^2, with both of its variances."""
        spread = math.sqrt(math.fsum(noise**2 * dv**2 for noise, _, dv in self.moved))
        if not size.clear or self.variance < CLEAR * spread:
            return UNKNOWN
        ratio = self.error / self.variance
        added = math.fsum(noise**2 * (dm - ratio * dv) ** 2 for noise, dm, dv in self.moved) / self.variance**2
        return ScoreEstimate(1 - ratio, added, second / self.variance**2 / size.rows)


def _parts(squared: Released, targets: Released, size: GroupSize, top: float, bound: float) -> _Parts:
    """M and V from noisy sums S, T, Q over a noisy count C: M = B(S/C + 1)/2, V = b^2 (Q/C + 1/2 - (T/C)^2)."""
    C = max(size.part, 1e-9)
    S, (T, Q) = float(squared.values[0, 0, 0]), (float(v) for v in targets.values[:, 0, 0])
    t, q = T / C, Q / C + 0.5
    moved = (
        (squared.noise, top / (2 * C), 0.0),
        (targets.noise, 0.0, bound**2 / C),
        (targets.noise, 0.0, -2 * bound**2 * t / C),
        (size.noise, -top * S / (2 * C**2), bound**2 * (2 * t**2 - (q - 0.5)) / C),
    )
    return _Parts(top * (S / C + 1) / 2, bound**2 * (q - t**2), bound * min(max(t, -1.0), 1.0), moved)
