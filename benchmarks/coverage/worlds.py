"""Data of the cells, and what is true in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.cells import Cell
from benchmarks.coverage.plain import logistic

#: Rows from which the target of a logistic model with a feature too few is computed.
POPULATION = 100_000


def rows(rng: np.random.Generator, n: int, d: int, design: str) -> tuple[np.ndarray, float]:
    """Features of standard deviation about 1 and their declared bound."""
    if design == "uniform":
        return rng.uniform(-math.sqrt(3), math.sqrt(3), (n, d)), math.sqrt(3)
    if design == "genotypes":
        f = np.random.default_rng(5).uniform(0.1, 0.5, d)
        return rng.binomial(2, f, (n, d)) - 1.0, 1.0
    X = rng.standard_normal((n, d))
    if design == "AR .5":
        for j in range(1, d):
            X[:, j] = 0.5 * X[:, j - 1] + math.sqrt(0.75) * X[:, j]
    else:
        X = math.sqrt(0.7) * X + math.sqrt(0.3) * rng.standard_normal((n, 1))
    return X, 4.0


def covariance(design: str, one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Population covariance between features, up to the scale of uncorrelated ones."""
    if design == "AR .5":
        return np.asarray(0.5 ** np.abs(one[:, None] - two[None]))
    if design == "equicorrelated .3":
        return np.asarray(0.3 + 0.7 * (one[:, None] == two[None]))
    return np.asarray((one[:, None] == two[None]).astype(float))


ERRORS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "normal": lambda rng, x: rng.standard_normal(x.size),
    "t3": lambda rng, x: rng.standard_t(3, x.size) / math.sqrt(3),
    "heteroscedastic": lambda rng, x: 0.9 * rng.standard_normal(x.size) * (0.3 + np.abs(x)),
    "moderate skew": lambda rng, x: (rng.gamma(4.0, size=x.size) - 4) / 2 * np.exp(0.2 * x),
    "extreme skew": lambda rng, x: (rng.exponential(size=x.size) - 1) * np.exp(0.4 * x),
}


@dataclass(frozen=True, eq=False)
class World:
    """Drawn data with its truth."""

    X: np.ndarray
    y: np.ndarray
    b: np.ndarray
    bound: float
    target_bound: float


def draw(cell: Cell, rng: np.random.Generator) -> World:
    X, bound = rows(rng, cell.n, cell.d, cell.design)
    support = rng.choice(cell.d, cell.s, replace=False)
    b = np.zeros(cell.d)
    b[support] = (
        rng.uniform(0.2, 1.0, cell.s) * rng.choice([-1, 1], cell.s) * (1.5 if cell.design == "genotypes" else 1.0)
    )
    margin = 0.5 + X @ b
    if cell.errors == "logistic":
        return World(X, (rng.random(cell.n) < 1 / (1 + np.exp(-margin))).astype(int), b, bound, 1.0)
    y = margin + 0.5 * ERRORS[cell.errors](rng, X[:, support[0]])
    return World(X, y, b, bound, cell.bound * math.sqrt(float(b @ b) + 0.25))


def truth(cell: Cell, world: World, S: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Coefficients of the best model on the selected features, in the population."""
    causal = np.flatnonzero(world.b)
    both = np.union1d(S, causal)
    if cell.errors == "logistic":
        if np.isin(causal, S).all():
            return world.b[S]
        X, _ = rows(rng, POPULATION, both.size, cell.design)  # columns are independent: the others do not matter
        p = 1 / (1 + np.exp(-(0.5 + X @ world.b[both])))
        found = logistic(X[:, np.searchsorted(both, S)], p)[0][:-1]
        return np.where(np.isin(S, causal), found, 0.0)
    return np.linalg.solve(covariance(cell.design, S, S), covariance(cell.design, S, both) @ world.b[both])
