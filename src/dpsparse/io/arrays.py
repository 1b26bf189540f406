"""svmlight and npz: rows without names."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp

from ..core.errors import DataError
from . import svmlight
from .table import LARGEST_WIDTH, Matrix, Table


def read_svmlight(file: IO[bytes], path: Path, n_features: int | None, zero_based: bool) -> Table:
    """Rows of an svmlight file. A record with a column that does not exist, or that cannot be read, is NaN; its target stays."""
    parts = list(svmlight.read_pieces(file, path, n_features, zero_based))
    width = n_features or 1 + max(int(x.indices.max(initial=0)) for x, _ in parts)
    if width > LARGEST_WIDTH:
        raise DataError(
            f"{path} has columns beyond {LARGEST_WIDTH:,}. Declare how many features there are: n_features."
        )
    for x, _ in parts:
        x.resize(x.shape[0], width)
    X = sp.vstack([sp.csr_matrix((0, width)), *(x for x, _ in parts)], format="csr")
    return Table(X, np.concatenate([np.zeros(0), *(y for _, y in parts)]))


def read_npz(file: IO[bytes], path: Path, part: str, largest: int) -> Table | None:
    """The train (`part` empty) or test part; None if there is no test part."""
    file.seek(0)
    _check_sizes(file, path, largest)
    file.seek(0)
    with np.load(file, allow_pickle=False) as found:
        dense, sparse = f"X{part}", [f"{key}{part}" for key in ("data", "indices", "indptr", "shape")]
        if dense in found.files:
            X: Matrix = found[dense]
        elif all(key in found.files for key in sparse):
            data, indices, indptr, shape = (found[key] for key in sparse)
            X = sp.csr_matrix((data, indices, indptr), shape=tuple(int(v) for v in shape))
            X.check_format(full_check=True)
            if X.shape[1] > LARGEST_WIDTH:
                raise DataError(f"{path} has more than {LARGEST_WIDTH:,} columns, which are not read.")
        elif part:
            return None
        else:
            raise DataError(f"{path} was expected to hold X, y or data, indices, indptr, shape, y. Store it so.")
        y = found[f"y{part}"] if f"y{part}" in found.files else None
    if X.ndim != 2 or X.dtype.kind not in "biuf" or (y is not None and y.shape != (X.shape[0],)):
        raise DataError(f"{path} was expected to hold a table of numbers with one target for each row. Store it so.")
    return Table(X, y)


def read_npy(file: IO[bytes], path: Path, target: str | None, largest: int) -> Table:
    """One table of numbers; `target` is the number of the column that is predicted, counted from 0."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject or dtype.kind not in "biuf" or len(shape) != 2 or shape[1] == 0:
        raise DataError(f"{path} was expected to hold one table of numbers. Store it so, or use npz with X and y.")
    if math.prod(shape) * dtype.itemsize > largest:
        raise DataError(
            f"{path} has more than {largest:,} bytes, which are not read. Use a smaller file, or raise the limit."
        )
    file.seek(0)
    X = np.load(file, allow_pickle=False)
    if target is None:
        return Table(X)
    if not target.isdigit() or int(target) >= X.shape[1] or X.shape[1] < 2:
        raise DataError(f"{path}: the target of an npy file is the number of its column, from 0 to {X.shape[1] - 1}.")
    return Table(np.delete(X, int(target), axis=1), X[:, int(target)])


def _check_sizes(file: IO[bytes], path: Path, largest: int) -> None:
    """Refuse what would unpack to too much, and arrays that say they are larger than they are, before memory is taken for them."""
    total = 0
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            total += member.file_size
            if total > largest:
                raise DataError(
                    f"{path} unpacks to more than {largest:,} bytes, which is not read. Use a smaller file, or raise the limit."
                )
            with archive.open(member) as stream:
                version = np.lib.format.read_magic(stream)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(stream)
            if not dtype.hasobject and math.prod(shape) * dtype.itemsize > member.file_size:
                raise DataError(f"{path} holds an array that is shorter than it says. Write the file again.")
