"""Ledgers in one SQLite file.

Durability
----------
Each transaction takes the write lock at its beginning (``BEGIN IMMEDIATE``), so a total that was read cannot change before
the reservation is written. The rollback journal (``journal_mode=DELETE``) with ``synchronous=EXTRA`` syncs the journal, the
file and their folder before a commit returns: a process killed at any moment, or a power cut, leaves either the whole
event or none, and the next one to open the file undoes a half-written one. A write-ahead log would be quicker, but it
keeps committed events in a second file, which a copy of the first one misses.

A new file is written beside its place and linked there when it is complete. A file that is missing, empty or not a ledger
is never made anew.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..privacy.errors import LedgerError, LedgerNotWrittenError
from .chain import EVENTS, HEAD, TABLES, Chain

#: Seconds to wait for other writers.
PATIENCE = 60.0
#: Marks the file as ours: "dpsl".
APPLICATION = 0x6470736C

_GUARDS = tuple(
    f"CREATE TRIGGER {EVENTS}_no_{what} BEFORE {what.upper()} ON {EVENTS} "
    "BEGIN SELECT RAISE(ABORT, 'events of a ledger are never changed'); END"
    for what in ("update", "delete")
)
_UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM)


class SqliteStore:
    """A chain in one file."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    @contextmanager
    def reading(self) -> Iterator[Chain]:
        """A consistent view."""
        with self._translated(), contextlib.closing(self._connect()) as connection:
            connection.execute("BEGIN")
            yield self._chain(connection)

    @contextmanager
    def writing(self) -> Iterator[Chain]:
        """An exclusive transaction."""
        with self._translated(), contextlib.closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._chain(connection)
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def found(self) -> None:
        """Make an empty ledger if there is none."""
        if self.path.exists():
            return
        folder = self.path.parent
        if not folder.is_dir():
            raise LedgerError(f"the folder {folder} does not exist. Create it, or choose another address.")
        try:
            handle, name = tempfile.mkstemp(dir=folder, prefix=f".{self.path.name}-", suffix=".new")
            os.close(handle)
        except OSError as error:
            raise LedgerNotWrittenError(
                f"no ledger can be made in {folder}: {(error.strerror or 'no reason given').lower()}. Choose another address."
            ) from None
        try:
            with self._translated(), contextlib.closing(sqlite3.connect(name, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute("BEGIN IMMEDIATE")
                for statement in (*TABLES, *_GUARDS):
                    connection.execute(statement)
                connection.execute("COMMIT")
            os.chmod(name, 0o600)
            _place(name, self.path)
            _sync(folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)

    def _connect(self) -> sqlite3.Connection:
        if not self.path.exists():
            raise LedgerError(
                f"there is no ledger at {self.path}. Make one with Ledger(address).create(dataset, epsilon, delta), or check the "
                "address: a ledger that was lost must not be replaced by an empty one."
            )
        if not self.path.is_file():
            raise LedgerError(f"{self.path} is not an ordinary file, so it cannot be a ledger.")
        uri = f"{self.path.resolve().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
        try:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise LedgerError(
                    f"{self.path} is {'empty' if self.path.stat().st_size == 0 else 'not a ledger'}. Restore it from a copy, or "
                    "choose another address; it is not overwritten."
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _chain(self, connection: sqlite3.Connection) -> Chain:
        def execute(statement: str, given: Sequence[Any]) -> sqlite3.Cursor:
            return connection.execute(statement, tuple(given))

        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {EVENTS, HEAD} <= names:
            raise LedgerError(f"{self.path} is a damaged ledger: its tables are missing. Restore it from a copy.")
        return Chain(execute, "?")

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        with self._translated(), contextlib.closing(self._connect()) as connection:
            found = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
        return [] if found == ["ok"] else found

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of the database in our words."""
        try:
            yield
        except sqlite3.Error as error:
            code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
            said = str(error)
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise LedgerNotWrittenError(
                    f"the ledger {self.path} was busy for {PATIENCE:.0f} seconds. Nothing was reserved; try again."
                ) from None
            if code in _UNWRITABLE or code == sqlite3.SQLITE_CANTOPEN:
                raise LedgerNotWrittenError(
                    f"the ledger {self.path} could not be written: {said}. Nothing was reserved; free some space or ask for the "
                    "right to write it and its folder."
                ) from None
            raise LedgerError(
                f"{self.path} is not a ledger, or it is damaged: {said}. Restore it from a copy."
            ) from None


def _place(name: str, target: Path) -> None:
    """Give a complete file its name, unless somebody else was first: then theirs is used."""
    try:
        os.link(name, target)
    except FileExistsError:
        return
    except OSError:  # a file system without links: claim the name, then fill it
        with contextlib.suppress(FileExistsError):
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.replace(name, target)


def _sync(folder: Path) -> None:
    """Make a new name in a folder durable, where the system lets folders be opened."""
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
