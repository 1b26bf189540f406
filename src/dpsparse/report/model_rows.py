"""The coefficients of a model as a reader wants them: in the units of its table, with what stands clear of noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..estimators.intervals import FALSE_DISCOVERIES, INTERCEPT, Intervals
from ..estimators.linear import SparseLinear
from ..estimators.shape_functions import names_or_none
from ..estimators.summary import keeps_dictionary, line_coefficients, survives
from ..io.dictionary import TableEncoder
from .pictures import COLOURS, Axis

#: Coefficients that are listed; a model with more says how many are left out.
LISTED = 200
#: A ratio beyond it has no float.
LARGEST_EXPONENT = 709.0


@dataclass(frozen=True)
class ModelFact:
    """An interval from rows that were not used to select, in the units of the table.

    It also says whether the coefficient is clearly different from noise; None: not asked.
    """

    estimate: float
    low: float
    high: float
    clear: bool | None

    @property
    def reach(self) -> float:
        """How far from zero it goes."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class Row:
    """One feature.

    Attributes
    ----------
    name, level, unit : str
        As the dictionary has them; without one, the column's name alone.
    values : tuple of float
        Its coefficient, one for each margin.
    bar : int
        Size against the largest, in per cent, on the scale of the fit.
    known : ModelFact or None
        Its interval, where there is one.
    hazard_ratio : float or None
        Of a survival model, for one unit of the feature.
    """

    name: str
    level: str
    unit: str
    values: tuple[float, ...]
    bar: int
    known: ModelFact | None = None
    hazard_ratio: float | None = None


def whisker(known: ModelFact, reach: float) -> str:
    """An interval and its middle in the cell of a table, on a scale from `-reach` to `reach`.

    Hollow where it is not clear of noise.
    """
    axis = Axis("", -reach, reach)
    a, b, c = (round(4 + 152 * axis.part(value), 1) for value in (known.low, known.estimate, known.high))
    fill = COLOURS[0] if known.clear else "#fff"
    return (
        '<svg viewBox="0 0 160 16" class="whisker" aria-hidden="true">'
        '<line x1="80" x2="80" y1="0" y2="16" stroke="#999"/>'
        f'<line x1="{a}" x2="{c}" y1="8" y2="8" stroke="{COLOURS[0]}" stroke-width="2"/>'
        f'<circle cx="{b}" cy="8" r="4" fill="{fill}" stroke="{COLOURS[0]}" stroke-width="2"/></svg>'
    )


def rows_of(model: SparseLinear) -> tuple[Row, ...]:
    """Features with a coefficient, the largest first, at most `LISTED`; the constant comes last."""
    coef = np.atleast_2d(model.coef_)
    shown, names = _in_units(model, coef)
    intervals: Intervals | None = vars(model).get("intervals_")
    ends = {} if intervals is None else _ends(model, intervals)
    sizes = np.abs(coef).max(axis=0)
    largest = max(float(sizes.max(initial=0.0)), 1e-300)
    chosen = sorted({*model.support_.tolist(), *ends}, key=lambda j: (-float(sizes[j]), j))
    found = []
    for j in chosen[:LISTED]:
        name, level, unit = names[j]
        bar = round(100 * float(sizes[j]) / largest)
        ratio = float(np.exp(min(shown[0, j], LARGEST_EXPONENT))) if survives(model) else None
        found.append(Row(name, level, unit, tuple(shown[:, j].tolist()), bar, ends.get(j), ratio))
    return (*found, _intercept(model, intervals))


def _intercept(model: SparseLinear, intervals: Intervals | None) -> Row:
    """The constant, in the units of the table.

    Its interval is known on the scale of the fit alone, and shown where that is the table's.
    """
    if keeps_dictionary(model):
        lines = line_coefficients(model, model.coef_)
        value = TableEncoder(model.dictionary_).decode(lines, model.intercept_)[-1].coefficient
        return Row(INTERCEPT, "", "", tuple(np.atleast_1d(value).tolist()), 0)
    values = tuple(np.atleast_1d(model.intercept_).tolist())
    if intervals is None or len(intervals) == len(intervals.columns):
        return Row(INTERCEPT, "", "", values, 0)
    last = intervals[-1]
    return Row(INTERCEPT, "", "", values, 0, ModelFact(last.estimate, last.low, last.high, None))


def method_of(intervals: Intervals) -> str:
    """How it was decided what stands clear of noise, in a sentence."""
    return (
        f"Intervals of {100 * intervals.level:g} %, each by itself, from rows that did not select (split), of "
        "sampling and privacy noise together. Clear of noise: called nonzero by the procedure of Benjamini and "
        f"Hochberg, with at most {100 * FALSE_DISCOVERIES:g} % false ones expected among them."
    )


def _in_units(model: SparseLinear, coef: np.ndarray) -> tuple[np.ndarray, list[tuple[str, str, str]]]:
    """Coefficients by encoded column in the units of the dictionary, and what the columns are called."""
    if not keeps_dictionary(model):
        given = names_or_none(model)
        names = [f"feature {j}" for j in range(coef.shape[1])] if given is None else [str(name) for name in given]
        return coef, [(name, "", "") for name in names]
    lines = line_coefficients(model, coef)
    effects = TableEncoder(model.dictionary_).decode(lines, np.zeros(coef.shape[0]))[: lines.shape[1]]
    shown = np.array([np.atleast_1d(effect.coefficient) for effect in effects], dtype=float).reshape(len(effects), -1)
    called = [(effect.column, effect.level, effect.unit) for effect in effects]
    basis = model.basis_
    if basis is None:
        return shown.T, called
    found = coef.copy()
    found[:, basis.starts[basis.lines]] = shown.T[:, basis.lines]
    own = [called[j] for j in basis.parents]
    for curve in basis.curves:
        own[basis.place(curve)] = [(curve.of.name, f"term {k}", "") for k in range(1, curve.terms + 1)]
    return found, own


def _ends(model: SparseLinear, intervals: Intervals) -> dict[int, ModelFact]:
    """Estimate, ends and mark of each column with an interval, in the units of the dictionary."""
    columns = list(intervals.columns)
    size = len(columns)
    half = intervals.half_width[:size]
    middle = intervals.estimate[:size]
    told = []
    for values in (middle, middle - half, middle + half):
        full = np.zeros((1, model.coef_.shape[-1]))
        full[0, columns] = values
        told.append(_in_units(model, full)[0][0, columns])
    marks = intervals.rejected[:size]
    return {
        j: ModelFact(float(told[0][k]), float(told[1][k]), float(told[2][k]), bool(marks[k]))
        for k, j in enumerate(columns)
    }
