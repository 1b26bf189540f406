"""Audits A1 and A2 for the asks of select + polish: what many answers prove about their privacy, at 5 standard errors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from builders import Rows
from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, Noise, Plan
from dpsparse.core.facts import Facts, Target
from dpsparse.losses import Squared
from dpsparse.oracles import CentralOracle
from dpsparse.queries.kinds import CentredGradient, CentredModel, Correlation, Gram, Magnitude, Quantile, Select
from truth import audit

RUNS = 1200
NOTHING = CentredModel(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0), 0.0)
FIRST = CentredModel(np.array([0]), np.zeros(1), np.zeros(1), 0.0)
FACTS = Facts(n_rows=20, n_features=2, target=Target(bound=9.0), row_norm=1.0)
#: Nineteen records that stay: small targets, their median, and large ones; no features.
TARGETS = np.r_[-np.ones(9), np.zeros(1), np.ones(9)]


def answers(question, record, noise: Noise, per_draw: float, wrong: float, seed: int) -> np.ndarray:
    """Many answers in the world with this record; `wrong` shrinks the noise."""
    x, y = record
    X, targets = np.vstack([np.zeros((19, 2)), [x]]), np.r_[TARGETS, y]
    plan = Plan(asks=(Ask(name="q", noise=noise, times=RUNS),))
    priced = price(plan, Budget.zcdp(per_draw * RUNS))
    priced = replace(priced, rho_scale=priced.rho_scale / wrong**2)
    oracle = CentralOracle(Rows(X, targets, FACTS), Squared(), priced, audit.Stream(seed))
    return np.array([np.ravel(oracle.answer(question, "q")) for _ in range(RUNS)])


# ------------------------------------------------------------------------------------------------ A2: selections

CHOICES = {
    "select": (
        Select(Correlation(NOTHING, 0.5, 0.5), Magnitude(1.0, np.array([50.0, 50.0])), 1),
        ([0.7, -0.7], -9.0),
        ([0.7, -0.7], 9.0),
    ),
    "quantile": (Quantile("targets", NOTHING, 0.5, np.array([-0.5, 0.5, 2])), ([0.0, 0.0], -1.0), ([0.0, 0.0], 1.0)),
}


def log_odds(name: str, wrong: float) -> tuple[float, float]:
    question, one, two = CHOICES[name]
    worlds = []
    for seed, record in enumerate((one, two)):
        found = answers(question, record, Noise.GUMBEL, 0.2, wrong, seed)[:, 0]
        ends = found[(found == 0) | (found == found.max())]  # the first candidate against the last
        worlds.append((ends == 0).astype(float))
    shift, error = audit.log_odds_shift(*worlds)
    return abs(shift), error


@pytest.mark.parametrize("name", CHOICES)
def test_audit_a_choice_moves_no_more_than_its_range(name):
    shift, error = log_odds(name, 1.0)
    assert shift <= math.sqrt(8 * 0.2) + audit.SIGMAS * error
    assert shift >= math.sqrt(8 * 0.2) - audit.SIGMAS * error, "the worst neighbours reach it"


@pytest.mark.parametrize("name", CHOICES)
def test_control_a_choice_with_half_of_the_noise_is_caught(name):
    shift, error = log_odds(name, 0.5)
    assert shift > math.sqrt(8 * 0.2) + audit.SIGMAS * error


# ------------------------------------------------------------------------------------------------ A1: sums

SUMS = {
    "gradient": (CentredGradient(FIRST, 0.5), ([1.0, 0.0], -9.0), ([1.0, 0.0], 9.0), np.ones(1)),
    "gram": (
        Gram(np.array([0, 1]), np.zeros(2), 1.0),
        ([1.0, 0.0], 0.0),
        ([0.0, 1.0], 0.0),
        np.array([1.0, 0.0, -1.0]) / math.sqrt(2),
    ),
}


def distance(name: str, wrong: float) -> tuple[float, float]:
    question, one, two, direction = SUMS[name]
    first, second = (
        answers(question, record, Noise.GAUSSIAN, 0.5, wrong, seed) @ direction
        for seed, record in enumerate((one, two))
    )
    mu = abs(first.mean() - second.mean()) / math.sqrt((first.var() + second.var()) / 2)
    return mu, math.sqrt(2 / RUNS + mu**2 / (4 * RUNS))


@pytest.mark.parametrize("name", SUMS)
def test_audit_two_worlds_are_as_far_apart_as_was_priced(name):
    mu, error = distance(name, 1.0)
    assert abs(mu - 1.0) < audit.SIGMAS * error


@pytest.mark.parametrize("name", SUMS)
def test_control_a_sum_with_half_of_the_noise_is_caught(name):
    mu, error = distance(name, 0.5)
    assert mu - 1.0 > audit.SIGMAS * error
