"""Declared bounds: arguments, never learned from the data."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from ..facts import Vector
from ..privacy.errors import MissingBoundError

#: Beyond this, squares of sums would not fit a float.
LARGEST_BOUND = 1e60

HOW_TO_CHOOSE = (
    "Declare row_norm (rows are clipped to this l2 norm) or feature_bound (entries are clipped to [-b, b] or (lo, hi)). "
    "Take them from a data dictionary, a codebook or physical limits, not from this data: a bound read off the data is a leak. "
    "Rows normalised to length 1 have row_norm=1; genotypes coded 0, 1, 2 have feature_bound=(0, 2)."
)


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Public bounds of encoded rows: column j lies in ``[lower[j], upper[j]]``, and a row within l2 norm `row_norm`."""

    lower: Vector
    upper: Vector
    row_norm: float

    @classmethod
    def beside(cls, parts: Sequence[ColumnBounds]) -> Self:
        """Bounds of blocks of columns side by side; squares of row norms add up."""
        return cls(
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            math.sqrt(math.fsum(part.row_norm**2 for part in parts)),
        )


@runtime_checkable
class Bounded(Protocol):
    """Something that knows the public bounds of what comes out of it, such as a `dpsparse.tables.TableEncoder`."""

    def output_bounds(self) -> ColumnBounds | None:
        """Bounds of the columns; None where they are not known."""


def bounds_by_name(bounds: Mapping[str, Any], names: Sequence[str]) -> tuple[Vector, Vector]:
    """Bounds that were given as a dict by column name, in the order of the columns.

    Each value is b for [-b, b], or (lo, hi). All names that are missing or unknown are told at once.

    Examples
    --------
    >>> bounds_by_name({"bmi": (10, 60), "age": 110}, ["age", "bmi"])
    (array([-110.,   10.]), array([110.,  60.]))
    """
    known = list(names)
    complaints = [f"no bound for {name!r}" for name in known if name not in bounds]
    for name in bounds:
        if name not in known:
            close = difflib.get_close_matches(str(name), [n for n in known if n not in bounds], n=1)
            complaints.append(f"no column {name!r}" + (f" (did you mean {close[0]!r}?)" if close else ""))
    if complaints:
        raise MissingBoundError(f"feature_bound by column name: {'; '.join(complaints)}.")
    lower, upper = np.empty(len(known)), np.empty(len(known))
    for j, name in enumerate(known):
        pair = bounds[name]
        ends = pair if isinstance(pair, tuple | list) else (pair,)
        numbers = [_numbers(end, f"the feature_bound of {name!r}", 0) for end in ends]
        if len(numbers) not in (1, 2):
            raise MissingBoundError(f"the feature_bound of {name!r} must be b or (lo, hi), got {len(numbers)} values.")
        lower[j], upper[j] = (-numbers[0], numbers[0]) if len(numbers) == 1 else numbers
    return lower, upper


def declared_bounds(
    feature_bound: Any, row_norm: Any, names: Sequence[str] | None, carried: ColumnBounds | None
) -> tuple[Any, Any]:
    """What a user declared, made plain for rows with these column names, as `read_bounds` takes it.

    Parameters
    ----------
    feature_bound, row_norm
        Arguments of an estimator.
    names : sequence of str or None
        Names of the columns; a dict by column name needs them.
    carried : ColumnBounds or None
        Public bounds that the rows brought along; they count where nothing was declared.
    """
    if feature_bound is None and row_norm is None and carried is not None:
        return (carried.lower, carried.upper), carried.row_norm
    if isinstance(feature_bound, Mapping):
        if names is None:
            raise MissingBoundError(
                "feature_bound was given by column name, but the data has no column names. "
                "Use a table with names, or one bound per feature in order."
            )
        return bounds_by_name(feature_bound, names), row_norm
    return feature_bound, row_norm


def _numbers(value: Any, what: str, n_features: int) -> float | Vector:
    try:
        array = np.array(value, dtype=float)  # a copy: the caller's array may change later
    except (TypeError, ValueError):
        raise MissingBoundError(f"{what} must be a number or one number per feature, got {value!r}.") from None
    if not np.all(np.isfinite(array)):
        raise MissingBoundError(f"{what} must be finite, got {value!r}.")
    if array.ndim == 0:
        return float(array)
    if array.shape != (n_features,):
        raise MissingBoundError(
            f"{what} must be a number or have one entry per feature ({n_features}), got shape {array.shape}."
        )
    return array


def read_bounds(feature_bound: Any, row_norm: Any, n_features: int) -> tuple[float | Vector, float | Vector, float]:
    """Turn the estimator's bounds into (lower, upper, row_norm).

    `row_norm` alone implies ``feature_bound = row_norm``; `feature_bound` alone implies the row norm of its box. An object
    with `output_bounds()` brings both. A dict by column name is taken in its own order here; `declared_bounds` puts it in
    the order of the data.

    Examples
    --------
    >>> read_bounds((0, 2), None, 4)
    (0.0, 2.0, 4.0)
    """
    if feature_bound is None and row_norm is None:
        raise MissingBoundError("no bound on the features was given. " + HOW_TO_CHOOSE)
    norm = None
    if row_norm is not None:
        norm = _one_positive(row_norm, "row_norm")
    if isinstance(feature_bound, Bounded):
        known = feature_bound.output_bounds()
        if known is None:
            raise MissingBoundError(
                "feature_bound was given as an object that does not know its bounds. " + HOW_TO_CHOOSE
            )
        feature_bound, norm = (known.lower, known.upper), min(known.row_norm, norm or known.row_norm)
    if isinstance(feature_bound, Mapping):
        feature_bound = bounds_by_name(feature_bound, list(feature_bound))
    lower: float | Vector
    upper: float | Vector
    if feature_bound is None:
        assert norm is not None
        return -norm, norm, norm
    if isinstance(feature_bound, tuple):
        if len(feature_bound) != 2:
            raise MissingBoundError(f"feature_bound as a tuple must be (lo, hi), got {len(feature_bound)} values.")
        lower = _numbers(feature_bound[0], "the lower feature_bound", n_features)
        upper = _numbers(feature_bound[1], "the upper feature_bound", n_features)
    else:
        upper = _numbers(feature_bound, "feature_bound", n_features)
        lower = -upper
    if np.any(np.asarray(lower) >= np.asarray(upper)):
        raise MissingBoundError("feature_bound must have lo < hi (or b > 0) for every feature.")
    largest = np.maximum(np.abs(lower), np.abs(upper)) * np.ones(n_features)
    if largest.max(initial=0.0) > LARGEST_BOUND:
        raise MissingBoundError(f"feature_bound must be below {LARGEST_BOUND:g}; noise grows with it.")
    box = float(np.linalg.norm(largest))
    return lower, upper, box if norm is None else min(norm, box)


def read_center(feature_center: Any, n_features: int) -> float | Vector:
    """Turn `feature_center` into a shift; None is no shift."""
    return 0.0 if feature_center is None else _numbers(feature_center, "feature_center", n_features)


def read_target_bound(target_bound: Any) -> float:
    """The declared bound on the target; required."""
    if target_bound is None:
        raise MissingBoundError(
            "no bound on the target was given. Declare target_bound=b: y is clipped to [-b, b] after target_center is subtracted. "
            "Choose it from what the outcome can be, not from this data."
        )
    return _one_positive(target_bound, "target_bound")


def _one_positive(value: Any, what: str) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not np.isfinite(value) or value <= 0:
        raise MissingBoundError(f"{what} must be one positive finite number, got {value!r}.")
    if float(value) > LARGEST_BOUND:
        raise MissingBoundError(f"{what} must be below {LARGEST_BOUND:g}; noise grows with it.")
    return float(value)
