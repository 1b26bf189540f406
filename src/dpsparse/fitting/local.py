"""What is planned and said where people randomise their own reports."""

from __future__ import annotations

from ..accounting import PricedPlan, price
from ..core import Budget, Noise, Plan
from ..core.facts import Clip, Facts
from ..oracles.local import LocalNoise
from ..queries.kinds import Gradient, RandomizedLabels
from ..queries.losses import Loss
from ..rows.single_records import affine_anchors


def per_report(plan: Plan, budget: Budget, models: int) -> Budget:
    """What one report may cost when people report for several models; it does not depend on how many turns there are."""
    priced = price(plan.repeated(models), budget)
    [ask] = plan.asks
    strength = priced.cost(ask.name).strength
    if ask.noise is Noise.LOCAL:
        return Budget.approx(strength, 0.0, budget.relation)
    return Budget.gdp(strength, budget.relation)


def refuse_unanswerable(priced: PricedPlan, facts: Facts, loss: Loss) -> None:
    """Refuse, before a row is read, what no randomiser answers: a tiny epsilon, too many features, an unfit loss."""
    question = RandomizedLabels() if priced.plan.labels_only else Gradient(facts.first(), Clip(1.0))
    for ask in priced.plan.asks:
        LocalNoise(priced, facts, loss.classes).randomiser(question, ask.name)
    if priced.plan.labels_only:
        affine_anchors(loss, facts)


def unit_of(plan: Plan, models: int) -> str:
    """The unit of privacy: who, and with how many reports."""
    if not plan.local:
        return "one row"
    who = "one person's label" if plan.labels_only else "one person"
    return f"{who}, {'one report' if models == 1 else f'{models} reports'} (local model)"


def sharing(plan: Plan, models: int) -> str:
    """How one budget covers several models, one for each class."""
    if plan.labels_only:
        return (
            f"a change of class moves two of the {models} one-versus-rest labels, each reported at half of the budget"
        )
    return f"one budget covers all {models} one-versus-rest models, each with an equal part of it"
