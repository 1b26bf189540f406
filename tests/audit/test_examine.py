"""Everything at once: laws, trace, second opinion and attacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpsparse import SparseRegressor, audit, recipes
from dpsparse.core import Ask, Noise, Plan
from dpsparse.core.facts import Clip
from dpsparse.queries import gradient as gradient_module

FEW = {"runs": 8, "fits": 8, "seed": 0}
X = np.random.default_rng(0).uniform(-1, 1, (100, 4))


def fitted():
    recipe = recipes.DPIGHT(mechanism="dense", steps=2)
    return SparseRegressor(epsilon=1.0, delta=1e-5, feature_bound=1.0, target_bound=1.0, recipe=recipe).fit(X, X[:, 0])


def test_a_fitted_model_brings_its_statement():
    found = audit.examine(fitted(), **FEW)
    assert not found.violated
    assert [law.name for law in found.laws] == ["laws", "sensitivity trace", "second opinion"]
    assert len(found.checks) == 3


def test_a_model_that_counted_what_was_clipped_is_audited():
    model = fitted().set_params(check_bounds=0.1).fit(X, X[:, 0])
    found = audit.examine(model, runs=8, fits=0, seed=0)
    assert not found.violated
    assert "no violation found" in found._repr_html_()


@pytest.mark.parametrize("unit", [None, "patient"])
def test_whether_units_were_audited_is_said(unit):
    model = fitted().set_params(unit=unit).fit(X, X[:, 0], units=np.arange(100) // 2)
    found = audit.examine(model, runs=8, fits=0, seed=0)
    assert not found.violated
    assert f"Note: units were not audited: in the synthetic data each {unit or 'person'} has one row." in str(found)
    assert not audit.examine(fitted(), runs=8, fits=0, seed=0).notes


def test_a_statement_that_says_too_little_is_caught():
    model = fitted()
    model.statement_ = replace(model.statement_, epsilon=0.5)
    found = audit.examine(model, **FEW)
    assert [law.name for law in found.laws if law.violated] == ["second opinion"]
    assert found.verdict == "VIOLATED"


def test_a_trace_that_goes_too_far_is_caught(monkeypatch):
    ordinary = gradient_module.factor_cap
    monkeypatch.setattr(gradient_module, "factor_cap", lambda *given: 3 * ordinary(*given))
    found = audit.examine(recipes.DPIGHT(mechanism="dense", steps=2, clip=0.2), **FEW)
    assert [law.name for law in found.laws if law.violated] == ["sensitivity trace"]


class Stops:
    """A solver that asks less than it priced."""

    def plan(self, facts, budget):
        return Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=3),))

    def run(self, oracle, path=None):
        return -oracle.gradient(oracle.facts.first(), clip=Clip(1.0))


def test_a_solver_is_held_to_the_laws():
    found = audit.examine(Stops(), **FEW)
    [law] = found.laws
    assert law.violated
    assert "priced and never asked" in str(law)
    assert found.notes == ("not attacked: the laws are broken",)
    assert "Verdict: VIOLATED" in str(found)


def test_what_was_found_is_summed_up_in_plain_words():
    found = audit.examine(fitted(), **FEW)
    assert not found.void
    assert found.caveats == ()
    assert "6 checks tried to refute the guarantee and did not" in found.summary
    assert "more runs see smaller ones" in found.summary, "eight runs prove nothing, and that is not called 0 %"
    strong = replace(found, checks=tuple(replace(c, proved=0.5 * c.claimed) for c in found.checks))
    assert strong.summary.endswith("Every attack would have noticed noise below 50% of what was priced.")
    void = replace(found, void=True, caveats=("why",))
    assert void.verdict == "NO GUARANTEE"
    assert str(void).startswith("CAVEAT: why.")


def test_a_plan_without_a_proof_is_void():
    class Unproven(Stops):
        def plan(self, facts, budget):
            return replace(super().plan(facts, budget), unproven="nobody has shown it")

    found = audit.examine(Unproven(), **FEW)
    assert found.void
    assert found.caveats == ("NOT PRIVATE: the privacy of this plan is not proven: nobody has shown it",)


@pytest.mark.parametrize("name", ["dp_sgd", "label_ldp_iht"])
def test_other_kinds_of_plans_are_examined_too(name):
    assert not audit.examine(name, **FEW).violated
