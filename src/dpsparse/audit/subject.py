"""Who is audited: a recipe by name or as an object, an estimator, or a solver with its facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from .. import recipes
from ..accounting import PricedPlan, price
from ..core import Adjacency, Budget, Plan, PrivacyError
from ..core.facts import Facts
from ..estimators import SparseClassifier, SparseRegressor
from ..estimators.linear import SparseLinear
from ..fitting import Shape, plan_fit
from ..io.scikit import clone
from ..queries.kinds import Solver
from ..queries.losses import Loss, Squared
from ..rows.declared import Bounded

#: Rows and features of the worlds that audits make up, unless the caller says otherwise.
ROWS, FEATURES = 30, 5


@dataclass(frozen=True, eq=False)
class Subject:
    """Everything public about the fits of who is audited.

    `template` is an estimator to fit, None for a bare solver. `own_fit` says that it is not one of
    ours: then its own method must be run, and not only its solver.
    """

    label: str
    facts: Facts
    loss: Loss
    solver: Solver
    plan: Plan
    priced: PricedPlan
    template: SparseLinear | None = None
    own_fit: bool = False
    target_center: float = 0.0

    @property
    def relation(self) -> Adjacency:
        """Which datasets are neighbours."""
        return self.priced.budget.relation

    @property
    def single_answer_facts(self) -> Facts:
        """The facts of a single answer: in the local model of one person, whose report is protected by itself."""
        return self.facts.with_(n_rows=1) if self.plan.local else self.facts


def subject_of(
    target: object,
    *,
    epsilon: float,
    delta: float,
    n_rows: int | None = None,
    n_features: int | None = None,
    facts: Facts | None = None,
    loss: Loss | None = None,
) -> Subject:
    """Make up the public side of a fit, at the privacy that is audited."""
    if isinstance(target, SparseLinear):
        return _of_estimator(target, epsilon, delta, n_rows, n_features)
    if isinstance(target, str) or callable(getattr(target, "solver", None)):
        recipe = recipes.make(target)
        ordinary = SparseRegressor(recipe=recipe, feature_bound=1.0, target_bound=1.0, accept=tuple(recipe.needs))
        return _of_estimator(ordinary, epsilon, delta, n_rows, n_features)
    if callable(getattr(target, "plan", None)) and callable(getattr(target, "run", None)):
        solver = cast(Solver, target)
        facts = facts or Facts(n_rows=n_rows or ROWS, n_features=n_features or FEATURES)
        budget = Budget.approx(epsilon, delta, Adjacency.REPLACE_ONE)
        plan = solver.plan(facts, budget)
        return Subject(type(target).__name__, facts, loss or Squared(), solver, plan, price(plan, budget))
    raise TypeError(
        f"an audit takes a recipe, its name, an estimator or a solver, got {type(target).__name__}. "
        f"Names are {', '.join(recipes.names())}."
    )


#: Arguments of an estimator that an audit does not take over. What intervals and counts ask beside the model, no attack
#: runs: it distinguishes datasets by the model's answers. Each synthetic record is one row.
LEFT_OUT = {
    **dict.fromkeys(("budget", "random_state", "ledger", "dataset", "label", "run_id", "resume", "unit"), None),
    **dict.fromkeys(("check_bounds", "check_cells", "intervals"), None),
    **dict.fromkeys(("verbose", "keep_path"), False),
}


def _of_estimator(
    estimator: SparseLinear, epsilon: float, delta: float, n_rows: int | None, n_features: int | None
) -> Subject:
    rows, features = n_rows or ROWS, n_features or _declared_features(estimator) or FEATURES
    changes: dict[str, object] = {**LEFT_OUT, "epsilon": epsilon, "delta": delta, "n_rows": rows}
    if "statement_" in vars(estimator):  # the recipe that a rule picked for the data, and not for synthetic datasets
        known = recipes.make(estimator.recipe)
        ran = estimator.statement_.recipe
        changes["recipe"] = known if known.name == ran else ran
    if isinstance(estimator, SparseClassifier):
        changes["classes"] = (0, 1)
    model = clone(estimator).set_params(**changes)
    request = model.request()
    prepared = plan_fit(request, Shape(n_rows=rows, n_features=features))
    if prepared.priced is None:
        raise PrivacyError(f"recipe {prepared.recipe.name!r} guarantees no privacy, so there is nothing to audit.")
    ours = type(estimator) in (SparseRegressor, SparseClassifier)
    label = prepared.recipe.name if ours else f"{type(estimator).__name__} ({prepared.recipe.name})"
    return Subject(
        label=label,
        facts=prepared.facts,
        loss=request.loss,
        solver=prepared.solver,
        plan=prepared.plan,
        priced=replace(prepared.priced, plan=prepared.plan),
        template=model,
        own_fit=not ours,
        target_center=request.target_center,
    )


def _declared_features(estimator: SparseLinear) -> int | None:
    """How many features the arguments speak of, where some are given one by one."""
    bound = estimator.feature_bound
    known = bound.output_bounds() if isinstance(bound, Bounded) else None
    if known is not None:
        return int(known.lower.size)
    sides = bound if isinstance(bound, tuple) else (bound,)
    lengths = [np.size(v) for v in (estimator.start, estimator.feature_center, *sides) if np.ndim(v) == 1]
    return lengths[0] if lengths else None
