"""Results of a study: kept line by line while it runs, and summed up with standard errors."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ..plain import plain
from ..privacy import DataError
from .study import Cell, Claim

#: Packages whose versions decide about a result.
PACKAGES = ("dpsparse", "numpy", "scipy", "scikit-learn", "randomgen", "numba")
#: Differences within so many standard errors decide nothing.
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

    def values(self, data: str, method: str, epsilon: float, metric: str, at: float = 0.0) -> dict[int, float]:
        """Errors of one method by seed."""
        return {
            cell.seed: found[metric]
            for cell, found in sorted(self.errors.items())
            if (cell.data, cell.method, cell.epsilon, cell.at) == (data, method, epsilon, at) and metric in found
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Means with their standard errors, one row for each method on each data at each epsilon."""
        groups: dict[tuple[str, str, float, float], list[Mapping[str, float]]] = {}
        for cell, found in sorted(self.errors.items()):
            groups.setdefault((cell.data, cell.method, cell.epsilon, cell.at), []).append(found)
        for (data, method, epsilon, at), runs in groups.items():
            for metric in runs[0]:
                mean, error = mean_and_error([run[metric] for run in runs])
                yield {
                    "data": data,
                    "method": method,
                    "epsilon": epsilon,
                    "at": at,
                    "metric": metric,
                    "mean": mean,
                    "standard_error": error,
                    "seeds": len(runs),
                }

    def verdict(self, claim: Claim) -> str:
        """Whether a claim holds on paired seeds: "holds", "does not hold", or "undecided" within two standard errors."""
        better, worse = (
            self.values(claim.data, method, claim.epsilon, claim.metric, claim.at)
            for method in (claim.better, claim.worse)
        )
        seeds = sorted(better.keys() & worse.keys())
        if len(seeds) < 2:
            return "undecided"
        gap, error = mean_and_error([worse[seed] - better[seed] for seed in seeds])
        return "holds" if gap > ERRORS * error else "does not hold" if gap < -ERRORS * error else "undecided"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all runs as Parquet, with versions and facts of the machine."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        lines = [{**asdict(cell), **found} for cell, found in sorted(self.errors.items())]
        names = list(dict.fromkeys(name for line in lines for name in line))
        table = pa.table({name: [line.get(name) for line in lines] for name in names})
        facts = {"study": self.study, "private": "no: data and noise are seeded", **self.machine}
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
        return cls(facts.pop("study"), errors, facts)


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean, and its standard error; that of a single value is not known."""
    found = np.asarray(list(values), dtype=float)
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
        held = {**asdict(cell), "epsilon": str(cell.epsilon)}
        line = json.dumps({"study": self.study, "cell": held, "errors": plain(dict(errors))}, allow_nan=False)
        with self.path.open("a+b") as file:
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")  # the end of a line that was cut off
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
