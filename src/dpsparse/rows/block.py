"""Blocks: some rows as whole numbers of the lattice, clipped, without any message about a value.

`clip_and_quantise` makes them; `clipped_parts` measures how far raw records are beyond the declared bounds, where a
user pays to know it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.errors import PrivacyError
from ..core.facts import Vector
from .kernels import plain
from .kernels.available import narrow_pays
from .kernels.choice import kernels
from .kernels.interface import Indices, Mask, Matrix, WholeRows, owners
from .lattice import Lattice
from .row_terms import RowTerms
from .units import lengths_of, weights_of
from .unread import Bits

#: Sparse rows are sanitised this many entries at a time.
PIECE_ENTRIES = 2**16


@dataclass(eq=False, repr=False)
class Block:
    """Some rows: **private**.

    Dense rows are stored shifted; sparse rows keep their zeros, and the shift is applied after
    every product. `squares` and `largest` are of the shifted row with its intercept, in units.
    `csc` is a copy by columns of sparse rows, once it was `asked` for often enough. `alive` is 0
    for records that are ignored. `clipped` says, where that is to be counted, how much of
    each record was beyond its bounds; `unread`, where that is to be counted, which cells of it were
    not understood, eight to a byte; `terms` the offset and the weight of each record, where it has
    them.

    `starts` are the first rows of units, where a record is a unit of several rows (`rows.units`):
    each unit stands in one block. `weight` is that of each row in its unit; None where every row is
    a record.
    """

    x: Matrix
    y: Vector
    present: Vector
    squares: Vector
    largest: Vector
    whole: bool = True
    csc: Any = None
    asked: int = 0
    clipped: Vector | None = None
    unread: Bits | None = None
    starts: Indices | None = None
    weight: Vector | None = None
    terms: RowTerms | None = None

    @property
    def sparse(self) -> bool:
        """Whether zeros are left out."""
        return bool(sp.issparse(self.x))

    def rows(self, which: Indices | slice) -> Block:
        """Some of the rows, as a block of their own."""
        part = (self.x[which], self.y[which], self.present[which], self.squares[which], self.largest[which])
        weight = None if self.weight is None else self.weight[which]
        terms = None if self.terms is None else self.terms.take(which)
        return Block(*part, False, starts=self.starts_of(which), weight=weight, terms=terms)

    def starts_of(self, which: Indices | slice) -> Indices | None:
        """First rows of units among some of the rows; none, so that nothing is summed by unit, if a unit is cut."""
        if self.starts is None:
            return None
        unit = np.repeat(np.arange(self.starts.size), lengths_of(self.starts, self.y.size))[which]
        starts = np.flatnonzero(np.diff(unit, prepend=-1))
        cut = lengths_of(starts, unit.size) != lengths_of(self.starts, self.y.size)[unit[starts]]
        return starts[:0] if cut.any() else starts

    @property
    def unit_starts(self) -> Indices:
        """First rows of units; refuses rows that are records, and a piece that cuts a unit."""
        if self.starts is None or (self.y.size and not self.starts.size):
            raise PrivacyError("these rows are not whole units, and nothing is summed by unit.")
        return self.starts


def clip_and_quantise(
    x: Matrix,
    y: Vector,
    lattice: Lattice,
    unread: Bits | None = None,
    starts: Indices | None = None,
    terms: RowTerms | None = None,
) -> Block:
    """Clip entries, rows and targets, and put them on the lattice; a record that is not finite is ignored.

    Guarantee
    ---------
    Every stored row is a function of its own record alone, the same for dense and for sparse rows:
    squares are summed one after the other in the order of the columns, where zeros add nothing.
    """
    facts = lattice.facts
    with np.errstate(all="ignore"):
        whole = _sparse_block(x, lattice) if sp.issparse(x) else _dense_block(x, lattice)
        stored, finite, squares, largest = whole
        finite &= np.isfinite(y)
        if facts.has_terms:
            terms, known = (terms or RowTerms()).within(facts, y.size)
            finite &= known
        target = np.clip(np.where(finite, y, 0.0), -facts.target_bound, facts.target_bound)
        clipped = clipped_parts(x, y, lattice) if facts.counts_clipped else None
        unread = _remembered(unread, y, lattice) if facts.counts_unread else None
    present = finite.astype(float)
    weight = None if starts is None else weights_of(starts, present)
    held = terms if facts.has_terms else None
    more = {"clipped": clipped, "unread": unread, "starts": starts, "weight": weight, "terms": held}
    return Block(stored, target, present, squares, largest, **more)  # type: ignore[arg-type]


def _remembered(unread: Bits | None, y: Vector, lattice: Lattice) -> Bits:
    """Which cells of each record were not understood.

    None of a record in another part, whose target is infinite (`DataSplit`).
    """
    if unread is None or unread.shape != (y.size, -(-lattice.facts.counts_unread // 8)):
        raise PrivacyError(
            "these rows do not say which of their cells were not understood, though it is to be counted."
        )
    return np.where(np.isinf(y)[:, None], np.uint8(0), unread)


def _dense_block(x: Any, lattice: Lattice) -> tuple[Matrix, Mask, Vector, Vector]:
    """Dense rows, which of them are finite, their squares and largest entries."""
    n, d = x.shape
    if lattice.exact:
        rows, finite = plain.clipped_rows(x, lattice)
        rows -= lattice.shift
        return _compact(rows), finite, *_norms(rows, lattice)
    made = WholeRows(np.empty((n, d), lattice.stored), np.empty(n, dtype=bool), np.empty(n), np.empty(n))
    kernels(n * d).quantise(x, lattice, made)
    return made.stored, made.finite, *_with_intercept(made.squares, made.largest, lattice)


def _compact(x: Vector) -> Matrix:
    """Floats of a non-private baseline in the narrowest type that holds the same numbers; floats where none does."""
    with np.errstate(invalid="ignore"):
        narrower = (x.astype(kind) for kind in (np.int8, np.float32))
        return next((short for short in narrower if np.array_equal(short, x)), x)


def canonical(x: Any) -> Any:
    """Sparse rows as a CSR matrix with each column once in a row, in order; not copied where they are one."""
    x = sp.csr_matrix(x)
    if not x.has_canonical_format:
        x = sp.csr_matrix(x, dtype=float, copy=True)
        x.sum_duplicates()
    return x


def pieces(x: Any) -> Iterator[tuple[slice, Any]]:
    """Rows of a CSR matrix, as many at a time as a cache holds, with values of their own as floats.

    And which they are.
    """
    start = 0
    while start < x.shape[0]:
        stop = max(start + 1, int(np.searchsorted(x.indptr, x.indptr[start] + PIECE_ENTRIES, side="right")) - 1)
        first, last = int(x.indptr[start]), int(x.indptr[stop])
        parts = x.data[first:last].astype(float), x.indices[first:last], x.indptr[start : stop + 1] - first
        yield slice(start, stop), sp.csr_matrix(parts, shape=(stop - start, x.shape[1]))
        start = stop


def _sparse_block(x: Any, lattice: Lattice) -> tuple[Matrix, Mask, Vector, Vector]:
    """Sparse rows with 32-bit indices, and what `_dense_block` has of dense ones.

    Entries have the narrowest type that holds their whole numbers, where that pays.
    """
    x = canonical(x)
    n = x.shape[0]
    data = np.empty(x.data.size, dtype=lattice.stored_sparse if narrow_pays(x.data.size) else np.float64)
    finite, squares, largest = np.empty(n, dtype=bool), np.empty(n), np.empty(n)
    for rows, piece in pieces(x):
        owner = owners(piece)
        finite[rows] = _clip_sparse(piece, owner, lattice)
        squares[rows], largest[rows] = _norms(piece, lattice, owner)
        data[x.indptr[rows.start] : x.indptr[rows.stop]] = piece.data
    found = sp.csr_matrix((data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)
    found.has_sorted_indices = found.has_canonical_format = True  # not looked for again
    return found, finite, squares, largest


def _clip_sparse(x: Any, owner: Indices, lattice: Lattice) -> Mask:
    """Clip the entries of sparse rows and put them on the lattice, in place; says which rows are finite."""
    finite, good = np.isfinite(x.data), np.ones(x.shape[0], dtype=bool)
    if not finite.all():
        good[owner[~finite]] = False
        x.data[~good[owner]] = 0.0
    lattice.bounds.clip(x)
    if not lattice.exact:
        x.data *= 1.0 / lattice.unit
        np.trunc(x.data, out=x.data)
    return good


def _norms(x: Matrix, lattice: Lattice, owner: Indices | None = None) -> tuple[Vector, Vector]:
    """Squared norm and largest absolute entry of each shifted row with its intercept; exact in whole units.

    `owner` has the row of each sparse entry; without it rows are dense floats.
    """
    kind = float if lattice.exact or lattice.exact_squares else np.int64
    if owner is not None:
        shift = lattice.shift
        away = x.data - shift[x.indices] if lattice.shifted else x.data
        # absent entries are -shift: their squares are all of shift's less those of the columns that are present
        change = away**2 - shift[x.indices] ** 2 if lattice.shifted else away**2
        squares = _sums_of_rows(change.astype(kind, copy=False), x.indptr, owner) + (shift**2).astype(kind).sum()
        largest = _largest_absent(x, owner, shift) if lattice.shifted else np.zeros(x.shape[0])
        filled = np.flatnonzero(np.diff(x.indptr))
        if filled.size:
            largest[filled] = np.maximum(largest[filled], np.maximum.reduceat(np.abs(away), x.indptr[filled]))
    else:
        squares, largest = np.einsum("ij,ij->i", x, x), np.abs(x).max(axis=1, initial=0.0)
    return _with_intercept(squares, largest, lattice)


def _with_intercept(squares: Vector, largest: Vector, lattice: Lattice) -> tuple[Vector, Vector]:
    """Squared norms and largest entries of rows and their intercept."""
    squares = np.maximum(squares.astype(float, copy=False), 0.0) + lattice.height**2
    return squares, np.maximum(largest, lattice.height)


def _largest_absent(x: Any, owner: Indices, shift: Vector) -> Vector:
    """Largest absolute shift among the columns that a sparse row does not hold, as dense rows have it.

    0 if it holds all.

    Columns are ranked from the largest shift on. Ranks of a row differ, so that in their order the
    one at place p is at least p, and equal to it up to the first rank that is missing. Ranks beyond
    the number of entries of their row cannot matter.
    """
    order = np.argsort(-np.abs(shift), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    held = rank[x.indices]
    near = held < np.diff(x.indptr)[owner]
    rows, held = owner[near], held[near]
    sort = np.lexsort((held, rows))
    rows, held = rows[sort], held[sort]
    place = np.arange(rows.size) - np.searchsorted(rows, rows)
    first = np.bincount(rows[held == place], minlength=x.shape[0])
    return np.asarray(np.r_[np.abs(shift)[order], 0.0][first])


def _sums_of_rows(values: Any, indptr: Any, owner: Indices) -> Any:
    """Sum of the stored values of each row."""
    if values.dtype.kind == "f":
        return np.bincount(owner, weights=values, minlength=indptr.size - 1)
    ends = np.r_[np.zeros(1, dtype=values.dtype), np.cumsum(values)]
    return ends[indptr[1:]] - ends[indptr[:-1]]


# ------------------------------------------------------------------------------------------------ clipping

#: What is beyond a bound by less than this part of it is rounding, and not beyond.
ROUNDING = 1e-9


def clipped_parts(x: Any, y: Vector, lattice: Lattice) -> Vector:
    """How far each raw record is beyond the bounds: **private**.

    For each record: the part of its entries that is beyond the bounds, whether its norm is, and
    whether its target is.

    Guarantee
    ---------
    Three numbers in [0, 1], a function of the record and of public bounds alone, the same for dense
    and for sparse rows: entries that are zero and within their bounds are not counted, neither
    above nor below the line.

    Returns
    -------
    array of shape (rows, 3)
    """
    facts = lattice.facts
    ones = np.ones(facts.n_features)
    slack = ROUNDING * (np.abs(facts.lower) + np.abs(facts.upper)) * ones
    lower, upper = facts.lower * ones - slack, facts.upper * ones + slack
    with np.errstate(all="ignore"):
        if sp.issparse(x):
            rows = sp.csr_matrix(x, dtype=float, copy=True)
            rows.sum_duplicates()
            owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            held, low, high = rows.data, lower[rows.indices], upper[rows.indices]
        else:
            held = np.asarray(x, dtype=float)
            owner, held = np.repeat(np.arange(held.shape[0]), held.shape[1]), held.ravel()
            low, high = np.tile(lower, x.shape[0]), np.tile(upper, x.shape[0])
        beyond = (held < low) | (held > high)
        inside = np.clip(np.nan_to_num(held), low, high)
        n = x.shape[0]
        counted = np.bincount(owner, weights=beyond | (held != 0), minlength=n)
        entries = np.bincount(owner, weights=beyond, minlength=n) / np.maximum(counted, 1.0)
        norms = np.sqrt(np.bincount(owner, weights=inside**2, minlength=n))
        longer = lattice.clips_rows & (norms > facts.row_norm * (1 + ROUNDING))
        target = np.abs(y) > facts.target_bound * (1 + ROUNDING)
    return np.column_stack([entries, longer, target]).astype(float)
