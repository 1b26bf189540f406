r"""Rows of the lattice on a disk, for the length of one fit.

Guarantee
---------
*Same numbers.* A block is written as it was sanitised and read as it was written: whole numbers in
the narrowest type that gives them back (`narrow`), everything else bit by bit. So a query finds
the same rows on a disk as in memory.

*At rest.* The file has no name where the system allows that (Linux), or loses it at once: nobody
else can open it, its rights are those of its owner alone, and it is gone when it is closed, when
the process ends, and when it is killed. The disk's blocks are not overwritten: who must not leave
rows on a disk uses an encrypted one, or no memory limit.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from .kernels.interface import Matrix

if TYPE_CHECKING:
    from .scratch_rows import ScratchBlock, ScratchRows

#: Pieces of memory that wait to be used again: for values, values as they are stored, and indices.
SPACES = 3

#: Makes space for an array of a size and type.
Space = Callable[[int, np.dtype[Any]], NDArray[Any]]

#: Where large temporary files belong by convention; the usual folder is often a part of the memory.
LARGE_FILES = Path("/var/tmp")


def scratch_folder() -> Path:
    """The folder of scratch files: the one that ``TMPDIR`` names, otherwise that of large temporary files."""
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
        Bytes of rows that stay in memory once they were read. The first ones stay: rows are always
        read from the first to the last, so that whatever was used last is what will be needed
        latest.
    """

    def __init__(self, pinned: int = 0) -> None:
        self._room = pinned
        self._kept: dict[int, Matrix] = {}
        self._last: tuple[int, Matrix] | None = None
        self._drawn: tuple[ScratchRows, Matrix] | None = None
        self._spaces: list[tuple[bytearray, weakref.ref[NDArray[Any]]]] = []
        self._end = 0
        try:
            self._file = tempfile.TemporaryFile(dir=scratch_folder(), buffering=0)  # noqa: SIM115
        except OSError:
            raise DataError(
                f"rows cannot be written to a scratch file in {scratch_folder()}. Name another folder in the "
                "environment variable TMPDIR."
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
                f"rows could not be written to a scratch file in {scratch_folder()}: there is no space. Free some, "
                "or name another folder in the "
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
                raise DataError("rows that were written to a scratch file could not be read back.")
            left = left[count:]
        return found

    def matrix(self, block: ScratchBlock) -> Matrix:
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
        """Memory for an array: that of an earlier array to which nothing refers any more, if any.

        Fresh memory costs more than reading into memory that was used before.

        Each array stands on one of its own (`user`), to which all that are made from it refer: when
        that is gone, so are they.
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

    def sample(self, rows: ScratchRows) -> Matrix:
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


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """An array as its bytes; an empty one has none."""
    return array.view(np.uint8).data if array.size else memoryview(b"")
