"""One bounded number from each row: validation losses and counts."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from builders import Rows, exact_sum, measured
from dpsparse.accounting import price
from dpsparse.core import Adjacency, Ask, Budget, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.core.facts import Facts, Target
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import KnownLink, Logistic, Squared
from dpsparse.oracles import CentralOracle, ExactOracle
from dpsparse.queries.kinds import Count, MeanLoss

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (40, 3))
Y = RNG.uniform(-1, 1, 40)
FACTS = Facts(n_rows=40, n_features=3, intercept=1.0, row_norm=2.0, target=Target(bound=1.0))
CLASSES = Facts(n_rows=40, n_features=3, intercept=1.0, row_norm=2.0, target=Target(bound=2.0))
W = np.array([[1.0, -2.0, 0.5, 0.1]])
SEVERAL = 5 * RNG.normal(size=(3, 4))

QUESTIONS = {
    "squared": (MeanLoss(W, "squared", 0.7), Y, FACTS, Squared()),
    "absolute": (MeanLoss(W, "absolute", 0.5), Y, FACTS, Squared()),
    "linked": (MeanLoss(W, "squared", 0.7), Y, FACTS, KnownLink("sigmoid")),
    "error": (MeanLoss(W, "error", 1.0), (Y > 0).astype(float), FACTS, Logistic()),
    "log-loss": (MeanLoss(W, "log-loss", 2.0), (Y > 0).astype(float), FACTS, Logistic()),
    "error of three": (MeanLoss(SEVERAL, "error", 1.0), np.arange(40) % 3.0, CLASSES, Logistic()),
    "log-loss of three": (MeanLoss(SEVERAL, "log-loss", 2.0), np.arange(40) % 3.0, CLASSES, Logistic()),
    "count": (Count(), Y, FACTS, Squared()),
}
ADVERSARIAL = [
    (np.full(3, 1e6), 1e9),
    (np.full(3, -1e6), -1e9),
    (np.full(3, np.nan), 0.0),
    (np.array([np.inf, 0.0, 0.0]), 1.0),
    (np.zeros(3), np.nan),
    (np.zeros(3), 1.0),
    (np.zeros(3), -1.0),
    (np.ones(3), 1.0),
    (np.array([1.0, -1.0, 1.0]), 0.0),
    (np.array([-1.0, 1.0, -1.0]), 1.0),
]


def slow_truth(question, x, y, loss):
    """The loss of one clipped record, spelled out."""
    if isinstance(question, Count):
        return 1.0
    margins = question.models[:, :3] @ x + question.models[:, 3]
    if question.kind == "error":
        guess = int(np.argmax(margins)) if margins.size > 1 else int(margins[0] > 0)
        return float(guess != y)
    if question.kind == "log-loss":
        chance = 1 / (1 + np.exp(-margins))
        p = chance[int(y)] / chance.sum() if margins.size > 1 else (chance[0] if y else 1 - chance[0])
        return min(-math.log(p), question.bound)
    guess = loss.mean(margins)[0] if isinstance(loss, KnownLink) else margins[0]
    guess = min(max(guess, -1.0), 1.0)  # as predict does, for targets within 1
    return min(abs(guess - y) ** (2 if question.kind == "squared" else 1), question.bound)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_a_tally_is_the_sum_of_bounded_losses(name, stored):
    question, y, facts, loss = QUESTIONS[name]
    truth = sum(slow_truth(question, x, t, loss) for x, t in zip(X, y, strict=True))
    rows = Rows(stored(X), y, facts.with_(sparse=stored is not np.asarray))
    found = measured(question, rows, loss)
    assert found.values[0] == pytest.approx(truth, abs=40 * 1e-4)
    assert exact_sum(question, rows, loss)[0] == pytest.approx(truth, abs=40 * 1e-4)
    assert found.values[0] <= exact_sum(question, rows, loss)[0] + 1e-9  # truncation only shrinks


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_record_moves_a_tally_by_more_than_stated_and_half_of_it_would_be_too_little(name, relation):
    question, y, facts, loss = QUESTIONS[name]

    def value(x, t):
        rows = Rows(np.vstack([x[None], X[1:]]), np.r_[t, y[1:]], facts)
        return measured(question, rows, loss)

    records = [value(x, t) for x, t in ADVERSARIAL]
    stated = records[0].reach.l2(relation)
    if relation is Adjacency.ADD_REMOVE:
        without = measured(question, Rows(X[1:], y[1:], facts), loss).values[0]
        moved = max(abs(r.values[0] - without) for r in records)
    else:
        moved = max(a.values[0] for a in records) - min(a.values[0] for a in records)
    assert moved <= stated * (1 + 1e-12)
    if name != "count" or relation is Adjacency.ADD_REMOVE:
        assert moved > 0.99 * stated


def test_a_wild_model_counts_as_the_worst_and_says_nothing():
    wild = np.array([[1e300, -1e300, 1e300, 0.0]]) * 1e8
    rows = Rows(X, Y, FACTS)
    ends = sum(min((np.sign(x @ [1, -1, 1]) - y) ** 2, 0.7) for x, y in zip(X, Y, strict=True))
    assert measured(MeanLoss(wild, "squared", 0.7), rows, Squared()).values[0] == pytest.approx(ends, rel=1e-5)
    unknown = MeanLoss(wild * np.nan, "squared", 0.7)
    assert measured(unknown, rows, Squared()).values[0] == pytest.approx(40 * 0.7, rel=1e-6)


def test_unknown_classes_count_as_nothing():
    question = MeanLoss(W, "error", 1.0)
    rows = Rows(X, np.full(40, np.nan), FACTS)
    assert measured(question, rows, Logistic()).values[0] == 0.0


def test_the_noise_of_a_score_is_the_priced_one():
    priced = price(Plan(asks=(Ask(name="score", noise=Noise.GAUSSIAN, times=4000),)), Budget.gdp(60.0))
    oracle = CentralOracle(Rows(X, Y, FACTS), Squared(), priced, Randomness(0))
    answers = np.array([oracle.validation_loss(W, kind="squared", bound=0.7) for _ in range(4000)])
    each = oracle.receipts[0]
    assert each.sensitivity == pytest.approx(0.7, rel=1e-5)
    assert each.scale == pytest.approx(0.7 * math.sqrt(4000) / 60.0, rel=1e-5)
    exact = measured(MeanLoss(W, "squared", 0.7), Rows(X, Y, FACTS), Squared()).values[0] / 40
    spread = each.scale / 40
    assert abs(answers.mean() - exact) < 6 * spread / math.sqrt(4000)  # false alarm 2e-9
    assert abs(answers.std() / spread - 1) < 6 / math.sqrt(2 * 4000)


def test_a_count_is_divided_by_the_public_number():
    priced = price(Plan(asks=(Ask(name="count", noise=Noise.GAUSSIAN),)), Budget.gdp(1e6, "add-remove"))
    oracle = CentralOracle(Rows(X, Y, FACTS.with_(n_rows=10)), Squared(), priced, Randomness(0))
    assert oracle.count() == pytest.approx(4.0, abs=1e-3)


def test_the_exact_oracle_answers_too():
    plan = Plan(asks=(Ask(name="score", noise=Noise.NONE), Ask(name="count", noise=Noise.NONE)))
    oracle = ExactOracle(Rows(X, Y, FACTS), Squared(), plan, np.random.default_rng(0))
    assert oracle.count() == 1.0
    assert 0 < oracle.validation_loss(W, kind="squared", bound=0.7) <= 0.7


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (MeanLoss(W, "hinge", 1.0), "one of error, log-loss, squared, absolute"),
        (MeanLoss(W, "squared", 0.0), "must be positive"),
        (MeanLoss(W, "squared", math.inf), "must be positive"),
        (MeanLoss(W[:, :2], "squared", 1.0), "4 coefficients each"),
        (MeanLoss(W[0], "squared", 1.0), "4 coefficients each"),
    ],
)
def test_bad_questions_are_refused(question, message):
    with pytest.raises(PrivacyError, match=message):
        measured(question, Rows(X, Y, FACTS), Squared())


def test_tallies_are_not_taken_over_samples():
    sampled = Plan(asks=(Ask(name="score", noise=Noise.GAUSSIAN, rows=PoissonRows(0.5)),))
    priced = price(sampled, Budget.approx(1.0, 1e-5))
    oracle = CentralOracle(Rows(X, Y, FACTS), Squared(), priced, Randomness(0))
    with pytest.raises(PrivacyError, match=r"EveryRow\(\)"):
        oracle.validation_loss(W, kind="squared", bound=0.7)
