"""The bill of one fit: its plan and the noise that was priced."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from .account import Account
from .adjacency import Adjacency
from .costs import Costs
from .curves import ORDERS, Curve
from .errors import PrivacyError
from .plan import Plan
from .plan_json import plan_from_dict, plan_to_dict
from .pricing import PricedPlan


@dataclass(frozen=True)
class PlanBill:
    """A plan at a scale: see `PricedPlan.rate`.

    Examples
    --------
    >>> from dpsparse.privacy import Ask, Budget, Noise, price
    >>> plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=10),))
    >>> bill = PlanBill.of(price(plan, Budget.approx(1.0, 1e-6)))
    >>> round(bill.epsilon(1e-6), 6), PlanBill.from_dict(bill.to_dict()) == bill
    (1.0, True)
    """

    kind: ClassVar[str] = "plan"

    plan: Plan
    rate: float
    adjacency: Adjacency

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise PrivacyError(f"the scale of a bill must be positive, got {self.rate!r}.")

    @classmethod
    def of(cls, priced: PricedPlan) -> Self:
        """The bill of a priced plan."""
        return cls(priced.plan, priced.rate, priced.budget.relation)

    @cached_property
    def account(self) -> Account:
        """All draws."""
        return Account(Costs.of(self.plan, self.rate), self.adjacency)

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences; sampling and random numbers of turns are counted."""
        return self.account.renyi(orders)

    def pure(self) -> float:
        """Epsilon at delta = 0."""
        return self.account.pure()

    def mu(self) -> float:
        """GDP from closed forms: exact for unsampled Gaussians."""
        return self.account.mu()

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence."""
        return self.account.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """What an accountant certifies for the plan."""
        return self.account.epsilon(delta)

    def scaled(self, factor: float) -> Self:
        """The same plan with every rho times `factor`."""
        return replace(self, rate=self.rate * factor)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"plan": plan_to_dict(self.plan), "rate": self.rate, "adjacency": str(self.adjacency)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return cls(plan_from_dict(fields["plan"]), float(fields["rate"]), Adjacency.named(fields["adjacency"]))
