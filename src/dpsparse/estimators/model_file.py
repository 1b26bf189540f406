"""Models as safe, versioned JSON files: names, types, shapes and finite numbers are checked before a model is made."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .. import recipes
from ..core import Budget, DataError
from ..core.codec import FormError, Limits, canonical_json, form, read, write
from ..core.errors import PrivacyError
from ..core.facts import Facts, Vector
from ..core.plain import Json, to_json
from ..core.regular_files import open_regular, write_whole
from ..core.statement import Statement
from ..fitting.request import read_loss
from ..io.dictionary import Dictionary
from ..ledger import PAYING
from ..queries import losses
from ..queries.kinds import Solver
from ..recipes.base import PrivateRecipe, Recipe
from ..rows.row_bounds import RowBounds
from ..rows.shapes import SHAPES, Basis
from .intervals import Intervals
from .linear import SparseLinear

#: Arguments by class, and those that files of earlier releases do not have: written where they are given.
CLASS_TERMS = ("class_weight", "class_shares")
LATER = {**dict.fromkeys(("weight_bound", "offset_bound", "unit", "groups", *CLASS_TERMS)), "shapes": "line"}

#: Files beyond are not read unless the caller says so: about eight million coefficients.
LARGEST_BYTES = 2**28
#: A file that is to be replaced may have any size; only its first bytes are looked at.
LARGEST_HEAD_OF, HEAD = 2**62, 200
STARTS = re.compile(rb'\s*\{\s*"format"\s*:\s*"dpsparse-(model|pipeline|search|survival)"')
#: What the statement of a model begins with whose digest does not fit.
EDITED = (
    "the model file was edited after it was saved, or has no digest: nothing in it, this statement "
    "included, can be relied on"
)


#: What content that is no model may raise when something is made of it.
DAMAGED = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, RecursionError)


def model_content(model: SparseLinear) -> ModelContent:
    """All that a file of a fitted model holds."""
    held = vars(model)
    if not (np.all(np.isfinite(model.coef_)) and np.all(np.isfinite(model.intercept_))):
        raise DataError("the model has coefficients that are not finite, and a model file holds finite numbers only.")
    return ModelContent(
        class_=cast('Literal["SparseClassifier", "SparseRegressor"]', type(model).__name__),
        params=_params(model),
        n_features_in=int(model.n_features_in_),
        feature_names_in=tuple(map(str, model.feature_names_in_)) if "feature_names_in_" in held else None,
        classes=tuple(np.asarray(model.classes_).tolist()) if "classes_" in held else None,
        coef=Coefficients.of(model.coef_),
        intercept=np.asarray(model.intercept_).tolist(),
        statement=model.statement_,
        dictionary=cast("dict[str, Json]", to_json(model.dictionary_.to_dict())) if "dictionary_" in held else None,
        multinomial=held.get("multinomial_"),
        intervals=held.get("intervals_"),
        sparse_rows=model.fitted_sparse,
        bounds=model.fitted_bounds,
        basis=model.basis_,
    )


def write_sealed(path: str | os.PathLike[str], content: object) -> None:
    """Write a file that appears whole or not at all, if the path is free or its file may be replaced."""
    try:
        held = write(content)
    except FormError as error:
        raise DataError(f"the model cannot be saved: {error} A model file holds finite numbers only.") from None
    write_whole(path, json.dumps(held, indent=1, allow_nan=False), check_replaceable)


def check_replaceable(path: FilePath) -> None:
    """Refuse to replace anything but a model: not data, not a ledger, not a file of somebody else."""
    if not os.path.lexists(path):
        return
    with open_regular(path, LARGEST_HEAD_OF, "a dpsparse model that may be replaced") as file:
        head = file.read(HEAD)
    if head and not STARTS.match(head):
        raise DataError(
            f"{path} exists and is not a dpsparse model, so it is not replaced. Choose another "
            "name, or remove the file first."
        )


def model_of(content: ModelContent) -> SparseLinear:
    """The model of a content."""
    from .classifier import SparseClassifier
    from .regressor import SparseRegressor

    known: dict[str, type[SparseLinear]] = {"SparseClassifier": SparseClassifier, "SparseRegressor": SparseRegressor}
    params: dict[str, Any] = {
        name: _restored(name, value) for name, value in content.params.items() if name not in PAYING
    }
    read_loss(params.get("loss"), classes=content.class_ == "SparseClassifier")
    model: SparseLinear = known[content.class_](**params)
    model.coef_ = content.coef.dense()
    intercept = np.asarray(content.intercept, dtype=float)
    model.intercept_ = intercept if intercept.ndim else float(intercept)
    model.support_ = np.flatnonzero(np.any(np.atleast_2d(model.coef_) != 0, axis=0))
    model.n_features_in_ = content.n_features_in
    if content.feature_names_in is not None:
        model.feature_names_in_ = np.asarray(content.feature_names_in, dtype=object)
    if content.classes is not None:
        model.classes_ = np.asarray(content.classes)
        model.multinomial_ = bool(content.multinomial)
    model.statement_ = content.statement
    model._sparse_rows = bool(content.sparse_rows)
    if content.bounds is not None:
        model._fitted_bounds = content.bounds
    model._basis = content.basis
    if content.intervals is not None:
        model.intervals_ = content.intervals
        model.covariance_ = content.intervals.covariance
        if not all(0 <= j < model.coef_.shape[-1] for j in content.intervals.columns):
            raise ValueError
    if content.dictionary is not None:
        model.dictionary_ = Dictionary.from_dict(content.dictionary).as_fitted(exact_labels=of_earlier_release(content))
        if model.dictionary_.output_bounds().lower.size != content.n_features_in:
            raise ValueError
    return model


def _restored(name: str, value: Json) -> object:
    """An argument as the estimator takes it."""
    kind, made = RESTORED.get(name, (type(None), None))
    return made(value) if made is not None and isinstance(value, kind) else value


def of_earlier_release(content: ModelContent) -> bool:
    """Whether a model was saved by a release whose models did not keep their bounds."""
    return content.bounds is None


def _recipe(stored: dict[str, Json]) -> recipes.Recipe:
    """The recipe with its settings, or a stand-in where this installation has none that takes them."""
    settings: dict[str, Any] = dict(stored)
    try:
        return recipes.get(settings.pop("recipe"))(**settings)
    except (KeyError, TypeError, ValueError):
        return UnknownRecipe(stored=stored)


#: Arguments that a file holds in another form: which, and what is made of it.
RESTORED: dict[str, tuple[type, Callable[..., object]]] = {
    "recipe": (dict, _recipe),
    "loss": (dict, losses.restored_loss),
    "budget": (dict, lambda held: read(Budget, held, "the budget")),
    **dict.fromkeys(CLASS_TERMS, (list, dict)),
    **dict.fromkeys(("feature_bound", "accept", "offset_bound"), (list, tuple)),
}


def _params(model: SparseLinear) -> dict[str, Json]:
    params: dict[str, Json] = {}
    for name, value in {**model.get_params(deep=False), **model.plain_bounds()}.items():
        if name in PAYING or (name in LATER and value == LATER[name]):
            continue
        if name == "loss" and value is not None and not isinstance(value, str):
            value = losses.stored_loss(value)
        if name == "recipe" and not isinstance(value, str):
            value = value.stored if isinstance(value, UnknownRecipe) else recipes.settings(value)
        if name in CLASS_TERMS and isinstance(value, Mapping):  # names in JSON are text, and labels need not be
            value = [[label, number] for label, number in value.items()]
        if isinstance(value, Budget):
            value = {k: getattr(value, k) for k in ("epsilon", "delta", "rho", "mu")}
        params[name] = to_json(value)
    return params


@dataclass(frozen=True, kw_only=True)
class UnknownRecipe(PrivateRecipe):
    """Stands in a loaded model for the recipe that fitted it.

    Parameters
    ----------
    stored : dict
        The recipe's name and settings, as the file has them; they are written again when the model is saved.
    """

    name: ClassVar[str] = "unknown"

    stored: dict[str, Json] = field(default_factory=dict)

    def resolve(self, facts: Facts, budget: Budget) -> tuple[Recipe, str]:
        """Refuses."""
        self._refuse()

    def view(self, facts: Facts) -> Facts:
        """Refuses."""
        self._refuse()

    def solver(self, facts: Facts, budget: Budget) -> Solver:
        """Refuses."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PrivacyError(
            f"this model was fitted by the recipe {self.stored.get('recipe')!r}, which is not installed here with "
            "these settings: it predicts, and cannot be fitted again. Set recipe= to one of dpsparse.recipes.names(), "
            "or to the recipe itself."
        )


# ------------------------------------------------------------------------------------------------ what a file holds

FORMAT, VERSIONS = "dpsparse-model", (1, 2)
Kind = TypeVar("Kind")
#: The fields of a stored file, by name.
Content = dict[str, Json]
#: Coefficients beyond this many would fill the memory of a usual machine: 2^27 floats are one gigabyte.
LARGEST_COEFFICIENTS = 2**27
#: Terms of a curve at most, in a file.
MOST_TERMS = 100


def model_digest(content: Mapping[str, object]) -> str:
    """A digest of everything in a file but the digest itself, whatever its spaces and the order of its names."""
    held = {k: v for k, v in content.items() if k != "digest"}
    return "sha256:" + hashlib.sha256(canonical_json(held).encode()).hexdigest()


def _seal(form: str, version: int, content: Content) -> Content:
    """A content with its format, version and digest."""
    whole = {"format": form, "version": version, **content}
    return whole | {"digest": model_digest(whole)}


def _unseal(form: str, versions: tuple[int, ...], content: Content) -> Content:
    """The inverse of `_seal`; whether the checksum matches is not looked at."""
    if content.get("format") != form or content.get("version") not in versions:
        raise FormError(f"the format is not {form}, or its version is another one.")
    return {name: value for name, value in content.items() if name not in ("format", "version", "digest")}


def sealed_form(
    name: str, version: int, made: Callable[..., object] = lambda content: content
) -> Callable[[type[Kind]], type[Kind]]:
    """The form of a record that is a file: with its format and version, and a digest of the whole."""
    return form(out=partial(_seal, name, version), back=partial(_unseal, name, (version,)), made=made)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The nonzero entries of an array, in order; `row` is 0 for a vector."""

    shape: tuple[int, ...]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: Vector

    @classmethod
    def of(cls, coef: Vector) -> Coefficients:
        """Those of an array."""
        dense = np.atleast_2d(coef)
        row, column = np.nonzero(dense)
        return cls(coef.shape, row, column, dense[row, column])

    def dense(self) -> Vector:
        """The array."""
        coef = np.zeros(self.shape if len(self.shape) == 2 else (1, *self.shape))
        coef[self.row, self.column] = self.value
        return coef.reshape(self.shape)

    def check(self, d: int) -> None:
        """Refuse entries that an array of d columns does not have."""
        shape = self.shape
        fits = len(shape) in (1, 2) and shape[-1] == d and all(1 <= s <= LARGEST_COEFFICIENTS for s in shape)
        _need(fits and math.prod(shape) <= LARGEST_COEFFICIENTS, "the shape of the coefficients")
        _need(self.row.shape == self.column.shape == self.value.shape == (self.row.size,), "the number of coefficients")
        rows = shape[0] if len(shape) == 2 else 1
        within = np.all((self.row >= 0) & (self.row < rows) & (self.column >= 0) & (self.column < d))
        _need(bool(within and np.all(np.diff(self.row * d + self.column) > 0)), "the place of a coefficient")


def _check(content: ModelContent) -> ModelContent:
    d, classes = content.n_features_in, content.classes
    _need(content.feature_names_in is None or len(content.feature_names_in) == d, "the number of features")
    d = d if content.basis is None else _width(content.basis, d)
    content.coef.check(d)
    rows = content.coef.shape[0] if len(content.coef.shape) == 2 else None
    if content.class_ == "SparseClassifier":
        _need(classes is not None and len(classes) >= 2 and _ordered(classes), "the list of classes")
        _need(rows == (1 if len(classes or ()) == 2 else len(classes or ())), "the shape of the coefficients")
        _need(isinstance(content.intercept, tuple) and len(content.intercept) == rows, "the intercept")
    else:
        _need(classes is None and rows is None and not isinstance(content.intercept, tuple), "the list of classes")
    if content.bounds is not None:
        _check_bounds(content.bounds, d)
    return content


def _width(basis: Basis, d: int) -> int:
    """How many coefficients the map of a record gives; refuses one that is not of rows of d columns."""
    columns = [curve.of.column for curve in basis.curves]
    known = [*basis.others, *(curve.of for curve in basis.curves)]
    places = all(0 <= one.column < d and (one.gap is None or 0 <= one.gap < d) and one.low < one.high for one in known)
    kinds = all(
        curve.kind in SHAPES[1:] and 1 < curve.terms <= MOST_TERMS and curve.lower < curve.upper
        for curve in basis.curves
    )
    ordered = bool(columns) and all(a < b for a, b in itertools.pairwise(columns))
    _need(basis.n_features == d and kinds and places and ordered, "the shapes of the columns")
    return basis.width


def _ordered(labels: tuple[Any, ...]) -> bool:
    """Different labels of one kind, in order: text, truth values or numbers."""
    kinds = {type(v) if isinstance(v, bool | str) else float for v in labels}
    return len(kinds) == 1 and all(a < b for a, b in itertools.pairwise(labels))


def _check_bounds(bounds: RowBounds, d: int) -> None:
    """Refuse bounds to which rows of d columns cannot be clipped."""
    each = [np.asarray(v) for v in (bounds.lower, bounds.upper, bounds.scale)]
    _need(all(v.shape in ((), (d,)) for v in each), "the number of bounds")
    holds = np.all(each[0] < each[1]) and np.all(each[2] > 0) and (bounds.row_norm is None or bounds.row_norm > 0)
    _need(bool(holds), "the order of the bounds")


def _need(holds: bool, part: str) -> None:
    if not holds:
        raise FormError(f"{part} is not as it was saved.")


def _seal_model(content: Content) -> Content:
    """Sealed; a model of lines is written as models were before there were curves."""
    held = {name: value for name, value in content.items() if name != "basis" or value is not None}
    return _seal(FORMAT, VERSIONS[-1], held)


@form(out=_seal_model, back=partial(_unseal, FORMAT, VERSIONS), made=_check)
@dataclass(frozen=True, kw_only=True, eq=False)
class ModelContent:
    """All that the file of a fitted model holds; what came later may be missing."""

    class_: Literal["SparseClassifier", "SparseRegressor"]
    params: dict[str, Any]
    n_features_in: Annotated[int, Limits(1, LARGEST_COEFFICIENTS)]
    feature_names_in: tuple[str, ...] | None
    classes: tuple[bool | int | float | str, ...] | None
    coef: Coefficients
    intercept: float | tuple[float, ...]
    statement: Statement
    dictionary: dict[str, Any] | None = None
    multinomial: bool | None = None
    intervals: Intervals | None = None
    sparse_rows: bool | None = None
    bounds: RowBounds | None = None
    basis: Basis | None = None
