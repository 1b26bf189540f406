"""The base class of both estimators: the scikit-learn interface, and what a fit learned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core import DataError, Statement
from ..core.checks import ROW
from ..core.facts import Vector
from ..core.public_draws import repeatable
from ..core.words import one_of_many
from ..fitting import FitRequest, FitResult, Targets, fit, plan_fit, read_targets, refuse_rows_brought
from ..fitting.counts import checked_columns, warn_of_unread
from ..fitting.statement import MADE_ROWS, void
from ..fitting.targets import GivenTerms, read_offsets, read_terms
from ..io.dictionary import BoundedArray, TableEncoder
from ..io.dictionary.carrier import carried_bounds
from ..io.scikit import BaseEstimator, check_is_fitted
from ..ledger import LedgerArgument
from ..queries.kinds import Path
from ..queries.losses import user_defined
from ..recipes import built_in
from ..rows import Records, read_bounds, refuse_missing
from ..rows.declared import ColumnBounds, declared_bounds, declared_columns
from ..rows.margins import served
from ..rows.records import AT_PREDICTION
from .arguments import INSTEAD, FitArguments, unknown_arguments
from .display import StatementMixin
from .input_checks import (
    UNITS_IN_MEMORY,
    open_rows_in_files,
    protected_unit,
    read_source,
    read_vector,
    refuse_fit_arguments,
    refuse_numbers_for_labels,
    rows_of_units,
    with_ids,
)
from .intervals import Intervals
from .repeated_fits import RepeatedFits
from .shape_functions import ShapesMixin, names_or_none

if TYPE_CHECKING:
    from ..report.planner import PlanSummary
    from .summary import Effects


class SparseLinear(ShapesMixin, StatementMixin, FitArguments, BaseEstimator):  # type: ignore[misc]
    """Base of both estimators; not for direct use."""

    ledger = LedgerArgument()

    coef_: Vector
    intercept_: Vector | float
    support_: NDArray[np.intp]
    statement_: Statement
    path_: Path | list[Path]
    intervals_: Intervals
    covariance_: Vector
    n_features_in_: int
    _family: RepeatedFits

    @abstractmethod
    def request(self) -> FitRequest:
        """The arguments as one frozen, checked record: what `dpsparse.fitting` prepares and runs. Reads no data."""

    @abstractmethod
    def keep(self, fitted: FitResult, classes: NDArray[np.generic] | None = None) -> Self:
        """Take over what a fit learned: coefficients, statement and paths. For packages that run a fit themselves.

        Parameters
        ----------
        fitted : FitResult
        classes : array or None
            Of a classifier.
        """

    def set_params(self, **params: object) -> Self:
        """Set arguments by name, as in scikit-learn; those of other libraries are answered with what to use here."""
        foreign = [name for name in params if name in INSTEAD and name not in self._get_param_names()]
        if foreign:
            raise ValueError(unknown_arguments(type(self), foreign, ()))
        made: Self = super().set_params(**params)
        return made

    def plan(
        self,
        n_rows: int,
        n_features: int,
        sparse: bool = False,
        *,
        signal: float | None = None,
        feature_scale: float | None = None,
        base_rate: float | None = None,
    ) -> PlanSummary:
        """What a fit on data of this shape would ask, with how much noise, and what to expect of it.

        Reads no data, spends nothing. The queries, their noise and the notes are those of the
        statement of a fit of this shape, with the same arguments. A classifier without `classes`
        is planned for two.

        Parameters
        ----------
        n_rows, n_features : int
            The public shape of the data.
        sparse : bool
            Whether the rows will come sparse: a scipy sparse matrix, an svmlight file, an npz file
            with a CSR matrix, encoded rows where ``TableEncoder.output_sparse()`` says so. Recipes
            treat sparse rows differently, so a plan for dense rows says nothing about a fit of
            sparse ones.
        signal, feature_scale, base_rate : float or None
            What is publicly known about the data, for the expected error only; None: the
            conventions of `dpsparse.report.planner.Assumptions`.

        Returns
        -------
        PlanSummary
            Prints as a table, which names the kind of rows that it is for; `.to_dict()` for machines.

        Examples
        --------
        >>> from dpsparse import SparseClassifier
        >>> model = SparseClassifier(epsilon=1.0, delta=1e-6, row_norm=1.0)
        >>> [sum(ask.times for ask in model.plan(4000, 5000, sparse=kind).asks) for kind in (False, True)]
        [128, 62]
        """
        from ..report.planner import Assumptions, summarise

        assumed = Assumptions(signal=signal, feature_scale=feature_scale, base_rate=base_rate)
        request = self.request()
        return summarise(request, request.planned_shape(n_rows, n_features, sparse=sparse), assumed)

    # ---------------------------------------------------------------------------------------------- fitting

    def read_rows(self, X: object, y: object, *, silently: bool = False) -> tuple[FitRequest, Records, Targets]:
        """Check arguments, shapes and declared types, and code the targets.

        Sets `n_features_in_` and, for data frames, `feature_names_in_`. Messages name no row and no
        value. Missing values are refused if that was asked for; `silently`, only classes may be
        refused because of their values, where they are to be learned.
        """
        request = self.request()
        X, y = open_rows_in_files(X, y, request)
        if not built_in(request.recipe) or hasattr(request.recipe, "auxiliary"):  # ours hold public rows at most
            refuse_rows_brought(f"recipe {request.recipe.name!r}", request.recipe, X, y)
        if user_defined(request.loss):
            refuse_rows_brought(f"the loss {request.loss.name!r}", request.loss, X, y)
        source = read_source(self, X, reset=True, adjacency=request.adjacency)
        vector = read_vector(self, y, source.shape[0])
        if request.classifies and request.classes is None:
            refuse_numbers_for_labels(vector)
        carried, targets = carried_bounds(X), read_targets(request, vector)
        # rows that carry bounds, or say which cells were not understood, were made by an encoder from a dictionary
        if carried is None and source.unread is None and request.recipe.private:
            targets = replace(targets, assumptions=(*targets.assumptions, MADE_ROWS))
        request = self.with_bounds(request, carried)
        if not silently and request.on_missing == "refuse":
            # with declared classes another label, or a missing one, makes its record empty in any case
            refuse_missing(source, targets.coded if request.classes is None else np.zeros(0))
        return request, source, targets

    def with_bounds(self, request: FitRequest, carried: ColumnBounds | None = None) -> FitRequest:
        """The request with bounds as numbers, where they were given by column name or come with the rows."""
        names = vars(self).get("feature_names_in_")
        feature_bound, row_norm = declared_bounds(self.feature_bound, self.row_norm, names, carried)
        self._rows_bounds = feature_bound, row_norm
        own = carried if self.feature_bound is None and self.row_norm is None else None
        known = None if names is None else tuple(map(str, names))
        rate = declared_columns(self.feature_bound, own).base_rate
        return replace(
            request, feature_bound=feature_bound, row_norm=row_norm, carried=own, names=known, base_rate=rate
        )

    def plain_bounds(self) -> dict[str, Any]:
        """Bounds of a fitted model as numbers, where they were given by name, by an object, or by the rows."""
        feature_bound, row_norm = vars(self).get("_rows_bounds", (self.feature_bound, self.row_norm))
        if feature_bound is not None and not isinstance(feature_bound, int | float | tuple | list | np.ndarray):
            *ends, row_norm = read_bounds(feature_bound, row_norm, self.n_features_in_)
            feature_bound = tuple(ends)
        return {"feature_bound": feature_bound, "row_norm": row_norm}

    @property
    def fitted_sparse(self) -> bool:
        """Whether a fitted model was planned for sparse rows; False for files that do not say it."""
        return bool(vars(self).get("_sparse_rows", False))

    def fitted_request(self) -> FitRequest:
        """The request with what a fitted model was fitted with.

        Bounds that came with the rows or from a step before it, and its classes.
        """
        known = {"classes": self.classes_} if "classes_" in vars(self) else {}
        made: SparseLinear = type(self)(**{**self.get_params(deep=False), **self.plain_bounds(), **known})
        dictionary = vars(self).get("dictionary_")
        rate = None if dictionary is None else dictionary.output_bounds().base_rate
        return replace(made.request(), basis=self.basis_, base_rate=rate)

    def fit(self, X: object, y: object = None, **unsupported: object) -> Self:
        """Fit on private rows. Arguments are checked and the plan is priced before a row is used.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, n_features), files, or rows on a
        cluster
            Files are a path, a pattern such as ``"rows/*.parquet"``, or what
            `dpsparse.readers.open_rows` gives. Rows on a cluster are a Dask array or frame, a Spark
            frame, or what `dpsparse.io.cluster.open_cluster` gives.
        y : array of shape (rows,), or str
            With a path or a frame of a cluster, the name of the target's column. None: files hold
            it. ``fit(frame, target="name")`` is the same.
        units : array of shape (rows,), or str, optional
            The id of each row's person, household or firm, as a keyword; of a frame also the name of
            its column. The guarantee then protects all rows with the same id together, and each id
            counts alike, however many rows it has: where sick people come often, that is another
            average than one over rows. Ids are not part of a record: they must not be computed from
            its content. Rows without an id are ignored.
        sample_weight : array of shape (rows,), optional
            As a keyword. Factor of each record's loss, clipped to ``[0, weight_bound]``, which must be declared; 1 in
            the mean by convention. A record's contribution is clipped after it: no guarantee changes.
        offset, exposure : array of shape (rows,), optional
            As a keyword. The offset is added to the margin of its record, within `offset_bound`, which
            must be declared; ``exposure=E`` is ``offset=log(E)``, for rates.
        """
        target, units = unsupported.pop("target", None), unsupported.pop("units", None)
        given = GivenTerms(**{name: unsupported.pop(name, None) for name in ("sample_weight", "offset", "exposure")})
        refuse_fit_arguments(unsupported)
        if target is not None and y is not None:
            raise TypeError("the target was given twice, as y and as target. Leave one of them out.")
        y = target if y is None else y
        X, y, units = with_ids(X, y, units)
        request, source, targets = self.read_rows(X, y)
        request, terms = read_terms(request, given, targets)
        source = source if terms is None else source.with_terms(terms)
        del X, y, given, terms
        return self.fit_source(*self.with_units(request, source, units), targets)

    def with_units(self, request: FitRequest, source: Records, units: object) -> tuple[FitRequest, Records]:
        """A request whose guarantee protects units, and rows that know theirs; unchanged without units.

        Parameters
        ----------
        request : FitRequest
        source : Records
        units : array-like or None
            The id of each row.
        """
        word = protected_unit(None if request.unit == ROW else request.unit, units)
        if units is None:
            return request, source
        if source.spread is not None and request.intervals is not None:
            raise DataError(UNITS_IN_MEMORY)
        return replace(request, unit=word), rows_of_units(source, units)

    def __sklearn_clone__(self) -> Self:
        """A clone, which counts its fits together with those of this estimator: see `RepeatedFits`."""
        made: Self = super().__sklearn_clone__()
        made._family = self.__dict__.setdefault("_family", RepeatedFits())
        return made

    def alone(self) -> Self:
        """Leave the family, and return the estimator: for a search, which counts what its runs cost."""
        self.__dict__.pop("_family", None)
        return self

    def fit_source(self, request: FitRequest, source: Records, targets: Targets) -> Self:
        """Fit on rows that were checked. For packages that read them themselves."""
        from ..report.planner.foresight import warn_if_hopeless

        columns = checked_columns(request.check_cells, source)
        checked = 0 if columns is None else len(columns.names)
        shape = request.shape(
            source.count, source.shape[1], sparse=source.sparse, models=targets.models, checked=checked
        )
        with repeatable(None if request.resume is None else request.resume.public_seed):
            prepared = plan_fit(request, shape)
        self._sparse_rows = shape.sparse
        repeated = self._family.note(prepared, shape, stacklevel=4) if "_family" in vars(self) else ""
        notes = warn_if_hopeless(prepared, shape, stacklevel=4)
        fitted = fit(prepared, source, targets.vectors(prepared.models), targets.assumptions, notes)
        warn_of_unread(fitted.statement.notes, stacklevel=4)
        if repeated:
            fitted = replace(fitted, statement=void(fitted.statement, repeated))
        return self.keep(fitted, targets.classes)

    def _keep(self, fitted: FitResult, center: float = 0.0) -> Self:
        """Take over what both kinds of models learn; `center` is that of the target."""
        self.statement_, self._fitted_bounds, self._basis = fitted.statement, fitted.bounds, fitted.basis
        if fitted.paths:
            self.path_ = fitted.paths[0] if len(fitted.paths) == 1 else list(fitted.paths)
        if fitted.inferred is not None:
            names, unit = names_or_none(self), one_of_many(fitted.statement.unit)
            classes = self.request().classifies
            self.intervals_ = Intervals.of(fitted.inferred, names, center=center, classes=classes, unit=unit)
            self.covariance_ = self.intervals_.covariance
        return self

    # ---------------------------------------------------------------------------------------------- after fitting

    def summary(self, level: float = 0.95) -> str:
        """Coefficients with standard errors, intervals and p-values, and in words what they mean.

        Needs ``intervals="split"``.
        """
        return self._inferred().at(level).summary(self.statement_)

    def effects(self, level: float = 0.95) -> Effects:
        """Results in the units of the table: one row for each number, and for each category against its reference.

        For a model that keeps a data dictionary, as those of ``dpsparse fit --dictionary`` do. With
        ``intervals="split"`` estimates are those that have intervals, and the table holds these.
        """
        from .summary import effects_of

        check_is_fitted(self, "coef_")
        if "dictionary_" not in vars(self):
            raise ValueError("this model keeps no data dictionary, which says what the units are. See coef_.")
        return effects_of(self, level)

    def _inferred(self) -> Intervals:
        check_is_fitted(self, "coef_")
        if "intervals_" not in vars(self):
            raise ValueError("this model has no intervals. Fit it with intervals='split'.")
        return self.intervals_

    def _ends(self, X: object, level: float) -> tuple[Vector, Vector]:
        """Ends of intervals of margins, for each row."""
        intervals = self._inferred()
        ends = [intervals.of_rows(x, level) for x in served(self._read_applied(X), self.fitted_bounds)]
        low, high = zip(*ends, strict=True)
        return np.concatenate(low), np.concatenate(high)

    def _margins(self, X: object) -> Vector:
        check_is_fitted(self, "coef_")
        source, coef = self._read_applied(X), np.atleast_2d(self.coef_).T
        if source.spread is not None:
            return source.spread.margins(coef.T, np.atleast_1d(self.intercept_), self.fitted_bounds)
        rows = served(source, self.fitted_bounds)
        return np.concatenate([np.asarray(x @ coef + self.intercept_) for x in rows])

    def _offsets(self, offset: object, exposure: object, rows: int) -> Vector:
        """What is added to the margins of rows that a fitted model is applied to; 0 where nothing is given."""
        found = read_offsets(offset, exposure, rows)
        if found is None:
            return np.zeros(rows)
        bounds = self.request().offset_bound
        if bounds is None:
            raise ValueError("this model has no offset_bound, so it was fitted without offsets and takes none.")
        if not np.all(np.isfinite(found)):
            raise DataError("offsets must be finite numbers, and exposures positive ones.")
        return np.clip(found, *bounds)

    def _read_applied(self, X: object) -> Records:
        """Rows that a fitted model is applied to; refuses missing values."""
        table = encode_table(self, X)
        source = read_source(self, X, reset=False) if table is None else Records.of(table)
        refuse_missing(source, np.zeros(0), AT_PREDICTION)
        return source.expanded(self.basis_)

    def stored(self) -> object:
        """What a file holds."""
        from .model_file import model_content

        return model_content(self)


def encode_table(model: object, X: object) -> BoundedArray | sp.csr_matrix | None:
    """The rows of a table, encoded by the dictionary that a model keeps; None for any other rows.

    A table is a data frame or a dict of columns. One whose columns are the encoded ones is taken as
    it is by the model.
    """
    dictionary = vars(model).get("dictionary_")
    header = X if isinstance(X, Mapping) else getattr(X, "column_names", getattr(X, "columns", None))
    if dictionary is None or header is None or list(header) == list(vars(model).get("feature_names_in_", ())):
        return None
    encoder = TableEncoder(dictionary)
    return encoder.fit({column.name: [] for column in dictionary.features}).transform(X)
