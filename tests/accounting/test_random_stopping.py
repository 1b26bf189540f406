"""What the best of a random number of runs costs."""

import json
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp

from dpsparse.accounting.costs.base import epsilon_from_renyi, read_cost, write_cost
from dpsparse.accounting.costs.fixed import FixedCost, calibrate
from dpsparse.accounting.random_stopping import (
    Geometric,
    Logarithmic,
    PoissonRuns,
    SearchCost,
    calibrate_search,
    law_of,
)
from dpsparse.core import Adjacency, BudgetError, PrivacyError
from dpsparse.core.codec import canonical_json
from dpsparse.core.curves import ORDERS, gaussian_delta, gaussian_epsilon, gaussian_mu, renyi_epsilon

DELTA = 1e-6
LAWS = [Logarithmic, Geometric, PoissonRuns]


def run_of(epsilon, gaussian=True):
    return FixedCost(gaussian_mu(epsilon, DELTA) ** 2 / 2, gaussian)


# One run at epsilon, mean number of runs: composition, Poisson from zCDP and exact, logarithmic from zCDP and exact, geometric.
TABLE = [
    (1, 3, 1.81, 1.49, 1.28, 1.33, 1.20, 1.22),
    (1, 10, 3.52, 2.36, 1.86, 1.53, 1.39, 1.47),
    (1, 30, 6.58, 4.57, 3.33, 1.69, 1.55, 1.69),
    (1, 100, 13.5, 8.65, 6.54, 1.85, 1.70, 1.92),
    (4, 10, 15.5, 8.91, 7.17, 5.90, 5.40, 5.69),
]


@pytest.mark.parametrize(
    ("epsilon", "mean", "composed", "loose", "exact", "careful", "logarithmic", "geometric"), TABLE
)
def test_the_known_cost_table_is_reproduced_to_one_percent(
    epsilon, mean, composed, loose, exact, careful, logarithmic, geometric
):
    run, plain = run_of(epsilon), run_of(epsilon, gaussian=False)
    assert run.scaled(mean).epsilon(DELTA) == pytest.approx(composed, rel=0.01)
    assert SearchCost(plain, PoissonRuns.of_mean(mean)).epsilon(DELTA) == pytest.approx(loose, rel=0.01)
    assert SearchCost(run, PoissonRuns.of_mean(mean)).epsilon(DELTA) == pytest.approx(exact, rel=0.01)
    assert SearchCost(plain, Logarithmic.of_mean(mean)).epsilon(DELTA) == pytest.approx(careful, rel=0.01)
    assert SearchCost(run, Logarithmic.of_mean(mean)).epsilon(DELTA) == pytest.approx(logarithmic, rel=0.01)
    assert SearchCost(run, Geometric.of_mean(mean)).epsilon(DELTA) == pytest.approx(geometric, rel=0.01)


# One run at epsilon, mean number of runs: from Renyi curves alone, by the logarithmic, geometric and Poisson law.
RENYI = [(1, 3, 1.57, 1.78, 1.35), (1, 10, 1.80, 2.15, 1.93), (1, 100, 2.12, 2.67, 6.54), (4, 10, 6.56, 7.55, 7.40)]


@pytest.mark.parametrize(("epsilon", "mean", "logarithmic", "geometric", "poisson"), RENYI)
def test_the_cost_by_renyi_curves_is_reproduced_to_one_percent(epsilon, mean, logarithmic, geometric, poisson):
    for law, known in zip(LAWS, (logarithmic, geometric, poisson), strict=True):
        bill = SearchCost(run_of(epsilon), law.of_mean(mean))
        assert epsilon_from_renyi(bill, DELTA) == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize(("name", "shape"), [("logarithmic", 0.0), ("geometric", 1.0), ("poisson", math.inf)])
@pytest.mark.parametrize("mean", [3, 10, 40])
def test_dp_accounting_agrees(name, shape, mean):
    run = run_of(1.0, gaussian=False)
    referee = rdp.RdpAccountant(list(ORDERS[(ORDERS > 1.02) & (ORDERS < 1e4)]))
    event = dp_accounting.GaussianDpEvent(1 / math.sqrt(2 * run.rho))
    referee.compose(dp_accounting.dp_event.RepeatAndSelectDpEvent(event, mean, shape))
    ours = epsilon_from_renyi(SearchCost(run, law_of(name, mean)), DELTA)
    assert ours == pytest.approx(referee.get_epsilon(DELTA), rel=5e-3)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("mean", [1.2, 3.0, 10.0, 250.0])
def test_a_law_has_the_mean_that_was_asked_for(kind, mean):
    assert kind.of_mean(mean).mean == pytest.approx(mean, rel=1e-9)


# ------------------------------------------------------------------------------------------------ against exact truth


class TableBill:
    """A pair of laws on three ordered outcomes; its divergences are exact, the larger of both directions."""

    kind = "table"
    adjacency = Adjacency.REPLACE_ONE

    def __init__(self, p, q):
        self.p, self.q = np.asarray(p), np.asarray(q)

    def renyi(self, orders=ORDERS):
        return np.maximum(divergence(self.p, self.q, orders), divergence(self.q, self.p, orders))

    def delta(self, epsilon):
        return max(
            float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((self.p, self.q), (self.q, self.p))
        )


def divergence(p, q, orders):
    logs = orders[:, None] * np.log(p) + (1 - orders[:, None]) * np.log(q)
    return np.maximum(np.logaddexp.reduce(logs, axis=1) / (orders - 1), 0.0)


def generating(law):
    if isinstance(law, PoissonRuns):
        return lambda x: np.exp(law.mean * (x - 1))
    if isinstance(law, Geometric):
        return lambda x: law.gamma * x / (1 - (1 - law.gamma) * x)
    return lambda x: np.log1p(-(1 - law.gamma) * x) / np.log(law.gamma)


def best_of(p, law):
    """Law of the best outcome, exactly; the first entry is the public default if there may be no run."""
    below = np.r_[0.0, np.cumsum(p)]
    below[-1] = 1.0
    steps = np.diff(generating(law)(below))
    return np.r_[law.none, steps] if law.none else steps


def pairs(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        p = rng.dirichlet(np.full(3, rng.choice([0.3, 1.0, 3.0]))) + 1e-9
        q = p * np.exp(rng.uniform(-1, 1, 3) * rng.choice([0.1, 0.5, 1.0, 2.0]))
        yield p / p.sum(), q / q.sum()


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("mean", [1.5, 4.0, 20.0])
def test_no_pair_of_laws_exceeds_the_bound(kind, mean):
    law = kind.of_mean(mean)
    orders = ORDERS[(ORDERS > 1.01) & (ORDERS < 300)][::6]
    closest = 0.0
    for p, q in pairs(200, seed=int(mean * 10)):
        bound = law.renyi(TableBill(p, q), orders)
        exact = divergence(best_of(p, law), best_of(q, law), orders)
        assert np.all(exact <= bound * (1 + 1e-9) + 1e-12)
        closest = max(closest, float(np.max(exact / bound)))
    assert closest > 0.55  # the bound is not a vacuous one


@pytest.mark.parametrize("kind", LAWS)
def test_dropping_a_term_of_the_bound_is_caught(kind):
    law = kind.of_mean(4.0)
    orders = ORDERS[(ORDERS > 1.01) & (ORDERS < 300)][::6]
    caught = 0
    for p, q in pairs(200, seed=3):
        exact = divergence(best_of(p, law), best_of(q, law), orders)
        caught += bool(np.any(exact > TableBill(p, q).renyi(orders) * (1 + 1e-9)))
    assert caught > 20  # the divergence of one run alone does not cover a search


def test_publishing_the_number_of_runs_breaks_the_promise():
    """Runs that succeed with probability 1 - p: given K = k, failure has probability p^k, and the ratio of two is unbounded."""
    law = Logarithmic.of_mean(10)
    mu = gaussian_mu(1.0, DELTA)
    claimed = SearchCost(FixedCost(mu**2 / 2, True), law).epsilon(DELTA)
    k = np.arange(1, 4000)
    drawn = (1 - law.gamma) ** k / (k * math.log(1 / law.gamma))
    assert drawn.sum() == pytest.approx(1.0, abs=1e-9)
    from scipy.special import ndtr

    published = hidden = 0.0
    for threshold in np.linspace(0.0, 3.0, 31):
        miss, other = ndtr(threshold), ndtr(threshold - mu)
        failed, failed_too = drawn * miss**k, drawn * other**k
        published = max(published, float(np.maximum(failed - math.exp(claimed) * failed_too, 0).sum()))
        hidden = max(hidden, float(failed.sum() - math.exp(claimed) * failed_too.sum()))
    assert hidden <= DELTA
    assert published > 100 * DELTA


# ------------------------------------------------------------------------------------------------ calibration and bills


@pytest.mark.parametrize("name", ["logarithmic", "geometric", "poisson"])
@pytest.mark.parametrize("gaussian", [True, False])
def test_a_calibrated_search_spends_its_budget_and_no_more(name, gaussian):
    bill = calibrate_search(2.0, 1e-5, law_of(name, 4), gaussian=gaussian)
    assert 2.0 * (1 - 1e-6) < bill.epsilon(1e-5) <= 2.0
    assert SearchCost(bill.base.scaled(1.01), bill.law).epsilon(1e-5) > 2.0


@pytest.mark.parametrize("mean", [1.5, 4.0])
def test_a_search_without_any_run_counts_with_its_probability(mean):
    """Runs that cost nothing leave the moment of the law alone: m for some run, exp(-m) for none."""
    orders = np.array([1.5, 2.0, 8.0, 64.0])
    found = PoissonRuns.of_mean(mean).renyi(FixedCost(1e-16, gaussian=True), orders) * (orders - 1)
    np.testing.assert_allclose(found, math.log(mean + math.exp(-mean)), rtol=1e-5)


@pytest.mark.parametrize(("law", "epsilon"), [("logarithmic", 0.714), ("geometric", 0.675), ("poisson", 0.529)])
def test_a_total_of_one_leaves_each_run_a_known_part(law, epsilon):
    bill = calibrate_search(1.0, DELTA, law_of(law, 10), gaussian=True)
    assert bill.base.epsilon(DELTA) == pytest.approx(epsilon, abs=0.005)


def test_the_automatic_law_is_logarithmic():
    assert law_of("auto", 1.5) == law_of("logarithmic", 1.5)
    assert law_of("auto", 10) == law_of("logarithmic", 10)


def test_a_promise_of_zcdp_uses_no_gaussian_curve():
    plain, gaussian = FixedCost(0.1), FixedCost(0.1, True)
    assert plain.mu() == math.inf
    assert gaussian.delta(1.0) == gaussian_delta(1.0, math.sqrt(0.2))
    assert plain.delta(1.0) > gaussian.delta(1.0)
    assert plain.epsilon(DELTA) == renyi_epsilon(0.1 * ORDERS, DELTA)
    assert gaussian.epsilon(DELTA) == gaussian_epsilon(math.sqrt(0.2), DELTA)
    places = np.array([0.01, 0.5, 2.0])
    for promise in (plain, gaussian):
        np.testing.assert_allclose(promise.deltas(places), [promise.delta(e) for e in places], rtol=1e-12)
    assert plain.epsilon(0) == gaussian.epsilon(0) == math.inf


@pytest.mark.parametrize("law", [Logarithmic(0.1), Geometric(0.25), PoissonRuns(3.0)])
def test_bills_survive_storage(law):
    bill = SearchCost(FixedCost(0.1, True, Adjacency.ADD_REMOVE), law)
    again = read_cost(json.loads(canonical_json(write_cost(bill))))
    assert again == bill
    assert again.adjacency is Adjacency.ADD_REMOVE


def test_a_pure_run_gives_a_pure_search():
    class Pure(TableBill):
        def pure(self):
            return 0.5

    base = Pure([0.5, 0.3, 0.2], [0.4, 0.4, 0.2])
    assert SearchCost(base, Logarithmic(0.1)).pure() == 1.0
    assert SearchCost(base, Geometric(0.1)).pure() == 1.5
    assert SearchCost(base, PoissonRuns(3.0)).pure() == math.inf


@pytest.mark.parametrize("mean", [1, 0.5, True, "ten", float("nan"), 1e9])
def test_a_bad_mean_is_refused(mean):
    with pytest.raises(BudgetError, match="mean_runs must be a number above 1"):
        law_of("auto", mean)


def test_bad_laws_budgets_and_promises_are_refused():
    with pytest.raises(BudgetError, match="law must be 'auto' or one of"):
        law_of("uniform", 5)
    with pytest.raises(BudgetError, match="Choose delta > 0"):
        calibrate(1.0, 0.0, FixedCost)
    with pytest.raises(PrivacyError, match="positive finite rho"):
        FixedCost(0.0)
