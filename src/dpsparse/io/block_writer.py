"""Writing block files: rows that come piece by piece."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..core.errors import DataError
from ..rows.lattice import BLOCK_ROWS
from ..rows.narrow import TYPES, narrow
from ..rows.records import cut
from .block_file import ABSENT, BLOCK_ENTRIES, END, ENTRY, LARGEST_HEADER, MAGIC, TAIL, aligned
from .labels import CODED, LabelCodes, Texts
from .streams import Matrix


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
        classes: Sequence[Any] | None = None,
    ) -> None:
        self._file = file
        listed = None if names is None else list(names)
        self._header = {"features": n_features, "sparse": sparse, "names": listed, "typed": typed}
        self._sparse = sparse
        self._width = n_features
        self._table: list[tuple[int, ...]] = []
        self._labels = LabelCodes(classes, typed=typed)
        file.write(MAGIC)

    def add(self, X: Matrix, y: NDArray[Any] | Texts | None) -> None:
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

    def _block(self, x: Any, y: NDArray[Any] | None) -> None:
        if not x.shape[0]:
            return
        raw: NDArray[Any] = x.data if self._sparse else np.ascontiguousarray(x).reshape(-1)
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


def padded(array: NDArray[Any]) -> bytes:
    """The bytes of an array, up to the next 8-byte place."""
    content = array.tobytes()
    return content + bytes(aligned(len(content)) - len(content))
