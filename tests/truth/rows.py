"""Clipped gradients record by record, in floats, and builders of rows of every kind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.losses import Loss

#: Kinds of storage: dense floats, integers kept as they came, sparse; with and without a shift of the columns.
KINDS = ("dense", "dense shifted", "int8", "int8 midpoint", "int8 odd shift", "bool", "sparse", "sparse shifted")


@dataclass(frozen=True)
class Table:
    """Some records, as they came, with the facts that bound them."""

    X: Any
    y: np.ndarray
    facts: Facts

    def dense(self) -> np.ndarray:
        return np.asarray(self.X.toarray() if sp.issparse(self.X) else self.X, dtype=float)

    def only(self, which: Any) -> Table:
        return Table(self.X[which], self.y[which], self.facts)


def table(kind: str, n: int = 40, d: int = 12, intercept: float = 0.0, seed: int = 0, **facts: Any) -> Table:
    """Random records of a kind, some of them outside their bounds."""
    rng = np.random.default_rng(seed)
    y = rng.normal(0, 2, n)
    facts = {"n_rows": n, "n_features": d, "intercept": intercept, "target": Target(bound=3.0), **facts}
    if kind.startswith("int8") or kind == "bool":
        X = rng.integers(-1, 4, (n, d)).astype(np.int8)
        bounds = {"lower": 0.0, "upper": 2.0, "row_norm": 2.0 * math.sqrt(d)}
        if kind == "bool":
            X, bounds = X > 0, {"lower": 0.0, "upper": 1.0, "row_norm": math.sqrt(d)}
        shift = {"int8 midpoint": 1.0, "int8 odd shift": 0.3}.get(kind, 0.0)
        return Table(X, y, Facts(**{**bounds, "shift": shift, **facts}))
    X = rng.normal(0, 0.6, (n, d)) * (rng.random((n, d)) < 0.5)
    shift = np.round(rng.uniform(-0.5, 0.5, d), 3) if kind.endswith("shifted") else 0.0
    options = {
        "lower": -1.0,
        "upper": 1.0,
        "row_norm": 1.5,
        "shift": shift,
        "sparse": kind.startswith("sparse"),
        **facts,
    }
    return Table(sp.csr_matrix(X) if kind.startswith("sparse") else X, y, Facts(**options))


def contributions(given: Table, loss: Loss, w: np.ndarray, clip: Clip, shift: Any, height: float) -> np.ndarray:
    """Clipped gradient of every record, one per row, from the definition; `shift` and `height` as rows apply them."""
    facts = given.facts
    x = given.dense()
    sane = np.isfinite(x).all(axis=1) & np.isfinite(given.y)
    x = np.clip(np.where(sane[:, None], x, 0.0), facts.lower, facts.upper)
    lengths = np.linalg.norm(x, axis=1)
    x = x * np.minimum(1.0, facts.row_norm / np.maximum(lengths, 1e-300))[:, None] - shift
    x = np.c_[x, np.full((x.shape[0], facts.free), height)]
    y = np.clip(np.where(sane, given.y, 0.0), -facts.target_bound, facts.target_bound)
    slope = loss.slope(x @ w, y)
    cap = clip.norm / np.maximum(np.linalg.norm(x, axis=1), 1e-300)
    if clip.entry is not None:
        cap = np.minimum(cap, clip.entry / np.maximum(np.abs(x).max(axis=1), 1e-300))
    if clip.slope is not None:
        cap = np.minimum(cap, clip.slope)
    out = np.clip(slope, -cap, cap)[:, None] * x * sane[:, None]
    return out if clip.columns is None else np.clip(out, -clip.columns, clip.columns)


def adversarial(d: int) -> list[tuple[np.ndarray, float]]:
    """Records that somebody might send to break a bound."""
    one = np.eye(d)[0]
    return [
        (np.full(d, 1e6), 1e9),
        (np.full(d, -1e6), -1e9),
        (1e-8 * one, -1e12),
        (1e-8 * np.ones(d), 1e12),
        (np.full(d, np.nan), 1.0),
        (np.where(one > 0, np.nan, 0.5), 1.0),
        (np.full(d, np.inf), 1.0),
        (np.where(one > 0, -np.inf, 1.0), 1.0),
        (np.ones(d), np.nan),
        (np.ones(d), np.inf),
        (np.ones(d), -np.inf),
        (np.zeros(d), 1e300),
        (-np.zeros(d), -1.0),
        (np.full(d, 5e-324), 1.0),
        (np.full(d, 1.7e308), -1.7e308),
        (np.where(np.arange(d) % 2, 1e308, -1e308), 3.0),
        (np.full(d, 1 / 3), 1 / 3),
        (np.nextafter(np.ones(d), 2), 3.0),
    ]


def integer_norm(contribution: np.ndarray) -> tuple[int, int]:
    """Squared l2 norm and largest absolute entry of an integer vector, in whole numbers of any size."""
    entries = [int(v) for v in contribution]
    return sum(v * v for v in entries), max((abs(v) for v in entries), default=0)
