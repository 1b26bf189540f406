"""Which model is scored, and the rows as it gets them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ...audit.pipeline import refuse_mixing_transform
from ...core import Adjacency
from ...core.facts import Vector
from ...fitting import FitRequest
from ...io.dictionary import TableEncoder
from ...queries.losses import Loss, joint_of, mean_of
from ...rows import Records
from ...rows.records import suppress_messages
from ...rows.row_bounds import RowBounds
from ..input_checks import read_source
from ..linear import SparseLinear
from ..search import PrivateSearch
from ..steps.pipeline import about_missing, temporarily_set
from ..steps.priced import PrivateStep
from ..steps.row_map import leave_out, row_map
from ..steps.row_steps import RowStep


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
