"""Named columns of a file, as they stand: headers, and blocks of cells that are not interpreted here.

Guarantee
---------
`header` reads the first line of a CSV file, or the schema of a Parquet file, and nothing behind it.
`blocks` hands on cells without looking at them. A line with another number of cells than the header
has `UNREADABLE` in every column, which a dictionary counts as not understood. Refusals name the
file and columns, never a row, a value or how many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..core.errors import DataError
from ..core.regular_files import open_regular
from .files import reading
from .streams import ANY_SIZE, KINDS, NAMED
from .tabular import (
    PLAIN_CSV,
    ROWS_AT_ONCE,
    CsvForm,
    csv_columns,
    csv_header,
    parquet_header,
    refuse_other_delimiter,
)

if TYPE_CHECKING:
    from ..rows.unread import UnreadCells
    from .dictionary import TableEncoder, Target

    Encoded = tuple[Any, Any, UnreadCells]

#: Bytes of CSV that are parsed at once; an encoder sees single rows, so the result does not depend on it.
CSV_BYTES = 2**23
#: In place of each cell of a line that has another number of them than the header: no gap, and
#: nothing that can be understood.
UNREADABLE = "\ufffd"


@contextmanager
def _open(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """An open file with named columns, and which kind it is."""
    kind = KINDS.get(path.suffix.lower())
    if kind not in NAMED:
        known = [ending for ending, named in KINDS.items() if named in NAMED]
        raise DataError(f"{path} was expected to be a table with named columns: {', '.join(known)}. Convert it first.")
    with reading(path, kind), open_regular(path, ANY_SIZE, f"a {kind} file") as file:
        yield kind, file


def header(path: str | Path, csv: CsvForm = PLAIN_CSV) -> list[str]:
    """Names of the columns of a file. Cells are not read. `csv` says how a CSV file is written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "table.csv")
    ...     _ = file.write_text("age,sex\\n41,female\\n")
    ...     header(file)
    ['age', 'sex']
    """
    path = Path(path)
    with _open(path) as (kind, file):
        names = [name.strip() for name in csv_header(file, path, csv)] if kind == "CSV" else parquet_header(file)
    if kind == "CSV":
        refuse_other_delimiter(names, path)
    return names


def blocks(path: str | Path, columns: Sequence[str], csv: CsvForm = PLAIN_CSV) -> Iterator[Any]:
    """Blocks of rows with these columns, in order: texts by their names for CSV, Arrow tables for Parquet."""
    path = Path(path)
    names = header(path, csv)
    absent = [repr(name) for name in columns if name not in names]
    if absent:
        raise DataError(f"{path} has no column {', '.join(absent)}.")
    with _open(path) as (kind, file):
        if kind == "CSV":
            yield from csv_columns(file, path, names, columns, CSV_BYTES, UNREADABLE, csv)
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(file).iter_batches(ROWS_AT_ONCE, columns=list(columns)):
            yield pa.Table.from_batches([batch])


def encoded_blocks(
    path: str | Path, encoder: TableEncoder, target: Target | None, csv: CsvForm = PLAIN_CSV
) -> Iterator[Encoded]:
    """Rows of a file as a dictionary encodes them, their targets or None, and which cells were not understood.

    The first block has no rows: a file may hold none.
    """
    own = [] if target is None else [target.column.name]
    wanted = [*(column.name for column in encoder.dictionary_.features), *own]
    for block in chain([dict.fromkeys(wanted, ())], blocks(path, wanted, csv)):
        rows, y = encoder.transform(block), None
        unread = rows.unread_cells
        if target is not None:
            y, foreign = target.read_checked(block)
            unread = unread.with_column(target.column.name, foreign)
        yield rows if sp.issparse(rows) else np.asarray(rows), y, unread
