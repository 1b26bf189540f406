r"""A part of the rows: clipped, on the lattice, and silent.

Guarantee
---------
After construction every record obeys the declared bounds, whatever came in: a record with an entry
or target that is no finite number is ignored; entries are clipped to their bounds, rows to
their norm, targets to theirs. What is stored for a record is a function of that record and of
public numbers alone. Margins are exact whole numbers (see `Lattice`), so they do not depend on the
part that a row is in, its place there, or on what was computed before. A shard is not copied,
stored or printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.facts import Clip, Facts, Projection, Vector
from .block import Block, clip_and_quantise
from .frames import FramedBlock, FrameLattice, framed
from .kernels import products
from .kernels.interface import Indices, Mask, Sums
from .lattice import SHARD_ROWS, Lattice, LatticeVector
from .records import Records
from .sampling import PoissonSample
from .units import MOST_ROWS, cut_at, lengths_of, pieces_of

#: Margins of rows that are floats drift when they are mended, and are computed afresh after this many times.
MENDS = 4096
#: Frames whose rows are kept: those asked for last, unless they have more columns than loops ask
#: about; and entries of such rows at a time.
FRAMES, WIDE_FRAME, FRAMED_ENTRIES = 2, 1024, 2**21
#: Vectors with a number for each row that a part keeps between queries: margins, factors, squares, caps.
VECTORS_KEPT = 4
#: Coordinates are few if this many times their number are no more than all.
FEW = 8


@dataclass(eq=False, repr=False)
class Factors:
    """The factors of the last gradient sum of all rows, and the sum."""

    clip: Clip
    loss: str
    factors: list[Vector]
    total: Sums


def margins_of(facts: Facts) -> int:
    """Numbers that a model has for each row and each coordinate: one, or as many as there are classes beyond two."""
    return facts.target.n_classes if facts.target.n_classes > 2 else 1


class Shard:
    """Some rows, from global row number `first_row` on: **private**.

    Where records are units of several rows, numbers are those of units, and a part holds whole ones.

    Parameters
    ----------
    lattice : Lattice
    blocks : iterable of (rows, targets), (rows, targets, bits) or (rows, targets, bits, starts)
        Raw blocks: float arrays or CSR matrices, float targets, which cells were not understood,
        where that is counted, and the first rows of units, where records are units.
    first_row : int
        Number of the first row, or unit, among all.
    """

    def __init__(self, lattice: Lattice, blocks: Iterable[tuple[Any, ...]], first_row: int = 0) -> None:
        self.lattice = lattice
        self.first_row = first_row
        self.blocks: Sequence[Block] = [clip_and_quantise(x, y, lattice, *rest) for x, y, *rest in blocks]
        self.rows = sum(b.y.size for b in self.blocks)
        if self.rows > SHARD_ROWS:
            raise DataError(f"a part holds at most {SHARD_ROWS} rows; cut the data into more parts.")
        self._room = math.inf
        # what was computed last; private, and never leaves this package
        self._factors: Factors | None = None
        self._margins: tuple[LatticeVector, list[Vector], int] | None = None
        self._squares: tuple[Vector, list[Vector]] | None = None
        self._caps: tuple[list[Vector], float, list[Vector]] | None = None
        self._columns: tuple[Indices, list[Vector]] | None = None
        self._centred: tuple[Indices, Vector, list[tuple[Vector, Vector]]] | None = None
        self._frames: list[tuple[Projection, list[FramedBlock]]] = []

    @classmethod
    def of_blocks(cls, lattice: Lattice, blocks: Sequence[Block], first_row: int, room: float) -> Self:
        """A part of blocks that are sanitised already, wherever they are.

        Parameters
        ----------
        lattice : Lattice
        blocks : sequence of Block
        first_row : int
            Number of the first row among all rows.
        room : float
            Bytes that may be kept in memory between queries; no answer depends on it.
        """
        made = cls(lattice, (), first_row)
        made.blocks = blocks
        made.rows = sum(b.y.size for b in blocks)
        if made.rows > SHARD_ROWS:
            raise DataError(f"a part holds at most {SHARD_ROWS} rows; cut the data into more parts.")
        made._room = room
        return made

    @property
    def facts(self) -> Facts:
        """Public facts."""
        return self.lattice.facts

    @property
    def records(self) -> int:
        """How many records there are: rows, or units."""
        if not self.facts.by_unit:
            return self.rows
        return sum(block.unit_starts.size for block in self.blocks)

    def _affords(self, columns: int = 0) -> bool:
        """Whether margins, factors and squares may be kept between queries.

        And with them some columns of all rows.
        """
        each = 8.0 * (self.rows + 2 * self.facts.dimension) * margins_of(self.facts)
        return VECTORS_KEPT * each + 8.0 * columns * self.rows <= self._room

    @property
    def factors(self) -> Factors | None:
        """The factors of the last gradient sum, where there is space to keep them."""
        return self._factors

    @factors.setter
    def factors(self, found: Factors) -> None:
        self._factors = found if self._affords() else None

    # ---------------------------------------------------------------------------------------------- which rows

    def drawn(self, draw: PoissonSample | None) -> Sequence[Block]:
        """All blocks, or what a draw takes of them."""
        if draw is None:
            return self.blocks
        return list(self.chosen(draw.mask(self.first_row, self.records)))

    def chosen(self, mask: Mask) -> Iterator[Block]:
        """The records of a mask, block by block; of a unit all rows."""
        start = 0
        for block in self.blocks:
            lengths = None if block.starts is None else lengths_of(block.unit_starts, block.y.size)
            stop = start + (block.y.size if lengths is None else lengths.size)
            rows = np.flatnonzero(mask[start:stop] if lengths is None else np.repeat(mask[start:stop], lengths))
            if rows.size:
                yield block.rows(rows)
            start = stop

    # ---------------------------------------------------------------------------------------------- margins

    def margins(self, w: Vector) -> list[Vector]:
        """Margins of all rows, block by block: the last ones, mended where few coordinates changed, or fresh ones.

        With a column of coefficients for each class a row has a margin for each.
        """
        iterate, size = self.lattice.rounded(w), self.lattice.unit
        memory = self._margins
        mends, found = 0, None
        alike = memory is not None and memory[0].whole.shape == iterate.whole.shape
        if memory is not None and alike and memory[0].scale == iterate.scale:
            differs = iterate.whole != memory[0].whole
            count = np.count_nonzero(differs)
            few = count * FEW <= w.shape[0] and (not self.lattice.exact or memory[2] < MENDS)
            if count == 0:
                mends, found = memory[2], memory[1]
            elif few:
                changed = _used(differs)
                step = iterate.whole[changed] - memory[0].whole[changed]
                mends = memory[2] + 1
                found = [
                    m + products.forward_columns(b, self.lattice, changed, step)
                    for b, m in zip(self.blocks, memory[1], strict=True)
                ]
        if found is None:
            found = [self._product(block, iterate) for block in self.blocks]
        self._margins = (iterate, found, mends) if self._affords() else None
        return [_valued(p, iterate, size) for p in found]

    def margin(self, block: Block, w: Vector) -> Vector:
        """Margins of the rows of one block, or of a part of it."""
        iterate = self.lattice.rounded(w)
        return _valued(self._product(block, iterate), iterate, self.lattice.unit)

    def drawn_margins(self, w: Vector, draw: PoissonSample | None) -> list[tuple[Block, Vector]]:
        """Blocks and their margins, of all rows or of a draw."""
        if draw is None:
            return list(zip(self.blocks, self.margins(w), strict=True))
        return [(b, self.margin(b, w)) for b in self.drawn(draw)]

    def _product(self, block: Block, iterate: LatticeVector) -> Vector:
        if block.whole and np.count_nonzero(iterate.whole) * FEW <= iterate.whole.shape[0]:
            nonzero = _used(iterate.whole)
            return products.forward_columns(block, self.lattice, nonzero, iterate.whole[nonzero])
        return products.forward(block, self.lattice, iterate.whole)

    # ---------------------------------------------------------------------------------------------- columns

    def columns(self, support: Indices) -> Iterable[Vector]:
        """Some features of all rows in real units, block by block, one column after the other.

        Zero for absent records.
        """
        memory = self._columns
        if memory is None or not np.array_equal(memory[0], support):
            self._columns = None
            found = (self._columns_of(block, support) for block in self.blocks)
            if not self._affords(support.size):
                return found
            self._columns = memory = (support.copy(), list(found))
        return memory[1]

    def centred(self, support: Indices, centre: Vector) -> Iterable[tuple[Vector, Vector]]:
        """Some features of all rows less a centre, zero for absent records, and norms of these rows, block by block.

        Those of the last support and centre are kept, for loops ask every step; nobody may write into them.
        """
        memory = self._centred
        if memory is None or not (np.array_equal(memory[0], support) and np.array_equal(memory[1], centre)):
            self._centred = None
            columns = zip(self.columns(support), self.blocks, strict=True)
            found = (_centred(x, centre, block.present) for x, block in columns)
            if not self._affords(2 * support.size + 1):  # with the columns themselves
                return found
            self._centred = memory = (support.copy(), centre.copy(), list(found))
        return memory[2]

    def _columns_of(self, block: Block, support: Indices) -> Vector:
        """The same of one block."""
        x = np.asfortranarray(products.shifted_columns(block, self.lattice, support))
        x *= self.lattice.unit
        x *= block.present[:, None]
        return x

    def holds(self, frame: Projection) -> bool:
        """Whether rows are kept in the coordinates of this very frame."""
        return any(known is frame for known, _ in self._frames)

    def framed(self, frame: Projection) -> Iterable[FramedBlock]:
        """All rows in the coordinates of a frame, block by block.

        Those of the last frames are kept, for loops ask every step, but for wide ones, of which a
        piece is made at a time.
        """
        for known, blocks in self._frames:
            if known.same(frame):
                return blocks
        on = FrameLattice(frame, self.lattice)
        if frame.size > WIDE_FRAME:
            count = max(1, FRAMED_ENTRIES // frame.support.size)
            return (framed(piece, on) for block in self.blocks for piece in block_pieces(block, count))
        alike = next((rows for _, rows in self._frames if rows and rows[0].on.maps_as(on)), None)
        if alike is None:
            found = (framed(block, on) for block in self.blocks)
        else:
            found = (rows.seen_from(on) for rows in alike)
        if not self._affords(FRAMES * (frame.size + 1)):
            return found
        self._frames = [*self._frames, (frame, list(found))][-FRAMES:]
        return self._frames[-1][1]

    def weighted_squares(self, weights: Vector, support: Indices | None) -> list[Vector]:
        """Weighted squared norms of all rows, in units and rounded up.

        The last ones are kept, for loops ask every step.
        """
        full = weights
        if support is not None:
            full = np.zeros(self.facts.dimension)
            full[support] = weights
        memory = self._squares
        if memory is None or not np.array_equal(memory[0], full):
            self._squares = None
            memory = (full.copy(), [products.weighted_squares(b, self.lattice, full) for b in self.blocks])
            self._squares = memory if self._affords() else None
        return memory[1]

    def caps(
        self, weights: Vector, support: Indices | None, norm: float, cap: Callable[[Vector], Vector]
    ) -> list[Vector]:
        """What `cap` makes of the weighted squares, for a norm that says all else of it; kept as long as they are."""
        squares = self.weighted_squares(weights, support)
        memory = self._caps
        if memory is None or memory[0] is not squares or memory[1] != norm:
            memory = (squares, norm, [cap(square) for square in squares])
            self._caps = memory if self._squares is not None else None
        return memory[2]

    def __repr__(self) -> str:
        return f"Shard({self.facts.n_features} features)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or stored.")


def _used(coefficients: NDArray[Any]) -> Indices:
    """Coordinates with a nonzero coefficient, for any class."""
    if coefficients.ndim == 1:
        return np.flatnonzero(coefficients)
    return np.flatnonzero(np.abs(coefficients.astype(float, copy=False)) @ np.ones(coefficients.shape[1]))


def _centred(x: Vector, centre: Vector, alive: Vector) -> tuple[Vector, Vector]:
    """Columns less a centre, and the norms of these rows, summed one column after the other."""
    with np.errstate(over="ignore"):
        away, squares = x - centre, np.zeros(alive.size)
        away *= alive[:, None]
        for column in away.T:
            squares += column**2
    return away, np.minimum(np.sqrt(squares), np.finfo(float).max)


def _valued(found: Vector, iterate: LatticeVector, unit: float) -> Vector:
    """Margins in real units; NaN where a coefficient is NaN."""
    with np.errstate(all="ignore"):
        return found * (iterate.scale * unit) if iterate.known else np.full_like(found, np.nan)


def block_pieces(block: Block, count: int) -> Iterator[Block]:
    """A block in pieces of about `count` rows, which cut no unit."""
    if block.starts is None:
        cuts = [(start, min(start + count, block.y.size)) for start in range(0, block.y.size, count)]
    else:
        cuts = pieces_of(block.unit_starts, block.y.size, count)
    return (block.rows(slice(start, stop)) for start, stop in cuts)


def build_shards(
    lattice: Lattice, source: Records, targets: Vector, parts: int = 1, first_row: int = 0
) -> tuple[Shard, ...]:
    """Cut rows into parts of about the same size; the rows of a unit stay in one of them.

    `first_row` is the number of the first row, or unit, among all.
    """
    n, starts = source.shape[0], source.starts
    parts = max(parts, -(-n // (SHARD_ROWS - (0 if starts is None else MOST_ROWS))), 1)
    edges = [n * k // parts for k in range(parts + 1)]
    if starts is None:
        return tuple(
            Shard(lattice, source.records(targets, start, stop), first_row + start) for start, stop in pairwise(edges)
        )
    edges = cut_at(starts, n, edges)
    first = first_row + np.searchsorted(starts, edges)
    blocks = (source.records(targets, start, stop) for start, stop in pairwise(edges))
    return tuple(Shard(lattice, own, int(number)) for own, number in zip(blocks, first, strict=False)) or (
        Shard(lattice, (), first_row),
    )
