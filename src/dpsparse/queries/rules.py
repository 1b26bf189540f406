"""How queries are answered: for each type its sensitivity, which is public, and its part, made where the rows are."""

from . import (  # noqa: F401  fill the table
    cells,
    choices,
    clipped,
    columns,
    contrast,
    correlation,
    energies,
    framed,
    gradient,
    inference,
    joint,
    polish,
    tallies,
    unread,
    weighted,
)
from .charge import Charge, use
from .gradient import contributions
from .minimum import MINIMA, MinimumRule
from .scores import candidates_of, rounding, score_sensitivity, scores_of
from .sensitivity import RELEASE_UNITS, Sensitivity, SumSpec
from .table import (
    CHOICES,
    SUMS,
    ChoiceRule,
    SumRule,
    SumSpecCache,
    absent_record,
    exact_sum,
    measure,
    partial_sum,
    sum_rule,
    tried,
)
from .votes import VOTE_RANGE, vote_range, votes

__all__ = [
    "CHOICES",
    "MINIMA",
    "RELEASE_UNITS",
    "SUMS",
    "VOTE_RANGE",
    "Charge",
    "ChoiceRule",
    "MinimumRule",
    "Sensitivity",
    "SumRule",
    "SumSpec",
    "SumSpecCache",
    "absent_record",
    "candidates_of",
    "contributions",
    "exact_sum",
    "measure",
    "partial_sum",
    "rounding",
    "score_sensitivity",
    "scores_of",
    "sum_rule",
    "tried",
    "use",
    "vote_range",
    "votes",
]
