"""What a model file holds: names, types, shapes and finite numbers, checked before anything is made of them."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.codec import FormError, Limits, canonical_json, form
from ..core.facts import Vector
from ..core.statement import Statement
from ..rows.row_bounds import RowBounds
from ..rows.shapes import SHAPES, Basis
from .intervals import Intervals

FORMAT, VERSIONS = "dpsparse-model", (1, 2)
#: The fields of a stored file, by name.
Content = dict[str, Any]
#: Coefficients beyond this many would fill the memory of a usual machine: 2^27 floats are one gigabyte.
LARGEST_COEFFICIENTS = 2**27
#: Terms of a curve at most, in a file.
MOST_TERMS = 100


def model_digest(content: Mapping[str, object]) -> str:
    """A digest of everything in a file but the digest itself, whatever its spaces and the order of its names."""
    held = {k: v for k, v in content.items() if k != "digest"}
    return "sha256:" + hashlib.sha256(canonical_json(held).encode()).hexdigest()


def seal(form: str, version: int, content: Content) -> Content:
    """A content with its format, version and digest."""
    whole = {"format": form, "version": version, **content}
    return whole | {"digest": model_digest(whole)}


def unseal(form: str, versions: tuple[int, ...], content: Content) -> Content:
    """The inverse of `seal`; whether the checksum matches is not looked at."""
    if content.get("format") != form or content.get("version") not in versions:
        raise FormError(f"the format is not {form}, or its version is another one.")
    return {name: value for name, value in content.items() if name not in ("format", "version", "digest")}


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
    return seal(FORMAT, VERSIONS[-1], held)


@form(out=_seal_model, back=partial(unseal, FORMAT, VERSIONS), made=_check)
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
