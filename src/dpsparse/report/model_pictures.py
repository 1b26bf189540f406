"""A fitted model as a picture: coefficients with intervals, the effect of a column, survival curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..estimators.shape_functions import ShapeFunction, names_or_none
from .pictures import Axis, Canvas, Line, Picture, axes_at, set_heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.intervals import Intervals
    from ..estimators.linear import SparseLinear
    from ..estimators.survival import SparseSurvival

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
