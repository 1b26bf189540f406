"""Rows on a cluster of this machine: what a question costs beside its work, and how quickly rows are read, against rows in memory.

``python -m benchmarks.scale_cluster --engine dask --rows 200000 --features 20000``

*Overhead*: gradients over a thousand rows with many features, dense and sparse iterates, less the time of the same rows in memory: what
messages, scheduling and the sum of parts take. *Rate*: processor time of workers for each nonzero of a gradient over all rows of a block file, within a
limit of memory, against one process with all rows in memory; a busy machine stretches the clock, so both are printed. *Fits*: from files to
coefficients, and with ``--compare`` the same in memory. The full size is
``--rows 5000000 --features 200000 --workers 2 --worker-memory 2GB --memory-limit 2GB --compare``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from dpsparse import SparseClassifier, recipes
from dpsparse.core import checks
from dpsparse.core.facts import Clip, Facts
from dpsparse.io.cluster import open_cluster
from dpsparse.losses import Logistic
from dpsparse.oracles.noise_info import exact_charge
from dpsparse.queries.kinds import Gradient
from dpsparse.readers import open_rows
from dpsparse.rows.hosts import ClusterHost, MemoryHost
from dpsparse.rows.hosts.clusters import cluster_of
from dpsparse.rows.hosts.dask import LOCAL
from dpsparse.rows.hosts.message import Message
from dpsparse.rows.records import Records

from .out_of_core import make

ADDRESSES = {"dask": "local:{}", "spark": "spark:local[{}]"}


def facts_of(rows: int, features: int) -> Facts:
    return Facts(n_rows=rows, n_features=features, lower=-1.0, upper=1.0, row_norm=1.0, loss="logistic", intercept=1.0)


def times(ask: Callable[[], object], count: int) -> tuple[float, float]:
    """Least and median seconds of some calls; the first warms up."""
    ask()
    found = []
    for _ in range(count):
        start = time.perf_counter()
        ask()
        found.append(time.perf_counter() - start)
    return min(found), float(np.median(found))


def overhead(cluster: object, folder: Path, features: int, count: int) -> None:
    """Seconds of a question beside its work."""
    path = folder / "few.dpsrows"
    make(path, 1000, features, 20)
    facts, rng = facts_of(1000, features), np.random.default_rng(0)
    here, there = open_rows(path), open_cluster(str(path), cluster=cluster)
    y = here.targets("numbers")
    assert y is not None
    memory, host = MemoryHost(here, y, facts), ClusterHost(Records(there), y, facts)
    dense = rng.standard_normal(facts.dimension) * 1e-3
    sparse = np.where(rng.random(facts.dimension) < 1e-3, dense, 0.0)
    for name, w in (("dense", dense), ("sparse", sparse)):
        question = Gradient(w, Clip(1.0))
        work, _ = times(lambda q=question: memory.total(exact_charge(q, memory), Logistic()), count)  # type: ignore[misc]
        best, middle = times(lambda q=question: host.total(exact_charge(q, host), Logistic()), count)  # type: ignore[misc]
        sent = len(Message(exact_charge(question, host), Logistic()).packed())
        print(
            f"{features:,} features, {name} iterate of {sent:,} bytes: {1e3 * work:.1f} ms of work in memory; on the cluster "
            f"{1e3 * (best - work):.1f} ms more at best, {1e3 * (middle - work):.1f} ms in the middle of {count}",
            flush=True,
        )
    host.close()


def spent(cluster: object) -> float:
    """Seconds of processor time of all workers of Dask."""
    run = getattr(cluster, "run", None)
    return float("nan") if run is None else sum(run(time.process_time).values())


def at_rest(cluster: object, seconds: float = 5.0) -> float:
    """Processor seconds that all workers of Dask take in a second in which they have nothing to do; on a busy machine, where seconds are long, they add up."""
    start = spent(cluster)
    time.sleep(seconds)
    return (spent(cluster) - start) / seconds


def peaks(cluster: object) -> list[int]:
    """Most megabytes that each worker of Dask has taken."""
    run = getattr(cluster, "run", None)
    return [] if run is None else sorted(run(peak).values())


def peak() -> int:
    """Most megabytes that this process has taken."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def rate(cluster: object, path: Path, limit: str, workers: int, count: int) -> None:
    """Nanoseconds of a worker for each nonzero of a gradient, against one process in memory; asked in turn, since others may share the machine."""
    opened = open_rows(path)
    facts, rng = facts_of(*opened.shape), np.random.default_rng(0)
    y = opened.targets("numbers")
    assert y is not None
    start, clock = spent(cluster), time.perf_counter()
    host = ClusterHost(Records(open_cluster(str(path), cluster=cluster)), y, facts, checks.memory(limit, "limit"))
    print(
        f"built within {limit} a worker: {time.perf_counter() - clock:.1f} s, {spent(cluster) - start:.1f} s of processor",
        flush=True,
    )
    memory, rest = MemoryHost(opened, y, facts), at_rest(cluster)
    found, same = list[tuple[float, float, float, float]](), True
    for turn in range(count + 1):  # the first warms up
        question = Gradient(0.1 * rng.standard_normal(facts.dimension), Clip(1.0))
        start, clock = spent(cluster), time.perf_counter()
        there = host.total(exact_charge(question, host), Logistic())
        waited, on_workers = time.perf_counter() - clock, spent(cluster) - start
        start, clock = time.process_time(), time.perf_counter()
        here = memory.total(exact_charge(question, memory), Logistic())
        found += [(on_workers, waited, time.process_time() - start, time.perf_counter() - clock)] if turn else []
        same &= np.array_equal(here, there)
    host.close()
    best = 1e9 / opened.entries * np.min(found, axis=0)
    whole = np.sum(found, axis=0)
    worked = whole[0] - rest * whole[1]
    print(
        f"gradient: {best[0]:.1f} ns of processor for each nonzero on {workers} workers ({best[1]:.1f} by the clock), "
        f"{best[2]:.1f} in memory ({best[3]:.1f}), at best of {count}; rate per core against memory {best[2] / best[0]:.2f}, "
        f"over all {whole[2] / whole[0]:.2f}, and {whole[2] / worked:.2f} without the {rest:.3f} s a second that workers take at rest; same sums: {same}; workers' peaks {peaks(cluster)} MB",
        flush=True,
    )


def fit(cluster: object, path: Path, recipe: str, limit: str, steps: int | None, *, compare: bool) -> None:
    """A whole fit on the cluster, from files to coefficients; and, where it is to be compared, the same in this process with all rows in memory."""
    used = recipes.get(recipe)() if steps is None else recipes.get(recipe)(steps=steps)
    options = {"epsilon": 2.0, "row_norm": 1.0, "sparsity": 20, "recipe": used, "classes": (0, 1), "random_state": 1}
    model = SparseClassifier(memory_limit=limit, **options)
    clock, start, own = time.perf_counter(), spent(cluster), time.process_time()
    rows = open_cluster(str(path), cluster=cluster)
    seen = time.perf_counter()
    model.fit(rows)
    done = time.perf_counter()
    workers, driver = spent(cluster) - start, time.process_time() - own
    rest = at_rest(cluster) * (done - clock)
    told: dict[str, object] = {"recipe": recipe, "opened s": round(seen - clock, 1), "fit s": round(done - seen, 1)}
    told |= {"workers' processor s": round(workers, 1), "of it at rest": round(rest, 1), "driver's": round(driver, 1)}
    told |= {"nonzero": int(model.support_.size), "driver peak MB": peak(), "workers' peaks MB": peaks(cluster)}
    print(json.dumps(told), flush=True)
    if compare:
        start, alone = time.process_time(), SparseClassifier(**options).fit(open_rows(path))
        here = time.process_time() - start
        told = {"recipe": recipe, "in memory, processor s": round(here, 1), "same": _bytes(alone) == _bytes(model)}
        rates = {"all": here / (workers + driver), "without rest": here / (workers - rest + driver)}
        told["rate per core against memory"] = {name: round(value, 2) for name, value in rates.items()}
        print(json.dumps(told), flush=True)


def _bytes(model: SparseClassifier) -> tuple[bytes, str]:
    return model.coef_.tobytes() + model.intercept_.tobytes(), model.statement_.to_json()


@contextmanager
def limited(workers: int, memory: str) -> Iterator[object]:
    """Workers of Dask on this machine that are killed where they take more memory."""
    from dask import config
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None, "memory_limit": memory}
    with config.set(LOCAL):
        cluster = LocalCluster(n_workers=workers, **options)
    with cluster, Client(cluster, direct_to_workers=True) as client:
        yield client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=list(ADDRESSES), default="dask")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--wide", type=int, default=100_000, help="features for the overhead")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--nonzeros", type=int, default=50)
    parser.add_argument("--memory-limit", default="500MB", help="for the rows of each worker")
    parser.add_argument("--worker-memory", help="of each worker of Dask in all: one that takes more is killed")
    parser.add_argument("--java-memory", default="6g", help="of Spark's Java, through which built parts pass")
    parser.add_argument("--count", type=int, default=20, help="questions")
    parser.add_argument("--recipes", nargs="*", default=["dual_averaging", "select_polish"])
    parser.add_argument("--steps", type=int, help="of each recipe; default: its own number")
    parser.add_argument("--compare", action="store_true", help="fit in memory, too")
    parser.add_argument("--skip", nargs="*", choices=["overhead", "rate"], default=[])
    parser.add_argument("--file", type=Path, help="keep the rows here, and use them if they are there")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--driver-memory {given.java_memory} pyspark-shell")
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder, "rows.dpsrows")
        if not path.exists():
            make(path, given.rows, given.features, given.nonzeros)
        place = cluster_of(ADDRESSES[given.engine].format(given.workers))
        with limited(given.workers, given.worker_memory) if given.worker_memory else place as cluster:
            if "overhead" not in given.skip:
                overhead(cluster, Path(folder), given.wide, given.count)
            if "rate" not in given.skip:
                rate(cluster, path, given.memory_limit, given.workers, min(given.count, 5))
            for recipe in given.recipes:
                fit(cluster, path, recipe, given.memory_limit, given.steps, compare=given.compare)


if __name__ == "__main__":
    main()
