"""Do intervals on real tables contain what least squares or logistic regression finds without privacy? `python -m benchmarks.coverage.tables --fits 40`.

The estimate without privacy is on all rows of the table and on the selected columns. Results are added to the file of `benchmarks.coverage`, and its page is written anew.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import norm

from benchmarks.coverage.fits import DELTA, LEVELS, Record
from benchmarks.coverage.page import write
from benchmarks.coverage.store import FILE, Store
from benchmarks.tables import sets, sources
from dpsparse import SparseClassifier, SparseRegressor

#: Tables with fewer rows are left out.
LEAST_ROWS = 2000
EPSILONS = (1.0, 4.0)
#: The first seed; seeds below it were looked at while constants were chosen.
FIRST = 1_000


def plain(X: np.ndarray, y: np.ndarray, *, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, the intercept last, and robust standard errors, by as many Newton steps as it takes."""
    D = np.column_stack([X, np.ones(len(X))])
    b = np.zeros(D.shape[1])
    for _ in range(30 if classes else 1):
        p = 1 / (1 + np.exp(-np.clip(D @ b, -30, 30))) if classes else D @ b
        bend = p * (1 - p) if classes else np.ones(len(y))
        inverse = np.linalg.pinv((D * bend[:, None]).T @ D)
        step = inverse @ (D.T @ (y - p))
        b = b + step
        if np.abs(step).max() < 1e-9:
            break
    r = y - (1 / (1 + np.exp(-np.clip(D @ b, -30, 30))) if classes else D @ b)
    return b, np.sqrt(np.diag(inverse @ ((D * r[:, None] ** 2).T @ D) @ inverse))


def one(table: sets.Table, epsilon: float, seed: int) -> Record:
    """One fit, and how many of its intervals contain the estimate without privacy."""
    classes = table.kind != "regression"
    given = {
        "epsilon": epsilon,
        "delta": DELTA,
        "feature_bound": (table.lower, table.upper),
        "intervals": "split",
        "random_state": seed,
    }
    if classes:
        model = SparseClassifier(classes=[0, 1], **given).fit(table.X, table.y.astype(int))
    else:
        model = SparseRegressor(target_center=table.center, target_bound=table.bound, **given).fit(table.X, table.y)
    found = model.intervals_
    m = len(found.columns)
    if m == 0:
        return {"m": 0, "flag": found.flag}
    estimate, error = plain(table.X[:, found.columns], table.y, classes=classes)
    off = np.abs(found.estimate[:m] - estimate[:m]) / found.standard_error[:m]
    record: Record = {"m": m, "flag": found.flag}
    record |= {f"in {level:g}": int(np.sum(off <= norm.isf((1 - level) / 2))) for level in LEVELS}
    ratios = found.standard_error[:m] / np.maximum(error[:m] * math.sqrt(2), 1e-300)
    return record | {"width": float(np.median(ratios))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    for name in given.only or sources.names():
        try:
            table = sets.load(name, 0)
        except FileNotFoundError as missing:
            print(f"{name}: {missing}")
            continue
        if len(table.y) < LEAST_ROWS:
            continue
        for epsilon in EPSILONS:
            store, start = Store(given.out), time.process_time()
            key = f"real: {name} n={len(table.y)} d={table.X.shape[1]} epsilon={epsilon:g}"
            left = [seed for seed in range(FIRST, FIRST + given.fits) if seed not in store.seeds(key)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = {seed: one(table, epsilon, seed) for seed in left}
            if found:
                store.add(key, found)
                print(f"{key}: {given.fits} fits, {(time.process_time() - start) / len(left):.2f} s each", flush=True)
    write(Store(given.out))


if __name__ == "__main__":
    main()
