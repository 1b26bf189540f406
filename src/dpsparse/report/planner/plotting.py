"""Expected error against epsilon, as a picture."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from ..axes import axes_at
from .forecast import Forecast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of the curve.
POINTS = 33


def plot_error(outlook: Forecast, where: str | PathLike[str] | Axes | None, epsilon: float | None = None) -> Axes:
    """Draw the band of the test error against epsilon.

    Parameters
    ----------
    outlook : Forecast
    where : path, matplotlib Axes or None
        A file (its ending says which format), or axes to draw on; None: the current ones of pyplot.
    epsilon : float or None
        Marked, if given.

    Returns
    -------
    Axes
    """
    if not outlook.known:
        raise ValueError(
            "there is no expected error to plot for this recipe and loss. Use auto, select_polish or dual_averaging."
        )
    epsilons = np.geomspace(0.1, 16.0, POINTS)
    errors = [outlook.error(epsilon=float(e)) for e in epsilons]
    bands = [e.test for e in errors if e is not None]
    constant = next(e.constant for e in errors if e is not None)
    with axes_at(where) as axes:
        axes.fill_between(epsilons, [b.low for b in bands], [b.high for b in bands], alpha=0.25, label="90 % band")
        axes.plot(epsilons, [b.typical for b in bands], label="typical")
        axes.axhline(constant, color="grey", linestyle="--", label="constant predictor")
        if epsilon is not None:
            axes.axvline(epsilon, color="black", linewidth=0.8, linestyle=":", label=f"epsilon = {epsilon:g}")
        axes.set_xscale("log")
        axes.set_xticks([0.1, 0.25, 0.5, 1, 2, 4, 8, 16], labels=["0.1", "0.25", "0.5", "1", "2", "4", "8", "16"])
        axes.minorticks_off()
        axes.set_ylim(0, 1.25 * constant)
        axes.set_xlabel("epsilon")
        axes.set_ylabel("error rate" if outlook.facts.target.classes else "mean squared error / variance")
        axes.set_title(f"{outlook.facts.n_rows} rows, {outlook.facts.n_features} features")
        axes.legend(frameon=False)
        return axes
