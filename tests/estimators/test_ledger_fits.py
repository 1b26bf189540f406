"""Fits that are charged to a ledger."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import dpsparse
from dpsparse import Budget, Ledger, SparseClassifier, SparseRegressor, recipes
from dpsparse.accounting import SumBill
from dpsparse.hosts import MemoryHost
from dpsparse.privacy import BudgetExceededError, LedgerError
from truth.recipes import Doubtful

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (600, 12))
Y = 2 * X[:, 0] - X[:, 3] + 0.1 * RNG.standard_normal(600)
SHARED = {"sparsity": 2, "feature_bound": 1.0, "delta": 1e-6}
CHEAP = {"recipe": recipes.DPIGHT(steps=5, mechanism="dense"), **SHARED}


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.create("trial", 3.0, 1e-6)
    return made


def regressor(ledger, **more):
    return SparseRegressor(target_bound=3.5, ledger=ledger, dataset="trial", **{**CHEAP, **more})


def test_a_fit_is_charged_and_its_statement_names_the_entry(ledger):
    model = regressor(ledger, epsilon=1.0).fit(X, Y)
    [entry] = ledger.entries("trial")
    assert (entry.status, entry.label) == ("done", "dp_ight")
    assert model.statement_.ledger == ledger.cite("trial", entry.number)
    assert f"Charged to dataset 'trial' as entry {entry.number}" in str(model.statement_)
    assert ledger.address not in model.statement_.to_json()
    assert entry.epsilon(1e-6) == pytest.approx(model.statement_.epsilon, rel=1e-6)
    assert ledger.spent("trial").epsilon == pytest.approx(1.0, rel=1e-6)


def test_the_composition_of_fits_is_the_price_of_their_joint_plan(ledger):
    bills = []
    for epsilon in (0.5, 1.0, 0.5):
        regressor(ledger, epsilon=epsilon).fit(X, Y)
        bills.append(ledger.entries("trial")[-1].bill)
    assert ledger.spent("trial").epsilon == pytest.approx(SumBill(tuple(bills)).epsilon(1e-6), rel=1e-4)


def test_over_budget_nothing_is_read(ledger, monkeypatch):
    regressor(ledger, epsilon=2.8).fit(X, Y)
    monkeypatch.setattr(MemoryHost, "__init__", lambda *_, **__: pytest.fail("rows were read"))
    with pytest.raises(
        BudgetExceededError, match=r"could still be taken\. A fit like this one with epsilon"
    ) as refused:
        regressor(ledger, epsilon=2.0).fit(X, Y)
    monkeypatch.undo()
    assert 0 < refused.value.would_fit < 2.0
    regressor(ledger, epsilon=refused.value.would_fit).fit(X, Y)
    with pytest.raises(BudgetExceededError):
        regressor(ledger, epsilon=0.5).fit(X, Y)
    ledger.verify()


def test_a_fit_of_the_whole_budget_is_taken(ledger):
    for name, recipe in (
        ("dense", CHEAP["recipe"]),
        ("mixed", "select_polish"),
        ("sampled", recipes.DPSGDHT(steps=30)),
    ):
        ledger.create(name, 1.0, 1e-6)
        model = regressor(ledger, epsilon=1.0, recipe=recipe).set_params(dataset=name).fit(X, Y)
        assert ledger.spent(name).epsilon == pytest.approx(model.statement_.epsilon, rel=1e-3)
    ledger.verify()


def test_the_plan_touches_no_ledger(tmp_path):
    model = regressor(f"sqlite:///{tmp_path}/none.db", epsilon=1.0)
    model.plan(n_rows=600, n_features=12)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_before_the_first_answer_is_refunded(ledger, monkeypatch):
    monkeypatch.setattr(MemoryHost, "__init__", lambda *_, **__: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(MemoryError):
        regressor(ledger, epsilon=1.0).fit(X, Y)
    assert ledger.entries("trial")[0].status == "refunded"
    assert ledger.remaining("trial").epsilon == 3.0


def test_a_failure_after_an_answer_was_asked_for_is_spent(ledger, monkeypatch):
    def broken(*_, **__):
        raise MemoryError

    monkeypatch.setattr(MemoryHost, "total", broken)
    with pytest.raises(MemoryError):
        regressor(ledger, epsilon=1.0).fit(X, Y)
    assert ledger.entries("trial")[0].status == "started"
    assert ledger.spent("trial").epsilon == pytest.approx(1.0, rel=1e-6)


def test_a_fit_that_is_killed_is_spent(ledger):
    code = """
import os, sys, numpy as np
from dpsparse import SparseRegressor, recipes
from dpsparse.solvers import iht
X = np.ones((50, 3)); y = X[:, 0]
from dpsparse.hosts import MemoryHost
MemoryHost.total = lambda *a, **k: os.kill(os.getpid(), 9)
SparseRegressor(recipe=recipes.DPIGHT(steps=3, mechanism="dense"), feature_bound=1.0, target_bound=1.0, sparsity=1, delta=1e-6,
                ledger=sys.argv[1], dataset="trial").fit(X, y)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, ledger.address], check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == -9
    assert ledger.entries("trial")[0].status == "started"
    ledger.verify()


def test_bad_data_is_refused_before_the_ledger(ledger):
    broken = X.copy()
    broken[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        regressor(ledger).fit(broken, Y)
    assert ledger.entries("trial") == ()


def test_several_classes_are_one_entry(ledger):
    labels = np.digitize(Y, [-1.0, 1.0])
    model = SparseClassifier(ledger=ledger, dataset="trial", epsilon=1.0, **CHEAP).fit(X, labels)
    [entry] = ledger.entries("trial")
    assert entry.epsilon(1e-6) == pytest.approx(model.statement_.epsilon, rel=1e-6)
    assert sum(a.times for a in entry.bill.plan.asks) == 15


@pytest.mark.parametrize("budget", [Budget.zcdp(0.01), Budget.gdp(0.1)])
def test_budgets_in_other_languages_are_charged(ledger, budget):
    model = regressor(ledger, budget=budget).fit(X, Y)
    assert ledger.spent("trial").epsilon == pytest.approx(model.statement_.epsilon, rel=1e-6)


def test_a_seeded_fit_is_charged_too(ledger):
    regressor(ledger, epsilon=0.5, random_state=0).fit(X, Y)
    assert ledger.spent("trial").epsilon == pytest.approx(0.5, rel=1e-6)


def test_a_baseline_must_not_touch_guarded_data(ledger, monkeypatch):
    monkeypatch.setattr(MemoryHost, "__init__", lambda *_, **__: pytest.fail("rows were read"))
    with pytest.raises(LedgerError, match="'ight' has no privacy and so no price"):
        regressor(ledger, recipe="ight").fit(X, Y)
    assert ledger.entries("trial") == ()


def test_a_price_without_a_proof_pays_for_nothing(ledger, monkeypatch):
    monkeypatch.setattr(MemoryHost, "__init__", lambda *_, **__: pytest.fail("rows were read"))
    with pytest.raises(LedgerError, match="'doubtful' is not proven"):
        regressor(ledger, recipe=Doubtful(), accept=("unproven",)).fit(X, Y)
    assert ledger.entries("trial") == ()


def test_label_privacy_is_not_charged_to_rows(ledger):
    with pytest.raises(LedgerError, match="protects labels only"):
        regressor(ledger, recipe="label_ldp_iht").fit(X, Y)


def test_local_fits_are_charged_by_their_epsilon(ledger):
    ledger.create("pure", 1.0, 0.0)
    model = regressor(ledger, recipe="ldp_iht", epsilon=0.6).set_params(dataset="pure").fit(X, Y)
    assert ledger.spent("pure").epsilon == pytest.approx(model.statement_.epsilon, rel=1e-6)


def test_the_other_adjacency_is_refused(ledger):
    with pytest.raises(LedgerError, match="Fit with adjacency='replace-one'"):
        regressor(ledger, adjacency="add-remove", n_rows=600).fit(X, Y)


def test_an_address_works_like_a_ledger_in_clones_and_pickles(ledger, tmp_path):
    model = clone(regressor(ledger.address, epsilon=0.5)).fit(X, Y)
    other = clone(regressor(ledger, epsilon=0.5)).fit(X, Y)
    assert len(ledger.entries("trial")) == 2
    for fitted in (model, other):
        again = pickle.loads(pickle.dumps(fitted))
        assert again.statement_ == fitted.statement_
        again.fit(X, Y)
    assert len(ledger.entries("trial")) == 4
    model.save(tmp_path / "model.json")
    assert "sqlite" not in (tmp_path / "model.json").read_text()
    assert dpsparse.load(tmp_path / "model.json").statement_.ledger == model.statement_.ledger
    assert json.loads((tmp_path / "model.json").read_text())["statement"]["ledger"]["dataset"] == "trial"
