"""Figures: privacy against error, coefficients against epsilon, supports, objectives by pass, histograms.

Needs the extra `plots`. Each figure is made of `Panel`s of `Line`s; `save` writes files that do not change from run
to run. What is drawn is what is given: results of a study on public data, or coefficients that were released. Nothing
here reads rows.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core import DataError
from ..core.facts import Vector
from .bench.results import Results, mean_and_error
from .bench.study import GRID, ON_CURVE
from .pictures import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Line",
    "Panel",
    "coefficient_paths",
    "errors_by_epsilon",
    "figure",
    "histograms",
    "objective_curves",
    "save",
    "support_recovery",
]

#: Width and height of a panel in inches.
SIZE = (3.9, 3.1)
#: At most this number of panels stand beside each other.
ACROSS = 4
#: Colours that readers with any colour vision tell apart (Okabe and Ito), and line styles for further lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Panel:
    """Lines in one frame.

    A line with `level` is drawn across, since it does not depend on what is on the horizontal axis.
    """

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False


def figure(panels: Sequence[Panel]) -> Figure:
    """Draw panels side by side, with one legend for all: a line has the same colour in each."""
    if not panels:
        raise DataError("there is nothing to draw: no run has the metric that was asked for.")
    drawn, flat = _frames(len(panels), SIZE, 0.6)
    labels = list(dict.fromkeys(line.label for panel in panels for line in panel.lines))
    look = {
        label: (COLOURS[k % len(COLOURS)], STYLES[k // len(COLOURS) % len(STYLES)]) for k, label in enumerate(labels)
    }
    for frame, panel in zip(flat, panels, strict=False):
        _draw(frame, panel, look)
    handles = {
        label: handle for frame in flat for handle, label in zip(*frame.get_legend_handles_labels(), strict=True)
    }
    columns = min(3, 1 + min(ACROSS, len(panels)), len(handles))  # as many as fit below the panels
    drawn.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=7)
    return drawn


def _draw(frame: Axes, panel: Panel, look: Mapping[str, tuple[str, str]]) -> None:
    for line in panel.lines:
        colour, style = look[line.label]
        if line.level:
            frame.axhline(line.y[0], label=line.label, linewidth=1.2, color=colour, linestyle=style)
        else:
            frame.errorbar(
                line.x,
                line.y,
                line.error or None,
                label=line.label,
                marker=".",
                markersize=4,
                linewidth=1.1,
                capsize=2,
                color=colour,
                linestyle=style,
            )
    if panel.log_x:
        frame.set_xscale("log")
    if panel.log_y:
        frame.set_yscale("log")
    frame.set_title(panel.title, fontsize=9)
    frame.set_xlabel(panel.x, fontsize=8)
    frame.set_ylabel(panel.y, fontsize=8)
    frame.tick_params(labelsize=7)
    frame.grid(alpha=0.3)


def save(drawn: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG; the same figure gives the same bytes."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "dpsparse", "svg.fonttype": "none"}):
        held = io.StringIO()
        drawn.savefig(held, format="svg", metadata={"Date": None})
    text = "\n".join(line.rstrip() for line in held.getvalue().splitlines()) + "\n"
    Path(path).write_text(text, encoding="utf-8")


def _frames(count: int, size: tuple[float, float], below: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure of `count` frames, at most `ACROSS` beside each other, and their axes; further ones are hidden."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DataError("figures need matplotlib: pip install 'dpsparse[plots]'.") from None
    across = min(ACROSS, count)
    down = -(-count // across)
    drawn = Figure(figsize=(size[0] * across, size[1] * down + below), layout="constrained")
    flat = drawn.subplots(down, across, squeeze=False).ravel().tolist()
    for frame in flat[count:]:
        frame.set_visible(False)
    return drawn, flat


def errors_by_epsilon(
    results: Results, metric: str, *, methods: Sequence[str] | None = None, log_y: bool = True
) -> Figure:
    """Privacy against error: one panel for each dataset, one line for each method, bars of one standard error.

    Methods without noise are level lines. Grids are shown at their best point.
    """
    return figure(error_panels(results, metric, methods, log_y))


def error_panels(
    results: Results, metric: str, methods: Sequence[str] | None = None, log_y: bool = True, by: str | None = None
) -> list[Panel]:
    """The panels of `errors_by_epsilon`.

    Grids at the point that is best by the metric `by`, None: by the one that is shown.
    """
    found = []
    for data in dict.fromkeys(cell.data for cell in sorted(results.errors)):
        lines = []
        for method in _methods(results, data, methods):
            epsilons = sorted({c.epsilon for c in results.errors if (c.data, c.method) == (data, method)})
            at = {e: results.best_at(data, method, e, by or metric) if method.endswith(GRID) else 0.0 for e in epsilons}
            lines += _means(method, {e: results.values(data, method, e, metric, at[e]) for e in epsilons})
        if lines:
            found.append(Panel(data, "epsilon", metric, tuple(lines), log_y=log_y))
    return found


def _methods(results: Results, data: str, methods: Sequence[str] | None) -> list[str]:
    """Those of the methods, in their order, that were run on some data; all of them where none are named."""
    here = {cell.method for cell in results.errors if cell.data == data}
    return [name for name in (methods or sorted(here)) if name in here]


def _means(label: str, runs: Mapping[float, Mapping[int, float]]) -> list[Line]:
    """Means by place with their standard errors: one line, level where the place is infinite; none without numbers."""
    means = {place: mean_and_error(values.values()) for place, values in runs.items()}
    known = {place: pair for place, pair in means.items() if math.isfinite(pair[0])}
    if math.inf in known:
        return [Line(label, (), (known[math.inf][0],), level=True)]
    errors = tuple(error if math.isfinite(error) else 0.0 for _, error in known.values())
    return [Line(label, tuple(known), tuple(mean for mean, _ in known.values()), errors)] if known else []


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
        lines = []
        for method in _methods(results, data, methods):
            at = results.best_at(data, method, epsilon, what) if method.endswith(GRID) else 0.0
            lines += _means(method, {_place(name): results.values(data, method, epsilon, name, at) for name in names})
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
    drawn, flat = _frames(len(values), (2.9, 2.5))
    for frame, (name, found) in zip(flat, values.items(), strict=False):
        frame.hist(np.abs(found), bins=30, color="#0072B2")
        frame.axvline(alphas[name], color="#CC79A7", label=f"alpha = {alphas[name]:.3g}")
        frame.set_yscale("log")
        frame.set_title(name, fontsize=9)
        frame.set_xlabel("|w|", fontsize=8)
        frame.tick_params(labelsize=7)
        frame.legend(fontsize=7)
    return drawn
