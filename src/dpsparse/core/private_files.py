"""Files for their owner alone: opened, locked, read and written at a place, on Unix and on Windows.

On Unix the rights are 0600, and a lock is one of `flock`. Windows has no such rights: there a file
has those of its folder, and a lock is one byte, far behind the end of the file, that no other
process may lock. Either lock ends with the process.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

#: The byte that is locked on Windows: behind every record that is ever written, since locked bytes cannot be read.
FAR = 2**40
#: Seconds between two tries of a lock that another process holds, where the system cannot wait.
PAUSE = 0.02


def known(*names: str) -> int:
    """The flags of `os.open` by these names, as far as the system has them."""
    return sum(getattr(os, name, 0) for name in names)


#: For every file: not inherited by child processes, and bytes as they are.
PLAIN = known("O_CLOEXEC", "O_NOINHERIT", "O_BINARY")


def open_private(path: Path, *, append: bool = False, follow: bool = False) -> int:
    """A handle for reading and writing; the file is made, for its owner alone, if it does not exist.

    A pipe is not waited for, and a link is refused unless `follow` is true.
    """
    wanted = (["O_APPEND"] if append else []) + ([] if follow else ["O_NOFOLLOW"])
    return os.open(path, os.O_RDWR | os.O_CREAT | PLAIN | known("O_NONBLOCK", *wanted), 0o600)


def lock(handle: int, *, wait: bool) -> None:
    """Let no other process lock this file until the handle is closed.

    Raises
    ------
    BlockingIOError
        If another process has it and `wait` is false.
    OSError
        If the file system has no locks (`errno.ENOLCK`), or another fault of the system.
    """
    try:
        import fcntl
    except ImportError:
        _lock_byte(handle, wait)
        return
    fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_byte(handle: int, wait: bool) -> None:
    """The same on Windows, where `locking` fails at once or gives up after ten seconds."""
    try:
        import msvcrt
    except ImportError:
        raise OSError(errno.ENOLCK, "this system has no locks for files") from None
    while True:
        place = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            return
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EDEADLK):
                raise
            if not wait:
                raise BlockingIOError(errno.EAGAIN, "another process holds this file") from None
        finally:
            os.lseek(handle, place, os.SEEK_SET)
        time.sleep(PAUSE)


def read_at(handle: int, count: int, place: int) -> bytes:
    """Up to `count` bytes from a place on, fewer at the end of the file."""
    parts = []
    while count > 0:
        if hasattr(os, "pread"):
            part = os.pread(handle, min(count, 2**30), place)
        else:
            os.lseek(handle, place, os.SEEK_SET)
            part = os.read(handle, min(count, 2**30))
        if not part:
            break
        parts.append(part)
        count, place = count - len(part), place + len(part)
    return b"".join(parts)


def write_at(handle: int, content: bytes, place: int) -> None:
    """Write all of it at a place, and return when it is on the disk."""
    while content:
        if hasattr(os, "pwrite"):
            written = os.pwrite(handle, content, place)
        else:
            os.lseek(handle, place, os.SEEK_SET)
            written = os.write(handle, content)
        content, place = content[written:], place + written
    os.fsync(handle)
