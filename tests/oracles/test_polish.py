"""What polishing asks: exact sums that add up, a sensitivity that is reached and never passed, choices on public grids."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2

from builders import Rows, choice_scores, exact_sum, halved_constants, measured
from dpsparse.accounting import price
from dpsparse.algorithms.polish_steps import symmetric
from dpsparse.core import Adjacency, Ask, Budget, Noise, Plan, PoissonRows, PrivacyError
from dpsparse.core.facts import Facts, Target
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Huber, Logistic, Squared
from dpsparse.oracles import CentralOracle, ExactOracle, RecordingOracle, ReplayOracle
from dpsparse.queries.choices import weights_below
from dpsparse.queries.kinds import (
    CentredGradient,
    CentredModel,
    ColumnMeans,
    Correlation,
    Curvature,
    Gram,
    IntervalContrast,
    Magnitude,
    ModalEntry,
    Quantile,
    ResidualMean,
    Select,
)
from dpsparse.queries.polish import MEANS
from dpsparse.queries.rules import measure, sum_rule
from dpsparse.rows.columns import typical_entries
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.shard import Shard
from dpsparse.rows.units import WEIGHTS
from truth.neighbours import loss_per_scale, neighbours
from truth.rows import KINDS, Table, table

RELATIONS = ("replace-one", "add-remove")
SUPPORT = np.array([7, 2, 5, 11])
MODEL = CentredModel(SUPPORT, np.array([0.2, -0.1, 0.0, 0.4]), np.array([0.7, -1.3, 0.0, 0.25]), 0.3)
NOTHING = CentredModel(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0), 0.0)
GRID = np.geomspace(0.05, 3.0, 25)
EDGES = np.geomspace(0.02, 1.0, 26)
#: Ends of intervals, also beyond the bounds, of all features.
LOW = np.linspace(-1.2, 0.3, 12)
HIGH = LOW + np.geomspace(1e-6, 2.0, 12)
SUMS = {
    "residual": ResidualMean(MODEL, 0.7),
    "residual of nothing": ResidualMean(NOTHING, 0.7),
    "means": ColumnMeans(SUPPORT),
    "means of short rows": ColumnMeans(SUPPORT, 0.4, MODEL.centre),
    "gram": Gram(SUPPORT, MODEL.centre, 0.6),
    "curvature": Curvature(MODEL, 0.4, 0.8),
    "gradient": CentredGradient(MODEL, 0.4),
}
CHOICES = {
    "select": Select(Correlation(MODEL, 0.6, 0.3), Magnitude(), 1, SUPPORT),
    "select a contrast": Select(IntervalContrast(MODEL, 0.6, LOW, HIGH), Magnitude(), 1, SUPPORT),
    "select from nothing": Select(Correlation(NOTHING, 0.6, 5.0), Magnitude(), 1),
    **{of: Quantile(of, MODEL, part, GRID) for of, part in (("slopes", 0.4), ("gradients", 0.9), ("rows", 0.6))},
    "targets": Quantile("targets", NOTHING, 0.5, np.linspace(-3, 3, 41)),
    "typical": ModalEntry(0.5, EDGES),
    "typical from a centre": ModalEntry(0.5, EDGES, LOW / 2),
}


def oracle_of(given: Table, questions, relation="replace-one", rho=0.5, loss=None, seed=0, **options) -> CentralOracle:
    asks = (
        Ask(
            name=name,
            noise=Noise.GUMBEL if isinstance(q, Select | Quantile | ModalEntry) else Noise.GAUSSIAN,
            **options,
        )
        for name, q in questions.items()
    )
    priced = price(Plan(asks=tuple(asks)), Budget.zcdp(rho).under(relation))
    return CentralOracle(Rows(given.X, given.y, given.facts), loss or Squared(), priced, Randomness(seed))


def ask(oracle, questions) -> dict[str, np.ndarray]:
    return {name: np.asarray(oracle.answer(q, name)) for name, q in questions.items()}


def priced_losses(questions, one: Table, two: Table, relation: str, loss=None) -> tuple[list[float], list[float]]:
    """How far the query of each question moved over its noise, and what was paid for."""
    paid: list[float] = []

    def run(given: Table) -> None:
        oracle = oracle_of(given, questions, relation, loss=loss)
        ask(oracle, questions)
        paid[:] = [oracle.priced.cost(name).strength for name in questions]

    return loss_per_scale(run, one, two), paid


# ------------------------------------------------------------------------------------------------ sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=["squared", "logistic"])
def test_nothing_moves_further_between_neighbours_than_was_priced(relation, kind, loss):
    """The trace A6: adversarial records for every question, storage and relation."""
    given = table(kind, n=20, intercept=0.5, curvature=loss.curvature)
    for one, two in neighbours(given, relation):
        losses, paid = priced_losses(SUMS | CHOICES, one, two, relation, loss)
        assert len(losses) == len(SUMS) + len(CHOICES)
        assert all(found <= allowed * (1 + 1e-9) for found, allowed in zip(losses, paid, strict=True))


ONE = CentredModel(np.array([0]), np.zeros(1), np.zeros(1), 0.0)
WORST = {
    "residual": (ResidualMean(ONE, 0.5), ([1.0, 0.0], -9.0), ([1.0, 0.0], 9.0)),
    "means": (ColumnMeans(np.array([1, 0])), ([1.0, 0.0], 0.0), ([-1.0, 0.0], 0.0)),
    "means of short rows": (ColumnMeans(np.array([1, 0]), 0.3), ([1.0, 0.0], 0.0), ([-1.0, 0.0], 0.0)),
    "means from a centre": (
        ColumnMeans(np.array([1, 0]), 0.3, np.array([0.0, 0.5])),
        ([1.0, 0.0], 0.0),
        ([-1.0, 0.0], 0.0),
    ),
    "gradient": (CentredGradient(ONE, 0.5), ([1.0, 0.0], -9.0), ([1.0, 0.0], 9.0)),
    "curvature": (Curvature(ONE, 100.0, 1.0), ([1.0, 0.0], 0.0), ([0.0, 0.0], 0.0)),
    "gram": (Gram(np.array([0, 1]), np.zeros(2), 1.0), ([1.0, 0.0], 0.0), ([0.0, 1.0], 0.0)),
    "select": (
        Select(Correlation(NOTHING, 0.5, 0.5), Magnitude(1.0, np.array([50.0, 50.0])), 1),
        ([0.7, -0.7], -9.0),
        ([0.7, -0.7], 9.0),
    ),
    "contrast": (
        Select(
            IntervalContrast(NOTHING, 0.5, np.array([-0.1, 0.2]), np.array([0.3, 0.4])),
            Magnitude(1.0, np.array([50.0, 50.0])),
            1,
        ),
        ([0.7, -0.7], -9.0),
        ([0.7, -0.7], 9.0),
    ),
    "targets": (Quantile("targets", NOTHING, 0.5, np.array([-0.5, 0.5, 1.5])), ([0.0, 0.0], -1.0), ([0.0, 0.0], 1.0)),
    "slopes": (Quantile("slopes", NOTHING, 0.5, np.array([0.25, 0.75, 5.0])), ([0.0, 0.0], 0.1), ([0.0, 0.0], 3.0)),
    "typical": (ModalEntry(0.5, EDGES), ([0.9, -0.9], 0.0), ([0.1, -0.1], 0.0)),
}


def loss_of_worst(name: str, relation: str) -> tuple[float, float]:
    """What the worst neighbours lose, and what was paid for."""
    question, (x, y), (other_x, other_y) = WORST[name]
    facts = Facts(n_rows=20, n_features=2, target=Target(bound=9.0), row_norm=1.0, upper=1.0, lower=-1.0)
    # targets and slopes: 9 small values, the median, 9 large; rows are zero and count in no other question
    rest = np.zeros((19, 2)), np.r_[-np.full(9, 1.0), np.zeros(1), np.full(9, 1.0)]
    if name == "slopes":
        rest = rest[0], np.r_[np.full(9, 0.1), np.full(1, 0.5), np.full(9, 3.0)]
    if name not in ("targets", "slopes"):
        rest = rest[0], np.zeros(19)
    one, two = (
        Table(np.vstack([rest[0], np.array([a])]), np.r_[rest[1], b], facts) for a, b in ((x, y), (other_x, other_y))
    )
    two = two if relation == "replace-one" else one.only(slice(0, 19))
    [found], [paid] = priced_losses({name: question}, one, two, relation)
    return found, paid


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WORST)
def test_the_worst_neighbours_use_up_the_price(name, relation):
    found, paid = loss_of_worst(name, relation)
    assert 0.999 * paid < found <= paid * (1 + 1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WORST)
def test_control_a_halved_constant_is_caught(name, relation):
    with halved_constants():
        found, paid = loss_of_worst(name, relation)
    assert found > 1.9 * paid


# ------------------------------------------------------------------------------------------------ sums


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*SUMS, "select", "select a contrast"])
def test_sums_add_up_to_the_last_unit_whoever_else_is_there(kind, name):
    question = SUMS[name] if name in SUMS else CHOICES[name].of
    given = table(kind, n=37, intercept=0.5)
    given.y[5] = np.nan

    def total(which) -> np.ndarray:
        part = given.only(which)
        return measured(question, Rows(part.X, part.y, part.facts), Squared()).total

    whole, parts = total(slice(None)), total(slice(0, 13)) + total(slice(13, 37))
    assert np.array_equal(whole, parts)
    assert whole.dtype == np.int64


def by_definition(question, x, y, loss) -> np.ndarray:
    """The mean in floats, record by record; x as rows are shown."""
    if isinstance(question, ColumnMeans):
        a = x[:, question.support] - (0.0 if question.centre is None else question.centre)
        return (a * np.minimum(1, question.norm / np.linalg.norm(a, axis=1))[:, None]).mean(axis=0)
    if isinstance(question, Gram):
        a = x[:, question.support] - question.centre
        a = a * np.minimum(1, question.norm / np.linalg.norm(a, axis=1))[:, None]
        return a.T @ a / len(y)
    model = question.model
    a = x[:, model.support] - model.centre
    slope = loss.slope(model.offset + a @ model.w, y)
    norms = np.linalg.norm(a, axis=1)
    if isinstance(question, ResidualMean):
        return np.array([np.clip(slope, -question.bound, question.bound).mean()])
    if isinstance(question, Correlation):
        held = np.clip(slope, -question.slope, question.slope)
        return held @ np.clip(x, -question.entry, question.entry) / len(y)
    f = np.minimum(1, question.clip / np.maximum(np.abs(slope) * norms, 1e-300))
    if isinstance(question, CentredGradient):
        return (f * slope) @ a / len(y)
    p = 1 / (1 + np.exp(-(model.offset + a @ model.w)))
    bend = p * (1 - p) if isinstance(loss, Logistic) else 1.0
    return np.array([(f * bend * np.minimum(norms, question.norm) ** 2).mean() / model.support.size])


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=["squared", "logistic"])
@pytest.mark.parametrize("kind", ["dense", "dense shifted", "int8 midpoint", "sparse", "sparse shifted"])
def test_answers_are_what_is_asked_on_both_oracles(kind, loss):
    given = table(kind, n=60, intercept=0.5, curvature=loss.curvature, row_norm=100.0)
    questions = SUMS | {"correlation": CHOICES["select"].of}
    exact_rows = Rows(given.X, given.y, given.facts, lattice=False)
    lattice_rows = Rows(given.X, given.y, given.facts)
    x = np.clip(given.dense(), given.facts.lower, given.facts.upper) - given.facts.shift
    y = np.clip(given.y, -3, 3)
    noisy = ask(oracle_of(given, SUMS, rho=1e12, loss=loss), SUMS)
    for name, question in questions.items():
        truth = by_definition(question, x, y, loss)
        if isinstance(question, Correlation):
            truth = np.r_[truth, 0.0]
        exact = exact_sum(question, exact_rows, loss) / 60
        found = measured(question, lattice_rows, loss).values / 60
        if name == "gram":
            exact, found, noisy[name] = (symmetric(v, 4) for v in (exact, found, noisy[name]))
        assert np.allclose(exact, truth, atol=1e-7), name
        if isinstance(question, Correlation):  # the clip of entries is a whole number of units
            limit, _ = lattice_rows.lattice.clipped_lattice(question.entry)
            applied = replace(question, entry=limit * lattice_rows.unit)
            truth = np.r_[by_definition(applied, x, y, loss), 0.0]
        assert np.allclose(found, truth, atol=2e-4), name
        assert name == "correlation" or np.allclose(noisy[name], found, atol=1e-5), name


def test_curvature_of_a_loss_is_read_from_its_slope():
    given = table("dense", n=40)
    question = Curvature(NOTHING_ON, 1e9, 5.0)
    rows = Rows(given.X, given.y, given.facts, lattice=False)
    inside = np.abs(np.clip(given.y, -3, 3)) < 1.0
    x = rows.only.columns(NOTHING_ON.support)[0]
    found = exact_sum(question, rows, Huber(threshold=1.0))[0]
    assert found == pytest.approx((x[inside] ** 2).sum() / 2, rel=1e-6)


NOTHING_ON = CentredModel(np.array([0, 1]), np.zeros(2), np.zeros(2), 0.0)


def test_a_gram_matrix_has_half_the_noise_variance_off_its_diagonal():
    """64 matrices of 20 features that nobody has: 1280 diagonal and 12160 other numbers; false alarms below 1e-9."""
    m, times = 20, 64
    facts = Facts(n_rows=10, n_features=m)
    given = Table(np.zeros((10, m)), np.zeros(10), facts)
    question = Gram(np.arange(m), np.zeros(m), 1.0)
    oracle = oracle_of(given, {"gram": question}, rho=1.0, times=times)
    sigma = oracle.deviation(question, "gram", 0)
    matrices = [symmetric(oracle.answer(question, "gram"), m) for _ in range(times)]
    diagonal = np.concatenate([np.diag(a) for a in matrices]) / sigma
    off = np.concatenate([a[np.triu_indices(m, 1)] for a in matrices]) / sigma
    assert np.mean(diagonal**2) == pytest.approx(1.0, abs=7 * math.sqrt(2 / diagonal.size))
    assert np.mean(off**2) == pytest.approx(0.5, abs=3.5 * math.sqrt(2 / off.size))
    assert all(np.array_equal(a, a.T) for a in matrices)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", SUMS)
def test_the_stated_deviation_is_that_of_the_noise(name, relation):
    given = table("dense", intercept=0.5)
    oracle = oracle_of(given, SUMS, relation)
    ask(oracle, SUMS)
    [receipt] = [a for a in oracle.receipts if a.ask == name]
    assert oracle.deviation(SUMS[name], name, 0) == pytest.approx(receipt.scale / given.facts.n_rows, rel=1e-12)


# ------------------------------------------------------------------------------------------------ choices


@pytest.mark.parametrize("kind", KINDS)
def test_the_typical_entry_is_the_median_of_what_is_there(kind):
    given = table(kind, n=50, d=30, intercept=0.5, row_norm=100.0)
    rows = Rows(given.X, given.y, given.facts)
    x = np.clip(given.dense(), given.facts.lower, given.facts.upper) - rows.applied_shift
    counts, _ = choice_scores(ModalEntry(0.5, EDGES), rows, Squared(), Adjacency.REPLACE_ONE)
    expected = np.zeros(25)
    for row in x:
        there = np.abs(row)[np.abs(row) > rows.unit / 2]
        one_signed = abs(row.sum()) > 0.9 * np.abs(row).sum()
        if there.size:
            size = there.max() if one_signed else 0.5 * np.median(there)
            expected[np.clip(np.searchsorted(EDGES, size, side="right") - 1, 0, 24)] += 1
    assert np.abs(np.cumsum(counts - expected)).max() <= 1  # entries are rounded to the lattice
    assert counts.sum() == expected.sum()


def shown(rows: Rows) -> list[tuple[np.ndarray, np.ndarray]]:
    return [typical_entries(block, rows.lattice) for block in rows.only.blocks]


def test_one_signed_rows_show_their_largest_entry():
    X = np.array([[0.1, 0.1, 0.9], [0.1, -0.1, 0.1], [0.0, 0.0, 0.0], [-0.5, -0.5, -0.5]])
    given = Table(X, np.zeros(4), Facts(n_rows=4, n_features=3))
    for X_kind in (X, sp.csr_matrix(X)):
        facts = given.facts.with_(sparse=sp.issparse(X_kind))
        found = np.concatenate([np.where(b > 0, b, 0.5 * a) for a, b in shown(Rows(X_kind, given.y, facts))])
        assert np.allclose(found, [0.9, 0.05, 0.0, 0.5], atol=1e-4)


def test_a_quantile_is_one_where_noise_is_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (2000, 3)), np.clip(rng.standard_normal(2000), -3, 3)
    given = Table(X, y, Facts(n_rows=2000, n_features=3, target=Target(bound=3.0), row_norm=2.0))
    model = CentredModel(np.array([0, 1]), np.zeros(2), np.zeros(2), 0.0)
    grid = np.geomspace(0.01, 4, 200)
    rows = np.linalg.norm(X[:, :2], axis=1)
    for of, values in (("slopes", np.abs(y)), ("rows", rows), ("gradients", np.abs(y) * rows)):
        question = {of: Quantile(of, model, 0.6, grid)}
        found = grid[int(ask(oracle_of(given, question, rho=1e6), question)[of][0])]
        assert found == pytest.approx(np.quantile(values, 0.6), rel=0.04)
    assert int(
        ExactOracle(Rows(X, y, given.facts), Squared(), Plan(asks=(Ask(name="q", noise=Noise.NONE),)), rng).answer(
            Quantile("targets", NOTHING, 0.5, np.linspace(-3, 3, 401)), "q"
        )[0]
    ) == pytest.approx(200 + np.median(y) / 6 * 400, abs=1)


def test_values_of_zero_do_not_count():
    X = np.zeros((10, 2))
    X[:4, 0] = [0.1, 0.2, 0.3, 0.4]
    rows = Rows(X, np.zeros(10), Facts(n_rows=10, n_features=2))
    scores, _ = choice_scores(
        Quantile("rows", ONE, 0.5, np.array([0.15, 0.25, 0.5])), rows, Squared(), Adjacency.REPLACE_ONE
    )
    assert scores.tolist() == [-1.0, 0.0, 0.0]


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_quantile_of_nearly_constant_values_has_one_best_point(part):
    """Scored by their distance from the quantile, points would tie with every point above them. The control scores them so."""
    grid = np.geomspace(0.01, 1.0, 25)
    X = np.zeros((40, 2))
    X[:, 0] = 0.2 + 1e-4 * np.arange(40)
    rows = Rows(X, np.zeros(40), Facts(n_rows=40, n_features=2))
    scores, _ = choice_scores(Quantile("rows", ONE, part, grid), rows, Squared(), Adjacency.REPLACE_ONE)
    place = int(np.searchsorted(grid, 0.204))
    assert np.flatnonzero(scores == scores.max()).tolist() == [place]
    assert np.delete(scores, place).max() <= -40 * min(part, 1 - part) + 1e-3
    by_distance = -np.abs((X[:, :1] <= grid).sum(axis=0) - part * 40)
    assert np.count_nonzero(by_distance == by_distance[place]) >= grid.size - place > 5


def test_values_beyond_a_grid_count_at_its_ends():
    facts = Facts(n_rows=9, n_features=2, target=Target(bound=9.0))
    rows = Rows(np.zeros((9, 2)), np.r_[np.full(4, 0.1), np.full(5, 8.0)], facts)
    for part, expected in ((0.2, 0), (0.8, 3)):
        question = Quantile("slopes", NOTHING, part, np.array([0.5, 1.0, 2.0, 4.0]))
        scores, _ = choice_scores(question, rows, Squared(), Adjacency.REPLACE_ONE)
        assert np.argmax(scores) == expected
        assert scores.max() == 0.0


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    "support",
    [np.array([0, 0]), np.array([0, 12]), np.array([-1, 3]), np.array([True, False]), np.array([0.0, 1.0])],
    ids=["twice", "the intercept", "negative", "mask", "floats"],
)
@pytest.mark.parametrize("of", [ColumnMeans, lambda s: Gram(s, np.zeros(2), 1.0)], ids=["means", "gram"])
def test_a_support_names_features_each_once(support, of):
    given = table("dense", intercept=0.5)
    with pytest.raises(PrivacyError, match="support"):
        oracle_of(given, {"q": of(support)}).answer(of(support), "q")


@pytest.mark.parametrize("bound", [0.0, -1.0, math.inf, math.nan])
def test_a_bound_is_positive_and_finite(bound):
    for question in (ResidualMean(MODEL, bound), CentredGradient(MODEL, bound), Gram(SUPPORT, MODEL.centre, bound)):
        with pytest.raises(PrivacyError, match="bound"):
            oracle_of(table("dense"), {"q": question}).answer(question, "q")


@pytest.mark.parametrize("name", ["gradient", "gram"])
def test_polishing_asks_every_row(name):
    plan = Plan(asks=(Ask(name=name, noise=Noise.GAUSSIAN, rows=EVERY_THIRD),))
    given = table("dense")
    oracle = CentralOracle(
        Rows(given.X, given.y, given.facts), Squared(), price(plan, Budget.approx(1.0, 1e-5)), Randomness(0)
    )
    with pytest.raises(PrivacyError, match="every row"):
        oracle.answer(SUMS[name], name)


EVERY_THIRD = PoissonRows(1 / 3)


def test_a_sum_is_not_chosen_and_a_choice_is_not_summed():
    given = table("dense")
    with pytest.raises(PrivacyError, match="cannot protect"):
        oracle_of(given, {"q": CHOICES["rows"]}).answer(SUMS["gradient"], "q")
    with pytest.raises(PrivacyError, match="cannot protect"):
        oracle_of(given, {"q": SUMS["gradient"]}).answer(CHOICES["rows"], "q")


# ------------------------------------------------------------------------------------------------ branches


def test_a_replay_walks_through_branches_with_their_own_noise():
    many = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, share=0.7),))
    few = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=2, share=0.7),))
    plan = Plan(asks=(Ask(name="rows", noise=Noise.GUMBEL, share=0.3),), branches=(("many", many), ("few", few)))
    given = table("dense")
    rows = Rows(given.X, given.y, given.facts)
    recorder = RecordingOracle(CentralOracle(rows, Squared(), price(plan, Budget.zcdp(1.0)), Randomness()))

    def program(oracle) -> list:
        found = [oracle.answer(CHOICES["rows"], "rows")]
        oracle.take_branch("few")
        found.append(oracle.deviation(SUMS["gradient"], "gradient", 1))
        return [*found, *(oracle.answer(SUMS["gradient"], "gradient") for _ in range(2))]

    one = program(recorder)
    for original in (recorder, CentralOracle(rows, Squared(), price(plan, Budget.zcdp(1.0)), Randomness())):
        two = program(ReplayOracle(original, recorder.tape))
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_choices_have_the_law_of_the_exponential_mechanism():
    """20,000 choices of one quantile against P(e) ~ exp(score / scale); chi-square below its 1 - 1e-7 point, and above it
    for noise of half the scale.
    """
    times = 20_000
    rng = np.random.default_rng(2)
    given = Table(
        np.zeros((30, 2)),
        rng.standard_normal(30),
        Facts(n_rows=30, n_features=2, target=Target(bound=3.0), row_norm=1.0),
    )
    question = Quantile("slopes", NOTHING, 0.4, np.geomspace(0.1, 2.0, 8))
    oracle = oracle_of(given, {"q": question}, rho=0.08 * times, times=times)
    found = np.bincount([int(oracle.answer(question, "q")[0]) for _ in range(times)], minlength=8)
    scores, moved = choice_scores(question, oracle._host, Squared(), Adjacency.REPLACE_ONE)
    assert oracle.receipts[0].scale == pytest.approx(moved / math.sqrt(8 * 0.08))

    def statistic(scale: float) -> float:
        law = np.exp((scores - scores.max()) / scale)
        expected = times * law / law.sum()
        return float(np.sum((found - expected) ** 2 / expected))

    scale = 2 / math.sqrt(8 * 0.08)
    assert statistic(scale) < chi2.isf(1e-7, 7)
    assert statistic(scale / 2) > chi2.isf(1e-7, 7)


@pytest.mark.parametrize("name", [*SUMS, *CHOICES])
def test_no_rows_at_all_are_answered_like_any(name):
    """Under add-remove the data may be empty, and the answer is noise."""
    given = table("dense", intercept=0.5).only(slice(0, 0))
    question = (SUMS | CHOICES)[name]
    oracle = oracle_of(given, {name: question}, "add-remove")
    assert np.all(np.isfinite(oracle.answer(question, name)))
    exact = Rows(given.X, given.y, given.facts, lattice=False)
    plan = Plan(asks=(Ask(name=name, noise=Noise.NONE),))
    assert np.all(np.isfinite(ExactOracle(exact, Squared(), plan, np.random.default_rng(0)).answer(question, name)))


@pytest.mark.parametrize("kind", ["dense", "dense shifted"])
def test_means_of_all_of_many_columns_are_those_that_every_record_has_by_itself(kind):
    """A kernel sums them, and gives the whole numbers of the rule for few columns; dense and sparse, with a record that counts as nothing."""
    given = table(kind, n=60, d=200)
    X = given.X.copy()
    X[7] = np.nan
    question = ColumnMeans(np.arange(200), 1.1, np.round(np.linspace(-0.3, 0.4, 200), 3))
    found = []
    for rows in (X, sp.csr_matrix(X)):
        shard = Shard(Lattice(given.facts), [(rows[:25], given.y[:25]), (rows[25:], given.y[25:])])
        spec = measure(question, shard.lattice)
        found += [rule.part(question, spec, shard, Squared()).tolist() for rule in (sum_rule(question), MEANS)]
    assert found[0] == found[1] == found[2] == found[3]
    assert any(found[0])


def test_weights_below_a_point_are_those_of_the_values_that_are_not_above_it():
    """Whatever values are: alike, on a point, beyond all points, infinite or not a number."""
    rng = np.random.default_rng(5)
    for size in (0, 1, 7, 300):
        values = rng.integers(-3, 13, size).astype(float)
        values[rng.random(size) < 0.1] = np.nan
        values[rng.random(size) < 0.1] = np.inf
        weights, grid = rng.integers(0, WEIGHTS, size), np.array([-1.0, 0.0, 4.5, 4.5, 9.0])
        expected = [int(weights[values <= point].sum()) for point in grid]
        assert weights_below(values, weights, grid).tolist() == expected


@pytest.mark.parametrize("grid", [[1.0, 0.5, 2.0, 3.0], [0.5, np.nan, 2.0, 3.0]])
def test_a_grid_that_does_not_increase_is_refused_and_costs_no_turn(grid):
    """Else the place of a record's value could depend on another's."""
    question = Quantile("targets", NOTHING, 0.5, np.array(grid))
    oracle = oracle_of(table("dense"), {"q": question})
    with pytest.raises(PrivacyError, match="increase"):
        oracle.answer(question, "q")
    assert oracle.unused_turns == {"q": 1}
