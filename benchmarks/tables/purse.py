r"""One budget from which every question is paid, with Gaussian accounting and a check by the exact recursion.

A question takes a share of :math:`\mu^2`. Gaussian noise of standard deviation :math:`\Delta/(\mu\sqrt{share})`; a selection
whose scores move by at most one per record adds standard Gumbel noise to score times :math:`\mu\sqrt{share}`, so that its
range is :math:`2\mu\sqrt{share}`.
A selection of range eta counts as a Gaussian of mu = eta/2. That is right in the limit of many small questions, not for one;
`PART` keeps a little back for it, and `PaymentSource.epsilon` recomputes what was really spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from benchmarks.tables.sets import Array

#: Part of the exact Gaussian mu that is used, because selections are not Gaussian.
PART = 0.975
#: Questions of a selection in which n mu is below this use every third point of their grid.
FEW = 25.0


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The mu whose Gaussian mechanism is exactly (epsilon, delta)."""

    def excess(mu: float) -> float:
        return math.exp(log_ndtr(mu / 2 - epsilon / mu)) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)) - delta

    return float(brentq(excess, 1e-6, 100.0))


@dataclass(frozen=True)
class Middle:
    """Which quantiles are asked for, and what they are multiplied with to reach a clip and a length.

    A question errs upwards with a chance of about exp(-(1 - quantile) n mu) for each point of its grid above the data, and
    downwards with exp(-quantile n mu). A clip that is far too large is ruin, and so is a length that is far too small. So few
    records ask for a lower quantile of the one and a higher one of the other.
    """

    clip_quantile: float = 0.65
    clip_factor: float = 1.3
    length_quantile: float = 0.7
    length_factor: float = 1.2


#: For few records.
LOW = Middle(0.5, 1.8, 0.75, 1.15)


@dataclass
class Purse:
    """Pays questions; refuses to overspend. `left` is the share of mu^2 that is not spent yet."""

    mu: float
    rng: np.random.Generator
    left: float = 1.0
    noise: float = 0.0
    ranges: list[tuple[float, int]] = field(default_factory=list)

    @classmethod
    def of(cls, epsilon: float, delta: float, rng: np.random.Generator) -> Purse:
        """A full purse."""
        return cls(PART * gaussian_mu(epsilon, delta), rng)

    def _take(self, share: float) -> float:
        self.left -= share
        if self.left < -1e-9:
            raise RuntimeError("Expected questions whose shares add up to at most one.")
        return self.mu * math.sqrt(share)

    def level(self, share: float) -> float:
        """The mu of a Gaussian question; the caller divides its sensitivity by it."""
        self.noise += share
        return self._take(share)

    def add_noise(self, value: Array, sensitivity: float, share: float) -> tuple[Array, float]:
        """A value with Gaussian noise, and the standard deviation of the noise."""
        sd = sensitivity / self.level(share)
        return value + sd * self.rng.standard_normal(np.shape(value)), sd

    def largest(self, score: Array, share: float, count: int = 1) -> NDIndex:
        """Indices of the `count` largest noisy scores, each of sensitivity one."""
        mu = self._take(share) / math.sqrt(count)
        self.ranges.append((2 * mu, count))
        return np.argsort(-(np.asarray(score, float) * mu + self.rng.gumbel(size=len(score))))[:count]

    def quantile(self, values: Array, q: float, grid: Array, share: float) -> float:
        """The upper end of the grid cell that holds the q-quantile: its score is 0, others lose what they miss."""
        n = len(values)
        if n * self.mu * math.sqrt(share) < FEW:
            grid = grid[::-1][::3][::-1]
        count = np.searchsorted(np.sort(values), grid, side="right")
        below = np.concatenate([[0], count[:-1]])
        score = np.minimum(0.0, np.minimum(count - q * n, q * n - below))
        return float(grid[self.largest(score, share)[0]])

    def length(self, lengths: Array, longest: float, share: float, middle: Middle) -> float:
        """A typical length of rows: a multiple of a middle quantile, at most `longest`."""
        grid = np.geomspace(longest / 1000, longest, 60)
        return min(longest, middle.length_factor * self.quantile(lengths, middle.length_quantile, grid, share))

    def epsilon(self, delta: float) -> float:
        """What was spent, by the recursion over selections and Gaussian noise."""
        from dpsparse.accounting.selections import stage_epsilon
        from dpsparse.accounting.stages import Stage

        return stage_epsilon(delta, Stage(tuple(self.ranges), self.mu * math.sqrt(self.noise)))


NDIndex = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
