"""Laws of rows, for every question: parts, storage, neighbours at any position, and sums that cannot overflow.

Each law has a control: a change of the code that it must notice.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from builders import Chosen, charge_for, checked, oracle_of, whole_sum
from dpsparse import SparseRegressor, recipes
from dpsparse.core import Adjacency, Ask, Noise, PrivacyError
from dpsparse.core.facts import Clip, Facts
from dpsparse.losses import JOINT, LOSSES, Squared
from dpsparse.queries import gradient as gradient_module
from dpsparse.queries.kinds import (
    Gradient,
    JointGradient,
    MeanSquares,
    PerturbedMinimum,
    RidgeMinimum,
    SupportVotes,
    WeightedGradient,
)
from dpsparse.queries.rules import CHOICES, MINIMA, SUMS, measure, partial_sum
from dpsparse.queries.votes import votes
from dpsparse.rows import block as block_module
from dpsparse.rows import hosts
from dpsparse.rows import shard as shard_module
from dpsparse.rows.hosts import Total
from dpsparse.rows.hosts import disk as disk_module
from dpsparse.rows.hosts.memory_budget import MemoryBudget
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import PoissonSample
from dpsparse.rows.shard import Shard
from dpsparse.rows.slopes import slopes
from questions import CLIP, FACTS, QUESTIONS, RNG, D, W

SUMMED = [name for name, q in QUESTIONS.items() if type(q) in SUMS]
SAMPLED = [name for name in SUMMED if SUMS[type(QUESTIONS[name])].sampled]
SHIFTED = FACTS.with_(shift=np.round(RNG.uniform(-0.5, 0.5, D), 3))


class MemoryHost(hosts.MemoryHost):
    """Rows in memory that also say which cells were not understood, where facts ask for it."""

    def __init__(self, X: Any, y: Any, facts: Facts, **more: Any) -> None:
        super().__init__(checked(X, facts.counts_unread) if facts.counts_unread else X, y, facts, **more)


class DiskHost(hosts.DiskHost):
    """The same on a disk."""

    def __init__(self, X: Any, y: Any, facts: Facts, limit: int) -> None:
        super().__init__(checked(X, facts.counts_unread), y, facts, limit)


def data(n: int = 61) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(0, 0.6, (n, D)) * (rng.random((n, D)) < 0.6)
    y = rng.normal(0, 2, n)
    X[3, 1], y[7] = np.nan, np.inf
    return X, y


def test_every_question_is_under_the_laws():
    named = {type(q) for q in QUESTIONS.values()}
    assert named == {*SUMS, *CHOICES}
    assert set(MINIMA) == {RidgeMinimum, PerturbedMinimum}


# ------------------------------------------------------------------------------------------------ parts


def total(name: str, X: Any, y: Any, facts: Facts, parts: int = 1, draw: Any = None, warm: bool = False) -> list[int]:
    host = MemoryHost(X, y, facts, parts=parts)
    if warm:  # what was asked before leaves no trace
        for other in QUESTIONS.values():
            whole_sum(host, other, Squared())
        whole_sum(host, Gradient(W + 1e-3 * (np.arange(D + 1) == 2), CLIP), Squared())
    return whole_sum(host, QUESTIONS[name], Squared(), draw).tolist()


@pytest.mark.parametrize("facts", [FACTS, SHIFTED], ids=["plain", "shifted"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_parts_orders_and_restarts_give_the_same_integers(name, sparse, facts):
    X, y = data()
    shape = sp.csr_matrix if sparse else np.asarray
    expected = total(name, shape(X), y, facts)
    assert any(expected)
    for parts in (2, 7, 61, 100):
        assert total(name, shape(X), y, facts, parts) == expected
    assert total(name, shape(X), y, facts, 3, warm=True) == expected
    order = np.random.default_rng(1).permutation(61)
    assert total(name, shape(X[order]), y[order], facts, 4) == expected
    host = MemoryHost(shape(X), y, facts, parts=5)
    shards, charge = list(host.shards), charge_for(QUESTIONS[name], host)
    pieces = [partial_sum(charge, shard, Squared()) for shard in reversed(shards)]
    again = partial_sum(charge, shards[2], Squared())
    np.testing.assert_array_equal(again, pieces[2], err_msg="a part that is made again is the same")
    assert np.sum(pieces, axis=0).tolist() == expected


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_do_not_depend_on_the_parts(name):
    X, y = data()
    draw = PoissonSample(0.4, 2**100 + 7)
    expected = total(name, X, y, FACTS, draw=draw)
    assert expected != total(name, X, y, FACTS)
    for parts in (2, 7, 61):
        assert total(name, X, y, FACTS, parts, draw) == expected
    assert total(name, X, y, FACTS, 3, Chosen(draw.mask(0, 61))) == expected


class Tight(MemoryBudget):
    """A room for a few entries and rows, whatever the limit."""

    piece_entries = 20
    entries = 50
    shard_rows = 23


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "not kept"])
@pytest.mark.parametrize("facts", [FACTS, SHIFTED], ids=["plain", "shifted"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_rows_on_a_disk_give_the_integers_of_rows_in_memory(monkeypatch, form, facts, kept):
    X, y = data()
    monkeypatch.setattr(disk_module, "MemoryBudget", Tight)
    if not kept:  # neither rows nor anything else stays in memory between questions
        monkeypatch.setattr(Tight, "pinned", 0)
        monkeypatch.setattr(Tight, "kept", 0)
    memory, disk = MemoryHost(form(X), y, facts), DiskHost(form(X), y, facts, 2**26)
    assert disk.shards is None
    for name in [*QUESTIONS, *reversed(QUESTIONS)]:
        for draw in (None, PoissonSample(0.4, 2**100 + 7)) if name in SAMPLED else (None,):
            expected = whole_sum(memory, QUESTIONS[name], Squared(), draw)
            assert whole_sum(disk, QUESTIONS[name], Squared(), draw).tolist() == expected.tolist(), name
    disk.close()
    with pytest.raises(ValueError, match="closed file"):
        whole_sum(disk, QUESTIONS["count"], Squared())


@pytest.mark.parametrize("lost", ["a block", "the first row's number"])
def test_control_a_disk_that_loses_rows_or_their_numbers_is_noticed(monkeypatch, lost):
    X, y = data()
    monkeypatch.setattr(disk_module, "MemoryBudget", Tight)
    made = Shard.of_blocks.__func__

    def losing(cls, lattice, blocks, first_row, room):
        return made(cls, lattice, blocks[1:] if lost == "a block" else blocks, 0, room)

    monkeypatch.setattr(Shard, "of_blocks", classmethod(losing))
    question, draw = QUESTIONS["gradient"], PoissonSample(0.4, 2**100 + 7)
    found = whole_sum(DiskHost(X, y, FACTS, 2**26), question, Squared(), draw)
    assert found.tolist() != whole_sum(MemoryHost(X, y, FACTS), question, Squared(), draw).tolist()


def test_votes_and_answers_do_not_depend_on_the_parts():
    X, y = data()
    question = SupportVotes(Gradient(W, CLIP), 2, 5)
    hosts = [MemoryHost(X, y, FACTS, parts=p) for p in (1, 4, 61)]
    counted = [votes(charge_for(question, host), host.shards, Squared(), 99) for host in hosts]
    assert all(np.array_equal(c, counted[0]) for c in counted)
    minimum = RidgeMinimum(np.array([0, 3, 9]), Clip(0.5, slope=1.0), 1.0, 2.0)
    asks = [Ask(name=n, noise=Noise.GAUSSIAN) for n in SUMMED] + [Ask(name="minimum", noise=Noise.GAUSSIAN)]

    def answers(parts: int) -> list[bytes]:
        oracle = oracle_of(MemoryHost(X, y, FACTS, parts=parts), Squared(), *asks)
        found = [oracle.answer(QUESTIONS[n], n) for n in SUMMED] + [oracle.answer(minimum, "minimum")]
        return [np.asarray(a).tobytes() for a in found]

    assert answers(1) == answers(3) == answers(61)


def test_control_margins_that_depend_on_the_part_are_noticed(monkeypatch):
    """Margins that follow the size of a part, much as those of BLAS follow the place of a row in its last bits."""
    ordinary = shard_module._valued

    def drifting(products, iterate, unit):
        return ordinary(products, iterate, unit) * (1 + 2.0**-20 * (products.size % 2))

    X, y = data()
    expected = total("gradient", X, y, FACTS, 1)
    monkeypatch.setattr(shard_module, "_valued", drifting)
    assert total("gradient", X, y, FACTS, 2) != expected


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_slopes_do_not_depend_on_the_place_of_a_row(loss):
    """Vectorised functions may treat the tail of an array in another way: every row alone, and in other company, is the same."""
    rng = np.random.default_rng(2)
    margins, y = 4 * rng.standard_normal(403), rng.integers(0, 2, 403).astype(float)

    def block(rows: Any) -> Any:
        return block_module.Block(np.zeros((len(rows), 1)), y[rows], np.ones(len(rows)), np.ones(1), np.ones(1))

    whole = slopes(loss, margins, block(np.arange(403)))
    for size in (*range(1, 18), 31, 64, 100):
        for start in (0, 1, 5, 400 - size):
            rows = np.arange(start, start + size)
            np.testing.assert_array_equal(slopes(loss, margins[rows], block(rows)), whole[rows])
    order = rng.permutation(403)
    np.testing.assert_array_equal(slopes(loss, margins[order], block(order)), whole[order])


@pytest.mark.parametrize("loss", JOINT, ids=repr)
def test_slopes_of_many_classes_do_not_depend_on_the_place_of_a_row(loss):
    rng = np.random.default_rng(2)
    margins, y = 4 * rng.standard_normal((403, loss.n_classes)), rng.integers(0, loss.n_classes, 403).astype(float)

    def found(rows: Any) -> Any:
        block = block_module.Block(np.zeros((len(rows), 1)), y[rows], np.ones(len(rows)), np.ones(1), np.ones(1))
        return slopes(loss, margins[rows], block)

    whole = found(np.arange(403))
    for size, start in itertools.product((1, 2, 3, 7, 8, 9, 31, 64), (0, 1, 5, 300)):
        rows = np.arange(start, start + size)
        np.testing.assert_array_equal(found(rows), whole[rows])
    order = rng.permutation(403)
    np.testing.assert_array_equal(found(order), whole[order])


@pytest.mark.parametrize("scale", [1e-250, 1e-9, 1.0, 1e9, 1e150])
def test_margins_are_exact_and_close_to_the_real_ones(scale):
    """The same for mended margins; checked against whole numbers of any size."""
    X, y = data()
    w = scale * W
    for shape, facts in itertools.product((np.asarray, sp.csr_matrix), (FACTS, SHIFTED)):
        [shard] = MemoryHost(shape(X), y, facts).shards
        iterate = shard.lattice.rounded(w)
        stored = np.c_[
            (shard.blocks[0].x.toarray() - shard.lattice.shift) if shape is sp.csr_matrix else shard.blocks[0].x
        ]
        stored = np.c_[stored, np.full(61, shard.lattice.height)].astype(int)
        products = [sum(int(a) * int(b) for a, b in zip(row, iterate.whole, strict=True)) for row in stored]
        expected = [p * (iterate.scale * shard.lattice.unit) for p in products]
        shard.margins(w + 0.1 * scale * (np.arange(D + 1) == 4))
        assert shard.margins(w)[0].tolist() == expected
        real = stored @ w * shard.lattice.unit
        np.testing.assert_allclose(expected, real, rtol=1e-7, atol=1e-9 * scale)


@pytest.mark.parametrize(
    "w", [np.full(D + 1, np.nan), np.full(D + 1, np.inf), np.full(D + 1, -1.7e308), np.zeros(D + 1)]
)
def test_wild_iterates_are_answered_within_their_clip(w):
    X, y = data()
    host = MemoryHost(X, y, FACTS)
    found = whole_sum(host, Gradient(w, CLIP), Squared())
    assert np.all(np.abs(found) <= 61 * host.lattice.record_units)


# ------------------------------------------------------------------------------------------------ storage

WHOLE = Facts(
    n_rows=61,
    n_features=D,
    lower=0.0,
    upper=2.0,
    row_norm=4.0,
    target_bound=3.0,
    intercept=0.5,
    curvature=1.0,
    counts_clipped=True,
    counts_unread=11,
)


def stored(X: np.ndarray) -> dict[str, Any]:
    """The same whole numbers of 0, 1 and 2 in every storage."""
    kinds = {k: X.astype(k) for k in ("int8", "uint8", "int16", "int64", "float32", "float16", "float64")}
    frame = pd.DataFrame(X.astype("int8"), columns=[f"c{j}" for j in range(D)])
    mixed = frame.astype({"c0": "float64", "c1": "Int64", "c2": "object"})
    return {
        **kinds,
        "fortran": np.asfortranarray(X.astype(float)),
        "object": X.astype(object),
        "csr": sp.csr_matrix(X),
        "csc": sp.csc_matrix(X),
        "coo": sp.coo_matrix(X),
        "csr of int8": sp.csr_matrix(X.astype("int8")),
        "sparse array": sp.csr_array(X),
        "frame": frame,
        "mixed frame": mixed,
    }


@pytest.mark.parametrize(
    "facts", [WHOLE, WHOLE.with_(shift=0.3), WHOLE.with_(row_norm=2.5)], ids=["plain", "shifted", "clipped"]
)
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_storage_of_rows_does_not_show(name, facts):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (61, D)).astype(float), rng.normal(0, 2, 61)
    expected = total(name, X, y, facts)
    for kind, given in stored(X).items():
        assert total(name, given, y, facts) == expected, kind


def test_the_lattice_is_made_of_facts_alone():
    one, two = (Lattice(facts) for facts in (FACTS, FACTS.with_(sparse=True)))
    for field in ("unit", "height", "norm_bound", "applied_intercept", "record_units", "margin_norm"):
        assert getattr(one, field) == getattr(two, field)
    np.testing.assert_array_equal(one.coordinate_bounds, two.coordinate_bounds)
    assert np.log2(one.unit) == np.rint(np.log2(one.unit)), "a power of two"
    assert 2**14 <= FACTS.entry_bound / one.unit <= 32767


@pytest.mark.parametrize(
    "recipe", [n for n in recipes.names() if n in ("select_polish", "dual_averaging", "dp_ight", "two_stage")]
)
def test_fits_of_every_storage_have_one_statement_and_one_model(recipe):
    """Also for one cell that is a half: only the model may follow it."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, (120, D)).astype(float)
    y = np.clip(X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(120), -3, 3)

    def fitted(given: Any) -> Any:
        model = SparseRegressor(
            epsilon=4.0, delta=1e-5, sparsity=3, feature_bound=(0, 2), target_bound=3.0, recipe=recipe, random_state=3
        )
        return model.fit(given, y)

    first = fitted(X)
    kinds = stored(X)
    for kind in ("int8", "uint8", "float32", "frame"):
        other = fitted(kinds[kind])
        assert other.coef_.tobytes() == first.coef_.tobytes(), kind
        assert other.statement_.to_json() == first.statement_.to_json(), kind
    half = X.copy()
    half[5, 2] = 1.5
    assert fitted(half).statement_.asks[0].sensitivity == first.statement_.asks[0].sensitivity


def test_control_a_unit_that_follows_the_type_is_noticed(monkeypatch):
    ordinary = Records.rows
    monkeypatch.setattr(Records, "rows", lambda self, a, b: ordinary(self, a, b) * (1 + 2.0**-12 * self.sparse))
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (61, D)).astype(float), rng.normal(0, 2, 61)
    assert total("squares", X, y, WHOLE) != total("squares", sp.csr_matrix(X), y, WHOLE)


# ------------------------------------------------------------------------------------------------ neighbours


def near_the_edge(lattice: Lattice) -> list[tuple[np.ndarray, float]]:
    """Records at boundaries of the lattice, of the clips and of reason."""
    u = lattice.unit
    ones = np.ones(D)
    return [
        (np.full(D, np.nextafter(37 * u, 0)), np.nextafter(1.0, 2)),
        (np.full(D, np.nextafter(37 * u, 1)), -1.0),
        (np.full(D, -u), 3.0),
        (1e6 * ones, 1e9),
        (-1e6 * ones, -1e9),
        (np.where(np.arange(D) % 2, 1.0, -1.0), 1e6),
        (np.r_[1e-9, np.zeros(D - 1)], -1e12),
        (np.full(D, np.nan), 1.0),
        (ones, np.nan),
        (0 * ones, 1e12),
    ]


def movement(question: Any, host: MemoryHost, one: np.ndarray, two: np.ndarray, relation: Adjacency) -> float:
    """How far an answer moved, over what is stated."""
    if type(question) in CHOICES:
        rule = CHOICES[type(question)]
        change = rule.scores(question, one) - rule.scores(question, two)
        return float(np.ptp(change)) / rule.spread(question, relation)
    found = measure(question, host.lattice)
    change = (one - two) * found.unit
    entries = np.max(np.abs(change) / np.maximum(found.reach.linf(relation), 1e-300))
    return max(float(np.linalg.norm(change)) / found.reach.l2(relation), float(entries))


def largest_movement(facts: Facts, relation: Adjacency, sparse: bool, names: list[str]) -> dict[str, float]:
    X, y = data(21)
    X[3, 1], y[7] = 0.2, 0.3
    shape = sp.csr_matrix if sparse else np.asarray
    found = dict.fromkeys(names, 0.0)
    for place, (x, t) in itertools.product((0, 10, 20), near_the_edge(Lattice(facts))):
        other, targets = X.copy(), y.copy()
        other[place], targets[place] = x, t
        rest = np.arange(21) != place
        without = (X[rest], y[rest])
        pairs = [(other, targets), (X, y)] if relation is Adjacency.REPLACE_ONE else [(other, targets), without]
        hosts = [MemoryHost(shape(a), b, facts, parts=2) for a, b in pairs]
        for name in names:
            sums = [whole_sum(host, QUESTIONS[name], Squared()) for host in hosts]
            found[name] = max(found[name], movement(QUESTIONS[name], hosts[0], *sums, relation))
    return found


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("facts", [FACTS, SHIFTED], ids=["plain", "shifted"])
def test_a_record_at_any_position_moves_no_answer_beyond_its_reach(facts, sparse, relation):
    found = largest_movement(facts.with_(n_rows=21), relation, sparse, list(QUESTIONS))
    assert max(found.values()) <= 1 + 1e-12, found


def test_control_a_clip_of_twice_its_norm_is_noticed(monkeypatch):
    ordinary = gradient_module.factor_cap
    monkeypatch.setattr(gradient_module, "factor_cap", lambda *given: 2 * ordinary(*given))
    assert largest_movement(FACTS, Adjacency.REPLACE_ONE, False, ["gradient"])["gradient"] > 1.5


def test_a_row_that_is_removed_moves_nothing_but_its_own():
    """Targets on the steps of the lattice, where margins that depend on the company flip many rows at once."""
    rng = np.random.default_rng(1)
    n, d = 400, 200
    x = np.sign(rng.standard_normal(d))
    X = np.tile(x, (n, 1))
    facts = Facts(n_rows=n, n_features=d, lower=-1.0, upper=1.0, row_norm=float(np.sqrt(d)), target_bound=1e6)
    w, clip = 0.3 * rng.standard_normal(d), Clip(100.0)
    [shard] = MemoryHost(X, np.zeros(n), facts).shards
    step = gradient_module.step(shard.lattice, clip)
    margins = shard.margins(w)[0]
    y = margins - np.rint(rng.uniform(1, 400, n)) * step
    question = Gradient(w, clip)
    whole = whole_sum(MemoryHost(X, y, facts), question, Squared())
    for place in (0, 17, n - 1):
        rest = np.arange(n) != place
        others = whole_sum(MemoryHost(X[rest], y[rest], facts), question, Squared())
        own = whole_sum(MemoryHost(X[~rest], y[~rest], facts), question, Squared())
        np.testing.assert_array_equal(whole, others + own)


# ------------------------------------------------------------------------------------------------ overflow


@pytest.mark.parametrize("name", [n for n in SUMMED if n not in ("squares", "absolute")])
@pytest.mark.parametrize("bits", [26, 30, 40])
def test_with_lowered_limits_sums_stay_below_them_and_within_their_reach(name, bits):
    """61 equal records that all pull hard: the total stays within its bits, and each record within its own."""
    question = QUESTIONS[name]
    lattice = Lattice(FACTS, total_bits=bits)
    rng = np.random.default_rng(6)
    x, y = rng.uniform(-1, 1, D), -3.0
    found = measure(question, lattice)
    assert found.record * 61 <= 2**bits
    one = whole_sum(MemoryHost(x[None], np.array([y]), FACTS, lattice=lattice), question, Squared())
    many = whole_sum(MemoryHost(np.tile(x, (61, 1)), np.full(61, y), FACTS, lattice=lattice), question, Squared())
    assert np.all(np.abs(one) <= found.record)
    np.testing.assert_array_equal(many, 61 * one)
    assert np.linalg.norm(one * found.unit) <= found.reach.norm * (1 + 1e-12)


def test_a_sum_that_does_not_fit_is_refused_before_rows_are_read():
    with pytest.raises(PrivacyError, match="64-bit"):
        measure(MeanSquares(), Lattice(FACTS, total_bits=30))
    assert measure(MeanSquares(), Lattice(FACTS.with_(n_rows=2**31))).record <= 2.0**30


def test_under_add_remove_more_rows_than_declared_are_clamped():
    lattice = Lattice(FACTS.with_(n_rows=1), total_bits=36)
    X, y = np.ones((9, D)), np.full(9, -3.0)
    question = Gradient(np.zeros(D + 1), Clip(0.5))
    alone = whole_sum(MemoryHost(X[:1], y[:1], FACTS, lattice=lattice), question, Squared())
    expected = np.clip(9 * alone.astype(object), -(2**37), 2**37)
    for parts in (1, 3):
        host = MemoryHost(X, y, FACTS, lattice=lattice, parts=parts)
        assert whole_sum(host, question, Squared()).tolist() == expected.tolist()
    assert max(abs(v) for v in expected) == 2**37


def test_totals_of_any_size_are_exact_and_clamped():
    """Against whole numbers of any size; a plain sum of 64-bit integers would wrap."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        parts = [rng.integers(-(2**62), 2**62, 5) for _ in range(int(rng.integers(1, 9)))]
        total = Total(2**62)
        for piece in parts:
            total.add(piece)
        exact = [sum(int(piece[j]) for piece in parts) for j in range(5)]
        assert total.value().tolist() == [min(max(v, -(2**62)), 2**62) for v in exact]


def test_squares_of_the_widest_entries_do_not_overflow():
    """131,078 rows at a bound of 2^15 and a centre that is no whole number: one record replaced moves what it may."""
    n = 131_078
    facts = Facts(n_rows=n, n_features=1, lower=-32767.0, upper=32767.0, row_norm=32767.0, shift=0.3)
    X = np.full((n, 1), -32767, dtype=np.int16)
    other = X.copy()
    other[n // 2] = 0
    one, two = (MemoryHost(a, np.zeros(n), facts) for a in (X, other))
    sums = [whole_sum(host, MeanSquares(), Squared()) for host in (one, two)]
    assert 0.99 < movement(MeanSquares(), one, *sums, Adjacency.REPLACE_ONE) <= 1
    assert sums[0][0] > 0


def test_norms_of_shifted_sparse_rows_are_exact():
    """A row that is far from the shift in most columns; a difference of two float sums would lose its norm."""
    d = 2**21
    facts = Facts(n_rows=1, n_features=d, lower=-1.0, upper=1.0, row_norm=1e9, shift=0.5, sparse=True)
    row = sp.csr_matrix(np.where(np.arange(d) % 2, 0.5, 0.0)[None])
    [shard] = MemoryHost(row, np.zeros(1), facts).shards
    assert shard.blocks[0].squares[0] == (d / 2) * (0.5 / shard.lattice.unit) ** 2


def test_sums_of_sparse_rows_close_to_their_shift_are_exact():
    """Rows one or two units from the shift may have factors of 2^35, and their unshifted terms are beyond what floats hold.

    A whole block of rows: with half as many bits in the low word the high words would be beyond it too.
    """
    n, rng = 2**16, np.random.default_rng(8)
    facts = Facts(n_rows=n, n_features=3, lower=-1.0, upper=1.0, row_norm=2.0, shift=0.75, target_bound=1e6)
    lattice = Lattice(facts)
    away = rng.integers(1, 3, (n, 3)) * rng.choice([-1, 1], (n, 3))
    X, y = (lattice.shift + away) * lattice.unit, rng.uniform(1e5, 1e6, n)
    clip = Clip(1.0)
    [shard] = MemoryHost(sp.csr_matrix(X), y, facts).shards
    [block] = shard.blocks
    factor = gradient_module.factors(block, lattice, -block.y, clip)
    assert np.abs(factor).max() > 2**34
    np.testing.assert_array_equal(block.x.toarray() - lattice.shift, away)
    expected = away.T @ factor.astype(np.int64)
    for support in (None, np.array([2, 0])):
        question = Gradient(np.zeros(3), clip, support)
        for shape in (np.asarray, sp.csr_matrix):
            found = whole_sum(MemoryHost(shape(X), y, facts), question, Squared())
            np.testing.assert_array_equal(found, expected if support is None else expected[support])


def test_weighted_sums_of_sparse_rows_at_their_shift_are_exact():
    """Rows that are zero once shifted have a norm that is rounded up to almost nothing, and so have no bound but their own on a factor."""
    n, rng = 2**16, np.random.default_rng(9)
    facts = Facts(n_rows=n, n_features=3, lower=-1.0, upper=1.0, row_norm=2.0, shift=0.75, target_bound=1e9)
    lattice = Lattice(facts)
    away = rng.integers(0, 2, (n, 3)) * (np.arange(n) % 5 == 0)[:, None]
    X, y = (lattice.shift + away) * lattice.unit, rng.uniform(1e8, 1e9, n)
    question = WeightedGradient(np.zeros(3), np.array([1.0, 1.5, 2.0]), 1e-3)
    dense, sparse = (
        whole_sum(MemoryHost(shape(X), y, facts), question, Squared()) for shape in (np.asarray, sp.csr_matrix)
    )
    np.testing.assert_array_equal(dense, sparse)


def test_joint_sums_of_sparse_rows_at_their_shift_are_exact():
    """The same for many classes."""
    n, rng = 2**12, np.random.default_rng(9)
    facts = Facts(n_rows=n, n_features=3, lower=-1.0, upper=1.0, row_norm=2.0, shift=0.75, target_bound=1e9)
    lattice = Lattice(facts)
    away = rng.integers(0, 2, (n, 3)) * (np.arange(n) % 5 == 0)[:, None]
    X, y = (lattice.shift + away) * lattice.unit, rng.uniform(1e8, 1e9, n)
    question = JointGradient(np.zeros((3, 4)), np.array([1.0, 1.5, 2.0]), 1e-3)
    dense, sparse = (
        whole_sum(MemoryHost(shape(X), y, facts), question, Squared()) for shape in (np.asarray, sp.csr_matrix)
    )
    np.testing.assert_array_equal(dense, sparse)


def test_margins_of_many_classes_are_those_of_each():
    """Exact, fresh and mended; a matrix after a vector and the other way round."""
    X, y = data()
    w = np.outer(W, [1.0, -0.3, 0.0]) + 0.01 * np.arange(3)
    for shape, facts in itertools.product((np.asarray, sp.csr_matrix), (FACTS, SHIFTED)):
        [shard] = MemoryHost(shape(X), y, facts).shards
        for at in (w, W, w + 0.5 * (np.arange(D + 1) == 4)[:, None], np.where(np.arange(D + 1)[:, None] == 2, w, 0.0)):
            [found] = shard.margins(at)
            whole = shard.lattice.rounded(at)
            stored = shard.blocks[0].x.toarray() - shard.lattice.shift if shape is sp.csr_matrix else shard.blocks[0].x
            rows = np.c_[stored, np.full(61, shard.lattice.height)].astype(np.int64)
            products = rows @ whole.whole.astype(np.int64)
            np.testing.assert_array_equal(found, products * (whole.scale * shard.lattice.unit))


@pytest.mark.parametrize("shift", [0.3, np.linspace(-0.4, 0.4, D)], ids=["one", "each its own"])
def test_the_largest_entry_of_a_shifted_row_is_that_of_the_dense_one(shift):
    """Absent entries count as minus the shift; present ones do not."""
    rng = np.random.default_rng(10)
    X = np.round(np.clip(shift + 0.1 * rng.standard_normal((61, D)), -1, 1), 2) * (
        rng.random((61, D)) < np.linspace(0, 1, 61)[:, None]
    )
    X[60] = shift
    facts = SHIFTED.with_(shift=shift, intercept=0.0)
    dense, sparse = (
        MemoryHost(shape(X), np.zeros(61), facts).shards[0].blocks[0] for shape in (np.asarray, sp.csr_matrix)
    )
    np.testing.assert_array_equal(dense.largest, sparse.largest)
    np.testing.assert_array_equal(dense.squares, sparse.squares)
    assert dense.largest.min() < np.abs(shift).max() / MemoryHost(X, np.zeros(61), facts).lattice.unit


@pytest.mark.parametrize("name", [n for n in QUESTIONS if "frame" in n])
def test_wide_frames_are_answered_piece_by_piece_with_the_same_integers(name, monkeypatch):
    X, y = data()
    whole = total(name, X, y, FACTS)
    monkeypatch.setattr(shard_module, "WIDE_FRAME", 1)
    monkeypatch.setattr(shard_module, "FRAMED_ENTRIES", 7 * D)
    assert total(name, X, y, FACTS) == whole
