"""Drivers of a Dask cluster that are killed at an answer: the same run goes on with what is stored, and draws what is missing."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import traceback

import numpy as np
import pytest

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


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A scheduler and two workers that outlive every driver."""
    folder, port = tmp_path_factory.mktemp("dask"), 20_000 + os.getpid() % 20_000
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    found = f"tcp://127.0.0.1:{port}"
    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", found, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    started = [subprocess.Popen([sys.executable, "-m", *command], **quiet) for command in (scheduler, worker, worker)]
    try:
        yield found
    finally:
        for process in started:
            process.kill()
            process.wait()


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
