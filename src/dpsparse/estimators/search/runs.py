"""The runs of a search: fit, score by a private mean of bounded losses, keep the best by the noisy score alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...accounting import PlanCost, PricedPlan, price
from ...core import Adjacency, Ask, Budget, DataError, MissingBoundError, Noise, Plan, Statement, checks
from ...core.facts import Facts, Vector
from ...core.plain import to_json
from ...core.statement import AskSummary
from ...fitting import FitRequest, FitResult, Rows, Session, Shape, Targets
from ...fitting.drawn import Drawn, summaries_of
from ...fitting.prepare import clipped_to, in_half_widths
from ...fitting.session import PaidBy, on_tape, open_host, session
from ...io.dictionary.carrier import carried_bounds
from ...oracles import RunTapes
from ...queries.losses import joint_of, mean_of
from ...rows import Records
from ...rows.declared import ColumnBounds
from ...rows.hosts import Host
from ...rows.row_bounds import RowBounds
from ..input_checks import UNITS_IN_MEMORY, with_columns_of
from ..linear import SparseLinear
from .plan import SearchPlan
from .space import Parameters, stored_candidate


@dataclass(frozen=True, eq=False, repr=False)
class SearchData:
    """The private rows of a search, and what is public about them.

    Attributes
    ----------
    probe : SparseRegressor or SparseClassifier
        The estimator that checked them; it knows the names of the features.
    request : FitRequest
        What it was asked.
    X : Records
    targets : Targets
    shape : Shape
        Public.
    carried : ColumnBounds or None
        Public bounds that the rows brought along.
    """

    probe: SparseLinear
    request: FitRequest
    X: Records
    targets: Targets
    shape: Shape
    carried: ColumnBounds | None

    @classmethod
    def read(cls, probe: SparseLinear, X: object, y: object, units: object = None) -> SearchData:
        """Check shapes and types, and refuse missing values if that was asked for, as a fit does.

        Messages name no row. `units` holds the id of each row, where all rows with one id are protected together.
        """
        request, source, targets = probe.read_rows(X, y)
        if units is not None and source.spread is not None:
            raise DataError(UNITS_IN_MEMORY)
        request, source = probe.with_units(request, source, units)
        shape = request.shape(source.count, source.shape[1], sparse=source.sparse, models=targets.models)
        return cls(
            probe, request, source, targets, shape, carried_bounds(X if source.spread is None else source.spread)
        )

    def facts(self, n_rows: int) -> Facts:
        """What is public about `n_rows` of the rows, as it was declared."""
        return self.request.facts(replace(self.shape, n_rows=n_rows))

    def request_of(self, model: SparseLinear) -> FitRequest:
        """What a candidate is asked on these rows: with their names, and with bounds that they brought along."""
        named = self.named(model)
        return replace(named.with_bounds(named.request(), self.carried), unit=self.request.unit)

    def named(self, model: SparseLinear) -> SparseLinear:
        """The model with the names of the features."""
        return with_columns_of(model, self.probe)


@dataclass(frozen=True, eq=False)
class SearchRun:
    """A candidate, its model and its noisy score. Only the best one is ever published."""

    parameters: Parameters
    model: SparseLinear
    score: float
    answers: tuple[AskSummary, ...] = ()
    ran: bool = True


def best_run(
    candidates: Sequence[tuple[Parameters, SparseLinear]],
    data: SearchData,
    plan: SearchPlan,
    opened: Session,
    holdout: float | None,
) -> SearchRun | None:
    """Fit and score each candidate; the run with the highest noisy score, the first of equals; None without candidates.

    Guarantee
    ---------
    Each run is a fit, priced at `plan.training_rho`, and a score, priced at `plan.score_rho`. On
    the same rows they compose: the sum is the price of a run. On two parts of the rows, split
    independently of the data, a record takes part in one of them, and the larger is: see
    `split_holdout`. The choice reads noisy scores and nothing else. The search that calls this lets
    no warning pass, since their number would tell that of the runs.
    """
    randomness, tapes = opened.randomness, None if opened.tape is None else RunTapes(opened.tape)
    fitting, scoring = split_holdout(data.X, plan, opened, holdout)
    facts, classes = data.facts(plan.validation_rows), data.targets.classes
    if classes is not None:
        facts = facts.with_(target=replace(facts.target, bound=float(classes.size - 1)))
    exact = data.request.noise == "exact"
    validation = Validation(
        data.X.take(scoring),
        data.targets.take(scoring).coded,
        facts,
        plan.scoring,
        plan.scoring.priced(plan.score_rho, plan.adjacency, exact),
    )
    source, targets = data.X.take(fitting), data.targets.take(fitting)
    best: SearchRun | None = None
    with closing(validation):
        for number, (parameters, model) in enumerate(candidates):
            if classes is not None:
                model.set_params(classes=classes)
            if not randomness.secure:
                model.set_params(random_state=int(randomness.generator().integers(2**31)))
            if tapes is not None and tapes.is_over(number):  # in an earlier process, and it was not the best
                continue
            with _one_run(opened, tapes, number) as this:
                model.fit_source(data.request_of(model), source, targets)
                score, answers = validation.score(model, model.request(), this)
            if best is None or score > best.score:
                best = SearchRun(parameters, model, score, (*model.statement_.asks, *answers))
                if tapes is not None:
                    tapes.keep(number)
    if tapes is not None:
        tapes.finish("" if best is None else stored_candidate(best.parameters))
    return best


@contextmanager
def _one_run(opened: Session, tapes: RunTapes | None, number: int) -> Iterator[Session]:
    """The session of one run, whose answers stand on a tape of their own where the search has one."""
    if tapes is None:
        yield opened
        return
    with tapes.open(number, opened.randomness) as tape, on_tape(tape):
        yield replace(opened, tape=tape)


def split_holdout(
    X: Records, plan: SearchPlan, opened: Session, holdout: float | None
) -> tuple[NDArray[np.intp] | slice, NDArray[np.intp] | slice]:
    """Which rows fit and which score; all rows of a unit do the same.

    Guarantee
    ---------
    The split does not depend on what the rows hold. Replace-one: a fixed number of positions is
    drawn without replacement; the record that is replaced stays at its position, hence in its part:
    units stand in the order of their ids.
    Add-remove: each row has a coin of its own, so that a row that comes or goes moves no other.
    Given the split, neighbours differ in one part only, and the divergence of a run is that of its
    fit or that of its score; over the random split it is at most the larger of the two, since Renyi
    divergences are quasi-convex in the pair.
    """
    if holdout is None:
        return slice(None), slice(None)
    generator = opened.generator("holdout")
    if plan.adjacency is Adjacency.ADD_REMOVE:
        held = generator.random(X.count) < holdout
    else:
        held = np.zeros(X.count, dtype=bool)
        held[generator.permutation(X.count)[: plan.validation_rows]] = True
    parts = (~held, held) if X.units is None else (X.units.of_units(~held), X.units.of_units(held))
    return np.flatnonzero(parts[0]), np.flatnonzero(parts[1])


def public_default(model: SparseLinear, data: SearchData, statement: Statement) -> SparseLinear:
    """What a search answers when no run was drawn: the start vector, or zero. It has seen no row."""
    start = data.request.start_vector(data.shape.n_features)
    coef = np.zeros(data.shape.n_features) if start is None else start
    bounds = clipped_to(data.request, in_half_widths(data.facts(data.shape.n_rows)))
    return model.keep(FitResult(((coef, 0.0),) * data.shape.models, statement, bounds), data.targets.classes)


# ------------------------------------------------------------------------------------------------ scores

#: Scores by scikit-learn's names, and the loss behind each.
REGRESSION = {"neg_mean_squared_error": "squared", "neg_mean_absolute_error": "absolute"}
CLASSIFICATION = {"accuracy": "error", "neg_log_loss": "log-loss"}

#: Default bound on log-loss: that of giving the right class a probability of one eighth.
LARGEST_LOG_LOSS = 3 * math.log(2)


@dataclass(frozen=True)
class Scoring:
    """A score: higher is better.

    Parameters
    ----------
    name : str
    kind : str
        Kind of the loss of one row.
    bound : float
        Each row's loss is clipped to [0, bound]. Public.
    """

    name: str
    kind: str
    bound: float

    @classmethod
    def read(cls, name: str, bound: float | None, request: FitRequest) -> Scoring:
        """Fill in the defaults for what the estimator was asked."""
        known = CLASSIFICATION if request.classifies else REGRESSION
        if name == "auto":
            name = next(iter(known))
        if name not in known:
            raise ValueError(
                f"score must be 'auto' or one of {', '.join(map(repr, known))} for this estimator, got {name!r}."
            )
        kind = known[name]
        if bound is None:
            residual = request.target_bound / 2
            bound = {"error": 1.0, "log-loss": LARGEST_LOG_LOSS, "squared": residual**2, "absolute": residual}[kind]
        return cls(name, kind, checks.positive(bound, "score_bound", error=MissingBoundError))

    def priced(self, rho: float, adjacency: Adjacency, exact: bool) -> PricedPlan:
        """The one ask of a score, at its price."""
        noise = Noise.DISCRETE_GAUSSIAN if exact else Noise.GAUSSIAN
        return price(Plan(asks=(Ask(name="score", question="MeanLoss", noise=noise),)), Budget.zcdp(rho, adjacency))

    def deviation(self, rho: float, n_rows: int) -> float:
        """Standard deviation of the noise in a score."""
        return self.bound / math.sqrt(2 * rho) / n_rows

    def of(self, loss: float) -> float:
        """The score that belongs to a mean loss."""
        return 1.0 - loss if self.kind == "error" else -loss


class Validation:
    """Rows that score models, through an oracle of their own for each.

    Parameters
    ----------
    X, y
        Private rows; y is coded 0, 1, ... for classes, and centred otherwise.
    facts : Facts
        What is public about them, as it was declared. Rows are clipped to the bounds of the model
        that is scored, and not shifted.
    scoring : Scoring
    priced : PricedPlan
        The price of one score.
    """

    def __init__(self, X: Rows, y: Vector, facts: Facts, scoring: Scoring, priced: PricedPlan) -> None:
        self._source, self._y = Records.of(X), y
        self._facts = facts.with_(shift=0.0, means=None, intercept=1.0, start=None)
        self._scoring = scoring
        self._priced = priced
        self._host: Host | None = None
        self._bounds: RowBounds | None = None

    def close(self) -> None:
        """Let workers of a cluster forget the rows."""
        if self._host is not None:
            self._host.close()

    def _hosted(self, model: SparseLinear) -> tuple[Host, float | Vector]:
        """The rows clipped as those of the model's fit were, and the units of their columns.

        Models of the same bounds share them.
        """
        bounds = model.fitted_bounds
        assert bounds is not None
        if self._host is None or self._bounds is None or to_json(bounds) != to_json(self._bounds):
            self.close()
            self._host, self._bounds = None, bounds
            lower, upper = bounds.lower / bounds.scale, bounds.upper / bounds.scale
            source = self._source.expanded(model.basis_)
            box = np.maximum(np.abs(lower), np.abs(upper)) * np.ones(source.shape[1])
            norm = float(np.linalg.norm(box)) if bounds.row_norm is None else bounds.row_norm
            facts = self._facts.with_(
                n_features=source.shape[1], lower=lower, upper=upper, row_norm=norm, scale=bounds.scale
            )
            self._host = open_host(source.rescaled(bounds.scale), self._y, facts)
        return self._host, bounds.scale

    def score(self, model: SparseLinear, request: FitRequest, opened: Session) -> tuple[float, tuple[AskSummary, ...]]:
        """A noisy score of a fitted model, and the answers it took."""
        loss = request.loss
        if vars(model).get("multinomial_"):
            loss = joint_of(loss, model.coef_.shape[0]) or loss
        host, scale = self._hosted(model)
        height = host.lattice.applied_intercept
        coefficients = np.column_stack([np.atleast_2d(model.coef_) * scale, np.atleast_1d(model.intercept_) / height])
        if not request.classifies and mean_of(loss) is None:  # rows hold centred targets
            coefficients[:, -1] -= request.target_center / height
        payer, bill = PaidBy(None, None), PlanCost.of(self._priced)  # paid for by the session around it
        with session(payer, bill=bill, label="score", delta=1.0, randomness=opened.randomness) as own:
            oracle = own.oracle(host, loss, self._priced)
            mean = oracle.validation_loss(coefficients, kind=self._scoring.kind, bound=self._scoring.bound)
        return self._scoring.of(mean), summaries_of([Drawn(oracle.receipts, self._priced)])
