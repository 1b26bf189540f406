"""Files as streams of rows: CSV, Parquet (wide, or lists of column numbers and values), svmlight, npy and npz, some rows at a time.

Guarantee
---------
As for `files`: a refusal names the file, a column and what was expected, and never a row or a value. The numbers are those that `read_table`
gives. Memory is that of a piece, whatever the file's length.
"""

from __future__ import annotations

import importlib.util
import math
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.regular_files import open_regular
from ..rows.cells import GAPS
from ..rows.records import cut
from . import svmlight
from .labels import Texts
from .lists import is_pair_of_lists, list_rows
from .table import LARGEST_BYTES, LARGEST_WIDTH, Matrix
from .tabular import (
    CSV_BLOCK,
    csv_header,
    features_of,
    matrix_of,
    parquet_header,
    plain_records,
    refuse_text,
    target_column,
)
from .threaded_file import ThreadedFile

#: Numbers that a piece of rows holds, about.
PIECE_ENTRIES = 2**20
#: Least bytes of CSV that are parsed at once: what a cache holds.
LEAST_CSV_BLOCK = 2**20

Target = NDArray[Any] | Texts | None
Piece = tuple[Matrix, Target]


@dataclass(frozen=True)
class ReadOptions:
    """What is taken of files; see `dpsparse.readers.open_rows`."""

    target: str | None = None
    n_features: int | None = None
    columns: Sequence[str] | None = None
    zero_based: bool = False
    classes: Sequence[Any] | None = None


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


def csv_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """CSV by pyarrow; from the first cell on that is no number, by the standard library, which gives the same numbers."""
    names = csv_header(file, path)
    features = features_of(names, wanted.target, wanted.columns, path)
    file.seek(0)
    return RowStream(
        len(features), False, tuple(features), False, _csv_pieces(file, path, names, features, wanted.target)
    )


def _csv_pieces(
    file: IO[bytes], path: Path, names: list[str], features: list[str], target: str | None
) -> Iterator[Piece]:
    done = 0
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow as pa
        from pyarrow import csv

        kinds = {**dict.fromkeys(features, pa.float64()), **({} if target is None else {target: pa.string()})}
        options = csv.ConvertOptions(
            column_types=kinds, include_columns=list(kinds), null_values=list(GAPS), strings_can_be_null=False
        )
        size = min(max(LEAST_CSV_BLOCK, 64 * sum(map(len, names))), CSV_BLOCK)
        try:
            apart = ThreadedFile(file)
            with csv.open_csv(apart, read_options=csv.ReadOptions(block_size=size), convert_options=options) as batches:
                for batch in batches:
                    table = pa.Table.from_batches([batch])
                    yield matrix_of(table, features), None if target is None else Texts.of(table[target])
                    done += table.num_rows
                    file.seek(apart.position)  # for whoever asks how far it is
            return
        except pa.ArrowInvalid:
            pass
    file.seek(0)
    count = max(1, PIECE_ENTRIES // len(features))
    for rows, cells in plain_records(file, path, names, features, target, skip=done, count=count):
        yield rows, None if cells is None else Texts.listed(cells)


def parquet_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """Parquet by pyarrow: columns of numbers, or one column of lists of column numbers and one of lists of values."""
    import pyarrow.parquet as pq

    names = parquet_header(file)
    features = features_of(names, wanted.target, wanted.columns, path)
    file.seek(0)
    parts = pq.ParquetFile(file)
    schema = parts.schema_arrow
    kinds = [schema.field(name).type for name in features]
    lists = is_pair_of_lists(kinds)
    if lists and wanted.n_features is None:
        raise DataError(
            f"{path} holds lists of columns, which do not say how many features there are, and the largest that occurs is private. Declare "
            "n_features."
        )
    if not lists:
        refuse_text(schema, features, path)
    typed = wanted.target is not None and _is_text(schema.field(wanted.target).type)

    def pieces() -> Iterator[Piece]:
        count = max(1, PIECE_ENTRIES // (64 if lists else len(features)))
        columns = [*features, *([] if wanted.target is None else [wanted.target])]
        for batch in parts.iter_batches(count, columns=columns):
            import pyarrow as pa

            table = pa.Table.from_batches([batch])
            y = None if wanted.target is None else _target(table[wanted.target], wanted.target, path)
            if lists:
                assert wanted.n_features is not None
                yield list_rows(batch, features, wanted.n_features), y
            else:
                yield matrix_of(table, features), y

    if lists:
        assert wanted.n_features is not None
        return RowStream(wanted.n_features, True, None, typed, pieces())
    return RowStream(len(features), False, tuple(features), typed, pieces())


def _target(column: Any, name: str, path: Path) -> Target:
    """The target of a Parquet file: numbers or texts, by its declared type."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return Texts.of(column) if _is_text(column.type) else target_column(column, name, True, path)


def _is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts, or of categories that are texts."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def svmlight_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """svmlight; the number of columns is declared."""
    if wanted.n_features is None:
        raise DataError(
            f"{path}: svmlight files do not say how many features there are, and the largest that occurs is private. Declare n_features."
        )
    pieces = svmlight.read_pieces(file, path, wanted.n_features, wanted.zero_based)
    return RowStream(wanted.n_features, True, None, False, pieces)


def npy_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """One array; its targets, if it has some, are another file."""
    shape, kind = _array_header(file, path)
    if len(shape) != 2:
        raise DataError(f"{path} was expected to hold a table with rows and columns. Store it so.")
    y = None if wanted.target is None else _vector(Path(wanted.target), shape[0])
    return RowStream(
        shape[1], False, None, y is not None and y.dtype.kind == "U", _dense_pieces(file, path, shape, kind, y)
    )


def npz_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """Arrays ``X, y``, or ``data, indices, indptr, shape, y`` of a CSR matrix."""
    archive = zipfile.ZipFile(file)
    held = {name.removesuffix(".npy") for name in archive.namelist()}
    y = _whole(archive, "y", path) if "y" in held else None
    typed = y is not None and y.dtype.kind == "U"
    if "X" in held:
        member = archive.open("X.npy")
        shape, kind = _array_header(member, path)
        if len(shape) != 2 or (y is not None and y.shape != (shape[0],)):
            raise DataError(
                f"{path} was expected to hold a table of numbers with one target for each row. Store it so."
            )
        return RowStream(shape[1], False, None, typed, _dense_pieces(member, path, shape, kind, y))
    if not {"data", "indices", "indptr", "shape"} <= held:
        raise DataError(f"{path} was expected to hold X, y or data, indices, indptr, shape, y. Store it so.")
    shape = tuple(int(v) for v in _whole(archive, "shape", path))
    ends = _whole(archive, "indptr", path).astype(np.int64)
    fine = len(shape) == 2 and ends.shape == (shape[0] + 1,) and ends[0] == 0 and np.all(np.diff(ends) >= 0)
    if not fine or not 1 <= shape[1] <= LARGEST_WIDTH or (y is not None and y.shape != (shape[0],)):
        raise DataError(f"{path} was expected to hold a table of numbers with one target for each row. Store it so.")
    return RowStream(shape[1], True, None, typed, _csr_pieces(archive, path, shape[1], ends, y))


def _dense_pieces(
    file: IO[bytes], path: Path, shape: tuple[int, ...], kind: np.dtype[Any], y: NDArray[Any] | None
) -> Iterator[Piece]:
    count = max(1, PIECE_ENTRIES // max(shape[1], 1))
    for first in range(0, shape[0], count):
        last = min(first + count, shape[0])
        values = _read(file, path, (last - first) * shape[1], kind)
        yield values.reshape(last - first, shape[1]), None if y is None else y[first:last]


def _csr_pieces(
    archive: zipfile.ZipFile, path: Path, width: int, ends: NDArray[np.int64], y: NDArray[Any] | None
) -> Iterator[Piece]:
    with archive.open("data.npy") as data, archive.open("indices.npy") as indices:
        kinds = [_array_header(member, path) for member in (data, indices)]
        if any(shape != (int(ends[-1]),) for shape, _ in kinds) or kinds[1][1].kind not in "iu":
            raise DataError(f"{path} was expected to hold a CSR matrix. Store it so.")
        edges = cut(ends, PIECE_ENTRIES)
        for first, last in pairwise(edges):
            count = int(ends[last] - ends[first])
            values, columns = (_read(m, path, count, kind) for m, (_, kind) in zip((data, indices), kinds, strict=True))
            if count and not (columns.min() >= 0 and columns.max() < width):
                raise DataError(f"{path} was expected to hold a CSR matrix. Store it so.")
            X = sp.csr_matrix(
                (values, columns.astype(np.int32), ends[first : last + 1] - ends[first]), shape=(last - first, width)
            )
            yield X, None if y is None else y[first:last]


def _array_header(file: IO[bytes], path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array; refuses what is no array of numbers in the order of rows."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, kind = read(file)
    if kind.kind not in "biufU" or kind.hasobject:
        raise DataError(f"{path} was expected to hold numbers. Store it so.")
    if by_columns and len(shape) > 1:
        raise DataError(f"{path} stores its array column by column. Store it row by row: numpy.ascontiguousarray.")
    if len(shape) == 2 and shape[1] > LARGEST_WIDTH:
        raise DataError(f"{path} has more than {LARGEST_WIDTH:,} columns, which are not read.")
    return tuple(int(n) for n in shape), kind


def _read(file: IO[bytes], path: Path, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
    content = file.read(count * kind.itemsize)
    if len(content) != count * kind.itemsize:
        raise DataError(f"{path} holds an array that is shorter than it says. Write the file again.")
    return np.frombuffer(content, dtype=kind)


def _whole(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as member:
        shape, kind = _array_header(member, path)
        size = archive.getinfo(f"{name}.npy").file_size
        if math.prod(shape) * kind.itemsize > size:
            raise DataError(f"{path} holds an array that is shorter than it says. Write the file again.")
        return _read(member, path, math.prod(shape), kind).reshape(shape)


def _vector(path: Path, rows: int) -> NDArray[Any]:
    """Targets of a table in a file of their own."""
    with open_regular(path, LARGEST_BYTES, "an npy file with one target for each row") as file:
        shape, kind = _array_header(file, path)
        if shape != (rows,):
            raise DataError(f"{path} was expected to hold one target for each row. Store it so.")
        return _read(file, path, rows, kind)


#: Who streams which kind of file.
STREAMS: dict[str, Callable[[IO[bytes], Path, ReadOptions], RowStream]] = {
    "CSV": csv_stream,
    "Parquet": parquet_stream,
    "svmlight": svmlight_stream,
    "npy": npy_stream,
    "npz": npz_stream,
}
