"""Commands that are killed at random moments, as schedulers, spot instances and people do, and are then run again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

from dpsparse import Ledger, load

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def command(folder, run_id, *more):
    given = [
        "--target",
        "y",
        "--task",
        "regression",
        "--feature-bound=-1,1",
        "--target-bound",
        "2",
        "--recipe",
        "dp_ight",
    ]
    paid = ["--epsilon", ".3", "--delta", "1e-7", "--ledger", f"sqlite:///{folder}/budget.db", "--dataset", "trial"]
    out = ["--run-id", run_id, "--out", str(folder / f"{run_id}.json"), "--seed", "7"]
    return [sys.executable, "-m", "dpsparse", "fit", str(folder / "rows.csv"), *given, *paid, *out, *more]


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}


def prepare(folder):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 8))
    rows = np.column_stack([X, np.clip(X[:, 0] - X[:, 3], -2, 2)])
    names = ",".join([*(f"x{j}" for j in range(8)), "y"])
    np.savetxt(folder / "rows.csv", rows, delimiter=",", header=names, comments="")
    ledger = Ledger(f"sqlite:///{folder}/budget.db")
    ledger.create("trial", epsilon=30.0, delta=1e-5)
    return ledger


def run_again(folder, run_id, *more):
    """What a retry of the documented kind gives."""
    ran = subprocess.run(
        command(folder, run_id, *more), env=environment(), capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 7, ran.stderr[-2000:]  # done, with the seed by which runs are compared
    return load(folder / f"{run_id}.json")


def random_kills(folder, count, seed, *more):
    """Every run ends with a model, is paid for once, and gives what an undisturbed one gives."""
    ledger, chance = prepare(folder), random.Random(seed)
    start = time.monotonic()
    expected = run_again(folder, "undisturbed", *more)
    span = time.monotonic() - start
    seen: Counter[str] = Counter()
    for number in range(count):
        run_id = f"run{number}"
        child = subprocess.Popen(
            command(folder, run_id, *more), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0.3, 1.1) * span)
        child.send_signal(SIGNALS[number % len(SIGNALS)])
        child.wait()
        before = [entry.status for entry in ledger.entries("trial") if entry.run_id == run_id]
        seen[before[-1] if before else "not paid"] += 1
        model = run_again(folder, run_id, *more)
        assert model.coef_.tobytes() == expected.coef_.tobytes()
        paid = [entry for entry in ledger.entries("trial") if entry.run_id == run_id and entry.counts]
        assert [entry.status for entry in paid] == ["done"]
        assert model.statement_.ledger["entry"] == paid[0].number
    ledger.verify()
    assert not list((folder / "budget.db.runs").glob("*.key"))
    return seen


def test_a_few_kills(tmp_path):
    random_kills(tmp_path, 3, 0)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--memory-limit", "200MB")], ids=["memory", "limit"])
def test_sixty_kills(tmp_path, more):
    seen = random_kills(tmp_path, 60, 1, *more)
    print(json.dumps(seen))
    assert seen["started"] >= 3, "moments at which a fit used to be lost are among them"
