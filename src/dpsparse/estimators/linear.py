"""What both estimators share: from arguments to facts, from facts to a priced plan, from a priced plan to a model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import recipes
from ..accounting import PricedPlan, price
from ..accounting.costs.plan import PlanBill
from ..data.bounds import read_bounds, read_center
from ..data.rows import PrivateRows
from ..facts import Facts, Penalty, Vector
from ..ledger import LedgerArgument, check_ledger, paying
from ..losses import Loss
from ..mechanisms import Randomness
from ..mechanisms.exact import require_opendp
from ..oracle import Path, Solver
from ..oracles import ExactOracle, answering
from ..privacy import (
    Adjacency,
    AssumptionError,
    Budget,
    BudgetError,
    Noise,
    NonPrivateRandomnessWarning,
    Plan,
    PrivacyError,
    Statement,
)
from ..privacy.participation import PUBLIC_FEATURES
from ..privacy.statement import records
from ..privacy.versions import versions
from .local import per_report, refuse_unanswerable, sharing, unit_of
from .refusals import refuse_unguarded


@dataclass(frozen=True)
class Prepared:
    """Everything about a fit that is known before a row is read."""

    facts: Facts
    recipe: recipes.Recipe
    solver: Solver
    plan: Plan
    priced: PricedPlan | None
    delta: float
    models: int
    reason: str


class SparseLinear(BaseEstimator):
    """Base of both estimators; not for direct use."""

    ledger = LedgerArgument()

    # ---------------------------------------------------------------------------------------------- public side

    def plan(
        self,
        n_rows: int,
        n_features: int,
        *,
        signal: float | None = None,
        feature_scale: float | None = None,
        base_rate: float | None = None,
    ) -> Any:
        """What a fit on data of this shape would ask, with how much noise, and what to expect of it. Reads no data, spends nothing.

        Parameters
        ----------
        n_rows, n_features : int
            The public shape of the data.
        signal, feature_scale, base_rate : float or None
            What is publicly known about the data, for the expected error only; None: the conventions of
            `dpsparse.planner.Assumed`.

        Returns
        -------
        PlanSummary
            Prints as a table; `.to_dict()` for machines.
        """
        from ..planner import Assumed, Outlook, PlanSummary

        models = (
            max(1, len(self.classes)) if getattr(self, "classes", None) is not None and len(self.classes) > 2 else 1
        )
        assumed = Assumed(signal=signal, feature_scale=feature_scale, base_rate=base_rate)
        prepared = self._prepare(n_rows, n_features, sparse=False, models=models)
        if prepared.priced is None:
            return PlanSummary.of(prepared)
        outlook = Outlook(
            facts=self._facts(int(n_rows), int(n_features), False),
            recipe=recipes.make(self.recipe),
            budget=self._budget(int(n_rows))[0],
            delta=prepared.delta,
            models=models,
            assumed=assumed,
        )
        return PlanSummary.of(prepared, outlook)

    def _prepare(self, n_rows: int, n_features: int, *, sparse: bool, models: int) -> Prepared:
        """Facts, recipe, plan and price from arguments and public shape alone."""
        for value, what in ((n_rows, "n_rows"), (n_features, "n_features")):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"{what} must be a positive integer, got {value!r}.")
        check_ledger(self.ledger, self.dataset)
        recipe, reason = recipes.make(self.recipe), ""
        facts = self._facts(int(n_rows), int(n_features), sparse)
        if isinstance(recipe, recipes.Auto):
            recipe, reason = recipe.pick(facts, _per_model(self._budget(int(n_rows))[0], models))
        facts = recipe.view(facts)
        if facts.penalty.active and facts.penalty.kind not in recipe.penalties:
            raise ValueError(
                f"recipe {recipe.name!r} cannot take penalty {facts.penalty.kind!r}; it takes {', '.join(recipe.penalties) or 'none'}."
            )
        missing = [n for n in recipe.needs if n not in self.accept]
        if missing:
            raise AssumptionError(
                f"recipe {recipe.name!r} rests on an assumption that must be accepted by name: accept={tuple(missing)!r}. "
                f"See dpsparse.recipes.describe({recipe.name!r})."
            )
        if not recipe.private:
            solver = recipe.solver(facts, None)
            unpriced = Budget.approx(1.0, 0.5)  # a plan needs one to be written; a baseline does not look at it
            return Prepared(facts, recipe, solver, solver.plan(facts, unpriced), None, math.nan, models, reason)
        budget, delta = self._budget(int(n_rows))
        one = _per_model(budget, models)
        solver = recipe.solver(facts, one)
        plan = solver.plan(facts, one)
        if plan.local and models > 1:
            one = per_report(plan, budget, models)
            solver = recipe.solver(facts, one)
            plan = solver.plan(facts, one)
        if self.noise not in ("lattice", "exact"):
            raise ValueError(f"noise must be 'lattice' or 'exact', got {self.noise!r}.")
        if self.noise == "exact":
            if self.random_state is not None:
                raise ValueError(
                    "noise='exact' draws from the operating system and cannot be seeded; leave random_state=None."
                )
            require_opendp()
            if any(a.noise is Noise.LOCAL_GAUSSIAN for a in plan.asks):
                raise ValueError(
                    "noise='exact' is not made on devices; use noise='lattice', or a pure local mechanism."
                )
            plan = plan.with_noise(Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN)
        priced = price(plan.repeated(models), budget)
        if plan.local:
            refuse_unanswerable(replace(priced, plan=plan), facts, self._loss())
        if plan.local and all(a.noise is Noise.LOCAL for a in plan.asks):
            delta = 0.0  # pure reports need none, whatever was allowed
        return Prepared(facts, recipe, solver, plan, priced, delta, models, reason)

    def _budget(self, n_rows: int) -> tuple[Budget, float]:
        """The budget and the delta at which epsilon is stated."""
        delta = min(1e-6, 1 / (10 * n_rows)) if self.delta is None else self.delta
        if self.budget is None:
            budget = Budget.approx(self.epsilon, delta)
        elif isinstance(self.budget, Budget):
            budget = self.budget
        else:
            raise BudgetError(f"budget must be a dpsparse Budget such as Budget.zcdp(0.1), got {self.budget!r}.")
        delta = budget.delta if budget.delta is not None else Budget.approx(1.0, delta).delta
        assert delta is not None
        return budget.under(self.adjacency), delta

    def _facts(self, n_rows: int, n_features: int, sparse: bool) -> Facts:
        lower, upper, row_norm = read_bounds(self.feature_bound, self.row_norm, n_features)
        loss = self._loss()
        return Facts(
            n_rows=n_rows,
            n_features=n_features,
            lower=lower,
            upper=upper,
            row_norm=row_norm,
            shift=read_center(self.feature_center, n_features),
            intercept=1.0 if self.fit_intercept else 0.0,
            target_bound=self._target_bound(),
            loss=loss.name,
            slope_bound=loss.slope_bound,
            curvature=loss.curvature,
            sparsity=self._sparsity(),
            penalty=self._penalty(),
            start=self._start(n_features),
            sparse=sparse,
        )

    def _sparsity(self) -> int | None:
        s = self.sparsity
        if s is None:
            return None
        if isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 1:
            raise ValueError(f"sparsity must be a positive integer or None, got {s!r}.")
        return int(s)

    def _penalty(self) -> Penalty:
        kinds = ("l2", "l1", "elasticnet", "box")
        if self.penalty not in kinds:
            raise ValueError(f"penalty must be one of {', '.join(kinds)}, got {self.penalty!r}.")
        if not _is_number(self.alpha) or self.alpha < 0:
            raise ValueError(f"alpha must be a non-negative number, got {self.alpha!r}.")
        if not _is_number(self.l1_ratio) or not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio must lie in [0, 1], got {self.l1_ratio!r}.")
        if self.penalty == "box" and (not _is_number(self.box) or self.box <= 0):
            raise ValueError(f"penalty='box' needs box=b with b > 0, got {self.box!r}.")
        return Penalty(kind=self.penalty, alpha=float(self.alpha), l1_ratio=float(self.l1_ratio), box=self.box)

    def _start(self, n_features: int) -> Vector | None:
        if self.start is None:
            return None
        start = np.asarray(self.start, dtype=float)
        if start.shape != (n_features,) or not np.all(np.isfinite(start)):
            raise ValueError(f"start must hold {n_features} finite numbers, one per feature.")
        return start

    def _shape_of(self, X: Any) -> int:
        """The public number of rows for data X."""
        Adjacency.named(self.adjacency)
        if self.adjacency == "add-remove":
            if self.n_rows is None:
                raise PrivacyError(
                    "under add-remove adjacency the number of rows is private, so n_rows must be declared: a public guess of it."
                )
            return self.n_rows  # type: ignore[no-any-return]
        if self.n_rows is not None and self.n_rows != X.shape[0]:
            raise PrivacyError(
                f"n_rows={self.n_rows!r} was declared, but the data has another number of rows; under replace-one they must agree."
            )
        return int(X.shape[0])

    # ---------------------------------------------------------------------------------------------- fitting

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        """Shapes, types and finite values; messages name no row."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric", ensure_min_samples=1, **options)
        if np.iscomplexobj(X):
            raise ValueError("Complex data not supported.")
        return X, y

    def _fit_models(self, X: Any, targets: list[Vector], assumptions: tuple[str, ...]) -> list[tuple[Vector, float]]:
        """Fit one model per target vector; sets `statement_` and `path_`."""
        randomness = Randomness(self.random_state)
        prepared = self._prepare(self._shape_of(X), X.shape[1], sparse=sp.issparse(X), models=len(targets))
        if not randomness.secure and prepared.recipe.private:
            warnings.warn(
                "random_state was given: the noise can be reproduced, so this fit is not private. Use random_state=None for a release.",
                NonPrivateRandomnessWarning,
                stacklevel=4,
            )
        loss = self._loss()
        found, answers, paths = [], [], []
        with self._paying(prepared) as payment, _Progress(self.verbose, prepared) as progress:
            for y in targets:
                rows = PrivateRows(X, y, prepared.facts, lattice=prepared.recipe.private)
                oracle = self._oracle(rows, loss, prepared, randomness, payment.before(progress))
                path = Path() if self.keep_path else None
                w = prepared.solver.run(oracle, path)
                unused = oracle.till.unused
                if unused:
                    raise PrivacyError(
                        f"the solver left priced asks unused: {unused}. A plan must ask for what it prices."
                    )
                answers.extend(oracle.till.answers)
                found.append(coefficients_of(w, rows))
                paths.append(path)
        if prepared.plan.local:
            assumptions += ("the protocol was simulated on one machine, which held the rows",)
        self.statement_ = replace(self._statement(prepared, answers, assumptions, randomness), ledger=payment.record)
        if self.keep_path:
            self.path_ = paths[0] if len(paths) == 1 else paths
        return found

    def _paying(self, prepared: Prepared) -> Any:
        """The whole cost, reserved in the ledger before rows are read; nothing where there is no ledger."""
        if self.dataset is not None:
            refuse_unguarded(prepared.recipe, labels_only=prepared.plan.labels_only)
        bill = None if prepared.priced is None else PlanBill.of(prepared.priced)
        label = prepared.recipe.name if self.label is None else self.label
        return paying(self.ledger, self.dataset, bill, label=label, run_id=self.run_id, delta=prepared.delta)

    def _oracle(
        self,
        rows: PrivateRows,
        loss: Loss,
        prepared: Prepared,
        randomness: Randomness,
        on_charge: Callable[[str], None],
    ) -> Any:
        """Who answers. The laws put a recording or a replaying oracle in its place."""
        if prepared.priced is None:
            return ExactOracle(rows, loss, prepared.plan, randomness.generator(), on_charge)
        one = replace(prepared.priced, plan=prepared.plan)
        return answering(rows, loss, one, randomness, on_charge)

    def _statement(
        self, prepared: Prepared, answers: list[Any], assumptions: tuple[str, ...], randomness: Randomness
    ) -> Statement:
        priced, recipe, facts = prepared.priced, prepared.recipe, prepared.facts
        caveats = list(recipes.caveats_of(recipe, facts))
        assumed = [*assumptions, *recipe.assumptions(facts)]
        adjacency = self.adjacency
        if prepared.plan.labels_only:
            adjacency = "replace-one-label"
            caveats.insert(0, PUBLIC_FEATURES)
        if priced is None:
            caveats.append("no privacy: this is a baseline for comparison, and its result must not be released")
        else:
            if not randomness.secure:
                caveats.append("fitted with a fixed seed: not private")
            if prepared.delta > 1 / facts.n_rows:
                caveats.append(f"delta = {prepared.delta:.3g} is above 1/n: it allows the exposure of a whole record")
            if prepared.models > 1:
                assumed.append(sharing(prepared.plan, prepared.models))
        return Statement(
            private=priced is not None,
            epsilon=math.inf if priced is None else priced.epsilon(prepared.delta),
            delta=1.0 if priced is None else prepared.delta,
            rho=math.inf if priced is None else priced.rho,
            mu=math.inf if priced is None else priced.mu,
            adjacency=adjacency,
            unit=unit_of(prepared.plan, prepared.models),
            recipe=recipe.name,
            loss=facts.loss,
            n_rows=facts.n_rows,
            asks=records(answers),
            accountant="none" if priced is None else priced.accountant,
            assumptions=tuple(assumed),
            caveats=tuple(caveats),
            notes=(prepared.reason,) if prepared.reason else (),
            versions=versions(),
        )

    # ---------------------------------------------------------------------------------------------- after fitting

    def _margins(self, X: Any) -> Any:
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return X @ np.atleast_2d(self.coef_).T + self.intercept_

    def save(self, path: Any) -> None:
        """Write the model and its statement to a JSON file (no pickle); read it back with `dpsparse.load`."""
        from .model_file import save

        check_is_fitted(self, "coef_")
        save(self, path)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def _per_model(budget: Budget, models: int) -> Budget:
    """What one of several equal models may spend, for defaults that depend on the noise."""
    return budget if models == 1 else Budget.zcdp(budget.as_rho() / models, budget.relation)


def coefficients_of(w: Vector, rows: PrivateRows) -> tuple[Vector, float]:
    """Coefficients of the features as the user knows them, and the intercept: public shift and height undone."""
    coef = w[: rows.facts.n_features] + 0.0
    constant = rows.applied_intercept * float(w[-1]) if rows.facts.free else 0.0
    return coef, constant - float(rows.applied_shift @ coef)


def _turns(plan: Plan) -> int:
    """Turns of a plan, along its longest branch."""
    return sum(a.times for a in plan.asks) + max((_turns(branch) for _, branch in plan.branches), default=0)


class _Progress:
    """A progress bar over the charges of a plan; prints public facts only."""

    def __init__(self, verbose: bool, prepared: Prepared) -> None:
        self._bar: Any = None
        if verbose:
            from rich.progress import Progress

            self._bar = Progress()
            total = _turns(prepared.plan) * prepared.models
            self._task = self._bar.add_task(prepared.recipe.name, total=total)

    def __enter__(self) -> Callable[[str], None]:
        if self._bar is not None:
            self._bar.start()
        return self._charged

    def _charged(self, name: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=name)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
