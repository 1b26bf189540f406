"""Lower bounds hold as often as they say, see what is there, and refuse what makes no sense."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, norm

from dpsparse.audit import event, log_odds_shift, two_worlds
from dpsparse.audit.judge import discriminant


def test_an_event_is_bounded_by_clopper_and_pearson():
    found = event(70, 100, 20, 120, delta=0.01, confidence=0.98)
    low, high = beta.ppf(0.01, 70, 31), beta.ppf(0.99, 21, 100)
    assert (found.present_low, found.absent_high) == (pytest.approx(low), pytest.approx(high))
    assert found.epsilon == pytest.approx(max(math.log((low - 0.01) / high), math.log((1 - high - 0.01) / (1 - low))))
    assert found.mu == pytest.approx(norm.ppf(low) - norm.ppf(high))
    assert found.delta_at(found.epsilon) == pytest.approx(0.01)
    assert found.epsilon_at(0.01) == found.epsilon


def test_the_complement_of_an_event_counts_too():
    """It always happens in one world, and sometimes not in the other: only its absence says much."""
    found = event(1000, 1000, 500, 1000, confidence=0.99)
    assert found.epsilon > math.log(0.4 / 0.01)


@pytest.mark.parametrize(("hits", "runs"), [((0, 0), (10, 10)), ((10, 10), (10, 10))], ids=["never", "always"])
def test_an_event_that_tells_nothing_proves_nothing(hits, runs):
    found = event(hits[0], runs[0], hits[1], runs[1])
    assert (found.epsilon, found.mu) == (0.0, 0.0)


def test_bounds_are_too_high_no_more_often_than_they_say():
    """200 samples at confidence 0.9: more than 45 errors have a probability below 1e-6 even if all slack were used up."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        found = two_worlds(rng.normal(1, 1, 300), rng.normal(0, 1, 300), confidence=0.9, aim="mu")
        wrong += found.mu > 1
    assert wrong <= 45


def test_an_attack_that_learns_from_the_runs_it_counts_would_be_wrong():
    """Equal laws in 40 dimensions: a direction learned from all runs separates them; one learned from half of them does not."""
    a, b = np.random.default_rng(2).normal(0, 1, (2, 60, 40))
    doubled = [np.repeat(v, 2, axis=0) for v in (a, b)]  # the runs with even numbers are those with odd ones
    assert two_worlds(*discriminant(*doubled), confidence=0.99, aim="mu").mu > 1
    assert two_worlds(*discriminant(a, b), confidence=0.99, aim="mu").mu < 0.5


def test_twenty_thousand_runs_know_mu_to_a_fifth():
    rng = np.random.default_rng(3)
    found = two_worlds(rng.normal(1, 1, 20_000), rng.normal(0, 1, 20_000), aim="mu")
    assert 0.82 < found.mu <= 1.0


def test_the_side_of_the_event_is_found():
    rng = np.random.default_rng(4)
    found = two_worlds(rng.normal(-3, 1, 400), rng.normal(0, 1, 400), aim="mu")
    assert not found.above
    assert found.mu > 1.5


def test_scores_of_two_values_are_events_themselves():
    rng = np.random.default_rng(5)
    found = two_worlds(rng.random(4000) < 0.73, rng.random(4000) < 0.27)
    assert 0.7 < found.epsilon <= 1.0


def test_log_odds_shift_by_what_moved_them():
    rng = np.random.default_rng(6)
    moved, error = log_odds_shift(rng.random(50_000) < 0.5, rng.random(50_000) < 1 / (1 + math.exp(-1.2)))
    assert abs(moved - 1.2) < 5 * error < 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: event(5, 4, 0, 4), "between 0 and all"),
        (lambda: event(1, 4, 0, 4, delta=1.0), "delta lies in"),
        (lambda: two_worlds([1.0], [2.0, 3.0]), "at least two runs"),
        (lambda: two_worlds([1.0, math.nan], [2.0, 3.0]), "no NaN"),
        (lambda: two_worlds([1.0, 2.0], [2.0, 3.0], confidence=1.0), "confidence in"),
    ],
    ids=["hits", "delta", "one run", "nan", "confidence"],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_bound_prints_and_has_plain_values():
    found = event(70, 100, 20, 100)
    assert "70 of 100 runs against 20 of 100" in str(found)
    assert found.to_dict()["threshold"] is None
