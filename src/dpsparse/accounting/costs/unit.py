"""The bill of a guarantee for units of several rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ...core.adjacency import Adjacency
from ...core.checks import ROW
from ...core.codec import form
from ...core.curves import ORDERS, Curve
from .base import Cost


@form("kind", "unit")
@dataclass(frozen=True)
class UnitCost:
    """A bill whose neighbours differ in all rows with one id; it costs what the bill costs.

    Parameters
    ----------
    cost : Cost
    unit : str
        The word for what has one id.
    """

    cost: Cost
    unit: str

    @property
    def adjacency(self) -> Adjacency:
        """Whether units are replaced, or added and removed."""
        return self.cost.adjacency

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi divergences."""
        return self.cost.renyi(orders)

    def pure(self) -> float:
        """Epsilon at delta = 0."""
        return self.cost.pure()

    def mu(self) -> float:
        """GDP."""
        return self.cost.mu()

    def delta(self, epsilon: float) -> float:
        """Hockey-stick divergence."""
        return self.cost.delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """What is certified."""
        return self.cost.epsilon(delta)

    def scaled(self, factor: float) -> Self:
        """The bill scaled."""
        return type(self)(self.cost.scaled(factor), self.unit)


def cost_of_units(cost: Cost, unit: str) -> Cost:
    """A bill for this unit; rows have the bill as it is."""
    return cost if unit == ROW else UnitCost(cost, unit)


def bare_cost(cost: Cost) -> Cost:
    """A bill without the word for its unit: what it costs."""
    return cost.cost if isinstance(cost, UnitCost) else cost


def unit_of(cost: Cost) -> str:
    """The unit whose neighbours a bill is for."""
    return cost.unit if isinstance(cost, UnitCost) else ROW
