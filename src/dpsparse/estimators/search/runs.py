"""The runs of a search: fit, score, keep the best by the noisy score alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...core import Adjacency, DataError, Statement
from ...core.facts import Facts
from ...core.statement import AskSummary
from ...fitting import FitRequest, FitResult, Session, Shape, Targets
from ...fitting.prepare import clipped_to
from ...fitting.session import on_tape
from ...fitting.units import in_half_widths
from ...io.dictionary.carrier import carried_bounds
from ...oracles import RunTapes
from ...rows import Records
from ...rows.declared import ColumnBounds
from ..input_checks import UNITS_IN_MEMORY
from ..linear import SparseLinear
from .plan import SearchPlan
from .scoring import Validation
from .space import Parameters


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
        model.n_features_in_ = self.probe.n_features_in_
        if "feature_names_in_" in vars(self.probe):
            model.feature_names_in_ = self.probe.feature_names_in_
        return model


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
    from .search_file import stored_candidate

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
