"""Kernels beside what they are measured by: BLAS on 32-bit floats for dense rows, scipy on 64-bit floats for sparse ones.

``python -m benchmarks.speed_kernels [--repeats 30] [--threads 2]``

Both sides do the same two products: rows with coefficients, and factors with rows. Times are interleaved minima; on one thread CPU time of
the thread, which a busy machine disturbs least, on more the time on the wall. A plain read of the entries stands beside them.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from dpsparse.rows.kernels import choice, plain
from dpsparse.rows.kernels.interface import Kernels

#: Rows, columns, and entries in a row of sparse ones; `news20` is about the shape of that text.
DENSE = {"dense 20,000 x 500": (20_000, 500), "dense 5,000 x 2,000": (5_000, 2_000)}
SPARSE = {
    "news20": (12_748, 62_061, 80),
    "sparse 60,000 x 100,000": (60_000, 100_000, 50),
    "d = 1e6": (60_000, 1_000_000, 20),
}


def minima(cases: dict[str, Callable[[], object]], repeats: int, clock: Callable[[], float]) -> dict[str, float]:
    """Least time of each case in milliseconds, all of them in turn."""
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(repeats):
        for name, run in cases.items():
            start = clock()
            run()
            best[name] = min(best[name], 1e3 * (clock() - start))
    return best


def both(kernels: Kernels, x: object, w: np.ndarray, c: np.ndarray) -> Callable[[], None]:
    """The two products of one path."""
    out, acc, rows = np.empty(c.size), np.zeros(w.size, dtype=np.int64), slice(0, c.size)

    def run() -> None:
        kernels.forward(x, w, out, rows)
        kernels.scatter(x, c, acc, rows, 2.0**15)

    return run


def dense(n: int, d: int, rng: np.random.Generator) -> dict[str, Callable[[], object]]:
    """Whole numbers in two bytes beside floats of 32 bits."""
    x = rng.integers(-32_000, 32_000, (n, d)).astype(np.int16)
    w, c = np.rint(rng.standard_normal(d) * 2.0**20), np.rint(rng.standard_normal(n) * 2.0**18)
    floats, w32, c32 = x.astype(np.float32), w.astype(np.float32), c.astype(np.float32)
    return {
        "reference": lambda: (floats @ w32, c32 @ floats),
        "plain": both(plain, x, w, c),  # type: ignore[arg-type]
        "compiled": both(choice.load_kernels(), x, w, c),
        "read": lambda: x.view(np.int64).sum(),
    }


def sparse(n: int, d: int, k: int, rng: np.random.Generator) -> dict[str, Callable[[], object]]:
    """Whole numbers in two bytes beside floats of 64 bits; frequent columns first, as words are."""
    columns = np.minimum(d ** rng.random((n, k)), d - 1).astype(np.int32)
    ends = np.arange(0, n * k + 1, k, dtype=np.int32)
    floats = sp.csr_matrix((np.rint(rng.uniform(1, 32_000, n * k)), columns.ravel(), ends), shape=(n, d))
    floats.sum_duplicates()
    x = sp.csr_matrix((floats.data.clip(max=32_000).astype(np.int16), floats.indices, floats.indptr), shape=(n, d))
    floats = x.astype(float)
    w, c = np.rint(rng.standard_normal(d) * 2.0**20), np.rint(rng.standard_normal(n) * 2.0**18)
    turned = floats.T
    return {
        "reference": lambda: (floats @ w, turned @ c),
        "plain": both(plain, x, w, c),  # type: ignore[arg-type]
        "compiled": both(choice.load_kernels(), x, w, c),
        "read": lambda: (x.data.sum(), x.indices.sum()),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    os.environ["DPSPARSE_THREADS"] = str(given.threads)
    clock = time.thread_time if given.threads == 1 else time.perf_counter
    if choice.load_kernels() is plain:
        print("numba is not installed: compiled kernels are the plain ones")
    rng = np.random.default_rng(0)
    print(f"{given.threads} thread(s), ms; in brackets: of the reference (BLAS float32, or scipy float64)")
    made = [(name, lambda s=shape: dense(*s, rng)) for name, shape in DENSE.items()]
    made += [(name, lambda s=shape: sparse(*s, rng)) for name, shape in SPARSE.items()]
    for name, make in made:
        cases = make()
        for run in cases.values():
            run()  # compiled, and in the cache
        found = minima(cases, given.repeats, clock)
        shown = "  ".join(f"{k} {v:.2f} ({v / found['reference']:.2f})" for k, v in found.items())
        print(f"{name:26s}{shown}")


if __name__ == "__main__":
    main()
