"""Scores of a model on private rows: one plan, one payment, one statement."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ...accounting import PlanCost, cost_of_units, price
from ...audit.pipeline import refuse_mixing_transform
from ...core import Adjacency, Ask, Budget, DataError, Noise, Plan, checks
from ...core.facts import Facts, Target, Vector
from ...core.mechanisms import Randomness
from ...core.statement import Statement
from ...core.words import one_of_many
from ...fitting import FitRequest, Seed, noise_of_sums, public_rows, read_targets, stated_budget, warn_if_seeded
from ...fitting.drawn import Drawn
from ...fitting.session import PaidBy, session
from ...fitting.statement import complete, draft_score
from ...io.dictionary import TableEncoder
from ...ledger import Ledger, check_ledger
from ...oracles import Resume
from ...queries.losses import Loss, joint_of, mean_of
from ...rows import Records
from ...rows.hosts import ClusterRows
from ...rows.hosts.clusters import open_cluster_rows
from ...rows.lattice import Lattice
from ...rows.margins import MarginTable
from ...rows.records import code_classes, suppress_messages
from ...rows.row_bounds import RowBounds
from ..input_checks import (
    protected_unit,
    read_source,
    read_vector,
    rows_of_units,
    target_kind,
    unless_refused,
    with_ids,
)
from ..linear import SparseLinear
from ..search import PrivateSearch
from ..steps.pipeline import about_missing, temporarily_set
from ..steps.priced import PrivateStep
from ..steps.row_map import leave_out, row_map
from ..steps.row_steps import RowStep
from .asking import Metric, ScorePlan, ScoreSession
from .card import ScoreCard
from .metrics import AUC, R2, WIDEST, Accuracy, BalancedAccuracy, Calibration, MeanLossMetric

#: Metrics of classifiers and of regressors, by name. Those that are asked for if none are named come first.
CLASSIFICATION: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Accuracy(),
        BalancedAccuracy(),
        AUC(),
        MeanLossMetric("log_loss", "log-loss"),
        MeanLossMetric("brier", "brier"),
        Calibration(),
    )
}
REGRESSION: dict[str, Metric] = {
    metric.name: metric for metric in (R2(), MeanLossMetric("mean_absolute_error", "absolute"))
}
#: What is scored if no metrics are named.
DEFAULTS = {True: ("accuracy", "balanced_accuracy", "log_loss"), False: ("r2", "mean_absolute_error")}
#: Metrics that know two classes only.
BINARY = ("auc", "calibration")

ROWS_ALONE = (
    "the model protects one {unit} with all rows, and these scores one row: a {unit} with several rows here is "
    "protected less (give units=)"
)
#: Log-losses of single rows are clipped to this: that of giving the class that came a probability of 1.8 %.
LARGEST_LOG_LOSS = 4.0

#: Name of the ask that counts rows, and its share beside 1 for each metric: a count enters a mean
#: by how far that is from the middle.
PEOPLE, PEOPLE_SHARE = "people", 0.5


def private_score(
    model: BaseEstimator,
    X: object,
    y: object,
    metrics: Sequence[str] | str | None = None,
    epsilon: float = 1.0,
    delta: float | None = None,
    *,
    budget: Budget | None = None,
    group: object = None,
    groups: Sequence[object] | None = None,
    units: object = None,
    unit: str | None = None,
    shares: Mapping[str, float] | None = None,
    loss_bounds: Mapping[str, float] | None = None,
    bins: int = 10,
    confidence: float = 0.95,
    adjacency: str = "replace-one",
    n_rows: int | None = None,
    noise: str = "lattice",
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    label: str | None = None,
    run_id: str | None = None,
    resume: str | PathLike[str] | None = None,
    on_missing: str = "refuse",
    random_state: Seed = None,
) -> ScoreCard:
    r"""Scores of a fitted model on private rows, each with an interval, under one guarantee.

    The people whose rows test a model are in as much need of protection as those whose rows train
    it: an exact accuracy is a release. Their guarantee is a separate one, given by the statement of
    the card. Rows that also trained the model pay for both.

    Guarantee
    ---------
    All scores are computed from noisy sums over rows, asked for by one plan that is priced before a
    row is used. Shares of the budget are fixed beforehand; what a later sum asks may depend on
    earlier answers, its price does not. A record adds to a sum what `queries.cells` proves,
    whatever its values: losses are clipped to public bounds, margins are computed row by row by a
    public model.

    Parameters
    ----------
    model : SparseClassifier, SparseRegressor, pipeline or PrivateSearch
        Fitted. A pipeline must end in one of ours.
    X, y
        Private rows, as the model takes them.
    metrics : sequence of str or None
        For a classifier ``accuracy``, ``balanced_accuracy``, ``log_loss``, ``brier`` and, for two
        classes, ``auc`` and ``calibration``; for a regressor ``r2`` and ``mean_absolute_error``.
        None: accuracy, balanced accuracy and log-loss, or both of a regressor.
    epsilon, delta, budget
        The whole budget, as in `SparseRegressor`.
    group : str, array or None
        Score also by group: a column of X, or one label for each row. Private. Rows of other groups
        count nowhere.
    groups : sequence or None
        The public list of groups; needed with `group`.
    units : array of shape (rows,), str or None
        The id of each row's person, or the column of a frame that holds it: the guarantee then protects
        all rows with the same id, and every id counts alike. `n_rows` and intervals go by the number of
        ids. A person whose rows lie in several groups counts in each with its part of them.
    unit : str or None
        The word for what has one id, such as ``"patient"``; None: "person" where units are given.
    shares : mapping or None
        Relative share of the budget for some of the metrics; 1 for all others.
    loss_bounds : mapping or None
        Bounds on the loss of a single row, by metric: ``log_loss`` (default 4),
        ``mean_absolute_error`` (default: the bound of the target), ``r2`` (of the squared residual;
        default: the square of that bound). Losses beyond are clipped, and noise grows with them.
    bins : int, default=10
        Of the calibration curve.
    confidence : float, default=0.95
        Of each interval by itself.
    adjacency, n_rows, noise, ledger, dataset, label, run_id, resume, on_missing, random_state
        As in `SparseRegressor`.

    Returns
    -------
    ScoreCard

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseClassifier, private_score
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (8000, 5))
    >>> y = (3 * X[:, 0] + rng.logistic(size=8000) > 0).astype(int)
    >>> seed = {"random_state": 0}  # for the example only: with a seed there is no guarantee
    >>> model = SparseClassifier(epsilon=2.0, feature_bound=1.0, **seed).fit(X[:4000], y[:4000])
    >>> card = private_score(model, X[4000:], y[4000:], metrics=["accuracy", "auc"], epsilon=2.0, **seed)
    >>> 0.6 < card["accuracy"].low < card["accuracy"].value < card["accuracy"].high < 0.85
    True
    >>> round(card.statement.epsilon, 6)
    2.0
    """
    relation = Adjacency.named(adjacency)
    check_ledger(ledger, dataset, label, run_id)
    checks.fraction(confidence, "confidence")
    X, y, units = with_ids(X, y, units)
    X, y = open_cluster_rows(X, y)
    if group is not None and isinstance(X, ClusterRows):
        raise ValueError("rows on a cluster are not scored by group yet. Score each group's rows, or leave group=None.")
    word = protected_unit(unit, units)
    codes, X = _group(X, group, groups, model)
    scored = read_model(model, X, relation)
    if y is None and isinstance(X, ClusterRows):
        y = X.targets(target_kind(scored.request))
    del X
    found, chosen = scored.source.shape[0], _metrics(metrics, scored)
    owned = rows_of_units(scored.source, units)
    rows = public_rows(n_rows, relation, owned.count)
    if codes is not None and codes.size != found:
        raise DataError("group and X have inconsistent numbers of samples: one group is needed for each record.")
    request = scored.request
    targets = read_targets(request, read_vector(scored.model, y, found)).coded
    del y
    unless_refused(on_missing, scored.source, None if request.classifies else targets)
    facts, design = _design(scored, chosen, rows, groups, loss_bounds, bins, confidence)
    facts = facts.with_(unit=word)
    plan = plan_scores(chosen, noise_of_sums(noise, random_state), shares)
    stated, at = stated_budget(budget, epsilon, delta, adjacency, rows)
    priced = price(plan, stated)
    randomness = Randomness(random_state)
    warn_if_seeded(randomness, "score")
    what = f"private score ({', '.join(metric.name for metric in chosen)})"
    draft = draft_score(priced, at, what, scored.loss, rows, on_missing, secure=randomness.secure, unit=word)
    draft = _beside(model, draft)
    payer, bill = PaidBy(ledger, dataset, label, run_id), cost_of_units(PlanCost.of(priced), word)
    kept = Resume.of(resume, dataset, run_id)
    with session(payer, bill=bill, label="private score", delta=at, randomness=randomness, resume=kept) as opened:
        view = MarginTable(
            scored.coef, scored.intercept, scored.bounds, Lattice(facts).unit, float(np.max(facts.upper))
        )
        table = _table(scored.source, view, codes, facts).by_unit(owned.units)
        with opened.open(table, targets, facts, scored.loss, priced) as oracle:
            del table, targets, scored, owned
            asker = ScoreSession(oracle, design)
            by_class = any(metric.name == "balanced_accuracy" for metric in chosen)
            people = asker.counts(design.cells(by_class=by_class), PEOPLE)
            told = [metric.run(asker, people) for metric in chosen]
    return ScoreCard(
        scores=tuple(score for part in told for score in part.scores),
        curve=tuple(point for part in told for point in part.curve),
        confidence=confidence,
        statement=complete(draft, [Drawn(oracle.receipts, priced)], opened.payment),
    )


def _beside(model: BaseEstimator, draft: Statement) -> Statement:
    """What is stated of scores, with a caveat where they protect rows and the model persons."""
    several = one_of_many(model.statement_.unit) if hasattr(model, "statement_") else ""
    if not several or one_of_many(draft.unit):
        return draft
    return replace(draft, caveats=(*draft.caveats, ROWS_ALONE.format(unit=several)))


def plan_scores(metrics: Sequence[Metric], noise: Noise, shares: Mapping[str, float] | None = None) -> Plan:
    """Everything that some metrics ask: one count of the rows for all of them, and what each adds, at its share."""
    given = {} if shares is None else dict(shares)
    unknown = [name for name in given if name not in {metric.name for metric in metrics}]
    if unknown:
        raise ValueError(f"shares names {unknown[0]!r}, which is not among the metrics.")
    asks = [Ask(name=PEOPLE, question="CellCounts", noise=noise, share=PEOPLE_SHARE)]
    for metric in metrics:
        share = checks.positive(given.get(metric.name, 1.0), f"the share of {metric.name!r}")
        asks += [Ask(**{**vars(ask), "share": ask.share * share}) for ask in metric.asks(noise)]
    return Plan(asks=tuple(asks))


def _table(source: Records, view: MarginTable, codes: np.ndarray | None, facts: Facts) -> Records:
    """Margins of all rows, made where rows are, and the number of each row's group."""
    if isinstance(source.spread, ClusterRows):
        return Records(source.spread.after_step(view, facts.n_features, sparse=False))
    margins = view(source)
    return margins if codes is None else Records(np.column_stack([margins.plain(), codes]))


def _metrics(names: Sequence[str] | str | None, scored: Scored) -> list[Metric]:
    """The metrics, each once; refuses those that the model has no answer for."""
    classifies = scored.request.classifies
    known = CLASSIFICATION if classifies else REGRESSION
    wanted = DEFAULTS[classifies] if names is None else (names,) if isinstance(names, str) else tuple(names)
    if not wanted:
        raise ValueError("metrics must name at least one metric.")
    for name in wanted:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            what = "classifier" if classifies else "regressor"
            raise ValueError(f"metrics of a {what} are {', '.join(known)}, got {name!r}.{hint}")
        if name in BINARY and scored.coef.shape[0] > 1:
            raise ValueError(f"{name} is a metric of two classes, and this model has {scored.coef.shape[0]}.")
    return [known[name] for name in dict.fromkeys(wanted)]


def _group(
    X: Any, group: object, groups: Sequence[object] | None, model: BaseEstimator
) -> tuple[np.ndarray | None, Any]:
    """Number of each row's group, NaN for any other.

    And the rows, without the column where the model does not know it.
    """
    if group is None:
        if groups is not None:
            raise ValueError(
                "groups were declared, but no group column: give group=, a column of X or one label for each row."
            )
        return None, X
    if groups is None or len(set(groups)) != len(groups) or not len(groups):
        raise ValueError(
            "group needs groups=[...]: the public list of groups, each once. They are not learned from the rows."
        )
    if not isinstance(group, str):
        return code_classes(np.asarray(group, dtype=object).ravel(), list(groups)), X
    if group not in getattr(X, "columns", ()):
        raise ValueError(f"group must be a column of X or one label for each row, and X has no column {group!r}.")
    codes = code_classes(np.asarray(X[group], dtype=object), list(groups))
    names = vars(model).get("feature_names_in_", None)
    if names is not None and group not in names:
        X = X.drop(columns=[group]) if hasattr(X, "iloc") else X.drop(group)
    return codes, X


def _design(
    scored: Scored,
    metrics: Sequence[Metric],
    n_rows: int,
    groups: Sequence[object] | None,
    loss_bounds: Mapping[str, float] | None,
    bins: int,
    confidence: float,
) -> tuple[Facts, ScorePlan]:
    """Public facts of scored rows, and the design of the evaluation."""
    request, models = scored.request, scored.coef.shape[0]
    classes = int(scored.model.classes_.size) if request.classifies else 0
    bound = float(max(classes - 1, 1)) if classes else request.target_bound
    bounds = {
        "log_loss": LARGEST_LOG_LOSS,
        "brier": 1.0 if models == 1 else 2.0,
        "mean_absolute_error": bound,
        "r2": bound**2,
    }
    names = {metric.name for metric in metrics}
    for name, value in (loss_bounds or {}).items():
        if name not in names or name not in bounds or name == "brier":
            raise ValueError(f"loss_bounds names {name!r}, which is not a metric with a bound that was asked for.")
        bounds[name] = checks.positive(value, f"the bound of {name!r}")
    linked = bool(classes) or mean_of(request.loss) is not None
    widest = WIDEST if linked else bound + max(math.sqrt(bounds["r2"]), bounds["mean_absolute_error"])
    named = () if groups is None else tuple(str(name) for name in groups)
    lower = np.r_[np.full(2 * models, -widest), [0.0] * bool(named)]
    upper = np.r_[np.full(2 * models, widest), [float(max(len(named) - 1, 1))] * bool(named)]
    facts = Facts(
        n_rows=n_rows,
        n_features=lower.size,
        lower=lower,
        upper=upper,
        row_norm=float(np.linalg.norm(upper)) * (1 + 1e-9),
        target=Target(bound=bound),
    )
    unit = Lattice(facts).unit
    centre = float(np.clip(scored.intercept[0], -WIDEST / 2, WIDEST / 2))
    design = ScorePlan(
        models=models,
        scale=unit / float(np.max(upper)),
        classes=classes,
        groups=named,
        target_bound=bound,
        within=math.inf if scored.bounds is None else bound,
        bounds=bounds,
        bins=checks.whole(bins, "bins", least=2),
        centre=centre,
        confidence=confidence,
        n_rows=n_rows,
    )
    return facts, design


# ------------------------------------------------------------------------------------------------ which model is scored


@dataclass(frozen=True, eq=False)
class Scored:
    """A fitted linear model, and the rows in front of it.

    Attributes
    ----------
    model : SparseLinear
    source : Records
        Private rows, prepared by the steps before the model.
    request : FitRequest
    """

    model: SparseLinear
    source: Records
    request: FitRequest

    @property
    def loss(self) -> Loss:
        """The loss of the model: of all classes together where it is one model of them."""
        loss = self.request.loss
        return (joint_of(loss, self.coef.shape[0]) or loss) if vars(self.model).get("multinomial_") else loss

    @property
    def coef(self) -> Vector:
        """Coefficients, one row for each model."""
        return np.atleast_2d(self.model.coef_)

    @property
    def bounds(self) -> RowBounds | None:
        """To which `predict` clips rows."""
        return self.model.fitted_bounds

    @property
    def intercept(self) -> Vector:
        """Intercepts, for centred targets."""
        found = np.atleast_1d(np.asarray(self.model.intercept_, dtype=float))
        linked = self.request.classifies or mean_of(self.request.loss) is not None
        return found if linked else found - self.request.target_center


def read_model(model: BaseEstimator, X: object, adjacency: Adjacency) -> Scored:
    """The linear model inside a model, and its rows; refuses what is not ours, and what is not fitted.

    Steps before the model are frozen: what they learned was paid for when they were fitted. Every
    step that is not ours has to pass on synthetic rows first, and what it says about real ones does
    not get out.
    """
    while not isinstance(model, SparseLinear):
        if isinstance(model, PrivateSearch):
            check_is_fitted(model, "best_estimator_")
            model = model.best_estimator_
        elif isinstance(model, Pipeline):
            for name, step in model.steps[:-1]:
                X = _after(name, step, X)
            model = model.steps[-1][1]
        else:
            raise TypeError(
                "private_score takes a fitted SparseClassifier or SparseRegressor, a pipeline that ends in one, or a "
                f"PrivateSearch, got {type(model).__name__}."
            )
    check_is_fitted(model, "coef_")
    if model.offset_bound is not None:
        raise ValueError(
            "this model was fitted with offsets or exposures, which private_score does not take yet: without them it "
            "would score other predictions."
        )
    source = read_source(model, X, reset=False, adjacency=adjacency)
    return Scored(model, source.expanded(model.basis_), model.fitted_request())


def _after(name: str, step: BaseEstimator, X: object) -> object:
    """Rows behind a fitted step.

    One by one where its last bits depend on the company of a row, so that no row changes another.
    """
    if step in ("passthrough", None):
        return X
    exact = refuse_mixing_transform(name, step, X)
    with temporarily_set(step, **about_missing(step, "empty")), suppress_messages():
        if isinstance(step, RowStep | PrivateStep | TableEncoder):
            return step.transform(X)
        return leave_out(*row_map(name, step, X, fitted=True, alone=not exact))
