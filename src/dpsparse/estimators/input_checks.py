"""Checks of what comes into estimators and steps.

Shape, column names and declared types are checked, and nothing is said about a value.

Guarantee
---------
scikit-learn is asked about names and numbers of columns only. Messages are ours: none holds a cell,
a target or the number of rows, which is private under add-remove adjacency. What is said, and
whether, depends on values only through `refuse_missing`, a choice of the user, and through the set
of classes where none was declared.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core import Adjacency, DataError, checks
from ..core.checks import PERSON, ROW, unit_name
from ..core.facts import Vector
from ..fitting import FitRequest
from ..io.scikit import BaseEstimator
from ..rows.cells import ROUNDED_FROM
from ..rows.file_records import ClusterRecords, FileRecords
from ..rows.hosts.clusters import is_spread, open_cluster_rows
from ..rows.records import CHOICES, Records, cell_numbers, refuse_missing, suppress_messages
from ..rows.units import read_units

if TYPE_CHECKING:
    from sklearn.utils import Tags

Made = TypeVar("Made", bound=BaseEstimator)


def open_rows_in_files(X: object, y: object, request: FitRequest) -> tuple[object, object]:
    """Rows and targets of files where X is a path, a pattern or rows in files; otherwise both as they are.

    Parameters
    ----------
    X : path, FileRecords or anything else
    y : str, array-like or None
        With a path, the name of the target's column; None: files hold their own.
    request : FitRequest
        Says whether targets are numbers or labels: by declared classes, never by what they look like.
    """
    if isinstance(X, str | os.PathLike):
        from ..io.rows import names_files, open_rows

        if isinstance(X, os.PathLike) or names_files(X):  # any other text is a cell that went astray, and is not quoted
            classes = None if request.classes is None else request.classes.tolist()
            X, y = open_rows(X, y if isinstance(y, str) else None, classes=classes), None if isinstance(y, str) else y
    X, y = open_cluster_rows(X, y)
    stored = X.spread if isinstance(X, Records) else X
    if y is None and isinstance(stored, FileRecords):
        y = stored.targets(target_kind(request))
    return X, y


#: What is said where units cannot be sorted.
UNITS_IN_MEMORY = (
    "on a cluster units are taken by SparseRegressor and SparseClassifier without intervals, PrivateScaler, pipelines "
    "of these, and private_score, for frames and arrays of Dask and frames of Spark. Bring the rows to one machine: to "
    "its memory, or to its disk."
)


def with_ids(X: Any, y: object, units: object) -> tuple[Any, Any, Any]:
    """Rows, targets and ids; rows on a cluster are opened unit by unit, with the targets beside them.

    A frame loses the column that `units` names: an id is no feature, since it would tell one person from the others.

    Parameters
    ----------
    X, y : anything that `fit` takes
    units : array-like, name of a column of X, or None
        The id of each row. Ids of rows on a cluster that are opened already stay with them.
    """
    if units is None or isinstance(X, ClusterRecords):
        return X, y, units
    if is_spread(X):
        return *open_cluster_rows(X, y, units=units), units
    if not isinstance(units, str):
        return X, y, units
    if units not in (list(getattr(X, "columns", ())) if hasattr(X, "shape") else []):
        raise DataError(
            "units names no column of X. Give the name of a column of a data frame, or an array with one id for "
            "each row."
        )
    return X.drop(columns=[units]) if hasattr(X, "iloc") else X.drop(units), y, X[units]


def protected_unit(unit: str | None, units: object) -> str:
    """The word for the unit that is protected: as it is named, else a person where ids are given, and a row elsewhere.

    Refuses a name without ids.
    """
    word = unit_name(unit)
    if units is None and word != ROW:
        raise ValueError(
            f"unit={word!r} protects all rows with the same id. Give their ids as units=ids, one for each row; or "
            "leave unit=None."
        )
    return PERSON if units is not None and word == ROW else word


def unless_refused(on_missing: str, source: Records, targets: Vector | None = None) -> Records:
    """The rows; refused where a cell or target is missing and that was asked for."""
    if checks.one_of(on_missing, "on_missing", CHOICES) == "refuse":
        refuse_missing(source, np.zeros(0) if targets is None else targets)
    return source


def rows_of_units(source: Records, units: object) -> Records:
    """The same rows, of which those with one id are one record; as they are without ids."""
    if units is None:
        return source
    if source.spread is None:
        return source.by_unit(read_units(units, source.shape[0]))
    if source.spread.units is None:
        raise DataError(UNITS_IN_MEMORY)
    return source


def target_kind(request: FitRequest) -> str:
    """What the targets of files are."""
    if request.classes is None:
        return "labels" if request.classifies else "numbers"
    return "numbers" if request.classes.dtype.kind in "biuf" else "texts"


def read_source(estimator: BaseEstimator, X: object, *, reset: bool, adjacency: Adjacency | None = None) -> Records:
    """Rows as a user brought them; sets or compares `n_features_in_` and, for data frames, `feature_names_in_`.

    Parameters
    ----------
    estimator : estimator or step
    X : array-like, sparse matrix, frame or Records
    reset : bool
        True to set, False to compare.
    adjacency : Adjacency or None
        Under add-remove there may be no rows at all, since their number is private.
    """
    X, _ = open_cluster_rows(X)
    source = Records.of(X)
    if isinstance(X, FileRecords) and source.names is not None:
        _read_names(estimator, source, reset=reset)
    else:
        _read_shape(estimator, X if hasattr(X, "columns") else source, reset=reset)
    if source.shape[1] == 0:
        raise DataError("Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if source.shape[0] == 0 and adjacency is not Adjacency.ADD_REMOVE:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required: there are no rows.")
    return source


def _read_shape(estimator: BaseEstimator, rows: Any, *, reset: bool) -> None:
    """Set or compare the number of columns and the names of a frame's, in the words of scikit-learn."""
    if reset and not hasattr(rows, "columns"):
        estimator.n_features_in_ = rows.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        return
    from sklearn.utils.validation import validate_data

    validate_data(estimator, rows, y="no_validation", reset=reset, skip_check_array=True)


def _read_names(estimator: BaseEstimator, source: Records, *, reset: bool) -> None:
    """Set or compare the names of columns in files, which scikit-learn does not know."""
    names = np.array(source.names, dtype=object)
    if reset:
        estimator.n_features_in_, estimator.feature_names_in_ = names.size, names
    elif names.tolist() != vars(estimator).get("feature_names_in_", names).tolist():
        raise DataError(
            "the files have other columns than the data of the fit, or in another order. Name them with columns=[...]."
        )
    elif names.size != estimator.n_features_in_:
        raise DataError(
            f"the files have {names.size} columns, but the model expects {estimator.n_features_in_} features."
        )


def with_columns_of(made: Made, known: object, *more: str) -> Made:
    """An estimator that knows the number and the names of columns as another one does, and `more` attributes."""
    for name in ("n_features_in_", "feature_names_in_", *more):
        if name in vars(known):
            setattr(made, name, vars(known)[name])
    return made


def read_vector(estimator: BaseEstimator, y: object, rows: int) -> NDArray[np.generic]:
    """Targets as they came, one for each row.

    A list becomes an array of numbers where that changes none of them, otherwise one of objects: no
    target of a list changes another. Arrays, series and frames keep their type.
    """
    if y is None:
        raise DataError(f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None.")
    with suppress_messages():
        vector = _vector(y)
    if vector.ndim == 2 and vector.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,).",
            DataConversionWarning,
            stacklevel=5,
        )
        vector = vector.ravel()
    if vector.ndim != 1:
        raise DataError("y should be a 1d array: one target for each record.")
    if vector.dtype.kind == "c":
        raise DataError("Complex data not supported.")
    if vector.size != rows:
        raise DataError("X and y have inconsistent numbers of samples: one target is needed for each record.")
    return vector


def refuse_numbers_for_labels(y: NDArray[np.generic]) -> None:
    """Refuse targets that are no labels, where the classes are learned from them."""
    with suppress_messages():
        try:
            if y.dtype.kind == "f":
                y = y[np.isfinite(y)]
            elif y.dtype.kind == "O" and all(isinstance(label, float) for label in y.tolist()):
                y = cell_numbers(y)
            from sklearn.utils.multiclass import check_classification_targets

            check_classification_targets(y)
        except Exception:  # its message could hold a label
            raise DataError(
                "Unknown label type: the targets of a classifier are labels, and these look continuous or of several "
                "types. Declare classes=[...], or use a regressor."
            ) from None


def _vector(y: object) -> NDArray[np.generic]:
    try:
        if hasattr(y, "to_numpy"):
            return np.asarray(y.to_numpy())
        return np.asarray(y if isinstance(y, np.ndarray) else _listed(y))
    except Exception:  # a message could hold a target
        return np.array(None)


def _listed(y: object) -> NDArray[np.generic]:
    """A list as an array: of numbers if all are and floats hold them, otherwise of the objects themselves."""
    try:
        found = np.asarray(y)
        held = found.dtype.kind in "biu" or (found.dtype.kind == "f" and not np.any(np.abs(found) >= ROUNDED_FROM))
    except Exception:  # of one target: a number beyond all floats, or an object of its own
        held = False
    if held:
        return found
    if not isinstance(y, list | tuple) or all(isinstance(target, list | tuple | np.ndarray) for target in y):
        return np.array(y, dtype=object)
    cells = np.empty(len(y), dtype=object)
    for i, target in enumerate(y):
        cells[i] = target
    return cells


def shared_unit(parts: Iterable[BaseEstimator], units: object) -> str:
    """The word for the unit that a whole protects: what its parts call it, or a person; a row where none is named.

    Parameters
    ----------
    parts : iterable of estimator
        What shares one guarantee.
    units : array-like or None
        The id of each row, for all of them.
    """
    named = sorted({unit_name(given) for part in parts if (given := part.get_params(deep=False).get("unit"))})
    if len(named) > 1:
        raise ValueError(f"one guarantee protects one unit, and its parts name several: {', '.join(named)}.")
    return protected_unit(named[0] if named else None, units)


def refuse_named_unit(part: BaseEstimator, whole: str) -> None:
    """Refuse a part that protects all rows with the same id, inside a whole that gets no ids."""
    if part.get_params(deep=False).get("unit") is not None:
        raise ValueError(
            f"the guarantee of {whole} is for one row, and "
            f"{type(part).__name__} has unit={part.get_params(deep=False)['unit']!r}: "
            "units are not taken there yet. Fit it by itself, with fit(X, y, units=ids), or leave unit=None."
        )


def refuse_fit_arguments(given: Mapping[str, object]) -> None:
    """Refuse what `fit` was given beyond X and y, and say why.

    Examples
    --------
    >>> refuse_fit_arguments({})
    >>> refuse_fit_arguments({"sample_weight": [1, 2]})
    Traceback (most recent call last):
    TypeError: sample_weight is not supported here: weights, offsets and exposures are taken by fit of ...
    """
    terms = [name for name in ("sample_weight", "offset", "exposure") if name in given]
    if terms:
        raise TypeError(
            f"{terms[0]} is not supported here: weights, offsets and exposures are taken by fit of SparseRegressor "
            "and SparseClassifier alone. Fit the model itself, or leave them out."
        )
    if "units" in given:
        raise TypeError(
            "units are not taken here: rows with the same id are protected together by fit(X, y, units=ids) of "
            "SparseRegressor, SparseClassifier, private pipelines, PrivateSearch, PrivateBounds, PrivateScaler and "
            "NoisyCount, and by private_score. Leave units out: the guarantee then protects one row."
        )
    if given:
        raise TypeError(f"fit takes X and y only, got {', '.join(sorted(given))}. Give options to the constructor.")


def our_tags(tags: Tags, *, noisy: bool = True, allow_nan: bool = False) -> Tags:
    """What scikit-learn is to know of an estimator or step: sparse rows are taken, and noise makes fits differ."""
    tags.input_tags.sparse, tags.input_tags.allow_nan = True, allow_nan
    tags.non_deterministic = noisy
    for own in (tags.classifier_tags, tags.regressor_tags):
        if own is not None:
            own.poor_score = True  # on the few rows of its checks
    return tags
