"""How often an attacker guesses right: never below what an attack attains, and equal where the mechanism is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpsparse.core import attacker_success
from dpsparse.core.attacker import LARGE_EPSILON, in_percent, weaknesses


def total_variation(p, q) -> float:
    return 0.5 * float(np.abs(np.asarray(p) - np.asarray(q)).sum())


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 12.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
def test_randomised_response_with_a_leak_attains_the_bound_of_epsilon_and_delta(epsilon, delta):
    """With probability delta the bit itself is told, otherwise randomised response: the worst of all (epsilon, delta) pairs."""
    truth, lie = ((1 - delta) / (1 + math.exp(-e)) for e in (epsilon, -epsilon))
    p, q = (delta, 0.0, truth, lie), (0.0, delta, lie, truth)
    assert sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True)) <= delta + 1e-12
    assert attacker_success(epsilon, delta) == pytest.approx((1 + total_variation(p, q)) / 2, rel=1e-12)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 4.0])
def test_two_normal_laws_attain_the_bound_of_mu(mu):
    distance, _ = quad(lambda x: max(0.0, norm.pdf(x, mu) - norm.pdf(x)), -12, 12 + mu, limit=400)
    assert attacker_success(100.0, 0.0, mu=mu) == pytest.approx((1 + distance) / 2, rel=1e-6)
    assert attacker_success(100.0, 0.0, rho=mu**2 / 2) >= (1 + distance) / 2, "zCDP knows less"


@pytest.mark.parametrize("rho", [0.001, 0.1, 1.0, 10.0])
def test_the_bound_of_rho_covers_every_pair_of_two_outcomes(rho):
    """Pairs whose divergence at order one is rho: the bound covers all, and is not more than twice their distance."""
    q = np.linspace(1e-4, 1 - 1e-4, 400)[:, None]
    p = np.linspace(1e-4, 1 - 1e-4, 400)[None, :]
    divergence = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    worst = np.abs(p - q)[divergence <= rho].max()
    bound = 2 * attacker_success(100.0, 0.0, rho=rho) - 1
    assert worst <= bound <= 2 * worst


def test_the_least_bound_holds_and_nothing_promised_is_one():
    assert attacker_success(1.0, 0.0, mu=0.1, rho=5.0) == attacker_success(100.0, 0.0, mu=0.1)
    assert attacker_success(0.1, 0.0, mu=5.0) == attacker_success(0.1, 0.0)
    assert attacker_success(math.inf, 1.0) == 1.0
    assert attacker_success(1e4, 0.0) == 1.0
    assert attacker_success(0.0, 0.0) == 0.5


def test_per_cents_are_rounded_up():
    assert in_percent(0.50001) == "50.1 %"
    assert in_percent(0.501) == "50.1 %"
    assert in_percent(0.9999) == "100 %"


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        (LARGE_EPSILON, 1e-6, ()),
        (LARGE_EPSILON * 1.001, 1e-6, ("epsilon = 10.01 is above 10",)),
        (1.0, 0.01, ()),
        (1.0, 0.0101, ("delta = 0.0101 is above 1/n",)),
        (50.0, 0.5, ("epsilon = 50", "delta = 0.5")),
    ],
)
def test_a_large_epsilon_and_a_large_delta_are_weaknesses(epsilon, delta, words):
    found = weaknesses(epsilon, delta, n_rows=100)
    assert len(found) == len(words)
    for caveat, word in zip(found, words, strict=True):
        assert caveat.startswith(word)
        assert f"in up to {in_percent(attacker_success(epsilon, delta))} of cases" in caveat


def test_the_limit_is_where_a_pure_promise_leaves_one_case_in_ten_thousand():
    assert attacker_success(LARGE_EPSILON, 0.0) > 0.9999
    assert attacker_success(LARGE_EPSILON / 2, 0.0) < 0.9999
