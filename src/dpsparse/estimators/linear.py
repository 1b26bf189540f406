"""What both estimators share: the scikit-learn door, and what they learned."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data.bounds import read_bounds
from ..data.declared import declared_bounds
from ..facts import Vector
from ..fits import FitRequest, Fitted, Matrix, Targets, fit, prepare, read_targets
from ..ledger import LedgerArgument
from ..oracle import Path
from ..privacy import Statement
from ..tables.carrier import carried_bounds
from .refusals import refuse_fit_arguments

if TYPE_CHECKING:
    from os import PathLike

    from ..planner import PlanSummary


class SparseLinear(BaseEstimator):  # type: ignore[misc]
    """Base of both estimators; not for direct use."""

    ledger = LedgerArgument()

    coef_: Vector
    intercept_: Vector | float
    support_: NDArray[np.intp]
    statement_: Statement
    path_: Path | list[Path]
    n_features_in_: int

    @abstractmethod
    def request(self) -> FitRequest:
        """The arguments as one frozen, checked record: what `dpsparse.fits` prepares and runs. Reads no data."""

    @abstractmethod
    def keep(self, fitted: Fitted, classes: NDArray[np.generic] | None = None) -> Self:
        """Take over what a fit learned: coefficients, statement and paths. For rooms that run a fit themselves.

        Parameters
        ----------
        fitted : Fitted
        classes : array or None
            Of a classifier.
        """

    def plan(
        self,
        n_rows: int,
        n_features: int,
        *,
        signal: float | None = None,
        feature_scale: float | None = None,
        base_rate: float | None = None,
    ) -> PlanSummary:
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
        from ..planner import Assumed, summarise

        assumed = Assumed(signal=signal, feature_scale=feature_scale, base_rate=base_rate)
        return summarise(self.request(), n_rows, n_features, assumed)

    # ---------------------------------------------------------------------------------------------- fitting

    def read_rows(self, X: object, y: object) -> tuple[FitRequest, Matrix, Targets]:
        """Check arguments, shapes, types and finite values, and code the targets; messages name no row.

        Sets `n_features_in_` and, for data frames, `feature_names_in_`.
        """
        request, carried = self.request(), carried_bounds(X)
        rows, targets = validate_data(
            self, X, y, accept_sparse="csr", dtype="numeric", ensure_min_samples=1, y_numeric=not request.classifies
        )
        if np.iscomplexobj(rows):
            raise ValueError("Complex data not supported.")
        if request.classifies:
            check_classification_targets(targets)
        names = vars(self).get("feature_names_in_")
        feature_bound, row_norm = declared_bounds(self.feature_bound, self.row_norm, names, carried)
        self._rows_bounds = feature_bound, row_norm
        request = replace(request, feature_bound=feature_bound, row_norm=row_norm)
        return request, rows, read_targets(request, targets)

    def plain_bounds(self) -> dict[str, object]:
        """Bounds of a fitted model as numbers, where they were given by name, by an object, or by the rows."""
        feature_bound, row_norm = vars(self).get("_rows_bounds", (self.feature_bound, self.row_norm))
        if feature_bound is not None and not isinstance(feature_bound, int | float | tuple | list | np.ndarray):
            *ends, row_norm = read_bounds(feature_bound, row_norm, self.n_features_in_)
            feature_bound = tuple(ends)
        return {"feature_bound": feature_bound, "row_norm": row_norm}

    def fit(self, X: object, y: object, **unsupported: object) -> Self:
        """Fit on private rows. Arguments are checked and the plan is priced before a row is used.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, n_features)
        y : array of shape (rows,)
        """
        refuse_fit_arguments(unsupported)
        request, rows, targets = self.read_rows(X, y)
        del X, y
        shape = request.shape(rows.shape[0], rows.shape[1], sparse=sp.issparse(rows), models=targets.models)
        prepared = prepare(request, shape)
        from ..planner.foresight import warn_if_hopeless

        notes = warn_if_hopeless(prepared, shape)
        return self.keep(fit(prepared, rows, targets.vectors, targets.assumptions, notes), targets.classes)

    def _keep_shared(self, fitted: Fitted) -> None:
        self.statement_ = fitted.statement
        if fitted.paths:
            self.path_ = fitted.paths[0] if len(fitted.paths) == 1 else list(fitted.paths)

    # ---------------------------------------------------------------------------------------------- after fitting

    def _margins(self, X: object) -> Vector:
        check_is_fitted(self, "coef_")
        rows: Matrix = validate_data(self, X, accept_sparse="csr", reset=False)
        return np.asarray(rows @ np.atleast_2d(self.coef_).T + self.intercept_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model and its statement to a JSON file (no pickle); read it back with `dpsparse.load`."""
        from .model_file import save

        check_is_fitted(self, "coef_")
        save(self, path)
