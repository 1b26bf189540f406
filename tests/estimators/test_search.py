"""Private search: what it promises, what it gives each run, and how it behaves as an estimator."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import loguniform
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpsparse
from dpsparse import Budget, Ledger, PrivateSearch, SparseClassifier, SparseRegressor, audit, recipes
from dpsparse.accounting.random_stopping import PoissonRuns
from dpsparse.core import (
    Adjacency,
    AssumptionError,
    BudgetError,
    BudgetExceededError,
    PrivacyError,
    PrivacyLeakError,
)
from dpsparse.estimators.search import runs
from dpsparse.fitting import Shape
from dpsparse.tables import Column, Dictionary, TableEncoder
from truth.recipes import Doubtful

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2000, 8))
Y = 2 * X[:, 0] - X[:, 3] + 0.1 * RNG.standard_normal(2000)
LABELS = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.3, 0.3])
CLIPS = {"recipe__clip": [0.003, 1.0]}


def regressor(**options):
    recipe = recipes.DPIGHT(steps=4)
    return SparseRegressor(**{"feature_bound": 1.0, "target_bound": 3.5, "sparsity": 2, "recipe": recipe, **options})


def classifier(**options):
    return SparseClassifier(**{"feature_bound": 1.0, "sparsity": 3, "recipe": recipes.DPIGHT(steps=4), **options})


def search(model=None, space=None, **options):
    space = CLIPS if space is None else space
    return PrivateSearch(model or regressor(), space, **{"epsilon": 4.0, "mean_runs": 6, "random_state": 1, **options})


# ------------------------------------------------------------------------------------------------ the promise


@pytest.mark.parametrize("law", ["logarithmic", "geometric", "poisson"])
def test_the_statement_covers_the_whole_search(law):
    found = search(law=law, delta=1e-5).fit(X, Y)
    assert found.statement_.epsilon == pytest.approx(4.0, rel=1e-6)
    assert found.statement_.epsilon <= 4.0
    assert found.statement_.delta == 1e-5
    assert found.best_estimator_.statement_ is found.statement_
    assert law in found.statement_.accountant
    assert any("does not cover the number of runs" in a for a in found.statement_.assumptions)
    unseeded = replace(found.statement_, private=True)
    assert "nothing is stated in rho-zCDP or mu-GDP" in unseeded.details()


def test_one_run_costs_what_the_plan_says():
    found = search(law="logarithmic").fit(X, Y)
    plan, asks = found.plan_, found.statement_.asks
    score = asks[-1]
    assert (score.name, score.times) == ("score", 1)
    assert score.cost**2 / 2 == pytest.approx(plan.score_rho, rel=1e-6)
    spent = sum(a.times * a.draws * a.cost**2 / (8 if a.noise == "gumbel" else 2) for a in asks[:-1])
    assert spent == pytest.approx(plan.training_rho, rel=1e-6)
    assert spent <= plan.training_rho
    assert plan.training_rho + plan.score_rho == pytest.approx(plan.run_rho, rel=1e-12)
    assert plan.score_rho == pytest.approx(0.1 * plan.run_rho)


def test_held_out_rows_score_with_the_whole_budget_of_a_run():
    found = search(holdout=0.25).fit(X, Y)
    plan = found.plan_
    assert plan.training_rho == plan.score_rho == plan.run_rho
    assert (plan.training_rows, plan.validation_rows) == (1500, 500)
    assert found.statement_.asks[-1].cost ** 2 / 2 == pytest.approx(plan.run_rho, rel=1e-6)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_split_is_disjoint_and_complete(adjacency):
    model = regressor(adjacency=adjacency, n_rows=None if adjacency == "replace-one" else 1900)
    plan = search(model, holdout=0.2).plan(2000 if adjacency == "replace-one" else 1900, 8)
    fit, score = runs.split_holdout(_rows(2000), plan, _session(), 0.2)
    assert sorted([*fit, *score]) == list(range(2000))
    if adjacency == "replace-one":
        assert score.size == plan.validation_rows == 400
    else:
        assert abs(score.size - 400) < 6 * math.sqrt(2000 * 0.2 * 0.8)  # coins; false alarm 2e-9


def _rows(n):
    from dpsparse.rows.records import Records

    return Records(np.zeros((n, 1)))


def _session(seed=3):
    from dpsparse.core.mechanisms import Randomness
    from dpsparse.fitting.session import Session

    return Session((), Randomness(seed))


def test_under_add_remove_a_row_that_leaves_moves_no_other_rows_coin():
    plan = search(regressor(adjacency="add-remove", n_rows=1900), holdout=0.2).plan(1900, 8)
    _, many = runs.split_holdout(_rows(2000), plan, _session(), 0.2)
    _, fewer = runs.split_holdout(_rows(1999), plan, _session(), 0.2)
    assert [i for i in many if i < 1999] == list(fewer)


def test_every_candidate_is_priced_alike():
    space = {"recipe": ["dp_ight", "dual_averaging", "dp_gcd", "select_polish"]}
    made = search(space=space)
    plan = made.plan(2000, 8)
    for name in space["recipe"]:
        priced = made.prepare_candidate({"recipe": name}, plan, Shape(n_rows=2000, n_features=8)).priced
        assert priced.rho <= plan.training_rho
        assert priced.rho > 0.99 * plan.training_rho


def test_the_exact_gaussian_curve_is_used_only_where_all_candidates_allow_it():
    dense, mixed = [recipes.DPIGHT(mechanism=m, steps=4) for m in ("dense", "peel")]
    exact = search(space={"recipe": [dense]}, law="poisson").plan(2000, 8)
    careful = search(space={"recipe": [dense, mixed]}, law="poisson").plan(2000, 8)
    endless = search(regressor(recipe=dense), {"recipe__clip": loguniform(0.1, 1)}, law="poisson").plan(2000, 8)
    assert exact.run.mu() == math.sqrt(2 * exact.run_rho)
    assert careful.run.mu() == endless.run.mu() == math.inf
    assert not endless.run.gaussian
    assert exact.run_rho > careful.run_rho >= endless.run_rho


@pytest.mark.parametrize("law", ["logarithmic", "geometric", "poisson"])
def test_a_run_is_not_said_to_be_gaussian_if_it_selects(law):
    plan = search(space={"recipe": [recipes.DPIGHT(mechanism="peel", steps=4)]}, law=law).plan(2000, 8)
    assert plan.run.mu() == math.inf


def test_a_seed_of_the_estimator_does_not_fix_the_noise_of_runs():
    found = search(regressor(random_state=3), random_state=None, mean_runs=3, law="geometric")
    scores = {tuple(found.fit(X[:200], Y[:200]).best_estimator_.coef_) for _ in range(3)}
    assert len(scores) == 3
    assert found.statement_.caveats == ()


def test_without_a_run_the_answer_is_public(monkeypatch):
    monkeypatch.setattr(PoissonRuns, "draw", lambda self, generator: 0)
    start = np.arange(8.0)
    found = search(regressor(start=start, target_center=0.5), law="poisson").fit(X, Y)
    np.testing.assert_array_equal(found.best_estimator_.coef_, start)
    assert found.best_estimator_.intercept_ == 0.5
    assert found.best_params_ == {}
    assert math.isnan(found.best_score_)
    assert found.statement_.asks == ()
    assert any("no run was drawn" in note for note in found.statement_.notes)
    assert found.predict(X[:3]).shape == (3,)
    three = search(classifier(), law="poisson").fit(X, THREE)
    assert three.best_estimator_.coef_.shape == (3, 8)
    assert three.predict_proba(X[:2]).shape == (2, 3)
    assert not three.best_estimator_.coef_.any()


def test_a_seed_is_a_caveat_and_a_second_opinion_is_refused():
    with pytest.warns(dpsparse.core.NonPrivateRandomnessWarning, match="search is not private"):
        found = search().fit(X, Y)
    assert found.statement_.caveats[-1] == "searched with a fixed seed: not private"
    with pytest.raises(PrivacyError, match="private search"):
        audit.recomputed_epsilon(found.statement_)
    assert search(random_state=None).fit(X[:300], Y[:300]).statement_.caveats == ()


@pytest.mark.parametrize("more", [{}, {"alpha": loguniform(0.01, 0.1)}], ids=["finite", "infinite"])
def test_the_statement_names_what_any_candidate_rests_on(more):
    rows = np.random.default_rng(1).standard_normal((60, 8))
    space = {"recipe": [recipes.DPSLKT(auxiliary=rows, release="labels"), *[recipes.DPIGHT(steps=4)] * 9], **more}
    found = search(space=space, mean_runs=2, random_state=3).fit(X, Y)
    assert not isinstance(found.best_params_.get("recipe"), recipes.DPSLKT)
    assert any("auxiliary matrix" in text for text in found.statement_.assumptions)


# ------------------------------------------------------------------------------------------------ ledger


def test_the_whole_search_is_reserved_once(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", epsilon=4.5, delta=1e-5)
    found = search(ledger=ledger, dataset="trial", delta=1e-6).fit(X, Y)
    assert found.statement_.ledger["dataset"] == "trial"
    [entry] = ledger.entries("trial")
    assert ledger.spent("trial").epsilon == pytest.approx(found.plan_.bill.epsilon(1e-5), rel=0.05)
    with pytest.raises(BudgetExceededError):
        search(ledger=ledger, dataset="trial", delta=1e-6).fit(X, Y)
    assert ledger.entries("trial") == (entry,)
    assert ledger.verify()


# ------------------------------------------------------------------------------------------------ as an estimator


@pytest.mark.parametrize("scoring", ["auto", "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_a_search_finds_the_better_of_two_candidates(scoring):
    found = search(scoring=scoring, mean_runs=20, epsilon=10.0).fit(X, Y)
    assert found.best_params_ == {"recipe__clip": 1.0}
    assert found.score(X, Y) > 0.6
    assert is_regressor(found)


@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, sp.csc_array], ids=["dense", "csr", "csc"])
def test_classifiers_of_every_kind_are_searched(labels, scoring, storage):
    found = search(classifier(), scoring=scoring, epsilon=10.0).fit(storage(X), labels)
    assert is_classifier(found)
    assert found.score(X, labels) > (0.8 if labels is LABELS else 0.5)
    assert found.predict_proba(X[:4]).shape == (4, np.unique(labels).size)
    assert found.decision_function(X[:4]).shape[0] == 4
    assert list(found.classes_) == sorted(set(labels))
    assert any("label set" in a for a in found.statement_.assumptions)


def test_scores_are_close_to_the_truth():
    found = search(classifier(), epsilon=50.0, mean_runs=20).fit(X, LABELS)
    spread = found.plan_.score_deviation
    assert (
        abs(found.best_score_ - found.score(X, LABELS)) < 12 * spread + 0.01
    )  # the best of many is high by some spreads
    low = search(regressor(target_center=0.7), epsilon=50.0, mean_runs=20, score_bound=50.0).fit(X, Y)
    error = float(np.mean((low.predict(X) - Y) ** 2))
    assert abs(low.best_score_ + error) < 12 * low.plan_.score_deviation + 0.01


def test_parameters_of_estimator_and_recipe_are_searched_together():
    space = [
        {"recipe": [recipes.DPIGHT()], "recipe__clip": loguniform(0.5, 2), "recipe__steps": range(3, 6)},
        {"recipe": ["dual_averaging"], "sparsity": [2, 3], "alpha": np.array([0.0, 0.01])},
    ]
    found = search(space=space).fit(X, Y)
    assert set(found.best_params_) in ({"recipe", "recipe__clip", "recipe__steps"}, {"recipe", "sparsity", "alpha"})


def test_without_a_space_the_usual_recipes_are_tried():
    found = PrivateSearch(regressor(), epsilon=4.0, mean_runs=4, random_state=0).fit(X, Y)
    assert found.best_params_["recipe"] in ("select_polish", "dual_averaging", "dp_ight")


def test_names_of_features_are_kept():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    found = search().fit(frame, Y)
    assert list(found.feature_names_in_) == list(frame.columns)
    assert found.predict(frame).shape == (2000,)
    assert found.n_features_in_ == 8


def test_a_search_is_cloned_pickled_and_its_model_saved(tmp_path):
    found = search().fit(X, Y)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert clone(found).get_params()["estimator__sparsity"] == 2
    found.best_estimator_.save(tmp_path / "model.json")
    loaded = dpsparse.load(tmp_path / "model.json")
    assert loaded.statement_.epsilon == found.statement_.epsilon
    assert loaded.statement_.accountant.startswith("random stopping")
    with pytest.raises(NotFittedError):
        clone(found).predict(X)
    assert not hasattr(found, "predict_proba")


def test_the_estimator_that_was_given_is_left_alone():
    model = regressor()
    before = model.get_params()
    search(model).fit(X, Y)
    assert model.get_params() == before
    assert not hasattr(model, "coef_")


def test_plans_say_what_a_search_costs():
    plan = search(law="poisson", mean_runs=5, delta=1e-6).plan(2000, 8)
    text = str(plan)
    assert "costs (4, 1e-06)-DP in all" in text
    assert "no run at all with probability 0.0067" in text
    assert "on the same rows" in text
    assert plan.run_epsilon < plan.epsilon < plan.composed_epsilon
    assert plan.to_dict()["candidates"] == 2
    assert search(space={"alpha": loguniform(0.1, 1)}).plan(2000, 8).to_dict()["candidates"] is None
    assert plan.adjacency is Adjacency.REPLACE_ONE


def test_progress_is_shown_without_a_count(capsys):
    search(verbose=True).fit(X[:200], Y[:200])
    shown = capsys.readouterr()
    assert "private search" in shown.out + shown.err
    assert "%" not in shown.out + shown.err


# ------------------------------------------------------------------------------------------------ messages


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"space": {}}, TypeError, "must be a dictionary"),
        ({"space": 3}, TypeError, "must be a dictionary"),
        ({"space": {"epsilon": [1.0]}}, ValueError, "'epsilon' cannot be searched over"),
        ({"space": {"random_state": [1]}}, ValueError, "cannot be searched over"),
        ({"space": {"depth": [1]}}, ValueError, "'depth' is not an argument of the estimator"),
        ({"space": {"sparsity": []}}, ValueError, "empty list"),
        ({"space": {"sparsity": 3}}, TypeError, "a list of values or a distribution"),
        ({"space": {"recipe__depth": [1]}}, ValueError, "recipe 'dp_ight' has no field 'depth'"),
        ({"space": {"recipe__steps": [0]}}, ValueError, "steps must be a positive integer"),
        ({"space": {"recipe": ["magic"]}}, ValueError, "unknown recipe 'magic'"),
        ({"space": {"recipe": ["ight"]}}, PrivacyError, "baseline without privacy"),
        ({"space": {"recipe": ["ldp_iht"]}}, PrivacyError, "randomises on devices"),
        ({"space": {"recipe": ["dp_sgd_ht"]}}, BudgetError, "prices runs in zCDP"),
        ({"space": {"recipe": [Doubtful()]}}, AssumptionError, "accept that by name"),
        ({"epsilon": 0.0}, BudgetError, "epsilon must be a positive"),
        ({"delta": 0.0}, BudgetError, "delta > 0"),
        ({"delta": 2.0}, BudgetError, "delta must lie in"),
        ({"mean_runs": 1}, BudgetError, "mean_runs must be a number above 1"),
        ({"law": "fixed"}, BudgetError, "law must be 'auto' or one of"),
        ({"scoring": "accuracy"}, ValueError, "neg_mean_squared_error"),
        ({"score_bound": -1.0}, PrivacyError, "score_bound must be one positive"),
        ({"score_share": 1.0}, ValueError, "score_share must be a number strictly between"),
        ({"holdout": 1.5}, ValueError, "holdout must be a number strictly between"),
        ({"holdout": 1e-6}, ValueError, "nothing to score"),
        ({"model": regressor(feature_bound=None)}, PrivacyError, "no bound on the features"),
        ({"model": regressor(adjacency="add-remove")}, PrivacyError, "n_rows must be declared"),
        ({"ledger": "sqlite:///x.db"}, ValueError, "belong together"),
        ({"model": regressor(ledger="sqlite:///x.db", dataset="trial")}, PrivacyError, "would not be charged"),
        (
            {"space": {"recipe": ["dp_ight", Doubtful()]}, "accept": ("unproven",)},
            PrivacyError,
            "no proof of its privacy",
        ),
    ],
)
def test_bad_arguments_are_refused_before_rows_are_used(options, error, message):
    with pytest.raises(error, match=message):
        search(**options).fit(X, Y)


def test_what_is_not_a_private_model_is_refused():
    from sklearn.linear_model import Lasso

    with pytest.raises(TypeError, match="SparseRegressor or a SparseClassifier"):
        search(Lasso()).plan(100, 8)
    with pytest.raises(PrivacyLeakError, match="holds no model of dpsparse"):
        search(Lasso()).fit(X, Y)


@pytest.mark.parametrize("model", [search(), regressor(), classifier()], ids=["search", "regressor", "classifier"])
def test_sample_weights_are_refused_with_the_reason(model):
    with pytest.raises((TypeError, ValueError), match=r"taken by fit of SparseRegressor|needs weight_bound=W"):
        model.fit(X, LABELS if is_classifier(model) else Y, sample_weight=np.ones(2000))
    with pytest.raises(TypeError, match="fit takes X and y only, got groups"):
        model.fit(X, Y, groups=np.ones(2000))


def test_budgets_of_the_estimator_are_not_used():
    found = search(regressor(epsilon=100.0, budget=Budget.zcdp(50.0))).fit(X, Y)
    assert found.statement_.epsilon <= 4.0
    assert found.best_estimator_.budget.rho == found.plan_.training_rho


@parametrize_with_checks(
    [
        PrivateSearch(
            regressor(feature_bound=10.0, target_bound=10.0), {"alpha": [0.0, 0.1]}, mean_runs=1.5, random_state=0
        ),
        PrivateSearch(classifier(feature_bound=10.0), {"alpha": [0.0, 0.1]}, mean_runs=1.5, random_state=0),
    ]
)
def test_a_search_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------------ bounds of the rows


def test_a_search_takes_bounds_that_encoded_rows_bring_along():
    codebook = Dictionary([Column(name="age", kind="number", bounds=(0, 100)), Column(name="old", kind="boolean")])
    given = pd.DataFrame({"age": 50 + 50 * X[:, 0], "old": X[:, 1] > 0})
    rows = TableEncoder(codebook).fit_transform(given)
    found = search(SparseRegressor(target_bound=3.5), {"sparsity": [1, 2]}).fit(rows, Y)
    assert found.statement_.epsilon == pytest.approx(4.0, rel=1e-6)
    assert found.plan_.runs is not None


def test_candidates_without_end_are_not_listed():
    plan = search(space={"alpha": loguniform(0.1, 1)}).plan(2000, 8)
    assert plan.runs is None
    assert "are priced alike" in str(plan)
