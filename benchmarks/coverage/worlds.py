"""Data of the cells, and what is true in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.cells import Cell
from benchmarks.coverage.plain import logistic

#: Panels: how many of the columns stay the same in all rows of a person.
PANELS = {"own columns": 1.0, "half own": 0.5}
#: Part of the errors' variance that the rows of a person share.
ICC = 0.75
#: Rows from which the target of a logistic model with a feature too few is computed.
POPULATION = 100_000


def rows(rng: np.random.Generator, n: int, d: int, design: str) -> tuple[np.ndarray, float]:
    """Features of standard deviation about 1 and their declared bound."""
    if design in ("uniform", *PANELS):
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
    """Drawn data with its truth; `person` says whose row each is."""

    X: np.ndarray
    y: np.ndarray
    b: np.ndarray
    bound: float
    target_bound: float
    person: np.ndarray


def draw(cell: Cell, rng: np.random.Generator) -> World:
    X, bound = rows(rng, cell.n, cell.d, cell.design)
    person = np.arange(cell.n)
    if cell.rows > 1:
        person = np.repeat(person, rng.integers(1, 2 * cell.rows, cell.n))
        own = round(PANELS[cell.design] * cell.d)
        X = np.hstack([X[person, :own], rows(rng, person.size, cell.d - own, cell.design)[0]])
    support = rng.choice(cell.d, cell.s, replace=False)
    b = np.zeros(cell.d)
    b[support] = (
        rng.uniform(0.2, 1.0, cell.s) * rng.choice([-1, 1], cell.s) * (1.5 if cell.design == "genotypes" else 1.0)
    )
    margin = 0.5 + X @ b
    if cell.errors == "logistic":
        if cell.rows > 1:
            margin = margin / math.sqrt(1 - ICC) + bridge(rng, cell.n)[person]
        y = (rng.random(person.size) < 1 / (1 + np.exp(-margin))).astype(int)
        return World(X, y, b, bound, 1.0, person)
    errors = ERRORS[cell.errors](rng, X[:, support[0]])
    if cell.rows > 1:
        errors = math.sqrt(ICC) * rng.standard_normal(cell.n)[person] + math.sqrt(1 - ICC) * errors
    return World(X, margin + 0.5 * errors, b, bound, cell.bound * math.sqrt(float(b @ b) + 0.25), person)


def bridge(rng: np.random.Generator, n: int) -> np.ndarray:
    """Random intercepts whose mean over persons leaves a logistic model logistic (Wang and Louis, Biometrika 2003).

    With coefficients c given the intercept, one row of a person drawn at random follows the logistic model of
    coefficients :math:`c\\sqrt{1 - ICC}`: what is true is known exactly.
    """
    part, uniform = math.sqrt(1 - ICC), rng.random(n)
    return np.log(np.sin(part * math.pi * uniform) / np.sin(part * math.pi * (1 - uniform))) / part


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
