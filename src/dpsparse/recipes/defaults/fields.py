"""Checks of a recipe's fields: None is left to the recipe's rule."""

from __future__ import annotations

import numpy as np


def check_positive(value: float | None, what: str) -> None:
    """Refuse a hyper-parameter that is not a positive finite number."""
    if value is not None and not (isinstance(value, int | float) and np.isfinite(value) and value > 0):
        raise ValueError(f"{what} must be a positive number or None, got {value!r}.")


def check_whole(value: int | None, what: str) -> None:
    """Refuse a hyper-parameter that is not a positive integer."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
        raise ValueError(f"{what} must be a positive integer or None, got {value!r}.")
