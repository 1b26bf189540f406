"""Sparse rows in Parquet: for each record a list of column numbers and a list of values.

Guarantee
---------
A record whose lists have different lengths, or that names a column which does not exist, comes twice or is missing, has no features; its
target stays. A value that is missing is NaN. Nothing is said about either.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from .table import LARGEST_WIDTH, Table
from .tabular import is_number_type, target_column, values_of

#: Names of the two columns of a file that is read whole.
LISTS = ("indices", "values")


def is_pair_of_lists(kinds: Sequence[Any]) -> bool:
    """Whether two columns are lists of whole numbers and lists of numbers, in this order."""
    import pyarrow as pa

    lists = all(pa.types.is_list(kind) or pa.types.is_large_list(kind) for kind in kinds)
    return (
        len(kinds) == 2
        and lists
        and pa.types.is_integer(kinds[0].value_type)
        and bool(is_number_type(kinds[1].value_type))
    )


def list_rows(batch: Any, names: Sequence[str], width: int) -> sp.csr_matrix:
    """Rows of a record batch with a column of lists of column numbers and one of lists of values."""
    places, values = (batch.column(batch.schema.get_field_index(name)) for name in names)
    counts = np.asarray(places.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    others = np.asarray(values.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    flat = places.flatten()
    columns = np.asarray(flat.fill_null(-1).to_numpy(zero_copy_only=False)).astype(np.int64)
    found = _floats(values.flatten())
    wrong = counts != others
    owner = np.repeat(np.arange(counts.size), counts)
    if wrong.any():
        found = found[~wrong[np.repeat(np.arange(others.size), others)]]
        columns, owner = columns[~wrong[owner]], owner[~wrong[owner]]
    wrong[owner[(columns < 0) | (columns >= width)]] = True
    order = np.lexsort((columns, owner))
    twice = (owner[1:] == owner[:-1]) & (columns[order][1:] == columns[order][:-1])
    wrong[owner[1:][twice]] = True
    kept = ~wrong[owner]
    columns, found = columns[order][kept], found[order][kept]
    ends = np.concatenate([[0], np.cumsum(np.where(wrong, 0, counts))])
    return sp.csr_matrix((found, columns.astype(np.int32), ends), shape=(counts.size, width))


def _floats(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    return values_of(pa.chunked_array([column]))


def read_lists(
    file: IO[bytes], path: Path, target: str | None, labels: bool, n_features: int | None, largest: int
) -> Table:
    """Sparse rows of a whole file, columns counted from 0."""
    import pyarrow.parquet as pq

    if n_features is None:
        raise DataError(
            f"{path} holds index lists, which do not say how many features there are, and the largest that occurs is private. Declare n_features."
        )
    if n_features > LARGEST_WIDTH:
        raise DataError(f"{path}: at most {LARGEST_WIDTH:,} features are read.")
    file.seek(0)
    with pq.ParquetFile(file) as parts:
        if not is_pair_of_lists([parts.schema_arrow.field(name).type for name in LISTS]):
            raise DataError(f"{path}: columns {' and '.join(LISTS)} were expected to hold lists. Write the file again.")
        meta = parts.metadata
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        if sum(g.column(j).total_uncompressed_size for g in groups for j in range(g.num_columns)) > largest:
            raise DataError(f"{path} unpacks to more than {largest:,} bytes, which is not read. Raise the limit.")
        table = parts.read(columns=[*LISTS, *([] if target is None else [target])])
    found = [list_rows(batch, LISTS, n_features) for batch in table.to_batches()]
    X = sp.vstack([sp.csr_matrix((0, n_features)), *found], format="csr")
    return Table(X, None if target is None else target_column(table[target], target, labels, path))
