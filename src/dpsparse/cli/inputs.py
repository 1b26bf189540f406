"""Data for a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exits import Refusal
from .output import telling, waiting

if TYPE_CHECKING:
    from ..io.files import Table
    from ..io.rows import FileRows
    from ..rows.hosts import ClusterRows


def input_kind(path: Path) -> str | None:
    """What kind of file an ending stands for."""
    from ..io.streams import KINDS

    return KINDS.get(path.suffix.lower())


def read(path: Path, visible: bool, **options: Any) -> Table:
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


def stays_in_files(path: Path, memory_limit: str | None, target: str | None = None) -> bool:
    """Whether rows are read in blocks: within a limit, from several files, or from files that are made for it."""
    if path.suffix.lower() == ".npy" and target is not None and target.isdecimal() and memory_limit is None:
        return False  # a table with its target among the columns is read whole
    from ..io.rows import BLOCKS

    several = has_magic(str(path)) and not path.exists()
    return memory_limit is not None or several or path.suffix.lower() in (BLOCKS, ".npy")


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
