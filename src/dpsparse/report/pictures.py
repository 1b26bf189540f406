"""Plots as SVG in the page: no library, no network, readable by a screen reader, printed as they are."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

#: Size of a plot, and of its margins.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 320, 62, 16, 14, 50
#: Colours that differ in brightness too, each at least 4.5 to 1 against white.
COLOURS = ("#1b5e9e", "#a3480b", "#3b6e22", "#6a3d9a", "#5a5a5a")


@dataclass(frozen=True)
class Axis:
    """One axis: its name, its ends, and whether it is logarithmic."""

    name: str
    low: float
    high: float
    log: bool = False

    def part(self, value: float) -> float:
        """Where a value lies, from 0 to 1; values beyond the ends are put on them."""
        if self.log:
            found = (math.log(max(value, self.low)) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            found = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, found))

    def ticks(self) -> list[float]:
        """Values that are labelled."""
        if not self.log:
            return [self.low + (self.high - self.low) * k / 5 for k in range(6)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [m * 10.0**d for d in decades for m in (1, 2, 5)]
        return [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


@dataclass(frozen=True)
class Line:
    """A curve, perhaps with a band around it."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    dashed: bool = False


def plot(title: str, across: Axis, up: Axis, lines: Sequence[Line], mark: float | None = None) -> str:
    """Curves as an SVG element. The title is read out, and every curve tells its name when it is pointed at.

    Parameters
    ----------
    title : str
        What the picture shows, in a sentence: its text alternative.
    across, up : Axis
    lines : sequence of Line
    mark : float or None
        A value on the axis across that is marked by an upright line.
    """
    parts = [
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" class="plot" aria-label="{html.escape(title)}">',
        f"<title>{html.escape(title)}</title>",
        *_frame(across, up),
    ]
    for number, line in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        if line.low is not None and line.high is not None:
            points = [*zip(line.x, line.high, strict=True), *reversed([*zip(line.x, line.low, strict=True)])]
            parts.append(f'<polygon points="{_points(points, across, up)}" fill="{colour}" opacity="0.18"/>')
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        path = _points(zip(line.x, line.y, strict=True), across, up)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}>'
            f"<title>{html.escape(line.name)}</title></polyline>"
        )
    if mark is not None:
        x = _x(across.part(mark))
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#222" stroke-dasharray="2 3"/>'
        )
    parts.append("</svg>")
    names = "".join(
        f'<li><span class="key" style="background:{COLOURS[k % len(COLOURS)]}"></span>{html.escape(line.name)}</li>'
        for k, line in enumerate(lines)
    )
    return (
        f'<figure>{"".join(parts)}<figcaption>{html.escape(title)}<ul class="keys">{names}</ul></figcaption></figure>'
    )


def _frame(across: Axis, up: Axis) -> list[str]:
    parts = []
    for value in across.ticks():
        x = _x(across.part(value))
        parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#e2e2e2"/>')
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:g}</text>')
    for value in up.ticks():
        y = _y(up.part(value))
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#e2e2e2"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:.3g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{html.escape(across.name)}</text>')
    height = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 16 {height})"'
    parts.append(f'<text x="16" y="{height}" text-anchor="middle" {turned}>{html.escape(up.name)}</text>')
    return parts


def _points(points, across: Axis, up: Axis) -> str:  # type: ignore[no-untyped-def]
    return " ".join(f"{_x(across.part(x))},{_y(up.part(y))}" for x, y in points)


def _x(part: float) -> float:
    return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)


def _y(part: float) -> float:
    return round(HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM), 1)
