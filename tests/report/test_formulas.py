"""The calibrated formulas: shape, limits, and that they are data of the package."""

import itertools
import math

import numpy as np
import pytest

from dpsparse.report.planner.formulas import (
    KNOTS,
    LEVELS,
    Case,
    beyond_hope,
    both_odds,
    calibration,
    intercept_noise,
    margin,
    part,
)

CASES = {
    "select_polish regression": {"algorithm": "select_polish", "classes": False, "documents": False},
    "select_polish classes": {"algorithm": "select_polish", "classes": True, "documents": False},
    "dual_averaging regression": {"algorithm": "dual_averaging", "classes": False, "documents": False},
    "dual_averaging classes": {"algorithm": "dual_averaging", "classes": True, "documents": False},
    "dual_averaging documents": {"algorithm": "dual_averaging", "classes": True, "documents": True},
    "tables regression": {"algorithm": "tables", "classes": False, "documents": False},
    "tables classes": {"algorithm": "tables", "classes": True, "documents": False},
}


def case(kind, **changes):
    usual = {"counts": False, "free": True, "n_rows": 3000, "n_features": 1000, "coefficients": 10}
    return Case(**CASES[kind], **usual | {"rho": 0.1, "mu": 0.45} | changes)


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_has_constants_and_spreads(kind):
    assert case(kind).kind == kind
    found = calibration()[kind]
    for name, spread in found["spread"].items():
        if kind.endswith("documents") and name.startswith("coefficients"):
            assert spread is None
            continue
        assert len(spread["shifts"]) == len(KNOTS)
        for at in [*spread["shifts"], spread["over"] if "over" in spread else spread["worst"]]:
            assert len(at) == len(LEVELS)
            assert at == sorted(at)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("what", [0, 1], ids=["excess", "coefficients"])
def test_more_rows_and_more_budget_never_hurt(kind, what):
    k = calibration()[kind]["constants"]
    by_rows = [both_odds(case(kind, n_rows=n), 0.6, k)[what] for n in (100, 1000, 10_000, 10**6)]
    by_budget = [both_odds(case(kind, rho=r, mu=math.sqrt(2 * r)), 0.6, k)[what] for r in (1e-3, 0.1, 1.0)]
    for odds in (by_rows, by_budget):
        assert all(a > b for a, b in itertools.pairwise(odds))


@pytest.mark.parametrize("kind", CASES)
def test_more_features_never_help(kind):
    k = calibration()[kind]["constants"]
    odds = [both_odds(case(kind, n_features=d), 0.6, k)[0] for d in (100, 1000, 10_000)]
    assert odds == sorted(odds)


def test_errors_are_positive_rise_with_the_level_and_end_at_the_worst():
    spread = calibration()["select_polish regression"]["spread"]["excess"]
    for odds in np.geomspace(1e-6, 1e30, 30):
        values = [part(float(odds), spread, level, 0.6) for level in LEVELS]
        assert values[0] > 0
        assert values == sorted(values)
        assert values[-1] <= 1 + spread["over"][-1] / 0.6


def test_a_spread_is_interpolated_between_knots():
    spread = {"shifts": [[float(i)] * len(LEVELS) for i in range(len(KNOTS))], "over": [0.0] * len(LEVELS)}
    middle = math.exp((KNOTS[1] + KNOTS[2]) / 2)
    assert part(middle, spread, 0.5, 0.6) == pytest.approx(1 / (1 + math.exp(-(math.log(middle) + 1.5))))


@pytest.mark.parametrize("signal", [0.02, 0.2, 0.9])
def test_a_fit_that_finds_nothing_exceeds_the_constant_by_the_same_part_of_it_at_any_signal(signal):
    spread = calibration()["tables regression"]["spread"]["excess"]
    lost = part(1e30, spread, 0.95, signal)
    assert 1 - signal * (1 - lost) == pytest.approx(1 + spread["over"][-1])


def test_narrow_columns_cost_accuracy_in_tables():
    for kind in ("tables regression", "tables classes"):
        k = calibration()[kind]["constants"]
        narrow, wide = (both_odds(case(kind, n_features=10, scale=scale), 0.3, k)[0] for scale in (0.3, 1.0))
        assert narrow > 1.2 * wide


def test_a_plan_for_the_constant_alone_is_beyond_hope():
    assert beyond_hope(case("tables classes", constant_only=True)) == 1
    assert beyond_hope(case("tables classes")) == 0


def test_a_margin_has_the_error_that_its_signal_says():
    rng = np.random.default_rng(0)
    for signal in (0.3, 0.6, 0.9):
        variance, bend = margin(signal)
        p = 1 / (1 + np.exp(-math.sqrt(variance) * rng.standard_normal(200_000)))
        assert np.mean(np.minimum(p, 1 - p)) == pytest.approx((1 - signal) / 2, abs=0.005)
        assert np.mean(p * (1 - p)) == pytest.approx(bend, abs=0.003)


def test_only_regressions_by_select_polish_pay_for_an_intercept_here():
    assert intercept_noise(case("select_polish regression")) > 0
    assert intercept_noise(case("select_polish regression", free=False)) == 0
    assert intercept_noise(case("select_polish classes")) == 0
    assert intercept_noise(case("dual_averaging regression")) == 0


def test_very_few_rows_are_beyond_hope_and_many_are_not():
    assert beyond_hope(case("select_polish regression", n_rows=30)) == 1
    assert 0 < beyond_hope(case("select_polish regression", n_rows=70)) < 1
    assert beyond_hope(case("select_polish regression", n_rows=100)) == 0
    assert beyond_hope(case("dual_averaging documents", n_rows=40)) == 1
    assert beyond_hope(case("dual_averaging documents", n_rows=100)) == 0
    assert beyond_hope(case("dual_averaging regression", n_rows=10)) == 0


def test_a_rarer_class_is_harder_to_learn():
    for kind in ("select_polish classes", "dual_averaging classes", "dual_averaging documents"):
        k = calibration()[kind]["constants"]
        assert both_odds(case(kind, base_rate=0.05), 0.6, k)[0] > 1.5 * both_odds(case(kind), 0.6, k)[0]
