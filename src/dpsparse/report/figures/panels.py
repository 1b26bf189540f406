"""Panels with lines, and files that do not change from run to run."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width and height of a panel in inches.
SIZE = (3.9, 3.1)
#: At most this number of panels stand beside each other.
ACROSS = 4
#: Colours that readers with any colour vision tell apart (Okabe and Ito), and line styles for further lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Line:
    """One line: values at places, and how far each could be off (one standard error), where that is known."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] = ()
    level: bool = False


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
    plt = pyplot()
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    drawn: Figure
    drawn, frames = plt.subplots(
        down, across, figsize=(SIZE[0] * across, SIZE[1] * down + 0.6), squeeze=False, layout="constrained"
    )
    labels = list(dict.fromkeys(line.label for panel in panels for line in panel.lines))
    look: dict[str, dict[str, Any]] = {
        label: {"color": COLOURS[k % len(COLOURS)], "linestyle": STYLES[k // len(COLOURS) % len(STYLES)]}
        for k, label in enumerate(labels)
    }
    flat = [frame for row in frames for frame in row]
    for frame, panel in zip(flat, panels, strict=False):
        _draw(frame, panel, look)
    for frame in flat[len(panels) :]:
        frame.set_visible(False)
    handles = {
        label: handle for frame in flat for handle, label in zip(*frame.get_legend_handles_labels(), strict=True)
    }
    columns = min(3, 1 + across, len(handles))  # as many as fit below the panels
    drawn.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=7)
    return drawn


def _draw(frame: Axes, panel: Panel, look: dict[str, dict[str, Any]]) -> None:
    for line in panel.lines:
        if line.level:
            frame.axhline(line.y[0], label=line.label, linewidth=1.2, **look[line.label])
        else:
            frame.errorbar(
                line.x,
                line.y,
                yerr=line.error or None,
                label=line.label,
                marker=".",
                markersize=4,
                linewidth=1.1,
                capsize=2,
                **look[line.label],
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
    pyplot().close(drawn)
    text = "\n".join(line.rstrip() for line in held.getvalue().splitlines()) + "\n"
    Path(path).write_text(text, encoding="utf-8")


def pyplot() -> Any:  # a module, which has no type of its own
    """The drawing library, without a window."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise DataError("figures need matplotlib: pip install 'dpsparse[plots]'.") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    return plt
