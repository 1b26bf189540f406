"""One Newton step and its sandwich: least squares without noise, wider with it, flags, and what part A and B are asked."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpsparse.algorithms.intervals import MOMENTS, SHARES, SplitIntervals, most_coefficients
from dpsparse.algorithms.one_step import Moments, damped_step, newton_step
from dpsparse.core import Noise, Plan
from dpsparse.core.plan import Ask


def sums(n: int = 400, p: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Moments, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p - 1))])
    y = X @ np.arange(1.0, p + 1) + rng.normal(size=n) * (1 + np.abs(X[:, 1]))
    pilot = np.zeros(p)
    r = y - X @ pilot
    return X, y, Moments(X.T @ r, X.T @ X, (X * r[:, None] ** 2).T @ X, 0.0, 0.0, n), pilot


def test_without_noise_and_from_the_solution_the_step_is_least_squares_with_robust_errors():
    X, y, moments, pilot = sums()
    solution = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(newton_step(pilot, moments, 1.0).estimate, solution)
    r = y - X @ solution
    there = replace(moments, score=X.T @ r, meat=(X * r[:, None] ** 2).T @ X)
    inverse = np.linalg.inv(X.T @ X)
    step = newton_step(solution, there, 1.0)
    np.testing.assert_allclose(step.covariance, 400 / 397 * inverse @ there.meat @ inverse, rtol=1e-10)
    assert step.flag == "good"


def test_noise_of_score_and_matrix_widens_the_covariance_by_what_it_is():
    X, _, moments, pilot = sums()
    still = newton_step(pilot, moments, 1.0)
    inverse = np.linalg.inv(X.T @ X)
    shaken = newton_step(pilot, replace(moments, score_noise=5.0), 1.0)
    np.testing.assert_allclose(shaken.covariance - still.covariance, 25.0 * inverse @ inverse, rtol=1e-8, atol=1e-12)
    moved = newton_step(pilot, replace(moments, gram_noise=5.0), 1.0)
    delta = still.estimate
    believed = 1 - np.trace(still.covariance) / (delta @ delta)
    filling = 12.5 * (delta @ delta * np.eye(3) + np.outer(delta, delta))
    np.testing.assert_allclose(moved.covariance - still.covariance, believed * inverse @ filling @ inverse, rtol=1e-8)


def test_a_part_of_clipped_residuals_makes_the_step_longer():
    _, _, moments, pilot = sums()
    np.testing.assert_allclose(
        newton_step(pilot, moments, 0.8).estimate, newton_step(pilot, moments, 1.0).estimate / 0.8
    )


@pytest.mark.parametrize(("ratio", "flag"), [(0.4, "good"), (0.7, "wide"), (1.3, "too many")])
def test_flags_compare_the_edge_of_the_noise_with_the_smallest_eigenvalue(ratio, flag):
    _, _, moments, pilot = sums()
    least = np.linalg.eigvalsh(moments.gram)[0]
    noise = ratio * least / math.sqrt(6)
    assert newton_step(pilot, replace(moments, gram_noise=noise), 1.0).flag == flag
    assert newton_step(pilot, replace(moments, gram=moments.gram - 2 * least * np.eye(3)), 1.0).flag == "too many"


def test_a_meat_that_noise_made_negative_errs_wide():
    _, _, moments, pilot = sums()
    broken = replace(moments, meat=moments.meat - 2 * np.linalg.eigvalsh(moments.meat)[1] * np.eye(3))
    assert np.all(np.linalg.eigvalsh(newton_step(pilot, broken, 1.0).covariance) > -1e-12)


def test_a_damped_step_is_the_whole_step_without_noise_and_shorter_with_it():
    _, _, moments, pilot = sums()
    np.testing.assert_allclose(damped_step(pilot, moments, 1.0), newton_step(pilot, moments, 1.0).estimate)
    short = damped_step(pilot, replace(moments, gram_noise=200.0), 1.0)
    assert np.linalg.norm(short) < 0.8 * np.linalg.norm(newton_step(pilot, moments, 1.0).estimate)


def intervals(**changes) -> SplitIntervals:
    given = {
        "robust": False,
        "classes": False,
        "intercept": True,
        "mu": 0.5,
        "n_rows": 1000,
        "gram": 0.8,
        "meat": 0.2,
        "most": 10,
        "reading": 2.0,
    }
    return SplitIntervals(**{**given, **changes})


def test_part_a_is_asked_for_what_part_b_must_know_and_no_more():
    names = [ask.name for ask in intervals().asks(1.0)]
    assert names == [f"interval {name}" for name in SHARES]
    assert [ask.name for ask in intervals(classes=True, intercept=False).asks(1.0)] == [
        "interval norms",
        "interval columns",
        "interval reach",
    ]
    assert "interval reach" not in [ask.name for ask in intervals(robust=True).asks(1.0)]
    plan = Plan(asks=(Ask(name="model", noise=Noise.GAUSSIAN, share=3.0),)).then(intervals().asks(3.0))
    added = sum(ask.share for ask in plan.asks[1:]) / plan.share
    assert added == pytest.approx(sum(SHARES.values()))


def test_part_b_is_asked_once_or_twice_for_classes():
    [ask] = intervals().plan().asks
    assert (ask.name, ask.times) == (MOMENTS, 1)
    [ask] = intervals(classes=True).plan().asks
    assert ask.weights() == pytest.approx((0.25, 0.75))


def test_the_clip_of_residuals_follows_a_public_rule():
    assert intervals(robust=True).clips.residual(2.0) == 1.5
    assert intervals(n_rows=10).clips.residual(2.0) == 2.5
    assert intervals(n_rows=10**4).clips.residual(2.0) == 4.5
    assert intervals(n_rows=10**6).clips.residual(2.0) == pytest.approx(0.26 * 0.5 * 1000 / 2 / 2)
    assert intervals(n_rows=3600).clips.residual(2.0) == pytest.approx(0.26 * 0.5 * 60 / 2)


def test_rows_are_held_back_as_few_as_part_a_can_read():
    assert intervals(robust=True).clips.beyond(10**6) == pytest.approx(0.2)
    assert intervals().clips.beyond(100) == pytest.approx(0.2)
    assert intervals().clips.beyond(1000) == pytest.approx(6 * 2.0 / math.sqrt(0.04) / 1000)
    assert intervals(reading=1e-9).clips.beyond(5000) == 0.005
    assert intervals(reading=1e-9).clips.beyond(10**6) == pytest.approx(0.0005)
    assert intervals(n_rows=10**6).clips.largest_norm(5) > intervals(n_rows=10**4).clips.largest_norm(5)
    assert intervals(n_rows=10).clips.largest_norm(5) == pytest.approx(2.5)


def test_clips_that_could_move_the_target_are_flagged():
    _, _, moments, pilot = sums()
    error = math.sqrt(400 / 397 * np.trace(moments.meat) / 3)
    assert newton_step(pilot, moments, 1.0, 1.45 * error).flag == "good"
    assert newton_step(pilot, moments, 1.0, 1.55 * error).flag == "clipped"


def test_more_rows_and_budget_carry_more_coefficients():
    assert most_coefficients(10, 0.1) == 1
    assert most_coefficients(8000, 0.5) == int((0.087 * 4000) ** (2 / 3))


@pytest.mark.slow
def test_intervals_hold_their_targets_and_nulls_are_seldom_rejected():
    """60 seeded fits: of some 300 intervals about 95 %, within four standard errors."""
    import warnings

    from dpsparse import SparseRegressor

    held, count, false, nulls = 0, 0, 0, 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 77])
        X = rng.uniform(-1, 1, (3000, 12))
        b = np.zeros(12)
        b[:3] = 1.0, -0.6, 0.4
        y = 0.3 + X @ b + 0.5 * rng.standard_normal(3000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SparseRegressor(
                epsilon=4.0,
                delta=1e-5,
                sparsity=6,
                feature_bound=1.0,
                target_bound=3.0,
                intervals="split",
                random_state=seed,
            ).fit(X, y)
        for row in list(model.intervals_)[:-1]:
            inside = row.low <= b[row.feature] <= row.high
            held, count = held + inside, count + 1
            if b[row.feature] == 0:
                false, nulls = false + (not inside), nulls + 1
    assert 0.95 - 4 * math.sqrt(0.05 * 0.95 / count) < held / count < 0.995
    assert false / nulls < 0.05 + 4 * math.sqrt(0.05 * 0.95 / nulls)
