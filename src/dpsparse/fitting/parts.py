"""Intervals: a fit in two parts. One selects and makes the model, the other finds how certain its coefficients are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..accounting import price
from ..algorithms.interval_clips import Pilot
from ..algorithms.intervals import SplitIntervals, most_coefficients
from ..algorithms.one_step import Flag, Step
from ..core import Adjacency, AssumptionError, Budget, Noise, Plan, PoissonRows, SplitRule
from ..core.checks import ROW
from ..core.facts import Vector
from ..queries.kinds import Indices
from ..queries.losses import Logistic, Squared
from ..recipes import Auto, SelectPolish, built_in
from .prepare import FitPlan, draft_plan
from .request import FitRequest, Shape

#: Probability of the part that selects.
FIRST = 0.5
#: In part B residuals are clipped, and targets before them are not.
UNBOUNDED = 1e300
#: Weights of Gram matrix and meat beside the score: where they are nearly free, and where they are not.
WEIGHTS = {Adjacency.REPLACE_ONE: (0.8, 0.2), Adjacency.ADD_REMOVE: (0.2, 0.15)}


@dataclass(frozen=True, eq=False)
class Inference:
    """The two parts of a fit with intervals.

    Attributes
    ----------
    intervals : SplitIntervals
    coins : SplitRule
    first, second : FitPlan
        Part A and part B, each with its own plan at the common price.
    """

    intervals: SplitIntervals
    coins: SplitRule
    first: FitPlan
    second: FitPlan

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee depends on."""
        return (
            f"{self.coins}; the first part selected and made the model, the second was asked once "
            "for the intervals, and the more expensive part is the price",
        )


@dataclass(frozen=True, eq=False)
class InferenceResult:
    """Estimates and their covariance, in the units of the user; without the centre of the target.

    Attributes
    ----------
    support : array of int
    estimate, covariance : arrays
        Of the features of the support, and last of the intercept where there is one.
    intercept : bool
    flag : {"good", "clipped", "wide", "too many"}
    target : {"mean", "robust"}
    clip, kept : float
        Where residuals were clipped, in units of the target, and the part of them that was not.
    beyond : float
        Part of rows that weigh less, at most.
    n_rows : int
        Expected rows of the second part.
    asked : int or None
        The sparsity that was asked for, where fewer coefficients could be told from noise.
    """

    support: Indices
    estimate: Vector
    covariance: Vector
    target: str
    n_rows: int
    intercept: bool = False
    flag: Flag = "good"
    clip: float = 0.0
    kept: float = 1.0
    beyond: float = 0.0
    asked: int | None = None


def prepare_parts(request: FitRequest, shape: Shape) -> FitPlan:
    """Both parts of a fit with intervals, and the price of the more expensive one."""
    _refuse(request, shape)
    budget, delta = request.budget_for(shape.n_rows)
    coins = SplitRule.under(request.adjacency, FIRST, units=request.unit != ROW)
    n_first, n_second = coins.expected(shape.n_rows)
    intervals = _intervals(request, budget, n_second)
    sparsity = None if request.sparsity is None else min(request.sparsity, intervals.most)
    recipe = SelectPolish() if isinstance(request.recipe, Auto) else request.recipe
    alone = replace(request, intervals=None, delta=delta, recipe=recipe, sparsity=sparsity)
    made, _ = draft_plan(alone, replace(shape, n_rows=n_first))
    _refuse_plan(made)
    parts = made.plan.then(intervals.asks(made.plan.share)), intervals.plan()
    plan = Plan(asks=(), parts=parts, coins=coins)
    priced = price(
        plan.with_noise(Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN) if request.noise == "exact" else plan, budget
    )
    first, second = (replace(made, plan=part.plan, priced=part) for part in priced.parts)
    wide = made.facts.with_(n_rows=n_second, counts_clipped=False, counts_unread=0)
    if not request.classifies:
        wide = wide.with_(target_bound=UNBOUNDED)
    second = replace(second, facts=wide)
    return replace(
        made,
        request=request,
        facts=made.facts.with_(n_rows=shape.n_rows),
        plan=priced.plan,
        priced=priced,
        delta=delta,
        inference=Inference(intervals, coins, first, second),
    )


def _intervals(request: FitRequest, budget: Budget, n_rows: int) -> SplitIntervals:
    mu = budget.as_mu()
    gram, meat = WEIGHTS[request.adjacency]
    return SplitIntervals(
        robust=request.interval_target == "robust",
        classes=request.classifies,
        intercept=request.fit_intercept,
        mu=mu * 2 / budget.kappa,
        n_rows=n_rows,
        gram=gram,
        meat=meat,
        most=most_coefficients(n_rows, mu * 2 / budget.kappa),
        reading=1 / mu,
        members=request.members,
    )


def _refuse(request: FitRequest, shape: Shape) -> None:
    """Refuse what has no intervals, before anything is paid."""
    if shape.models > 1:
        raise ValueError("intervals are for regression and for two classes. Leave intervals=None for more classes.")
    if not isinstance(request.loss, Logistic if request.classifies else Squared):
        raise ValueError(
            f"intervals are made for squared and logistic loss, not for {request.loss.name!r}. "
            "Leave loss=None, or intervals=None."
        )
    if not request.recipe.private or not built_in(request.recipe):
        raise ValueError(
            f"intervals need a private recipe of dpsparse, and {request.recipe.name!r} is not. Use recipe='auto'."
        )
    if request.penalty.active:
        raise ValueError("intervals are of coefficients without a penalty. Leave alpha=0.")


def _refuse_plan(made: FitPlan) -> None:
    """Refuse a first part that cannot stand beside a second one."""
    sampled = any(isinstance(ask.rows, PoissonRows) for ask in made.plan.asks)
    if made.plan.local or sampled or made.plan.unproven or made.loss is not made.request.loss:
        raise ValueError(
            f"recipe {made.recipe.name!r} samples rows or works on devices, and intervals need a curator who asks "
            "every row. Use recipe='auto' or 'select_polish'."
        )
    if made.recipe.needs:
        raise AssumptionError(
            f"recipe {made.recipe.name!r} depends on assumptions that intervals would not share. Use recipe='auto'."
        )


def in_user_units(inference: Inference, pilot: Pilot | None, step: Step | None, shift: Vector) -> InferenceResult:
    """Coefficients and their covariance in the user's units; without a selected feature, nothing.

    Scales, centres and shift are undone, and the intercept moves from the first place to the last.
    The centre of the target is not added.
    """
    target, n_rows = "robust" if inference.intervals.robust else "mean", inference.intervals.n_rows
    nothing = InferenceResult(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros((0, 0)), target, n_rows)
    if pilot is None or step is None:
        return nothing
    facts, constant = inference.second.facts, int(pilot.constant)
    unit = np.broadcast_to(np.asarray(facts.scale, dtype=float), (facts.n_features,))[pilot.support]
    size, m = step.estimate.size, pilot.support.size
    turn = np.zeros((size, size))
    turn[np.arange(m), np.arange(m) + constant] = 1 / (pilot.scale * unit)
    if constant:
        turn[-1, 0] = 1.0
        turn[-1, 1:] = -(pilot.centre + shift[pilot.support]) / pilot.scale
    return replace(
        nothing,
        support=pilot.support,
        estimate=turn @ step.estimate,
        covariance=turn @ step.covariance @ turn.T,
        intercept=bool(constant),
        flag=step.flag,
        clip=pilot.residual,
        kept=pilot.kept,
        beyond=pilot.beyond,
    )
