"""How queries are answered: for each type its sensitivity, which is public, and its part, made where the rows are.

Rules of sums and choices are filled in by the files that are imported here. Minimisers are no sums: their rules are in
this file, and their proofs in `queries.minimisers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.facts import Vector
from ..rows.shard import Shard
from . import (  # noqa: F401  fill the table
    cells,
    choices,
    columns,
    contrast,
    framed,
    gradient,
    inference,
    polish,
    tallies,
    weighted,
)
from .charge import Charge, use
from .gradient import contributions
from .kinds import PerturbedMinimum, RidgeMinimum
from .losses import Loss
from .minimisers import MinimiserSpec, exact_minimum, perturbed_spec, ridge_spec
from .scores import candidates_of, rounding, score_sensitivity, scores_of
from .sensitivity import RELEASE_UNITS, Sensitivity, SumSpec
from .table import (
    CHECKED,
    CHOICES,
    SUMS,
    Asked,
    ChoiceRule,
    SumRule,
    SumSpecCache,
    absent_record,
    exact_sum,
    measure,
    partial_sum,
    sum_rule,
    try_out,
)
from .votes import VOTE_RANGE, vote_range, votes


@dataclass(frozen=True)
class MinimumRule:
    """How a minimiser is answered.

    Parameters
    ----------
    measure : (question, loss, n_rows, strength) -> (float, float, MinimiserSpec)
        Sensitivity and strength of the priced noise, and how the values are released: public.
        Refuses what has no proof.
    exact : (charge, shards, loss) -> array
        Without clip, tilt or noise.
    """

    measure: Callable[[Asked, Loss, int, float], tuple[float, float, MinimiserSpec]]
    exact: Callable[[Charge, Sequence[Shard], Loss], Vector]


def ridge_exact(charge: Charge, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The minimiser, or its labels of the public rows."""
    theta, design = exact_minimum(charge, shards, loss), charge.query.design
    return theta if design is None else design @ theta


MINIMA: dict[type, MinimumRule] = {
    PerturbedMinimum: MinimumRule(perturbed_spec, exact_minimum),
    RidgeMinimum: MinimumRule(ridge_spec, ridge_exact),
}


__all__ = [
    "CHECKED",
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
    "try_out",
    "use",
    "vote_range",
    "votes",
]
