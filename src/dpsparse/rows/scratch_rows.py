"""Rows that are read from a scratch file, a few at a time, for hosts that do not hold all rows in memory.

Guarantee
---------
**Blocks** (`ScratchBlock`). A block is read as it was sanitised, no matter what was read before it and who still
reads other rows.

**Rows unit by unit** (`GroupedRows`). Rows come in the order of `Units`, that of rows which are grouped in
memory, so that blocks which are cut at first rows of units hold whole units, and every sum has the same bytes.
Which row goes where follows from ids alone. A row is given as its source gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from ..core.facts import Vector
from .block import Block
from .kernels.available import narrow_pays
from .kernels.interface import Indices, Matrix
from .narrow import narrow
from .records import Raw, Records, cut
from .row_terms import RowTerms
from .scratch import Place, Scratch, Space
from .unread import Bits


class ScratchBlock(Block):
    """A block whose rows are read from a scratch file when they are asked for: **private**.

    Parameters
    ----------
    scratch : Scratch
    pieces : sequence of Block
        As `clip_and_quantise` made them and `compact` stored them; they become one.
    number : int
        Its number among all blocks of the file.
    """

    whole = False  # no copy by columns is kept
    csc = None

    def __init__(self, scratch: Scratch, pieces: Sequence[Block], number: int) -> None:
        first = pieces[0]
        self.number = number
        self._scratch = scratch
        self._sparse = first.sparse
        self._shape = (sum(piece.x.shape[0] for piece in pieces), first.x.shape[1])
        self._y, self._squares, self._largest = (
            scratch.put([getattr(piece, name) for piece in pieces]) for name in ("y", "squares", "largest")
        )
        self._alive = scratch.put([piece.present.astype(np.int8) for piece in pieces])
        self._values = scratch.put([piece.x.data if first.sparse else piece.x.reshape(-1) for piece in pieces])
        self._indices = scratch.put([piece.x.indices for piece in pieces]) if first.sparse else None
        self._counts = (
            scratch.put([np.diff(piece.x.indptr).astype(np.int32) for piece in pieces]) if first.sparse else None
        )
        remembered = [piece.clipped for piece in pieces if piece.clipped is not None]
        bits = [piece.unread.reshape(-1) for piece in pieces if piece.unread is not None]
        self._unread = scratch.put(bits) if bits else None
        self._clipped = scratch.put([part.reshape(-1) for part in remembered]) if remembered else None
        units = [(piece.starts, piece.weight) for piece in pieces]
        before = np.cumsum([0, *(piece.y.size for piece in pieces)])
        first_rows = [starts + edge for (starts, _), edge in zip(units, before, strict=False) if starts is not None]
        self._starts = scratch.put(first_rows) if first_rows else None
        self._weight = scratch.put([weight for _, weight in units if weight is not None]) if first_rows else None
        self._terms = [
            scratch.put(parts)
            if (parts := [v for p in pieces if (v := getattr(p.terms, name, None)) is not None])
            else None
            for name in ("offset", "weight")
        ]

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self._shape[0])

    @property
    def records(self) -> int:
        """Number of records: rows, or units."""
        return self.count if self._starts is None else self._starts.size

    @property
    def loaded_bytes(self) -> int:
        """Memory that the rows take once they were read."""
        return self._values.size * (int(self._values.kind.itemsize) + 4 * self._sparse) + 4 * int(self._shape[0])

    def load(self, space: Space) -> Matrix:
        """Read the rows, as they were before they were written, into arrays from `space`."""
        values = self._scratch.get(self._values, space(self._values.size, self._values.kind))
        if self._sparse and not narrow_pays(values.size):
            values = values.astype(float)
        if self._indices is None or self._counts is None:
            return values.reshape(self._shape)
        ends = np.zeros(self._shape[0] + 1, dtype=np.int32)
        np.cumsum(self._scratch.get(self._counts), out=ends[1:])
        indices = self._scratch.get(self._indices, space(self._indices.size, self._indices.kind))
        found = sp.csr_matrix((values, indices, ends), shape=self._shape)
        found.has_sorted_indices = found.has_canonical_format = True  # as sanitised rows are; not looked for again
        return found

    @property
    def x(self) -> Matrix:  # type: ignore[override]
        """The rows."""
        return self._scratch.matrix(self)

    @property
    def y(self) -> Vector:  # type: ignore[override]
        """Targets."""
        return self._scratch.get(self._y)

    @property
    def present(self) -> Vector:  # type: ignore[override]
        """0 for records that are ignored."""
        return self._scratch.get(self._alive).astype(float)

    @property
    def squares(self) -> Vector:  # type: ignore[override]
        """Squared norms."""
        return self._scratch.get(self._squares)

    @property
    def largest(self) -> Vector:  # type: ignore[override]
        """Largest entries."""
        return self._scratch.get(self._largest)

    @property
    def clipped(self) -> Vector | None:  # type: ignore[override]
        """What was clipped of each row, where rows remember it."""
        return None if self._clipped is None else self._scratch.get(self._clipped).reshape(self._shape[0], -1)

    @property
    def unread(self) -> Bits | None:  # type: ignore[override]
        """Which cells of each row were not understood, where rows remember it."""
        return None if self._unread is None else self._scratch.get(self._unread).reshape(self._shape[0], -1)

    @property
    def terms(self) -> RowTerms | None:  # type: ignore[override]
        """Offset and weight of each record, where it has them."""
        found = (None if part is None else self._scratch.get(part) for part in self._terms)
        return RowTerms(*found) if any(part is not None for part in self._terms) else None

    @property
    def starts(self) -> Indices | None:  # type: ignore[override]
        """First rows of units, where a record is one."""
        return None if self._starts is None else self._scratch.get(self._starts)

    @property
    def weight(self) -> Vector | None:  # type: ignore[override]
        """Weight of each row in its unit."""
        return None if self._weight is None else self._scratch.get(self._weight)

    @property
    def sparse(self) -> bool:
        """Whether zeros are left out."""
        return self._sparse

    def rows(self, which: Indices | slice) -> Block:
        """Some of the rows, which are read when they are asked for."""
        return ScratchRows(self._scratch, self, np.arange(self.count)[which])


class ScratchRows(Block):
    """Some rows of a spilled block, read when they are asked for: **private**."""

    whole = False
    csc = None

    def __init__(self, scratch: Scratch, block: ScratchBlock, which: Indices) -> None:
        self._scratch = scratch
        self._block = block
        self._which = which

    def load(self) -> Matrix:
        """Take the rows out of their block."""
        return self._block.x[self._which]

    @property
    def x(self) -> Matrix:  # type: ignore[override]
        """The rows."""
        return self._scratch.sample(self)

    @property
    def y(self) -> Vector:  # type: ignore[override]
        """Targets."""
        return self._block.y[self._which]

    @property
    def present(self) -> Vector:  # type: ignore[override]
        """0 for records that are ignored."""
        return self._block.present[self._which]

    @property
    def squares(self) -> Vector:  # type: ignore[override]
        """Squared norms."""
        return self._block.squares[self._which]

    @property
    def largest(self) -> Vector:  # type: ignore[override]
        """Largest entries."""
        return self._block.largest[self._which]

    @property
    def clipped(self) -> Vector | None:  # type: ignore[override]
        """What was clipped of each row, where rows remember it."""
        found = self._block.clipped
        return None if found is None else found[self._which]

    @property
    def terms(self) -> RowTerms | None:  # type: ignore[override]
        """Offset and weight of each record, where it has them."""
        found = self._block.terms
        return None if found is None else found.take(self._which)

    @property
    def starts(self) -> Indices | None:  # type: ignore[override]
        """First rows of units among these, where a record is one and none of them is cut."""
        return self._block.starts_of(self._which)

    @property
    def weight(self) -> Vector | None:  # type: ignore[override]
        """Weight of each row in its unit."""
        found = self._block.weight
        return None if found is None else found[self._which]

    @property
    def sparse(self) -> bool:
        """Whether zeros are left out."""
        return self._block.sparse

    def rows(self, which: Indices | slice) -> Block:
        """Some of these rows."""
        return ScratchRows(self._scratch, self._block, self._which[which])


def compact(block: Block) -> Block:
    """A block in little memory, until it is written: whole numbers in the narrowest type, 32-bit indices."""
    x = block.x
    if block.sparse:
        x = sp.csr_matrix((narrow(x.data), x.indices.astype(np.int32, copy=False), x.indptr), shape=x.shape)
    else:
        x = narrow(x)
    parts = (x, block.y, block.present, block.squares, block.largest)
    beside = {name: getattr(block, name) for name in ("clipped", "unread", "terms", "starts", "weight")}
    return Block(*parts, whole=False, **beside)


#: Where some rows of a bucket are in a scratch file: their places in the order, values, columns and counts.
Part = tuple[Place, Place, Place | None, Place | None]


class GroupedRows:
    """Rows that count, unit by unit, as a `FileRecords`: **private**.

    Rows in memory are picked where they stand. Rows of files are read once and dealt into buckets of a
    scratch file by their place in the order; a bucket is put in order when it is asked for. To be
    read from the first row to the last.

    Parameters
    ----------
    source : Records
        It has units.
    entries : int
        Numbers that may be in memory at a time.
    """

    names = None
    finite = False

    def __init__(self, source: Records, entries: int) -> None:
        assert source.units is not None
        self._order, self._source = source.units.order, copy(source)
        self._source.units = self._source.terms = self._source.unread = None
        self.sparse, self.shape = source.sparse, (self._order.size, source.shape[1])
        self._last: tuple[int, Raw] | None = None
        self._scratch: Scratch | None = None
        sizes = source.row_entries()
        if sizes is None:
            self._scratch = Scratch()
            try:
                sizes = self._deal(entries)
            except BaseException:
                self.close()
                raise
        else:
            sizes = sizes[self._order]
        self._ends = np.r_[0, np.cumsum(sizes)]

    @property
    def entries(self) -> int:
        """How many numbers the rows hold."""
        return int(self._ends[-1])

    def cut(self, entries: int) -> list[int]:
        """Row numbers between which at most `entries` numbers stand, or one row."""
        return cut(self._ends, entries)

    def rows(self, start: int, stop: int) -> Raw:
        """Some rows as floats."""
        if self._scratch is None:
            return self._source.take(self._order[start:stop]).rows(0, stop - start)
        found = []
        for number in range(start // self._each, -(-stop // self._each)):
            first = number * self._each
            found.append(self._bucket(number)[max(start - first, 0) : stop - first])
        if len(found) == 1:
            return found[0]
        return sp.vstack(found, format="csr") if self.sparse else np.concatenate(found)

    def targets(self, meant: str) -> None:
        """None: targets are grouped apart from the rows."""

    def _deal(self, entries: int) -> Indices:
        """Read the rows once and write each to its bucket; how many numbers each holds, in the order of units."""
        place = np.full(self._source.shape[0], -1, dtype=np.intp)
        place[self._order] = np.arange(self._order.size)
        self._each = max(1, self._order.size * entries // max(self._source.entries, 1))
        edges = np.arange(-(-self._order.size // self._each) + 1) * self._each
        self._parts: list[list[Part]] = [[] for _ in edges[1:]]
        sizes = np.full(self._order.size, self.shape[1], dtype=np.intp)
        for start, stop in pairwise(self._source.cut(entries)):
            rows, own = self._source.rows(start, stop), place[start:stop]
            sort = np.argsort(own, kind="stable")
            sort = sort[own[sort] >= 0]
            rows, own = rows[sort], own[sort]
            if self.sparse:
                sizes[own] = np.diff(rows.indptr)
            for parts, (first, last) in zip(self._parts, pairwise(np.searchsorted(own, edges)), strict=True):
                if first < last:
                    parts.append(self._put(rows[first:last], own[first:last]))
        return sizes

    def _put(self, rows: Any, own: Indices) -> Part:
        assert self._scratch is not None
        put = self._scratch.put
        if not self.sparse:
            return put([own]), put([rows.reshape(-1)]), None, None
        return put([own]), put([rows.data]), put([rows.indices]), put([np.diff(rows.indptr)])

    def _bucket(self, number: int) -> Raw:
        """The rows of a bucket in order; the last one is kept."""
        if self._last is None or self._last[0] != number:
            self._last = None
            owners, rows = zip(*(self._get(*part) for part in self._parts[number]), strict=True)
            together = sp.vstack(rows, format="csr") if self.sparse else np.concatenate(rows)
            self._last = number, together[np.argsort(np.concatenate(owners))]
        return self._last[1]

    def _get(self, own: Place, values: Place, columns: Place | None, counts: Place | None) -> tuple[Indices, Raw]:
        assert self._scratch is not None
        get, width = self._scratch.get, self.shape[1]
        if columns is None or counts is None:
            return get(own), get(values).reshape(-1, width)
        ends = np.r_[0, np.cumsum(get(counts))]
        return get(own), sp.csr_matrix((get(values), get(columns), ends), shape=(ends.size - 1, width))

    def close(self) -> None:
        """Give the disk back."""
        self._last = None
        if self._scratch is not None:
            self._scratch.close()

    def __repr__(self) -> str:
        return "GroupedRows()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or stored.")
