"""DP Frank-Wolfe: the ball, its vertices, sparse data, and the same loop without noise."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core.facts import Penalty
from dpsparse.recipes import DPFrankWolfe
from truth.coordinates import easy, objective
from truth.twins import both_runs


def estimator(task="regression", **options):
    options = {
        "epsilon": 1e4,
        "delta": 1e-5,
        "feature_bound": 1.0,
        "recipe": "dp_frank_wolfe",
        "random_state": 0,
        **options,
    }
    return SparseClassifier(**options) if task == "classification" else SparseRegressor(target_bound=4.0, **options)


def solver(n=1000, d=100, **options):
    return prepared_for(estimator(**options), n, d, sparse=False, models=1).solver


@pytest.mark.parametrize("sparsity", [3, None])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_without_noise_to_speak_of_it_is_the_same_solver_on_exact_answers(task, sparsity):
    """At epsilon 1e4 the objective is within 1 % of the exact run with the same constants."""
    X, y = easy(task)
    private, exact, facts = both_runs(estimator(task, sparsity=sparsity), X, y)
    found, known = (objective(X, y, w[:-1], facts.intercept * w[-1], task, Penalty()) for w in (private, exact))
    assert found == pytest.approx(known, rel=0.01)


def test_it_approaches_the_minimum_on_the_ball_like_one_over_t():
    """Exact steps: the gap of Frank-Wolfe is at most 2 L D^2/(t+2) for the curvature L along pairs of vertices."""
    X, y = easy("regression")
    X = X - X.mean(axis=0)
    y = y - y.mean()
    radius = 2.5
    values = []
    for steps in (20, 80, 320):
        model = estimator(fit_intercept=False, recipe=DPFrankWolfe(steps=steps, radius=radius, clip=1e3))
        _, w, _ = both_runs(model, X, y)
        assert np.abs(w).sum() <= radius * (1 + 1e-12)
        values.append(objective(X, y, w, 0.0, "regression", Penalty()))
    constrained = values[-1]
    assert values[0] - constrained < 2 * (2 * radius) ** 2 / 22
    assert values[1] - constrained < 0.35 * (values[0] - constrained) + 1e-3


def test_the_result_stays_in_the_ball_and_touches_few_coordinates():
    X, y = easy("regression")
    model = estimator(epsilon=0.3, recipe=DPFrankWolfe(steps=7, radius=1.5), fit_intercept=False).fit(X, y)
    assert np.abs(model.coef_).sum() <= 1.5 * (1 + 1e-12)
    assert np.count_nonzero(model.coef_) <= 7
    (ask,) = model.statement_.asks
    assert (ask.name, ask.times, ask.noise) == ("vertex", 7, "gumbel")


def test_the_intercept_is_a_vertex_like_the_others():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 5))
    model = estimator(recipe=DPFrankWolfe(steps=50, radius=4.0)).fit(X, np.full(500, 2.0))
    assert model.intercept_ == pytest.approx(2.0, abs=0.3)


def test_it_finds_the_support_at_a_modest_budget():
    X, y = easy("regression", n=5000)
    model = estimator(epsilon=2.0, sparsity=3).fit(X, y)
    assert model.support_.tolist() == [0, 1, 2]
    assert model.score(X, y) > 0.7


def test_a_start_outside_the_ball_is_forgotten_in_the_first_step():
    X, y = easy("regression")
    model = estimator(start=np.full(20, 9.0), recipe=DPFrankWolfe(steps=3, radius=1.0), fit_intercept=False).fit(X, y)
    assert np.abs(model.coef_).sum() <= 1.0 + 1e-12


def test_the_radius_is_the_documented_formula():
    made = solver(n=1000, d=100, sparsity=9, fit_intercept=False)
    typical = 1 / np.sqrt(3)  # of the declared box
    assert made.radius == pytest.approx(0.87 * 4 / 3 * 3 / typical)
    tight = solver(n=1000, d=100, sparsity=9, fit_intercept=False, row_norm=2.0)
    assert tight.radius == pytest.approx(0.87 * 4 / 3 * 3 / 0.2)


def test_steps_rise_with_the_budget_within_their_range():
    steps = [solver(epsilon=e, sparsity=5).steps for e in (0.01, 0.5, 1.0, 2.0, 100.0)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (10, 60)


def test_sparse_rows_are_never_made_dense():
    """4,000 x 50,000 with 50 nonzeros a row: dense it would take 1.6 GB."""
    rng = np.random.default_rng(0)
    X = sp.random(4000, 50_000, density=1e-3, random_state=rng, format="csr")
    y = (np.asarray(X[:, :5].sum(axis=1)).ravel() > 0).astype(int)
    model = SparseClassifier(epsilon=2.0, delta=1e-5, row_norm=10.0, feature_bound=1.0, recipe="dp_frank_wolfe")
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


@pytest.mark.parametrize("fields", [{"steps": 0}, {"radius": -1.0}, {"clip": 0.0}])
def test_fields_that_make_no_sense_are_refused(fields):
    with pytest.raises(ValueError, match=next(iter(fields))):
        DPFrankWolfe(**fields)


def test_penalties_are_refused_in_words():
    X, y = easy("regression")
    with pytest.raises(ValueError, match="cannot take penalty"):
        estimator(penalty="l1", alpha=0.1).fit(X, y)


def test_texts_get_a_vertex_for_every_few_rows_and_a_low_intercept():
    def made(n, d=5000, task="classification", **options):
        options = {"feature_bound": None, "row_norm": 1.0, **options}
        return prepared_for(estimator(task, **options), n, d, sparse=True, models=1)

    few, many = made(5000, epsilon=1.0), made(20000, epsilon=1.0)
    assert many.solver.steps == pytest.approx(4 * few.solver.steps, rel=0.1)
    assert made(10**7, epsilon=8.0).solver.steps == 500
    assert made(1000, epsilon=0.1).solver.steps == 10
    height = many.facts.intercept
    assert height * made(10**7, epsilon=8.0).solver.radius == pytest.approx(6.4)  # typical margins of classes are 1
    assert made(20000, task="regression", epsilon=1.0).facts.intercept > 5 * height


def test_the_ball_of_classes_of_texts_grows_with_the_vertices_and_numbers_keep_theirs():
    def made(task="classification", **options):
        options = {"feature_bound": None, "row_norm": 1.0, "epsilon": 1.0, **options}
        return prepared_for(estimator(task, **options), 20000, 5000, sparse=True, models=1).solver

    few, many = made(recipe=DPFrankWolfe(steps=100)), made(recipe=DPFrankWolfe(steps=400))
    assert few.radius == pytest.approx(4.0 * 10 * 5)  # unit rows: a coefficient of 5 for a typical margin of 1
    assert many.radius == pytest.approx(2 * few.radius)
    numbers = made("regression", recipe=DPFrankWolfe(steps=100), sparsity=9)
    assert numbers.radius == pytest.approx(0.87 * 4 / 3 * 3 * 5)
