"""The runs of a search: fit, score, keep the best by the noisy score alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets

from ..facts import Vector
from ..losses import mean_of
from ..mechanisms import Randomness
from ..privacy import Adjacency, NonPrivateRandomnessWarning
from ..privacy.statement import AskRecord, records
from .plan import SearchPlan
from .scoring import Validation


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Private rows at the door of a search, and what is public about them.

    Attributes
    ----------
    probe : estimator
        The estimator that checked them; it knows the names of the features.
    X, y
        Rows, and targets as the estimator takes them.
    coded : array
        Targets as scores take them: classes coded 0, 1, ..., NaN for others; outcomes centred.
    classes : array or None
    assumptions : tuple of str
    n_rows : int
        The public number of rows.
    """

    probe: Any
    X: Any
    y: Any
    coded: Vector
    classes: Any
    assumptions: tuple[str, ...]
    n_rows: int

    @classmethod
    def read(cls, probe: Any, X: Any, y: Any) -> Data:
        """Check shapes, types and finite values, as a fit does; messages name no row."""
        if not is_classifier(probe):
            X, y = probe._checked(X, y, y_numeric=True)
            coded = np.asarray(y, dtype=float) - probe.target_center
            return cls(probe, X, y, coded, None, (), probe._shape_of(X))
        X, y = probe._checked(X, y)
        check_classification_targets(y)
        classes, assumptions = probe._classes(y)
        code = np.searchsorted(classes, y).clip(0, classes.size - 1)
        coded = np.where(classes[code] == y, code, np.nan).astype(float)
        return cls(probe, X, y, coded, classes, assumptions, probe._shape_of(X))

    @property
    def n_features(self) -> int:
        """Public number of features."""
        return int(self.X.shape[1])

    @property
    def models(self) -> int:
        """How many models one fit makes."""
        return 1 if self.classes is None or self.classes.size == 2 else int(self.classes.size)

    def named(self, model: Any) -> Any:
        """The model with the names of the features."""
        model.n_features_in_ = self.probe.n_features_in_
        if "feature_names_in_" in vars(self.probe):
            model.feature_names_in_ = self.probe.feature_names_in_
        return model


@dataclass(frozen=True, eq=False)
class Run:
    """A candidate, its model and its noisy score. Only the best one is ever published."""

    parameters: dict[str, Any]
    model: Any
    score: float
    answers: tuple[AskRecord, ...]


def best_run(
    candidates: Sequence[tuple[dict[str, Any], Any]],
    data: Data,
    plan: SearchPlan,
    randomness: Randomness,
    holdout: float | None,
) -> Run | None:
    """Fit and score each candidate; the run with the highest noisy score, the first of equals; None without candidates.

    Guarantee
    ---------
    Each run is a fit, priced at `plan.training_rho`, and a score, priced at `plan.score_rho`. On the same rows they compose:
    the sum is the price of a run. On two parts of the rows, split independently of the data, a record takes part in one of
    them, and the larger is: see `split`. The choice reads noisy scores and nothing else.
    """
    fitting, scoring = split(data.X.shape[0], plan, randomness, holdout)
    facts = data.probe._facts(plan.validation_rows, data.n_features, sp.issparse(data.X))
    if data.classes is not None:
        facts = facts.with_(target=replace(facts.target, bound=float(data.classes.size - 1)))
    exact = data.probe.noise == "exact"
    validation = Validation(
        data.X[scoring],
        data.coded[scoring],
        facts,
        plan.scoring,
        plan.scoring.priced(plan.score_rho, plan.adjacency, exact),
    )
    X, y = data.X[fitting], data.y[fitting]
    best: Run | None = None
    for parameters, model in candidates:
        if data.classes is not None:
            model.set_params(classes=data.classes)
        if not randomness.secure:
            model.set_params(random_state=int(randomness.generator().integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NonPrivateRandomnessWarning)  # said once, for the search
            model.fit(X, y)
        score, answers = validation.score(model, randomness)
        if best is None or score > best.score:
            best = Run(parameters, model, score, (*model.statement_.asks, *records(answers)))
    return best


def split(
    rows: int, plan: SearchPlan, randomness: Randomness, holdout: float | None
) -> tuple[NDArray[np.intp] | slice, NDArray[np.intp] | slice]:
    """Which rows fit and which score.

    Guarantee
    ---------
    The split does not depend on what the rows hold. Replace-one: a fixed number of positions is drawn without replacement;
    the record that is replaced stays at its position, hence in its part. Add-remove: each row has a coin of its own, so that
    a row that comes or goes moves no other. Given the split, neighbours differ in one part only, and the divergence of a run
    is that of its fit or that of its score; over the random split it is at most the larger of the two, since Renyi
    divergences are quasi-convex in the pair.
    """
    if holdout is None:
        return slice(None), slice(None)
    generator = randomness.generator()
    if plan.adjacency is Adjacency.ADD_REMOVE:
        held = generator.random(rows) < holdout
    else:
        held = np.zeros(rows, dtype=bool)
        held[generator.permutation(rows)[: plan.validation_rows]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def public_default(model: Any, data: Data) -> Any:
    """What a search answers when no run was drawn: the start vector, or zero. It has seen no row."""
    coef = np.zeros(data.n_features) if model.start is None else np.asarray(model.start, dtype=float)
    if data.classes is None:
        model.coef_ = coef
        model.intercept_ = float(model.target_center) if mean_of(model._loss()) is None else 0.0
    else:
        model.classes_ = data.classes
        model.coef_ = np.tile(coef, (data.models, 1))
        model.intercept_ = np.zeros(data.models)
    model.support_ = np.flatnonzero(coef)
    return model
