"""Declared bounds: arguments, never learned from the data."""

from __future__ import annotations

import numpy as np

from ..core import checks
from ..core.errors import MissingBoundError
from ..core.facts import Vector
from .declared import plain_bounds

#: Declared bounds are between these. A query's sizes (`facts.SMALLEST_SIZE`) are products of at
#: most two of them and of a factor of a rule between 1e-12 and 1e12, so that no query of a fit
#: leaves its range once the fit is paid for.
SMALLEST_BOUND, LARGEST_BOUND = 1e-24, 1e24

HOW_TO_CHOOSE = (
    "Declare row_norm (rows are clipped to this l2 norm) or feature_bound (entries are clipped to "
    "[-b, b] or (lo, hi)). "
    "Take them from a data dictionary, a codebook or physical limits, not from this data: a bound "
    "computed from the data is a leak. "
    "Rows normalised to length 1 have row_norm=1; genotypes coded 0, 1, 2 have feature_bound=(0, 2)."
)


def read_bounds(
    feature_bound: object, row_norm: object, n_features: int
) -> tuple[float | Vector, float | Vector, float]:
    """Turn the estimator's bounds into (lower, upper, row_norm).

    `row_norm` alone implies ``feature_bound = row_norm``; `feature_bound` alone implies the row
    norm of its box. An object with `output_bounds()` brings both. A dict by column name is taken in
    its own order here; `declared_bounds` puts it in the order of the data.

    Examples
    --------
    >>> read_bounds((0, 2), None, 4)
    (0.0, 2.0, 4.0)
    """
    if feature_bound is None and row_norm is None:
        raise MissingBoundError("no bound on the features was given. " + HOW_TO_CHOOSE)
    norm = None
    if row_norm is not None:
        norm = _positive(row_norm, "row_norm")
    feature_bound, norm = plain_bounds(feature_bound, norm)
    lower: float | Vector
    upper: float | Vector
    if feature_bound is None:
        assert norm is not None
        return -norm, norm, norm
    if isinstance(feature_bound, tuple):
        if len(feature_bound) != 2:
            raise MissingBoundError(f"feature_bound as a tuple must be (lo, hi), got {len(feature_bound)} values.")
        lower = checks.numbers(feature_bound[0], "the lower feature_bound", n_features, error=MissingBoundError)
        upper = checks.numbers(feature_bound[1], "the upper feature_bound", n_features, error=MissingBoundError)
    else:
        upper = checks.numbers(feature_bound, "feature_bound", n_features, error=MissingBoundError)
        lower = -upper
    if np.any(np.asarray(lower) >= np.asarray(upper)):
        raise MissingBoundError("feature_bound must have lo < hi (or b > 0) for every feature.")
    largest = np.maximum(np.abs(lower), np.abs(upper)) * np.ones(n_features)
    if largest.max(initial=0.0) > LARGEST_BOUND:
        raise MissingBoundError(f"feature_bound must be below {LARGEST_BOUND:g}; noise grows with it.")
    if largest.max(initial=0.0) < SMALLEST_BOUND:
        raise MissingBoundError(f"feature_bound must be above {SMALLEST_BOUND:g}; give the feature in other units.")
    box = float(np.linalg.norm(largest))
    return lower, upper, box if norm is None else min(norm, box)


def read_center(feature_center: object, n_features: int) -> float | Vector:
    """Turn `feature_center` into a shift; None is no shift."""
    if feature_center is None:
        return 0.0
    return checks.numbers(feature_center, "feature_center", n_features, error=MissingBoundError)


def read_target_bound(target_bound: object) -> float:
    """The declared bound on the target; required."""
    if target_bound is None:
        raise MissingBoundError(
            "no bound on the target was given. Declare target_bound=b: y is clipped to [-b, b] "
            "after target_center is subtracted. "
            "Choose it from what the outcome can be, not from this data."
        )
    return _positive(target_bound, "target_bound")


def _positive(value: object, name: str) -> float:
    return checks.positive(value, name, least=SMALLEST_BOUND, most=LARGEST_BOUND, error=MissingBoundError)
