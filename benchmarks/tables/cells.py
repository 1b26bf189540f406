"""Run cells (table, method, epsilon, seed) and keep each as one line of JSON, so that a run can be resumed."""

from __future__ import annotations

import json
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import sets, sources, synthetic
from benchmarks.tables.methods import METHODS
from benchmarks.tables.scores import constant_main, scores

DELTA = 1e-6
Cell = dict[str, Any]
Key = tuple[str, str, float, int]


def key(cell: Cell) -> Key:
    """What a cell is found by."""
    return cell["table"], cell["method"], cell["epsilon"], cell["seed"]


def read(path: Path) -> dict[Key, Cell]:
    """Cells of a file; the last one of a key counts."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {key(cell): cell for cell in map(json.loads, lines)}


@lru_cache(maxsize=2)
def _table(name: str, seed: int) -> sets.Table:
    return synthetic.load(name, seed) if name in synthetic.DESIGNS else sets.load(name, seed)


def half_of(name: str) -> str:
    """choose, confirm or synthetic."""
    return "synthetic" if name in synthetic.DESIGNS else sources.half(name)


def measure(name: str, method: str, epsilon: float, seed: int) -> Cell:
    """One cell. A method that fails is recorded with the type of its error and no score."""
    table = _table(name, seed)
    rng = np.random.default_rng([seed, zlib.crc32(f"{name} {method} {epsilon}".encode())])
    n, d = table.shape
    cell: Cell = {"table": name, "half": half_of(name), "method": method, "epsilon": epsilon, "seed": seed}
    cell |= {"n": n, "d": d, "kind": table.kind, "constant": constant_main(table)}
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = METHODS[method].fit(table, epsilon, DELTA, rng)
        except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError) as failure:
            return cell | {"failure": type(failure).__name__ + ": " + str(failure)[:200]}
    seconds = time.perf_counter() - began
    return cell | scores(model, table) | {"seconds": round(seconds, 4), "note": model.note}


def _several(name: str, method: str, epsilons: Sequence[float], seed: int) -> list[Cell]:
    return [measure(name, method, epsilon, seed) for epsilon in epsilons]


def missing(
    names: Sequence[str], methods: Sequence[str], epsilons: Sequence[float], seeds: Sequence[int], have: set[Key]
) -> Iterator[tuple[str, str, list[float], int]]:
    """Work that is not done yet, one table, method and seed at a time."""
    for name in names:
        kind = synthetic.DESIGNS[name].kind if name in synthetic.DESIGNS else sources.SOURCES[name].kind
        for seed in seeds:
            for method in methods:
                if kind == "classification" and not METHODS[method].classes:
                    continue
                wanted = epsilons if METHODS[method].private else [0.0]
                left = [e for e in wanted if (name, method, e, seed) not in have]
                if left:
                    yield name, method, left, seed


def run(
    path: Path,
    names: Sequence[str],
    methods: Sequence[str],
    epsilons: Sequence[float],
    seeds: Sequence[int],
    jobs: int,
    again: bool,
) -> None:
    """Measure what is missing in the file; tables that are not here are skipped with the reason."""
    present = []
    for name in names:
        try:
            if name in sources.SOURCES:
                sets.frame(name)
            present.append(name)
        except FileNotFoundError as reason:
            print(f"skipped {name}: {reason}", flush=True)
    work = list(missing(present, methods, epsilons, seeds, set() if again else set(read(path))))
    path.parent.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with ProcessPoolExecutor(jobs) as pool, path.open("a") as file:
        for done, future in enumerate(as_completed([pool.submit(_several, *w) for w in work]), 1):
            for cell in future.result():
                file.write(json.dumps(cell) + "\n")
            file.flush()
            if done % 20 == 0 or done == len(work):
                print(f"{done}/{len(work)} pieces, {time.perf_counter() - began:.0f} s", flush=True)
