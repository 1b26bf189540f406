"""check_bounds: a priced count of what was clipped."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from builders import Rows, exact_sum, measured
from dpsparse import SparseClassifier, SparseRegressor, load, recipes
from dpsparse.core import Adjacency, PrivacyError
from dpsparse.core.facts import Facts
from dpsparse.losses import Squared
from dpsparse.queries.kinds import ClippedShare

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (4000, 6)) * (RNG.random((4000, 6)) < 0.7)
Y = X[:, 0] - X[:, 1] + 0.1 * RNG.standard_normal(4000)
FACTS = Facts(n_rows=40, n_features=6, lower=-0.5, upper=0.5, row_norm=0.9, target_bound=1.0, counts_clipped=True)


def model(kind=SparseRegressor, **arguments):
    bounds = {"target_bound": 2.0} if kind is SparseRegressor else {}
    return kind(
        **{"epsilon": 4.0, "feature_bound": 1.0, "check_bounds": 0.02, "random_state": 0, **bounds, **arguments}
    )


def slow_truth(rows, y):
    out = np.zeros(3)
    for x, t in zip(rows, y, strict=True):
        if not (np.isfinite(x).all() and np.isfinite(t)):
            continue
        beyond = np.abs(x) > 0.5
        out += [
            beyond.sum() / max((beyond | (x != 0)).sum(), 1),
            np.linalg.norm(np.clip(x, -0.5, 0.5)) > 0.9,
            abs(t) > 1,
        ]
    return out


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_counts_are_those_of_raw_rows(stored):
    rows, y = X[:40].copy(), 3 * Y[:40]
    rows[3, 2] = np.nan
    truth = slow_truth(rows, y)
    assert np.all(truth > 1)
    host = Rows(stored(rows), y, FACTS)
    np.testing.assert_allclose(measured(ClippedShare(), host, Squared()).values, truth, atol=1e-3)
    np.testing.assert_allclose(exact_sum(ClippedShare(), host, Squared()), truth, atol=1e-9)


def test_entries_at_their_bounds_are_not_clipped():
    rows = np.tile([0.0, 2.0, 1.0, 0.3, 1.9, 2.0], (40, 1))
    facts = Facts(n_rows=40, n_features=6, lower=0.0, upper=2.0, row_norm=6.0, counts_clipped=True)
    np.testing.assert_array_equal(measured(ClippedShare(), Rows(rows, np.ones(40), facts), Squared()).values, 0.0)


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
def test_one_record_moves_the_counts_by_what_is_stated_and_half_would_be_too_little(relation):
    rows, y = X[:40], Y[:40]

    def counts(x, t):
        return measured(
            ClippedShare(), Rows(np.vstack([rows[:7], x, rows[8:]]), np.r_[y[:7], t, y[8:]], FACTS), Squared()
        )

    found = [counts(np.full(6, a), b) for a in (0.0, 1e6, np.nan) for b in (0.0, 1e6)]
    rest = np.arange(40) != 7
    without = measured(ClippedShare(), Rows(rows[rest], y[rest], FACTS), Squared()).values
    others = [without] if relation is Adjacency.ADD_REMOVE else [f.values for f in found]
    worst = max(np.linalg.norm(f.values - other) for f in found for other in others)
    assert worst <= found[0].reach.l2(relation) * (1 + 1e-12)
    assert worst > 0.9 * found[0].reach.l2(relation)


def test_the_statement_tells_it_in_words_with_advice(tmp_path):
    good = model().fit(X, Y).statement_
    assert "were clipped to the declared bounds" in good.notes[0]
    assert not any("too narrow" in note for note in good.notes)
    bad = model(feature_bound=0.1, target_bound=0.2).fit(X, Y)
    assert any("feature_bound is too narrow" in note for note in bad.statement_.notes)
    assert any("larger target_bound" in note for note in bad.statement_.notes)
    clipped = np.mean((np.abs(X) > 0.1).sum(axis=1) / np.maximum((X != 0).sum(axis=1), 1))
    assert f"about {100 * clipped:.0f}"[:7] in bad.statement_.notes[0]
    assert "Note: about" in bad.statement_.details()
    bad.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").check_bounds == 0.02


def test_the_count_has_its_share_of_the_budget_and_no_more():
    stated = model().fit(X, Y).statement_
    count = next(ask for ask in stated.asks if ask.name == "clipped")
    assert stated.epsilon <= 4.0 * (1 + 1e-9)
    assert count.cost**2 / 2 == pytest.approx(0.02 * stated.rho, rel=1e-6)
    assert count.cost == pytest.approx(math.sqrt(3) / count.scale, rel=1e-5)
    assert "clipped" not in [ask.name for ask in model(check_bounds=None).fit(X, Y).statement_.asks]


@pytest.mark.parametrize("recipe", ["select_polish", "dual_averaging", "two_stage", "dp_sgd_ht"])
def test_recipes_take_it(recipe):
    fitted = model(recipe=recipe, sparsity=2).fit(X, Y)
    assert "were clipped" in fitted.statement_.notes[0]
    assert fitted.statement_.epsilon <= 4.0 * (1 + 1e-9)


@pytest.mark.parametrize(("recipe", "models"), [("select_polish", 3), ("dual_averaging", 1)])
def test_several_classes_ask_for_it_with_every_model(recipe, models):
    y = np.digitize(Y, [-0.5, 0.5])
    stated = model(SparseClassifier, classes=[0, 1, 2], recipe=recipe, sparsity=2).fit(X, y).statement_
    assert next(ask for ask in stated.asks if ask.name == "clipped").times == models
    assert "targets" not in stated.notes[0]


def test_devices_cannot_count_and_baselines_pay_nothing():
    with pytest.raises(PrivacyError, match="randomises on devices"):
        model(recipe=recipes.LDPIHT(), sparsity=2).fit(X, Y)
    assert model(recipe="lasso").fit(X, Y).statement_.notes == ()
    with pytest.raises(ValueError, match="check_bounds must be"):
        model(check_bounds=2.0).fit(X, Y)


def test_rows_that_do_not_remember_are_refused():
    with pytest.raises(PrivacyError, match="do not remember"):
        measured(ClippedShare(), Rows(X[:40], Y[:40], FACTS.with_(counts_clipped=False)), Squared())
