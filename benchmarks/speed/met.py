"""Goal 9: what users meet: tables by the default recipe at its own number of steps, tiny fits, frames, commands, CSV."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .clock import exponent, interleave
from .goals import Line, Settings

#: A process that fits dense rows once, and tells how long the fit took.
FIRST_DENSE = """
import time, warnings
warnings.simplefilter("ignore")
import numpy as np
from dpsparse import SparseClassifier
X = 2 * np.random.default_rng(0).random((20_000, 500), dtype=np.float32) - 1
y = (X[:, 0] > 0).astype(int)
start = time.process_time()
SparseClassifier(epsilon=2.0, delta=1e-5, feature_bound=1.0, classes=(0, 1)).fit(X, y)
print(time.process_time() - start)
"""
PROGRAM = (sys.executable, "-m", "dpsparse")
DECLARED = ("--task", "classification", "--classes", "0,1", "--feature-bound", "1")


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Dense rows, and classes by five columns."""
    rng = np.random.default_rng(0)
    X = 2 * rng.random((n, d), dtype=np.float32) - 1
    return X, (X[:, :5].sum(axis=1) + rng.logistic(size=n) > 0).astype(int)


def private(X: object, y: np.ndarray) -> Callable[[], None]:
    """The default classifier."""
    from dpsparse import SparseClassifier

    def way() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            SparseClassifier(epsilon=2.0, delta=1e-5, feature_bound=1.0, classes=[0, 1], random_state=0).fit(X, y)

    return way


def plain(X: np.ndarray, y: np.ndarray) -> Callable[[], None]:
    """scikit-learn without privacy."""
    from sklearn.linear_model import LogisticRegression

    return lambda: LogisticRegression().fit(X, y)


def tables(settings: Settings) -> list[Line]:
    """By the default recipe: how much longer than without privacy, and how time grows."""
    lines, seconds = [], []
    sizes = [10**3, 10**4, 10**5] if settings.quick else [10**3, 10**4, 10**5, 10**6]
    for n in sizes:
        X, y = table(n, 20)
        found = interleave({"ours": private(X, y), "theirs": plain(X, y)}, max(2, settings.repeats // 2))
        seconds.append(found["ours"].processor)
        ratio = seconds[-1] / found["theirs"].processor
        lines.append(Line(goal=9, what=f"table {n:,} x 20: auto / lbfgs", value=ratio, unit="x", most=8))
    for n, d, most in ((10**5, 54, 8.0), (10**5, 200, 6.0), *(() if settings.quick else ((10**6, 54, 8.0),))):
        X, y = table(n, d)
        found = interleave({"ours": private(X, y), "theirs": plain(X, y)}, max(2, settings.repeats // 2))
        ratio = found["ours"].processor / found["theirs"].processor
        lines.append(Line(goal=9, what=f"table {n:,} x {d}: auto / lbfgs", value=ratio, unit="x", most=most))
    slope, error = exponent([float(n) for n in sizes], seconds)
    note = f"standard error {error:.2f}; {sizes[0]:,} to {sizes[-1]:,}"
    return [*lines, Line(goal=9, what="exponent of time of auto in rows", value=slope, unit="", most=1.1, note=note)]


def number(X: np.ndarray, sparsity: int | None) -> Callable[[], None]:
    """The default regressor of the first column."""
    from dpsparse import SparseRegressor

    def way() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = {"feature_bound": 1.0, "target_bound": 1.0, "sparsity": sparsity, "random_state": 0}
            SparseRegressor(epsilon=2.0, delta=1e-5, **given).fit(X, X[:, 0])  # type: ignore[arg-type]

    return way


def small(settings: Settings) -> list[Line]:
    """Tiny fits of both kinds."""
    (X, y), (tall, labels) = table(500, 200), table(300, 10)
    ways = {"classes 500 x 200": private(X, y), "regression 500 x 200": number(X, 5)}
    ways |= {"classes 300 x 10": private(tall, labels), "regression 300 x 10": number(tall, None)}
    found = interleave(ways, 3 * settings.repeats)
    return [
        Line(goal=9, what=f"tiny {name}", value=1e3 * times.processor, unit="ms", most=15)
        for name, times in found.items()
    ]


def frames(settings: Settings) -> list[Line]:
    """Data frames against the array that they hold."""
    import pandas as pd
    import polars as pl

    lines = []
    for n, d in ((20_000, 500), (2_000, 10_000)):
        X, y = table(n, d)
        names = [f"x{j}" for j in range(d)]
        columns = {"pandas": pd.DataFrame(X, columns=names), "polars": pl.DataFrame(X, schema=names)}
        mixed = columns["pandas"].assign(x0=X[:, 0] > 0, x1=X[:, 1].astype(float))
        ways = {"array": private(X, y)} | {name: private(frame, y) for name, frame in columns.items()}
        found = interleave(ways | {"pandas of three types": private(mixed, y)}, max(2, settings.repeats // 2))
        array = found.pop("array").processor
        lines += [
            Line(goal=9, what=f"{name} / array, {n:,} x {d:,}", value=times.processor / array, unit="x", most=1.1)
            for name, times in found.items()
        ]
    return lines


def first(settings: Settings) -> list[Line]:
    """The first dense fit of an installation, which compiles kernels, and that of the next process."""
    script = FIRST_DENSE
    with tempfile.TemporaryDirectory() as folder:
        given = os.environ | {"DPSPARSE_PRICES": f"{folder}/prices", "NUMBA_CACHE_DIR": f"{folder}/kernels"}
        runs = [
            float(subprocess.run([sys.executable, "-c", script], env=given, capture_output=True, check=True).stdout)
            for _ in range(2)
        ]
    whats = ("first fit of an installation, 20,000 x 500", "the same in the next process")
    return [Line(goal=9, what=what, value=value, unit="s") for what, value in zip(whats, runs, strict=True)]


def commands(settings: Settings) -> list[Line]:
    """Processor time of commands, each in a process of its own; a CSV file with a dictionary against Parquet."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, 20_000 if settings.quick else 180_000)
        csv, parquet = (["fit", f"rows.{kind}", "--dictionary", "rows.yaml"] for kind in ("csv", "parquet"))
        tiny = ["fit", "tiny.csv", "--target", "y", *DECLARED]
        ways = {"fit of 200 x 4": tiny, "plan": ["plan", "--n-rows", "200", "--n-features", "4", *DECLARED]}
        ways |= {"show": ["show", "model.json"], "report": ["report", "model.json"], "csv": csv, "parquet": parquet}
        least = dict.fromkeys(ways, np.inf)
        for _ in range(max(2, settings.repeats // 2)):
            for key, command in ways.items():
                least[key] = min(least[key], _processor([*PROGRAM, *command], folder))
        above = least.pop("csv") - least.pop("parquet")
        size = (folder / "rows.csv").stat().st_size / 1e6
    lines = [Line(goal=9, what=f"dpsparse {key}", value=value, unit="s", most=0.8) for key, value in least.items()]
    return [
        *lines,
        Line(goal=9, what=f"CSV with a dictionary above Parquet, {size:.0f} MB", value=above, unit="s", most=2),
    ]


def _processor(command: list[str], folder: Path) -> float:
    """Processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if run.returncode not in (0, 7):  # 7: a page that says no
        raise RuntimeError(run.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _write(folder: Path, n: int) -> None:
    """A small table, and a large one with its dictionary."""
    import pandas as pd

    X, y = table(200, 4)
    pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_csv(folder / "tiny.csv", index=False)
    X, y = table(n, 40)
    names = [f"x{j}" for j in range(40)]
    large = pd.DataFrame(X.round(5), columns=names).assign(sex=np.where(y > 0, "female", "male"), y=y)
    large.to_csv(folder / "rows.csv", index=False)
    large.to_parquet(folder / "rows.parquet")
    kinds = [f"  - name: {name}\n    kind: number\n    bounds: [-1, 1]\n" for name in names]
    kinds += ["  - name: sex\n    kind: category\n    categories: [female, male]\n"]
    kinds += ["  - name: y\n    role: target\n    kind: boolean\n"]
    (folder / "rows.yaml").write_text("version: 1\ncolumns:\n" + "".join(kinds))


def met(settings: Settings) -> list[Line]:
    """All of it."""
    return [
        *small(settings),
        *frames(settings),
        *first(settings),
        *commands(settings),
        *tables(settings),
    ]
