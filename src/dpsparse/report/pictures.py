"""Pictures, each described once: as SVG in a page, or on axes of matplotlib (extra `plots`).

The SVG needs no library and no network, is read by screen readers, and is printed as it is.
"""

from __future__ import annotations

import hashlib
import html
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where matplotlib draws: a file, axes, or the current ones of pyplot.
Canvas: TypeAlias = "str | PathLike[str] | Axes | None"

#: Size of a plot, and of its margins.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 320, 62, 16, 14, 50
#: Colours that differ in brightness too, each at least 4.5 to 1 against white.
COLOURS = ("#1b5e9e", "#a3480b", "#3b6e22", "#6a3d9a", "#8a1f5c")
#: Of dashed lines, which are there to compare with.
GREY = "#4a4a4a"
#: Of headings over what carries no guarantee.
CAVEAT = "#b00020"


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
        """Values that are labelled.

        >>> Axis("error", 0.0, 1.37).ticks()
        [0.0, 0.5, 1.0]
        """
        if not self.log:
            rough = (self.high - self.low) / 5
            power = 10.0 ** math.floor(math.log10(rough))
            step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * (1 - 1e-9))
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [k * step for k in range(first, last + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [m * 10.0**d for d in decades for m in (1, 2, 5)]
        return [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


@dataclass(frozen=True)
class Line:
    """A curve, perhaps with a band around it.

    Attributes
    ----------
    label : str
    x, y : sequence of float
    error : sequence of float
        One standard error of each value, where it is known.
    level : bool
        Drawn across at the first value of y, since it does not depend on what is on the horizontal axis.
    low, high : sequence of float or None
        Ends of the band; None: two standard errors, or no band.
    band : str
        What the band is called.
    dashed : bool
        There to compare with.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] = ()
    level: bool = False
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    band: str = ""
    dashed: bool = False

    @property
    def grey(self) -> bool:
        """Whether it is there to compare with."""
        return self.dashed or self.level

    @property
    def edges(self) -> tuple[Sequence[float], Sequence[float]] | None:
        """The lower and the upper end of the band."""
        if self.low is not None and self.high is not None:
            return self.low, self.high
        if not self.error:
            return None
        pairs = list(zip(self.y, self.error, strict=True))
        return [v - 2 * e for v, e in pairs], [v + 2 * e for v, e in pairs]

    def points(self, across: Axis) -> list[tuple[float, float]]:
        """Its points; of a level line the ends of the axis."""
        return (
            [(v, self.y[0]) for v in (across.low, across.high)] if self.level else [*zip(self.x, self.y, strict=True)]
        )


@dataclass(frozen=True)
class Point:
    """A place on a curve: what its button is called, and what is read off there."""

    name: str
    x: float
    y: float
    said: str


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Curves in one frame: described once, and drawn as SVG in a page (`svg`) or by matplotlib (`draw`).

    Parameters
    ----------
    title : str
        What the picture shows, in a sentence: its text alternative.
    across, up : Axis
    lines : sequence of Line
    mark : float or None
        A value on the axis across that is marked by an upright line.
    mark_name : str
        What is marked.
    points : sequence of Point
        Places on a curve that can be chosen, each with a sentence.
    choose : str
        What buttons choose, one of the points, or of the lines with a band if there are no points; empty: no buttons.
    chosen : int
        Which one is chosen first.
    """

    title: str
    across: Axis
    up: Axis
    lines: Sequence[Line]
    mark: float | None = None
    mark_name: str = ""
    points: Sequence[Point] = ()
    choose: str = ""
    chosen: int = 0

    def svg(self) -> str:
        """An SVG element. The title is read out, and every curve shows its name when it is pointed at.

        What is chosen is brought out by radio buttons: no script is needed, arrow keys move between them, and it is
        printed.
        """
        across, up, title = self.across, self.up, html.escape(self.title)
        drawn = [
            f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" class="plot" aria-label="{title}">',
            f"<title>{title}</title>",
            *_frame(across, up),
        ]
        options = [line.label for line in self.lines if line.edges] if self.choose and not self.points else []
        for number, line in enumerate(self.lines):
            one = _line(line, _colour(number, line), across, up)
            drawn.append(f'<g class="option o{number}">{one}</g>' if line.label in options else one)
        if self.mark is not None:
            x = _x(across.part(self.mark))
            drawn.append(
                f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
                'stroke="#222" stroke-width="1.5" stroke-dasharray="2 3">'
                f"<title>{html.escape(self.mark_name)}</title></line>"
            )
        drawn += [f'<g class="option o{k}">{_point(point, across, up)}</g>' for k, point in enumerate(self.points)]
        drawn.append("</svg>")
        keys = [_key(line.label, _colour(k, line), line.grey) for k, line in enumerate(self.lines)]
        keys += [] if self.mark is None or not self.mark_name else [_key(self.mark_name, "#222", True)]
        caption = f'<figcaption>{title}<ul class="keys">{"".join(keys)}</ul></figcaption>'
        names = options or [point.name for point in self.points]
        buttons = _buttons(self.title, self.choose, names, self.chosen) if self.choose else ""
        told = "".join(f'<p class="option o{k}">{html.escape(p.said)}</p>' for k, p in enumerate(self.points))
        return f"<figure{' class=choice' if self.choose else ''}>{buttons}{told}{''.join(drawn)}{caption}</figure>"

    def draw(self, where: Canvas, heading: str, *, sound: bool = True) -> Axes:
        """Draw on axes of matplotlib, under a heading that is red where there is no guarantee (`sound` is false).

        Parameters
        ----------
        where : path, matplotlib Axes or None
            A file (its ending says which format), or axes to draw on; None: the current ones of pyplot.
        heading : str
        sound : bool
        """
        across, up = self.across, self.up
        with axes_at(where) as axes:
            for line in self.lines:
                if line.edges:
                    axes.fill_between(line.x, *line.edges, alpha=0.25, label=line.band or None)
                x, y = zip(*line.points(across), strict=True)
                colour, style = ("grey", "--") if line.grey else (None, "-")
                axes.plot(x, y, label=line.label, color=colour, linestyle=style)
            if self.mark is not None:
                axes.axvline(self.mark, color="black", linewidth=0.8, linestyle=":", label=self.mark_name)
            axes.set(xlim=(across.low, across.high), ylim=(up.low, up.high), xlabel=across.name, ylabel=up.name)
            if across.log:
                axes.set_xscale("log")
                axes.set_xticks(across.ticks(), labels=[f"{value:g}" for value in across.ticks()])
                axes.minorticks_off()
            axes.grid(alpha=0.3)
            axes.legend(frameon=False)
            set_heading(axes, heading, sound=sound)
            return axes


@contextmanager
def axes_at(where: Canvas) -> Iterator[Axes]:
    """Axes to draw on; a file is written at the end, and its ending says in which format."""
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib, which is not installed. Run: pip install 'dpsparse[plots]'") from None
    if where is None:
        from matplotlib import pyplot

        yield pyplot.gca()
    elif isinstance(where, Axes):
        yield where
    elif isinstance(where, str | Path):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        yield figure.subplots()
        figure.savefig(where)
    else:
        raise TypeError(f"plot needs a file name or matplotlib axes, got {type(where).__name__}.")


def set_heading(axes: Axes, heading: str, *, sound: bool) -> None:
    """Write a heading over axes; in red, with a word on it, where nothing is guaranteed."""
    if sound:
        axes.set_title(heading, fontsize=10)
    else:
        axes.set_title(f"NO GUARANTEE. {heading}", color=CAVEAT, fontsize=10)


def share(title: str, values: Sequence[tuple[str, float, str]], low: float = 0.0, low_name: str = "") -> str:
    """Parts of a whole as level bars from `low` to 1: each with its name, its value, and its value in words.

    Parameters
    ----------
    title : str
        The text alternative.
    values : sequence of (name, part, words)
    low : float
        Where the bars begin.
    low_name : str
        What it means to be there.
    """
    left, right, step = 150, 74, 26
    wide, high = WIDTH - left - right, TOP + step * len(values) + 34
    axis = Axis("", low, 1.0)
    drawn = [
        f'<svg role="img" viewBox="0 0 {WIDTH} {high}" class="plot" aria-label="{html.escape(title)}">',
        f"<title>{html.escape(title)}</title>",
    ]
    for value in (low, (1 + low) / 2, 1.0):
        x = round(left + wide * axis.part(value), 1)
        name = f"{100 * value:.3g} %" + (f" ({low_name})" if value == low and low_name else "")
        drawn.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{high - 28}" stroke="#c8c8c8"/>')
        drawn.append(f'<text x="{x}" y="{high - 10}" text-anchor="middle">{html.escape(name)}</text>')
    for number, (name, part, words) in enumerate(values):
        y = TOP + step * number + 5
        long = round(wide * axis.part(part), 1)
        colour = COLOURS[number % 2]
        drawn.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{html.escape(name)}</text>')
        drawn.append(f'<rect x="{left}" y="{y}" width="{wide}" height="15" fill="#eeeeee"/>')
        drawn.append(f'<rect x="{left}" y="{y}" width="{max(long, 1.5)}" height="15" fill="{colour}"/>')
        drawn.append(f'<text x="{left + wide + 8}" y="{y + 12}">{html.escape(words)}</text>')
    return f"<figure>{''.join(drawn)}</svg><figcaption>{html.escape(title)}</figcaption></figure>"


def _colour(number: int, line: Line) -> str:
    return GREY if line.grey else COLOURS[number % len(COLOURS)]


def _line(line: Line, colour: str, across: Axis, up: Axis) -> str:
    band = ""
    if line.edges:
        low, high = line.edges
        points = [*zip(line.x, high, strict=True), *reversed([*zip(line.x, low, strict=True)])]
        band = f'<polygon points="{_points(points, across, up)}" fill="{colour}" opacity="0.18"/>'
    dash = ' stroke-dasharray="6 4"' if line.grey else ""
    path = _points(line.points(across), across, up)
    return (
        f'{band}<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"{dash}>'
        f"<title>{html.escape(line.label)}</title></polyline>"
    )


def _point(point: Point, across: Axis, up: Axis) -> str:
    x, y = _x(across.part(point.x)), _y(up.part(point.y))
    guide = f'<path d="M{LEFT} {y}H{x}V{HEIGHT - BOTTOM}" fill="none" stroke="#222" stroke-dasharray="2 3"/>'
    return (
        f'{guide}<circle cx="{x}" cy="{y}" r="5" fill="{COLOURS[1]}"><title>{html.escape(point.said)}</title></circle>'
    )


def _key(name: str, colour: str, dashed: bool) -> str:
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    mark = (
        '<svg viewBox="0 0 24 8" class="key" aria-hidden="true">'
        f'<line x1="0" x2="24" y1="4" y2="4" stroke="{colour}" stroke-width="3"{dash}/></svg>'
    )
    return f"<li>{mark}{html.escape(name)}</li>"


def _buttons(title: str, choose: str, names: Sequence[str], chosen: int) -> str:
    group = "c" + hashlib.sha256(title.encode()).hexdigest()[:8]
    made = "".join(
        f'<label><input type="radio" name="{group}" class="b{k}"'
        f"{' checked' if k == chosen else ''}>{html.escape(name)}</label>"
        for k, name in enumerate(names)
    )
    return f'<fieldset class="buttons"><legend>{html.escape(choose)}</legend>{made}</fieldset>'


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


def _points(points: Iterable[tuple[float, float]], across: Axis, up: Axis) -> str:
    return " ".join(f"{_x(across.part(x))},{_y(up.part(y))}" for x, y in points)


def _x(part: float) -> float:
    return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)


def _y(part: float) -> float:
    return round(HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM), 1)
