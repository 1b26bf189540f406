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
    plan = SparseClassifier(row_norm=1.0).plan(5000, 8000, sparse=True)
    assert plan.error.coefficients is None
    assert "error rate" in str(plan)
    assert "relative error of the coefficients" not in str(plan)


def test_a_baseline_has_no_outlook():
    plan = SparseRegressor(recipe="ight", **DECLARED).plan(2000, 300)
    assert plan.error is None
    assert "warning: no privacy: this is a baseline" in str(plan)
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
    shared = {"feature_bound": 1.0, "recipe": "dual_averaging"}
    two = SparseClassifier(classes=[0, 1], **shared).plan(5000, 20)
    five = SparseClassifier(classes=range(5), **shared).plan(5000, 20)
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


def test_a_plan_says_which_kind_of_rows_it_is_for():
    model = SparseClassifier(row_norm=1.0)
    for sparse, said in ((False, "5000 dense rows"), (True, "5000 sparse rows")):
        plan = model.plan(5000, 80, sparse=sparse)
        assert f"on {said} x 80 features" in str(plan)
        assert plan.to_dict()["sparse"] is plan.sparse is sparse


@pytest.mark.parametrize("sparse", ["yes", 1, None], ids=str)
def test_a_kind_of_rows_that_is_none_is_refused(sparse):
    with pytest.raises(ValueError, match="sparse must be True or False, got"):
        SparseRegressor(**DECLARED).plan(2000, 300, sparse=sparse)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_plan_for_other_rows_than_were_declared_is_refused(adjacency):
    model = SparseRegressor(n_rows=1000, adjacency=adjacency, **DECLARED)
    assert model.plan(1000, 300).n_rows == 1000
    with pytest.raises(ValueError, match="a plan for 2000 rows was asked for, but n_rows=1000 is declared"):
        model.plan(2000, 300)


def test_every_branch_of_a_plan_is_shown():
    plan = SparseRegressor(feature_bound=1.0, target_bound=3.0).plan(3000, 80)
    assert {len(ask.branch) for ask in plan.asks} == {0, 1, 2, 3}
    text = str(plan)
    assert "  if answers choose 'many coefficients', then 'many coefficients':\n    asks 1 x clip 3" in text
    assert "  if answers choose 'few coefficients':\n    asks 1 x scale" in text


def test_of_many_branches_the_text_shows_the_last_and_how_many_there_are():
    plan = SparseRegressor(sparsity=100, feature_bound=1.0, target_bound=3.0, recipe="select_polish").plan(3000, 5000)
    names = list(dict.fromkeys(ask.branch[0] for ask in plan.asks if ask.branch))
    assert len(names) > 2
    assert f"if answers choose {names[-1]!r}, the last of {len(names)} branches:" in str(plan)
    assert repr(names[0]) not in str(plan)
    assert {ask["branch"][0] for ask in plan.to_dict()["asks"] if ask["branch"]} == set(names)


def test_both_parts_of_a_plan_with_intervals_are_shown():
    plan = SparseRegressor(intervals="split", **DECLARED).plan(4000, 30)
    assert [ask.name for ask in plan.asks if ask.part == "second"] == ["score moments"]
    assert "  of the second part of the rows:\n    asks 1 x score moments" in str(plan)


def test_a_plan_with_a_seed_is_shown_with_the_caveat_of_its_statement():
    seeded = SparseRegressor(random_state=1, **DECLARED).plan(2000, 300)
    assert any("with a fixed seed: not private" in warning for warning in seeded.warnings)


def test_a_plan_of_a_sampled_recipe_is_plain_json():
    """It states neither rho nor mu."""
    found = SparseClassifier(recipe="dp_sgd", row_norm=1.0, classes=[0, 1]).plan(3000, 4).to_dict()
    assert (found["rho"], found["mu"]) == (None, None)
    json.dumps(found, allow_nan=False)
