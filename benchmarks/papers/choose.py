"""Tables of docs/choose.md."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpsparse.report.bench import Results, StudyClaim
from dpsparse.report.bench.results import mean_and_error
from dpsparse.report.bench.study import GRID

from .cells import budgets, cell, origin, read, seeds, verdict
from .gcd import RIVALS, SMOOTH, SPARSE
from .guide_classes import APART, JOINT
from .guide_recipes import STUDY as RECIPES_STUDY
from .guide_text import STUDY as TEXT_STUDY
from .guide_text import TEXTS, WEIGHTS
from .methods import DENSE, RECIPES
from .p002_figure_1 import STUDY as GCD_STUDY

TEXT = "news20 (for RCV1)"


def recipes() -> Iterator[str]:
    """Every private recipe with its defaults."""
    made_up, text = read("guide-recipes"), read("guide-text")
    columns = [
        (results, data, label, metric, epsilon)
        for results, data, label, metric in (
            (made_up, "000-lin-i", "linear", "relative error"),
            (made_up, "000-log-i", "logistic", "relative error"),
            (text, TEXT, "news20", "test error"),
        )
        for epsilon in budgets(results, data)
    ]
    yield f"Linear and logistic: {origin('guide-recipes', made_up)}, {seeds(made_up, '000-lin-i')} datasets with three draws of the noise each."
    yield f"news20: {origin('guide-text', text)}, {seeds(text, TEXT)} splits."
    yield ""
    yield "| recipe | " + " | ".join(f"{label}, ε = {epsilon:g}" for _, _, label, _, epsilon in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for name in ("auto", *RECIPES):
        found = [cell(results, data, name, epsilon, metric) for results, data, _, metric, epsilon in columns]
        yield f"| `{name}` | {' | '.join(found)} |"


def orderings() -> Iterator[str]:
    """The papers' orderings with our defaults."""
    yield "| claim | data | ε | error of the comparison method minus its own | verdict |"
    yield "|---|---|---|---|---|"
    for study, name in ((RECIPES_STUDY, "guide-recipes"), (TEXT_STUDY, "guide-text")):
        results = read(name)
        for claim in study.claims():
            if claim.better != WEIGHTS[0] and results.gap(claim)[2]:
                yield f"| `{claim.better}` better than `{claim.worse}` | {claim.data} | {claim.epsilon:g} | {verdict(results, claim)} |"


def classes() -> Iterator[str]:
    """Many classes."""
    results = read("guide-classes")
    yield f"{origin('guide-classes', results)}; test errors, delta = 1e-5, no `sparsity`; only the noise differs between seeds."
    yield ""
    yield f"| data | ε | {JOINT} | {APART} | seeds |"
    yield "|---|---|---|---|---|"
    for data in dict.fromkeys(c.data for c in results.errors):
        for epsilon in budgets(results, data):
            pair = [cell(results, data, method, epsilon, "test error") for method in (JOINT, APART)]
            yield f"| {data} | {epsilon:g} | {' | '.join(pair)} | {seeds(results, data)} |"


def weights() -> Iterator[str]:
    """Dual averaging with and without private weights on several texts."""
    results = read("guide-text")
    yield f"{origin('guide-text', results)}; test errors, delta = 1e-5, all features."
    yield ""
    yield "| data | ε | private weights | no weights | no weights less private ones | better with weights |"
    yield "|---|---|---|---|---|---|"
    for data in TEXTS:
        for epsilon in budgets(results, data):
            pair = [cell(results, data, method, epsilon, "test error") for method in WEIGHTS]
            claim = StudyClaim(*WEIGHTS, data, epsilon, "test error")
            yield f"| {data} | {epsilon:g} | {' | '.join(pair)} | {verdict(results, claim)} |"


def coordinates() -> Iterator[str]:
    """DP-GCD and its rivals on the problems of paper 002."""
    results = read("002-figure-1")
    yield f"{origin('002-figure-1', results)}; (f - f*)/f* at (1, 1/n²), defaults, then the best point of a grid around the paper's own."
    yield ""
    yield "| problem | at zero | DP-GCD | DP-CD | DP-SGD | against DP-CD | against DP-SGD |"
    yield "|---|---|---|---|---|---|---|"
    for data in (*SPARSE, *SMOOTH):
        if not any(c.data == data for c in results.errors):
            continue
        zero = cell(results, data, "zero", math.inf, "gap").split(" ±")[0]
        cells = [
            "; ".join(filter(None, (cell(results, data, name + end, 1.0, "gap") for end in ("", GRID))))
            for name in ("DP-GCD", *RIVALS)
        ]
        said = [_against(results, data, rival) for rival in RIVALS]
        yield f"| {data} | {zero} | {' | '.join(cells)} | {' | '.join(said)} |"


def _against(results: Results, data: str, rival: str) -> str:
    claims = [c for c in GCD_STUDY.claims() if c.data == data and c.worse.startswith(rival) and results.gap(c)[2]]
    return "; ".join(results.verdict(claim) for claim in claims)


def stochastic() -> Iterator[str]:
    """Stochastic and full-batch thresholding on the data of paper 004."""
    names = ("004-table-3", "004-table-4", "004-table-5")
    metrics = ("MSE", "log-loss", "log-loss")
    kept = [read(name) for name in names]
    sets = [next(iter(sorted(results.errors))).data for results in kept]
    for name, results in zip(names, kept, strict=True):
        yield f"- {origin(name, results)}"
    yield ""
    columns = [(r, d, m, e) for r, d, m in zip(kept, sets, metrics, strict=True) for e in (4.0,)]
    yield "| recipe | " + " | ".join(f"{d}: {m}, ε = {e:g}" for _, d, m, e in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for method in ("zero", "DP-GD-HT", "DP-SGD-HT", "DP-SCSG-HT", "auto", *DENSE):
        found = [cell(r, d, method, math.inf if method == "zero" else e, m) for r, d, m, e in columns]
        yield f"| {method} | {' | '.join(found)} |"


def growth() -> Iterator[str]:
    """Errors by dimension."""
    results = read("guide-growth")
    sets = sorted({c.data for c in results.errors}, key=lambda data: int(data.split()[1]))
    yield f"{origin('guide-growth', results)}; n = 4000, s = 10, ε = 2, delta = 1e-5, {seeds(results, sets[0])} datasets: relative error of the coefficients, and the power of d that fits it."
    yield ""
    yield f"| recipe | {' | '.join(sets)} | power of d |"
    yield "|---" * (len(sets) + 2) + "|"
    sizes = np.log([int(data.split()[1]) for data in sets])
    for method in ("DP-IGHT", "DP-GCD", "DP-IGHT dense"):
        means = [mean_and_error(results.values(d, method, 2.0, "relative error").values())[0] for d in sets]
        power = float(np.polyfit(sizes, np.log(means), 1)[0])
        cells = [cell(results, d, method, 2.0, "relative error") for d in sets]
        yield f"| {method} | {' | '.join(cells)} | {power:.2f} |"
