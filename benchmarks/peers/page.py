"""docs/peers.md and docs/peers.svg, made of benchmarks/results/peers.parquet and of nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dpsparse.report.bench import Results
from dpsparse.report.bench.results import mean_and_error
from dpsparse.report.bench.study import GRID

from .methods import METHODS
from .rows import ROWS
from .study import GRID_SEEDS, METRIC, PICTURE, REGRESSION, STUDY

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "peers.parquet", ROOT / "docs" / "peers.md"

HEAD = """<!-- Made by python -m benchmarks.peers --page from benchmarks/results/peers.parquet. Do not edit. -->

# Comparison with other libraries

All libraries get the same rows and the same public bounds, with a new split and new noise for each seed. Errors are measured on held-out data: the misclassification rate, or the mean squared error
divided by the variance of the target. Numbers are means ± one standard error. Defaults are the settings of a library without any tuning; *best of grid* is the best of
six points for every private library (ours: at most d, d/2 .. d/32 coefficients; diffprivlib: C; Opacus: the learning rate), tuned on the test set, which is optimistic for every library.

```sh
python -m benchmarks.peers --install       # environments of the peers in .venvs/peers; once
{command}     # every number of this page, and the picture
```
"""

NOTES = """
## Where the comparison is not fair

- **Delta.** Ours and Opacus are (ε, 1e-5)-DP. diffprivlib is pure ε-DP (δ = 0), a stronger guarantee; it has no other for these models.
- **Adjacency.** Ours replaces one record; Opacus adds or removes one, which needs less noise. The line *add-remove* is ours with the guarantee of Opacus, and with defaults.
- **Defaults.** Opacus has none for a linear model, so it is shown only at the best of its grid: 20 passes in 20 batches each, clip 1, six learning rates. diffprivlib's linear regression has
  nothing to tune.
- **Rows.** diffprivlib takes dense rows only, so the text has 5,000 of its words, drawn anew for each seed. skglm and scikit-learn add no noise: they show what is achievable without privacy.
- **Ours on these files.** The rules of `auto` were developed with news20, a9a, covertype and california, among others; chest X-rays and melting points were used less.
"""


def write() -> None:
    """Write the page and its picture."""
    results = Results.read(RESULTS)
    PAGE.write_text(text(results), encoding="utf-8")
    STUDY.draw(results, PAGE.with_suffix(".svg"))


def text(results: Results) -> str:
    """The page."""
    command = f"python -m benchmarks.peers{' --scale quick' if results.scale == 'quick' else ''}"
    return HEAD.format(command=command) + "\n" + "\n".join(body(results)) + "\n"


def body(results: Results) -> Iterator[str]:
    """Verdicts, picture, tables, notes."""
    if results.scale == "quick":
        yield "**Quick run**: two or three seeds and few budgets. It decides little."
        yield ""
    elif results.scale != "full":
        yield f"**{results.scale}**: the rest of the runs is not there yet."
        yield ""
    yield from verdicts(results)
    yield ""
    yield f"![Error against epsilon, {PICTURE}](peers.svg)"
    for data in ROWS:
        if any(cell.data == data for cell in results.errors):
            yield ""
            yield from table(results, data)
    yield NOTES.rstrip("\n")
    facts = ", ".join(f"{key} {value}" for key, value in sorted(results.machine.items()))
    yield f"- **Runs**: {len(results.errors)}. Grids are run at the first {GRID_SEEDS} seeds at most. Made with {facts}."


def verdicts(results: Results) -> Iterator[str]:
    """One line for each pair of libraries and kind of tuning, over all files and budgets."""
    yield "| ours | beside | smaller error | larger error | undecided (two standard errors, paired seeds) |"
    yield "|---|---|---|---|---|"
    found: dict[tuple[str, str], Counter[str]] = {}
    for claim in STUDY.claims():
        if results.gap(claim)[2]:
            found.setdefault((claim.better, claim.worse), Counter())[results.verdict(claim)] += 1
    for (mine, peer), count in found.items():
        yield f"| {mine} | {peer} | {count['holds']} | {count['does not hold']} | {count['undecided']} |"


def table(results: Results, data: str) -> Iterator[str]:
    """Libraries against budgets on one file."""
    here = [cell for cell in results.errors if cell.data == data]
    epsilons = sorted({cell.epsilon for cell in here})
    columns = [math.inf, *(e for e in epsilons if e < math.inf)]
    what = "mean squared error / variance" if data in REGRESSION else "misclassification rate"
    heads = ["no noise" if e == math.inf else f"ε = {e:g}" for e in columns]
    yield f"| {data}: {what} | {' | '.join(heads)} | seeds |"
    yield "|---" * (len(heads) + 2) + "|"
    for method in [name for name in METHODS if any(cell.method == name for cell in here)]:
        cells, seeds = [], 0
        for epsilon in columns:
            values = results.values(data, method, epsilon, METRIC, None if method.endswith(GRID) else 0.0)
            cells.append(_number(*mean_and_error(values.values())) if values else "")
            seeds = max(seeds, len(values))
        yield f"| {method} | {' | '.join(cells)} | {seeds} |"


def _number(mean: float, error: float) -> str:
    return f"{mean:.4g}" if not math.isfinite(error) else f"{mean:.4g} ± {error:.1g}"
