"""Poisson loss for counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from ...core.facts import Target, Vector


@dataclass(frozen=True)
class Poisson:
    r"""Poisson regression with a log link.

    Half the deviance of a rate :math:`e^m`, and its tangent beyond a public margin.

    .. math:: \ell(m, y) = e^{\bar m}(1 + m - \bar m) - y m + y\log y - y, \qquad \bar m = \min(m, M)

    The slope :math:`e^{\bar m} - y` is finite, continuous and rises with the margin, and the second
    derivative is at most :math:`e^M`: the loss is convex. Rates and counts beyond :math:`e^M` count
    as :math:`e^M`; targets are counts, so negative ones count as zero.

    Parameters
    ----------
    margin_bound : float
        :math:`M`: public bound on the logarithm of a rate. It decides the curvature, hence step
        sizes: keep it small.

    Examples
    --------
    >>> Poisson(margin_bound=2.0).slope(np.array([0.0, 5.0]), np.array([3.0, 3.0]))
    array([-2.       ,  4.3890561])
    """

    margin_bound: float = 3.0
    name: ClassVar[str] = "poisson"
    classes: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.margin_bound) and 0 < self.margin_bound <= 30):
            raise ValueError(f"margin_bound must lie in (0, 30], got {self.margin_bound!r}.")

    @property
    def curvature(self) -> float:
        """The largest rate."""
        return math.exp(self.margin_bound)

    @property
    def slope_bound(self) -> float:
        """The largest rate."""
        return math.exp(self.margin_bound)

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Half the deviance, with its tangent beyond the bound."""
        held, counts = np.minimum(margin, self.margin_bound), self._counts(y)
        return np.asarray(np.exp(held) * (1.0 + margin - held) - counts * margin + xlogy(counts, counts) - counts)

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """Rate minus count."""
        return np.asarray(self.mean(margin) - self._counts(y))

    def mean(self, margin: Vector) -> Vector:
        """The expected count."""
        return np.asarray(np.exp(np.minimum(margin, self.margin_bound)))

    def bend(self, margin: Vector, y: Vector) -> Vector:
        """The second derivative: the rate up to the bound, 0 beyond."""
        return np.asarray(np.exp(np.minimum(margin, self.margin_bound)) * (margin <= self.margin_bound))

    def targets(self, bound: float) -> Target:
        """Counts."""
        return Target(kind="counts", bound=bound)

    def _counts(self, y: Vector) -> Vector:
        return np.clip(y, 0.0, math.exp(self.margin_bound))
