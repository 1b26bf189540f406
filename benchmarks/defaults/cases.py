"""Data, what is declared about it, and how a model is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import settings
from dpsparse.queries import losses

#: Recipes of the papers, and the twin without privacy of the same algorithm, where there is one.
TWINS: dict[str, str | None] = {
    "dp_ight": "ight",
    "dp_sgd_ht": "sgd_ht",
    "dp_scsg_ht": "scsg_ht",
    "dp_svrg_ht": "svrg_ht",
    "dp_gcd": "gcd",
    "dp_cd": None,
    "dp_sgd": None,
    "dp_frank_wolfe": None,
    "two_stage": None,
    "dpsl_kt": None,
    "lazy_iht": None,
    "ldp_iht": None,
}


@dataclass(frozen=True)
class Case:
    """Rows, bounds, and `judge`: what a model loses on each test row (or one number); `constant` is what a constant loses."""

    X: Any
    y: np.ndarray
    task: str
    declared: dict[str, Any]
    judge: Callable[[Any], np.ndarray]
    constant: float
    options: dict[str, Any] = field(default_factory=dict)


def of(setting: settings.Setting, sparsity: int) -> Case:
    """A setting with held-out rows: wrong classes, or squares over the variance of the target."""
    assert setting.test is not None
    X, y = setting.test[0], np.asarray(setting.test[1])
    if setting.task == "classification":
        constant = float(np.mean(y != int(np.mean(setting.y) > 0.5)))
    else:
        constant = float(np.mean((y - np.mean(setting.y)) ** 2) / np.var(y))

    def judge(model: Any) -> np.ndarray:
        found = np.asarray(model.predict(X))
        return (found != y).astype(float) if setting.task == "classification" else (found - y) ** 2 / np.var(y)

    return Case(setting.X, setting.y, setting.task, {**setting.bounds, "sparsity": sparsity}, judge, constant)


def imdb_rating(rows: int) -> Case:
    """Ratings from 1 to 10, log1p counts in unit rows: the stand-in for E2006; half the squared error, as in the paper."""
    (X, y), test = settings.parts_of("imdb")
    assert test is not None
    few = np.random.default_rng(0).permutation(y.size)
    train, held = few[:rows], few[:5000]
    X, y, other, truth = X[train], y[train].astype(float), test[0][held], test[1][held].astype(float)
    X, other = settings.unit_rows(X), settings.unit_rows(other)
    declared = {"row_norm": 1.0, "target_center": 5.5, "target_bound": 4.5, "sparsity": 2000}
    constant = float(np.mean((truth - y.mean()) ** 2) / 2)
    return Case(X, y, "regression", declared, lambda m: (m.predict(other) - truth) ** 2 / 2, constant)


def planted(loss: Any, n: int, seed: int = 0, p: int = 50, s: int = 5) -> Case:
    """Rows of signs, s true coefficients from U(0.2, 0.6), and counts or numbers behind a link: relative error of the coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, p))
    truth = np.zeros(p)
    truth[:s] = rng.uniform(0.2, 0.6, s)
    margin = X @ truth
    if isinstance(loss, losses.Poisson):
        y, bound = rng.poisson(np.exp(margin)).astype(float), 10.0
    else:
        y, bound = np.tanh(margin) + rng.uniform(-0.05, 0.05, n), 1.1

    def distance(model: Any) -> np.ndarray:
        return np.array([np.linalg.norm(np.ravel(model.coef_) - truth) / np.linalg.norm(truth)])

    declared = {"feature_bound": 1.0, "target_bound": bound, "sparsity": s}
    return Case(X, y, "regression", declared, distance, 1.0, {"loss": loss, "fit_intercept": False})


#: Name: a case with at most so many rows, and how many are taken, so that all of it ends within an hour.
CASES: dict[str, tuple[Callable[[int], Case], int]] = {
    "california": (lambda rows: of(settings.table("california", rows=rows), 4), 8_000),
    "meltingpoint": (lambda rows: of(settings.table("meltingpoint", rows=rows), 20), 5_000),
    "pneumonia": (lambda rows: of(settings.digits("pneumonia_mnist", rows=rows), 200), 3_000),
    "mnist": (lambda rows: of(settings.digits(rows=rows), 100), 3_000),
    "covtype": (lambda rows: of(settings.table("covtype", rows=rows), 20), 10_000),
    "imdb rating": (imdb_rating, 4_000),
    "poisson": (lambda rows: planted(losses.Poisson(), rows), 30_000),
    "tanh": (lambda rows: planted(losses.KnownLink("tanh", target=1.1), rows), 30_000),
}
