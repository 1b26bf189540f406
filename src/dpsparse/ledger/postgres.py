"""Ledgers in a PostgreSQL database, through psycopg 3 (extra ``postgres``).

Every writing transaction first locks the one row of the head (``SELECT ... FOR UPDATE``): writers take turns, and what
they read afterwards is what the one before them committed. ``synchronous_commit`` is switched on for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from ..privacy.errors import LedgerError, LedgerNotWrittenError
from .chain import EVENTS, HEAD, TABLES, Chain

#: Milliseconds to wait for other writers; seconds to wait for the server.
PATIENCE, KNOCK = 60_000, 10
#: Key of the lock under which tables are made: "dpsl".
LOCK = 0x6470736C

_GUARDS = (
    f"CREATE FUNCTION {EVENTS}_guard() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'events of a ledger are never changed'; END $$",
    f"CREATE TRIGGER {EVENTS}_guard BEFORE UPDATE OR DELETE OR TRUNCATE ON {EVENTS} "
    f"FOR EACH STATEMENT EXECUTE FUNCTION {EVENTS}_guard()",
)


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise ImportError(
            "ledgers in PostgreSQL need psycopg. Install it with: pip install 'dpsparse[postgres]'."
        ) from None
    return psycopg


class PostgresStore:
    """A chain in a database."""

    def __init__(self, address: str) -> None:
        self.address = address
        try:
            parts = urlsplit(address)
            self.shown = f"{parts.hostname or 'the local server'}{parts.path}"
        except ValueError:
            raise LedgerError("a PostgreSQL address looks like postgresql://user@host:port/database.") from None

    @contextmanager
    def reading(self) -> Iterator[Chain]:
        """A consistent view."""
        with self._connected() as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield self._chain(connection)

    @contextmanager
    def writing(self) -> Iterator[Chain]:
        """An exclusive transaction."""
        with self._connected() as connection:
            connection.execute(f"SET LOCAL lock_timeout = {PATIENCE}")
            connection.execute("SET LOCAL synchronous_commit = on")
            chain = self._chain(connection)
            connection.execute(f"SELECT number FROM {HEAD} FOR UPDATE")
            yield chain

    def found(self) -> None:
        """Make empty tables if there are none."""
        with self._connected() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            if not self._there(connection):
                for statement in (*TABLES, *_GUARDS):
                    connection.execute(statement)

    def damage(self) -> list[str]:
        """Nothing: the server checks its own files."""
        return []

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """A connection whose transaction is committed at the end, or undone if an exception leaves it."""
        psycopg = _driver()
        try:
            with psycopg.connect(self.address, connect_timeout=KNOCK) as connection:
                yield connection
        except psycopg.errors.LockNotAvailable:
            raise LedgerNotWrittenError(
                f"the ledger at {self.shown} was busy for {PATIENCE // 1000} seconds. Nothing was reserved; try again."
            ) from None
        except (
            psycopg.errors.DiskFull,
            psycopg.errors.InsufficientPrivilege,
            psycopg.errors.ReadOnlySqlTransaction,
        ) as e:
            raise LedgerNotWrittenError(
                f"the ledger at {self.shown} could not be written: {_first(e)}. Nothing was reserved."
            ) from None
        except psycopg.Error as error:
            raise LedgerError(f"the ledger at {self.shown} cannot be used: {_first(error)}") from None

    def _there(self, connection: Any) -> bool:
        found = connection.execute("SELECT to_regclass(%s), to_regclass(%s)", (EVENTS, HEAD)).fetchone()
        return None not in found

    def _chain(self, connection: Any) -> Chain:
        if not self._there(connection):
            raise LedgerError(
                f"there is no ledger in {self.shown}. Make one with Ledger(address).create(dataset, epsilon, delta), or check the "
                "address: a ledger that was lost must not be replaced by an empty one."
            )

        def execute(statement: str, given: Sequence[Any]) -> Iterable[Sequence[Any]]:
            cursor = connection.execute(statement, tuple(given))
            return cursor.fetchall() if cursor.description else []

        return Chain(execute, "%s")


def _first(error: Exception) -> str:
    """The first line of what the server said; never the address, which may hold a password."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
