"""Survival models: life table, fit, predictions, files, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dpsparse
from builders import measured
from dpsparse import Ledger, SparseSurvival
from dpsparse.core import Adjacency, MissingValueError
from dpsparse.estimators.survival.life_table import LifeTable, Spells, life_table_facts, life_table_rows
from dpsparse.queries.kinds import CellCounts, Cells
from dpsparse.queries.losses import Squared, Survival
from dpsparse.rows.hosts import MemoryHost

pytestmark = pytest.mark.filterwarnings("ignore")
B = np.array([1.0, -0.8, 0.0, 0.0])


def cohort(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    time = rng.exponential(1 / (0.15 * np.exp(X @ B)))
    end = np.minimum(rng.uniform(1, 9, n), 5.0)
    return X, np.minimum(time, end), (time <= end).astype(int)


X, TIME, EVENT = cohort(4000)
SEED = {"feature_bound": 1.0, "horizon": 5.0, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return SparseSurvival(epsilon=4.0, **SEED).fit(X, TIME, EVENT)


def test_hazard_ratios_come_out(model):
    assert np.allclose(model.coef_, B, atol=0.2)
    assert np.array_equal(model.hazard_ratios_, np.exp(model.coef_))


def test_the_baseline_adds_up_to_the_hazard_of_an_average_person(model):
    at = np.exp(model.intercept_) * model.baseline_.cumulative(np.array([1.0, 4.0]))
    assert np.allclose(at, [0.15, 0.6], rtol=0.25)


def test_survival_falls_with_time_and_with_risk(model):
    curves = model.predict_survival(X[:50], [0.0, 1.0, 2.5, 5.0])
    assert np.all(curves[:, 0] == 1.0)
    assert np.all(np.diff(curves, axis=1) < 0)
    order = np.argsort(model.predict_risk(X[:50]))
    assert np.all(np.diff(curves[order, 3]) <= 0)
    with pytest.raises(ValueError, match="beyond"):
        model.predict_survival(X[:2], [6.0])


def test_units_of_time_do_not_matter(model):
    days = SparseSurvival(epsilon=4.0, **{**SEED, "horizon": 5 * 365.0}).fit(X, TIME * 365, EVENT)
    assert np.allclose(days.coef_, model.coef_, atol=1e-6)
    assert np.allclose(days.baseline_.hazard * 365, model.baseline_.hazard)


def test_a_statement_has_one_price_for_both_parts_and_names_them(model):
    assert model.statement_.epsilon == pytest.approx(4.0, abs=1e-6)
    assert "life table: exits" in [ask.name for ask in model.statement_.asks]
    assert any(ask.name.startswith("gradient") for ask in model.statement_.asks)
    assert "life table of 20 intervals" in model.statement_.recipe


def test_a_ledger_is_charged_once(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("study", epsilon=5.0, delta=1e-5)
    arguments = {**SEED, "random_state": None, "ledger": ledger, "dataset": "study"}
    found = SparseSurvival(epsilon=1.0, **arguments).fit(X, TIME, EVENT)
    assert len(ledger.entries("study")) == 1
    assert found.statement_.ledger is not None
    assert found.statement_.private


def test_nothing_is_paid_for_a_refused_fit(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("study", epsilon=5.0, delta=1e-5)
    arguments = {**SEED, "random_state": None, "ledger": ledger, "dataset": "study"}
    for more, error in (({"horizon": None}, "horizon"), ({"recipe": "ldp_iht"}, "curator|survival|loss|ldp")):
        with pytest.raises(ValueError, match=error):
            SparseSurvival(**{**arguments, **more}).fit(X, TIME, EVENT)
    assert len(ledger.entries("study")) == 0


def test_entry_times_take_persons_out_of_the_risk_set():
    late = np.where(TIME > 1.0, np.random.default_rng(1).uniform(0, 1, TIME.size), 0.0)
    found = SparseSurvival(epsilon=8.0, **SEED).fit(X, TIME, EVENT, entry=late)
    assert np.allclose(found.coef_, B, atol=0.25)
    assert "life table: entries" in [ask.name for ask in found.statement_.asks]


def test_private_auc_tells_early_events_from_none(model):
    others = cohort(2000, seed=5)
    card = model.private_auc(*others, at=3.0, epsilon=4.0, random_state=0)
    assert 0.65 < card["auc"].value < 0.9


def test_models_are_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "study.json")
    again = dpsparse.load(tmp_path / "study.json")
    assert isinstance(again, SparseSurvival)
    assert np.array_equal(again.predict_survival(X[:9], [1.0, 5.0]), model.predict_survival(X[:9], [1.0, 5.0]))
    assert again.statement_ == model.statement_
    again.save(tmp_path / "study.json")


def test_curves_are_drawn(model, tmp_path):
    pytest.importorskip("matplotlib")
    model.plot_survival(X[:3], str(tmp_path / "curves.png"))
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_a_report_is_made(model):
    assert "life table: exits" in model.report_._repr_html_()


def test_report_and_card_speak_of_hazard_ratios_and_promise_nothing_of_a_regression(model, tmp_path):
    model.save(tmp_path / "survival.json")
    for shown in (model, dpsparse.load(tmp_path / "survival.json")):
        page, card = shown.report_.html(), str(shown.card())
        ratio = f"{shown.hazard_ratios_[shown.support_[0]]:.4g}"
        assert ">Log hazard ratio</th>" in page
        assert ">Hazard ratio</th>" in page
        assert f">{ratio}</td>" in page
        assert "Intervals are not offered for them" in page
        assert "| log hazard ratio | hazard ratio |" in card
        assert f"| {ratio} |" in card
        assert "# SparseSurvival by dpsparse" in card
        assert "A survival model with" in card
        for wrong in ("declared range of the target", 'intervals="split"', "SparseRegressor", "regression"):
            assert wrong not in page
            assert wrong not in card


@pytest.mark.parametrize("name", ["start", "stop", "id", "units"])
def test_several_rows_of_a_person_are_refused_with_a_word(name):
    with pytest.raises(TypeError, match="one row for each person"):
        SparseSurvival(**SEED).fit(X, TIME, EVENT, **{name: np.zeros(4000)})


@pytest.mark.parametrize(("time", "event"), [(-1.0, 1), (np.nan, 0), (1.0, 2), (1.0, np.nan)])
def test_records_that_are_no_spells_are_absent_or_refused(time, event):
    times, events = TIME.copy(), EVENT.astype(float)
    times[11], events[11] = time, event
    with pytest.raises(MissingValueError):
        SparseSurvival(**SEED).fit(X, times, events)
    spells = Spells.read(times, events, None, 4000, 5.0)
    assert np.flatnonzero(np.isnan(spells.targets(LifeTable(np.array([0.0, 5.0]), np.array([0.1]))))).tolist() == [11]


def test_one_person_moves_the_life_table_within_its_sensitivity():
    times = np.linspace(0, 5, 21)
    question = CellCounts(Cells(margins=np.array([0]), classes=2, edges=np.arange(19) + 0.5))
    facts = life_table_facts(200, times, entries=False)

    def table(time, event):
        rows, events = life_table_rows(Spells.read(time, event, None, 200, 5.0), times)
        return measured(question, MemoryHost(rows, events, facts), Squared())

    before = table(TIME[:200], EVENT[:200].astype(float))
    norm = before.reach.l2(Adjacency.REPLACE_ONE)
    assert norm == pytest.approx(np.sqrt(2))
    largest = 0.0
    for time, event in ((0.0, 1), (5.0, 0), (1e9, 1), (np.nan, 1), (2.5, 7)):
        moved, events = TIME[:200].copy(), EVENT[:200].astype(float)
        moved[17], events[17] = time, event
        largest = max(largest, float(np.linalg.norm(table(moved, events).values - before.values)))
    assert 1.0 < largest <= norm * (1 + 1e-9)


def test_the_slope_is_minus_the_martingale_residual_and_the_derivative_of_the_value():
    loss, m, y = Survival(), np.linspace(-3, 4, 29), np.array([0.3, -0.3])[:, None]
    assert np.allclose(loss.slope(m, y), np.exp(np.minimum(m, 2.5)) * 0.3 - (y > 0))
    h = 1e-6
    assert np.allclose((loss.value(m + h, y) - loss.value(m - h, y)) / (2 * h), loss.slope(m, y), atol=1e-5)


def test_no_minimiser_rests_on_the_typical_curvature_of_the_loss():
    from dpsparse.queries.losses import proven

    assert not proven(Survival())


def test_weights_of_one_over_k_on_person_periods_are_biased():
    """Why several rows of a person are not averaged: how many there are depends on the outcome."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 20000).astype(float)
    rate = 0.05 * np.exp(1.0 * x)
    left = np.minimum(np.ceil(rng.exponential(1 / rate)), 20).astype(int)
    event = left < 20
    hazard = [event[x == g].sum() / left[x == g].sum() for g in (0, 1)]
    averaged = [(event / left)[x == g].sum() / np.sum(x == g) for g in (0, 1)]
    assert abs(np.log(hazard[1] / hazard[0]) - 1) < 0.1
    assert abs(np.log(averaged[1] / averaged[0]) - 1) > 0.2
