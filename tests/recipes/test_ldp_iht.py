"""LDP-IHT and the moment estimator: accuracy, defaults, statements."""

import math

import numpy as np
import pytest

import dpsparse
from dpsparse import SparseClassifier, SparseRegressor, audit, recipes
from dpsparse.algorithms.steps import PacedSteps
from dpsparse.core import AssumptionError, Budget, BudgetError, Noise, OncePerPerson
from dpsparse.core.facts import Facts, Target
from dpsparse.losses import Custom, Huber, KnownLink, Poisson
from dpsparse.recipes import DPIGHT, LDPIHT, LDPMoment


def data(n: int, p: int, s: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, p)) * 2.0 - 1
    truth = np.zeros(p)
    truth[rng.choice(p, s, replace=False)] = rng.uniform(0.5, 1, s) * rng.choice([-1, 1], s)
    return X, X @ truth + rng.uniform(-0.05, 0.05, n), truth


def regressor(recipe, epsilon=2.0, **options):
    fixed = {"feature_bound": 1.0, "target_bound": 4.0, "fit_intercept": False, "random_state": 0}
    return SparseRegressor(epsilon=epsilon, recipe=recipe, **{**fixed, **options})


def error(model, truth) -> float:
    return float(np.linalg.norm(np.ravel(model.coef_) - truth) / np.linalg.norm(truth))


# ------------------------------------------------------------------------------------------------ accuracy


@pytest.mark.parametrize("mechanism", ["privunit", "duchi"])
def test_many_people_find_the_coefficients(mechanism):
    X, y, truth = data(60_000, 20, 3)
    model = regressor(LDPIHT(mechanism=mechanism), sparsity=3).fit(X, y)
    assert set(model.support_) == set(np.flatnonzero(truth))
    assert error(model, truth) < 0.1


def test_the_gaussian_mechanism_works_and_needs_more_people():
    X, y, truth = data(60_000, 20, 3)
    gaussian = regressor(LDPIHT(mechanism="gaussian"), epsilon=8.0, delta=1e-6, sparsity=3).fit(X, y)
    pure = regressor(LDPIHT(), epsilon=8.0, delta=1e-6, sparsity=3).fit(X, y)
    assert error(pure, truth) < error(gaussian, truth) < 0.7
    assert gaussian.statement_.delta == 1e-6
    assert gaussian.statement_.epsilon == pytest.approx(8.0)


def test_classes_are_fitted_too_with_an_intercept():
    X, _, truth = data(60_000, 10, 2, seed=1)
    rng = np.random.default_rng(2)
    y = (rng.random(60_000) < 1 / (1 + np.exp(-2 * X @ truth))).astype(int)
    model = SparseClassifier(epsilon=4.0, recipe="ldp_iht", sparsity=2, feature_bound=1.0, random_state=0).fit(X, y)
    assert set(model.support_) == set(np.flatnonzero(truth))
    assert model.score(X, y) > 0.98 * np.mean((X @ truth > 0) == y)


@pytest.mark.parametrize(
    "loss",
    [
        Huber(threshold=1.0),
        Poisson(margin_bound=2.0),
        KnownLink("tanh", target=4.0),
        Custom(derivative=lambda m, y: np.tanh(m - y), curvature=1.0, slope_bound=1.0, name="log-cosh"),
    ],
    ids=lambda loss: loss.name,
)
def test_any_loss_works(loss):
    X, y, truth = data(40_000, 10, 2, seed=3)
    if loss.name == "poisson":
        y = np.random.default_rng(0).poisson(np.exp(0.5 * X @ truth)).astype(float)
    if loss.name == "link":
        y = np.tanh(X @ truth) + 0.05 * y
    model = regressor("ldp_iht", epsilon=8.0, sparsity=2, loss=loss).fit(X, y)
    assert set(model.support_) == set(np.flatnonzero(truth))


def test_dp_ight_takes_a_known_link():
    X, _, truth = data(20_000, 10, 2, seed=4)
    y = np.tanh(X @ truth) + 0.05 * np.random.default_rng(0).standard_normal(20_000)
    model = regressor(DPIGHT(), delta=1e-6, sparsity=2, loss=KnownLink("tanh", target=2.0), target_bound=2.0).fit(X, y)
    assert set(model.support_) == set(np.flatnonzero(truth))


def test_everybody_once_at_huge_epsilon_comes_near_the_twin():
    """Lengths are told by random signs, so the gap to the twin is that of n coins, and falls like 1/sqrt(n)."""
    gaps = []
    for n in (4_000, 64_000):
        X, y, _ = data(n, 10, 3, seed=5)
        twin = regressor("ight", sparsity=3).fit(X, y)
        local = regressor(LDPIHT(steps=12), epsilon=1e4, sparsity=3).fit(X, y)
        gaps.append(np.linalg.norm(local.coef_ - twin.coef_) / np.linalg.norm(twin.coef_))
    assert gaps[1] < 0.01
    assert gaps[1] < gaps[0]


def test_error_falls_with_people_and_rises_with_features():
    found = {}
    for n, p in ((10_000, 10), (160_000, 10), (10_000, 160)):
        X, y, truth = data(n, p, 2, seed=6)
        found[n, p] = error(regressor(LDPIHT(), epsilon=1.0, sparsity=2).fit(X, y), truth)
    assert found[160_000, 10] < found[10_000, 10] < found[10_000, 160]


# ------------------------------------------------------------------------------------------------ rules and theory


def test_defaults_follow_the_rules_of_the_docstring():
    facts = LDPIHT().view(
        Facts(n_rows=100_000, n_features=50, row_norm=math.sqrt(50), target=Target(bound=4.0), sparsity=5)
    )
    solver = LDPIHT().solver(facts, Budget.approx(1.0, 0.0))
    assert len(solver.step_sizes) == 3 * round(math.log(100_000 / (50 * math.log(50))))
    assert solver.clip.norm == pytest.approx(4 / 12 * math.sqrt(50))
    assert solver.step_rule == PacedSteps(pytest.approx(3.0), falls=True)
    assert solver.noise is Noise.LOCAL
    assert solver.rows == OncePerPerson()
    assert solver.radius is None


def test_hopeless_plans_hardly_move_and_look_for_one_feature():
    facts = LDPIHT().view(Facts(n_rows=100, n_features=500, row_norm=math.sqrt(500), target=Target(bound=4.0)))
    solver = LDPIHT().solver(facts, Budget.approx(0.5, 0.0))
    assert sum(solver.step_sizes) < 0.01 * solver.step_rule.longest
    assert solver.sparsity == 1


def test_theory_takes_the_choices_of_theorem_four():
    recipe = LDPIHT.from_theory(n_rows=10**6, n_features=50, epsilon=1.0, true_sparsity=3, steps_constant=2.0)
    assert recipe.steps == math.ceil(2 * math.log(10**6 / (50 * math.log(50))))
    assert recipe.sparsity == 24
    assert recipe.radius == 1.0
    assert not recipe.decay
    assert LDPIHT.from_theory(n_rows=10**6, n_features=50, epsilon=1.0, true_sparsity=3, radius=2.5).radius == 2.5
    with pytest.warns(UserWarning, match=r"T = -\d.* 1 is taken|s = 240"):
        assert LDPIHT.from_theory(n_rows=10, n_features=50, epsilon=0.1, true_sparsity=30).steps == 1


def test_the_projection_keeps_the_model_in_its_ball():
    X, y, _ = data(5_000, 10, 3)
    model = regressor(LDPIHT(radius=0.5), sparsity=3).fit(X, y)
    assert np.linalg.norm(model.coef_) <= 0.5 + 1e-12


# ------------------------------------------------------------------------------------------------ statement


@pytest.mark.parametrize("delta", [None, 0.0, 1e-5])
def test_the_statement_says_local_one_person_one_report_and_pure(delta):
    X, y, _ = data(2_000, 5, 2)
    statement = regressor("ldp_iht", epsilon=1.5, delta=delta, random_state=None).fit(X, y).statement_
    assert statement.epsilon == pytest.approx(1.5)
    assert statement.epsilon <= 1.5
    assert statement.delta == 0
    assert statement.unit == "one person, one report (local model)"
    assert statement.adjacency == "replace-one"
    assert any("simulated on one machine" in a for a in statement.assumptions)
    assert not statement.caveats
    assert "reports randomised by each person" in statement.details()
    assert audit.recomputed_epsilon(statement) == pytest.approx(statement.epsilon)


def test_a_second_opinion_on_gaussian_reports_agrees():
    X, y, _ = data(2_000, 5, 2)
    statement = regressor(LDPIHT(mechanism="gaussian"), delta=1e-5).fit(X, y).statement_
    assert audit.recomputed_epsilon(statement) == pytest.approx(2.0, rel=1e-3)


def test_several_classes_share_the_budget():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3_000, 5))
    y = np.digitize(X[:, 0], [-0.3, 0.3])
    model = SparseClassifier(epsilon=3.0, recipe="ldp_iht", feature_bound=1.0, random_state=0).fit(X, y)
    assert model.statement_.epsilon == pytest.approx(3.0)
    assert {round(a.cost, 6) for a in model.statement_.asks} == {1.0}
    assert audit.recomputed_epsilon(model.statement_) == pytest.approx(3.0)


def test_add_remove_is_refused_because_reports_show_who_takes_part():
    X, y, _ = data(200, 5, 2)
    with pytest.raises(BudgetError, match="sees who reports"):
        regressor("ldp_iht", adjacency="add-remove", n_rows=200).fit(X, y)


def test_models_are_saved_and_read_again(tmp_path):
    X, y, _ = data(2_000, 5, 2)
    model = regressor(LDPIHT(steps=3, radius=2.0)).fit(X, y)
    model.save(tmp_path / "model.json")
    again = dpsparse.load(tmp_path / "model.json")
    assert again.recipe == LDPIHT(steps=3, radius=2.0)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert str(again.statement_) == str(model.statement_)


# ------------------------------------------------------------------------------------------------ the moment


def test_the_moment_estimates_a_known_design_in_one_round():
    X, y, truth = data(200_000, 20, 2)
    model = regressor("ldp_moment", epsilon=4.0, sparsity=2, accept=("known-design",)).fit(X, y)
    assert set(model.support_) == set(np.flatnonzero(truth))
    assert error(model, truth) < 0.2
    assert model.statement_.asks[0].times == 1
    assert any("known-design" in a for a in model.statement_.assumptions)


def test_at_huge_epsilon_the_moment_is_the_mean_of_x_times_y():
    X, y, _ = data(100_000, 4, 2)
    found = regressor(LDPMoment(clip=8.0), epsilon=1e4, accept=("known-design",), sparsity=4).fit(X, y).coef_
    assert np.allclose(found, (X * y[:, None]).mean(axis=0), atol=5.5 * 8 / math.sqrt(100_000))


def test_features_of_another_size_are_scaled_back():
    X, y, truth = data(100_000, 6, 2)
    model = regressor("ldp_moment", epsilon=8.0, sparsity=2, feature_bound=3.0, accept=("known-design",)).fit(3 * X, y)
    assert np.linalg.norm(model.coef_ - truth / 3) < 0.1


def test_the_moment_must_be_accepted_by_name():
    X, y, _ = data(200, 5, 2)
    with pytest.raises(AssumptionError, match="known-design"):
        regressor("ldp_moment").fit(X, y)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LDPIHT(steps=0), "steps must be"),
        (lambda: LDPIHT(clip=-1.0), "clip must be"),
        (lambda: LDPIHT(mechanism="loud"), "mechanism must be one of privunit, duchi, gaussian"),
        (lambda: LDPMoment(mechanism="loud"), "mechanism must be one of"),
        (lambda: regressor("ldp_moment", loss=Huber(), accept=("known-design",)).plan(10, 3), "squared and logistic"),
        (lambda: regressor("ldp_moment", start=[0, 0, 1], accept=("known-design",)).plan(10, 3), "no start vector"),
        (lambda: regressor(LDPIHT(mechanism="gaussian"), delta=0.0).plan(10, 3), "delta = 0"),
    ],
)
def test_bad_arguments_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_the_trace_sees_a_radius_that_is_too_small(monkeypatch):
    from dpsparse.oracles.local import LocalNoise

    X, y, _ = data(60, 5, 2)
    ordinary = LocalNoise.radius
    monkeypatch.setattr(LocalNoise, "radius", lambda self, question: ordinary(self, question) / 2)
    with pytest.raises(audit.LawBroken, match="one person moved"):
        audit.sensitivity_trace(regressor("ldp_iht", random_state=None), X, y)


def test_recipes_are_listed():
    assert {"ldp_iht", "ldp_moment", "label_ldp_iht", "label_ldp_lasso"} <= set(recipes.names())
    assert recipes.get("ldp_iht") is LDPIHT
