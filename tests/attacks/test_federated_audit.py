"""A server that asks the same thing in every round, against a site: what it learns stays within the price, and half of the noise is caught."""

import numpy as np
import pytest

from dpsparse.accounting import price
from dpsparse.facts import Clip, Facts
from dpsparse.federated import Report, Server, Site, Task
from dpsparse.hosts import MemoryHost
from dpsparse.losses import Squared
from dpsparse.mechanisms import lattice_gaussian
from dpsparse.oracles import SiteShare, SitesOracle, central
from dpsparse.privacy import Ask, Budget, Noise, Plan
from dpsparse.recipes import DPFedGDHT, DPFedSGDHT
from truth.audit import Stream, mu_lower
from truth.sites import estimator

ROUNDS, EPSILON = 3000, 2500.0


def attacked(present: bool, seed: int, recipe) -> tuple[np.ndarray, float]:
    """What a server sees of one person in every round of its choice, and the mu that was stated for one answer."""
    model = estimator(recipe, epsilon=EPSILON, sparsity=6, fit_intercept=False)
    server = Server(model, sites=["a", "b"], n_rows=20, n_features=6)
    X, y = np.zeros((20, 6)), np.zeros(20)
    X[7], y[7] = 1.0, 3.0 if present else -3.0
    site = Site(X, y, server.protocol, name="a", epsilon=EPSILON, delta=1e-5, random_state=seed)
    w = np.zeros(server.protocol.size)
    seen = [
        Report.from_bytes(site.answer(Task(server.protocol.identity, k, w).to_bytes())).change.sum()
        for k in range(server.protocol.rounds)
    ]
    return np.array(seen), site.statement.asks[0].cost


EVERY = DPFedGDHT(rounds=ROUNDS, local_steps=1, step_size=0.5, clip=1.0)


@pytest.mark.slow
def test_a_server_that_chooses_every_task_learns_no_more_than_was_priced():
    (one, cost), (two, _) = attacked(True, 1, EVERY), attacked(False, 2, EVERY)
    found = mu_lower(one, two)
    assert 0.6 * cost < found <= cost, "the attack is strong, and the promise holds"


@pytest.mark.slow
def test_half_of_the_noise_of_a_site_is_caught(monkeypatch):
    monkeypatch.setattr(
        central, "lattice_gaussian", lambda total, scale, noise: lattice_gaussian(total, scale / 2, noise)
    )
    (one, cost), (two, _) = attacked(True, 1, EVERY), attacked(False, 2, EVERY)
    assert mu_lower(one, two) > cost


def test_sampled_rows_are_seen_no_more_often_than_their_rate():
    """In rounds where the person takes part the sum moves by the clip; with hardly any noise that can be counted."""
    recipe = DPFedSGDHT(rounds=400, local_steps=1, step_size=0.5, clip=1.0, batch_size=5)
    model = estimator(recipe, epsilon=1e9, sparsity=6, fit_intercept=False)
    server = Server(model, sites=["a"], n_rows=20, n_features=6)
    X, y = np.zeros((20, 6)), np.zeros(20)
    X[7], y[7] = 1.0, 3.0
    site = Site(X, y, server.protocol, name="a", epsilon=1e9, delta=1e-5, random_state=3)
    w = np.zeros(server.protocol.size)
    moved = [
        abs(Report.from_bytes(site.answer(Task(server.protocol.identity, k, w).to_bytes())).change.sum())
        for k in range(400)
    ]
    share = np.mean(np.array(moved) > 0.5 * max(moved))
    assert share == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / 400))


# ------------------------------------------------------------------------------------------------ noise in shares


def shared(present: bool, seed: int, honest: int) -> tuple[np.ndarray, float]:
    """Sums of three sites of which `honest` add noise that nobody else knows."""
    facts = Facts(n_rows=12, n_features=4, row_norm=2.0, target_bound=2.0)
    plan = Plan(asks=(Ask(name="gradient", question="Gradient", noise=Noise.GAUSSIAN, times=ROUNDS),))
    priced = price(plan, Budget.approx(EPSILON, 1e-5))
    X, y = np.zeros((12, 4)), np.zeros(12)
    X[5], y[5] = 1.0, 2.0 if present else -2.0  # at the middle site, whose own share is always there
    cuts, parts = np.array_split(np.arange(12), 3), []
    for k, cut in enumerate(cuts):
        site = SiteShare(MemoryHost(X[cut], y[cut], facts), Squared(), priced, 2, Stream(10 * seed + k))
        parts.append(site if 0 < k <= honest else Silent(site))
    oracle = SitesOracle(facts, priced, parts, 2)
    seen = [oracle.gradient(np.zeros(4), clip=Clip(1.0)).sum() for _ in range(ROUNDS)]
    return np.array(seen), priced.cost("gradient").strength


class Silent:
    """A dishonest site: it adds nothing, as if its noise were known."""

    def __init__(self, site):
        self.site = site

    def part(self, question, ask):
        return np.zeros_like(self.site.part(question, ask))

    def choose(self, branch):
        raise AssertionError


@pytest.mark.slow
def test_two_honest_shares_of_three_keep_the_price_and_one_does_not():
    (one, cost), (two, _) = shared(True, 1, 2), shared(False, 2, 2)
    assert 0.6 * cost < mu_lower(one, two) <= cost
    (one, cost), (two, _) = shared(True, 1, 1), shared(False, 2, 1)
    assert mu_lower(one, two) > cost, "the control: one share is too little"
