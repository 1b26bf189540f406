"""The bill of one fit: its plan and the noise that was priced."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

import numpy as np

from ...core.adjacency import Adjacency
from ...core.codec import Via, form
from ...core.curves import ORDERS, Curve
from ...core.digests import digest_of
from ...core.errors import PrivacyError
from ...core.plan import Plan, read_plan, write_plan
from ..composition import Account
from ..draws import TurnCosts
from ..pricing import PricedPlan


@form("kind", "plan")
@dataclass(frozen=True)
class PlanCost:
    """A plan at a scale: see `PricedPlan.rho_scale`.

    Examples
    --------
    >>> from dpsparse.accounting import price
    >>> from dpsparse.accounting.costs.base import read_cost, write_cost
    >>> from dpsparse.core import Ask, Budget, Noise
    >>> plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=10),))
    >>> bill = PlanCost.of(price(plan, Budget.approx(1.0, 1e-6)))
    >>> round(bill.epsilon(1e-6), 6), read_cost(write_cost(bill)) == bill
    (1.0, True)
    """

    plan: Annotated[Plan, Via(write_plan, read_plan)]
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

    def runs(self, priced: PricedPlan) -> int:
        """How often this bill pays for a priced plan.

        Once for the whole or a part of it, or for each of several models. 0: it is another plan, or at another price.
        """
        if priced.plan.parts or (priced.rho_scale, priced.budget.relation) != (self.rho_scale, self.adjacency):
            return 0
        for whole in self.plan.parts or (self.plan,):
            models = max(1, _turns(whole) // max(1, _turns(priced.plan)))
            run = priced.plan.repeated(models)
            if run is whole or digest_of(run) == digest_of(whole):
                return models
        return 0

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


def _turns(plan: Plan) -> int:
    return sum(ask.times for ask in plan.asks)
