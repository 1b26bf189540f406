"""Weighted questions: exact integers, enforced norms, a sensitivity that is reached and never passed, isotropic noise."""

from __future__ import annotations

import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

from builders import SUM_UNITS, Rows, halved_constants, measured
from dpsparse.accounting import price
from dpsparse.core import Adjacency, Ask, Budget, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.core.facts import Facts, Target
from dpsparse.core.mechanisms import Randomness, lattice_gaussian
from dpsparse.losses import Logistic, Squared
from dpsparse.oracles import CentralOracle, ExactOracle
from dpsparse.queries.kinds import MeanAbsolute, MeanRowNorm, WeightedGradient
from dpsparse.queries.sensitivity import RELEASE_UNITS
from dpsparse.rows.shard import Shard
from truth import audit
from truth.neighbours import loss_per_scale, neighbours
from truth.rows import KINDS, Table, adversarial, table

RELATIONS = ("replace-one", "add-remove")
D = 12
W = np.rint(np.random.default_rng(1).normal(0, 1, D + 1) * 64) / 64
#: Weights over six orders of magnitude, the smallest on the first column and the largest on the last.
WEIGHTS = {"alike": np.ones(D + 1), "mixed": np.geomspace(0.1, 3.0, D + 1), "wild": np.geomspace(1e-4, 100.0, D + 1)}
SUPPORT = np.array([7, 2, 12])


def oracle_of(given: Table, *asks: str, relation: str = "replace-one", rho: float = 0.5, **options) -> CentralOracle:
    plan = Plan(asks=tuple(Ask(name=a, noise=Noise.GAUSSIAN, **options) for a in asks))
    rows = Rows(given.X, given.y, given.facts)
    return CentralOracle(rows, Squared(), price(plan, Budget.zcdp(rho).under(relation)), Randomness(0))


def ask_everything(given: Table, relation: str, a: np.ndarray, w: np.ndarray = W) -> CentralOracle:
    names = ("gradient", "some", "means", "size", "some size")
    oracle = oracle_of(given, *names, relation=relation)
    oracle.weighted_gradient(w, a, norm=0.5)
    oracle.weighted_gradient(w, a[SUPPORT], norm=0.5, support=SUPPORT, ask="some")
    oracle.absolute_means()
    oracle.row_size(a, top=0.7)
    oracle.row_size(a[SUPPORT], top=0.3, support=SUPPORT, ask="some size")
    return oracle


# ------------------------------------------------------------------------------------------------ sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WEIGHTS)
def test_nothing_moves_further_between_neighbours_than_was_priced(relation, kind, name):
    """The trace A6: adversarial records for every question, storage and relation."""
    given = table(kind, n=20, intercept=0.5)
    priced: list[float] = []

    def run(rows: Table) -> None:
        oracle = ask_everything(rows, relation, WEIGHTS[name])
        priced[:] = [oracle.priced.cost(a.ask).strength for a in oracle.receipts]

    for one, two in neighbours(given, relation):
        losses = loss_per_scale(run, one, two)
        assert len(losses) == 5
        assert all(found <= allowed * (1 + 1e-12) for found, allowed in zip(losses, priced, strict=True))


def worst(question: str, relation: str) -> tuple[Table, Table]:
    """Neighbours that differ by as much as the question allows."""
    facts = Facts(n_rows=2, n_features=2, target=Target(bound=9.0), row_norm=1.0)
    first, second = {
        "gradient": (([1.0, 0.0], -9.0), ([1.0, 0.0], 9.0)),
        "means": (([1.0, 0.0], 0.0), ([0.0, 1.0], 0.0)),
        "size": (([1.0, 0.0], 0.0), ([0.0, 0.0], 0.0)),
    }[question]
    one, two = (Table(np.array([x, [0.0, 0.0]]), np.array([y, 0.0]), facts) for x, y in (first, second))
    return (one, two) if relation == "replace-one" else (one, one.only(slice(1, 2)))


def loss_of_worst(question: str, relation: str) -> tuple[float, float]:
    """What the worst neighbours lose, and what was priced."""
    priced = {}

    def run(rows: Table) -> None:
        oracle = oracle_of(rows, question, relation=relation)
        if question == "gradient":
            oracle.weighted_gradient(np.zeros(2), np.array([0.3, 2.0]), norm=0.5)
        elif question == "means":
            oracle.absolute_means()
        else:
            oracle.row_size(np.array([2.0, 1.0]), top=1.5)
        priced["mu"] = oracle.priced.cost(question).strength

    [found] = loss_per_scale(run, *worst(question, relation))
    return found, priced["mu"]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("question", ["gradient", "means", "size"])
def test_the_worst_neighbours_use_up_the_price(question, relation):
    found, allowed = loss_of_worst(question, relation)
    assert 0.999 * allowed < found <= allowed


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("question", ["gradient", "means", "size"])
def test_control_a_halved_constant_is_caught(question, relation):
    with halved_constants():
        found, allowed = loss_of_worst(question, relation)
    assert found > 1.9 * allowed


def test_control_caps_from_norms_without_weights_are_caught():
    """If rows were capped by their own norm, a heavy column would carry twice what was priced."""
    given = worst("gradient", "replace-one")
    rows = Rows(given[0].X, given[0].y, given[0].facts)
    a = np.array([2.0, 1.0])
    squares = [np.array([b.squares[0], 0.0]) for b in rows.only.blocks]
    with mock.patch.object(Shard, "weighted_squares", return_value=squares):
        total, unit = rows.weighted_gradient_sum(Squared(), np.zeros(2), 0.5, a)
    assert np.linalg.norm(total * unit * a) > 0.9


# ------------------------------------------------------------------------------------------------ exact integers


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("support", [None, SUPPORT], ids=["all", "some"])
def test_a_sum_is_exactly_the_sum_of_its_records_and_each_is_within_its_norm(kind, name, support):
    """In fractions: no float is trusted. Also for adversarial records."""
    given = table(kind, intercept=0.5)
    if given.X.dtype.kind == "f":
        bad = adversarial(D)
        X = np.vstack([given.dense(), *[x for x, _ in bad]])
        facts = given.facts.with_(n_rows=X.shape[0])
        given = Table(sp.csr_matrix(X) if sp.issparse(given.X) else X, np.r_[given.y, [y for _, y in bad]], facts)
    a = WEIGHTS[name] if support is None else WEIGHTS[name][support]

    def total(part: Table) -> tuple[np.ndarray, float]:
        rows = Rows(part.X, part.y, part.facts)
        return rows.weighted_gradient_sum(Squared(), W, 0.5, a, support=support)

    whole, unit = total(given)
    parts = [total(given.only(slice(i, i + 1)))[0] for i in range(given.y.size)]
    assert whole.dtype == np.int64
    assert whole.tolist() == [sum(int(p[j]) for p in parts) for j in range(a.size)]
    limit = Fraction(0.5) ** 2
    for part in parts:
        squared = sum((Fraction(unit) * int(v) * Fraction(float(b))) ** 2 for v, b in zip(part, a, strict=True))
        assert squared <= limit
        assert max(abs(int(v)) for v in part) <= SUM_UNITS


@pytest.mark.parametrize("kind", KINDS)
def test_a_weighted_gradient_is_its_definition(kind):
    """The clipped factor of each row times the weighted row, up to the lattice of rows."""
    given = table(kind, intercept=0.5)
    a = WEIGHTS["mixed"]
    rows = Rows(given.X, given.y, given.facts)
    x = np.clip(given.dense(), given.facts.lower, given.facts.upper)
    x *= np.minimum(1, given.facts.row_norm / np.maximum(np.linalg.norm(x, axis=1), 1e-300))[:, None]
    x = np.c_[x - rows.applied_shift, np.full(len(x), rows.applied_intercept)]
    y = np.clip(given.y, -3.0, 3.0)
    slope = x @ W - y
    for support in (None, SUPPORT):
        picked = slice(None) if support is None else support
        z = x[:, picked] * a[picked]
        cap = 0.5 / np.maximum(np.linalg.norm(z, axis=1), 1e-300)
        expected = (np.clip(slope, -cap, cap)[:, None] * z).sum(axis=0)
        total, unit = rows.weighted_gradient_sum(Squared(), W, 0.5, a[picked], support=support)
        np.testing.assert_allclose(total * unit * a[picked], expected, atol=5e-3)


def test_absolute_sums_and_sizes_are_their_definitions():
    for kind in KINDS:
        given = table(kind, intercept=0.5)
        rows = Rows(given.X, given.y, given.facts)
        x = np.clip(given.dense(), given.facts.lower, given.facts.upper)
        x *= np.minimum(1, given.facts.row_norm / np.maximum(np.linalg.norm(x, axis=1), 1e-300))[:, None]
        x = x - rows.applied_shift
        means, unit = rows.absolute_sum()
        np.testing.assert_allclose(means * unit, np.abs(x).sum(axis=0), atol=2e-3)
        a = np.r_[WEIGHTS["mixed"][:D], 0.0]
        lengths = np.minimum(np.linalg.norm(x * a[:D], axis=1), 0.7)
        assert measured(MeanRowNorm(a, 0.7), rows, Squared()).values[0] == pytest.approx(lengths.sum(), rel=1e-3)


def test_records_with_non_finite_values_count_for_nothing():
    facts = Facts(n_rows=2, n_features=2, shift=np.array([0.5, 0.0]), intercept=0.5)
    for X in (np.array([[np.nan, 1.0], [1.0, 0.0]]), np.array([[1.0, np.inf], [1.0, 0.0]])):
        for bad in (X, sp.csr_matrix(X)):
            good = bad[1:]
            shown = facts.with_(sparse=sp.issparse(bad))
            for question in (
                WeightedGradient(np.ones(3), np.ones(3), 1.0),
                MeanAbsolute(),
                MeanRowNorm(np.ones(3), 1.0),
            ):
                both, one = (
                    measured(question, Rows(rows, np.ones(rows.shape[0]), shown), Squared()).total
                    for rows in (bad, good)
                )
                assert both.tolist() == one.tolist()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_records_without_a_finite_target_count_for_nothing(sparse):
    X = np.array([[0.75, -1.0], [1.0, 0.5]])
    facts = Facts(n_rows=2, n_features=2, shift=np.array([0.5, 0.0]), intercept=0.5, sparse=sparse)
    given = sp.csr_matrix(X) if sparse else X
    for question in (WeightedGradient(np.ones(3), np.ones(3), 1.0), MeanAbsolute(), MeanRowNorm(np.ones(3), 1.0)):
        both = measured(question, Rows(given, np.array([np.nan, 1.0]), facts), Squared()).total
        one = measured(question, Rows(given[1:], np.ones(1), facts), Squared()).total
        assert both.tolist() == one.tolist()


# ------------------------------------------------------------------------------------------------ noise


def test_the_noise_is_alike_in_every_weighted_coordinate_and_as_large_as_stated():
    """4000 answers about empty rows: each deviation within 5 standard errors; with half the noise all are far outside."""
    facts = Facts(n_rows=10, n_features=D, intercept=0.5)
    given = Table(np.zeros((10, D)), np.zeros(10), facts)
    times = 4000
    for a in WEIGHTS.values():
        oracle = oracle_of(given, "gradient", times=times)
        w = np.zeros(D + 1)
        answers = np.array([oracle.weighted_gradient(w, a, norm=0.5) for _ in range(times)])
        stated = oracle.receipts[0].scale / facts.n_rows
        error = audit.SIGMAS / math.sqrt(2 * times)
        assert np.all(np.abs(answers.std(axis=0) / stated - 1) < error)
        assert np.all(np.abs(answers.std(axis=0) / (2 * stated) - 1) > error), "control"
        step = np.array([np.min(np.diff(np.unique(v))) for v in answers.T])
        assert np.all(step > 0.5 * 0.5 / RELEASE_UNITS / facts.n_rows), "answers lie on the released lattice"


def test_the_stated_sensitivity_holds_the_rounding():
    given = table("dense", intercept=0.5)
    for name, a in WEIGHTS.items():
        oracle = ask_everything(given, "replace-one", a)
        stated = oracle.receipts[0].sensitivity
        assert stated > 2 * 0.5
        # weights over six orders leave one unit of the sum above a millionth of the bound in the heaviest columns
        assert stated < 2 * 0.5 * (1 + {"wild": 1e-3}.get(name, 1e-5))


def test_lattice_noise_takes_a_scale_for_each_number():
    scales = np.repeat([3.0, 2.0**20], 50_000)
    noise = lattice_gaussian(np.zeros(100_000, dtype=np.int64), scales, Randomness(2))
    for value in (3.0, 2.0**20):
        found = noise[scales == value].std() / math.sqrt(value**2 + 1 / 12)
        assert abs(found - 1) < audit.SIGMAS / math.sqrt(2 * 50_000)
    for wrong in (np.ones(3), np.r_[np.ones(99_999), 0.0], np.r_[np.ones(99_999), np.nan]):
        with pytest.raises(ValueError, match="noise scale"):
            lattice_gaussian(np.zeros(100_000, dtype=np.int64), wrong, Randomness(2))


# ------------------------------------------------------------------------------------------------ refusals, twins


@pytest.mark.parametrize(
    ("weights", "support"),
    [
        (np.ones(3), None),
        (np.r_[np.ones(D), 0.0], None),
        (np.r_[np.ones(D), np.nan], None),
        (np.r_[np.ones(D), -1.0], None),
        (np.ones(2), np.array([1, 1])),
        (np.ones(2), np.array([-1, 12])),
        (np.ones(2), np.array([True, False])),
    ],
)
def test_weights_and_supports_that_the_proof_does_not_cover_are_refused(weights, support):
    given = table("dense", intercept=0.5)
    rows = Rows(given.X, given.y, given.facts)
    with pytest.raises(PrivacyError):
        measured(WeightedGradient(W, weights, 0.5, support), rows, Squared())


@pytest.mark.parametrize(
    "question", [WeightedGradient(W, np.ones(D + 1), 0.5), MeanAbsolute(), MeanRowNorm(np.ones(D + 1), 0.7)]
)
def test_weighted_questions_are_not_asked_of_a_sample(question):
    given = table("dense", intercept=0.5)
    priced = price(Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, rows=PoissonRows(0.5)),)), Budget.approx(1.0, 1e-5))
    oracle = CentralOracle(Rows(given.X, given.y, given.facts), Squared(), priced, Randomness(0))
    with pytest.raises(PrivacyError, match="every row"):
        oracle.answer(question, "a")
    assert oracle.unused_turns == {"a": 1}


@pytest.mark.parametrize("kind", ["dense shifted", "sparse", "sparse shifted", "int8 midpoint"])
def test_the_exact_oracle_answers_the_same_without_clip_and_noise(kind):
    given = table(kind, intercept=0.5)
    given = Table(given.X, (given.y > 0).astype(float), given.facts.with_(target=Target(bound=1.0)))
    plan = Plan(asks=tuple(Ask(name=n, noise=Noise.NONE) for n in ("gradient", "means", "size")))
    rows = Rows(given.X, given.y, given.facts, lattice=False)
    exact = ExactOracle(rows, Logistic(), plan, np.random.default_rng(0))
    a = WEIGHTS["mixed"]
    noisy = Rows(given.X, given.y, given.facts)
    for answer, question in (
        (exact.weighted_gradient(W, a, norm=1e-3), WeightedGradient(W, a, 20.0)),
        (exact.absolute_means(), MeanAbsolute()),
        (np.array([exact.row_size(a, top=0.7)]), MeanRowNorm(a, 0.7)),
    ):
        np.testing.assert_allclose(answer, measured(question, noisy, Logistic()).values / 40, atol=5e-4)


def test_both_relations_are_named():
    assert set(RELATIONS) == {str(r) for r in Adjacency}
