"""A fitted model as a picture: coefficients with intervals, the effect of a column, survival curves."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from ..estimators.shape_functions import ShapeFunction, names_or_none
from .statement_plot import axes_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.intervals import Intervals
    from ..estimators.linear import SparseLinear
    from ..estimators.survival import SparseSurvival

#: Coefficients that are drawn, the largest first.
MOST = 30
CAVEAT = "#b00020"


def plot_coefficients(model: SparseLinear, where: str | PathLike[str] | Axes | None) -> Axes:
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
        _set_title(axes, title, model)
        return axes


def plot_shape(shape: ShapeFunction, where: str | PathLike[str] | Axes | None) -> Axes:
    """Draw the effect of one column, with its band where there is one.

    Parameters
    ----------
    shape : ShapeFunction
    where : path, matplotlib Axes or None
        None: the current axes of pyplot.
    """
    with axes_at(where) as axes:
        axes.axhline(0.0, color="grey", linewidth=0.8)
        axes.axvline(shape.reference, color="grey", linewidth=0.8, linestyle=":")
        if shape.low is not None and shape.high is not None:
            axes.fill_between(shape.grid, shape.low, shape.high, alpha=0.25, label=f"band of {shape.level:.0%}")
        for value in np.atleast_2d(shape.value):
            axes.plot(shape.grid, value)
        axes.set_xlabel(f"{shape.column}{f' ({shape.unit})' if shape.unit else ''}")
        axes.set_ylabel(f"effect against {shape.reference:g}")
        kind = "line" if shape.kind == "line" else f"{shape.kind}, {shape.terms} terms"
        axes.set_title(f"{shape.column}: {kind}", fontsize=10)
        return axes


#: Points of a curve in each interval of the life table.
POINTS = 8


def plot_survival(model: SparseSurvival, X: object, where: str | PathLike[str] | Axes | None) -> Axes:
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
    times = np.linspace(0.0, float(model.baseline_.times[-1]), POINTS * model.baseline_.hazard.size + 1)
    curves = model.predict_survival(X, times)
    with axes_at(where) as axes:
        for number, curve in enumerate(curves, start=1):
            axes.plot(times, curve, label=f"row {number}")
        axes.set_xlabel("time")
        axes.set_ylabel("probability of no event")
        axes.set_ylim(0.0, 1.02)
        if len(curves) > 1:
            axes.legend(frameon=False)
        _set_title(axes, "survival, with the noise of privacy in it", model)
        return axes


def _set_title(axes: Axes, title: str, model: SparseLinear) -> None:
    if model.statement_.private:
        axes.set_title(title, fontsize=10)
    else:
        axes.set_title(f"NO GUARANTEE. {title}", color=CAVEAT, fontsize=10)
