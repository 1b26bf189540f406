"""Files as streams of rows, some rows at a time.

Formats are CSV, Parquet (wide, or lists of column numbers and values), svmlight, npy and npz, and
those of genomics: PLINK 1, PLINK 2 and AnnData.

Guarantee
---------
As for `files`: a refusal names the file, a column and what was expected, and never a row or a
value. The numbers are those that `read_table` gives. Memory is that of a piece, whatever the file's
length.
"""

from __future__ import annotations

import importlib
import math
import zipfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.regular_files import open_regular
from ..rows.records import cut
from . import svmlight
from .tabular import LARGEST_WIDTH, PIECE_ENTRIES, Piece, ReadOptions, RowStream, csv_stream, parquet_stream

#: Files that have, or unpack to, more bytes are not read unless the caller says so.
LARGEST_BYTES = 2**32


def svmlight_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """svmlight; the number of columns is declared."""
    if wanted.n_features is None and not wanted.whole:
        raise DataError(
            f"{path}: svmlight files do not say how many features there are, and the largest that "
            "occurs is private. Declare n_features."
        )
    pieces = svmlight.read_pieces(file, path, wanted.n_features, wanted.zero_based)
    return RowStream(wanted.n_features or svmlight.WIDEST, True, None, False, pieces)


def npy_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """One array; its targets, if it has some, are another file."""
    array = _Array(file, path, wanted.whole)
    y = None if wanted.target is None else _vector(Path(wanted.target), array.shape[0])
    return array.stream(y)


def npz_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """The rows of an npz file, piece by piece.

    It holds the arrays ``X, y``, or ``data, indices, indptr, shape, y`` of a CSR matrix.
    """
    archive = zipfile.ZipFile(file)
    held = {name.removesuffix(".npy") for name in archive.namelist()}
    y = _whole(archive, "y", path) if "y" in held else None
    if "X" in held:
        return _Array(archive.open("X.npy"), path, wanted.whole).stream(y)
    if not {"data", "indices", "indptr", "shape"} <= held:
        raise DataError(f"{path} was expected to hold X, y or data, indices, indptr, shape, y. Store it so.")
    shape = tuple(int(v) for v in _whole(archive, "shape", path))
    ends = _whole(archive, "indptr", path).astype(np.int64)
    fine = len(shape) == 2 and ends.shape == (shape[0] + 1,) and ends[0] == 0 and np.all(np.diff(ends) >= 0)
    if not fine or not 1 <= shape[1] <= LARGEST_WIDTH or (y is not None and y.shape != (shape[0],)):
        raise _no_table(path)
    typed = y is not None and y.dtype.kind == "U"
    return RowStream(shape[1], True, None, typed, _csr_pieces(archive, path, shape[1], ends, y))


class _Array:
    """A dense table that is stored as one array, read some rows at a time."""

    def __init__(self, file: IO[bytes], path: Path, whole: bool) -> None:
        self._file, self._path = file, path
        self.shape, self._kind, self._by_columns = _array_header(file, path)
        if len(self.shape) != 2 or self.shape[1] == 0 or self._kind.kind == "U":
            raise _no_table(path)
        if self._by_columns and not whole:
            raise DataError(f"{path} stores its array column by column. Store it row by row: numpy.ascontiguousarray.")

    def stream(self, y: NDArray[np.generic] | None) -> RowStream:
        """Its rows, with these targets."""
        if y is not None and y.shape != (self.shape[0],):
            raise _no_table(self._path)
        return RowStream(self.shape[1], False, None, y is not None and y.dtype.kind == "U", self._pieces(y))

    def _pieces(self, y: NDArray[np.generic] | None) -> Iterator[Piece]:
        rows, width = self.shape
        count = rows if self._by_columns else max(1, PIECE_ENTRIES // width)
        for first in range(0, max(rows, 1), max(count, 1)):
            last = min(first + count, rows)
            values = _read(self._file, self._path, (last - first) * width, self._kind)
            X = values.reshape((last - first, width), order="F" if self._by_columns else "C")
            yield X, None if y is None else y[first:last]


def _no_table(path: Path) -> DataError:
    return DataError(f"{path} was expected to hold a table of numbers with one target for each row. Store it so.")


def _csr_pieces(
    archive: zipfile.ZipFile, path: Path, width: int, ends: NDArray[np.int64], y: NDArray[np.generic] | None
) -> Iterator[Piece]:
    with archive.open("data.npy") as data, archive.open("indices.npy") as indices:
        kinds = [_array_header(member, path) for member in (data, indices)]
        if any(shape != (int(ends[-1]),) for shape, *_ in kinds) or kinds[1][1].kind not in "iu":
            raise DataError(f"{path} was expected to hold a CSR matrix. Store it so.")
        for first, last in pairwise(cut(ends, PIECE_ENTRIES) if ends.size > 1 else [0, 0]):
            count = int(ends[last] - ends[first])
            values, columns = (
                _read(m, path, count, kind) for m, (_, kind, _) in zip((data, indices), kinds, strict=True)
            )
            if count and not (columns.min() >= 0 and columns.max() < width):
                raise DataError(f"{path} was expected to hold a CSR matrix. Store it so.")
            X = sp.csr_matrix(
                (values, columns.astype(np.int32), ends[first : last + 1] - ends[first]), shape=(last - first, width)
            )
            yield X, None if y is None else y[first:last]


def _array_header(file: IO[bytes], path: Path) -> tuple[tuple[int, ...], np.dtype[np.generic], bool]:
    """Shape and type of an array, and whether it is stored by columns; refuses what is no array of numbers or texts."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, kind = read(file)
    if kind.kind not in "biufU" or kind.hasobject:
        raise DataError(f"{path} was expected to hold numbers. Store it so.")
    if len(shape) == 2 and shape[1] > LARGEST_WIDTH:
        raise DataError(f"{path} has more than {LARGEST_WIDTH:,} columns, which are not read.")
    return tuple(int(n) for n in shape), kind, by_columns and len(shape) > 1


def _read(file: IO[bytes], path: Path, count: int, kind: np.dtype[np.generic]) -> NDArray[np.generic]:
    content = file.read(count * kind.itemsize)
    if len(content) != count * kind.itemsize:
        raise DataError(f"{path} holds an array that is shorter than it says. Write the file again.")
    return np.frombuffer(content, dtype=kind)


def _whole(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[np.generic]:
    with archive.open(f"{name}.npy") as member:
        shape, kind, _ = _array_header(member, path)
        size = archive.getinfo(f"{name}.npy").file_size
        if math.prod(shape) * kind.itemsize > size:
            raise DataError(f"{path} holds an array that is shorter than it says. Write the file again.")
        return _read(member, path, math.prod(shape), kind).reshape(shape)


def _vector(path: Path, rows: int) -> NDArray[np.generic]:
    """Targets of a table in a file of their own."""
    with open_regular(path, LARGEST_BYTES, "an npy file with one target for each row") as file:
        shape, kind, _ = _array_header(file, path)
        if shape != (rows,):
            raise DataError(f"{path} was expected to hold one target for each row. Store it so.")
        return _read(file, path, rows, kind)


def _later(module: str, name: str) -> Callable[[IO[bytes], Path, ReadOptions], RowStream]:
    """A stream of another file of this package, which is imported when it is used."""

    def stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
        found: RowStream = getattr(importlib.import_module(f"{__package__}.{module}"), name)(file, path, wanted)
        return found

    return stream


#: What each ending is called in messages, and who reads such files: a new format is one line here.
FORMATS: dict[str, tuple[str, Callable[[IO[bytes], Path, ReadOptions], RowStream]]] = {
    ".csv": ("CSV", csv_stream),
    ".parquet": ("Parquet", parquet_stream),
    ".pq": ("Parquet", parquet_stream),
    ".svmlight": ("svmlight", svmlight_stream),
    ".libsvm": ("svmlight", svmlight_stream),
    ".svm": ("svmlight", svmlight_stream),
    ".npz": ("npz", npz_stream),
    ".npy": ("npy", npy_stream),
    ".bed": ("PLINK 1", _later("genomics", "bed_stream")),
    ".pgen": ("PLINK 2", _later("genomics", "pgen_stream")),
    ".h5ad": ("AnnData", _later("anndata", "h5ad_stream")),
}
KINDS = {ending: kind for ending, (kind, _) in FORMATS.items()}
STREAMS = dict(FORMATS.values())
#: Kinds of files whose columns have names.
NAMED = ("CSV", "Parquet")
#: Kinds of files with a table about the samples beside the features: its columns can be the target and covariates.
SAMPLES = ("PLINK 1", "PLINK 2", "AnnData")
