"""Sampled Gaussians against closed forms, another library, quadrature in the plane, and plain sums over random counts."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld
from scipy.special import ndtr
from scipy.stats import nbinom

from dpsparse.accounting import pld as sampled_module
from dpsparse.accounting import price
from dpsparse.accounting.costs import PlanCost, SumCost
from dpsparse.accounting.pairs import Pair, dominating_pairs
from dpsparse.accounting.pld import TAIL, LossCounts, compose, sampled_delta, sampled_epsilon, sampled_rate
from dpsparse.accounting.pricing import CLEAREST
from dpsparse.core import Adjacency, Ask, Budget, BudgetError, Noise, Plan, PoissonRows, PrivacyError, RandomTurns
from dpsparse.core.curves import gaussian_delta, gaussian_epsilon

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
BOTH = pytest.mark.parametrize("relation", [ADD, REPLACE])
N_RCV1 = 20242


def library_epsilon(steps, delta: float, relation: Adjacency, interval: float = 1e-4) -> float:
    neighbours = dp_accounting.NeighboringRelation
    accountant = pld.PLDAccountant(
        neighbours.REPLACE_ONE if relation is REPLACE else neighbours.ADD_OR_REMOVE_ONE, interval
    )
    for rate, multiplier, count in steps:
        event = dp_accounting.GaussianDpEvent(multiplier)
        accountant.compose(event if rate == 1 else dp_accounting.PoissonSampledDpEvent(rate, event), count)
    return accountant.get_epsilon(delta)


# ------------------------------------------------------------------------------------------------ against others


@BOTH
@pytest.mark.parametrize(("multiplier", "count"), [(2.0, 1), (10.0, 30), (0.3, 5), (400.0, 100_000)])
def test_every_row_is_the_closed_form_from_above(multiplier, count, relation):
    exact = gaussian_epsilon(relation.kappa * math.sqrt(count) / multiplier, 1e-5)
    found = sampled_epsilon([(1.0, multiplier, count)], 1e-5, relation)
    assert exact <= found <= exact * 1.001


@BOTH
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_tiny_deltas_stay_above_the_closed_form(delta, relation):
    mu = 0.7
    epsilon = gaussian_epsilon(mu, delta)
    found = sampled_delta([(1.0, relation.kappa * 10 / mu, 100)], epsilon, relation, delta)
    assert delta <= found <= delta * 1.001
    assert found == pytest.approx(gaussian_delta(epsilon, mu), rel=1e-3)


@BOTH
@pytest.mark.parametrize(
    "steps",
    [
        [(0.05, 1.2, 60)],
        [(0.3, 4.0, 200)],
        [(0.003, 0.7, 300)],
        [(1.0, 5.0, 4), (0.1, 5.0, 40)],
    ],
)
def test_another_library_agrees_and_its_grid_is_a_little_coarser(steps, relation):
    ours, theirs = sampled_epsilon(steps, 1e-5, relation), library_epsilon(steps, 1e-5, relation)
    assert ours <= theirs * (1 + 2e-4)
    assert ours >= theirs * 0.99


@pytest.mark.slow
@BOTH
def test_a_finer_grid_changes_little_and_only_downwards(relation, monkeypatch):
    steps = [(1 / N_RCV1, 0.6, N_RCV1)]
    coarse = sampled_epsilon(steps, 1e-6, relation)
    sampled_module._losses.cache_clear()
    monkeypatch.setattr(sampled_module, "grid_points", lambda total: 2**19)
    fine = sampled_epsilon(steps, 1e-6, relation)
    sampled_module._losses.cache_clear()
    assert 0.99 * coarse <= fine <= coarse


def test_equal_steps_are_counted_together_wherever_they_are_listed():
    together = sampled_epsilon([(0.1, 2.0, 7)], 1e-5, ADD)
    assert sampled_epsilon([(0.1, 2.0, 3), (0.1, 2.0, 4)], 1e-5, ADD) == together


@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_what_is_cut_off_counts_as_exposed_and_so_does_what_may_be_carried_around(rate):
    """Mass on the grid and beyond it, of all steps, is all of it; the bound on the carried tail, near `tail`, comes on top."""
    tail = 1e-3
    [pair, _] = dominating_pairs(rate, 2.0, ADD)
    loss = compose([((pair,), 50)], tail / TAIL).plain
    assert 0.5 * tail <= loss.mass.sum() + loss.infinite - 1 <= tail * 1.001


# ------------------------------------------------------------------------------------------------ the dominating pair


def plane_delta(rate: float, sigma: float, u: np.ndarray, v: np.ndarray | None, epsilon: float) -> float:
    """Hockey-stick divergence in the plane between the two mixtures of one step, on a grid."""
    reach = 8 * sigma + 1
    x = np.linspace(-reach, reach, 401)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)

    def normal(mean: np.ndarray) -> np.ndarray:
        return np.exp(-np.sum((grid - mean) ** 2, axis=-1) / (2 * sigma**2)) / (2 * math.pi * sigma**2)

    middle = normal(np.zeros(2))
    p = (1 - rate) * middle + rate * normal(u)
    q = middle if v is None else (1 - rate) * middle + rate * normal(v)
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) * (x[1] - x[0]) ** 2


@BOTH
def test_no_two_records_in_the_plane_are_easier_to_tell_apart_than_the_pair(relation):
    rng = np.random.default_rng(0)
    tightest = 0.0
    for _ in range(30):
        rate, sigma = 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(-0.3, 0.5)
        angles, lengths = rng.uniform(0, 2 * math.pi, 2), rng.uniform(0.3, 1, 2) ** 0.3
        u, v = (r * np.array([math.cos(a), math.sin(a)]) for a, r in zip(angles, lengths, strict=True))
        epsilon = rng.uniform(-0.5, 1.0)
        seen = plane_delta(rate, sigma, u, v if relation is REPLACE else None, epsilon)
        bound = sampled_delta([(rate, sigma, 1)], epsilon, relation)
        assert seen <= bound * (1 + 1e-4) + 1e-9
        tightest = max(tightest, seen / bound)
    assert tightest > 0.5, "the search comes near the bound"


def test_opposite_records_reach_the_pair():
    u = np.array([1.0, 0.0])
    for rate, sigma, epsilon in ((0.1, 1.0, 0.3), (0.5, 2.0, 0.1), (0.9, 0.7, 1.0)):
        bound = sampled_delta([(rate, sigma, 1)], epsilon, REPLACE)
        assert plane_delta(rate, sigma, u, -u, epsilon) == pytest.approx(bound, rel=1e-3)
        assert plane_delta(rate, sigma, u, np.array([0.0, 1.0]), epsilon) < 0.95 * bound


def test_control_half_of_the_distance_between_records_is_noticed(monkeypatch):
    """A pair that keeps the replaced record at zero (add-remove read as replace-one) is beaten in the plane."""
    u = np.array([1.0, 0.0])
    seen = plane_delta(0.3, 1.0, u, -u, 0.5)
    assert seen > 1.2 * sampled_delta([(0.3, 1.0, 1)], 0.5, ADD)


@pytest.mark.parametrize("rate", [1e-4, 0.3, 1.0])
@BOTH
def test_the_place_of_a_loss_has_that_loss(rate, relation):
    for pair in dominating_pairs(rate, 0.8, relation):
        for x in (-3.0, -0.4, 0.0, 0.7, 5.0):
            assert pair.where(np.array([pair.loss(x)]))[0] == pytest.approx(x, abs=1e-6 if rate > 0.01 else 2e-2)


def test_masses_are_probabilities_and_losses_keep_both_sides():
    pair = Pair(0.2, 1.1, 1.0, -1.0)
    low, mass, infinite = pair.losses(1e-3, 1e-12)
    losses = 1e-3 * (low + np.arange(mass.size))
    assert mass.min() >= 0
    assert mass.sum() + infinite == pytest.approx(1.0, abs=1e-12)
    assert np.sum(mass * np.exp(-losses)) == pytest.approx(1.0, abs=1e-9), "probabilities under the other dataset"


# ------------------------------------------------------------------------------------------------ random counts


LAW = RandomTurns(10, 20.0)


def test_the_figures_of_the_specification_for_a_random_number_of_steps():
    """q = 0.01, z = 2, J = 10, B/b = 20, delta 1e-5: fixed .270, mixture .299 there, on a coarser grid."""
    fixed = sampled_epsilon([(0.01, 2.0, 200)], 1e-5, ADD)
    mixture = sampled_epsilon([(0.01, 2.0, LAW)], 1e-5, ADD)
    assert fixed == pytest.approx(0.270, abs=0.0025)
    assert mixture == pytest.approx(0.299, abs=0.0025)


@BOTH
@pytest.mark.parametrize("copies", [1, 3])
def test_a_random_number_is_priced_as_the_sum_over_its_law(relation, copies):
    law = RandomTurns(2, 1.5, copies)
    rest = (0.5, 6.0, 2)
    counts, epsilons = np.arange(40), (0.1, 0.6)
    weights = nbinom.pmf(counts, law.epochs, 1 - law.stay)
    each = [[sampled_delta([rest, (0.2, 3.0, int(k) * copies)], e, relation) for e in epsilons] for k in counts]
    found = [sampled_delta([rest, (0.2, 3.0, law)], e, relation) for e in epsilons]
    assert found == pytest.approx(weights @ each, rel=1e-3)


def test_the_law_is_that_of_the_draw():
    drawn = np.array([LAW.draw(np.random.default_rng(i)) for i in range(2000)])
    assert drawn.shape == (2000, 10)
    assert drawn.min() == 0
    assert drawn.mean() == pytest.approx(20.0, abs=5 * math.sqrt(20 * 21 / drawn.size))
    assert LAW.mean == pytest.approx(200.0)
    z = np.array([0.9 + 0.1j])
    direct = sum(nbinom.pmf(k, 10, 1 - LAW.stay) * z**k for k in range(3000))
    assert LAW.generating(z) == pytest.approx(direct, rel=1e-9)
    assert LAW.log_moment(math.log(0.9)) == pytest.approx(math.log(LAW.generating(np.array([0.9 + 0j]))[0].real))
    assert LAW.log_moment(0.1) == math.inf, "the tail is geometric"


def random_plan(times: int, mean: float = 4.0) -> Plan:
    snapshot = Ask(name="snapshot", noise=Noise.GAUSSIAN, times=3, rows=PoissonRows(0.5), share=0.4)
    law = RandomTurns(3, mean)
    return Plan(
        asks=(
            snapshot,
            Ask(name="change", noise=Noise.GAUSSIAN, times=times, rows=PoissonRows(0.1), share=0.6, law=law),
        )
    )


def test_noise_does_not_depend_on_the_number_that_was_drawn():
    budget = Budget.approx(1.0, 1e-6)
    priced = [price(random_plan(k), budget) for k in (0, 1, 12, 400)]
    assert len({p.rho_scale for p in priced}) == 1
    assert len({p.cost("snapshot").rho for p in priced}) == 1
    assert priced[1].cost("change").rho == priced[3].cost("change", 399).rho
    for p in priced:
        assert 0.999 <= p.epsilon() <= 1.0
        assert p.rho == math.inf
        assert p.mu == math.inf


def test_a_random_number_costs_more_than_its_mean_and_less_than_its_worst_case():
    budget = Budget.approx(1.0, 1e-6)
    law = price(random_plan(12), budget)
    fixed, long = (
        price(
            Plan(
                asks=(
                    Ask(name="snapshot", noise=Noise.GAUSSIAN, times=3, rows=PoissonRows(0.5), share=0.4),
                    Ask(name="change", noise=Noise.GAUSSIAN, times=k, rows=PoissonRows(0.1), share=0.6 * k / 12),
                )
            ),
            budget,
        )
        for k in (12, 80)
    )
    assert long.rho_scale < law.rho_scale < fixed.rho_scale


def test_models_share_the_number_that_was_drawn():
    """Ten classes take the same random number ten times, which is dearer than ten independent numbers."""
    ask = random_plan(5).repeated(10)["change"]
    assert ask.times == 50
    assert ask.law == RandomTurns(3, 4.0, copies=10)
    together = sampled_epsilon([(0.1, 3.0, ask.law)], 1e-6, REPLACE)
    apart = sampled_epsilon([(0.1, 3.0, RandomTurns(30, 4.0))], 1e-6, REPLACE)
    assert together > 1.1 * apart


@pytest.mark.parametrize(
    "options",
    [{"draws": 2}, {"schedule": (1.0, 2.0)}, {"noise": Noise.LAPLACE, "rows": PoissonRows(0.1)}, {"times": -1}],
)
def test_a_random_number_of_other_things_is_refused(options):
    fields = {"name": "a", "noise": Noise.GAUSSIAN, "times": 2, "law": LAW, **options}
    with pytest.raises(PrivacyError):
        Ask(**fields)


@pytest.mark.parametrize("fields", [(0, 1.0), (1, 0.0), (1, math.inf), (1, 1.0, 0)])
def test_laws_that_make_no_sense_are_refused(fields):
    with pytest.raises(PrivacyError):
        RandomTurns(*fields)


# ------------------------------------------------------------------------------------------------ search


@BOTH
@pytest.mark.parametrize(
    ("rate", "times", "epsilon", "delta"),
    [(1 / N_RCV1, 2000, 1.0, 1e-6), (0.5, 10, 0.01, 1e-9), (0.1, 30, 95.0, 1e-5), (0.3, 200, 8.0, 1e-2)],
)
def test_a_price_uses_up_its_budget_after_few_compositions(rate, times, epsilon, delta, relation, monkeypatch):
    composed = []
    monkeypatch.setattr(sampled_module, "compose", lambda *groups: composed.append(1) or compose(*groups))
    r = sampled_rate(((rate, 1 / times, times),), epsilon, delta, relation)
    assert 1 < len(composed) <= 60
    z = relation.kappa / math.sqrt(2 * r / times)
    assert epsilon * 0.999 <= sampled_epsilon([(rate, z, times)], delta, relation) <= epsilon


def test_the_same_plan_is_priced_once():
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=500, rows=PoissonRows(0.02)),))
    first = price(plan, Budget.approx(1.1, 1e-6))
    before = sampled_rate.cache_info()
    assert price(plan, Budget.approx(1.1, 1e-6)).rho_scale == first.rho_scale
    assert sampled_rate.cache_info() == before


def test_where_delta_allows_exposure_the_search_ends_at_the_most_that_is_allowed():
    assert sampled_rate(((1e-8, 1.0, 1),), 1.0, 1e-6, ADD, 0.0, 7.0) == 7.0
    assert sampled_rate(((1e-8, 1.0, 1),), 1.0, 1e-6, ADD) > 1e6


@BOTH
def test_control_half_of_the_noise_is_over_budget(relation):
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=50, rows=PoissonRows(0.1)),))
    z = relation.kappa / price(plan, Budget.approx(1.0, 1e-6, relation)).cost("a").strength
    assert sampled_epsilon([(0.1, z / 2, 50)], 1e-6, relation) > 1.5


@pytest.mark.parametrize("delta", [1e-3, 1e-10, 1e-16, 1e-40, 1e-200])
def test_rounding_is_allowed_for_and_tiny_deltas_are_as_sharp_as_large_ones(delta):
    """A hundred thousand steps of every row, of which the exact delta is known."""
    mu, count = 0.5, 100_000
    epsilon = gaussian_epsilon(mu, delta)
    steps = [(1.0, math.sqrt(count) / mu, count)]
    assert sampled_delta(steps, epsilon, ADD, delta) >= delta
    assert epsilon <= sampled_epsilon(steps, delta, ADD) <= 1.003 * epsilon


def test_control_without_the_allowance_for_rounding_an_untilted_delta_is_wrong():
    """Both views bound delta only with what rounding may hide: the untilted one at 1e-12 is made of nothing else."""
    mu, count, delta = 0.5, 100_000, 1e-13
    epsilon = gaussian_epsilon(mu, delta)
    pairs = [((pair,), count) for pair in dominating_pairs(1.0, math.sqrt(count) / mu, ADD)]
    view = compose(pairs[:1], delta).plain
    assert view.delta(epsilon) >= delta
    assert view.rounding(epsilon) > 0.5 * view.delta(epsilon)
    bare = view.delta(epsilon) - view.rounding(epsilon)
    assert abs(bare - delta) > 0.1 * delta  # without it the view is wrong, whichever way
    assert abs(bare - delta) < 0.01 * view.rounding(epsilon)  # and the allowance covers it many times over


def test_the_tilted_law_of_a_random_number_is_the_law_of_its_tilted_probabilities():
    law, log_z = RandomTurns(2, 3.0, 2), 0.03
    k = np.arange(2000)
    p = nbinom.pmf(k, 2, 1 - law.stay) * np.exp(log_z * 2 * k)
    q = nbinom.pmf(k, 2, 1 - law.tilted(log_z).stay)
    np.testing.assert_allclose(p / p.sum(), q, rtol=1e-9, atol=1e-300)
    assert law.tilted(1.0) is None


@BOTH
@pytest.mark.parametrize("delta", [1e-12, 1e-20, 1e-100])
def test_a_random_number_of_turns_has_a_price_at_tiny_deltas(delta, relation):
    law = RandomTurns(5, 20.0)
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=100, rows=PoissonRows(0.1), law=law),))
    found = price(plan, Budget.approx(1.0, delta, str(relation)))
    assert 0.99 <= found.epsilon() <= 1.0


def test_a_delta_that_no_law_can_keep_is_refused_in_words():
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=100, law=RandomTurns(5, 20.0)),))
    with pytest.raises(BudgetError, match="too small for a random number of turns"):
        price(plan, Budget.approx(1.0, 1e-300))


# ------------------------------------------------------------------------------------------------ one draw for several asks


@BOTH
@pytest.mark.parametrize(("rate", "z", "law"), [(1.0, 20.0, RandomTurns(1, 20.0)), (0.05, 2.0, RandomTurns(3, 15.0))])
def test_asks_that_share_a_draw_cost_what_one_ask_of_twice_the_turns_costs(rate, z, law, relation):
    shared = sampled_epsilon([LossCounts(((rate, z), (rate, z)), law)], 1e-5, relation)
    twice = sampled_epsilon([(rate, z, RandomTurns(law.epochs, law.mean_each, 2))], 1e-5, relation)
    apart = sampled_epsilon([(rate, z, law), (rate, z, law)], 1e-5, relation)
    assert shared == pytest.approx(twice, rel=2e-3)
    assert apart < 0.95 * shared


def drawn_plan(names, times=(30, 30), laws=None):
    laws = laws or [RandomTurns(1, 20.0, name=name) for name in names]
    asks = zip(("a", "b"), times, laws, strict=True)
    return Plan(asks=tuple(Ask(name=n, noise=Noise.GAUSSIAN, times=k, law=law) for n, k, law in asks))


def test_a_plan_says_whether_its_asks_share_a_draw():
    budget = Budget.approx(1.0, 1e-5)
    shared, apart = price(drawn_plan("NN"), budget), price(drawn_plan("NM"), budget)
    assert shared.rho_scale < 0.9 * apart.rho_scale
    both = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=60, share=2.0, law=RandomTurns(1, 20.0, 2)),))
    assert shared.rho_scale == pytest.approx(price(both, budget).rho_scale, rel=2e-3)
    for names in (("", ""), ("N", "")):
        with pytest.raises(PrivacyError, match="Name the laws"):
            drawn_plan(names)
    with pytest.raises(PrivacyError, match="same law and the same number"):
        drawn_plan("NN", times=(30, 31))
    with pytest.raises(PrivacyError, match="same law and the same number"):
        drawn_plan("NN", laws=[RandomTurns(1, 20.0, name="N"), RandomTurns(2, 10.0, name="N")])


def test_draws_of_two_fits_are_independent_whatever_they_are_called():
    bill = PlanCost.of(price(drawn_plan("NN"), Budget.approx(1.0, 1e-5)))
    total = SumCost((bill, bill))
    assert total.account is not None
    assert len(total.account.costs.drawn) == 2
    assert total.epsilon(1e-5) < 2.0


# ------------------------------------------------------------------------------------------------ no answer without noise


@BOTH
@pytest.mark.parametrize(("rate", "times", "delta"), [(5e-6, 10, 1e-4), (1e-8, 1, 1e-6), (2.5e-7, 10, 2.6e-6)])
def test_where_delta_exceeds_the_chance_of_taking_part_answers_keep_their_noise(rate, times, delta, relation):
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=times, rows=PoissonRows(rate)),))
    cost = price(plan, Budget.approx(1.0, delta, str(relation))).cost("a")
    assert ndtr(cost.strength / 2) <= 0.95 * (1 + 1e-9)  # two records of a person who took part
    assert cost.strength == pytest.approx(CLEAREST, rel=1e-6)


def test_the_floor_does_not_hold_where_the_budget_pays_without_chance():
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, rows=PoissonRows(0.5)),))
    generous = price(plan, Budget.approx(60.0, 1e-6))
    assert generous.cost("a").strength > CLEAREST
    every = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN),))
    assert generous.rho_scale == pytest.approx(price(every, Budget.approx(60.0, 1e-6)).rho_scale, rel=1e-6)


def test_a_length_that_is_hardly_ever_above_zero_keeps_its_noise():
    law = RandomTurns(1, 1e-7)
    plan = Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=0, law=law),))
    assert price(plan, Budget.approx(1.0, 1e-5)).rho_scale / law.mean == pytest.approx(CLEAREST**2 / 2, rel=1e-6)
