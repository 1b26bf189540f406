"""Many processes on one ledger, killed at random: never over the total, nothing acknowledged is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpsparse import Ledger
from dpsparse.core.curves import gaussian_epsilon
from truth import ledger_herd, postgres

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are forked and killed")

DELTA = 1e-6


def run_herd(address: str, *, workers: int, attempts: int, kills: int, room: int, outages: int = 0) -> None:
    """Let workers reserve on a dataset with room for `room` reservations, then check what is there."""
    ledger = Ledger(address)
    total = gaussian_epsilon(ledger_herd.MU * (room + 0.5) ** 0.5, DELTA)
    ledger.create("trial", total, DELTA, kind="gaussian")
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "truth.ledger_herd",
            address,
            "trial",
            *map(str, (workers, attempts, kills, 7, outages)),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["errors"] == []
    assert found["tried"] == workers * attempts
    killed = len(found["killed"])
    assert 1 <= killed <= kills  # fewer where the workers are done before
    assert found["outages"] == outages
    listed = ledger.entries("trial")
    entries = {e.number for e in listed}
    acknowledged = set(found["entries"])
    assert len(acknowledged) == len(found["entries"])  # no number was given twice
    assert acknowledged <= entries  # nothing is lost
    assert len(entries - acknowledged) <= killed  # killed between the commit and the acknowledgement
    left = [e.label for e in listed if e.status != "done"]
    assert set(left) <= set(found["killed"])  # whoever lived has confirmed, also through an outage
    assert len(left) == len(set(left))  # and a kill leaves one entry at most
    assert len(entries) == room  # never over the total, and all of it used
    assert found["refused"] > 0
    state = ledger.describe("trial")
    assert state.totals["gaussian"] <= state.filters[0].capacity
    ledger.verify()


def test_a_few_writers_that_are_killed_never_overspend(tmp_path):
    run_herd(f"sqlite:///{tmp_path}/budget.db", workers=4, attempts=15, kills=8, room=30)


@pytest.mark.slow
def test_eight_writers_that_are_killed_never_overspend(tmp_path):
    run_herd(f"sqlite:///{tmp_path}/budget.db", workers=8, attempts=200, kills=60, room=900)


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with postgres.running() as address:
        yield address


def test_a_few_writers_on_postgresql_never_overspend(server):
    with postgres.fresh_database(server) as address:
        run_herd(address, workers=4, attempts=15, kills=8, room=30)


@pytest.mark.slow
def test_eight_writers_on_postgresql_never_overspend(server):
    with postgres.fresh_database(server) as address:
        run_herd(address, workers=8, attempts=200, kills=60, room=900)


@pytest.mark.slow
def test_sixteen_writers_on_a_server_that_crashes_three_times_lose_nothing_and_are_not_refused(server):
    with postgres.fresh_database(server) as address:
        run_herd(address, workers=16, attempts=40, kills=40, room=560, outages=3)
