"""The delta curve of a search, against searches that can be computed exactly."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpsparse.accounting.costs.base import delta_from_renyi, epsilon_from_renyi
from dpsparse.accounting.costs.fixed import FixedCost
from dpsparse.accounting.random_stopping import SearchCost, SearchProfile, calibrate_search, law_of, sticks
from dpsparse.core.curves import gaussian_delta, gaussian_mu, largest

from .test_random_stopping import LAWS, TableBill, best_of, generating, pairs

DELTA = 1e-6


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def table_profile(p, q, law):
    bill = TableBill(p, q)
    return SearchProfile.of(lambda e: np.array([bill.delta(float(x)) for x in e]), law.log_slope)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("mean", [1.1, 5.0, 50.0])
def test_no_search_over_a_finite_run_exceeds_the_profile(kind, mean):
    law, closest = kind.of_mean(mean), 0.0
    for p, q in pairs(60, seed=int(10 * mean)):
        profile = table_profile(p, q, law)
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0):
            for a, b in ((p, q), (q, p)):
                exact, bound = hockey_stick(best_of(a, law), best_of(b, law), epsilon), profile.delta(epsilon)
                assert exact <= bound * (1 + 1e-12)
                closest = max(closest, exact / bound if bound > 1e-12 else 0.0)
    assert closest > 0.3  # no vacuous bound


def test_half_of_a_shift_and_half_of_a_weight_are_caught():
    """The numbers of the profile cannot be halved: some finite run would exceed it."""
    caught = {"shifts": 0, "weights": 0}
    epsilons = np.linspace(0.05, 2.0, 14)
    for kind in LAWS:
        for mean in (1.1, 5.0):
            law = kind.of_mean(mean)
            for p, q in pairs(30, seed=50):
                profile = table_profile(p, q, law)
                exact = np.array([hockey_stick(best_of(p, law), best_of(q, law), e) for e in epsilons])
                halves = {
                    "shifts": SearchProfile(profile.weights, profile.shifts / 2, profile.run),
                    "weights": SearchProfile(profile.weights / 2, profile.shifts, profile.run),
                }
                for name, half in halves.items():
                    caught[name] += bool(np.any(exact > [half.delta(e) + 1e-9 for e in epsilons]))
    assert min(caught.values()) > 0


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("mu", [0.05, 0.3, 1.5])
def test_searches_over_gaussian_runs_stay_below_the_profile(kind, mu):
    """A score that is the loss itself, or its negative, or one that puts the revealing outcomes in the middle."""
    law = kind.of_mean(10.0)
    profile = SearchCost(FixedCost(mu**2 / 2, True), law).profile
    f = generating(law)
    x = ndtri(np.linspace(0.0, 1.0, 20001)[1:-1])
    cuts = np.r_[-np.inf, x, np.inf]
    first, second = np.diff(ndtr(cuts)), np.diff(ndtr(cuts - mu))
    middle = np.argsort(np.abs(np.arange(first.size) - 0.9 * first.size))
    for order in (np.arange(first.size), np.arange(first.size)[::-1], middle):
        for a, b in ((first, second), (second, first)):
            best = [np.diff(f(np.minimum(1.0, np.r_[0.0, np.cumsum(law_of_run[order])]))) for law_of_run in (a, b)]
            for epsilon in (0.0, 2 * mu, 4 * mu, 6 * mu):
                assert hockey_stick(*best, epsilon) <= profile.delta(epsilon) + 1e-12


@pytest.mark.parametrize("mean", [3, 10, 50])
def test_each_run_of_a_logarithmic_search_gets_a_fifth_more_mu_than_by_renyi(mean):
    law = law_of("auto", mean)
    bill = calibrate_search(1.0, DELTA, law, gaussian=True)

    def holds(rho):
        return epsilon_from_renyi(SearchCost(FixedCost(rho, True), law), DELTA) <= 1.0

    assert bill.epsilon(DELTA) <= 1.0
    assert bill.base.mu() >= 1.2 * math.sqrt(2 * largest(holds, 0.0, 1.0, steps=40))


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("gaussian", [True, False])
def test_a_search_is_charged_the_smaller_of_both_bounds(kind, gaussian):
    bill = SearchCost(FixedCost(gaussian_mu(1.0, DELTA) ** 2 / 2, gaussian), kind.of_mean(30.0))
    for epsilon in (0.5, 1.5, 4.0):
        assert bill.delta(epsilon) == min(delta_from_renyi(bill, epsilon), bill.profile.delta(epsilon))
    assert bill.epsilon(DELTA) == min(epsilon_from_renyi(bill, DELTA), bill.profile.epsilon(DELTA))
    assert bill.profile.delta(bill.profile.epsilon(DELTA)) <= DELTA


@pytest.mark.parametrize("mean", [1.2, 2.0, 10.0, 200.0])
def test_the_automatic_law_gives_each_run_the_most(mean):
    mus = {n: calibrate_search(1.0, DELTA, law_of(n, mean), gaussian=True).base.mu() for n in ("geometric", "poisson")}
    assert calibrate_search(1.0, DELTA, law_of("auto", mean), gaussian=True).base.mu() > max(mus.values())


def test_one_stick_of_the_whole_mean_is_never_smaller():
    """The sum of sticks against the one term E K delta(epsilon - log max R) that it refines."""
    bill = SearchCost(FixedCost(0.02, True), law_of("logarithmic", 10))
    profile = bill.profile
    one = SearchProfile(np.array([profile.weights.sum()]), np.array([profile.shifts.min()]), profile.run)
    assert profile.weights.sum() == pytest.approx(10.0, rel=1e-9)
    for epsilon in (0.5, 1.0, 2.0):
        assert profile.delta(epsilon) < one.delta(epsilon)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("count", [2, 5, 40])
def test_the_sum_of_sticks_is_above_every_outcome(kind, count):
    """However few lines bound the trade-off curve: at every level p of every outcome, and for every likelihood ratio."""
    law, mu = kind.of_mean(8.0), 0.7
    e = np.linspace(3.0, -3.0, count)
    lines = (
        np.exp(e),
        np.array(
            [gaussian_delta(x, mu) if x >= 0 else 1 - math.exp(x) + math.exp(x) * gaussian_delta(-x, mu) for x in e]
        ),
    )
    weights, shifts = sticks(lines, law.log_slope)
    p = np.r_[np.logspace(-9, 0, 3000), np.linspace(0, 1, 3000)]
    trade_off = np.min(lines[0] * p[:, None] + lines[1], axis=1)
    log_r = law.log_slope(p) - law.log_slope(trade_off)
    for t in np.exp(np.linspace(-6, 4, 60)):
        outcomes = np.exp(law.log_slope(p)) * np.maximum(0, t - np.exp(-log_r))
        assert outcomes.max() <= float(weights @ np.maximum(0, t - np.exp(shifts))) * (1 + 1e-9) + 1e-12
