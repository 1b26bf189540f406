"""Perturbed objectives in the recursion: their law, its curve, and whole plans, against numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from dpsparse.accounting import price
from dpsparse.accounting.draws import TurnCosts
from dpsparse.accounting.pricing import _renyi_scale
from dpsparse.accounting.recursion import LEAST, NARROW, gaussian, objective, one_selection
from dpsparse.accounting.selections import stage_delta, stage_epsilon
from dpsparse.accounting.stages import Stage
from dpsparse.core import Ask, Budget, Noise, Plan
from dpsparse.queries.minimisers.objective_perturbation import split

PLACES = np.linspace(0.0, 6.0, 121)


def tail(t):
    """What bounds P(V > t)."""
    return np.minimum(1.0, 2 * ndtr(-np.asarray(t)) + 2 * ndtr(-np.asarray(t) / NARROW))


def exact_tails(correlation: float, finish: float = 0.0) -> np.ndarray:
    """P((|Z1| + |Z2|)/2 cos + N sin > t) for normal Z of this correlation; `finish` is the squared part of N."""
    a, b = math.sqrt((1 + correlation) / 2), math.sqrt((1 - correlation) / 2)

    def maximum(
        t: np.ndarray,
    ) -> np.ndarray:  # (|Z1| + |Z2|) / 2 is the larger of |Z1 + Z2| / 2 and |Z1 - Z2| / 2, independent
        t = np.maximum(t, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = [np.where(w > 0, 2 * ndtr(t / w) - 1, 1.0) if w > 0 else np.ones_like(t) for w in (a, b)]
        return 1 - inside[0] * inside[1]

    if finish == 0:
        return np.where(PLACES > 0, maximum(PLACES), 1.0)
    n = np.linspace(-9.0, 9.0, 4001)
    weights = np.exp(-n * n / 2) / math.sqrt(2 * math.pi) * (n[1] - n[0])
    moved = (PLACES[:, None] - math.sqrt(finish) * n) / math.sqrt(1 - finish)
    return np.where(moved > 0, maximum(moved), 1.0) @ weights


def test_halves_of_two_magnitudes_are_a_larger_one_of_two_independent_ones():
    """The identity behind the law, on 1000 pairs."""
    one, two = np.random.default_rng(0).standard_normal((2, 1000))
    np.testing.assert_allclose((abs(one) + abs(two)) / 2, np.maximum(abs(one + two), abs(one - two)) / 2, rtol=1e-14)


@pytest.mark.parametrize("finish", [0.0, 0.01, 0.02])
def test_the_law_is_above_that_of_every_pair_of_records_and_of_the_noise_that_covers_errors(finish):
    for correlation in np.linspace(-1.0, 1.0, 41):
        assert np.all(exact_tails(correlation, finish) <= tail(PLACES) * (1 + 1e-6) + 1e-15)
    assert split(1.0)[1] ** 2 <= 0.02


def test_control_neither_one_magnitude_nor_half_of_the_second_is_enough():
    opposite = exact_tails(0.0)
    assert np.any(opposite > 2 * ndtr(-PLACES)), "that the loss is that of one magnitude is not true of two records"
    halved = np.minimum(1.0, 2 * ndtr(-PLACES) + 2 * ndtr(-PLACES / (NARROW / 2)))
    assert np.any(opposite > halved)


@pytest.mark.parametrize(("m", "offset"), [(0.1, 0.0), (0.3, 0.2), (1.5, 0.05)])
def test_the_curve_is_the_integral_over_its_law_from_above(m, offset):
    start = offset + m * m / 2
    for e in (-0.5, 0.0, start, start + 0.3 * m, start + m * LEAST, start + m, start + 2.5 * m, start + 4 * m):
        ends = [max((e - start) / m, 0.0)]
        exact = max(0.0, -math.expm1(e - start)) if e < start else 0.0
        scale = math.exp(min(e - start, 0.0))
        kink = [LEAST] if ends[0] < LEAST else []
        found = quad(
            lambda t, o=ends[0]: m * math.exp(m * (o - t)) * tail(t),
            ends[0],
            40.0,
            points=kink,
            limit=200,
            epsabs=1e-14,
        )
        exact += scale * found[0]
        bound = float(objective(np.array([e]), m, offset)[0])
        assert exact * (1 - 1e-9) <= bound <= exact * (1 + 1e-6) + 1e-4 * m  # the place of the kink has four digits


@pytest.mark.parametrize("epsilon", [0.3, 0.8, 1.2])
def test_a_selection_before_an_objective_and_a_gaussian_is_the_integral_from_above(epsilon):
    """Noise first, then the worst selection, by quadrature over both losses."""
    eta, mu, m, offset = 0.3, 0.2, 0.25, 0.1
    plan = Stage(((eta, 1),), mu, objectives=((m, offset, 1),))
    t = np.linspace(LEAST, 9.0, 6001)
    weights = -np.diff(tail(t))
    losses = offset + m * m / 2 + m * (t[1:] + t[:-1]) / 2
    n, normal = np.polynomial.hermite_e.hermegauss(60)
    together = losses[:, None] + mu * mu / 2 + mu * n
    exact = float(weights @ one_selection(epsilon - together, eta) @ normal / math.sqrt(2 * math.pi))
    bound = stage_delta(epsilon, plan)
    assert exact * (1 - 1e-3) <= bound <= 1.02 * exact


def test_objectives_may_run_anywhere_in_a_stage_and_several_times():
    one = Stage(objectives=((0.2, 0.05, 1),))
    two = Stage(objectives=((0.2, 0.05, 2),))
    assert (
        stage_delta(0.8, one)
        < stage_delta(0.8, two)
        == pytest.approx(stage_delta(0.8, Stage(objectives=((0.2, 0.05, 1),) * 2)), rel=1e-9)
    )
    assert stage_epsilon(1e-6, Stage(objectives=((0.2, 0.55, 1),))) == pytest.approx(
        stage_epsilon(1e-6, one) + 0.5, rel=2e-3
    )
    assert two.scaled(0.5).objectives == ((0.1, 0.05, 2),), "an offset is what it is"
    assert (two.offset, two.length, two.largest_loss) == (0.1, 2, math.inf)
    nested = Stage(mu=0.1, branches=(one, two), times=2)
    assert nested.offset == pytest.approx(0.2)
    assert gaussian(np.array([0.5]), 0.2)[0] < stage_delta(0.5, one)


@pytest.mark.parametrize(("epsilon", "offset"), [(1.0, 0.05), (4.0, 0.3)])
def test_two_stages_get_8_per_cent_more_rho_than_by_renyi_curves(epsilon, offset):
    tilted = Ask(name="minimum", noise=Noise.OBJECTIVE, share=0.5, offset=offset)
    plan = Plan(asks=(Ask(name="support", noise=Noise.GUMBEL, times=10, share=0.5), tilted))
    priced = price(plan, Budget.approx(epsilon, 1e-6))
    assert 1.08 < priced.rho_scale / _renyi_scale(TurnCosts.of(plan), epsilon, 1e-6) < 1.13, (
        "and no more than the integrals above allow"
    )
    assert priced.epsilon() <= epsilon


def test_an_offset_that_takes_the_budget_has_no_price():
    tilted = Ask(name="minimum", noise=Noise.OBJECTIVE, offset=1.0)
    with pytest.raises(ValueError, match="before any noise"):
        price(Plan(asks=(tilted,)), Budget.approx(1.0, 1e-6))
