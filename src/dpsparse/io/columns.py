"""Named columns of a file, as they stand: headers, and blocks of cells that are not interpreted here.

Guarantee
---------
`header` reads the first line of a CSV file, or the schema of a Parquet file, and nothing behind it. `blocks` hands on cells
without looking at them. A line with another number of cells than the header has `UNREADABLE` in every column, which a dictionary counts
as not understood. Refusals name the file and columns, never a row, a value or how many rows there are.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from ..core.errors import DataError
from .tabular import csv_records

#: Longest header line that is read.
MOST_HEADER_BYTES = 64_000_000
#: Rows of one block; an encoder sees single rows, so the result does not depend on it.
ROWS_AT_ONCE = 10_000
#: In place of each cell of a line that has another number of them than the header: no gap, and nothing that can be understood.
UNREADABLE = "\ufffd"
KINDS = {".csv": "CSV", ".parquet": "Parquet", ".pq": "Parquet"}


def table_format(path: Path) -> str:
    """Which format an ending stands for; only formats with named columns."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{path} was expected to be a table with named columns: {', '.join(KINDS)}. Convert it first.")
    if not path.is_file():
        raise DataError(f"{path} does not exist, or is not an ordinary file. Check the path.")
    return kind


def header(path: str | Path) -> list[str]:
    """Names of the columns of a file. Cells are not read.

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
    names = _csv_header(path) if table_format(path) == "CSV" else _parquet_header(path)
    if not names:
        raise DataError(f"{path} was expected to start with a line of column names, but is empty.")
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        raise DataError(
            f"{path} was expected to separate its columns by commas, but it uses something else. Convert it."
        )
    if all(_is_number(name) for name in names):
        # a record that is taken for a header would be published as names of features
        raise DataError(f"{path} was expected to start with a line of column names, but that line holds numbers.")
    return names


def _csv_header(path: Path) -> list[str]:
    with path.open("rb") as file:
        line = file.readline(MOST_HEADER_BYTES)
        while line.count(b'"') % 2 and (more := file.readline(MOST_HEADER_BYTES)):  # a line break within quotes
            line += more
    try:
        return [name.strip() for name in next(csv.reader(io.StringIO(line.decode("utf-8-sig"), newline="")), [])]
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{path}: the line of column names could not be read as text in UTF-8.") from None


def _parquet_header(path: Path) -> list[str]:
    parquet = _parquet()
    try:
        names = parquet.read_schema(path).names
    except (OSError, ValueError):
        raise DataError(f"{path} could not be read as Parquet: it is damaged, or something else.") from None
    return [
        name for name in names if not re.fullmatch(r"__index_level_\d+__", name)
    ]  # what pandas adds for a row index


def _parquet() -> ModuleType:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow. Install it with: pip install 'dpsparse[data]'") from None
    found: ModuleType = pyarrow.parquet
    return found


def blocks(path: str | Path, columns: Sequence[str]) -> Iterator[object]:
    """Blocks of rows with these columns, in order: dicts of text for CSV, Arrow tables for Parquet."""
    path = Path(path)
    names = header(path)
    absent = [repr(name) for name in columns if name not in names]
    if absent:
        raise DataError(f"{path} has no column {', '.join(absent)}.")
    yield from (_csv_blocks if table_format(path) == "CSV" else _parquet_blocks)(path, names, columns)


def _csv_blocks(path: Path, names: list[str], columns: Sequence[str]) -> Iterator[object]:
    places = [names.index(name) for name in columns]
    with path.open("rb") as file, csv_records(file, path) as lines:
        next(lines)
        while block := list(itertools.islice((line for line in lines if line), ROWS_AT_ONCE)):
            yield {
                name: [line[place] if len(line) == len(names) else UNREADABLE for line in block]
                for name, place in zip(columns, places, strict=True)
            }


def _parquet_blocks(path: Path, names: list[str], columns: Sequence[str]) -> Iterator[object]:
    import pyarrow as pa

    try:
        with _parquet().ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=list(columns)):
                yield pa.Table.from_batches([batch])
    except (OSError, ValueError):
        raise DataError(f"{path} could not be read as Parquet: it is damaged, or something else.") from None


def _is_number(name: str) -> bool:
    try:
        return math.isfinite(float(name))
    except ValueError:
        return False
