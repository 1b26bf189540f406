"""Privacy curves against golden values, many-digit arithmetic, integrals and brute force."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from dpsparse.core import Budget
from dpsparse.core.curves import (
    ORDERS,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_renyi,
    laplace_renyi,
    largest,
    objective_renyi,
    objective_rho,
    pure_mu,
    pure_renyi,
    renyi_delta,
    renyi_epsilon,
    selection_mu,
    selection_renyi,
)
from truth import curves as truth

GOLDEN_MU = {
    (1.0, 1e-6): 0.2367043807,
    (1.0, 1e-5): 0.2680511232,
    (2.0, 1e-5): 0.5015516892,
    (4.0, 1e-5): 0.9249308977,
    (8.0, 1e-5): 1.6660305978,
    (2.0, 0.01): 0.8958531945,
}
GOLDEN_RHO = {
    (1.0, 1e-6): 0.0243559704,
    (1.0, 1e-5): 0.0305565952,
    (2.0, 1e-5): 0.1082563638,
    (10.0, 0.01): 3.3990123022,
}
GOLDEN_RANGE = {1.0: 0.12330, 2.0: 0.47447, 4.0: 1.66985}
SOME_ORDERS = np.array([1.001, 1.1, 1.5, 2.0, 8.0, 32.0, 300.0, 5000.0])
NEAR_ONE = np.array([1.0 + 1e-6])


# ------------------------------------------------------------------------------------------------ Gaussian


@pytest.mark.parametrize(("budget", "mu"), GOLDEN_MU.items())
def test_the_mu_of_a_budget_is_the_golden_one(budget, mu):
    assert gaussian_mu(*budget) == pytest.approx(mu, abs=6e-11)


def many_digits(epsilon, mu):
    with mp.workdps(400):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        tails = [mp.erfc(z / mp.sqrt(2)) / 2 for z in (e / m - m / 2, e / m + m / 2)]
        return tails[0] - mp.exp(e) * tails[1]


SMALL_BUDGETS = [(1e-4, 1e-300), (1e-8, 1e-100), (1e-8, 1e-16), (1e-10, 1e-300), (1e-12, 1e-30), (1e-16, 1e-16)]


@pytest.mark.parametrize(("epsilon", "delta"), [*SMALL_BUDGETS, *GOLDEN_MU])
def test_the_mu_of_a_budget_is_rounded_down_however_small_the_budget(epsilon, delta):
    exact = many_digits(epsilon, gaussian_mu(epsilon, delta)) / delta
    assert 1 - 1e-9 < exact <= 1


def test_the_gaussian_curve_is_never_below_four_hundred_digits():
    rng = np.random.default_rng(0)
    for _ in range(300):
        epsilon, x = float(10 ** rng.uniform(-14, 3)), rng.uniform(-4, 36)
        mu = 2 * epsilon / (x + math.sqrt(x * x + 2 * epsilon)) if x > 0 else -x + math.sqrt(x * x + 2 * epsilon)
        exact = many_digits(epsilon, mu)
        assert exact <= gaussian_delta(epsilon, mu) <= exact * (1 + mp.mpf(1e-8))


def test_a_selection_of_tiny_range_is_not_rounded_below_its_curve():
    order, eta = 7.8e7, 8e-8
    with mp.workdps(60):
        a, s = mp.mpf(order), mp.exp(-mp.mpf(eta))
        x = (a - 1) * (1 - s**a) / (a * (s - s**a))
        exact = mp.log((x ** (a - 1) * (1 - s**a) - x**a * (s - s**a)) / (1 - s)) / (a - 1)
    assert selection_renyi(eta, np.array([order]))[0] >= exact


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0, 30.0, 141.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.5, 3.0, 20.0, 400.0, 1e4])
def test_the_gaussian_curve_agrees_with_sixty_digits(epsilon, mu):
    assert gaussian_delta(epsilon, mu) == pytest.approx(float(truth.gaussian_delta(epsilon, mu)), rel=1e-9, abs=1e-290)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.4])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0, 100.0, 1e4])
def test_mu_is_rounded_towards_more_noise_and_no_further(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert truth.gaussian_delta(epsilon, mu * (1 - 1e-9)) <= delta, "the safety of pricing covers the last digits"
    assert truth.gaussian_delta(epsilon, mu * (1 + 1e-6)) > delta


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0, 10.0])
def test_epsilon_is_rounded_up_and_no_further(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    if epsilon == 0:
        assert truth.gaussian_delta(0.0, mu) <= delta
        return
    assert truth.gaussian_delta(epsilon * (1 + 1e-9), mu) <= delta
    assert truth.gaussian_delta(epsilon * (1 - 1e-6), mu) > delta
    assert gaussian_mu(epsilon, delta) == pytest.approx(mu, rel=1e-9)


def test_without_noise_to_tell_apart_nothing_is_spent():
    assert gaussian_delta(1.0, 0.0) == 0.0
    assert gaussian_epsilon(1e-9, 1e-6) == 0.0


def test_the_search_returns_a_value_at_which_the_property_holds():
    found = largest(lambda v: v <= math.pi, 0.0, 10.0)
    assert found <= math.pi
    assert found == pytest.approx(math.pi, rel=1e-15)
    assert largest(lambda v: False, 0.0, 1.0) == 0.0


# ------------------------------------------------------------------------------------------------ Renyi


def test_the_gaussian_renyi_curve_is_the_integral():
    for mu in (0.3, 2.0):
        for alpha in (1.5, 8.0):
            x = np.linspace(-60, 60, 400_001)
            logs = -alpha * (x - mu) ** 2 / 2 - (1 - alpha) * x**2 / 2 - 0.5 * math.log(2 * math.pi)
            integral = math.log(np.trapezoid(np.exp(logs - logs.max()), x)) + logs.max()
            assert gaussian_renyi(mu, np.array([alpha]))[0] == pytest.approx(integral / (alpha - 1), rel=1e-9)


@pytest.mark.parametrize("eta", [0.01, 0.3, 1.0, 2.0, 4.0, 12.0])
def test_the_selection_curve_is_the_largest_over_all_positions_of_the_range(eta):
    closed = selection_renyi(eta, SOME_ORDERS)
    brute = np.array([truth.bounded_range_renyi(eta, a) for a in SOME_ORDERS])
    assert np.all(closed >= brute * (1 - 1e-10)), "a position t was missed"
    np.testing.assert_allclose(closed, brute, rtol=2e-5)


@pytest.mark.parametrize(("eta", "rho"), GOLDEN_RANGE.items())
def test_near_order_one_the_selection_curve_is_the_tight_zcdp_constant(eta, rho):
    assert selection_renyi(eta, NEAR_ONE)[0] == pytest.approx(rho, abs=6e-6)
    assert truth.bounded_range_kl(eta) == pytest.approx(rho, abs=6e-6)
    assert np.all(selection_renyi(eta) <= ORDERS * truth.bounded_range_kl(eta) * (1 + 1e-6))


@pytest.mark.parametrize("eta", [1e-8, 1e-4, 0.1, 1.0, 3.0, 10.0])
def test_a_selection_costs_at_most_an_eighth_of_its_squared_range(eta):
    curve = selection_renyi(eta)
    assert np.all(curve <= ORDERS * eta**2 / 8 * (1 + 1e-12))
    assert np.all((curve >= 0) & (curve <= eta))
    if eta <= 0.1:
        assert curve[0] == pytest.approx(ORDERS[0] * eta**2 / 8, rel=2e-3), "an eighth is attained by small ranges"


def test_a_selection_without_range_is_free():
    assert not selection_renyi(0.0).any()


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [1.01, 1.5, 2.0, 8.0, 32.0])
def test_the_laplace_curve_is_the_integral(epsilon, alpha):
    assert laplace_renyi(epsilon, np.array([alpha]))[0] == pytest.approx(truth.laplace_renyi(epsilon, alpha), rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_near_order_one_the_laplace_curve_is_its_tight_zcdp_constant(epsilon):
    assert laplace_renyi(epsilon, NEAR_ONE)[0] == pytest.approx(epsilon + math.exp(-epsilon) - 1, rel=1e-5)


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("alpha", SOME_ORDERS)
def test_the_pure_curve_is_the_sum_over_two_answers(epsilon, alpha):
    found = pure_renyi(epsilon, np.array([alpha]))[0]
    assert found == pytest.approx(truth.pure_renyi(epsilon, alpha), rel=1e-7)


@pytest.mark.parametrize("curve", [laplace_renyi, pure_renyi, selection_renyi])
@pytest.mark.parametrize("size", [1e-7, 1e-4, 0.01, 1.0, 5.0, 40.0, 1e3, 1e5])
def test_renyi_curves_are_never_below_the_truth(curve, size):
    """Curves may be rounded up; below the many-digit truth only by what the safety of pricing covers."""
    with mp.workdps(60):
        for alpha, found in zip(ORDERS[::20], curve(size, ORDERS[::20]), strict=True):
            a, e = mp.mpf(float(alpha)), mp.mpf(size)
            if curve is laplace_renyi:
                moment = (a * mp.exp((a - 1) * e) + (a - 1) * mp.exp(-a * e)) / (2 * a - 1)
            elif curve is pure_renyi:
                p, q = 1 / (1 + mp.exp(-e)), 1 / (1 + mp.exp(e))
                moment = p**a * q ** (1 - a) + q**a * p ** (1 - a)
            else:
                s = mp.exp(-e)
                x = (a - 1) * (1 - s**a) / (a * (s - s**a))
                assert 1 <= x <= 1 / s
                moment = x ** (a - 1) * (1 - s**a) / (a * (1 - s))
            exact = mp.log(moment) / (a - 1)
            assert found >= exact * (1 - mp.mpf(10) ** -9), f"order {float(alpha)}: {found} < {mp.nstr(exact, 12)}"
            assert found <= exact * (1 + mp.mpf(10) ** -6) or found <= a * e**2 / 2 * (1 + mp.mpf(10) ** -9)


@pytest.mark.parametrize("offset", [0.0, 0.4])
@pytest.mark.parametrize("m", [0.1, 0.5, 2.0])
def test_the_curve_of_a_perturbed_objective_is_that_of_a_folded_normal_loss(m, offset):
    """A loss of offset + m^2/2 + m |Z|, integrated."""
    z = np.linspace(0, 80, 800_001)
    for alpha in (1.001, 1.5, 8.0, 30.0):
        logs = (alpha - 1) * (offset + m * m / 2 + m * z) - z * z / 2 + math.log(2) - 0.5 * math.log(2 * math.pi)
        moment = math.log(np.trapezoid(np.exp(logs - logs.max()), z)) + logs.max()
        found = objective_renyi(m, offset, np.array([alpha]))[0]
        assert found == pytest.approx(moment / (alpha - 1), rel=1e-6)
        assert found <= objective_rho(m, offset) * alpha
    assert objective_renyi(m, offset, NEAR_ONE)[0] == pytest.approx(objective_rho(m, offset), rel=1e-5)


@pytest.mark.parametrize(("budget", "rho"), GOLDEN_RHO.items())
def test_the_rho_of_a_budget_is_the_golden_one_from_below(budget, rho):
    found = Budget.approx(*budget).as_rho()
    assert found <= rho * (1 + 1e-9)
    assert found == pytest.approx(rho, rel=1e-3)


@pytest.mark.parametrize("delta", [1e-8, 1e-5, 0.01])
@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
def test_the_conversion_of_a_curve_is_the_minimum_over_orders(mu, delta):
    found = renyi_epsilon(gaussian_renyi(mu), delta)
    exact = truth.renyi_epsilon(lambda a: a * mu**2 / 2, delta)
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 6e-4)
    assert found >= gaussian_epsilon(mu, delta), "no conversion of a Gaussian can beat its exact curve"


@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.1])
def test_both_directions_of_the_conversion_agree(delta):
    curve = 3 * gaussian_renyi(0.4) + 5 * selection_renyi(0.2) + laplace_renyi(0.3)
    epsilon = renyi_epsilon(curve, delta)
    assert renyi_delta(curve, epsilon) == pytest.approx(delta, rel=1e-9)
    assert renyi_delta(curve, epsilon * 1.01) < delta < renyi_delta(curve, epsilon * 0.99)


def test_a_conversion_never_claims_a_delta_above_one():
    assert renyi_delta(gaussian_renyi(50.0), 0.0) == 1.0


# ------------------------------------------------------------------------------------------------ GDP of pure things

ERRORS = np.r_[np.logspace(-9, -3, 200), np.linspace(1e-3, 1 - 1e-3, 2000), 1 - np.logspace(-9, -3, 200)]


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0, 8.0])
def test_pure_mu_dominates_randomised_response_and_no_smaller_mu_does(epsilon):
    p = 1 / (1 + math.exp(-epsilon))
    pair = truth.two_point_error(p, 1 - p, ERRORS)
    kink = np.array([1 - p])
    assert np.all(pair >= truth.gaussian_error(pure_mu(epsilon), ERRORS) - 1e-12)
    assert truth.two_point_error(p, 1 - p, kink)[0] < truth.gaussian_error(0.999 * pure_mu(epsilon), kink)[0]


@pytest.mark.parametrize("eta", [0.05, 0.5, 1.0, 3.0, 8.0])
def test_selection_mu_dominates_every_bounded_range_pair_and_no_smaller_mu_does(eta):
    mu = selection_mu(eta)
    smaller_fails = False
    for t in np.linspace(0, eta, 41)[1:-1]:
        q = -math.expm1(t - eta) / (math.exp(t) * -math.expm1(-eta))
        p = math.exp(t) * q
        for high, low in ((p, q), (1 - q, 1 - p)):  # both orders of the neighbours
            at = np.r_[ERRORS, low]
            pair = truth.two_point_error(high, low, at)
            assert np.all(pair >= truth.gaussian_error(mu, at) - 1e-12)
            smaller_fails |= bool(np.any(pair < truth.gaussian_error(0.999 * mu, at) - 1e-9))
    assert smaller_fails


@pytest.mark.parametrize("size", [700.0, 1e4, 1e8])
def test_large_pure_answers_have_a_finite_mu(size):
    """mu grows like the root of 8 epsilon."""
    assert pure_mu(size) == pytest.approx(math.sqrt(8 * size), rel=0.05)
    assert selection_mu(2 * size) == pytest.approx(pure_mu(size))


def test_a_selection_is_half_as_revealing_as_a_pure_answer_of_the_same_size():
    assert selection_mu(2.0) == pytest.approx(pure_mu(1.0))
    assert selection_mu(2.0) < 0.6 * pure_mu(2.0)
