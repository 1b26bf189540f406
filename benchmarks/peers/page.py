"""docs/peers.md and docs/peers.svg, made of benchmarks/results/peers.parquet and of nothing else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.tables.cells import DELTA
from dpsparse.report.bench import Results
from dpsparse.report.bench.results import mean_and_error

from .methods import METHODS
from .rows import SOME, TEXT
from .study import EPSILONS, PICTURE_EPSILONS, SPLITS, STUDY
from .summary import FEW, LEAST_GAIN, WORTH_NAMING, Summary

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "peers.parquet", ROOT / "docs" / "peers.md"
#: Ours, and what is compared with them.
OURS = ("dpsparse auto", "dpsparse curves")
PRIVATE = tuple(name for name, method in METHODS.items() if method.private and not name.startswith("dpsparse"))
#: The part of the page that the README shows.
SHOWN = ("<!-- readme -->", "<!-- readme end -->")

HEAD = """<!-- Made by python -m benchmarks.peers --page from benchmarks/results/peers.parquet. Do not edit. -->

# Comparison with other libraries

All methods get the same splits of the same {tables} public tables ({records}), a quarter of each held out, and of a text (below), with the same public bounds of columns and targets. δ is {delta:g}. Splits: {splits} (the goal: {goal}); tables with one split are in the lists of losses and in the means, and in no count of wins, ties and losses.

```sh
make bench-peers                                        # every number of this page, and the picture; resumes where it was stopped
make bench-peers MINUTES=60                             # an hour of it
make bench-peers-quick                                  # the smaller tables twice; no page
```

## What the numbers mean

- **Deviance** is the mean squared error over the variance of the target, or for two classes the log-loss over that of the class shares. **Error** is the same for numbers, and for classes the misclassification
  rate over that of always predicting the commoner class. A constant has 1. **Calibration** is the absolute logarithm of the slope of the truth on the prediction: 0 is right.
- **Attainable** is what the best of the models without privacy gains over a constant, in deviance. That model is chosen on the held-out data, and so are the penalties of the additive one: more than anybody attains.
- **Win, tie, loss**: paired over splits, at two standard errors (for few splits, at the equally unlikely number of them: {allowance}).
- **Adjacency.** Under *replace-one*, ε bounds what changing one record can do; under *add-remove*, what adding or removing one can. Replacing is removing and adding, so the first is stronger: for a sum that each record enters once it asks for up to
  twice the noise at the same ε. Ours is replace-one unless a line says otherwise, also where the peer is add-remove. *DP-EBM* has its authors' accounting (add-remove); *DP-EBM, replace-one* has its ε reduced so that its μ is √2 smaller, the least that a record that
  moves from one bin to another asks for. Opacus and MST are add-remove, and shown beside *dpsparse auto, add-remove*. DP-GD, AdaSSP and boosted AdaSSP are replace-one. diffprivlib is pure ε-DP (δ = 0), a stronger guarantee; it has no other.
- **Tuned on the test rows** is optimistic: nobody can choose settings that way, and an honest choice costs privacy. Ours are never tuned.
"""

PEERS = """## Who is compared

| name | what it is |
|---|---|
| dpsparse auto | `SparseRegressor`, `SparseClassifier` with their defaults: a linear model |
| dpsparse curves | the same with `shapes="auto"`: curves of the columns where the budget carries them, else the line |
| DP-EBM | InterpretML 0.7, `DPExplainableBoostingRegressor` and `Classifier`, defaults, declared bounds (Nori et al., 2021) |
| DP-GD, tuned on the test rows | gradient descent with clipped gradients of rows, exact Gaussian accounting; the best of 27 settings (row length, clip, path length) on the held-out data, for every split anew, so that it also has the luckiest of its noise |
| AdaSSP | noisy sufficient statistics (Wang, 2018), our implementation; regression alone |
| boosted AdaSSP, tuned on the test rows | gradient boosting with AdaSSP (Tang et al., 2023), our implementation with exact accounting; the best of six settings on the held-out data |
| Opacus, tuned on the test rows | Opacus 1.6, a linear model by DP-SGD: 20 passes in 20 batches, clip 1; the best of six learning rates on the held-out data. It has no defaults for a linear model |
| MST, then a linear model | synthetic rows by MST (McKenna et al., 2021) as in dpmm 0.1, 16 points for each column; then ridge or logistic regression on them |
| diffprivlib | diffprivlib 0.6, `LinearRegression`, `LogisticRegression`, defaults |
| linear, additive, boosted trees, skglm | without privacy: ridge or logistic regression, the same on curves of five terms, scikit-learn's boosted trees with defaults, and l1 penalties. skglm stands in the tables only where it was run |
"""

NOTES = """## Left out, and why

- **OpenDP** 0.16 has a linear regression (Theil-Sen) for a single column only, and no logistic one; it has no model for these tables.
- **JAX-Privacy** 2.0 trains by DP-SGD under the same accounting as Opacus, and has no linear model of its own; its correlated noise serves many passes in fixed batches. It installs in a minute, and we expect Opacus' line again.
- **Synthetic data** is all but left out: MST takes about a CPU minute for one fit of nine columns, and AIM, which was not tried, selects in many rounds where MST selects once. MST stands in the tables where it was run, and in no count before it has several splits.
- **TukeyEM**: we found no package to install.
- **Opacus** and **MST** are run on every fourth of the smaller tables ({some}); they take a hundred to a few thousand times as long as ours. DP-EBM is not run on the text: its queries, and its time, grow with the columns.

## Where the comparison is not fair

- **Ours on these tables.** Rules and constants of `auto` were chosen on half of the tables ([](tables_benchmark.md) says which), though not on these splits; none was chosen on the others. The text is one of those that rules were developed with.
- **Bounds** are rounded 1 % and 99 % quantiles in place of a codebook. Methods that suffer from loose bounds do not show it here.
- **Held-out rows** are clipped to the bounds, and predicted numbers to those of the target, for every method.
"""


def write() -> None:
    """Write the page and its picture."""
    results = Results.read(RESULTS)
    PAGE.write_text(text(results), encoding="utf-8")
    STUDY.draw(results, PAGE.with_suffix(".svg"))


def text(results: Results) -> str:
    """The page."""
    return "\n".join(body(Summary(results))) + "\n"


def body(found: Summary) -> Iterator[str]:
    """Head, verdicts, losses, picture, tables, notes."""
    tables = [data for data in found.data if data != TEXT]
    sizes = [found.mean(data, "dpsparse auto", 1.0, "rows") for data in tables]
    splits = Counter(found.splits(data) for data in tables)
    yield HEAD.format(
        tables=len(tables),
        records=f"{min(sizes):,.0f} to {max(sizes):,.0f} training records",
        delta=DELTA,
        goal=SPLITS,
        splits=", ".join(f"{number} on {count} tables" for number, count in sorted(splits.items(), reverse=True)),
        allowance="2.9 for 5 pairs, 2.3 for 10, 2.1 for 20",
    )
    if found.results.scale != "full":
        yield f"**{found.results.scale}**: the rest is not there yet; `make bench-peers` resumes.\n"
    yield "## Wins, ties and losses\n"
    yield SHOWN[0]
    yield from verdicts(found)
    yield SHOWN[1] + "\n"
    yield from same_adjacency(found)
    yield from calibration(found)
    yield "\n## How much of the attainable is reached\n"
    yield from parts(found)
    yield "\n## Where we lose\n"
    yield from losses(found)
    yield ""
    yield from picture(found)
    yield PEERS
    yield "## Deviance by table\n"
    for epsilon in EPSILONS:
        yield from table(found, tables, epsilon)
        yield ""
    yield NOTES.format(some=", ".join(SOME)).rstrip("\n")
    facts = ", ".join(f"{key} {value}" for key, value in sorted(found.results.machine.items()))
    failed = sum("failed" in errors for errors in found.results.errors.values())
    yield f"- **Runs**: {len(found.results.errors)}, of which {failed} failed and are left out. Made with {facts}."


def _verdict(found: Summary, mine: str, peer: str, epsilon: float, metric: str) -> str:
    count = found.count(mine, peer, epsilon, metric)
    return f"{count['holds']} / {count['undecided']} / {count['does not hold']}" if count else ""


def _ahead(found: Summary, mine: str, peer: str, epsilon: float) -> str:
    """Wins, ties and losses by deviance, with the mean lead."""
    count = _verdict(found, mine, peer, epsilon, "deviance")
    lead = [-max(-1.0, gap.part) for gap in found.gaps(mine, peer, epsilon)]
    mean, error = mean_and_error(lead)
    return f"{count} ({mean:+.2f} ± {error:.2f})" if math.isfinite(error) else count


def verdicts(found: Summary) -> Iterator[str]:
    """One line for each peer: tables on which ours is better, undecided, or worse."""
    yield "Tables on which dpsparse wins / ties / loses, by deviance; in brackets, how much more of the attainable it reaches than the method beside it, as a mean over tables ± one standard error (a lead counts as 1 at most):\n"
    heads = [f"{mine}, ε = {epsilon:g}" for mine in OURS for epsilon in EPSILONS]
    yield f"| beside | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for peer in PRIVATE:
        cells = [_ahead(found, mine, peer, epsilon) for mine in OURS for epsilon in EPSILONS]
        if any(cells):
            yield f"| {peer} | {' | '.join(cells)} |"


def same_adjacency(found: Summary) -> Iterator[str]:
    """The same beside methods that are add-remove, with ours add-remove as well."""
    mine = "dpsparse auto, add-remove"
    yield f"*{mine}* beside methods with that guarantee:\n"
    yield f"| beside | {' | '.join(f'ε = {epsilon:g}' for epsilon in EPSILONS)} |"
    yield "|---" * (len(EPSILONS) + 1) + "|"
    for peer in PRIVATE:
        cells = [_ahead(found, mine, peer, epsilon) for epsilon in EPSILONS]
        if METHODS[peer].adjacency == "add-remove" and any(cells):
            yield f"| {peer} | {' | '.join(cells)} |"
    yield ""


def calibration(found: Summary) -> Iterator[str]:
    """The same by misclassification and by calibration."""
    heads = [f"{what}, ε = {epsilon:g}" for what in ("error", "calibration") for epsilon in EPSILONS]
    yield "The same by error and by calibration, *dpsparse auto* alone:\n"
    yield f"| beside | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for peer in PRIVATE:
        metrics = ("error", "slope error")
        cells = [_verdict(found, OURS[0], peer, epsilon, metric) for metric in metrics for epsilon in EPSILONS]
        if any(cells):
            yield f"| {peer} | {' | '.join(cells)} |"


def parts(found: Summary) -> Iterator[str]:
    """Mean part of the attainable of every method."""
    yield f"Mean over tables ± one standard error; a table counts where at least {LEAST_GAIN:.0%} of a constant's deviance can be gained, and a method that is worse than -1 (twice as bad as a constant, about) counts as -1. Tables in brackets: methods that were run on few are not to be compared by this number.\n"
    groups = [(epsilon, few) for epsilon in EPSILONS for few in (True, False)]
    heads = [f"ε = {epsilon:g}, {'under' if few else 'from'} {FEW:,} records" for epsilon, few in groups]
    yield f"| method | {' | '.join(heads)} |"
    yield "|---" * (len(heads) + 1) + "|"
    for name in METHODS:
        values = [found.over_tables(name, epsilon, few) for epsilon, few in groups]
        cells = [
            f"{mean:.2f} ± {error:.2f} ({count})" if count > 1 else f"{mean:.2f} (1)" if count else ""
            for mean, error, count in values
        ]
        if any(cells):
            yield f"| {name} | {' | '.join(cells)} |"


def losses(found: Summary) -> Iterator[str]:
    """Tables and peers that are ahead of us by more than a twentieth of the attainable."""
    yield f"Peers that reach at least {WORTH_NAMING:.0%} of the attainable more than we do, by the mean over splits; **bold** where it is decided at two standard errors.\n"
    for epsilon in EPSILONS:
        for mine in OURS:
            ahead: dict[str, list[str]] = {}
            for peer in PRIVATE:
                for gap in found.gaps(mine, peer, epsilon):
                    if gap.part > WORTH_NAMING:
                        shown = f"{gap.data} {gap.part:.2f}"
                        ahead.setdefault(peer, []).append(f"**{shown}**" if gap.decided else shown)
            yield f"*{mine}, ε = {epsilon:g}*\n"
            yield from (f"- {peer}: {', '.join(several)}" for peer, several in ahead.items())
            yield ""


def picture(found: Summary) -> Iterator[str]:
    """Wide, sparse rows: the picture, and its numbers."""
    if TEXT not in found.data:
        return
    yield "## Wide and sparse rows\n"
    yield f"{TEXT}: 12,748 training records, rows of unit length, half of the classes of 20 Newsgroups against the others. Error: the misclassification rate over that of the commoner class; splits in brackets.\n"
    yield f"![Error against epsilon, {TEXT}](peers.svg)\n"
    yield f"| method | {' | '.join(f'ε = {epsilon:g}' for epsilon in PICTURE_EPSILONS)} |"
    yield "|---" * (len(PICTURE_EPSILONS) + 1) + "|"
    for name, method in METHODS.items():
        cells = []
        for epsilon in PICTURE_EPSILONS if method.private else (math.inf,) * len(PICTURE_EPSILONS):
            values = found.values(TEXT, name, epsilon, "error").values()
            mean, error = mean_and_error(values)
            within = f" ± {error:.1g}" if math.isfinite(error) else ""
            cells.append(f"{mean:.3g}{within} ({len(values)})" if values else "")
        if any(cells):
            yield f"| {name} | {' | '.join(cells)} |"
    yield ""


def table(found: Summary, tables: list[str], epsilon: float) -> Iterator[str]:
    """Deviance of every method on every table."""
    there = [name for name in METHODS if any(found.values(data, name, epsilon) for data in tables)]
    yield f"| ε = {epsilon:g} (records x columns, splits) | {' | '.join(there)} |"
    yield "|---" * (len(there) + 1) + "|"
    for data in tables:
        size = "{:.0f} x {:.0f}".format(*(found.mean(data, OURS[0], epsilon, what) for what in ("rows", "columns")))
        means = [found.mean(data, name, epsilon) for name in there]
        cells = ["" if math.isnan(mean) else f"{mean:.3f}" if mean < 10 else "above 10" for mean in means]
        yield f"| {data} ({size}, {found.splits(data)}) | {' | '.join(cells)} |"
