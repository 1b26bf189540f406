"""Designs with a known truth: loose bounds, far means, mixed units, sparse and dense truths, odd columns, correlations.

The signal has variance 1 and the noise a standard deviation of .33. Error: mean squared error of the prediction over the
variance of the signal, on fresh rows (classes: 1 - AUC). `TARGETS` are the errors that the default should reach.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from benchmarks.tables.sets import Array, Table
from benchmarks.tables.sources import Kind

NOISE = 0.33
FRESH_ROWS = 2000


@dataclass(frozen=True)
class Design:
    """n rows, d columns, s true ones (None: all). `loose` multiplies declared half-widths of columns and target."""

    n: int
    d: int
    s: int | None = None
    columns: str = "uniform"
    loose: tuple[float, float] = (1.0, 1.0)
    mean: float = 0.0
    given: int | None = None
    kind: Kind = "regression"
    odds: float = 0.0


DESIGNS: dict[str, Design] = {
    "d20": Design(5000, 20),
    "d20 target x10": Design(5000, 20, loose=(1.0, 10.0)),
    "d20 features x10": Design(5000, 20, loose=(10.0, 1.0)),
    "d20 both x10": Design(5000, 20, loose=(10.0, 10.0)),
    "d20 mean 50": Design(5000, 20, mean=50.0),
    "d20 mixed units": Design(5000, 20, columns="mixed"),
    "d500 s10": Design(5000, 500, 10),
    "d500 s10 features x10": Design(5000, 500, 10, loose=(10.0, 1.0)),
    "d500 s10 given": Design(5000, 500, 10, given=10),
    "d100 s10": Design(5000, 100, 10),
    "t2.5 d300 s10": Design(5000, 300, 10, columns="t"),
    "counts d300 s10": Design(5000, 300, 10, columns="counts"),
    "rare d300 s10": Design(5000, 300, 10, columns="rare"),
    "d50 dense": Design(10_000, 50),
    "d200 dense": Design(10_000, 200),
    "AR .9 d500 s10": Design(5000, 500, 10, columns="ar"),
    "factor d500 s10": Design(5000, 500, 10, columns="factor"),
    "n500 d50 s5": Design(500, 50, 5),
    "n500 d10": Design(500, 10),
    "classes d20": Design(5000, 20, kind="classification"),
    "classes d20 1:20": Design(5000, 20, kind="classification", odds=-4.0),
    "classes d500 s10": Design(5000, 500, 10, kind="classification"),
    "classes d300 s10 1:20": Design(10_000, 300, 10, kind="classification", odds=-4.0),
    "classes factor d500 s10": Design(5000, 500, 10, columns="factor", kind="classification"),
}

#: Largest mean excess error, by design and epsilon.
TARGETS: dict[tuple[str, float], float] = {
    **{(name, 1.0): 0.003 for name in DESIGNS if name.startswith("d20")},
    ("d500 s10", 0.25): 0.03,
    ("d500 s10", 1.0): 0.004,
    ("d500 s10 features x10", 1.0): 0.004,
    ("d500 s10 given", 1.0): 0.003,
    ("d100 s10", 1.0): 0.006,
    ("t2.5 d300 s10", 1.0): 0.006,
    ("counts d300 s10", 1.0): 0.03,
    ("rare d300 s10", 1.0): 0.12,
    ("d200 dense", 1.0): 0.05,
    ("AR .9 d500 s10", 1.0): 0.27,
}


def _columns(design: Design, rows: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Columns with their declared ends."""
    d, shape = design.d, (rows, design.d)
    if design.columns == "t":
        return np.clip(rng.standard_t(2.5, shape), -20, 20), np.full(d, -20.0), np.full(d, 20.0)
    if design.columns == "counts":
        often = np.exp(rng.standard_normal(d))
        return np.minimum(rng.poisson(often, shape), 20).astype(float), np.zeros(d), np.full(d, 20.0)
    if design.columns == "rare":
        return (rng.random(shape) < 0.02).astype(float), np.zeros(d), np.ones(d)
    if design.columns in ("ar", "factor"):
        X = rng.standard_normal(shape)
        if design.columns == "factor":
            load = rng.standard_normal((5, d))
            load /= np.linalg.norm(load, axis=0)
            X = np.sqrt(0.6) * rng.standard_normal((rows, 5)) @ load + np.sqrt(0.4) * X
        else:
            for j in range(1, d):
                X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.81) * X[:, j]
        return np.clip(X, -3, 3), np.full(d, -3.0), np.full(d, 3.0)
    unit = np.ones(d)
    if design.columns == "mixed":
        unit[0] = 1000.0
    return rng.uniform(-1, 1, shape) * unit, -unit, unit


def load(name: str, seed: int) -> Table:
    """A design by name; truth, rows and noise follow from the seed."""
    design = DESIGNS[name]
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    n, d = design.n, design.d
    X, lower, upper = _columns(design, n + FRESH_ROWS, rng)
    truth = np.zeros(d)
    if design.s is None:
        truth[:] = rng.standard_normal(d)
    else:
        chosen = rng.choice(d, design.s, replace=False)
        truth[chosen] = rng.choice([-1, 1], design.s) * rng.uniform(0.2, 1, design.s)
    if design.columns == "mixed":
        truth /= upper
    signal = X @ truth
    signal = (signal - signal.mean()) / signal.std()
    middle, half = (lower + upper) / 2, design.loose[0] * (upper - lower) / 2
    lower, upper = middle - half, middle + half
    if design.kind == "classification":
        y = (rng.random(len(X)) < 1 / (1 + np.exp(-2 * signal - design.odds))).astype(float)
        return Table(name, design.kind, X[:n], y[:n], (X[n:], y[n:]), lower, upper, sparsity=design.given)
    y = signal + design.mean + NOISE * rng.standard_normal(len(X))
    bound = (4.0 if not design.mean else 60.0) * design.loose[1]
    fresh = signal[n:] + design.mean
    return Table(name, design.kind, X[:n], y[:n], (X[n:], fresh), lower, upper, 0.0, bound, design.given)
