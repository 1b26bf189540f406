"""Rows on a disk, read block by block within a limit of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from ...core.errors import DataError
from ...core.facts import Facts, Vector
from ...queries.charge import Charge, use
from ...queries.losses import Loss
from ...queries.rules import partial_sum
from ...queries.sensitivity import Integers
from ..block import Block, clip_and_quantise
from ..lattice import BLOCK_ROWS, SHARD_ROWS, Lattice
from ..records import Records
from ..scratch import Scratch
from ..scratch_rows import GroupedRows, ScratchBlock, compact
from ..shard import Shard
from .base import Total, check_units
from .memory_budget import MemoryBudget

#: Called while rows are written to a scratch file, with the part of them that is done.
Tell = Callable[[float], None]


class DiskHost:
    r"""Clipped rows on a disk, which answer only with sums.

    Rows are read once from where they are, clipped, put on the lattice and written to a scratch file
    without a name (`Scratch`). Every query reads that file block by block. What fits the limit
    stays in memory: the first rows, margins, factors and columns.

    Guarantee
    ---------
    Sums are the integers that `MemoryHost` gives: blocks are sanitised row by row, samples follow
    the global numbers of rows, and integers add up to the same sum however they are cut. How rows
    are cut follows from public facts and from how many entries rows hold; it shows in no answer.
    Rows of units come unit by unit (`GroupedRows`), and pieces cut none.
    Rows are never brought together: `shards` is None, and statistics are refused.

    Parameters
    ----------
    X : Records, FileRecords, array, scipy sparse matrix or frame of shape (rows, n_features)
    y : array of shape (rows,)
        Targets: classes coded 0, 1, ..., or centred outcomes; NaN makes a record empty.
    facts : Facts
        Bounds to enforce, the shift, and the height of the intercept column.
    memory_limit : int
        Bytes that rows and sums may take, beside what the process holds before.
    tell : callable, optional
        Called with the part of the rows that is written to a scratch file.
    lattice : Lattice, optional
        That of all rows, where these are a part of them; default: made of `facts`.
    first_row : int
        Number of the first of these rows, or units, among all.
    """

    shards = None

    def __init__(
        self,
        X: Any,
        y: Vector,
        facts: Facts,
        memory_limit: int,
        *,
        tell: Tell | None = None,
        lattice: Lattice | None = None,
        first_row: int = 0,
    ) -> None:
        source = Records.of(X)
        if source.shape[1] != facts.n_features or source.shape[0] != np.shape(y)[0]:
            raise DataError(f"expected rows with {facts.n_features} features and one target each.")
        self.facts = facts
        self.lattice = lattice or Lattice(facts)
        if source.sparse and not self.lattice.holds_zero:
            raise DataError("sparse rows hold zeros, so feature_bound must contain zero for every feature.")
        check_units(source, facts)
        room, targets = MemoryBudget(facts, memory_limit, source.sparse), np.asarray(y, dtype=float)
        self._scratch = Scratch(room.pinned)
        try:
            if source.units is None:  # rows, or rows that stand unit by unit
                self._shards = self._spill(source, targets, room, tell, first_row)
                return
            with closing(GroupedRows(source, room.piece_entries)) as rows:
                order = source.units.order
                self._shards = self._spill(source.regrouped(rows), targets[order], room, tell, first_row)
        except BaseException:
            self.close()
            raise

    def _blocks(
        self, source: Records, targets: Vector, room: MemoryBudget, tell: Tell | None
    ) -> Iterator[ScratchBlock]:
        """Clip all rows piece by piece and write them, some pieces as one block."""
        pieces, held, rows, number = list[Block](), 0, 0, 0
        for start, stop in pairwise(source.cut(room.piece_entries)):
            more = source.beside(start, stop)
            piece = compact(clip_and_quantise(source.rows(start, stop), targets[start:stop], self.lattice, *more))
            size = piece.x.data.size if piece.sparse else piece.x.size
            if pieces and (held + size > room.entries or rows + stop - start > BLOCK_ROWS):
                yield ScratchBlock(self._scratch, pieces, number)
                pieces, held, rows, number = [], 0, 0, number + 1
            pieces.append(piece)
            held, rows = held + size, rows + stop - start
            if tell is not None:
                tell(stop / source.shape[0])
        if pieces:
            yield ScratchBlock(self._scratch, pieces, number)

    def _spill(
        self, source: Records, targets: Vector, room: MemoryBudget, tell: Tell | None, number: int
    ) -> tuple[Shard, ...]:
        """All rows on the disk, in parts for which a query can hold a number for each row."""
        parts, first, stop, records = list[tuple[int, list[ScratchBlock]]](), 0, 0, 0
        for block in self._blocks(source, targets, room, tell):
            if not parts or stop + block.count - first > min(room.shard_rows, SHARD_ROWS):
                parts.append((records, []))
                first = stop
            parts[-1][1].append(block)
            stop += block.count
            records += block.records
        each = room.kept / max(stop, 1)
        return tuple(
            Shard.of_blocks(self.lattice, blocks, number + start, each * sum(block.count for block in blocks))
            for start, blocks in parts or [(0, [])]
        )

    def total(self, charge: Charge, loss: Loss) -> Integers:
        """Sum of a part over all shards, one after the other: **private**."""
        use(charge)
        total = Total(self.lattice.largest_total)
        for shard in self._shards:
            total.add(partial_sum(charge, shard, loss))
        return total.value()

    @property
    def parts(self) -> tuple[Shard, ...]:
        """The rows as parts, which are read when they are asked for: **private**.

        For a host of which this is a part.
        """
        return self._shards

    def close(self) -> None:
        """Give the disk back; nothing is answered any more."""
        self._scratch.close()

    def __repr__(self) -> str:
        return f"DiskHost({self.facts.n_features} features)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or stored.")
