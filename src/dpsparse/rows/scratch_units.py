"""Rows unit by unit that are read some at a time, for hosts that do not hold all of them.

Guarantee
---------
Rows come in the order of `Units`, that of rows which are grouped in memory, so that blocks which are
cut at first rows of units hold whole units, and every sum has the same bytes. Which row goes where
follows from ids alone. A row is given as its source gives it.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from .records import Raw, Records, cut
from .scratch import Place, Scratch
from .units import Indices

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
