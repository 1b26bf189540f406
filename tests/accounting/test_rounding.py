"""What rounding may hide in a composed loss: constants as derived, against 60 digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpsparse.accounting import pld
from dpsparse.core import Adjacency
from dpsparse.core.curves import gaussian_delta


def test_the_allowance_for_rounding_is_the_one_that_was_derived():
    """Half of either constant would be less than the operations need."""
    assert math.sqrt(5) + 2 <= pld.LEVEL
    assert pld.PROBABILITY >= 2 * 5 + 6
    assert pld.transform_errors(2**17) == 17 * pld.LEVEL * 2.0**-53
    assert pld.probability_errors(9.0) == 82 * pld.PROBABILITY * 2.0**-53


def test_every_answer_is_counted_with_the_errors_of_its_probabilities(monkeypatch):
    def log_errors() -> list[float]:
        pld._losses.cache_clear()
        (loss,) = pld.composed_losses([(0.1, 2.0, 1000)], Adjacency.REPLACE_ONE, 1e-9)
        return [loss.plain.log_error, loss.tilted.log_error]

    counted = log_errors()
    monkeypatch.setattr(pld, "PROBABILITY", 0.0)
    without = log_errors()
    pld._losses.cache_clear()
    transform, reach = 8.0 * 15, float(ndtri(pld.TAIL * 1e-9 / 1000))
    for found, bare, own in zip(counted, without, (16.0, 16.0 * (1 + reach**2)), strict=True):
        assert math.exp(found - bare) == pytest.approx((transform + own) / transform, rel=0.05)


def test_transforms_and_normal_probabilities_are_right_to_what_is_allowed():
    """Against 60 digits: a transform of 1024 points, and tails up to 37 standard deviations."""
    rng = np.random.default_rng(2)
    mass = rng.exponential(size=1024) ** 4
    mass /= mass.sum()
    found = np.fft.rfft(mass)
    with mpmath.workdps(60):
        for k in (1, 37, 200, 511):
            turn = mpmath.expjpi(mpmath.mpf(-2 * k) / 1024)
            exact = mpmath.polyval([mpmath.mpf(float(v)) for v in mass], turn, asc=True)
            assert abs(mpmath.mpc(complex(found[k])) - exact) < pld.transform_errors(1024)
        for x in rng.uniform(0.0, 37.0, 200):
            part = mpmath.mpf(float(ndtr(-x))) / mpmath.ncdf(-mpmath.mpf(float(x))) - 1
            assert abs(part) < 2 * (1 + x * x) * 2.0**-53


def test_a_tilted_window_says_nothing_of_what_lies_below_it():
    """A delta of 1e-200 is looked at through a window that begins above 0: below it most losses are missing."""
    mu, count = 0.5, 1000
    (loss, _) = pld.composed_losses([(1.0, math.sqrt(count) / mu, count)], Adjacency.ADD_REMOVE, 1e-200)
    view = loss.tilted
    begin = view.step * view.low
    assert begin > 1.0
    assert view.delta(0.9 * begin) == math.inf
    assert view.delta(0.0) == math.inf
    assert gaussian_delta(1.01 * begin, mu) <= view.delta(1.01 * begin) < 1.0
    assert loss.delta(0.5) >= gaussian_delta(0.5, mu)
