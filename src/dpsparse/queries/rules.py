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
from .charge import Charge
from .gradient import contributions
from .minimum import MINIMA, MinimumRule
from .scores import rounding, score_sensitivity, scores_of
from .sensitivity import RELEASE_UNITS, Sensitivity, SumSpec
from .table import CHOICES, SUMS, ChoiceRule, SumRule, SumSpecCache, exact_sum, measure, partial_sum, sum_rule
from .votes import VOTE_RANGE, exact_votes, votes

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
    "contributions",
    "exact_sum",
    "exact_votes",
    "measure",
    "partial_sum",
    "rounding",
    "score_sensitivity",
    "scores_of",
    "sum_rule",
    "votes",
]
