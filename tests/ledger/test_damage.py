"""Damage is found when a ledger is used: no damaged file gives budget back."""

from __future__ import annotations

import itertools
import random
import shutil
import sqlite3
from dataclasses import replace

import pytest

from dpsparse import Ledger
from dpsparse.core import BudgetExceededError, LedgerError, LedgerTamperedError
from dpsparse.ledger.chain import EVENTS, HEAD, Chain
from truth.ledgers import bill, units_at_use, used_ledger

PAGE = 4096


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "budget.db"
    used_ledger(path)
    return path


@pytest.fixture
def ledger(path, original):
    """A ledger of ten events, in a copy that a test may damage."""
    shutil.copy(original, path)
    return Ledger(f"sqlite:///{path}")


def is_counted_in_full(content: bytes, path, taken: int, one: int) -> bool:
    """Whether a file with this content is refused, or counts everything that was taken; `one` is the cost of one more fit."""
    path.write_bytes(content)
    (path.parent / f"{path.name}-journal").unlink(missing_ok=True)
    read, after = units_at_use(Ledger(f"sqlite:///{path}"))
    return (read is None or read >= taken) and (after is None or after >= taken + one)


def taken_and_one(ledger: Ledger, fits: int = 6) -> tuple[int, int]:
    taken = ledger.describe("trial").totals["gaussian"]
    return taken, taken // fits


def flips(raw: bytes, chance: random.Random):
    """Copies with one changed bit: anywhere."""
    while True:
        copy = bytearray(raw)
        copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
        yield bytes(copy)


def targeted_flips(raw: bytes, chance: random.Random):
    """Copies with one changed bit where names, numbers and hashes stand, and in the heads of pages."""
    places = [at + k for at in range(len(raw) - 5) if raw[at : at + 5] == b"trial" for k in range(-12, 6)]
    places += [page + k for page in range(0, len(raw), PAGE) for k in range(0, 16)]
    while True:
        copy = bytearray(raw)
        copy[chance.choice(places)] ^= 1 << chance.randrange(8)
        yield bytes(copy)


def zeroed(raw: bytes, chance: random.Random):
    """Copies of which a sector is empty."""
    while True:
        at = chance.randrange(len(raw) // 512) * 512
        yield raw[:at] + bytes(512) + raw[at + 512 :]


def cut(raw: bytes, chance: random.Random):
    """Copies that are too short."""
    while True:
        yield raw[: chance.randrange(1, len(raw))]


def sweep(path, tmp_path, times: int) -> None:
    ledger = used_ledger(path)
    taken, one = taken_and_one(ledger)
    raw = path.read_bytes()
    chance = random.Random(11)
    assert is_counted_in_full(raw, tmp_path / "copy.db", taken, one)
    for kind in (flips, targeted_flips, zeroed, cut):
        for content in itertools.islice(kind(raw, chance), times):
            assert is_counted_in_full(content, tmp_path / "copy.db", taken, one), kind.__name__


def test_a_damaged_file_is_refused_or_counts_everything(path, tmp_path):
    sweep(path, tmp_path, 15)


@pytest.mark.slow
def test_many_damaged_files_are_refused_or_count_everything(path, tmp_path):
    sweep(path, tmp_path, 250)


def test_pages_of_two_moments_are_refused_or_count_everything(path, tmp_path):
    ledger = used_ledger(path, fits=2)
    grown = 0
    for fits in range(3, 8):
        old = path.read_bytes()
        ledger.reserve("trial", bill(0.2))
        new = path.read_bytes()
        grown += len(new) > len(old)
        taken, one = taken_and_one(ledger, fits)
        changed = [p for p in range(0, len(new), PAGE) if old[p : p + PAGE] != new[p : p + PAGE]]
        assert len(changed) >= 3
        for mixture in itertools.product((False, True), repeat=len(changed)):
            if not any(mixture):
                continue  # an older copy as a whole: that shows against a head which was kept elsewhere
            content = bytearray(old)
            for take, page in zip(mixture, changed, strict=True):
                if take:
                    content = content.ljust(page + PAGE, b"\0")
                    content[page : page + PAGE] = new[page : page + PAGE]
            assert is_counted_in_full(bytes(content), tmp_path / "copy.db", taken, one), (fits, mixture)
    assert grown


def test_no_single_bit_by_a_dataset_s_name_gives_budget_back(path):
    ledger = used_ledger(path, fits=0)
    fits = 7
    for _ in range(fits):
        ledger.reserve("trial", bill(0.4))
    with pytest.raises(BudgetExceededError):
        ledger.reserve("trial", bill(0.4))
    raw = path.read_bytes()
    for at in (at for at in range(len(raw) - 5) if raw[at : at + 5] == b"trial"):
        content = bytearray(raw)
        content[at] ^= 1
        path.write_bytes(content)
        with pytest.raises((BudgetExceededError, LedgerError)):
            ledger.reserve("trial", bill(0.4))


def edit(path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for what in ("update", "delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {EVENTS}_no_{what}")
        for statement in statements:
            connection.execute(statement)
    connection.close()


USES = {
    "describe": lambda ledger: ledger.describe("trial"),
    "remaining": lambda ledger: ledger.remaining("trial"),
    "total": lambda ledger: ledger.total("trial"),
    "spent": lambda ledger: ledger.spent("trial"),
    "odometer": lambda ledger: ledger.odometer("trial"),
    "entries": lambda ledger: ledger.entries("trial"),
    "datasets": lambda ledger: ledger.datasets(),
    "export": lambda ledger: ledger.export(),
    "cite": lambda ledger: ledger.cite("trial", 3),
    "create": lambda ledger: ledger.create("other", 1.0, 1e-6),
    "reserve": lambda ledger: ledger.reserve("trial", bill(0.1)),
    "verify": lambda ledger: ledger.verify(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "statement",
    [
        f"DELETE FROM {EVENTS} WHERE number = (SELECT max(number) FROM {EVENTS})",
        f"UPDATE {HEAD} SET ends = replace(ends, '10', '9')",
        f"UPDATE {HEAD} SET ends = '{{}}'",
        f"UPDATE {HEAD} SET number = number - 1",
        f"UPDATE {HEAD} SET ledger = 'x'",
        "PRAGMA user_version = 9",
    ],
)
def test_every_use_compares_the_head(ledger, path, use, statement):
    assert ledger.export()["head"]["number"] == 10
    edit(path, statement)
    with pytest.raises(LedgerTamperedError):
        USES[use](ledger)


@pytest.mark.parametrize("use", ["entries", "datasets", "export", "cite"])
def test_a_missing_event_in_the_middle_is_found_by_all_who_read_it(ledger, path, use):
    edit(path, f"DELETE FROM {EVENTS} WHERE number = 6")
    with pytest.raises(LedgerTamperedError):
        USES[use](ledger)


@pytest.mark.parametrize("use", ["entries", "datasets", "export", "cite"])
def test_an_edited_event_in_the_middle_is_found_by_all_who_read_it(ledger, path, use):
    edit(path, f"UPDATE {EVENTS} SET body = replace(body, 'fit 1', 'fit 9') WHERE number = 6")
    with pytest.raises(LedgerTamperedError, match="event 6"):
        USES[use](ledger)


def test_a_scan_that_ends_too_early_is_found(ledger, monkeypatch):
    events = Chain.events
    monkeypatch.setattr(Chain, "events", lambda self, first=1: list(events(self, first))[:-1])
    for use in ("entries", "export"):
        with pytest.raises(LedgerTamperedError, match="holds 9 events and its head names 10"):
            USES[use](ledger)


def test_a_start_that_damage_hides_is_not_refunded(ledger, path):
    reservation = ledger.reserve("trial", bill(0.1))
    reservation.start()
    edit(path, f"UPDATE {EVENTS} SET entry = 3 WHERE number = 12")
    reservation._started = False
    with pytest.raises(LedgerTamperedError):
        reservation.refund()


def test_entries_that_do_not_add_up_are_refused(ledger, monkeypatch):
    from dpsparse.ledger.state import State

    ledger.describe("trial")
    monkeypatch.setattr(State, "taken", lambda self, cost: self)  # a broken program
    ledger.reserve("trial", bill(0.1))
    monkeypatch.undo()
    for read in (ledger.spent, ledger.odometer, ledger.remaining, ledger.describe, ledger.entries):
        with pytest.raises(LedgerTamperedError, match="says that other costs were taken than its entries have"):
            read("trial")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ledger": "0" * 32}, "another identity"),
        ({"ends": {"trial": 9}}, "other last events"),
        ({"ends": {}}, "other last events"),
    ],
)
def test_a_head_that_was_sealed_anew_is_found_by_verify(ledger, path, change, message):
    head = replace(ledger._store().read(lambda chain: chain.head()), **change)
    _, identity, _, _, ends, seal = head.row()
    edit(path, f"UPDATE {HEAD} SET ledger = '{identity}', ends = '{ends}', seal = '{seal}'")
    with pytest.raises(LedgerTamperedError, match=message):
        ledger.verify()


def test_a_dropped_guard_is_found_by_verify(ledger, path):
    edit(path)
    with pytest.raises(LedgerTamperedError, match="guards of its events"):
        ledger.verify()
