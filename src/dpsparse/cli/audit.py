"""``dpsparse audit``: attack a recipe, or the recipe and settings of a saved model, on this machine."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import NoPromise, Refusal, Violated
from .options import FILE, adjacency_option, json_option
from .output import check_file, echo, print_json, progress, waiting

if TYPE_CHECKING:
    from ..audit.result import AuditResult
    from ..estimators.linear import SparseLinear


@click.command()
@click.argument("target", required=False, metavar="MODEL_OR_RECIPE")
@click.option(
    "--runs", type=click.IntRange(min=8), help="Answers in each of two worlds, for every attack. Default: 2000."
)
@click.option(
    "--fits", type=click.IntRange(min=0), help="Whole fits in each world. Default: half of --runs; 0 for none."
)
@click.option(
    "--processes", type=click.IntRange(min=1), default=1, show_default=True, help="Share the work among these."
)
@click.option(
    "--task",
    type=click.Choice(["classification", "regression"]),
    default="regression",
    show_default=True,
    help="How a recipe is used; a model knows.",
)
@adjacency_option("; a model knows")
@click.option("--n-rows", type=click.IntRange(min=4), help="Rows of the synthetic data sets. Default: 30.")
@click.option("--n-features", type=click.IntRange(min=1), help="Features of the synthetic data sets. Default: 5.")
@click.option("--seed", type=int, help="For tests: reproducible noise. Without it noise is drawn as in real fits.")
@click.option("--papers", is_flag=True, help="Audit the mechanisms that papers published, beside ours.")
@click.option("--plot", type=FILE, help="With --papers: draw claimed against true to this file.")
@json_option
def audit(target: str | None, papers: bool, plot: Path | None, as_json: bool, **options: Any) -> None:
    """Try to refute a guarantee: laws, traces, a second opinion, and attacks with canaries in two worlds.

    MODEL_OR_RECIPE is a model that `dpsparse fit` saved, or the name of a recipe. A model file
    holds no rows, and none are needed: what is audited is its recipe with its settings, on synthetic
    data that is the worst for it, and the arithmetic of its statement. Caveats come first. Exits
    with 6 when a guarantee is refuted, and with 7 when a caveat voids it: a seed, or a plan without a
    proof.

    \b
    Examples:
      dpsparse audit dp_ight --runs 4000 --processes 2
      dpsparse audit model.json --json
      dpsparse audit --papers
    """
    if papers:
        if target is not None:
            raise Refusal("--papers takes no MODEL_OR_RECIPE. Leave one of them out.")

        show_papers(options["runs"], as_json, plot)
        return
    if target is None:
        raise Refusal("nothing was named. Give a model file or the name of a recipe, or --papers.")
    if plot is not None:
        raise Refusal("--plot belongs to --papers. Leave it out.")
    subject, about = _subject(target, options.pop("task"), options.pop("adjacency"))
    with progress(as_json) as visible:
        found = _examined(subject, visible, as_json, **options)
    if as_json:
        print_json({**found.to_dict(), "audited": about})
    else:
        for caveat in found.caveats:
            echo(f"CAVEAT: {caveat}.")
        echo(f"Audited: {about}")
        echo(replace(found, caveats=()))
    if found.violated:
        raise Violated(f"the audit of {target} found a violation.")
    if found.void:
        raise NoPromise(f"{target} carries no guarantee: {found.caveats[0]}.")


def _subject(target: str, task: str, adjacency: str) -> tuple[SparseLinear, str]:
    """What to audit, and in words what that is."""
    from .. import SparseClassifier, SparseRegressor, load, recipes
    from ..estimators.summary import survives

    if Path(target).suffix.lower() == ".json" or Path(target).is_file():
        model = load(target)
        if survives(model):
            raise Refusal("survival models are not audited yet. An audit takes a classifier, a regressor or a recipe.")
        about = (
            f"recipe {model.statement_.recipe!r} with the bounds, loss and settings recorded in "
            f"{target}, on synthetic data, and "
            "the statement's arithmetic. Not audited: the fit that was made, its data, and who ran it."
        )
        return model, about
    recipe = recipes.make(target)
    shared: dict[str, Any] = {
        "recipe": recipe,
        "feature_bound": 1.0,
        "adjacency": adjacency,
        "accept": tuple(recipe.needs),
    }
    model = SparseClassifier(**shared) if task == "classification" else SparseRegressor(target_bound=1.0, **shared)
    return model, f"recipe {target!r} as installed here, {task}, features in [-1, 1], on synthetic data."


def _examined(subject: SparseLinear, visible: bool, quiet: bool, *, runs: int | None, **options: Any) -> AuditResult:
    from ..audit import examine

    def estimated(seconds: float) -> None:
        if not quiet:
            echo(f"This will take about {_duration(seconds)}.", err=True)

    runs = 2000 if runs is None else runs
    if not visible:
        return examine(subject, runs=runs, on_estimate=estimated, **options)
    from rich.progress import Progress

    with Progress() as bar:
        task = bar.add_task("auditing", total=1.0)
        return examine(
            subject,
            runs=runs,
            on_estimate=estimated,
            on_part=lambda part: bar.update(task, completed=part),
            **options,
        )


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


#: The folder that holds the package in a source tree, and the museum beside it.
TREE = Path(__file__).resolve().parents[3]
MUSEUM = Path("benchmarks", "as_published", "__main__.py")


def show_papers(runs: int | None, as_json: bool, plot: Path | None) -> None:
    """Audit what was published, print a table or JSON, and draw claimed against true if a file is given."""
    if plot is not None:
        check_file(plot, "--plot")
    if not (TREE / MUSEUM).is_file():
        raise Refusal(
            "the published mechanisms are kept out of the installed package, in "
            "benchmarks/as_published of its source tree. "
            "Run --papers from a checkout (make setup installs one)."
        )
    command = [sys.executable, "-m", "benchmarks.as_published"]
    command += [] if runs is None else ["--runs", str(runs)]
    command += ["--json"] if as_json else []
    command += [] if plot is None else ["--plot", str(plot.resolve())]
    with progress(quiet=as_json) as visible, waiting("auditing what was published", visible):
        done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=False)
    echo(done.stdout, nl=False)
    if not done.stdout:
        raise Refusal(f"the audit of what was published did not end: {done.stderr.strip().splitlines()[-1:]}")
