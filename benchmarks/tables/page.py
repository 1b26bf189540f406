"""Write docs/tables_benchmark.md from measured cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.tables import report
from benchmarks.tables.cells import DELTA, Cell

HEAD = """# Ordinary tables

How much of the attainable improvement is lost when a model is fitted with privacy, on public tables with ordinary columns:
ages, counts, prices, answers to questionnaires. Written by `python -m benchmarks.tables --half both --page`.

Every table is split at random ({held:.0%} held out); bounds come from a fixed file that stands in for a codebook; delta is
{delta:g}; splits: {seeds}; a dash means not run; seconds are those of a busy machine. *Lost* is (error - non-private) / (constant - non-private): 0 is as good as without privacy, 1 is as
good as a constant, more than 1 is worse. The error is the mean squared error over the variance of the target, or 1 - AUC for two
classes. *Regret* is the error over that of the best private method of the same cell, minus one. Cells are shown as
mean / median. `dpgd` is DP gradient descent with the best of 27 settings *on the held-out rows*: nobody can have it, since choosing
costs privacy. `tables` is what `auto` picks for dense rows, with its defaults.
"""


def write(path: Path, cells: Iterable[Cell], methods: Sequence[str]) -> None:
    """One section for each half."""
    from benchmarks.tables.sets import HELD_OUT

    cells = [c for c in cells if c["method"] in {"nonprivate", *methods}]
    text = [HEAD.format(delta=DELTA, held=HELD_OUT, seeds=len({c["seed"] for c in cells}))]
    titles = {
        "confirm": "Tables that were not looked at while rules were chosen",
        "choose": "Tables on which rules were chosen",
    }
    for half, title in titles.items():
        found = report.results(c for c in cells if c["half"] == half)
        if not found:
            continue
        epsilons = " / ".join(f"{e:g}" for e in sorted({r.epsilon for r in found}))
        text += [f"## {title}", "", *report.summary(found, methods), ""]
        text += [f"Errors at epsilon {epsilons}:", "", *report.lines(found, methods), ""]
    path.write_text("\n".join(text))
