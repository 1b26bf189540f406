"""How often intervals after private selection contain their target: `python -m benchmarks.coverage --fits 100 [--only WORD ...]`.

Every cell is a law of data and a budget; each fit has data, coins and noise of its own, by seeds that nothing was chosen on. Results are kept in docs/coverage.json and
added to: a cell that has as many fits already is left alone. `--page` writes docs/intervals_benchmark.md from them and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.stats import norm

from benchmarks.coverage_page import page
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.data.parts import Parts
from dpsparse.privacy import Budget, Coins

DOCS = Path(__file__).resolve().parents[1] / "docs"
DELTA = 1e-5
#: Rows whose regression surface is looked at, and rows from which the target of a logistic model with a feature too few is computed.
SURFACE, POPULATION = 40, 100_000
LEVELS = (0.90, 0.95, 0.99)


@dataclass(frozen=True)
class Cell:
    """One law of data and one budget.

    `verdict` says what is expected: ``pass``, ``fail``, or ``width`` where only coverage is judged.
    """

    group: str
    n: int
    epsilon: float
    d: int = 200
    s: int = 5
    k: int = 10
    design: str = "uniform"
    errors: str = "normal"
    target: str = "mean"
    bound: float = 4.0
    split: bool = True
    adjacency: str = "replace-one"
    verdict: str = "pass"
    width: float | None = None

    @property
    def name(self) -> str:
        extras = [self.errors] * (self.errors != "normal") + [f"bound {self.bound:g} sd"] * (self.bound != 4.0)
        extras += ["no split"] * (not self.split) + [self.adjacency] * (self.adjacency != "replace-one")
        kind = "" if self.errors == "logistic" else f" {self.target}"
        return f"{self.group}: {self.design} n={self.n} d={self.d} s={self.s} epsilon={self.epsilon:g}{kind} {' '.join(extras)}".rstrip()


def cells() -> tuple[Cell, ...]:
    """The cells that intervals are judged by."""
    robust = [
        (5000, 4, 1.15),
        (5000, 2, 1.35),
        (5000, 1, 1.6),
        (20000, 4, 1.06),
        (20000, 2, 1.12),
        (20000, 1, 1.25),
        (20000, 0.5, 1.7),
    ]
    mean = [(5000, 4, 1.35), (5000, 2, 1.65), (5000, 1, 2.8), (20000, 4, 1.2), (20000, 1, 1.5)]
    logit = [
        (5000, 4, 1.2),
        (5000, 2, 1.5),
        (5000, 1, 2.4),
        (20000, 4, 1.06),
        (20000, 2, 1.15),
        (20000, 1, 1.4),
        (20000, 0.5, 2.1),
    ]
    found = [Cell("robust", n, e, target="robust", width=w) for n, e, w in robust]
    found += [Cell("mean", n, e, width=w) for n, e, w in mean]
    found += [Cell("logistic", n, e, errors="logistic", width=w) for n, e, w in logit]
    found += [Cell("small", 1000, e) for e in (1, 4)]
    found += [Cell("wide", 5000, e, d=2000) for e in (1, 4)]
    found += [Cell("many", 5000, e, s=20, k=25) for e in (1, 4)]
    for errors in ("t3", "heteroscedastic", "moderate skew"):
        found += [Cell("stress", 5000, e, errors=errors) for e in (1, 4)]
    for design in ("genotypes", "AR .5", "equicorrelated .3"):
        found += [Cell("stress", 5000, e, design=design) for e in (1, 4)]
    found += [Cell("stress", 5000, e, bound=2.0) for e in (1, 4)]
    found += [Cell("stress", 20000, e, d=50, errors="extreme skew", verdict="fail") for e in (1, 4)]
    found += [Cell("add-remove", 5000, e, adjacency="add-remove") for e in (1, 4)]
    found += [
        Cell("control", 20000, 4, split=False, verdict="fail"),
        Cell("control", 5000, 4, d=2000, split=False, verdict="fail"),
    ]
    return tuple(found)


# ------------------------------------------------------------------------------------------------ data


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
    if cell.errors == "logistic" and not np.isin(causal, S).all():
        X, _ = rows(rng, POPULATION, cell.d, cell.design)
        p = 1 / (1 + np.exp(-(0.5 + X @ world.b)))
        return logistic(X[:, S], p)[0][:-1]
    both = np.union1d(S, causal)
    return np.linalg.solve(covariance(cell.design, S, S), covariance(cell.design, S, both) @ world.b[both])


# ------------------------------------------------------------------------------------------------ without privacy


def least_squares(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least squares with an intercept, last, and robust standard errors."""
    D = np.column_stack([X, np.ones(len(X))])
    inverse = np.linalg.inv(D.T @ D)
    b = inverse @ (D.T @ y)
    r = y - D @ b
    return b, np.sqrt(np.diag(inverse @ ((D * r[:, None] ** 2).T @ D) @ inverse))


def logistic(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for classes, or for their probabilities."""
    D = np.column_stack([X, np.ones(len(X))])
    b = np.zeros(D.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(D @ b, -30, 30)))
        inverse = np.linalg.inv((D * (p * (1 - p))[:, None]).T @ D + 1e-9 * np.eye(D.shape[1]))
        step = inverse @ (D.T @ (y - p))
        b = b + step
        if np.abs(step).max() < 1e-8:
            break
    return b, np.sqrt(np.diag(inverse @ ((D * (y - p)[:, None] ** 2).T @ D) @ inverse))


def noisy_moments(world: World, S: np.ndarray, mu: float, rng: np.random.Generator) -> float:
    """Mean half-width of intervals from noisy second moments of (x, y) on half of the rows, the usual way, at the same budget."""
    half = rng.random(len(world.y)) < 0.5
    D = np.column_stack([np.ones(half.sum()), world.X[half][:, S]])
    p = D.shape[1]
    Q = math.sqrt(1.25 * p)
    t = world.target_bound / Q
    z = np.column_stack([D, np.clip(world.y[half], -world.target_bound, world.target_bound) / t])
    longest = math.sqrt(2) * Q
    w = np.minimum(1, longest**2 / np.sum(z**2, axis=1))
    sigma = math.sqrt(2) * longest**2 / mu
    noise = np.triu(rng.standard_normal((p + 1, p + 1)), 1) / math.sqrt(2)
    T = (z * w[:, None]).T @ z + sigma * (noise + noise.T + np.diag(rng.standard_normal(p + 1)))
    inverse = np.linalg.inv(T[:p, :p])
    b = inverse @ T[:p, p]
    s2 = max((T[p, p] - 2 * b @ T[:p, p] + b @ T[:p, :p] @ b) / half.sum(), 1e-6)
    V = inverse @ (s2 * T[:p, :p] + sigma**2 / 2 * ((1 + b @ b) * np.eye(p) + np.outer(b, b))) @ inverse
    return float(norm.isf(0.025) * t * np.mean(np.sqrt(np.maximum(np.diag(V)[1:], 0))))


# ------------------------------------------------------------------------------------------------ fits


def fit(cell: Cell, world: World, seed: int) -> SparseRegressor | SparseClassifier:
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
        return SparseClassifier(classes=[0, 1], **given).fit(world.X, world.y)
    return SparseRegressor(target_bound=world.target_bound, interval_target=cell.target, **given).fit(world.X, world.y)


def one(cell: Cell, seed: int) -> dict[str, float | str | int]:
    """One fit, and how its intervals fared."""
    rng = np.random.default_rng([zlib.crc32(cell.name.encode()), seed, 20_261])
    world = draw(cell, rng)
    if cell.split:
        model = fit(cell, world, seed)
    else:  # every row in both parts, each with half of the budget: what must not be done
        with patch.object(Parts, "targets", lambda _, y, part: y), patch.object(Coins, "expected", lambda _, n: (n, n)):
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
    _, plain = (logistic if cell.errors == "logistic" else least_squares)(world.X[:, S], world.y)
    record: dict[str, float | str | int] = {
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
    record["band"] = int(np.max(off) <= found.simultaneous(0.95).critical)
    if cell.errors not in ("logistic",):
        X = rows(rng, SURFACE, cell.d, cell.design)[0]
        low, high = model.predict_interval(X)
        if np.isin(np.flatnonzero(world.b), S).all():
            surface = X @ world.b + 0.5
            record["surface"] = float(np.mean((low <= surface) & (surface <= high)))
    if cell.group in ("mean", "robust"):
        mu = Budget.approx(cell.epsilon, DELTA).as_mu()
        record["against moments"] = record["half-width"] / noisy_moments(world, S, mu, rng)
    return record


def run(wanted: list[Cell], fits: int, file: Path, first: int = 0) -> None:
    """Add fits to the file until every cell has enough."""
    kept = json.loads(file.read_text()) if file.exists() else {}
    for cell in wanted:
        records = kept.setdefault(cell.name, {"fits": []})["fits"]
        start, before = time.perf_counter(), len(records)
        for seed in range(before, fits):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                records.append(one(cell, first + seed))
        kept[cell.name] |= {
            "group": cell.group,
            "verdict": cell.verdict,
            "allowed": cell.width,
            "epsilon": cell.epsilon,
            "n": cell.n,
        }
        if len(records) > before:
            file.write_text(json.dumps(kept, separators=(",", ":")))
            print(f"{cell.name}: {len(records)} fits, {time.perf_counter() - start:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[], help="cells whose name holds one of these words")
    parser.add_argument("--out", type=Path, default=DOCS / "coverage.json")
    parser.add_argument("--page", action="store_true", help="write the page and run nothing")
    given = parser.parse_args()
    if not given.page:
        chosen = [c for c in cells() if not given.only or any(word in c.name for word in given.only)]
        run(chosen, given.fits, given.out)
    (DOCS / "intervals_benchmark.md").write_text(page(json.loads(given.out.read_text())))


if __name__ == "__main__":
    main()
