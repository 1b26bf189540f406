"""Thresholds, proximal maps and projections against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar

from dpsparse.core.facts import Penalty
from dpsparse.ops import hard_threshold, project_ball, proximal_step, soft_threshold

VECTORS = hnp.arrays(float, st.integers(1, 7), elements=st.floats(-100, 100))
PENALTIES = [
    Penalty(),
    Penalty(kind="l2", alpha=0.7),
    Penalty(kind="l1", alpha=0.7),
    Penalty(kind="elasticnet", alpha=0.7, l1_ratio=0.25),
    Penalty(kind="box", box=0.5),
]


@given(VECTORS, st.integers(0, 8))
def test_hard_thresholding_is_the_nearest_sparse_vector(w, count):
    kept = hard_threshold(w, count)
    assert np.count_nonzero(kept) <= count
    assert set(kept[kept != 0]) <= set(w)
    supports = itertools.combinations(range(w.size), min(count, w.size))
    best = min(np.linalg.norm(np.delete(w, support)) for support in supports)
    assert np.linalg.norm(kept - w) <= best * (1 + 1e-12) + 1e-12


@given(VECTORS, st.integers(0, 8), st.integers(0, 2))
def test_free_entries_are_never_thresholded_and_do_not_count(w, count, free):
    w = np.r_[w, np.arange(1.0, free + 1)]
    kept = hard_threshold(w, count, free)
    np.testing.assert_array_equal(kept[w.size - free :], w[w.size - free :])
    np.testing.assert_array_equal(kept[: w.size - free], hard_threshold(w[: w.size - free], count))


def test_a_large_free_entry_does_not_push_a_feature_out():
    np.testing.assert_array_equal(hard_threshold(np.array([1.0, 2.0, 99.0]), 1, free=1), [0.0, 2.0, 99.0])


def test_keeping_at_least_everything_keeps_everything():
    w = np.array([1.0, -2.0])
    for count in (2, 3, 100):
        np.testing.assert_array_equal(hard_threshold(w, count), w)


def test_keeping_nothing_keeps_nothing():
    np.testing.assert_array_equal(hard_threshold(np.array([1.0, -2.0]), 0), [0.0, 0.0])


@pytest.mark.parametrize("operation", [lambda w: hard_threshold(w, 1), lambda w: proximal_step(w, 0.5, PENALTIES[2])])
def test_the_input_is_left_alone(operation):
    w = np.array([3.0, -1.0, 2.0])
    out = operation(w)
    out[:] = 7.0
    assert w.tolist() == [3.0, -1.0, 2.0]


@given(VECTORS, st.floats(0, 50))
def test_soft_thresholding_moves_towards_zero_by_at_most_its_size(w, by):
    out = soft_threshold(w, by)
    assert np.all(np.abs(out) <= np.maximum(np.abs(w) - by, 0) + 1e-12)
    assert np.all(np.abs(out - w) <= by + 1e-12)
    assert np.all(out * w >= 0)


@given(VECTORS, st.floats(0.01, 200))
def test_the_ball_is_entered_by_the_shortest_way(w, radius):
    out = project_ball(w, radius)
    assert np.linalg.norm(out) <= radius * (1 + 1e-12)
    if np.linalg.norm(w) <= radius:
        np.testing.assert_array_equal(out, w)
    else:
        np.testing.assert_allclose(out / np.linalg.norm(out), w / np.linalg.norm(w), atol=1e-9)
        assert np.linalg.norm(out) == pytest.approx(radius)


def test_without_a_radius_there_is_no_ball():
    w = np.array([1e9])
    assert project_ball(w, None) is w


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("w", [-2.0, -0.3, 0.0, 0.1, 5.0])
@pytest.mark.parametrize("step", [0.1, 2.0])
def test_a_proximal_step_minimises_what_it_says(penalty, w, step):
    def objective(v: float) -> float:
        return (v - w) ** 2 / 2 + step * (penalty.l1 * abs(v) + penalty.l2 * v * v / 2)

    bounds = (-0.5, 0.5) if penalty.kind == "box" else (-10.0, 10.0)
    least = minimize_scalar(objective, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x
    assert proximal_step(np.array([w]), step, penalty)[0] == pytest.approx(least, abs=1e-5)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_a_proximal_step_leaves_the_intercept_alone_and_takes_a_step_per_coordinate(penalty):
    w, steps = np.array([2.0, -2.0, 3.0]), np.array([0.1, 1.0, 9.0])
    out = proximal_step(w, steps, penalty, free=1)
    assert out[2] == 3.0
    for j in range(2):
        assert out[j] == pytest.approx(proximal_step(w[j : j + 1], steps[j], penalty)[0])


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_a_proximal_step_never_spreads_points(penalty):
    """1-Lipschitz: what the sensitivity of greedy scores rests on."""
    a, b = np.random.default_rng(0).normal(0, 3, (2, 5000))
    assert np.all(
        np.abs(proximal_step(a, 0.8, penalty) - proximal_step(b, 0.8, penalty)) <= np.abs(a - b) * (1 + 1e-12)
    )
