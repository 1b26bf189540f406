"""Runs of a study, in processes, and their results: kept line by line, and summed up with standard errors."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ...core import DataError
from ...core.plain import to_json
from .study import GRID, ON_CURVE, Cell, Study, StudyClaim

#: Packages whose versions decide about a result.
PACKAGES = ("dpsparse", "numpy", "scipy", "scikit-learn", "randomgen", "numba")
#: Differences within this number of standard errors decide nothing, where there are many pairs; see `allowance`.
ERRORS = 2.0


def machine() -> dict[str, str]:
    """Versions and facts of the machine that results depend on."""
    found = {"python": platform.python_version(), "processor": platform.machine(), "cores": str(os.cpu_count())}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class Results:
    """Errors of the cells that were run."""

    study: str
    errors: Mapping[Cell, Mapping[str, float]]
    machine: Mapping[str, str] = field(default_factory=machine)
    scale: str = "full"

    def best_at(self, data: str, method: str, epsilon: float, metric: str) -> float:
        """The place (a grid point) with the smallest mean: chosen by the errors that are shown, hence optimistic."""
        found: dict[float, list[float]] = {}
        for cell, errors in self.errors.items():
            if (cell.data, cell.method, cell.epsilon) == (data, method, epsilon) and metric in errors:
                found.setdefault(cell.at, []).append(errors[metric])
        usable = {at: float(np.mean(values)) for at, values in found.items() if np.isfinite(values).all()}
        return min(usable, key=lambda at: (usable[at], at)) if usable else 0.0

    def values(self, data: str, method: str, epsilon: float, metric: str, at: float | None = 0.0) -> dict[int, float]:
        """Errors of one method by seed; at None, those of the best grid point."""
        at = self.best_at(data, method, epsilon, metric) if at is None else at
        runs = self._runs.get((data, method, epsilon, at), {})
        return {seed: found[metric] for seed, found in runs.items() if metric in found}

    @cached_property
    def _runs(self) -> dict[tuple[str, str, float, float], dict[int, Mapping[str, float]]]:
        """Errors by seed of every data, method, epsilon and place."""
        runs: dict[tuple[str, str, float, float], dict[int, Mapping[str, float]]] = {}
        for cell, found in sorted(self.errors.items(), key=lambda item: item[0]):
            runs.setdefault((cell.data, cell.method, cell.epsilon, cell.at), {})[cell.seed] = found
        return runs

    def rows(self) -> Iterator[dict[str, Any]]:
        """Means with their standard errors, one row for each method on each data at each epsilon."""
        groups: dict[tuple[str, str, float, float], list[Mapping[str, float]]] = {}
        for cell, found in sorted(self.errors.items()):
            groups.setdefault((cell.data, cell.method, cell.epsilon, cell.at), []).append(found)
        for (data, method, epsilon, at), runs in groups.items():
            for metric in dict.fromkeys(name for run in runs for name in run):
                there = [run[metric] for run in runs if metric in run]
                mean, error = mean_and_error(there)
                yield {
                    "data": data,
                    "method": method,
                    "epsilon": epsilon,
                    "at": at,
                    "metric": metric,
                    "mean": mean,
                    "standard_error": error,
                    "seeds": len(there),
                }

    def gap(self, claim: StudyClaim) -> tuple[float, float, int]:
        """Mean of the paired differences, worse less better, its standard error, and the number of pairs."""
        better, worse = (
            self.values(data, method, epsilon, claim.metric, at) for data, method, epsilon, at in claim.sides
        )
        seeds = sorted(better.keys() & worse.keys())
        if not seeds:
            return math.nan, math.nan, 0
        return *mean_and_error([worse[seed] - better[seed] for seed in seeds]), len(seeds)

    def verdict(self, claim: StudyClaim) -> str:
        """Whether a claim holds on paired seeds: "holds", "does not hold" or "undecided".

        It is undecided within two standard errors (`allowance`).
        """
        gap, error, pairs = self.gap(claim)
        if pairs < 2 or not math.isfinite(gap + error):
            return "undecided"
        within = allowance(pairs) * error
        if claim.on_par is None:
            return "holds" if gap > within else "does not hold" if gap < -within else "undecided"
        units = self.values(claim.data, claim.unit, math.inf, claim.metric)
        line = claim.on_par * mean_and_error(units.values())[0] if units else math.nan
        if abs(gap) + within < line:
            return "holds"
        return "does not hold" if abs(gap) - within > line else "undecided"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all runs as Parquet, with versions and facts of the machine."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        lines = [{**asdict(cell), **found} for cell, found in sorted(self.errors.items())]
        names = list(dict.fromkeys(name for line in lines for name in line))
        table = pa.table({name: [line.get(name) for line in lines] for name in names})
        facts = {"study": self.study, "private": "no: data and noise are seeded", "scale": self.scale, **self.machine}
        pq.write_table(table.replace_schema_metadata(facts), path, compression="zstd")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Results:
        """Results that `write` wrote."""
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        facts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        facts.pop("ARROW:schema", None)
        facts.pop("private", None)
        keys = Cell.__dataclass_fields__
        errors = {
            Cell(**{name: line[name] for name in keys}): {
                name: value for name, value in line.items() if name not in keys and value is not None
            }
            for line in table.to_pylist()
        }
        study, scale = facts.pop("study"), facts.pop("scale", "full")
        return cls(study, errors, facts, scale)


def allowance(pairs: int) -> float:
    """How many standard errors a difference may be off by chance.

    The number is 2 for many pairs, and for few pairs the one that is equally unlikely.

    That is Student's quantile with `pairs` - 1 degrees of freedom at the level that 2 has for the
    normal law: 14 for two pairs, 2.9 for five, 2.3 for ten.
    """
    from scipy.stats import norm, t

    return float(t.isf(norm.sf(ERRORS), pairs - 1))


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean, and its standard error; that of a single value is not known, and of none nothing."""
    found = np.asarray(list(values), dtype=float)
    if found.size == 0:
        return math.nan, math.nan
    error = float(found.std(ddof=1)) / math.sqrt(found.size) if found.size > 1 else math.nan
    return float(found.mean()), error


class Journal:
    """A file with one line for each run. A line that was cut off by a crash is left out, and its run is done again."""

    def __init__(self, path: Path, study: str) -> None:
        self.path, self.study = path, study

    def read(self) -> dict[Cell, dict[str, float]]:
        """What was done before."""
        if not self.path.exists():
            return {}
        found: dict[Cell, dict[str, float]] = {}
        for line in self.path.read_text().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry["study"] != self.study:
                raise DataError(f"{self.path} holds results of the study {entry['study']!r}. Choose another file.")
            cell = {**entry["cell"], "epsilon": float(entry["cell"]["epsilon"])}
            found[Cell(**cell)] = {name: math.nan if v is None else float(v) for name, v in entry["errors"].items()}
        return found

    def add(self, cell: Cell, errors: Mapping[str, float]) -> None:
        """Keep one result; it is on the disk when this returns."""
        self.add_all({cell: errors})

    def add_all(self, runs: Mapping[Cell, Mapping[str, float]]) -> None:
        """Keep several results; they are on the disk when this returns."""
        lines = ""
        for cell, errors in runs.items():
            held = {**asdict(cell), "epsilon": str(cell.epsilon)}
            entry = {"study": self.study, "cell": held, "errors": to_json(dict(errors))}
            lines += json.dumps(entry, allow_nan=False) + "\n"
        with self.path.open("a+b") as file:
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")  # the end of a line that was cut off
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())


def single_number_metrics(results: Results) -> list[str]:
    """Metrics that are one number for each run; points of curves are left out."""
    return [name for name in dict.fromkeys(row["metric"] for row in results.rows()) if ON_CURVE not in name]


def table(results: Results, metric: str, by: str | None = None) -> Iterator[str]:
    """One metric: a line for each method, a column for each epsilon; means with standard errors.

    Grids stand at the point that is best by the metric `by`, None: by the one that is shown.
    """
    rows = [row for row in results.rows() if row["metric"] == metric and _kept(results, row, by or metric)]
    for data in dict.fromkeys(row["data"] for row in rows):
        here = [row for row in rows if row["data"] == data]
        epsilons = sorted({row["epsilon"] for row in here})
        lines: dict[str, dict[float, str]] = {}
        for row in here:
            name = row["method"] + (f", at {row['at']:g}" if row["at"] and not row["method"].endswith(GRID) else "")
            lines.setdefault(name, {})[row["epsilon"]] = _number(row["mean"], row["standard_error"])
        width = max(len(name) for name in [*lines, data])
        yield f"{data:{width}s}  " + "  ".join(f"{'epsilon ' + format(e, 'g'):>16s}" for e in epsilons) + f"   {metric}"
        for name, cells in lines.items():
            yield f"{name:{width}s}  " + "  ".join(f"{cells.get(e, ''):>16s}" for e in epsilons)


def _number(mean: float, error: float) -> str:
    return f"{mean:8.4f} ± {error:5.4f}" if math.isfinite(error) else f"{mean:8.4f}         "


def _kept(results: Results, row: dict[str, Any], by: str) -> bool:
    """Whether a row is no grid point, or the best one."""
    if not row["method"].endswith(GRID):
        return True
    return bool(row["at"] == results.best_at(row["data"], row["method"], row["epsilon"], by))


def verdicts(results: Results, claims: Sequence[StudyClaim]) -> Iterator[str]:
    """One line for each claim about which there are runs."""
    for claim in claims:
        if results.gap(claim)[2]:
            yield f"{claim}: {results.verdict(claim)}"


# ------------------------------------------------------------------------------------------------ runs

#: Threads of the numerical libraries in a process of its own: one, since there is a process for each core.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
#: Cells that one process runs before it hands in their results: as many are lost at most where it is killed.
TOGETHER = 40


def run_study(
    study: Study,
    journal: str | os.PathLike[str],
    *,
    processes: int = 1,
    prepare: Sequence[Path] = (),
    tell: Callable[[int, int], None] | None = None,
) -> Results:
    """Run the cells of a study that are not in the journal yet.

    Parameters
    ----------
    study : Study
    journal : path
        Where results are kept as they come; a run that was killed goes on from it.
    processes : int
        How many cells run at a time, each in a process with one thread. 1: all in this process.
    prepare : sequence of Path
        Python files that every process runs first: they register recipes.
    tell : callable, or None
        Told how many cells are done, and how many there are.

    Returns
    -------
    Results
        Those of all cells of the study. Results of other cells in the journal are left out.
    """
    kept = Journal(Path(journal), getattr(study, "runs", study.name))
    done = kept.read()
    cells = list(study.cells())
    left = [cell for cell in cells if cell not in done]
    before = len(cells) - len(left)
    for number, (cell, errors) in enumerate(_each(study, left, processes, tuple(prepare)), start=1):
        kept.add(cell, errors)
        done[cell] = errors
        if tell is not None:
            tell(before + number, len(cells))
    return Results(study.name, {cell: done[cell] for cell in cells}, scale=getattr(study, "scale", "full"))


def _each(
    study: Study, cells: Sequence[Cell], processes: int, prepare: tuple[Path, ...]
) -> Iterator[tuple[Cell, dict[str, float]]]:
    """Runs in the order in which they end."""
    if processes == 1:
        _set_up(prepare)
        for cell in cells:
            yield cell, _run(study, cell)
        return
    kept = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)  # children take them over when they start
    try:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, context, initializer=_set_up, initargs=(prepare,)) as pool:
            runs = [pool.submit(_run_all, study, group) for group in _groups(cells, processes)]
            try:
                for run in as_completed(runs):
                    yield from run.result()
            finally:
                pool.shutdown(cancel_futures=True)  # a caller that stops early does not wait for the rest
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _groups(cells: Sequence[Cell], processes: int) -> Iterator[list[Cell]]:
    """Cells on the same data with the same seed, which stand one after the other.

    A process that has made the data runs several of them.
    """
    most = max(1, min(TOGETHER, len(cells) // (4 * processes)))
    for _, same in groupby(cells, key=lambda cell: (cell.data, cell.seed)):
        together = list(same)
        yield from (together[start : start + most] for start in range(0, len(together), most))


def _run_all(study: Study, cells: Sequence[Cell]) -> list[tuple[Cell, dict[str, float]]]:
    return [(cell, _run(study, cell)) for cell in cells]


def _set_up(files: tuple[Path, ...]) -> None:
    from .own import register_file

    for file in files:
        register_file(file)


def _run(study: Study, cell: Cell) -> dict[str, float]:
    from ...core.errors import HopelessFitWarning, NonPrivateRandomnessWarning, RepeatedFitWarning

    with warnings.catch_warnings():
        for kind in (NonPrivateRandomnessWarning, HopelessFitWarning, RepeatedFitWarning):
            warnings.simplefilter("ignore", kind)
        return study.run(cell)
