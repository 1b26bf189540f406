"""Minimisers: which statistic answers, and how the exact oracle answers alike. Proofs stand in `queries.minimisers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.facts import Vector
from ..rows.shard import Shard
from .charge import Charge
from .kinds import PerturbedMinimum, RidgeMinimum
from .losses import Loss
from .minimisers import MinimiserSpec, exact_minimum, perturbed_spec, ridge_spec
from .table import Asked


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
