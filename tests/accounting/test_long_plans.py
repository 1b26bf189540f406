"""Plans whose curves are sums of very many rounded ones."""

from __future__ import annotations

import numpy as np
import pytest

from dpsparse.accounting import price, pricing
from dpsparse.accounting.draws import TurnCosts
from dpsparse.core import Ask, Budget, BudgetError, Noise, Plan
from dpsparse.core.curves import ORDERS, renyi_epsilon


@pytest.mark.parametrize("epsilon", [1e-4, 1.0])
def test_a_hundred_thousand_selections_have_a_price_at_a_tiny_delta(epsilon):
    """Hoeffding's line eta^2/8 per selection bounds the price from both sides: it is valid, and hardly more than the exact curve."""
    plan = Plan(asks=(Ask(name="choice", noise=Noise.GUMBEL, times=100_000),))
    priced = price(plan, Budget.approx(epsilon, 1e-20))
    assert priced.epsilon() <= epsilon * (1 + 1e-12)
    line = renyi_epsilon(priced.rho * np.asarray(ORDERS), 1e-20)
    assert epsilon * (1 - 1e-3) <= line <= epsilon * (1 + 1e-3)


def test_selections_of_one_weight_are_counted_together():
    plan = Plan(asks=(Ask(name="choice", noise=Noise.GUMBEL, times=7, draws=2),))
    assert TurnCosts.of(plan).ordered == ((pytest.approx(1 / 14), 14),)
    unequal = Plan(asks=(Ask(name="choice", noise=Noise.GUMBEL, times=4, schedule=(1.0, 1.0, 2.0, 1.0)),))
    assert [n for _, n in TurnCosts.of(unequal).ordered] == [2, 1, 1]


def test_a_search_that_ends_with_too_little_noise_is_not_believed(monkeypatch):
    found = pricing._scale

    def eager(unit, budget):
        scale, accountant = found(unit, budget)
        return 1.2 * scale, accountant

    monkeypatch.setattr(pricing, "_scale", eager)
    monkeypatch.setattr(pricing, "_CERTIFIED", {})
    plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=7),))
    with pytest.raises(BudgetError, match="failed to certify"):
        price(plan, Budget.approx(0.83, 1e-6), store=None)
