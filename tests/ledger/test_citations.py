"""Citations: a model file names the entry that paid for it, and the ledger answers for it."""

from __future__ import annotations

import shutil

import pytest

from dpsparse import Ledger
from dpsparse.core import LedgerError, LedgerTamperedError
from truth.ledgers import bill, used_ledger


@pytest.fixture
def ledger(tmp_path):
    return used_ledger(tmp_path / "budget.db")


def test_an_entry_is_cited_and_found(ledger):
    cited = ledger.cite("trial", 3)
    assert set(cited) == {"ledger", "dataset", "entry", "entry_hash", "head"}
    assert (cited["ledger"], cited["head"]) == (ledger.identity(), ledger.verify().head)
    assert ledger.verify_citation(cited).number == 3
    ledger.reserve("trial", bill(0.1))
    assert ledger.verify_citation(cited).status == "done"


def test_a_reservation_cites_itself_without_reading(ledger, tmp_path):
    with ledger.reserve("trial", bill(0.1)) as reservation:
        reservation.start()
    (tmp_path / "budget.db").rename(tmp_path / "away.db")
    cited = reservation.citation()
    (tmp_path / "away.db").rename(tmp_path / "budget.db")
    assert cited == ledger.cite("trial", reservation.entry)


def test_every_ledger_has_an_identity_and_a_copy_keeps_it(ledger, tmp_path):
    other = used_ledger(tmp_path / "other.db")
    assert ledger.identity() != other.identity()
    assert len(ledger.identity()) == 32
    with pytest.raises(LedgerTamperedError, match="another ledger"):
        other.verify_citation(ledger.cite("trial", 3))
    shutil.copy(tmp_path / "budget.db", tmp_path / "copy.db")
    Ledger(f"sqlite:///{tmp_path}/copy.db").verify_citation(ledger.cite("trial", 3))


def test_an_older_copy_does_not_know_the_head(ledger, tmp_path):
    shutil.copy(tmp_path / "budget.db", tmp_path / "old.db")
    entry = ledger.reserve("trial", bill(0.1)).entry
    for cited in (ledger.cite("trial", entry), ledger.cite("trial", 3)):
        with pytest.raises(LedgerTamperedError, match="not part of the chain"):
            Ledger(f"sqlite:///{tmp_path}/old.db").verify_citation(cited)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry": 6}, "does not match this ledger"),
        ({"entry_hash": "0" * 64}, "does not match this ledger"),
        ({"head": "0" * 64}, "does not match this ledger"),
        ({"dataset": "other"}, "does not belong"),
        ({"ledger": "0" * 32}, "another ledger"),
    ],
)
def test_a_changed_citation_is_refused(ledger, change, message):
    ledger.create("other", 1.0, 1e-6)
    with pytest.raises(LedgerTamperedError, match=message):
        ledger.verify_citation({**ledger.cite("trial", 3), **change})


def test_a_head_from_before_the_entry_is_refused(ledger):
    early = ledger.cite("trial", 3)["head"]
    entry = ledger.reserve("trial", bill(0.1)).entry
    with pytest.raises(LedgerTamperedError, match="not part of the chain"):
        ledger.verify_citation({**ledger.cite("trial", entry), "head": early})


def test_the_event_of_another_kind_is_no_entry(ledger):
    events = ledger.export()["events"]
    start = next(e for e in events if e["what"] == "start")
    with pytest.raises(LedgerTamperedError, match="does not belong"):
        ledger.verify_citation({**ledger.cite("trial", 3), "entry": start["number"], "entry_hash": start["hash"]})


def test_a_refunded_entry_paid_for_nothing(ledger):
    reservation = ledger.reserve("trial", bill(0.1))
    reservation.refund()
    with pytest.raises(LedgerTamperedError, match="was refunded"):
        ledger.verify_citation(reservation.citation())


@pytest.mark.parametrize("cited", [{}, None, [], {"ledger": 1, "dataset": "trial", "entry": "3"}, "x"])
def test_what_is_no_citation_is_refused(ledger, cited):
    with pytest.raises(LedgerError, match="must hold ledger, dataset, entry, entry_hash, head"):
        ledger.verify_citation(cited)


def test_an_unknown_entry_cannot_be_cited(ledger):
    for entry in (1, 2, 4, 99, None):
        with pytest.raises(LedgerError, match="has no entry"):
            ledger.cite("trial", entry)
