"""Fits that are charged to a ledger."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import dpsparse
from dpsparse import (
    Budget,
    Ledger,
    PrivateScaler,
    PrivateSearch,
    RowNormalizer,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
    recipes,
)
from dpsparse.accounting import SumCost
from dpsparse.cli import main
from dpsparse.core import BudgetExceededError, LedgerError, RunRepeatedError
from dpsparse.losses import Custom
from dpsparse.rows.hosts import MemoryHost
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
    assert ledger.spent("trial").epsilon == pytest.approx(SumCost(tuple(bills)).epsilon(1e-6), rel=1e-4)


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
from dpsparse.algorithms import iht
X = np.ones((50, 3)); y = X[:, 0]
from dpsparse.rows.hosts import MemoryHost
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


# ------------------------------------------------------------------------------------------------ labels, runs, citations


@pytest.mark.parametrize("kind", ["regressor", "classifier", "search", "pipeline", "pipeline of a model alone"])
def test_an_entry_has_its_label_and_a_run_is_paid_once(ledger, kind, tmp_path):
    paid = {"ledger": ledger, "dataset": "trial", "label": "night job", "run_id": "2025-06-01", "epsilon": 1.0}
    model = SparseRegressor(target_bound=3.5, **CHEAP)
    made = {
        "regressor": lambda: model.set_params(**paid),
        "classifier": lambda: SparseClassifier(**CHEAP, **paid),
        "search": lambda: PrivateSearch(model, {"alpha": [0.0, 0.1]}, delta=1e-6, mean_runs=2, **paid),
        "pipeline": lambda: make_private_pipeline(PrivateScaler(feature_bound=1.0), model, delta=1e-6, **paid),
        "pipeline of a model alone": lambda: make_private_pipeline(RowNormalizer(), model, delta=1e-6, **paid),
    }[kind]()
    made.fit(X, Y > 0 if kind == "classifier" else Y)
    [entry] = ledger.entries("trial")
    assert (entry.label, entry.run_id, entry.status) == ("night job", "2025-06-01", "done")
    cited = made.statement_.ledger
    assert cited == ledger.cite("trial", entry.number)
    assert ledger.verify_citation(cited).number == entry.number

    with pytest.raises(RunRepeatedError, match="is done: use the model that it saved"):
        clone(made).fit(X, Y > 0 if kind == "classifier" else Y)
    assert len(ledger.entries("trial")) == 1

    saved = {"search": lambda: made.best_estimator_, "pipeline": lambda: made[-1]}.get(kind.split()[0], lambda: made)()
    saved.save(tmp_path / "model.json")
    found = CliRunner().invoke(main, ["ledger", "verify", ledger.address, "--model", str(tmp_path / "model.json")])
    assert found.exit_code == 0, found.output
    assert f"was paid for by entry {entry.number} of dataset 'trial' (done)" in found.stdout
    loaded = dpsparse.load(tmp_path / "model.json")
    assert (loaded.ledger, loaded.dataset, loaded.label, loaded.run_id) == (None, None, None, None)


def test_a_run_without_a_ledger_and_a_part_with_a_run_are_refused(ledger):
    model = SparseRegressor(target_bound=3.5, **CHEAP)
    with pytest.raises(LedgerError, match="a run_id belongs to a ledger"):
        clone(model).set_params(run_id="once").fit(X, Y)
    for name in ("label", "run_id"):
        part = clone(model).set_params(**{name: "once"})
        with pytest.raises(LedgerError, match="a label, run_id or resume of its own, under which"):
            PrivateSearch(part, {"alpha": [0.0]}, ledger=ledger, dataset="trial").fit(X, Y)
        with pytest.raises(LedgerError, match="a label, run_id or resume of its own"):
            make_private_pipeline(part, ledger=ledger, dataset="trial")
    with pytest.raises(LedgerError, match="a label must be"):
        regressor(ledger, label="\n").fit(X, Y)
    assert ledger.entries("trial") == ()


def test_the_environment_names_a_ledger(ledger, monkeypatch):
    monkeypatch.setenv("DPSPARSE_LEDGER", ledger.address)
    regressor(None, epsilon=0.5).fit(X, Y)
    SparseRegressor(target_bound=3.5, epsilon=0.5, **CHEAP).fit(X, Y)
    assert len(ledger.entries("trial")) == 1, "only a fit with a dataset is charged"
    with pytest.raises(LedgerError, match="protects labels only"):
        regressor(None, recipe="label_ldp_iht").fit(X, Y)


@pytest.mark.parametrize(
    "options",
    [
        {"box": np.inf},
        {"budget": Budget.zcdp(0.1), "epsilon": np.nan},
        {"start": [np.nan, *[0.0] * 11]},
    ],
)
def test_what_could_not_be_saved_is_not_paid_for(ledger, options):
    with pytest.raises(ValueError, match=r"finite"):
        regressor(ledger, **options).fit(X, Y)
    assert ledger.entries("trial") == ()


def test_a_loss_without_a_bound_is_paid_for_and_saved(ledger, tmp_path):
    model = regressor(ledger, loss=Custom(derivative=lambda m, y: m - y, curvature=1.0)).fit(X, Y)
    model.save(tmp_path / "model.json")
    assert dpsparse.load(tmp_path / "model.json").statement_ == model.statement_


def test_a_text_that_is_no_address_is_refused_at_the_fit_and_never_shown():
    model = regressor("postgresql:/me:s3cret@host")
    assert "s3cret" not in repr(model)
    assert b"s3cret" not in pickle.dumps(model)
    with pytest.raises(LedgerError, match="not the address of a ledger") as caught:
        clone(model).fit(X, Y)
    assert "s3cret" not in str(caught.value)
