"""Audits of DP-GCD and DP-CD: A2 (choices), the values, A6 (the trace of a whole fit) and A8 (unequal scales).

A statistic may exceed what was priced by sampling error only: five standard errors, or a Clopper-Pearson bound, give a
false alarm with probability below 1e-6. Halving the noise, and the published rule, are caught.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import beta

from builders import Rows
from dpsparse import recipes
from dpsparse.accounting import price
from dpsparse.algorithms.coordinates import coordinate_bounds
from dpsparse.core import Budget
from dpsparse.core.facts import Facts, Penalty, Target
from dpsparse.core.mechanisms import Randomness, gumbel_top_k
from dpsparse.losses import Logistic, Squared
from dpsparse.oracles import CentralOracle, RecordingOracle
from dpsparse.queries.kinds import Greedy
from truth import audit
from truth.neighbours import caught, loss_per_scale, neighbours
from truth.rows import Table, table

RUNS = 2000


def loosened(priced, factor):
    """The same plan with noise smaller by `factor`."""
    return replace(priced, rho_scale=priced.rho_scale * factor**2)


def fits(given, recipe, budget, runs, noise=1.0, loss=None):
    """Coefficients of many fits of one dataset, and the priced plan."""
    solver = recipe.solver(given.facts, budget)
    priced = price(solver.plan(given.facts, budget), budget)
    rows = Rows(given.X, given.y, given.facts)
    tilted = loosened(priced, 1 / noise)
    randomness = Randomness(17)
    found = [solver.run(CentralOracle(rows, loss or Squared(), tilted, randomness)) for _ in range(runs)]
    return np.array(found), priced


def opposed(gap: float) -> tuple[Table, Table]:
    """Two columns with equal gradients, the first behind by `gap` records; one record pulls them apart, either way."""
    facts = Facts(n_rows=60, n_features=2, target=Target(bound=9.0), row_norm=2.0)
    x = np.tile([1.0, 1.0], (60, 1))
    x[:1, 0] = 1.0 - gap
    y = np.full(60, -9.0)  # far beyond the clip: every row contributes the bound times itself
    x[-1] = [1.0, -1.0]
    worlds = []
    for target in (9.0, -9.0):
        y = y.copy()
        y[-1] = target
        worlds.append(Table(x, y, facts))
    return worlds[0], worlds[1]


def first_chosen(found: np.ndarray) -> np.ndarray:
    return found[:, 0] != 0


@pytest.mark.parametrize(("gap", "noise"), [(0.0, 1.0), (1.0, 1.0), (0.0, 0.5)], ids=["tie", "behind", "halved"])
def test_a2_a_record_shifts_the_log_odds_of_a_choice_by_at_most_its_price(gap, noise):
    recipe = recipes.DPGCD(steps=1, clip=1.0, mechanism="gaussian", curvature="bounds")
    budget = Budget.zcdp(0.35, "replace-one")
    one, two = opposed(gap)
    (before, priced), (after, _) = (fits(world, recipe, budget, RUNS, noise) for world in (one, two))
    shift, error = audit.log_odds_shift(first_chosen(before), first_chosen(after))
    eta = priced.cost("select").strength
    assert eta == pytest.approx(math.sqrt(8 * 0.35 * 0.65))
    within = shift <= eta + audit.SIGMAS * error
    assert within is (noise == 1.0)
    if within:
        assert shift > eta - audit.SIGMAS * error - 0.01  # the pair is the worst one: the price is used up


@pytest.mark.parametrize("noise", [1.0, 0.5], ids=["as priced", "halved"])
def test_a2_permute_and_flip_shifts_the_log_probability_of_a_choice_by_at_most_its_price(noise):
    recipe = recipes.DPGCD(steps=1, clip=1.0, mechanism="pure", curvature="bounds")
    budget = Budget.approx(2.0, 0.0, "replace-one")
    one, two = opposed(2.0)  # a tie in one world, behind by the whole range in the other
    (before, priced), (after, _) = (fits(world, recipe, budget, RUNS, noise) for world in (one, two))
    low, high = (int(first_chosen(f).sum()) for f in (before, after))
    rare = beta.ppf(1 - audit.ALARM / 2, low + 1, RUNS - low)
    often = beta.ppf(audit.ALARM / 2, high, RUNS - high + 1)
    assert (math.log(often / rare) <= priced.cost("select").strength) is (noise == 1.0)


@pytest.mark.parametrize("name", ["dp_gcd", "dp_cd"])
@pytest.mark.parametrize("noise", [1.0, 0.5], ids=["as priced", "halved"])
def test_a_value_tells_neighbours_apart_no_better_than_its_price(name, noise):
    """One column, so that the choice says nothing: what is left is the Gaussian release of one entry."""
    facts = Facts(n_rows=10, n_features=1, target=Target(bound=9.0))
    worlds = [Table(np.ones((10, 1)), np.r_[np.zeros(9), y], facts) for y in (9.0, -9.0)]
    recipe = recipes.get(name)(steps=1, clip=1.0)
    recipe = replace(recipe, mechanism="gaussian") if name == "dp_gcd" else recipe
    budget = Budget.zcdp(0.5 / (0.35 if name == "dp_gcd" else 1.0), "replace-one")
    (up, priced), (down, _) = (fits(world, recipe, budget, RUNS, noise) for world in worlds)
    assert priced.cost("values").strength == pytest.approx(1.0)
    found = audit.mu_lower(up[:, 0], down[:, 0])
    assert (found <= 1.0) is (noise == 1.0)
    assert found > 0.5


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "int8 midpoint"])
@pytest.mark.parametrize(
    "recipe",
    [
        recipes.DPGCD(steps=4),
        recipes.DPGCD(steps=3, rule="gs-q", mechanism="pure"),
        recipes.DPGCD(steps=3, rule="gs-s", curvature="private"),
        recipes.DPCD(steps=8, curvature="private"),
    ],
    ids=["gaussian", "pure", "private curvature", "cd"],
)
def test_a6_no_query_of_a_fit_moves_further_between_neighbours_than_was_priced(recipe, kind, relation):
    """The questions of a recorded fit, asked again of neighbours with adversarial records."""
    penalty = Penalty(kind="elasticnet", alpha=0.02)
    given = table(kind, n=30, d=6, intercept=0.5, penalty=penalty)
    budget = Budget.approx(2.0, 1e-3, relation)
    solver = recipe.solver(given.facts, budget)
    priced = price(solver.plan(given.facts, budget), budget)
    recorded = RecordingOracle(CentralOracle(Rows(given.X, given.y, given.facts), Squared(), priced, Randomness(3)))
    solver.run(recorded)
    asked = [(question, ask) for question, (_, ask, _) in zip(recorded.questions, recorded.tape, strict=True)]
    turns = {}
    allowed = []
    for _, ask in asked:
        allowed.append(priced.cost(ask, turns.setdefault(ask, 0)).strength)
        turns[ask] += 1

    def again(world: Table) -> None:
        oracle = CentralOracle(Rows(world.X, world.y, world.facts), Squared(), priced, Randomness(4))
        for question, ask in asked:
            oracle.answer(question, ask)

    for one, two in list(neighbours(given, relation))[::3]:
        losses = loss_per_scale(again, one, two)
        assert all(found <= limit * (1 + 1e-9) for found, limit in zip(losses, allowed, strict=True))


# ------------------------------------------------------------------------------------------------ A8: unequal scales

N, RIVALS = 20_640, 10


def unequal(mean: float) -> tuple[Table, Table]:
    """One dense column of +-2 and ten columns that 1 % of the records share; one of them is replaced by its opposite.

    The dense column rises and every rival falls, all by their whole sensitivity. `mean` is the dense column's gradient; it is chosen so that all scores are about equal, where losses are largest.
    """
    carriers = N // 100
    X = np.zeros((N, RIVALS + 1))
    X[:carriers, 1:] = 2.0
    plus = round((mean * N + N) / 2)
    X[:, 0] = np.where(np.arange(N) < N - plus, -2.0, 2.0)
    other = X.copy()
    other[0] = -X[0]
    facts = Facts(
        n_rows=N,
        n_features=RIVALS + 1,
        lower=-2.0,
        upper=2.0,
        row_norm=7.0,
        target=Target(kind="classes"),
        loss="logistic",
        curvature=0.25,
    )
    return Table(X, np.zeros(N), facts), Table(other, np.zeros(N), facts)


def published(draws: int) -> tuple[float, float]:
    """The rule as printed, on the same pair: (Clopper-Pearson bound on the log-ratio, claimed epsilon')."""
    epsilon, delta = 1.0, 1 / N**2
    one, two = unequal(0.1)
    M = np.r_[1.0, np.full(RIVALS, 0.25 * 4 * (N // 100) / N)]
    claimed = epsilon / (4 * math.sqrt(math.log(1 / delta)))
    scale = 2 / N / claimed
    rng = np.random.default_rng(5)
    counts = []
    for world in (two, one):
        g, hits = world.X.mean(axis=0) / 2, 0
        for _ in range(draws // 100_000):
            noisy = np.abs(g + rng.laplace(0, scale, (100_000, RIVALS + 1))) / np.sqrt(M)
            hits += int((noisy.argmax(axis=1) == 0).sum())
        counts.append(hits)
    return log_ratio(*counts, draws), claimed


def log_ratio(often: int, rare: int, draws: int, alarm: float = audit.ALARM) -> float:
    """A lower bound on the log-ratio of two probabilities."""
    low = beta.ppf(alarm / 2, often, draws - often + 1)
    high = beta.ppf(1 - alarm / 2, rare + 1, draws - rare)
    return math.log(low / high)


def queries(columns: bool) -> tuple[list[np.ndarray], float, float]:
    """Scores of both worlds as they reach the noise of DP-GCD's first choice, its scale, and what was priced."""
    one, two = unequal(0.01)
    squares = np.r_[4.0, np.full(RIVALS, 4 * (N // 100) / N)] if columns else np.full(RIVALS + 1, 4.0)
    curvature, clip = coordinate_bounds(one.facts, squares, 0.5, columns=columns)
    budget = Budget.zcdp(0.3, "replace-one")
    solver = recipes.DPGCD(steps=1, mechanism="gaussian").solver(one.facts, budget)
    priced = price(solver.plan(one.facts, budget), budget)
    w = np.zeros(RIVALS + 1)
    seen = []
    for world in (one, two):
        oracle = CentralOracle(Rows(world.X, world.y, world.facts), Logistic(), priced, Randomness(0))
        with caught() as queries_seen:
            oracle.select(w, 1, score=Greedy("gs-r", curvature, w, one.facts.penalty), clip=clip)
        seen.extend(queries_seen)
    assert seen[0][2] == seen[1][2]
    return [q for _, q, _ in seen], float(seen[0][2]), priced.cost("select").strength


@pytest.mark.parametrize("columns", [False, True], ids=["curvatures from bounds", "private curvatures"])
def test_a8_unequal_scales_cost_no_more_than_was_priced(columns):
    """The exact law of the choice, P(j) proportional to exp(score / scale), at the scores that reach the noise."""
    scores, scale, eta = queries(columns)
    log_odds = [u[0] / scale - logsumexp(u[1:] / scale) for u in scores]
    assert 0.95 * eta < log_odds[1] - log_odds[0] <= eta * (1 + 1e-9)
    halved = [2 * u[0] / scale - logsumexp(2 * u[1:] / scale) for u in scores]
    assert halved[1] - halved[0] > 1.9 * eta
    sampled = [[gumbel_top_k(u, 1, scale, Randomness(seed))[0] == 0 for seed in range(RUNS)] for u in scores]
    shift, error = audit.log_odds_shift(*(np.array(c) for c in sampled))
    assert shift <= eta + audit.SIGMAS * error


def test_a8_the_published_rule_is_caught():
    bound, claimed = published(1_000_000)
    assert bound > 3 * claimed


@pytest.mark.slow
@pytest.mark.parametrize("columns", [False, True], ids=["curvatures from bounds", "private curvatures"])
def test_a8_in_full(columns):
    """A million choices in each world by the mechanism itself, and four million by the published rule."""
    scores, scale, eta = queries(columns)
    randomness, draws = Randomness(23), 1_000_000
    counts = [sum(int(gumbel_top_k(u, 1, scale, randomness)[0] == 0) for _ in range(draws)) for u in scores]
    assert log_ratio(counts[1], counts[0], draws) <= eta
    bound, claimed = published(4_000_000)
    assert bound > 5 * claimed
