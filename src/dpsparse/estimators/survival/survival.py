r"""Private sparse survival: proportional hazards on one row for each person.

.. math:: \lambda(t \mid x) = \lambda_0(t)\, e^{a + \langle x, b\rangle}

A private life table gives the baseline :math:`\lambda_0`, constant between public times, at 8 % of
the budget. Given its cumulative hazard H, a person who left at time T adds the slope
:math:`e^m H(T) - [\text{event}]`, a function of one margin and one number: an ordinary sparse fit,
with the rest of the budget.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from ...accounting import Cost, PricedPlan, price
from ...core import Adjacency, Budget, DataError, MissingValueError, Noise, Statement, checks
from ...core.codec import FormError
from ...core.facts import Vector
from ...core.mechanisms import Randomness
from ...core.public_draws import repeatable
from ...fitting import noise_of_sums, plan_fit, public_rows, stated_budget, warn_if_seeded
from ...fitting.session import PaidBy, session
from ...fitting.statement import MADE_ROWS, charged_to, not_covered, state_pipeline
from ...io.scikit import BaseEstimator, check_is_fitted
from ...ledger import LedgerArgument, check_ledger
from ...oracles import Resume
from ...queries.losses import Survival
from ...rows import Records
from ...rows.records import AT_FIT
from ...rows.row_bounds import RowBounds
from ..arguments import ModelArguments
from ..classifier import SparseClassifier
from ..display import StatementMixin
from ..input_checks import our_tags, read_source, refuse_fit_arguments, unless_refused, with_columns_of
from ..model_file import ModelContent, model_content, model_of, sealed_form
from ..regressor import SparseRegressor
from ..steps.plan import budgets_of, promise
from ..steps.priced import asking
from .life_table import LifeTable, Spells, ask_life_table, life_table_facts, life_table_plan, life_table_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.utils import Tags

    from ...rows.shapes import Basis
    from ..score.card import ScoreCard
    from ..shape_functions import ShapeFunction


#: Part of the budget that the life table takes, on the scale of zCDP.
TABLE_SHARE = 0.08

#: Arguments that the linear model takes as they are: those that files keep, and those of one run.
SHARED = (
    *("sparsity", "row_norm", "feature_bound", "feature_center", "recipe", "penalty", "alpha", "l1_ratio", "box"),
    *("adjacency", "n_rows", "noise"),
)
RUNNING = ("memory_limit", "random_state", "verbose")

#: What a guarantee depends on.
ONE_ROW = "each person has one row, and time, event and entry belong to that person"


@dataclass(eq=False, repr=False)
class SurvivalArguments(ModelArguments):
    """Arguments of a survival model, as its constructor takes them; documented there."""

    _: KW_ONLY
    horizon: float | None = None
    intervals: int = 20


class SparseSurvival(StatementMixin, SurvivalArguments, BaseEstimator):  # type: ignore[misc]
    """Sparse proportional hazards under differential privacy, for times to an event that may be censored.

    One row for each person: covariates that change with time, several rows of a person, are not
    taken. Intervals for hazard ratios are not offered: their coverage has not been shown.

    Parameters
    ----------
    epsilon, delta, budget, sparsity, row_norm, feature_bound, feature_center, recipe, penalty, \
alpha, l1_ratio, box, adjacency, n_rows, noise, ledger, dataset, label, run_id, resume, on_missing, \
memory_limit, random_state, verbose
        As in `SparseRegressor`. One budget, and one entry in a ledger, covers life table and fit.
    horizon : float
        Required. Public end of follow-up, in the units of `time`: anyone who is observed longer counts
        as censored there. From the protocol of the study and not from the data.
    intervals : int, default=20
        Intervals of equal length up to the horizon, in each of which the baseline hazard is
        constant. With few hundred persons take 5.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Log hazard ratios for one unit of each feature.
    hazard_ratios_ : array of shape (n_features,)
    intercept_ : float
        Log hazard ratio of a row of zeros, against the life table.
    baseline_ : LifeTable
        `times`, `hazard`, and `cumulative(times)`.
    support_ : array of int
    statement_ : Statement

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 4))
    >>> time = rng.exponential(10 / np.exp(1.0 * X[:, 0]))
    >>> event, time = time < 5, np.minimum(time, 5)
    >>> model = SparseSurvival(epsilon=2.0, horizon=5.0, feature_bound=1.0).fit(X, time, event)
    >>> bool(2.0 < model.hazard_ratios_[0] < 3.5)
    True
    >>> model.predict_survival(X[:3], [1.0, 5.0]).shape
    (3, 2)
    """

    ledger = LedgerArgument()

    coef_: Vector
    intercept_: float
    baseline_: LifeTable
    statement_: Statement
    n_features_in_: int
    model_: SparseRegressor

    # ---------------------------------------------------------------------------------------------- fitting

    def fit(
        self, X: object, time: object = None, event: object = None, entry: object = None, **unsupported: object
    ) -> Self:
        """Fit on private rows. Arguments are checked and both parts are priced before a row is used.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, n_features)
            One row for each person.
        time : array of shape (rows,)
            When the person was last seen, from the start of the study.
        event : array of shape (rows,)
            1 where the event happened then, 0 where the person was censored.
        entry : array of shape (rows,), optional
            When the person came under observation, before `time`; None: at the start.
        """
        _refuse_rows_of_time(unsupported)
        refuse_fit_arguments(unsupported)
        if time is None or event is None:
            raise TypeError("fit needs time and event, one number each for every person.")
        times = self._times()
        check_ledger(self.ledger, self.dataset, self.label, self.run_id)
        adjacency = Adjacency.named(self.adjacency)
        source = read_source(self, X, reset=True, adjacency=adjacency)
        if source.spread is not None:
            raise DataError("survival is not fitted on a cluster yet. Bring the rows to one machine.")
        spells = Spells.read(time, event, entry, source.shape[0], float(times[-1]))
        unless_refused(self.on_missing, source)
        if self.on_missing == "refuse" and spells.missing():
            raise MissingValueError(_REFUSAL)
        n_rows = public_rows(self.n_rows, adjacency, source.shape[0])
        resume = Resume.of(self.resume, self.dataset, self.run_id)
        with repeatable(None if resume is None else resume.public_seed):
            return self._fit(X, source, spells, times, n_rows, resume)

    def _fit(
        self, X: object, source: Records, spells: Spells, times: Vector, n_rows: int, resume: Resume | None
    ) -> Self:
        entries = spells.entry is not None
        bill, delta, (table, rest) = self._priced(n_rows, X, entries=entries)
        randomness = Randomness(self.random_state)
        warn_if_seeded(randomness, "fit", stacklevel=4)
        paying = session(
            self, bill=bill, label="survival", delta=delta, randomness=randomness, nested=True, resume=resume
        )
        with paying as opened:
            self.baseline_, first = self._life_table(spells, times, table, delta, n_rows)
            model = self._model(rest, delta, self.baseline_.total)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about seeds and noise: said before anything was paid
                model.set_params(on_missing="empty").fit(X, spells.targets(self.baseline_))
        how = f"{'Gaussian' if bill.mu() < np.inf else 'zCDP'} composition of life table and fit"
        parts = first, model.statement_
        whole = state_pipeline(parts, bill.epsilon(delta), how, bill, delta=delta, free=())
        encoded = Records.of(X).unread is not None  # by a dictionary, so that nobody made numbers of cells before
        said = (
            *(a for a in whole.assumptions if not (encoded and a == MADE_ROWS)),
            ONE_ROW,
            *not_covered(self.on_missing),
        )
        name = f"survival: a life table of {times.size - 1} intervals, then {model.statement_.recipe}"
        whole = replace(whole, assumptions=said, recipe=name)
        return self._keep(model.set_params(on_missing=self.on_missing), charged_to(whole, opened.payment))

    def _keep(self, model: SparseRegressor, statement: Statement) -> Self:
        """Take over what a fit learned."""
        self.model_, self.statement_ = model, statement
        model.statement_ = statement
        self.coef_, self.intercept_, self.support_ = model.coef_, float(np.ravel(model.intercept_)[0]), model.support_
        self.hazard_ratios_ = np.exp(self.coef_)
        return self

    def _times(self) -> Vector:
        """Ends of the intervals of the life table."""
        if self.horizon is None:
            raise ValueError(
                "SparseSurvival needs horizon=: the public end of follow-up, in the units of time, from the protocol "
                "of the study and not from the data."
            )
        horizon = checks.positive(self.horizon, "horizon", least=1e-60, most=1e60)
        return np.linspace(0.0, horizon, 1 + checks.whole(self.intervals, "intervals", least=2))

    def _priced(self, n_rows: int, X: object, *, entries: bool) -> tuple[Cost, float, tuple[PricedPlan, Budget]]:
        """The bill of both parts, the delta at which epsilon is stated, the priced life table, and the fit's budget."""
        whole, delta = stated_budget(self.budget, self.epsilon, self.delta, self.adjacency, n_rows)
        noise = noise_of_sums(self.noise, self.random_state)
        shares = {"life table": TABLE_SHARE, "fit": 1 - TABLE_SHARE}
        bill = promise(
            whole, gaussian=noise is Noise.GAUSSIAN and whole.rho is None
        )  # discrete noise is not proven to be mu-GDP
        budgets = budgets_of(bill, shares)
        model = self._model(budgets["fit"], delta, 1.0)
        request, source, _ = model.read_rows(X, np.zeros(Records.of(X).shape[0]), silently=True)
        prepared = plan_fit(request, request.shape(*source.shape, sparse=source.sparse))
        if prepared.bill is None or prepared.plan.local:
            raise ValueError("survival needs a recipe with a curator and a proven price. Use recipe='auto'.")
        return bill, delta, (price(life_table_plan(noise, entries=entries), budgets["life table"]), budgets["fit"])

    def _model(self, budget: Budget, delta: float, bound: float) -> SparseRegressor:
        """The linear model behind the hazard ratios."""
        given = {name: getattr(self, name) for name in (*SHARED, *RUNNING)}
        return SparseRegressor(budget=budget, delta=delta, loss=Survival(), target_bound=bound, **given)

    def _life_table(
        self, spells: Spells, times: Vector, priced: PricedPlan, delta: float, n_rows: int
    ) -> tuple[LifeTable, Statement]:
        """The life table and its statement; paid for by the session around it."""
        entries = spells.entry is not None
        rows, events = life_table_rows(spells, times)
        facts, randomness = life_table_facts(n_rows, times, entries=entries), Randomness(self.random_state)
        unpaid = PaidBy(None, None)
        with asking(unpaid, priced, delta, "life table", rows, events, facts, "empty", randomness) as step:
            found = ask_life_table(step.oracle, times, entries=entries)
        said = step.statement(n_rows)
        return found, replace(said, asks=tuple(replace(ask, name=f"life table: {ask.name}") for ask in said.asks))

    # ---------------------------------------------------------------------------------------------- after fitting

    def predict_risk(self, X: object) -> Vector:
        """Log hazard ratio of each row against the life table: higher is riskier."""
        check_is_fitted(self, "coef_")
        return np.asarray(self.model_._margins(X).ravel())

    def predict_survival(self, X: object, times: ArrayLike) -> Vector:
        """Probability of no event up to each time, for each row: an array of shape (rows, times).

        Times lie between 0 and the horizon. Hazard ratios are clipped to the bound of the fit.
        """
        at = np.atleast_1d(np.asarray(times, dtype=float))
        if at.ndim != 1 or not np.all((at >= 0) & (at <= self._times()[-1])):
            raise ValueError("times must lie between 0 and the horizon: nothing is known beyond it.")
        ratios = np.exp(np.minimum(self.predict_risk(X), Survival().margin_bound))
        return np.asarray(np.exp(-np.outer(ratios, self.baseline_.cumulative(at))))

    def private_auc(self, X: object, time: object, event: object, at: float, **arguments: object) -> ScoreCard:
        """Private AUC at a time: how well risks tell persons with the event by then from those seen without it.

        Persons who were censored before are ignored. Concordance is a mean over pairs of
        persons, which no sum over persons gives; it is not offered.

        Parameters
        ----------
        X, time, event
            Private rows of persons that score the model.
        at : float
            The time, within the horizon.
        **arguments
            Of `dpsparse.private_score`: epsilon, delta, ledger, group and others. Their guarantee is a
            separate one.
        """
        from ..score import private_score

        check_is_fitted(self, "coef_")
        rows = read_source(self.model_, X, reset=False).shape[0]
        when = checks.positive(at, "at", most=float(self._times()[-1]))
        spells = Spells.read(time, event, None, rows, float(self._times()[-1]))
        case = (spells.event == 1) & (spells.time <= when)
        labels = np.where(case, 1.0, np.where(spells.time > when, 0.0, np.nan))
        return private_score(_classifier(self.model_), X, labels, metrics="auc", **arguments)  # type: ignore[arg-type]

    def plot_survival(self, X: object, where: str | PathLike[str] | Axes | None = None) -> Axes:
        """Draw a survival curve for each row, up to the horizon: for a few typical persons, synthetic or public.

        On the current axes of pyplot, on given ones, or in a file. Needs the extra `plots`.
        """
        from ...report.fitted_model import plot_survival

        check_is_fitted(self, "coef_")
        return plot_survival(self, X, where)

    def stored(self) -> object:
        """What a file holds."""
        return survival_content(self)

    @property
    def basis_(self) -> Basis | None:
        """The public map of a record to the terms of the model; None: all columns are lines."""
        return self.model_.basis_

    @property
    def shapes_(self) -> tuple[ShapeFunction, ...]:
        """The curves of the model."""
        return self.model_.shapes_

    def term_names(self) -> list[str]:
        """The name of each coefficient."""
        return self.model_.term_names()

    @property
    def fitted_bounds(self) -> RowBounds | None:
        """To what rows are clipped wherever the model is applied."""
        return self.model_.fitted_bounds

    def __sklearn_tags__(self) -> Tags:
        return our_tags(super().__sklearn_tags__())


def _classifier(model: SparseRegressor) -> SparseClassifier:
    """The same margins, as those of two classes."""
    bounds = model.plain_bounds()
    made = SparseClassifier(feature_bound=bounds["feature_bound"], row_norm=bounds["row_norm"], classes=[0, 1])
    made.classes_, made.multinomial_ = np.array([0, 1]), False
    made.coef_, made.intercept_ = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    made.support_, made.statement_ = model.support_, model.statement_
    made.__dict__["_fitted_bounds"] = model.fitted_bounds
    return with_columns_of(made, model)


#: Of times and events; as fixed as that of cells.
_REFUSAL = (
    "a time, event or entry is missing or cannot be used: times and entries are numbers from 0 on, events are 0 or 1, "
    "and an entry lies before its time and the horizon. Correct such cells by a public rule" + AT_FIT
)


def _refuse_rows_of_time(given: dict[str, object]) -> None:
    """Refuse what belongs to several rows of a person."""
    for name in ("start", "stop", "id", "units", "id_col"):
        if name in given:
            raise TypeError(
                f"{name} belongs to several rows of one person, for covariates that change with time. SparseSurvival "
                "takes one row for each person: covariates at entry, time, event and entry."
            )


# ------------------------------------------------------------------------------------------------ files

FORMAT, VERSION = "dpsparse-survival", 1


def _check(content: SurvivalContent) -> SurvivalContent:
    increases = content.times.ndim == 1 and content.times.size >= 3 and bool(np.all(np.diff(content.times) > 0))
    if not increases or content.times[0] != 0 or content.hazard.shape != (content.times.size - 1,):
        raise FormError("the life table is not as it was saved.")
    if not np.all(content.hazard > 0) or content.model.class_ != "SparseRegressor":
        raise FormError("the life table or the model is not as it was saved.")
    return content


@sealed_form(FORMAT, VERSION, made=_check)
@dataclass(frozen=True, eq=False)
class SurvivalContent:
    """All that the file of a fitted survival model holds: its life table, and the model of the hazard ratios."""

    times: Vector
    hazard: Vector
    epsilon: float
    model: ModelContent
    statement: Statement


def survival_content(model: SparseSurvival) -> SurvivalContent:
    """All that a file of a fitted survival model holds."""
    table = model.baseline_
    linear = model.model_
    if "dictionary_" in vars(model):
        linear.dictionary_ = model.dictionary_
    return SurvivalContent(table.times, table.hazard, float(model.epsilon), model_content(linear), model.statement_)


def survival_of(content: SurvivalContent) -> SparseSurvival:
    """The survival model of a content."""
    linear = model_of(content.model)
    assert isinstance(linear, SparseRegressor)
    horizon, intervals = float(content.times[-1]), int(content.hazard.size)
    given = {name: getattr(linear, name) for name in (*SHARED, "on_missing")}
    made = SparseSurvival(content.epsilon, linear.delta, horizon=horizon, intervals=intervals, **given)
    made.baseline_ = LifeTable(content.times, content.hazard)
    return with_columns_of(made, linear, "dictionary_")._keep(linear, content.statement)
