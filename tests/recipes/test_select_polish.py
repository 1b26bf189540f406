"""Select + polish: what it finds, what it spends, and what it refuses."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from builders import Rows, prepared_for
from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.accounting import price
from dpsparse.algorithms.polish_schedule import BudgetShares, PolishSchedule, Rule, entry_edges, rung
from dpsparse.algorithms.polish_steps import Preconditioner, gains, shrunken, stein_scale, symmetric
from dpsparse.core import Budget, Noise
from dpsparse.core.facts import Facts, Target
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Huber, Poisson, Squared
from dpsparse.oracles import CentralOracle, ExactOracle

pytestmark = pytest.mark.filterwarnings("ignore:random_state was given")


def sparse_truth(n=800, d=300, s=5, seed=0, task="regression", intercept=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    w = np.zeros(d)
    w[rng.choice(d, s, replace=False)] = rng.choice([-1, 1], s) * rng.uniform(0.5, 1, s)
    margin = X @ w + intercept
    if task == "regression":
        return X, margin + 0.1 * rng.standard_normal(n), w
    return X, (rng.random(n) < 1 / (1 + np.exp(-3 * margin))).astype(int), 3 * w


def model(task="regression", **options):
    options = {
        "delta": 1e-5,
        "sparsity": 5,
        "feature_bound": 1.0,
        "recipe": "select_polish",
        "random_state": 1,
        **options,
    }
    return SparseRegressor(**{"target_bound": 5.0, **options}) if task == "regression" else SparseClassifier(**options)


def twin(estimator, X, y) -> tuple[np.ndarray, float]:
    """The same solver on exact answers: coefficients and intercept."""
    prepared = prepared_for(estimator, *X.shape, sparse=sp.issparse(X), models=1)
    solver = replace(prepared.solver, noise=Noise.NONE, selection_noise=Noise.NONE)
    rows = Rows(X, y.astype(float), prepared.facts, lattice=False)
    oracle = ExactOracle(rows, estimator.request().loss, solver.plan(prepared.facts, None), np.random.default_rng(0))
    w = solver.run(oracle)
    assert oracle.unused_turns == {}
    constant = float(w[-1]) * rows.applied_intercept if prepared.facts.free else 0.0
    return w[: X.shape[1]], constant - float(rows.applied_shift @ w[: X.shape[1]])


def error(found, truth) -> float:
    return float(np.linalg.norm(np.ravel(found) - truth) / np.linalg.norm(truth))


# ------------------------------------------------------------------------------------------------ what it finds


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_twin_finds_the_known_support(task, fit_intercept):
    X, y, truth = sparse_truth(n=3000, task=task)
    coef, _ = twin(model(task, epsilon=10.0, fit_intercept=fit_intercept), X, y)
    assert set(np.flatnonzero(coef)) == set(np.flatnonzero(truth))
    assert error(coef, truth) < (0.02 if task == "regression" else 0.25)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_much_budget_gives_what_exact_answers_give(task, fit_intercept):
    """Coefficients within 1 % of those of the same solver on the exact oracle."""
    X, y, _ = sparse_truth(n=3000, task=task)
    estimator = model(task, epsilon=1e4, fit_intercept=fit_intercept)
    coef, intercept = twin(estimator, X, y)
    fitted = estimator.fit(X, y)
    assert error(fitted.coef_, coef) < 0.01
    assert float(np.ravel(fitted.intercept_)[0]) == pytest.approx(intercept, abs=0.01)


def test_it_finds_the_support_at_epsilon_one():
    X, y, truth = sparse_truth(n=3000)
    fitted = model(epsilon=1.0, fit_intercept=False).fit(X, y)
    assert set(fitted.support_) == set(np.flatnonzero(truth))
    assert error(fitted.coef_, truth) < 0.1


def test_an_intercept_far_from_zero_and_uncentred_columns_do_no_harm():
    rng = np.random.default_rng(3)
    X = rng.binomial(2, rng.uniform(0.1, 0.5, 400), (4000, 400)).astype(np.int8)
    truth = np.zeros(400)
    truth[:5] = [0.8, -0.7, 0.6, 0.9, -0.5]
    y = X @ truth + 20 + 0.3 * rng.standard_normal(4000)
    fitted = model(epsilon=2.0, feature_bound=(0, 2), target_bound=30.0).fit(X, y)
    assert set(fitted.support_) == {0, 1, 2, 3, 4}
    assert error(fitted.coef_, truth) < 0.15
    assert np.mean((fitted.predict(X) - X @ truth - 20) ** 2) < 0.1 * np.var(X @ truth)


def test_correlated_columns_do_not_make_it_diverge():
    rng = np.random.default_rng(4)
    common = rng.standard_normal((1500, 1))
    X = np.clip(math.sqrt(0.4) * rng.standard_normal((1500, 300)) + math.sqrt(0.6) * common, -3, 3)
    truth = np.zeros(300)
    truth[:20] = rng.choice([-1, 1], 20) * rng.uniform(0.2, 1, 20)
    y = X @ truth + 0.5 * rng.standard_normal(1500)
    options = {"sparsity": 20, "feature_bound": 3.0, "target_bound": 12.0, "delta": 0.01}
    excess = []
    for seed in range(3):
        fitted = model(epsilon=1.0, **options | {"random_state": seed}).fit(X, y)
        excess.append(np.mean((fitted.predict(X) - X @ truth) ** 2) / np.var(X @ truth))
    assert np.mean(excess) < 1


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_sparse_rows_give_what_the_same_dense_rows_give(task):
    X, y, _ = sparse_truth(n=2000, d=60, task=task)
    X = X * (np.random.default_rng(1).random(X.shape) < 0.4)
    one, two = (model(task, epsilon=1e4).fit(rows, y) for rows in (X, sp.csr_matrix(X)))
    assert error(two.coef_, np.ravel(one.coef_)) < 0.01


def test_huber_loss_and_a_ridge_are_taken():
    X, y, truth = sparse_truth(n=3000)
    y[:60] += 40.0
    fitted = model(epsilon=10.0, loss=Huber(threshold=0.5)).fit(X, y)
    assert error(fitted.coef_, truth) < 0.1
    free = model(epsilon=1e4).fit(X, y)
    held = model(epsilon=1e4, alpha=0.3).fit(X, y)
    assert np.linalg.norm(held.coef_) < 0.7 * np.linalg.norm(free.coef_)


def test_public_column_means_save_their_budget_and_are_used():
    rng = np.random.default_rng(5)
    X = rng.binomial(2, 0.2, (3000, 200)).astype(np.int8)
    truth = np.zeros(200)
    truth[:4] = [0.8, -0.7, 0.6, 0.9]
    y = X @ truth + 0.3 * rng.standard_normal(3000)
    known = model(epsilon=2.0, feature_bound=(0, 2), feature_center=0.4).fit(X, y)
    asked = model(epsilon=2.0, feature_bound=(0, 2)).fit(X, y)
    assert not any(a.name.startswith("means") for a in known.statement_.asks)
    assert any(a.name.startswith("means") for a in asked.statement_.asks)
    assert error(known.coef_, truth) < 0.1
    assert np.mean((known.predict(X) - X @ truth) ** 2) < 0.05


@pytest.mark.parametrize("shape", [(200, 3), (50, 1), (30, 200)], ids=["low", "one feature", "wide"])
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("epsilon", [0.5, 10.0])
def test_any_shape_gives_a_finite_fit(shape, task, epsilon):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, shape)
    y = (X[:, 0] > 0).astype(int) if task == "classification" else X[:, 0]
    for sparsity in (None, shape[1]):
        fitted = model(task, epsilon=epsilon, sparsity=sparsity).fit(X, y)
        assert np.all(np.isfinite(fitted.coef_))
        assert np.all(np.abs(fitted.decision_function(X) if task == "classification" else fitted.predict(X)) < 1e3)


def test_three_classes_share_one_budget():
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (1500, 30))
    y = np.argmax(X[:, :3], axis=1)
    fitted = model("classification", epsilon=20.0, sparsity=3).fit(X, y)
    assert fitted.score(X, y) > 0.75
    assert fitted.statement_.epsilon <= 20.0


def test_released_iterates_are_kept():
    X, y, _ = sparse_truth()
    fitted = model(epsilon=1.0, keep_path=True).fit(X, y)
    assert np.allclose(fitted.path_.iterates[-1][:300], fitted.coef_)
    assert len(fitted.path_.iterates) > 5


# ------------------------------------------------------------------------------------------------ what it spends


def facts_of(**options) -> Facts:
    return Facts(**{"n_rows": 1000, "n_features": 1000, "row_norm": 20.0, "lower": -1.2, "upper": 1.2, **options})


@pytest.mark.parametrize("kind", ["numbers", "classes"])
@pytest.mark.parametrize("n", [300, 1000, 5000])
@pytest.mark.parametrize("intercept", [0.0, 1.0])
@pytest.mark.parametrize("known", [False, True])
def test_every_branch_spends_the_whole_budget(kind, n, intercept, known):
    facts = recipes.SelectPolish().view(facts_of(n_rows=n, target=Target(kind=kind), intercept=intercept, sparsity=10))
    facts = facts.with_(means=np.zeros(1000) if known else None)
    solver = recipes.SelectPolish().solver(facts, Budget.approx(0.5, 1e-5))
    plan = solver.plan(facts, Budget.approx(0.5, 1e-5))
    for _, branch in plan.branches:
        assert sum(a.share for a in (*plan.asks, *branch.asks)) == pytest.approx(1.0, abs=1e-12)
        assert len(branch.order) == sum(a.times for a in branch.asks)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_spend_recomputed_from_drawn_noise_is_the_statement(relation, task):
    """zCDP of what was drawn: Gaussians (sensitivity/scale)^2/2, selections (range/scale)^2/8 for each draw."""
    X, y, _ = sparse_truth(n=500, task=task)
    fitted = model(task, epsilon=1.0, adjacency=relation, n_rows=500).fit(X, y)
    spent = sum(a.times * a.draws * a.cost**2 / (8 if a.noise == "gumbel" else 2) for a in fitted.statement_.asks)
    assert spent == pytest.approx(fitted.statement_.rho, rel=1e-9)
    assert fitted.statement_.epsilon <= 1.0


@pytest.mark.parametrize("bin", [0, 8, 16, 24])
def test_each_answer_about_entries_has_its_branch(bin):
    """Whatever the first answer is, the solver follows the branch that was priced for it."""
    facts = recipes.SelectPolish().view(facts_of(n_rows=400, intercept=1.0, sparsity=10, target=Target(bound=3.0)))
    budget = Budget.approx(1.0, 1e-5)
    solver = recipes.SelectPolish().solver(facts, budget)
    assert len(solver.plan(facts, budget).branches) > 1
    X = np.random.default_rng(0).uniform(-1, 1, (400, 1000))
    size = entry_edges(facts)[bin] * 1.05 / 0.5
    X *= np.minimum(size, 1.19) / np.abs(X)
    oracle = CentralOracle(Rows(X, X[:, 0], facts), Squared(), price(solver.plan(facts, budget), budget), Randomness(0))
    assert np.all(np.isfinite(solver.run(oracle)))
    assert oracle.unused_turns == {}


def test_many_coordinates_are_rungs_of_a_ladder():
    assert [rung(k, 30) for k in (1, 17, 30)] == [1, 17, 30]
    rungs = {rung(k, 200) for k in range(1, 201)}
    assert len(rungs) < 25
    assert all(0.87 < rung(k, 200) / k < 1.2 for k in range(20, 201))
    assert all(1 <= rung(k, 200) <= 200 for k in range(1, 201))


def test_more_budget_selects_more_coordinates_and_never_more_than_allowed():
    facts = facts_of(n_rows=300, sparsity=10)
    rule = Rule.of(facts)
    shares = BudgetShares(rule=rule, intercept=False, means_known=False)
    counts = [PolishSchedule.of(shares, facts, rho, 10, 0.3).coordinates for rho in (1e-4, 1e-3, 1e-2, 0.1, 10.0)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] == 10


def test_spare_coordinates_are_selected_where_rows_and_budget_allow():
    def spare(n_rows: int, rho: float, **options) -> int:
        facts = facts_of(n_rows=n_rows, sparsity=10, **options)
        shares = BudgetShares(rule=Rule.of(facts), intercept=False, means_known=False)
        found = PolishSchedule.of(shares, facts, rho, 10, 0.3)
        assert len(found.steps) == len(found.supports)
        assert found.supports[-1] == found.coordinates
        return found.spare

    assert spare(5000, 0.1) == 4
    assert spare(5000, 1e-3) == 0
    assert spare(500, 10.0) == 0
    assert spare(5000, 0.1, target=Target(kind="classes")) == 0


def test_a_wrong_coordinate_that_came_first_is_dropped_again():
    """Columns share five factors: the first selections take columns near the true ones."""
    rng = np.random.default_rng(0)
    load = rng.standard_normal((5, 200))
    load /= np.linalg.norm(load, axis=0)
    X = math.sqrt(0.6) * rng.standard_normal((3000, 5)) @ load + math.sqrt(0.4) * rng.standard_normal((3000, 200))
    truth = np.zeros(200)
    truth[rng.choice(200, 10, replace=False)] = rng.choice([-1, 1], 10) * rng.uniform(0.3, 1, 10)
    y = X @ truth + 0.1 * rng.standard_normal(3000)
    errors = {}
    for spare in (None, 0.0):
        recipe = recipes.SelectPolish(spare=spare)
        fitted = model(epsilon=4.0, sparsity=10, feature_bound=4.0, target_bound=15.0, recipe=recipe).fit(X, y)
        assert np.count_nonzero(fitted.coef_) <= 10
        errors[spare] = error(fitted.coef_, truth)
    assert errors[None] < 0.03 < 0.05 < errors[0.0]


@pytest.mark.parametrize("wide", [10.0, 30.0])
def test_bounds_that_are_far_too_wide_cost_next_to_nothing(wide):
    """Curvatures and Gram matrices are priced by the lengths of rows that were asked for, not by those that were declared."""
    X, y, truth = sparse_truth(n=4000)
    near, far = (model(epsilon=1.0, feature_bound=b).fit(X, y) for b in (1.0, wide))
    assert error(near.coef_, truth) < 0.03
    assert error(far.coef_, truth) < 0.05


def test_pricing_takes_little_time():
    facts = recipes.SelectPolish().view(facts_of(n_rows=2000, intercept=1.0, sparsity=40, row_norm=38.0))
    budget = Budget.approx(1.07, 1e-5)
    solver = recipes.SelectPolish().solver(facts, budget)
    start = time.process_time()
    priced = price(solver.plan(facts, budget), budget)
    assert time.process_time() - start < 10.0
    assert priced.accountant == "recursion over selections"
    assert priced.rho_scale > 1.05 * budget.as_rho()


# ------------------------------------------------------------------------------------------------ what it refuses


def test_other_losses_starts_and_penalties_are_refused_in_words():
    X, y, _ = sparse_truth(n=60, d=20)
    with pytest.raises(ValueError, match=r"cannot take the loss 'poisson'.*dual_averaging"):
        model(epsilon=1.0, loss=Poisson()).fit(X, np.abs(y))
    with pytest.raises(ValueError, match="start vector"):
        model(epsilon=1.0, start=np.zeros(20)).fit(X, y)
    with pytest.raises(ValueError, match="cannot take penalty 'l1'"):
        model(epsilon=1.0, penalty="l1", alpha=0.1).fit(X, y)


@pytest.mark.parametrize(
    "options", [{"rounds": 0}, {"steps": 1.5}, {"selection": 1.0}, {"shrinkage": -1.0}, {"spare": 1.5}]
)
def test_bad_constants_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        recipes.SelectPolish(**options)


def test_constants_can_be_chosen():
    X, y, truth = sparse_truth(n=2000)
    recipe = recipes.SelectPolish(rounds=2, steps=5, selection=0.5, shrinkage=0.4, spare=0.0)
    fitted = model(epsilon=5.0, recipe=recipe).fit(X, y)
    names = [a.name for a in fitted.statement_.asks]
    assert "select 2" in names
    assert "select 3" not in names
    assert error(fitted.coef_, truth) < 0.1


def test_columns_move_to_their_midpoint_only_where_that_shortens_rows():
    view = recipes.SelectPolish().view
    genotypes = view(Facts(n_rows=10, n_features=50, lower=0.0, upper=2.0, row_norm=2 * math.sqrt(50), intercept=1.0))
    assert genotypes.feature_bound == 1.0
    normed = view(Facts(n_rows=10, n_features=50, lower=0.0, upper=1.0, row_norm=1.0, intercept=1.0))
    assert not np.any(normed.shift)
    assert normed.row_bound == 1.0
    free = view(Facts(n_rows=10, n_features=50, lower=0.0, upper=2.0, row_norm=20.0))
    assert not np.any(free.shift)


# ------------------------------------------------------------------------------------------------ steps


def test_a_preconditioner_without_noise_inverts_clear_spikes():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((4000, 6)) + 2 * rng.standard_normal((4000, 1))
    gram = a.T @ a / 4000
    found = Preconditioner.of(gram, 1e-6, 10.0).inverse(float(np.trace(gram)) / 6)
    spike = np.ones(6) / math.sqrt(6)
    assert spike @ found @ gram @ spike == pytest.approx(1.0, abs=0.1)
    assert np.linalg.eigvalsh(found @ gram @ found.T).max() < 3
    noisy = Preconditioner.of(gram, 1e3, 10.0)
    assert np.allclose(noisy.inverse(1.0), np.eye(6) / max(1, 6 / 2.5), atol=1e-6)


def test_a_spike_below_the_edge_of_the_noise_shortens_a_step_along_it_and_no_other():
    """Six columns with correlation .6: their common direction has curvature 4, which noise of .6 hides from the spectrum."""
    gram = 0.4 * np.eye(6) + 0.6
    found = Preconditioner.of(gram, 0.6, 10.0)
    assert found.values[-1] < 1 + found.edge + 1
    spike, other = np.ones(6), np.array([1.0, -1, 0, 0, 0, 0])
    for direction, part in ((spike, 1 / (4.0 - 1.5 * 0.6)), (other, 1.0)):
        assert found.length(direction, direction, 1.0) == pytest.approx(part, rel=1e-6)
    assert found.length(spike, -spike, 1.0) == 0.0
    assert Preconditioner.none(2).length(np.ones(2), np.ones(2), 1.0) == 1.0


def test_classes_on_correlated_columns_do_not_overshoot():
    """Logistic data with correlation .6, where one step has to get the scale right."""
    rng = np.random.default_rng(901)
    X = np.clip(
        math.sqrt(0.4) * rng.standard_normal((3000, 1000)) + math.sqrt(0.6) * rng.standard_normal((3000, 1)), -3, 3
    )
    truth = np.r_[rng.choice([-1, 1], 10) * rng.uniform(0.2, 1, 10), np.zeros(990)]
    y = (rng.random(3000) < 1 / (1 + np.exp(-X @ truth))).astype(int)
    margin = X[1000:] @ truth

    def excess(seed):
        model = SparseClassifier(
            epsilon=1.0, delta=1e-5, sparsity=10, feature_bound=3.0, recipe="select_polish", random_state=seed
        ).fit(X[:1000], y[:1000])
        return np.mean((model.decision_function(X[1000:]) - margin) ** 2) / np.var(margin)

    assert np.mean([excess(seed) for seed in range(8)]) < 1  # 2.4 before steps had a length


def test_gains_take_a_step_as_far_as_it_is_not_noise():
    step, noise, last = np.full(4, 0.1), np.full(4, 1.0), np.full(4, 0.1)
    old = np.array([True, True, True, False])
    taken = gains(step, noise, last, old)
    assert taken[3] == 1
    assert np.allclose(taken[:3], 0.03 / 1.03)
    assert np.allclose(gains(10 * np.ones(4), 0.1 * noise, last, old), 1.0, atol=1e-3)
    assert np.array_equal(gains(0 * step, 0 * noise, 0 * last, old), np.ones(4))


def test_steins_scale_undoes_one_step_from_zero():
    rng = np.random.default_rng(1)
    for variance in (0.5, 1.5):
        z = math.sqrt(variance) * rng.standard_normal(400_000)
        seen = 4 * np.mean(1 / (1 + np.exp(-z)) * (1 - 1 / (1 + np.exp(-z))))
        assert stein_scale(variance * seen**2) == pytest.approx(1 / seen, rel=0.01)
    assert stein_scale(-1.0) == stein_scale(0.0) == 1.0
    assert stein_scale(1e6) == pytest.approx(1.5)


def test_shrinkage_keeps_large_and_drops_small_coefficients():
    found = shrunken(np.array([10.0, -0.5, 0.0, -2.0]), np.ones(4))
    assert found[0] == pytest.approx(10.0, rel=1e-3)
    assert found[1] == found[2] == 0.0
    assert found[3] == pytest.approx(-2 * (1 - 1 / 16))


def test_a_triangle_is_a_matrix_again():
    a = np.array([[2.0, -1.0], [-1.0, 3.0]])
    assert np.allclose(symmetric(np.array([2.0, -math.sqrt(2), 3.0]), 2), a)


@pytest.mark.parametrize("seed", range(4))
def test_columns_far_narrower_than_others_are_answered(seed):
    """They have no whole units of the lattice: their means were a division by zero, after the payment."""
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1e3, 1e-3, 1e-4]
    bounds = np.array([1e5, 1e-12, 1e-12])
    model = SparseRegressor(
        epsilon=1.0, feature_bound=bounds, target_bound=1.0, recipe="select_polish", sparsity=3, random_state=seed
    )
    assert np.all(np.isfinite(model.fit(X, X[:, 0] / 1e3).coef_))
