"""Records of the coverage benchmark: kept between runs, by seed; and their page."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("benchmarks.coverage")

from benchmarks.coverage.cells import cells
from benchmarks.coverage.page import page, ratio
from benchmarks.coverage.plain import least_squares, logistic
from benchmarks.coverage.store import Store
from benchmarks.coverage.worlds import ICC, bridge

FIT = {"m": 8, "flag": "good", "in 0.9": 7, "in 0.95": 7, "in 0.99": 8, "nulls": 3, "false": 1, "nonzero in": 5}
FIT |= {"fdr": 0.2, "width": 1.3, "half-width": 0.03, "forecast": 0.031, "band": 0, "surface": 0.95}


def test_a_run_is_taken_up_where_it_stopped(tmp_path):
    store = Store(tmp_path / "records.parquet")
    assert store.seeds("a") == set()
    store.add("a", {5: FIT, 6: {"m": 0, "flag": "good"}})
    store.add("b", {5: FIT})
    again = Store(tmp_path / "records.parquet")
    assert again.seeds("a") == {5, 6}
    assert again.cells() == ["a", "b"]
    assert again.records("b")["width"].tolist() == pytest.approx([1.3])


def test_the_page_pools_coefficients_and_leaves_out_fits_that_selected_nothing(tmp_path):
    cell = next(c for c in cells() if c.group == "mean")
    store = Store(tmp_path / "records.parquet")
    store.add(cell.name, {1: FIT, 2: {**FIT, "in 0.95": 8}, 3: {"m": 0, "flag": "good"}})
    text = page(store)
    assert "| 0.938 (" in text  # 15 of 16
    assert "0.333 (0.000) of 6" in text
    assert f"1.30 / {cell.width:g}" in text


def test_standard_errors_are_over_fits():
    value, error = ratio(pd.Series([8.0, 6.0]), pd.Series([8.0, 8.0]))
    assert value == pytest.approx(14 / 16)
    assert error == pytest.approx(math.sqrt(2) / 16)


@pytest.mark.parametrize("margin", [-2.0, 0.0, 1.5])
def test_random_intercepts_of_panels_leave_the_model_of_one_row_logistic(margin):
    """Five standard errors of the mean of 200,000 probabilities, which are within [0, 1]; normal ones do not."""
    rng, n, part = np.random.default_rng(3), 200_000, math.sqrt(1 - ICC)
    own = bridge(rng, n)
    expected, allowed = 1 / (1 + math.exp(-margin)), 5 * 0.5 / math.sqrt(n)
    assert abs(np.mean(1 / (1 + np.exp(-margin / part - own))) - expected) < allowed
    if margin:
        other = 3 * own.std() * rng.standard_normal(n)
        assert abs(np.mean(1 / (1 + np.exp(-margin / part - other))) - expected) > allowed


@pytest.mark.parametrize("estimate", [least_squares, logistic])
def test_copies_of_a_row_say_no_more_of_a_person_than_the_row(estimate):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.logistic(size=300) > 0) * 1.0
    person = np.repeat(np.arange(300), rng.integers(1, 5, 300))
    for alone, told in zip(estimate(X, y), estimate(X[person], y[person], person), strict=True):
        np.testing.assert_allclose(alone, told, rtol=1e-6)
    assert np.all(estimate(X[person], y[person])[1] < 0.9 * estimate(X, y)[1])
