"""Public files with another split for each seed, and the bounds that every library is told."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.settings import TARGETS, data_folder, parts_of, table, unit_rows
from benchmarks.speed.peers import store


@dataclass(frozen=True)
class Rows:
    """Training and test rows; targets of regression lie within [-1, 1].

    `bounds` are arguments of our estimators, `row_norm` and `entries` the same facts for the peers.
    """

    train: tuple[Any, np.ndarray]
    test: tuple[Any, np.ndarray]
    task: str
    bounds: dict[str, Any]
    row_norm: float
    entries: tuple[float, float]

    def error(self, coef: np.ndarray, intercept: float) -> float:
        """Misclassification rate on the test rows, or mean squared error over their variance."""
        X, y = self.test
        margin = np.asarray(X @ coef).ravel() + intercept
        if self.task == "classification":
            return float(np.mean((margin > 0) != (y > 0)))
        return float(np.mean((margin - y) ** 2) / np.var(y))


def _split(X: Any, y: np.ndarray, train: int, test: int, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    order = np.random.default_rng(seed).permutation(y.size)
    few, held = order[:train], order[train : train + test]
    return (X[few], y[few]), (X[held], y[held])


@lru_cache(maxsize=1)
def _both(name: str) -> tuple[Any, np.ndarray]:
    (X, y), more = parts_of(name)
    if more is not None:
        stack = sp.vstack if sp.issparse(X) else np.vstack
        X, y = stack([X, more[0]]), np.concatenate([y, more[1]])
    return (X.tocsr() if sp.issparse(X) else X), y


def _census(seed: int) -> Rows:
    """a9a: 14 answers as 123 columns of 0 and 1, so rows are at most sqrt(14) long."""
    X, y = _both("a9a")
    train, test = _split(X.toarray().astype(float), (y > 0).astype(int), 32561, 16281, seed)
    bounds = {"feature_bound": (0.0, 1.0), "row_norm": math.sqrt(14)}
    return Rows(train, test, "classification", bounds, math.sqrt(14), (0.0, 1.0))


def _chest(seed: int) -> Rows:
    """Pixels of chest X-rays, over 255."""
    X, y = _both("pneumonia_mnist")
    train, test = _split(X / 255.0, (y > 0).astype(int), 4684, 1172, seed)
    return Rows(train, test, "classification", {"feature_bound": (0.0, 1.0)}, math.sqrt(784), (0.0, 1.0))


@lru_cache(maxsize=1)
def _mapped(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns mapped to [-1, 1] by the bounds of bounds.json, targets by theirs."""
    found = table(name)
    assert found.test is not None
    X, y = np.vstack([found.X, found.test[0]]), np.concatenate([found.y, found.test[1]])
    if name in TARGETS:
        center, bound = TARGETS[name]
        y = np.clip((y - center) / bound, -1, 1)
    return X, y


def _table(name: str, train: int, test: int) -> Callable[[int], Rows]:
    def make(seed: int) -> Rows:
        X, y = _mapped(name)
        bounds: dict[str, Any] = {"feature_bound": 1.0}
        task = "regression" if name in TARGETS else "classification"
        if task == "regression":
            bounds["target_bound"] = 1.0
        return Rows(*_split(X, y, train, test, seed), task, bounds, math.sqrt(X.shape[1]), (-1.0, 1.0))

    return make


def _news(seed: int) -> Rows:
    """20 Newsgroups in two classes: 5,000 of the 62,061 words, drawn for each seed, since diffprivlib takes dense rows only."""
    X, y = _both("news20")
    columns = np.sort(np.random.default_rng(seed).permutation(X.shape[1])[:5000])
    train, test = _split(unit_rows(X[:, columns]), (y <= 10).astype(int), 12748, 3187, seed)
    return Rows(train, test, "classification", {"row_norm": 1.0}, 1.0, (0.0, 1.0))


#: Name on the page: (file, how rows are drawn for a seed).
ROWS: dict[str, tuple[str, Callable[[int], Rows]]] = {
    "census income (a9a)": ("a9a.npz", _census),
    "chest X-ray": ("pneumonia_mnist.npz", _chest),
    "forest cover, 20,000 rows": ("covtype.npz", _table("covtype", 20000, 20000)),
    "news, 5,000 words": ("news20.npz", _news),
    "california": ("california.npz", _table("california", 16512, 4128)),
    "melting points": ("meltingpoint.npz", _table("meltingpoint", 3301, 825)),
}


def present(name: str) -> bool:
    """Whether the file is in the data folder."""
    folder = data_folder()
    return folder is not None and (folder / ROWS[name][0]).is_file()


@lru_cache(maxsize=1)
def rows_of(name: str, seed: int) -> Rows:
    """Rows of a seed; the last are kept, since methods are run one after the other on the same."""
    return ROWS[name][1](seed)


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="dpsparse-peers-")


@lru_cache(maxsize=1)
def file_of(name: str, seed: int) -> Path:
    """The same rows as a file that every peer reads."""
    path, found = Path(_folder().name) / f"{ROWS[name][0]}-{seed}.npz", rows_of(name, seed)
    for old in path.parent.glob("*.npz"):
        old.unlink()
    store(path, found.train, found.test)
    return path
