"""Bills: prices in every language, and sums of bills."""

import json
import math

import mpmath
import numpy as np
import pytest

from dpsparse.accounting import PlanCost, SumCost, price
from dpsparse.accounting.composition import sampled_renyi
from dpsparse.accounting.costs.base import Cost, read_cost, write_cost
from dpsparse.accounting.domination import dominating_mu
from dpsparse.core import Adjacency, Ask, Budget, Noise, Plan, PoissonRows, PrivacyError, RandomTurns
from dpsparse.core.codec import canonical_json
from dpsparse.core.curves import ORDERS, gaussian_delta, renyi_epsilon


def bill(*asks: Ask, budget: Budget | None = None, adjacency: str = "replace-one") -> PlanCost:
    return PlanCost.of(price(Plan(asks=asks), budget or Budget.approx(1.0, 1e-6, adjacency)))


def gaussian(times: int = 10, **more) -> Ask:
    return Ask(name="gradient", noise=Noise.GAUSSIAN, times=times, **more)


def selection(times: int = 10, **more) -> Ask:
    return Ask(name="choice", noise=Noise.GUMBEL, times=times, **more)


BILLS = {
    "gaussian": bill(gaussian()),
    "selections": bill(selection()),
    "mixed": bill(selection(), gaussian()),
    "laplace": bill(Ask(name="value", noise=Noise.LAPLACE, times=5)),
    "objective": bill(Ask(name="minimum", noise=Noise.OBJECTIVE, offset=0.05), selection()),
    "discrete": bill(Ask(name="sum", noise=Noise.DISCRETE_GAUSSIAN, times=10)),
    "sampled": bill(gaussian(200, rows=PoissonRows(0.05))),
    "random": bill(gaussian(50, law=RandomTurns(5, 10.0), rows=PoissonRows(0.05))),
    "sum": SumCost((bill(gaussian()), bill(selection()))),
    "sum of kinds": SumCost((bill(gaussian(20, rows=PoissonRows(0.1))), bill(selection()))),
}


@pytest.mark.parametrize("name", BILLS)
def test_every_bill_comes_back_from_its_stored_form_with_the_same_prices(name):
    given = BILLS[name]
    back = read_cost(json.loads(canonical_json(write_cost(given))))
    assert isinstance(back, Cost)
    assert back.adjacency is given.adjacency
    assert np.array_equal(back.renyi(), given.renyi())
    assert (back.mu(), back.pure(), back.epsilon(1e-6)) == (given.mu(), given.pure(), given.epsilon(1e-6))


@pytest.mark.parametrize("name", BILLS)
def test_delta_and_epsilon_of_a_bill_agree(name):
    given = BILLS[name]
    epsilon = given.epsilon(1e-6)
    assert given.delta(epsilon * (1 + 1e-6)) <= 1e-6 * (1 + 1e-3)
    assert given.delta(0.9 * epsilon) > 1e-6


@pytest.mark.parametrize("name", BILLS)
def test_the_dominating_gaussian_is_above_the_curve_of_the_bill(name):
    given, slack = BILLS[name], 1e-10
    mu, used = dominating_mu(given, slack)
    assert used in (0.0, slack)
    for epsilon in [0.0, *np.geomspace(1e-4, 6.0, 40)]:
        assert given.delta(float(epsilon)) <= gaussian_delta(float(epsilon), mu) + used + 1e-15


@pytest.mark.parametrize(
    ("name", "most"), [("gaussian", 1.0001), ("mixed", 1.03), ("selections", 1.13), ("sampled", 1.08)]
)
def test_the_dominating_gaussian_costs_little_more_than_the_bill(name, most):
    given = BILLS[name]
    mu, used = dominating_mu(given, 1e-10)
    whole = Budget.approx(given.epsilon(1e-6), 1e-6).as_mu()
    assert mu**2 / whole**2 < most
    assert used == (0.0 if name == "gaussian" else 1e-10)


def test_a_smaller_gaussian_would_not_dominate():
    given = BILLS["mixed"]
    mu, _ = dominating_mu(given, 1e-10)
    grid = np.geomspace(1e-4, 4.0, 200)
    assert any(given.delta(float(e)) > gaussian_delta(float(e), 0.97 * mu) + 1e-10 for e in grid)


def test_without_slack_only_closed_forms_are_used():
    assert dominating_mu(BILLS["selections"], 0.0)[0] == pytest.approx(BILLS["selections"].mu())
    assert math.isinf(dominating_mu(BILLS["discrete"], 0.0)[0])


def test_a_sum_is_priced_as_the_joint_plan():
    one, two = bill(gaussian(20)), bill(selection(5), gaussian(7))
    joint = Plan(
        asks=(
            Ask(name="first", noise=Noise.GAUSSIAN, times=20, share=one.rho_scale),
            Ask(name="choice", noise=Noise.GUMBEL, times=5, share=two.rho_scale),
            Ask(name="second", noise=Noise.GAUSSIAN, times=7, share=two.rho_scale),
        )
    )
    together = PlanCost(joint, 1.0, Adjacency.REPLACE_ONE)
    assert SumCost((one, two)).epsilon(1e-6) == pytest.approx(together.epsilon(1e-6), rel=1e-6)


def test_sampled_fits_are_summed_by_one_loss_distribution():
    half = Plan(asks=(gaussian(100, rows=PoissonRows(0.05)),))
    whole = Plan(asks=(gaussian(200, rows=PoissonRows(0.05)),))
    rate = price(whole, Budget.approx(1.0, 1e-6)).rho_scale
    one = PlanCost(half, rate / 2, Adjacency.REPLACE_ONE)
    assert SumCost((one, one)).epsilon(1e-6) == pytest.approx(1.0, rel=1e-3)


def test_two_laws_of_random_times_are_counted_twice():
    one = BILLS["random"]
    two = SumCost((one, one))
    assert two.epsilon(1e-6) > 1.3 * one.epsilon(1e-6)
    assert np.allclose(two.renyi()[:200], 2 * one.renyi()[:200])


def test_scaling_a_bill_scales_its_rho():
    assert BILLS["mixed"].scaled(0.25).mu() == pytest.approx(BILLS["mixed"].mu() / 2, rel=1e-3)
    assert BILLS["sum"].scaled(0.25).renyi()[50] == pytest.approx(BILLS["sum"].renyi()[50] / 4, rel=1e-2)


def test_parts_of_a_sum_must_share_their_adjacency():
    with pytest.raises(PrivacyError, match="share one adjacency"):
        SumCost((bill(gaussian()), bill(gaussian(), adjacency="add-remove")))


def test_a_bill_of_an_unknown_kind_is_refused():
    with pytest.raises(PrivacyError, match="that this release knows"):
        read_cost({"kind": "later"})


def test_a_damaged_bill_is_refused():
    with pytest.raises(PrivacyError, match="damaged"):
        read_cost({"kind": "plan", "rate": 1.0})


# ------------------------------------------------------------------------------------------------ sampled Renyi


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
@pytest.mark.parametrize(
    ("rate", "multiplier", "order"), [(0.01, 1.0, 2.0), (0.1, 2.0, 22.0), (0.3, 0.8, 8.5), (1e-4, 0.7, 6.0)]
)
def test_sampled_divergences_are_just_above_the_integral(relation, rate, multiplier, order):
    def density(x, side):
        moved = rate * mpmath.npdf(x, side, multiplier) if side else rate * mpmath.npdf(x, 0, multiplier)
        return (1 - rate) * mpmath.npdf(x, 0, multiplier) + moved

    pairs = [(1, -1)] if relation is Adjacency.REPLACE_ONE else [(1, 0), (0, 1)]
    ends = mpmath.linspace(-12 * multiplier, order + 14 * multiplier, 25)
    exact = max(
        mpmath.log(mpmath.quad(lambda x, a=a, b=b: density(x, a) ** order * density(x, b) ** (1 - order), ends))
        / (order - 1)
        for a, b in pairs
    )
    found = sampled_renyi([(rate, multiplier, 1)], relation, np.array([order]))[0]
    assert float(exact) <= found <= float(exact) * 1.003 + 1e-12


@pytest.mark.parametrize("relation", list(Adjacency))
@pytest.mark.parametrize("order", [100.0, 5000.0])
def test_sampled_divergences_of_large_orders_count_what_lies_beyond_the_grid(order, relation):
    """P >= q N(1), and Q <= N(0) to the right of zero: a bound on the moment from below. At such orders all of it is far out."""
    q, z = 0.01, 1.0
    found = float(sampled_renyi([(q, z, 1)], relation, np.array([order]))[0])
    least = (order * math.log(q) + order * (order - 1) / (2 * z * z)) / (order - 1)
    assert least - 1e-6 <= found <= least + 2 * math.log(1 / q)


def test_sampled_divergences_of_every_row_are_those_of_the_gaussian():
    found = sampled_renyi([(1.0, 2.0, 5)], Adjacency.REPLACE_ONE, ORDERS)
    assert np.allclose(found, 5 * ORDERS / 2)


def test_the_conversion_of_sampled_divergences_is_near_the_loss_distribution():
    given = BILLS["sampled"]
    assert 1.0 <= renyi_epsilon(given.renyi(), 1e-6) / given.epsilon(1e-6) < 1.15
