"""Rows that do not fit in memory: rate per nonzero and peak memory on a disk against in memory, and how quickly files are parsed.

``python -m benchmarks.out_of_core --rows 500000 --features 100000 --nonzeros 50 --memory-limit 300MB``

Every fit runs in a process of its own on one block file: one without a limit, with all rows in memory, and one within the limit. Processor
time is compared, since a busy machine stretches the clock; the clock is printed beside it. The disk's cache is warm where the machine has
memory for it: then the rate is that of reading, not of the disk.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

RECIPES = ("dual_averaging", "select_polish")


def rows(count: int, features: int, nonzeros: int, seed: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows of unit length whose columns follow a power law, and classes that ten of the first columns tell."""
    rng = np.random.default_rng(seed)
    columns = np.sort((features ** rng.random((count, nonzeros))).astype(np.int32) % features, axis=1)
    values = rng.random((count, nonzeros), dtype=np.float32) + 0.1
    values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
    X = sp.csr_matrix((values.ravel(), columns.ravel(), np.arange(count + 1) * nonzeros), shape=(count, features))
    X.sum_duplicates()
    margin = X[:, 5:15] @ np.where(np.arange(10) % 2, 6.0, -6.0)
    return X, (margin + rng.logistic(size=count) > 0).astype(np.int8)


def make(path: Path, count: int, features: int, nonzeros: int) -> None:
    """Write a block file, some rows at a time."""
    from dpsparse.io.block_file import BlockWriter

    with path.open("wb") as file:
        writer = BlockWriter(file, features, sparse=True)
        for part, first in enumerate(range(0, count, 50_000)):
            writer.add(*rows(min(50_000, count - first), features, nonzeros, part))
        writer.finish()


def measure(path: str, recipe: str, limit: str | None) -> dict[str, Any]:
    """One fit in this process."""
    from dpsparse import SparseClassifier
    from dpsparse.readers import open_rows

    warnings.simplefilter("ignore")
    model = SparseClassifier(
        epsilon=2.0, row_norm=1.0, sparsity=20, recipe=recipe, classes=(0, 1), random_state=1, memory_limit=limit
    )
    opened = open_rows(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, clock = time.process_time(), time.perf_counter()
    model.fit(opened)
    return {
        "recipe": recipe,
        "limit": limit or "none",
        "processor s": round(time.process_time() - start, 2),
        "clock s": round(time.perf_counter() - clock, 2),
        "ns per nonzero": round(1e9 * (time.process_time() - start) / opened.entries, 1),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "over start MB": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024),
        "model": hashlib.sha256(model.coef_.tobytes() + model.intercept_.tobytes()).hexdigest(),
    }


def passes(path: str, limit: str | None, count: int = 5) -> dict[str, Any]:
    """Some gradients over all rows, in this process, without what putting rows aside takes."""
    from dpsparse.core import checks
    from dpsparse.core.facts import Clip, Facts
    from dpsparse.losses import Logistic
    from dpsparse.oracles.noise_info import exact_charge
    from dpsparse.queries.kinds import Gradient
    from dpsparse.readers import open_rows
    from dpsparse.rows.hosts import DiskHost, MemoryHost

    opened = open_rows(path)
    facts = Facts(
        n_rows=opened.shape[0],
        n_features=opened.shape[1],
        lower=-1.0,
        upper=1.0,
        row_norm=1.0,
        loss="logistic",
        intercept=1.0,
    )
    y = opened.targets("numbers")
    assert y is not None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    host = MemoryHost(opened, y, facts) if limit is None else DiskHost(opened, y, facts, checks.memory(limit, "limit"))
    built = time.process_time()
    rng = np.random.default_rng(0)
    for _ in range(count):
        question = Gradient(0.1 * rng.standard_normal(facts.dimension), Clip(1.0))
        host.total(exact_charge(question, host), Logistic())
    done = time.process_time()
    host.close()
    return {
        "recipe": f"{count} gradients",
        "limit": limit or "none",
        "put aside s": round(built - start, 2),
        "processor s": round(done - built, 2),
        "ns per nonzero": round(1e9 * (done - built) / count / opened.entries, 2),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "over start MB": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024),
    }


def parse(folder: Path) -> None:
    """Megabytes per second of processor time for text files, ours and scikit-learn's, alternating; the best of three."""
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    from dpsparse.io.streams import ReadOptions, csv_stream, svmlight_stream

    X, y = rows(60_000, 60_000, 80, 0)
    text, table, full = folder / "a.svmlight", folder / "a.csv", folder / "b.csv"
    dump_svmlight_file(X, y, str(text), zero_based=False)
    header = ",".join(f"c{j}" for j in range(100))
    decimals = np.random.default_rng(1).standard_normal((30_000, 100))
    for path, cells in ((table, X[:30_000, :100].toarray()), (full, decimals)):
        np.savetxt(path, cells, delimiter=",", fmt="%.6g", comments="", header=header)

    def ours(path: Path, stream: Any, wanted: ReadOptions) -> None:
        with path.open("rb") as file:
            for _ in stream(file, path, wanted).pieces:
                pass

    ways = {
        "svmlight, dpsparse": (text, lambda: ours(text, svmlight_stream, ReadOptions(n_features=60_000))),
        "svmlight, scikit-learn": (text, lambda: load_svmlight_file(str(text), n_features=60_000)),
        "CSV of decimals, dpsparse": (full, lambda: ours(full, csv_stream, ReadOptions())),
        "CSV of zeros, dpsparse": (table, lambda: ours(table, csv_stream, ReadOptions())),
    }
    best: dict[str, tuple[float, float]] = {}
    for _ in range(3):
        for name, (path, way) in ways.items():
            start, clock = time.process_time(), time.perf_counter()
            way()
            size = path.stat().st_size / 1e6
            spent, waited = time.process_time() - start, time.perf_counter() - clock
            now = (size / spent, size / waited)
            best[name] = max(now, best.get(name, (0.0, 0.0)))
    for name, (spent, waited) in best.items():
        print(f"{name:26s} {spent:6.0f} MB per second of processor, {waited:6.0f} MB per second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--nonzeros", type=int, default=50)
    parser.add_argument("--memory-limit", default="300MB")
    parser.add_argument("--in-memory-rows", type=int, help="rows in memory, where there is no room for all of them")
    parser.add_argument("--recipes", nargs="*", default=list(RECIPES))
    parser.add_argument("--file", type=Path, help="keep the rows here, and use them if they are there")
    parser.add_argument("--parse", action="store_true", help="parse text files, and nothing else")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        path, recipe, limit = given.one
        kept = None if limit == "none" else limit
        print(json.dumps(passes(path, kept) if recipe == "passes" else measure(path, recipe, kept)))
        return
    with tempfile.TemporaryDirectory() as folder:
        if given.parse:
            parse(Path(folder))
            return
        path = given.file or Path(folder, "rows.dpsrows")
        few = min(given.rows, given.in_memory_rows or given.rows)
        fewer = path if few == given.rows else Path(folder, "fewer.dpsrows")
        for file, count in {path: given.rows, fewer: few}.items():
            if not file.exists():
                make(file, count, given.features, given.nonzeros)
            size = f"{file.stat().st_size / 1e6:.0f} MB"
            print(f"{count:,} rows, {given.features:,} features, {given.nonzeros} nonzeros: {size}", flush=True)
        for recipe in ("passes", *given.recipes):
            found = []
            for file, limit in ((fewer, "none"), (path, given.memory_limit)):
                command = [sys.executable, "-m", "benchmarks.out_of_core", "--one", str(file), recipe, limit]
                out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                found.append(json.loads(out))
                print({k: v for k, v in found[-1].items() if k != "model"}, flush=True)
            ratio = found[0]["ns per nonzero"] / found[1]["ns per nonzero"]
            same = f"; same model: {found[0].get('model') == found[1].get('model')}" if few == given.rows else ""
            print(f"  rate on disk / in memory, for each nonzero: {ratio:.2f}{same}", flush=True)


if __name__ == "__main__":
    main()
