"""Results as a page of the documentation and a plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

HEAD = """# Speed

Measured by `make bench-speed` (`benchmarks/speed`). Within a part, the compared methods take turns; the least processor time of each is shown, for one thread. The ratios of a line were measured side by side; seconds of
different machines are not comparable. Other libraries run in separate environments, on one copy of float32 rows, and on whole batches. Opacus protects adding or
removing a row, dpsparse replacing one, which is the stronger guarantee at the same epsilon.
"""


def page(result: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    machine = result["machine"]
    lines = [
        HEAD,
        f"Machine: {machine['processor']}, {machine['cores']} cores, load {machine['load']:.1f}; one thread reads {machine['read']:.1f} GB/s.",
        "",
    ]
    lines += [
        "| part | measured on | repeats | smaller sizes (`--quick`) | load of the machine |",
        "|---|---|---|---|---|",
    ]
    for name, run in result.get("runs", {}).items():
        when, quick = run.get("date", "an earlier day"), "yes" if run["quick"] else "no"
        lines.append(f"| {name} | {when} | {run['repeats']} | {quick} | {run['load']} |")
    lines.append("")
    if machine["load"] > machine["cores"]:
        lines += [
            "The machine was busy: ratios are of processor time and blurred by shared caches. Run it on a quiet one before quoting a figure.",
            "",
        ]
    lines += ["| goal | what | measured | to reach | |", "|---|---|---|---|---|"]
    for line in sorted(result["lines"], key=lambda x: x["goal"]):
        verdict = {True: "reached", False: "missed", None: ""}[line["reached"]]
        notes = "; ".join(text for text in (verdict, line["note"]) if text)
        lines.append(
            f"| {line['goal']} | {line['what']} | {_figure(line['value'])} {line['unit']} | {_goal(line)} | {notes} |"
        )
    if result.get("curves"):
        lines += [
            "",
            "```{image} speed_growth.svg",
            ":alt: Time of a fit over rows, nonzeros and steps, on logarithmic axes",
            "```",
        ]
    return "\n".join(lines) + "\n"


def _figure(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _goal(line: Mapping[str, Any]) -> str:
    ends = [f"at {word} {_figure(line[word])}" for word in ("least", "most") if line[word] is not None]
    return ", ".join(ends)


def plot(curves: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Time over size for each curve, both as multiples of the first point, on logarithmic axes; the dashed line is linear growth."""
    width, height, edge = 520, 340, 50
    reach = max(math.log2(v["size"][-1] / v["size"][0]) for v in curves.values())
    tallest = max(math.log2(max(v["seconds"]) / v["seconds"][0]) for v in curves.values())
    top = max(reach, tallest)

    def place(x: float, y: float) -> str:
        return f"{edge + x / reach * (width - 2 * edge):.1f},{height - edge - y / top * (height - 2 * edge):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<polyline points="{place(0, 0)} {place(reach, reach)}" fill="none" stroke="#999" stroke-dasharray="4 4"/>',
    ]
    for i in range(math.floor(reach) + 1):
        parts.append(
            f'<text x="{place(i, 0).split(",")[0]}" y="{height - edge + 18}" text-anchor="middle">{2**i}x</text>'
        )
        parts.append(f'<text x="{edge - 8}" y="{place(0, i).split(",")[1]}" text-anchor="end">{2**i}x</text>')
    for colour, (number, (name, curve)) in zip(
        ("#1b6ca8", "#c7522a", "#4a7c59"), enumerate(curves.items()), strict=False
    ):
        points = [
            place(math.log2(s / curve["size"][0]), max(0.0, math.log2(t / curve["seconds"][0])))
            for s, t in zip(curve["size"], curve["seconds"], strict=True)
        ]
        parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{edge + 12}" y="{edge + 16 * number}" fill="{colour}">{name}</text>')
    parts.append(
        f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">size, in multiples of the smallest</text></svg>'
    )
    return "\n".join(parts) + "\n"
