"""Public bounds of rows behind a step that costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from ...rows.declared import Bounded, ColumnBounds
from .bounds import Bounds
from .row_steps import RowStep


def bounds_after(step: Any, before: Bounds | None, n_features: int | None) -> Bounds | None:
    """Bounds of the rows that come out of a step, from public constants alone; None where they are not known.

    Parameters
    ----------
    step : transformer
        One of ours, a `ColumnTransformer` or a `Pipeline` of them; fitted, or one whose bounds do not depend on a fit.
    before : Bounds or None
        Bounds of the rows that come in.
    n_features : int or None
        Number of columns that come in, as far as a step without names needs it.
    """
    if step is None or isinstance(step, str):
        return before
    if isinstance(step, Bounded):
        known = step.output_bounds()
        return None if known is None else Bounds(known.lower, known.upper, known.row_norm)
    if isinstance(step, RowStep):
        return None if n_features is None else step.bounds_after(before, n_features)
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            before = bounds_after(inner, before, vars(inner).get("n_features_in_", n_features))
            n_features = None if before is None else np.size(before.lower)
        return before
    return _side_by_side(step) if isinstance(step, ColumnTransformer) else None


def _side_by_side(step: ColumnTransformer) -> Bounds | None:
    """Bounds of the parts of a `ColumnTransformer`, in their order. What passes through it has none of its own."""
    parts = []
    for _, inner, columns in vars(step).get("transformers_", step.transformers):
        if inner == "drop" or _none(columns):
            continue
        if isinstance(inner, str):
            return None
        width = vars(inner).get("n_features_in_", len(columns) if isinstance(columns, list) else None)
        found = bounds_after(inner, None, width)
        if found is None or (np.size(found.lower) == 1 and width is None):
            return None
        size = max(np.size(found.lower), np.size(found.upper))
        every = np.ones(width if size == 1 and width is not None else size)
        parts.append(ColumnBounds(found.lower * every, found.upper * every, found.row_norm))
    fitted = "transformers_" in vars(step)
    if not parts or step.transformer_weights is not None or not (fitted or step.remainder == "drop"):
        return None
    together = ColumnBounds.beside(parts)
    return Bounds(together.lower, together.upper, together.row_norm)


def _none(columns: object) -> bool:
    return isinstance(columns, Sequence) and not isinstance(columns, str) and len(columns) == 0
