"""The smallest coefficient that is found: against fits, and its scaling."""

import math

import numpy as np
import pytest

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.report.planner.formulas import margin

#: Kind of fit: (task, rows, features, sparsity, recipe, epsilon).
FITS = {
    "selected regression": ("regression", 3000, 300, 9, "select_polish", 2.0),
    "selected classes": ("classification", 4000, 300, 9, "select_polish", 4.0),
    "averaged regression": ("regression", 6000, 40, None, "dual_averaging", 2.0),
    "averaged classes": ("classification", 6000, 40, None, "dual_averaging", 2.0),
}


def model(task, sparsity, recipe, epsilon, **changes):
    declared = {
        "epsilon": epsilon,
        "delta": 1e-5,
        "sparsity": sparsity,
        "feature_bound": 1.0,
        "recipe": recipe,
    } | changes
    if task == "regression":
        return SparseRegressor(target_bound=3.0, **declared)
    return SparseClassifier(**declared)


def found(name, times, repeats=4):
    """How often coefficients of so many times the smallest are found, beside larger ones; features are uniform."""
    task, n, d, sparsity, recipe, epsilon = FITS[name]
    signal = 0.6
    size = times * model(task, sparsity, recipe, epsilon).plan(n, d, signal=signal).smallest_coefficient
    variance = signal if task == "regression" else margin(signal)[0]
    small, large = 4, (sparsity or 16) - 4
    hits = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (n, d))
        where, w = rng.permutation(d), np.zeros(d)
        w[where[:small]] = size * rng.choice([-1, 1], small)
        rest = math.sqrt(3 * (variance - small * size**2 / 3) / large)
        w[where[small : small + large]] = rest * rng.choice([-1, 1], large)
        y = X @ w + math.sqrt(1 - signal) * rng.standard_normal(n)
        if task == "classification":
            y = (rng.random(n) < 1 / (1 + np.exp(-X @ w))).astype(int)
        coef = np.ravel(model(task, sparsity, recipe, epsilon, random_state=seed).fit(X, y).coef_)
        noise = np.abs(coef[where[small + large :]])
        least = 0.0 if sparsity else np.quantile(noise, 0.95)
        mine = where[:small]
        hits += list((np.abs(coef[mine]) > least) & (np.sign(coef[mine]) == np.sign(w[mine])))
    return np.mean(hits)


@pytest.mark.parametrize("name", FITS)
def test_it_is_found_and_a_third_of_it_is_not(name):
    assert found(name, 1.2) >= 0.8
    assert found(name, 0.33) <= 0.6


@pytest.mark.parametrize("name", FITS)
def test_more_rows_and_more_epsilon_find_smaller_ones(name):
    task, n, d, sparsity, recipe, epsilon = FITS[name]

    def smallest(rows, budget):
        return model(task, sparsity, recipe, budget).plan(rows, d).smallest_coefficient

    assert smallest(4 * n, epsilon) < smallest(n, epsilon) < smallest(n, epsilon / 4)


@pytest.mark.parametrize("name", FITS)
def test_a_coefficient_is_in_the_users_units(name):
    task, n, d, sparsity, recipe, epsilon = FITS[name]
    plans = [model(task, sparsity, recipe, epsilon, feature_bound=b).plan(n, d) for b in (1.0, 10.0)]
    assert plans[1].smallest_coefficient == pytest.approx(plans[0].smallest_coefficient / 10, rel=0.15)


def test_without_a_formula_there_is_none():
    plan = SparseRegressor(sparsity=5, feature_bound=1.0, target_bound=3.0, recipe="dp_ight").plan(2000, 300)
    assert plan.smallest_coefficient is None
    lazy = SparseRegressor(sparsity=5, feature_bound=1.0, target_bound=3.0, recipe="lazy_iht").plan(2000, 300)
    assert lazy.smallest_coefficient is None
