"""The settings on which methods are compared: synthetic ones as generators, real ones from downloaded files."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Setting:
    """Data with what a user would declare about it. `truth` is None for real data; `test` is (X, y) or None."""

    X: Any
    y: Any
    bounds: dict[str, Any]
    task: str
    sparsity: int | None
    truth: np.ndarray | None = None
    test: tuple[Any, Any] | None = None


def _outcome(task: str, margin: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if task == "regression":
        return margin + math.sqrt(0.1) * rng.standard_normal(margin.size)
    return (rng.random(margin.size) < 1 / (1 + np.exp(-margin))).astype(int)


def _truth(d: int, s: int, rng: np.random.Generator) -> np.ndarray:
    w = np.zeros(d)
    w[rng.choice(d, s, replace=False)] = rng.uniform(-1, 1, s)
    return w


def paper_000(task: str, n: int, d: int, s: int, seed: int) -> Setting:
    """Entries U(-2,2), rows scaled to l2 norm at most 2s."""
    rng = np.random.default_rng(seed)
    row_norm = 2.0 * s
    entry = 2 * min(1.0, 2.2 * s / math.sqrt(4 * d / 3))
    X = rng.uniform(-2, 2, (n, d))
    X *= np.minimum(1.0, row_norm / np.linalg.norm(X, axis=1))[:, None]
    np.clip(X, -entry, entry, out=X)
    truth = _truth(d, s, rng)
    bounds: dict[str, Any] = {"row_norm": row_norm, "feature_bound": entry}
    if task == "regression":
        bounds["target_bound"] = 3 * math.sqrt(row_norm**2 * s / (3 * d) + 0.1)
    return Setting(X, _outcome(task, X @ truth, rng), bounds, task, s, truth)


def paper_001(task: str, n: int, d: int, s: int, seed: int) -> Setting:
    """Entries U(-1,1)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    truth = _truth(d, s, rng)
    bounds: dict[str, Any] = {"row_norm": 1.05 * math.sqrt(d / 3), "feature_bound": 1.0}
    if task == "regression":
        bounds["target_bound"] = 3 * math.sqrt(s / 9 + 0.1)
    return Setting(X, _outcome(task, X @ truth, rng), bounds, task, s, truth)


#: Name: (generator, task, n, d, s).
SYNTHETIC = {
    "000-lin-i": (paper_000, "regression", 1000, 1000, 10),
    "000-lin-ii": (paper_000, "regression", 5000, 5000, 30),
    "000-log-i": (paper_000, "classification", 1000, 1000, 10),
    "000-log-ii": (paper_000, "classification", 5000, 5000, 30),
    "001-lin-i": (paper_001, "regression", 800, 1000, 10),
    "001-lin-ii": (paper_001, "regression", 4000, 5000, 50),
    "001-log-i": (paper_001, "classification", 800, 1000, 10),
    "001-log-ii": (paper_001, "classification", 4000, 5000, 50),
}


def synthetic(name: str, seed: int) -> Setting:
    """A synthetic setting by name."""
    make, task, n, d, s = SYNTHETIC[name]
    return make(task, n, d, s, seed)


def data_folder() -> Path | None:
    """Where downloaded datasets are: $DPSPARSE_DATA, or ../shared/data beside the project; None if neither exists."""
    candidates = [os.environ.get("DPSPARSE_DATA"), Path(__file__).resolve().parents[2] / "shared" / "data"]
    return next((Path(c) for c in candidates if c and Path(c).is_dir()), None)


def parts_of(name: str) -> tuple[tuple[Any, Any], tuple[Any, Any] | None]:
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"dataset {name!r}: set DPSPARSE_DATA to the folder that holds {name}.npz.")
    with np.load(folder / f"{name}.npz", allow_pickle=False) as z:

        def part(suffix: str) -> tuple[Any, Any] | None:
            if "X" + suffix in z.files:
                return z["X" + suffix], z["y" + suffix]
            if "data" + suffix in z.files:
                shape = tuple(z["shape" + suffix])
                csr = (z["data" + suffix], z["indices" + suffix], z["indptr" + suffix])
                return sp.csr_matrix(csr, shape=shape), z["y" + suffix]
            return None

        train = part("")
        assert train is not None
        return train, part("_test")


def unit_rows(X: Any, log: bool = True) -> Any:
    """log1p, then every row divided by its l2 norm: looks at one record at a time, so it is free."""
    X = X.astype(float).copy()
    if log:
        X.data = np.log1p(X.data)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / np.maximum(norms, 1e-300)) @ X)


def news20(sparsity: int = 500) -> Setting:
    """20 Newsgroups, class <= 10."""
    (X, y), _ = parts_of("news20")
    X, y = unit_rows(X), (y <= 10).astype(int)
    order = np.random.default_rng(0).permutation(X.shape[0])
    cut = int(0.8 * order.size)
    train, test = order[:cut], order[cut:]
    return Setting(X[train], y[train], {"row_norm": 1.0}, "classification", sparsity, test=(X[test], y[test]))


def imdb(sparsity: int = 500, log: bool = True) -> Setting:
    """IMDB reviews, rating > 5; raw counts with ``log=False``."""
    (X, y), test = parts_of("imdb")
    assert test is not None
    train = unit_rows(X, log), (y > 5).astype(int)
    held = unit_rows(test[0], log), (test[1] > 5).astype(int)
    return Setting(*train, {"row_norm": 1.0}, "classification", sparsity, test=held)


def split_rows(X: Any, y: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """80/20 by a fixed permutation."""
    order = np.random.default_rng(0).permutation(X.shape[0])
    cut = int(0.8 * order.size)
    return (X[order[:cut]], y[order[:cut]]), (X[order[cut:]], y[order[cut:]])


def unit_text(name: str, sparsity: int = 500) -> Setting:
    """Text that comes with rows of length 1: reuters_moneyfx, rcv1_sample."""
    (X, y), test = parts_of(name)
    assert test is not None
    held = test[0].astype(float), (test[1] > 0).astype(int)
    return Setting(X.astype(float), (y > 0).astype(int), {"row_norm": 1.0}, "classification", sparsity, test=held)


def basehock(sparsity: int = 500) -> Setting:
    """Two newsgroups, log1p and unit rows."""
    (X, y), _ = parts_of("basehock")
    (X, y), test = split_rows(unit_rows(X), (y > 0).astype(int))
    return Setting(X, y, {"row_norm": 1.0}, "classification", sparsity, test=test)


#: Centre and bound of the outcome, as a data dictionary would have them: house values in 100,000; melting points in C.
TARGETS = {"california": (2.75, 2.25), "meltingpoint": (180.0, 140.0)}


def table(name: str, sparsity: int | None = None, rows: int | None = None) -> Setting:
    """A table whose columns are clipped to the bounds of bounds.json and mapped to [-1, 1].

    california, meltingpoint (regression), covtype, madelon (classes). The bounds stand in for a data dictionary: 2 % and
    98 % quantiles rounded to two digits (three where two would move a bound by a tenth of the range). `rows`: only so many, by a fixed permutation.
    """
    X, y, bounds, task = mapped(name, rows)
    train, test = split_rows(X, y)
    return Setting(*train, bounds, task, sparsity, test=test)


def mapped(
    name: str, rows: int | None = None, *, every: bool = False
) -> tuple[np.ndarray, np.ndarray, dict[str, Any], str]:
    """The rows of `table` before they are split; `every`: with those of the file's own test part."""
    (X, y), more = parts_of(name)
    if every and more is not None:
        X, y = np.vstack([X, more[0]]), np.concatenate([y, more[1]])
    if rows is not None:
        few = np.random.default_rng(1).permutation(X.shape[0])[:rows]
        X, y = X[few], y[few]
    declared = json.loads((Path(__file__).parent / "bounds.json").read_text())[name]
    low, high = np.array(declared["lower"]), np.array(declared["upper"])
    X = np.clip((X - low) / (high - low) * 2 - 1, -1, 1)
    bounds: dict[str, Any] = {"feature_bound": 1.0}
    if name in TARGETS:
        center, bound = TARGETS[name]
        bounds |= {"target_center": center, "target_bound": bound}
        task, y = "regression", y.astype(float)
    else:
        task, y = "classification", (y > 0).astype(int)
    return X, y, bounds, task


def a9a(sparsity: int | None = None) -> Setting:
    """Census income: 0/1 columns, dense."""
    (X, y), test = parts_of("a9a")
    assert test is not None
    held = test[0].toarray(), (test[1] > 0).astype(int)
    return Setting(
        X.toarray(), (y > 0).astype(int), {"feature_bound": (0.0, 1.0)}, "classification", sparsity, test=held
    )


def digits(name: str = "mnist", rows: int | None = None, sparsity: int | None = None) -> Setting:
    """Pixels over 255: odd or even digits (mnist), or pneumonia (pneumonia_mnist)."""
    (X, y), test = parts_of(name)
    assert test is not None
    if rows is not None:
        few = np.random.default_rng(0).permutation(X.shape[0])[:rows]
        X, y = X[few], y[few]

    def label(v: Any) -> Any:
        return (v % 2 if name == "mnist" else v > 0).astype(int)

    bounds = {"feature_bound": (0.0, 1.0)}
    return Setting(X / 255.0, label(y), bounds, "classification", sparsity, test=(test[0] / 255.0, label(test[1])))


def genomic(name: str, seed: int, sparsity: int | None = None) -> Setting:
    """Few records with thousands of genes: arcene, colon, golub_leukemia, riboflavin; a random 80/20 split.

    Genes are ranked within each record and ranks mapped to [-1, 1]: looks at one record at a time, so it is free.
    """
    (X, y), more = parts_of(name)
    if more is not None:
        X, y = np.vstack([X, more[0]]), np.concatenate([y, more[1]])
    ranks = np.argsort(np.argsort(X, axis=1, kind="stable"), axis=1)
    X = 2 * ranks / (X.shape[1] - 1) - 1.0
    bounds: dict[str, Any] = {"feature_bound": 1.0}
    task = "classification"
    if name == "riboflavin":
        task = "regression"
        bounds |= {"target_center": -7.5, "target_bound": 2.5}
    else:
        y = (y > 0).astype(int)
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[: int(0.8 * y.size)], order[int(0.8 * y.size) :]
    return Setting(X[train], y[train], bounds, task, sparsity, test=(X[test], y[test]))


def held_out_error(model: Any, setting: Setting) -> float:
    """Misclassification rate on the test rows, or mean squared error over their variance."""
    assert setting.test is not None
    X, y = setting.test
    if setting.task == "classification":
        return float(1 - model.score(X, y))
    return float(np.mean((model.predict(X) - y) ** 2) / np.var(y))


def fit(setting: Setting, *, epsilon: float, delta: float, recipe: Any = "auto", **options: Any) -> Any:
    """Fit the estimator for a setting with its declared bounds."""
    from dpsparse import SparseClassifier, SparseRegressor

    estimator = SparseRegressor if setting.task == "regression" else SparseClassifier
    options = {"fit_intercept": False, "sparsity": setting.sparsity, **setting.bounds, **options}
    return estimator(epsilon=epsilon, delta=delta, recipe=recipe, **options).fit(setting.X, setting.y)


def relative_error(model: Any, setting: Setting) -> float:
    """Distance to the truth over its norm."""
    assert setting.truth is not None
    return float(np.linalg.norm(np.ravel(model.coef_) - setting.truth) / np.linalg.norm(setting.truth))
