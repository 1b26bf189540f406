"""Models one after the other, each with a branch of its own; Laplace noise and pure draws as operators."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as losses
from scipy.stats import binom

from dpsparse.accounting import price
from dpsparse.accounting.draws import TurnCosts
from dpsparse.accounting.recursion import pure
from dpsparse.accounting.selections import stage_delta, stage_epsilon
from dpsparse.accounting.stages import Stage
from dpsparse.core import Ask, Budget, Noise, NotPricedError, Plan, PrivacyError
from dpsparse.core.facts import Facts
from dpsparse.oracles import Gate
from dpsparse.oracles.noise_info import ZeroNoise

from .test_selections import EPSILONS, bounded_range_pair, hockey_stick, random_tree

FIRST, BRANCHES = 0.4, (Stage(((1.0, 1),)), Stage(((0.6, 2),)), Stage((), 0.7))
STEPS = ([("selection", 1.0)], [("selection", 0.6)] * 2, [("gaussian", 0.7)])


def test_no_two_models_that_choose_branches_by_what_they_see_exceed_the_bound() -> None:
    rng = np.random.default_rng(7)
    plan = Stage(((FIRST, 1),), branches=BRANCHES, times=2)
    bound = np.array([stage_delta(e, plan) for e in EPSILONS])
    worst = np.zeros(EPSILONS.size)
    for _ in range(60):
        leaves = [(np.ones(1), np.ones(1))]
        for _ in range(2):
            grown = []
            for p, q in ((a, b) for ps, qs in leaves for a, b in zip(ps, qs, strict=True)):
                for a, b in zip(*bounded_range_pair(rng, FIRST, math.log(p / q)), strict=True):
                    ps, qs = random_tree(rng, STEPS[int(rng.integers(3))])
                    grown.append((p * a * ps, q * b * qs))
            leaves = grown
        tree = (np.concatenate([p for p, _ in leaves]), np.concatenate([q for _, q in leaves]))
        worst = np.maximum(worst, hockey_stick(tree, EPSILONS))
    assert np.all(worst <= bound)
    once = np.array([stage_delta(e, Stage(((FIRST, 1),), branches=BRANCHES)) for e in EPSILONS])
    assert np.any(worst > once)  # one model alone would not cover two


def test_a_repeated_stage_is_the_tree_that_it_stands_for() -> None:
    """Every branch is followed by the whole once more: 3 branches, then 3 behind each of them."""
    repeated = Stage(((FIRST, 2),), 0.3, branches=BRANCHES, times=2)
    again = Stage(((FIRST, 2),), 0.3, branches=BRANCHES)
    tree = Stage(((FIRST, 2),), 0.3, branches=tuple(Stage(b.selections, b.mu, b.laplaces, (again,)) for b in BRANCHES))
    for epsilon in (0.2, 1.0, 2.0):
        assert stage_delta(epsilon, repeated) == pytest.approx(stage_delta(epsilon, tree), rel=5e-3)
    assert repeated.variance == pytest.approx(tree.variance)
    assert repeated.length == tree.length
    assert repeated.operators < tree.operators


def branching(times: int = 1) -> Plan:
    polish = tuple(
        (
            name,
            Plan(
                asks=(
                    Ask(name="select", noise=Noise.GUMBEL, times=2, draws=k, share=0.6, schedule=(1.0, 2.0)),
                    Ask(name="clip", noise=Noise.GUMBEL, share=0.05),
                    Ask(name="gradient", noise=Noise.GAUSSIAN, times=3, share=0.3),
                ),
                order=("select", "clip", "select", "gradient", "gradient", "gradient"),
            ),
        )
        for name, k in (("few", 2), ("many", 6))
    )
    return Plan(asks=(Ask(name="scale", noise=Noise.GUMBEL, share=0.05),), branches=polish).repeated(times)


def test_a_plan_of_several_models_is_priced_by_the_recursion_at_a_tenth_more_than_by_renyi() -> None:
    three, budget = branching(3), Budget.approx(1.0, 1e-6)
    found = price(three, budget)
    assert found.accountant == "recursion over selections"
    unknown = Plan(
        asks=three.asks, branches=three.branches, interleaved=True
    )  # the same turns, in an order that nobody knows
    assert found.rho_scale > 1.1 * price(unknown, budget).rho_scale
    assert found.rho_scale < price(branching(), budget).rho_scale / 3 * 1.001
    assert found.epsilon() <= 1.0


def test_the_plan_of_one_of_several_models_is_the_plan_that_was_repeated() -> None:
    one, again = branching(), branching(3).once()
    assert again.order == one.order
    for (name, plan), (other, repeated) in zip(one.branches, again.branches, strict=True):
        assert name == other
        assert repeated.order == plan.order
        for a, b in zip(plan.asks, repeated.asks, strict=True):
            assert (a.name, a.times, a.schedule) == (b.name, b.times, b.schedule)
            assert a.weights() == pytest.approx(b.weights(), rel=1e-15)
    assert branching(2).repeated(3).models == 6
    stage = TurnCosts.of(branching(3)).stage()
    assert stage is not None
    assert stage.times == 3


def test_models_that_are_not_equal_are_refused_and_none_runs_the_plan_of_all() -> None:
    ask = Ask(name="scale", noise=Noise.GUMBEL, times=3)
    with pytest.raises(PrivacyError, match="equal numbers of turns"):
        Plan(asks=(ask,), interleaved=True, models=2)
    with pytest.raises(PrivacyError, match="equal numbers of turns"):
        Plan(asks=(Ask(name="a", noise=Noise.GUMBEL, times=2, schedule=(1.0, 2.0)),), interleaved=True, models=2)
    with pytest.raises(PrivacyError, match="interleaved"):
        Plan(asks=(ask,), models=3)
    with pytest.raises(NotPricedError, match="several models"):
        Gate(ZeroNoise(branching(3), Facts(n_rows=10, n_features=2)))


# ---------------------------------------------------------------------------------------- pure draws and Laplace noise


def test_the_curve_of_a_pure_draw_is_that_of_randomised_response() -> None:
    level = 0.8
    p = np.array([math.exp(level), 1.0]) / (1 + math.exp(level))
    e = np.linspace(-2, 2, 41)
    exact = np.maximum(0, p[:, None] - np.exp(e) * p[::-1, None]).sum(0)
    np.testing.assert_allclose(pure(e, level), exact, atol=1e-14)
    assert np.all(pure(e, level) >= exact)


def test_no_composition_of_pure_draws_exceeds_the_bound() -> None:
    rng, levels = np.random.default_rng(8), (0.5, 0.9, 0.3)
    bound = np.array([stage_delta(e, Stage(pures=tuple((x, 1) for x in levels))) for e in EPSILONS])
    for _ in range(200):
        leaves = np.ones((1, 2))
        for level in levels:
            grown = []
            for p, q in leaves:
                size = int(rng.integers(2, 4))
                a = rng.dirichlet(np.ones(size))
                b = a * np.exp(level * rng.choice([-0.5, 0.5], size))  # ratios within exp(level) once normalised
                grown += [(p * x, q * y) for x, y in zip(a, b / b.sum(), strict=True)]
            leaves = np.array(grown)
        assert np.all(hockey_stick((leaves[:, 0], leaves[:, 1]), EPSILONS) <= bound)
    exact = responses(0.5, 20, 3.0)
    assert exact <= stage_delta(3.0, Stage(pures=((0.5, 20),))) <= 1.05 * exact


def responses(level: float, count: int, epsilon: float) -> float:
    """Exact delta of randomised responses: the number of true answers is binomial."""
    k = np.arange(count + 1)
    loss = level * (2 * k - count)
    return float(np.sum(binom.pmf(k, count, 1 / (1 + math.exp(-level))) * np.maximum(0, -np.expm1(epsilon - loss))))


@pytest.mark.parametrize("times", [30, 60])
@pytest.mark.parametrize("mixed", [False, True])
def test_laplace_and_permute_and_flip_are_priced_close_to_their_loss_distributions(times: int, mixed: bool) -> None:
    asks = [Ask(name="l", noise=Noise.LAPLACE, times=times)]
    if mixed:
        asks.append(Ask(name="p", noise=Noise.PERMUTE_AND_FLIP, times=times))
    found = price(Plan(asks=tuple(asks)), Budget.approx(2.0, 1e-6))
    level = math.sqrt(2 * found.rho_scale / times)

    def reference(above: bool) -> float:
        grid = {"value_discretization_interval": level / 200, "pessimistic_estimate": above}
        noise = losses.from_laplace_mechanism(1 / level, **grid).self_compose(times)
        if mixed:
            noise = noise.compose(
                losses.from_randomized_response(2 / (1 + math.exp(level)), 2, **grid).self_compose(times)
            )
        return float(noise.get_epsilon_for_delta(1e-6))

    assert found.accountant == "recursion over selections"
    assert reference(above=False) <= found.epsilon() <= 2.0 <= 1.03 * reference(above=True)


def test_half_of_a_pure_draw_is_exceeded() -> None:
    half = stage_epsilon(1e-6, Stage(pures=((0.25, 20),)))
    assert responses(0.5, 20, half) > 1e-6


def test_a_stage_that_runs_twice_ends_twice_as_late() -> None:
    twice = Stage(((0.5, 1),), times=2)
    assert twice.largest_loss == pytest.approx(1.0)
    assert stage_delta(0.7, twice) == pytest.approx(stage_delta(0.7, Stage(((0.5, 2),))), rel=5e-3)
    assert stage_delta(0.7, twice) > 1e-3
