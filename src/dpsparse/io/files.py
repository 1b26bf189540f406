"""Files of rows: CSV, Parquet, svmlight and npz, each read into one table.

Guarantee
---------
A refusal names the file, a column and what was expected: never a row, a value or how many rows there are. Messages of
the parsers underneath quote what they stumbled over, so they are replaced and not passed on. After the form of a file (its kind, names and
declared types) has been checked, nothing is refused for one record, and none changes how another is read: a cell that is no number is NaN,
whatever its bytes and its length, and so is a record of an svmlight file with columns that do not exist. Exceptions: what is learned
from the records (labels that are not declared, the number of columns of an svmlight file), and a quote in a CSV file that is never closed
(see `tabular`). Only ordinary files are opened, and no file makes a reader take more memory than a small multiple of `largest`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..core.errors import DataError
from ..core.regular_files import open_regular
from .arrays import read_npy, read_npz, read_svmlight
from .lists import LISTS, read_lists
from .sources import SOURCES
from .table import LARGEST_BYTES, Table
from .tabular import csv_header, features_of, parquet_header, plain_csv, read_csv, read_parquet

#: What each ending is called in messages.
KINDS = {
    ".csv": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".svm": "svmlight",
    ".npz": "npz",
    ".npy": "npy",
}


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
) -> Table:
    """Read one file; its ending says how.

    Parameters
    ----------
    path : str or Path
        ``.csv`` (commas, a first line of names), ``.parquet``, ``.svmlight`` (also ``.libsvm``, ``.svm``), or ``.npz``
        with arrays ``X, y``, or ``data, indices, indptr, shape, y`` for CSR, or ``.npy`` with one table of numbers. Parquet with a column of
        index lists and one of value lists (``indices``, ``values``) holds sparse rows, counted from 0; their width is `n_features`.
    target : str or None
        Column of the target in CSV and Parquet, its number in npy; None: there is none. The others hold their own target, ``y``.
    n_features : int or None
        Public number of features. A file with another number is refused, but for svmlight: there it is the width of
        X, which otherwise would be learned from the data.
    columns : sequence of str or None
        Features to take from CSV and Parquet, in this order; None: every column but the target.
    labels : bool
        Whether the target may be text. It is numbers if all of it are, so its type is learned from the data, as the set of labels is.
    text_labels : bool
        The target of a CSV file stays text, whatever it holds: for labels that were declared.
    zero_based : bool
        Whether columns of an svmlight file are counted from 0; the format counts from 1.
    largest : int
        A file that has, or unpacks to, more bytes is refused.

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
    if kind in ("svmlight", "npz") and target not in (None, "y"):
        raise DataError(f"{path}: {kind} files hold their own target, y. Leave the target's name out.")
    if kind in ("svmlight", "npz", "npy") and columns is not None:
        raise DataError(f"{path}: {kind} files do not name their columns. Leave the columns' names out.")
    with reading(path, kind), open_regular(path, largest, f"a {kind} file") as file:
        if kind == "npz":
            table = read_npz(file, path, "", largest)
            assert table is not None
            if n_features is not None and table.X.shape[1] != n_features:
                raise DataError(_other_width(path, table.X.shape[1], n_features))
            return table
        if kind == "npy":
            table = read_npy(file, path, target, largest)
            if n_features is not None and table.X.shape[1] != n_features:
                raise DataError(_other_width(path, table.X.shape[1], n_features))
            return table
        if kind == "svmlight":
            return read_svmlight(file, path, n_features, zero_based)
        names = csv_header(file, path) if kind == "CSV" else parquet_header(file)
        features = features_of(names, target, columns, path)
        if kind == "Parquet" and set(LISTS) <= set(names):
            return read_lists(file, path, target, labels, n_features, largest)
        if n_features is not None and len(features) != n_features:
            raise DataError(_other_width(path, len(features), n_features))
        file.seek(0)
        if kind == "Parquet":
            return read_parquet(file, path, features, target, labels, largest)
        if importlib.util.find_spec("pyarrow") is None:
            return plain_csv(file, path, names, features, target, labels, text_labels)
        return read_csv(file, path, names, features, target, labels, text_labels)


def load_dataset(name: str, folder: str | Path) -> tuple[Table, Table | None]:
    """Read a public data set that was stored as ``<folder>/<name>.npz``: its train part, and its test part or None.

    The file holds ``X, y`` (dense) or ``data, indices, indptr, shape, y`` (CSR); a test part has the same names with
    ``_test``. No data is shipped with this package; `SOURCES` says where it is published.
    """
    path = Path(folder) / f"{name}.npz"
    if path.name != f"{name}.npz" or not path.exists():
        if name not in SOURCES:
            raise DataError(f"unknown data set {name!r}. Choose one of: {', '.join(SOURCES)}.")
        raise FileNotFoundError(
            f"{path} does not exist; {name} is published at {SOURCES[name]}. Get it there, and store it with "
            "numpy.savez as X, y (dense) or data, indices, indptr, shape, y (CSR), a test part with the ending _test."
        )
    with reading(path, "npz"), open_regular(path, LARGEST_BYTES, "an npz file") as file:
        train = read_npz(file, path, "", LARGEST_BYTES)
        assert train is not None
        test = read_npz(file, path, "_test", LARGEST_BYTES)
    if test is not None and test.X.shape[1] != train.X.shape[1]:
        raise DataError(f"{path}: the train and test parts have different numbers of features. Get the file again.")
    return train, test


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser says into one refusal that quotes nothing from the file."""
    try:
        yield
    except (DataError, ImportError, MemoryError, FileNotFoundError):
        raise
    except Exception:
        raise DataError(
            f"{path} could not be read as {kind}: it is damaged, or something else. Write the file again, or correct its ending."
        ) from None


def _other_width(path: Path, found: int, declared: int) -> str:
    return f"{path} has {found} features, but {declared} were expected. Use data with the same columns."
