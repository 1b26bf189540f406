"""DP-GCD: what its defaults do, what it asks, and that with no noise left it is greedy coordinate descent."""

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.accounting import price
from dpsparse.core import Budget, Noise
from dpsparse.core.facts import Penalty
from dpsparse.recipes.dp_gcd import noise_level
from truth.coordinates import central_and_exact, easy, objective

PENALTIES = {
    "none": {},
    "l2": {"penalty": "l2", "alpha": 0.05},
    "l1": {"penalty": "l1", "alpha": 0.05},
    "elasticnet": {"penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.5},
    "box": {"penalty": "box", "box": 0.8},
}


def estimator(task, **options):
    options = {"epsilon": 1e4, "delta": 1e-5, "feature_bound": 1.0, "recipe": "dp_gcd", **options}
    return SparseClassifier(**options) if task == "classification" else SparseRegressor(target_bound=4.0, **options)


def solver(task="regression", n=1000, d=100, epsilon=1.0, delta=1e-6, sparse=False, recipe=None, **options):
    made = estimator(task, epsilon=epsilon, delta=delta, recipe=recipe or recipes.DPGCD(), **options)
    return prepared_for(made, n, d, sparse=sparse, models=1).solver


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("rule", ["gs-s", "gs-r", "gs-q"])
def test_without_noise_to_speak_of_it_is_the_same_solver_on_exact_answers(task, penalty, rule):
    """At epsilon 1e4 the objective is within 1 % of the exact run with the same constants."""
    X, y = easy(task)
    options = PENALTIES[penalty]
    model = estimator(task, recipe=recipes.DPGCD(rule=rule, steps=100), **options)
    private, exact, facts = central_and_exact(model, X, y)
    kind = Penalty(kind=options.get("penalty", "l2"), alpha=options.get("alpha", 0.0), l1_ratio=0.5)
    found, known = (objective(X, y, w[:-1], facts.intercept * w[-1], task, kind) for w in (private, exact))
    assert found == pytest.approx(known, rel=0.01)
    if penalty == "box":
        assert np.abs(private[:-1]).max() <= 0.8


@pytest.mark.parametrize("curvature", ["average", "bounds", "private"])
def test_every_source_of_curvatures_leads_to_the_lasso(curvature):
    X, y = easy("regression")
    model = estimator("regression", recipe=recipes.DPGCD(steps=400, curvature=curvature))
    model.set_params(penalty="l1", alpha=0.1)
    twin = estimator("regression", recipe=recipes.GCD(steps=600), penalty="l1", alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.fit(X, y).coef_, twin.coef_, atol=0.02)


def test_it_finds_the_support_at_a_modest_budget():
    X, y = easy("regression", n=4000)
    model = estimator("regression", epsilon=2.0, sparsity=3).fit(X, y)
    assert model.support_.tolist() == [0, 1, 2]
    assert np.abs(model.coef_[:3] - [1.0, -2.0, 0.7]).max() < 0.3


@pytest.mark.parametrize("sparsity", [1, 2, None])
def test_sparsity_caps_the_support_and_none_keeps_what_the_steps_touched(sparsity):
    X, y = easy("regression")
    model = estimator("regression", epsilon=0.5, sparsity=sparsity, recipe=recipes.DPGCD(steps=12)).fit(X, y)
    assert np.count_nonzero(model.coef_) <= (12 if sparsity is None else sparsity)


def test_a_start_is_held_within_the_allowed_number_and_the_box():
    X, y = easy("regression")
    start = np.linspace(1, 5, 20)
    model = estimator("regression", sparsity=2, start=start, penalty="box", box=0.5, recipe=recipes.DPGCD(steps=1))
    coef = model.fit(X, y).coef_
    assert np.count_nonzero(coef) <= 2
    assert np.abs(coef).max() <= 0.5


def test_the_intercept_is_one_more_candidate_and_is_never_penalised():
    X, y = easy("regression")
    y = 0.0 * y + 3.0
    model = estimator("regression", recipe=recipes.DPGCD(steps=30), penalty="l1", alpha=10.0, sparsity=1).fit(X, y)
    assert model.intercept_ == pytest.approx(3.0, rel=0.02)
    assert not model.coef_.any()


def test_choices_and_values_have_noise_of_their_own():
    plan = solver(recipe=recipes.DPGCD(steps=7)).plan(None, None)
    assert [(a.name, a.noise, a.times) for a in plan.asks] == [
        ("select", Noise.GUMBEL, 7),
        ("values", Noise.GAUSSIAN, 7),
    ]


@pytest.mark.parametrize(("steps", "noise"), [(1, Noise.LAPLACE), (2, Noise.LAPLACE), (5, Noise.GAUSSIAN)])
def test_auto_prices_both_mechanisms_and_takes_the_quieter(steps, noise):
    recipe = recipes.DPGCD(steps=steps)
    assert solver(recipe=recipe).noise is noise
    est = estimator("regression", epsilon=1.0, delta=1e-6)
    facts, budget = prepared_for(est, 1000, 100, sparse=False, models=1).facts, Budget.approx(1.0, 1e-6)
    levels = {
        m: noise_level(recipes.DPGCD(steps=steps, mechanism=m).solver(facts, budget), facts, budget)
        for m in ("gaussian", "pure")
    }
    assert min(levels, key=levels.get) == ("pure" if noise is Noise.LAPLACE else "gaussian")


def test_pure_privacy_is_possible():
    X, y = easy("classification")
    statement = estimator("classification", epsilon=1.0, delta=0).fit(X, y).statement_
    assert (statement.epsilon, statement.delta) == (pytest.approx(1.0), 0)
    assert any("exact distributions, tails included" in note for note in statement.notes)
    rounded = estimator("classification", epsilon=1.0, delta=1e-6).fit(X, y).statement_
    assert not any("exact distributions" in note for note in rounded.notes)


def test_private_curvature_is_priced_read_once_and_floored():
    made = solver(n=400, recipe=recipes.DPGCD(steps=5, curvature="private"))
    assert [a.name for a in made.plan(None, None).asks] == ["squares", "select", "values"]
    assert made.plan(None, None)["squares"].share == pytest.approx(0.02)

    class Loud:
        facts = prepared_for(estimator("regression"), 400, 100, sparse=False, models=1).facts

        def deviation(self, *_):
            return 0.03

        def squares(self):
            return np.r_[-5.0, 99.0, 0.5, np.zeros(98)]

    read = made.squares.read(Loud())
    assert read[:3].tolist() == [0.1, 1.0, 0.5]  # a tenth of the guess, the bound, the answer itself


@pytest.mark.parametrize(
    ("options", "private"),
    [
        ({"row_norm": 1.0, "feature_bound": None, "n": 20_000, "d": 50_000, "sparse": True}, True),
        ({"row_norm": 1.0, "feature_bound": None, "n": 200, "d": 50_000, "sparse": True}, False),
        ({"row_norm": 1.0, "feature_bound": None, "n": 20_000, "d": 50_000, "delta": 0}, False),
        (
            {"row_norm": 1.0, "feature_bound": None, "n": 20_000, "d": 50_000, "sparse": True, "feature_center": 0.1},
            False,
        ),
        ({"feature_bound": 1.0}, False),
    ],
    ids=["text", "too few rows", "pure", "sparse and centred", "dense"],
)
def test_curvatures_are_bought_where_bounds_say_little_and_the_answer_is_readable(options, private):
    assert bool(solver("classification", **options).squares.share) is private


def test_clips_of_columns_refuse_what_sparse_centred_rows_cannot_do_before_a_row_is_read():
    with pytest.raises(ValueError, match="feature_center"):
        solver(sparse=True, feature_center=0.2, recipe=recipes.DPGCD(curvature="private"))


def test_more_budget_more_steps_and_less_clipping():
    made = [solver(epsilon=e) for e in (0.1, 1.0, 10.0, 1e4)]
    assert [s.steps for s in made] == sorted(s.steps for s in made)
    assert [s.residual for s in made] == sorted(s.residual for s in made)
    assert made[-1].residual == pytest.approx(
        4.0
    )  # nothing is clipped at the start: residuals are within the target bound
    assert made[-1].step_size == pytest.approx(1.0, abs=0.01)


def test_adjacency_does_not_change_the_rules_but_the_movement_of_one_record_does():
    one, two = (solver(adjacency=a, n_rows=1000) for a in ("add-remove", "replace-one"))
    assert one.steps == pytest.approx(2 * two.steps, abs=1)


def test_steps_of_the_theorems():
    public = {"n_rows": 1000, "epsilon": 1.0, "delta": 1e-6, "lipschitz": 1.0, "smallest_curvature": 1.0}
    convex = recipes.DPGCD.from_theory(**public, radius=2.0)
    assert convex.steps == math.ceil(2000 ** (2 / 3) / (4 * math.log(1e6) ** (1 / 3)))
    strong = recipes.DPGCD.from_theory(**public, strong_convexity=0.5, gap=3.0, n_features=100, failure=0.1)
    inside = 0.5 * 1e6 * 3.0 / (128 * math.log(1e6) * math.log(8000))
    assert strong.steps == math.ceil(8 * math.log(inside))
    sparse = recipes.DPGCD.from_theory(**public, strong_convexity=0.5, gap=3.0, sparsity=4, quasi_sparsity=2)
    assert sparse.steps == math.ceil(12 * math.log(1.5e6))
    assert (convex.step_size, convex.curvature) == (1.0, "bounds")
    with pytest.raises(ValueError, match="give radius"):
        recipes.DPGCD.from_theory(**public)
    with pytest.raises(ValueError, match="n_features"):
        recipes.DPGCD.from_theory(**public, strong_convexity=0.5, gap=3.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rule", "best"),
        ("steps", 2.5),
        ("clip", 0.0),
        ("mechanism", "laplace"),
        ("curvature", "data"),
        ("selection", 1.0),
    ],
)
def test_wrong_fields_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=field):
        recipes.DPGCD(**{field: value})


def test_several_classes_share_one_budget():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (300, 6)), rng.integers(0, 3, 300)
    model = estimator("classification", epsilon=3.0, recipe=recipes.DPGCD(steps=2)).fit(X, y)
    assert model.statement_.epsilon <= 3.0


@pytest.mark.slow
def test_dorothea_sized_rows_are_never_made_dense():
    """800 x 88,119 with 727,760 entries: 20 steps within 2 s and 500 MB; the dense matrix alone would take 564 MB."""
    rng = np.random.default_rng(0)
    X = sp.random(800, 88_119, density=0.01032, format="csr", rng=rng, data_rvs=np.ones)
    y = (rng.random(800) < 0.1).astype(int)
    import time

    model = estimator("classification", epsilon=1.0, feature_bound=(0.0, 1.0), row_norm=80.0)
    model.set_params(recipe=recipes.DPGCD(steps=20)).fit(X, y)
    start = time.process_time()
    model.fit(X, y)
    assert time.process_time() - start < 2
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_the_price_of_a_plan_is_its_budget():
    made = solver(recipe=recipes.DPGCD(steps=9, curvature="private"))
    priced = price(made.plan(None, None), Budget.approx(1.0, 1e-6))
    assert 0.98 < priced.epsilon() <= 1.0
