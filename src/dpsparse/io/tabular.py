"""CSV and Parquet: columns with names, read as floats whatever the cells hold.

Guarantee
---------
After the header nothing in a CSV file is refused for one record. A cell that is no number is NaN, also one with bytes that are no UTF-8 or
of any length up to `CSV_BLOCK`. A record with another number of cells than the header has names, or on a line of more than `CSV_BLOCK`
characters, has gaps in their place. No record changes how another is read. The file must be CSV, though: a quote that opens a cell and is never
closed makes one cell of everything that follows, and is refused if that has more than `CSV_BLOCK` characters.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
import re
import threading
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from ..rows.cells import GAPS, ROUNDED_FROM, cell_number, exact
from .table import Table
from .threaded_file import ThreadedFile

#: Bytes that pyarrow parses at once, and the longest line, and cell, that is read.
CSV_BLOCK = 2**25
#: Records that the standard library parses while its limit on the length of cells, which is one for the process, is raised.
RECORDS_AT_ONCE = 64
_RAISING_LIMIT = threading.Lock()
#: Columns that are put into a table together.
COLUMNS_AT_ONCE = 64


def csv_header(file: IO[bytes], path: Path) -> list[str]:
    """The names in the first line, which has to be UTF-8."""
    with csv_records(file, path, header=True) as records:
        names = next(records, [])
    if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):  # a byte that is no UTF-8
        raise DataError(f"{path}: the line of column names could not be read as text in UTF-8. Write the file again.")
    if not names:
        raise DataError(
            f"{path} was expected to start with a line of column names, but is empty. Write the file again."
        )
    if all(_is_number(n) for n in names) and names not in (
        [str(i) for i in range(len(names))],
        [str(i + 1) for i in range(len(names))],
    ):
        # a record that is taken for a header would be published as feature names
        raise DataError(
            f"{path} was expected to start with a line of column names, but that line holds numbers. Add a header."
        )
    return names


def parquet_header(file: IO[bytes]) -> list[str]:
    """The names of the columns."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow. Install it with: pip install 'dpsparse[data]'") from None
    names = pq.read_schema(file).names
    return [n for n in names if not re.fullmatch(r"__index_level_\d+__", n)]  # what pandas adds for a row index


def features_of(names: Sequence[str], target: str | None, columns: Sequence[str] | None, path: Path) -> list[str]:
    """Which columns become features."""
    if len(set(names)) != len(names):
        raise DataError(f"{path}: columns must have different names. Rename those that are repeated.")
    absent = [wanted for wanted in (*(columns or ()), *([] if target is None else [target])) if wanted not in names]
    if absent:
        raise DataError(_absent(path, absent, names))
    features = [n for n in names if n != target] if columns is None else list(columns)
    if any(not n.strip() for n in features):
        raise DataError(
            f"{path} has a column without a name, perhaps a row index. Name it, or write the file without it."
        )
    if not features:
        raise DataError(f"{path} was expected to have at least one feature column. Add one beside the target.")
    return features


def _absent(path: Path, absent: Sequence[str], names: Sequence[str]) -> str:
    """A refusal that names all columns that are not there, each with the nearest name."""
    close = {wanted: difflib.get_close_matches(wanted, names, n=1) for wanted in absent}
    if len(absent) == 1:
        hint = f"Did you mean {close[absent[0]][0]!r}?" if close[absent[0]] else "Check the name: case matters."
        return f"{path} has no column {absent[0]!r}. {hint}"
    named = [
        f"no column {wanted!r}" + (f" (did you mean {near[0]!r}?)" if near else "") for wanted, near in close.items()
    ]
    return f"{path} has {', '.join(named)}. Check the names: case matters."


def read_csv(
    file: IO[bytes],
    path: Path,
    names: list[str],
    features: list[str],
    target: str | None,
    labels: bool,
    text_labels: bool,
) -> Table:
    """CSV by pyarrow; where a cell is no number, by the standard library, which gives the same numbers for the others."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    kinds = dict.fromkeys(features, pa.float64())
    if target is not None:
        kinds[target] = pa.string() if labels or text_labels else pa.float64()
    options = arrow_csv.ConvertOptions(
        column_types=kinds, include_columns=list(kinds), null_values=list(GAPS), strings_can_be_null=False
    )
    try:
        table = arrow_csv.read_csv(
            ThreadedFile(file), read_options=arrow_csv.ReadOptions(block_size=CSV_BLOCK), convert_options=options
        )
    except pa.ArrowInvalid:
        file.seek(0)
        return plain_csv(file, path, names, features, target, labels, text_labels)
    y: NDArray[np.generic] | None = None
    if target is not None:
        column = table[target]
        text = labels or text_labels
        y = labels_of(column.to_pylist(), target, text_labels, path) if text else values_of(column)
    return Table(matrix_of(table, features), y, tuple(features))


def read_parquet(
    file: IO[bytes], path: Path, features: list[str], target: str | None, labels: bool, largest: int
) -> Table:
    """Parquet by pyarrow. Types are those that the file declares; rows are counted before they are unpacked."""
    import pyarrow.parquet as pq

    wanted = [*features, *([] if target is None else [target])]
    with pq.ParquetFile(file) as parts:
        meta = parts.metadata
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        size = max(
            8 * sum(g.num_rows for g in groups) * len(wanted),
            8 * meta.num_rows * len(wanted),
            sum(g.column(j).total_uncompressed_size for g in groups for j in range(g.num_columns)),
        )
        if size > largest:
            raise DataError(
                f"{path} unpacks to more than {largest:,} bytes, which is not read. Use a smaller file, or raise the limit."
            )
        refuse_text(parts.schema_arrow, features, path)
        table = parts.read(columns=wanted)
    y = None if target is None else target_column(table[target], target, labels, path)
    return Table(matrix_of(table, features), y, tuple(features))


def refuse_text(schema: Any, features: Sequence[str], path: Path) -> None:
    """Refuse columns that are declared as something else than numbers."""
    text = [name for name in features if not is_number_type(schema.field(name).type)]
    if text:
        raise text_in(path, *text)


def matrix_of(table: Any, features: Sequence[str]) -> NDArray[np.float64]:
    """Columns of an Arrow table as an array of floats."""
    X = np.empty((table.num_rows, len(features)))
    for start in range(0, len(features), COLUMNS_AT_ONCE):  # one column at a time would touch every row for each
        names = features[start : start + COLUMNS_AT_ONCE]
        X[:, start : start + len(names)] = np.stack([values_of(table[n]) for n in names], axis=1)
    return X


def text_in(path: Path, *columns: str) -> DataError:
    """The refusal of columns that are declared as something else than numbers: all of them at once."""
    if len(columns) == 1:
        named, verb = (
            f"column {columns[0]!r} was",
            "is declared as something else. Encode it as numbers, or leave it out",
        )
    else:
        named = f"columns {', '.join(map(repr, columns))} were"
        verb = "are declared as something else. Encode them as numbers, or leave them out"
    return DataError(f"{path}: {named} expected to hold numbers, but {verb}.")


def is_number_type(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers."""
    import pyarrow as pa

    known = (pa.types.is_null, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return any(test(kind) for test in known)


def values_of(column: Any) -> NDArray[np.float64]:
    """An Arrow column as floats, NaN where it has none; whole numbers beyond 2^53 are rounded."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=float)


def target_column(column: Any, name: str, labels: bool, path: Path) -> NDArray[np.generic]:
    """The target of a Parquet file: by its declared type."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_number_type(column.type):
        if not (labels and pa.types.is_integer(column.type)):
            return values_of(column)
        if column.null_count == 0:
            return np.asarray(column.to_numpy())
        found = values_of(column)  # a gap must not cost the other labels their digits
        rounded = np.any(np.abs(found) >= ROUNDED_FROM)
        return np.array([math.nan if v is None else v for v in column.to_pylist()], dtype=object) if rounded else found
    if not (labels and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type))):
        raise text_in(path, name)
    return np.asarray(["" if v is None else v for v in column.to_pylist()], dtype=str)


def plain_csv(
    file: IO[bytes],
    path: Path,
    names: list[str],
    features: list[str],
    target: str | None,
    labels: bool,
    text_labels: bool,
) -> Table:
    """CSV by the standard library: for an installation without extras, and for cells that are no numbers. Slower, and the same answers."""
    parts, text = [np.zeros((0, len(features)))], list[str]()
    for rows, cells in plain_records(file, path, names, features, target, skip=0, count=2**16):
        parts.append(rows)
        text.extend(cells or ())
    X = np.concatenate(parts)
    y: NDArray[np.generic] | None = None
    if target is not None:
        y = (
            labels_of(text, target, text_labels, path)
            if labels or text_labels
            else np.array([cell_number(t) for t in text])
        )
    return Table(X, y, tuple(features))


def plain_records(
    file: IO[bytes],
    path: Path,
    names: Sequence[str],
    features: Sequence[str],
    target: str | None,
    *,
    skip: int,
    count: int,
) -> Iterator[tuple[NDArray[np.float64], list[str] | None]]:
    """Rows of a CSV file by the standard library, `count` at a time, and the cells of the target; the first `skip` rows are left out."""
    places, own = [names.index(n) for n in features], None if target is None else names.index(target)
    numbers, text = array("d"), list[str]()
    absent = [""] * len(names)
    with csv_records(file, path) as records:
        next(records)
        for number, row in enumerate(row for row in records if row):
            if number < skip:
                continue
            if len(row) != len(names):
                row = absent
            numbers.extend([cell_number(row[place]) for place in places])
            if own is not None:
                text.append(row[own])
            if len(numbers) == count * len(places):
                yield np.array(numbers).reshape(-1, len(places)), None if own is None else text
                numbers, text = array("d"), []
    if numbers:
        yield np.array(numbers).reshape(-1, len(places)), None if own is None else text


@contextmanager
def csv_records(file: IO[bytes], path: Path, *, header: bool = False) -> Iterator[Iterator[list[str]]]:
    """The records of a CSV file as lists of cells. Bytes that are no UTF-8 are replaced, and lines that are too long are left out.

    In the place of a line that is too long stands a line with one cell, so that its record has other cells than the header. For the header
    such bytes come as lone surrogates, and a line that is too long is refused.
    """
    errors = "surrogateescape" if header else "replace"
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors=errors, newline="")

    def lines() -> Iterator[str]:
        while line := text.readline(CSV_BLOCK):
            if len(line) < CSV_BLOCK or line.endswith("\n"):
                yield line
                continue
            if header:
                raise DataError(
                    f"{path} starts with a line of more than {CSV_BLOCK:,} characters. Write the file again."
                )
            quotes = line.count('"')
            while not line.endswith(("\n", "\r")) and (line := text.readline(CSV_BLOCK)):
                quotes += line.count('"')
            yield '"\n' if quotes % 2 else "\ufffd\n"  # quotes open and close as in the line itself

    def records() -> Iterator[list[str]]:
        reader = csv.reader(lines())
        while True:
            with _RAISING_LIMIT:
                usual = csv.field_size_limit(CSV_BLOCK)
                try:
                    some = list(islice(reader, 1 if header else RECORDS_AT_ONCE))
                except csv.Error:
                    raise DataError(
                        f"{path} holds a cell of more than {CSV_BLOCK:,} characters: is a quote not closed? Write the file again."
                    ) from None
                finally:
                    csv.field_size_limit(usual)
            if not some:
                return
            yield from some

    try:
        yield records()
    finally:
        text.detach()


def labels_of(text: Sequence[str], name: str, as_text: bool, path: Path) -> NDArray[np.generic]:
    """Labels as text; where their type was not declared, as numbers if all of them are, and whole ones if they are that too."""
    if as_text:
        return np.array([t.strip() for t in text], dtype=str)
    numbers = [exact(t) for t in text]
    if all(map(math.isfinite, numbers)):
        if all(value == int(value) and abs(value) < 2**63 for value in numbers):
            return np.array([int(value) for value in numbers], dtype=np.int64)
        return np.array(numbers, dtype=float)
    if any(t.strip() in GAPS for t in text):
        raise DataError(f"{path}: column {name!r} has missing labels. Fill or drop them first, or declare the classes.")
    return np.array(text, dtype=str)


def _is_number(cell: str) -> bool:
    return cell.strip() in GAPS or not math.isnan(cell_number(cell))
