"""The bill of several things that are paid together: the steps of a pipeline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Self

import numpy as np

from ...core.adjacency import Adjacency
from ...core.codec import form
from ...core.curves import ORDERS, Curve, gaussian_delta, gaussian_epsilon
from ...core.errors import PrivacyError
from ..composition import Account
from ..draws import TurnCosts
from .base import Cost, delta_from_renyi, epsilon_from_renyi
from .plan import PlanCost


@form("kind", "sum")
@dataclass(frozen=True)
class SumCost:
    r"""Bills of one plan whose parts run one after the other.

    Guarantee
    ---------
    All parts are fixed when the sum is made, before any of them runs, so adaptive composition
    applies: Renyi divergences, squares of mu and pure epsilons add up. Where the draws of every
    part are known, they are priced together.

    Parameters
    ----------
    parts : tuple of Cost
        In the order in which they run, under one adjacency.
    """

    parts: tuple[Cost, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise PrivacyError("a sum of bills needs at least one part.")
        if len({p.adjacency for p in self.parts}) > 1:
            raise PrivacyError("the parts of a bill must share one adjacency.")

    @property
    def adjacency(self) -> Adjacency:
        """That of every part."""
        return self.parts[0].adjacency

    @cached_property
    def account(self) -> Account | None:
        """All draws of all parts.

        None where those of a part are not known, or not priced together by any accountant.
        """
        accounts = [p.account for p in self.parts if isinstance(p, PlanCost | SumCost)]
        known = [a.costs for a in accounts if a is not None]
        if len(known) < len(self.parts):
            return None
        costs = reduce(TurnCosts.then, known)
        priceable = not costs.sampled or (costs.gaussian and not costs.branches)
        return Account(costs, self.adjacency) if priceable else None

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences."""
        return np.asarray(sum(p.renyi(orders) for p in self.parts))

    def pure(self) -> float:
        """Epsilon at delta = 0."""
        return math.fsum(p.pure() for p in self.parts)

    def mu(self) -> float:
        """GDP."""
        return math.sqrt(math.fsum(p.mu() ** 2 for p in self.parts))

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence."""
        if self.account is not None:
            return self.account.delta(epsilon)
        found = delta_from_renyi(self, epsilon)
        return found if math.isinf(self.mu()) else min(found, gaussian_delta(epsilon, self.mu()))

    def epsilon(self, delta: float) -> float:
        """What is certified for the whole."""
        if self.account is not None:
            return self.account.epsilon(delta)
        found = epsilon_from_renyi(self, delta)
        return found if math.isinf(self.mu()) or delta == 0 else min(found, gaussian_epsilon(self.mu(), delta))

    def scaled(self, factor: float) -> Self:
        """Every part scaled."""
        return type(self)(tuple(p.scaled(factor) for p in self.parts))
