"""Private hyper-parameter search by random stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ... import recipes
from ...accounting import FixedCost, PricedPlan, cost_of_units
from ...accounting.random_stopping import SearchCost, law_of
from ...core import Budget, PrivacyError, ResumeError, Statement, checks
from ...core.facts import Vector
from ...core.mechanisms import Randomness
from ...core.plain import Json, to_json
from ...fitting import FitPlan, Seed, Shape, default_delta, plan_fit, refuse_rows_brought, trial_run, warn_if_seeded
from ...fitting.progress import progress_bar
from ...fitting.session import session
from ...fitting.statement import charged_to, draft_search, not_covered, one_id, state_best
from ...ledger import Ledger, LedgerArgument, check_ledger, refuse_own_ledger
from ...oracles import Resume
from ...rows.records import suppress_messages
from ..display import StatementMixin
from ..input_checks import refuse_fit_arguments, with_columns_of, with_ids
from ..linear import SparseLinear
from ..model_file import ModelContent, model_content, model_of, sealed_form
from ..steps.pipeline_file import arguments, restored_value
from .plan import PlannedRun, SearchPlan, dearest_plan
from .runs import Scoring, SearchData, SearchRun, best_run, public_default
from .space import (
    CHECKED,
    DEFAULT_RECIPES,
    Parameters,
    Space,
    candidate,
    restored_candidate,
    restored_space,
    stored_space,
)


def planned_run(parameters: Parameters, prepared: FitPlan, rows: int, shape: Shape) -> PlannedRun:
    """What was prepared for a candidate, for those who approve of it."""
    from ...report.planner import planned_asks
    from ...report.planner.foresight import draft_of

    draft = draft_of(prepared, replace(shape, n_rows=rows))
    asks = planned_asks(prepared.plan, prepared.of_one_model)
    return PlannedRun(parameters=parameters, recipe=draft.recipe, asks=asks, notes=draft.notes)


Method = TypeVar("Method", bound=Callable[..., object])


def _of_classifiers(method: Method) -> Method:
    """A method of searches for classifiers; other searches do not have it."""
    made: Method = available_if(lambda search: is_classifier(search.estimator))(method)
    return made


@dataclass(eq=False, repr=False)
class SearchArguments:
    """Arguments of a search, as its constructor takes them; documented there."""

    estimator: SparseLinear
    param_distributions: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None
    epsilon: float = 1.0
    delta: float | None = None
    _: KW_ONLY
    mean_runs: float = 10
    law: str = "auto"
    scoring: str = "auto"
    score_bound: float | None = None
    score_share: float = 0.1
    holdout: float | None = None
    ledger: Ledger | str | None = None
    dataset: str | None = None
    label: str | None = None
    run_id: str | None = None
    resume: str | PathLike[str] | None = None
    accept: tuple[str, ...] = ()
    random_state: Seed = None
    verbose: bool = False


class PrivateSearch(StatementMixin, MetaEstimatorMixin, SearchArguments, BaseEstimator):  # type: ignore[misc]
    """Hyper-parameter search under differential privacy.

    A secret random number of times, a candidate is drawn, fitted and scored, each with its own
    noise; the run with the best noisy score is the answer. The cost is far below that of publishing
    all runs, and does not depend on how many were drawn.

    Parameters
    ----------
    estimator : SparseRegressor or SparseClassifier
        Its `epsilon`, `delta`, `budget` and `random_state` are not used: the search sets them.
    param_distributions : dict or list of dict, or None
        Names of the estimator's arguments (``"sparsity"``, ``"alpha"``, ``"recipe"``, ...), or
        ``recipe__`` and a field of its recipe (``"recipe__steps"``, ``"recipe__clip"``), with a
        list of values or a distribution of ``scipy.stats``. From a list of dictionaries one is
        drawn first. None: the recipes that ``auto`` chooses from, and DP-IGHT.
    epsilon : float, default=1.0
        Budget of the whole search.
    delta : float or None
        None: ``min(1e-6, 1/(10 n))``.
    mean_runs : float, default=10
        Expected number of runs; above 1.
    law : {"auto", "logarithmic", "geometric", "poisson"}
        Law of the number of runs. ``auto``: logarithmic. Under the Poisson law there may
        be no run at all; the answer is then the public start vector.
    scoring : str
        ``auto`` is ``"accuracy"`` for a classifier (or ``"neg_log_loss"``) and
        ``"neg_mean_squared_error"`` for a regressor (or ``"neg_mean_absolute_error"``).
    score_bound : float or None
        Losses of single rows are clipped to [0, score_bound]. None: 1 for accuracy, 3 log 2 for
        log-loss, and what a residual of half the target bound costs for a regressor.
    score_share : float, default=0.1
        Part of a run's zCDP that pays for its score, where the rows that fit also score.
    holdout : float or None
        None: the same rows fit and score, which composes. A number in (0, 1): this part of the
        rows, drawn independently of the data, scores and the others fit; each row then takes part
        in one of the two, and both have the whole budget of a run.
    ledger, dataset
        A durable budget shared by many fits; the whole search is reserved at once.
    label, run_id : str or None
        For the ledger, as in `SparseRegressor`. Label None: "private search".
    resume : path or None
        As in `SparseRegressor`. The folder holds the answers of one run, and of the best so far,
        and secretly how many runs there are: keep it to yourself while the search is not done.
    accept : tuple of str
        Names of assumptions that the user accepts, beside the estimator's own.
    random_state : int or None
        None: cryptographic randomness. A seed is for tests: the search is then not private.
    verbose : bool
        Show that the search is running; how many runs are done is not shown.

    Attributes
    ----------
    best_params_ : dict
        The candidate of the best run; empty if there was none.
    best_score_ : float
        Its noisy score; NaN if there was no run.
    best_estimator_ : SparseRegressor or SparseClassifier
        Its model. Its statement is that of the whole search.
    statement_ : Statement
        What was guaranteed for the whole search.
    plan_ : SearchPlan
        What it cost.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSearch, SparseRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 20))
    >>> y = 2 * X[:, 0] - X[:, 3] + 0.1 * rng.standard_normal(5000)
    >>> model = SparseRegressor(feature_bound=1.0, target_bound=3.5, sparsity=2, recipe="dp_ight")
    >>> search = PrivateSearch(model, {"recipe__clip": [0.001, 1.0]}, epsilon=4.0, mean_runs=20).fit(X, y)
    >>> round(search.statement_.epsilon, 6)
    4.0
    """

    ledger = LedgerArgument()

    # ---------------------------------------------------------------------------------------------- public side

    def plan(self, n_rows: int, n_features: int, sparse: bool = False) -> SearchPlan:
        """What the search would cost on data of this shape, and what each run would get and ask.

        Reads no data, spends nothing. Every candidate of a space with at most 256 of them is planned
        and priced, and one that cannot be is refused.

        Parameters
        ----------
        n_rows, n_features : int
            The public shape of the data.
        sparse : bool
            Whether the rows will come sparse, as in `SparseRegressor.plan`.
        """
        self._check_parts()
        shape = self.estimator.request().planned_shape(n_rows, n_features, sparse=sparse)
        return self._planned(shape)[0]

    def _planned(self, shape: Shape, data: SearchData | None = None) -> tuple[SearchPlan, Space]:
        """The plan, and the space that it was checked for; from arguments and public shape alone.

        `data` knows the names of the columns, and bounds that came with the rows.
        """
        from ...report.planner import planned_asks

        request = self.estimator.request()
        law = law_of(self.law, self.mean_runs)
        scoring = Scoring.read(self.scoring, self.score_bound, request)
        n_rows = shape.n_rows
        delta = default_delta(n_rows) if self.delta is None else self.delta
        relation = Budget.approx(self.epsilon, delta, self.estimator.adjacency).relation  # refuses what makes no sense
        training, validation = self._parts(n_rows)
        given = self.param_distributions
        space = Space.read({"recipe": list(DEFAULT_RECIPES)} if given is None else given, self.estimator)
        prepared: dict[float, list[tuple[Parameters, FitPlan]]] = {}

        def planned(bill: SearchCost) -> SearchPlan:
            assert isinstance(bill.base, FixedCost)
            rho = bill.base.rho
            split = 1.0 if self.holdout is not None else 1.0 - self._share()
            return SearchPlan(
                bill=bill,
                epsilon=bill.epsilon(delta),
                delta=delta,
                n_rows=n_rows,
                training_rows=training,
                validation_rows=validation,
                training_rho=rho * split,
                score_rho=rho if self.holdout is not None else rho * self._share(),
                scoring=scoring,
                candidates=space.size,
                sparse=shape.sparse,
            )

        def prices(plan: SearchPlan) -> list[PricedPlan] | None:
            """Of every candidate, if that can be seen; refuses one that cannot be planned."""
            if space.size is None or space.size > CHECKED:
                return None
            made = [(parameters, self.prepare_candidate(parameters, plan, shape, data)) for parameters in space.all()]
            prepared[plan.training_rho] = made
            return [one.priced for _, one in made if one.priced is not None]

        found = dearest_plan(self.epsilon, delta, law, relation, planned, prices)
        runs = prepared.get(found.training_rho)
        score = found.scoring.priced(found.score_rho, found.adjacency, request.noise == "exact")
        return replace(
            found,
            runs=None if runs is None else tuple(planned_run(*run, found.training_rows, shape) for run in runs),
            score_asks=planned_asks(score.plan, score),
        ), space

    def _check_parts(self) -> None:
        """Refuse what is not searched, and what is not paid for as it says."""
        if not isinstance(self.estimator, SparseLinear):
            raise TypeError(
                f"PrivateSearch takes a SparseRegressor or a SparseClassifier, got {type(self.estimator).__name__}. "
                "What it fits must be private, and know its own price."
            )
        if self.estimator.intervals is not None:
            raise ValueError(
                "a search publishes the best of several fits, and intervals of the best are too good. Leave "
                "intervals=None in the search, and fit what it found once more with intervals='split'."
            )
        check_ledger(self.ledger, self.dataset, self.label, self.run_id)
        refuse_own_ledger(self.estimator, "the search")

    def _share(self) -> float:
        return checks.fraction(self.score_share, "score_share")

    def _parts(self, n_rows: int) -> tuple[int, int]:
        """Public numbers of rows that fit and that score."""
        if self.holdout is None:
            return n_rows, n_rows
        held = round(checks.fraction(self.holdout, "holdout") * n_rows)
        if not 0 < held < n_rows:
            raise ValueError(f"holdout={self.holdout!r} of {n_rows} rows leaves nothing to fit or nothing to score.")
        return n_rows - held, held

    def _candidate(self, parameters: Parameters, plan: SearchPlan) -> SparseLinear:
        """An estimator for one run, at its price."""
        if self.estimator.check_cells is not None:
            raise ValueError(
                "a search counts no cells beside its runs. Leave check_cells=None, and count with the last fit."
            )
        made = candidate(self.estimator, parameters).alone()
        made.set_params(
            budget=Budget.zcdp(plan.training_rho, plan.adjacency),
            delta=plan.delta,
            n_rows=plan.training_rows,
            accept=(*made.accept, *self.accept),
            ledger=None,
            dataset=None,
            check_bounds=None,
            random_state=None,
            verbose=False,
        )
        return made

    def prepare_candidate(
        self, parameters: Parameters, plan: SearchPlan, shape: Shape, data: SearchData | None = None
    ) -> FitPlan:
        """The priced plan of a candidate on data of this shape; refuses one that cannot be run. Reads no row."""
        try:
            made = self._candidate(parameters, plan)
            request = made.request() if data is None else data.request_of(made)
            prepared = plan_fit(request, replace(shape, n_rows=plan.training_rows))
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            kind = type(error) if isinstance(error, PrivacyError) else kind
            raise kind(
                f"the candidate {parameters!r} cannot be run in a search, which prices runs in zCDP: {error}"
            ) from None
        if prepared.priced is None or prepared.plan.unproven:  # then the whole search has no guarantee
            what = "is a baseline without privacy" if prepared.priced is None else "has no proof of its privacy"
            raise PrivacyError(f"the candidate {parameters!r} {what}. A private search compares private recipes.")
        if prepared.plan.local:
            raise PrivacyError(
                f"the candidate {parameters!r} randomises on devices, and its privacy cannot be "
                "mixed with that of a central search."
            )
        return prepared

    # ---------------------------------------------------------------------------------------------- fitting

    def fit(self, X: object, y: object, units: object = None, **unsupported: object) -> Self:
        """Search on private rows. Everything is planned, priced and drawn before a row is used.

        `units`, if given, holds the id of each row, or names the column of a frame that does: every run,
        and the whole search, then protects all rows with the same id together, and a holdout is of ids.
        """
        refuse_fit_arguments(unsupported)
        from ...audit import check_pipeline

        check_pipeline(self.estimator, strict=True)
        self._check_parts()
        randomness = Randomness(self.random_state)
        refuse_rows_brought("the search", self.param_distributions, X, y)
        X, y, units = with_ids(X, y, units)
        data = SearchData.read(clone(self.estimator), X, y, units)
        del X, y, units
        plan, space = self._planned(data.shape, data)
        resume = Resume.of(self.resume, self.dataset, self.run_id)
        drawn = self._drawn(space, plan, randomness, resume)
        for parameters in drawn:  # refuse before anything is spent; what was drawn does not depend on the data
            trial_run(self.prepare_candidate(parameters, plan, data.shape, data))
        warn_if_seeded(randomness, "search")
        loss = data.request.loss
        shared = space.assumptions(self.estimator, data.facts(plan.training_rows))
        word = data.request.unit
        said = (*data.targets.assumptions, *shared, *not_covered(data.request.on_missing), *one_id(word))
        draft = draft_search(
            plan.bill, plan.delta, plan.run_rho, loss, plan.n_rows, said, secure=randomness.secure, unit=word
        )
        models = [(parameters, self._candidate(parameters, plan)) for parameters in drawn]
        bar = progress_bar("private search", None) if self.verbose else None  # how many runs there are is secret
        # its payment starts also where no run was drawn: the ledger must not show that
        whole = session(
            self,
            bill=cost_of_units(plan.bill, word),
            label="private search",
            delta=plan.delta,
            randomness=randomness,
            bar=bar,
            nested=True,
            resume=resume,
        )
        with whole as opened, suppress_messages():
            best = best_run(models, data, plan, opened, holdout=self.holdout)
        if best is None:
            best = SearchRun({}, public_default(clone(self.estimator), data, draft), math.nan, ran=False)
        model = data.named(best.model)
        ran = model.statement_ if best.ran else None
        statement = state_best(draft, ran, model.request().loss, best.answers)
        self.plan_ = plan
        return self._keep(model, best.parameters, best.score, charged_to(statement, opened.payment))

    def _keep(self, model: SparseLinear, parameters: Parameters, score: float, statement: Statement) -> Self:
        """Take over the best model."""
        self.best_estimator_, self.best_params_, self.best_score_ = model, parameters, score
        self.statement_ = model.statement_ = statement
        return with_columns_of(self, model)

    def _drawn(self, space: Space, plan: SearchPlan, randomness: Randomness, resume: Resume | None) -> list[Parameters]:
        """The candidates, as many as the law of the search draws; of a search that is done, the best one."""
        done = None if resume is None else resume.kept
        if done is not None and done[0] is None:
            raise ResumeError("this search is done, and its best candidate has no stored form. Use the model it saved.")
        if done is not None:
            return [restored_candidate(done[0])] if done[0] else []
        secret = resume is not None and randomness.secure
        generator = resume.generator("draws") if resume is not None and secret else randomness.generator()
        return [space.draw(generator) for _ in range(plan.bill.law.draw(generator))]

    # ---------------------------------------------------------------------------------------------- after fitting

    def stored(self) -> object:
        """What a file holds."""
        return search_content(self)

    @property
    def _best(self) -> SparseLinear:
        """The best model; refuses a search that has not been fitted."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @property
    def classes_(self) -> NDArray[np.generic]:
        """Classes of a classifier."""
        return np.asarray(self._best.classes_)

    def predict(self, X: object) -> NDArray[np.generic]:
        """Predictions of the best model."""
        return np.asarray(self._best.predict(X))

    @_of_classifiers
    def predict_proba(self, X: object) -> Vector:
        """Class probabilities of the best model."""
        return np.asarray(self._best.predict_proba(X))

    @_of_classifiers
    def predict_log_proba(self, X: object) -> Vector:
        """Logarithms of the class probabilities of the best model."""
        return np.asarray(self._best.predict_log_proba(X))

    @_of_classifiers
    def decision_function(self, X: object) -> Vector:
        """Margins of the best model."""
        return np.asarray(self._best.decision_function(X))

    def score(self, X: object, y: object) -> float:
        """Score of the best model on some rows: exact, and so not to be published unless they are public."""
        return float(self._best.score(X, y))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        tags.non_deterministic = True
        return tags


# ------------------------------------------------------------------------------------------------ files

FORMAT, VERSION = "dpsparse-search", 2
#: Arguments with a place of their own: the estimator is that of the best model.
LEFT = ("estimator", "param_distributions")


@sealed_form(FORMAT, VERSION)
@dataclass(frozen=True, kw_only=True, eq=False)
class SearchContent:
    """All that the file of a fitted search holds."""

    params: dict[str, Any]
    space: Any
    best_params: dict[str, Any]
    best_score: float | None
    model: ModelContent
    statement: Statement


def search_content(search: PrivateSearch) -> SearchContent:
    """All that a file of a fitted search holds.

    A space with values that have no plain form is left out.
    """
    best = {
        name: recipes.settings(recipes.make(value)) if name == "recipe" and not isinstance(value, str | dict) else value
        for name, value in search.best_params_.items()
    }
    return SearchContent(
        params=arguments(search, LEFT),
        space=stored_space(search.param_distributions),
        best_params=cast("dict[str, Json]", to_json(best)),
        best_score=cast("float | None", to_json(search.best_score_)),
        model=model_content(search.best_estimator_),
        statement=search.statement_,
    )


def search_of(content: SearchContent) -> PrivateSearch:
    """The search of a content: it predicts as before, and can search again."""
    model = model_of(content.model)
    search = PrivateSearch(clone(model), restored_space(content.space), **restored_value(content.params))
    score = math.nan if content.best_score is None else float(content.best_score)
    return search._keep(model, content.best_params, score, content.statement)
