"""Whether a plan is proven is written in the plan: no method's or field's name of a recipe switches it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpsparse import Budget, Ledger, SparseClassifier, SparseRegressor, recipes
from dpsparse.accounting import price
from dpsparse.accounting.costs.plan import PlanCost
from dpsparse.core import Ask, AssumptionError, LedgerError, Noise, Plan, PrivacyError
from dpsparse.core.plan import read_plan, write_plan
from truth.recipes import WHY, Doubtful

X = np.random.default_rng(0).uniform(-1, 1, (300, 5))
Y = X[:, 0]
BOUNDS = {"feature_bound": 1.0, "target_bound": 1.0, "epsilon": 1.0, "delta": 1e-7}
PLAN = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=4),))


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/b.db")
    made.create("trial", 5.0, 1e-5)
    return made


@dataclass(frozen=True, kw_only=True)
class Talkative(recipes.DPIGHT):
    """Proven, with a method of an old name."""

    def caveats(self, facts):
        return ()


@dataclass(frozen=True, kw_only=True)
class Silent(Doubtful):
    """Unproven, and it says so nowhere but in its plan."""

    caveats = None
    needs = ()
    unproven = False


def test_a_recipes_methods_and_fields_do_not_switch_it(ledger):
    options = {**BOUNDS, "ledger": ledger, "dataset": "trial"}
    model = SparseRegressor(recipe=Talkative(), **options).fit(X, Y)
    assert model.statement_.caveats == ()
    assert len(ledger.entries("trial")) == 1
    with pytest.raises(AssumptionError, match=WHY):
        SparseRegressor(recipe=Silent(), **options).fit(X, Y)
    with pytest.raises(LedgerError, match="'doubtful' is not proven"):
        SparseRegressor(recipe=Silent(), accept=("unproven",), **options).fit(X, Y)
    assert len(ledger.entries("trial")) == 1


@pytest.mark.parametrize("classes", [2, 3])
def test_an_accepted_fit_is_not_private_and_says_so_first(classes):
    model = SparseRegressor(recipe=Doubtful(), accept=("unproven",), **BOUNDS).fit(X, Y)
    assert model.statement_.caveats[0].startswith("NOT PRIVATE: the privacy of this plan is not proven")
    assert WHY in model.statement_.caveats[0]
    assert not model.statement_.private
    assert str(model.statement_).startswith("CAVEAT: NOT PRIVATE")
    labels = np.digitize(Y, [0.0] if classes == 2 else [-0.3, 0.3])
    options = {k: v for k, v in BOUNDS.items() if k != "target_bound"}
    several = SparseClassifier(recipe=Doubtful(), accept=("unproven",), **options).fit(X, labels)
    assert WHY in several.statement_.caveats[0]


def test_the_word_travels_through_repetition_branches_noise_and_json():
    doubted = replace(PLAN, unproven=WHY)
    whole = replace(PLAN, branches=(("sure", PLAN), ("doubted", doubted)))
    for plan in (doubted, doubted.repeated(3), whole, whole.repeated(2)):
        assert plan.unproven == WHY
        assert plan.with_noise(Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN).unproven == WHY
        again = read_plan(json.loads(json.dumps(write_plan(plan))))
        assert again == plan
        assert price(plan, Budget.zcdp(1.0)).plan.unproven == WHY
    assert "unproven" not in write_plan(PLAN)
    assert PLAN.repeated(3).unproven == ""
    with pytest.raises(PrivacyError, match="says why"):
        replace(PLAN, unproven=True)


@pytest.mark.parametrize(
    "plan", [replace(PLAN, unproven=WHY), replace(PLAN, branches=(("b", replace(PLAN, unproven=WHY)),))]
)
def test_no_bill_is_made_of_an_unproven_plan(plan):
    with pytest.raises(PrivacyError, match=f"not proven: {WHY}"):
        PlanCost.of(price(plan, Budget.zcdp(1.0)))
    assert PlanCost.of(price(PLAN, Budget.zcdp(1.0))).plan == PLAN
