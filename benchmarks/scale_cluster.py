"""Rows on a cluster of this machine: what a question costs beside its work, and how quickly rows are read, against rows in memory.

``python -m benchmarks.scale_cluster --engine dask --rows 200000 --features 20000``

*Overhead*: gradients over a thousand rows with many features, dense and sparse iterates, less the time of the same rows in memory: what
messages, scheduling and the sum of parts take. *Rate*: processor time of workers for each nonzero of a gradient over all rows of a block file, within a
limit of memory, against one process with all rows in memory; a busy machine stretches the clock, so both are printed. The full size is
``--rows 5000000 --features 200000 --workers 2 --memory-limit 2GB``.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dpsparse import SparseClassifier, checks
from dpsparse.data.source import Source
from dpsparse.facts import Clip, Facts
from dpsparse.hosts import ClusterHost, MemoryHost
from dpsparse.hosts.clusters import cluster_of
from dpsparse.hosts.message import Message
from dpsparse.losses import Logistic
from dpsparse.oracle import Gradient
from dpsparse.readers import open_rows
from dpsparse.readers.cluster import open_cluster

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
    memory, host = MemoryHost(here, y, facts), ClusterHost(Source(there), y, facts)
    dense = rng.standard_normal(facts.dimension) * 1e-3
    sparse = np.where(rng.random(facts.dimension) < 1e-3, dense, 0.0)
    for name, w in (("dense", dense), ("sparse", sparse)):
        question = Gradient(w, Clip(1.0))
        work, _ = times(lambda q=question: memory.total(q, Logistic(), None), count)  # type: ignore[misc]
        best, middle = times(lambda q=question: host.total(q, Logistic(), None), count)  # type: ignore[misc]
        sent = len(Message(question, Logistic(), None).packed())
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


def rate(cluster: object, path: Path, limit: str, workers: int, count: int) -> None:
    """Nanoseconds of a worker for each nonzero of a gradient, against one process in memory."""
    opened = open_rows(path)
    facts, rng = facts_of(*opened.shape), np.random.default_rng(0)
    y = opened.targets("numbers")
    assert y is not None
    questions = [Gradient(0.1 * rng.standard_normal(facts.dimension), Clip(1.0)) for _ in range(count)]
    start, clock = spent(cluster), time.perf_counter()
    host = ClusterHost(Source(open_cluster(str(path), cluster=cluster)), y, facts, checks.memory(limit, "limit"))
    print(
        f"built within {limit} a worker: {time.perf_counter() - clock:.1f} s, {spent(cluster) - start:.1f} s of processor"
    )
    start, clock = spent(cluster), time.perf_counter()
    there = [host.total(question, Logistic(), None) for question in questions]
    on_workers, waited = spent(cluster) - start, time.perf_counter() - clock
    host.close()
    memory = MemoryHost(opened, y, facts)
    start, clock = time.process_time(), time.perf_counter()
    here = [memory.total(question, Logistic(), None) for question in questions]
    alone, clocked = time.process_time() - start, time.perf_counter() - clock
    same = all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
    scale = 1e9 / count / opened.entries
    print(
        f"gradient: {on_workers * scale:.1f} ns of processor for each nonzero on {workers} workers ({waited * scale:.1f} by the clock), "
        f"{alone * scale:.1f} in memory ({clocked * scale:.1f}); rate per core against memory {alone / on_workers:.2f}; same sums: {same}",
        flush=True,
    )


def fit(cluster: object, path: Path, recipe: str, limit: str) -> None:
    """A whole fit on the cluster, from files to coefficients."""
    model = SparseClassifier(
        epsilon=2.0, row_norm=1.0, sparsity=20, recipe=recipe, classes=(0, 1), random_state=1, memory_limit=limit
    )
    clock = time.perf_counter()
    rows = open_cluster(str(path), cluster=cluster)
    seen = time.perf_counter()
    model.fit(rows)
    done = time.perf_counter()
    found = {"recipe": recipe, "opened s": round(seen - clock, 1), "fit s": round(done - seen, 1)}
    driver = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({**found, "nonzero": int(model.support_.size), "driver peak MB": driver}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=list(ADDRESSES), default="dask")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--wide", type=int, default=100_000, help="features for the overhead")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--nonzeros", type=int, default=50)
    parser.add_argument("--memory-limit", default="500MB", help="of each worker")
    parser.add_argument("--count", type=int, default=20, help="questions")
    parser.add_argument("--recipes", nargs="*", default=["dual_averaging", "select_polish"])
    parser.add_argument("--file", type=Path, help="keep the rows here, and use them if they are there")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder, "rows.dpsrows")
        if not path.exists():
            make(path, given.rows, given.features, given.nonzeros)
        with cluster_of(ADDRESSES[given.engine].format(given.workers)) as cluster:
            overhead(cluster, Path(folder), given.wide, given.count)
            rate(cluster, path, given.memory_limit, given.workers, min(given.count, 5))
            for recipe in given.recipes:
                fit(cluster, path, recipe, given.memory_limit)


if __name__ == "__main__":
    main()
