"""A new SQLite file for a ledger: complete when it gets its name, and gone if its maker is killed before."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from ..core.errors import LedgerError, LedgerNotWrittenError
from ..core.regular_files import open_whole
from .chain import EVENTS, HEAD, TABLES, Head

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
