"""A new SQLite file for a ledger: complete when it gets its name, and gone if its maker is killed before."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import tempfile
from pathlib import Path

from ..core.errors import LedgerError, LedgerNotWrittenError
from .chain import EVENTS, HEAD, TABLES, Head

#: Marks the file as ours: "dpsl".
APPLICATION = 0x6470736C

#: Failures that another way of writing would meet again.
_NO_USE = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS)

#: Events are appended, and never changed or removed.
GUARDS = tuple(
    f"CREATE TRIGGER {EVENTS}_no_{what} BEFORE {what.upper()} ON {EVENTS} "
    "BEGIN SELECT RAISE(ABORT, 'events of a ledger are never changed'); END"
    for what in ("update", "delete")
)
#: All that a ledger's file is made of.
SCHEMA = (*TABLES, *GUARDS)


def make_file(path: Path) -> None:
    """Make an empty ledger at a free path. If somebody else is first, theirs stays."""
    folder = path.parent
    if not folder.is_dir():
        raise LedgerError(f"the folder {folder} does not exist. Create it, or choose another address.")
    content = _empty()
    try:
        try:
            _link_unnamed(content, path)
        except (OSError, AttributeError) as error:  # a system or a folder that has no files without names
            if getattr(error, "errno", None) in _NO_USE:
                raise
            _link_named(content, path)
        _sync(folder)
        return
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
    raise LedgerNotWrittenError(
        f"no ledger can be made in {folder}: {reason}. Free some space, or choose another address."
    )


def _empty() -> bytes:
    """The bytes of a ledger without events."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(f"INSERT INTO {HEAD} VALUES (1, ?, ?, ?, ?, ?, ?)", Head.fresh().row())
        return connection.serialize()


def _link_unnamed(content: bytes, target: Path) -> None:
    """By a file that has no name before it is complete: nothing is left of it if we are killed."""
    handle = os.open(target.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
    try:
        _write(handle, content)
        # a folder must be named for linkat to be called, which follows the link to the open file; the path is absolute
        with contextlib.suppress(FileExistsError):
            os.link(f"/proc/self/fd/{handle}", target.absolute(), src_dir_fd=handle, follow_symlinks=True)
    finally:
        os.close(handle)


def _link_named(content: bytes, target: Path) -> None:
    """By a file beside the place; a kill may leave that file, and never half a ledger."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".ledger-", suffix=".new")
    try:
        try:
            _write(handle, content)
        finally:
            os.close(handle)
        try:
            os.link(name, target)
        except FileExistsError:
            return
        except OSError:  # a file system without links: claim the name, then fill it
            with contextlib.suppress(FileExistsError):
                os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                os.replace(name, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _write(handle: int, content: bytes) -> None:
    while content:
        content = content[os.write(handle, content) :]
    os.fchmod(handle, 0o600)
    os.fsync(handle)


def _sync(folder: Path) -> None:
    """Make a new name in a folder durable, where the system lets folders be opened."""
    with contextlib.suppress(AttributeError, PermissionError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
