"""``dpsparse demo``: private marker selection on a simulated cohort, against the truth and against no privacy."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from .fit import run_fit
from .options import Epsilon, command
from .output import check_folder, echo, print_json, progress, writing
from .show import brief

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..estimators.linear import SparseLinear
    from ..io.datasets.cohort import Cohort

CAUSAL = 20
OUTCOMES = ("continuous", "binary")
#: Exact gradients settle in a few steps on markers that are centred; the recipe's default of 200 only takes longer.
BASELINE_STEPS = 30


@dataclass(frozen=True)
class Fit:
    """One fitted model of the demonstration; `path` is where it was saved."""

    model: SparseLinear
    seconds: float
    path: Path | None


@command()
def demo(
    *,
    out: Path = Path("dpsparse-demo"),
    epsilon: Epsilon = 3.0,
    seed: Annotated[int, click.IntRange(min=0)] = 0,
    n_rows: Annotated[int, click.IntRange(min=10)] = 20000,
    n_features: Annotated[int, click.IntRange(min=CAUSAL)] = 5000,
    json_: bool = False,
) -> None:
    """Find the causal genetic markers of a simulated cohort under differential privacy.

    20 of the markers act on a continuous and on a binary outcome. Each outcome is fitted with privacy and, to compare,
    without. Public are the coding of genotypes (0, 1, 2) and that a standardised outcome beyond 4 is clipped.

    \b
    Examples:
      dpsparse demo
      dpsparse demo --out out --epsilon 1 --json

    Parameters
    ----------
    out
        Folder for the cohort and the models; made if missing.
    epsilon
        Privacy budget of each of the two models.
    seed
        Seed of the simulated cohort. Privacy noise is always fresh.
    n_rows
        People.
    n_features
        Markers.
    """
    start = time.perf_counter()
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    check_folder(out)
    with progress(json_) as visible:
        cohort = _simulate(out, seed, n_rows, n_features, visible)
        fits = {
            (outcome, private): _fit(cohort, outcome, private, epsilon, out, visible)
            for outcome in OUTCOMES
            for private in (True, False)
        }
    content = _summary(cohort, fits)
    content |= {"epsilon": epsilon, "seed": seed, "seconds": round(time.perf_counter() - start, 2)}
    content["peak_memory_mb"] = peak_memory()
    print_json(content) if json_ else _show(content, cohort, fits)


def _simulate(out: Path, seed: int, n_rows: int, n_features: int, visible: bool) -> Cohort:
    from rich.progress import Progress

    from ..io.datasets.cohort import simulate

    with Progress(disable=not visible) as bar, writing(out):
        task = bar.add_task("simulating", total=n_rows)
        return simulate(
            n_rows, n_features, CAUSAL, seed, folder=out, on_rows=lambda rows: bar.update(task, advance=rows)
        )


def _fit(cohort: Cohort, outcome: str, private: bool, epsilon: float, out: Path, visible: bool) -> Fit:
    from .. import SparseClassifier, SparseRegressor, recipes

    shared: dict[str, Any] = {
        "epsilon": epsilon,
        "sparsity": CAUSAL,
        "feature_bound": cohort.feature_bound,
        "recipe": "auto" if private else recipes.IGHT(steps=BASELINE_STEPS),
    }
    if not private:  # a fit that protects nobody may look: whole numbers near the means keep a genotype in one byte
        shared["feature_center"] = cohort.genotypes().mean(axis=0).round()
    model: SparseLinear
    y: NDArray[np.generic]
    if outcome == "continuous":
        model, y = SparseRegressor(target_bound=cohort.target_bound, **shared), cohort.continuous
    else:
        model, y = SparseClassifier(classes=[0, 1], **shared), cohort.binary
    if visible:
        echo(f"{outcome} outcome, {'private' if private else 'without privacy'}", err=True)
    start = time.perf_counter()
    run_fit(model, cohort.genotypes(), y, cohort.names, visible)
    seconds = time.perf_counter() - start
    path = out / f"{outcome}-model.json" if private else None
    if path is not None:
        with writing(path):
            model.save(path)
    return Fit(model, seconds, path)


def _score(cohort: Cohort, fit: Fit) -> dict[str, Any]:
    truth, chosen = set(cohort.causal.tolist()), set(fit.model.support_.tolist())
    found = {
        "found": len(truth & chosen),
        "causal": len(truth),
        "selected": len(chosen),
        "missed": [cohort.names[j] for j in sorted(truth - chosen)],
        "false": [cohort.names[j] for j in sorted(chosen - truth)],
        "seconds": round(fit.seconds, 2),
    }
    return found if fit.path is None else {**found, "model": fit.path, "statement": fit.model.statement_.to_dict()}


def _summary(cohort: Cohort, fits: dict[tuple[str, bool], Fit]) -> dict[str, Any]:
    """What was found of each outcome, and for each causal marker what is true and what was found."""
    names = {(outcome, private): "private" if private else "non_private" for outcome, private in fits}
    markers = [
        {
            "marker": cohort.names[j],
            "frequency": float(cohort.frequencies[j]),
            "effect": float(cohort.effects[i]),
            "log_odds": float(cohort.log_odds[i]),
            **{f"{key[0]}_{names[key]}": float(fit.model.coef_.ravel()[j]) for key, fit in fits.items()},
        }
        for i, j in enumerate(cohort.causal.tolist())
    ]
    return {
        "n_rows": int(cohort.continuous.size),
        "n_features": len(cohort.names),
        "genotypes": cohort.path,
        "outcomes": {
            outcome: {names[outcome, private]: _score(cohort, fits[outcome, private]) for private in (True, False)}
            for outcome in OUTCOMES
        },
        "markers": markers,
    }


def _show(content: dict[str, Any], cohort: Cohort, fits: dict[tuple[str, bool], Fit]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    echo(f"{cohort!r}: the causal markers, with effects per allele; - means not selected.")
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True)
    found = ("private", "no\nprivacy")
    for name in ("marker", "freq", "true\neffect", *found, "true\nlog-odds", *found):
        table.add_column(name, justify="left" if name == "marker" else "right", no_wrap=True)
    columns = ("effect", "continuous_private", "continuous_non_private", "log_odds", "binary_private")
    for row in content["markers"]:
        cells = [row[name] for name in (*columns, "binary_non_private")]
        table.add_row(row["marker"], f"{row['frequency']:.2f}", *(f"{v:+.3f}" if v else "-" for v in cells))
    Console(highlight=False).print(table)
    for outcome, scores in content["outcomes"].items():
        ours, plain = scores["private"], scores["non_private"]
        echo(
            f"{outcome} outcome: the private model found {ours['found']} of {ours['causal']} causal markers among "
            f"its {ours['selected']}; the one without privacy found {plain['found']} among its {plain['selected']}."
        )
    private = {outcome: fits[outcome, True] for outcome in OUTCOMES}
    for outcome, fit in private.items():
        echo(f"\nStatement for the {outcome} outcome\n{brief(fit.model.statement_, most=0)}\nSaved: {fit.path}")
    spent = [fit.model.statement_ for fit in private.values()]
    echo(
        "\nBoth models are about the same people, so their costs add up: together at most "
        f"epsilon = {sum(s.epsilon for s in spent):.3g} and delta = {sum(s.delta for s in spent):.3g}. "
        "The models without privacy are not saved."
    )
    memory = content["peak_memory_mb"]
    echo(f"Genotypes: {cohort.path}")
    echo(f"Time: {content['seconds']:.1f} s{'' if memory is None else f', peak memory {memory:.0f} MB'}")


def peak_memory() -> float | None:
    """Largest resident memory of this process so far, in MB; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 2**20 if sys.platform == "darwin" else peak / 2**10, 1)
