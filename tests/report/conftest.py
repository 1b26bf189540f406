import pytest

from dpsparse import Ledger


@pytest.fixture
def book(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", epsilon=5.0, delta=1e-5)
    return ledger
