"""What a count of cells that were not understood costs in accuracy: 2 % of the budget against none, paired.

    python -m benchmarks.check_cells_cost [--seeds 30] [--epsilon 1]

Three tables go through their dictionaries (`TableEncoder`) to the default recipe, with `check_cells=0.02` and without, for the same rows. Every seed
draws fresh rows, or another split of the measured table, and fresh noise. Printed for each table: the mean of (error with - error without) as a part of
the error without, its standard error, and z, their quotient. Errors are log-loss or squared error on held-out rows. Nothing is misread here, so no
coefficient is dropped: the difference is the price alone. Fits are seeded, hence not private.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[Any]
Table = tuple[pd.DataFrame, Array]


def patients(rng: np.random.Generator) -> Table:
    """8,000 patients: numbers, categories, gaps; two classes."""
    n = 8000
    age, crp = rng.normal(62, 12, n), rng.lognormal(2, 1, n)
    stage = rng.choice(["I", "II", "III", "IV"], n)
    frame = pd.DataFrame({"age": age, "crp": np.where(rng.random(n) < 0.1, np.nan, crp), "stage": stage})
    frame = frame.assign(sex=rng.choice(["f", "m"], n), smoker=rng.choice(["yes", "no", ""], n))
    margin = 0.05 * (age - 62) + 0.03 * (crp - 10) + 1.2 * (stage == "IV")
    return frame, np.where(rng.random(n) < 1 / (1 + np.exp(-margin)), "yes", "no")


def costs(rng: np.random.Generator) -> Table:
    """12,000 numbers to predict from 20 columns, six of which matter."""
    X = rng.uniform(-1, 1, (12_000, 20))
    y = X[:, :6] @ np.array([0.5, -0.4, 0.3, 0.3, -0.2, 0.2]) + 0.3 * rng.standard_normal(12_000)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]), np.clip(y, -3, 3)


def diagnosis(rng: np.random.Generator) -> Table:
    """569 measured cell nuclei (scikit-learn's breast cancer data), 30 columns, two classes."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    return data.data, np.where(data.target == 1, "yes", "no")


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    "patients": patients,
    "costs": costs,
    "diagnosis": diagnosis,
}


def dictionary(frame: pd.DataFrame) -> Any:
    """Bounds of two figures around what the columns can hold; from the data, which a benchmark may."""
    from dpsparse.tables import Column, Dictionary

    columns = []
    for name in frame.columns:
        if frame[name].dtype.kind == "f":
            low, high = (float(f"{v:.2g}") for v in frame[name].quantile([0.01, 0.99]))
            columns.append(Column(name=name, kind="number", bounds=(low, high)))
        elif name == "smoker":
            columns.append(Column(name=name, kind="boolean"))
        else:
            columns.append(Column(name=name, kind="category", categories=sorted(set(frame[name]))))
    return Dictionary(columns)


def error(table: Table, share: float | None, epsilon: float, seed: int) -> float:
    """Log-loss or squared error of one fit, on the half of the rows that it has not seen."""
    from sklearn.metrics import log_loss

    from dpsparse import SparseClassifier, SparseRegressor
    from dpsparse.tables import TableEncoder

    frame, y = table
    order = np.random.default_rng([seed, 2]).permutation(len(frame))
    fit, held = np.split(order, 2) if len(order) % 2 == 0 else (order[: len(order) // 2], order[len(order) // 2 :])
    encoder = TableEncoder(dictionary(frame)).fit(frame)
    rows, fresh = (encoder.transform(frame.iloc[part]) for part in (fit, held))
    options: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6, "check_cells": share, "random_state": seed}
    if y.dtype.kind == "f":
        found = SparseRegressor(target_bound=3.0, **options).fit(rows, y[fit]).predict(fresh)
        return float(np.mean((found - y[held]) ** 2))
    model = SparseClassifier(classes=["no", "yes"], **options).fit(rows, y[fit])
    return float(log_loss(y[held], model.predict_proba(fresh), labels=model.classes_))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, make in TABLES.items():
        pairs = np.array(
            [
                [error(table, share, options.epsilon, seed) for share in (0.02, None)]
                for seed in range(options.seeds)
                for table in [make(np.random.default_rng([seed, 1]))]
            ]
        )
        change = (pairs[:, 0] - pairs[:, 1]) / pairs[:, 1].mean()
        off = change.std(ddof=1) / np.sqrt(options.seeds)
        print(
            f"{name:10s} {100 * change.mean():+6.2f} % of the error, standard error {100 * off:.2f} %, z {change.mean() / off:+.1f}"
        )


if __name__ == "__main__":
    main()
