"""Audit A4: what many reports prove about local randomisers, and that wrong constants are seen."""

import math

import numpy as np
import pytest

from dpsparse.audit import event
from dpsparse.core.mechanisms.local import LocalGaussian, Piecewise, PrivUnit, RandomisedResponse, TwoPoint
from truth import audit

RUNS = 100_000


def proved(mechanism, one, two, hit) -> float:
    """Epsilon that counts of an event prove, in the direction where it is expected."""
    counts = [int(np.sum(hit(mechanism.reports(v, audit.Stream(i))))) for i, v in enumerate((one, two))]
    return event(counts[0], RUNS, counts[1], RUNS).epsilon


def worlds(mechanism) -> tuple:
    """The worst pair of values, and the event that tells them apart best."""
    if isinstance(mechanism, RandomisedResponse):
        return np.ones(RUNS), np.zeros(RUNS), lambda r: r == 1
    if isinstance(mechanism, TwoPoint):
        return np.full(RUNS, mechanism.bound), np.full(RUNS, -mechanism.bound), lambda r: r == 1
    if isinstance(mechanism, Piecewise):
        top = 2 * (mechanism.cells - mechanism.window) - (mechanism.cells - 1)
        return np.full(RUNS, mechanism.bound), np.full(RUNS, -mechanism.bound), lambda r: r >= top
    u = np.zeros((RUNS, mechanism.dimension))
    u[:, 0] = mechanism.radius
    return u, -u, lambda r: r[:, 0] * mechanism.unit >= mechanism.cap.gamma * mechanism.largest


MAKERS = {
    "two-point": lambda e: TwoPoint(e, 2.0),
    "piecewise": lambda e: Piecewise(e, 2.0),
    "randomised response": RandomisedResponse,
    "privunit": lambda e: PrivUnit(6, e, 2.0),
    "duchi": lambda e: PrivUnit(6, e, 2.0, gamma=0.0),
}


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", MAKERS)
def test_no_event_proves_more_than_epsilon_and_the_worst_one_nearly_that(name, epsilon):
    mechanism = MAKERS[name](epsilon)
    found = proved(mechanism, *worlds(mechanism))
    assert found <= epsilon
    assert found > 0.85 * epsilon


@pytest.mark.parametrize("name", MAKERS)
def test_control_randomisers_of_twice_the_claimed_epsilon_are_caught(name):
    mechanism = MAKERS[name](2.0)
    assert proved(mechanism, *worlds(mechanism)) > 1.5, "a claim of epsilon = 1 would be false"


class WithoutClip(TwoPoint):
    """Reports from numbers beyond the bound as if there were none."""

    def reports(self, values, randomness):
        up = 0.5 + values / (2 * self.bound) * (2 * self.keep - 1)
        return np.where(randomness.generator().random(values.shape) < up, 1, -1).astype(np.int32)


def test_control_a_forgotten_clip_is_caught():
    mechanism = WithoutClip(1.0, 1.0)
    assert proved(mechanism, np.full(RUNS, 2.0), np.full(RUNS, -2.0), lambda r: r == 1) > 1.5


class WrongSign(PrivUnit):
    """Tells length by the size of the report, as a naive randomiser would: the support then depends on the vector."""

    def reports(self, values, randomness):
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        return np.rint(super().reports(values, randomness) * norms / self.radius).astype(np.int32)


def test_control_a_support_that_depends_on_the_vector_is_caught():
    mechanism = WrongSign(6, 1.0)
    v = np.zeros((RUNS, 6))
    v[:, 0] = 1.0
    short = proved(mechanism, v, v / 2, lambda r: np.linalg.norm(r * mechanism.unit, axis=1) > 0.75 * mechanism.largest)
    assert short > 5


def test_a_vector_and_an_empty_record_are_within_epsilon_too():
    mechanism = PrivUnit(6, 1.0)
    u, _, hit = worlds(mechanism)
    assert proved(mechanism, u, 0 * u, hit) <= 1.0
    assert proved(mechanism, 0 * u, -u, hit) <= 1.0


def test_the_gaussian_randomiser_separates_the_ends_of_the_ball_by_mu():
    gaussian = LocalGaussian(5, mu=1.0, radius=2.0)
    v = np.zeros((20_000, 5))
    v[:, 0] = 2.0
    one, two = (gaussian.reports(s * v, audit.Stream(i))[:, 0] * gaussian.unit for i, s in enumerate((1, -1)))
    assert 0.85 < audit.mu_lower(one, two) <= 1.0
    half = LocalGaussian(5, mu=2.0, radius=2.0)
    one, two = (half.reports(s * v, audit.Stream(i))[:, 0] * half.unit for i, s in enumerate((1, -1)))
    assert audit.mu_lower(one, two) > 1.5, "half of the noise is caught"


def square_errors(p: int, epsilon: float, people: int, wrong: float = 1.0) -> float:
    """Distance of the mean squared error of reports from its formula, in standard errors."""
    unit = PrivUnit(p, epsilon, 2.0)
    v = np.zeros(p)
    v[0] = 0.6
    total, squares, seen = 0.0, 0.0, 0
    stream = audit.Stream(7)
    for _ in range(max(1, people * p // 2**21)):
        count = people // max(1, people * p // 2**21)
        z = unit.reports(np.tile(v, (count, 1)), stream) * (unit.unit / wrong)
        errors = np.sum((z - v) ** 2, axis=1)
        total, squares, seen = total + errors.sum(), squares + (errors**2).sum(), seen + count
    mean = total / seen
    return abs(mean - unit.variance(0.6)) / math.sqrt((squares / seen - mean**2) / seen)


CASES = [(p, e) for p in (5, 54, 1000) for e in (0.5, 1.0, 2.0, 4.0, 8.0)]


@pytest.mark.parametrize(("p", "epsilon"), CASES)
def test_variance_is_within_five_and_a_half_standard_errors_of_its_formula(p, epsilon):
    assert square_errors(p, epsilon, 4_000) < 5.5


@pytest.mark.parametrize(("p", "epsilon"), CASES)
def test_control_a_strength_that_is_ten_percent_off_is_seen_in_the_variance(p, epsilon):
    assert square_errors(p, epsilon, 4_000, wrong=1.1) > 5.5


@pytest.mark.slow
@pytest.mark.parametrize(("p", "epsilon"), CASES)
def test_variance_is_within_five_and_a_half_standard_errors_of_its_formula_for_many_people(p, epsilon):
    assert square_errors(p, epsilon, 200_000) < 5.5
