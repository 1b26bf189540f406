"""Files of rows: CSV, Parquet, svmlight and npz, each read into one table.

Guarantee
---------
A refusal names the file, a column and what was expected: never a row, a value or how many rows
there are. Messages of the parsers underneath quote what they stumbled over, so they are replaced
and not passed on. After the form of a file (its kind, names and declared types) has been checked,
nothing is refused for one record, and none changes how another is read: a cell that is no number is
NaN, whatever its bytes and its length, and so is a record of an svmlight file with columns that do
not exist. Exceptions: what is learned from the records (labels that are not declared, the number of
columns of an svmlight file), and a quote in a CSV file that is never closed (see `tabular`). Only
ordinary files are opened, and no file makes a reader take more memory than a small multiple of
`largest`.

Tables with a data dictionary are read as they stand: `header` reads the first line of a CSV file, or the
schema of a Parquet file, and nothing behind it; `blocks` hands on cells without looking at them. A line
with another number of cells than the header has `UNREADABLE` in every column, which a dictionary counts
as not understood.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.regular_files import open_regular
from . import svmlight
from .labels import TargetPart, Texts, joined_targets
from .streams import KINDS, LARGEST_BYTES, NAMED, SAMPLES, STREAMS
from .tabular import (
    ANY_SIZE,
    LARGEST_WIDTH,
    PLAIN_CSV,
    ROWS_AT_ONCE,
    CsvForm,
    Matrix,
    ReadOptions,
    RowStream,
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


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows of one file. It prints without what it holds.

    Attributes
    ----------
    X : array or CSR matrix of shape (rows, n_features)
        Floats where the file is CSV or Parquet, whatever its cells: a type that followed the cells would tell of them.
    y : array of shape (rows,) or None
        Targets, if the file has them and they were asked for.
    feature_names : tuple of str or None
        Names of the columns of X, where the file names them.
    """

    X: Matrix
    y: NDArray[np.generic] | None = None
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.X) else "dense"
        return f"Table({kind}, {self.X.shape[1]} features, {'no target' if self.y is None else 'with target'})"


def read_table(
    path: str | Path,
    target: str | None = None,
    n_features: int | None = None,
    *,
    columns: Sequence[str] | None = None,
    labels: bool = False,
    text_labels: bool = False,
    zero_based: bool = False,
    largest: int = LARGEST_BYTES,
    csv: CsvForm = PLAIN_CSV,
) -> Table:
    """Read one file; its ending says how.

    Parameters
    ----------
    path : str or Path
        ``.csv`` (commas, a first line of names), ``.parquet``, ``.svmlight`` (also ``.libsvm``,
        ``.svm``), or ``.npz`` with arrays ``X, y``, or ``data, indices, indptr, shape, y`` for CSR,
        or ``.npy`` with one table of numbers. Parquet with a column of index lists and one of value
        lists (``indices``, ``values``) holds sparse rows, counted from 0; their width is
        `n_features`.
    target : str or None
        Column of the target in CSV and Parquet, its number in npy; None: no target. The others
        hold their own target, ``y``.
    n_features : int or None
        Public number of features. A file with another number is refused, but for svmlight: there it
        is the width of X, which otherwise would be learned from the data.
    columns : sequence of str or None
        Features to take from CSV and Parquet, in this order; None: every column but the target.
    labels : bool
        Whether the target may be text. It is numbers if all of it are, so its type is learned from
        the data, as the set of labels is.
    text_labels : bool
        The target of a CSV file stays text, whatever it holds: for labels that were declared.
    zero_based : bool
        Whether columns of an svmlight file are counted from 0; the format counts from 1.
    largest : int
        A file that has, or unpacks to, more bytes is refused.
    csv : CsvForm
        What separates the cells of a CSV file, and its encoding.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    DataError
        If it cannot be read as what its ending says, or lacks what was asked for.
    """
    path = Path(path)
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{path} has an ending that is not known. Use one of: {', '.join(KINDS)}.")
    if kind in SAMPLES:
        raise DataError(f"{path}: {kind} files are opened with dpsparse.readers.open_rows.")
    if kind in ("svmlight", "npz") and target not in (None, "y"):
        raise DataError(f"{path}: {kind} files hold their own target, y. Leave the target's name out.")
    if kind not in NAMED and columns is not None:
        raise DataError(f"{path}: {kind} files do not name their columns. Leave the columns' names out.")
    wanted = ReadOptions(target if kind in NAMED else None, n_features, columns, zero_based, whole=True, csv=csv)
    with opened(path, kind, largest) as file:
        if kind == "npz" and sum(member.file_size for member in zipfile.ZipFile(file).infolist()) > largest:
            raise _too_large(path, largest)
        stream = STREAMS[kind](file, path, wanted)
        if n_features is not None and stream.n_features != n_features and (kind != "npy" or target is None):
            raise other_width(path, stream.n_features, n_features)
        X, targets = _below(stream, path, largest)
        if kind == "npy" and target is not None:
            X, y = _split(X, target, path)
            if n_features not in (None, X.shape[1]):
                raise other_width(path, X.shape[1], n_features)
            return Table(X, y)
        if kind not in NAMED:
            return Table(X, np.concatenate(targets) if targets else np.zeros(0) if kind == "svmlight" else None)
        if target is None:
            return Table(X, None, stream.names)
        meant = "texts" if text_labels and kind == "CSV" else "labels" if labels or text_labels else "numbers"
        y = joined_targets([TargetPart.of(part, stream.typed) for part in targets], meant, path)
    return Table(X, y.astype(float) if meant == "numbers" else y, stream.names)


def _below(stream: RowStream, path: Path, largest: int) -> tuple[Matrix, list[NDArray[np.generic] | Texts]]:
    """All rows of a stream, one below the other, and the pieces of their targets."""
    rows, targets, size = list[Any](), list[NDArray[np.generic] | Texts](), 0
    for X, y in stream.pieces:
        size += X.data.nbytes
        if size > largest:
            raise _too_large(path, largest)
        rows.append(X)
        if y is not None:
            targets.append(y)
    if not stream.sparse:
        return np.concatenate(rows) if rows else np.zeros((0, stream.n_features)), targets
    width = stream.n_features
    if width == svmlight.WIDEST:  # it was not declared
        width = 1 + max((int(x.indices.max(initial=0)) for x in rows), default=0)
        if width > LARGEST_WIDTH:
            raise DataError(
                f"{path} has columns beyond {LARGEST_WIDTH:,}. Declare how many features there are: n_features."
            )
        for x in rows:
            x.resize(x.shape[0], width)
    return sp.vstack([sp.csr_matrix((0, width)), *rows], format="csr"), targets


def _split(X: Matrix, target: str, path: Path) -> tuple[Matrix, NDArray[np.generic]]:
    """A table without the column of its target, which is named by its number, and that column."""
    if not target.isdigit() or int(target) >= X.shape[1] or X.shape[1] < 2:
        raise DataError(f"{path}: the target of an npy file is the number of its column, from 0 to {X.shape[1] - 1}.")
    return np.delete(X, int(target), axis=1), X[:, int(target)]


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser says into one refusal that quotes nothing from the file."""
    try:
        yield
    except (DataError, ImportError, MemoryError, FileNotFoundError):
        raise
    except Exception:
        raise DataError(
            f"{path} could not be read as {kind}: it is damaged, or something else. Write the file "
            "again, or correct its ending."
        ) from None


@contextmanager
def opened(path: Path, kind: str, largest: int = ANY_SIZE) -> Iterator[IO[bytes]]:
    """An ordinary file of a kind, of at most `largest` bytes; whatever its parser says is one refusal."""
    with reading(path, kind), open_regular(path, largest, f"a {kind} file") as file:
        yield file


def other_width(path: Path, found: int, declared: int | None) -> DataError:
    """The refusal of a file with another number of features."""
    return DataError(f"{path} has {found} features, but {declared} were expected. Use data with the same columns.")


def _too_large(path: Path, largest: int) -> DataError:
    return DataError(
        f"{path} unpacks to more than {largest:,} bytes, which is not read. Use a smaller file, or raise the limit."
    )


# ------------------------------------------------------------------------------------------------ columns by name


@contextmanager
def _open(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """An open file with named columns, and which kind it is."""
    kind = KINDS.get(path.suffix.lower())
    if kind not in NAMED:
        known = [ending for ending, named in KINDS.items() if named in NAMED]
        raise DataError(f"{path} was expected to be a table with named columns: {', '.join(known)}. Convert it first.")
    with opened(path, kind) as file:
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
