"""Coefficients in the units of the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .codes import Codes
from .column import GAP_LEVEL
from .formats import DictionaryError

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class UnitEffect:
    """One coefficient, in the units of the table.

    Attributes
    ----------
    column : str
    level : str
        A category, ``true``, ``is missing``, or the empty text for a number or a date.
    coefficient : float or tuple of float
        What one unit more, or this level, adds to the margin; one for each model. That of a gap is
        added to what the filled value does.
    unit : str
        Such as ``per year``; the empty text for levels.
    """

    column: str
    level: str
    coefficient: float | tuple[float, ...]
    unit: str

    def __str__(self) -> str:
        what = f"{self.column} {self.level}".strip()
        values = self.coefficient if isinstance(self.coefficient, tuple) else (self.coefficient,)
        return f"{what}: {', '.join(f'{value:.6g}' for value in values)} {self.unit}".rstrip()


def effects(codes: Codes, coef: ArrayLike, intercept: ArrayLike) -> tuple[UnitEffect, ...]:
    """Undo the scaling of numbers and dates.

    A number x enters as c (x - middle) / half, so that c / half belongs to one unit of x, and -c middle / half to the
    intercept.
    """
    weights = np.atleast_2d(np.asarray(coef, dtype=float))
    if weights.ndim != 2 or weights.shape[1] != codes.width:
        raise DictionaryError([f"coef must have one entry for each of the {codes.width} encoded columns."])
    several = np.asarray(coef).ndim == 2 and weights.shape[0] > 1
    constant = np.zeros(weights.shape[0]) + np.asarray(intercept, dtype=float).ravel()
    found = []
    for code, start in zip(codes.codes, codes.starts, strict=True):
        scaled = code.column.kind in ("number", "date")
        for place, level in enumerate(code.levels):
            values = weights[:, start + place]
            gap = level == GAP_LEVEL and place == len(code.levels) - 1 and bool(code.column.gap_is_feature)
            if scaled and not gap:
                constant = constant - values * (code.middle / code.half)
                values = values / code.half
            unit = _unit(code.column.kind, code.column.unit) if scaled and not gap else ""
            shown = "true" if code.column.kind == "boolean" and not gap else level
            found.append(UnitEffect(code.column.name, shown, _number(values, several), unit))
    return (*found, UnitEffect(INTERCEPT, "", _number(constant, several), ""))


def _number(values: np.ndarray, several: bool) -> float | tuple[float, ...]:
    return tuple(values.tolist()) if several else float(values[0])


def _unit(kind: str | None, unit: str | None) -> str:
    """What one unit is; dates count in days."""
    if kind == "date":
        return "per day"
    return "per unit" if not unit else f"per {unit}"
