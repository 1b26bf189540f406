"""Ledgers in PostgreSQL: the same promises, where a server can be started."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import pytest

from dpsparse import Ledger
from dpsparse.accounting import PlanCost, price
from dpsparse.core import Budget, BudgetExceededError, LedgerError, LedgerTamperedError
from dpsparse.core.errors import LedgerNotWrittenError
from dpsparse.ledger.chain import EVENTS, HEAD
from dpsparse.ledger.upgrade import upgrade
from truth import postgres
from truth.ledger_herd import small_bill

PAGES = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with postgres.running() as address:
        yield address


@pytest.fixture
def address(server):
    with postgres.fresh_database(server) as address:
        yield address


def bill(epsilon: float = 1.0) -> PlanCost:
    return PlanCost.of(price(small_bill().plan, Budget.approx(epsilon, 1e-6)))


def change(address: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(address) as connection:
        connection.execute(f"ALTER TABLE {EVENTS} DISABLE TRIGGER ALL")
        for statement in statements:
            connection.execute(statement)


def test_a_dataset_lives_its_whole_life(address):
    ledger = Ledger(address)
    ledger.create("trial", 2.0, 1e-6)
    ledger.create("other", 1.0, 1e-6, adjacency="add-remove")
    with ledger.reserve("trial", bill(), label="one") as reservation:
        reservation.start()
    with pytest.raises(KeyError), ledger.reserve("trial", bill()):
        raise KeyError
    assert [e.status for e in ledger.entries("trial")] == ["done", "refunded"]
    assert ledger.spent("trial").epsilon == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(BudgetExceededError, match="would fit"):
        ledger.reserve("trial", bill(1.9))
    with pytest.raises(LedgerError, match="never set anew"):
        ledger.create("trial", 5.0, 1e-6)
    found = ledger.verify()
    assert ledger.verify(head=found.head).datasets == 2
    assert ledger.export()["head"]["hash"] == found.head


def test_a_database_without_a_ledger_is_an_error_and_stays_without(address):
    for attempt in (Ledger(address).verify, lambda: Ledger(address).reserve("trial", bill())):
        with pytest.raises(LedgerError, match="there is no ledger at"):
            attempt()


def test_an_unreachable_server_is_an_error_without_the_password(tmp_path):
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with pytest.raises(LedgerNotWrittenError, match=r"could not be written or read.*tried for 0.2 seconds") as error:
        Ledger(f"postgresql://me:hush@/postgres?host={tmp_path}&patience=0.2").spent("trial")
    assert "hush" not in str(error.value)
    assert error.value.passes


@pytest.mark.parametrize("given", ["-1", "soon", "nan", "1e9"])
def test_a_patience_that_is_no_time_is_refused(given):
    with pytest.raises(LedgerError, match="patience must be a number of seconds"):
        Ledger(f"postgresql://localhost/db?patience={given}")


def test_a_role_that_is_not_there_is_refused_at_once(address):
    with pytest.raises(LedgerError, match="cannot be used") as error:
        Ledger(address.replace("tester@", "nobody_of_this_name@")).spent("trial")
    assert not isinstance(error.value, LedgerNotWrittenError)


def test_events_are_guarded_and_changes_are_detected(address):
    import psycopg

    ledger = Ledger(address)
    ledger.create("trial", 2.0, 1e-6)
    ledger.reserve("trial", bill(0.5))
    ledger.reserve("trial", bill(0.5))
    for statement in (f"UPDATE {EVENTS} SET dataset = 'x'", f"DELETE FROM {EVENTS}", f"TRUNCATE {EVENTS}"):
        with psycopg.connect(address) as connection, pytest.raises(psycopg.Error, match="never changed"):
            connection.execute(statement)
    change(address, f"DELETE FROM {EVENTS} WHERE number = 4")
    with pytest.raises(LedgerTamperedError, match="its end was changed"):
        ledger.verify()
    with pytest.raises(LedgerError, match="does not match its head"):
        ledger.reserve("trial", bill(0.5))


def test_a_later_version_is_named(address):
    ledger = Ledger(address)
    ledger.create("trial", 2.0, 1e-6)
    change(address, f"UPDATE {HEAD} SET version = 3")
    with pytest.raises(LedgerError, match="a later release"):
        ledger.spent("trial")


def test_a_missing_driver_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"pip install 'dpsparse\[postgres\]'"):
        Ledger("postgresql://localhost/db").spent("trial")


# ------------------------------------------------------------------------------------------------ rights


FORBIDDEN = (
    f"DELETE FROM {EVENTS}",
    f"UPDATE {EVENTS} SET dataset = 'x'",
    f"TRUNCATE {EVENTS}",
    f"DROP TABLE {EVENTS}",
    f"ALTER TABLE {EVENTS} DISABLE TRIGGER ALL",
    f"UPDATE {HEAD} SET ledger = 'x'",
    f"DELETE FROM {HEAD}",
    f"INSERT INTO {EVENTS} SELECT number + 1, dataset, entry, what, body, previous, hash FROM {EVENTS}",
    f"UPDATE {HEAD} SET number = 1",
    f"SELECT number FROM {HEAD} FOR UPDATE",
)


def last_of(chain):
    last = chain.event(chain.head().ends["trial"])
    return last, last.read()


def nothing_was_taken(chain):
    """The last entry, of which nothing was answered yet, ends; and nothing was ever taken."""
    last, body = last_of(chain)
    state = body["state"]
    nothing = {**state, "totals": dict.fromkeys(state["totals"], 0), "live": 0}
    chain.append("trial", last.entry, "confirm", {"state": nothing})


def a_larger_budget(chain):
    last, body = last_of(chain)
    chain.append("trial", last.entry, "start", {"state": {**body["state"], "epsilon": 20.0}})


def a_larger_capacity(chain):
    last, body = last_of(chain)
    filters = [{**f, "capacity": 10 * f["capacity"]} for f in body["state"]["filters"]]
    chain.append("trial", last.entry, "start", {"state": {**body["state"], "filters": filters}})


def an_entry_below_zero(chain):
    _, body = last_of(chain)
    costs = {name: -cost for name, cost in body["costs"].items()}
    totals = {name: total + costs[name] for name, total in body["state"]["totals"].items()}
    state = {**body["state"], "totals": totals, "live": body["state"]["live"] + 1}
    chain.append("trial", 0, "reserve", {**body, "costs": costs, "slack": 0, "state": state})


def an_entry_that_costs_more_than_it_says(chain):
    _, body = last_of(chain)
    state = {**body["state"], "live": body["state"]["live"] + 1, "slack": body["state"]["slack"] - body["slack"]}
    chain.append("trial", 0, "reserve", {**body, "state": state})


def an_entry_beyond_the_budget(chain):
    _, body = last_of(chain)
    costs = dict.fromkeys(body["costs"], 10**15)
    totals = {name: total + 10**15 for name, total in body["state"]["totals"].items()}
    state = {**body["state"], "totals": totals, "live": body["state"]["live"] + 1}
    chain.append("trial", 0, "reserve", {**body, "costs": costs, "slack": 0, "state": state})


def a_refund_of_an_entry_that_is_done(chain):
    done = next(event for event in chain.events() if event.what == "confirm")
    costs = chain.event(done.entry).read()
    state = last_of(chain)[1]["state"]
    totals = {name: total - costs["costs"][name] for name, total in state["totals"].items()}
    given = {**state, "totals": totals, "live": state["live"] - 1, "slack": state["slack"] + costs["slack"]}
    chain.append("trial", done.entry, "refund", {"state": given})


def a_dataset_once_more(chain):
    first = next(event for event in chain.events() if event.what == "create")
    chain.append("trial", 0, "create", {"state": first.read()["state"]})


FORGERIES = (
    nothing_was_taken,
    a_larger_budget,
    a_larger_capacity,
    an_entry_below_zero,
    an_entry_that_costs_more_than_it_says,
    an_entry_beyond_the_budget,
    a_refund_of_an_entry_that_is_done,
    a_dataset_once_more,
)


@pytest.mark.parametrize("page", ["ledger.md", "operations.md"])
def test_the_documented_rights_run_as_written_and_do_not_give_budget_back(server, page):
    """Three roles: one owns, one appends, one reads."""
    import psycopg

    [roles, grants] = re.findall(r"```sql\n(.*?)```", (PAGES / page).read_text(), re.DOTALL)
    with postgres.fresh_database(server) as address:
        with psycopg.connect(address, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'ledger_owner'").fetchall():
                connection.execute(roles)
            else:  # roles are those of the server, and the rights in a schema those of a database
                connection.execute(roles[roles.index("GRANT") :])
        owner, fits, reader = (address.replace("tester@", f"ledger_{who}@") for who in ("owner", "fits", "reader"))
        Ledger(owner).create("trial", 2.0, 1e-5)
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute(grants)
        with Ledger(fits).reserve("trial", bill(0.3)) as reservation:
            reservation.start()
        Ledger(fits).reserve("trial", bill(0.3))
        Ledger(fits).create("other", 1.0, 1e-5)
        assert Ledger(reader).remaining("trial").epsilon < 2.0
        assert Ledger(fits).verify() == Ledger(reader).verify()
        with pytest.raises(LedgerNotWrittenError, match=r"permission denied.*Nothing was reserved"):
            Ledger(reader).reserve("trial", bill(0.3))
        for statement, role in itertools.product(FORBIDDEN, (fits, reader)):
            with psycopg.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        before = Ledger(reader).verify()
        for forge in FORGERIES:
            with pytest.raises(LedgerError, match="cannot be used") as refusal:
                Ledger(fits)._store().write(forge)
            assert "violates" not in str(refusal.value), forge
        assert Ledger(reader).verify() == before
        Ledger(fits).reserve("trial", bill(0.3))


def test_a_ledger_without_the_function_is_used_as_before_and_a_forgery_is_refused_at_use(address):
    import psycopg

    ledger = Ledger(address)
    ledger.create("trial", 2.0, 1e-5)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP FUNCTION dpsparse_ledger_lock, dpsparse_ledger_append")
    ledger.reserve("trial", bill(0.3))
    ledger._store().write(nothing_was_taken)
    for use in (ledger.remaining, lambda name: ledger.reserve(name, bill(0.3))):
        with pytest.raises(LedgerTamperedError, match="says that other costs were taken"):
            use("trial")


def test_a_ledger_is_moved_to_a_database_whose_function_appends(server, address):
    """Of a database without the function: the new one has it, and the old one takes nothing."""
    import psycopg

    old = Ledger(address)
    old.create("trial", 2.0, 1e-5)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP FUNCTION dpsparse_ledger_lock, dpsparse_ledger_append")
    with old.reserve("trial", bill(0.3)) as reservation:
        reservation.start()
    spent, cited = old.spent("trial"), old.cite("trial", 3)
    with postgres.fresh_database(server) as other:
        new = Ledger(other)
        upgrade(old, new)
        assert new.spent("trial") == spent
        assert new.verify_citation(cited).status == "done"
        with pytest.raises(LedgerError, match="moved to another place"):
            old.reserve("trial", bill(0.3))
        with psycopg.connect(other, autocommit=True) as connection:
            [(found,)] = connection.execute("SELECT to_regproc('dpsparse_ledger_append') IS NOT NULL").fetchall()
        assert found
        new.reserve("trial", bill(0.3)).refund()
        new.verify()


# ------------------------------------------------------------------------------------------------ outages


def test_a_server_that_is_away_for_a_while_is_waited_for(tmp_path):
    """Between the reservation and the start, and before a reservation: nothing is refused, and nothing stays reserved."""
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with postgres.running() as address, postgres.paused(address) as stop_for:
        ledger = Ledger(address)
        ledger.create("trial", 2.0, 1e-5)
        with ledger.reserve("trial", bill(0.1)) as reservation:
            stop_for(1.5)
            reservation.start()
        stop_for(1.5)
        ledger.reserve("trial", bill(0.1)).refund()
        assert [entry.status for entry in ledger.entries("trial")] == ["done", "refunded"]
        ledger.verify()
