"""Ledgers in PostgreSQL when things go wrong: lost connections, commits without an answer, other isolation, few rights."""

from __future__ import annotations

import pytest

from dpsparse import Ledger
from dpsparse.core import LedgerError, LedgerNotWrittenError, LedgerTamperedError
from dpsparse.ledger import postgres as room
from dpsparse.ledger.chain import EVENTS, HEAD, Chain
from dpsparse.ledger.postgres import PostgresStore
from truth import postgres
from truth.ledgers import bill


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with postgres.running() as address:
        yield address


@pytest.fixture
def address(server):
    with postgres.fresh_database(server) as address:
        yield address


@pytest.fixture
def ledger(address, monkeypatch):
    monkeypatch.setattr(room, "PAUSE", 0.001)
    made = Ledger(address, patience=0)
    made.create("trial", 3.0, 1e-6)
    return made


def numbers(ledger):
    return [e.number for e in ledger.entries("trial")]


def failing(monkeypatch, times: int, fail) -> list[int]:
    """Let the first `times` appended events be followed by a failure; counts the attempts."""
    append, seen = Chain.append, []

    def appended(self, *given):
        event = append(self, *given)
        seen.append(event.number)
        if len(seen) <= times:
            fail(self)
        return event

    monkeypatch.setattr(Chain, "append", appended)
    return seen


def cut_off(chain: Chain) -> None:
    list(chain._execute("SELECT pg_terminate_backend(pg_backend_pid())", ()))


def clash(chain: Chain) -> None:
    chain._execute("DO $$ BEGIN RAISE EXCEPTION 'clash' USING ERRCODE = 'serialization_failure'; END $$", ())


@pytest.mark.parametrize("fail", [cut_off, clash])
def test_lost_connections_and_failed_serializations_are_tried_again(ledger, monkeypatch, fail):
    seen = failing(monkeypatch, 2, fail)
    with ledger.reserve("trial", bill(0.1)) as reservation:
        reservation.start()
    assert seen == [3, 3, 3, 4, 5]
    assert numbers(ledger) == [3]
    ledger.verify()


@pytest.mark.parametrize("fail", [cut_off, clash])
def test_what_never_passes_is_an_error_that_says_that_nothing_was_reserved(ledger, monkeypatch, fail):
    seen = failing(monkeypatch, 10**6, fail)
    with pytest.raises(LedgerNotWrittenError, match="Nothing was reserved"):
        ledger.reserve("trial", bill(0.1))
    monkeypatch.undo()
    assert len(seen) == room.TRIES
    assert numbers(ledger) == []


def test_what_does_not_pass_is_not_tried_again(ledger, monkeypatch):
    seen = failing(monkeypatch, 10**6, lambda chain: chain._execute("SELECT nonsense", ()))
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.reserve("trial", bill(0.1))
    assert len(seen) == 1


def lose(monkeypatch, *, after: bool, times: int) -> None:
    """Lose the connection in commits that write: after they were done, or before."""
    import psycopg

    done: list[int] = []

    def commit(self, connection):
        [(writes,)] = connection.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL").fetchall()
        done.extend([1] if writes else [])
        if not writes or len(done) > times:
            connection.commit()
            return
        if after:
            connection.commit()
        connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(PostgresStore, "_commit", commit)


def test_a_commit_without_an_answer_that_was_done_is_not_done_again(ledger, monkeypatch):
    lose(monkeypatch, after=True, times=2)
    assert ledger.reserve("trial", bill(0.1)).entry == 3
    assert numbers(ledger) == [3]


def test_a_commit_without_an_answer_that_was_not_done_is_tried_again(ledger, monkeypatch):
    lose(monkeypatch, after=False, times=1)
    assert ledger.reserve("trial", bill(0.1)).entry == 3
    assert numbers(ledger) == [3]


@pytest.mark.parametrize("after", [True, False])
def test_a_commit_that_nobody_can_answer_for_is_called_that(ledger, monkeypatch, after):
    lose(monkeypatch, after=after, times=10**6)
    monkeypatch.setattr(PostgresStore, "_left", lambda self, event: "unknown")
    with pytest.raises(LedgerNotWrittenError, match="not known whether an entry was reserved") as failure:
        ledger.reserve("trial", bill(0.1), run_id="night")
    assert (failure.value.left, failure.value.number) == ("unknown", 3)
    monkeypatch.undo()
    assert numbers(ledger) == ([3] if after else [])
    ledger.reserve("trial", bill(0.1), run_id="night")
    assert numbers(ledger) == [3]


def test_a_server_that_is_gone_answers_for_nothing(ledger, monkeypatch):
    import psycopg

    event = ledger._store().read(lambda chain: chain.last("trial"))
    monkeypatch.setattr(psycopg, "connect", lambda *_, **__: (_ for _ in ()).throw(psycopg.OperationalError("gone")))
    assert ledger._store()._left(event) == "unknown"


def test_a_lost_transaction_is_waited_for_before_anything_is_said(ledger, address):
    """The lock of the lost transaction is taken: what is then seen is how it ended."""
    import psycopg

    event = ledger._store().read(lambda chain: chain.last("trial"))
    statements: list[str] = []

    class Spy(psycopg.Connection):
        def execute(self, query, *given, **more):
            statements.append(str(query))
            return super().execute(query, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg, "connect", Spy.connect)
        assert ledger._store()._left(event) == "event"
    assert any("ledger_lock" in s for s in statements)
    lock = next(i for i, s in enumerate(statements) if "ledger_lock" in s)
    assert any("SELECT hash" in s for s in statements[lock:])


@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_writers_take_turns_at_every_default_isolation(server, ledger, address, level):
    import threading

    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    price = bill(0.05)
    failures: list[BaseException] = []

    def work():
        try:
            for _ in range(4):
                ledger.reserve("trial", price)
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert len(numbers(ledger)) == 16
    ledger.verify()


def test_a_guard_that_was_switched_off_is_found(ledger, address):
    import psycopg

    ledger.verify()
    with psycopg.connect(address) as connection:
        connection.execute(f"ALTER TABLE {EVENTS} DISABLE TRIGGER ALL")
    with pytest.raises(LedgerTamperedError, match="guard of its events"):
        ledger.verify()


def test_the_head_is_compared_at_use(ledger, address):
    import psycopg

    ledger.reserve("trial", bill(0.1))
    with psycopg.connect(address) as connection:
        connection.execute(f"UPDATE {HEAD} SET ends = '{{\"trial\":2}}'")
    for use in (lambda: ledger.remaining("trial"), lambda: ledger.reserve("trial", bill(0.1))):
        with pytest.raises(LedgerTamperedError, match="seal"):
            use()


def test_a_role_that_may_make_no_tables_is_told_so(server, address):
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE ROLE ledger_nobody LOGIN")
    with pytest.raises(LedgerNotWrittenError, match=r"permission denied for schema public.*The dataset was not opened"):
        Ledger(address.replace("tester@", "ledger_nobody@")).create("trial", 1.0, 1e-6)
