"""Randomisers of one number or one bit: density ratio, unbiasedness and variance, exactly and by sampling."""

import math

import numpy as np
import pytest

from dpsparse.core.mechanisms import Randomness
from dpsparse.core.mechanisms.local import Piecewise, RandomisedResponse, TwoPoint, best_scalar
from dpsparse.core.mechanisms.local.coins import GRAIN, bounded_probability
from truth import audit

EPSILONS = [0.1, 0.5, 1.0, 2.0, 4.0, 8.0]
DRAWS = 200_000


class Even:
    """Uniforms on an even grid: frequencies are probabilities, without chance."""

    def generator(self):
        return self

    def random(self, shape):
        return (np.arange(np.prod(shape)) + 0.5).reshape(shape) / np.prod(shape)


# ------------------------------------------------------------------------------------------------ coins


@pytest.mark.parametrize("log_odds", [-30.0, -1.0, 1e-6, 0.5, 1.0, 5.0, 20.0, 40.0, 1e4])
def test_a_coin_is_a_multiple_of_the_grain_and_never_above_its_odds(log_odds):
    p = bounded_probability(log_odds)
    assert p / GRAIN == int(p / GRAIN)
    assert 0 <= p < 1
    if p > 0:
        assert math.log(p) - math.log1p(-p) <= log_odds
    if 1e-3 < p < 1 - 1e-9:
        assert math.log(p) - math.log1p(-p) == pytest.approx(log_odds, rel=1e-6, abs=1e-12)


# ------------------------------------------------------------------------------------------------ density ratio


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_two_points_have_a_ratio_of_e_to_the_epsilon_at_the_bounds_and_less_inside(epsilon):
    two = TwoPoint(epsilon, bound=3.0)
    n = 1_000_001
    up = [np.mean(two.reports(np.full(n, y), Even()) == 1) for y in (-3.0, -1.0, 0.0, 2.5, 3.0)]
    assert up == sorted(up)
    assert up[-1] / up[0] == pytest.approx(math.exp(epsilon), rel=5e-3)
    assert (1 - up[0]) / (1 - up[-1]) == pytest.approx(math.exp(epsilon), rel=5e-3)
    assert math.log(two.keep / (1 - two.keep)) <= epsilon


def law(mechanism: Piecewise, value: float) -> np.ndarray:
    """The probability of every cell, from the definition."""
    M, W = mechanism.cells, mechanism.window
    place = (value / mechanism.bound + 1) / 2 * (M - W)
    found = np.zeros(M)
    for start, share in ((math.floor(place), 1 - place % 1), (math.floor(place) + 1, place % 1)):
        if share > 0:
            cells = np.full(M, (1 - mechanism.hit) / (M - W))
            cells[start : start + W] = mechanism.hit / W
            found += share * cells
    return found


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cells", [7, 64])
def test_the_law_of_piecewise_reports_is_private_unbiased_and_has_the_stated_variance(epsilon, cells):
    mechanism = Piecewise(epsilon, bound=2.0, cells=cells)
    estimates = mechanism.unit * (2 * np.arange(cells) - (cells - 1))
    laws = {y: law(mechanism, y) for y in (-2.0, -1.3, 0.0, 0.4, 2.0)}
    for y, cells_of in laws.items():
        assert cells_of.sum() == pytest.approx(1)
        assert cells_of @ estimates == pytest.approx(y, abs=1e-9)
        assert cells_of @ estimates**2 - y**2 == pytest.approx(mechanism.variance(y), rel=1e-9)
    ratio = max(np.max(a / b) for a in laws.values() for b in laws.values())
    assert ratio <= math.exp(epsilon)
    assert ratio >= 0.999 * math.exp(epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_piecewise_reports_have_that_law(epsilon):
    mechanism = Piecewise(epsilon, bound=2.0, cells=16)
    told = mechanism.reports(np.full(DRAWS, 0.37), audit.Stream(1))
    counts = np.bincount((told + 15) // 2, minlength=16)
    assert audit.p_value(counts, law(mechanism, 0.37)) > audit.ALARM


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomised_response_keeps_a_bit_with_the_best_probability(epsilon):
    response = RandomisedResponse(epsilon)
    kept = np.mean(response.reports(np.ones(100_001), Even()) == 1)
    assert kept == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)), abs=2e-5)
    assert math.log(response.keep) - math.log1p(-response.keep) <= epsilon


# ------------------------------------------------------------------------------------------------ mean and variance


@pytest.mark.parametrize("kind", [TwoPoint, Piecewise])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("value", [-1.5, 0.0, 0.7])
def test_estimates_are_unbiased_and_vary_as_stated(kind, epsilon, value):
    mechanism = kind(epsilon, bound=1.5)
    z = mechanism.reports(np.full(DRAWS, value), audit.Stream(2)) * mechanism.unit
    assert abs(z.mean() - value) < 5.5 * z.std() / math.sqrt(DRAWS)
    squares = (z - value) ** 2
    assert abs(squares.mean() - mechanism.variance(value)) < 5.5 * squares.std() / math.sqrt(DRAWS) + 1e-12


@pytest.mark.parametrize("bit", [0.0, 1.0])
def test_debiased_bits_are_unbiased_and_vary_as_stated(bit):
    response = RandomisedResponse(1.0)
    z = response.centre + response.reports(np.full(DRAWS, bit), audit.Stream(3)) * response.unit
    assert abs(z.mean() - bit) < 5.5 * z.std() / math.sqrt(DRAWS)
    assert response.variance() == pytest.approx(math.e / (math.e - 1) ** 2, rel=1e-9)
    assert abs(z.var() - response.variance()) < 5.5 * np.std((z - bit) ** 2) / math.sqrt(DRAWS)


@pytest.mark.parametrize(
    ("epsilon", "two", "many"),
    [(0.5, 16.671, 21.223), (1.0, 4.683, 5.224), (2.0, 1.724, 1.2276), (4.0, 1.076, 0.2414), (8.0, 1.0013, 0.02534)],
)
def test_worst_variances_are_those_of_the_closed_forms_and_the_smaller_one_is_chosen(epsilon, two, many):
    assert TwoPoint(epsilon).worst_variance == pytest.approx(two, rel=1e-3)
    assert Piecewise(epsilon).worst_variance == pytest.approx(many, rel=1e-3)
    assert type(best_scalar(epsilon)) is (TwoPoint if two < many else Piecewise)


# ------------------------------------------------------------------------------------------------ robustness


@pytest.mark.parametrize("mechanism", [TwoPoint(1.0, 2.0), Piecewise(3.0, 2.0), RandomisedResponse(1.0)])
def test_reports_of_anything_are_possible_reports(mechanism):
    told = mechanism.reports(np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, 5e-324]), Randomness(0))
    assert told.dtype == np.int32
    assert mechanism.valid(told)
    assert not mechanism.valid(np.array([0], dtype=np.int32)) or isinstance(mechanism, Piecewise)
    assert not mechanism.valid(np.array([2**31 - 1], dtype=np.int32))


def test_values_beyond_the_bound_report_like_the_bound():
    two = TwoPoint(1.0, 2.0)
    assert np.array_equal(two.reports(np.full(50, 1e9), Even()), two.reports(np.full(50, 2.0), Even()))


def test_at_epsilon_of_ten_thousand_a_number_is_told_to_a_millionth():
    many = Piecewise(1e4, 3.0)
    told = many.reports(np.array([-3.0, 0.123456, 3.0]), Randomness(0)) * many.unit
    assert np.allclose(told, [-3.0, 0.123456, 3.0], atol=1e-5)
    assert many.hit < 1


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-12])
@pytest.mark.parametrize("kind", [TwoPoint, Piecewise, RandomisedResponse])
def test_an_epsilon_that_says_nothing_is_refused(kind, epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        kind(epsilon)
