"""Costs that can be stored and composed: of a priced plan, of several together, of a budget promised in advance."""

from .base import Bill
from .fixed import Promise
from .plan import PlanBill
from .sum import SumBill

__all__ = ["Bill", "PlanBill", "Promise", "SumBill"]
