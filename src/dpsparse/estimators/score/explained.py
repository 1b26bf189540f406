r"""The part of the variance that a regression explains.

.. math:: R^2 = 1 - \frac{M}{V}, \qquad M = \overline{\min(r^2, B)}, \quad V = \overline{y^2} - \bar y^2

The error of sampling of :math:`R^2` is, to first order, that of the mean of
:math:`-(r_i^2 - (1-R^2)(y_i-\bar y)^2)/V`; its mean square is asked for once M, V and
:math:`\bar y` are known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core import Ask, Noise
from ...queries.kinds import CellMoments
from .asking import Released, ScoreResult, ScoreSession
from .intervals import CLEAR, UNKNOWN, GroupSize, ScoreEstimate, around
from .means import bounded_score


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
        scores = []
        for group, which in design.each():
            size = asker.size(people.pooled(which))
            found = _parts(squared.pooled(which), targets.pooled(which), size, top, bound)
            second = float(rows.pooled(which).values[1, 0, 0]) / max(size.part, 1e-9) + 0.5
            estimate = found.estimate(size, widest**2 * min(max(second, 0.0), 1.0))
            scores.append(
                bounded_score(self.name, group, estimate, *around(estimate, design.confidence, -math.inf, 1.0))
            )
        return ScoreResult(tuple(scores))


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
