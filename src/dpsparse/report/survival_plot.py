"""Survival curves as a picture."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from .axes import axes_at
from .coefficient_plot import CAVEAT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.survival import SparseSurvival

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
        title = "survival, with the noise of privacy in it"
        axes.set_title(title, fontsize=10)
        if not model.statement_.private:
            axes.set_title(f"NO GUARANTEE. {title}", color=CAVEAT, fontsize=10)
        return axes
