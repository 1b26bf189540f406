"""The museum as a table and as a plot."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .exhibit import AT_LEAST, DEFECTS, EXACT, Epsilon, Exhibit

COLUMNS = ("mechanism", "claim", "setting", "delta", "claimed", "true", "seen", "ours", "verdict", "review")


def cells(exhibit: Exhibit) -> tuple[str, ...]:
    """One line of the table."""
    return (
        exhibit.name,
        exhibit.theorem,
        exhibit.setting,
        f"{exhibit.claimed.delta:g}",
        f"{exhibit.claimed.epsilon:.3g}",
        str(exhibit.true),
        "" if exhibit.seen is None else str(exhibit.seen),
        str(exhibit.ours),
        exhibit.defect if exhibit.broken else "not exceeded",
        ("agrees" if exhibit.agrees else "DIFFERS") if exhibit.figures else "",
    )


def table(exhibits: Sequence[Exhibit]) -> str:
    """Plain text."""
    lines = [COLUMNS, *(cells(e) for e in exhibits)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def markdown(exhibits: Sequence[Exhibit]) -> str:
    """The table of docs/papers.md."""
    head = ("mechanism", "claim", "setting", "claimed", "true", "seen in runs", "ours", "class")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for e in exhibits:
        name, claim, setting, delta, claimed, true, seen, ours, defect, _ = cells(e)
        lines.append(f"| {name} | {claim} | {setting} | ({claimed}, {delta}) | {true} | {seen} | {ours} | {defect} |")
    return "\n".join(lines)


def counted(exhibits: Sequence[Exhibit]) -> str:
    """How many settings cost more than is claimed, by class of the defect."""
    found = Counter(e.defect for e in exhibits if e.broken)
    classes = ", ".join(f"{name} {found[name]}" for name in DEFECTS if found[name])
    return (
        f"{len(exhibits)} settings; the printed noise costs more than is claimed in {sum(found.values())}: {classes}."
    )


def plot(exhibits: Sequence[Exhibit], path: Path) -> None:
    """Claimed against true. Crosses are what was published, circles are ours; arrows point where a bound leaves room."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("a plot needs matplotlib. Install it with: pip install 'dpsparse[plots]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    top = 2e4
    with pyplot.rc_context({"svg.hashsalt": "museum", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = pyplot.subplots(figsize=(7.2, 5.2), layout="constrained")
        axes.plot([0.03, top], [0.03, top], color="0.6", linewidth=1)
        axes.annotate("true = claimed", (0.2, 0.2), rotation=24, fontsize=8, color="0.4", ha="center", va="bottom")
        for index, name in enumerate(dict.fromkeys(e.paper for e in exhibits)):
            color = f"C{index}"
            for e in (e for e in exhibits if e.paper == name):
                _mark(axes, e.claimed.epsilon, e.true, "x", color, top)
                _mark(axes, e.claimed.epsilon, e.ours, "o", color, top)
            axes.plot([], [], "x", color=color, label=name)
        axes.plot([], [], "o", color="0.3", markerfacecolor="none", label="ours at the same budget")
        axes.set(
            xscale="log",
            yscale="log",
            xlim=(0.05, 30),
            ylim=(0.03, top),
            xlabel="claimed epsilon",
            ylabel="true epsilon",
        )
        axes.legend(fontsize=7, loc="upper left")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)


def _mark(axes: Any, claimed: float, epsilon: Epsilon, marker: str, color: str, top: float) -> None:
    value = min(epsilon.value, 0.9 * top)
    style = {"markerfacecolor": "none"} if marker == "o" else {}
    axes.plot([claimed], [max(value, 0.032)], marker, color=color, markersize=6, **style)
    if math.isinf(epsilon.value):
        axes.annotate("infinite", (claimed, value), xytext=(6, -3), textcoords="offset points", fontsize=7)
    if epsilon.kind != EXACT and marker == "x":
        away = value * (1.7 if epsilon.kind == AT_LEAST else 1 / 1.7)
        axes.annotate("", (claimed, away), (claimed, value), arrowprops={"arrowstyle": "->", "color": color})
