"""Curves against lines on public tables: python -m benchmarks.shapes --out results.csv [--splits 2] [--tables ...].

For each table, epsilon and split: the held-out error of ``shapes="line"`` and of ``shapes="auto"``, that of a line and of curves
without privacy (ridge or logistic regression, curves of five terms), the number of terms, and the processor time of both fits.
Errors are mean squared errors over the variance of the target, and deviances over that of the class shares: 1 is a constant.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.fitting.shapes import with_shapes

from .tables import sets, sources

#: Tables whose columns cannot bend (0/1, pixels) or that would take most of the time.
LEFT_OUT = (
    "a9a",
    "madelon",
    "digits",
    "mnist",
    "pneumonia_mnist",
    "meltingpoint",
    "covtype",
    "InstEval",
    "diamonds",
    "NOxEmissions",
)
EPSILONS, DELTA = (1.0, 4.0), 1e-5


def error(z: np.ndarray, table: sets.Table) -> float:
    """Of predictions, or of log-odds."""
    y = table.test[1]
    if table.kind == "regression":
        return float(np.mean((z - y) ** 2) / np.var(y))
    share = float(np.mean(y))
    null = -share * np.log(share) - (1 - share) * np.log(1 - share)
    return float(np.mean(np.logaddexp(0, z) - y * z) / null)


def private(table: sets.Table, epsilon: float, shapes: str) -> tuple[float, float, int]:
    """Error, processor time and number of coefficients of a private fit."""
    bounds = {"epsilon": epsilon, "delta": DELTA, "feature_bound": (table.lower, table.upper), "shapes": shapes}
    if table.kind == "regression":
        model = SparseRegressor(target_bound=table.bound, target_center=table.center, **bounds)
    else:
        model = SparseClassifier(classes=[0, 1], **bounds)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table.X, table.y)
    spent = time.process_time() - start
    z = model.predict(table.test[0]) if table.kind == "regression" else model.decision_function(table.test[0])
    return error(z, table), spent, int(model.coef_.shape[-1])


def plain(table: sets.Table, *, curves: bool) -> float:
    """Error without privacy, of the best of four penalties on held-out rows: what is attainable."""
    return error(additive(table) if curves else _best(table, *_mapped(table)), table)


def additive(table: sets.Table) -> np.ndarray:
    """Predictions, or log-odds, of curves of five terms without privacy, with the best of four penalties on held-out rows."""
    request = SparseClassifier(feature_bound=(table.lower, table.upper), shapes="auto", recipe="lasso").request()
    basis = with_shapes(request, request.shape(*table.X.shape))[0].basis
    pair = _mapped(table) if basis is None else (basis.rows(table.X), basis.rows(table.test[0]))
    return _best(table, *pair)


def _mapped(table: sets.Table) -> tuple[np.ndarray, np.ndarray]:
    half = (table.upper - table.lower) / 2
    return (table.X - table.lower - half) / half, (table.test[0] - table.lower - half) / half


def _best(table: sets.Table, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression, Ridge

    found = []
    for strength in (1e-3, 1.0, 10.0, 100.0):
        if table.kind == "regression":
            found.append(Ridge(strength).fit(X, table.y).predict(Z))
        else:
            found.append(LogisticRegression(C=1 / strength, max_iter=500).fit(X, table.y).decision_function(Z))
    return min(found, key=lambda z: error(z, table))


def main() -> None:
    """Measure, and write one row for each table, epsilon and split."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--out", type=Path, required=True)
    reader.add_argument("--splits", type=int, default=2)
    reader.add_argument("--first", type=int, default=0, help="number of the first split")
    reader.add_argument("--tables", nargs="*")
    given = reader.parse_args()
    known = [name for name in sources.names() if name not in LEFT_OUT]
    with given.out.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [
                "table",
                "split",
                "n",
                "d",
                "epsilon",
                "line",
                "auto",
                "free line",
                "free auto",
                "terms",
                "cpu line",
                "cpu auto",
            ]
        )
        for name in given.tables or known:
            for split in range(given.first, given.first + given.splits):
                table = sets.load(name, split)
                free = plain(table, curves=False), plain(table, curves=True)
                for epsilon in EPSILONS:
                    line, auto = private(table, epsilon, "line"), private(table, epsilon, "auto")
                    row = [line[0], auto[0], *free, auto[2], line[1], auto[1]]
                    out.writerow([name, split, *table.shape, epsilon, *(round(v, 4) for v in row)])
                    file.flush()


if __name__ == "__main__":
    main()
