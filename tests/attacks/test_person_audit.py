"""Two worlds of a person with ten rows: told apart no better than the statement says, and better with a promise per row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dpsparse import SparseRegressor
from dpsparse.core.attacker import attacker_success
from dpsparse.core.curves import gaussian_mu

PEOPLE, ROWS, FITS = 300, 10, 400


def told(end: float, seed: int, *, units: bool) -> float:
    """What a fit predicts for a person whose ten rows all have their target at one end."""
    rng = np.random.default_rng(11)
    ids = np.repeat(np.arange(PEOPLE), ROWS)
    X = rng.uniform(-1, 1, (ids.size, 3))
    y = X @ [0.5, -0.5, 0.0] + rng.normal(0, 0.3, ids.size)
    X[ids == 0], y[ids == 0] = 1.0, end
    model = SparseRegressor(epsilon=1.0, delta=1e-6, feature_bound=1.0, target_bound=3.0, random_state=seed)
    model.fit(X, y, **({"units": ids} if units else {}))
    return float(model.coef_ @ np.ones(3) + model.intercept_)


def accuracy(*, units: bool) -> float:
    """How often a threshold, chosen on half of the fits, tells the others apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [[told(end, 2 * k + (end > 0), units=units) for k in range(FITS // 2)] for end in (-3.0, 3.0)]
    low, high = np.array(found)
    half = FITS // 4
    tried = np.sort(np.r_[low[:half], high[:half]])
    best = max(tried, key=lambda t: np.mean(low[:half] < t) + np.mean(high[:half] >= t))
    return float((np.mean(low[half:] < best) + np.mean(high[half:] >= best)) / 2)


@pytest.mark.slow
def test_a_person_with_ten_rows_is_told_apart_no_better_than_the_statement_says():
    bound, error = attacker_success(1.0, 1e-6, gaussian_mu(1.0, 1e-6)), np.sqrt(0.25 / (FITS / 2))
    kept, row = accuracy(units=True), accuracy(units=False)
    print(f"told apart: {kept:.3f} with units, {row:.3f} with a promise to one row; bound {bound:.3f}")
    assert kept < bound + 5 * error
    assert row > bound + 2 * error, "control: a promise to one row does not hold for the person"
