"""Costs that can be stored and composed: of a priced plan, of several together, of a budget guaranteed in advance."""

from .base import Cost
from .fixed import FixedCost
from .plan import PlanCost
from .sum import SumCost

__all__ = ["Cost", "FixedCost", "PlanCost", "SumCost"]
