"""What is promised: adjacency, budget, plan, participation, statement, errors."""

from .adjacency import Adjacency
from .attacker import attacker_success
from .budget import Budget
from .errors import (
    AssumptionError,
    BudgetError,
    BudgetExceededError,
    DataError,
    HopelessFitWarning,
    LedgerError,
    LedgerNotWrittenError,
    LedgerTamperedError,
    MissingBoundError,
    MissingValueError,
    NonPrivateRandomnessWarning,
    NotPricedError,
    PrivacyError,
    PrivacyLeakError,
    RepeatedFitWarning,
    RunRepeatedError,
    UnreadCellsWarning,
)
from .participation import OncePerPerson
from .parts import Coins
from .plan import Ask, EveryRow, Noise, Participation, Plan, PoissonRows, RandomTimes
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
    "Coins",
    "DataError",
    "EveryRow",
    "HopelessFitWarning",
    "LedgerError",
    "LedgerNotWrittenError",
    "LedgerTamperedError",
    "MissingBoundError",
    "MissingValueError",
    "Noise",
    "NonPrivateRandomnessWarning",
    "NotPricedError",
    "OncePerPerson",
    "Participation",
    "Plan",
    "PoissonRows",
    "PrivacyError",
    "PrivacyLeakError",
    "RandomTimes",
    "RepeatedFitWarning",
    "RunRepeatedError",
    "Statement",
    "UnreadCellsWarning",
    "attacker_success",
]
