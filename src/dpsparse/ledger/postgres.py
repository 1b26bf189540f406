"""Ledgers in a PostgreSQL database, through psycopg 3 (extra ``postgres``).

Every writing transaction first locks the one row of the head, by a function of the owner: writers
take turns, and what they read afterwards is what the one before them committed.
``synchronous_commit`` is switched on for each of them.

A transaction that failed before its commit left nothing and is tried again where the reason passes:
a failed serialization, a deadlock, a lost connection, a server that is away, for as long as the
patience of the address says. Where the connection is lost *during* the
commit, the head is locked anew, which waits for the end of the lost transaction, and the event is
looked for: it was committed, or it is tried again. If the server cannot be asked, the error says
that it is not known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.errors import LedgerError, LedgerNotWrittenError
from .address import ServerAddress
from .chain import EVENTS, HEAD, NO_LEDGER, TABLES, Chain, Event, Head
from .postgres_guard import APPEND, FUNCTIONS, SIGNATURE
from .postgres_guard import LOCK as LOCK_HEAD

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

#: Milliseconds to wait for other writers; seconds to wait for the server.
PATIENCE, KNOCK = 60_000, 10
#: How often a transaction is tried at least, and seconds before the second try; each further wait is twice as long.
TRIES, PAUSE, LONGEST_PAUSE = 6, 0.1, 2.0
#: Key of the lock under which tables are made: "dpsl".
LOCK = 0x6470736C

#: Classes of SQLSTATE that pass by themselves: connections, rollbacks, too many clients; the server
#: goes down or comes up; a standby that is not the primary yet.
_PASSING = ("08", "40", "53300", "57P01", "57P02", "57P03", "25006")
#: How libpq says that a server is away, and a server that it is not ready.
_AWAY = (
    "connection refused",
    "timeout expired",
    "timed out",
    "connection timeout",
    "is the server running",
    "could not translate host name",
    "unreachable",
    "closed the connection",
    "connection reset",
    "the database system is",
    "too many clients",
    "connection slots",
)

_GUARDS = (
    f"CREATE FUNCTION {EVENTS}_guard() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'events of a ledger are never changed'; END $$",
    f"CREATE TRIGGER {EVENTS}_guard BEFORE UPDATE OR DELETE OR TRUNCATE ON {EVENTS} "
    f"FOR EACH STATEMENT EXECUTE FUNCTION {EVENTS}_guard()",
)


def _driver() -> ModuleType:
    try:
        import psycopg
    except ImportError:
        raise ImportError(
            "ledgers in PostgreSQL need psycopg. Install it with: pip install 'dpsparse[postgres]'."
        ) from None
    return psycopg


class PostgresStore:
    """A chain in a database."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self.shown = address.shown

    def read(self, action: Callable[[Chain], T]) -> T:
        """Run an action on a consistent view."""
        return self._run(lambda c: action(self._chain(c)), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def write(self, action: Callable[[Chain], T]) -> T:
        """Run an action in an exclusive transaction."""
        appended: list[Event | None] = [None]

        def act(connection: psycopg.Connection) -> T:
            chain = self._locked(connection)
            value = action(chain)
            appended[0] = chain.appended
            return value

        return self._run(act, *_WRITING, appended=appended)

    def found(self) -> None:
        """Make empty tables if they do not exist."""

        def act(connection: psycopg.Connection) -> None:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            if not self._there(connection):
                for statement in (*TABLES, *_GUARDS, *FUNCTIONS):
                    connection.execute(statement)
                connection.execute(f"INSERT INTO {HEAD} VALUES (1, %s, %s, %s, %s, %s, %s)", Head.fresh().row())

        self._run(act, *_WRITING)

    def damage(self) -> list[str]:
        """Whether events are still guarded; the server checks its own files."""

        def act(connection: psycopg.Connection) -> list[str]:
            text = (
                "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND tgname = %s AND tgenabled <> 'D'"
            )
            [(count,)] = connection.execute(text, (EVENTS, f"{EVENTS}_guard")).fetchall()
            return [] if count == 1 else ["the guard of its events is missing or switched off"]

        return self._run(act)

    # ---------------------------------------------------------------------------------------------- transactions

    def _run(
        self, act: Callable[[psycopg.Connection], T], *settings: str, appended: list[Event | None] | None = None
    ) -> T:
        """Run and commit, again where a failure passes and is known to have left nothing."""
        psycopg = _driver()
        failure: LedgerError | None = None
        for _ in self._turns():
            connection, committing = None, False
            try:
                connection = self._connected()
                for setting in settings:
                    connection.execute(setting)
                value = act(connection)
                committing = True
                self._commit(connection)
                return value
            except psycopg.Error as error:
                passing = _passes(error, connection)
                failure = self._failure(error, passing)
            finally:
                if connection is not None:
                    connection.close()
            if not passing:
                break
            event = appended[0] if appended else None
            if committing and event is not None:
                left = self._left(event)
                if left == "event":
                    return value
                if left == "unknown":
                    failure = LedgerNotWrittenError(str(failure), left, event.number)
                    break
        assert failure is not None
        raise failure

    def _turns(self) -> Iterator[int]:
        """Count tries, with longer and longer pauses: at least `TRIES`, and on until the patience is over."""
        end, turn = time.monotonic() + self._address.patience, 0
        while turn < TRIES or time.monotonic() < end:
            if turn:
                time.sleep(min(PAUSE * 2 ** (turn - 1), LONGEST_PAUSE))
            yield turn
            turn += 1

    def _connected(self) -> psycopg.Connection:
        made: psycopg.Connection = _driver().connect(self._address.text, connect_timeout=KNOCK, **self._secrets())
        return made

    def _commit(self, connection: psycopg.Connection) -> None:
        connection.commit()

    def _left(self, event: Event) -> str:
        """What a commit without an answer has left.

        Asked under the lock, which the lost transaction holds until it ends.
        """
        psycopg = _driver()
        for _ in self._turns():
            try:
                with self._connected() as connection:
                    for setting in _WRITING:
                        connection.execute(setting)
                    return "event" if self._locked(connection).holds(event.number, event.hash) else "nothing"
            except (psycopg.Error, LedgerError):
                continue
        return "unknown"

    def _secrets(self) -> dict[str, str | None]:
        return {name: secret.reveal() for name, secret in self._address.secrets.items()}

    def _failure(self, error: psycopg.Error, passing: bool) -> LedgerError:
        """An error of the server in our words, with nothing of the address but host and database."""
        psycopg = _driver()
        said = self._said(error)
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return LedgerNotWrittenError(f"the ledger at {self.shown} was busy for {PATIENCE // 1000} seconds.")
        forbidden = isinstance(error, psycopg.errors.InsufficientPrivilege)
        advice = ""
        if self._address.withheld and not self._address.secrets:
            advice = " Its password was left behind when it was pickled: keep it in PGPASSFILE."
        if passing or forbidden or isinstance(error, psycopg.errors.DiskFull):
            waited = f" It was tried for {self._address.patience:g} seconds." if passing else ""
            kept = f"the ledger at {self.shown} could not be written or read: {said}.{waited}{advice}"
            return LedgerNotWrittenError(kept, passes=not forbidden)
        return LedgerError(f"the ledger at {self.shown} cannot be used: {said}.{advice}")

    def _said(self, error: psycopg.Error) -> str:
        """The first line of what the server said; only its code if that could hold a secret."""
        said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        if any(secret.within(said) for secret in self._address.secrets.values()):
            return f"SQLSTATE {error.sqlstate}" if error.sqlstate else type(error).__name__
        return said

    # ---------------------------------------------------------------------------------------------- tables

    def _there(self, connection: psycopg.Connection) -> bool:
        [found] = connection.execute("SELECT to_regclass(%s), to_regclass(%s)", (EVENTS, HEAD)).fetchall()
        return None not in found

    def _locked(self, connection: psycopg.Connection) -> Chain:
        chain = self._chain(connection)
        locks = f"SELECT {LOCK_HEAD}()" if _guarded(connection) else f"SELECT number FROM {HEAD} FOR UPDATE"
        connection.execute(locks)
        return chain

    def _chain(self, connection: psycopg.Connection) -> Chain:
        if not self._there(connection):
            raise LedgerError(NO_LEDGER.format(where=self.shown))

        def execute(statement: str, given: Sequence[Any]) -> Iterable[Sequence[Any]]:
            cursor = connection.execute(statement, tuple(given))
            return cursor.fetchall() if cursor.description else []

        return Chain(execute, "%s", function=APPEND if _guarded(connection) else None)


#: READ COMMITTED, so that what is read after the lock is what the writer before committed, whatever
#: the server's default.
_WRITING = (
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    f"SET LOCAL lock_timeout = {PATIENCE}",
    "SET LOCAL synchronous_commit = on",
)


def _guarded(connection: psycopg.Connection) -> bool:
    """Whether the ledger has the functions that append; one of an earlier release has none, and tables are written."""
    [(found,)] = connection.execute("SELECT to_regprocedure(%s)", (f"{APPEND}({SIGNATURE})",)).fetchall()
    return found is not None


def _passes(error: psycopg.Error, connection: psycopg.Connection | None) -> bool:
    """Whether a failure passes by itself: a server that is away, restarts or fails over.

    A connection that was never made has no SQLSTATE: the words of libpq tell a server that cannot be
    reached from one that refuses.
    """
    state = error.sqlstate or ""
    if connection is None and not state:
        return any(words in str(error).lower() for words in _AWAY)
    return (connection is not None and connection.closed) or state.startswith(_PASSING)
