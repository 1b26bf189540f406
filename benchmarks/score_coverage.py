"""How often the intervals of `private_score` contain the truth: `python -m benchmarks.score_coverage [simulations]`.

Models are fixed and public; what is drawn in each simulation are the rows that score them, and the noise. The truth is the score on a population of
two million rows, clipped losses and all. Every interval is stated at 95 %.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from dpsparse import SparseClassifier, SparseRegressor, private_score
from dpsparse.core import NonPrivateRandomnessWarning
from dpsparse.estimators.score import ScoreCard
from dpsparse.estimators.score.score import LARGEST_LOG_LOSS

POPULATION = 2_000_000
SIMULATIONS = 1000
CLASSIFICATION = ("accuracy", "balanced_accuracy", "log_loss", "brier", "auc", "calibration")
REGRESSION = ("r2", "mean_absolute_error")

Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A model, how rows come about, and how many of them score it at which epsilon."""

    name: str
    model: SparseClassifier | SparseRegressor
    draw: Callable[[np.random.Generator, int], Rows]
    rows: int
    epsilon: float
    metrics: tuple[str, ...]
    share: dict[str, float] | None = None


def classifier(coef: list[float], intercept: float) -> SparseClassifier:
    """A model that was not fitted: its coefficients are public."""
    model = SparseClassifier(feature_bound=1.0, classes=[0, 1])
    model.coef_, model.intercept_, model.classes_ = np.array([coef]), np.array([intercept]), np.array([0, 1])
    model.n_features_in_ = len(coef)
    return model


def regressor(coef: list[float], bound: float) -> SparseRegressor:
    model = SparseRegressor(feature_bound=1.0, target_bound=bound)
    model.coef_, model.intercept_, model.n_features_in_ = np.array(coef), 0.0, len(coef)
    return model


def classes(signal: float, base: float) -> Callable[[np.random.Generator, int], Rows]:
    def draw(rng: np.random.Generator, n: int) -> Rows:
        X = rng.uniform(-1, 1, (n, 3))
        return X, (rng.random(n) < expit(signal * X[:, 0] - 0.5 * signal * X[:, 1] + base)).astype(int)

    return draw


def numbers(rng: np.random.Generator, n: int) -> Rows:
    X = rng.uniform(-1, 1, (n, 3))
    return X, X[:, 0] - X[:, 1] + 0.7 * rng.standard_normal(n)


CASES = (
    Case("even classes, 2,000 rows", classifier([2.5, -1.0, 0.3], 0.1), classes(3.0, 0.0), 2000, 1.0, CLASSIFICATION),
    Case("rare class, 6,000 rows", classifier([1.5, -1.0, 0.0], -2.2), classes(2.0, -2.5), 6000, 2.0, CLASSIFICATION),
    Case(
        "small margins, 4,000 rows", classifier([0.05, -0.02, 0.0], 0.02), classes(2.0, 0.0), 4000, 1.0, CLASSIFICATION
    ),
    Case("numbers, 1,000 rows", regressor([0.9, -0.8, 0.1], 4.0), numbers, 1000, 2.0, REGRESSION),
    Case("numbers, 10,000 rows", regressor([0.9, -0.8, 0.1], 4.0), numbers, 10_000, 1.0, REGRESSION),
)


def truth(case: Case, bins: int = 10, population: int = POPULATION) -> dict[str, float]:
    """Scores on the population."""
    X, y = case.draw(np.random.default_rng(1), population)
    if case.metrics == REGRESSION:
        bound = case.model.target_bound
        y = np.clip(y, -bound, bound)
        residual = np.clip(np.abs(y - case.model.predict(X)), 0, bound)
        return {"r2": 1 - np.mean(residual**2) / np.var(y), "mean_absolute_error": float(residual.mean())}
    p = case.model.predict_proba(X)[:, 1]
    right = (p > 0.5) == y
    found = {
        "accuracy": right.mean(),
        "balanced_accuracy": (right[y == 0].mean() + right[y == 1].mean()) / 2,
        "log_loss": np.minimum(-np.log(np.where(y, p, 1 - p)), LARGEST_LOG_LOSS).mean(),
        "brier": np.mean((p - y) ** 2),
        "auc": roc_auc_score(y, p),
    }
    place = np.minimum((p * bins).astype(int), bins - 1)
    found |= {f"calibration {b}": y[place == b].mean() for b in range(bins) if np.any(place == b)}
    return {name: float(value) for name, value in found.items()}


def intervals(card: ScoreCard) -> dict[str, tuple[float, float, float]]:
    """Value, and ends of the interval; of those bins of a calibration curve that were told from empty ones."""
    found = {score.metric: (score.value, score.low, score.high) for score in card}
    for b, point in enumerate(card.curve):
        if not np.isnan(point.observed):
            found[f"calibration {b}"] = (point.observed, point.low, point.high)
    return found


def coverage(case: Case, simulations: int = SIMULATIONS, population: int = POPULATION) -> dict[str, dict[str, float]]:
    """For each metric: how often its interval holds the truth, how wide it is, and in how many simulations it was told."""
    true = truth(case, population=population)
    held: dict[str, list[tuple[bool, float, float]]] = {}
    for seed in range(simulations):
        X, y = case.draw(np.random.default_rng([seed, 2]), case.rows)
        card = private_score(case.model, X, y, case.metrics, case.epsilon, 1e-6, shares=case.share, random_state=seed)
        for name, (value, low, high) in intervals(card).items():
            if name in true and not np.isnan(value):
                held.setdefault(name, []).append((low <= true[name] <= high, high - low, value - true[name]))
    table = {}
    for name, found in held.items():
        inside, width, error = (np.array(column, dtype=float) for column in zip(*found, strict=True))
        table[name] = {"coverage": inside.mean(), "width": width.mean(), "bias": error.mean(), "told": inside.size}
    return table


def main(simulations: int = SIMULATIONS) -> None:
    warnings.simplefilter("ignore", NonPrivateRandomnessWarning)
    for case in CASES:
        table = coverage(case, simulations)
        curve = [v for name, v in table.items() if name.startswith("calibration") and v["told"] >= simulations / 2]
        if curve:
            told = sum(v["told"] for v in curve)
            table["calibration"] = {
                key: sum(v[key] * v["told"] for v in curve) / told for key in ("coverage", "width", "bias")
            } | {"told": told}
        for name in case.metrics:
            row = {key: round(value, 4) for key, value in table.get(name, {}).items()}
            print(json.dumps({"case": case.name, "epsilon": case.epsilon, "metric": name, **row}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SIMULATIONS)
