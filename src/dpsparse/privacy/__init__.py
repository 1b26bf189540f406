"""Budgets, plans, prices and statements: everything that says epsilon."""

from .adjacency import Adjacency
from .budget import Budget
from .costs import Cost
from .errors import (
    AssumptionError,
    BudgetError,
    BudgetExceededError,
    DataError,
    LedgerError,
    LedgerNotWrittenError,
    LedgerTamperedError,
    MissingBoundError,
    NonPrivateRandomnessWarning,
    NotPricedError,
    PrivacyError,
    PrivacyLeakError,
)
from .ledger import Ledger
from .ledger_entries import Amount, Entry
from .once import OncePerPerson
from .plan import Ask, EveryRow, Noise, Participation, Plan, PoissonRows, RandomTimes
from .plan_bill import PlanBill
from .pricing import PricedPlan, price
from .reservation import Reservation
from .statement import Answer, AskRecord, Statement
from .sum_bill import SumBill

__all__ = [
    "Adjacency",
    "Amount",
    "Answer",
    "Ask",
    "AskRecord",
    "AssumptionError",
    "Budget",
    "BudgetError",
    "BudgetExceededError",
    "Cost",
    "DataError",
    "Entry",
    "EveryRow",
    "Ledger",
    "LedgerError",
    "LedgerNotWrittenError",
    "LedgerTamperedError",
    "MissingBoundError",
    "Noise",
    "NonPrivateRandomnessWarning",
    "NotPricedError",
    "OncePerPerson",
    "Participation",
    "Plan",
    "PlanBill",
    "PoissonRows",
    "PricedPlan",
    "PrivacyError",
    "PrivacyLeakError",
    "RandomTimes",
    "Reservation",
    "Statement",
    "SumBill",
    "price",
]
