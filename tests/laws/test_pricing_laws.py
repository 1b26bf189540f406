"""Laws of prices, over random plans and budgets."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpsparse.accounting import PricedPlan, price
from dpsparse.accounting.draws import TurnCosts
from dpsparse.accounting.pld import sampled_epsilon
from dpsparse.accounting.pricing import spent_epsilon
from dpsparse.core import Ask, Budget, Noise, Plan, PoissonRows
from dpsparse.core.curves import gaussian_epsilon

PURE = (Noise.LAPLACE, Noise.GUMBEL, Noise.PERMUTE_AND_FLIP)
UNSAMPLED = (Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN, *PURE)
#: Noises whose zCDP is the rho they are priced at; a perturbed objective costs more, and is not mu-GDP.
PLAIN = [n for n in UNSAMPLED if n is not Noise.OBJECTIVE]
BUDGETS = st.builds(
    Budget.approx,
    st.floats(-2, 4).map(lambda e: 10.0**e),
    st.floats(-10, -1).map(lambda e: 10.0**e),
    st.sampled_from(["replace-one", "add-remove"]),
)


def at(plan: Plan, rate: float, delta: float) -> PricedPlan:
    """A plan at a noise of our own choice, whatever it costs."""
    return PricedPlan(plan=plan, budget=Budget.approx(1.0, delta), rho_scale=rate, accountant="none")


@st.composite
def asks(draw, name: str, noises=UNSAMPLED) -> Ask:
    times = draw(st.integers(1, 5))
    schedule = draw(st.none() | st.lists(st.floats(0.1, 10.0), min_size=times, max_size=times).map(tuple))
    return Ask(
        name=name,
        noise=draw(st.sampled_from(noises)),
        times=times,
        draws=draw(st.integers(1, 4)),
        share=draw(st.floats(0.05, 20.0)),
        schedule=schedule,
    )


@st.composite
def plans(draw, noises=UNSAMPLED) -> Plan:
    return Plan(asks=tuple(draw(asks(name, noises)) for name in "abc"[: draw(st.integers(1, 3))]))


@given(plans(), BUDGETS)
def test_no_plan_is_priced_over_budget(plan, budget):
    priced = price(plan, budget)
    assert priced.epsilon() <= budget.epsilon * (1 + 1e-12)
    assert 0 < priced.rho_scale < math.inf


@given(plans(), st.floats(-3, 2).map(lambda e: 10.0**e))
def test_zcdp_budgets_are_used_up_and_never_exceeded(plan, rho):
    spent = price(plan, Budget.zcdp(rho)).rho
    assert rho * (1 - 1e-6) <= spent <= rho


@given(plans(tuple(n for n in PLAIN if n is not Noise.DISCRETE_GAUSSIAN)), st.floats(-2, 0.5).map(lambda e: 10.0**e))
def test_gdp_budgets_are_used_up_and_never_exceeded(plan, mu):
    spent = price(plan, Budget.gdp(mu)).mu
    assert mu * (1 - 1e-6) <= spent <= mu


@given(plans((Noise.GAUSSIAN,)), BUDGETS)
def test_gaussian_budgets_are_used_up_to_a_thousandth(plan, budget):
    assume(budget.epsilon > 0.01)
    assert price(plan, budget).epsilon() >= 0.999 * budget.epsilon


@given(plans(PURE), st.floats(-3, 3).map(lambda e: 10.0**e))
def test_pure_budgets_are_used_up_and_never_exceeded(plan, epsilon):
    spent = price(plan, Budget.approx(epsilon, 0.0)).epsilon()
    assert epsilon * (1 - 1e-6) <= spent <= epsilon


@given(plans(), BUDGETS, st.floats(1.05, 4.0))
def test_more_budget_never_means_more_noise(plan, budget, factor):
    one, more = price(plan, budget), price(plan, Budget.approx(budget.epsilon * factor, budget.delta, budget.adjacency))
    assert more.rho_scale >= one.rho_scale * (1 - 1e-6)
    looser = price(plan, Budget.approx(budget.epsilon, min(budget.delta * factor, 0.5), budget.adjacency))
    assert looser.rho_scale >= one.rho_scale * (1 - 1e-6)


@given(plans(), st.floats(-6, 2).map(lambda e: 10.0**e), st.floats(1.0, 5.0), st.floats(-9, -1).map(lambda e: 10.0**e))
def test_more_noise_is_never_dearer(plan, rate, factor, delta):
    cheap, dear = (at(plan, r, delta) for r in (rate, rate * factor))
    assert cheap.rho <= dear.rho * (1 + 1e-12)
    assert cheap.mu <= dear.mu * (1 + 1e-12)
    assert cheap.epsilon() <= dear.epsilon() * (1 + 1e-6) + 1e-12


@settings(max_examples=20)
@given(st.sampled_from(UNSAMPLED), st.integers(2, 8), st.floats(0.01, 2.0), st.floats(-9, -2).map(lambda e: 10.0**e))
def test_n_at_once_cost_as_much_as_n_one_by_one(noise, n, rho, delta):
    """Times, draws, models and separate asks are four ways to write the same composition."""
    ways = [
        Plan(asks=(Ask(name="a", noise=noise, times=n, share=n),)),
        Plan(asks=(Ask(name="a", noise=noise, draws=n, share=n),)),
        Plan(asks=(Ask(name="a", noise=noise),)).repeated(n),
        Plan(asks=tuple(Ask(name=f"a{i}", noise=noise) for i in range(n))),
    ]
    budget = Budget.approx(1.0, delta)
    spent = [spent_epsilon(TurnCosts.of(p, rho), delta, budget) for p in ways]
    assert spent == pytest.approx([spent[0]] * len(ways), rel=1e-9)
    *prices, apart = (price(p, budget).rho for p in ways)
    assert prices == pytest.approx([prices[0]] * len(prices), rel=1e-6)
    assert 0.7 * prices[0] < apart <= prices[0] * (1 + 1e-6), "asks of unknown order may be priced with more noise"


@settings(max_examples=30)
@given(plans(), st.permutations(range(3)), BUDGETS)
def test_the_order_of_asks_does_not_matter(plan, order, budget):
    shuffled = Plan(asks=tuple(plan.asks[i] for i in order if i < len(plan.asks)))
    one, two = price(plan, budget), price(shuffled, budget)
    assert one.rho_scale == pytest.approx(two.rho_scale, rel=1e-9)


@given(plans(), st.floats(0.1, 10.0))
def test_only_relative_shares_matter(plan, factor):
    scaled = Plan(
        asks=tuple(
            Ask(name=a.name, noise=a.noise, times=a.times, draws=a.draws, share=a.share * factor, schedule=a.schedule)
            for a in plan.asks
        )
    )
    one, two = (price(p, Budget.approx(1.0, 1e-6)) for p in (plan, scaled))
    for ask in plan.asks:
        assert one.cost(ask.name).rho == pytest.approx(two.cost(ask.name).rho, rel=1e-6)


@given(plans(tuple(PLAIN)), BUDGETS)
def test_the_costs_of_all_draws_add_up_to_the_total(plan, budget):
    priced = price(plan, budget)
    total = math.fsum(ask.draws * priced.cost(ask.name, turn).rho for ask in plan.asks for turn in range(ask.times))
    assert total == pytest.approx(priced.rho, rel=1e-9)


@given(plans((Noise.GAUSSIAN, *PURE)), st.floats(-3, 0).map(lambda e: 10.0**e))
def test_gdp_and_zcdp_of_a_plan_are_consistent(plan, rho):
    """mu-GDP is mu^2/2-zCDP: a valid mu is never below the one that a tight rho asks for."""
    priced = price(plan, Budget.zcdp(rho))
    if {a.noise for a in plan.asks} == {Noise.GAUSSIAN}:
        assert priced.mu == pytest.approx(math.sqrt(2 * priced.rho))
    else:
        assert priced.mu >= math.sqrt(2 * priced.rho) * 0.99


@given(st.lists(st.floats(0.05, 1.5), min_size=1, max_size=6), st.floats(-8, -2).map(lambda e: 10.0**e))
def test_gaussians_compose_by_the_root_of_the_sum_of_squares(mus, delta):
    plan = Plan(asks=tuple(Ask(name=f"a{i}", noise=Noise.GAUSSIAN, share=m * m / 2) for i, m in enumerate(mus)))
    exact = gaussian_epsilon(math.sqrt(math.fsum(m * m for m in mus)), delta)
    assert at(plan, 1.0, delta).epsilon() == pytest.approx(exact, rel=1e-9, abs=1e-9)


# ------------------------------------------------------------------------------------------------ sampled rows

SAMPLED = [((0.05, 1.5, 20), 1e-5), ((0.2, 4.0, 50), 1e-6)]


@pytest.mark.parametrize(("step", "delta"), SAMPLED)
@pytest.mark.parametrize("relation", list(Budget.approx(1.0, 1e-6).relation.__class__))
def test_sampled_prices_rise_with_rate_and_count_and_fall_with_noise(step, delta, relation):
    rate, sigma, count = step

    def spent(rate: float, sigma: float, count: int) -> float:
        return sampled_epsilon([(rate, sigma, count)], delta, relation)

    base = spent(rate, sigma, count)
    assert spent(rate * 1.5, sigma, count) > base
    assert spent(rate, sigma * 1.2, count) < base
    assert spent(rate, sigma, count * 2) > base
    assert base < gaussian_epsilon(relation.kappa * math.sqrt(count) / sigma, delta), "sampling helps"
    split = sampled_epsilon([(rate, sigma, count // 2), (rate, sigma, count - count // 2)], delta, relation)
    assert split == pytest.approx(base, rel=1e-6)


@pytest.mark.parametrize(("step", "delta"), SAMPLED)
def test_replace_one_is_never_cheaper_than_add_remove(step, delta):
    first, second = (sampled_epsilon([step], delta, r) for r in type(Budget.zcdp(1).relation))
    assert {first >= second} == {True}, "replace-one is listed first"


def test_sampled_plans_are_within_budget_and_use_most_of_it():
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=10, rows=PoissonRows(0.3)),))
    for adjacency in ("replace-one", "add-remove"):
        priced = price(plan, Budget.approx(1.0, 1e-5, adjacency))
        assert 0.99 <= priced.epsilon() <= 1.0
