"""Ordinary tables: what is found with loose bounds, when few coefficients are enough, when the constant is all there is."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from builders import Rows, prepared_for
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.algorithms.constants import TABLES
from dpsparse.algorithms.table_descent import Descent, ExpectedGain
from dpsparse.algorithms.table_schedule import DENSE, SPARSE, TableSchedule, grid
from dpsparse.algorithms.tables import whitening
from dpsparse.core import Noise
from dpsparse.core.facts import Facts, Projection
from dpsparse.losses import Huber, Poisson
from dpsparse.oracles import ExactOracle

pytestmark = pytest.mark.filterwarnings("ignore:random_state was given")


def table(n=3000, d=10, s=None, seed=0, mean=0.0, task="regression"):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    w = rng.standard_normal(d)
    if s is not None:
        w = np.where(np.arange(d) < s, np.sign(w) * np.maximum(np.abs(w), 0.5), 0.0)
    w *= math.sqrt(3) / np.linalg.norm(w)
    margin = X @ w
    if task == "regression":
        return X, margin + mean + 0.3 * rng.standard_normal(n), w
    return X, (rng.random(n) < 1 / (1 + np.exp(-3 * margin))).astype(int), 3 * w


def model(task="regression", **options):
    options = {"epsilon": 1.0, "delta": 1e-6, "feature_bound": 1.0, "recipe": "tables", "random_state": 1} | options
    return SparseRegressor(**{"target_bound": 4.0} | options) if task == "regression" else SparseClassifier(**options)


def excess(found, w) -> float:
    """Squared distance of coefficients, in parts of their squared length: the excess error of uniform columns."""
    return float(np.sum((found.coef_.ravel() - w) ** 2) / np.sum(w**2))


def plan_of(estimator, n, d):
    return prepared_for(estimator, n, d).plan


# ------------------------------------------------------------------------------------------------ what is found


def test_numbers_far_below_zero_are_fitted_by_steps_of_second_order():
    """Of numbers, the start of a path is a median in any units: no log-odds."""
    X, y, w = table(n=6000, mean=-2.0)
    small, large = (model(epsilon=4.0, target_bound=8.0 * unit).fit(X, y * unit) for unit in (1.0, 1e5))
    assert small.intercept_ < -1.5
    np.testing.assert_allclose(large.coef_ / 1e5, small.coef_, atol=1e-3)
    assert excess(small, w) < 0.01


@pytest.mark.parametrize(
    ("options", "mean"),
    [
        ({}, 0.0),
        ({"feature_bound": 10.0}, 0.0),
        ({"target_bound": 40.0}, 0.0),
        ({"feature_bound": 10.0, "target_bound": 40.0}, 0.0),
        ({"target_bound": 60.0}, 50.0),
        ({"feature_bound": (-1.0, 30.0)}, 0.0),
        ({"loss": Huber(1.0)}, 0.0),
        ({"adjacency": "add-remove", "n_rows": 3000}, 0.0),
    ],
    ids=["tight", "features x10", "targets x10", "both x10", "mean 50", "one-sided", "huber", "add-remove"],
)
def test_loose_bounds_and_far_means_cost_little(options, mean):
    X, y, w = table(mean=mean)
    found = model(**options).fit(X, y)
    assert excess(found, w) < 0.02
    assert found.intercept_ == pytest.approx(mean, abs=0.15)


def test_columns_of_any_unit_are_learned_alike():
    X, y, w = table()
    unit = np.geomspace(1e-3, 1e3, 10)
    found = model(feature_bound=(-unit, unit)).fit(X * unit, y)
    assert float(np.sum((found.coef_ * unit - w) ** 2) / np.sum(w**2)) < 0.02


@pytest.mark.parametrize(("shares", "least"), [(0.5, 0.97), (0.05, 0.8)], ids=["even", "1:20"])
def test_classes_are_told_apart(shares, least):
    X, y, w = table(task="classification")
    keep = np.flatnonzero(y)[: int(shares * 2 * np.sum(y))]
    rows = np.r_[np.flatnonzero(y == 0), keep]
    found = model("classification").fit(X[rows], y[rows])
    cosine = float(found.coef_.ravel() @ w / np.linalg.norm(found.coef_) / np.linalg.norm(w))
    assert cosine > least


@pytest.mark.parametrize("intercept", [True, False])
def test_on_exact_answers_it_ends_where_least_squares_does(intercept):
    X, y, _ = table(n=2000, d=8, mean=0.4 * intercept)
    estimator = model(fit_intercept=intercept, epsilon=20.0)
    prepared = prepared_for(estimator, *X.shape)
    solver = replace(prepared.solver, noise=Noise.NONE, selection_noise=Noise.NONE)
    rows = Rows(X, y, prepared.facts, lattice=False)
    oracle = ExactOracle(rows, estimator.request().loss, solver.plan(prepared.facts, None), np.random.default_rng(0))
    found = solver.run(oracle)
    assert oracle.unused_turns == {}
    A = np.column_stack([X, np.ones(len(X))]) if intercept else X
    best = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose(found[:8], best[:8], atol=0.05)


def test_an_l2_penalty_shrinks():
    X, y, _ = table()
    sizes = [np.linalg.norm(model(penalty="l2", alpha=a).fit(X, y).coef_) for a in (0.0, 0.5, 50.0)]
    assert sizes[0] > 1.5 * sizes[1] > 3 * sizes[2]


def test_as_many_coefficients_as_were_asked_for():
    X, y, w = table(d=20, s=3)
    found = model(sparsity=3).fit(X, y)
    assert np.flatnonzero(found.coef_).tolist() == [0, 1, 2]
    assert excess(found, w) < 0.01


# ------------------------------------------------------------------------------------------------ few or many


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_sparse_truth_gives_a_sparse_model_and_a_dense_one_does_not(task):
    few = table(n=4000, d=80, s=4, task=task)
    many = table(n=4000, d=80, task=task)
    found = [model(task, epsilon=4.0).fit(X, y) for X, y, _ in (few, many)]
    assert np.count_nonzero(found[0].coef_) <= 20
    assert np.count_nonzero(found[1].coef_) == 80
    told = [", ".join(model.statement_.notes) for model in found]
    assert f"{SPARSE}, " in told[0]
    assert SPARSE not in told[1]
    assert " coordinates in " in told[0]
    assert f"chosen by answers: {DENSE}" in told[1]
    assert excess(found[0], few[2]) < (0.005 if task == "regression" else 0.3)


def test_the_branches_of_a_plan_cost_the_same():
    plan = plan_of(model(), 4000, 100)
    assert plan.share == pytest.approx(1.0)
    first = dict(plan.branches)
    second = dict(first[DENSE].branches)
    assert set(first) == set(second) == {DENSE, SPARSE}
    assert first[SPARSE].share == pytest.approx(first[DENSE].share)
    assert second[SPARSE].share == pytest.approx(second[DENSE].share)


@pytest.mark.parametrize("options", [{}, {"sparsity": 5}, {"fit_intercept": False}, {"epsilon": 0.05}])
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(("n", "d"), [(200, 5), (3000, 20), (3000, 100), (100_000, 40)])
def test_shares_come_to_one(task, n, d, options):
    assert plan_of(model(task, **options), n, d).share == pytest.approx(1.0)


def gradient(kind: str, strength: float, rng: np.random.Generator, d: int = 200) -> np.ndarray:
    truth = np.zeros(d)
    if kind == "few":
        truth[:8] = strength * math.sqrt(d / 8)
    if kind == "many":
        truth = strength * rng.standard_normal(d)
    return truth + rng.standard_normal(d)


def test_expected_gains_tell_few_from_many():
    """Few of 14 coefficients explain all that 8 true ones do, and a small part of what 200 do."""
    rng = np.random.default_rng(0)
    for strength in (1.0, 3.0, 10.0):
        few, many = (ExpectedGain.of(gradient(kind, strength, rng), 1.0, 0.3, 14) for kind in ("few", "many"))
        assert few.few > 0.9 * few.many
        assert many.few < 0.5 * many.many
        assert few.few == pytest.approx(200 * strength**2, rel=0.8)
    nothing = ExpectedGain.of(gradient("none", 0.0, rng), 1.0, 0.3, 14)
    assert max(nothing.few, nothing.many) < 50


def test_expected_gains_do_not_depend_on_units():
    g = gradient("many", 1.0, np.random.default_rng(1))
    one, two = ExpectedGain.of(g, 1.0, 0.3, 14), ExpectedGain.of(1e-6 * g, 1e-6, 0.3, 14)
    assert (one.few, one.many) == pytest.approx((two.few, two.many))


# ------------------------------------------------------------------------------------------------ the constant


def test_where_noise_hides_everything_the_median_is_all_that_is_released():
    X, y, _ = table(n=150, d=5, mean=1.0)
    found = model(epsilon=0.5).fit(X, y)
    assert not np.any(found.coef_)
    assert found.intercept_ == pytest.approx(1.0, abs=0.6)
    assert [a.name for a in plan_of(model(epsilon=0.5), 150, 5).asks] == ["start"]


def test_a_score_of_noise_is_drawn_back():
    """Targets that no column tells anything about: the mean squared error stays close to the constant's."""
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, (2000, 40)), rng.standard_normal(2000)
    errors = [float(np.var(y - model(random_state=s).fit(X, y).predict(X))) for s in range(4)]
    assert np.mean(errors) < 1.06 * np.var(y)


def test_classes_that_no_column_tells_anything_about_stay_near_the_constant():
    """Their slope is not asked: what noise explains of the coefficients is drawn back. Four fixed seeds."""
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-1, 1, (2000, 20)), (rng.random(2000) < 0.3).astype(int)
    for found in (model("classes", random_state=s).fit(X, y) for s in range(4)):
        assert float(np.std(found.decision_function(X))) < 0.35
    assert "slope" not in {a.name for a in plan_of(model("classes", classes=[0, 1]), 2000, 20).asks}
    assert "slope" in {a.name for a in plan_of(model(), 2000, 40).asks}


def test_a_rare_class_that_no_column_tells_anything_about_keeps_its_share():
    """60 of 60,000 rows: a path starts at a share of 2 %, and the constant of a dropped score was that, 20 times the share.

    Four seeds; the share is known to about a third of itself.
    """
    n, found = 60_000, []
    for seed in range(4):
        X, y = np.random.default_rng(seed).uniform(-1, 1, (n, 1)), np.arange(n) % 1000 == 0
        fitted = model("classification", classes=[False, True], random_state=seed).fit(X, y)
        found.append(fitted.predict_proba(X)[:, 1].mean())
    assert 0.0003 < min(found) <= max(found) < 0.004, found


@dataclass
class LinearAnswers:
    """Gradients of a quadratic whose curvature is the same everywhere, with noise."""

    facts: Facts
    bend: float
    minimum: float
    noise: float
    rng: np.random.Generator

    def noisy(self, query, ask):
        """The gradient at the model of the query, and the standard deviation of its noise."""
        w = query.model.w
        return self.bend * (w - self.minimum) + self.noise * self.rng.standard_normal(w.size), self.noise


@pytest.mark.parametrize("level", [2e4, 4e5])
def test_a_path_of_classes_knows_how_far_it_went_its_noise_and_its_slope(level, monkeypatch):
    """Over 4,000 coordinates.

    Their mean has a relative error of .2 % at most and their spread one of 1.1 %: less than a sixth of what is allowed.
    The slope is allowed six of its standard deviations, and one for what its own noise has in common with the result.
    """
    facts = Facts(n_rows=1000, n_features=4000, intercept=0.0)
    facts = facts.with_(target=replace(facts.target, kind="classes"))
    schedule = replace(TableSchedule.of(facts, level), race=False)
    square = TABLES.bend / 4000
    phase = schedule.phases[0]
    noise = 2 * schedule.class_clip / (level * math.sqrt(phase.share / phase.steps))
    bend = square / 4
    monkeypatch.setattr(Descent, "_curvatures", lambda self: (bend, bend))
    answers = LinearAnswers(facts, bend, 10.0, noise, np.random.default_rng(5))
    frame = Projection(support=np.arange(4000), centre=np.zeros(4000), length=1.0, constant=0.0)
    found = Descent(answers, schedule, frame, (0.0, 0.0), None, square)
    found.soft = 0.0
    found.run(phase)
    assert float(found.w.mean()) == pytest.approx(10.0 * found.reached, rel=0.02)
    assert float(found.w.std()) == pytest.approx(found.left, rel=0.07)
    assert 0 < found.reached < 1.3
    assert abs(found.slope - 10.0 * found.w.sum() / float(found.w @ found.w)) < 7 * found.slope_noise
    assert found.slope_noise < 0.05


# ------------------------------------------------------------------------------------------------ public choices


def test_whitening_is_the_identity_where_a_matrix_is_noise_and_undoes_what_is_not():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((30, 30))
    matrix, largest = whitening(np.eye(30) / 30 + (noise + noise.T) / 20, 0.1, 1.0)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(30), atol=0.5)
    assert largest < 1.3
    X = rng.standard_normal((5000, 3)) @ np.array([[1.0, 0.9, 0.8], [0.0, 0.3, 0.1], [0.0, 0.0, 0.2]])
    matrix, _ = whitening(X.T @ X / 5000, 1e-6, 3.0)
    after = (X @ matrix).T @ (X @ matrix) / 5000
    np.testing.assert_allclose(after / np.trace(after) * 3, np.eye(3), atol=0.1)


@pytest.mark.parametrize("classes", [True, False])
def test_more_budget_asks_for_no_less(classes):
    """Law on the schedule: what can be afforded at a level can be afforded at any higher one, and paths grow."""
    facts = Facts(n_rows=1000, n_features=30, intercept=1.0)
    facts = facts.with_(target=replace(facts.target, kind="classes")) if classes else facts
    found = [TableSchedule.of(facts, level) for level in np.geomspace(5, 1e6, 60)]
    for one, two in itertools.pairwise(found):
        assert one.constant >= two.constant
        assert one.newton <= two.newton
        assert one.few_records >= two.few_records
        assert one.whitens <= two.whitens
        if not one.constant:
            assert one.level * math.sqrt(one.question) <= 1.3 * two.level * math.sqrt(two.question)
            assert two.newton or one.phases[-1].length <= 1.2 * two.phases[-1].length


@pytest.mark.slow
@pytest.mark.parametrize(("d", "s"), [(15, None), (100, 5), (100, None)], ids=["narrow", "few of 100", "all of 100"])
def test_errors_do_not_grow_with_epsilon_or_rows(d, s):
    """Means of six seeded fits; a step may rise by two standard errors of the difference."""

    def errors(n: int, epsilon: float) -> np.ndarray:
        found = []
        for seed in range(6):
            X, y, w = table(n=n, d=d, s=s, seed=seed)
            found.append(excess(model(epsilon=epsilon, random_state=seed).fit(X, y), w))
        return np.array(found)

    for path in ([(2000, e) for e in (0.25, 1.0, 4.0)], [(n, 1.0) for n in (500, 2000, 8000)]):
        for one, two in itertools.pairwise([errors(*at) for at in path]):
            assert two.mean() <= one.mean() + 2 * math.sqrt((one.var(ddof=1) + two.var(ddof=1)) / 6)


def test_grids_end_at_their_bound():
    assert grid(0.01, 5.0, 60, thin=False)[-1] == pytest.approx(5.0)
    thin = grid(0.01, 5.0, 60, thin=True)
    assert thin.size == 20
    assert thin[-1] == pytest.approx(5.0)


# ------------------------------------------------------------------------------------------------ refusals


def test_a_start_vector_is_refused():
    with pytest.raises(ValueError, match="cannot use a start vector"):
        plan_of(model(start=np.zeros(5)), 1000, 5)


def test_a_loss_with_a_link_is_refused():
    with pytest.raises(ValueError, match="dual_averaging"):
        plan_of(model(loss=Poisson()), 1000, 5)
