"""The analytic Gaussian mechanism on one person's device."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..gaussian import lattice_gaussian
from ..randomness import Randomness
from .coins import check_positive, polar
from .scalar import Reports, Vector

#: Steps of the lattice per standard deviation of the noise, or per radius where that is larger.
STEPS = 2.0**20


@dataclass(frozen=True)
class LocalGaussian:
    r"""Gaussian noise on a vector of norm at most r, for (epsilon, delta).

    .. math:: z = v + N(0, \sigma^2 I), \qquad \sigma = 2r/\mu

    Guarantee
    ---------
    **Privacy.** Two vectors of the ball are at most 2r apart, also on the lattice: entries are
    truncated towards zero, which shrinks norms. The report is :math:`\mu`-GDP, hence
    :math:`(\epsilon,\delta)`-LDP for the mu of the exact Gaussian curve [BW18]_. (Density ratio:
    :math:`e^{\mu^2/2 + \mu t}` at t standard deviations along the difference: unbounded, hence
    delta.) **Unbiased**, up to one step of the lattice. **Variance.** :math:`\sigma^2` in every
    entry, :math:`p\sigma^2` in all.

    Parameters
    ----------
    dimension : int
    mu : float
        From the price.
    radius : float
        r: vectors are clipped to it.

    References
    ----------
    .. [BW18] Balle and Wang, ICML 2018.
    """

    dimension: int
    mu: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self.mu, "mu")
        check_positive(self.radius, "the radius of a ball")
        if self.dimension < 1:
            raise ValueError(f"a report needs at least one entry, got {self.dimension}.")

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise in every entry."""
        return 2 * self.radius / self.mu

    @property
    def unit(self) -> float:
        """One step of the lattice of reports."""
        return max(self.sigma, self.radius) / STEPS

    @property
    def largest(self) -> float:
        """Norm beyond which a report is refused: an honest one is longer with probability below 1e-15."""
        return self.radius + self.sigma * (math.sqrt(self.dimension) + 8.0)

    def reports(self, values: Vector, randomness: Randomness) -> Reports:
        """One report for each row of `values`.

        Rows beyond the radius are clipped to it, rows that are not finite are zero.
        """
        u, norms = polar(np.reshape(values, (len(values), self.dimension)))
        held = u * (np.minimum(norms, self.radius) * (1 - 1e-12))[:, None]  # a little less, against rounding
        whole = np.trunc(held / self.unit).astype(np.int64)
        noisy = lattice_gaussian(whole, self.sigma / self.unit, randomness)
        return np.clip(noisy, -(2**31) + 1, 2**31 - 1).astype(np.int32).reshape(np.shape(values))

    def total(self, values: Vector, randomness: Randomness) -> NDArray[np.int64]:
        """The sum of one report for each row of `values`."""
        return np.asarray(self.reports(values, randomness).sum(axis=0, dtype=np.int64))

    def valid(self, reports: Reports) -> bool:
        """Whether these could be reports: of this many entries, and not longer than honest ones are."""
        rows = reports.astype(float).reshape(-1, self.dimension) if reports.size % self.dimension == 0 else None
        if rows is None:
            return False
        return bool(np.all(np.sqrt(np.square(rows).sum(axis=1)) * self.unit <= self.largest))

    def variance(self, norm: float = 0.0) -> float:
        """Mean squared error of a report, whatever the vector."""
        return self.dimension * self.sigma**2
