r"""Rows of the lattice on a disk, for the length of one fit.

Guarantee
---------
*Same numbers.* A block is written as it was sanitised and read as it was written: whole numbers in the narrowest type that gives them
back (`narrow`), everything else bit by bit. So a question finds the same rows on a disk as in memory.

*At rest.* The file has no name where the system allows that (Linux), or loses it at once: nobody else can open it, its rights are those
of its owner alone, and it is gone when it is closed, when the process ends, and when it is killed. The disk's blocks are not overwritten:
who must not leave rows on a disk uses an encrypted one, or no memory limit.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..facts import Vector
from ..privacy.errors import DataError
from .block import Block, Indices, Matrix
from .narrow import narrow

#: Pieces of memory that wait to be used again: for values, values as they are stored, and indices.
SPACES = 3

#: Makes room for an array of a size and type.
Space = Callable[[int, np.dtype[Any]], NDArray[Any]]

#: Where large temporary files belong by convention; the usual folder is often a part of the memory.
LARGE_FILES = Path("/var/tmp")


def scratch_folder() -> Path:
    """Where rows are put aside: the folder that ``TMPDIR`` names, otherwise that of large temporary files."""
    usual = Path(tempfile.gettempdir())
    if os.environ.get("TMPDIR") or not (LARGE_FILES.is_dir() and os.access(LARGE_FILES, os.W_OK)):
        return usual
    return LARGE_FILES


@dataclass(frozen=True)
class Place:
    """Where an array is in a scratch file."""

    offset: int
    size: int
    kind: np.dtype[Any]


class Scratch:
    """A file without a name that holds arrays: **private**.

    Parameters
    ----------
    pinned : int
        Bytes of rows that stay in memory once they were read. The first ones stay: rows are always read from the first to the last, so
        that whatever was used last is what will be needed latest.
    """

    def __init__(self, pinned: int = 0) -> None:
        self._room = pinned
        self._kept: dict[int, Matrix] = {}
        self._last: tuple[int, Matrix] | None = None
        self._drawn: tuple[SpilledRows, Matrix] | None = None
        self._spaces: list[tuple[bytearray, weakref.ref[NDArray[Any]]]] = []
        self._end = 0
        try:
            self._file = tempfile.TemporaryFile(dir=scratch_folder(), buffering=0)  # noqa: SIM115
        except OSError:
            raise DataError(
                f"rows cannot be put aside in {scratch_folder()}. Name another folder in the environment variable TMPDIR."
            ) from None
        weakref.finalize(self, self._file.close)  # also where nobody came to close it

    def put(self, pieces: Sequence[NDArray[Any]]) -> Place:
        """Write arrays behind the others, as one, in the narrowest type that holds all of them."""
        array = np.concatenate(pieces) if len(pieces) > 1 else np.ascontiguousarray(pieces[0])
        place = Place(self._end, array.size, array.dtype)
        left = _bytes_of(array)
        self._file.seek(self._end)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            raise DataError(
                f"rows could not be put aside in {scratch_folder()}: there is no room. Free some, or name another folder in the "
                "environment variable TMPDIR."
            ) from None
        self._end += array.nbytes
        return place

    def get(self, place: Place, found: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read an array, into one of its size and type if that is given."""
        found = np.empty(place.size, dtype=place.kind) if found is None else found
        left = _bytes_of(found)
        self._file.seek(place.offset)
        while left:
            count = self._file.readinto(left)  # type: ignore[attr-defined]
            if not count:
                raise DataError("rows that were put aside could not be read back.")
            left = left[count:]
        return found

    def matrix(self, block: SpilledBlock) -> Matrix:
        """The rows of a block: from memory, if they are the last ones or stay there, or from the file."""
        if block.number in self._kept:
            return self._kept[block.number]
        if self._last is not None and self._last[0] == block.number:
            return self._last[1]
        self._last = None  # one at a time
        if block.loaded_bytes <= self._room:
            self._room -= block.loaded_bytes
            self._kept[block.number] = block.load(np.empty)
            return self._kept[block.number]
        self._last = (block.number, block.load(self.space))
        return self._last[1]

    def space(self, size: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """Room for an array: that of an earlier one if nobody looks at it any more, for fresh memory costs more than reading into it.

        Each array stands on one of its own (`user`), to which all that are made from it refer: when that is gone, so are they.
        """
        needed = size * kind.itemsize
        if not needed:
            return np.empty(0, dtype=kind)
        free = [memory for memory, user in self._spaces if user() is None and len(memory) >= needed]
        memory = min(free, key=len) if free else bytearray(needed + needed // 8)
        array = np.frombuffer(memory, dtype=kind, count=size)
        others = [(m, user) for m, user in self._spaces if m is not memory]
        unused = [m for m, user in others if user() is None][:-SPACES]
        self._spaces = [(m, user) for m, user in others if not any(m is old for old in unused)]
        self._spaces.append((memory, weakref.ref(array)))
        return array[:]

    def sample(self, rows: SpilledRows) -> Matrix:
        """Some rows of a block; the last ones are kept, for kernels look at them several times."""
        if self._drawn is None or self._drawn[0] is not rows:
            self._drawn = None
            self._drawn = (rows, rows.load())
        return self._drawn[1]

    def close(self) -> None:
        """Let go of the file and of what was kept of it."""
        self._kept, self._last, self._drawn, self._spaces = {}, None, None, []
        self._file.close()

    def __repr__(self) -> str:
        return "Scratch()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or stored.")


class SpilledBlock(Block):
    """A block whose rows are read from a scratch file when they are asked for: **private**.

    Parameters
    ----------
    scratch : Scratch
    pieces : sequence of Block
        As `sanitise` made them and `compact` stored them; they become one.
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
        self._alive = scratch.put([piece.alive.astype(np.int8) for piece in pieces])
        self._values = scratch.put([piece.x.data if first.sparse else piece.x.reshape(-1) for piece in pieces])
        self._kind = np.dtype(np.float64) if first.sparse else self._values.kind
        self._indices = scratch.put([piece.x.indices for piece in pieces]) if first.sparse else None
        self._counts = (
            scratch.put([np.diff(piece.x.indptr).astype(np.int32) for piece in pieces]) if first.sparse else None
        )
        remembered = [piece.clipped for piece in pieces if piece.clipped is not None]
        self._clipped = scratch.put([part.reshape(-1) for part in remembered]) if remembered else None

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self._shape[0])

    @property
    def loaded_bytes(self) -> int:
        """Memory that the rows take once they were read."""
        return self._values.size * (int(self._kind.itemsize) + 4 * self._sparse) + 4 * int(self._shape[0])

    def load(self, space: Space) -> Matrix:
        """Read the rows, as they were before they were written, into arrays from `space`."""
        values = space(self._values.size, self._kind)
        if self._values.kind == self._kind:
            self._scratch.get(self._values, values)
        else:
            values[:] = self._scratch.get(self._values, self._scratch.space(self._values.size, self._values.kind))
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
    def alive(self) -> Vector:  # type: ignore[override]
        """0 for records that count as nothing."""
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
    def sparse(self) -> bool:
        """Whether zeros are left out."""
        return self._sparse

    def rows(self, which: Indices) -> Block:
        """Some of the rows, which are read when they are asked for."""
        return SpilledRows(self._scratch, self, which)


class SpilledRows(Block):
    """Some rows of a spilled block, read when they are asked for: **private**."""

    whole = False
    csc = None

    def __init__(self, scratch: Scratch, block: SpilledBlock, which: Indices) -> None:
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
    def alive(self) -> Vector:  # type: ignore[override]
        """0 for records that count as nothing."""
        return self._block.alive[self._which]

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
    def sparse(self) -> bool:
        """Whether zeros are left out."""
        return self._block.sparse

    def rows(self, which: Indices) -> Block:
        """Some of these rows."""
        return SpilledRows(self._scratch, self._block, self._which[which])


def compact(block: Block) -> Block:
    """A block in little memory, until it is written: whole numbers in the narrowest type, 32-bit indices."""
    x = block.x
    if block.sparse:
        x = sp.csr_matrix((narrow(x.data), x.indices.astype(np.int32, copy=False), x.indptr), shape=x.shape)
    else:
        x = narrow(x)
    return Block(x, block.y, block.alive, block.squares, block.largest, whole=False, clipped=block.clipped)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """An array as its bytes; an empty one has none."""
    return array.view(np.uint8).data if array.size else memoryview(b"")
