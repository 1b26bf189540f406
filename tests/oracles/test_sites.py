"""Sites that make the noise in shares: the curator's answers, the priced noise, and nothing that one record moves too far."""

import math

import numpy as np
import pytest

from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, EveryRow, Noise, NotPricedError, Plan, PoissonRows, PrivacyError, SplitRule
from dpsparse.core.facts import Clip, Facts
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Squared
from dpsparse.oracles import CentralOracle, NoiseShare, SharedNoiseOracle
from dpsparse.oracles.shares import check_shareable, single_site_bill
from dpsparse.queries.kinds import Gradient
from dpsparse.rows.hosts import MemoryHost
from truth.audit import Stream

FACTS = Facts(n_rows=90, n_features=5, row_norm=math.sqrt(5), target_bound=2.0, intercept=1.0)
CLIP = Clip(1.0)


EVERY = EveryRow()


def plan(times=3, rows=EVERY, noise=Noise.GAUSSIAN):
    return Plan(asks=(Ask(name="gradient", question="Gradient", noise=noise, times=times, rows=rows),))


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (90, 5)), rng.uniform(-2, 2, 90)


def sites(priced, X, y, honest, seeds=(1, 2, 3), source=Randomness):
    cuts = np.array_split(np.arange(90), 3)
    return [
        NoiseShare(MemoryHost(X[c], y[c], FACTS), Squared(), priced, honest, source(seed))
        for c, seed in zip(cuts, seeds, strict=True)
    ]


def test_at_a_huge_epsilon_sites_answer_like_a_curator():
    priced = price(plan(), Budget.approx(1e9, 1e-5))
    X, y = data()
    central = CentralOracle(MemoryHost(X, y, FACTS), Squared(), priced, Randomness(0))
    shared = SharedNoiseOracle(FACTS, priced, sites(priced, X, y, 3), 3)
    w = np.linspace(-0.5, 0.5, 6)
    assert np.allclose(central.gradient(w, clip=CLIP), shared.gradient(w, clip=CLIP), atol=1e-3)


@pytest.mark.parametrize("honest", [1, 2, 3])
def test_the_noise_of_a_sum_is_that_of_the_price_times_all_shares_over_the_honest(honest):
    times = 400
    priced = price(plan(times), Budget.approx(1.0, 1e-5))
    X, y = data()
    shared = SharedNoiseOracle(FACTS, priced, sites(priced, X, y, honest, source=Stream), honest)
    w = np.zeros(6)
    stated = shared.deviation(Gradient(w, CLIP), "gradient", 0)
    found = np.array([shared.gradient(w, clip=CLIP) for _ in range(times)])
    assert np.std(found - found.mean(axis=0)) == pytest.approx(stated, rel=5 / math.sqrt(2 * found.size))
    [receipt] = {(r.sensitivity, r.scale) for r in shared.receipts}
    assert receipt[1] / 90 * math.sqrt(3 / honest) == pytest.approx(stated)


@pytest.mark.parametrize("position", [0, 29, 30, 45, 89])
@pytest.mark.parametrize("rows", [EveryRow(), PoissonRows(0.5)])
def test_one_record_moves_the_sum_by_no_more_than_the_noise_was_made_for(position, rows):
    """The same noise and the same coins in two worlds: what is left is what one record moved."""
    priced = price(plan(8, rows), Budget.approx(2.0, 1e-5))
    w = np.linspace(-1, 1, 6)
    X, y = data()
    largest = 0.0
    for extreme in (1.0, -1.0):
        other, target = X.copy(), y.copy()
        other[position], target[position] = extreme, 2 * extreme
        one, two = (
            SharedNoiseOracle(FACTS, priced, sites(priced, *world, 3), 3) for world in ((X, y), (other, target))
        )
        for _ in range(8):
            moved = np.linalg.norm(one.gradient(w, clip=CLIP) - two.gradient(w, clip=CLIP))
            largest = max(largest, moved * one.terms.divisor("gradient", 0) / one.receipts[-1].sensitivity)
    assert 0.2 < largest <= 1 + 1e-9


def test_sums_go_around_two_to_the_64():
    priced = price(plan(1), Budget.approx(1.0, 1e-5))

    class Far:
        def __init__(self, offset):
            self.offset = np.int64(offset)

        def part(self, question, ask):
            return np.full(6, self.offset, dtype=np.int64)

        def take_branch(self, branch):
            raise AssertionError

    with np.errstate(over="ignore"):
        found = SharedNoiseOracle(FACTS, priced, [Far(2**63 - 1), Far(2**63 - 1), Far(12)], 3).gradient(
            np.zeros(6), clip=CLIP
        )
    unit = SharedNoiseOracle(FACTS, priced, [Far(1), Far(0), Far(0)], 3).gradient(np.zeros(6), clip=CLIP)
    assert np.allclose(found, 10 * unit)


def test_fewer_answers_than_honest_shares_are_not_published():
    priced = price(plan(), Budget.approx(1.0, 1e-5))

    class Gone:
        def part(self, question, ask):
            return None

        def take_branch(self, branch):
            raise AssertionError

    here = sites(priced, *data(), 2)
    shared = SharedNoiseOracle(FACTS, priced, [here[0], Gone(), Gone()], 2)
    with pytest.raises(PrivacyError, match="1 sites answered, and 2 shares"):
        shared.gradient(np.zeros(6), clip=CLIP)
    assert shared.unused_turns == {"gradient": 2}
    two = SharedNoiseOracle(FACTS, priced, [here[1], here[2], Gone()], 2)
    assert two.gradient(np.zeros(6), clip=CLIP).shape == (6,)


def test_a_site_answers_no_more_than_was_priced_and_sites_that_are_not_honest_are_counted():
    priced = price(plan(1), Budget.approx(1.0, 1e-5))
    [site, *_] = sites(priced, *data(), 3)
    site.part(Gradient(np.zeros(6), CLIP), "gradient")
    with pytest.raises(NotPricedError):
        site.part(Gradient(np.zeros(6), CLIP), "gradient")
    for honest in (0, 4):
        with pytest.raises(PrivacyError, match="can be honest"):
            SharedNoiseOracle(FACTS, priced, sites(priced, *data(), 3), honest)


def test_a_single_part_costs_as_many_rhos_as_there_are_shares():
    priced = price(plan(), Budget.approx(1.0, 1e-5))
    assert single_site_bill(priced, 4).mu() == pytest.approx(2 * priced.mu)
    assert single_site_bill(priced, 4).epsilon(1e-5) > 2.0


@pytest.mark.parametrize("noise", [Noise.GUMBEL, Noise.LAPLACE, Noise.DISCRETE_GAUSSIAN])
def test_noise_that_cannot_be_made_in_shares_is_refused(noise):
    with pytest.raises(PrivacyError, match="in shares"):
        check_shareable(plan(noise=noise))


def test_parts_and_branches_of_a_plan_are_looked_at_too():
    chosen = plan(noise=Noise.GUMBEL)
    with pytest.raises(PrivacyError, match="in shares"):
        check_shareable(Plan(asks=plan().asks, branches=(("more", chosen),)))
    with pytest.raises(PrivacyError, match="in shares"):
        check_shareable(Plan(asks=(), parts=(plan(), chosen), coins=SplitRule("secret", 0.5)))
