"""``dpsparse audit``: attack a recipe, or the recipe and settings of a saved model, on this machine."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from .exits import NoPromise, Refusal, Violated
from .options import Count, Neighbours, Task, command
from .output import check_file, echo, print_json, progress, telling, waiting

if TYPE_CHECKING:
    from ..audit.result import AuditResult
    from ..estimators.linear import SparseLinear


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """What `examine` does, by the names of its arguments.

    Parameters
    ----------
    runs
        Answers in each of two worlds, for every attack. Default: 2000.
    fits
        Whole fits in each world. Default: half of --runs; 0 for none.
    processes
        Share the work among these.
    n_rows
        Rows of the synthetic data sets. Default: 30.
    n_features
        Features of the synthetic data sets. Default: 5.
    seed
        For tests: reproducible noise. Without it noise is drawn as in real fits.
    """

    runs: Annotated[int, click.IntRange(min=8)] | None = None
    fits: Annotated[int, click.IntRange(min=0)] | None = None
    processes: Count = 1
    n_rows: Annotated[int, click.IntRange(min=4)] | None = None
    n_features: Count | None = None
    seed: int | None = None


@command()
def audit(
    model_or_recipe: str | None = None,
    *,
    attack: AuditOptions,
    task: Task = "regression",
    adjacency: Neighbours = "replace-one",
    papers: bool = False,
    plot: Path | None = None,
    json_: bool = False,
) -> None:
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

    Parameters
    ----------
    task
        How a recipe is used; a model knows.
    adjacency
        Which data sets count as neighbours; a model knows.
    papers
        Audit the mechanisms that papers published, beside ours.
    plot
        With --papers: draw claimed against true to this file.
    """
    target = model_or_recipe
    if papers:
        if target is not None:
            raise Refusal("--papers takes no MODEL_OR_RECIPE. Leave one of them out.")

        show_papers(attack.runs, json_, plot)
        return
    if target is None:
        raise Refusal("nothing was named. Give a model file or the name of a recipe, or --papers.")
    if plot is not None:
        raise Refusal("--plot belongs to --papers. Leave it out.")
    subject, about = _subject(target, task, adjacency)
    with progress(json_) as visible:
        found = _examined(subject, visible, json_, attack)
    if json_:
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
            f"recipe {model.statement_.recipe!r} with the bounds, loss and settings recorded in {target}, on synthetic "
            "data, and the statement's arithmetic. Not audited: the fit that was made, its data, and who ran it."
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


def _examined(subject: SparseLinear, visible: bool, quiet: bool, attack: AuditOptions) -> AuditResult:
    from ..audit import examine

    def estimated(seconds: float) -> None:
        if not quiet:
            echo(f"This will take about {_duration(seconds)}.", err=True)

    with telling("auditing", visible) as tell:
        options = {**vars(attack), "runs": attack.runs or 2000}
        return examine(subject, on_estimate=estimated, on_part=tell, **options)


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
            "the published mechanisms are kept out of the installed package, in benchmarks/as_published of its source "
            "tree. Run --papers from a checkout (make setup installs one)."
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
