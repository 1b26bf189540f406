"""A file for a library that reads ahead in threads of its own."""

from __future__ import annotations

import io
import os
import weakref
from typing import IO

#: Reads from a place without moving the position that all copies of a handle share; missing on some systems.
PREAD = getattr(os, "pread", None)


class ThreadedFile(io.RawIOBase):
    """The bytes of an open file from its beginning, with a position and a handle of its own.

    A parser that gave up may go on reading for a while in the background: here it moves nobody else's position, and its handle is closed with
    the last reference to it.

    Parameters
    ----------
    file : binary file
        An ordinary one.

    Attributes
    ----------
    position : int
        How many bytes were read.
    """

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._handle = os.dup(file.fileno()) if PREAD else os.open(file.name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self.position = 0
        weakref.finalize(self, os.close, self._handle)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read as much as there is room for."""
        size = len(buffer)
        content = PREAD(self._handle, size, self.position) if PREAD else os.read(self._handle, size)
        buffer[: len(content)] = content
        self.position += len(content)
        return len(content)
