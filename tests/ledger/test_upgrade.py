"""A ledger is moved into a new one: nothing that was spent is lost, and at no moment do two of them take entries."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

from dpsparse import Ledger
from dpsparse.cli import main
from dpsparse.core import LedgerError, LedgerTamperedError
from dpsparse.core.codec import canonical_json
from dpsparse.ledger import upgrade as room
from dpsparse.ledger.chain import EVENTS, HEAD, NOTHING, Chain, digest
from dpsparse.ledger.sqlite import APPLICATION
from dpsparse.ledger.upgrade import upgrade
from truth.ledgers import bill

#: Tables of the first format: an index, and a head without identity, ends and seal.
FIRST = (
    f"CREATE TABLE {EVENTS} (number BIGINT PRIMARY KEY, dataset TEXT NOT NULL, entry BIGINT NOT NULL, what TEXT NOT NULL, "
    "body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL)",
    f"CREATE INDEX {EVENTS}_of ON {EVENTS} (dataset, number)",
    f"CREATE TABLE {HEAD} (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, number BIGINT NOT NULL, "
    "hash TEXT NOT NULL)",
)


@pytest.fixture
def old(tmp_path):
    """Two datasets with done and refunded entries."""
    made = Ledger(f"sqlite:///{tmp_path}/old.db")
    made.create("trial", 2.0, 1e-5)
    made.create("other", 1.0, 1e-5, kind="renyi", unit="patient")
    for run in range(3):
        reservation = made.reserve("trial", bill(0.2), run_id=f"run {run}")
        if run == 1:
            reservation.refund()
        else:
            reservation.start()
            reservation.confirm()
    return made


@pytest.fixture
def new(tmp_path):
    return Ledger(f"sqlite:///{tmp_path}/new.db")


def first_format(ledger, path):
    """The same entries as releases before 0.1.0 wrote them."""
    last = NOTHING
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute(f"PRAGMA application_id = {APPLICATION}")
        for statement in FIRST:
            file.execute(statement)
        events = [e for e in ledger.export()["events"] if e["dataset"] != "other"]
        places = {event["number"]: place for place, event in enumerate(events, start=1)} | {0: 0}
        for event in events:
            body = json.loads(event["body"])
            body = {name: value for name, value in body.items() if name not in ("mark", "ledger")}
            body.get("state", {}).pop("unit", None)
            row = places[event["number"]], event["dataset"], places[event["entry"]], event["what"], canonical_json(body)
            before, last = last, digest(*row, last)
            file.execute(f"INSERT INTO {EVENTS} VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, before, last))
        file.execute(f"INSERT INTO {HEAD} VALUES (1, 1, ?, ?)", (len(events), last))
    return Ledger(f"sqlite:///{path}"), last


def told(ledger, name="trial"):
    entries = [(e.label, e.status, e.run_id, e.content) for e in ledger.entries(name)]
    return ledger.spent(name), ledger.odometer(name), ledger.remaining(name), ledger.total(name), entries


def closed(ledger):
    for use in (ledger.verify, lambda: ledger.spent("trial"), lambda: ledger.reserve("trial", bill(0.1))):
        with pytest.raises(LedgerError, match="moved to another place"):
            use()
    return True


def test_everything_that_was_spent_stays_spent(old, new):
    before, renyi, cited, head = told(old), told(old, "other"), old.cite("trial", 4), old.verify().head
    found = upgrade(old, new)
    assert (told(new), told(new, "other")) == (before, renyi)
    assert closed(old)
    assert new.verify(head=head) == found, "a head that was kept elsewhere"
    assert new.verify_citation(cited).number == 4, "a model that cites the old ledger"
    with pytest.raises(LedgerTamperedError, match="does not match"):
        new.verify_citation({**cited, "entry_hash": "0" * 64})
    first = json.loads(new.export()["events"][0]["body"])
    assert first["moved"] == {"version": 2, "ledger": cited["ledger"], "number": 11, "head": head}
    assert new.describe("other").unit == "patient"
    assert new.identity() != cited["ledger"]
    new.reserve("trial", bill(0.1)).confirm()
    new.verify()


def test_a_ledger_of_the_first_format(old, new, tmp_path):
    former, head = first_format(old, tmp_path / "former.db")
    with pytest.raises(LedgerError, match=r"an earlier release.*dpsparse ledger upgrade"):
        former.spent("trial")
    upgrade(former, new)
    assert told(new) == told(old)
    assert new.verify(head=head)
    assert json.loads(new.export()["events"][0]["body"])["moved"]["head"] == head
    assert closed(former)


@pytest.mark.parametrize("moment", ["found", "close", "_fill", "note_moved"])
def test_an_upgrade_that_is_killed_goes_on_and_no_two_ledgers_take_entries(old, new, tmp_path, moment, monkeypatch):
    before = told(old)

    def stop(*_, **__):
        raise KeyboardInterrupt

    owner = {"found": type(new._store()), "_fill": room}.get(moment, Chain)
    with monkeypatch.context() as patched:
        patched.setattr(owner, moment, stop)
        with pytest.raises(KeyboardInterrupt):
            upgrade(old, new)
    open_ones = 0
    for ledger in (old, new):
        try:
            open_ones += ledger.remaining("trial").epsilon > 0
        except LedgerError:
            continue
    assert open_ones <= 1
    if moment not in ("found", "close"):
        with pytest.raises(LedgerError, match="was moved to"):
            upgrade(old, Ledger(f"sqlite:///{tmp_path}/third.db"))
        assert not (tmp_path / "third.db").exists()
    upgrade(old, new)
    assert told(new) == before
    assert closed(old)


def test_a_new_ledger_that_is_lost_is_not_made_again_of_the_old_one(old, new):
    upgrade(old, new)
    new.reserve("trial", bill(0.2)).confirm()
    upgrade(old, new)
    assert len(new.entries("trial")) == 4
    new.file.unlink()
    with pytest.raises(LedgerError, match="there is no ledger"):
        upgrade(old, new)
    assert not new.file.exists()
    new.create("elsewhere", 1.0, 1e-5)
    with pytest.raises(LedgerError, match="holds something already"):
        upgrade(old, new)


def test_what_is_refused_changes_nothing(old, new, tmp_path):
    with pytest.raises(LedgerError, match="of the same one"):
        upgrade(old, Ledger(f"sqlite:///{tmp_path}/../{tmp_path.name}/old.db"))
    new.create("trial", 5.0, 1e-5)
    with pytest.raises(LedgerError, match="holds something already"):
        upgrade(old, new)
    new.file.unlink()
    reservation = old.reserve("trial", bill(0.2), run_id="goes on")
    reservation.start()
    with pytest.raises(LedgerError, match="entries 12 are reserved or started"):
        upgrade(old, new)
    assert not new.file.exists()
    old.verify()
    upgrade(old, new, unfinished=True)
    with pytest.raises(LedgerError, match="moved to another place"):
        reservation.confirm()
    assert [e.status for e in new.entries("trial")] == ["done", "refunded", "done", "started"]


def test_a_ledger_that_was_edited_is_not_moved(old, new, tmp_path):
    former, _ = first_format(old, tmp_path / "former.db")
    with closing(sqlite3.connect(former.file, isolation_level=None)) as file:
        file.execute(f"UPDATE {EVENTS} SET body = replace(body, 'run 0', 'run 9') WHERE what = 'reserve'")
    with pytest.raises(LedgerTamperedError, match="was edited"):
        upgrade(former, new)
    with closing(sqlite3.connect(former.file)) as file:
        assert file.execute(f"SELECT version FROM {HEAD}").fetchall() == [(1,)]


def test_the_command(old, new):
    before = told(old)
    ran = CliRunner().invoke(main, ["ledger", "upgrade", old.address, new.address])
    assert (ran.exit_code, told(new)) == (0, before)
    assert ran.output == f"Moved: 11 events on 2 datasets. Head: {new.verify().head}\n"
    again = CliRunner().invoke(main, ["ledger", "upgrade", old.address, new.address, "--json"])
    assert json.loads(again.output) == {"events": 11, "datasets": 2, "head": new.verify().head}
