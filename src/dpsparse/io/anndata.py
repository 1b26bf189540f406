"""AnnData files (``.h5ad``): rows are cells or samples, columns are genes; targets and covariates are columns of obs.

Read by h5py, some rows at a time: a dense X, or a sparse one that is stored by rows (CSR).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from ..rows.records import cut
from .labels import Texts
from .tabular import PIECE_ENTRIES, Matrix, Piece, ReadOptions, RowStream

#: Groups and arrays of HDF5, which have no types.
Held = Any


def h5ad_stream(file: IO[bytes], path: Path, wanted: ReadOptions) -> RowStream:
    """AnnData: X with the columns of obs that are named as covariates beside it, and one as the target."""
    try:
        import h5py
    except ImportError:
        raise ImportError("reading AnnData needs h5py. Install it with: pip install 'dpsparse[genomics]'") from None
    held = h5py.File(file, "r")
    if not {"X", "obs", "var"} <= set(held):
        raise DataError(f"{path} was expected to hold X, obs and var, as AnnData files do.")
    genes = [str(name) for name in _column(held["var"], held["var"].attrs["_index"], path)]
    extra = _names(wanted.covariates)
    beside = [_numbers(held["obs"], name, path, wanted.fill) for name in extra]
    y = None if wanted.target is None else _column(held["obs"], wanted.target, path)
    sparse = isinstance(held["X"], h5py.Group)
    rows = (_csr if sparse else _dense)(held["X"], path, len(genes), wanted.fill)

    def pieces() -> Iterator[Piece]:
        start = 0
        for X in rows:
            stop = start + X.shape[0]
            if extra:
                own = np.column_stack([column[start:stop] for column in beside])
                X = sp.hstack([X, sp.csr_matrix(own)], format="csr") if sparse else np.hstack([X, own])
            target = None if y is None else y[start:stop]
            yield X, Texts(target) if isinstance(target, list) else target
            start = stop

    return RowStream(len(genes) + len(extra), sparse, (*genes, *extra), isinstance(y, list), pieces())


def holds_sparse_genes(file: IO[bytes]) -> bool:
    """Whether X is stored sparse."""
    import h5py

    return isinstance(h5py.File(file, "r")["X"], h5py.Group)


def _dense(X: Held, path: Path, width: int, fill: float | None) -> Iterator[Matrix]:
    if X.ndim != 2 or X.shape[1] != width:
        raise DataError(f"{path}: X was expected to have one column for each entry of var.")
    step = max(1, PIECE_ENTRIES // max(1, width))
    for start in range(0, max(X.shape[0], 1), step):
        yield _filled(np.asarray(X[start : start + step], dtype=float), fill)


def _csr(X: Held, path: Path, width: int, fill: float | None) -> Iterator[Matrix]:
    if X.attrs.get("encoding-type") != "csr_matrix" or int(X.attrs["shape"][1]) != width:
        raise DataError(f"{path}: a sparse X must be stored by rows. Store it so: adata.X = adata.X.tocsr().")
    ends = np.asarray(X["indptr"][:], dtype=np.int64)
    for first, last in pairwise(cut(ends, PIECE_ENTRIES) if ends.size > 1 else [0, 0]):
        part = slice(int(ends[first]), int(ends[last]))
        values, columns = _filled(np.asarray(X["data"][part], dtype=float), fill), np.asarray(X["indices"][part])
        if columns.size and not (columns.min() >= 0 and columns.max() < width):
            raise DataError(f"{path}: X was expected to be a CSR matrix with one column for each entry of var.")
        yield sp.csr_matrix(
            (values, columns.astype(np.int32), ends[first : last + 1] - ends[first]), shape=(last - first, width)
        )


def _filled(values: NDArray[np.float64], fill: float | None) -> NDArray[np.float64]:
    return values if fill is None else np.where(np.isnan(values), fill, values)


def _column(table: Held, name: str, path: Path) -> NDArray[np.generic] | list[str]:
    """A column of obs or var: numbers, or a list of texts; a category that is missing is the empty text."""
    if name not in table:
        raise DataError(f"{path}: obs has no column {name!r}. Check the name: case matters.")
    held = table[name]
    if "categories" in held:
        texts, codes = held["categories"], held["codes"][:]
        if texts.dtype.kind not in "biuf":
            labels = [*texts.asstr()[:].tolist(), ""]
            return [labels[code] for code in codes.tolist()]
        return np.asarray(np.append(np.asarray(texts[:], dtype=float), np.nan)[codes])
    if not hasattr(held, "dtype"):  # nullable arrays: values, and a mask of those that are missing
        return np.where(held["mask"][:], np.nan, held["values"][:].astype(float))
    return np.asarray(held[:]) if held.dtype.kind in "biuf" else list(held.asstr()[:])


def _numbers(obs: Held, name: str, path: Path, fill: float | None) -> NDArray[np.float64]:
    found = _column(obs, name, path)
    if isinstance(found, list):
        raise DataError(f"{path}: the covariate {name!r} is text. Encode it as numbers first.")
    return _filled(np.asarray(found, dtype=float), fill)


def _names(given: object) -> list[str]:
    """Names of columns of obs, from a list or a text with commas."""
    if given is None:
        return []
    listed: Any = str(given).split(",") if isinstance(given, str | Path) else given
    return [str(name).strip() for name in listed]
