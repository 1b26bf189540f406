"""DP-SCSG-HT, DP-SVRG-HT and their twins: snapshots, bounded changes, fixed and random lengths."""

import math

import numpy as np
import pytest

from builders import prepared_for
from dpsparse import SparseClassifier, SparseRegressor, audit
from dpsparse.algorithms.scsg import LEAST_CHANGE, change_bound
from dpsparse.audit.runs import record_fits
from dpsparse.core import EveryRow, PoissonRows
from dpsparse.core.facts import Clip, Facts, Penalty
from dpsparse.queries.kinds import GradientChange
from dpsparse.recipes import DPSCSGHT, DPSVRGHT, SCSGHT, SVRGHT
from truth.coordinates import easy, objective
from truth.twins import both_runs

PRIVATE = pytest.mark.parametrize("cls", [DPSCSGHT, DPSVRGHT])


def estimator(task="regression", **options):
    options = {"epsilon": 1e4, "delta": 1e-5, "feature_bound": 1.0, "random_state": 0, **options}
    return SparseClassifier(**options) if task == "classification" else SparseRegressor(target_bound=4.0, **options)


def prepared(recipe, n=1000, d=20, **options):
    return prepared_for(estimator(recipe=recipe, **{"epsilon": 1.0, **options}), n, d, sparse=False, models=1)


@pytest.mark.parametrize("options", [{"sparsity": 3}, {}, {"sparsity": 3, "penalty": "l2", "alpha": 0.1}])
@pytest.mark.parametrize("task", ["regression", "classification"])
@PRIVATE
def test_without_noise_to_speak_of_it_is_the_same_solver_on_exact_answers(cls, task, options):
    """At epsilon 1e4 the objective is within 1 % of the exact run with the same constants."""
    X, y = easy(task)
    private, exact, facts = both_runs(estimator(task, recipe=cls(), **options), X, y)
    penalty = Penalty(alpha=options.get("alpha", 0.0))
    found, known = (objective(X, y, w[:-1], facts.intercept * w[-1], task, penalty) for w in (private, exact))
    assert found == pytest.approx(known, rel=0.01)
    if "sparsity" in options:
        assert set(np.flatnonzero(private[:-1])) == {0, 1, 2}


@PRIVATE
def test_it_finds_the_support_at_a_modest_budget(cls):
    X, y = easy("regression", n=20000)
    model = estimator(epsilon=2.0, sparsity=3, recipe=cls()).fit(X, y)
    assert model.support_.tolist() == [0, 1, 2]
    assert model.score(X, y) > 0.7


# ------------------------------------------------------------------------------------------------ the bound on changes


def facts_of(curvature=0.25):
    return Facts(n_rows=50, n_features=6, lower=-1.0, upper=1.0, row_norm=2.0, curvature=curvature)


def test_the_bound_on_a_change_is_the_least_of_three_and_never_zero():
    facts, clip = facts_of(), Clip(0.5)
    here = np.zeros(6)

    def bound(moved, **options):
        return change_bound(here + np.asarray(moved), here, clip, facts, **options)

    assert bound(np.zeros(6)) == LEAST_CHANGE * 0.5 == 2.0**-20 * 0.5
    assert bound([0.1, 0, 0, 0, 0, 0]) == pytest.approx(0.25 * 2.0 * 1.0 * 0.1), (
        "one coordinate: its l1 norm times an entry"
    )
    assert bound(np.full(6, 0.1)) == pytest.approx(0.25 * 2.0 * 2.0 * 0.1 * math.sqrt(6)), (
        "many: the l2 norm times the row's"
    )
    assert bound(np.full(6, 9.0)) == 1.0, "twice the clip"
    assert bound(np.full(6, 9.0), largest=0.2) == pytest.approx(0.1)


def test_the_bound_holds_back_nothing_that_rows_within_their_bounds_can_do():
    """Clipped slopes of the same row differ by no more than slopes, and slopes by no more than curvature times margin."""
    rng = np.random.default_rng(0)
    facts = facts_of()
    worst = 0.0
    for trial in range(3000):
        clip = Clip(rng.choice([0.4, 5.0]))
        x = rng.uniform(-1, 1, 6) * rng.choice([0.0, 1.0], 6)
        x *= 2.0 / max(np.linalg.norm(x), 2.0)
        w = rng.normal(0, 1, 6) * rng.choice([0.01, 1.0])
        moved = x if trial % 2 else rng.normal(0, 1, 6)
        a, y = w + rng.choice([0.01, 0.3, 1.0]) * moved, rng.integers(2)
        room = clip.norm / max(float(np.linalg.norm(x)), 1e-9)
        g, h = (np.clip(1 / (1 + np.exp(-x @ v)) - y, -room, room) * x for v in (w, a))
        change, bound = float(np.linalg.norm(g - h)), change_bound(w, a, clip, facts)
        assert change <= bound * (1 + 1e-12)
        worst = max(worst, change / bound)
    assert worst > 0.5, "half of the bound would hold back some"


@PRIVATE
def test_noise_follows_the_bound_and_the_price_does_not(cls):
    X, y = easy("regression", n=400)
    model = estimator(epsilon=2.0, sparsity=3, recipe=cls(epochs=2)).fit(X, y)
    changes = [a for a in model.statement_.asks if a.name == "change"]
    assert len({a.sensitivity for a in changes}) > 1
    costs = [a.cost for a in changes]
    assert costs == pytest.approx([costs[0]] * len(costs), rel=1e-9)
    clip = prepared(cls(epochs=2), n=400, epsilon=2.0, sparsity=3).solver.clip.norm
    assert min(a.sensitivity for a in changes) == pytest.approx(2 * 2.0**-20 * clip, rel=0.01), "first inner steps"


def test_the_solver_asks_for_changes_within_the_public_bound():
    X, y = easy("regression", n=300)
    model = estimator(epsilon=2.0, sparsity=3, recipe=DPSCSGHT(epochs=2))
    with record_fits() as recorded:
        model.fit(X, y)
    seen = recorded[0].oracle.questions
    made = prepared(DPSCSGHT(epochs=2), n=300, epsilon=2.0, sparsity=3)
    changes = [q for q in seen if isinstance(q, GradientChange)]
    assert len(changes) == 8
    for q in changes:
        assert q.change == change_bound(q.w, q.anchor, q.clip, made.facts, q.change / q.clip.norm)
        assert q.change <= change_bound(q.w, q.anchor, q.clip, made.facts)


# ------------------------------------------------------------------------------------------------ plans


def test_option_two_has_epochs_of_a_fixed_length():
    made = prepared(DPSCSGHT(epochs=5, batch_size=300, inner_batch_size=70))
    assert made.plan.public["lengths"] == (4,) * 5
    assert made.plan["snapshot"].times == 5
    assert made.plan["change"].times == 20
    assert made.plan["snapshot"].rows == PoissonRows(0.3)
    assert made.plan["change"].rows == PoissonRows(0.07)
    assert made.plan["change"].law is None


def test_snapshots_of_svrg_are_of_every_row():
    made = prepared(DPSVRGHT(epochs=2, inner_batch_size=100))
    assert made.plan["snapshot"].rows == EveryRow()
    assert made.plan["change"].rows == PoissonRows(0.1)
    assert made.plan.public["lengths"] == (10, 10)


@PRIVATE
def test_option_one_draws_lengths_in_public_and_prices_their_law(cls):
    fits = [prepared(cls(epochs=4, option="I")) for _ in range(6)]
    lengths = {f.plan.public["lengths"] for f in fits}
    assert len(lengths) > 1
    assert len({f.priced.rho_scale for f in fits}) == 1, "the noise does not depend on the draw"
    for f in fits:
        assert f.plan["change"].times == sum(f.plan.public["lengths"])
        assert f.plan["change"].law.mean == pytest.approx(16.0)
        assert 0.99 <= f.priced.epsilon() <= 1.0
    fixed = prepared(cls(epochs=4))
    assert fits[0].priced.rho_scale < fixed.priced.rho_scale


@PRIVATE
def test_lengths_of_a_given_seed_are_priced_as_they_are(cls):
    """Whoever gives a seed can know its lengths, and try seeds until one pleases: the law would not cover that."""
    fits = [prepared(cls(epochs=4, option="I", length_seed=seed)) for seed in range(8)]
    assert all(f.plan["change"].law is None for f in fits)
    by_length = sorted(fits, key=lambda f: sum(f.plan.public["lengths"]))
    scales = [f.priced.cost("change").rho for f in by_length]
    assert scales == sorted(scales, reverse=True), "more steps, more noise"
    assert scales[0] > 1.2 * scales[-1]
    for f in fits:
        assert 0.99 <= f.priced.epsilon() <= 1.0


@PRIVATE
def test_lengths_are_drawn_by_chance_and_rest_on_no_assumption(cls):
    X, y = easy("regression", n=200)
    free = cls(epochs=3, option="I")
    drawn = {prepared(free).plan.public["lengths"] for _ in range(8)}
    assert len(drawn) > 1
    assert not any("length" in said for said in estimator(epsilon=1.0, recipe=free).fit(X, y).statement_.assumptions)
    given = cls(epochs=3, option="I", length_seed=1)
    assert not any("length" in said for said in estimator(epsilon=1.0, recipe=given).fit(X, y).statement_.assumptions)


@pytest.mark.parametrize("seed", [3, 4])
@PRIVATE
def test_random_lengths_keep_the_laws(cls, seed):
    X, y = easy("regression", n=150)
    audit.check_estimator_privacy(
        estimator(epsilon=2.0, sparsity=3, recipe=cls(epochs=3, option="I", length_seed=seed)), X, y
    )


def test_an_epoch_may_be_empty():
    empty = next(
        s
        for s in range(1000)
        if not any(prepared(DPSCSGHT(epochs=1, option="I", length_seed=s)).plan.public["lengths"])
    )
    X, y = easy("regression", n=200)
    model = estimator(epsilon=1.0, recipe=DPSCSGHT(epochs=1, option="I", length_seed=empty)).fit(X, y)
    assert not model.coef_.any()
    assert [a.name for a in model.statement_.asks] == ["snapshot"]


def test_several_classes_take_the_same_lengths():
    X, y = easy("regression", n=300)
    y = np.digitize(y, [-0.5, 0.8])
    recipe = DPSCSGHT(epochs=2, option="I", length_seed=0)
    model = SparseClassifier(
        epsilon=3.0, delta=1e-5, feature_bound=1.0, classes=[0, 1, 2], recipe=recipe, random_state=0
    ).fit(X, y)
    assert model.coef_.shape == (3, 20)
    assert model.statement_.epsilon <= 3.0


def test_the_choices_of_the_theorems():
    theory = {"smoothness": 2.0, "strong_convexity": 0.5, "sparsity": 9, "n_rows": 1000, "epsilon": 2.0, "delta": 1e-5}
    made = DPSCSGHT.from_theory(**theory, lipschitz=1.0, variance=0.5)
    assert made.step_size == pytest.approx(1 / (32 * 2 * 4))
    assert made.epochs == math.ceil(math.log(4e6 / math.log(1e5)))
    order = 1 + math.log(1e5)
    psi = math.sqrt(2 * made.inner_batch_size * 2 * 0.5 / (3 * 9 * order * made.epochs))
    assert made.batch_size == pytest.approx(psi * 1000, rel=1e-9)
    assert made.batch_size / made.inner_batch_size == pytest.approx(3.0)
    every = DPSVRGHT.from_theory(**theory, lipschitz=1.0)
    assert every.inner_batch_size == pytest.approx(1000 / 3)
    X, y = easy("regression")
    for recipe in (made, every):
        assert np.all(np.isfinite(estimator(epsilon=2.0, recipe=recipe).fit(X, y).coef_))


@PRIVATE
@pytest.mark.parametrize(
    "fields",
    [
        {"epochs": 0},
        {"option": "III"},
        {"change_clip": 3.0},
        {"snapshot_share": 1.0},
        {"length_seed": -1},
        {"clip": -1.0},
    ],
)
def test_fields_that_make_no_sense_are_refused(cls, fields):
    with pytest.raises(ValueError, match=next(iter(fields))):
        cls(**fields)


# ------------------------------------------------------------------------------------------------ the twins


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_svrg_ht_reaches_what_full_gradients_reach(task):
    X, y = easy(task)
    known, found = (estimator(task, recipe=name, sparsity=3).fit(X, y) for name in ("ight", "svrg_ht"))
    assert found.support_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(np.ravel(found.coef_), np.ravel(known.coef_), atol=1e-2)


@pytest.mark.parametrize("option", ["I", "II"])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_scsg_ht_finds_the_support(task, option):
    X, y = easy(task, n=3000)
    found = estimator(task, recipe=SCSGHT(option=option, length_seed=0), sparsity=3).fit(X, y)
    known = estimator(task, recipe="ight", sparsity=3).fit(X, y)
    assert found.support_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(np.ravel(found.coef_), np.ravel(known.coef_), rtol=0.15)


@pytest.mark.parametrize("cls", [SCSGHT, SVRGHT])
@pytest.mark.parametrize("fields", [{"epochs": 0}, {"option": "III"}, {"inner_batch_size": 0}])
def test_twins_refuse_fields_that_make_no_sense(cls, fields):
    with pytest.raises(ValueError, match=next(iter(fields))):
        cls(**fields)
