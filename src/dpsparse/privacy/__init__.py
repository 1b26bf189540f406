"""Budgets, plans, prices and statements: everything that says epsilon."""

from .adjacency import Adjacency
from .budget import Budget
from .costs import Cost
from .errors import (
    AssumptionError,
    BudgetError,
    BudgetExceededError,
    DataError,
    MissingBoundError,
    NonPrivateRandomnessWarning,
    NotPricedError,
    PrivacyError,
)
from .plan import Ask, EveryRow, Noise, Participation, Plan, PoissonRows, RandomTimes
from .pricing import PricedPlan, price
from .statement import Answer, AskRecord, Statement

__all__ = [
    "Adjacency",
    "Answer",
    "Ask",
    "AskRecord",
    "AssumptionError",
    "Budget",
    "BudgetError",
    "BudgetExceededError",
    "Cost",
    "DataError",
    "EveryRow",
    "MissingBoundError",
    "Noise",
    "NonPrivateRandomnessWarning",
    "NotPricedError",
    "Participation",
    "Plan",
    "PoissonRows",
    "PricedPlan",
    "PrivacyError",
    "RandomTimes",
    "Statement",
    "price",
]
