"""Figures with the number of rows on the horizontal axis, from cases that are called "n .., p .., s .."."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from dpsparse.bench import Results
from dpsparse.bench.results import mean_and_error
from dpsparse.bench.study import GRID


def by_rows(results: Results, method: str, metric: str, path: Path) -> None:
    """Three panels: curves for p, for s and for epsilon, the others fixed where most runs are."""
    from dpsparse.plots import Line, Panel, figure, save

    found: dict[tuple[int, int, float], dict[int, tuple[float, float]]] = {}
    for cell in sorted(results.errors):
        if cell.method != method:
            continue
        n, p, s = (int(re.search(rf"\b{key} (\d+)", cell.data)[1]) for key in ("n", "p", "s"))  # type: ignore[index]
        at = None if method.endswith(GRID) else 0.0
        pair = mean_and_error(results.values(cell.data, method, cell.epsilon, metric, at).values())
        found.setdefault((p, s, cell.epsilon), {})[n] = pair

    epsilons = [e for (_, _, e) in found]
    usual = max(set(epsilons), key=epsilons.count)
    middle = max({(p, s) for p, s, _ in found}, key=lambda pair: sum((p, s) == pair for p, s, _ in found))

    def lines(keep: Callable[[int, int, float], bool], label: Callable[[int, int, float], str]) -> tuple[Line, ...]:
        return tuple(
            Line(label(*key), tuple(held), *zip(*held.values(), strict=True))
            for key, held in sorted(found.items())
            if keep(*key)
        )

    panels = [
        Panel("dimensions", "n", metric, lines(lambda p, s, e: (s, e) == (middle[1], usual), lambda p, s, e: f"p {p}")),
        Panel("sparsities", "n", metric, lines(lambda p, s, e: (p, e) == (middle[0], usual), lambda p, s, e: f"s {s}")),
        Panel("budgets", "n", metric, lines(lambda p, s, e: (p, s) == middle, lambda p, s, e: f"epsilon {e:g}")),
    ]
    save(figure([Panel(x.title, x.x, x.y, x.lines, log_x=True, log_y=True) for x in panels]), path)
