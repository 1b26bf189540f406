"""A server that asks the same thing in every round, against a site: what it learns stays within the price, and half of the noise is caught."""

import numpy as np
import pytest

from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, Noise, Plan
from dpsparse.core.facts import Clip, Facts
from dpsparse.core.mechanisms import lattice_gaussian
from dpsparse.federated import Grid, Report, Server, Site, Task
from dpsparse.losses import Squared
from dpsparse.oracles import NoiseShare, SharedNoiseOracle, central
from dpsparse.queries import gradient as gradient_module
from dpsparse.recipes import DPFedGDHT, DPFedSGDHT
from dpsparse.rows.hosts import MemoryHost
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


# ------------------------------------------------------------------------------------------------ a trace over sites

#: What one record is exchanged for: huge, tiny with a huge target, nothing, and no numbers.
STRANGE = ((1e6, 1e6), (1e-8, 1e12), (0.0, 0.0), (np.nan, 1.0), (1.0, np.inf), (-1.0, 3.0))


def trace(rate: float) -> float:
    """The largest move of a report by one record over what was stated, with the same coins and noise; the other site's reports must not move at all."""
    recipe = DPFedGDHT(**ONE) if rate == 1 else DPFedSGDHT(batch_size=rate * 20, **ONE)
    server = Server(estimator(recipe, sparsity=6), sites=["a", "b"], n_rows=20, n_features=6)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (20, 6)), rng.uniform(-3, 3, 20)
    tasks = [Task(server.protocol.identity, k, rng.normal(size=server.protocol.size)) for k in range(ONE["rounds"])]
    largest = 0.0
    for record, target in STRANGE:
        other, targets = X.copy(), y.copy()
        other[7], targets[7] = record, target
        sites = [
            Site(a, b, server.protocol, name="a", epsilon=2.0, delta=1e-5, random_state=4)
            for a, b in ((X, y), (other, targets))
        ]
        stated = sites[0].statement.asks[0].sensitivity * ONE["step_size"] / (rate * 20)
        for task in tasks:
            one, two = (Report.from_bytes(site.answer(task.to_bytes())).change for site in sites)
            largest = max(largest, float(np.linalg.norm(one - two)) / stated)
    return largest


ONE = {"rounds": 6, "local_steps": 1, "step_size": 0.5, "clip": 1.0}


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_one_record_moves_a_report_by_no_more_than_was_stated(rate):
    assert 0.4 < trace(rate) <= 1 + 1e-9


def test_a_forgotten_clip_is_seen_in_the_reports(monkeypatch):
    monkeypatch.setattr(gradient_module, "factor_cap", lambda block, lattice, clip: np.full(block.y.size, 2.0**40))
    assert trace(1.0) > 1.5


def test_a_record_of_one_site_is_in_the_reports_of_no_other():
    """Whatever the tasks are: the other site answers the same bytes."""
    server = Server(estimator(DPFedGDHT(**ONE)), sites=["a", "b"], n_rows=20, n_features=6)
    X = np.random.default_rng(1).uniform(-1, 1, (20, 6))
    reports = []
    for target in (-3.0, 3.0):
        first = Site(X, np.full(20, target), server.protocol, name="a", epsilon=2.0, delta=1e-5, random_state=1)
        second = Site(X, X[:, 0], server.protocol, name="b", epsilon=2.0, delta=1e-5, random_state=2)
        task = Task(server.protocol.identity, 0, np.zeros(server.protocol.size)).to_bytes()
        first.answer(task)
        reports.append(second.answer(task))
    assert reports[0] == reports[1]


# ------------------------------------------------------------------------------------------------ the model of two sites alone

FITS, STRONG = 400, 8.0


def released(present: bool, first: int) -> tuple[np.ndarray, float]:
    """Models of fits with two sites, seen from outside, along the record that is there or its opposite; and the stated mu."""
    recipe = DPFedGDHT(rounds=1, local_steps=1, step_size=0.5, clip=1.0)
    model = estimator(recipe, epsilon=STRONG, sparsity=6, fit_intercept=False)
    X, y = np.zeros((20, 6)), np.zeros(20)
    X[7], y[7] = 1.0, 3.0 if present else -3.0
    seen = []
    for run in range(first, first + FITS):
        server = Server(model, sites=["a", "b"], n_rows=20, n_features=6, weights=[9, 1])
        sites = [
            Site(
                X if name == "a" else 0 * X,
                y,
                server.protocol,
                name=name,
                epsilon=STRONG,
                delta=1e-5,
                random_state=2 * run + k,
            )
            for k, name in enumerate("ab")
        ]
        seen.append(float(np.sum(Grid(server, sites).run().coef_)))
    return np.array(seen), sites[0].statement.asks[0].cost


@pytest.mark.slow
@pytest.mark.parametrize("part", [1, 2])
def test_the_model_of_two_sites_shows_no_more_than_was_priced_and_half_of_the_noise_is_caught(part, monkeypatch):
    """The noise of the other site is in the average too; with little weight it hardly helps."""
    monkeypatch.setattr(
        central, "lattice_gaussian", lambda total, scale, noise: lattice_gaussian(total, scale / part, noise)
    )
    (one, cost), (two, _) = released(True, 0), released(False, 10_000)
    found = mu_lower(one, two)
    assert 0.3 * cost < found <= cost if part == 1 else found > cost


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
        site = NoiseShare(MemoryHost(X[cut], y[cut], facts), Squared(), priced, 2, Stream(10 * seed + k))
        parts.append(site if 0 < k <= honest else Silent(site))
    oracle = SharedNoiseOracle(facts, priced, parts, 2)
    seen = [oracle.gradient(np.zeros(4), clip=Clip(1.0)).sum() for _ in range(ROUNDS)]
    return np.array(seen), priced.cost("gradient").strength


class Silent:
    """A dishonest site: it adds nothing, as if its noise were known."""

    def __init__(self, site):
        self.site = site

    def part(self, question, ask):
        return np.zeros_like(self.site.part(question, ask))

    def take_branch(self, branch):
        raise AssertionError


@pytest.mark.slow
def test_two_honest_shares_of_three_keep_the_price_and_one_does_not():
    (one, cost), (two, _) = shared(True, 1, 2), shared(False, 2, 2)
    assert 0.6 * cost < mu_lower(one, two) <= cost
    (one, cost), (two, _) = shared(True, 1, 1), shared(False, 2, 1)
    assert mu_lower(one, two) > cost, "the control: one share is too little"
