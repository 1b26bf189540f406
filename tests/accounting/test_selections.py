"""The recursion never falls below an exact plan, closes in on it, and reproduces known numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr

from dpsparse.accounting import recursion, selections
from dpsparse.accounting.recursion import before_noise, before_selection, gaussian, laplace, nothing_left, one_selection
from dpsparse.accounting.selections import POINTS, stage_delta, stage_epsilon, too_long
from dpsparse.accounting.stages import ONE_BY_ONE, Stage, best_size
from truth.selections import calibrate, one_selection_density

Array = NDArray[np.float64]
Pair = tuple[Array, Array]


def selection_delta(epsilon, etas, mu=0.0, *, laplaces=(), branches=(), points=POINTS):
    """Bound on delta of a stage."""
    return stage_delta(epsilon, Stage(tuple(etas), mu, tuple(laplaces), tuple(branches)), points)


def selection_epsilon(delta, etas, mu=0.0):
    """Epsilon of a stage."""
    return stage_epsilon(delta, Stage(tuple(etas), mu))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho with inf over a of exp((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a-1) <= delta."""
    a = 1 + np.exp(np.linspace(-8, 8, 40001))
    free = -(a - 1) * epsilon + a * np.log1p(-1 / a) - np.log(a - 1)
    low, high = 0.0, 10.0
    for _ in range(60):
        rho = (low + high) / 2
        low, high = (rho, high) if np.min((a - 1) * a * rho + free) <= math.log(delta) else (low, rho)
    return low


def hockey_stick(pair: Pair, epsilons: Array) -> Array:
    """Exact delta of a finite pair in both directions, the larger."""
    p, q = pair
    ahead = np.maximum(0, p[:, None] - np.exp(epsilons) * q[:, None]).sum(0)
    back = np.maximum(0, q[:, None] - np.exp(epsilons) * p[:, None]).sum(0)
    return np.maximum(ahead, back)


def bounded_range_pair(rng: np.random.Generator, eta: float, loss: float) -> Pair:
    """An exponential mechanism for two neighbours: score differences within an interval of length eta."""
    kind = rng.integers(3)
    if kind == 0:  # the two-point worst case; t chosen from the loss so far
        t = eta * np.clip(0.5 + 0.3 * loss + 0.1 * rng.normal(), 0.02, 0.98)
        p = -np.expm1(t - eta) / -np.expm1(-eta)
        return np.array([p, 1 - p]), np.array([p * np.exp(-t), (1 - p) * np.exp(eta - t)])
    size = int(rng.integers(2, 5))
    scores = rng.normal(size=size) * rng.choice([0.3, 2.0])
    shift = eta * (rng.random(size) if kind == 1 else rng.integers(0, 2, size))
    p, q = np.exp(scores + shift), np.exp(scores)
    return p / p.sum(), q / q.sum()


def binned_gaussian(mu: float, cuts: Array) -> Pair:
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    return np.diff(ndtr(edges - mu)), np.diff(ndtr(edges))


def random_tree(rng: np.random.Generator, steps: list[tuple[str, float]]) -> Pair:
    """Leaf probabilities of an adaptive composition; each node draws its own mechanism."""
    leaves = [(1.0, 1.0)]
    for kind, level in steps:
        grown = []
        for p, q in leaves:
            if kind == "selection":
                ps, qs = bounded_range_pair(rng, level, math.log(p / q))
            else:
                ps, qs = binned_gaussian(level, np.linspace(-2.5, 3, 9) + 0.2 * rng.normal())
            grown += [(p * a, q * b) for a, b in zip(ps, qs, strict=True)]
        leaves = grown
    table = np.array(leaves)
    return table[:, 0], table[:, 1]


EPSILONS = np.array([0.0, 0.1, 0.3, 0.7, 1.2, 2.0, 3.0])


@pytest.mark.parametrize("etas", [(0.3, 0.3), (1.0, 0.5), (0.4, 1.1, 2.0), (1.0, 1.0, 1.0), (0.7, 0.11, 0.3)])
def test_no_adaptive_tree_of_selections_exceeds_the_bound(etas: tuple[float, ...]) -> None:
    rng = np.random.default_rng(1)
    bound = np.array([selection_delta(e, [(eta, 1) for eta in etas]) for e in EPSILONS])
    worst = np.max(
        [hockey_stick(random_tree(rng, [("selection", x) for x in etas]), EPSILONS) for _ in range(400)],
        axis=0,
    )
    assert np.all(worst <= bound + 1e-15)
    assert worst[0] > 0.7 * bound[0]  # the trees are no straw men


@pytest.mark.parametrize("order", [*sorted(set(itertools.permutations("ssgg"))), tuple("sgs"), tuple("gs")])
def test_no_adaptive_tree_with_gaussians_in_any_place_exceeds_the_bound(order: tuple[str, ...]) -> None:
    rng = np.random.default_rng(2)
    eta, mu = 0.8, 0.6
    steps = [("selection", eta) if kind == "s" else ("gaussian", mu) for kind in order]
    total = mu * math.sqrt(order.count("g"))
    bound = np.array([selection_delta(e, [(eta, order.count("s"))], total) for e in EPSILONS])
    worst = np.max([hockey_stick(random_tree(rng, steps), EPSILONS) for _ in range(40)], axis=0)
    assert np.all(worst <= bound)


@pytest.mark.parametrize("halved", [0, 1, 2])
def test_a_bound_with_one_range_halved_is_exceeded(halved: int) -> None:
    """Negative control: the test above can fail."""
    rng = np.random.default_rng(3)
    etas = [1.0, 1.0, 1.0]
    wrong = [eta / 2 if i == halved else eta for i, eta in enumerate(etas)]
    bound = np.array([selection_delta(e, [(eta, 1) for eta in wrong]) for e in EPSILONS])
    trees = [hockey_stick(random_tree(rng, [("selection", x) for x in etas]), EPSILONS) for _ in range(400)]
    assert np.any(np.max(trees, axis=0) > bound * 1.02)


def achievable(epsilon: float, eta: float, k: int, m: int) -> float:
    """Delta that a real strategy reaches: t on a grid of eta/m, curve exact on the whole support."""
    h = eta / m
    offset = epsilon - h * math.floor(epsilon / h)
    n = k * m + m
    e = offset + h * np.arange(-n, n + 1)
    t = h * np.arange(m + 1)
    p = -np.expm1(t - eta) / -np.expm1(-eta)
    curve = np.maximum(0.0, -np.expm1(e))
    for _ in range(k):
        left = -np.expm1(np.minimum(0.0, e[0] - h * np.arange(m, 0, -1)))
        wide = np.concatenate([left, curve, np.zeros(m)])
        rows = np.lib.stride_tricks.sliding_window_view(wide, e.size)
        curve = np.max([p[i] * rows[m - i] + (1 - p[i]) * rows[2 * m - i] for i in range(m + 1)], axis=0)
    return float(curve[n + math.floor(epsilon / h)])


@pytest.mark.parametrize(
    ("epsilon", "eta", "k", "reached"),
    [(1.0, 0.1, 20, 2.1897e-7), (1.5, 1.0, 3, 0.037950), (0.5, 0.37, 6, None)],
)
def test_the_bound_closes_in_from_above(epsilon: float, eta: float, k: int, reached: float | None) -> None:
    exact = achievable(epsilon, eta, k, 64)
    if reached is not None:
        assert exact == pytest.approx(reached, rel=2e-3)
    bounds = [selection_delta(epsilon, [(eta, k)], points=points) for points in (5, 10, 20, 40)]
    assert all(a > b > exact * (1 - 1e-12) for a, b in itertools.pairwise(bounds))
    assert bounds[-1] < 1.004 * exact


def test_one_selection_is_the_closed_form() -> None:
    t = np.linspace(0, 1.3, 20001)
    for e in (0.0, 0.2, 0.77, 1.2):
        brute = np.max(-np.expm1(t - 1.3) * np.maximum(0, -np.expm1(e - t)) / -np.expm1(-1.3))
        assert one_selection(np.array([e]), 1.3)[0] == pytest.approx(brute, rel=1e-7)
        assert selection_delta(e, [(1.3, 1)]) == pytest.approx(brute, rel=1e-7)
    assert one_selection(np.array([0.0]), 1.3)[0] == pytest.approx(math.tanh(1.3 / 4), rel=1e-14)


def test_the_density_belongs_to_the_closed_form() -> None:
    def tail(x: float, e: float) -> float:
        return float(one_selection_density(np.array([x]), 0.9)[0]) * -math.expm1(e - x)

    for e in (-0.5, 0.0, 0.4):
        assert quad(tail, e, 0.9, args=(e,))[0] == pytest.approx(one_selection(np.array([e]), 0.9)[0], rel=1e-9)


def test_only_gaussians_is_the_exact_curve() -> None:
    for epsilon, mu in ((0.0, 0.3), (1.0, 0.2680511232), (4.0, 0.92), (1.0, 2.0)):
        exact = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
        assert selection_delta(epsilon, [], mu) == pytest.approx(exact, abs=1e-9, rel=1e-9)
    assert calibrate(1.0, 1e-5, [], 1.0) == pytest.approx(0.2680511232**2 / 2, rel=5e-4)


def test_noise_beyond_the_losses_that_are_listed_counts_as_exposed() -> None:
    """A Gaussian listed up to a loss of 1 only: before nothing else its own curve is still covered, at every epsilon."""
    h, mu = 0.01, 1.0
    e = h * np.arange(-300, 301, dtype=float)
    listed = gaussian(h * np.arange(-100, 101, dtype=float), mu)
    covered = before_noise(nothing_left(e), listed, h)
    assert np.all(covered >= gaussian(e, mu) * (1 - 1e-12))
    assert covered[-1] == pytest.approx(listed[-1], rel=1e-6), "all that is beyond"


@pytest.mark.parametrize(("epsilon", "eta", "mu"), [(1.0, 0.3, 0.4), (0.3, 1.0, 0.1), (2.0, 0.2, 0.5)])
def test_gaussian_then_adaptive_selection_is_the_exact_integral(epsilon: float, eta: float, mu: float) -> None:
    z = np.linspace(-10, 10, 400001)
    weight = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    exact = float(weight @ one_selection(epsilon - mu**2 / 2 - mu * z, eta))
    if (epsilon, eta, mu) == (1.0, 0.3, 0.4):
        assert exact == pytest.approx(2.517317e-3, rel=1e-6)
    bounds = [selection_delta(epsilon, [(eta, 1)], mu, points=points) for points in (5, 10, 20, 40)]
    assert all(a > b > exact for a, b in itertools.pairwise(bounds))
    assert bounds[-1] < exact * 1.001


def test_noise_before_selections_is_the_worst_order() -> None:
    eta, mu, h = 0.5, 0.5, 0.025
    e = h * np.arange(-200, 201)
    noise = gaussian(h * np.arange(-190, 191), mu)

    def run(order: str) -> Array:
        curve = recursion.nothing_left(e)
        for step in reversed(order):
            curve = before_noise(curve, noise, h) if step == "G" else before_selection(curve, eta, h)
        return curve[200:281]

    chain = [run(order) for order in ("GGAA", "GAGA", "AGAG", "AAGG")]
    assert all(np.all(a >= b - 1e-12) for a, b in itertools.pairwise(chain))
    assert np.max(chain[0] / chain[2]) > 1.005


def test_the_order_of_unequal_ranges_matters() -> None:
    rising = selection_delta(0.4, [(0.3, 5), (1.0, 1)])
    falling = selection_delta(0.4, [(1.0, 1), (0.3, 5)])
    assert rising > 1.08 * falling


@pytest.mark.parametrize(("eta", "cells"), [(0.5, 20), (0.5, 20.37), (0.5, 7.9), (0.5, 0.6), (3.0, 41.3)])
def test_one_operator_is_above_a_brute_supremum(eta: float, cells: float) -> None:
    h = eta / cells
    e = 0.1 + h * np.arange(-math.ceil(4 / h), math.ceil(4 / h) + 1)
    bound = before_selection(one_selection(e, 0.8), eta, h, nodes=30)
    t = np.linspace(0, eta, 1501)[:, None]
    p = -np.expm1(t - eta) / -np.expm1(-eta)
    brute = np.max(p * one_selection(e - t, 0.8) + (1 - p) * one_selection(e - t + eta, 0.8), axis=0)
    assert np.all(bound >= brute)
    assert np.max(bound - brute) < 0.6 * max(h, eta / 30) ** 2 + 1e-3 * h


def test_agreement_with_dp_accounting() -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    pmf = pytest.importorskip("dp_accounting.pld.pld_pmf")
    h, eta, mu = 1e-3, 0.12, 0.16
    m = round(eta / h)
    deltas = one_selection(h * np.arange(-m, m + 1), eta)
    one = pmf.create_pmf_pessimistic_connect_dots(h, np.arange(-m, m + 1), deltas)
    normal = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=h)
    pairs = pld.PrivacyLossDistribution(one).self_compose(10).compose(normal)
    dominated = pairs.get_delta_for_epsilon(1.0)
    assert dominated == pytest.approx(7.59e-6, rel=2e-3)
    assert 2.62e-6 < selection_delta(1.0, [(eta, 10)], mu) < 2.853e-6 < dominated
    # one selection next to the Gaussian: the pair and the recursion are the same
    both = pld.PrivacyLossDistribution(one).compose(normal).get_delta_for_epsilon(0.5)
    assert selection_delta(0.5, [(eta, 1)], mu, points=40) == pytest.approx(both, rel=2e-3)
    noise = pld.from_laplace_mechanism(1 / 0.3, value_discretization_interval=h)
    three = noise.self_compose(3).compose(normal).get_delta_for_epsilon(0.6)
    assert selection_delta(0.6, [], mu, laplaces=[(0.3, 3)], points=60) == pytest.approx(three, rel=2e-3)


def test_one_laplace_is_its_closed_form() -> None:
    assert selection_delta(0.2, [], laplaces=[(0.9, 1)], points=80) == pytest.approx(1 - math.exp(-0.35), rel=1e-3)
    assert laplace(np.array([-0.4]), 0.9)[0] == pytest.approx(1 - math.exp(-0.65), rel=1e-14)


def select_and_polish(k: int) -> tuple[list[tuple[float, int]], float]:
    """Shares of the plan SP (flagship.md, section 4, linear) in the order in which it runs."""
    query, chosen = 0.05 / 20, 0.6 * 0.95 / k
    sizes = [k // 6 + (i < k % 6) for i in range(6)]
    shares = [share for size in sizes for share in ((query, 1), (chosen, size), (query, 1))]
    return [*shares, (query, 1)], 0.4 * 0.95 + 7 * query


@pytest.mark.parametrize(
    ("shares", "gaussian_share", "gains"),
    [
        ([(0.05, 10)], 0.5, (1.163, 1.336)),  # DP-GCD, T = 10
        ([(0.01, 50)], 0.5, (1.170, 1.361)),  # DP-GCD, T = 50
        ([(0.05, 20)], 0.0, (1.179, 1.335)),  # DP-FW, T = 20
        ([(0.2, 5)], 0.0, (1.289, 1.282)),  # DP-FW, T = 5
        (*select_and_polish(10), (1.171, 1.338)),  # SP, k = 10
        ([(0.5 / 10_000, 10_000)], 0.5, (1.171, 1.364)),  # DP-IGHT with peeling, T = 20, s = 500
    ],
)
def test_known_gains_over_adding_zcdp_costs(
    shares: list[tuple[float, int]], gaussian_share: float, gains: tuple[float, float]
) -> None:
    for (epsilon, delta), gain in zip(((1.0, 1e-5), (1.0, 0.01)), gains, strict=True):
        r = calibrate(epsilon, delta, shares, gaussian_share)
        assert r / zcdp_rho(epsilon, delta) == pytest.approx(gain, rel=5e-3)
        plan = Stage.from_shares(shares, gaussian_share).scaled(math.sqrt(r))
        assert delta * 0.99 < selection_delta(epsilon, plan.selections, plan.mu) <= delta


def test_blocks_dominate_and_lose_little() -> None:
    eta, count = 0.02, 5 * ONE_BY_ONE // 4
    blocked = selection_delta(0.5, [(eta, count)])
    assert Stage(((eta, count),)).steps[1].total() > 0
    curve = one_selection(0.5 + eta / 20 * np.arange(-1200, 1200), eta)
    for _ in range(count - 1):
        curve = before_selection(curve, eta, eta / 20)
    exact = float(curve[1200])
    assert exact < blocked < 1.1 * exact


@pytest.mark.parametrize("count", [65, 257, 500, 509, 10_000])
def test_block_sizes_cover_every_selection(count: int) -> None:
    size = best_size(count)
    assert 64 <= size <= ONE_BY_ONE
    assert count <= math.ceil(count / size) * size <= 1.05 * count + 1


@pytest.mark.parametrize("count", [257, 300, 401, 1000])
def test_blocks_and_single_selections_together_are_at_least_what_the_stage_has(count: int) -> None:
    singles, blocks = Stage(((0.1, count), (0.2, 3))).steps
    assert (
        sum(eta == 0.1 for eta in singles) + sum(n * size for (eta, size), n in blocks.items() if eta == 0.1) >= count
    )
    assert singles.count(0.2) == 3


def flagship(k: int) -> Stage:
    return Stage.from_shares([(0.01, 2), (0.55 / k, k), (0.01, 1)], 0.4)


def test_a_branching_plan_is_above_each_of_its_branches() -> None:
    branches = [flagship(k).scaled(0.25) for k in (1, 2, 5, 10)]
    whole = selection_delta(1.0, [(0.1, 1)], branches=branches)
    singles = [selection_delta(1.0, [(0.1, 1), *b.selections], b.mu, points=40) for b in branches]
    # in a branch the noise cannot move before the first selection: alone is the smaller one, up to the grid
    alone = [selection_delta(1.0, [(0.1, 1)], branches=[b], points=40) for b in branches]
    assert max(alone) <= whole * 1.0001
    assert all(a <= s * 1.01 for a, s in zip(alone, singles, strict=True))
    assert whole < 1.5 * max(singles)


def test_a_tree_that_branches_on_what_it_sees_stays_below_the_bound() -> None:
    rng = np.random.default_rng(5)
    first, branches = 0.5, [Stage(((1.0, 1),)), Stage(((0.6, 2),)), Stage((), 0.8)]
    bound = np.array([selection_delta(e, [(first, 1)], branches=branches) for e in EPSILONS])
    steps = [[("selection", 1.0)], [("selection", 0.6)] * 2, [("gaussian", 0.8)]]
    for _ in range(300):
        ps, qs = bounded_range_pair(rng, first, 0.0)
        leaves = [random_tree(rng, steps[int(rng.integers(3))]) for _ in ps]
        p = np.concatenate([a * leaf[0] for a, leaf in zip(ps, leaves, strict=True)])
        q = np.concatenate([b * leaf[1] for b, leaf in zip(qs, leaves, strict=True)])
        assert np.all(hockey_stick((p, q), EPSILONS) <= bound)


def test_calibration_of_a_branching_plan_satisfies_every_branch() -> None:
    branches = [flagship(k) for k in range(1, 11)]
    r = calibrate(1.0, 0.01, [(0.01, 1)], branches=branches)
    assert 1.1 < r / zcdp_rho(1.0, 0.01) < 1.4
    for branch in branches:
        plan = Stage.from_shares([(0.01, 1)], branches=[branch]).scaled(math.sqrt(r))
        assert selection_delta(1.0, plan.selections, branches=plan.branches) <= 0.01 * 1.001


def test_epsilon_is_rounded_up() -> None:
    epsilon = selection_epsilon(1e-5, [(0.1, 10)], 0.2)
    assert selection_delta(epsilon, [(0.1, 10)], 0.2) <= 1e-5 < selection_delta(epsilon - 1e-4, [(0.1, 10)], 0.2)
    assert selection_epsilon(1e-5, [(0.1, 1)]) <= 0.1
    assert selection_epsilon(0.9, [(0.1, 1)]) == 0.0


def test_pure_plans_have_delta_zero_from_their_sum_on() -> None:
    assert selection_delta(1.0, [(0.2, 5)]) == 0.0
    assert selection_delta(0.99, [(0.2, 5)]) > 0.0
    assert calibrate(8.0, 1e-12, [(1.0, 1)]) == pytest.approx(8.0)  # a range of epsilon


def test_a_plan_that_is_too_long_gets_the_trivial_answer_at_once() -> None:
    ranges = [(0.001 + 1e-6 * i, 1) for i in range(2000)]
    assert too_long(Stage(tuple(ranges)))
    assert selection_delta(1.0, ranges) == 1.0
    assert selection_epsilon(1e-5, ranges) == math.inf
    assert calibrate(1.0, 1e-5, ranges) == 0.0


def test_a_delta_below_the_rounding_margin_gets_no_budget() -> None:
    assert calibrate(1.0, 1e-18, [(0.01, 50)], 0.5) == 0.0


def test_calibration_takes_few_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    delta = selections._delta
    monkeypatch.setattr(selections, "_delta", lambda e, plan, points: seen.append(points) or delta(e, plan, points))
    assert calibrate(1.0, 1e-5, *select_and_polish(10)) > 0
    assert seen.count(selections.POINTS) <= 4
    assert seen.count(selections.COARSE) <= 8


def test_refusals_say_what_was_expected() -> None:
    with pytest.raises(ValueError, match="epsilon >= 0"):
        selection_delta(-1.0, [(0.1, 1)])
    with pytest.raises(ValueError, match="none negative"):
        Stage(((-0.1, 1),))
    with pytest.raises(ValueError, match="0 < delta < 1"):
        calibrate(1.0, 0.0, [(0.1, 1)])
    with pytest.raises(ValueError, match="Every share is 0"):
        calibrate(1.0, 1e-5, [(0.0, 3)])


def test_ranges_that_are_equal_but_for_rounding_count_as_equal():
    """Otherwise the grid, and with it the bound, would follow the last digit of a scale."""
    eta = 0.3
    exact = Stage(selections=((eta, 3), (0.4, 1), (eta, 2)))
    rounded = Stage(selections=((eta, 3), (0.4, 1), (eta * (1 + 2.0**-50), 2)))
    assert exact.heaviest_range == eta
    assert rounded.heaviest_range == pytest.approx(eta, rel=1e-12)
