"""Dual averaging and lazy hard thresholding: what they find, what they spend, and what they refuse."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from builders import Rows, prepared_for
from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.algorithms.column_weights import sized_weights
from dpsparse.core import Budget, Noise
from dpsparse.core.mechanisms import Randomness
from dpsparse.fitting import with_oracles, wrapped
from dpsparse.losses import Logistic, Squared
from dpsparse.oracles import CentralOracle, ExactOracle, RecordingOracle
from dpsparse.queries.kinds import WeightedGradient

NAMES = ("dual_averaging", "lazy_iht")
pytestmark = pytest.mark.filterwarnings("ignore:random_state was given")


def plain(n: int = 400, d: int = 8, nonzero: int = 3, seed: int = 0, task: str = "regression"):
    """Uncorrelated columns, few of which matter."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    w = np.zeros(d)
    w[:nonzero] = [1.0, -0.8, 0.6][:nonzero]
    margin = X @ w + 0.3
    if task == "regression":
        return X, margin + 0.1 * rng.standard_normal(n), w
    return X, (rng.random(n) < 1 / (1 + np.exp(-2 * margin))).astype(int), 2 * w


def model(task: str, recipe, **options):
    options = {"epsilon": 1e4, "delta": 1e-5, "feature_bound": 1.0, "recipe": recipe, "random_state": 1, **options}
    return SparseRegressor(target_bound=3.0, **options) if task == "regression" else SparseClassifier(**options)


def twin(estimator, X, y):
    """The same solver on exact answers: coefficients and intercept."""
    prepared = prepared_for(estimator, *X.shape, sparse=False, models=1)
    solver = replace(prepared.solver, noise=Noise.NONE)
    rows = Rows(X, y, prepared.facts, lattice=False)
    plan = solver.plan(prepared.facts, Budget.approx(1.0, 0.5))
    w = solver.run(ExactOracle(rows, estimator.request().loss, plan, np.random.default_rng(0)))
    shift, d = rows.applied_shift, X.shape[1]
    return w[:d], float(w[-1]) * rows.applied_intercept - float(shift @ w[:d])


def objective(task: str, X, y, coef, intercept) -> float:
    loss = Squared() if task == "regression" else Logistic()
    return float(np.mean(loss.value(X @ np.ravel(coef) + intercept, y.astype(float))))


# ------------------------------------------------------------------------------------------------ what they find


def test_the_twin_reaches_the_least_squares_solution():
    X, y, _ = plain()
    coef, intercept = twin(model("regression", "dual_averaging"), X, y)
    best = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y, rcond=None)[0]
    np.testing.assert_allclose(np.r_[coef, intercept], best, atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_twin_finds_the_support_and_the_fit_on_it(name, task):
    X, y, w = plain(n=1000, d=40, task=task)
    coef, intercept = twin(model(task, name, sparsity=3), X, y)
    assert np.flatnonzero(coef).tolist() == [0, 1, 2]
    if task == "regression":
        best = np.linalg.lstsq(np.c_[X[:, :3], np.ones(len(X))], y, rcond=None)[0]
        np.testing.assert_allclose(np.r_[coef[:3], intercept], best, atol=0.01 if name == "dual_averaging" else 0.05)
    else:
        np.testing.assert_allclose(coef, w, atol=0.5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("sparsity", [3, 8])
def test_with_a_huge_budget_the_objective_is_within_one_percent_of_the_twin(name, task, sparsity):
    """The objective is compared. The exact oracle does not clip, so the clip is set where it does not act."""
    X, y, _ = plain(n=2000, d=8 if sparsity == 8 else 30, task=task)
    estimator = model(task, recipes.get(name)(clip=3.0), sparsity=sparsity).fit(X, y)
    coef, intercept = twin(estimator, X, y)
    found = objective(task, X, y, estimator.coef_, float(np.ravel(estimator.intercept_)[0]))
    exact = objective(task, X, y, coef, intercept)
    empty = objective(task, X, y, 0 * coef, np.mean(y) if task == "regression" else 0.0)
    assert found - exact < 0.01 * empty
    assert found < 0.7 * empty or task == "classification"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_an_ordinary_budget_gives_a_useful_fit(name, kind):
    for task in ("regression", "classification"):
        X, y, _ = plain(n=5000, d=20, task=task)
        X = X if kind == "dense" else sp.csr_matrix(X)
        assert model(task, name, epsilon=2.0, sparsity=5).fit(X, y).score(X, y) > {"regression": 0.8}.get(task, 0.7)


def test_private_weights_let_rare_columns_be_heard():
    """Half of the text is ten frequent words that say nothing; rare ones carry the class. Eight fits each, paired."""
    rng = np.random.default_rng(3)
    n, d = 3000, 400
    y = rng.integers(0, 2, n)
    X = np.zeros((n, d))
    X[:, :10] = rng.poisson(3.0, (n, 10))
    for i in range(n):
        own = rng.integers(0, 195, 6) * 2 + 10 + (y[i] if rng.random() < 0.8 else 1 - y[i])
        X[i, own] = 1.0
    X = sp.csr_matrix(X / np.linalg.norm(X, axis=1, keepdims=True))
    options = {"epsilon": 2.0, "row_norm": 1.0, "feature_bound": None}
    errors = np.array(
        [
            [
                1
                - model("classification", recipes.DualAveraging(weights=w), **options, random_state=s)
                .fit(X, y)
                .score(X, y)
                for w in ("private", "none")
            ]
            for s in range(4)
        ]
    )
    assert errors[:, 0].max() < errors[:, 1].min()


def test_sparsity_none_is_the_soft_thresholded_solution_and_more_than_d_is_no_limit():
    X, y, _ = plain(n=800, d=400)
    dense = model("regression", "dual_averaging", epsilon=3.0, fit_intercept=False).fit(X, y)
    assert 20 < np.count_nonzero(dense.coef_) < 380
    same = model("regression", "dual_averaging", epsilon=3.0, fit_intercept=False, sparsity=400).fit(X, y)
    np.testing.assert_array_equal(dense.coef_, same.coef_)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sparsity", [1, 3, 12, 39])
def test_no_more_nonzeros_than_asked_for(name, sparsity):
    X, y, _ = plain(d=40)
    start = np.full(40, 0.1)
    for options in ({}, {"start": start}):
        fitted = model("regression", name, epsilon=1.0, sparsity=sparsity, **options).fit(X, y)
        assert 1 <= np.count_nonzero(fitted.coef_) <= sparsity


@pytest.mark.parametrize("name", NAMES)
def test_correlated_and_uncentred_columns_do_not_make_it_diverge(name):
    """One common factor, all columns positive: the curvature sits in one direction. From a small to a huge budget."""
    rng = np.random.default_rng(5)
    X = np.clip(0.5 + 0.4 * rng.standard_normal((600, 1)) + 0.05 * rng.standard_normal((600, 25)), 0, 1)
    y = X.mean(axis=1) - 0.5 + 0.05 * rng.standard_normal(600)
    for epsilon in (0.1, 1.0, 10.0, 1e3, 1e5):
        for sparsity in (None, 4):
            fitted = SparseRegressor(
                epsilon=epsilon, delta=1e-5, feature_bound=(0.0, 1.0), target_bound=1.0, recipe=name, sparsity=sparsity
            ).fit(X, y)
            error = np.mean((fitted.predict(X) - y) ** 2) / np.var(y)
            assert error < (1.0 if epsilon >= 10 else 20.0)


# ------------------------------------------------------------------------------------------------ what they spend


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("recipe", ["dual_averaging", "lazy_iht", recipes.DualAveraging(weights="none")], ids=str)
def test_the_spend_recomputed_from_the_noise_that_was_drawn_is_the_statement(recipe, adjacency):
    X, y, _ = plain(d=40)
    fitted = model("regression", recipe, epsilon=1.0, sparsity=4, adjacency=adjacency, n_rows=400).fit(X, y)
    drawn = math.fsum(a.times * a.cost**2 for a in fitted.statement_.asks)
    assert math.sqrt(drawn) == pytest.approx(fitted.statement_.mu, rel=1e-9)
    assert fitted.statement_.accountant if hasattr(fitted.statement_, "accountant") else True
    assert fitted.statement_.epsilon <= 1.0


def test_the_noise_of_the_path_does_not_depend_on_the_number_of_steps():
    X = plain(d=40)[0]
    noise = []
    for steps in (10, 200):
        prepared = prepared_for(
            model("regression", recipes.DualAveraging(steps=steps), epsilon=1.0), *X.shape, sparse=False, models=1
        )
        loop = prepared.solver.loop
        each = [s / prepared.priced.cost("gradient", t).strength for t, s in enumerate(loop.sizes)]
        noise.append(math.hypot(*each) * 2 * loop.clip / 400)
    assert noise[0] == pytest.approx(noise[1], rel=1e-9)
    assert noise[0] == pytest.approx(0.9 * loop.clip, rel=1e-6), "margin_noise times a typical residual"


def test_shares_of_the_parts_are_as_documented():
    prepared = prepared_for(model("classification", "dual_averaging", sparsity=4), 400, 40, sparse=False, models=1)
    shares = {a.name: a.share for a in prepared.plan.asks}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["means"] == pytest.approx(0.06)
    assert shares["balance"] == pytest.approx(0.005)
    assert shares["spread"] + shares["slope"] == pytest.approx(0.035)
    assert (shares["refit"] + shares["support size"]) / 0.895 == pytest.approx(0.2)


def test_weights_of_sparse_rows_follow_the_path_where_means_can_be_told():
    """A public rule: with few rows or a small budget the means would drown, and columns are not weighted."""
    options = {"row_norm": 1.0, "feature_bound": None, "epsilon": 1.0}
    rich, poor = (
        prepared_for(model("classification", "dual_averaging", **options), n, 500, sparse=True, models=1)
        for n in (20_000, 500)
    )
    shares = {a.name: a.share for a in rich.plan.asks}
    assert list(shares) == ["balance", "means", "energies", "gradient", "spread", "slope"]
    assert shares["means"] == pytest.approx(0.05)
    assert shares["energies"] == pytest.approx(0.005)
    assert rich.solver.weighting.followed
    assert poor.solver.weighting is None
    assert [a.name for a in poor.plan.asks] == ["gradient"]
    dense = prepared_for(model("classification", "dual_averaging", **options), 20_000, 500, sparse=False, models=1)
    assert [a.name for a in dense.plan.asks] == ["balance", "means", "size", "gradient", "spread", "slope"]


def documents(signal: str, n: int = 8000, d: int = 1500) -> tuple[sp.csr_matrix, np.ndarray]:
    """Words by Zipf's law in unit rows; their coefficients grow with frequency, or fall with its root."""
    rng = np.random.default_rng(7)
    frequency = 1 / np.arange(5, d + 5)
    words = rng.choice(d, size=(n, 40), p=frequency / frequency.sum())
    X = sp.csr_matrix((np.ones(n * 40), (np.repeat(np.arange(n), 40), words.ravel())), shape=(n, d))
    X = sp.csr_matrix(sp.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    means = np.asarray(X.mean(axis=0)).ravel() + 1e-9
    margin = X @ (rng.standard_normal(d) * means ** (0.5 if signal == "frequent" else -0.5))
    margin = 3 * (margin - margin.mean()) / margin.std()
    return X, (rng.random(n) < 1 / (1 + np.exp(-margin))).astype(int)


def last_power(X, y) -> float:
    """The power of the weights with which the last gradient was asked, by the most and the tenth most frequent column."""
    options = {"row_norm": 1.0, "feature_bound": None, "epsilon": 4.0, "random_state": 2}
    seen: list[RecordingOracle] = []

    def record(_, oracle):
        seen.append(RecordingOracle(oracle))
        return seen[0]

    with with_oracles(wrapped(record)):
        model("classification", "dual_averaging", **options).fit(X, y)
    means = np.asarray(abs(X).mean(axis=0)).ravel()
    a = [question for question in seen[0].questions if isinstance(question, WeightedGradient)][-1].weights
    return float(np.log(a[0] / a[9]) / np.log(means[9] / means[0]))


def test_frequent_columns_are_held_back_less_where_they_hold_the_signal():
    assert last_power(*documents("frequent")) < last_power(*documents("rare")) - 0.1


@pytest.mark.parametrize(("share", "expected"), [(0.5, 1.0), (0.05, 3.0), (0.95, 3.0)])
def test_a_rare_class_holds_the_weights_back(share, expected):
    """A column with a mean far above the floor: its weight over that of an absent one is the root of floor over mean."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0.4, 0.6, (4000, 2)) * [1.0, 0.0], (rng.random(4000) < share).astype(float)
    prepared = prepared_for(
        model("classification", "dual_averaging", feature_bound=(0.0, 1.0), epsilon=50.0),
        4000,
        2,
        sparse=False,
        models=1,
    )
    oracle = CentralOracle(Rows(X, y, prepared.facts), Logistic(), prepared.priced, Randomness(0))
    rule = prepared.solver.weighting
    a = sized_weights(oracle, rule)
    assert (a[0] / a[1]) ** 2 == pytest.approx(expected * rule.floor / 0.5, rel=0.05)


def test_one_budget_covers_several_classes():
    X, y, _ = plain(n=600, d=10)
    y = np.digitize(y, [-0.3, 0.5])
    fitted = model("classification", "dual_averaging", epsilon=2.0).fit(X, y)
    assert fitted.coef_.shape == (3, 10)
    assert fitted.statement_.epsilon <= 2.0


# ------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize("name", NAMES)
def test_penalties_act_on_the_coefficients_as_the_user_knows_them(name):
    X, y, _ = plain(n=3000, d=12)
    free = model("regression", name, sparsity=12).fit(X, y)
    for penalty, alpha in (("l2", 0.3), ("l1", 0.1)):
        fitted = model("regression", name, sparsity=12, penalty=penalty, alpha=alpha).fit(X, y)
        expected = (
            free.coef_ / (1 + 0.3 * 3)
            if penalty == "l2"
            else np.sign(free.coef_) * np.maximum(np.abs(free.coef_) - 0.3, 0)
        )
        np.testing.assert_allclose(fitted.coef_, expected, atol=0.06)  # columns have variance 1/3
        assert fitted.intercept_ == pytest.approx(free.intercept_, abs=0.02)
    boxed = model("regression", name, sparsity=12, penalty="box", box=0.25).fit(X, y)
    assert np.abs(boxed.coef_).max() <= 0.25


def test_the_path_is_kept():
    X, y, _ = plain(d=40)
    fitted = model("regression", recipes.DualAveraging(steps=7), sparsity=4, keep_path=True).fit(X, y)
    assert len(fitted.path_.iterates) == 15  # two runs, and the finish


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"clip": -1.0},
        {"momentum": 1.0},
        {"margin_noise": 0.0},
        {"threshold": -0.1},
        {"weights": "idf"},
        {"refit": 1.0},
    ],
    ids=str,
)
def test_constants_that_make_no_sense_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        recipes.DualAveraging(**wrong)


def loop_of(estimator, n_rows: int, n_features: int, *, sparse: bool):
    return prepared_for(estimator, n_rows, n_features, sparse=sparse).solver.loop


@pytest.mark.parametrize(("n_rows", "steps"), [(500, 34), (20_000, 79), (10**7, 134)])
def test_two_classes_of_documents_walk_the_same_path_in_a_third_of_the_steps(n_rows, steps):
    """Dense rows with the same constants but those of the steps stand in for how it was before."""
    documents = SparseClassifier(epsilon=4.0, delta=1e-8, row_norm=1.0, recipe="dual_averaging")
    few = loop_of(documents, n_rows, 5000, sparse=True)
    assert (few.momentum, few.steps) == (0.7, steps)
    dense = loop_of(documents, n_rows, 5000, sparse=False)
    assert dense.momentum == 0.9
    assert abs(dense.steps - 3 * few.steps) <= 0.05 * dense.steps + 2
    assert few.length == pytest.approx(dense.length, rel=0.02)


def test_other_targets_of_documents_keep_their_steps():
    """Squared loss bends as much everywhere, so that fewer steps can be unstable."""
    numbers = SparseRegressor(epsilon=4.0, delta=1e-8, row_norm=1.0, target_bound=1.0, recipe="dual_averaging")
    assert loop_of(numbers, 500, 5000, sparse=True).momentum == 0.9
    assert loop_of(numbers, 500, 5000, sparse=True).steps == 100
