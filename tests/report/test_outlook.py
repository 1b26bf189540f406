"""Bands, verdicts, and what it would take."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpsparse import Budget, SparseClassifier, SparseRegressor
from dpsparse.core import HopelessFitWarning
from dpsparse.fitting import plan_fit
from dpsparse.report.planner import ErrorBand, Forecast
from dpsparse.report.planner.formulas import constant_miss


def regressor(**changes):
    return SparseRegressor(
        **{"epsilon": 1.0, "delta": 1e-6, "sparsity": 10, "feature_bound": 1.0, "target_bound": 3.0} | changes
    )


def classifier(**changes):
    return SparseClassifier(**{"epsilon": 1.0, "delta": 1e-6, "feature_bound": 1.0} | changes)


def outlook(model, n_rows, n_features, sparse=False):
    request = model.request()
    shape = request.planned_shape(n_rows, n_features, sparse=sparse)
    return Forecast.of(plan_fit(request, shape), shape)


@pytest.mark.parametrize("sparsity", [None, 1, 5, 50], ids=str)
@pytest.mark.parametrize("make", [regressor, classifier], ids=["regression", "classification"])
def test_seventy_records_with_four_thousand_features_are_hopeless(make, sparsity):
    found = outlook(make(sparsity=sparsity), 70, 4000)
    verdict, why = found.verdict()
    assert verdict == "hopeless"
    assert "70 rows" in why
    assert "4000 features" in why


def test_seventy_documents_are_hopeless_too():
    assert outlook(SparseClassifier(row_norm=1.0), 70, 4000, sparse=True).verdict()[0] == "hopeless"


@pytest.mark.parametrize("make", [regressor, classifier], ids=["regression", "classification"])
def test_a_hundred_thousand_records_with_a_thousand_features_are_useful(make):
    assert outlook(make(sparsity=10), 100_000, 1000).verdict()[0] == "useful"


def test_documents_in_the_tens_of_thousands_are_useful():
    model = SparseClassifier(row_norm=1.0)
    assert outlook(model, 20_000, 60_000, sparse=True).verdict()[0] == "useful"


@pytest.mark.parametrize("make", [regressor, classifier], ids=["regression", "classification"])
def test_between_them_there_is_a_border(make):
    verdicts = [outlook(make(sparsity=10), n, 2000).verdict()[0] for n in (50, 200, 800, 1600, 3200, 12_800, 51_200)]
    order = {"hopeless": 0, "borderline": 1, "useful": 2}
    ranks = [order[v] for v in verdicts]
    assert ranks == sorted(ranks)
    assert set(ranks) == {0, 1, 2}


def test_bands_are_ordered_and_shrink_towards_what_can_be_reached():
    found = outlook(regressor(), 2000, 1000)
    errors = [found.error(epsilon=e) for e in (0.25, 1.0, 4.0, 16.0)]
    for error in errors:
        for band in (error.test, error.excess, error.coefficients):
            assert band.low <= band.typical <= band.high
            assert band.typical in band
    typical = [e.test.typical for e in errors]
    assert typical == sorted(typical, reverse=True)
    assert typical[-1] == pytest.approx(1 - errors[0].signal, abs=0.05)


def test_a_known_signal_narrows_the_band_of_the_test_error():
    free = outlook(regressor(), 5000, 1000).error().test
    model = regressor()
    known = model.plan(5000, 1000, signal=0.95).error.test
    assert known.high / known.low < free.high / free.low


def test_a_rare_class_lowers_the_constant_predictors_error():
    error = SparseClassifier(row_norm=1.0).plan(8000, 8000, sparse=True, base_rate=0.05).error
    assert error.constant == 0.05
    assert error.test.high < 0.06


def test_rows_needed_are_where_the_verdict_turns():
    found = outlook(regressor(), 500, 2000)
    rows = found.rows_needed(1.0)
    assert found.verdict(n_rows=rows, epsilon=1.0)[0] == "useful"
    assert found.verdict(n_rows=int(rows * 0.97), epsilon=1.0)[0] != "useful"


def test_epsilon_needed_is_where_the_verdict_turns():
    found = outlook(regressor(), 500, 2000)
    epsilon = found.epsilon_needed()
    assert found.verdict(epsilon=epsilon)[0] == "useful"
    assert found.verdict(epsilon=0.97 * epsilon)[0] != "useful"


def test_more_epsilon_needs_fewer_rows_and_more_rows_less_epsilon():
    found = outlook(classifier(sparsity=10), 500, 2000)
    assert found.rows_needed(4.0) < found.rows_needed(1.0) < found.rows_needed(0.25)
    assert found.epsilon_needed(50_000) < found.epsilon_needed(10_000)


def test_an_error_that_no_model_reaches_takes_more_than_a_billion_rows():
    found = outlook(regressor(), 500, 2000)
    assert found.rows_needed(1.0, error=0.01) is None
    assert found.epsilon_needed(error=0.01) is None


def test_a_wished_error_takes_more_rows_than_a_useful_fit():
    found = outlook(regressor(), 500, 2000)
    assert found.rows_needed(1.0, error=0.06) > found.rows_needed(1.0)


def test_add_remove_is_as_good_as_twice_the_rows():
    one = outlook(regressor(budget=Budget.zcdp(0.02)), 2000, 1000)
    two = outlook(regressor(budget=Budget.zcdp(0.02), adjacency="add-remove"), 2000, 1000)
    assert two.error().excess.typical < one.error().excess.typical
    assert two.case().mu == pytest.approx(2 * one.case().mu)


def test_recipes_without_a_formula_have_no_outlook():
    found = outlook(regressor(recipe="dp_ight"), 2000, 1000)
    assert not found.known
    assert found.error() is None
    assert found.verdict()[0] == "unknown"
    assert found.rows_needed() is None


def test_dense_rows_are_never_taken_for_documents():
    made = SparseClassifier(row_norm=1.0)
    dense, sparse = (outlook(made, 20_000, 60_000, sparse=kind) for kind in (False, True))
    assert dense.case().kind == "dual_averaging classes"
    assert sparse.case().kind == "dual_averaging documents"
    assert dense.error().test.typical > sparse.error().test.typical


def test_many_classes_are_foreseen_for_the_recipe_that_makes_one_model_of_them():
    found = outlook(classifier(classes=range(3)), 5000, 20)
    assert found.prepared.recipe.name == "dual_averaging"
    assert found.case().algorithm == found.case(n_rows=6000).algorithm == "dual_averaging"


def test_both_outcomes_are_foreseen_only_where_answers_will_choose_between_them():
    assert outlook(regressor(sparsity=None), 5000, 80).case().raced
    assert not outlook(regressor(sparsity=None), 40, 80).case().raced
    assert not outlook(regressor(sparsity=None), 5000, 20).case().raced


def test_a_band_says_its_numbers():
    assert str(ErrorBand(0.1, 0.2, 0.4)) == "0.2 (0.1 to 0.4)"


# ------------------------------------------------------------------------------------------------ signal


def told(model, n_rows, n_features, **known):
    return model.plan(n_rows, n_features, **known)


def test_the_verdict_says_which_signal_a_useful_fit_takes():
    plan = told(classifier(), 240, 7)
    needed = plan.signal_needed
    assert plan.verdict == "borderline"
    assert plan.why.startswith(f"Useful if your features avoid at least {100 * needed:.0f} % of the errors")
    assert told(classifier(), 240, 7, signal=1.05 * needed).verdict == "useful"
    assert told(classifier(), 240, 7, signal=0.95 * needed).verdict != "useful"


def test_weaker_signals_are_enough_for_more_rows():
    needed = [told(regressor(sparsity=None), n, 10).signal_needed for n in (300, 1000, 10_000, 1_000_000)]
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] == pytest.approx(0.1, abs=0.02)  # what is useful removes a tenth of the error


def test_a_few_hundred_rows_are_not_called_useful_where_nobody_knows_the_signal():
    for n_rows in (60, 116, 240):
        assert told(classifier(), n_rows, 4).verdict != "useful"
    assert told(classifier(), 20_000, 4).verdict == "useful"


def test_bands_of_tables_hold_weak_signals_and_narrow_when_the_signal_is_known():
    free, known = (told(classifier(), 2000, 7, base_rate=0.5, **signal).error.test for signal in ({}, {"signal": 0.5}))
    assert free.high > 0.5  # as bad as a constant, which a table without a signal is
    assert known.high - known.low < 0.3 * (free.high - free.low)


def test_the_band_of_a_share_that_is_not_declared_holds_the_constant_of_a_rarer_class():
    free, known = (told(classifier(), 60, 7, **rate).error.test for rate in ({}, {"base_rate": 0.5}))
    assert 0.2 in free
    assert 0.2 not in known
    assert (free.typical, free.high) == (known.typical, known.high)


def test_the_feature_scale_counts():
    usual, narrow = (told(classifier(), 1000, 7, signal=0.4, **scale).error for scale in ({}, {"feature_scale": 0.1}))
    assert narrow.excess.typical > 1.3 * usual.excess.typical


def test_a_plan_for_the_constant_alone_is_hopeless():
    plan = told(classifier(), 30, 7, signal=0.9)
    assert [ask.name for ask in plan.asks] == ["start"]
    assert plan.verdict == "hopeless"
    assert "only a constant would be released" in plan.why
    assert plan.signal_needed is None


CENTRED = {"feature_bound": 1.0, "target_bound": 1.0, "delta": 1e-5}


@pytest.mark.parametrize("kind", ["normal", "skewed"])
@pytest.mark.parametrize(("n_rows", "epsilon"), [(20, 0.5), (20, 1.0), (40, 1.0), (60, 1.0), (20, 4.0)])
def test_the_band_of_a_constant_alone_holds_fits_of_targets_off_their_centre(kind, n_rows, epsilon):
    """The mean lies anywhere within .6 of the bound, so a share of .9 inside is what a band claims.

    If a fit is inside with probability .9, fewer than 31 of 50 are so with probability below 1e-7, in ten cases below 1e-6.
    """
    rng = np.random.default_rng([n_rows, len(kind)])
    band = SparseRegressor(epsilon=epsilon, **CENTRED).plan(n_rows, 5).error.test
    inside = []
    for seed in range(50):
        mean = rng.uniform(-0.6, 0.6)
        drawn = rng.normal(size=n_rows + 4000) if kind == "normal" else 1 - rng.exponential(size=n_rows + 4000)
        y = np.clip(mean + np.copysign(1 / 3, mean) * drawn, -1, 1)
        model = SparseRegressor(epsilon=epsilon, random_state=seed, **CENTRED)
        with pytest.warns(HopelessFitWarning):
            model.fit(rng.uniform(-1, 1, (n_rows, 5)), y[:n_rows])
        assert not np.any(model.coef_)
        inside.append(np.mean((y[n_rows:] - model.intercept_) ** 2) / np.var(y[n_rows:]) in band)
    assert sum(inside) >= 31


def test_less_is_known_of_a_constant_that_is_asked_with_more_noise():
    bands = [told(SparseRegressor(epsilon=e, **CENTRED), 20, 5).error.test for e in (4.0, 1.0, 0.5, 0.25)]
    typical = [band.typical for band in bands]
    assert typical == sorted(typical)
    assert bands[0].high < 1.5
    # a constant that is not believed at all leaves the square of the centre: (3 * .57)^2 + 1, with .05 on top
    assert bands[-1].high == pytest.approx(1.05 * (1 + (3 * 0.57) ** 2), rel=0.04)
    # with many rows a constant errs by little more than its own variance, and the calibrated band holds
    case = outlook(SparseRegressor(epsilon=4.0, **CENTRED), 20, 5).case()
    misses = [constant_miss(replace(case, n_rows=n), 0.95) for n in (20, 200, 2000)]
    assert misses == sorted(misses, reverse=True)
    assert misses[-1] < 1e-3
    assert constant_miss(case, 0.05) <= constant_miss(case, 0.5) <= constant_miss(case, 0.95)
    assert math.isfinite(constant_miss(case, 1.0))
