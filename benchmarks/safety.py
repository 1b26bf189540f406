"""How often the default is worse than a constant, and how well its probabilities are calibrated.

``python -m benchmarks.safety grid`` fits numbers and classes over rows, columns, epsilons, kinds of
columns and sparsities, and prints how often an error on fresh rows, as served, exceeds that of the
constant predictor. ``calibration`` fits true logistic models of several class shares and prints the
slope of the truth on the predicted log-odds, and the mean probability over the share. ``averaging``
prints the error of `dual_averaging` over the constant's, from hopeless to enough rows. ``designs``
prints the excess error of linear designs, ``tables`` the error on tables of scikit-learn. Results are
kept in ``--store``, one line for each fit; a run that was stopped goes on there. Noise of the grid is
drawn anew in each cell: with one seed for all, one unlucky first draw would show in every cell.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import LogisticRegression

from dpsparse import SparseClassifier, SparseRegressor

Cell = tuple[object, ...]
#: Delta of all fits.
DELTA = 1e-6


def columns(kind: str, n: int, d: int, g: np.random.Generator) -> tuple[np.ndarray, float]:
    """Rows of a kind within [low, 1]: indicators, uniform or skewed columns."""
    if kind == "01":
        return (g.uniform(size=(n, d)) < g.uniform(0.05, 0.5, d)).astype(float), 0.0
    if kind == "skewed":
        return np.minimum(g.exponential(0.15, (n, d)), 1.0), 0.0
    return g.uniform(-1, 1, (n, d)), -1.0


def deviance(margins: np.ndarray, y: np.ndarray) -> float:
    """Log-loss over that of the class share."""
    share = y.mean()
    constant = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    return float(np.mean(np.logaddexp(0, margins) - y * margins) / constant)


def safety(target: str, kind: str, n: int, d: int, epsilon: float, sparsity: int | None, seed: int) -> list[float]:
    """Error over the constant predictor's, on 1,000 rows that were not fitted."""
    g = np.random.default_rng(7919 * seed + 31 * n + d)
    X, low = columns(kind, n + 1000, d, g)
    w = np.zeros(d)
    w[:5] = [1, -1, 0.6, 0.6, -1]
    score = (X - X.mean(0)) @ w
    score /= score.std()
    given = {
        "epsilon": epsilon,
        "delta": DELTA,
        "feature_bound": (low, 1.0),
        "sparsity": sparsity,
        "random_state": int(g.integers(2**31)),
    }
    if target == "numbers":
        y = score + 0.6 * g.standard_normal(n + 1000)
        model = SparseRegressor(target_bound=4.0, **given).fit(X[:n], y[:n])
        return [float(np.mean((model.predict(X[n:]) - y[n:]) ** 2) / y[n:].var())]
    y = (g.uniform(size=n + 1000) < 1 / (1 + np.exp(0.7 - 2 * score))).astype(int)
    model = SparseClassifier(classes=[0, 1], **given).fit(X[:n], y[:n])
    return [deviance(model.decision_function(X[n:]), y[n:])]


def safety_cells() -> Iterator[Cell]:
    """The grid: small tables by all kinds of columns, and wide ones."""
    kinds, targets = ("01", "uniform", "skewed"), ("numbers", "classes")
    small = itertools.product(targets, (50, 150, 400, 1000, 2000), (20, 115, 400), (0.1, 0.5, 1.0, 4.0), (None, 5))
    for i, (target, n, d, epsilon, sparsity) in enumerate(small):
        yield target, kinds[i % 3], n, d, epsilon, sparsity
    wide = itertools.product(targets, (200, 1000), (2000, 5000), (0.5, 8.0), (None, 5))
    for i, (target, n, d, epsilon, sparsity) in enumerate(wide):
        yield target, kinds[(i // 2) % 3], n, d, epsilon, sparsity


def calibration(share: float, n: int, epsilon: float, recipe: str, seed: int) -> list[float]:
    """Slope of the truth on the log-odds, mean probability over the share, and deviance, on 20,000 other rows."""
    g = np.random.default_rng(100 + seed)
    d, m = 10, n + 20000
    X = g.uniform(-1, 1, (m, d))
    X[:, 5:] = X[:, 5:] > 0.4
    shift = {0.5: 0.0, 0.2: -1.6, 0.07: -2.9}[share]
    y = (g.uniform(size=m) < 1 / (1 + np.exp(-(X @ np.linspace(-1, 1, d) + shift - 0.35)))).astype(int)
    bounds = (np.r_[-np.ones(5), np.zeros(5)], np.ones(d))
    model = SparseClassifier(
        epsilon=epsilon, delta=DELTA, feature_bound=bounds, classes=[0, 1], recipe=recipe, random_state=seed
    ).fit(X[:n], y[:n])
    return told(model.decision_function(X[n:]), y[n:])


def told(margins: np.ndarray, y: np.ndarray) -> list[float]:
    """Slope, mean probability over the share, and deviance."""
    slope = 1.0
    if margins.std() > 1e-9:
        slope = float(LogisticRegression(C=1e6).fit(margins[:, None], y).coef_[0, 0])
    return [slope, float(np.mean(1 / (1 + np.exp(-margins))) / y.mean()), deviance(margins, y)]


def calibration_cells() -> Iterator[Cell]:
    """Three shares; 20,000 rows."""
    recipes = ("auto", "select_polish", "dual_averaging")
    yield from itertools.product((0.5, 0.2, 0.07), (20000,), (1.0, 4.0, 100.0), recipes)


#: Linear designs: n, d, true coefficients, epsilon, whether sparsity is given, columns, and how far bounds are too wide.
DESIGNS: dict[str, tuple[int, int, int | None, float, bool, str, float, float]] = {
    "d 20": (5000, 20, None, 1.0, False, "uniform", 1.0, 1.0),
    "d 20, target x10": (5000, 20, None, 1.0, False, "uniform", 1.0, 10.0),
    "d 20, features x10": (5000, 20, None, 1.0, False, "uniform", 10.0, 1.0),
    "d 20, eps .25": (5000, 20, None, 0.25, False, "uniform", 1.0, 1.0),
    "d 500, 10 true": (5000, 500, 10, 1.0, False, "uniform", 1.0, 1.0),
    "d 500, 10 true, given": (5000, 500, 10, 1.0, True, "uniform", 1.0, 1.0),
    "d 500, 10 true, eps .25": (5000, 500, 10, 0.25, False, "uniform", 1.0, 1.0),
    "d 100, 10 true": (5000, 100, 10, 1.0, False, "uniform", 1.0, 1.0),
    "t2.5, d 300": (5000, 300, 10, 1.0, False, "t", 1.0, 1.0),
    "counts, d 300": (5000, 300, 10, 1.0, False, "counts", 1.0, 1.0),
    "rare, d 300": (5000, 300, 10, 1.0, False, "rare", 1.0, 1.0),
    "rare, d 300, given": (5000, 300, 10, 1.0, True, "rare", 1.0, 1.0),
    "rare, d 300, eps 4": (5000, 300, 10, 4.0, False, "rare", 1.0, 1.0),
    "rare, d 300, given, eps 4": (5000, 300, 10, 4.0, True, "rare", 1.0, 1.0),
    "dense d 200": (10000, 200, None, 1.0, False, "uniform", 1.0, 1.0),
    "AR .9, d 500": (5000, 500, 10, 1.0, False, "ar", 1.0, 1.0),
}


def design(name: str, seed: int) -> list[float]:
    """Mean squared error of the predicted mean, over the variance of the true one."""
    n, d, true, epsilon, given, kind, wide, high = DESIGNS[name]
    g = np.random.default_rng(900 + seed)
    m = n + 2000
    X, low, top = _design_columns(kind, m, d, g)
    w = np.zeros(d)
    at = g.permutation(d)[: true or d]
    w[at] = g.normal(size=d) if true is None else g.choice([-1, 1], true) * g.uniform(0.5, 1, true)
    score = (X - X.mean(0)) @ w
    score /= score.std()
    y = score + 0.5 * g.standard_normal(m)
    middle, half = (low + top) / 2, (top - low) / 2 * wide
    model = SparseRegressor(
        epsilon=epsilon,
        delta=DELTA,
        feature_bound=(middle - half, middle + half),
        target_bound=4.0 * high,
        sparsity=true if given else None,
        random_state=seed,
    ).fit(X[:n], y[:n])
    return [float(np.mean((model.predict(X[n:]) - score[n:]) ** 2))]


def _design_columns(kind: str, m: int, d: int, g: np.random.Generator) -> tuple[np.ndarray, float, float]:
    if kind == "t":
        return np.clip(g.standard_t(2.5, size=(m, d)) / 3, -5, 5), -5.0, 5.0
    if kind == "counts":
        return np.minimum(g.poisson(1.0, (m, d)), 10).astype(float), 0.0, 10.0
    if kind == "rare":
        return (g.uniform(size=(m, d)) < 0.02).astype(float), 0.0, 1.0
    if kind == "ar":
        Z = g.standard_normal((m, d))
        for j in range(1, d):
            Z[:, j] = 0.9 * Z[:, j - 1] + np.sqrt(1 - 0.81) * Z[:, j]
        return np.clip(Z / 3, -1, 1), -1.0, 1.0
    return g.uniform(-1, 1, (m, d)), -1.0, 1.0


def averaging(target: str, kind: str, n: int, epsilon: float, sparsity: int | None, seed: int) -> list[float]:
    """Error of `dual_averaging` over the constant predictor's, on 2,000 rows that were not fitted."""
    g = np.random.default_rng(611 + 13 * seed + n)
    X, bounds = _averaged_columns(kind, n + 2000, g)
    d = X.shape[1]
    w = np.zeros(d)
    w[g.choice(min(d, 400), min(d, 100), replace=False)] = g.standard_normal(min(d, 100))
    score = X @ w
    score = (score - score.mean()) / score.std()
    given = {
        "epsilon": epsilon,
        "delta": DELTA,
        "recipe": "dual_averaging",
        "sparsity": sparsity,
        "random_state": int(g.integers(2**31)),
    }
    if target == "numbers":
        y = 0.5 + score + 0.6 * g.standard_normal(n + 2000)
        model = SparseRegressor(target_bound=4.0, **bounds, **given).fit(X[:n], y[:n])
        return [float(np.mean((model.predict(X[n:]) - y[n:]) ** 2) / y[n:].var())]
    if target == "classes":
        y = (g.uniform(size=n + 2000) < 1 / (1 + np.exp(0.7 - 2.5 * score))).astype(int)
        model = SparseClassifier(classes=[0, 1], **bounds, **given).fit(X[:n], y[:n])
        return [deviance(model.decision_function(X[n:]), y[n:])]
    y = np.searchsorted([-1.0, 0.0, 0.6], score + 0.3 * g.standard_normal(n + 2000))
    model = SparseClassifier(classes=[0, 1, 2, 3], **bounds, **given).fit(X[:n], y[:n])
    shares = np.bincount(y[n:]) / 2000
    logs = np.log(model.predict_proba(X[n:])[np.arange(2000), y[n:]])
    return [float(-logs.mean() / -(shares * np.log(shares)).sum())]


def _averaged_columns(kind: str, m: int, g: np.random.Generator) -> tuple[sparse.csr_matrix | np.ndarray, dict]:
    """Documents of unit length over 2,000 words; or uniform columns, 20 or 200."""
    if kind == "text":
        parts = 1 / (np.arange(2000) + 3.0)
        X = sparse.csr_matrix((g.uniform(size=(m, 2000)) < np.minimum(0.9, 9 * parts)).astype(float))
        X = sparse.csr_matrix(X.multiply(1 / np.sqrt(np.maximum(X.sum(axis=1), 1))))
        return X, {"row_norm": 1.0, "feature_bound": (0.0, 1.0)}
    return g.uniform(-1, 1, (m, int(kind))), {"feature_bound": 1.0}


def averaging_cells() -> Iterator[Cell]:
    """Kinds of targets and columns, and rows from hopeless to enough; sparsity in every third cell."""
    kinds, targets = ("text", "20", "200"), ("numbers", "classes", "many")
    grid = itertools.product(targets, kinds, (50, 200, 600, 2000, 6000), (0.5, 2.0))
    for i, (target, kind, n, epsilon) in enumerate(grid):
        yield target, kind, n, epsilon, 10 if i % 3 == 2 else None


def table(name: str, epsilon: float, seed: int) -> list[float]:
    """Error over the constant's (and slope, mean probability over the share) on a third of a public table."""
    load = {"diabetes": load_diabetes, "breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
    X, y = load[name](return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    n = 2 * len(y) // 3
    low, high = np.quantile(X, 0.01, axis=0), np.quantile(X, 0.99, axis=0)
    high = np.where(high > low, high, low + 1)
    given = {"epsilon": epsilon, "delta": DELTA, "feature_bound": (low, high), "random_state": seed}
    if name == "diabetes":
        model = SparseRegressor(target_bound=200.0, target_center=150.0, **given).fit(X[:n], y[:n])
        return [float(np.mean((model.predict(X[n:]) - y[n:]) ** 2) / y[n:].var())]
    y = (y == 1).astype(int) if name != "digits" else (y % 2).astype(int)
    model = SparseClassifier(classes=[0, 1], **given).fit(X[:n], y[:n])
    slope, shift, error = told(model.decision_function(X[n:]), y[n:])
    return [error, slope, shift]


def table_cells() -> Iterator[Cell]:
    """Four tables of scikit-learn that chose no constant."""
    yield from itertools.product(("diabetes", "breast cancer", "wine", "digits"), (1.0, 4.0))


def summary_of_grid(found: dict[Cell, list[list[float]]]) -> None:
    """How often an error exceeds the constant's."""
    for target in ("numbers", "classes"):
        cells = {cell: np.array(v)[:, 0] for cell, v in found.items() if cell[0] == target}
        errors = np.concatenate(list(cells.values()))
        worst = max(cells, key=lambda cell: float(cells[cell].mean()))
        print(
            f"{target}: {errors.size} fits, above 3: {np.mean(errors > 3):.2%}, above 2: {np.mean(errors > 2):.2%}, "
            f"above 1.05: {np.mean(errors > 1.05):.1%}, largest {errors.max():.3g}, "
            f"mean (cut at 2) {np.minimum(errors, 2).mean():.3f}; "
            f"largest mean of a cell {cells[worst].mean():.3f} {worst[1:]}, "
            f"cells above 1.05: {sum(v.mean() > 1.05 for v in cells.values())} of {len(cells)}"
        )


def summary(found: dict[Cell, list[list[float]]]) -> None:
    """Means and standard errors."""
    for cell, values in found.items():
        held = np.array(values)
        error = held.std(axis=0, ddof=1) / np.sqrt(len(held)) if len(held) > 1 else np.full(held.shape[1], np.nan)
        told = ", ".join(f"{m:.4g} ({e:.2g})" for m, e in zip(held.mean(axis=0), error, strict=True))
        print(" ".join(map(str, cell)), "  ", told)


STUDIES: dict[str, tuple[Callable[..., list[float]], Callable[[], Iterator[Cell]], Callable[..., None]]] = {
    "grid": (safety, safety_cells, summary_of_grid),
    "calibration": (calibration, calibration_cells, summary),
    "designs": (design, lambda: ((name,) for name in DESIGNS), summary),
    "averaging": (averaging, averaging_cells, summary),
    "tables": (table, table_cells, summary),
}


def main() -> None:
    """Run a study, or what is left of it, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=None)
    given = parser.parse_args()
    run, cells, show = STUDIES[given.study]
    done: dict[tuple[Cell, int], list[float]] = {}
    if given.store is not None and given.store.exists():
        for line in given.store.read_text().splitlines():
            cell, seed, value = json.loads(line)
            done[tuple(cell), seed] = value
    found: dict[Cell, list[list[float]]] = defaultdict(list)
    warnings.simplefilter("ignore")
    for seed, cell in itertools.product(range(given.first_seed, given.first_seed + given.seeds), cells()):
        if (cell, seed) not in done:
            done[cell, seed] = run(*cell, seed)
            if given.store is not None:
                with given.store.open("a") as file:
                    file.write(json.dumps([cell, seed, done[cell, seed]]) + "\n")
        found[cell].append(done[cell, seed])
    show(found)


if __name__ == "__main__":
    main()
