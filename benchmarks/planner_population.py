"""The population of data sets on which the planner's formulas are calibrated: public facts and data are drawn at random.

None of the settings of `settings.py` with published figures is in it. Four families: wide dense rows with few true
coefficients, few dense columns, documents (counts of words whose frequencies differ between two classes), and ordinary
tables: columns off the middle of their bounds, skewed ones, indicators, every level of a category, weak signals, few rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.settings import Setting
from dpsparse.core import Budget

#: Rows for measuring a prediction.
TEST_ROWS = 2000
#: The same for ordinary tables, whose signals may be weak.
TABLE_TEST_ROWS = 20_000


@dataclass(frozen=True)
class Public:
    """What a user would declare: all that the planner may see."""

    family: str
    task: str
    n: int
    d: int
    sparsity: int | None
    epsilon: float
    delta: float
    intercept: bool


@dataclass(frozen=True)
class Drawn:
    """A data set with what is known about how it was made."""

    setting: Setting
    signal: float
    correlated: bool
    floor: float | None
    constant: float


def public(family: str, rng: np.random.Generator) -> Public:
    """Public facts, log-uniform over what users come with and a simulation can afford.

    Of wide rows those are kept where selections are neither free nor lost: s ln(d) / (n sqrt(rho)) within .02..4.
    """

    def between(low: float, high: float) -> int:
        return round(math.exp(rng.uniform(math.log(low), math.log(high))))

    task = "classification" if family == "text" else str(rng.choice(["regression", "classification"]))
    epsilon, delta = float(rng.choice([0.5, 1, 2, 4, 8])), float(rng.choice([1e-2, 1e-5, 1e-6]))
    sparsity: int | None = None
    if family == "wide":
        rho = Budget.approx(epsilon, delta).as_rho()
        n = d = sparsity = 0
        while not (0 < n * d <= 8e6 and 0.02 < sparsity * math.log(d) / (n * math.sqrt(rho)) < 4):
            n, d = between(60, 8000), between(300, 5000)
            sparsity = between(3, min(40, d // 20))
        sparsity = sparsity if rng.random() < 0.85 else None
    elif family == "table":
        n, d = between(50, 6000), between(3, 50)
    elif family == "few":
        n, d = between(300, 20_000), between(4, 800)
    else:
        n, d = between(800, 12_000), between(2000, 30_000)
        sparsity = between(50, 600) if rng.random() < 0.3 else None
    return Public(family, task, n, d, sparsity, epsilon, delta, bool(rng.random() < 0.5) or family != "wide")


def draw(given: Public, rng: np.random.Generator) -> Drawn:
    """Data that fits public facts."""
    makers = {"text": _documents, "table": _ordinary}
    return makers.get(given.family, _dense)(given, rng)


def _ordinary(given: Public, rng: np.random.Generator) -> Drawn:
    """An ordinary table with a linear truth; its signal is weak as often as it is strong."""
    rows = given.n + TABLE_TEST_ROWS
    X, lower, upper = _table_columns(rows, given.d, rng)
    effects = rng.standard_normal(given.d) * (rng.random(given.d) < rng.uniform(0.2, 1))
    effects[int(rng.integers(given.d))] += 1.0
    margin = X @ (effects / np.maximum(X.std(axis=0), 1e-3))
    margin = (margin - margin.mean()) / margin.std()
    bounds: dict[str, Any] = {"feature_bound": (lower.tolist(), upper.tolist())}
    if given.task == "regression":
        signal = math.exp(rng.uniform(math.log(0.03), math.log(0.9)))
        y = math.sqrt(signal) * margin + math.sqrt(1 - signal) * rng.standard_normal(rows)
        bounds |= {"target_bound": float(rng.uniform(2.5, 6)), "target_center": float(rng.uniform(-1, 1))}
        floor, constant = 1 - signal, 1.0
    else:
        p = 1 / (1 + np.exp(rng.normal(0, 0.8) - math.exp(rng.uniform(math.log(0.4), math.log(6))) * margin))
        y = (rng.random(rows) < p).astype(int)
        floor, share = float(np.mean(np.minimum(p, 1 - p))), float(p.mean())
        constant = min(share, 1 - share)
        signal = 1 - floor / constant
    n = given.n
    setting = Setting(X[:n], y[:n], bounds, given.task, None, None, (X[n:], y[n:]))
    return Drawn(setting, signal, False, floor, constant)


def _table_columns(rows: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns as a data dictionary encodes them, numbers within -1 and 1 and indicators within 0 and 1; their bounds."""
    columns: list[np.ndarray] = []
    lower: list[float] = []
    factor = rng.standard_normal(rows) * float(rng.random() < 0.5)
    while len(columns) < d:
        kind, left = str(rng.choice(["middle", "narrow", "skewed", "gaps", "indicator", "category"])), d - len(columns)
        z = rng.standard_normal(rows) + rng.uniform(-0.7, 0.7) * factor
        if kind == "category" and left > 1:
            levels = int(rng.integers(2, min(left, 6) + 1))
            which = np.searchsorted(np.sort(rng.random(levels - 1)), rng.random(rows))
            columns += [(which == level).astype(float) for level in range(levels)]
            lower += [0.0] * levels
            continue
        if kind in ("indicator", "category"):
            columns.append((z < rng.uniform(-1.6, 1.6)).astype(float))
        elif kind == "middle":
            columns.append(np.clip(z / rng.uniform(2, 4), -1, 1))
        elif kind == "narrow":
            columns.append(np.clip(rng.uniform(-0.7, 0.7) + z * rng.uniform(0.08, 0.3), -1, 1))
        elif kind == "skewed":
            columns.append(np.clip(np.exp(rng.uniform(0.5, 1) * z) / rng.uniform(2, 12), 0, 2) - 1)
        else:
            known = rng.random(rows) < rng.uniform(0.4, 0.9)
            columns.append(np.where(known, np.clip(rng.uniform(-0.5, 0.5) + z * rng.uniform(0.1, 0.35), -1, 1), 0.0))
        lower.append(0.0 if kind in ("indicator", "category") else -1.0)
    order = rng.permutation(d)
    return np.column_stack(columns)[:, order], np.array(lower)[order], np.ones(d)


def _dense(given: Public, rng: np.random.Generator) -> Drawn:
    wide = given.family == "wide"
    rows, d = given.n + TEST_ROWS, given.d
    correlated = bool(rng.random() < 0.3)
    kinds = ["uniform", "normal", "genotype", "binary"] if given.intercept else ["uniform", "normal"]
    X, bounds = _columns(str(rng.choice(kinds)), rows, d, correlated, rng)
    s = (given.sparsity or max(3, min(d // 20, 10))) if wide else d
    chosen = rng.choice(d, s, replace=False)
    size = rng.uniform(0, 1, s) if rng.random() < 0.5 else rng.uniform(0.2, 1, s)
    truth = np.zeros(d)
    truth[chosen] = size * rng.choice([-1, 1], s)
    margin = X[:, chosen] @ truth[chosen]
    middle = float(margin.mean())
    if given.task == "regression":
        signal = float(rng.uniform(0.83, 0.985) if given.sparsity else rng.uniform(0.35, 0.72))
        scale = 1 / margin.std()
        noise = math.sqrt(1 / signal - 1) * rng.standard_normal(rows)
        level = float(rng.choice([0.0, 1.0])) if given.intercept else 0.0
        y = (margin - middle * given.intercept) * scale + level + noise
        bounds["target_bound"] = 3 / math.sqrt(signal) + abs(level) + abs(middle) * scale * (not given.intercept)
        floor, constant = 1 - signal, 1.0
    else:
        scale = float(math.exp(rng.uniform(math.log(1.0), math.log(4.0)))) / margin.std()
        shown = (margin - middle * given.intercept) * scale
        p = 1 / (1 + np.exp(-shown))
        y = (rng.random(rows) < p).astype(int)
        floor, share = float(np.mean(np.minimum(p, 1 - p))), float(p.mean())
        constant = min(share, 1 - share)
        signal = 1 - floor / constant
    n = given.n
    setting = Setting(X[:n], y[:n], bounds, given.task, given.sparsity, truth * scale, (X[n:], y[n:]))
    return Drawn(setting, signal, correlated, floor, constant)


def _columns(
    kind: str, rows: int, d: int, correlated: bool, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, Any]]:
    """Dense columns with their bounds; correlated ones share a factor, or follow one another.

    Columns that are never negative come with an intercept only: without one they are a mistake that the planner need not foresee.
    """
    if kind == "genotype":
        often = rng.uniform(0.05, 0.5, d)
        X = sum((rng.random((rows, d)) < often).astype(float) for _ in range(2))
        return X, {"feature_bound": (0.0, 2.0)}
    Z = rng.standard_normal((rows, d))
    if correlated and rng.random() < 0.5:
        share = rng.uniform(0.1, 0.4)
        Z = math.sqrt(1 - share) * Z + math.sqrt(share) * rng.standard_normal((rows, 1))
    elif correlated:
        link = rng.uniform(0.2, 0.6)
        for j in range(1, d):
            Z[:, j] = link * Z[:, j - 1] + math.sqrt(1 - link**2) * Z[:, j]
    if kind == "normal":
        return np.clip(Z, -3, 3), {"feature_bound": 3.0}
    if kind == "binary":
        return (rng.uniform(-0.5, 1.5, d) < Z).astype(float), {"feature_bound": (0.0, 1.0)}
    from scipy.special import ndtr

    return 2 * ndtr(Z) - 1, {"feature_bound": 1.0}


def _documents(given: Public, rng: np.random.Generator) -> Drawn:
    """Words by Zipf's law; a tenth of them are more frequent in one class. log1p and unit rows."""
    rows, d = given.n + TEST_ROWS, given.d
    base = 1 / (np.arange(d) + 10.0)
    tilt = rng.standard_normal(d) * (rng.random(d) < 0.1) * rng.uniform(0.4, 1.5)
    share = float(rng.uniform(0.3, 0.5))
    y = (rng.random(rows) < share).astype(int)
    lengths = np.maximum(5, np.exp(rng.normal(math.log(80), 0.6, rows))).astype(int)
    owners, words = np.repeat(np.arange(rows), lengths), np.empty(lengths.sum(), dtype=np.intp)
    for label in (0, 1):
        weights = base * np.exp(tilt * (label - 0.5))
        edges = np.cumsum(weights / weights.sum())
        mine = y[owners] == label
        words[mine] = np.minimum(np.searchsorted(edges, rng.random(int(mine.sum()))), d - 1)
    X = sp.csr_matrix((np.ones(words.size), (owners, words)), shape=(rows, d))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_matrix(sp.diags(1 / norms) @ X)
    n = given.n
    setting = Setting(X[:n], y[:n], {"row_norm": 1.0}, given.task, given.sparsity, None, (X[n:], y[n:]))
    return Drawn(setting, math.nan, True, None, min(share, 1 - share))
