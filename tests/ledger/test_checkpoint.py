"""Counts that are kept between processes: new events alone are read, and forged or hidden ones are refused all the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from dpsparse import Ledger
from dpsparse.core import LedgerTamperedError, RunRepeatedError
from dpsparse.core.codec import canonical_json
from dpsparse.core.curves import ORDERS, renyi_epsilon
from dpsparse.ledger import checkpoint, entries, state
from dpsparse.ledger.chain import EVENTS, Chain
from truth.ledgers import bill

ENTRIES = 12


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """Done, reserved, refunded entries in turn; a checkpoint every few events."""
    monkeypatch.setenv(checkpoint.VARIABLE, str(tmp_path / "counts"))
    monkeypatch.setattr(state, "EVERY", 7)
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.create("trial", 3.0, 1e-5, kind="gaussian")
    for k in range(ENTRIES):
        reservation = made.reserve("trial", bill(0.1), run_id=f"run {k}")
        if k % 3 == 0:
            reservation.start()
            reservation.confirm()
        if k % 3 == 2:
            reservation.refund()
    return made


@pytest.fixture
def read(monkeypatch):
    """Numbers of events that are read as a range, which is how everything is counted anew."""
    state._REPLAYS.clear()
    seen, events = [], Chain.events

    def spy(self, first=1):
        for event in events(self, first):
            seen.append(event.number)
            yield event

    monkeypatch.setattr(Chain, "events", spy)
    return seen


def edited(tmp_path, statement, *given):
    with closing(sqlite3.connect(tmp_path / "budget.db", isolation_level=None)) as file:
        for [name] in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        file.execute(statement, given)


def test_a_new_process_reads_only_new_events_and_counts_the_same(ledger, read, monkeypatch):
    counted = ledger.describe("trial")
    assert 0 < len(read) < 7
    monkeypatch.setenv(checkpoint.VARIABLE, "off")
    state._REPLAYS.clear()
    del read[:]
    assert ledger.describe("trial") == counted
    assert read[0] == 1
    ledger.verify()


def test_runs_are_found_behind_a_checkpoint(ledger, read):
    assert ledger.reserve("trial", bill(0.1), run_id="run 1").entry == ledger.find_run("trial", "run 1").number
    with pytest.raises(RunRepeatedError, match="is done"):
        ledger.reserve("trial", bill(0.1), run_id="run 0")
    assert ledger.find_run("trial", "run 2") is None
    assert ledger.reserve("trial", bill(0.1), run_id="run 2").entry > 20
    assert len(read) < 14


def amounts(ledger):
    """What is told of a dataset, and how many events are read in ranges for it."""
    return ledger.spent("trial"), ledger.odometer("trial"), ledger.fits_left("trial")


def test_amounts_are_those_of_all_entries_and_read_new_events_only(ledger, read, monkeypatch):
    """Different bills, refunds before and behind the checkpoint, and entries that were added since."""
    ledger.reserve("trial", bill(0.2)).confirm()
    ledger.reserve("trial", bill(0.3)).refund()
    ledger.reserve("trial", bill(0.1), run_id="run 1").refund()
    state._REPLAYS.clear()
    del read[:]
    found = amounts(ledger)
    assert 0 < len(read) < 14
    monkeypatch.setenv(checkpoint.VARIABLE, "off")
    state._REPLAYS.clear()
    assert amounts(ledger) == found
    live = [entry for entry in ledger.entries("trial") if entry.counts]
    assert len(live) == ENTRIES - ENTRIES // 3
    alone = Ledger(f"sqlite:///{ledger.file.with_name('alone.db')}")
    alone.create("trial", 3.0, 1e-5, kind="gaussian")
    for entry in live:
        alone.reserve("trial", entry.bill).confirm()
    assert amounts(alone)[:2] == found[:2]
    expected = renyi_epsilon(np.sum([entry.bill.renyi(ORDERS) for entry in live], axis=0), 1e-5)
    held = entries.Bills(tuple((canonical_json(entry.content), 1) for entry in live)).renyi()
    assert renyi_epsilon(held, 1e-5) == pytest.approx(expected, rel=1e-12)
    assert ledger.fits_left("trial") == ledger.describe("trial").further(bill(0.2))


def test_an_entry_behind_a_checkpoint_is_started_confirmed_and_not_refunded_twice(ledger, read):
    entry = ledger.reserve("trial", bill(0.1), run_id="run 1")
    entry.start()
    state._REPLAYS.clear()
    entry.confirm()
    assert ledger.find_run("trial", "run 1").status == "done"
    ledger.verify()


def test_two_processes_go_on_from_one_checkpoint(ledger, read):
    """The one that is behind reads rows as they were at its own event."""
    ledger.describe("trial")
    behind = state._REPLAYS[ledger.identity()].copy()
    for k in range(12):
        ledger.reserve("trial", bill(0.05), run_id=f"later {k}").start()
    ahead = ledger.describe("trial")
    state._REPLAYS[ledger.identity()] = behind
    assert ledger.describe("trial") == ahead


def test_an_entry_that_was_edited_after_it_was_counted_is_refused_when_it_is_used(ledger, read, tmp_path):
    entry = ledger.find_run("trial", "run 1").number
    state._REPLAYS.clear()
    edited(tmp_path, f"UPDATE {EVENTS} SET body = replace(body, 'trial', 'other') || ' ' WHERE number = ?", entry)
    with pytest.raises(LedgerTamperedError, match="changed after it was counted"):
        ledger.reserve("trial", bill(0.1), run_id="run 1")


def test_a_run_that_is_hidden_is_still_known(ledger, read, tmp_path):
    entry = ledger.find_run("trial", "run 1").number
    state._REPLAYS.clear()
    edited(tmp_path, f"DELETE FROM {EVENTS} WHERE number = ?", entry)
    with pytest.raises(LedgerTamperedError, match="is missing"):
        ledger.reserve("trial", bill(0.1), run_id="run 1")


def test_a_file_that_others_may_write_is_passed_over(ledger, read, tmp_path):
    [file] = (tmp_path / "counts").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    ledger.describe("trial")
    assert read[0] == 1


def test_a_checkpoint_of_events_that_are_not_in_the_ledger_is_passed_over(ledger, read, tmp_path):
    [file] = (tmp_path / "counts").iterdir()
    with closing(sqlite3.connect(file, isolation_level=None)) as kept:
        kept.execute('UPDATE top SET content = replace(content, \'"hash": "\', \'"hash": "0\')')
    ledger.describe("trial")
    assert read[0] == 1
    state._REPLAYS.clear()
    del read[:]
    ledger.describe("trial")
    assert len(read) < 7, "it was written anew"


def test_a_damaged_file_is_passed_over(ledger, read, tmp_path):
    [file] = (tmp_path / "counts").iterdir()
    file.write_bytes(b"not a database" * 100)
    ledger.describe("trial")
    assert read[0] == 1
    state._REPLAYS.clear()
    del read[:]
    ledger.describe("trial")
    assert len(read) < 7, "it was written anew"
