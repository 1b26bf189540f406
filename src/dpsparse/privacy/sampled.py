"""Poisson-sampled Gaussians: the one place that talks to dp-accounting.

Two traps of dp-accounting 0.6 are kept outside this wall, and pinned by tests. Under ``REPLACE_ONE`` its PLD accountant
reads a noise multiplier as sigma / (norm of one record) while its Renyi accountant reads it as sigma / (sensitivity of
the sum); and some events forget their count. Here only PLDs are used, always with sigma / (norm of one record), for the
sampled and the unsampled Gaussians of a plan alike.

Guarantee
---------
`sampled_epsilon` is an upper bound: dp-accounting's connect-the-dots discretisation is pessimistic. That the pair with
opposite unit gradients dominates Poisson sampling under replace-one is taken from dp-accounting; the statement of such a
fit lists it among its assumptions.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from .adjacency import Adjacency

#: (rate, sigma / record norm, count); rate 1 means every row.
SampledGaussian = tuple[float, float, int]

ASSUMPTION = "Poisson sampling under replace-one is accounted with the dominating pair of opposite gradients implemented in dp-accounting"


@lru_cache(maxsize=4096)
def _distribution(rate: float, multiplier: float, relation: Adjacency, interval: float) -> Any:
    import dp_accounting
    from dp_accounting import pld

    quiet = logging.getLogger("absl")
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        neighbours = {
            Adjacency.REPLACE_ONE: dp_accounting.NeighboringRelation.REPLACE_ONE,
            Adjacency.ADD_REMOVE: dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        }[relation]
        accountant = pld.PLDAccountant(neighbours, value_discretization_interval=interval)
        event = dp_accounting.GaussianDpEvent(multiplier)
        accountant.compose(event if rate >= 1 else dp_accounting.PoissonSampledDpEvent(rate, event))
        return accountant._pld
    finally:
        quiet.setLevel(level)


def sampled_loss(steps: Iterable[SampledGaussian], relation: Adjacency, interval: float = 1e-4) -> Any:
    """The privacy loss distribution of all `steps` together."""
    total = None
    for rate, multiplier, count in steps:
        part = _distribution(rate, multiplier, relation, interval)
        if count > 1:
            part = part.self_compose(count)
        total = part if total is None else total.compose(part)
    return total


def sampled_epsilon(
    steps: Iterable[SampledGaussian], delta: float, relation: Adjacency, interval: float = 1e-4
) -> float:
    """Upper bound on epsilon at `delta` for Poisson-sampled and unsampled Gaussians together."""
    loss = sampled_loss(steps, relation, interval)
    return 0.0 if loss is None else float(loss.get_epsilon_for_delta(delta))


def sampled_rate(
    weights: Iterable[tuple[float, float, int]],
    epsilon: float,
    delta: float,
    relation: Adjacency,
    unsampled_rate: float,
) -> float:
    r"""Largest r such that steps with :math:`\sigma/C = \kappa/\sqrt{2 r w}` stay within (epsilon, delta).

    `weights` are (rate, weight, count). `unsampled_rate` is the r that would be right without sampling; it is valid
    too, so the search starts there and only goes up. The search runs on a coarse grid and the answer is certified on a
    ten times finer one.
    """
    weights = tuple(weights)

    def spent(log_rate: float, interval: float) -> float:
        r = math.exp(log_rate)
        steps = [(q, relation.kappa / math.sqrt(2 * r * w), count) for q, w, count in weights]
        return sampled_epsilon(steps, delta, relation, interval)

    low = math.log(unsampled_rate)
    high, step = low, math.log(4.0)
    for _ in range(60):
        high = low + step
        if spent(high, 1e-3) > epsilon:
            break
        low = high
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle, 1e-3) <= epsilon else (low, middle)
    while low > math.log(unsampled_rate) and spent(low, 1e-4) > epsilon:
        low -= 1e-4
    return max(math.exp(low), unsampled_rate)
