"""Gradients of many classes and energies of buckets: exact integers, one norm for the whole matrix, a sensitivity that is reached."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from builders import SUM_UNITS, Rows, exact_sum, halved_constants, measured, whole_sum
from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.core.facts import Facts, Target
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Loss, Softmax, Squared
from dpsparse.oracles import CentralOracle
from dpsparse.queries.kinds import GroupEnergies, JointGradient
from dpsparse.queries.rules import measure
from truth import audit
from truth.neighbours import loss_per_scale, neighbours
from truth.rows import KINDS, Table, adversarial, table

RELATIONS = ("replace-one", "add-remove")
D, K = 12, 3
W = np.rint(np.random.default_rng(1).normal(0, 1, (D + 1, K)) * 64) / 64
WEIGHTS = {"alike": np.ones(D + 1), "wild": np.geomspace(1e-4, 100.0, D + 1)}
SUPPORT = np.array([7, 2, 12])
BUCKETS = GroupEnergies(np.arange(D) % 4, 6)
#: Squared loss stands for slopes of any size: a clip must hold whatever a loss says.
LOSSES = {"softmax": Softmax(K), "any": Squared()}


def oracle_of(given: Table, *asks: str, relation: str = "replace-one", loss: Loss | None = None) -> CentralOracle:
    plan = Plan(asks=tuple(Ask(name=a, noise=Noise.GAUSSIAN) for a in asks))
    rows = Rows(given.X, given.y, given.facts)
    return CentralOracle(rows, loss or Softmax(K), price(plan, Budget.zcdp(0.5).under(relation)), Randomness(0))


def classes(kind: str, n: int = 20) -> Table:
    """Rows whose targets are whole numbers, some of them no class."""
    given = table(kind, n=n, intercept=0.5)
    return Table(given.X, np.rint(np.abs(given.y)), given.facts)


# ------------------------------------------------------------------------------------------------ sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_moves_further_between_neighbours_than_was_priced(relation, kind, loss):
    a, priced = WEIGHTS["wild"], []

    def run(rows: Table) -> None:
        oracle = oracle_of(rows, "all", "some", "energies", relation=relation, loss=LOSSES[loss])
        oracle.answer(JointGradient(W, a, 0.5), "all")
        oracle.answer(JointGradient(W, a[SUPPORT], 0.5, SUPPORT), "some")
        oracle.answer(BUCKETS, "energies")
        priced[:] = [oracle.priced.cost(r.ask).strength for r in oracle.receipts]

    for one, two in neighbours(classes(kind), relation):
        losses = loss_per_scale(run, one, two)
        assert len(losses) == 3
        assert all(found <= allowed * (1 + 1e-12) for found, allowed in zip(losses, priced, strict=True))


def loss_of_worst(question: str, relation: str) -> tuple[float, float]:
    """What the worst neighbours lose, and what was priced: a row and its mirror image; rows in two buckets."""
    facts = Facts(n_rows=2, n_features=2, target=Softmax(K).targets(1.0), row_norm=1.0)
    first, second = {
        "gradient": ([1.0, 0.0], [-1.0, 0.0]),
        "energies": ([1.0, 0.0], [0.0, 1.0]),
    }[question]
    one, two = (Table(np.array([x, [0.0, 0.0]]), np.array([1.0, 0.0]), facts) for x in (first, second))
    if relation == "add-remove":
        two = one.only(slice(1, 2))
    asked = {
        "gradient": JointGradient(np.zeros((2, K)), np.array([0.8, 2.0]), 0.5),
        "energies": GroupEnergies(np.array([0, 1]), 2),
    }[question]
    priced = {}

    def run(rows: Table) -> None:
        oracle = oracle_of(rows, question, relation=relation)
        oracle.answer(asked, question)
        priced["mu"] = oracle.priced.cost(question).strength

    [found] = loss_per_scale(run, one, two)
    return found, priced["mu"]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("question", ["gradient", "energies"])
def test_the_worst_neighbours_use_up_the_price(question, relation):
    found, allowed = loss_of_worst(question, relation)
    assert 0.999 * allowed < found <= allowed


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("question", ["gradient", "energies"])
def test_control_a_halved_constant_is_caught(question, relation):
    with halved_constants():
        found, allowed = loss_of_worst(question, relation)
    assert found > 1.9 * allowed


def test_the_price_does_not_grow_with_the_classes():
    lattice = Rows(np.zeros((4, D)), np.zeros(4), Facts(n_rows=4, n_features=D, intercept=0.5)).lattice
    few, many = (measure(JointGradient(np.zeros((D + 1, k)), np.ones(D + 1), 0.5), lattice).reach for k in (3, 300))
    for relation in Budget.zcdp(0.5).under("replace-one").relation, Budget.zcdp(0.5).under("add-remove").relation:
        assert few.l2(relation) == many.l2(relation) == relation.kappa * 0.5


@pytest.mark.parametrize("row_norm", [0.5, 3.0])
def test_the_longest_row_has_the_energy_that_is_stated(row_norm):
    facts = Facts(n_rows=1, n_features=D, lower=-row_norm, upper=row_norm, row_norm=row_norm)
    row = np.zeros((1, D))
    row[0, 1] = row_norm
    rows = Rows(row, np.zeros(1), facts)
    stated = measure(BUCKETS, rows.lattice).reach.entry
    assert measured(BUCKETS, rows, Squared()).values[1] == pytest.approx(stated[1], rel=1e-3)
    assert stated[1] == pytest.approx(row_norm**2, rel=1e-3)


# ------------------------------------------------------------------------------------------------ exact integers


@pytest.mark.parametrize("kind", ["dense shifted", "sparse", "sparse shifted"])
@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("support", [None, SUPPORT], ids=["all", "some"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_sum_is_exactly_the_sum_of_its_records_and_each_is_within_its_norm(kind, name, support, loss):
    """In fractions: no float is trusted. Also for adversarial records."""
    given = classes(kind)
    bad = adversarial(D)
    X = np.vstack([given.dense(), *[x for x, _ in bad]])
    facts = given.facts.with_(n_rows=X.shape[0])
    given = Table(sp.csr_matrix(X) if sp.issparse(given.X) else X, np.r_[given.y, [y for _, y in bad]], facts)
    a = WEIGHTS[name] if support is None else WEIGHTS[name][support]
    question = JointGradient(W, a, 0.5, support)

    def total(part: Table) -> np.ndarray:
        return whole_sum(Rows(part.X, part.y, part.facts), question, LOSSES[loss])

    whole = total(given)
    parts = [total(given.only(slice(i, i + 1))) for i in range(given.y.size)]
    assert whole.dtype == np.int64
    assert whole.tolist() == [sum(int(p[j]) for p in parts) for j in range(a.size * K)]
    units = [Fraction(float(u)) for u in measure(question, Rows(given.X, given.y, given.facts).lattice).unit]
    for part in parts:
        assert sum((u * int(v)) ** 2 for v, u in zip(part, units, strict=True)) <= Fraction(0.5) ** 2
        assert max(abs(int(v)) for v in part) <= SUM_UNITS


@pytest.mark.parametrize("kind", KINDS)
def test_a_joint_gradient_is_its_definition(kind):
    """The matrix of slope times weighted row, shrunk to the norm, up to the lattice of rows."""
    given = classes(kind)
    rows = Rows(given.X, given.y, given.facts)
    x = np.clip(given.dense(), given.facts.lower, given.facts.upper)
    x *= np.minimum(1, given.facts.row_norm / np.maximum(np.linalg.norm(x, axis=1), 1e-300))[:, None]
    x = np.c_[x - rows.applied_shift, np.full(len(x), rows.applied_intercept)]
    p = np.exp(x @ W)
    slope = p / p.sum(axis=1, keepdims=True) - (np.clip(given.y, -3, 3)[:, None] == np.arange(K))
    a = np.geomspace(0.1, 3.0, D + 1)
    for support in (None, SUPPORT):
        picked = slice(None) if support is None else support
        matrices = np.einsum("ij,ik->ijk", x[:, picked] * a[picked], slope)
        norms = np.sqrt((matrices**2).sum(axis=(1, 2), keepdims=True))
        expected = (matrices * np.minimum(1, 0.5 / np.maximum(norms, 1e-300))).sum(axis=0)
        found = measured(JointGradient(W, a[picked], 0.5, support), rows, Softmax(K)).values
        np.testing.assert_allclose(found, expected.ravel(), atol=5e-3)
        exact = exact_sum(
            JointGradient(W, a[picked], 1e-9, support),
            Rows(given.X, given.y, given.facts, lattice=False),
            Softmax(K),
        )
        np.testing.assert_allclose(exact, matrices.sum(axis=0).ravel(), atol=5e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_energies_are_their_definition_and_add_up_to_squared_lengths(kind):
    given = classes(kind)
    rows = Rows(given.X, given.y, given.facts)
    x = np.clip(given.dense(), given.facts.lower, given.facts.upper)
    x *= np.minimum(1, given.facts.row_norm / np.maximum(np.linalg.norm(x, axis=1), 1e-300))[:, None]
    x = x - rows.applied_shift
    expected = [(x[:, np.arange(D) % 4 == b] ** 2).sum() for b in range(6)]
    np.testing.assert_allclose(measured(BUCKETS, rows, Squared()).values, expected, rtol=2e-3, atol=1e-3)
    exact = exact_sum(BUCKETS, Rows(given.X, given.y, given.facts, lattice=False), Squared())
    np.testing.assert_allclose(exact, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_records_that_are_not_finite_count_for_nothing(sparse):
    facts = Facts(n_rows=2, n_features=2, shift=np.array([0.5, 0.0]), intercept=0.5, sparse=sparse)
    shape = sp.csr_matrix if sparse else np.asarray
    good = np.array([[1.0, 0.5]])
    for question in (JointGradient(np.ones((3, K)), np.ones(3), 1.0), GroupEnergies(np.array([1, 0]), 2)):
        one = measured(question, Rows(shape(good), np.ones(1), facts), Softmax(K)).total
        for x, y in (([np.nan, 1.0], 1.0), ([0.75, -1.0], np.nan)):
            both = measured(question, Rows(shape(np.vstack([[x], good])), np.array([y, 1.0]), facts), Softmax(K)).total
            assert both.tolist() == one.tolist()


# ------------------------------------------------------------------------------------------------ noise, refusals


def test_the_noise_is_alike_in_every_entry_and_as_large_as_stated():
    """2000 answers about empty rows: each deviation within 5 standard errors; with half the noise all are far outside."""
    facts = Facts(n_rows=10, n_features=D, intercept=0.5)
    given = Table(np.zeros((10, D)), np.full(10, np.nan), facts)
    times = 2000
    priced = price(Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, times=times),)), Budget.zcdp(0.5))
    oracle = CentralOracle(Rows(given.X, given.y, facts), Softmax(K), priced, Randomness(3))
    question = JointGradient(np.zeros((D + 1, K)), WEIGHTS["wild"], 0.5)
    answers = np.array([oracle.answer(question, "a") for _ in range(times)])
    assert answers.shape == (times, (D + 1) * K)
    stated = oracle.deviation(question, "a", times - 1)
    error = (audit.SIGMAS + 1) / math.sqrt(2 * times)
    assert np.all(np.abs(answers.std(axis=0) / stated - 1) < error)
    assert np.all(np.abs(answers.std(axis=0) / (2 * stated) - 1) > error), "control"


@pytest.mark.parametrize(
    "question",
    [
        JointGradient(W[:-1], np.ones(D + 1), 0.5),
        JointGradient(W[:, 0], np.ones(D + 1), 0.5),
        JointGradient(W[:, :0], np.ones(D + 1), 0.5),
        JointGradient(W, np.ones(3), 0.5),
        JointGradient(W, np.r_[np.ones(D), 0.0], 0.5),
        JointGradient(W, np.ones(D + 1), math.inf),
        JointGradient(W, np.ones(2), 0.5, np.array([1, 1])),
        GroupEnergies(np.zeros(D + 1, dtype=int), 2),
        GroupEnergies(np.zeros(D), 2),
        GroupEnergies(np.full(D, 2), 2),
        GroupEnergies(np.full(D, -1), 2),
        GroupEnergies(np.zeros(D, dtype=int), 65),
        GroupEnergies(np.zeros(D, dtype=int), 0),
    ],
)
def test_questions_that_the_proof_does_not_cover_are_refused_before_they_are_charged(question):
    given = classes("dense")
    oracle = oracle_of(given, "a")
    with pytest.raises(PrivacyError):
        oracle.answer(question, "a")
    assert oracle.unused_turns == {"a": 1}


@pytest.mark.parametrize("question", [JointGradient(W, np.ones(D + 1), 0.5), BUCKETS])
def test_they_are_not_asked_of_a_sample(question):
    given = classes("dense")
    priced = price(Plan(asks=(Ask(name="a", noise=Noise.GAUSSIAN, rows=PoissonRows(0.5)),)), Budget.approx(1.0, 1e-5))
    oracle = CentralOracle(Rows(given.X, given.y, given.facts), Softmax(K), priced, Randomness(0))
    with pytest.raises(PrivacyError, match="every row"):
        oracle.answer(question, "a")


def test_targets_of_many_classes_are_coded_up_to_the_last():
    assert Softmax(4).targets(1.0) == Target(kind="classes", bound=3.0, n_classes=4)
    for wrong in ({"kind": "numbers", "n_classes": 3}, {"kind": "classes", "n_classes": 3, "bound": 1.0}):
        with pytest.raises(ValueError, match="classes"):
            Target(**wrong)
