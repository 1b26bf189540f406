"""The planner's forecast of intervals: what it rests on, and that it follows the noise that is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsparse import SparseClassifier, SparseRegressor

pytestmark = pytest.mark.filterwarnings("ignore::dpsparse.core.NonPrivateRandomnessWarning")


def regressor(**changes) -> SparseRegressor:
    given = {
        "epsilon": 4.0,
        "delta": 1e-5,
        "sparsity": 5,
        "feature_bound": 1.0,
        "target_bound": 4.0,
        "intervals": "split",
    }
    return SparseRegressor(**{**given, **changes})


def test_the_plan_tells_half_widths_flags_and_how_many_coefficients_are_given():
    plan = regressor().plan(4000, 30)
    text = str(plan)
    for words in (
        "intervals of up to 5 coefficients",
        "on about 2000 rows",
        "half-width about",
        "good up to about",
        "score moments",
    ):
        assert words in text
    told = plan.to_dict()["intervals"]
    assert told["flag"] == "good"
    assert told["coefficients"] == 5
    assert plan.epsilon == pytest.approx(4.0, rel=1e-6)


def test_a_plan_without_intervals_says_nothing_of_them():
    plan = regressor(intervals=None).plan(4000, 30)
    assert plan.intervals is None
    assert plan.to_dict()["intervals"] is None
    assert "intervals" not in str(plan)


def test_more_budget_and_more_rows_make_intervals_narrower():
    widths = [regressor(epsilon=e).plan(4000, 30).intervals.half_width for e in (0.5, 1.0, 2.0, 4.0)]
    assert widths == sorted(widths, reverse=True)
    rows = [regressor().plan(n, 30).intervals.half_width for n in (2000, 8000, 32000)]
    assert rows == sorted(rows, reverse=True)
    robust = regressor(interval_target="robust").plan(4000, 30).intervals
    assert robust.relative < regressor().plan(4000, 30).intervals.relative


def test_so_many_rows_as_are_needed_give_the_width_that_was_asked_for():
    plan = regressor().plan(4000, 30)
    needed = plan.intervals.rows_needed(plan.intervals.half_width / 3)
    there = regressor().plan(needed, 30).intervals
    assert there.half_width == pytest.approx(plan.intervals.half_width / 3, rel=0.02)
    with pytest.raises(ValueError, match="positive"):
        plan.intervals.rows_needed(0.0)
    assert plan.intervals.rows_needed(1e-9) is None


def test_more_coefficients_than_the_noise_leaves_are_cut_with_a_warning():
    plan = regressor(epsilon=0.5, sparsity=20).plan(600, 30)
    assert plan.intervals.coefficients < 20
    assert "20 coefficients were asked for" in str(plan)
    assert plan.intervals.flag != "good"


def test_the_forecast_is_within_30_per_cent_of_what_is_drawn():
    rng = np.random.default_rng(4)
    n, d = 6000, 30
    X = rng.uniform(-1, 1, (n, d))
    b = np.zeros(d)
    b[:5] = 1.0, -0.8, 0.6, -0.9, 0.7
    residual = 0.5
    y = X @ b + residual * rng.standard_normal(n)
    signal = float(b @ b / 3 / (b @ b / 3 + residual**2))
    bound = 3 * math.sqrt(b @ b / 3 + residual**2)
    for changes in ({}, {"interval_target": "robust"}, {"adjacency": "add-remove", "n_rows": n}):
        model = regressor(target_bound=bound, random_state=1, **changes)
        told = model.plan(n, d, signal=signal, feature_scale=1 / math.sqrt(3)).intervals
        drawn = float(np.mean(model.fit(X, y).intervals_.half_width[:-1]))
        assert told.half_width == pytest.approx(drawn, rel=0.3)


def test_the_forecast_of_classes_is_within_30_per_cent_too():
    rng = np.random.default_rng(4)
    n, d = 8000, 20
    X = rng.uniform(-math.sqrt(3), math.sqrt(3), (n, d))
    b = np.zeros(d)
    b[:4] = 1.0, -0.8, 0.6, -0.9
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ b))).astype(int)
    model = SparseClassifier(
        epsilon=4.0,
        delta=1e-5,
        sparsity=4,
        feature_bound=math.sqrt(3),
        classes=[0, 1],
        intervals="split",
        random_state=1,
    )
    told = model.plan(n, d, signal=0.5, feature_scale=1.0).intervals
    drawn = model.fit(X, y).intervals_
    assert told.half_width == pytest.approx(float(np.mean(drawn.half_width[:-1])), rel=0.3)
