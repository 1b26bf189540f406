"""Audit A2 of DP Frank-Wolfe: the choice of a vertex, through the oracle.

Between the worlds one record turns its gradient around, at the bound on an entry. The log-odds of a vertex against its opposite
must shift by no more than the priced range over the noise, eta, plus five standard errors: a false alarm with probability
2.9e-7. It shifts by eta exactly, since opposite vertices are the worst pair; half of the noise shifts it by twice that.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from builders import Rows
from dpsparse import recipes
from dpsparse.accounting import PricedPlan, price
from dpsparse.core import Adjacency, Ask, Budget, Noise, Plan
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Squared
from dpsparse.oracles import CentralOracle, RecordingOracle
from dpsparse.oracles import central as central_module
from dpsparse.queries.kinds import Vertex
from truth import audit

RUNS, ETA, N = 3_000, 4 / 3, 10
CLIP = Clip(3.0, 0.5)


def choices(canary: float | None, relation: Adjacency, gap: float) -> np.ndarray:
    """Which of +e1 and -e1 is chosen; `gap` entries of other rows speak for +e1."""
    facts = Facts(n_rows=N, n_features=1, target=Target(bound=100.0))
    X, y = np.ones((N, 1)), np.zeros(N)
    y[1] = gap * CLIP.entry
    X[0] = 0.0 if canary is None else 1.0
    y[0] = 0.0 if canary is None else 90.0 * canary  # far beyond the clip
    plan = Plan(asks=(Ask(name="vertex", noise=Noise.GUMBEL, times=RUNS),))
    priced = PricedPlan(
        plan=plan, budget=Budget.approx(1.0, 1e-5, relation), rho_scale=ETA**2 / 8 * RUNS, accountant="given"
    )
    oracle = CentralOracle(Rows(X, y, facts), Squared(), priced, Randomness(3 if canary == 1.0 else 4))
    found = [oracle.select(np.zeros(1), 1, score=Vertex(), clip=CLIP, ask="vertex")[0] for _ in range(RUNS)]
    return np.array(found) == 0


def shift(relation: Adjacency, gap: float) -> tuple[float, float]:
    other = -1.0 if relation is Adjacency.REPLACE_ONE else None
    return audit.log_odds_shift(choices(other, relation, gap), choices(1.0, relation, gap))


@pytest.mark.parametrize("gap", [0.0, pytest.param(0.8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("relation", list(Adjacency))
def test_a2_a_record_shifts_the_odds_of_a_vertex_by_what_was_priced(relation, gap):
    moved, error = shift(relation, gap)
    assert moved <= ETA + audit.SIGMAS * error
    assert moved >= ETA - audit.SIGMAS * error, "opposite vertices are the worst pair: the range is reached"


@pytest.mark.parametrize("relation", list(Adjacency))
def test_a2_catches_half_of_the_noise(relation, monkeypatch):
    ordinary = central_module.gumbel_top_k
    monkeypatch.setattr(central_module, "gumbel_top_k", lambda s, k, scale, r: ordinary(s, k, scale / 2, r))
    moved, error = shift(relation, 0.0)
    assert moved > ETA + 2 * audit.SIGMAS * error


def test_a_fit_adds_the_noise_of_the_formula():
    """The scale of every choice is its range, 2 kappa times the bound on an entry, over n and the priced eta."""
    rng = np.random.default_rng(0)
    facts = Facts(n_rows=50, n_features=8, target=Target(bound=2.0))
    X, y = rng.uniform(-1, 1, (50, 8)), rng.uniform(-1, 1, 50)
    for relation in Adjacency:
        budget = Budget.approx(1.0, 1e-5, relation)
        solver = recipes.DPFrankWolfe(steps=6).solver(facts, budget)
        priced = price(solver.plan(facts, budget), budget)
        oracle = RecordingOracle(CentralOracle(Rows(X, y, facts), Squared(), priced, Randomness(0)))
        solver.run(oracle)
        for answer in oracle.receipts:
            formula = 2 * relation.kappa * solver.clip.entry / 50
            assert formula < answer.sensitivity < formula * (1 + 2e-6), "with the rounding of scores"
            assert answer.scale == pytest.approx(answer.sensitivity / priced.cost("vertex").strength)


def test_the_price_of_few_and_of_many_vertices():
    """Never more noise than zCDP addition needs: b = Delta sqrt(T / (2 rho))."""
    budget = Budget.approx(1.0, 1e-5)
    for steps in (3, 20, 60):
        plan = Plan(asks=(Ask(name="vertex", noise=Noise.GUMBEL, times=steps),))
        eta = price(plan, budget).cost("vertex").strength
        assert 2 / eta <= math.sqrt(steps / (2 * budget.as_rho())) * (1 + 1e-6)
