"""A fitted model as a reader wants it: its coefficients in the units of its table, and pictures.

Pictures are of coefficients with intervals, of the effect of a column, and of survival curves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..estimators.intervals import FALSE_DISCOVERIES, INTERCEPT, Intervals
from ..estimators.linear import SparseLinear
from ..estimators.shape_functions import ShapeFunction, names_or_none
from ..estimators.summary import keeps_dictionary, line_coefficients, survives
from ..io.dictionary import TableEncoder
from .pictures import COLOURS, Axis, Canvas, Line, Picture, axes_at, set_heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.survival import SparseSurvival

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


# ------------------------------------------------------------------------------------------------ pictures

#: Coefficients that are drawn, the largest first.
MOST = 30


def plot_coefficients(model: SparseLinear, where: Canvas) -> Axes:
    """Draw the selected coefficients as level bars, the largest on top, or as intervals.

    What carries no guarantee says so in red.

    Parameters
    ----------
    model : SparseLinear
        Fitted.
    where : path, matplotlib Axes or None
        None: the current axes of pyplot.
    """
    coef = np.atleast_2d(model.coef_)
    sizes = np.abs(coef).max(axis=0)
    chosen = sorted(model.support_.tolist(), key=lambda j: (-float(sizes[j]), j))[:MOST]
    names = names_or_none(model)
    places = np.arange(len(chosen))
    intervals: Intervals | None = vars(model).get("intervals_")
    known = {} if intervals is None else dict(zip(intervals.columns, intervals, strict=False))
    with axes_at(where) as axes:
        axes.axvline(0.0, color="grey", linewidth=0.8)
        if intervals is not None:
            shown = [(place, known[j]) for place, j in zip(places, chosen, strict=True) if j in known]
            middle = np.array([row.estimate for _, row in shown])
            ends = np.array([[row.estimate - row.low, row.high - row.estimate] for _, row in shown]).T
            axes.errorbar(middle, [place for place, _ in shown], xerr=ends.reshape(2, -1), fmt="o", capsize=3)
            axes.set_xlabel(f"estimate and {intervals.level:.0%} interval")
        else:
            height = 0.8 / coef.shape[0]
            for k in range(coef.shape[0]):
                axes.barh(places + (k - (coef.shape[0] - 1) / 2) * height, coef[k, chosen], height=height)
            axes.set_xlabel("coefficient, with the noise of privacy in it")
        axes.set_yticks(places, labels=[f"feature {j}" if names is None else str(names[j]) for j in chosen])
        axes.invert_yaxis()
        left = len(model.support_) - len(chosen)
        title = f"{model.statement_.recipe}: {len(model.support_)} features" + (f", {left} not drawn" if left else "")
        set_heading(axes, title, sound=model.statement_.private)
        return axes


def shape_picture(shape: ShapeFunction) -> Picture:
    """The effect of one column, with its band where there is one."""
    values = np.atleast_2d(shape.value)
    band = None if shape.low is None or shape.high is None else (shape.low.tolist(), shape.high.tolist())
    ends = np.concatenate([values.ravel(), [0.0], *([] if band is None else band)])
    margin = 0.05 * float(np.ptp(ends)) or 1.0
    unit = f" ({shape.unit})" if shape.unit else ""
    said = "" if band is None else f"; band of {shape.level:.0%} for each value by itself"
    low, high = band or (None, None)
    names = ["effect"] if len(values) == 1 else [f"class {k}" for k in range(len(values))]
    return Picture(
        title=f"{_heading(shape)}; effect on the margin against {shape.reference:g}{unit}{said}",
        across=Axis(f"{shape.column}{unit}", float(shape.grid[0]), float(shape.grid[-1])),
        up=Axis("effect", float(ends.min()) - margin, float(ends.max()) + margin),
        lines=[
            Line(name, shape.grid.tolist(), v.tolist(), low=low, high=high, band=f"band of {shape.level:.0%}")
            for name, v in zip(names, values, strict=True)
        ],
        mark=shape.reference,
        mark_name="reference",
    )


def _heading(shape: ShapeFunction) -> str:
    return f"{shape.column}: {'a line' if shape.kind == 'line' else f'{shape.kind}, {shape.terms} terms'}"


def plot_shape(shape: ShapeFunction, where: Canvas) -> Axes:
    """Draw the effect of one column, with its band where there is one.

    Parameters
    ----------
    shape : ShapeFunction
    where : path, matplotlib Axes or None
        None: the current axes of pyplot.
    """
    return shape_picture(shape).draw(where, _heading(shape))


#: Points of a curve in each interval of the life table.
POINTS = 8


def plot_survival(model: SparseSurvival, X: object, where: Canvas) -> Axes:
    """Draw the probability of no event up to each time, one curve for each row.

    What carries no guarantee says so in red.

    Parameters
    ----------
    model : SparseSurvival
        Fitted.
    X : array or frame of shape (rows, n_features)
    where : path, matplotlib Axes or None
        None: the current axes of pyplot.
    """
    end = float(model.baseline_.times[-1])
    times = np.linspace(0.0, end, POINTS * model.baseline_.hazard.size + 1)
    curves = enumerate(model.predict_survival(X, times), start=1)
    lines = [Line(f"row {number}", times.tolist(), curve.tolist()) for number, curve in curves]
    heading = "survival, with the noise of privacy in it"
    up = Axis("probability of no event", 0.0, 1.02)
    made = Picture(title=heading, across=Axis("time", 0.0, end), up=up, lines=lines)
    return made.draw(where, heading, sound=model.statement_.private)
