"""Two numbers for all coordinates tell what a sum over steps would."""

from __future__ import annotations

import numpy as np

from dpsparse.solvers.walked import Walked


def test_lengths_and_variances_are_the_sums_over_steps_whatever_the_weights():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, 6)
    walked, variance = np.zeros(6), np.zeros(6)
    found = Walked.start(weights)
    for turn in range(9):
        if turn in (3, 7):
            weights = rng.uniform(0.5, 2.0, 6)
            found = found.go_on(weights)
        step, deviation = rng.uniform(0.1, 1.0, 2)
        found.add(step, step * deviation)
        walked += step * weights**2
        variance += (step * deviation * weights) ** 2
        np.testing.assert_allclose(found.walked, walked, rtol=1e-12)
        np.testing.assert_allclose(found.variance, variance, rtol=1e-12)
        np.testing.assert_allclose(found.inverse * weights, 1.0, rtol=1e-12)
