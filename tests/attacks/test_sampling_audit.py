"""Audits of Poisson-sampled answers: A5 (a canary through the oracle) and A11 (the sampler).

A5 compares, at the best threshold of the likelihood ratio, what two worlds show with the exact delta(epsilon) of one step, in
standard errors. Six tests at 5.5 standard errors raise a false alarm with probability below 1.2e-7 together. A sampler that takes
rows twice as often as priced, rows beyond their clip and half of the noise are caught.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from builders import Rows
from dpsparse.accounting import PricedPlan
from dpsparse.accounting.pairs import dominating_pairs
from dpsparse.accounting.pld import compose
from dpsparse.core import Adjacency, Ask, Budget, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Squared
from dpsparse.oracles import CentralOracle
from dpsparse.oracles import central as central_module
from dpsparse.oracles import gate as gate_module
from dpsparse.queries import gradient as gradient_module
from dpsparse.rows.sampling import PoissonSample
from truth import audit

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
ANSWERS, CANARIES, RATE, MULTIPLIER, CLIP = 500, 200, 0.3, 1.0, 2.0
RUNS = ANSWERS * CANARIES
EPSILONS = (0.1, 0.3, 0.6)
ALARM = 5.5


def answers(canary: float, relation: Adjacency, door: str = "gradient", size: float = CLIP) -> np.ndarray:
    """What the oracle says about each canary, in norms of one record.

    Row j has a gradient of `canary` times `size` in coordinate j and nowhere else, so every coordinate of every answer is an
    experiment of its own: its own coin, its own noise. Canary 0 is a row without a gradient.
    """
    facts = Facts(n_rows=CANARIES, n_features=CANARIES, target_bound=100.0, row_norm=1.0)
    rows = Rows(np.eye(CANARIES), np.full(CANARIES, -canary * size), facts)
    plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=ANSWERS, rows=PoissonRows(RATE)),))
    rho = (relation.kappa / MULTIPLIER) ** 2 / 2  # of one turn
    priced = PricedPlan(
        plan=plan, budget=Budget.approx(1.0, 1e-5, relation), rho_scale=rho * ANSWERS, accountant="given"
    )
    oracle = CentralOracle(rows, Squared(), priced, Randomness(round(5 + canary)))
    w, clip = np.zeros(CANARIES), Clip(CLIP)
    if door == "gradient":
        found = [oracle.gradient(w, clip=clip) for _ in range(ANSWERS)]
    else:  # between the two points the gradient of a canary moves by exactly its size
        anchor = np.full(CANARIES, -canary * size)
        found = [oracle.gradient_change(w, anchor, clip=clip, change=CLIP, ask="gradient") for _ in range(ANSWERS)]
    return np.ravel(found) * RATE * CANARIES / CLIP


def worlds(relation: Adjacency, **options) -> tuple[np.ndarray, np.ndarray]:
    """Answers with the canary, and without it or with its opposite."""
    return answers(1.0, relation, **options), answers(-1.0 if relation is REPLACE else 0.0, relation, **options)


def excess(first: np.ndarray, second: np.ndarray, relation: Adjacency) -> float:
    """Largest (TPR - e^eps FPR - delta(eps)) / standard error, over epsilons and directions."""
    found = []
    for pair in dominating_pairs(RATE, MULTIPLIER, relation):
        p, q = (first, second) if pair.above else (-second, -first)
        for epsilon in EPSILONS:
            threshold = pair.where(np.array([epsilon]))[0]
            if not math.isfinite(threshold):  # a loss that this direction never reaches
                continue
            hit, false = (p > threshold).mean(), (q > threshold).mean()
            error = math.sqrt((hit * (1 - hit) + math.exp(2 * epsilon) * false * (1 - false)) / RUNS)
            exact = pair_delta(epsilon, relation, bool(pair.above))
            found.append((hit - math.exp(epsilon) * false - exact) / error)
    return max(found)


def pair_delta(epsilon: float, relation: Adjacency, forward: bool) -> float:
    """Exact delta of one step in one direction."""
    pair = dominating_pairs(RATE, MULTIPLIER, relation)[0 if forward else 1]
    return compose([((pair,), 1)], 1e-12).delta(epsilon)


@pytest.mark.parametrize("door", ["gradient", "change"])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a5_a_canary_shows_what_was_priced_and_no_more(relation, door):
    first, second = worlds(relation, door=door)
    assert -ALARM <= excess(first, second, relation) <= ALARM, "exact: the pair is reached"


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a5_catches_a_sampler_that_takes_rows_twice_as_often(relation, monkeypatch):
    ordinary = gate_module.PoissonSample
    monkeypatch.setattr(gate_module, "PoissonSample", lambda rate, key: ordinary(2 * rate, key))
    assert excess(*worlds(relation), relation) > 2 * ALARM


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a5_catches_rows_beyond_their_clip(relation, monkeypatch):
    ordinary = gradient_module.factor_cap
    monkeypatch.setattr(gradient_module, "factor_cap", lambda *given: 3 * ordinary(*given))
    assert excess(*worlds(relation, size=3 * CLIP), relation) > 2 * ALARM


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a5_catches_half_of_the_noise(relation, monkeypatch):
    ordinary = central_module.lattice_gaussian
    monkeypatch.setattr(central_module, "lattice_gaussian", lambda total, scale, r: ordinary(total, scale / 2, r))
    assert excess(*worlds(relation), relation) > 2 * ALARM


# ------------------------------------------------------------------------------------------------ A11


BATCHES, ROWS = 10_000, 60


def masks(rate: float = RATE) -> np.ndarray:
    randomness = Randomness()
    return np.array([PoissonSample(rate, randomness.key()).mask(0, ROWS) for _ in range(BATCHES)])


def pair_statistic(chosen: np.ndarray) -> float:
    """Largest correlation of two rows, in standard errors."""
    centred = (chosen - RATE) / math.sqrt(RATE * (1 - RATE))
    return float(np.abs(np.triu(centred.T @ centred, 1)).max()) / math.sqrt(BATCHES)


def size_p_value(chosen: np.ndarray) -> float:
    sizes = np.bincount(chosen.sum(axis=1), minlength=ROWS + 1)
    return audit.p_value(sizes, binom.pmf(np.arange(ROWS + 1), ROWS, RATE))


def test_a11_rows_are_taken_by_independent_coins():
    """1,770 pairs at 6 standard errors, 60 rows at 6, and one chi-square: below 1e-6 each."""
    chosen = masks()
    frequency = (chosen.mean(axis=0) - RATE) / math.sqrt(RATE * (1 - RATE) / BATCHES)
    assert np.abs(frequency).max() < 6
    assert pair_statistic(chosen) < 6.5
    assert size_p_value(chosen) > audit.ALARM
    later = (chosen[1:] & chosen[:-1]).mean()
    assert later == pytest.approx(RATE**2, abs=6 * RATE / math.sqrt(BATCHES * ROWS)), "no memory between batches"


def test_a11_catches_batches_of_a_fixed_size():
    rng = np.random.default_rng(0)
    fixed = np.zeros((BATCHES, ROWS), dtype=bool)
    for batch in fixed:
        batch[rng.choice(ROWS, int(RATE * ROWS), replace=False)] = True
    assert np.abs(fixed.mean(axis=0) - RATE).max() < 0.03, "its frequencies look right"
    assert size_p_value(fixed) < 1e-12


def test_a11_sums_are_divided_by_the_expected_size_of_a_batch():
    """With noise of a millionth, equal rows show the size of their batch over q n: the realised size is not divided out."""
    facts = Facts(n_rows=ROWS, n_features=1, target_bound=1.0)
    rows = Rows(np.ones((ROWS, 1)), -np.ones(ROWS), facts)
    plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=500, rows=PoissonRows(RATE)),))
    priced = PricedPlan(plan=plan, budget=Budget.approx(1.0, 1e-5), rho_scale=1e15, accountant="given")
    oracle = CentralOracle(rows, Squared(), priced, Randomness(0))
    found = np.array([oracle.gradient(np.zeros(1), clip=Clip(1.0))[0] for _ in range(500)])
    sizes = found * RATE * ROWS
    assert np.abs(sizes - np.rint(sizes)).max() < 1e-3
    assert sizes.std() == pytest.approx(math.sqrt(ROWS * RATE * (1 - RATE)), rel=0.2)
    assert found.mean() == pytest.approx(1.0, abs=6 * sizes.std() / (RATE * ROWS) / math.sqrt(500))


# ------------------------------------------------------------------------------------------------ what sampling must not touch


def test_a_record_that_is_not_finite_counts_for_nothing_in_a_sample_either():
    facts = Facts(n_rows=3, n_features=1, target=Target(bound=5.0), intercept=0.5)
    X = np.array([[np.nan], [0.5], [0.25]])
    rows = Rows(X, np.array([4.0, -1.0, 2.0]), facts)
    every = rows.gradient_sum(Squared(), np.zeros(2), Clip(10.0))
    chosen = rows.gradient_sum(Squared(), np.zeros(2), Clip(10.0), chosen=np.ones(3, dtype=bool))
    np.testing.assert_array_equal(every, chosen)
    alone = rows.gradient_sum(Squared(), np.zeros(2), Clip(10.0), chosen=np.array([True, False, False]))
    assert not alone.any()


def test_margins_beyond_all_numbers_stay_within_the_clip_in_a_sample():
    facts = Facts(n_rows=2, n_features=2, target_bound=5.0)
    rows = Rows(np.array([[1.0, -1.0], [1.0, 1.0]]), np.ones(2), facts)
    huge = np.full(2, 1.7e308)
    for which in range(2):
        total = rows.gradient_sum(Squared(), huge, Clip(1.0), chosen=np.arange(2) == which)
        assert np.linalg.norm(total.astype(float)) <= 2.0**36


def test_squares_are_not_asked_of_a_sample():
    facts = Facts(n_rows=4, n_features=2)
    rows = Rows(np.ones((4, 2)), np.zeros(4), facts)
    plan = Plan(asks=(Ask(name="squares", noise=Noise.GAUSSIAN, rows=PoissonRows(0.5)),))
    priced = PricedPlan(plan=plan, budget=Budget.approx(1.0, 1e-5), rho_scale=1.0, accountant="given")
    with pytest.raises(PrivacyError, match="every row"):
        CentralOracle(rows, Squared(), priced, Randomness(0)).squares()


def test_the_rounding_of_a_sampled_sum_is_counted_for_each_record():
    """Two records under replace-one, one under add-remove, each with half a millionth of its norm per coordinate's root."""
    facts = Facts(n_rows=4, n_features=100)
    rows = Rows(np.zeros((4, 100)), np.zeros(4), facts)
    for relation, sampled, terms in ((REPLACE, True, 2), (REPLACE, False, 1), (ADD, True, 1)):
        options = {"rows": PoissonRows(0.5)} if sampled else {}
        plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, **options),))
        priced = PricedPlan(plan=plan, budget=Budget.approx(1.0, 1e-5, relation), rho_scale=1.0, accountant="given")
        oracle = CentralOracle(rows, Squared(), priced, Randomness(0))
        oracle.gradient(np.zeros(100), clip=Clip(1.0))
        (answer,) = oracle.receipts
        assert answer.sensitivity == pytest.approx(relation.kappa + terms * 2.0**-20 * 10, rel=1e-12)
