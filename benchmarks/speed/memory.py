"""Goal 6: peak memory of a fit over what the caller holds, each fit in a process of its own."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import settings as data
from ..out_of_core import rows as sparse_rows
from .goals import Line, Settings
from .small import rows


def imdb_rows() -> tuple[Any, Any]:
    """Reviews as float32."""
    found = data.imdb()
    return found.X.astype(np.float32), found.y


def narrow_rows(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Entries of one byte."""
    X = np.random.default_rng(0).integers(-1, 2, (n, d), dtype=np.int8)
    return X, (X[:, 0] > 0).astype(int)


CASES = {
    "dense 20,000 x 500": lambda: rows(20_000, 500),
    "dense 40,000 x 500, int8": lambda: narrow_rows(40_000, 500),
    "imdb": imdb_rows,
    "1,000,000 x 100,000 x 50": lambda: sparse_rows(1_000_000, 100_000, 50, 0),
    "100,000 x 100,000 x 50": lambda: sparse_rows(100_000, 100_000, 50, 0),
}


def size_of(X: Any) -> int:
    """Bytes of the caller's rows."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def held(what: str) -> int:
    """Bytes that this process holds (VmRSS), or held at most (VmHWM) since `forget_peak`. Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def forget_peak() -> None:
    """Let the peak begin anew: what loading the rows took is no part of a fit."""
    Path("/proc/self/clear_refs").write_text("5")


def measure(case: str) -> dict[str, float]:
    """One fit in this process. A small fit comes first, and numba is loaded, so that imports are no part of the peak."""
    from dpsparse import SparseClassifier
    from dpsparse.rows.kernels import choice

    choice.load_kernels()

    warnings.simplefilter("ignore")
    model = SparseClassifier(epsilon=2.0, delta=1e-5, row_norm=1.0, classes=(0, 1), random_state=0)
    model.fit(*rows(500, 200))
    X, y = CASES[case]()
    gc.collect()
    forget_peak()
    before = held("VmRSS")
    model.fit(X, y)
    return {"data": size_of(X), "extra": held("VmHWM") - before}


def memory(settings: Settings) -> list[Line]:
    """What a fit takes beside the rows, over what is allowed: one and a half times their bytes and 100 MB."""
    skipped = {"1,000,000 x 100,000 x 50"} if settings.quick else {"100,000 x 100,000 x 50"}
    lines = []
    for case in CASES:
        if case in skipped or (case == "imdb" and data.data_folder() is None):
            continue
        command = [sys.executable, "-m", "benchmarks.speed.memory", case]
        found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        allowed = 1.5 * found["data"] + 100e6
        note = f"rows {found['data'] / 1e6:.0f} MB, allowed {allowed / 1e6:.0f} MB"
        lines.append(
            Line(
                goal=6,
                what=f"{case}: memory of a fit",
                value=found["extra"] / 1e6,
                unit="MB",
                most=allowed / 1e6,
                note=note,
            )
        )
    return lines


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
