"""Processes that are killed in the middle of a round, by the signal that cannot be caught; another process goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpsparse import Ledger
from dpsparse.federated import Grid, Server
from truth.sites import TRUTH, estimator, join

TESTS = Path(__file__).parents[1]

KILLED = """
import os, signal, sys
from pathlib import Path
from dpsparse import Ledger
from dpsparse.federated import Grid
from dpsparse.sites.rounds import FileStore
from dpsparse.sites.federated.saved import Saved
from truth.sites import join, serve

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

who, folder = sys.argv[1], Path(sys.argv[2])
ordinary_keep, ordinary_write = FileStore.keep, Saved.write

def keep(self, number, report):
    if who == "site" and number == 1 and self.path.parent.name == "b":
        kill()
    ordinary_keep(self, number, report)

def write(self, path):
    ordinary_write(self, path)
    if who == "server" and self.round == 2:
        kill()

FileStore.keep, Saved.write = keep, write
ledger = Ledger(f"sqlite:///{folder}/budget.db")
server = serve(("a", "b"), state=folder / "server.json")
sites = [join(server, name, ledger=ledger, dataset=name, memory=folder / name) for name in "ab"]
Grid(server, sites).run()
"""


@pytest.mark.parametrize(("who", "answered"), [("site", (2, 1, 2)), ("server", (2, 2, 2))])
def test_what_was_killed_goes_on_pays_once_and_answers_once(who, answered, tmp_path):
    """The site dies when its round is noted and its report is not kept; the server when the round is noted as closed and its step not made."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    for name in "ab":
        ledger.create(name, epsilon=5.0, delta=1e-4)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, who, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr[-2000:]
    server = Server.resume(tmp_path / "server.json", estimator(), sites=("a", "b"), n_rows=200, n_features=TRUTH.size)
    assert server.round == (1 if who == "site" else 2)
    sites = [join(server, name, ledger=ledger, dataset=name, memory=tmp_path / name) for name in "ab"]
    grid = Grid(server, sites)
    model = grid.run()
    assert server.answered == answered
    assert [name for name, *_ in grid.refused] == (["b"] if who == "site" else [])
    assert [len(ledger.entries(name)) for name in "ab"] == [1, 1]
    assert np.all(np.isfinite(model.coef_))
    assert len(model.statement_.notes) == 2
