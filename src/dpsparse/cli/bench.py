"""``dpsparse bench``: compare methods with seeds, on public or synthetic data."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .exits import Refusal
from .options import EPSILON, FILE, Numbers, ShortHelp, delta_option, json_option, target_option
from .output import check_file, check_folder, echo, print_json, progress, telling, writing
from .settings import set_fields

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..report.bench import Results, Scale, ScaledStudy, Study


#: Options that `--help` shows.
USUAL = (
    "--list",
    "--data",
    "--recipe",
    "--target",
    "--task",
    "--epsilon",
    "--sparsity",
    "--row-norm",
    "--feature-bound",
    "--target-bound",
    "--seeds",
    "--out",
    "--json",
)


@click.command(cls=ShortHelp, usual=USUAL)
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="List the studies of the source tree.")
@click.option(
    "--scale",
    type=click.Choice(["quick", "full"]),
    default="full",
    show_default=True,
    help="With NAME: few seeds and budgets, or all. What the quick scale ran is not run again by the full one.",
)
@click.option("--plot", type=FILE, help="With NAME: draw the study's figure to this SVG file.")
@click.option("--recipe", "methods", multiple=True, help="With --data: a recipe, or a Python file that registers some.")
@click.option(
    "--set",
    "fields",
    multiple=True,
    metavar="[RECIPE.]FIELD=VALUE",
    help="With --data: set a field of one recipe, or of every recipe that has it; may be repeated.",
)
@click.option("--data", type=FILE, help="Public data to compare on, as dpsparse fit reads it.")
@target_option
@click.option("--task", type=click.Choice(["classification", "regression"]), help="What is predicted.")
@click.option("--epsilon", "epsilons", type=EPSILON, multiple=True, help="May be repeated. Default: 0.5, 1, 2, 4.")
@delta_option
@click.option("--sparsity", type=int, help="At most this many nonzero coefficients. Default: the recipe decides.")
@click.option("--row-norm", type=float, help="Public bound: rows are clipped to this l2 norm.")
@click.option("--feature-bound", type=Numbers(), help="Public bound: entries are clipped to [-b, b] or [lo, hi].")
@click.option("--target-bound", type=float, help="Regression: the target is clipped to [-b, b].")
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="With --data: splits and noises.")
@click.option("--processes", type=click.IntRange(1), help="Runs at a time. Default: one for each core.")
@click.option("--out", type=FILE, default=Path("out"), show_default=True, help="Folder for results.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
@json_option
def bench(
    name: str | None,
    listed: bool,
    scale: Scale,
    plot: Path | None,
    methods: tuple[str, ...],
    fields: tuple[str, ...],
    data: Path | None,
    target: str | None,
    task: str | None,
    epsilons: tuple[float, ...],
    delta: float | None,
    sparsity: int | None,
    row_norm: float | None,
    feature_bound: float | tuple[float, float] | None,
    target_bound: float | None,
    seeds: int,
    processes: int | None,
    out: Path,
    quiet: bool,
    as_json: bool,
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
    """
    from ..report.bench.study import find_study, studies

    if listed:
        known = {one: study.title for one, study in studies().items()}
        if as_json:
            print_json({"studies": known})
        elif not known:
            echo("The studies of the papers stand in benchmarks/papers of the source tree; run this in a clone of it.")
        for one, title in ({} if as_json else known).items():
            echo(f"{one}  {title}")
        return
    if (name is None) == (data is None):
        raise Refusal("give the name of a study, or --recipe and --data. dpsparse bench --list shows the studies.")
    if fields and name is not None:
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
        assert data is not None
        settings: dict[str, object] = {
            "delta": delta,
            "sparsity": sparsity,
            "row_norm": row_norm,
            "feature_bound": feature_bound,
        }
        if target_bound is not None:
            settings["target_bound"] = target_bound
        study, prepare = _own(data, target, task, methods, fields, epsilons or (0.5, 1.0, 2.0, 4.0), seeds, settings)
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
    _print(study, results, table, as_json)


def _own(
    data: Path,
    target: str | None,
    task: str | None,
    methods: tuple[str, ...],
    fields: tuple[str, ...],
    epsilons: tuple[float, ...],
    seeds: int,
    settings: dict[str, object],
) -> tuple[Study, list[Path]]:
    from .. import recipes
    from ..report.bench.own import OwnData, register_file

    if not data.is_file():
        raise Refusal(f"there is no file {data}.")
    if task is None:
        raise Refusal("Missing option '--task': classification or regression.")
    if not methods:
        raise Refusal("Missing option '--recipe': a recipe of dpsparse recipes, or a Python file that registers one.")
    if settings["row_norm"] is None and settings["feature_bound"] is None:
        raise Refusal("no bound on the features was given. Declare --row-norm or --feature-bound.")
    if task == "regression" and "target_bound" not in settings:
        raise Refusal("no bound on the target was given. Declare --target-bound.")
    if any(epsilon <= 0 for epsilon in epsilons):
        raise Refusal("--epsilon must be above 0.")
    files, names = [], []
    for method in methods:
        if method.endswith(".py"):
            files.append(Path(method).resolve())
            names += register_file(files[-1])
        else:
            names.append(recipes.get(method).name)
    chosen = tuple(dict.fromkeys(names))
    made = _with_fields(chosen, fields)
    study = OwnData(data, chosen, tuple(epsilons), seeds, task, settings, target, files=tuple(files), made=made)
    return study, files


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

    known = {method: {field.name for field in dataclasses.fields(recipes.get(method))} for method in methods}
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
