"""Pipelines whose steps share one budget and one statement."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike
from typing import NoReturn, Self, TypeAlias, cast

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from ... import recipes
from ...accounting import Cost, cost_of_units
from ...core import Adjacency, Budget, BudgetError, DataError, HopelessFitWarning, PrivacyError, Statement
from ...core.checks import ROW
from ...core.mechanisms import Randomness
from ...core.public_draws import repeatable
from ...fitting import FitPlan, Matrix, Shape, plan_fit, public_rows, stated_budget, trial_run
from ...fitting.counts import NOBODY_SAID
from ...fitting.prepare import refuse_doubtful
from ...fitting.session import Session, session
from ...fitting.statement import MADE_ROWS, charged_to, not_covered, state_pipeline
from ...io.dictionary import TableEncoder
from ...ledger import PAYING, Ledger, LedgerArgument, check_ledger, refuse_own_ledger
from ...oracles import Resume
from ...rows import Records
from ...rows.declared import Bounded
from ...rows.file_records import ClusterRecords
from ...rows.hosts.clusters import open_cluster_rows
from ...rows.records import suppress_messages
from ...rows.units import read_units
from ..display import StatementMixin
from ..input_checks import UNITS_IN_MEMORY, refuse_fit_arguments, shared_unit, with_ids
from ..linear import SparseLinear
from .plan import PipelinePlan, divided, refuse_local
from .priced import PrivateStep
from .private_bounds import PrivateBounds
from .row_map import Absent, leave_out, row_map
from .row_steps import Bounds, RowStep, bounds_after
from .scaler import NoisyCount

#: What a pipeline is made of: a step of ours, one of scikit-learn, "passthrough" or None.
Step: TypeAlias = BaseEstimator | str | None

#: Rows that a model is planned for beforehand, where their number is to be counted; its price does not depend on it.
GUESSED_ROWS = 10_000


@dataclass(eq=False, repr=False)
class PipelineArguments:
    """Arguments of a pipeline, as its constructor takes them; documented there."""

    steps: Sequence[tuple[str, BaseEstimator]]
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float | None = None
    budget: Budget | None = None
    shares: Mapping[str, float] | None = None
    adjacency: str = "replace-one"
    n_rows: int | None = None
    ledger: Ledger | str | None = None
    dataset: str | None = None
    label: str | None = None
    run_id: str | None = None
    resume: str | PathLike[str] | None = None
    memory: object = None
    verbose: bool = False
    transform_input: object = None


class PrivatePipeline(StatementMixin, PipelineArguments, Pipeline):  # type: ignore[misc]
    r"""A scikit-learn pipeline whose steps share one budget; made by `make_private_pipeline`.

    Guarantee
    ---------
    The whole fit keeps (epsilon, delta). Let :math:`\rho` be the largest zCDP that implies it. Step
    k is priced at :math:`\rho_k = s_k\rho`, fixed before the first row is read;
    :math:`\sum_k s_k = 1`. What a step asks may depend on what earlier ones released (scales,
    bounds, a count), its price does not, so adaptive composition of zCDP gives
    :math:`\sum_k\rho_k = \rho`. If the model is seen to be Gaussian at its price, steps are priced
    in :math:`\mu_k = \sqrt{2\rho_k}` instead, :math:`\sum\mu_k^2 = \mu^2`, with the exact Gaussian
    curve; should the released bounds lead it to ask something else after all, that is priced in the
    same language. A step that is alone with the budget has all of it, whatever its language. All
    other steps are checked to look at one row at a time, or to be frozen.

    Parameters
    ----------
    steps : list of (name, step)
        Preparing steps and, last, a SparseRegressor or SparseClassifier. Budgets of steps are not
        used: they are set here.
    epsilon, delta, budget
        The whole budget. delta None: ``min(1e-6, 1/(10 n))``, or 1e-6 where rows are counted.
    shares : dict or None
        Part of the whole for some of the priced steps, by name; the model gets the rest. None: 10 %
        for PrivateBounds, 2 % for a PrivateScaler, 1 % for a NoisyCount.
    adjacency : {"replace-one", "add-remove"}
    n_rows : int or None
        Public number of rows; under add-remove it is needed unless a NoisyCount comes first.
    ledger, dataset
        A durable budget; the whole pipeline is reserved at once.
    label, run_id : str or None
        For the ledger, as in `SparseRegressor`. Label None: "private pipeline", or the recipe where
        only the model has a price.
    resume : path or None
        As in `SparseRegressor`: a folder for the released answers of all steps.
    memory, verbose, transform_input
        As in scikit-learn; rows are not cached, whatever `memory` is.

    Attributes
    ----------
    statement_ : Statement
        What was guaranteed for all steps together.
    plan_ : PipelinePlan
        How the budget was divided.
    """

    ledger = LedgerArgument()

    # ---------------------------------------------------------------------------------------------- public side

    def plan(self, n_rows: int, n_features: int, sparse: bool = False) -> PipelinePlan:
        """How a fit on data of this shape would divide the budget, and what each step would ask.

        Reads no data, spends nothing.

        Parameters
        ----------
        n_rows : int
            Public number of rows; where a `NoisyCount` counts them, a guess, for the model's own rules.
        n_features : int
            Number of features that come into the first step of this package.
        sparse : bool
            Whether the rows that come into it are sparse; a `TableEncoder` says it for the rows behind it.
        """
        from ...report.planner import PlannedAsk, planned_asks
        from ...report.planner.foresight import draft_of

        priced = self.priced_steps()
        check_ledger(self.ledger, self.dataset, self.label, self.run_id)
        counted = any(isinstance(step, NoisyCount) for step in priced.values())
        whole, delta = stated_budget(self.budget, self.epsilon, self.delta, self.adjacency, None if counted else n_rows)
        shape = Shape(n_rows=n_rows, n_features=n_features, sparse=sparse)
        shares, budgets, bill = divided(whole, self.shares, priced, lambda one: self._prepared(one, delta, shape)[0])
        asks: dict[str, tuple[PlannedAsk, ...]] = {}
        outlooks = {}
        for name, step in priced.items():
            if isinstance(step, PrivateStep):
                with temporarily_set(step, **self._step_arguments(name, budgets[name], delta, n_rows, None)):
                    # refuses noise that has no price in the language of the budget
                    at, _ = step.price(n_rows, n_features, sparse)
                    asks[name] = planned_asks(at.plan, at)
                    outlooks[name] = step.outlook(n_rows, n_features, sparse)
        model = self.steps[-1][0]
        foreseen, behind = self._prepared(budgets[model], delta, shape)
        draft = None if foreseen is None else draft_of(foreseen, behind)
        if foreseen is not None:
            asks[model] = planned_asks(foreseen.plan, foreseen.of_one_model)
        return PipelinePlan(
            bill=bill,
            epsilon=bill.epsilon(delta) if draft is None or len(shares) > 1 else draft.epsilon,
            delta=delta,
            n_rows=None if counted else n_rows,
            sparse=sparse,
            shares=shares,
            budgets=budgets,
            free=tuple(name for name, _ in self.steps if name not in priced),
            outlooks=outlooks,
            asks=asks,
            notes=() if draft is None else draft.notes,
            learned=tuple(name for name, step in priced.items() if isinstance(step, PrivateStep)),
        )

    @property
    def _model(self) -> SparseLinear:
        model: SparseLinear = self.steps[-1][1]
        return model

    def priced_steps(self) -> dict[str, PrivateStep | SparseLinear]:
        """Steps with a budget, by name; refuses what is not a private pipeline, or reads rows without paying."""
        from ...audit import check_pipeline

        check_pipeline(self, strict=True)
        last = self.steps[-1][1]
        if not isinstance(last, SparseLinear):
            raise TypeError(
                f"a private pipeline ends in a SparseRegressor or a SparseClassifier, got {type(last).__name__}."
            )
        if not recipes.make(last.recipe).private:
            raise BudgetError("the model is a baseline without privacy. A private pipeline needs a private recipe.")
        if self.dataset is not None:
            refuse_doubtful(last.accept)
        found = {name: step for name, step in self.steps if isinstance(step, PrivateStep | SparseLinear)}
        for step in found.values():
            refuse_own_ledger(step, "the pipeline")
        counts = [name for name, step in found.items() if isinstance(step, NoisyCount)]
        if Adjacency.named(self.adjacency) is not Adjacency.ADD_REMOVE:
            if counts:
                raise PrivacyError(
                    f"step {counts[0]!r} counts rows, but under replace-one their number is "
                    "public. Leave it out, or use adjacency='add-remove'."
                )
        elif self.n_rows is None and next(iter(found)) not in counts:
            raise PrivacyError(
                "under add-remove adjacency the number of rows is private: declare n_rows, or put "
                "a NoisyCount before every other priced step."
            )
        return found

    def _prepared(self, budget: Budget, delta: float, shape: Shape) -> tuple[FitPlan | None, Shape]:
        """What the model would ask with a budget, for the bounds that can be foreseen, and the shape of its rows.

        None where its bounds or its columns cannot be foreseen.
        """
        name, model = self.steps[-1]
        bounds: Bounds | None = None
        for _, step in self.steps[:-1]:
            if isinstance(step, RowStep | PrivateStep):
                bounds = step.bounds_after(bounds, shape.n_features)
            elif isinstance(step, Bounded | ColumnTransformer) and not self._after_ours(step):
                bounds = bounds_after(step, bounds, shape.n_features)
                if bounds is not None:
                    shape = replace(shape, n_features=int(np.size(bounds.lower)))
                if isinstance(step, TableEncoder):
                    shape = replace(shape, sparse=step.output_sparse())
            elif step not in ("passthrough", None):
                if self._after_ours(step):
                    return None, shape
                bounds = None
        with temporarily_set(
            model,
            **self._step_arguments(name, budget, delta, shape.n_rows, bounds),
            **self._target_arguments(foreseen=True),
        ):
            request = model.request()
        shape = request.planned_shape(shape.n_rows, shape.n_features, sparse=shape.sparse)
        return plan_fit(request, shape), shape

    def _after_ours(self, step: object) -> bool:
        """Whether a foreign step stands behind one of ours: it may change the number of features."""
        steps = [s for _, s in self.steps]
        return any(isinstance(s, RowStep | PrivateStep) for s in steps[: steps.index(step)])

    def _step_arguments(
        self, name: str, budget: Budget, delta: float, n_rows: int | None, bounds: Bounds | None
    ) -> dict[str, object]:
        """Arguments that a priced step gets from the pipeline for one fit."""
        step = self.named_steps[name]
        loan: dict[str, object] = {
            "budget": budget,
            "delta": delta,
            "adjacency": self.adjacency,
            "ledger": None,
            "dataset": None,
        }
        if isinstance(step, NoisyCount):
            return loan
        loan["n_rows"] = n_rows
        bounded = isinstance(step, PrivateBounds) or step.row_norm is not None or step.feature_bound is not None
        if bounds is not None and not bounded:
            lines = bounds.plain and getattr(step, "shapes", "line") == "line"
            described = bounds.feature_bound if lines or bounds.declared is None else bounds
            loan |= {"row_norm": bounds.row_norm, "feature_bound": described}
        return loan

    def _target_arguments(self, *, foreseen: bool = False) -> dict[str, object]:
        """Bounds of the target for the model, where a step learns them and the model has none of its own.

        Before the fit, the declared limit.
        """
        model = self._model
        for _, step in self.steps[:-1]:
            if isinstance(step, PrivateBounds) and step.target_bound is not None:
                if is_classifier(model):
                    raise ValueError(
                        "PrivateBounds(target_bound=...) bounds numbers, and the targets of a "
                        "classifier are classes. Leave it out."
                    )
                if model.target_bound is not None:
                    raise ValueError(
                        "target_bound is declared by the model and learned by PrivateBounds. Leave one of them out."
                    )
                if foreseen:
                    return {"target_bound": step.target_bound}
                return {"target_bound": step.target_bound_, "target_center": step.target_center_}
        return {}

    # ---------------------------------------------------------------------------------------------- fitting

    def fit(self, X: Matrix, y: object = None, units: object = None, **unsupported: object) -> Self:
        """Fit all steps on private rows. The whole is checked and priced before the first query is sent.

        `units`, if given, holds the id of each row, or names the column of a frame that does: all
        steps then protect all rows with the same id together. `unit` of any step is the word for it.
        """
        refuse_fit_arguments(unsupported)
        resume = Resume.of(self.resume, self.dataset, self.run_id)
        X, y, units = with_ids(X, y, units)
        priced = self.priced_steps()
        word = shared_unit(priced.values(), units)
        with repeatable(None if resume is None else resume.public_seed), ExitStack() as stack:
            for step in priced.values():
                stack.enter_context(temporarily_set(step, unit=None if word == ROW else word))
            return self._fit(X, y, units, word, resume, priced)

    def _fit(
        self, X: Matrix, y: object, units: object, word: str, resume: Resume | None, priced: Container[str]
    ) -> Self:
        X, y = open_cluster_rows(X, y)
        reads = any(isinstance(step, PrivateBounds | NoisyCount) for _, step in self.steps)
        if units is not None and isinstance(X, ClusterRecords) and (X.units is None or reads):
            raise DataError(UNITS_IN_MEMORY)
        texts = getattr(X, "ndim", None) == 1 or (
            isinstance(X, list | tuple) and all(isinstance(x, str) for x in X[:1])
        )
        raw = texts or isinstance(self.steps[0][1], TableEncoder)  # nobody made numbers of the records before
        n_rows = self._public_rows(X, units)
        start, bounds, absent = 0, None, None
        for name, step in self.steps:  # steps that ask nothing, up to the first that does
            if name in priced:
                break
            X, bounds, absent = self._free(name, step, X, y, bounds, absent, self._model.on_missing)
            start += 1
        X = leave_out(X, absent)
        source = Records.of(X)
        self._refuse_late_counts(start, source)
        plan = self.plan(n_rows or GUESSED_ROWS, source.shape[1], source.sparse)
        self.plan_ = plan
        self._foresee(source, n_rows, plan)
        if not plan.alone:
            self._read_rows(source, y)
        bill = None if plan.alone else cost_of_units(plan.bill, word)  # alone, the model pays for its own plan
        with nullcontext() if bill is None else self._paying(bill, plan.delta, resume) as opened:
            statements = self._fit_steps(start, X, y, units, n_rows, bounds, plan)
        by = statements[-1] if plan.alone else plan
        whole = state_pipeline(statements, by.epsilon, by.accountant, bill, delta=plan.delta, free=plan.free)
        if opened is not None:
            said = (*whole.assumptions, *not_covered(self._model.on_missing))
            whole = charged_to(replace(whole, assumptions=said), opened.payment)
        if raw:
            whole = replace(whole, assumptions=tuple(a for a in whole.assumptions if a != MADE_ROWS))
        self.statement_ = self._model.statement_ = whole
        return self

    def _paying(self, bill: Cost, delta: float, resume: Resume | None) -> AbstractContextManager[Session]:
        """The session that pays for all steps."""
        seeded = any(vars(step).get("random_state") is not None for _, step in self.steps)
        randomness = Randomness(0 if seeded else None)  # nothing is drawn from it: each step has its own
        what = "private pipeline"
        return session(self, bill=bill, label=what, delta=delta, randomness=randomness, nested=True, resume=resume)

    def _refuse_late_counts(self, start: int, source: Records) -> None:
        """Refuse a count of cells by a step that will not be told of them, before anything is paid."""
        asking = [k for k, (_, step) in enumerate(self.steps) if getattr(step, "check_cells", None) is not None]
        if asking and source.unread is None:
            raise DataError(NOBODY_SAID)
        if any(k != start for k in asking):
            raise DataError(
                f"cells are counted by the first step with a price, which is {self.steps[start][0]!r}: what it hands "
                "on does not say which were understood. Give check_cells to that step if it takes it, and to no other."
            )

    def _foresee(self, source: Records, n_rows: int | None, plan: PipelinePlan) -> None:
        """Try a user-supplied recipe on synthetic data and warn of a hopeless model, before anything is paid.

        Nothing where its bounds are learned.

        Where rows are counted, their number is a guess, of which no warning is made.
        """
        if any(isinstance(step, PrivateBounds) for _, step in self.steps):
            return
        from ...report.planner.foresight import warn_if_hopeless

        shape = Shape(n_rows=n_rows or GUESSED_ROWS, n_features=source.shape[1], sparse=source.sparse)
        prepared, shape = self._prepared(plan.budgets[self.steps[-1][0]], plan.delta, shape)
        if prepared is not None:
            trial_run(prepared)
        if prepared is not None and n_rows is not None:
            warn_if_hopeless(prepared, shape, stacklevel=4)

    def stored(self) -> object:
        """What a file holds."""
        from .pipeline_file import pipeline_content

        return pipeline_content(self)

    def fit_transform(self, X: object, y: object = None, **params: object) -> NoReturn:
        """Refused: a slice would fit its steps with budgets of their own, and charge no ledger."""
        raise TypeError(
            "a part of a private pipeline is not fitted by itself. Fit the whole pipeline, and use "
            "transform of its slice."
        )

    def _fit_steps(
        self,
        start: int,
        X: Matrix,
        y: object,
        units: object,
        n_rows: int | None,
        bounds: Bounds | None,
        plan: PipelinePlan,
    ) -> list[Statement]:
        """Fit the steps from `start` on, each with its budget; returns what each priced one guaranteed."""
        statements, absent, model = [], None, self._model
        told = {} if units is None else {"units": units}
        for name, step in self.steps[start:]:
            if name not in plan.shares:
                X, bounds, absent = self._free(name, step, X, y, bounds, absent, "empty")
                continue
            X, absent = leave_out(X, absent), None
            loan = self._step_arguments(name, plan.budgets[name], plan.delta, n_rows, bounds)
            # what was to be refused was refused before the first of several was paid for
            loan |= {name: getattr(self, name) for name in PAYING} if plan.alone else {"on_missing": "empty"}
            loan |= self._target_arguments() if step is model else {}
            with temporarily_set(step, **loan), warnings.catch_warnings():
                if step is model:
                    self._check_model(X, units, plan)
                warnings.simplefilter("ignore", HopelessFitWarning)  # said before anything was paid
                step.fit(X, y, **told)
                X = X if step is model else step.transform(X)
            said = step.statement_
            if step is not model:  # its asks must not be taken for those of the model
                said = replace(said, asks=tuple(replace(ask, name=f"{name}: {ask.name}") for ask in said.asks))
            statements.append(said)
            n_rows, bounds = vars(step).get("n_rows_", n_rows), vars(step).get("bounds_", bounds)
        return statements

    def _check_model(self, X: Matrix, units: object, plan: PipelinePlan) -> None:
        """Refuse a model that works on devices, by the bounds of its fit: they may not have been foreseen."""
        model = self._model
        if not plan.alone:
            request, source = model.request(), Records.of(X)
            shape = request.shape(records_of(X, units), source.shape[1], sparse=source.sparse, models=1)
            refuse_local(plan_fit(request, shape))
        if self.dataset is not None:
            model.alone()  # the pipeline's ledger counts

    def _read_rows(self, source: Records, y: object) -> None:
        """Let the model check the rows before anything is paid.

        It checks their shape, labels and, where that was asked for, missing values.
        """
        settings = {"adjacency": self.adjacency, "n_rows": self.n_rows, "feature_bound": 1.0, "row_norm": None}
        clone(self._model).set_params(**settings, **self._target_arguments(foreseen=True)).read_rows(source, y)

    def _public_rows(self, X: object, units: object) -> int | None:
        """The public number of records; None where a step counts them."""
        adjacency = Adjacency.named(self.adjacency)
        if adjacency is Adjacency.ADD_REMOVE and self.n_rows is None:
            return None
        return public_rows(self.n_rows, adjacency, records_of(X, units))

    @staticmethod
    def _free(
        name: str,
        step: BaseEstimator,
        X: Matrix,
        y: object,
        bounds: Bounds | None,
        absent: Absent | None,
        on_missing: str,
    ) -> tuple[Matrix, Bounds | None, Absent | None]:
        """Rows and bounds behind a step that costs nothing, and which records are absent.

        Records are absent because some step failed on them.

        Third-party code has to pass on artificial rows first, and its messages about real rows are
        not shown.
        """
        from ...audit.pipeline import refuse_mixing_step

        if step in ("passthrough", None):
            return X, bounds, absent
        refuse_mixing_step(name, step, X)
        with temporarily_set(step, **about_missing(step, on_missing)), suppress_messages():
            if isinstance(step, RowStep):
                X, absent = leave_out(X, absent), None
                # where there are no rows, which must not be told, ours learn as little from an empty one
                seen = np.zeros((1, Records.of(X).shape[1])) if Records.of(X).shape[0] == 0 else X
                X = step.fit(seen, y).transform(X)
            elif isinstance(step, TableEncoder):  # it refuses names of columns, and no cell
                X = step.fit(X, y).transform(X)
            else:
                X, failed = row_map(name, step, X, y)
                absent = failed if absent is None else absent | failed
        return X, bounds_after(step, bounds, int(X.shape[1])), absent


def make_private_pipeline(
    *steps: Step,
    epsilon: float = 1.0,
    delta: float | None = None,
    budget: Budget | None = None,
    shares: Mapping[str, float] | None = None,
    adjacency: str = "replace-one",
    n_rows: int | None = None,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    label: str | None = None,
    run_id: str | None = None,
    resume: str | PathLike[str] | None = None,
) -> PrivatePipeline:
    """A pipeline with one budget and one statement; names of steps are their classes in lower case.

    Preparing steps come first and a SparseRegressor or SparseClassifier last. A step that learns
    from the rows without paying (a StandardScaler, a vocabulary, a column filter) is refused, with
    its cause.

    Parameters
    ----------
    *steps : transformers and, last, a model
    epsilon, delta, budget, shares, adjacency, n_rows, ledger, dataset, label, run_id, resume
        As in `PrivatePipeline`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateScaler, SparseRegressor, make_private_pipeline
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 5)) * [1, 1, 0.1, 0.1, 0.1]
    >>> y = X[:, 0] + 10 * X[:, 2] + 0.1 * rng.standard_normal(20_000)
    >>> pipe = make_private_pipeline(
    ...     PrivateScaler(feature_bound=1.0), SparseRegressor(sparsity=2, target_bound=3.0), epsilon=2.0
    ... )
    >>> round(pipe.fit(X, y).statement_.epsilon, 6)
    2.0
    """
    pipeline = PrivatePipeline(
        make_pipeline(*steps).steps,
        epsilon=epsilon,
        delta=delta,
        budget=budget,
        shares=shares,
        adjacency=adjacency,
        n_rows=n_rows,
        ledger=ledger,
        dataset=dataset,
        label=label,
        run_id=run_id,
        resume=resume,
    )
    pipeline.priced_steps()
    return pipeline


def records_of(X: object, units: object) -> int:
    """The number of records: one for each row, or one for each id."""
    if units is not None and isinstance(X, ClusterRecords):
        return sum(X.units or ())
    shape: tuple[int, ...] = getattr(X, "shape", ())  # texts come as a list
    rows = int(shape[0]) if len(shape) else len(cast("Sized", X))
    return rows if units is None else read_units(units, rows).count


def about_missing(step: BaseEstimator, choice: str) -> dict[str, str]:
    """The argument `on_missing` of a step, and of steps of ours inside of it, as arguments of the step."""
    inside = step.get_params(deep=True)
    held = [key for key, value in inside.items() if isinstance(value, RowStep | PrivateStep)]
    own = ["on_missing"] if isinstance(step, RowStep | PrivateStep) else []
    return dict.fromkeys([*own, *(f"{key}__on_missing" for key in held)], choice)


@contextmanager
def temporarily_set(step: BaseEstimator, **loan: object) -> Iterator[None]:
    """Set some arguments of a step for a while; it has its own back afterwards."""
    own = {name: value for name, value in step.get_params(deep=True).items() if name in loan}
    step.set_params(**loan)
    try:
        yield
    finally:
        step.set_params(**own)
