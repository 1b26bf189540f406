"""What a plan costs: draws, composition, prices, loss distributions, filters. Knows neither rows nor noise."""

from .costs import Cost, FixedCost, PlanCost, SumCost
from .draws import TurnCost
from .pricing import PricedPlan, price

__all__ = ["Cost", "FixedCost", "PlanCost", "PricedPlan", "SumCost", "TurnCost", "price"]
