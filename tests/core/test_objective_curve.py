"""The Renyi curve of objective perturbation, and plans that hold it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, BudgetError, Noise, Plan, PrivacyError
from dpsparse.core.curves import ORDERS, objective_renyi, objective_rho, renyi_epsilon


def plan(offset: float, times: int = 1, share: float = 1.0) -> Plan:
    return Plan(asks=(Ask(name="minimum", noise=Noise.OBJECTIVE, times=times, offset=offset, share=share),))


@pytest.mark.parametrize("m", [1e-3, 0.2, 1.0, 4.0])
@pytest.mark.parametrize("offset", [0.0, 0.4])
def test_the_curve_is_that_of_a_folded_gaussian_loss(m, offset):
    for a in (1.001, 1.5, 3.0, 12.0):
        if (a - 1) * m > 20:
            continue
        moment = quad(lambda z, a=a: math.exp((a - 1) * m * abs(z)) * norm.pdf(z), -40, 40, points=[0], limit=400)[0]
        expected = offset + m * m / 2 + math.log(moment) / (a - 1)
        assert objective_renyi(m, offset, np.array([a]))[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("m", [1e-3, 0.3, 2.0])
@pytest.mark.parametrize("offset", [0.0, 0.7])
def test_its_zcdp_is_the_smallest_line_above_the_curve(m, offset):
    ratio = objective_renyi(m, offset) / ORDERS
    rho = objective_rho(m, offset)
    assert np.all(ratio <= rho * (1 + 1e-9) + 1e-12)
    assert ratio.max() > 0.99 * rho, "attained at order 1, almost"


def test_an_offset_that_is_not_less_than_the_budget_is_refused_in_words():
    for budget in (Budget.approx(0.5, 1e-5), Budget.zcdp(0.5)):
        with pytest.raises(BudgetError, match="before any noise"):
            price(plan(0.5), budget)
        with pytest.raises(BudgetError, match="before any noise"):
            price(plan(0.3, times=2), budget)
        assert price(plan(0.1), budget).rho_scale > 0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0, 1e4])
def test_prices_are_within_budget_and_use_it_up(epsilon):
    priced = price(plan(0.4 * min(epsilon, 8.0)), Budget.approx(epsilon, 1e-6))
    assert 0.999 * epsilon < priced.epsilon() <= epsilon
    cost = priced.cost("minimum")
    by_moments = renyi_epsilon(objective_renyi(cost.strength, cost.offset), 1e-6)
    assert 0.9 * by_moments < priced.epsilon() <= by_moments * (1 + 1e-9)  # the recursion is tighter, by up to a tenth
    assert math.isinf(priced.mu)


def test_a_larger_offset_leaves_less_for_noise():
    strengths = [price(plan(c), Budget.approx(1.0, 1e-6)).cost("minimum").strength for c in (0.0, 0.2, 0.5, 0.8)]
    assert all(a > b > 0 for a, b in itertools.pairwise(strengths))


def test_selections_and_objectives_add_up():
    asks = (Ask(name="select", noise=Noise.GUMBEL, draws=5, share=0.7), *plan(0.2, share=0.3).asks)
    priced = price(Plan(asks=asks), Budget.approx(1.0, 1e-6))
    assert priced.epsilon() <= 1.0
    assert priced.cost("select").strength > 0
    repeated = price(Plan(asks=asks).repeated(3), Budget.approx(1.0, 1e-6))
    assert repeated.epsilon() <= 1.0
    assert repeated.cost("minimum").strength < priced.cost("minimum").strength


@pytest.mark.parametrize("offset", [-0.1, math.inf, math.nan])
def test_an_offset_is_a_non_negative_number_of_objectives_only(offset):
    with pytest.raises(PrivacyError, match="offset"):
        Ask(name="minimum", noise=Noise.OBJECTIVE, offset=offset)
    with pytest.raises(PrivacyError, match="offset"):
        Ask(name="gradient", noise=Noise.GAUSSIAN, offset=0.1)
