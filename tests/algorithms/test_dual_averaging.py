"""Dual averaging, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from dpsparse.algorithms.dual_averaging import Averaging, DualAveraging, PathSums, Weighting
from dpsparse.core.facts import Facts
from truth.scripted import ScriptedOracle

FACTS = Facts(n_rows=10, n_features=3)


def averaging(steps: int = 2, **options) -> Averaging:
    return Averaging(**{"steps": steps, "length": 3.0, "clip": 1.0, "share": 1.0, "momentum": 0.0, **options})


def test_steps_fall_linearly_and_add_up_to_the_length():
    assert averaging(3).sizes == pytest.approx((1.5, 1.0, 0.5))


def test_gradients_add_up_in_weighted_columns():
    loop = DualAveraging(loop=averaging(), column_weight=2.0, intercept_weight=1.0)
    oracle = ScriptedOracle.of(loop, FACTS, {"gradient": [[-1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]})
    np.testing.assert_allclose(loop.run(oracle), [2 * 2.0, -2 * 2.0, 0.0])
    np.testing.assert_allclose(oracle.questions("gradient")[1].w, [4.0, 0.0, 0.0])


def test_momentum_is_an_average_of_gradients():
    loop = DualAveraging(loop=averaging(momentum=0.5), column_weight=1.0, intercept_weight=1.0)
    oracle = ScriptedOracle.of(loop, FACTS, {"gradient": [[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]})
    np.testing.assert_allclose(loop.run(oracle), [2 * 0.5 + 1 * 0.25, 0.0, 0.0])


def test_what_noise_could_have_made_is_thresholded():
    loop = DualAveraging(loop=averaging(threshold=1.0), column_weight=1.0, intercept_weight=1.0)
    answers = {"gradient": [[-1.0, 0.1, 0.0], [-1.0, 0.1, 0.0]]}
    found = loop.run(ScriptedOracle.of(loop, FACTS, answers, noise=0.2))
    np.testing.assert_allclose(found, [3.0 - 0.2 * np.hypot(2.0, 1.0), 0.0, 0.0])


def test_a_refit_runs_on_the_largest_entries_with_rows_made_longer():
    loop = DualAveraging(
        loop=averaging(),
        column_weight=1.0,
        intercept_weight=1.0,
        sparsity=1,
        refit=averaging(),
        refit_size_share=0.1,
        refit_least=0.1,
    )
    script = {"gradient": [[-1.0, 0.5, 0.0]] * 2, "support size": [[0.5]], "refit": [[-1.0], [-1.0]]}
    oracle = ScriptedOracle.of(loop, FACTS, script)
    np.testing.assert_allclose(loop.run(oracle), [3.0 + 2 * 3.0, 0.0, 0.0])
    assert list(oracle.questions("support size")[0].support) == [0]
    assert oracle.questions("refit")[0].weights == pytest.approx([2.0])


def test_frequent_columns_get_less_weight_and_rows_length_one():
    rule = Weighting(floor=0.1, share=0.1, size_share=0.1, row_norm=4.0, least=0.01, fill=1.0)
    loop = DualAveraging(loop=averaging(1), column_weight=1.0, intercept_weight=1.0, weighting=rule)
    script = {"means": [[0.4, 0.1, 0.01]], "size": [[2.0]], "gradient": [[-1.0, -1.0, -1.0]]}
    oracle = ScriptedOracle.of(loop, FACTS, script)
    np.testing.assert_allclose(loop.run(oracle), 3.0 * np.array([0.5, 1.0, 1.0]) / 2.0)


def test_lengths_and_variances_are_the_sums_over_steps_for_any_weights():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, 6)
    lengths, variance = np.zeros(6), np.zeros(6)
    found = PathSums.start(weights)
    for turn in range(9):
        if turn in (3, 7):
            weights = rng.uniform(0.5, 2.0, 6)
            found = found.reweighted(weights)
        step, deviation = rng.uniform(0.1, 1.0, 2)
        found.add(step, step * deviation)
        lengths += step * weights**2
        variance += (step * deviation * weights) ** 2
        np.testing.assert_allclose(found.lengths, lengths, rtol=1e-12)
        np.testing.assert_allclose(found.variance, variance, rtol=1e-12)
        np.testing.assert_allclose(found.inverse * weights, 1.0, rtol=1e-12)
