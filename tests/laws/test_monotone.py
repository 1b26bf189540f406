"""Law: expected errors fall with epsilon and with rows.

Over a grid of designs, on the same data with the same seeds: a larger budget, or more rows, is not
worse by more than two standard errors of the difference. Fixed seeds, so nothing here fails by chance.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core import HopelessFitWarning

FRESH = 1500
SEEDS = range(4)
#: Kind of rows, columns, true coefficients, whether classes are predicted, and what more is given.
DESIGNS = {
    "numbers, a table": ("uniform", 12, 12, False, {}),
    "numbers, indicators": ("01", 40, 5, False, {}),
    "numbers, few of many": ("uniform", 120, 4, False, {}),
    "numbers, few given": ("uniform", 120, 4, False, {"sparsity": 4}),
    "classes, a table": ("uniform", 8, 8, True, {}),
    "classes, a rare one": ("uniform", 8, 8, True, {"shift": -2.0}),
    "classes, few of many": ("01", 80, 5, True, {}),
    "classes, documents": ("documents", 400, 100, True, {"recipe": "dual_averaging"}),
}
#: The papers' recipes with their defaults, and one sparse design for numbers and one for classes.
PAPERS = (
    "dp_ight",
    "dp_gcd",
    "dp_cd",
    "dp_sgd",
    "dp_sgd_ht",
    "dp_scsg_ht",
    "dp_svrg_ht",
    "dp_frank_wolfe",
    "two_stage",
)
PAPERS += ("dpsl_kt", "ldp_iht", "label_ldp_iht")
DESIGNS |= {f"{name}, numbers": ("uniform", 30, 4, False, {"recipe": name, "sparsity": 4}) for name in PAPERS}
DESIGNS |= {f"{name}, classes": ("uniform", 30, 4, True, {"recipe": name, "sparsity": 4}) for name in PAPERS}


def rows(kind: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "uniform":
        return rng.uniform(-1, 1, (n, d))
    frequency = rng.uniform(0.05, 0.5, d) if kind == "01" else np.minimum(1.0, 4 / np.arange(1, d + 1))
    X = (rng.uniform(size=(n, d)) < frequency).astype(float)
    return X / np.sqrt(np.maximum(X.sum(axis=1, keepdims=True), 1)) if kind == "documents" else X


def error(design: str, n: int, epsilon: float, seed: int) -> float:
    """Of fresh rows, over the constant's: squared errors, or the deviance."""
    kind, d, true, classes, more = DESIGNS[design]
    rng = np.random.default_rng([seed, d])
    X = rows(kind, 5 * FRESH, d, rng)
    w = np.zeros(d)
    w[:true] = rng.choice([-1, 1], true) * rng.uniform(0.5, 1, true)
    score = (X - X.mean(axis=0)) @ w
    score /= score.std()
    options = {"epsilon": epsilon, "delta": 1e-6, "random_state": seed, **more}
    shift = options.pop("shift", -0.5)
    options |= {"row_norm": 1.0} if kind == "documents" else {"feature_bound": (0.0 if kind == "01" else -1.0, 1.0)}
    chance = rng.uniform(size=len(score))
    noise = rng.standard_normal(len(score))
    fitted = np.arange(FRESH, FRESH + n)
    shown = sp.csr_matrix(X[fitted]) if kind == "documents" else X[fitted]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HopelessFitWarning)
        if not classes:
            y = score + 0.5 * noise
            model = SparseRegressor(target_bound=4.0, **options).fit(shown, y[fitted])
            return float(np.mean((model.predict(X[:FRESH]) - y[:FRESH]) ** 2) / y[:FRESH].var())
        y = (chance < 1 / (1 + np.exp(-(1.5 * score + shift)))).astype(int)
        model = SparseClassifier(classes=[0, 1], **options).fit(shown, y[fitted])
    margins, truth = model.decision_function(X[:FRESH]), y[:FRESH]
    share = truth.mean()
    constant = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    return float(np.mean(np.logaddexp(0, margins) - truth * margins) / constant)


def falls(poor: list[float], rich: list[float]) -> bool:
    """Whether the second errors are no larger than the first, by two standard errors of their paired difference."""
    difference = np.subtract(rich, poor)
    return bool(difference.mean() <= 2 * difference.std(ddof=1) / np.sqrt(difference.size))


@pytest.mark.parametrize("design", DESIGNS)
def test_errors_fall_with_epsilon_and_with_rows(design):
    found = {(n, epsilon): [error(design, n, epsilon, seed) for seed in SEEDS] for n, epsilon in STEPS}
    means = {step: round(float(np.mean(values)), 4) for step, values in found.items()}
    for poor, rich in PAIRS:
        assert falls(found[poor], found[rich]), (poor, rich, means)
    if DESIGNS[design][4].get("recipe") not in PAPERS:  # of which some need more rows
        assert means[STEPS[-1]] < 0.9, means


#: Rows and epsilons, and which of them has more than which.
STEPS = ((400, 1.0), (1600, 0.5), (1600, 2.0), (1600, 8.0), (6000, 2.0))
PAIRS = ((STEPS[1], STEPS[2]), (STEPS[2], STEPS[3]), (STEPS[0], STEPS[2]), (STEPS[2], STEPS[4]))
