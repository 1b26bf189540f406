"""The ledger: what it lets through, what it refuses, what survives, and what is detected."""

import copy
import json
import os
import pickle
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpsparse import Ledger
from dpsparse.accounting import PlanCost, SumCost, price
from dpsparse.accounting.random_stopping import SearchCost, law_of
from dpsparse.core import (
    Ask,
    Budget,
    BudgetError,
    BudgetExceededError,
    LedgerError,
    LedgerNotWrittenError,
    LedgerTamperedError,
    Noise,
    Plan,
    PoissonRows,
)
from dpsparse.core.curves import gaussian_epsilon
from dpsparse.core.plan import RandomTurns
from dpsparse.ledger import sqlite as ledger_sqlite
from dpsparse.ledger.chain import EVENTS, HEAD, NOTHING, Head, digest
from dpsparse.ledger.payment import reserve
from dpsparse.ledger.sqlite import GUARDS, SqliteStore


def fit(*asks: Ask, epsilon: float = 1.0, delta: float = 1e-6, adjacency: str = "replace-one") -> PlanCost:
    asks = asks or (Ask(name="gradient", noise=Noise.GAUSSIAN, times=20),)
    return PlanCost.of(price(Plan(asks=asks), Budget.approx(epsilon, delta, adjacency)))


MIXED = (Ask(name="choice", noise=Noise.GUMBEL, times=10), Ask(name="value", noise=Noise.GAUSSIAN, times=10))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(path):
    made = Ledger(f"sqlite:///{path}")
    made.create("trial", 3.0, 1e-6)
    return made


class Broken(Exception):
    """What goes wrong in a fit."""


def fail(reservation=None):
    """Work that fails: at once, or after its first answer."""
    if reservation is not None:
        reservation.start()
    raise Broken


def edit(path, *statements):
    """Change the file behind the ledger's back."""
    with sqlite3.connect(path) as connection:
        for what in ("update", "delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {EVENTS}_no_{what}")
        for statement, *given in statements:
            connection.execute(statement, *given)
    connection.close()


# ------------------------------------------------------------------------------------------------ budgets


def test_a_fresh_dataset_has_everything_left(ledger):
    assert (ledger.spent("trial").epsilon, ledger.spent("trial").delta) == (0.0, 0.0)
    assert (ledger.remaining("trial").epsilon, ledger.remaining("trial").delta) == (3.0, 1e-6)
    assert (ledger.total("trial").epsilon, ledger.datasets(), ledger.entries("trial")) == (3.0, ("trial",), ())


def test_gaussian_fits_add_up_to_the_price_of_their_joint_plan(ledger):
    for k in range(1, 5):
        ledger.reserve("trial", fit()).confirm()
        joint = SumCost((fit(),) * k).epsilon(1e-6)
        assert ledger.spent("trial").epsilon == pytest.approx(joint, rel=1e-6)
    assert joint < 0.6 * 4  # a sum of epsilons would say 4
    left = ledger.remaining("trial").epsilon
    with pytest.raises(BudgetExceededError):
        ledger.reserve("trial", fit(epsilon=1.001 * left))
    ledger.reserve("trial", fit(epsilon=0.999 * left))


def test_mixed_fits_are_within_a_few_percent_of_their_joint_plan(ledger):
    bills = [fit(*MIXED, epsilon=0.7), fit(epsilon=0.7), fit(*MIXED, epsilon=0.7)]
    for bill in bills:
        ledger.reserve("trial", bill)
    joint = SumCost(tuple(bills)).epsilon(1e-6)
    assert joint <= ledger.spent("trial").epsilon < 1.05 * joint < 0.7 * sum(b.epsilon(1e-6) for b in bills)


def test_two_sampled_fits_cost_about_one_loss_distribution_of_both(ledger):
    bill = fit(Ask(name="gradient", noise=Noise.GAUSSIAN, times=400, rows=PoissonRows(0.05)))
    for _ in range(2):
        ledger.reserve("trial", bill)
    joint = SumCost((bill, bill)).epsilon(1e-6)
    assert joint <= ledger.spent("trial").epsilon * (1 + 1e-6) < 1.05 * joint


@pytest.mark.slow
def test_searches_are_charged_by_their_divergences(ledger):
    bill = SearchCost(fit(epsilon=0.5), law_of("logarithmic", 10))
    for _ in range(2):
        ledger.reserve("trial", bill)
    assert ledger.describe("trial").kind == "renyi"
    assert ledger.spent("trial").epsilon == pytest.approx(SumCost((bill, bill)).epsilon(1e-6), rel=1e-6)
    ledger.reserve("trial", fit(epsilon=0.5))
    ledger.verify()


def test_one_fit_may_take_the_whole_budget(ledger):
    for name, asks in (("a", ()), ("b", MIXED)):
        ledger.create(name, 1.0, 1e-6)
        ledger.reserve(name, fit(*asks))
        assert ledger.spent(name).epsilon == pytest.approx(1.0, rel=1e-3)
        assert ledger.remaining(name).epsilon < 0.1
        with pytest.raises(BudgetExceededError):
            ledger.reserve(name, fit(*asks, epsilon=0.2))
    ledger.verify()


def test_a_refusal_says_what_is_left_and_what_would_fit(ledger):
    for _ in range(7):
        ledger.reserve("trial", fit())
    with pytest.raises(BudgetExceededError, match=r"A fit like this one with epsilon = .* would fit") as refused:
        ledger.reserve("trial", fit())
    assert refused.value.remaining == pytest.approx(ledger.remaining("trial").epsilon)
    assert 0 < refused.value.would_fit < 1
    before = ledger.export()
    ledger.reserve("trial", fit(epsilon=refused.value.would_fit))
    assert before["head"]["number"] + 1 == ledger.export()["head"]["number"]  # the refusal wrote nothing
    assert isinstance(pickle.loads(pickle.dumps(refused.value)), BudgetExceededError)


def test_datasets_do_not_share_their_budgets(ledger):
    ledger.create("other", 1.0, 1e-6)
    ledger.reserve("trial", fit())
    assert ledger.remaining("other").epsilon == 1.0
    assert ledger.datasets() == ("trial", "other")


def test_pure_budgets_take_pure_fits_only(ledger):
    ledger.create("pure", 1.0, 0.0)
    bill = fit(Ask(name="value", noise=Noise.LAPLACE, times=2), epsilon=0.4, delta=0.0)
    ledger.reserve("pure", bill)
    ledger.reserve("pure", bill)
    assert ledger.spent("pure").epsilon == pytest.approx(0.8, rel=1e-6)
    with pytest.raises(BudgetExceededError, match=r"epsilon = 0\.199"):
        ledger.reserve("pure", bill)
    with pytest.raises(BudgetError, match="takes pure fits only"):
        ledger.reserve("pure", fit(epsilon=0.01))


def test_adjacencies_are_not_mixed(ledger):
    with pytest.raises(LedgerError, match="protects 'replace-one' neighbours"):
        ledger.reserve("trial", fit(adjacency="add-remove"))


def test_a_budget_is_never_set_anew(ledger):
    with pytest.raises(LedgerError, match="never set anew"):
        ledger.create("trial", 10.0, 1e-6)
    assert ledger.total("trial").epsilon == 3.0


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201, 7])
def test_bad_names_are_refused(ledger, name):
    with pytest.raises(LedgerError, match="printable"):
        ledger.create(name, 1.0, 1e-6)


# ------------------------------------------------------------------------------------------------ reservations


def test_a_reservation_that_ends_well_is_confirmed(ledger):
    with ledger.reserve("trial", fit(), label="lasso") as reservation:
        reservation.start()
        reservation.start()
    [entry] = ledger.entries("trial")
    assert (entry.number, entry.status, entry.label, entry.counts) == (reservation.entry, "done", "lasso", True)
    assert entry.epsilon(1e-6) == pytest.approx(1.0, rel=1e-6)
    assert entry.bill == fit()


def test_what_was_never_answered_is_given_back(ledger):
    with pytest.raises(Broken), ledger.reserve("trial", fit()):
        fail()
    assert ledger.entries("trial")[0].status == "refunded"
    assert ledger.spent("trial").epsilon == 0
    assert ledger.remaining("trial").epsilon == 3.0
    ledger.verify()


def test_what_was_answered_stays_spent(ledger):
    with pytest.raises(Broken), ledger.reserve("trial", fit()) as reservation:
        fail(reservation)
    assert ledger.entries("trial")[0].status == "started"
    assert ledger.spent("trial").epsilon == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(LedgerError, match="cannot be refunded"):
        reservation.refund()


def test_a_failure_after_an_answer_is_not_refunded_and_says_that_the_entry_counts(ledger):
    with pytest.raises(Broken) as failure, ledger.reserve("trial", fit()) as reservation:
        fail(reservation)
    [note] = failure.value.__notes__
    assert note.startswith(f"Entry {reservation.entry} counts")
    assert "refund" not in note


def test_how_long_an_entry_took_is_not_noted(ledger):
    with ledger.reserve("trial", fit()) as reservation:
        reservation.start()
    events = ledger.export()["events"]
    assert ["time" in json.loads(e["body"]) for e in events if e["entry"] == reservation.entry] == [True, True, False]


def test_a_number_of_turns_that_chance_drew_is_not_given_back_and_drawn_again(ledger):
    law = RandomTurns(epochs=2, mean_each=5.0)
    drawn = Ask(name="gradient", noise=Noise.GAUSSIAN, times=3, rows=PoissonRows(0.01), law=law)
    with pytest.raises(Broken), reserve(ledger, "trial", fit(drawn), label="drawn", seeded=False):
        fail()
    assert ledger.entries("trial")[0].status == "started"


def test_nobody_refunds_behind_a_started_fit(ledger):
    one = ledger.reserve("trial", fit())
    two = copy.copy(one)
    one.start()
    with pytest.raises(LedgerError, match="its last event is 'start'"):
        two.refund()
    one.confirm()
    with pytest.raises(LedgerError, match="its last event is 'confirm'"):
        one.confirm()


def test_a_crash_counts_as_spent(ledger):
    code = (
        "import os, sys; from dpsparse import Ledger; from dpsparse.accounting import *; from dpsparse.core import *\n"
        "bill = PlanCost.of(price(Plan(asks=(Ask(name='g', noise=Noise.GAUSSIAN),)), Budget.approx(1.0, 1e-6)))\n"
        "with Ledger(sys.argv[1]).reserve('trial', bill):\n    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, ledger.address], check=False)
    assert done.returncode == -9
    assert ledger.entries("trial")[0].status == "reserved"
    assert ledger.spent("trial").epsilon == pytest.approx(1.0, rel=1e-6)
    ledger.verify()


def test_a_refund_that_cannot_be_written_leaves_a_note_and_stays_spent(ledger, monkeypatch):
    reservation = ledger.reserve("trial", fit())

    def refuse(self, action):
        raise LedgerNotWrittenError("full")

    monkeypatch.setattr(SqliteStore, "write", refuse)
    with pytest.raises(Broken) as error, reservation:
        fail()
    assert "could not be refunded and counts as spent" in error.value.__notes__[0]
    with pytest.warns(UserWarning, match="is charged, but the ledger could not note"), reservation:
        pass
    monkeypatch.undo()
    assert ledger.spent("trial").epsilon == pytest.approx(1.0, rel=1e-6)


def test_a_ledger_that_changes_while_a_cost_is_priced_is_read_again(ledger, monkeypatch):
    from dpsparse.ledger.state import State

    priced = State.charge

    def meanwhile(self, bill):
        monkeypatch.undo()  # once: another first entry decides how to count while this one is being priced
        ledger.reserve("trial", fit(Ask(name="sum", noise=Noise.DISCRETE_GAUSSIAN, times=10)))
        return priced(self, bill)

    monkeypatch.setattr(State, "charge", meanwhile)
    ledger.reserve("trial", fit())
    assert ledger.describe("trial").kind == "renyi"
    assert len(ledger.entries("trial")) == 2
    ledger.verify()


def test_what_another_took_while_a_cost_was_priced_is_not_spent_twice(ledger, monkeypatch):
    from dpsparse.ledger.state import State

    ledger.reserve("trial", fit(epsilon=0.1))
    priced = State.charge

    def meanwhile(self, bill):
        monkeypatch.undo()
        ledger.reserve("trial", fit(epsilon=2.5))
        return priced(self, bill)

    monkeypatch.setattr(State, "charge", meanwhile)
    with pytest.raises(BudgetExceededError):
        ledger.reserve("trial", fit(epsilon=2.5))
    ledger.verify()


# ------------------------------------------------------------------------------------------------ addresses and files


@pytest.mark.parametrize(
    "address",
    [
        "budget.db",
        "/tmp/budget.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:budget.db",
        "mysql://host/db",
        "",
    ],
)
def test_what_is_not_an_address_is_refused(address):
    with pytest.raises(LedgerError, match="is not the address of a ledger"):
        Ledger(address)


def test_a_path_object_is_refused(path):
    with pytest.raises(TypeError, match="must be text such as"):
        Ledger(path)


def test_passwords_are_not_shown():
    assert "hush" not in repr(Ledger("postgresql://me:hush@localhost/db"))
    assert repr(Ledger("sqlite:///budget.db")) == "Ledger('sqlite:///budget.db')"


def test_ledgers_are_copied_pickled_and_compared_by_their_address(ledger):
    for other in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger)), Ledger(ledger.address), Ledger.of(ledger)):
        assert other == ledger
        assert other.remaining("trial").epsilon == 3.0


@pytest.mark.parametrize("ask", ["spent", "remaining", "entries", "total"])
def test_a_missing_file_is_an_error_and_stays_missing(path, ask):
    with pytest.raises(LedgerError, match="there is no ledger at"):
        getattr(Ledger(f"sqlite:///{path}"), ask)("trial")
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger(f"sqlite:///{path}").reserve("trial", fit())
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger(f"sqlite:///{path}").verify()
    assert not path.exists()


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger(f"sqlite:///{tmp_path}/none/budget.db").create("trial", 1.0, 1e-6)


def test_a_folder_is_not_a_ledger(tmp_path):
    with pytest.raises(LedgerError, match="not an ordinary file"):
        Ledger(f"sqlite:///{tmp_path}").spent("trial")


def test_an_unknown_dataset_is_an_error_that_lists_the_known_ones(ledger):
    with pytest.raises(LedgerError, match="dataset 'trail' is not in the ledger; it holds 'trial'"):
        ledger.spent("trail")


@pytest.mark.parametrize("content", [b"", b"no database at all, whatever its name says" * 30])
def test_a_file_that_is_no_ledger_is_neither_read_nor_replaced(path, content):
    path.write_bytes(content)
    ledger = Ledger(f"sqlite:///{path}")
    for attempt in (lambda: ledger.spent("trial"), lambda: ledger.create("trial", 1.0, 1e-6), ledger.verify):
        with pytest.raises(LedgerError, match=r"empty|not a ledger"):
            attempt()
    assert path.read_bytes() == content


def test_another_program_s_database_is_neither_read_nor_changed(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(f"sqlite:///{path}").create("trial", 1.0, 1e-6)
    assert path.read_bytes() == before


def test_a_truncated_file_is_an_error(ledger, path):
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(LedgerError):
        ledger.verify()
    with pytest.raises(LedgerError):
        ledger.reserve("trial", fit())


def test_scrambled_pages_are_an_error(ledger, path):
    for _ in range(4):
        ledger.reserve("trial", fit(epsilon=0.1))
    content = bytearray(path.read_bytes())
    for place in range(4096, len(content), 512):
        content[place : place + 64] = os.urandom(64)
    path.write_bytes(bytes(content))
    with pytest.raises(LedgerError):
        ledger.verify()


def test_missing_tables_are_an_error(ledger, path):
    edit(path, (f"DROP TABLE {HEAD}",))
    with pytest.raises(LedgerError, match="tables are missing"):
        ledger.spent("trial")


@pytest.mark.parametrize(
    ("version", "advice"), [(1, "an earlier release.*dpsparse ledger upgrade"), (3, "a later release.*Update")]
)
def test_other_versions_are_named(ledger, path, version, advice):
    edit(path, (f"UPDATE {HEAD} SET version = {version}",))
    for attempt in (
        lambda: ledger.spent("trial"),
        lambda: ledger.reserve("trial", fit()),
        ledger.verify,
        ledger.export,
    ):
        with pytest.raises(LedgerError, match=advice):
            attempt()


def test_a_full_disk_reserves_nothing(ledger, monkeypatch):
    connection = SqliteStore._connection

    @contextmanager
    def small(self):
        with connection(self) as run:
            [[pages]] = run("PRAGMA page_count")
            run(f"PRAGMA max_page_count = {pages}")
            yield run

    monkeypatch.setattr(SqliteStore, "_connection", small)
    bill = fit(Ask(name="gradient", noise=Noise.GAUSSIAN, times=3000, schedule=tuple(1.0 + k for k in range(3000))))
    with pytest.raises(LedgerNotWrittenError, match="Nothing was reserved"):
        ledger.reserve("trial", bill)
    monkeypatch.undo()
    assert ledger.entries("trial") == ()
    ledger.verify()


@pytest.mark.parametrize("door", ["read", "write"])
def test_an_error_that_is_kept_with_its_frames_holds_no_lock(ledger, path, monkeypatch, door):
    """SQLite keeps the locks of a closed connection while one of its statements is open."""
    monkeypatch.setattr(ledger_sqlite, "PATIENCE", 0.05)
    many = tuple(ledger.create(f"trial {i}", 1.0, 1e-6) for i in range(9))

    def fail(chain):
        rows = iter(chain._execute(f"SELECT body FROM {EVENTS}", ()))
        raise KeyError(next(rows))

    with pytest.raises(KeyError) as kept:
        getattr(SqliteStore(path), door)(fail)
    ledger.create("another", 1.0, 1e-6)
    assert kept.traceback
    assert len(ledger.datasets()) == len(many) + 2


def test_a_busy_ledger_is_an_error_after_a_while(ledger, path, monkeypatch):
    monkeypatch.setattr(ledger_sqlite, "PATIENCE", 0.05)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(LedgerNotWrittenError, match="was busy"):
            ledger.create("other", 1.0, 1e-6)
    finally:
        blocker.close()
    ledger.create("other", 1.0, 1e-6)


@contextmanager
def as_nobody():
    """As a user who may write nothing that the tests made; root may write anything."""
    if os.geteuid() != 0:
        yield
        return
    import pwd

    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def visible():
    """A folder that everybody may read."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    yield Path(folder)
    os.chmod(folder, 0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_a_read_only_ledger_can_be_read_and_not_written(visible):
    ledger = Ledger(f"sqlite:///{visible}/budget.db")
    ledger.create("trial", 3.0, 1e-6)
    os.chmod(visible / "budget.db", 0o444)
    os.chmod(visible, 0o555)
    with as_nobody():
        assert ledger.remaining("trial").epsilon == 3.0
        with pytest.raises(LedgerNotWrittenError, match="could not be written"):
            ledger.reserve("trial", fit())
    assert ledger.entries("trial") == ()


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_a_read_only_folder_gets_no_ledger(visible):
    os.chmod(visible, 0o555)
    with as_nobody(), pytest.raises(LedgerNotWrittenError, match="no ledger can be made in"):
        Ledger(f"sqlite:///{visible}/budget.db").create("trial", 1.0, 1e-6)
    assert list(visible.iterdir()) == []


def test_a_file_system_without_links_gets_its_ledger_too(path, monkeypatch):
    def unknown(*_, **__):
        raise PermissionError

    monkeypatch.setattr(os, "link", unknown)
    made = Ledger(f"sqlite:///{path}")
    made.create("trial", 3.0, 1e-6)
    made.create("other", 3.0, 1e-6)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert made.datasets() == ("trial", "other")


def test_making_a_ledger_leaves_nothing_beside_it(ledger, path):
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# ------------------------------------------------------------------------------------------------ tampering


@pytest.fixture
def used(ledger):
    for epsilon in (0.5, 0.25, 0.75):
        with ledger.reserve("trial", fit(epsilon=epsilon)) as reservation:
            reservation.start()
    with pytest.raises(Broken), ledger.reserve("trial", fit()):
        fail()
    return ledger


def test_an_honest_ledger_verifies(used):
    found = used.verify()
    assert (found.events, found.datasets) == (13, 1)
    assert used.verify(head=found.head) == found
    assert used.export()["head"] == {"number": 13, "hash": found.head}


def rehash(path, first: int):
    """What somebody would do who may write the file and knows the format: rebuild the chain and its head."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute(f"SELECT number, dataset, entry, what, body FROM {EVENTS} ORDER BY number").fetchall()
        previous = NOTHING
        for place, (number, dataset, entry, what, body) in enumerate(rows, start=1):
            new = digest(place, dataset, entry, what, body, previous)
            if number >= first or place != number:
                connection.execute(
                    f"UPDATE {EVENTS} SET number = ?, previous = ?, hash = ? WHERE number = ?",
                    (place, previous, new, number),
                )
            previous = new
        [(ledger,)] = connection.execute(f"SELECT ledger FROM {HEAD}")
        ends = {dataset: place for place, (_, dataset, *_) in enumerate(rows, start=1) if dataset}
        _, _, *moved = Head(ledger, len(rows), previous, ends).row()
        connection.execute(f"UPDATE {HEAD} SET number = ?, hash = ?, ends = ?, seal = ?", moved)
        connection.execute(f"PRAGMA user_version = {len(rows)}")
        for guard in GUARDS:
            connection.execute(guard.replace("CREATE TRIGGER", "CREATE TRIGGER IF NOT EXISTS"))
    connection.close()


EDITS = {
    "a cost": (
        (
            f'UPDATE {EVENTS} SET body = replace(body, \'"costs":{{"gaussian":\', \'"costs":{{"gaussian":1\') WHERE number = 3',
        ),
        "event 3 was edited",
    ),
    "a label": (
        (f'UPDATE {EVENTS} SET body = replace(body, \'"label":""\', \'"label":"x"\') WHERE number = 3',),
        "event 3 was edited",
    ),
    "a dataset": ((f"UPDATE {EVENTS} SET dataset = 'other' WHERE number = 4",), "event 4 was edited"),
    "a hash": ((f"UPDATE {EVENTS} SET hash = previous WHERE number = 4",), "event 4 was edited"),
    "a missing event": ((f"DELETE FROM {EVENTS} WHERE number = 6",), "event 6 is missing"),
    "a missing end": ((f"DELETE FROM {EVENTS} WHERE number >= 12",), "its end was changed"),
    "moved events": (
        (f"UPDATE {EVENTS} SET number = -number WHERE number IN (3, 6)",),
        (f"UPDATE {EVENTS} SET number = CASE number WHEN -3 THEN 6 WHEN -6 THEN 3 ELSE number END",),
        "does not follow|was edited",
    ),
    "an added event": (
        (f"INSERT INTO {EVENTS} SELECT 14, dataset, entry, what, body, hash, hash FROM {EVENTS} WHERE number = 13",),
        "event 14 was edited",
    ),
    "a head": ((f"UPDATE {HEAD} SET hash = '{NOTHING}'",), "does not match its seal"),
}


@pytest.mark.parametrize("name", EDITS)
def test_changes_from_outside_are_detected(used, path, name):
    *statements, message = EDITS[name]
    edit(path, *[(statement,) for (statement,) in statements])
    with pytest.raises(LedgerTamperedError, match=message):
        used.verify()


def test_the_file_itself_refuses_changed_events(used, path):
    connection = sqlite3.connect(path)
    for statement in (f"UPDATE {EVENTS} SET dataset = 'x'", f"DELETE FROM {EVENTS}"):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute(statement)
    connection.close()


def test_nothing_is_built_on_a_changed_end(used, path):
    edit(path, (f"DELETE FROM {EVENTS} WHERE number = 13",))
    with pytest.raises(LedgerError, match="does not match its head"):
        used.reserve("trial", fit())
    edit(path, (f"UPDATE {EVENTS} SET body = replace(body, '\"live\":4', '\"live\":0') WHERE number = 12",))
    with pytest.raises(LedgerError, match="changed from outside"):
        used.remaining("trial")


def body_of(path, number):
    with sqlite3.connect(path) as connection:
        [(text,)] = connection.execute(f"SELECT body FROM {EVENTS} WHERE number = ?", (number,))
    connection.close()
    return json.loads(text)


def write_body(path, number, body):
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    edit(path, (f"UPDATE {EVENTS} SET body = ? WHERE number = ?", (text, number)))


def change_cost(path, by):
    """The cost of the first fit, and all totals after it, changed by a part of it; the chain is rebuilt."""
    change = int(by * body_of(path, 3)["costs"]["gaussian"])
    for number in range(3, 14):
        later = body_of(path, number)
        later["state"]["totals"]["gaussian"] += change
        if number == 3:
            later["costs"]["gaussian"] += change
        write_body(path, number, later)
    rehash(path, 3)


def test_a_cost_above_its_bill_counts_more_than_was_spent_and_verifies(used, path):
    """A release with tighter prices reads ledgers of earlier ones."""
    before = used.spent("trial").epsilon
    change_cost(path, 0.01)
    assert used.verify()
    assert used.spent("trial").epsilon > before


@pytest.mark.parametrize("part", [1e-5, 0.5])
def test_a_lowered_cost_is_detected_even_when_the_chain_was_rebuilt(used, path, part):
    change_cost(path, -part)
    with pytest.raises(LedgerTamperedError, match=r"event 3 states a gaussian cost of .* where its bill costs"):
        used.verify()


def test_a_raised_total_is_detected_even_when_the_chain_was_rebuilt(used, path):
    for number in range(3, 14):
        later = body_of(path, number)
        later["state"]["epsilon"] = 30.0
        write_body(path, number, later)
    rehash(path, 3)
    with pytest.raises(LedgerTamperedError, match="does not follow from the state before it"):
        used.verify()


def test_a_raised_capacity_is_detected_even_when_the_chain_was_rebuilt(used, path):
    for number in range(3, 14):
        later = body_of(path, number)
        later["state"]["filters"][0]["capacity"] *= 10
        write_body(path, number, later)
    rehash(path, 3)
    with pytest.raises(LedgerTamperedError, match="event 3 has other filters than the budget of its dataset"):
        used.verify()


def test_slack_that_was_made_out_of_nothing_is_detected_even_when_the_chain_was_rebuilt(used, path):
    for number in range(3, 14):
        later = body_of(path, number)
        later["state"]["slack"] += 10
        if number == 3:
            later["slack"] -= 10
        write_body(path, number, later)
    rehash(path, 3)
    with pytest.raises(LedgerTamperedError, match="event 3 exceeds the budget"):
        used.verify()


def test_a_refund_of_a_started_fit_is_detected_even_when_the_chain_was_rebuilt(used, path):
    with sqlite3.connect(path) as connection:
        connection.execute(f"DROP TRIGGER {EVENTS}_no_update")
        connection.execute(f"UPDATE {EVENTS} SET what = 'refund' WHERE number = 5")
    connection.close()
    rehash(path, 5)
    with pytest.raises(LedgerTamperedError, match="says 'refund' of an entry that is 'start'"):
        used.verify()


def test_removed_entries_in_a_rebuilt_chain_show_only_against_a_head_kept_elsewhere(used, path):
    head = used.export()["head"]["hash"]
    edit(path, (f"DELETE FROM {EVENTS} WHERE number >= 9",))
    rehash(path, 9)
    used.verify()  # honestly: a chain without a key cannot tell
    with pytest.raises(LedgerTamperedError, match="not part of the chain"):
        used.verify(head=head)


def test_an_older_copy_is_told_by_its_head(used, path, tmp_path):
    kept = used.verify().head
    shutil.copy(path, tmp_path / "old.db")
    used.reserve("trial", fit(epsilon=0.1))
    now = used.verify(head=kept).head
    old = Ledger(f"sqlite:///{tmp_path}/old.db")
    old.verify(head=kept)
    with pytest.raises(LedgerTamperedError, match="not part of the chain"):
        old.verify(head=now)


def test_an_exceeded_budget_is_detected(ledger, path, monkeypatch):
    from dpsparse.ledger.state import State

    for _ in range(7):
        ledger.reserve("trial", fit())
    monkeypatch.setattr(State, "fits", lambda self, cost: True)  # a broken program
    ledger.reserve("trial", fit())
    monkeypatch.undo()
    with pytest.raises(LedgerTamperedError, match="exceeds the budget"):
        ledger.verify()


def test_an_export_is_plain_json_and_complete(used):
    content = json.loads(json.dumps(used.export()))
    assert content["format"] == "dpsparse-ledger"
    previous = NOTHING
    for e in content["events"]:
        assert e["hash"] == digest(e["number"], e["dataset"], e["entry"], e["what"], e["body"], previous)
        previous = e["hash"]
    assert previous == content["head"]["hash"]
    assert used.address not in json.dumps(content)


def test_spent_is_stated_at_the_dataset_s_delta(ledger):
    ledger.create("coarse", 3.0, 1e-3)
    bill = fit()
    ledger.reserve("coarse", bill)
    assert ledger.spent("coarse").epsilon == pytest.approx(gaussian_epsilon(bill.mu(), 1e-3), rel=1e-6)
