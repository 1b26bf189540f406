"""The local oracle: one report each, unbiased means, and what it refuses."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from builders import Rows
from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, EveryRow, Noise, NotPricedError, OncePerPerson, Plan, PrivacyError
from dpsparse.core.facts import Clip, Facts, Target
from dpsparse.losses import Huber, KnownLink, Logistic, Poisson, Squared
from dpsparse.oracles import CentralOracle, ExactOracle, LocalOracle, make_oracle
from dpsparse.oracles import local as local_module
from dpsparse.queries.kinds import Gradient, MeanSquares, RandomizedLabels
from truth import audit

rng = np.random.default_rng(0)
N, P = 4000, 4
X = rng.uniform(-1, 1, (N, P))
Y = np.clip(X @ [1.0, -0.5, 0.0, 0.3], -1, 1)
FACTS = Facts(n_rows=N, n_features=P, row_norm=2.0, target=Target(bound=1.0))


def oracle(times=4, noise=Noise.LOCAL, epsilon=4.0, delta=0.0, loss=None, y=Y, x=X, facts=FACTS, **rows) -> LocalOracle:
    name = "labels" if rows.get("labels") else "gradient"
    plan = Plan(asks=(Ask(name=name, noise=noise, times=times, rows=OncePerPerson(**rows)),))
    priced = price(plan, Budget.approx(epsilon, delta))
    return LocalOracle(Rows(x, y, facts), loss or Squared(), priced, audit.Stream(1))


def clipped_mean(w: np.ndarray, clip: float, rows: np.ndarray) -> np.ndarray:
    g = (X @ w - Y)[:, None] * X
    g *= np.minimum(1, clip / np.maximum(np.linalg.norm(g, axis=1), 1e-300))[:, None]
    return g[rows].mean(axis=0)


@pytest.mark.parametrize("mechanism", ["best", "duchi", "gaussian"])
def test_answers_are_means_of_the_clipped_gradients_of_one_group(mechanism):
    noise = Noise.LOCAL_GAUSSIAN if mechanism == "gaussian" else Noise.LOCAL
    options = {} if mechanism == "gaussian" else {"randomiser": mechanism}
    asked = oracle(noise=noise, epsilon=8.0, delta=1e-5 * (mechanism == "gaussian"), **options)
    turns = OncePerPerson().deal(N, 4)
    for turn in range(4):
        w = np.full(P, 0.1 * turn)
        told = asked.gradient(w, clip=Clip(0.7))
        error = told - clipped_mean(w, 0.7, turns == turn)
        assert np.all(np.abs(error) < 6 * asked.deviation(Gradient(w, Clip(0.7)), "gradient", turn) * 1.6)


def test_every_person_is_asked_exactly_once(monkeypatch):
    asked = oracle(times=3)
    seen = np.zeros(N)
    ordinary = local_module.contributions

    def watch(question, shard, loss, chosen, entries, **form):
        seen[:] += chosen
        return ordinary(question, shard, loss, chosen, entries, **form)

    monkeypatch.setattr(local_module, "contributions", watch)
    for _ in range(3):
        asked.gradient(np.zeros(P), clip=Clip(1.0))
    assert np.all(seen == 1)
    assert asked.passes == pytest.approx(1)
    with pytest.raises(NotPricedError):
        asked.gradient(np.zeros(P), clip=Clip(1.0))
    assert np.all(seen == 1)


def test_a_plan_of_several_models_asks_everybody_once_for_each():
    plan = Plan(asks=(Ask(name="gradient", noise=Noise.LOCAL, times=2, rows=OncePerPerson()),)).repeated(3)
    rows = Rows(X, Y, FACTS)
    asked = LocalOracle(rows, Squared(), price(plan, Budget.approx(30.0, 0.0)), audit.Stream(1))
    turns = OncePerPerson().deal(N, 2)
    for turn in range(6):
        told = asked.gradient(np.zeros(P), clip=Clip(0.7))
        error = told - clipped_mean(np.zeros(P), 0.7, turns == turn % 2)
        assert np.all(np.abs(error) < 10 * asked.deviation(Gradient(np.zeros(P), Clip(0.7)), "gradient", turn))
    assert asked.priced.cost("gradient", 5).strength == pytest.approx(10.0)


def test_groups_do_not_depend_on_the_data():
    first, second = (oracle(y=y) for y in (Y, -Y[::-1]))
    asked = [o.plan.asks[0].rows.deal(N, 4) for o in (first, second)]
    assert np.array_equal(*asked)


def test_pieces_of_any_size_give_reports_of_the_same_people():
    whole, small = oracle(epsilon=1e3), oracle(epsilon=1e3)
    small._entries = 5 * P
    # lengths are told by random signs, so take gradients that fill the ball
    asked = [o.gradient(np.full(P, 50.0), clip=Clip(0.01)) for o in (whole, small)]
    assert np.allclose(*asked, atol=2e-4)


def test_receipts_say_what_one_report_costs_and_how_many_people_gave_one():
    asked = oracle(times=4, epsilon=2.0)
    asked.gradient(np.zeros(P), clip=Clip(0.5))
    [receipt] = asked.receipts
    assert receipt.noise is Noise.LOCAL
    assert receipt.rate == 0.25
    assert receipt.sensitivity == 1.0
    assert receipt.sensitivity / receipt.scale == pytest.approx(2.0)


def test_one_coordinate_has_a_randomiser_of_numbers():
    facts = Facts(n_rows=N, n_features=1, row_norm=1.0, target=Target(bound=1.0))
    asked = oracle(times=1, x=X[:, :1], facts=facts)
    told = asked.gradient(np.zeros(1), clip=Clip(0.5))
    truth = np.clip(-Y * X[:, 0], -0.5, 0.5).mean()
    assert abs(told[0] - truth) < 6 * asked.deviation(Gradient(np.zeros(1), Clip(0.5)), "gradient", 0)


# ------------------------------------------------------------------------------------------------ labels


def test_labels_are_unbiased_and_features_public():
    asked = oracle(times=1, labels=True, epsilon=2.0)
    told = asked.labels()
    assert told.shape == (N,)
    assert abs(np.mean(told - Y)) < 5.5 * asked.deviation(RandomizedLabels(), "labels", 0) / math.sqrt(N)
    exact = ((X @ np.ones(P) - told)[:, None] * X).mean(axis=0)
    assert np.allclose(asked.facts.design.gradient(np.ones(P), told), exact, atol=1e-4)


@pytest.mark.parametrize("randomiser", ["two-point", "piecewise"])
def test_labels_at_their_bound_are_unbiased_too(randomiser):
    """Nothing within the declared bound is held back."""
    asked = oracle(times=1, labels=True, epsilon=4.0, y=np.ones(N), randomiser=randomiser)
    assert asked.terms.radius(RandomizedLabels()) == FACTS.target_bound
    assert abs(np.mean(asked.labels()) - 1.0) < 5.5 * asked.deviation(RandomizedLabels(), "labels", 0) / math.sqrt(N)


def test_the_public_design_holds_no_target():
    asked = oracle(times=1, labels=True)
    other = oracle(times=1, labels=True, y=np.where(Y > 0, np.nan, -Y))
    told = rng.standard_normal(N)
    assert np.array_equal(asked.facts.design.gradient(np.ones(P), told), other.facts.design.gradient(np.ones(P), told))
    assert all(not np.any(b.y) for s in asked.facts.design._shards for b in s.blocks)


@pytest.mark.parametrize("noise", [Noise.LOCAL, Noise.LOCAL_GAUSSIAN])
def test_bits_are_debiased_around_a_half(noise):
    bits = (Y > 0).astype(float)
    delta = 0.0 if noise is Noise.LOCAL else 1e-5
    told = oracle(times=1, labels=True, loss=Logistic(), y=bits, noise=noise, delta=delta).labels()
    assert abs(np.mean(told - bits)) < 5.5 * np.std(told - bits) / math.sqrt(N)
    assert (np.unique(told).size == 2) is (noise is Noise.LOCAL)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), KnownLink("tanh"), Poisson()])
def test_gradients_on_public_features_are_unbiased_in_the_label(loss):
    """The slope is continued linearly: its mean over estimates is the slope at the truth."""
    truth = (Y > 0).astype(float)
    design = oracle(times=1, labels=True, loss=loss, y=truth).facts.design
    w = np.array([0.5, -0.2, 0.1, 0.0])
    apart = 7.5 * np.sign(rng.standard_normal(N))
    mean = (design.gradient(w, truth + apart) + design.gradient(w, truth - apart)) / 2
    exact = (loss.slope(X @ w, truth)[:, None] * X).mean(axis=0)
    assert np.allclose(mean, exact, atol=1e-4)


@pytest.mark.parametrize("loss", [Huber(threshold=0.2), KnownLink("tanh", target=0.5)])
def test_losses_that_are_not_linear_in_the_target_are_refused_for_labels(loss):
    with pytest.raises(PrivacyError, match="linear in the target"):
        oracle(times=1, labels=True, loss=loss)


# ------------------------------------------------------------------------------------------------ refusals


def test_questions_that_were_not_priced_are_refused():
    with pytest.raises(PrivacyError, match="not asked MeanSquares"):
        oracle().answer(MeanSquares(), "gradient")
    with pytest.raises(PrivacyError, match="priced for gradients"):
        oracle().answer(RandomizedLabels(), "gradient")
    with pytest.raises(PrivacyError, match="priced for labels"):
        oracle(times=1, labels=True).answer(Gradient(np.zeros(P), Clip(1.0)), "labels")
    with pytest.raises(PrivacyError, match="whole gradients"):
        oracle().answer(Gradient(np.zeros(P), Clip(1.0), np.array([0])), "gradient")
    with pytest.raises(PrivacyError, match="no branches"):
        oracle().take_branch("other")


def test_curators_do_not_ask_for_labels():
    priced = price(Plan(asks=(Ask(name="labels", noise=Noise.GAUSSIAN),)), Budget.approx(1.0, 1e-5))
    rows = Rows(X, Y, FACTS)
    with pytest.raises(PrivacyError, match="OncePerPerson"):
        CentralOracle(rows, Squared(), priced, audit.Stream(0)).labels()
    with pytest.raises(PrivacyError, match="OncePerPerson"):
        ExactOracle(rows, Squared(), priced.plan, np.random.default_rng(0)).labels()


def test_the_number_of_people_must_be_the_declared_one():
    with pytest.raises(PrivacyError, match="number of people"):
        oracle(facts=FACTS.with_(n_rows=N + 1))


def test_who_answers_follows_from_the_plan():
    rows = Rows(X, Y, FACTS)
    local = price(Plan(asks=(Ask(name="g", noise=Noise.LOCAL, rows=OncePerPerson()),)), Budget.approx(1.0, 0.0))
    central = price(Plan(asks=(Ask(name="g", noise=Noise.GAUSSIAN, rows=EveryRow()),)), Budget.approx(1.0, 1e-5))
    assert type(make_oracle(rows, Squared(), local, audit.Stream(0))) is LocalOracle
    assert type(make_oracle(rows, Squared(), central, audit.Stream(0))) is CentralOracle
    with pytest.raises(PrivacyError, match="another one"):
        LocalOracle(rows, Squared(), central, audit.Stream(0))


@pytest.mark.parametrize("kind", ["dense", "sparse", "integers"])
def test_contributions_are_the_clipped_gradients_row_by_row(kind):
    dense = np.rint(X * 2) if kind == "integers" else X * (np.abs(X) > 0.5)
    stored = {"dense": dense, "sparse": sp.csr_matrix(dense), "integers": dense.astype(np.int8)}[kind]
    facts = Facts(
        n_rows=N, n_features=P, lower=-2.0, upper=2.0, row_norm=4.0, shift=0.5, intercept=0.7, target=Target(bound=1.0)
    )
    facts = facts.with_(sparse=kind == "sparse")
    rows = Rows(stored, Y, facts)
    w = np.array([0.3, -0.2, 0.0, 0.5, 0.1])
    shown = np.column_stack([dense - 0.5, np.full(N, rows.applied_intercept)])
    g = (shown @ w - Y)[:, None] * shown
    g *= np.minimum(1, 0.4 / np.linalg.norm(g, axis=1))[:, None]
    chosen = rng.random(N) < 0.3
    found = np.vstack(list(rows.contributions(Squared(), w, Clip(0.4), chosen, entries=1000)))
    assert np.allclose(found, g[chosen], atol=8 * rows.unit)  # each of five entries is off by less than 1.5 units
    assert np.linalg.norm(found, axis=1).max() <= 0.4 * (1 + 1e-12)
