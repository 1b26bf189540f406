"""``dpsparse bench``: compare methods with seeds, on public or synthetic data."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from .exits import Refusal
from .options import Count, Delta, Epsilon, Numbers, Task, command
from .output import check_file, check_folder, echo, print_json, progress, telling, writing
from .settings import set_fields

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..report.bench import Results, ScaledStudy, Study


@dataclass(frozen=True, kw_only=True)
class OwnOptions:
    """Recipes that are compared on a file of public data.

    Parameters
    ----------
    recipe
        With --data: a recipe, or a Python file that registers some.
    set_ : [RECIPE.]FIELD=VALUE
        With --data: set a field of one recipe, or of every recipe that has it; may be repeated.
    data
        Public data to compare on, as dpsparse fit reads it.
    task
        What is predicted.
    epsilon
        May be repeated. Default: 0.5, 1, 2, 4.
    target_bound
        Regression: the target is clipped to [-b, b].
    seeds
        With --data: splits and noises.
    """

    recipe: tuple[str, ...] = ()
    set_: tuple[str, ...] = ()
    data: Path | None = None
    target: str | None = None
    task: Task | None = None
    epsilon: tuple[Epsilon, ...] = ()
    delta: Delta | None = None
    sparsity: int | None = None
    row_norm: float | None = None
    feature_bound: Numbers | None = None
    target_bound: float | None = None
    seeds: Count = 10

    def study(self) -> tuple[Study, list[Path]]:
        """The comparison, and the files that register recipes."""
        from .. import recipes
        from ..report.bench.own import OwnData, register_file

        if self.data is None or not self.data.is_file():
            raise Refusal(f"there is no file {self.data}.")
        if self.task is None:
            raise Refusal("Missing option '--task': classification or regression.")
        if not self.recipe:
            raise Refusal(
                "Missing option '--recipe': a recipe of dpsparse recipes, or a Python file that registers one."
            )
        if self.row_norm is None and self.feature_bound is None:
            raise Refusal("no bound on the features was given. Declare --row-norm or --feature-bound.")
        if self.task == "regression" and self.target_bound is None:
            raise Refusal("no bound on the target was given. Declare --target-bound.")
        files, names = [], []
        for method in self.recipe:
            if method.endswith(".py"):
                files.append(Path(method).resolve())
                names += register_file(files[-1])
            else:
                names.append(recipes.get(method).name)
        chosen = tuple(dict.fromkeys(names))
        taken = ("delta", "sparsity", "row_norm", "feature_bound")
        settings: dict[str, object] = {name: getattr(self, name) for name in taken}
        if self.target_bound is not None:
            settings["target_bound"] = self.target_bound
        made, epsilons = _with_fields(chosen, self.set_), self.epsilon or (0.5, 1.0, 2.0, 4.0)
        declared = self.data, chosen, epsilons, self.seeds, self.task, settings, self.target
        return OwnData(*declared, files=tuple(files), made=made), files


@command(usual="list data recipe target task epsilon sparsity row-norm feature-bound target-bound seeds out json")
def bench(
    name: str | None = None,
    *,
    list_: bool = False,
    scale: Literal["quick", "full"] = "full",
    plot: Path | None = None,
    own: OwnOptions,
    processes: Count | None = None,
    out: Path = Path("out"),
    quiet: bool = False,
    json_: bool = False,
) -> None:
    """Run the study NAME of the source tree, or compare recipes on a file of public data.

    Data, splits and noise are seeded: nothing that comes out is private. Results are kept as they come: a run that was
    stopped goes on where it was.

    \b
    Examples:
      dpsparse bench --list
      dpsparse bench 000-figure-1 --scale quick --plot figure.svg
      dpsparse bench --recipe mine.py --recipe dp_ight --recipe auto --data mine.npz \\
          --task regression --feature-bound 1 --target-bound 2 --sparsity 5
      dpsparse bench --recipe dp_ight --recipe dp_ight@paper --set dp_ight@paper.steps=20 --data mine.npz \\
          --task classification --row-norm 1

    Parameters
    ----------
    list_
        List the studies of the source tree.
    scale
        With NAME: few seeds and budgets, or all. What the quick scale ran is not run again by the full one.
    plot
        With NAME: draw the study's figure to this SVG file.
    processes
        Runs at a time. Default: one for each core.
    out
        Folder for results.
    quiet
        No progress bar.
    """
    from ..report.bench.study import find_study

    if list_:
        _print_studies(json_)
        return
    if (name is None) == (own.data is None):
        raise Refusal("give the name of a study, or --recipe and --data. dpsparse bench --list shows the studies.")
    if own.set_ and name is not None:
        raise Refusal("--set belongs to --recipe and --data. A study NAME has settings of its own.")
    if plot is not None and name is None:
        raise Refusal("--plot draws the figure of a study NAME; results on data of one's own have none.")
    prepare: list[Path] = []
    study: Study
    if name is not None:
        named = find_study(name).at_scale(scale)
        study, runs = named, named.runs
        _check_data(named)
    else:
        study, prepare = own.study()
        runs = study.name
    out.mkdir(exist_ok=True)
    check_folder(out)
    journal, table = out / f"{runs}.jsonl", out / f"{study.name}.parquet"
    check_file(table)
    if plot is not None:
        check_file(plot, "--plot")
    results = _run(study, journal, processes or os.cpu_count() or 1, prepare, quiet)
    with writing(table):
        results.write(table)
    if plot is not None and name is not None:
        with writing(plot, "--plot"):
            named.draw(results, plot)
    _print(study, results, table, json_)


def _print_studies(as_json: bool) -> None:
    from ..report.bench.study import studies

    known = {one: study.title for one, study in studies().items()}
    if as_json:
        print_json({"studies": known})
        return
    if not known:
        echo("The studies of the papers stand in benchmarks/papers of the source tree; run this in a clone of it.")
    for one, title in known.items():
        echo(f"{one}  {title}")


def _check_data(study: ScaledStudy) -> None:
    """Say which files are missing; without any data there is nothing to run."""
    missing = study.missing()
    listed = "".join(f"\n  {line}" for line in missing)
    if not study.cells():
        raise Refusal(
            f"{study.name} has no runs, since its data are missing. Set DPSPARSE_DATA to a folder with:{listed}"
        )
    if missing:
        click.echo(f"Left out, since DPSPARSE_DATA has no such file:{listed}", err=True)


def _with_fields(methods: tuple[str, ...], given: tuple[str, ...]) -> dict[str, Recipe]:
    """The recipes with fields that were set."""
    from .. import recipes

    known = {method: {field.name for field in fields(recipes.get(method))} for method in methods}
    wanted: dict[str, list[str]] = {}
    for text in given:
        place, sign, value = text.partition("=")
        of, _, field = place.rpartition(".")
        if of and of not in known:
            raise Refusal(f"--set {place}: {of!r} is not among the recipes that are compared: {', '.join(methods)}.")
        takers = [of] if of else [method for method in methods if field in known[method]]
        if not takers:
            raise Refusal(f"no recipe that is compared has a field {field!r}.")
        for method in takers:
            wanted.setdefault(method, []).append(f"{field}{sign}{value}")
    return {method: recipes.make(set_fields(method, texts, None)) for method, texts in wanted.items()}


def _run(study: Study, journal: Path, processes: int, prepare: list[Path], quiet: bool) -> Results:
    from ..report.bench import run_study

    with progress(quiet) as visible, telling(study.name, visible) as tell:
        told = None if tell is None else (lambda done, all_cells: tell(done / all_cells))
        return run_study(study, journal, processes=processes, prepare=prepare, tell=told)


def _print(study: Study, results: Results, table: Path, as_json: bool) -> None:
    from ..report.bench.results import single_number_metrics, verdicts
    from ..report.bench.results import table as lines

    if as_json:
        decided = {str(claim): results.verdict(claim) for claim in study.claims() if results.gap(claim)[2]}
        print_json({"study": study.name, "private": False, "rows": list(results.rows()), "verdicts": decided})
        return
    echo(f"{study.title}. Data and noise are seeded: NOT private.")
    for metric in single_number_metrics(results):
        echo("")
        for line in lines(results, metric, getattr(study, "metric", None)):
            echo(line)
    echo("")
    for line in verdicts(results, study.claims()):
        echo(line)
    echo(f"All runs are in {table}.")
