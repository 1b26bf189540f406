r"""Block files (``.dpsrows``): rows as raw numbers, block by block, to be read again quickly and within any memory.

::

    "dpsparse rows 1\n"                                          16 bytes
    block, block, ...                                            each: targets | counts |
                                                                 indices | values, on 8-byte places
    header                                                       JSON: shape, names, kind of the target, labels
    table                                                        one `ENTRY` for each block
    lengths of header and table, their checksum, "rows end\n"    `TAIL`

Sparse blocks hold the number of entries of each row, 32-bit column numbers and values; dense blocks
hold values only. Values are raw: no bound is needed to write them. They stand in the narrowest type
that gives them back (`rows.narrow`), which may differ from block to block. All numbers are
little-endian.

Guarantee
---------
A file is used only if it is an ordinary one, its tail, header, table and length agree to the byte,
and all sizes are within limits: so opening takes bounded time and memory, whatever the file holds.
Each block is checked against its checksum, and its counts and column numbers against the shape,
whenever it is read. Refusals name the file, and quote nothing of it.
"""

from __future__ import annotations

import json
import os
import struct
import weakref
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.regular_files import parse_json
from ..rows.lattice import BLOCK_ROWS
from ..rows.narrow import TYPES, narrow
from ..rows.records import cut
from .labels import CODED, LabelCodes, TargetPart, Texts
from .tabular import LARGEST_WIDTH, Matrix

MAGIC = b"dpsparse rows 1\n"
END = b"rows end\n"
#: Lengths of header and table, their checksum, and the end.
TAIL = struct.Struct(f"<QQI{len(END)}s")
#: Rows and entries of a block, the types of its values and targets by their place in `TYPES`,
#: whether all is finite, two checksums.
ENTRY = np.dtype(
    [
        ("rows", "<u4"),
        ("entries", "<u8"),
        ("values", "u1"),
        ("targets", "u1"),
        ("finite", "u1"),
        ("head", "<u4"),
        ("body", "<u4"),
    ]
)
#: Entries of a block, where a single row has no more.
BLOCK_ENTRIES = 2**19
#: Most bytes of a header, and most blocks of a file.
LARGEST_HEADER = 2**26
MOST_BLOCKS = 2**21
#: Names in the header.
HEADER = ("features", "sparse", "names", "typed", "labels")
#: In the table: no targets.
ABSENT = 255


@dataclass(frozen=True, eq=False, repr=False)
class BlockFile:
    """Rows of one block file; nothing but its end is read when it is opened.

    Attributes
    ----------
    file : binary file
    path : Path
        As messages name it.
    n_features : int
    sparse : bool
    names : tuple of str or None
    typed : bool
        Whether labels are texts, whatever they look like.
    labels : tuple of str
        Texts that coded targets stand for.
    table : array of `ENTRY`
    places : array
        Where each block begins, and the last one ends.
    whole : BlockFile or None
        The file that these blocks are part of, if they are not all of it: it stays open.
    """

    file: IO[bytes]
    path: Path
    n_features: int
    sparse: bool
    names: tuple[str, ...] | None
    typed: bool
    labels: tuple[str, ...]
    table: NDArray[np.void]
    places: NDArray[np.int64]
    whole: BlockFile | None = None

    def __post_init__(self) -> None:
        if self.whole is None:
            weakref.finalize(self, self.file.close)

    def some(self, first: int, last: int) -> BlockFile:
        """Some of the blocks, as a file of their own."""
        return replace(self, table=self.table[first:last], places=self.places[first : last + 1], whole=self)

    @classmethod
    def open(cls, file: IO[bytes], path: Path) -> BlockFile:
        """Check everything but the blocks; the file is closed with the last reference, or at once if it is refused."""
        try:
            return cls._checked(file, path)
        except (ValueError, KeyError, TypeError, OverflowError, struct.error, RecursionError):
            file.close()
            damaged(path)

    @classmethod
    def _checked(cls, file: IO[bytes], path: Path) -> BlockFile:
        size = os.fstat(file.fileno()).st_size
        _need(size >= len(MAGIC) + TAIL.size)
        file.seek(0)
        _need(file.read(len(MAGIC)) == MAGIC)
        file.seek(size - TAIL.size)
        length, listed, checksum, end = TAIL.unpack(file.read(TAIL.size))
        _need(
            end == END
            and length <= LARGEST_HEADER
            and listed <= MOST_BLOCKS * ENTRY.itemsize
            and listed % ENTRY.itemsize == 0
        )
        stop = size - TAIL.size - length - listed
        _need(stop >= len(MAGIC))
        file.seek(stop)
        content = file.read(length + listed)
        _need(zlib.crc32(content) == checksum)
        header, table = parse_json(content[:length]), np.frombuffer(content[length:], dtype=ENTRY)
        _need(set(header) == set(HEADER))
        width, sparse, names, typed, labels = (header[k] for k in HEADER)
        _need(type(width) is int and 1 <= width <= LARGEST_WIDTH and type(sparse) is bool and type(typed) is bool)
        _need(names is None or (_texts(names) and len(names) == width and len(set(names)) == width))
        _need(_texts(labels) and len(set(labels)) == len(labels))
        _check_table(table, width, sparse)
        sizes = _head_sizes(table) + _body_sizes(table, sparse)
        places = len(MAGIC) + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        _need(int(places[-1]) == stop)
        known = None if names is None else tuple(names)
        return cls(file, path, width, sparse, known, typed, tuple(labels), table, places)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table["rows"].sum(dtype=np.int64))

    @property
    def has_targets(self) -> bool:
        """Whether each row has a target; true where there are no rows."""
        return bool(np.all(self.table["targets"] != ABSENT))

    def read(self, block: int) -> Matrix:
        """The rows of a block, as floats."""
        entry = self.table[block]
        head = int(_head_sizes(self.table[block : block + 1])[0])
        content = self._bytes(int(self.places[block]) + head, int(self.places[block + 1]), int(entry["body"]))
        rows, entries, kind = int(entry["rows"]), int(entry["entries"]), TYPES[entry["values"]]
        if not self.sparse:
            return np.frombuffer(content, dtype=kind, count=entries).astype(float).reshape(rows, self.n_features)
        counts = np.frombuffer(content, dtype="<i4", count=rows)
        indices = np.frombuffer(content, dtype="<i4", count=entries, offset=aligned(4 * rows))
        values = np.frombuffer(content, dtype=kind, count=entries, offset=aligned(4 * rows) + aligned(4 * entries))
        ends = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        inside = entries == 0 or (indices.min() >= 0 and indices.max() < self.n_features)
        if counts.min() < 0 or ends[-1] != entries or not inside:
            damaged(self.path)
        return sp.csr_matrix((values.astype(float), indices, ends.astype(np.int32)), shape=(rows, self.n_features))

    def read_targets(self) -> list[TargetPart]:
        """The targets of all rows, block by block."""
        found = []
        for block, entry in enumerate(self.table):
            start = int(self.places[block])
            stop = start + int(_head_sizes(self.table[block : block + 1])[0])
            kind = np.dtype("<i4") if entry["targets"] == CODED else TYPES[entry["targets"]]
            part = np.frombuffer(self._bytes(start, stop, int(entry["head"])), dtype=kind, count=int(entry["rows"]))
            if entry["targets"] == CODED and not (part.min() >= 0 and part.max() < len(self.labels)):
                damaged(self.path)
            found.append(TargetPart(part, self.labels if entry["targets"] == CODED else None, self.typed))
        return found

    def _bytes(self, start: int, stop: int, checksum: int) -> bytes:
        self.file.seek(start)
        content = self.file.read(stop - start)
        if len(content) != stop - start or zlib.crc32(content) != checksum:
            damaged(self.path)
        return content


def damaged(path: Path) -> NoReturn:
    """Refuse a file."""
    raise DataError(
        f"{path} could not be read as a block file: it is damaged, or something else. Convert the data again."
    )


def _check_table(table: NDArray[np.void], width: int, sparse: bool) -> None:
    rows, entries = table["rows"].astype(np.int64), table["entries"]
    _need(bool(np.all((rows >= 1) & (rows <= BLOCK_ROWS))))
    _need(bool(np.all(table["values"] < len(TYPES))))
    _need(bool(np.all((table["targets"] < len(TYPES)) | (table["targets"] == CODED) | (table["targets"] == ABSENT))))
    _need(np.unique(table["targets"] == ABSENT).size <= 1)
    most = np.where(rows == 1, max(width, BLOCK_ENTRIES), BLOCK_ENTRIES).astype(np.uint64)
    _need(bool(np.all(entries <= most)))
    whole = rows.astype(np.uint64) * np.uint64(width)
    _need(bool(np.all(entries <= whole if sparse else entries == whole)))


def _head_sizes(table: NDArray[np.void]) -> NDArray[np.int64]:
    sizes = np.array([kind.itemsize for kind in TYPES] + [0] * (256 - len(TYPES)), dtype=np.int64)
    sizes[CODED] = 4
    return np.asarray(aligned(sizes[table["targets"]] * table["rows"].astype(np.int64)))


def _body_sizes(table: NDArray[np.void], sparse: bool) -> NDArray[np.int64]:
    rows, entries = table["rows"].astype(np.int64), table["entries"].astype(np.int64)
    sizes = np.array([kind.itemsize for kind in TYPES], dtype=np.int64)
    values = aligned(sizes[table["values"]] * entries)
    return np.asarray(values + aligned(4 * rows) + aligned(4 * entries) if sparse else values)


def aligned(size: Any) -> Any:
    """Up to the next 8-byte place."""
    return -(-size // 8) * 8


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(type(text) is str for text in value)


def _need(fine: bool) -> None:
    if not fine:
        raise ValueError


class BlockWriter:
    """Writes rows that come piece by piece.

    Parameters
    ----------
    file : binary file
        Open for writing, at its start.
    n_features : int
    sparse : bool
    names : sequence of str or None
    typed : bool
        Whether labels were declared as texts where they come from, so that "1" is no number.
    classes : sequence or None
        Declared labels: a target with any other label is stored without one.
    """

    def __init__(
        self,
        file: IO[bytes],
        n_features: int,
        sparse: bool,
        names: Sequence[str] | None = None,
        *,
        typed: bool = False,
        classes: Sequence[object] | None = None,
    ) -> None:
        self._file = file
        listed = None if names is None else list(names)
        self._header = {"features": n_features, "sparse": sparse, "names": listed, "typed": typed}
        self._sparse = sparse
        self._width = n_features
        self._table: list[tuple[int, ...]] = []
        self._labels = LabelCodes(classes, typed=typed)
        file.write(MAGIC)

    def add(self, X: Matrix, y: NDArray[np.generic] | Texts | None) -> None:
        """Append rows: CSR for a sparse file, an array for a dense one; targets as numbers, or labels as texts."""
        targets = None if y is None else self._labels.coded(y)
        if X.dtype not in TYPES:
            X = X.astype(float)
        if self._sparse:
            X = sp.csr_matrix(X)
            X.sum_duplicates()
            edges = cut(X.indptr, BLOCK_ENTRIES)
        else:
            step = max(1, min(BLOCK_ROWS, BLOCK_ENTRIES // self._width))
            edges = [*range(0, X.shape[0], step), X.shape[0]]
        for first, last in pairwise(edges):
            self._block(X[first:last], None if targets is None else targets[first:last])

    def _block(self, x: Any, y: NDArray[np.generic] | None) -> None:
        if not x.shape[0]:
            return
        raw: NDArray[np.generic] = x.data if self._sparse else np.ascontiguousarray(x).reshape(-1)
        values, kind = narrow(raw), ABSENT
        head = b""
        if y is not None:
            kind, head = CODED if y.dtype == np.int32 else TYPES.index(y.dtype), padded(y)
        body = padded(values)
        if self._sparse:
            body = padded(np.diff(x.indptr).astype("<i4")) + padded(x.indices.astype("<i4")) + body
        finite = bool(np.all(np.isfinite(raw)))
        self._table.append(
            (x.shape[0], raw.size, TYPES.index(values.dtype), kind, finite, zlib.crc32(head), zlib.crc32(body))
        )
        self._file.write(head)
        self._file.write(body)

    def finish(self) -> None:
        """Write what stands at the end; without it there is no file."""
        header = json.dumps({**self._header, "labels": self._labels.texts}).encode()
        if len(header) > LARGEST_HEADER:
            raise DataError(
                "the target holds too many different texts to be stored. Declare the classes: classes=[...]."
            )
        table = np.array(self._table, dtype=ENTRY).tobytes()
        self._file.write(header + table + TAIL.pack(len(header), len(table), zlib.crc32(header + table), END))
        self._file.flush()


def padded(array: NDArray[np.generic]) -> bytes:
    """The bytes of an array, up to the next 8-byte place."""
    content = array.tobytes()
    return content + bytes(aligned(len(content)) - len(content))
