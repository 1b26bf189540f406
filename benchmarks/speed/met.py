"""Goal 9: what users meet: tables by the default recipe at its own number of steps, tiny fits, frames, commands, CSV."""

from __future__ import annotations

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

PROGRAM = (sys.executable, "-m", "dpsparse")
DECLARED = ("--task", "classification", "--classes", "0,1", "--feature-bound", "1")


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Dense rows, and classes by five columns."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d))
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
    slope, error = exponent([float(n) for n in sizes], seconds)
    note = f"standard error {error:.2f}; {sizes[0]:,} to {sizes[-1]:,}"
    return [*lines, Line(goal=9, what="exponent of time of auto in rows", value=slope, unit="", most=1.1, note=note)]


def small(settings: Settings) -> list[Line]:
    """Tiny fits of both kinds, and a data frame against its array."""
    import pandas as pd

    from dpsparse import SparseRegressor

    X, y = table(500, 200)
    wide, labels = table(5_000, 500)
    frame = pd.DataFrame(wide)

    def regression() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = {"feature_bound": 1.0, "target_bound": 1.0, "sparsity": 5, "random_state": 0}
            SparseRegressor(epsilon=2.0, delta=1e-5, **given).fit(X, X[:, 0])  # type: ignore[arg-type]

    ways = {"classes": private(X, y), "regression": regression}
    ways |= {"frame": private(frame, labels), "array": private(wide, labels)}
    found = {name: times.processor for name, times in interleave(ways, settings.repeats).items()}
    return [
        Line(goal=9, what="tiny regression 500 x 200", value=1e3 * found["regression"], unit="ms", most=15),
        Line(goal=9, what="tiny classes 500 x 200", value=1e3 * found["classes"], unit="ms", most=15),
        Line(goal=9, what="frame / array, 5,000 x 500", value=found["frame"] / found["array"], unit="x", most=1.1),
    ]


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
    return [*small(settings), *commands(settings), *tables(settings)]
