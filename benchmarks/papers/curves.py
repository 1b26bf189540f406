"""Figures with the number of rows on the horizontal axis, from cases that are called "n .., p .., s .."."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from dpsparse.report.bench import Results
from dpsparse.report.bench.results import mean_and_error
from dpsparse.report.bench.study import GRID


def by_rows(results: Results, method: str, metric: str, path: Path, *, p: int, s: int, epsilon: float) -> None:
    """Three panels: curves for p, for s and for epsilon, the others fixed at the values that are given."""
    from dpsparse.plots import Line, Panel, figure, save

    found: dict[tuple[int, int, float], dict[int, tuple[float, float]]] = {}
    for cell in sorted(results.errors):
        if cell.method != method:
            continue
        n, features, kept = (int(re.search(rf"\b{key} (\d+)", cell.data)[1]) for key in ("n", "p", "s"))  # type: ignore[index]
        at = None if method.endswith(GRID) else 0.0
        pair = mean_and_error(results.values(cell.data, method, cell.epsilon, metric, at).values())
        found.setdefault((features, kept, cell.epsilon), {})[n] = pair

    def lines(keep: Callable[[int, int, float], bool], label: Callable[[int, int, float], str]) -> tuple[Line, ...]:
        return tuple(
            Line(label(*key), tuple(held), *zip(*held.values(), strict=True))
            for key, held in sorted(found.items())
            if keep(*key)
        )

    panels = [
        ("dimensions", lines(lambda a, b, e: (b, e) == (s, epsilon), lambda a, b, e: f"p {a}")),
        ("sparsities", lines(lambda a, b, e: (a, e) == (p, epsilon), lambda a, b, e: f"s {b}")),
        ("budgets", lines(lambda a, b, e: (a, b) == (p, s), lambda a, b, e: f"epsilon {e:g}")),
    ]
    save(figure([Panel(title, "n", metric, drawn, log_x=True, log_y=True) for title, drawn in panels]), path)
