r"""What a user brings: arrays, sparse matrices or frames, read block by block and without a word about any value.

Guarantee
---------
After the shape is known nothing here but `refuse_missing` raises, warns or prints because of a value. A cell that is no
number becomes NaN, and so the record is ignored (`clip_and_quantise`): a text, a Python
integer of 400 digits, a missing value. Messages of numpy, pandas or polars, which quote cells,
never pass. The one exception is `refuse_missing`, which an estimator calls where the user chose to refuse such
cells: it raises because of a value, always in the same words, and no guarantee covers that choice.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError, MissingValueError
from ..core.facts import Vector
from .cells import cell_number
from .file_records import ClusterRecords, FileRecords
from .lattice import BLOCK_ROWS
from .row_terms import RowTerms
from .shapes import Basis
from .units import Indices, Units, cut_at
from .unread import Bits, UnreadCells, unread_of

#: Dense blocks are converted in pieces of about this many entries.
BLOCK_ENTRIES = 2**22
#: And rows that are stored elsewhere in pieces of about this many.
STORED_ENTRIES = 2**20

#: Types of polars whose numbers numpy shows as they are, and what is missing as NaN.
POLARS_NUMBERS = frozenset(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)) | {
    "Float32",
    "Float64",
}

#: Polars frames of at most this many entries are copied whole, which takes a third of the time of parts.
COPIED_ENTRIES = 2**25
#: Neighbouring columns of one type are read together, in at most about this many groups.
MOST_RUNS = 64
#: Columns of several types are written together for as many entries at a time as a cache holds, and as many columns.
CACHED_ENTRIES, CACHED_COLUMNS = 2**18, 512

Raw = Any  # a float array or a CSR matrix
Found = TypeVar("Found")


@contextmanager
def suppress_messages() -> Iterator[None]:
    """No warning passes, of numpy or of anything else."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Records:
    """Features as they came, by rows.

    Parameters
    ----------
    X : array-like, scipy sparse matrix, pandas or polars frame, or FileRecords
        Anything with rows and columns.

    Attributes
    ----------
    shape : (int, int)
    names : tuple of str or None
        Names of the columns, where they have some.
    sparse : bool
        Whether rows come sparse.
    unread : UnreadCells or None
        Which cells of the table behind the rows were not understood, where the encoder says so: **private**.
    terms : RowTerms or None
        Offsets and weights of the records, where a fit was given some: **private**.
    units : Units or None
        Whose rows are whose; None: every row is a record. **private**.
    starts : array of int or None
        First rows of units, where rows stand unit by unit (`grouped`): **private**.
    """

    def __init__(self, X: object) -> None:
        self.sparse = bool(sp.issparse(X))
        self.names: tuple[str, ...] | None = None
        self._kept: Any
        self._stored = X if isinstance(X, FileRecords) else None
        if self._stored is not None:
            self.sparse, self.names = self._stored.sparse, self._stored.names
            self._kept = X
            self._read: Callable[[Any, int, int], Raw] = _stored_rows
        elif self.sparse:
            self._kept = _sparse_rows(X)
            self._read = _csr_rows
        elif hasattr(X, "columns") and hasattr(X, "shape"):
            columns = X.column_names if hasattr(X, "column_names") else X.columns
            self.names = tuple(map(str, columns.tolist() if hasattr(columns, "tolist") else columns))
            self._kept, self._read = _array_of_frame(X), _frame_rows
            if self._kept is not X:
                self._read = _array_rows
            elif _plain_frame(X):
                self._read = _plain_frame_rows
        else:
            self._kept, self._read = _array(X), _array_rows
        self.shape: tuple[int, int] = (int(self._kept.shape[0]), int(self._kept.shape[1]))
        self._scale: Vector | None = None
        self._basis: Basis | None = None
        self.unread = unread_of(X, self.shape[0])
        self.terms: RowTerms | None = None
        self.units: Units | None = None
        self.starts: Indices | None = None

    @classmethod
    def of(cls, X: object) -> Records:
        """A source as it is, or one made of something else."""
        return X if type(X) is cls else cls(X)

    def rescaled(self, scale: float | Vector) -> Records:
        """The same rows, every column divided by a public number. Each row is a function of its own record still."""
        if np.ndim(scale) == 0 and scale == 1.0:
            return self
        found = copy(self)
        found._scale = np.asarray(scale * np.ones(self.shape[1])) * (1.0 if self._scale is None else self._scale)
        return found

    @property
    def by_units(self) -> bool:
        """Whether rows say whose they are, or stand unit by unit."""
        spread = self.spread is not None and self.spread.units is not None
        return spread or self.units is not None or self.starts is not None

    @property
    def count(self) -> int:
        """How many records there are: rows, or units."""
        if self.spread is not None and self.spread.units is not None:
            return sum(self.spread.units)
        return self.shape[0] if self.units is None else self.units.count

    def by_unit(self, units: Units | None) -> Records:
        """The same rows, of which those of a unit are one record."""
        found = copy(self)
        found.units = units
        return found

    def grouped(self) -> tuple[Records, Indices]:
        """The rows that count, unit by unit, and where each stood; rows of files are read into memory for it."""
        assert self.units is not None
        order = self.units.order
        if self.spread is not None:
            raise DataError("units are not sorted on a cluster yet. Bring the rows to one machine, sorted or not.")
        kept = self if self._stored is None else Records(self._stored.rows(0, self.shape[0])).expanded(self._basis)
        kept._scale, kept.terms, kept.unread = self._scale, self.terms, self.unread
        here = np.array_equal(order, np.arange(self.shape[0]))
        found = copy(kept) if here else kept.take(order)
        found.units, found.starts = None, self.units.starts
        return found, order

    def expanded(self, basis: Basis | None) -> Records:
        """The same rows behind a public map of each record alone, dense; None: as they are.

        Comes before `rescaled`.
        """
        if basis is None:
            return self
        if self.spread is not None:
            return Records(self.spread.after_step(basis, basis.width, sparse=False))
        found = copy(self)
        found._basis, found.sparse, found.names = basis, False, None
        found.shape = (self.shape[0], basis.width)
        if self.unread is not None:
            found.unread = UnreadCells(basis.checked(self.unread.columns), self.unread.bits)
        return found

    def rows(self, start: int, stop: int) -> Raw:
        """Some rows as floats, dense or CSR; NaN where a cell is no number."""
        with suppress_messages():
            found = self._read(self._kept, start, stop)
            found = found if self._basis is None else self._basis.rows(found)
            return found if self._scale is None else _quotients(found, self._scale)

    def plain(self) -> Raw:
        """All rows as an array or a CSR matrix of numbers: as they came where they are one, and not copied then."""
        return self._kept if self.is_plain else self.rows(0, self.shape[0])

    @property
    def is_plain(self) -> bool:
        """Whether rows are an array or a CSR matrix of numbers as they came."""
        return not self._mapped and self._stored is None and (self.sparse or _plain_array(self._kept))

    @property
    def _frame_of_numbers(self) -> bool:
        """Whether rows are a frame of plain numbers as they came."""
        return self._read is _plain_frame_rows and not self._mapped

    def _typed(self, start: int, stop: int) -> Raw:
        """Some rows of a frame of numbers, in a type that holds them all as floats would."""
        with suppress_messages():
            return _typed_frame_rows(self._kept, start, stop)

    @property
    def _mapped(self) -> bool:
        return self._scale is not None or self._basis is not None

    def take(self, which: Any) -> Records:
        """Some of the rows, by a slice or by their numbers; all of them are not copied."""
        if isinstance(which, slice) and which == slice(None):
            return self
        if self.spread is not None:
            taken = Records(self.spread.take(which))
            taken._scale = self._scale
            return taken
        if self._stored is not None:
            raise DataError("rows in files are not divided. Read them into memory first, or store the parts apart.")
        if hasattr(self._kept, "column_names"):
            found = Records(self._kept.take(which))
        else:
            found = Records(self._kept.iloc[which] if hasattr(self._kept, "iloc") else self._kept[which])
        found = found.expanded(self._basis)
        found._scale, found.names = self._scale, self.names
        found.unread = None if self.unread is None else self.unread.take(which)
        found.terms = None if self.terms is None else self.terms.take(which)
        found.units = None if self.units is None else self.units.take(which)
        return found

    @property
    def spread(self) -> ClusterRecords | None:
        """The rows, where they stand on a cluster."""
        return self._stored if isinstance(self._stored, ClusterRecords) else None

    @property
    def scale(self) -> Vector | None:
        """What every column is divided by; None: rows are as they came."""
        return self._scale

    @property
    def whole(self) -> bool:
        """Whether the declared type has no word for what is no number: integers and booleans; or a store has none."""
        if self._stored is not None:
            return self._stored.finite
        return bool(getattr(self._kept, "dtype", np.dtype(float)).kind in "biu") and not np.ma.isMaskedArray(self._kept)

    @property
    def entries(self) -> int:
        """How many numbers the rows hold, without the zeros that sparse rows leave out."""
        if self._stored is not None and self._basis is None:
            return self._stored.entries
        return int(self._kept.nnz) if self.sparse else self.shape[0] * self.shape[1]

    def bits(self, start: int, stop: int) -> Bits | None:
        """Which cells of some rows were not understood, eight to a byte; None where rows do not say."""
        return None if self.unread is None else self.unread.bits[start:stop]

    def with_terms(self, terms: RowTerms | None) -> Records:
        """The same rows with offsets and weights."""
        found = copy(self)
        found.terms = terms
        return found

    def beside(self, start: int, stop: int) -> tuple[Bits | None, Indices | None, RowTerms | None]:
        """What `clip_and_quantise` takes of some rows beside the rows and their targets."""
        terms = None if self.terms is None else self.terms.take(slice(start, stop))
        return self.bits(start, stop), self._starts(start, stop), terms

    def blocks(self, targets: Vector, start: int = 0, stop: int | None = None) -> Iterator[tuple[Raw, Vector]]:
        """Rows as floats and their targets, some at a time."""
        return ((self.rows(first, last), targets[first:last]) for first, last in self._cuts(start, stop))

    def records(
        self, targets: Vector, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[Raw, Vector, Bits | None, Indices | None, RowTerms | None]]:
        """Rows, their targets, and what stands beside them (`beside`), some at a time.

        Rows of an array or a frame of numbers keep their type, and no floats are made of them here.
        """
        plain = self.is_plain and not self.sparse and self._kept.dtype.itemsize <= 8
        for first, last in self._cuts(start, stop):
            if plain:
                rows = self._kept[first:last]
            else:
                rows = self._typed(first, last) if self._frame_of_numbers else self.rows(first, last)
            yield rows, targets[first:last], *self.beside(first, last)

    def cells(self) -> Iterator[Vector]:
        """Numbers of all rows, some at a time and in any order; nothing where none can be missing."""
        if self.whole:
            return
        if self.is_plain and self.plain().dtype.itemsize <= 8:  # longer floats may become infinite
            kept = self.plain()
            parts = [kept.data] if self.sparse else (kept[i : i + 2**10] for i in range(0, kept.shape[0], 2**10))
            yield from parts
        elif self._frame_of_numbers and hasattr(self._kept, "iloc"):
            for run in _runs(self._kept):
                parts = (run[i : i + 2**10] for i in range(0, len(run), 2**10))
                yield from (np.asarray(part, dtype=_common_type([run])) for part in parts)
        elif self._frame_of_numbers:
            yield from (self._typed(first, last) for first, last in self._cuts(0, None))
        else:
            yield from (x.data if sp.issparse(x) else x for x, _ in self.blocks(np.zeros(0)))

    def _cuts(self, start: int, stop: int | None) -> Iterator[tuple[int, int]]:
        """First and last row of what is read at once."""
        stop = self.shape[0] if stop is None else stop
        step = BLOCK_ROWS if self.sparse else max(1, min(BLOCK_ROWS, BLOCK_ENTRIES // max(1, self.shape[1])))
        edges = range(start, stop, step) if self._stored is None else self._stored.cut(STORED_ENTRIES)
        cuts = [start, *(edge for edge in edges if start < edge < stop), stop]
        if self.starts is not None:
            cuts = cut_at(self.starts, self.shape[0], cuts)
        return ((first, last) for first, last in pairwise(cuts) if first < last)

    def _starts(self, first: int, last: int) -> Indices | None:
        """First rows of the units between two rows, of which the first is one."""
        if self.starts is None:
            return None
        own = slice(*np.searchsorted(self.starts, [first, last]))
        return np.asarray(self.starts[own] - first)

    def cut(self, entries: int) -> list[int]:
        """Row numbers between which at most about `entries` numbers stand, or one row.

        They run from the first row to the number of rows.
        """
        edges = self._edges(entries)
        return edges if self.starts is None else cut_at(self.starts, self.shape[0], edges)

    def _edges(self, entries: int) -> list[int]:
        if self._stored is not None:
            return self._stored.cut(entries)
        if not self.sparse:
            step = max(1, min(BLOCK_ROWS, entries // max(1, self.shape[1])))
            return [*range(0, self.shape[0], step), self.shape[0]]
        return cut(self._kept.indptr, entries)

    def row_entries(self) -> NDArray[np.intp] | None:
        """How many numbers each row holds; None for rows that are stored elsewhere."""
        if self._stored is not None:
            return None
        return np.diff(self._kept.indptr) if self.sparse else np.full(self.shape[0], self.shape[1])

    def regrouped(self, rows: FileRecords) -> Records:
        """What stands beside the rows of units, beside the same rows unit by unit."""
        assert self.units is not None
        found, order = Records(rows), self.units.order
        found.starts = self.units.starts
        found.terms = None if self.terms is None else self.terms.take(order)
        found.unread = None if self.unread is None else self.unread.take(order)
        return found


def cut(ends: NDArray[Any], entries: int) -> list[int]:
    """Row numbers between which at most `entries` stand, or one row, or `BLOCK_ROWS` rows.

    Parameters
    ----------
    ends : array of shape (rows + 1,)
        How many entries stand before each row, and last how many there are.

    Examples
    --------
    >>> cut(np.array([0, 2, 4, 9, 9, 10]), 4)
    [0, 2, 3, 5]
    """
    edges = [0]
    while edges[-1] < ends.size - 1:
        first = edges[-1]
        last = int(np.searchsorted(ends, ends[first] + entries, side="right")) - 1
        edges.append(min(max(last, first + 1), first + BLOCK_ROWS, ends.size - 1))
    return edges


def _stored_rows(stored: FileRecords, start: int, stop: int) -> Raw:
    return stored.rows(start, stop)


def _array(X: object) -> NDArray[Any]:
    with suppress_messages():
        try:
            array = X if isinstance(X, np.ndarray) else np.asarray(X)
            if (
                array is not X and array.dtype.kind not in "biuf"
            ):  # one text among lists would make texts of all their cells
                array = _objects(X)
        except Exception:  # of one cell, or of the shape: a message of numpy could quote a cell
            array = _objects(X)
    if array.ndim != 2:
        raise DataError(
            "X must be a 2D array with two dimensions: one row for each record, and one column for "
            "each feature. Reshape your data."
        )
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported.")
    return array


def _objects(X: object) -> NDArray[Any]:
    """The cells of lists as they are; an array without dimensions where they are no table."""
    try:
        if not isinstance(X, list | tuple):
            return np.array(X, dtype=object)
        cells = np.empty((len(X), len(X[0])), dtype=object)
        for i, row in enumerate(X):
            if not isinstance(row, list | tuple | np.ndarray) or len(row) != cells.shape[1]:
                return np.array(None)
            for j, cell in enumerate(row):
                cells[i, j] = cell
        return cells
    except Exception:  # a message could quote a cell
        return np.array(None)


def _quotients(rows: Raw, scale: Vector) -> Raw:
    """Rows with every column divided by its number."""
    if not sp.issparse(rows):
        return _finite_quotients(rows, scale)
    data = _finite_quotients(rows.data, scale[rows.indices])
    return sp.csr_matrix((data, rows.indices, rows.indptr), shape=rows.shape)


def _finite_quotients(values: Vector, scale: Vector) -> Vector:
    """Quotients, and the largest float where a number's quotient is beyond all.

    It is to be clipped, and its record counts.
    """
    found = values / scale
    largest = np.finfo(float).max
    return np.where(np.isfinite(values), np.clip(found, -largest, largest), values)


def _plain_array(kept: object) -> bool:
    return type(kept) in (np.ndarray, np.memmap) and kept.dtype.kind in "biuf"  # type: ignore[attr-defined]


def _array_rows(array: NDArray[Any], start: int, stop: int) -> Vector:
    return cell_numbers(array[start:stop])


def _sparse_rows(X: Any) -> Raw:
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported.")
    if len(X.shape) != 2:
        raise DataError("X must be a 2D array. Reshape your data.")
    with suppress_messages():
        rows = X.tocsr()
        if rows.dtype.kind not in "biuf":
            rows = sp.csr_matrix((cell_numbers(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    return rows


def _csr_rows(rows: Raw, start: int, stop: int) -> Raw:
    return rows if stop - start == rows.shape[0] else rows[start:stop]


def _frame_rows(frame: Any, start: int, stop: int) -> Vector:
    """Some rows of a frame, column by column, each by its own declared type."""
    part = frame.iloc[start:stop] if hasattr(frame, "iloc") else frame[start:stop]
    out = np.empty((stop - start, part.shape[1]))
    for j in range(part.shape[1]):
        out[:, j] = cell_numbers(_column(part, j))
    return out


def _array_of_frame(frame: Any) -> Any:
    """The array that a pandas frame of one type shows, where it is one in memory; the frame otherwise.

    Of a polars frame, whose columns stand apart, an array is made at once where it has not too many entries.
    """
    if not _plain_frame(frame):
        return frame
    if not hasattr(frame, "iloc"):
        with suppress_messages():
            return frame.to_numpy() if 0 < frame.shape[0] * frame.shape[1] <= COPIED_ENTRIES else frame
    if len(set(frame.dtypes)) != 1:
        return frame
    top = frame.iloc[:1]  # a frame of several arrays would be copied whole: found out on a row of it
    return frame.to_numpy() if np.shares_memory(top.to_numpy(), top.iloc[:, 0].to_numpy()) else frame


def _plain_frame(frame: Any) -> bool:
    """Whether every column of a frame is stored as plain numbers, so that all can be read together.

    Of polars without booleans, which are objects where some are missing.
    """
    kinds = set(getattr(frame, "dtypes", ()))
    if hasattr(frame, "iloc"):
        return all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in kinds)
    return hasattr(frame, "to_series") and all(str(kind) in POLARS_NUMBERS for kind in kinds)


def _plain_frame_rows(frame: Any, start: int, stop: int) -> Vector:
    return np.asarray(_typed_frame_rows(frame, start, stop), dtype=float)


def _typed_frame_rows(frame: Any, start: int, stop: int) -> Any:
    """Some rows of a frame of numbers, neighbouring columns of one type together.

    In the narrowest type that holds them all, or floats; groups of several are written one row after the other, as many
    entries at a time as a cache holds.
    """
    if not hasattr(frame, "iloc"):
        return frame[start:stop].to_numpy()
    runs = _runs(frame.iloc[start:stop])
    kind = _common_type(runs)
    if len(runs) == 1:
        return np.asarray(runs[0], dtype=kind)
    out = np.empty((stop - start, frame.shape[1]), dtype=kind)
    count = max(1, CACHED_ENTRIES // max(1, out.shape[1]))
    for first in range(0, len(out), count):
        some, at = out[first : first + count], 0
        for run in runs:
            for column in range(0, run.shape[1], CACHED_COLUMNS):
                part = run[first : first + count, column : column + CACHED_COLUMNS]
                some[:, at : at + part.shape[1]] = part
                at += part.shape[1]
    return out


def _runs(frame: Any) -> list[NDArray[Any]]:
    """The columns of a pandas frame of numbers as arrays: neighbours of one type in one, which is a view where it can.

    Where types change too often all columns are in one, as floats.
    """
    kinds = frame.dtypes.to_numpy()
    edges = [0, *(np.flatnonzero(kinds[1:] != kinds[:-1]) + 1), kinds.size]
    if kinds.size == 0 or len(edges) > MOST_RUNS:
        return [frame.to_numpy(dtype=float)]
    return [frame.iloc[:, first:last].to_numpy() for first, last in pairwise(edges)]


def _common_type(runs: Sequence[NDArray[Any]]) -> np.dtype[Any]:
    """The narrowest type that holds the numbers of all arrays, of at most eight bytes: longer floats become floats."""
    found = np.result_type(*(run.dtype for run in runs))
    return found if found.itemsize <= 8 else np.dtype(float)


def _column(frame: Any, j: int) -> Any:
    if hasattr(frame, "iloc"):
        return frame.iloc[:, j]
    return frame.to_series(j) if hasattr(frame, "to_series") else frame.column(j)


def cell_numbers(values: Any) -> Vector:
    """Values as floats, silently; NaN for whatever is no number. Complex numbers become NaN."""
    with suppress_messages():
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            return np.asarray(
                np.ma.filled(values.astype(float), np.nan) if np.ma.isMaskedArray(values) else values, float
            )
        try:
            return _plain_numbers(values)
        except Exception:  # whatever it says could hold a cell
            cells = np.empty(np.shape(values), dtype=object)
            cells[...] = _cells(values)
            return _each(cells)


def _plain_numbers(values: object) -> Vector:
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.dtype.kind in "biuf":
        return np.asarray(array, dtype=float)
    if array.dtype.kind in "mM":  # numpy would make integers of nanoseconds
        return np.full(array.shape, np.nan)
    return _each(np.asarray(array, dtype=object))


def _cells(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _each(cells: NDArray[Any]) -> Vector:
    out = np.empty(cells.shape)
    flat, source = out.reshape(-1), cells.reshape(-1)
    for i in range(flat.size):
        flat[i] = cell_number(source[i])
    return out


def code_classes(y: Any, classes: Sequence[Any]) -> Vector:
    """Number of each label among the declared classes; NaN, hence an ignored record, for every other label.

    Labels and classes are the same if they are equal: 1, 1.0 and True are; 1 and "1" are not.
    """
    codes = {_key(label): float(code) for code, label in enumerate(classes)}
    with suppress_messages():
        if isinstance(y, np.ndarray) and y.dtype.kind in "biuf" and not np.ma.isMaskedArray(y):
            return _code_numbers(y.ravel(), codes)
        try:
            return np.array([_code(label, codes) for label in _labels(y)], dtype=float)
        except Exception:
            return np.full(len(y), np.nan)


def _code_numbers(y: NDArray[Any], codes: dict[Any, float]) -> Vector:
    """Codes of labels that are stored as numbers, class by class.

    Integers and floats are the same only if no digit differs.
    """
    found = np.full(y.shape, np.nan)
    for label, code in codes.items():
        if isinstance(label, int | float) and (same := _as_stored(label, y.dtype.kind)) is not None:
            found[y == same] = code
    return found


def _as_stored(label: float, kind: str) -> float | None:
    """A label as an array of integers or floats holds it, since numpy would round it to compare.

    None where it cannot.
    """
    try:
        stored = int(label) if kind in "iu" else float(label)
    except (OverflowError, ValueError):
        return None
    return stored if stored == label else None


def _labels(y: Any) -> Iterable[Any]:
    plain = y.to_numpy() if hasattr(y, "to_numpy") else y
    return plain.ravel().tolist() if isinstance(plain, np.ndarray) else list(plain)


def _key(label: object) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _code(label: object, codes: dict[Any, float]) -> float:
    try:
        return codes.get(_key(label), math.nan)
    except Exception:  # a label that cannot be looked up is unknown
        return math.nan


def center_targets(y: object, center: float) -> Vector:
    """Targets as floats less their public centre, the largest float where that is beyond all.

    NaN for whatever is no number.
    """
    with suppress_messages():
        found = cell_numbers(y).ravel()
        largest = np.finfo(float).max
        return np.where(np.isfinite(found), np.clip(found - center, -largest, largest), np.nan)


def has_missing(source: Records, targets: Vector) -> bool:
    """Whether any cell or target is no finite number. About values: what follows from it is covered by no guarantee."""
    with suppress_messages():
        if not np.all(np.isfinite(targets)):
            return True
        if source.spread is not None:
            return source.spread.missing
        return any(not np.all(np.isfinite(cells)) for cells in source.cells())


# ------------------------------------------------------------------------------------------------ refusals

#: What to do with a record that has a cell which is missing, infinite or no number.
CHOICES = ("refuse", "empty")

#: Fixed: it names no row, column, value or number of them.
REFUSAL = (
    "the data holds NaN, inf or a cell that is no number (each argument must be a number, or a string with a number), "
    "or a line of a file has too few or too many cells. Fill such cells with a public constant"
)
#: What else can be done about it.
AT_FIT = ", or set on_missing='empty': their records are then ignored."
AT_PREDICTION = "; nothing can be said about rows with such cells."

#: Said in statements wherever rows may be refused.
NOT_COVERED = (
    "nobody learns whether a fit was refused because of missing values: a refusal reveals that there are some, and the "
    "guarantee does not cover that (on_missing='empty' never refuses)"
)


def refuse_missing(source: Records, targets: Vector, advice: str = AT_FIT) -> None:
    """Refuse rows with a cell or target that is no finite number; always in the same words.

    Parameters
    ----------
    source : Records
    targets : array
        Empty where they are not looked at.
    advice : str
        How the message ends.
    """
    if has_missing(source, targets):
        raise MissingValueError(REFUSAL + advice)
