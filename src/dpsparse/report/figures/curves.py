"""The figures that papers show, from results of studies and from released coefficients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core import DataError
from ...core.facts import Vector
from ..bench.results import Results, mean_and_error
from ..bench.study import GRID, ON_CURVE
from .panels import Line, Panel, figure, pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def errors_by_epsilon(
    results: Results, metric: str, *, methods: Sequence[str] | None = None, log_y: bool = True
) -> Figure:
    """Privacy against error: one panel for each dataset, one line for each method, bars of one standard error.

    Methods without noise are level lines. Grids are shown at their best point.
    """
    return figure(error_panels(results, metric, methods, log_y))


def error_panels(
    results: Results,
    metric: str,
    methods: Sequence[str] | None = None,
    log_y: bool = True,
    by: str | None = None,
) -> list[Panel]:
    """The panels of `errors_by_epsilon`.

    Grids at the point that is best by the metric `by`, None: by the one that is shown.
    """
    found = []
    for data in dict.fromkeys(cell.data for cell in sorted(results.errors)):
        here = {cell.method for cell in results.errors if cell.data == data}
        lines = []
        for method in [name for name in (methods or sorted(here)) if name in here]:
            epsilons = sorted({c.epsilon for c in results.errors if (c.data, c.method) == (data, method)})
            at = {e: results.best_at(data, method, e, by or metric) if method.endswith(GRID) else 0.0 for e in epsilons}
            values = {e: mean_and_error(results.values(data, method, e, metric, at[e]).values()) for e in epsilons}
            values = {e: pair for e, pair in values.items() if math.isfinite(pair[0])}
            if math.inf in values:
                lines.append(Line(method, (), (values[math.inf][0],), level=True))
            elif values:
                errors = tuple(pair[1] if math.isfinite(pair[1]) else 0.0 for pair in values.values())
                lines.append(Line(method, tuple(values), tuple(pair[0] for pair in values.values()), errors))
        if lines:
            found.append(Panel(data, "epsilon", metric, tuple(lines), log_y=log_y))
    return found


def support_recovery(results: Results, *, methods: Sequence[str] | None = None, by: str = "relative error") -> Figure:
    """Precision and recall of the chosen coordinates against epsilon.

    Grids at the point that is best by the error `by`.
    """
    shown = ("precision", "recall")
    return figure([panel for metric in shown for panel in error_panels(results, metric, methods, log_y=False, by=by)])


def objective_curves(
    results: Results, what: str, *, methods: Sequence[str] | None = None, x: str = "passes", log_y: bool = True
) -> Figure:
    """A metric along the path, at the places that its runs were asked for: ``objective by passes @ 1``, and so on.

    One panel for each dataset and epsilon; a grid at the point that is best at the end.
    """
    start = f"{what} by {x}{ON_CURVE}"
    names = sorted(
        {name for errors in results.errors.values() for name in errors if name.startswith(start)}, key=_place
    )
    panels = []
    for data, epsilon in sorted({(cell.data, cell.epsilon) for cell in results.errors if cell.epsilon < math.inf}):
        here = {cell.method for cell in results.errors if cell.data == data}
        lines = []
        for method in [name for name in (methods or sorted(here)) if name in here]:
            at = results.best_at(data, method, epsilon, what) if method.endswith(GRID) else 0.0
            values = {_place(n): mean_and_error(results.values(data, method, epsilon, n, at).values()) for n in names}
            values = {place: pair for place, pair in values.items() if math.isfinite(pair[0])}
            if values:
                errors = tuple(pair[1] if math.isfinite(pair[1]) else 0.0 for pair in values.values())
                lines.append(Line(method, tuple(values), tuple(pair[0] for pair in values.values()), errors))
        if lines:
            panels.append(Panel(f"{data}, epsilon {epsilon:g}", x, what, tuple(lines), log_x=True, log_y=log_y))
    return figure(panels)


def _place(name: str) -> float:
    return float(name.rsplit(ON_CURVE, 1)[1])


def coefficient_paths(epsilons: Sequence[float], coefficients: Sequence[Vector], names: Sequence[str] = ()) -> Figure:
    """Released coefficients of one model for each epsilon, one line for each feature that is not zero throughout.

    Every model was paid for: a figure of k models has cost the sum of k budgets.
    """
    found = np.asarray(coefficients, dtype=float)
    if found.ndim != 2 or found.shape[0] != len(epsilons):
        raise DataError("give one row of coefficients for each epsilon.")
    if names and len(names) != found.shape[1]:
        raise DataError(f"there are {found.shape[1]} coefficients and {len(names)} names.")
    order = np.argsort(epsilons, kind="stable")
    places = tuple(float(epsilons[k]) for k in order)
    used = np.flatnonzero(np.any(found != 0, axis=0))
    lines = tuple(Line(names[j] if names else f"{j}", places, tuple(found[order, j].tolist())) for j in used.tolist())
    return figure([Panel("coefficients", "epsilon", "coefficient", lines, log_x=True)])


def histograms(values: Mapping[str, Vector], alphas: Mapping[str, float]) -> Figure:
    """Absolute values of coefficients with logarithmic counts.

    A line is drawn at alpha where the vector is (alpha, k)-quasi-sparse.
    """
    plt = pyplot()
    across = min(4, len(values))
    down = -(-len(values) // across)
    drawn: Figure
    drawn, frames = plt.subplots(down, across, figsize=(2.9 * across, 2.5 * down), squeeze=False, layout="constrained")
    flat = [frame for row in frames for frame in row]
    for frame, (name, found) in zip(flat, values.items(), strict=False):
        frame.hist(np.abs(found), bins=30, color="#0072B2")
        frame.axvline(alphas[name], color="#CC79A7", label=f"alpha = {alphas[name]:.3g}")
        frame.set_yscale("log")
        frame.set_title(name, fontsize=9)
        frame.set_xlabel("|w|", fontsize=8)
        frame.tick_params(labelsize=7)
        frame.legend(fontsize=7)
    for frame in flat[len(values) :]:
        frame.set_visible(False)
    return drawn
