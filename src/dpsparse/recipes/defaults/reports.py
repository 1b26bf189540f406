"""Reports of the local model: mechanisms by name, and how exact a mean of reports is."""

from __future__ import annotations

import math

from ...core.budget import Budget
from ...core.facts import Facts
from ...core.mechanisms.local import LocalGaussian, Piecewise, PrivUnit, RandomisedResponse, TwoPoint, best_scalar
from ...core.participation import OncePerPerson
from ...core.plan import Noise

#: Mechanisms of vectors and of labels: the noise that is priced, and the randomiser.
VECTORS = {
    "privunit": (Noise.LOCAL, "best"),
    "duchi": (Noise.LOCAL, "duchi"),
    "gaussian": (Noise.LOCAL_GAUSSIAN, "best"),
}
LABELS = {
    "auto": (Noise.LOCAL, "best"),
    "two-point": (Noise.LOCAL, "two-point"),
    "piecewise": (Noise.LOCAL, "piecewise"),
    "gaussian": (Noise.LOCAL_GAUSSIAN, "best"),
}


def check_mechanism(name: str, known: dict[str, tuple[Noise, str]]) -> None:
    """Refuse a mechanism that is not there."""
    if name not in known:
        raise ValueError(f"mechanism must be one of {', '.join(known)}, got {name!r}.")


def vectors(mechanism: str, seed: int) -> tuple[Noise, OncePerPerson]:
    """Noise and participation of randomised gradients."""
    noise, randomiser = VECTORS[mechanism]
    return noise, OncePerPerson(randomiser=randomiser, seed=seed)


def report_epsilon(budget: Budget) -> float:
    """The pure epsilon of one report, for defaults that depend on it; prices are not made from it."""
    return budget.epsilon if budget.epsilon is not None else math.sqrt(2 * budget.as_rho())


def report_error(facts: Facts, budget: Budget, mechanism: str) -> float:
    """Standard deviation of an entry of one report about vectors of the unit ball, on average over entries."""
    if mechanism == "gaussian":
        return LocalGaussian(facts.dimension, budget.as_mu()).sigma
    epsilon = report_epsilon(budget)
    if facts.dimension == 1:
        return math.sqrt(best_scalar(epsilon).worst_variance)
    gamma = 0.0 if mechanism == "duchi" else None
    return PrivUnit(facts.dimension, epsilon, gamma=gamma).largest / math.sqrt(facts.dimension)


def label_deviation(facts: Facts, budget: Budget, mechanism: str) -> float:
    """Largest standard deviation of a randomised label."""
    half = facts.target.steepest
    if mechanism == "gaussian":
        return LocalGaussian(1, budget.as_mu(), half).sigma
    epsilon = report_epsilon(budget)
    if facts.target.classes:
        return math.sqrt(RandomisedResponse(epsilon).variance())
    kinds = {"two-point": TwoPoint, "piecewise": Piecewise}
    return math.sqrt(kinds.get(mechanism, best_scalar)(epsilon, half).worst_variance)


def label_threshold(facts: Facts, budget: Budget, mechanism: str) -> float:
    r"""What columns of typical size get by chance against randomised labels.

    For d columns it is :math:`\sigma_y K_2/\sqrt p\,\sqrt{2\ln d/n}`.
    """
    column = facts.norm_bound / math.sqrt(facts.dimension)
    deviation = label_deviation(facts, budget, mechanism)
    return deviation * column * math.sqrt(2 * math.log(max(facts.n_features, 2)) / facts.n_rows)
