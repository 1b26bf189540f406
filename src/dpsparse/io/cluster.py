"""Rows on a cluster: files that workers read themselves, frames of an engine, and tables with a data dictionary.

Guarantee
---------
The driver reads names and, of block files, how many rows a block has. Rows and targets are read where
they shall be, by the readers of `open_rows` and of tables: the same numbers, and the same refusals,
which quote nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from ..rows.hosts import ClusterRows, clusters
from ..rows.hosts.checksums import file_stamp
from ..rows.hosts.cluster_rows import gather_arrays
from ..rows.hosts.worker import RawPart, Rows
from .dictionary import Dictionary, TableEncoder, Target
from .files import encoded_blocks, header
from .labels import TargetPart, joined_targets
from .rows import FileRows, Paths, expand, files_kind, open_files
from .tabular import ReadOptions

#: Parts of block files for each worker, so that all have work until the end.
PARTS_PER_WORKER = 4


def open_cluster(
    X: object,
    target: str | None = None,
    *,
    cluster: object = None,
    dictionary: Dictionary | str | Path | None = None,
    n_features: int | None = None,
    columns: Sequence[str] | None = None,
    zero_based: bool = False,
    classes: Sequence[object] | None = None,
) -> ClusterRows:
    """Rows that stand on a cluster, or are read there, for `fit`, `PrivateScaler`, `PrivateSearch` and `private_score`.

    Parameters
    ----------
    X : paths as `open_rows` takes them, Dask array or frame, or Spark frame
        Every file is a part; block files (``.dpsrows``) are cut into several. Workers must find the
        files under the same names.
    target : str or None
        Column of the target; with a dictionary it says so itself.
    cluster : Client of Dask or SparkSession, optional
        Needed for files; default: the running client.
    dictionary : Dictionary or its file, optional
        Of a frame, or of CSV and Parquet files: each part is encoded where it is, and brings its
        bounds along.
    n_features, columns, zero_based, classes
        Of files, as in `open_rows`.
    """
    if isinstance(X, str | os.PathLike | list | tuple):
        if dictionary is None:
            return _open_files(X, ReadOptions(target, n_features, columns, zero_based, classes), cluster)
        if target is not None or n_features is not None or columns is not None:
            raise DataError("the dictionary says which columns there are. Leave target, n_features and columns out.")
        return _open_tables(X, _complete(dictionary), cluster)
    if dictionary is None:
        rows, left = clusters.open_cluster_rows(X, target, cluster)
        if not isinstance(rows, ClusterRows):
            raise DataError(
                f"there is no engine for rows of type {type(X).__name__}. Give files, or a frame of Dask or Spark."
            )
        assert left is None
        return rows
    found = _complete(dictionary)
    encoder = _encoder(found)
    rows, _ = clusters.open_cluster_rows(
        X, None, cluster, partial(EncodedPart, encoder=encoder, target=Target.of(found))
    )
    if not isinstance(rows, ClusterRows):
        raise DataError(f"there is no engine for rows of type {type(X).__name__}. Give a frame of Dask or Spark.")
    return _named(rows, encoder)


def _complete(dictionary: Dictionary | str | Path) -> Dictionary:
    """A dictionary without gaps, which was read if it is a file."""
    return (dictionary if isinstance(dictionary, Dictionary) else Dictionary.read(dictionary)).require()


def _encoder(dictionary: Dictionary) -> TableEncoder:
    """It learns nothing, and so it is fitted without rows."""
    return TableEncoder(dictionary).fit({column.name: [] for column in dictionary.features})


def _named(rows: ClusterRows, encoder: TableEncoder) -> ClusterRows:
    """Encoded rows with their names and bounds."""
    return replace(rows, names=tuple(encoder.get_feature_names_out().tolist()), dpsparse_bounds=encoder.output_bounds())


def _open_tables(paths: Paths, dictionary: Dictionary, cluster: object) -> ClusterRows:
    """Every file is a part. Names of columns are compared with the dictionary here."""
    files, encoder, target = expand(paths), _encoder(dictionary), Target.of(dictionary)
    for path in files:
        problems = dictionary.differences(header(path), ("feature", "target"))
        if problems:
            raise DataError("\n".join(f"{path}: {problem}" for problem in problems))
    parts = [TableFile(path, encoder, target) for path in files]
    return _named(clusters.open_parts(parts, gather_arrays, cluster), encoder)


def _open_files(paths: Paths, wanted: ReadOptions, cluster: object) -> ClusterRows:
    files = expand(paths)
    parts = [FilePart(path, wanted) for path in files]
    if files_kind(files) == "block":
        parts = _cut(files, wanted, PARTS_PER_WORKER * clusters.count_workers(cluster))
    return clusters.open_parts(parts, partial(gather_pieces, files[0]), cluster)


def _cut(files: Sequence[Path], wanted: ReadOptions, count: int) -> list[FilePart]:
    """Blocks of all files in about `count` parts of about the same number of entries."""
    sizes = [open_files([path], ReadOptions()).parts[0].table["entries"].astype(np.int64) for path in files]
    each = max(1, sum(int(size.sum()) for size in sizes) // max(1, count))
    parts = list[FilePart]()
    for path, size in zip(files, sizes, strict=True):
        ends = np.flatnonzero(np.diff(np.cumsum(size) // each)) + 1
        edges = [0, *ends.tolist(), size.size]
        parts += [FilePart(path, wanted, (a, b)) for a, b in pairwise(edges) if a < b]
    return parts


@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """Rows of a part and the pieces of their targets; how it is marked without being read, if it is a file."""

    rows: object
    targets: object
    stamp: bytes | None = None


@dataclass(frozen=True, eq=False, repr=False)
class FilePart:
    """One file, or some blocks of a block file, to be read by anyone who holds it.

    Attributes
    ----------
    path : Path
    wanted : ReadOptions
    blocks : (int, int) or None
        First block and the one after the last; None: all of the file.
    """

    path: Path
    wanted: ReadOptions
    blocks: tuple[int, int] | None = None

    def read(self) -> Rows:
        """Open the file here."""
        wanted, stamp = self.wanted, file_stamp(self.path, self.blocks)
        opened = open_files([self.path], wanted)
        if self.blocks is not None:
            opened = FileRows((opened.parts[0].some(*self.blocks),))
        [file] = opened.parts
        return Opened(opened, file.read_targets() if file.has_targets else None, stamp)


@dataclass(frozen=True, eq=False, repr=False)
class EncodedPart:
    """A part of a table, encoded by the public constants of a dictionary where it is.

    Attributes
    ----------
    raw : RawPart
        Gives a frame.
    encoder : TableEncoder
    target : Target or None
    """

    raw: RawPart
    encoder: TableEncoder
    target: Target | None

    def read(self) -> Rows:
        """Encode the rows here."""
        raw = self.raw.read()
        targets = None if self.target is None else self.target.read(raw.rows)
        return Opened(self.encoder.transform(raw.rows), targets, raw.stamp)


@dataclass(frozen=True, eq=False, repr=False)
class TableFile:
    """A file of named columns, encoded by the public constants of a dictionary where it is read, some rows at a time.

    Attributes
    ----------
    path : Path
    encoder : TableEncoder
    target : Target
    """

    path: Path
    encoder: TableEncoder
    target: Target

    def read(self) -> Rows:
        """Encode the file here."""
        stamp = file_stamp(self.path)
        rows, targets, _ = zip(*encoded_blocks(self.path, self.encoder, self.target), strict=True)
        X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
        return Opened(X, np.concatenate(targets), stamp)


def gather_pieces(path: Path, found: Sequence[object], meant: str) -> NDArray[np.generic] | None:
    """One vector of the targets of all files, as if they had been opened together."""
    pieces = list[TargetPart]()
    for part in found:
        if not isinstance(part, list):
            return None
        pieces += part
    return joined_targets(pieces, meant, path)
