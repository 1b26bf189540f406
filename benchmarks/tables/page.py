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

TAIL = """## Designs with a known truth

`python -m benchmarks.tables --half synthetic`, linear, delta 1e-06; mean squared error of the prediction over the variance of the signal, mean and
standard error. Rules were chosen on seeds 100 to 103; the figures are of other seeds.

FIGURES_SYNTHETIC

*Counts* are Poisson numbers declared within 0 and 20, *rare* indicators of 2 %. Before selections knew where columns lie they had .25 and .67 at epsilon 1.
Rare indicators stay far from their goal of .12. At epsilon 1 each has a hundred records, and a selection that keeps all of them at once has to tell ten of 300
columns apart from noise of fifty records: with half of the budget, perfect means and a perfect intercept it finds .7 of the signal (measured, 12 seeds),
and one gradient on all columns .75. A reference whose split of the budget, number of columns and clips were chosen on the test rows, and whose
second stage is least squares without clipping, has .02 at epsilon 1 and .77 at .25: it spends .8 of the budget on one gradient at the constant, which no default can do that must
also fit dense truths.

## A mixed table

`python -m benchmarks.mixed_table`: 3,000 rows, about 800 columns after its dictionary (numbers, skewed numbers, counts, categories, dates, gaps), two
classes, ten columns that matter; accuracy on fresh rows. Rules were chosen on *even* (seeds 0 and 1), the others are as they were found (seeds 10 to 12).

FIGURES_MIXED

On *labs*, whose limits are twelve standard deviations wide, epsilon 4 is .025 below l1, and not .02. Patients' tables at epsilon 1 stay
below .70: ten true columns of 800 are told apart with 3,000 records only in part, whatever `sparsity` is (with 5, 10, 20 coefficients: .64, .65, .59 on *even*).
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
    path.write_text("\n".join([*text, TAIL]))
