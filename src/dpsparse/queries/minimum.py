"""Minimisers: which statistic answers, and how the exact oracle answers alike. Proofs stand in `queries.minimisers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.adjacency import Adjacency
from ..core.facts import Vector
from ..rows.shard import Shard
from .kinds import PerturbedMinimum, RidgeMinimum
from .losses import Loss
from .minimisers import Estimate, exact_minimum, ridge_minimum
from .table import Asked


@dataclass(frozen=True)
class MinimumRule:
    """How a minimiser is answered.

    Parameters
    ----------
    estimate : (shards, loss, question, relation) -> Estimate, or None
        Values and their proven sensitivity; None for a perturbed objective, whose noise goes into the minimum.
    exact : (question, shards, loss) -> array
        Without clip, tilt or noise.
    """

    estimate: Callable[[Sequence[Shard], Loss, Asked, Adjacency], Estimate] | None
    exact: Callable[[Asked, Sequence[Shard], Loss], Vector]


def perturbed_exact(question: PerturbedMinimum, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The minimiser."""
    return exact_minimum(shards, loss, question.support, question.ridge)


def ridge_exact(question: RidgeMinimum, shards: Sequence[Shard], loss: Loss) -> Vector:
    """The minimiser, or its labels of the public rows."""
    theta = exact_minimum(shards, loss, question.support, question.ridge)
    return theta if question.design is None else question.design @ theta


MINIMA: dict[type, MinimumRule] = {
    PerturbedMinimum: MinimumRule(None, perturbed_exact),
    RidgeMinimum: MinimumRule(ridge_minimum, ridge_exact),
}
