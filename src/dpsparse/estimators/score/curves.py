r"""Metrics of two classes that need the distribution of margins: area under the ROC curve, and calibration.

AUC. With parts :math:`p_b, q_b` of all rows that are positive and negative and lie in bin b,
:math:`P = \sum p_b, N = \sum q_b`,

.. math:: A = \frac1{PN}\sum_b p_b\Bigl(\sum_{c<b} q_c + \tfrac12 q_b\Bigr)
          = \frac1P\sum_b p_b V_b = \frac1N\sum_b q_b W_b

for :math:`V_b` the part of the negatives below bin b (half of those in it) and :math:`W_b` the part
of the positives above it. Noise in :math:`p_b` and :math:`q_b` moves A by :math:`(V_b - A)/P` and
:math:`(W_b - A)/N` per unit, to first order. The error of sampling has variance
:math:`\mathrm{var}_p(V)/(nP) + \mathrm{var}_q(W)/(nN)` [DDC88]_.

References
----------
.. [DDC88] DeLong, DeLong and Clarke-Pearson, Biometrics 1988.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from ...core import Ask, Noise
from ...core.facts import Vector
from ...queries.kinds import CellMoments
from .asking import Released, ScoreResult, ScoreSession
from .card import CurvePoint
from .intervals import UNKNOWN, GroupSize, ScoreEstimate, around, mean, of_proportion
from .means import bounded_score

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
        scores = []
        for group, which in design.each():
            part = told.pooled(which)
            found = area(part.values[1], part.values[0], part.noise, design.n_rows)
            scores.append(bounded_score(self.name, group, found, *around(found, design.confidence, 0.0, 1.0)))
        return ScoreResult(tuple(scores))

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
