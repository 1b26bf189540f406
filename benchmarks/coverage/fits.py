"""One fit of a cell, and how its intervals fared."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
from scipy.stats import norm

from benchmarks.coverage.cells import Cell
from benchmarks.coverage.plain import least_squares, logistic, noisy_moments
from benchmarks.coverage.worlds import World, draw, rows, truth
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core import Budget, SplitRule
from dpsparse.report.planner.intervals import IntervalForecast
from dpsparse.rows.sampling import DataSplit

Model = SparseRegressor | SparseClassifier
#: How one fit fared: counts and widths by name.
Record = dict[str, float | str | int]

DELTA = 1e-5
#: Rows whose regression surface is looked at.
SURFACE = 40
LEVELS = (0.90, 0.95, 0.99)


def estimator(cell: Cell, world: World, seed: int | None) -> Model:
    """What a user would write down for a cell."""
    given = {
        "sparsity": cell.k,
        "feature_bound": world.bound,
        "intervals": "split",
        "random_state": seed,
        "adjacency": cell.adjacency,
    }
    given |= {"n_rows": cell.n} if cell.adjacency == "add-remove" else {}
    budget = Budget.approx(cell.epsilon, DELTA)
    given |= {"epsilon": cell.epsilon, "delta": DELTA} if cell.split else {"budget": Budget.zcdp(budget.as_rho() / 2)}
    if cell.errors == "logistic":
        return SparseClassifier(classes=[0, 1], **given)
    return SparseRegressor(target_bound=world.target_bound, interval_target=cell.target, **given)


def fit(cell: Cell, world: World, seed: int) -> Model:
    """A fit of a cell; without a split every row is in both parts, each with half of the budget: what must not be done."""
    model = estimator(cell, world, seed)
    if cell.split:
        return model.fit(world.X, world.y, units=world.person if cell.rows > 1 and cell.by_unit else None)
    with (
        patch.object(DataSplit, "targets", lambda _, y, part: y),
        patch.object(SplitRule, "expected", lambda _, n: (n, n)),
    ):
        return model.fit(world.X, world.y)


@cache
def forecast(cell: Cell) -> IntervalForecast:
    """What the planner says of a cell, for features of standard deviation 1."""
    world = draw(cell, np.random.default_rng(0))
    told = estimator(cell, world, None).plan(cell.n, cell.d).intervals
    assert told is not None
    return told


def told_width(cell: Cell, world: World, S: np.ndarray) -> float:
    """The planner's half-width, told the size of residuals (for classes the mean curvature) and of the selected features."""
    residual = 0.5
    if cell.errors == "logistic":
        p = 1 / (1 + np.exp(-0.5 - world.X @ world.b))
        residual = float(np.mean(p * (1 - p)))
    return float(
        np.mean(
            [replace(forecast(cell), residual=residual, feature=size).half_width for size in world.X[:, S].std(axis=0)]
        )
    )


def one(cell: Cell, seed: int) -> Record:
    """One fit, and how its intervals fared."""
    rng = np.random.default_rng([zlib.crc32(cell.name.encode()), seed, 20_261])
    world = draw(cell, rng)
    model = fit(cell, world, seed)
    found = model.intervals_
    S = np.array(found.columns, dtype=int)
    m = S.size
    if m == 0:
        return {"m": 0, "flag": found.flag}
    target = truth(cell, world, S, rng)
    off = np.abs(found.estimate[:m] - target) / found.standard_error[:m]
    null = ~np.isin(S, np.flatnonzero(world.b)) if cell.design in ("uniform", "genotypes") else np.abs(target) < 1e-12
    rejected = found.rejected[:m]
    _, plain = (logistic if cell.errors == "logistic" else least_squares)(
        world.X[:, S], world.y, world.person if cell.rows > 1 else None
    )
    record: Record = {
        "m": m,
        "flag": found.flag,
        "found": int(m - null.sum()) if cell.design != "AR .5" else int(np.isin(S, np.flatnonzero(world.b)).sum()),
    }
    record |= {f"in {level:g}": int(np.sum(off <= norm.isf((1 - level) / 2))) for level in LEVELS}
    record |= {"nulls": int(null.sum()), "false": int(np.sum(off[null] > norm.isf(0.025)))}
    record |= {
        "nonzero in": int(np.sum(off[~null] <= norm.isf(0.025))),
        "fdr": float((rejected & null).sum() / max(rejected.sum(), 1)),
    }
    rows_used = 2.0 if cell.split else 1.0
    record["width"] = float(np.mean(found.standard_error[:m]) / (np.mean(plain[:m]) * math.sqrt(rows_used)))
    record["half-width"] = float(norm.isf(0.025) * np.mean(found.standard_error[:m]))
    if cell.rows == 1:
        record["forecast"] = told_width(cell, world, S)
    record["band"] = int(np.max(off) <= found.simultaneous(0.95).critical)
    if cell.errors not in ("logistic",):
        X = rows(rng, SURFACE, cell.d, cell.design)[0]
        low, high = model.predict_interval(X)
        if np.isin(np.flatnonzero(world.b), S).all():
            surface = X @ world.b + 0.5
            record["surface"] = float(np.mean((low <= surface) & (surface <= high)))
    if cell.group in ("mean", "robust"):
        mu = Budget.approx(cell.epsilon, DELTA).as_mu()
        record["against moments"] = record["half-width"] / noisy_moments(
            world.X[:, S], world.y, world.target_bound, mu, rng
        )
    return record
