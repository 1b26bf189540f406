"""Candidates whose curve is nearly Gaussian: what runs get for it, and that none is above the curve that was charged."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpsparse import PrivateSearch, SparseClassifier, recipes
from dpsparse.accounting import price
from dpsparse.accounting.costs.base import delta_from_renyi, read_cost, write_cost
from dpsparse.accounting.costs.fixed import FixedCost
from dpsparse.accounting.costs.plan import PlanCost
from dpsparse.accounting.domination import excess
from dpsparse.accounting.random_stopping import SearchCost, calibrate_search, law_of
from dpsparse.core import Ask, Budget, Noise, Plan, PrivacyError
from dpsparse.core.curves import gaussian_delta, largest
from dpsparse.estimators.search import plan as calibration
from dpsparse.fitting import Shape

LAW = law_of("auto", 10)
SHAPE = Shape(n_rows=20_000, n_features=50, models=1)


@pytest.fixture(scope="module")
def renyi_mu():
    """Mu of a run at (1, 1e-6) by Renyi curves alone."""
    holds = lambda rho: delta_from_renyi(SearchCost(FixedCost(rho), LAW), 1.0) <= 1e-6  # noqa: E731
    return math.sqrt(2 * largest(holds, 0.0, 1.0, steps=30))


def search(space, **options):
    model = SparseClassifier(feature_bound=1.0, row_norm=5.0, classes=[0, 1], sparsity=5)
    return PrivateSearch(model, space, epsilon=1.0, delta=1e-6, **options)


def test_runs_that_select_get_a_fifth_more_mu_than_by_renyi_curves(renyi_mu):
    made = search({"recipe": [recipes.DPGCD(steps=8, mechanism="gaussian")]})
    plan = made.plan(SHAPE.n_rows, SHAPE.n_features)
    assert plan.epsilon <= 1.0
    assert math.sqrt(2 * plan.run_rho) >= 1.2 * renyi_mu
    only_zcdp = calibrate_search(1.0, 1e-6, LAW, gaussian=False).base.rho
    assert math.sqrt(2 * only_zcdp) < 1.2 * renyi_mu, "control: zCDP alone does not give it"
    assert plan.run.gaussian
    assert 0 < plan.run.excess < 0.2
    assert plan.run.slack * LAW.mean <= 1.01e-9
    assert plan.run.mu() == math.inf, "with a slack nothing is mu-GDP"
    for candidate in made.param_distributions["recipe"]:  # the curve that was charged is above that of every candidate
        bill = PlanCost.of(made.prepare_candidate({"recipe": candidate}, plan, SHAPE).priced)
        mu = math.sqrt(2 * plan.training_rho * (1 + plan.run.excess))
        for epsilon in np.linspace(0.0, 1.5, 16):
            assert bill.delta(float(epsilon)) <= gaussian_delta(float(epsilon), mu) + plan.run.slack


def test_a_score_after_a_nearly_gaussian_fit_adds_its_square():
    """The recursion over both together is below the curve of the sum of squares, plus one slack."""
    fit, slack = Ask(name="choice", noise=Noise.GUMBEL, times=6), 1e-9
    x = excess(PlanCost.of(price(Plan(asks=(fit,)), Budget.zcdp(0.02))), 0.02, slack)
    both = Plan(
        asks=(
            Ask(name="choice", noise=Noise.GUMBEL, times=6, share=0.8),
            Ask(name="score", noise=Noise.GAUSSIAN, share=0.2),
        )
    )
    bill = PlanCost.of(price(both, Budget.zcdp(0.025)))
    mu = math.sqrt(2 * 0.02 * (1 + x) + 2 * 0.005)
    ratios = [bill.delta(e) / (gaussian_delta(e, mu) + slack) for e in (0.0, 0.1, 0.3, 0.5, 0.8)]
    assert max(ratios) <= 1.0
    assert max(ratios) > 0.9, "and little is lost"
    smaller = math.sqrt(2 * 0.02 * (1 + x) / 2 + 2 * 0.005)
    assert max(bill.delta(e) / (gaussian_delta(e, smaller) + slack) for e in (0.1, 0.3, 0.5)) > 1.0, "control"


def test_candidates_that_cannot_be_seen_or_are_far_from_gaussian_are_charged_by_zcdp(monkeypatch):
    careful = calibrate_search(1.0, 1e-6, LAW, gaussian=False).base
    one = {"recipe": [recipes.DPGCD(steps=8, mechanism="gaussian")]}
    monkeypatch.setattr(calibration, "COMPARED", 0)
    assert search(one).plan(SHAPE.n_rows, SHAPE.n_features).run == careful
    monkeypatch.undo()
    monkeypatch.setattr(calibration, "excess", lambda *_: 0.3)
    assert search(one).plan(SHAPE.n_rows, SHAPE.n_features).run == careful
    grows = iter((0.05, 0.06))  # at the price that the curve gives a candidate is above it
    monkeypatch.setattr(calibration, "excess", lambda *_: next(grows))
    assert search(one).plan(SHAPE.n_rows, SHAPE.n_features).run == careful


def test_a_near_promise_is_the_smaller_of_its_two_curves_and_is_stored_whole():
    near = FixedCost(0.01, True, excess=0.1, slack=1e-8)
    mu = math.sqrt(0.02 * 1.1)
    for epsilon in (0.0, 0.2, 0.6):
        assert near.delta(epsilon) == pytest.approx(gaussian_delta(epsilon, mu) + 1e-8, rel=1e-12)
    assert near.delta(3.0) == FixedCost(0.01).delta(3.0) < 1e-8
    assert near.delta(near.epsilon(1e-6)) <= 1e-6 * (1 + 1e-9)
    assert near.epsilon(1e-9) == FixedCost(0.01).epsilon(1e-9)
    assert read_cost(write_cost(near)) == near
    assert read_cost({"kind": "promise", "rho": 0.01, "gaussian": True, "adjacency": "replace-one"}) == FixedCost(
        0.01, True
    )
    assert near.scaled(10).slack == pytest.approx(1e-7)
    assert near.scaled(0.5).slack == 1e-8
    with pytest.raises(PrivacyError, match="excess"):
        FixedCost(0.01, True, excess=-0.1)
