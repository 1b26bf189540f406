"""Ledgers in one SQLite file.

Durability
----------
Each transaction takes the write lock at its beginning (``BEGIN IMMEDIATE``), so a total that was
read cannot change before the reservation is written. The rollback journal (``journal_mode=DELETE``)
with ``synchronous=EXTRA`` syncs the journal, the file and their folder before a commit returns: a
process killed at any moment, or a power cut, leaves either the whole event or none, and the next
one to open the file undoes a half-written one. A write-ahead log would be quicker, but it keeps
committed events in a second file, which a copy of the first one misses.

A commit that reports an error is looked at again: what it left is said, and nothing is acknowledged
that was not reported durable. The number of events also stands in the header of the file
(``user_version``), so that the pages of the events, of the head and of the header must agree; and
the file must be as long as its header says, so that no page is newer than all of them.

Every statement is read to its end and closed before its rows are looked at. SQLite keeps the locks
of a closed connection for as long as one of its statements is open: one that a kept traceback holds
would make every later writer wait.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..core.errors import LedgerError, LedgerNotWrittenError, LedgerTamperedError
from ..core.regular_files import open_whole
from .chain import EVENTS, HEAD, NO_LEDGER, TABLES, Chain, Event, Head

#: Marks the file as ours: "dpsl".
APPLICATION = 0x6470736C

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
    try:
        with open_whole(path, 0o600, replace=False) as file:
            file.write(_empty())
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


T = TypeVar("T")
#: Rows of a statement.
Rows = list[tuple[Any, ...]]

#: Seconds to wait for other writers.
PATIENCE = 60.0

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
#: A missing right: a retry meets it again.
_FORBIDDEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN)


#: Runs one statement with parameters, to its end, and gives all rows.
Run = Callable[..., Rows]


class SqliteStore:
    """A chain in one file."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def read(self, action: Callable[[Chain], T]) -> T:
        """Run an action on a consistent view."""
        try:
            with self._connection() as run:
                run("BEGIN")
                return action(self._chain(run))
        except sqlite3.Error as error:
            failure = self._failure(error, "read")
        raise failure

    def write(self, action: Callable[[Chain], T]) -> T:
        """Run an action in an exclusive transaction."""
        appended: Event | None = None
        committing = False
        try:
            with self._connection() as run:
                run("PRAGMA journal_mode = DELETE")
                run("PRAGMA synchronous = EXTRA")
                run("BEGIN IMMEDIATE")
                try:
                    chain = self._chain(run)
                    value = action(chain)
                    appended = chain.appended
                    if appended is not None:
                        run(f"PRAGMA user_version = {appended.number}")
                    committing = True
                    run("COMMIT")
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        run("ROLLBACK")
                    raise
            return value
        except sqlite3.Error as error:
            failure = self._failure(error, "written")
        if isinstance(failure, LedgerNotWrittenError) and committing and appended is not None:
            failure = LedgerNotWrittenError(str(failure), self._left(appended), appended.number, failure.passes)
        raise failure

    def found(self) -> None:
        """Make an empty ledger if the file does not exist."""
        if self._there() is None:
            make_file(self.path)

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file, and what is missing of tables and guards."""
        try:
            with self._connection() as run:
                found = [str(row[0]) for row in run("PRAGMA integrity_check(5)")]
                stated = run(f"SELECT (SELECT user_version FROM pragma_user_version) = number FROM {HEAD}")
                made = {row[0] for row in run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        except sqlite3.Error as error:
            return [str(self._failure(error, "read"))]
        wrong = [] if found == ["ok"] else found
        if stated != [(1,)]:
            wrong.append("its header counts other events than its head")
        if made != set(SCHEMA):
            wrong.append("its tables or the guards of its events are not as they were made")
        return wrong

    # ---------------------------------------------------------------------------------------------- inside

    def _left(self, event: Event) -> str:
        """What a commit that reported an error has left."""
        try:
            with self._connection() as run:
                run("BEGIN IMMEDIATE")  # plays a journal back that was left over, before anything is read
                return "event" if self._chain(run).holds(event.number, event.hash) else "nothing"
        except (sqlite3.Error, LedgerError):
            return "unknown"

    def _there(self) -> os.stat_result | None:
        """What stands at the path: an ordinary file, or nothing."""
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            if self.path.is_symlink():
                raise LedgerError(
                    f"{self.path} is a link that leads nowhere. Repair it, or choose another address."
                ) from None
            return None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a path"
            raise LedgerError(f"{_short(self.path)} cannot be a ledger: {reason.lower()}.") from None
        if not stat.S_ISREG(found.st_mode):
            raise LedgerError(f"{self.path} is not an ordinary file, so it cannot be a ledger.")
        for side in ("-journal", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                if not stat.S_ISREG(os.lstat(f"{self.path}{side}").st_mode):
                    raise LedgerError(f"{self.path}{side} is not an ordinary file. Remove it: the ledger writes there.")
        return found

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Run]:
        """Statements on the file: each is over when it returns, and so are all locks when the block is left."""
        found = self._there()
        if found is None:
            raise LedgerError(NO_LEDGER.format(where=self.path))
        uri = f"{self.path.resolve().as_uri()}?mode=rw"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:

            def run(statement: str, given: Sequence[Any] = ()) -> Rows:
                with contextlib.closing(connection.cursor()) as cursor:
                    return cursor.execute(statement, tuple(given)).fetchall()

            if run("PRAGMA application_id") != [(APPLICATION,)]:
                raise LedgerError(
                    f"{self.path} is {'empty' if found.st_size == 0 else 'not a ledger'}. Restore it from a copy, or "
                    "choose another address; it is not overwritten."
                )
            yield run

    def _chain(self, run: Run) -> Chain:
        [[counted]], [[pages]], [[size]] = (
            run(f"PRAGMA {what}") for what in ("user_version", "page_count", "page_size")
        )
        if self.path.stat().st_size != pages * size:
            raise LedgerTamperedError(
                f"{self.path} is longer or shorter than its header says: it is damaged. Restore it from a copy."
            )
        names = {row[0] for row in run("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {EVENTS, HEAD} <= names:
            raise LedgerError(f"{self.path} is a damaged ledger: its tables are missing. Restore it from a copy.")
        return Chain(run, "?", counted)

    def _failure(self, error: sqlite3.Error, what: str) -> LedgerError:
        """An error of the database in our words."""
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in _BUSY:
            return LedgerNotWrittenError(f"the ledger {self.path} was busy for {PATIENCE:.0f} seconds.")
        if code in (*_UNWRITABLE, *_FORBIDDEN):
            said = f"the ledger {self.path} could not be {what}: {error}."
            return LedgerNotWrittenError(said, passes=code not in _FORBIDDEN)
        return LedgerError(f"{self.path} is not a ledger, or it is damaged: {error}. Restore it from a copy.")


def _short(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 100 else f"{text[:60]}...{text[-30:]}"
