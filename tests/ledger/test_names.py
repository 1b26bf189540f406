"""Names of datasets: one spelling each, and none that is mistaken for another."""

from __future__ import annotations

import pytest

from dpsparse import Ledger
from dpsparse.core import LedgerError
from truth.ledgers import bill


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.create("trial of Zu\u0308rich", 3.0, 1e-6)
    return made


@pytest.mark.parametrize(
    "name", ["trial of Zürich", "trial of Zu\u0308rich", "  trial of Zürich\t", "trial of Zürich\u00a0"]
)
def test_spellings_of_one_name_are_one_budget(ledger, name):
    assert ledger.datasets() == ("trial of Zürich",)
    with ledger.reserve(name, bill()) as reservation:
        reservation.start()
    assert reservation.dataset == "trial of Zürich"
    for read in (ledger.spent, ledger.odometer, ledger.total, ledger.remaining, ledger.describe, ledger.entries):
        assert read(name) == read("trial of Zürich")
    assert ledger.spent("trial of Zürich").epsilon > 0
    assert ledger.cite(name, reservation.entry)["dataset"] == "trial of Zürich"
    with pytest.raises(LedgerError, match="never set anew"):
        ledger.create(name, 1.0, 1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "Trial of Zürich",
        "TRIAL OF ZÜRICH",
        "trial  of Zürich",
        "trial_of_Zürich",
        "trial-of-Zürich",
        "trial\u2013of Zürich",
        "\uff54rial of Zürich",
    ],
)
def test_names_that_look_alike_are_refused(ledger, name):
    with pytest.raises(LedgerError, match=r"is too like 'trial of Zürich'.*cannot be mistaken"):
        ledger.create(name, 1.0, 1e-6)
    assert ledger.datasets() == ("trial of Zürich",)
    with pytest.raises(LedgerError, match="is not in the ledger"):
        ledger.spent(name)


def test_names_that_differ_are_taken(ledger):
    for name in ("trial of Zürich 2", "trial of Zurich", "trialofZürich", "Studie"):
        ledger.create(name, 1.0, 1e-6)


@pytest.mark.parametrize("name", ["", " \t", "a\nb", "a\u200bb", "a\u00a0b", "x" * 201, 7, None, "sqlite:///budget.db"])
def test_bad_names_are_refused_everywhere(ledger, name):
    for use in (
        ledger.spent,
        ledger.entries,
        lambda n: ledger.create(n, 1.0, 1e-6),
        lambda n: ledger.reserve(n, bill()),
    ):
        with pytest.raises(LedgerError, match="1 to 200 printable characters"):
            use(name)
