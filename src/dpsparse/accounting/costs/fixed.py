r"""A budget that is guaranteed before it is known what will be asked with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ...core.adjacency import Adjacency
from ...core.codec import form
from ...core.curves import ORDERS, Curve, gaussian_deltas, gaussian_epsilon, largest
from ...core.errors import BudgetError, PrivacyError
from .base import Cost, epsilon_from_renyi

#: Rounding of a calibrated rho towards more noise.
SAFETY = 1.0 - 1e-9

AnyBill = TypeVar("AnyBill", bound=Cost)


@form("kind", "promise", later=(("excess", "slack"),))
@dataclass(frozen=True)
class FixedCost:
    r"""Whatever will be asked, it is :math:`\rho`-zCDP; and nearly Gaussian, if `gaussian`.

    For runs and steps whose plan depends on something that is not known yet (a candidate to be
    drawn, a bound to be released), but whose budget is fixed.

    Parameters
    ----------
    rho : float
    gaussian : bool
        Whether its delta curve is also at most that of a Gaussian with
        :math:`\mu = \sqrt{2\rho(1+x)}`, plus `slack`, at every epsilon >= 0. With x = 0 and no
        slack it is mu-GDP.
    adjacency : Adjacency
    excess, slack : float
        x, and what is added. Plans of selections and noise need a few per cent of rho (see
        `domination`).
    """

    rho: float
    gaussian: bool = False
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    excess: float = 0.0
    slack: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rho) and self.rho > 0):
            raise PrivacyError(f"a guarantee needs a positive finite rho, got {self.rho!r}.")
        if not (0 <= self.excess < math.inf and 0 <= self.slack < 1):
            raise PrivacyError(
                f"a guarantee needs an excess >= 0 and a slack below 1, got {self.excess} and {self.slack}."
            )

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """The line rho times order."""
        return self.rho * orders

    def pure(self) -> float:
        """Infinite: zCDP has no pure epsilon."""
        return math.inf

    def mu(self) -> float:
        """Of Gaussian DP; infinite where none is guaranteed."""
        return self._nearest if self.gaussian and self.slack == 0 else math.inf

    @property
    def _nearest(self) -> float:
        """Mu of the Gaussian that is above it but for the slack."""
        return math.sqrt(2 * self.rho * (1 + self.excess))

    def delta(self, epsilon: float) -> float:
        """`deltas` at one epsilon."""
        return float(self.deltas(np.array([epsilon]))[0])

    def deltas(self, epsilons: Curve) -> Curve:
        """The Gaussian curve, or the tight conversion of zCDP, at many places at once.

        Whichever is smaller where it is not exact.
        """
        if self.gaussian and self.excess == 0 and self.slack == 0:
            return gaussian_deltas(epsilons, self.mu())
        a = ORDERS
        logs = (a - 1) * (self.rho * a) + a * np.log1p(-1 / a) - np.log(a - 1)
        found = np.exp(np.minimum(0.0, np.min(logs - np.outer(epsilons, a - 1), axis=1)))
        return np.asarray(
            np.minimum(found, gaussian_deltas(epsilons, self._nearest) + self.slack) if self.gaussian else found
        )

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at this delta, by the same curves."""
        if not self.gaussian or delta <= self.slack:
            return epsilon_from_renyi(self, delta)
        found = gaussian_epsilon(self._nearest, delta - self.slack)
        return found if self.excess == 0 and self.slack == 0 else min(found, epsilon_from_renyi(self, delta))

    def scaled(self, factor: float) -> FixedCost:
        """With rho times `factor`: that of this number of them, where it is above 1."""
        return replace(self, rho=self.rho * factor, slack=min(self.slack * max(1.0, factor), 1 - 1e-9))


def calibrate(epsilon: float, delta: float, cost: Callable[[float], AnyBill]) -> AnyBill:
    """The bill ``cost(rho)`` with the largest rho for which it is (epsilon, delta)-DP, rounded down.

    `cost` must not fall in rho. Used for the runs of a search and for the steps of a pipeline.
    """
    if not delta > 0:
        raise BudgetError("delta = 0 has no space for Gaussian noise, which this needs. Choose delta > 0.")

    def holds(rho: float) -> bool:
        return cost(rho).delta(epsilon) <= delta

    high = 1.0
    while holds(high):
        high *= 2
        if high > 1e12:
            raise BudgetError(f"epsilon = {epsilon:g} is too large to calibrate. Choose a usual one.")
    rho = largest(holds, 0.0, high, steps=48) * SAFETY
    if not rho > 0 or not cost(rho).epsilon(delta) <= epsilon:
        raise BudgetError(f"epsilon = {epsilon:g}, delta = {delta:g} leaves nothing to spend. Choose a larger budget.")
    return cost(rho)
