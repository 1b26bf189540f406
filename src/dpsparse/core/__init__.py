"""What is guaranteed: adjacency, budget, plan, participation, statement, errors."""

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
    ResumeError,
    RetryLaterError,
    RunRepeatedError,
    UnreadCellsWarning,
)
from .participation import OncePerPerson
from .parts import SplitRule
from .plan import Ask, EveryRow, Noise, Participation, Plan, PoissonRows, RandomTurns
from .statement import AskSummary, Receipt, Statement

__all__ = [
    "Adjacency",
    "Ask",
    "AskSummary",
    "AssumptionError",
    "Budget",
    "BudgetError",
    "BudgetExceededError",
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
    "RandomTurns",
    "Receipt",
    "RepeatedFitWarning",
    "ResumeError",
    "RetryLaterError",
    "RunRepeatedError",
    "SplitRule",
    "Statement",
    "UnreadCellsWarning",
    "attacker_success",
]
