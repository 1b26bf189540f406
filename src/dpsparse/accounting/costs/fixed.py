r"""A budget that is promised before it is known what will be asked with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ...privacy.adjacency import Adjacency
from ...privacy.curves import ORDERS, Curve, gaussian_delta, gaussian_deltas, gaussian_epsilon, largest
from ...privacy.errors import BudgetError, PrivacyError
from .base import Bill, delta_from_renyi, epsilon_from_renyi

#: Rounding of a calibrated rho towards more noise.
SAFETY = 1.0 - 1e-9

AnyBill = TypeVar("AnyBill", bound=Bill)


@dataclass(frozen=True)
class Promise:
    r"""Whatever will be asked, it is :math:`\rho`-zCDP; and :math:`\sqrt{2\rho}`-GDP, if `gaussian`.

    For runs and steps whose plan depends on something that is not known yet (a candidate to be drawn, a bound to be
    released), but whose budget is fixed.
    """

    kind: ClassVar[str] = "promise"
    rho: float
    gaussian: bool = False
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rho) and self.rho > 0):
            raise PrivacyError(f"a promise needs a positive finite rho, got {self.rho!r}.")

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """The line rho times order."""
        return self.rho * orders

    def pure(self) -> float:
        """Infinite: zCDP has no pure epsilon."""
        return math.inf

    def mu(self) -> float:
        """sqrt(2 rho), if it is Gaussian."""
        return math.sqrt(2 * self.rho) if self.gaussian else math.inf

    def delta(self, epsilon: float) -> float:
        """The exact Gaussian curve, or the tight conversion of zCDP."""
        return gaussian_delta(epsilon, self.mu()) if self.gaussian else delta_from_renyi(self, epsilon)

    def deltas(self, epsilons: Curve) -> Curve:
        """`delta` at many places at once."""
        if self.gaussian:
            return gaussian_deltas(epsilons, self.mu())
        a = ORDERS
        logs = (a - 1) * (self.rho * a) + a * np.log1p(-1 / a) - np.log(a - 1)
        return np.asarray(np.exp(np.minimum(0.0, np.min(logs - np.outer(epsilons, a - 1), axis=1))))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at this delta, by the same curves."""
        return gaussian_epsilon(self.mu(), delta) if self.gaussian and delta > 0 else epsilon_from_renyi(self, delta)

    def scaled(self, factor: float) -> Promise:
        """With rho times `factor`."""
        return Promise(self.rho * factor, self.gaussian, self.adjacency)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {"rho": self.rho, "gaussian": self.gaussian, "adjacency": str(self.adjacency)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return cls(float(fields["rho"]), bool(fields["gaussian"]), Adjacency.named(fields["adjacency"]))


def calibrate(epsilon: float, delta: float, cost: Callable[[float], AnyBill]) -> AnyBill:
    """The bill ``cost(rho)`` with the largest rho for which it is (epsilon, delta)-DP, rounded down.

    `cost` must not fall in rho. Used for the runs of a search and for the steps of a pipeline.
    """
    if not delta > 0:
        raise BudgetError("delta = 0 has no room for Gaussian noise, which this needs. Choose delta > 0.")

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
