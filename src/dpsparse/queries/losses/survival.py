"""The loss of proportional hazards, given what a baseline hazard adds up to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.facts import Target, Vector


@dataclass(frozen=True)
class Survival:
    r"""Poisson regression of one event with the exposure :math:`|y|`: the baseline hazard that a person lived through.

    .. math:: \ell(m, y) = e^{\bar m}(1 + m - \bar m)\,|y| - [y > 0]\, m, \qquad \bar m = \min(m, M)

    Targets are :math:`+H` where the time ended with the event and :math:`-H` where it was censored, for
    the cumulative baseline hazard H. The slope :math:`e^{\bar m}|y| - [y > 0]` is minus the martingale
    residual. For the estimator `dpsparse.SparseSurvival`, which makes these targets.

    Parameters
    ----------
    margin_bound : float
        :math:`M`: public bound on a log hazard ratio.

    Examples
    --------
    >>> Survival().slope(np.array([0.0, 0.0]), np.array([0.25, -0.25]))
    array([-0.75,  0.25])
    """

    margin_bound: float = 2.5
    name: ClassVar[str] = "survival"
    classes: ClassVar[bool] = False
    convex: ClassVar[bool] = False  # it is, but its curvature below is no bound: no minimiser may depend on it
    rowwise: ClassVar[bool] = True
    #: Typical, not largest: step lengths come from it, and no guarantee.
    curvature: ClassVar[float] = 0.25
    slope_bound: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        if not (np.isfinite(self.margin_bound) and 0 < self.margin_bound <= 30):
            raise ValueError(f"margin_bound must lie in (0, 30], got {self.margin_bound!r}.")

    def value(self, margin: Vector, y: Vector) -> Vector:
        """The negative log-likelihood, with its tangent beyond the bound."""
        held = np.minimum(margin, self.margin_bound)
        return np.asarray(np.exp(held) * (1.0 + margin - held) * np.abs(y) - (y > 0) * margin)

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """Expected minus observed events."""
        return np.asarray(np.exp(np.minimum(margin, self.margin_bound)) * np.abs(y) - (y > 0))

    def targets(self, bound: float) -> Target:
        """Events."""
        return Target(kind="events", bound=bound)
