"""CSV and Parquet: columns with names, read as floats whatever the cells hold.

Guarantee
---------
After the header nothing in a CSV file is refused for one record. A cell that is no number is NaN,
also one with bytes that are no UTF-8 or of any length up to `CSV_BLOCK`. A record with another
number of cells than the header has names, or on a line of more than `CSV_BLOCK` characters, has
gaps in their place. No record changes how another is read. The file must be CSV, though: a quote
that opens a cell and is never closed makes one cell of everything that follows, and is refused if
that has more than `CSV_BLOCK` characters.

Sparse rows in Parquet are a list of column numbers and a list of values for each record. One whose
lists have different lengths, or that names a column which does not exist, comes twice or is
missing, has no features; its target stays. A value that is missing is NaN.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import importlib.util
import io
import math
import os
import re
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.private_files import PLAIN
from ..rows.cells import GAPS, ROUNDED_FROM, cell_number
from .labels import Texts

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes that pyarrow parses at once, and the longest line, and cell, that is read.
CSV_BLOCK = 2**25
#: Records that the standard library parses while its limit on the length of cells, which is one for
#: the process, is raised.
RECORDS_AT_ONCE = 64
_RAISING_LIMIT = threading.Lock()
#: Longer cells are left to the standard library.
LONG_CELL = 2**17
#: Records of a block that the standard library reads.
ROWS_AT_ONCE = 10_000
#: Names of the two columns of Parquet files that hold sparse rows, where they are not named.
LISTS = ("indices", "values")
#: Reads from a place without moving the position that all copies of a handle share; missing on some systems.
PREAD = getattr(os, "pread", None)
#: Columns that are put into a table together.
COLUMNS_AT_ONCE = 64
#: Files of any size are opened where they are never read as a whole.
ANY_SIZE = 2**63 - 1
#: Numbers that a piece of rows holds, about.
PIECE_ENTRIES = 2**20
#: Least bytes of CSV that are parsed at once: what a cache holds.
LEAST_CSV_BLOCK = 2**20
#: More columns than this are not read from a file that does not say how many it has.
LARGEST_WIDTH = 2**27

#: Rows of a file, and some of them with their targets.
Matrix: TypeAlias = NDArray[np.generic] | sp.csr_matrix
Piece = tuple[Matrix, NDArray[np.generic] | Texts | None]


#: What may stand between cells.
DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written, as its owner declares it; nothing is guessed from the records.

    Parameters
    ----------
    delimiter : str
        What stands between cells: ``,``, ``;``, ``|``, or a tab, which may be written as ``tab``.
    encoding : str
        A name of Python's codecs: UTF-8, UTF-16, Latin-1, or cp1252 of older Windows programs.

    Examples
    --------
    >>> CsvForm("tab").delimiter
    '\\t'
    >>> CsvForm(encoding="latin1").encoding
    'iso8859-1'
    """

    delimiter: str = ","
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        delimiter = "\t" if self.delimiter in ("tab", "\\t") else self.delimiter
        if delimiter not in DELIMITERS:
            known = "a comma, a semicolon, a bar, or a tab (written as tab)"
            raise ValueError(f"the delimiter of a CSV file must be {known}, got {self.delimiter!r}.")
        object.__setattr__(self, "delimiter", delimiter)
        try:
            object.__setattr__(self, "encoding", codecs.lookup(self.encoding).name)
            "".encode(self.encoding)
        except LookupError:
            raise ValueError(f"there is no encoding {self.encoding!r}. Use utf-8, cp1252, latin-1 or utf-16.") from None

    @property
    def decoder(self) -> str:
        """The codec that reads it; that of UTF-8 leaves out a byte-order mark."""
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding


#: Commas and UTF-8.
PLAIN_CSV = CsvForm()


@dataclass(frozen=True)
class ReadOptions:
    """What is taken of files; see `dpsparse.readers.open_rows`.

    With `whole`, rows are read into memory at once: arrays may be stored by columns, and a width
    may be learned from svmlight files.
    """

    target: str | None = None
    n_features: int | None = None
    columns: Sequence[str] | None = None
    zero_based: bool = False
    classes: Sequence[object] | None = None
    whole: bool = False
    csv: CsvForm = PLAIN_CSV
    covariates: object = None
    fill: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class RowStream:
    """Rows of one file, to be read once.

    Attributes
    ----------
    n_features : int
    sparse : bool
    names : tuple of str or None
    typed : bool
        Whether labels are declared as texts.
    pieces : iterator of (rows, targets)
    """

    n_features: int
    sparse: bool
    names: tuple[str, ...] | None
    typed: bool
    pieces: Iterator[Piece]


def csv_header(file: IO[bytes], path: Path, form: CsvForm = PLAIN_CSV) -> list[str]:
    """The names in the first line, which has to be in the declared encoding."""
    try:
        with csv_records(file, path, form, header=True) as records:
            names = next(records, [])
    except UnicodeError:
        names = ["\udc80"]
    if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):  # a byte that is no UTF-8
        raise DataError(
            f"{path}: the line of column names could not be read as text in {form.encoding.upper()}. Declare another "
            "encoding (--encoding cp1252 for files of older Windows programs), or write the file again."
        )
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


def refuse_other_delimiter(names: Sequence[str], path: Path) -> None:
    """Refuse a header of one name that holds semicolons, bars or tabs: the columns are separated by these."""
    used = [mark for mark in DELIMITERS if len(names) == 1 and mark in names[0]]
    if used:
        shown = "tab" if used[0] == "\t" else used[0]
        raise DataError(
            f"{path} seems to separate its columns by {'tabs' if shown == 'tab' else repr(shown)}. Say so: "
            f"--delimiter {shown if shown == 'tab' else repr(shown)} on the command line, or "
            f"csv=CsvForm(delimiter={shown!r}) in Python."
        )


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


def refuse_text(schema: pa.Schema, features: Sequence[str], path: Path) -> None:
    """Refuse columns that are declared as something else than numbers."""
    text = [name for name in features if not is_number_type(schema.field(name).type)]
    if text:
        raise text_in(path, *text)


def matrix_of(columns: Iterator[NDArray[np.float64]], rows: int, width: int) -> NDArray[np.float64]:
    """Columns side by side in one array of floats."""
    X = np.empty((rows, width))
    for start in range(0, width, COLUMNS_AT_ONCE):  # one column at a time would touch every row for each
        some = list(islice(columns, COLUMNS_AT_ONCE))
        X[:, start : start + len(some)] = np.stack(some, axis=1)
    return X


def text_in(path: Path, *columns: str) -> DataError:
    """The refusal of columns that are declared as something else than numbers: all of them at once."""
    names, several = ", ".join(map(repr, columns)), len(columns) > 1
    were, are, them = ("columns {} were", "are", "them") if several else ("column {} was", "is", "it")
    return DataError(
        f"{path}: {were.format(names)} expected to hold numbers, but {are} declared as something else. Leave {them} "
        "out, or describe the columns in a data dictionary (dpsparse dictionary new)."
    )


def is_number_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of numbers."""
    import pyarrow as pa

    known = (pa.types.is_null, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return any(test(kind) for test in known)


def is_text_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of texts, or of categories that are texts."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def values_of(column: pa.Array) -> NDArray[np.float64]:
    """An Arrow array as floats, NaN where it has none; whole numbers beyond 2^53 are rounded."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float)


def target_column(column: pa.Array, name: str, path: Path) -> NDArray[np.generic] | Texts:
    """The target of a Parquet file: numbers or texts, by its declared type."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_text_type(column.type):
        return Texts(column.cast(pa.string()).fill_null(""))
    if not is_number_type(column.type):
        raise text_in(path, name)
    if not pa.types.is_integer(column.type):
        return values_of(column)
    if column.null_count == 0:
        return np.asarray(column.to_numpy())
    found = values_of(column)  # a gap must not cost the other labels their digits
    rounded = np.any(np.abs(found) >= ROUNDED_FROM)
    return np.array([math.nan if v is None else v for v in column.to_pylist()], dtype=object) if rounded else found


def is_pair_of_lists(kinds: Sequence[pa.DataType]) -> bool:
    """Whether two columns are lists of whole numbers and lists of numbers, in this order."""
    import pyarrow as pa

    lists = all(pa.types.is_list(kind) or pa.types.is_large_list(kind) for kind in kinds)
    return (
        len(kinds) == 2
        and lists
        and pa.types.is_integer(kinds[0].value_type)
        and bool(is_number_type(kinds[1].value_type))
    )


def list_rows(batch: pa.RecordBatch, names: Sequence[str], width: int) -> sp.csr_matrix:
    """Rows of a record batch with a column of lists of column numbers and one of lists of values."""
    places, values = (batch.column(batch.schema.get_field_index(name)) for name in names)
    counts = np.asarray(places.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    others = np.asarray(values.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    flat = places.flatten()
    columns = np.asarray(flat.fill_null(-1).to_numpy(zero_copy_only=False)).astype(np.int64)
    found = values_of(values.flatten())
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


def csv_columns(
    file: IO[bytes],
    path: Path,
    names: Sequence[str],
    wanted: Sequence[str],
    block: int,
    absent: str = "",
    form: CsvForm = PLAIN_CSV,
) -> Iterator[dict[str, Texts]]:
    """The cells of some columns of a CSV file, some rows at a time.

    By pyarrow; without it, and from the first block on that it refuses or that is not plain (a line
    with another number of cells, bytes that are no UTF-8, a very long cell), by the standard
    library, which finds the same cells.

    Parameters
    ----------
    file : binary file
    path : Path
    names, wanted : sequence of str
        All columns of the file, and those that are read.
    block : int
        Bytes that are parsed at once, about.
    absent : str
        In place of each cell of a line that has another number of them than the header.
    form : CsvForm
        pyarrow reads UTF-8 only; the standard library reads the other encodings.
    """
    places, done = [names.index(name) for name in wanted], 0
    if form.encoding == "utf-8" and importlib.util.find_spec("pyarrow") is not None:
        import pyarrow as pa
        from pyarrow import compute
        from pyarrow import csv as arrow

        kinds = {f"f{place}": pa.string() for place in places}  # no type is guessed
        apart = ThreadedFile(file)
        try:
            with arrow.open_csv(
                apart,
                read_options=arrow.ReadOptions(
                    autogenerate_column_names=True, skip_rows_after_names=1, block_size=min(block, CSV_BLOCK // 2)
                ),
                parse_options=arrow.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
                convert_options=arrow.ConvertOptions(
                    column_types=kinds, include_columns=list(kinds), strings_can_be_null=False
                ),
            ) as batches:
                for batch in batches:
                    if any((compute.max(compute.binary_length(c)).as_py() or 0) > LONG_CELL for c in batch.columns):
                        break
                    yield {name: Texts(batch[f"f{place}"]) for name, place in zip(wanted, places, strict=True)}
                    done += batch.num_rows
                    file.seek(apart.position)  # for reports of progress
                else:
                    return
        except pa.ArrowInvalid:  # its message quotes the line
            pass
    file.seek(0)
    gaps = [absent] * len(names)
    with csv_records(file, path, form) as records:
        rows = islice((row for row in records if row), 1 + done, None)
        while some := [row if len(row) == len(names) else gaps for row in islice(rows, ROWS_AT_ONCE)]:
            yield {name: Texts([row[place] for row in some]) for name, place in zip(wanted, places, strict=True)}


def csv_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """CSV; a cell that is no number is NaN, and a line with another number of cells than the header has gaps."""
    names = csv_header(file, path, wanted.csv)
    refuse_other_delimiter(names, path)
    features = features_of(names, wanted.target, wanted.columns, path)
    file.seek(0)
    read = [*features, *([] if wanted.target is None else [wanted.target])]
    size = min(max(LEAST_CSV_BLOCK, 64 * sum(map(len, names))), CSV_BLOCK)

    def pieces() -> Iterator[Piece]:
        for cells in csv_columns(file, path, names, read, size, form=wanted.csv):
            columns = (cells[name].numbers() for name in features)
            X = matrix_of(columns, len(cells[features[0]]), len(features))
            yield X, None if wanted.target is None else cells[wanted.target]

    return RowStream(len(features), False, tuple(features), False, pieces())


def parquet_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """Parquet by pyarrow: columns of numbers, or one column of lists of column numbers and one of lists of values."""
    names = parquet_header(file)
    import pyarrow.parquet as pq

    features = features_of(names, wanted.target, wanted.columns, path)
    file.seek(0)
    parts = pq.ParquetFile(file)
    schema = parts.schema_arrow
    if wanted.columns is None and set(LISTS) <= set(features):
        features = list(LISTS)
    lists = is_pair_of_lists([schema.field(name).type for name in features])
    if lists and wanted.n_features is None:
        raise DataError(
            f"{path} holds lists of columns, which do not say how many features there are, and the largest that occurs "
            "is private. Declare n_features."
        )
    if not lists:
        refuse_text(schema, features, path)
    width = wanted.n_features if lists and wanted.n_features is not None else len(features)
    if width > LARGEST_WIDTH:
        raise DataError(f"{path}: at most {LARGEST_WIDTH:,} features are read.")
    typed = wanted.target is not None and is_text_type(schema.field(wanted.target).type)

    def pieces() -> Iterator[Piece]:
        count = max(1, PIECE_ENTRIES // (64 if lists else len(features)))
        columns = [*features, *([] if wanted.target is None else [wanted.target])]
        for batch in parts.iter_batches(count, columns=columns):
            if lists:
                X: Matrix = list_rows(batch, features, width)
            else:
                X = matrix_of((values_of(batch[name]) for name in features), batch.num_rows, width)
            yield X, None if wanted.target is None else target_column(batch[wanted.target], wanted.target, path)

    return RowStream(width, lists, None if lists else tuple(features), typed, pieces())


@contextmanager
def csv_records(
    file: IO[bytes], path: Path, form: CsvForm = PLAIN_CSV, *, header: bool = False
) -> Iterator[Iterator[list[str]]]:
    """The records of a CSV file as lists of cells.

    Bytes that are no UTF-8 are replaced, and lines that are too long are left out.

    In the place of a line that is too long stands a line with one cell, so that its record has
    other cells than the header. For the header such bytes come as lone surrogates, and a line that
    is too long is refused.
    """
    errors = "surrogateescape" if header and form.encoding == "utf-8" else "strict" if header else "replace"
    text = io.TextIOWrapper(file, encoding=form.decoder, errors=errors, newline="")

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
        reader = csv.reader(lines(), delimiter=form.delimiter)
        while True:
            with _RAISING_LIMIT:
                usual = csv.field_size_limit(CSV_BLOCK)
                try:
                    some = list(islice(reader, 1 if header else RECORDS_AT_ONCE))
                except csv.Error:
                    raise DataError(
                        f"{path} holds a cell of more than {CSV_BLOCK:,} characters: is a quote "
                        "not closed? Write the file again."
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


def _is_number(cell: str) -> bool:
    return cell.strip() in GAPS or not math.isnan(cell_number(cell))


class ThreadedFile(io.RawIOBase):
    """The bytes of an open file from its beginning, with a position and a handle of its own.

    A parser that gave up may go on reading for a while in the background: here it moves nobody
    else's position, and its handle is closed with the last reference to it.

    Parameters
    ----------
    file : binary file
        An ordinary one.

    Attributes
    ----------
    position : int
        How many bytes were read.
    """

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._handle = os.dup(file.fileno()) if PREAD else os.open(file.name, os.O_RDONLY | PLAIN)
        self.position = 0
        weakref.finalize(self, os.close, self._handle)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read as much as there is space for."""
        size = len(buffer)
        content = PREAD(self._handle, size, self.position) if PREAD else os.read(self._handle, size)
        buffer[: len(content)] = content
        self.position += len(content)
        return len(content)
