"""The papers' recipes with their defaults on real tables, images and text, and on counts and links.

Is any worse than a constant, or than itself with less budget?

    python -m benchmarks.defaults [--data covtype california] [--recipes dp_ight dp_sgd_ht] [--seeds 2] [--epsilons 1 4 1e4]

Nothing is tuned; an intercept is fitted. One line for a recipe: error at each epsilon (mean over noise seeds, and its standard error), the named
twin without privacy, and verdicts: *constant* where the error at epsilon 4 is above that of predicting a constant, *rises* where it grows with
epsilon by more than two standard errors, *twin* where it is more than 1 % above the twin at the largest epsilon.
Classes: part of wrong classes on test rows. Numbers: mean squared error over the variance (imdb: half the mean squared error).
Counts and links: relative error of the coefficients.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpsparse import losses

from . import settings

#: A recipe of a paper and the twin it is compared with.
TWINS = {
    "dp_ight": "ight",
    "dp_sgd_ht": "sgd_ht",
    "dp_scsg_ht": "scsg_ht",
    "dp_svrg_ht": "svrg_ht",
    "dp_gcd": "gcd",
    "dp_cd": "gcd",
    "dp_sgd": "gcd",
    "dp_frank_wolfe": "ight",
    "two_stage": "ight",
    "dpsl_kt": "ight",
    "lazy_iht": "ight",
    "ldp_iht": "ight",
}


@dataclass(frozen=True)
class Case:
    """Data, what is declared about it, and how a model is judged; `constant` is the error of a constant."""

    X: Any
    y: np.ndarray
    task: str
    declared: dict[str, Any]
    judge: Callable[[Any], float]
    constant: float
    options: dict[str, Any] = field(default_factory=dict)


def _of(setting: settings.Setting, sparsity: int) -> Case:
    assert setting.test is not None
    y = np.asarray(setting.test[1])
    if setting.task == "classification":
        constant = float(np.mean(y != int(np.mean(setting.y) > 0.5)))
    else:
        constant = float(np.mean((y - np.mean(setting.y)) ** 2) / np.var(y))
    declared = {**setting.bounds, "sparsity": sparsity}
    return Case(setting.X, setting.y, setting.task, declared, lambda m: settings.held_out_error(m, setting), constant)


def imdb_rating() -> Case:
    """Ratings from 1 to 10, log1p counts in unit rows: the stand-in for E2006; half the mean squared error, as in the paper."""
    (X, y), test = settings.parts_of("imdb")
    assert test is not None
    X, held, y, truth = settings.unit_rows(X), settings.unit_rows(test[0]), y.astype(float), test[1].astype(float)
    declared = {"row_norm": 1.0, "target_center": 5.5, "target_bound": 4.5, "sparsity": 2000}
    constant = float(np.mean((truth - y.mean()) ** 2) / 2)
    return Case(X, y, "regression", declared, lambda m: float(np.mean((m.predict(held) - truth) ** 2) / 2), constant)


def planted(loss: Any, seed: int = 0, n: int = 100_000, p: int = 50, s: int = 5) -> Case:
    """Rows of signs, s true coefficients from U(0.2, 0.6), and counts or numbers behind a link."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, p))
    truth = np.zeros(p)
    truth[:s] = rng.uniform(0.2, 0.6, s)
    margin = X @ truth
    if isinstance(loss, losses.Poisson):
        y, bound = rng.poisson(np.exp(margin)).astype(float), 10.0
    else:
        y, bound = np.tanh(margin) + rng.uniform(-0.05, 0.05, n), 1.1

    def distance(model: Any) -> float:
        return float(np.linalg.norm(np.ravel(model.coef_) - truth) / np.linalg.norm(truth))

    declared = {"feature_bound": 1.0, "target_bound": bound, "sparsity": s}
    return Case(X, y, "regression", declared, distance, 1.0, {"loss": loss, "fit_intercept": False})


CASES: dict[str, Callable[[], Case]] = {
    "california": lambda: _of(settings.table("california"), 4),
    "meltingpoint": lambda: _of(settings.table("meltingpoint"), 20),
    "pneumonia": lambda: _of(settings.digits("pneumonia_mnist"), 200),
    "mnist": lambda: _of(settings.digits(rows=12_000), 100),
    "covtype": lambda: _of(settings.table("covtype", rows=60_000), 20),
    "imdb rating": imdb_rating,
    "poisson": lambda: planted(losses.Poisson()),
    "tanh": lambda: planted(losses.KnownLink("tanh", target=1.1)),
}


def fit(case: Case, recipe: Any, epsilon: float, seed: int) -> float:
    """The error of one fit; infinite where the recipe cannot take the loss."""
    from dpsparse import SparseClassifier, SparseRegressor

    estimator = SparseRegressor if case.task == "regression" else SparseClassifier
    options = {**case.declared, **case.options}
    model = estimator(epsilon=epsilon, delta=1e-6, recipe=recipe, random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return case.judge(model.fit(case.X, case.y))
        except ValueError as refused:
            if "loss" in str(refused):
                return math.nan
            raise


def spread(values: list[float]) -> float:
    """Standard error of a mean."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def verdicts(errors: dict[float, list[float]], constant: float, twin: float) -> list[str]:
    """What is wrong with a line of the table."""
    means = {e: float(np.mean(v)) for e, v in errors.items()}
    found = []
    if any(m > constant * (1 + 1e-9) for e, m in means.items() if e >= 4):
        found.append("constant")
    pairs = list(errors)
    for low, high in itertools.pairwise(pairs):
        if means[high] > means[low] + 2 * math.hypot(spread(errors[low]), spread(errors[high])) + 1e-12:
            found.append(f"rises at {high:g}")
    if max(pairs) >= 1e4 and means[max(pairs)] > 1.01 * twin:
        found.append("twin")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--recipes", nargs="*", default=list(TWINS), choices=list(TWINS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0, 4.0, 1e4])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    table: dict[str, Any] = {}
    for name in options.data:
        case = CASES[name]()
        twins: dict[str, float] = {}
        print(f"{name}: {case.X.shape[0]} rows, {case.X.shape[1]} columns, constant {case.constant:.4f}", flush=True)
        for recipe in options.recipes:
            start = time.perf_counter()
            twin = TWINS[recipe]
            if twin not in twins:
                twins[twin] = fit(case, twin, 1.0, 0)
            errors = {e: [fit(case, recipe, e, seed) for seed in range(options.seeds)] for e in options.epsilons}
            words = "  ".join(f"{e:g}: {np.mean(v):.4f} +- {spread(v):.4f}" for e, v in errors.items())
            wrong = ", ".join(verdicts(errors, case.constant, twins[twin])) or "ok"
            took = time.perf_counter() - start
            print(f"  {recipe:15s} {words}  {twin} {twins[twin]:.4f}  {wrong}  ({took:.0f} s)", flush=True)
            table.setdefault(name, {})[recipe] = {"errors": {str(e): v for e, v in errors.items()}, "twin": twins[twin]}
    options.out.mkdir(exist_ok=True)
    (options.out / "defaults.json").write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
