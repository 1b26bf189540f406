"""What a plan costs: draws, composition, prices, loss distributions, filters. Knows neither rows nor noise."""

from .costs import Bill, PlanBill, Promise, SumBill
from .draws import Cost
from .pricing import PricedPlan, price

__all__ = ["Bill", "Cost", "PlanBill", "PricedPlan", "Promise", "SumBill", "price"]
