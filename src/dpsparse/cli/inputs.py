"""Data for a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import Refusal
from .options import together
from .output import telling, waiting

if TYPE_CHECKING:
    from ..io.files import Table
    from ..io.rows import FileRows
    from ..io.tabular import CsvForm
    from ..rows.hosts import ClusterRows

#: How a CSV file is written; `csv_form` reads them.
csv_options = together(
    click.option("--delimiter", help="What separates the cells of a CSV file: ';', '|' or tab. Default: ','."),
    click.option("--encoding", help="Encoding of a CSV file, such as cp1252. Default: utf-8."),
)
#: For files of genomics.
sample_options = together(
    click.option(
        "--covariates", help="PLINK: a table with a column IID. AnnData: columns of obs, separated by commas."
    ),
    click.option("--fill", type=float, help="PLINK, AnnData: public value in place of a missing genotype or entry."),
)


def csv_form(delimiter: str | None, encoding: str | None) -> CsvForm:
    """How a CSV file is written, from the options."""
    from ..io.tabular import CsvForm

    try:
        return CsvForm(delimiter or ",", encoding or "utf-8")
    except ValueError as error:
        raise Refusal(f"--delimiter, --encoding: {error}") from None


def input_kind(path: Path) -> str | None:
    """What kind of file an ending stands for."""
    from ..io.streams import KINDS

    return KINDS.get(path.suffix.lower())


def has_samples(path: Path) -> bool:
    """Whether a file has a table about its samples beside the features."""
    from ..io.streams import SAMPLES

    return input_kind(path) in SAMPLES


def read_input(path: Path, visible: bool, **options: Any) -> Table:
    """Read a file, as `dpsparse.io.files.read_table` does.

    What is missing or no number becomes NaN; models decide about it.
    """
    from ..io.files import read_table

    with waiting(f"reading {path}", visible):
        return read_table(path, **options)


def need_target(path: Path, target: str | None) -> None:
    """Refuse a table without the name of its target."""
    if target is None and input_kind(path) in ("CSV", "Parquet"):
        raise Refusal("no target was named. Give its column with --target.")


def refuse_undescribed(path: Path, options: dict[str, Any]) -> None:
    """Refuse a table without bounds: say how to describe its columns, or how to bound numbers."""
    if input_kind(path) not in ("CSV", "Parquet"):
        return
    if options["feature_bound"] is None and options["row_norm"] is None:
        raise Refusal(
            f"no bound on the features was given. If {path.name} has text, dates, categories or missing values, "
            f"describe its columns: dpsparse dictionary new {path}, fill in the file that this writes, and give it "
            "with --dictionary. If all features are numbers, declare --feature-bound or --row-norm, from a codebook or "
            "physical limits and not from this data."
        )


def stays_in_files(path: Path, memory_limit: str | None, target: str | None = None) -> bool:
    """Whether rows are read in blocks: within a limit, from several files, or from files that are made for it."""
    if path.suffix.lower() == ".npy" and target is not None and target.isdecimal() and memory_limit is None:
        return False  # a table with its target among the columns is read whole
    from ..io.rows import BLOCKS

    several = has_magic(str(path)) and not path.exists()
    made_for_it = path.suffix.lower() in (BLOCKS, ".npy") or has_samples(path)
    return memory_limit is not None or several or made_for_it


@contextmanager
def cluster_input(path: Path, address: str, visible: bool, **options: Any) -> Iterator[ClusterRows]:
    """Rows in files, as workers of a cluster read them; they are let go at the end."""
    from ..io.cluster import open_cluster
    from ..rows.hosts.clusters import cluster_of

    with cluster_of(address) as cluster:
        with waiting(f"reading {path} on the cluster", visible):
            rows = open_cluster(str(path), cluster=cluster, **options)
        yield rows


def open_input(path: Path, visible: bool, **options: Any) -> FileRows:
    """Rows in files, as `dpsparse.readers.open_rows` opens them."""
    from ..io.rows import open_rows

    with telling(f"reading {path}", visible) as tell:
        return open_rows(path, **options, tell=tell)
