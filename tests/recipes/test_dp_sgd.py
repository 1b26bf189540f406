"""DP-SGD: smooth and proximal steps, batches of one, schedules of batches, and the same loop without noise."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor, audit
from dpsparse.algorithms.steps import FixedSteps
from dpsparse.core import EveryRow, PoissonRows
from dpsparse.core.facts import Penalty
from dpsparse.recipes import DPSGD
from truth.coordinates import easy, objective
from truth.twins import both_runs

PENALTIES = {
    "none": {},
    "l2": {"penalty": "l2", "alpha": 0.05},
    "l1": {"penalty": "l1", "alpha": 0.05},
    "elasticnet": {"penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.5},
    "box": {"penalty": "box", "box": 0.8},
}


def estimator(task="regression", **options):
    options = {"epsilon": 1e4, "delta": 1e-5, "feature_bound": 1.0, "recipe": "dp_sgd", "random_state": 0, **options}
    return SparseClassifier(**options) if task == "classification" else SparseRegressor(target_bound=4.0, **options)


def solver(n=2000, d=100, task="regression", **options):
    return prepared_for(estimator(task, **options), n, d, sparse=False, models=1).solver


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_without_noise_to_speak_of_it_is_the_same_solver_on_exact_answers(task, penalty):
    """At epsilon 1e4 the objective is within 1 % of the exact run with the same constants."""
    X, y = easy(task)
    options = PENALTIES[penalty]
    private, exact, facts = both_runs(estimator(task, **options), X, y)
    kind = Penalty(kind=options.get("penalty", "l2"), alpha=options.get("alpha", 0.0), l1_ratio=0.5)
    found, known = (objective(X, y, w[:-1], facts.intercept * w[-1], task, kind) for w in (private, exact))
    assert found == pytest.approx(known, rel=0.01)
    if penalty == "box":
        assert np.abs(private[:-1]).max() <= 0.8


def test_proximal_steps_reach_the_lasso():
    from sklearn.linear_model import Lasso

    X, y = easy("regression")
    known = Lasso(alpha=0.1, tol=1e-10).fit(X, y)
    model = estimator(penalty="l1", alpha=0.1, recipe=DPSGD(steps=300)).fit(X, y)
    np.testing.assert_allclose(model.coef_, known.coef_, atol=0.02)
    assert model.intercept_ == pytest.approx(known.intercept_, abs=0.02)


def test_it_learns_at_a_modest_budget():
    X, y = easy("regression", n=5000)
    assert estimator(epsilon=1.0).fit(X, y).score(X, y) > 0.8
    X, y = easy("classification", n=5000)
    assert estimator("classification", epsilon=1.0).fit(X, y).score(X, y) > 0.8


def test_batches_of_one_are_mostly_empty_and_still_answer():
    X, y = easy("regression", n=300)
    model = estimator(epsilon=5.0, recipe=DPSGD(steps=400, batch_size=1)).fit(X, y)
    (ask,) = model.statement_.asks
    assert ask.rate == pytest.approx(1 / 300)
    assert ask.times == 400
    assert np.all(np.isfinite(model.coef_))
    assert model.statement_.epsilon <= 5.0


def test_a_public_schedule_of_batches_has_one_noise_multiplier():
    X, y = easy("regression", n=500)
    sizes = (50.0,) * 5 + (100.0,) * 5 + (500.0,) * 2
    model = estimator(epsilon=2.0, recipe=DPSGD(steps=12, batch_size=sizes)).fit(X, y)
    asks = {a.name: a for a in model.statement_.asks}
    assert [(a.rate, a.times) for a in asks.values()] == [(0.1, 5), (0.2, 5), (1.0, 2)]
    ratios = [a.cost for a in asks.values()]
    assert ratios == pytest.approx([ratios[0]] * 3, rel=1e-6)
    audit.check_estimator_privacy(estimator(epsilon=2.0, recipe=DPSGD(steps=12, batch_size=sizes)), X, y)


def test_the_path_ends_at_1_1_targets_of_noise():
    """Noise of the path, steps times noise of one step over the root of their number, in the margin of a full row."""
    made = solver(n=2000, d=100, epsilon=1.0, fit_intercept=False)
    prepared = prepared_for(estimator(epsilon=1.0, fit_intercept=False), 2000, 100, sparse=False, models=1)
    per_step = 2 * made.clip.norm / prepared.priced.cost("gradient").strength / 2000
    rate = prepared.plan["gradient"].rows.rate
    noise = sum(made.step_sizes) / math.sqrt(len(made.step_sizes)) * per_step / rate
    assert noise * prepared.facts.norm_bound == pytest.approx(1.1 * 4 / 3, rel=0.15)


@pytest.mark.parametrize("steps", [20, 200])
def test_steps_share_one_path(steps):
    made = solver(epsilon=0.5, recipe=DPSGD(steps=steps))
    assert sum(made.step_sizes) == pytest.approx(sum(solver(epsilon=0.5).step_sizes), rel=0.02)


def test_more_budget_means_a_longer_path_a_larger_clip_and_in_the_end_every_row():
    made = [solver(epsilon=e) for e in (0.1, 1.0, 10.0, 1e3, 1e5)]
    paths = [sum(m.step_sizes) for m in made]
    assert paths == sorted(paths)
    clips = [m.clip.norm for m in made]
    assert clips == sorted(clips)
    assert isinstance(made[0].rows, PoissonRows)
    assert isinstance(made[-1].rows, EveryRow)


def test_given_numbers_are_taken_as_they_are():
    made = solver(recipe=DPSGD(steps=7, step_size=0.3, clip=2.0, batch_size=200))
    assert made.step_sizes == (0.3,) * 7
    assert made.clip.norm == 2.0
    assert made.rows == PoissonRows(0.1)
    assert made.step_rule == FixedSteps()


def test_the_guard_keeps_correlated_columns_from_diverging():
    rng = np.random.default_rng(3)
    common = rng.uniform(-1, 1, (8000, 1))
    X = np.clip(0.8 * common + 0.2 * rng.uniform(-1, 1, (8000, 50)), -1, 1)
    y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(8000)
    model = estimator(epsilon=5.0).fit(X, y)
    assert model.score(X, y) > 0.8


def test_an_intercept_of_low_curvature_columns_stays_put():
    """Sparse unit rows allow long steps that the intercept could not bear; its own step is bounded by its height."""
    import scipy.sparse as sp

    rng = np.random.default_rng(4)
    X = sp.random(3000, 2000, density=0.01, random_state=rng, format="csr")
    X = sp.csr_matrix(X.multiply(1 / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-9)))
    y = (np.asarray(X[:, :40].sum(axis=1)).ravel() > 0).astype(int)
    model = SparseClassifier(epsilon=8.0, delta=1e-5, row_norm=1.0, recipe="dp_sgd", random_state=0).fit(X, y)
    assert np.abs(model.intercept_).max() < 10


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"steps": 0}, "steps"),
        ({"step_size": -1.0}, "step_size"),
        ({"clip": 0.0}, "clip"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": (1.0, 2.0)}, "one number for each"),
        ({"steps": 2, "batch_size": (1.0, -2.0)}, "batch_size"),
    ],
)
def test_fields_that_make_no_sense_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        DPSGD(**fields)


def test_a_larger_budget_never_means_a_tighter_clip():
    """Turns that were added at the clip's expense led to another optimum: few columns, many rows."""
    clips = [solver(16_512, 8, epsilon=epsilon).clip.norm for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 256.0)]
    assert clips == sorted(clips)


def reviews(rows, words, seed=0):
    """Documents of 120 words, the k-th of which is k times as rare as the first; what they say follows from 200 of the rarer ones."""
    rng = np.random.default_rng(seed)
    often = 1 / np.arange(1, words + 1)
    X = np.log1p(rng.multinomial(120, often / often.sum(), size=rows).astype(float))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    truth = np.zeros(words)
    truth[20:220] = 6 * rng.standard_normal(200)
    return csr_matrix(X), np.clip(X @ truth + 0.5 * rng.standard_normal(rows), -4.5, 4.5)


def test_steps_on_texts_do_not_swing_along_their_frequent_words():
    """With steps for uncorrelated columns the error was 10 to 50 times that of zero, and grew with epsilon."""
    X, y = reviews(2000, 8000)
    found = []
    for epsilon in (2.0, 10.0):
        model = estimator(epsilon=epsilon, feature_bound=None, row_norm=1.0, sparsity=8000, fit_intercept=False)
        model = model.set_params(target_bound=4.5).fit(X[:1500], y[:1500])
        found.append(np.mean((model.predict(X[1500:]) - y[1500:]) ** 2) / np.mean(y[1500:] ** 2))
    assert found[0] < 1
    assert found[1] < 0.75
