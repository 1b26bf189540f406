"""The bill of one fit: its plan and the noise that was priced."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ...core.adjacency import Adjacency
from ...core.curves import ORDERS, Curve
from ...core.errors import PrivacyError
from ...core.plan import Plan
from ...core.plan_json import plan_from_dict, plan_to_dict
from ..composition import Account
from ..draws import TurnCosts
from ..pricing import PricedPlan


@dataclass(frozen=True)
class PlanCost:
    """A plan at a scale: see `PricedPlan.rho_scale`.

    Examples
    --------
    >>> from dpsparse.accounting import price
    >>> from dpsparse.core import Ask, Budget, Noise
    >>> plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=10),))
    >>> bill = PlanCost.of(price(plan, Budget.approx(1.0, 1e-6)))
    >>> round(bill.epsilon(1e-6), 6), PlanCost.from_dict(bill.to_dict()) == bill
    (1.0, True)
    """

    kind: ClassVar[str] = "plan"

    plan: Plan
    rho_scale: float
    adjacency: Adjacency

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rho_scale) and self.rho_scale > 0):
            raise PrivacyError(f"the scale of a bill must be positive, got {self.rho_scale!r}.")
        if self.plan.coins is not None:
            self.plan.coins.check(self.adjacency)
        if self.plan.unproven:
            raise PrivacyError(f"no price covers a plan whose privacy is not proven: {self.plan.unproven}.")

    @classmethod
    def of(cls, priced: PricedPlan) -> Self:
        """The bill of a priced plan."""
        return cls(priced.plan, priced.rho_scale, priced.budget.relation)

    @cached_property
    def account(self) -> Account:
        """All draws; of parts, a bound that treats them as branches."""
        return Account(TurnCosts.of(self.plan, self.rho_scale), self.adjacency)

    @cached_property
    def _parts(self) -> tuple[Account, ...]:
        """Accounts of which a record meets one: those of parts, or the one of all rows."""
        if not self.plan.parts:
            return (self.account,)
        return tuple(Account(TurnCosts.of(part, self.rho_scale), self.adjacency) for part in self.plan.parts)

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences; sampling and random numbers of turns are counted."""
        return np.asarray(np.max([part.renyi(orders) for part in self._parts], axis=0))

    def pure(self) -> float:
        """Epsilon at delta = 0."""
        return max(part.pure() for part in self._parts)

    def mu(self) -> float:
        """GDP from closed forms: exact for unsampled Gaussians."""
        return max(part.mu() for part in self._parts)

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence."""
        return max(part.delta(epsilon) for part in self._parts)

    def epsilon(self, delta: float) -> float:
        """What an accountant certifies for the plan."""
        return max(part.epsilon(delta) for part in self._parts)

    def scaled(self, factor: float) -> Self:
        """The same plan with every rho times `factor`."""
        return replace(self, rho_scale=self.rho_scale * factor)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"plan": plan_to_dict(self.plan), "rho_scale": self.rho_scale, "adjacency": str(self.adjacency)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return cls(plan_from_dict(fields["plan"]), float(fields["rho_scale"]), Adjacency.named(fields["adjacency"]))
