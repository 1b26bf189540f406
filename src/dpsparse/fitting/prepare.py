"""From a request and a public shape to a priced plan. No row is seen, and whatever can be refused is refused here."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .. import recipes
from ..accounting import Cost, PlanCost, PricedPlan, cost_of_units, price
from ..core import AssumptionError, Budget, DataError, LedgerError, Noise, Plan, PrivacyError
from ..core.facts import Clip, Facts, Vector
from ..oracles.gate import check_by_unit
from ..oracles.local import LocalNoise
from ..queries.kinds import Gradient, RandomizedLabels, Solver
from ..queries.losses import Loss, joint_of, refuse_mixing, target_of, user_defined
from ..recipes.base import PrivateRecipe, has_budget, has_none
from ..rows.bounds import read_bounds
from ..rows.lattice import Lattice
from ..rows.row_bounds import RowBounds
from ..rows.single_records import affine_anchors
from .counts import CLIPPED_ASK, UNREAD, with_count
from .request import FitRequest, Shape
from .shapes import with_shapes
from .targets import refuse_terms
from .user_recipes import check_view, normalised_plan

if TYPE_CHECKING:
    from .parts import Inference


#: By which a user accepts a plan without a proof.
UNPROVEN = "unproven"


@dataclass(frozen=True, eq=False)
class FitPlan:
    """Everything about a fit that is known before a row is read.

    Attributes
    ----------
    request : FitRequest
    facts : Facts
        As the recipe wants the rows shown: in units of the columns' half-widths (`in_half_widths`).
    recipe : Recipe
        The one that a rule such as ``auto`` picked, or that was named.
    solver : Solver
    plan : Plan
        Of one model.
    priced : PricedPlan or None
        Of all models together; None for a baseline without privacy.
    delta : float
        At which epsilon is stated.
    models : int
        Models that share the budget.
    reason : str
        Why this recipe, where a rule picked it.
    loss : Loss
        Of every model: the one that was asked for, or its form for many classes at once.
    inference : Inference or None
        The two parts of a fit with intervals.
    """

    request: FitRequest
    facts: Facts
    recipe: recipes.Recipe
    solver: Solver
    plan: Plan
    priced: PricedPlan | None
    delta: float
    models: int
    reason: str
    loss: Loss
    inference: Inference | None = None

    @property
    def of_one_model(self) -> PricedPlan | None:
        """The plan of one model at its part of the price."""
        return None if self.priced is None else replace(self.priced, plan=self.plan)

    @property
    def row_bounds(self) -> RowBounds:
        """What a fit clips rows to, in the units of the user."""
        return clipped_to(self.request, self.facts)

    @property
    def bill(self) -> Cost | None:
        """What a ledger is charged; None for what has no price, or none that covers it."""
        if self.priced is None or self.plan.unproven:
            return None
        return cost_of_units(PlanCost.of(self.priced), self.facts.unit)


def plan_fit(request: FitRequest, shape: Shape) -> FitPlan:
    """Facts, recipe, plan and price, from arguments and public shape alone.

    Parameters
    ----------
    request : FitRequest
    shape : Shape
        From `FitRequest.shape` where there is data; otherwise what is asked about.
    """
    request, shape = with_shapes(request, shape)
    if request.intervals is not None:
        from .parts import prepare_parts  # which prepares each part here

        made = prepare_parts(request, shape)
        refuse_terms(request, made.plan, made.recipe.name)
        return made
    made, budget = draft_plan(request, shape)
    refuse_terms(request, made.plan, made.recipe.name)
    if budget is None:
        return made
    priced = price(made.plan.repeated(made.models), budget)
    delta = made.delta
    if made.plan.local:
        refuse_unanswerable(replace(priced, plan=made.plan), made.facts, request.loss)
    if made.plan.local and all(ask.noise is Noise.LOCAL for ask in made.plan.asks):
        delta = 0.0  # pure reports need none, whatever was allowed
    return replace(made, priced=priced, delta=delta)


def draft_plan(request: FitRequest, shape: Shape) -> tuple[FitPlan, Budget | None]:
    """Everything but the price, and the budget to price with; None for a baseline, which has none."""
    refuse_mixing(request.loss, target_of(request.loss, request.target_bound))
    recipe, reason, facts, loss, models = resolve(request, shape)
    _check_facts(recipe, facts)
    request.check_accepted(recipe)
    if recipe.private:
        request.check_storable()
    if has_none(recipe):
        if facts.by_unit:
            raise PrivacyError(
                f"recipe {recipe.name!r} makes no guarantee, and so none to a {facts.unit}. Leave units and unit out."
            )
        solver = recipe.solver(facts)
        unpriced = Budget.approx(1.0, 0.5)  # a plan needs one to be written; a baseline does not look at it
        plan = solver.plan(facts, unpriced)
        return FitPlan(request, facts, recipe, solver, plan, None, math.nan, models, reason, loss), None
    assert has_budget(recipe)
    budget, delta = request.budget_for(shape.n_rows)
    solver, plan = _planned(recipe, facts, request, budget, models)
    refuse_unaccepted(plan, recipe.name, request.accept)
    if facts.by_unit:
        check_by_unit(plan)
    if request.noise == "exact" and any(ask.noise is Noise.LOCAL_GAUSSIAN for ask in plan.asks):
        raise ValueError("noise='exact' is not made on devices; use noise='lattice', or a pure local mechanism.")
    return FitPlan(request, facts, recipe, solver, plan, None, delta, models, reason, loss), budget


def resolve(request: FitRequest, shape: Shape) -> tuple[recipes.Recipe, str, Facts, Loss, int]:
    """The recipe that runs, why, the facts as it wants rows shown, the loss, and the number of models.

    Many classes are one model with the whole budget where the recipe and the loss have a form for
    it, else one model for each class. The planner asks here too, so that it speaks of the recipe
    that would run.
    """
    asked, whole = request.recipe, shape.models
    budget = request.budget_for(shape.n_rows)[0] if asked.private else None
    # of a foreign loss only the form for one margin was tried
    joint = None if user_defined(request.loss) else joint_of(request.loss, whole)
    if joint is not None and budget is not None:
        facts = request.facts(shape, joint)
        for one in (budget, per_model(budget, whole)):  # a rule may pick such a recipe for either
            recipe, reason = asked.resolve(in_half_widths(facts), one)
            if recipe.joint:
                return recipe, reason, _shown(recipe, facts), joint, 1
    facts = request.facts(shape)
    recipe, reason = (asked, "") if budget is None else asked.resolve(in_half_widths(facts), per_model(budget, whole))
    return recipe, reason, _shown(recipe, facts), request.loss, whole


def _shown(recipe: recipes.Recipe, declared: Facts) -> Facts:
    """Declared facts as a recipe wants rows shown, in units of the columns' half-widths."""
    scaled = in_half_widths(declared, absence=recipe.zero_is_absence)
    facts = recipe.view(scaled)
    if not recipes.built_in(recipe):
        check_view(recipe, scaled, facts)
    return facts


def clipped_to(request: FitRequest, shown: Facts) -> RowBounds:
    """What rows of a request are clipped to, in the units of the user.

    The facts `shown` are those by which rows are shown to a recipe.
    """
    lower, upper, _ = read_bounds(request.feature_bound, request.row_norm, shown.n_features)
    return RowBounds(lower, upper, Lattice(shown, exact=True).bounds.row_norm, shown.scale)


def plan_again(prepared: FitPlan) -> tuple[Solver, Plan]:
    """Another solver of the same recipe, and its plan.

    Equal to those of `prepared`, unless they depend on something else.
    """
    recipe, facts, request = prepared.recipe, prepared.facts, prepared.request
    assert has_budget(recipe)
    return _planned(recipe, facts, request, request.budget_for(facts.n_rows)[0], prepared.models)


def per_model(budget: Budget, models: int) -> Budget:
    """What one of several equal models may spend, for defaults that depend on the noise."""
    return budget if models == 1 else Budget.zcdp(budget.as_rho() / models, budget.relation)


def refuse_unaccepted(plan: Plan, recipe: str, accept: tuple[str, ...]) -> None:
    """Refuse to fit by an unproven plan that was not accepted by name."""
    if plan.unproven and UNPROVEN not in accept:
        raise AssumptionError(
            f"the privacy of recipe {recipe!r} is not proven: {plan.unproven}. To fit it nevertheless, accept that by "
            f"name: accept=({UNPROVEN!r},). The statement will say first that there is no guarantee."
        )


def refuse_unguarded(plan: Plan, recipe: str) -> None:
    """Refuse to charge a ledger for what its guarantee would not cover: labels alone, or a plan without a proof."""
    if plan.labels_only:
        raise LedgerError(
            f"recipe {recipe!r} protects labels only, and a ledger guards whole rows. Leave ledger=None for it."
        )
    if plan.unproven:
        raise LedgerError(
            f"the privacy of recipe {recipe!r} is not proven, so no price covers it: it must not touch data that a "
            "ledger guards. Leave ledger=None for it."
        )


def refuse_doubtful(accept: tuple[str, ...]) -> None:
    """Refuse to charge a ledger for a model that may be fitted by an unproven plan."""
    if UNPROVEN in accept:
        raise LedgerError(
            f"the model accepts plans whose privacy is not proven (accept names {UNPROVEN!r}), so no price covers it: "
            "it must not touch data that a ledger guards. Leave ledger=None for it."
        )


def _planned(
    recipe: PrivateRecipe, facts: Facts, request: FitRequest, budget: Budget, models: int
) -> tuple[Solver, Plan]:
    """The loop and its plan at the budget of one model, with the counts that were asked for, each at its share."""
    one = per_model(budget, models)
    solver = recipe.solver(facts, one)
    plan = solver.plan(facts, one)
    if plan.local and models > 1:
        one = per_report(plan, budget, models)
        solver = recipe.solver(facts, one)
        plan = solver.plan(facts, one)
    plan = plan if recipes.built_in(recipe) else normalised_plan(recipe, plan)
    plan = with_count(plan, request.check_bounds, CLIPPED_ASK, "ClippedShare", "check_bounds")
    plan = with_count(plan, request.check_cells, UNREAD, "Unread", "check_cells")
    return solver, plan.with_noise(Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN) if request.noise == "exact" else plan


def _check_facts(recipe: recipes.Recipe, facts: Facts) -> None:
    if facts.penalty.active and facts.penalty.kind not in recipe.penalties:
        raise ValueError(
            f"recipe {recipe.name!r} cannot take penalty {facts.penalty.kind!r}; it takes "
            f"{', '.join(recipe.penalties) or 'none'}."
        )
    if facts.sparse and (np.any(np.asarray(facts.lower) > 0) or np.any(np.asarray(facts.upper) < 0)):
        raise DataError("sparse rows hold zeros, so feature_bound must contain zero for every feature.")


# ------------------------------------------------------------------------------------------------ local model


def per_report(plan: Plan, budget: Budget, models: int) -> Budget:
    """What one report may cost when people report for several models.

    It does not depend on how many turns there are.
    """
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


# ------------------------------------------------------------------------------------------------ units

#: Half-widths that differ by no more than this part, as bounds that were written in decimals do, are equal.
ROUNDING = 1e-9


def in_half_widths(facts: Facts, *, absence: bool = False) -> Facts:
    r"""Declared facts in units of the columns' half-widths; unchanged if these are all equal.

    Half-widths are public numbers that cost nothing, and every recipe gains from them. Noise is the
    same in every coordinate of a gradient, and a norm adds up all columns. A column in thousands beside
    others in ones would drown them in both. So where columns have bounds of their own, each is divided
    by its half-width before anything else, and coefficients are divided by the same half-width before
    they are returned. A column in other units has other bounds, and the quotient is the same: the model
    does not depend on the units (law *units*).

    The half-width is :math:`h_j = (u_j - l_j)/2` for dense rows with an intercept, which recipes
    measure from the midpoint, and :math:`h_j = \max(|l_j|, |u_j|)` where columns are measured from
    zero: sparse rows, which a shift would fill, and models without an intercept. A recipe that takes
    zero at an end of a column's bounds for absence, and so measures that column from zero
    (`Recipe.zero_is_absence`), has its unit from zero too. Where all half-widths are equal, nothing is
    divided: one bound for all columns is one common unit.

    Parameters
    ----------
    facts : Facts
    absence : bool
        Whether columns with zero at an end of their bounds are measured from zero, so that
        their unit is the larger absolute bound.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = np.array([-1.0, 0.0]), np.array([1.0, 4000.0])
    >>> sizes = {"n_rows": 9, "n_features": 2, "row_norm": 5000.0, "intercept": 1.0}
    >>> facts = Facts(lower=low, upper=high, **sizes)
    >>> shown = in_half_widths(facts)
    >>> shown.scale, shown.upper
    (array([1.e+00, 2.e+03]), array([1., 2.]))
    """
    ones = np.ones(facts.n_features)
    lower, upper = facts.lower * ones, facts.upper * ones
    reach = np.maximum(np.abs(lower), np.abs(upper))
    ends = (lower == 0) | (upper == 0)
    half = np.where(facts.sparse or not facts.intercept or absence & ends, reach, (upper - lower) / 2)
    if not half.size or np.ptp(half) <= ROUNDING * half.max():
        return facts
    return facts.with_(
        lower=lower / half,
        upper=upper / half,
        row_norm=_shown_norm(facts.row_norm, reach, half),
        shift=facts.shift / half if np.any(facts.shift) else facts.shift,
        start=None if facts.start is None else facts.start * half,
        scale=half,
    )


def _shown_norm(norm: float, reach: Vector, half: Vector) -> float:
    r"""The largest norm of a shown row that kept the declared norm and bounds; at most that of the box.

    A declared row norm K speaks of the user's units. Rows in the box :math:`|x_j| \le r_j` with
    :math:`\|x\| \le K` have

    .. math:: \sum_j x_j^2/h_j^2 \le \max\Bigl\{\sum_j t_j/h_j^2 : 0 \le t_j \le r_j^2,\ \sum_j t_j \le K^2\Bigr\},

    a linear programme with one constraint, solved by filling the columns of the least :math:`h_j`
    first; this is its root.
    """
    box = float(np.linalg.norm(reach / half))
    if norm >= float(np.linalg.norm(reach)):
        return box
    order = np.argsort(half, kind="stable")
    room = norm**2 - np.cumsum(np.r_[0.0, reach[order] ** 2])[:-1]
    used = np.clip(room, 0.0, reach[order] ** 2)
    return min(box, math.sqrt(float(np.sum(used / half[order] ** 2))) * (1 + ROUNDING))
