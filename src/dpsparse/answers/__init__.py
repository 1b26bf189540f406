"""How questions are answered: for each type its reach, which is public, and its part, made where the rows are."""

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
from .gradient import contributions
from .minimum import MINIMA, MinimumRule
from .reach import RELEASE_UNITS, Measure, Reach
from .scores import rounding, scores_of, spread
from .table import CHOICES, SUMS, ChoiceRule, Measures, SumRule, measure, part, sum_rule
from .votes import VOTE_RANGE, exact_votes, votes

__all__ = [
    "CHOICES",
    "MINIMA",
    "RELEASE_UNITS",
    "SUMS",
    "VOTE_RANGE",
    "ChoiceRule",
    "Measure",
    "Measures",
    "MinimumRule",
    "Reach",
    "SumRule",
    "contributions",
    "exact_votes",
    "measure",
    "part",
    "rounding",
    "scores_of",
    "spread",
    "sum_rule",
    "votes",
]
