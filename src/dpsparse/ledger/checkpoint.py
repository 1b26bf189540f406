"""What the events of a ledger amount to, kept between processes of one user: they are read once.

Guarantee
---------
A checkpoint says what this user has counted up to an event, with the hash of that event. The hash
covers all events before, so that a ledger that holds it under its number has these very events, or
was edited after they were counted; what was counted stands here and not there. A checkpoint whose
event is not in the ledger is passed over, and everything is counted anew.

The file is trusted as the memory of the process is: it is written and read by one user, in a folder
of that user, and passed over if it belongs to somebody else or others may write it.
`Ledger.verify` uses none.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ..accounting.price_store import OFF, caches
from ..core.errors import LedgerNotWrittenError
from ..core.private_files import open_private

Key = TypeVar("Key")
Value = TypeVar("Value")

#: Names a folder for checkpoints, or says that none are written.
VARIABLE = "DPSPARSE_CHECKPOINTS"
#: A checkpoint is written when this number of events was counted since the last one.
EVERY = 1000
#: Format of the file; one of another format is passed over.
VERSION = 2

#: Rows are added and never changed: who goes on from event n reads, of each key, the last row up to n.
_TABLES = (
    "CREATE TABLE top (one INTEGER PRIMARY KEY, number INTEGER NOT NULL, content TEXT NOT NULL)",
    *(
        f"CREATE TABLE {name} (key TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, "
        "PRIMARY KEY (key, number)) WITHOUT ROWID"
        for name in ("entries", "runs", "bills")
    ),
)


@dataclass(frozen=True)
class Base:
    """A checkpoint that is counted from: its file, the number of its last event, and its generation."""

    path: Path
    number: int
    generation: str


@dataclass
class CheckpointTable(MutableMapping[Key, Value]):
    """A mapping with what was changed since a checkpoint, of which it reads only what is asked for."""

    name: str
    decode: Callable[[Any], Value]
    base: Base | None = None
    changed: dict[Key, Value | None] = field(default_factory=dict)

    def copy(self) -> CheckpointTable[Key, Value]:
        """Another one that can go on by itself."""
        return replace(self, changed=dict(self.changed))

    def on(self, base: Base) -> CheckpointTable[Key, Value]:
        """The same, of which everything stands in a checkpoint."""
        return replace(self, base=base, changed={})

    def __getitem__(self, key: Key) -> Value:
        found = self.changed[key] if key in self.changed else self._kept(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: Key, value: Value) -> None:
        self.changed[key] = value

    def __delitem__(self, key: Key) -> None:
        self.changed[key] = None

    def __iter__(self) -> Iterator[Key]:
        raise TypeError("entries are looked up by their names.")

    def __len__(self) -> int:
        raise TypeError("entries are looked up by their names.")

    def whole(self) -> dict[Key, Value]:
        """Everything, for a mapping with few keys that are texts or tuples."""
        latest = f"SELECT key, content, max(number) FROM {self.name} WHERE number <= ? GROUP BY key"
        kept = {_key(name): json.loads(content) for name, content, _ in self._rows(latest)}
        found: dict[Any, Any] = {key: self.decode(value) for key, value in kept.items() if value is not None}
        return {key: value for key, value in (found | self.changed).items() if value is not None}

    def _kept(self, key: Key) -> Value | None:
        chosen = f"SELECT content FROM {self.name} WHERE key = ? AND number <= ? ORDER BY number DESC LIMIT 1"
        found = self._rows(chosen, json.dumps(key))
        content = json.loads(found[0][0]) if found else None
        return None if content is None else self.decode(content)

    def _rows(self, statement: str, *given: str) -> list[Any]:
        """Rows of the checkpoint; the last parameter of a statement is the number of its last event."""
        if self.base is None:
            return []
        try:
            with closing(_opened(self.base.path)) as connection:
                connection.execute("BEGIN")
                [(content,)] = connection.execute("SELECT content FROM top").fetchall()
                if json.loads(content)["generation"] != self.base.generation:
                    raise ValueError
                return connection.execute(statement, (*given, self.base.number)).fetchall()
        except (sqlite3.Error, ValueError):
            raise LedgerNotWrittenError(
                f"{self.base.path}, where the count of the ledger is kept, was replaced meanwhile. Nothing was "
                "written; run the same again."
            ) from None


def _key(name: str) -> Any:
    found = json.loads(name)
    return tuple(found) if isinstance(found, list) else found


def checkpoint_path(ledger: str) -> Path | None:
    """Where the checkpoint of a ledger is; None where none is kept."""
    named = os.environ.get(VARIABLE, "")
    if named.strip().lower() == OFF or not ledger.isalnum():
        return None
    with suppress(RuntimeError):  # nobody's home
        return (Path(named) if named else caches() / "dpsparse" / "ledgers") / f"{ledger}.checkpoint"
    return None


def read_checkpoint(path: Path | None) -> dict[str, Any] | None:
    """The top of a checkpoint; None if no checkpoint can be used."""
    if path is None or not _ours(path):
        return None
    with suppress(sqlite3.Error, ValueError, TypeError, KeyError), closing(_opened(path)) as connection:
        [(content,)] = connection.execute("SELECT content FROM top").fetchall()
        top: dict[str, Any] = json.loads(content)
        return top if top["version"] == VERSION else None
    return None


def write_checkpoint(
    path: Path, top: dict[str, Any], changed: Mapping[str, Mapping[Any, object]], generation: str | None
) -> str | None:
    """Keep a checkpoint, and return its generation; None where that is not possible, and nothing happens.

    Parameters
    ----------
    path : Path
    top : dict
        With the number of the last event that was counted.
    changed : mapping of a table's name to keys and JSON values
        What became of them since the checkpoint from which was counted; all of them without one.
    generation : str or None
        Of the checkpoint from which was counted; None: everything was counted, and a file that is there is replaced.
    """
    with suppress(sqlite3.Error, OSError, ValueError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if generation is None:
            path.unlink(missing_ok=True)
        os.close(open_private(path))
        if not _ours(path):
            return None
        with closing(_opened(path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                for statement in _TABLES:
                    connection.execute(statement)
            found = connection.execute("SELECT number, content FROM top").fetchone()
            if generation is None:
                generation = secrets.token_hex(8)
            elif found is None or json.loads(found[1])["generation"] != generation or found[0] >= top["number"]:
                return None
            for table, rows in changed.items():
                written = ((json.dumps(key), top["number"], json.dumps(value)) for key, value in rows.items())
                connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", written)
            content = json.dumps({**top, "version": VERSION, "generation": generation})
            connection.execute("INSERT OR REPLACE INTO top VALUES (1, ?, ?)", (top["number"], content))
            connection.execute("COMMIT")
            return generation
    return None


def _ours(path: Path) -> bool:
    """Whether a file is there that this user owns and nobody else may write."""
    try:
        found = path.lstat()
    except OSError:
        return False
    own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return own and not found.st_mode & 0o022


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=5.0)
