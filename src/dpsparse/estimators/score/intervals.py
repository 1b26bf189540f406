r"""Intervals that contain both the noise of privacy and the error of sampling.

Post-processing: only released numbers come in.

A mean over a cell is a ratio of two noisy sums, :math:`\bar t = S/C`. To first order its noise has
variance :math:`(\sigma_S^2 + \bar t^2\sigma_C^2)/C^2`, and the rows themselves, which are a sample
of some population, add :math:`\mathrm{var}(t)/(nC)`. Both are independent, and the interval is of
both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

#: A cell whose noisy count is below this number of its standard deviations, or of rows, is
#: not told from an empty one.
CLEAR = 5.0
FEWEST = 10.0


@dataclass(frozen=True)
class ScoreEstimate:
    """A number with the variance of its noise and that of sampling."""

    value: float
    noise: float
    sampling: float

    @property
    def deviation(self) -> float:
        """Of both together."""
        return math.sqrt(self.noise + self.sampling)

    def scaled(self, factor: float, shift: float = 0.0) -> ScoreEstimate:
        """The estimate of factor times the number, plus a shift."""
        return ScoreEstimate(factor * self.value + shift, factor**2 * self.noise, factor**2 * self.sampling)


#: Of a cell that is not told from an empty one.
UNKNOWN = ScoreEstimate(math.nan, math.inf, math.inf)


@dataclass(frozen=True)
class GroupSize:
    """A noisy part of the rows, the standard deviation of its noise, and the public number of rows."""

    part: float
    noise: float
    n_rows: int

    @property
    def rows(self) -> float:
        """Estimated number of rows."""
        return self.part * self.n_rows

    @property
    def clear(self) -> bool:
        """Whether it is distinguished from an empty one."""
        return self.part > CLEAR * self.noise and self.rows >= FEWEST


def mean(total: float, square: float | None, noise: float, size: GroupSize) -> ScoreEstimate:
    """The mean of t in [-1, 1] over a cell.

    Parameters
    ----------
    total : float
        Noisy sum of t.
    square : float or None
        Noisy sum of t^2 - 1/2; None where t is 1 or -1: its variance follows from its mean, to
        which four rows of both kinds are added [AC98]_, since a proportion near 0 or 1 would look
        surer than it is.
    noise : float
        Standard deviation of the noise in each of them.
    size : GroupSize

    References
    ----------
    .. [AC98] Agresti and Coull, The American Statistician 1998.
    """
    if not size.clear:
        return UNKNOWN
    t = min(max(total / size.part, -1.0), 1.0)
    if square is None:
        variance = 1.0 - (t * size.rows / (size.rows + 4.0)) ** 2
    else:
        variance = max(min(max(square / size.part + 0.5, 0.0), 1.0) - t**2, 0.0)
    added = (noise**2 + t**2 * size.noise**2) / size.part**2
    return ScoreEstimate(t, added, variance / size.rows)


def around(found: ScoreEstimate, confidence: float, lowest: float, highest: float) -> tuple[float, float]:
    """The value and as much to both sides as noise and sampling call for, within what is possible."""
    if math.isnan(found.value):
        return lowest, highest
    reach = quantile(confidence) * found.deviation
    return max(found.value - reach, lowest), min(found.value + reach, highest)


def of_proportion(found: ScoreEstimate, rows: float, confidence: float) -> tuple[float, float]:
    r"""Wilson's interval with noise.

    All p with :math:`(\hat p - p)^2 \le z^2 (p(1-p)/N + s^2)`, :math:`s^2` the variance of the
    noise.
    """
    if math.isnan(found.value):
        return 0.0, 1.0
    z2 = quantile(confidence) ** 2
    a, b, c = 1 + z2 / rows, 2 * found.value + z2 / rows, found.value**2 - z2 * found.noise
    root = math.sqrt(max(b**2 - 4 * a * c, 0.0))
    return max((b - root) / (2 * a), 0.0), min((b + root) / (2 * a), 1.0)


def quantile(confidence: float) -> float:
    """Of the normal law, two-sided."""
    return float(ndtri(0.5 + confidence / 2))
