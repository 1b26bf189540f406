"""Claims allow what they promise and nothing beyond."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpsparse import SparseRegressor
from dpsparse.accounting import price
from dpsparse.audit import Claim, event
from dpsparse.audit.runs import priced_alone
from dpsparse.core import Ask, Budget, Noise, Plan, PoissonRows

REPLACE = Budget.approx(1.0, 1e-5, "replace-one")


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("high", [0.01, 0.3, 0.5, 0.9])
def test_a_gaussian_claim_allows_its_trade_off_curve(high):
    assert Claim.gaussian(1.3).allowed(high) == pytest.approx(norm.cdf(norm.ppf(high) + 1.3), rel=1e-3)


@pytest.mark.parametrize("start", [-4 / 3, -2 / 3, 0.0, 0.5])
def test_a_selection_may_shift_odds_by_its_range_and_no_more(start):
    claim = Claim.priced(priced_alone(Ask(name="q", noise=Noise.GUMBEL), 4 / 3, REPLACE, 1))
    assert claim.excess(sigmoid(start + 4 / 3), sigmoid(start)) == pytest.approx(0.0, abs=1e-3)
    assert claim.excess(sigmoid(start + 1.1 * 4 / 3), sigmoid(start)) > 0.03


@pytest.mark.parametrize("noise", [Noise.LAPLACE, Noise.PERMUTE_AND_FLIP])
def test_a_pure_claim_allows_its_ratio_and_no_more(noise):
    claim = Claim.priced(priced_alone(Ask(name="q", noise=noise), 1.0, REPLACE, 1))
    assert claim.allowed(0.1) == pytest.approx(0.1 * math.e, rel=1e-6)
    assert claim.epsilon_at(0.0) == pytest.approx(1.0)


def test_sampling_is_counted():
    """A canary that is there with probability q shows with probability q at most, and a little by noise."""
    ask = Ask(name="q", noise=Noise.GAUSSIAN, rows=PoissonRows(0.2))
    claim = Claim.priced(priced_alone(ask, 8.0, REPLACE, 1))
    assert 0.2 < claim.allowed(0.01) <= 0.2 + 0.8 * 0.01
    assert claim.allowed(1e-6) < 0.2


def test_a_whole_plan_claims_no_more_than_its_epsilon():
    plan = Plan(asks=(Ask(name="s", noise=Noise.GUMBEL, times=3), Ask(name="v", noise=Noise.GAUSSIAN, times=3)))
    priced = price(plan, Budget.approx(2.0, 1e-5, "replace-one"))
    claim = Claim.priced(priced)
    assert claim.epsilon_at(1.01e-5) == pytest.approx(2.0, abs=0.1)
    assert claim.label == "epsilon = 2 at delta 1e-05"


def test_a_statement_is_a_claim():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    statement = SparseRegressor(epsilon=1.0, feature_bound=1.0, target_bound=1.0).fit(X, X[:, 0]).statement_
    claim = Claim.statement(statement)
    assert claim.refuted_by(event(950, 1000, 50, 1000))
    assert not claim.refuted_by(event(520, 1000, 480, 1000))


def test_a_refutation_says_where():
    seen = event(800, 1000, 100, 1000)
    assert "delta is at least" in Claim.gaussian(1.0).contradiction(seen)
    assert Claim.approx(1.0, 1e-5).refuted_by(seen)


def test_a_model_without_privacy_claims_nothing():
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    model = SparseRegressor(feature_bound=1.0, target_bound=1.0, recipe="ight").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="claims nothing"):
        Claim.statement(model.statement_)
