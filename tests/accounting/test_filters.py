"""Filters: valid against adaptive spending, tight for what is composed, exact in their sums."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpsparse.accounting import PlanCost, SumCost, price
from dpsparse.accounting.filters import (
    ASIDE,
    PARTS,
    UNIT,
    Charge,
    Filter,
    GaussianFilter,
    PureFilter,
    RenyiFilter,
    cost_units,
    filters_of,
    portion,
    recharge,
)
from dpsparse.core import Ask, Budget, BudgetError, Noise, Plan
from dpsparse.core.codec import read, write
from dpsparse.core.curves import gaussian_delta, gaussian_epsilon, gaussian_mu
from dpsparse.ledger.state import State

DELTA = 1e-6


def fit(*asks: Ask, epsilon: float = 0.5, delta: float = DELTA) -> PlanCost:
    return PlanCost.of(price(Plan(asks=asks), Budget.approx(epsilon, delta)))


GAUSSIAN = fit(Ask(name="gradient", noise=Noise.GAUSSIAN, times=20))
MIXED = fit(Ask(name="choice", noise=Noise.GUMBEL, times=10), Ask(name="value", noise=Noise.GAUSSIAN, times=10))
PURE = fit(Ask(name="value", noise=Noise.LAPLACE, times=2), delta=0.0)
DISCRETE = fit(Ask(name="sum", noise=Noise.DISCRETE_GAUSSIAN, times=10))


def needed(bill, times: int, kind: str, sharp: float = 1e-5) -> float:
    """The smallest total epsilon with which a ledger of this kind takes a bill so many times."""

    def takes(epsilon: float) -> bool:
        state = State.opened(epsilon, DELTA, "replace-one", kind)
        for _ in range(times):
            cost = state.charge(bill)
            if not state.fits(cost):
                return False
            state = state.taken(cost)
        return True

    low, high = 0.01, 20.0
    while high - low > sharp * high:
        middle = (low + high) / 2
        low, high = (low, middle) if takes(middle) else (middle, high)
    return high


# ------------------------------------------------------------------------------------------------ adaptive spending


def adaptive_delta(epsilon: float, first: float, later) -> float:
    """Exact delta of a Gaussian with mu = first, followed by one whose mu depends on what the first one showed."""

    def integrand(x: float) -> float:
        loss = first * x - first**2 / 2  # of N(first, 1) against N(0, 1) at x
        return norm.pdf(x, first) * gaussian_delta(epsilon - loss, later(x))

    return quad(integrand, first - 12, first + 12, limit=400, points=[first - 1, first, first + 1])[0]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_gaussian_filter_holds_against_spending_that_looks_at_answers(epsilon):
    limit = gaussian_mu(epsilon, DELTA)
    for part in (0.3, 0.6, 0.9):
        first = part * limit
        rest = math.sqrt(limit**2 - first**2)
        for place in (-1.0, 0.0, 1.0, 2.0, 3.0):
            stop = adaptive_delta(epsilon, first, lambda x, p=place, r=rest: r if x > p else 1e-9)
            half = adaptive_delta(epsilon, first, lambda x, p=place, r=rest: r if x > p else r / 2)
            assert stop <= DELTA * (1 + 1e-6)
            assert half <= DELTA * (1 + 1e-6)


def test_a_larger_capacity_would_break_the_promise():
    limit = 1.1 * gaussian_mu(1.0, DELTA)
    first = 0.6 * limit
    rest = math.sqrt(limit**2 - first**2)
    assert adaptive_delta(1.0, first, lambda x: rest if x > -1 else 1e-9) > DELTA


def test_the_renyi_filter_holds_against_spending_that_looks_at_answers():
    lead = RenyiFilter.of(1.0, DELTA)
    limit = math.sqrt(2 * lead.capacity * UNIT / lead.order)
    assert limit < gaussian_mu(1.0, DELTA)
    first = 0.6 * limit
    rest = math.sqrt(limit**2 - first**2)
    for place in (-1.0, 0.0, 1.0, 2.0, 3.0):
        assert adaptive_delta(1.0, first, lambda x, p=place: rest if x > p else 1e-9) <= DELTA


def test_filters_side_by_side_share_delta():
    gaussian, renyi = filters_of("gaussian", 1.0, DELTA)
    assert gaussian.delta + gaussian.slack + renyi.delta == pytest.approx(DELTA, rel=1e-12)
    assert renyi.delta == pytest.approx(ASIDE * DELTA)


# ------------------------------------------------------------------------------------------------ how tight


@pytest.mark.parametrize("times", [1, 2, 10, 40])
def test_equal_gaussian_fits_cost_what_their_joint_plan_costs(times):
    joint = SumCost((GAUSSIAN,) * times).epsilon(DELTA)
    assert joint == pytest.approx(gaussian_epsilon(math.sqrt(times) * GAUSSIAN.mu(), DELTA), rel=1e-9)
    assert needed(GAUSSIAN, times, "gaussian") == pytest.approx(joint, rel=1e-4)


@pytest.mark.parametrize(("kind", "most"), [("gaussian", 1.03), ("renyi", 1.10)])
def test_mixed_fits_cost_little_more_than_their_joint_plan(kind, most):
    joint = SumCost((MIXED,) * 6).epsilon(DELTA)
    found = needed(MIXED, 6, kind, sharp=2e-3)
    assert joint <= found < most * joint
    assert 6 * MIXED.epsilon(DELTA) > 2 * found  # what a sum of epsilons would say


def test_unlike_fits_cost_little_more_than_their_joint_plan():
    both = [GAUSSIAN, MIXED, GAUSSIAN, MIXED]
    joint = SumCost(tuple(both)).epsilon(DELTA)
    for kind, most in (("gaussian", 1.02), ("renyi", 1.12)):
        state = State.opened(1.001 * most * joint, DELTA, "replace-one", kind)
        for bill in both:
            cost = state.charge(bill)
            assert state.fits(cost)
            state = state.taken(cost)


def test_a_renyi_only_fit_can_follow_gaussian_ones_at_the_order_set_aside():
    joint = SumCost((GAUSSIAN, DISCRETE, DISCRETE)).epsilon(DELTA)
    state = State.opened(1.35 * joint, DELTA, "replace-one", "gaussian")
    for bill in (GAUSSIAN, DISCRETE, DISCRETE):
        cost = state.charge(bill)
        assert state.fits(cost)
        state = state.taken(cost)


def test_the_first_entry_decides_how_to_count():
    fresh = State.opened(2.0, DELTA, "replace-one", None)
    assert fresh.kind is None
    assert [fresh.decided(b).kind for b in (GAUSSIAN, MIXED, DISCRETE)] == ["gaussian", "gaussian", "renyi"]


def test_the_first_entry_may_take_the_whole_budget_at_its_own_price():
    fresh = State.opened(0.5, DELTA, "replace-one", None)
    for bill in (GAUSSIAN, MIXED, DISCRETE):
        state = fresh.decided(bill)
        assert state.whole(bill)
        assert not state.taken(state.charge(bill)).whole(bill)
        dearer = State.opened(0.49, DELTA, "replace-one", None).decided(bill)
        assert not dearer.whole(bill)
        assert not dearer.fits(dearer.charge(bill))


def test_pure_fits_add_up():
    state = State.opened(1.0, 0.0, "replace-one", None)
    assert state.kind == "pure"
    for _ in range(2):
        cost = state.charge(PURE)
        assert state.fits(cost)
        state = state.taken(cost)
    assert not state.fits(state.charge(PURE))
    assert not state.fits(state.charge(GAUSSIAN))
    assert state.largest_epsilon() == pytest.approx(0.0, abs=1e-6)


# ------------------------------------------------------------------------------------------------ arithmetic


def test_costs_are_rounded_up_and_capacities_down():
    assert cost_units(1e-30) == 1
    assert cost_units(3 * UNIT) in (3, 4)
    assert PureFilter.of(1.0).capacity <= 1.0 / UNIT
    lead = GaussianFilter.of(1.0, DELTA, 0.0)
    assert gaussian_delta(1.0, math.sqrt(lead.capacity * UNIT)) <= DELTA
    assert gaussian_delta(1.0, math.sqrt(lead.capacity * UNIT * (1 + 1e-6))) > DELTA


def test_an_unbounded_cost_never_fits_and_can_be_given_back():
    state = State.opened(1.0, 0.0, "replace-one", None)
    cost = state.charge(GAUSSIAN)
    assert not state.fits(cost)
    assert state.taken(cost).given_back(cost) == state


def test_slack_is_never_used_up():
    left = PARTS
    for _ in range(1000):
        left -= portion(left)
    assert 0 < left < PARTS
    assert portion(0) == 0


def test_more_slack_than_is_left_never_fits():
    """Two entries may be priced at once, each with what the other takes."""
    state = State.opened(1.0, DELTA, "replace-one", "gaussian")
    free = dict.fromkeys(state.totals, 0)
    assert state.fits(Charge(free, slack=state.slack))
    assert not state.fits(Charge(free, slack=state.slack + 1))


def test_a_charge_is_computed_again_from_its_slack():
    state = State.opened(1.0, DELTA, "replace-one", "gaussian")
    cost = state.charge(MIXED)
    assert cost.slack > 0
    assert recharge(state.filters, MIXED, cost.slack) == cost


@pytest.mark.parametrize("kind", ["gaussian", "renyi"])
def test_states_and_filters_come_back_from_their_stored_form(kind):
    state = State.opened(1.0, DELTA, "add-remove", kind)
    assert read(tuple[Filter, ...], write(state.filters), "filters") == state.filters
    assert State.from_dict(state.to_dict()) == state


def test_the_order_is_the_one_that_leaves_most_room():
    best = RenyiFilter.of(1.0, DELTA)
    rho = best.capacity * UNIT / best.order
    assert rho == pytest.approx(0.0243559704, rel=1e-3)  # the tight conversion of zCDP
    others = [RenyiFilter.of(1.0, DELTA, order) for order in np.geomspace(3, 200, 20)]
    assert all(f.capacity * UNIT / f.order <= rho * (1 + 1e-12) for f in others)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, DELTA, "replace-one", None), "epsilon must be a positive"),
        ((1.0, 1.0, "replace-one", None), "delta must lie in"),
        ((1.0, DELTA, "swap-two", None), "adjacency must be one of"),
        ((1.0, DELTA, "replace-one", "zcdp"), "kind must be one of"),
        ((1.0, 0.0, "replace-one", "gaussian"), "does not go with delta=0"),
        ((1.0, DELTA, "replace-one", "pure"), "does not go with delta=1e-06"),
    ],
)
def test_bad_totals_are_refused(arguments, message):
    with pytest.raises(BudgetError, match=message):
        State.opened(*arguments)
