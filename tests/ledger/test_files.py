"""What may stand at the address of a file, and what the environment names."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dpsparse import Ledger, SparseRegressor
from dpsparse.core import LedgerError
from dpsparse.ledger import default_address, reserve
from truth.ledgers import bill

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files of POSIX")

ODD = {
    "fifo": os.mkfifo,
    "device": lambda path: os.symlink("/dev/zero", path),
    "folder": os.mkdir,
    "loop": lambda path: os.symlink(path, path),
    "dangling": lambda path: os.symlink(f"{path}.none", path),
    "link to a fifo": lambda path: (os.mkfifo(f"{path}.fifo"), os.symlink(f"{path}.fifo", path)),
}
#: One process tries everything, and must end: a fifo or /dev/zero that is opened would keep it for ever.
CODE = """
import sys
from dpsparse import Ledger
from truth.ledgers import bill
ledger = Ledger(sys.argv[1])
for use in (lambda: ledger.create("t", 1.0, 1e-6), lambda: ledger.spent("t"), lambda: ledger.reserve("t", bill()), ledger.verify, ledger.export):
    try:
        use()
    except ValueError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("kind", ODD)
def test_only_ordinary_files_are_opened(tmp_path, kind):
    path = tmp_path / "budget.db"
    ODD[kind](path)
    tests = os.path.dirname(os.path.dirname(__file__))
    there = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", CODE, f"sqlite:///{path}"],
        env={**os.environ, "PYTHONPATH": there},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    expected = {"loop": "symbolic links", "dangling": "leads nowhere"}.get(kind, "not an ordinary file")
    assert all(line.startswith("LedgerError") and expected in line for line in lines), lines


def test_a_side_file_that_is_no_file_is_refused(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", 1.0, 1e-6)
    os.mkfifo(tmp_path / "budget.db-journal")
    with pytest.raises(LedgerError, match=r"budget\.db-journal is not an ordinary file"):
        ledger.spent("trial")


@pytest.mark.parametrize("name", ["x" * 300, "/".join(["x" * 200] * 30)])
def test_a_path_that_is_too_long_is_an_error_of_ours(tmp_path, name):
    ledger = Ledger(f"sqlite:///{tmp_path}/{name}.db")
    for use in (lambda: ledger.create("trial", 1.0, 1e-6), lambda: ledger.spent("trial")):
        with pytest.raises(LedgerError, match="file name too long") as failure:
            use()
        assert len(str(failure.value)) < 200


def test_a_character_that_no_file_has_is_an_error_of_ours():
    with pytest.raises(LedgerError, match="no file name can hold"):
        Ledger("sqlite:///a\0b")


def test_nothing_sets_the_mask_of_the_process(tmp_path, monkeypatch):
    """Another thread would make its files with that mask."""
    before = os.umask(0o027)
    os.umask(0o027)
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the mask of the whole process was set"))
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", 1.0, 1e-6)
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    model = SparseRegressor(feature_bound=1.0, target_bound=1.0, recipe="dp_ight", epsilon=0.5, delta=1e-6)
    model.fit(X, X[:, 0]).save(tmp_path / "model.json")
    monkeypatch.undo()
    os.umask(before)
    assert (tmp_path / "model.json").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "budget.db").stat().st_mode & 0o777 == 0o600


# ------------------------------------------------------------------------------------------------ the environment


def test_the_environment_names_a_ledger_where_none_is_given(tmp_path, monkeypatch):
    address = f"sqlite:///{tmp_path}/budget.db"
    monkeypatch.setenv("DPSPARSE_LEDGER", address)
    assert default_address() == address
    assert default_address("sqlite:///other.db") == "sqlite:///other.db"
    ledger = Ledger()
    ledger.create("trial", 1.0, 1e-6)
    with reserve(None, "trial", bill(0.1), label="x", seeded=False) as payment:
        assert payment.record is not None
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    model = SparseRegressor(
        feature_bound=1.0, target_bound=1.0, recipe="dp_ight", epsilon=0.5, delta=1e-6, dataset="trial"
    )
    assert model.fit(X, X[:, 0]).statement_.ledger["ledger"] == ledger.identity()
    assert len(Ledger(address).entries("trial")) == 2
    free = SparseRegressor(feature_bound=1.0, target_bound=1.0, recipe="ight", dataset="trial")
    with pytest.raises(LedgerError, match="no privacy and so no price"):
        free.fit(X, X[:, 0])


def test_the_environment_charges_nothing_where_no_dataset_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DPSPARSE_LEDGER", f"sqlite:///{tmp_path}/budget.db")
    with reserve(None, None, bill(0.1), label="x", seeded=False) as payment:
        assert payment.record is None


@pytest.mark.parametrize("value", [None, ""])
def test_without_an_address_there_is_no_ledger(monkeypatch, value):
    monkeypatch.delenv("DPSPARSE_LEDGER", raising=False)
    if value is not None:
        monkeypatch.setenv("DPSPARSE_LEDGER", value)
    with pytest.raises(LedgerError, match=r"no ledger was named.*DPSPARSE_LEDGER"):
        Ledger()
    with pytest.raises(LedgerError, match="belong together"), reserve(None, "trial", bill(), label="x", seeded=False):
        pass
