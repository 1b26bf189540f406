"""Figures in the papers' own axes: what the paper prints, the printed loop with the printed noise, honest noise at grids, and our defaults."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpsparse.report.bench import Results
from dpsparse.report.bench.results import mean_and_error
from dpsparse.report.bench.study import GRID

from .claims import plain
from .figures import FIGURES
from .methods import DENSE, EXACT, OFF, PRINTED

if TYPE_CHECKING:
    from dpsparse.plots import Line, Panel

    from .study import PaperStudy

#: Panels in their order: title, and which methods are drawn.
KINDS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("printed noise (NOT PRIVATE); off", lambda name: PRINTED in name or OFF in name),
    ("honest noise, best of grid", lambda name: name.endswith(GRID) and PRINTED not in name and OFF not in name),
    ("honest noise, defaults", lambda name: not name.endswith(GRID) and name not in DENSE),
)


def panels(study: PaperStudy, results: Results) -> list[Panel]:
    """Of each set of data; where the paper prints numbers, they come first. Beside printed noise stand the comparison methods of its claims, honest where no loop is printed."""
    from dpsparse.plots import Line, Panel

    found = []
    if study.name in FIGURES:
        held = FIGURES[study.name]
        lines = [
            Line(name, (), (row[math.inf],), level=True)
            if math.inf in row
            else Line(name, tuple(row), tuple(row.values()))
            for name, row in held.values.items()
        ]
        found.append(Panel(f"the paper: {held.data}", "epsilon", study.metric, tuple(lines), log_y=True))
    compared = {worse for better, worse in study.pairs if PRINTED in better}
    methods = list(dict.fromkeys(m for part in study.parts for m in part.methods if m != "zero"))
    for data in dict.fromkeys(d for part in study.parts for d in part.sets):
        for place, (title, drawn) in enumerate(KINDS):
            shown = [name for name in methods if drawn(name) or (place == 0 and name in compared)]
            lines = [line for name in shown if (line := _line(study, results, data, name))]
            if any(drawn(name) for name in shown) and lines:
                found.append(Panel(f"{data}: {title}", "epsilon", study.metric, tuple(lines), log_y=True))
    return found


def _line(study: PaperStudy, results: Results, data: str, name: str) -> Line | None:
    from dpsparse.plots import Line

    at = None if name.endswith(GRID) else 0.0
    epsilons = sorted({cell.epsilon for cell in results.errors if (cell.data, cell.method) == (data, name)})
    pairs = {e: mean_and_error(results.values(data, name, e, study.metric, at).values()) for e in epsilons}
    pairs = {e: pair for e, pair in pairs.items() if math.isfinite(pair[0])}
    if not pairs:
        return None
    if math.inf in pairs:
        label = f"{plain(name.replace(OFF, ''))}, noise off" if OFF in name else name.removesuffix(EXACT)
        return Line(label, (), (pairs[math.inf][0],), level=True)
    errors = tuple(error if math.isfinite(error) else 0.0 for _, error in pairs.values())
    label = plain(name) if name.endswith(GRID) else name
    return Line(label, tuple(pairs), tuple(mean for mean, _ in pairs.values()), errors)
