"""Drivers of a Dask cluster that are killed at an answer: the same run goes on with what is stored, and draws what is missing."""

from __future__ import annotations

import itertools
import os
import pickle
import socket
import subprocess
import sys
import traceback

import numpy as np
import pytest

from dpsparse import Ledger, load
from dpsparse.rows.hosts.dask_engine import DaskHolding
from truth.kills import CENTRAL, POINTS, SIGNALS, Counted, Job, killed

distributed = pytest.importorskip("distributed", reason="extra dask")
da = pytest.importorskip("dask.array", reason="extra dask")

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

#: Recipes that need all rows in one place.
GATHERING = ("dpsl_kt", "two_stage", "ldp_iht", "ldp_moment")
ON_CLUSTERS = [name for name in CENTRAL if name not in GATHERING]
#: With every `make test-cluster`; the others are slow.
QUICK = ("dp_gcd",)
#: Answers of each recipe at which its driver is killed.
KILLS = 5


class Cluster:
    """A scheduler and two workers, as processes."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.address = folder, f"tcp://127.0.0.1:{self.port}"
        self.processes = []

    def start(self):
        quiet = {"cwd": self.folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        worker = ["dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        for name, *options in (scheduler, worker, worker):
            command = [sys.executable, "-m", f"distributed.cli.{name}", *options]
            self.processes.append(subprocess.Popen(command, **quiet))
        return self

    def end(self):
        while self.processes:
            self.processes[-1].kill()
            self.processes.pop().wait()


@pytest.fixture
def cluster(tmp_path):
    """One that a test may end and start again."""
    made = Cluster(tmp_path).start()
    yield made
    made.end()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """That of a scheduler which outlives every driver."""
    made = Cluster(tmp_path_factory.mktemp("dask")).start()
    yield made.address
    made.end()


class OnDask(Job):
    """A job whose rows are on a cluster. A client starts threads, which a fork does not take along: call it in forks."""

    address = ""

    def __call__(self, run_id):
        with distributed.Client(self.address, timeout="120s") as client:
            client.wait_for_workers(2, timeout=120)
            self.rows = lambda X, y: (da.from_array(X, chunks=(40, X.shape[1])), y)
            return super().__call__(run_id)


def in_a_fork(work):
    """What some work gives in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            content = pickle.dumps(work())
            with os.fdopen(writing, "wb") as file:
                file.write(content)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        content = file.read()
    os.waitpid(child, 0)
    assert content, "the work failed by itself"
    return pickle.loads(content)


def run(job, run_id):
    """What a fit releases, how many answers it drew, and how many questions went to the cluster."""
    asked, ask = [], DaskHolding.ask
    DaskHolding.ask = lambda holding, packed: (asked.append(1), ask(holding, packed))[1]
    with Counted() as counted:
        released = job(run_id)
    return released, counted.drawn, len(asked)


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in ON_CLUSTERS])
def test_a_driver_that_is_killed_goes_on(name, tmp_path, address):
    job = OnDask(tmp_path, name, sparsity=2).open()
    job.address = address
    expected, total, asked = in_a_fork(lambda: run(job, "undisturbed"))
    assert asked > 0, "the rows were not on the cluster"
    ways = zip(itertools.cycle(SIGNALS), POINTS, strict=False)
    for number, (how, point) in zip(np.linspace(0, total - 1, KILLS).astype(int).tolist(), ways, strict=True):
        run_id = f"{point} {number} {how.name}"
        assert killed(point, number, lambda run_id=run_id: job(run_id), how)
        found, drawn, _ = in_a_fork(lambda run_id=run_id: run(job, run_id))
        assert found == expected
        assert drawn == total - number - (point in ("sync", "return")), (
            "what is stored is played, and what is not is drawn"
        )
        assert [status for status in job.statuses(run_id) if status != "refunded"] == ["done"]
    job.ledger.verify()


#: The command line, which kills a process at its third question to the cluster; 0: none.
COMMAND = """
import os, signal, sys
from dpsparse.cli import main
from dpsparse.rows.hosts.dask_engine import DaskHolding
asked, ask, scheduler = [], DaskHolding.ask, int(sys.argv.pop(1))

def armed(holding, packed):
    asked.append(1)
    if len(asked) == 3 and scheduler:
        os.kill(scheduler, signal.SIGKILL)
    return ask(holding, packed)

DaskHolding.ask = armed
main()
"""


def test_a_command_whose_scheduler_is_killed_says_so_in_our_words_and_goes_on_when_it_is_back(cluster, tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (300, 4))
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, X[:, 0]]), delimiter=",", header="a,b,c,d,y", comments="")
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", epsilon=9.0, delta=1e-5)

    def fit(run_id, scheduler=0):
        rows = ("fit", str(tmp_path / "rows.csv"), "--target", "y", "--task", "regression", "--feature-bound=-1,1")
        asked = ("--target-bound", "2", "--recipe", "dp_gcd", "--epsilon", "1", "--delta", "1e-7", "--seed", "7")
        paid = ("--ledger", f"sqlite:///{tmp_path}/budget.db", "--dataset", "trial", "--run-id", run_id)
        more = ("--cluster", cluster.address, "--out", str(tmp_path / f"{run_id}.json"))
        command = [sys.executable, "-c", COMMAND, str(scheduler), *rows, *asked, *paid, *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)

    def statuses(run_id):
        return [entry.status for entry in ledger.entries("trial") if entry.run_id == run_id]

    assert fit("undisturbed").returncode == 7  # a seed
    lost = fit("lost", cluster.processes[0].pid)
    assert (lost.returncode, statuses("lost")) == (4, ["started"])
    assert "the scheduler of the cluster does not answer any more" in lost.stderr
    assert "Traceback" not in lost.stderr
    away = fit("lost")
    assert (away.returncode, statuses("lost")) == (4, ["started"])
    assert "no Dask scheduler answers" in away.stderr
    assert "Traceback" not in away.stderr
    cluster.end()
    cluster.start()
    assert fit("lost").returncode == 7
    assert statuses("lost") == ["done"]
    assert load(tmp_path / "lost.json").coef_.tobytes() == load(tmp_path / "undisturbed.json").coef_.tobytes()
