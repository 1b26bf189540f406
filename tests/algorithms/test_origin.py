"""Where columns lie: what is believed of noisy means, and what follows from it for selections."""

import numpy as np
import pytest

from dpsparse import SparseRegressor
from dpsparse.algorithms.column_locations import ColumnLocations, shrink_to_noise

ONES = np.ones(400)


def test_means_without_noise_are_believed():
    means = np.random.default_rng(0).uniform(-1, 1, 400)
    found, doubts = shrink_to_noise(means, 1e-6, ONES)
    assert np.allclose(found, means, atol=1e-5)
    assert doubts.max() <= 1e-6


def test_means_that_are_all_noise_are_drawn_to_one_place():
    noisy = np.random.default_rng(1).normal(0, 0.3, 400)
    found, _ = shrink_to_noise(noisy, 0.3, ONES)
    assert np.sqrt(np.mean(found**2)) < 0.1 < np.sqrt(np.mean(noisy**2))


def test_numbers_and_indicators_are_drawn_to_where_each_kind_lies():
    """One shrinkage for all would draw indicators to the midpoint and leave the noise of numbers."""
    rng = np.random.default_rng(2)
    truth = np.r_[np.zeros(200), np.full(200, -0.9)]
    noisy = truth + rng.normal(0, 0.3, 400)
    found, doubts = shrink_to_noise(noisy, 0.3, ONES)
    james_stein = noisy * (1 - 400 * 0.09 / (noisy @ noisy))
    best = -0.9 / (1 + np.exp((noisy + 0.45) * 0.9 / 0.09))  # the expectation where the law of the means is known
    error, least = (np.mean((means - truth) ** 2) for means in (found, best))
    assert error < 1.15 * least
    assert error < 0.7 * np.mean((james_stein - truth) ** 2)
    assert np.all(doubts <= 0.3)


def test_units_of_a_column_do_not_matter():
    rng = np.random.default_rng(3)
    noisy, bounds = rng.normal(-0.5, 0.4, 400), ONES
    found, doubts = shrink_to_noise(noisy, 0.2, bounds)
    in_feet, doubts_in_feet = shrink_to_noise(3.28 * noisy, 3.28 * 0.2, 3.28 * bounds)
    assert np.allclose(3.28 * found, in_feet)
    assert np.allclose(3.28 * doubts, doubts_in_feet)


@pytest.mark.parametrize("doubt", [0.0, 0.3, 5.0])
def test_intervals_are_never_empty_and_stay_within_the_bounds(doubt):
    rng = np.random.default_rng(4)
    bounds = rng.uniform(0.1, 3.0, 400)
    origin = ColumnLocations(means=rng.uniform(-1, 1, 400) * bounds, doubts=np.full(400, doubt), length=1.0)
    low, high = origin.interval(0.01, bounds)
    assert np.all(low >= -bounds)
    assert np.all(high <= bounds * (1 + 1e-12))
    assert np.all(high - low >= 0.0099)


def test_rare_indicators_are_spiky_and_numbers_are_not():
    rng = np.random.default_rng(5)
    rare, even = 2.0 * (rng.random((2000, 300)) < 0.02) - 1, rng.uniform(-1, 1, (2000, 300))
    for X, expected in ((rare, True), (even, False)):
        means = X.mean(axis=0)
        length = float(np.median(np.linalg.norm(X - means, axis=1)))
        origin = ColumnLocations(means=means, doubts=np.zeros(300), length=length)
        assert origin.heavy_tailed(17, np.ones(300)) is expected


def test_rows_off_the_usual_place_of_rare_indicators_are_few():
    rng = np.random.default_rng(6)
    X = 2.0 * (rng.random((4000, 8)) < 0.03) - 1
    origin = ColumnLocations(means=X.mean(axis=0), doubts=np.zeros(8), length=1.0)
    off = float(np.mean((X > 0).any(axis=1)))
    assert off <= origin.rows_elsewhere(np.arange(8), np.ones(8)) < 1.3 * off


@pytest.mark.parametrize("recipe", ["auto", "select_polish"])
def test_counts_far_from_the_midpoint_of_their_bounds_are_found(recipe):
    """Measured from the midpoint nearly all of a count is the intercept: the error was about a third of the signal."""
    rng = np.random.default_rng(6)
    X = np.minimum(rng.poisson(np.exp(rng.standard_normal(100)), (5000, 100)), 20).astype(float)
    signal = X[:, :4] @ np.array([1.0, -1.0, 0.7, 0.7])
    signal = (signal - signal.mean()) / signal.std()
    y = signal[:4000] + 0.3 * rng.standard_normal(4000)
    model = SparseRegressor(
        epsilon=1, delta=1e-6, feature_bound=(0.0, 20.0), target_bound=4, recipe=recipe, random_state=0
    )
    found = model.fit(X[:4000], y).predict(X[4000:])
    assert np.mean((found - signal[4000:]) ** 2) < 0.03
