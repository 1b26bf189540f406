"""What `plan` tells."""

import json

import pytest

from dpsparse import Budget, SparseClassifier, SparseRegressor

DECLARED = {"sparsity": 5, "feature_bound": 1.0, "target_bound": 3.0}


@pytest.fixture(scope="module")
def plan():
    return SparseRegressor(epsilon=1.0, **DECLARED).plan(2000, 300)


def test_a_plan_prints_what_to_expect(plan):
    text = str(plan)
    for said in (
        "mean squared error / variance",
        "relative error of the coefficients",
        "smallest coefficient found with probability 90 %",
        "rows for a useful fit at epsilon = 1",
        "epsilon for a useful fit with 2000 rows",
        "removes 95% of a constant predictor's error (signal=)",
        f"verdict: {plan.verdict}. {plan.why}",
    ):
        assert said in text


def test_a_plan_is_plain_json(plan):
    plain = json.loads(json.dumps(plan.to_dict()))
    assert plain["verdict"] == plan.verdict
    assert plain["error"]["test"]["typical"] == plan.error.test.typical
    assert plain["error"]["coefficients"]["high"] == plan.error.coefficients.high
    assert plain["rows_needed"] == plan.rows_needed()
    assert plain["epsilon_needed"] == plan.epsilon_needed()
    assert plain["smallest_coefficient"] == plan.smallest_coefficient
    assert plain["warnings"] == []
    assert "outlook" not in plain


def test_rows_needed_and_epsilon_needed_agree(plan):
    rows = plan.rows_needed(epsilon=1.0)
    assert plan.epsilon_needed(rows) == pytest.approx(1.0, rel=0.05)


def test_error_rates_of_documents_have_no_coefficients_to_compare():
    plan = SparseClassifier(row_norm=1.0).plan(5000, 8000)
    assert plan.error.coefficients is None
    assert "error rate" in str(plan)
    assert "relative error of the coefficients" not in str(plan)


def test_a_baseline_has_no_outlook():
    plan = SparseRegressor(recipe="ight", **DECLARED).plan(2000, 300)
    assert plan.error is None
    assert plan.verdict == "unknown"
    assert plan.rows_needed() is None
    assert plan.to_dict()["epsilon_needed"] is None
    with pytest.raises(ValueError, match="without privacy has no expected error"):
        plan.plot("nowhere.png")


def test_a_recipe_without_a_formula_says_so():
    plan = SparseRegressor(recipe="dp_ight", **DECLARED).plan(2000, 300)
    assert plan.error is None
    assert "calibrated for auto" in plan.why
    with pytest.raises(ValueError, match="no expected error to plot for this recipe"):
        plan.plot("nowhere.png")


def test_several_models_share_the_budget():
    two = SparseClassifier(feature_bound=1.0, classes=[0, 1]).plan(5000, 20)
    five = SparseClassifier(feature_bound=1.0, classes=range(5)).plan(5000, 20)
    assert five.error.excess.typical > two.error.excess.typical
    assert five.rows_needed() > two.rows_needed()


@pytest.mark.parametrize("budget", [Budget.zcdp(0.05), Budget.gdp(0.3)], ids=["zcdp", "gdp"])
def test_every_language_of_budgets_has_an_outlook(budget):
    plan = SparseRegressor(budget=budget, **DECLARED).plan(2000, 300)
    assert plan.error.test.typical > 0
    assert plan.verdict in ("useful", "borderline", "hopeless")
    assert plan.epsilon_needed() > 0


def test_what_is_assumed_can_be_said(plan):
    told = SparseRegressor(epsilon=1.0, **DECLARED).plan(2000, 300, signal=0.5, feature_scale=0.1)
    assert told.error.signal == 0.5
    assert told.error.test.typical > plan.error.test.typical
    assert told.smallest_coefficient > plan.smallest_coefficient


def test_nonsense_about_the_data_is_refused():
    with pytest.raises(ValueError, match="signal must be a number above 0 and below 1, got 2"):
        SparseRegressor(**DECLARED).plan(2000, 300, signal=2)
