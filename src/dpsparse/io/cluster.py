"""Rows on a cluster: files that workers read themselves, frames of an engine, and tables with a data dictionary.

Guarantee
---------
The driver reads names and, of block files, how many rows a block has. Rows and targets are read where they shall be (`cluster_parts`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..rows.hosts import ClusterRows, clusters
from ..rows.hosts.cluster_rows import gather_arrays
from .cluster_parts import EncodedPart, FilePart, TableFile, gather_pieces
from .columns import header
from .dictionary import Dictionary, TableEncoder, Target
from .rows import Paths, expand, files_kind, open_rows
from .streams import ReadOptions

#: Parts of block files for each worker, so that all have work till the end.
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
    classes: Sequence[Any] | None = None,
) -> ClusterRows:
    """Rows that stand on a cluster, or are read there, for `fit`, `PrivateScaler`, `PrivateSearch` and `private_score`.

    Parameters
    ----------
    X : paths as `open_rows` takes them, Dask array or frame, or Spark frame
        Every file is a part; block files (``.dpsrows``) are cut into several. Workers must find the files under the same names.
    target : str or None
        Column of the target; with a dictionary it says so itself.
    cluster : Client of Dask or SparkSession, optional
        Needed for files; default: the running client.
    dictionary : Dictionary or its file, optional
        Of a frame, or of CSV and Parquet files: each part is encoded where it is, and brings its bounds along.
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
    columns = [*(column.name for column in dictionary.features), target.column.name]
    parts = [TableFile(path, encoder, target, columns) for path in files]
    return _named(clusters.open_parts(parts, gather_arrays, cluster), encoder)


def _open_files(paths: Paths, wanted: ReadOptions, cluster: object) -> ClusterRows:
    files = expand(paths)
    parts = [FilePart(path, wanted) for path in files]
    if files_kind(files) == "block":
        parts = _cut(files, wanted, PARTS_PER_WORKER * clusters.count_workers(cluster))
    return clusters.open_parts(parts, partial(gather_pieces, files[0]), cluster)


def _cut(files: Sequence[Path], wanted: ReadOptions, count: int) -> list[FilePart]:
    """Blocks of all files in about so many parts of about the same number of entries."""
    sizes = [open_rows([path]).parts[0].table["entries"].astype(np.int64) for path in files]
    each = max(1, sum(int(size.sum()) for size in sizes) // max(1, count))
    parts = list[FilePart]()
    for path, size in zip(files, sizes, strict=True):
        ends = np.flatnonzero(np.diff(np.cumsum(size) // each)) + 1
        edges = [0, *ends.tolist(), size.size]
        parts += [FilePart(path, wanted, (a, b)) for a, b in pairwise(edges) if a < b]
    return parts
