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
        scaled = code.column.scaled
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


@dataclass(frozen=True)
class Contrast:
    """What one result of a model is about.

    Attributes
    ----------
    column : str
    level : str
        A category, ``true``, ``is missing``, or the empty text for a number or a date.
    reference : str
        The category that the level is compared with; otherwise the empty text.
    unit : str
        Such as ``per year``; the empty text for levels.
    weights : array of shape (n_outputs + 1,)
        The result is their product with the encoded coefficients and the intercept.
    """

    column: str
    level: str
    reference: str
    unit: str
    weights: np.ndarray

    @property
    def name(self) -> str:
        """Such as ``age``, ``sex: m vs. f`` and ``crp is missing``."""
        if self.level == GAP_LEVEL and not self.reference:
            return f"{self.column} {GAP_LEVEL}"
        against = f" vs. {self.reference}" if self.reference else ""
        return f"{self.column}: {self.level}{against}" if self.level else self.column


def contrasts(codes: Codes) -> tuple[Contrast, ...]:
    """The results of a model of encoded rows: units of numbers, categories against their reference.

    The last is the intercept: the margin of a record whose numbers are 0 in their units, whose dates
    are 1970-01-01, whose truth values are false and whose categories are the references. A gap of a
    category is compared with the reference, too; that of a number is added to what its filled value
    does.
    """
    found, constant = [], np.zeros(codes.width + 1)
    constant[-1] = 1.0
    for code, start in zip(codes.codes, codes.starts, strict=True):
        column, labels = code.column, code.column.labels if code.category else ()
        base = start + labels.index(str(column.compared_with)) if labels else None
        if base is not None:
            constant[base] = 1.0
        for place, level in enumerate(code.levels):
            weights = np.zeros(codes.width + 1)
            gap = bool(column.gap_is_feature) and place == len(code.levels) - 1
            unit, shown, against = "", "true" if column.kind == "boolean" and not gap else level, ""
            weights[start + place] = 1.0
            if column.scaled and not gap:
                weights[start + place] = 1 / code.half
                constant[start] = -code.middle / code.half
                unit = _unit(column.kind, column.unit)
            elif base is not None:
                if start + place == base:
                    continue
                against = str(column.compared_with)
                weights[base] -= 1.0
                if gap and code.filled >= 0:
                    weights[start + int(code.filled)] += 1.0
            found.append(Contrast(column.name, shown, against, unit, weights))
    return (*found, Contrast(INTERCEPT, "", "", "", constant))


def _number(values: np.ndarray, several: bool) -> float | tuple[float, ...]:
    return tuple(values.tolist()) if several else float(values[0])


def _unit(kind: str | None, unit: str | None) -> str:
    """What one unit is; dates count in days."""
    if kind == "date":
        return "per day"
    return "per unit" if not unit else f"per {unit}"
