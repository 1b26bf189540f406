"""Law *units*: a column and its bounds in other units give the same model, for every recipe. With controls that it must notice."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.rows.records import Records

RECIPES = sorted(recipes.REGISTRY)
PRIVATE = [name for name in RECIPES if recipes.get(name).private]
#: Measures columns from zero, where its known design has centred them: a unit of another origin is another design.
FROM_ZERO = {"ldp_moment"}
#: Rows, task and intercept; the twins without privacy are slow, and one kind of rows is enough for them.
KINDS = {
    "dense": (np.asarray, "regression", True),
    "sparse": (sp.csr_matrix, "classification", True),
    "without intercept": (np.asarray, "regression", False),
}
N, D = 60, 6
#: Of few rows tables gives a constant, which has no units; with so much budget it does not.
EPSILON = {"tables": 200.0, "select_polish": 80.0, "dual_averaging": 80.0}
#: Columns that differ much, and not by powers of two alone.
HALF = np.array([1.0, 3.0, 0.25, 1.0, 1500.0, 0.01])
POWERS = 2.0 ** np.array([3, -2, 0, 10, -11, 5])
FACTORS = np.array([0.3048, 1000.0, 2.54, 1e-3, 1 / 3, 7.0])
OFFSETS = np.array([32.0, 0.0, -4.0, 273.15, 1.0, 100.0])


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows within [-half, half], a third of them zero, and targets."""
    rng = np.random.default_rng(23)
    unit = rng.uniform(-1, 1, (N, D)) * (rng.random((N, D)) < 2 / 3)
    return unit * HALF, np.clip(unit[:, 0] - unit[:, 4] + 0.2 * rng.standard_normal(N), -1, 1)


def model(name: str, bound: Any, task: str, **options: Any) -> Any:
    given: dict[str, Any] = {
        "epsilon": EPSILON.get(name, 3.0),
        "delta": 1e-5,
        "sparsity": 3,
        "feature_bound": bound,
        "recipe": name,
        "accept": recipes.get(name).needs,
        "random_state": 5,
        **options,
    }
    return (
        SparseClassifier(classes=(0, 1), **given)
        if task == "classification"
        else SparseRegressor(target_bound=1.0, **given)
    )


def fitted(name: str, X: Any, y: np.ndarray, bound: Any, task: str = "regression", **options: Any) -> Any:
    """A fit; two classes are told apart by the sign of the target."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed seed is what this law is about
        return model(name, bound, task, **options).fit(X, (y > 0).astype(int) if task == "classification" else y)


def both(found: Any) -> tuple[np.ndarray, float]:
    return np.ravel(found.coef_), float(np.ravel(found.intercept_)[0])


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in RECIPES for kind in KINDS if name in PRIVATE or kind == "dense"]
)
def test_units_that_are_powers_of_two_apart_give_the_same_bytes(name, kind):
    X, y = rows()
    form, task, intercept = KINDS[kind]
    one = fitted(name, form(X), y, HALF, task, fit_intercept=intercept)
    two = fitted(name, form(X * POWERS), y, HALF * POWERS, task, fit_intercept=intercept)
    assert np.ravel(two.coef_ * POWERS).tobytes() == np.ravel(one.coef_).tobytes()
    assert np.ravel(two.intercept_).tobytes() == np.ravel(one.intercept_).tobytes()
    assert two.statement_.to_json() == one.statement_.to_json()


@pytest.mark.parametrize("name", [name for name in PRIVATE if name not in FROM_ZERO])
def test_other_factors_and_origins_give_the_same_model_to_rounding(name):
    """Rounding is that of rows: an entry is one of 2^15 units of its half-width, and may fall into the next one."""
    X, y = rows()
    lower, upper = -HALF * FACTORS + OFFSETS, HALF * FACTORS + OFFSETS
    bound = (np.minimum(lower, upper), np.maximum(lower, upper))
    # bounds around zero, or from zero, say where most entries of a column are; these do not, as those below
    one, intercept = both(fitted(name, X + 3 * HALF, y, (2 * HALF, 4 * HALF)))
    intercept += 3 * one @ HALF
    two, moved = both(fitted(name, X * FACTORS + OFFSETS, y, bound))
    size = max(float(np.max(np.abs(one * HALF))), abs(intercept), 0.1)
    np.testing.assert_allclose(two * FACTORS * HALF, one * HALF, atol=2e-3 * size, rtol=0)
    assert moved + two @ OFFSETS == pytest.approx(intercept, abs=2e-3 * size)


@pytest.mark.parametrize("name", PRIVATE)
def test_control_rows_that_are_not_divided_are_noticed(name, monkeypatch):
    X, y = rows()
    one, _ = both(fitted(name, X, y, HALF))
    monkeypatch.setattr(Records, "rescaled", lambda self, scale: self)
    two, _ = both(fitted(name, X * POWERS, y, HALF * POWERS))
    assert not np.allclose(two * POWERS, one, rtol=1e-6)
