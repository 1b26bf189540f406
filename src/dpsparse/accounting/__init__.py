"""What a plan costs: draws, composition, prices, loss distributions, filters. Knows neither rows nor noise."""

from .costs import Cost, FixedCost, PlanCost, SumCost
from .costs.unit import bare_cost, cost_of_units
from .draws import TurnCost
from .pricing import PricedPlan, price

__all__ = ["Cost", "FixedCost", "PlanCost", "PricedPlan", "SumCost", "TurnCost", "bare_cost", "cost_of_units", "price"]
