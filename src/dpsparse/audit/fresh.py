"""Fresh data of the same kind: what the law of swap puts in the place of the rows.

Shape, storage, types, column names and the set of classes stay, since these are public. Everything
else is drawn anew: the balance of the classes, the moments and the extremes of every column, which
entries of a sparse matrix there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..core.facts import Vector

#: Powers of a uniform number: columns get means between a tenth and nine tenths of their range.
POWERS = (1 / 9, 1 / 3, 3.0, 9.0)


def fresh_rows(X: Any, rng: np.random.Generator) -> Any:
    """Rows of the same kind as X: an array, a sparse matrix, or a frame of pandas or polars."""
    if sp.issparse(X):
        return _fresh_matrix(X, rng)
    if isinstance(X, np.ndarray):
        columns = [fresh_column(X[:, j], rng) for j in range(X.shape[1])]
        return np.array(columns).T.astype(X.dtype) if columns else X.copy()
    if hasattr(X, "iloc"):
        found = {name: type(X[name])(fresh_column(X[name].to_numpy(), rng), dtype=X[name].dtype) for name in X.columns}
        return type(X)(found).set_axis(X.index)
    return type(X)({name: fresh_column(X[name].to_numpy(), rng) for name in X.columns}).cast(dict(X.schema))


def fresh_column(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Values of the same type as these, with other moments and other extremes."""
    if values.dtype.kind not in "biuf":
        return _fresh_words(values, rng, every=False)
    known = values[np.isfinite(values.astype(float))]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    part = rng.random(values.size) ** rng.choice(POWERS)
    if values.dtype.kind == "f":
        width = (high - low) or max(abs(low), 1.0)
        return np.asarray(low + width * (0.05 + 0.85 * part), dtype=values.dtype)
    if low == high:
        low, high = (0.0, 1.0) if high in (0.0, 1.0) else (min(low, 0.0), max(high, 0.0))
    return np.asarray(np.floor(low + (high - low + 1) * part * (1 - 2.0**-40)), dtype=values.dtype)


def fresh_labels(y: ArrayLike, rng: np.random.Generator) -> NDArray[Any]:
    """Labels of the same classes, each of them present, with another balance."""
    return _fresh_words(np.asarray(y), rng, every=True)


def fresh_targets(y: ArrayLike, rng: np.random.Generator) -> Vector:
    """Numbers with another mean and another spread."""
    return fresh_column(np.asarray(y), rng)


def _fresh_words(values: NDArray[Any], rng: np.random.Generator, *, every: bool) -> NDArray[Any]:
    """Some of the values that there are, with another frequency of each; `every`: each at least once."""
    distinct, counts = np.unique(values.astype(str) if values.dtype == object else values, return_counts=True)
    if values.dtype == object:
        by_name = {str(value): value for value in values}
        distinct = np.array([by_name[name] for name in distinct], dtype=object)
    weights = (1.0 / counts) ** rng.choice((1.5, 2.0)) * np.arange(1, distinct.size + 1)
    drawn = rng.choice(distinct.size, values.size, p=weights / weights.sum())
    if every:
        drawn[: distinct.size] = np.arange(distinct.size)
    return np.asarray(distinct[rng.permutation(drawn)])


def _fresh_matrix(X: Any, rng: np.random.Generator) -> Any:
    """Another half as full, of the same format and type."""
    n, d = X.shape
    size = max(1, X.nnz // 2)
    data = fresh_column(X.data if X.nnz else np.zeros(1, dtype=X.dtype), rng)
    places = np.unique(rng.integers(0, n * d, size)) if n * d else np.zeros(0, dtype=np.int64)
    entries = (rng.choice(data, places.size), (places // d, places % d))
    return type(X)(sp.coo_array(entries, shape=X.shape, dtype=X.dtype))
