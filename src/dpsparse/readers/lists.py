"""Parquet with sparse rows: a list of columns and a list of values for each record."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp

from ..privacy.errors import DataError
from .table import LARGEST_WIDTH, Table
from .tabular import read_target

#: Names of the two columns.
LISTS = ("indices", "values")


def read_lists(
    file: IO[bytes], path: Path, target: str | None, labels: bool, n_features: int | None, largest: int
) -> Table:
    """Sparse rows, columns counted from 0. A record with a column that does not exist, twice the same, or other numbers of both is empty."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if n_features is None:
        raise DataError(
            f"{path} holds index lists, which do not say how many features there are, and the largest that occurs is private. Declare n_features."
        )
    if n_features > LARGEST_WIDTH:
        raise DataError(f"{path}: at most {LARGEST_WIDTH:,} features are read.")
    file.seek(0)
    with pq.ParquetFile(file) as parts:
        kinds = [parts.schema_arrow.field(name).type for name in LISTS]
        if not all(pa.types.is_list(kind) or pa.types.is_large_list(kind) for kind in kinds):
            raise DataError(f"{path}: columns {' and '.join(LISTS)} were expected to hold lists. Write the file again.")
        meta = parts.metadata
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        if sum(g.column(j).total_uncompressed_size for g in groups for j in range(g.num_columns)) > largest:
            raise DataError(f"{path} unpacks to more than {largest:,} bytes, which is not read. Raise the limit.")
        table = parts.read(columns=[*LISTS, *([] if target is None else [target])])
    if table.num_rows == 0:
        raise DataError(f"{path} holds no rows. Write the file again.")
    columns, values, ends = [], [], [0]
    for places, numbers in zip(table[LISTS[0]].to_pylist(), table[LISTS[1]].to_pylist(), strict=True):
        kept = _record(places, numbers, n_features)
        columns += kept[0]
        values += kept[1]
        ends.append(len(columns))
    shape = (table.num_rows, n_features)
    X = sp.csr_matrix((np.array(values, dtype=float), np.array(columns, dtype=np.int64), np.array(ends)), shape=shape)
    X.sort_indices()
    return Table(X, None if target is None else read_target(table[target], target, labels, path))


def _record(places: object, numbers: object, width: int) -> tuple[list[int], list[float]]:
    if not isinstance(places, list) or not isinstance(numbers, list) or len(places) != len(numbers):
        return [], []
    whole = all(isinstance(j, int) and 0 <= j < width for j in places) and len(set(places)) == len(places)
    if not whole:
        return [], []
    return places, [float("nan") if value is None else float(value) for value in numbers]
