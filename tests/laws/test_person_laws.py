"""Laws of units: what all rows with the same id add is bounded, whatever their number and order. With controls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from builders import charge_for, checked, whole_sum
from dpsparse.core import Adjacency, PrivacyError
from dpsparse.core.facts import Clip, Facts
from dpsparse.losses import Logistic, Squared
from dpsparse.queries import choices, inference, unit_sums
from dpsparse.queries.kinds import CentredModel, Gradient, GradientChange, ScoreMoments
from dpsparse.queries.rules import CHOICES, SUMS, measure
from dpsparse.rows import block as block_module
from dpsparse.rows import units as units_module
from dpsparse.rows.hosts import DiskHost, MemoryHost
from dpsparse.rows.hosts.memory_budget import MemoryBudget
from dpsparse.rows.kernels import choice, plain
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import PoissonSample
from dpsparse.rows.units import WEIGHTS, Units, id_text, read_units, weights_of
from questions import FACTS, MODEL, QUESTIONS, RNG, SUPPORT, D, W

PEOPLE = 12
PATIENTS = FACTS.with_(n_rows=PEOPLE, unit="patient")
SHIFTED = PATIENTS.with_(shift=np.round(RNG.uniform(-0.5, 0.5, D), 3))
SAMPLED = [name for name, q in QUESTIONS.items() if type(q) in SUMS and SUMS[type(q)].sampled]


def people(seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, targets and ids of a few people with 1 to 6 rows each."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(PEOPLE), rng.integers(1, 7, PEOPLE))
    X = rng.normal(0, 0.6, (ids.size, D)) * (rng.random((ids.size, D)) < 0.6)
    return X, rng.normal(0, 2, ids.size), ids


def host(X: Any, y: Any, ids: Any, facts: Facts = PATIENTS, *, sparse: bool = False, parts: int = 2) -> MemoryHost:
    """Rows of units in memory."""
    source = checked(sp.csr_matrix(X) if sparse else X, facts.counts_unread)
    return MemoryHost(source.by_unit(read_units(ids, len(y))), y, facts, parts=parts)


def hostile(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """All rows of one person who wants to break a bound: alike, cancelling, tiny, huge, or no numbers."""
    kind = int(rng.integers(7))
    sign = rng.choice([-1.0, 1.0], D)
    X = np.tile(sign, (rows, 1))
    y = np.full(rows, float(rng.choice([-1e9, 1e9, 3.0, 0.0])))
    if kind == 1:
        X, y = X * rng.choice([-1.0, 1.0], (rows, 1)), rng.choice([-1e6, 1e6], rows)
    elif kind == 2:
        X, y = rng.normal(size=(rows, D)) * 10.0 ** rng.integers(-9, 9), rng.normal(size=rows) * 10
    elif kind == 3:
        X = np.where(np.arange(D) == rng.integers(D, size=(rows, 1)), sign, 0.0)
    elif kind == 4:
        X[rng.random(rows) < 0.5] = np.nan
    elif kind == 5:
        y = np.where(rng.random(rows) < 0.5, np.nan, y)
    elif kind == 6:
        X, y = X * 1e-9, rng.choice([-1e300, 1e300], rows)
    return X, y


def movement(question: Any, one: MemoryHost, two: MemoryHost, relation: Adjacency) -> float:
    """How far an answer moved, over what is stated."""
    found = [whole_sum(h, question, Squared()) for h in (one, two)]
    if type(question) in CHOICES:
        rule = CHOICES[type(question)]
        change = rule.scores(question, found[0]) - rule.scores(question, found[1])
        return float(np.ptp(change)) / (rule.spread(question, relation) * choices.UNIT_SPREAD)
    spec = measure(question, one.lattice)
    change = (found[0] - found[1]) * spec.unit
    entries = np.max(np.abs(change) / np.maximum(spec.reach.linf(relation), 1e-300))
    return max(float(np.linalg.norm(change)) / spec.reach.l2(relation), float(entries))


def largest(
    facts: Facts, relation: Adjacency, names: list[str], *, sparse: bool = False, pairs: int = 12
) -> dict[str, float]:
    """The largest movement of each question over people who are exchanged for hostile ones, or come and go."""
    found = dict.fromkeys(names, 0.0)
    X, y, ids = people()
    for k in range(pairs):
        rng = np.random.default_rng([k, 5])
        who = k % PEOPLE
        rest = ids != who
        worlds = []
        for _ in range(1 if relation is Adjacency.ADD_REMOVE else 2):
            A, b = hostile(rng, int(rng.choice([1, 2, 7, 11, 60])))
            place = int(rng.integers(rest.sum() + 1))
            worlds.append(
                host(
                    np.insert(X[rest], place, A, axis=0),
                    np.insert(y[rest], place, b),
                    np.insert(ids[rest], place, np.full(b.size, who)),
                    facts,
                    sparse=sparse,
                )
            )
        if relation is Adjacency.ADD_REMOVE:
            worlds.append(host(X[rest], y[rest], ids[rest], facts, sparse=sparse))
        for name in names:
            found[name] = max(found[name], movement(QUESTIONS[name], worlds[0], worlds[1], relation))
    return found


@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("facts", [PATIENTS, SHIFTED], ids=["plain", "shifted"])
def test_whole_persons_move_no_answer_beyond_its_reach(facts, sparse, relation):
    found = largest(facts, relation, list(QUESTIONS), sparse=sparse, pairs=4)
    assert max(found.values()) <= 1 + 1e-12, found
    assert found["gradient"] > 0.4, "people who move the gradient were among them"


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Adjacency), ids=str)
def test_three_hundred_whole_persons_move_no_answer_beyond_its_reach(relation):
    found = largest(PATIENTS, relation, list(QUESTIONS), pairs=300)
    print(found)
    assert max(found.values()) <= 1 + 1e-12, found


def test_rounded_scores_move_more_than_exact_ones_and_within_what_is_stated():
    """Scores of units are rounded down: their differences move by up to 2 and two steps of it, and never further."""
    rng, worst = np.random.default_rng(8), 0
    one = WEIGHTS * choices.PARTS
    for _ in range(2000):
        base = np.cumsum(np.r_[-rng.integers(5) * one, rng.integers(0, one, 6)])
        moved = base + np.clip(np.cumsum(rng.integers(-one, one, 7)), -one, one)
        found = [choices.rounded_scores([int(end) for end in ends]) for ends in (base, moved)]
        worst = max(worst, float(np.ptp(found[0] - found[1])) * choices.PARTS)
    assert worst <= 2 * choices.PARTS * choices.UNIT_SPREAD
    ends = [-2 * one, -1, one + 1], [-one, one - 1, 2 * one + 1]  # both ends of a cell move by one record
    exact = [[min(0, b, -a) for a, b in pairwise(e)] for e in ends]
    rounded = [choices.rounded_scores(list(e)) for e in ends]
    assert np.ptp(np.subtract(*rounded)) * choices.PARTS * WEIGHTS > np.ptp(np.subtract(*exact)), "rounding counts"


def test_a_person_with_more_rows_than_a_block_holds_is_bounded_too():
    X, y, ids = people()
    rows = units_module.MOST_ROWS + 7
    A, b, who = np.ones((rows, D)), np.full(rows, 1e9), np.full(rows, 99)
    one = host(np.vstack([X, A]), np.r_[y, b], np.r_[ids, who])
    two = host(np.vstack([X, A[:1]]), np.r_[y, b[:1]], np.r_[ids, who[:1]])
    for name in ("gradient", "residual", "squares", "cells", "count", "slopes"):
        assert movement(QUESTIONS[name], one, two, Adjacency.REPLACE_ONE) <= 1 + 1e-12


def _rint(starts, counts):
    rows = np.add.reduceat(counts, starts)
    lengths = units_module.lengths_of(starts, counts.size)
    return np.repeat(np.rint(300 / np.maximum(rows, 1)) / 300, lengths) * counts


def test_control_weights_to_the_nearest_are_noticed(monkeypatch):
    monkeypatch.setattr(block_module, "weights_of", _rint)
    assert largest(PATIENTS, Adjacency.ADD_REMOVE, ["cells"])["cells"] > 1


@pytest.mark.parametrize("name", ["correlation", "squares", "cells", "moments", "gram"])
def test_control_rows_that_count_whole_are_noticed(monkeypatch, name):
    monkeypatch.setattr(block_module, "weights_of", lambda starts, counts: counts)
    assert largest(PATIENTS, Adjacency.ADD_REMOVE, [name])[name] > 1.5


@pytest.mark.parametrize("name", ["gradient", "weighted", "joint", "framed plain"])
def test_control_a_unit_clipped_at_twice_its_norm_is_noticed(monkeypatch, name):
    monkeypatch.setattr(unit_sums, "SLACK", 2.0)
    monkeypatch.setattr("dpsparse.queries.framed.UNIT_SLACK", 2.0)
    assert largest(PATIENTS, Adjacency.ADD_REMOVE, [name])[name] > 1.5


def test_control_a_change_clipped_at_twice_its_norm_is_noticed(monkeypatch):
    question = GradientChange(W, 0.5 * W, Clip(50.0), 0.01)
    X, y, ids = people()
    one, two = host(X, y, ids), host(X[ids != 3], y[ids != 3], ids[ids != 3])
    assert 0.9 < movement(question, one, two, Adjacency.ADD_REMOVE) <= 1
    monkeypatch.setattr(unit_sums, "SLACK", 2.0)
    assert movement(question, one, two, Adjacency.ADD_REMOVE) > 1.5


def test_control_truncated_factors_exceed_the_bound():
    """Where rows of a person cancel, factors that are shrunk and truncated one by one leave more than the clip."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(200):
        x, c = rng.integers(-300, 300, (2, 8)).astype(float), rng.integers(1, 40, 2) * 1.0
        x[1] = -x[0] + rng.integers(-1, 2, 8)
        c[1] = c[0]
        norm, limit = np.linalg.norm(c @ x), 12.0
        if norm > limit:
            worst = max(worst, np.linalg.norm(np.trunc(c * limit / norm * np.array([1.0, 0.99])) @ x) / limit)
            assert np.linalg.norm(np.trunc((c @ x) * limit / norm)) <= limit
    assert worst > 1.2


# ------------------------------------------------------------------------------------------------ order and storage


@pytest.mark.parametrize("facts", [PATIENTS, SHIFTED], ids=["plain", "shifted"])
def test_order_parts_and_storage_do_not_matter(facts):
    X, y, ids = people()
    X[4, 2], y[9] = np.nan, np.nan
    mixed = np.random.default_rng(1).permutation(y.size)
    worlds = [
        host(X, y, ids, facts, parts=1),
        host(X[mixed], y[mixed], ids[mixed], facts, parts=3),
        host(X[mixed], y[mixed], ids[mixed].astype(float), facts, sparse=True, parts=2),
    ]
    for name, question in QUESTIONS.items():
        one, *others = (whole_sum(h, question, Squared()) for h in worlds)
        for other in others:
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_take_whole_persons_in_any_order(name):
    X, y, ids = people()
    mixed = np.random.default_rng(1).permutation(y.size)
    draw = PoissonSample(0.5, 12345)
    one = whole_sum(host(X, y, ids, parts=1), QUESTIONS[name], Squared(), draw)
    two = whole_sum(host(X[mixed], y[mixed], ids[mixed], parts=3), QUESTIONS[name], Squared(), draw)
    np.testing.assert_array_equal(one, two)
    units = read_units(ids, ids.size)
    kept = units.of_units(draw.mask(0, PEOPLE))
    np.testing.assert_array_equal(one, whole_sum(host(X[kept], y[kept], ids[kept]), QUESTIONS[name], Squared()))


class Stored:
    """Rows that are read some at a time, as those of files are."""

    names, finite = None, False

    def __init__(self, X: Any) -> None:
        self.X, self.shape, self.sparse = X, X.shape, bool(sp.issparse(X))
        self.entries = int(X.nnz if self.sparse else X.size)

    def cut(self, entries: int) -> list[int]:
        return [*range(0, self.shape[0], 5), self.shape[0]]

    def rows(self, start: int, stop: int) -> Any:
        return self.X[start:stop]

    def targets(self, meant: str) -> None:
        return None


def on_disk(X: Any, y: Any, ids: Any, facts: Facts, *, sparse: bool, stored: bool) -> DiskHost:
    """Rows of units on a disk, in memory before or in files."""
    source = checked(sp.csr_matrix(X) if sparse else X, facts.counts_unread)
    if stored:
        source = with_unread(Records(Stored(source.plain())), source.unread)
    return DiskHost(source.by_unit(read_units(ids, y.size)), y, facts, 10**8)


def with_unread(source: Records, unread: Any) -> Records:
    """Rows with what is known of their cells."""
    source.unread = unread
    return source


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks, pieces and parts of a few rows."""
    for name, size in (("entries", 8 * D), ("piece_entries", 4 * D), ("shard_rows", 20)):
        monkeypatch.setattr(MemoryBudget, name, property(lambda self, size=size: size))


@pytest.mark.parametrize("stored", [False, True], ids=["arrays", "files"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("facts", [PATIENTS, SHIFTED], ids=["plain", "shifted"])
def test_disk_gives_the_bytes_of_memory(facts, sparse, stored, small_blocks):
    X, y, ids = people()
    X[4, 2], y[9] = np.nan, np.nan
    gaps = np.where(np.arange(y.size) % 11 == 3, None, ids)
    mixed = np.random.default_rng(1).permutation(y.size)
    memory = host(X, y, gaps, facts, parts=1)
    disk = on_disk(X[mixed], y[mixed], gaps[mixed], facts, sparse=sparse, stored=stored)
    assert sum(len(shard.blocks) for shard in disk.parts) > len(disk.parts) > 1
    for name, question in QUESTIONS.items():
        one, two = (whole_sum(h, question, Squared()) for h in (memory, disk))
        np.testing.assert_array_equal(one, two, err_msg=name)
    for name in SAMPLED:
        one, two = (whole_sum(h, QUESTIONS[name], Squared(), PoissonSample(0.5, 77)) for h in (memory, disk))
        np.testing.assert_array_equal(one, two, err_msg=name)
    disk.close()


def test_control_persons_cut_between_blocks_are_noticed(monkeypatch, small_blocks):
    X, y, ids = people()
    monkeypatch.setattr("dpsparse.rows.records.cut_at", lambda starts, rows, edges: list(edges))
    with pytest.raises(ValueError, match="broadcast"):  # their weights are not those of their rows
        on_disk(X, y, ids, PATIENTS, sparse=False, stored=False)


def test_control_sums_of_floats_depend_on_the_order(monkeypatch):
    def floats(values, starts, weight, size, headroom=1.0):
        return np.add.reduceat(values * weight[:, None] * np.pi, starts, axis=0) / np.pi

    rng = np.random.default_rng(0)
    values, starts = rng.normal(size=(400, 3)), np.array([0])
    weight = np.full(400, np.floor(WEIGHTS / 400) / WEIGHTS)
    mixed = rng.permutation(400)
    assert np.any(floats(values, starts, weight, 4.0) != floats(values[mixed], starts, weight, 4.0))
    exact = [unit_sums.unit_sums(v, starts, weight, 4.0) for v in (values, values[mixed])]
    np.testing.assert_array_equal(*exact)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_compiled_kernels_give_the_numbers_of_plain_ones(monkeypatch, sparse):
    compiled = pytest.importorskip("dpsparse.rows.kernels.compiled")
    rng = np.random.default_rng(7)
    ids = np.repeat(np.arange(400), rng.integers(1, 9, 400))
    X = rng.normal(0, 0.6, (ids.size, D)) * (rng.random((ids.size, D)) < 0.6)
    y = rng.normal(0, 30, ids.size)
    facts = PATIENTS.with_(n_rows=400)
    found = []
    for kernels in (plain, compiled):
        choice.forget_kernels()
        monkeypatch.setattr(choice._Seen, "loaded", kernels)
        world = host(X, y, ids, facts, sparse=sparse)
        found.append([whole_sum(world, QUESTIONS[name], Squared()) for name in QUESTIONS])
    choice.forget_kernels()
    for name, one, two in zip(QUESTIONS, *found, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=name)


# ------------------------------------------------------------------------------------------------ rows are units of one


def test_rows_with_an_id_each_give_the_sums_of_rows():
    """Up to what a clipped factor is truncated by: one tick of a row's entries."""
    X, y, _ = people()
    n = y.size
    rows = FACTS.with_(n_rows=n)
    plain_host = MemoryHost(checked(X, rows.counts_unread), y, rows)
    units = host(X, y, np.arange(n), rows.with_(unit="patient"))
    for name, question in QUESTIONS.items():
        one, two = (whole_sum(h, question, Squared()) for h in (plain_host, units))
        if type(question) in CHOICES or name in ("squares", "absolute", "count", "cells", "correlation", "contrast"):
            np.testing.assert_array_equal(one, two, err_msg=name)
        else:
            spec = measure(question, plain_host.lattice)
            assert np.linalg.norm((one - two) * spec.unit) <= 2e-4 * n * spec.reach.norm, name


def test_what_is_not_clipped_is_the_same_for_rows_with_an_id_each():
    X, y, _ = people()
    rows, wide = FACTS.with_(n_rows=y.size), Gradient(0 * W, Clip(50.0))
    units = host(X, 0.1 * y, np.arange(y.size), rows.with_(unit="patient"))
    plain_host = MemoryHost(checked(X, rows.counts_unread), 0.1 * y, rows)
    np.testing.assert_array_equal(*(whole_sum(h, wide, Squared()) for h in (plain_host, units)))


def test_control_half_weights_for_persons_with_one_row_are_noticed(monkeypatch):
    monkeypatch.setattr(block_module, "weights_of", lambda starts, counts: 0.5 * weights_of(starts, counts))
    with pytest.raises(AssertionError):
        test_what_is_not_clipped_is_the_same_for_rows_with_an_id_each()


# ------------------------------------------------------------------------------------------------ ids


def test_ids_that_could_be_one_are_one():
    assert read_units([7, 7.0, "7 ", "7.0", np.float32(7), np.int8(7)], 6).count == 1
    assert read_units(["a", "A", "a "], 3).count == 2
    assert id_text(10**5000) == ""  # has no text: no id


def test_control_ids_by_str_are_more_than_one():
    assert len({str(i) for i in (7, 7.0, "7 ")}) == 3


def test_merged_persons_never_move_more():
    X, y, ids = people()
    merged = np.where(ids < 4, 0, ids)
    A, b = hostile(np.random.default_rng(2), 11)
    rest = ids >= 4
    one = host(X, y, merged)
    two = host(np.vstack([X[rest], A]), np.r_[y[rest], b], np.r_[merged[rest], np.zeros(11)])
    for name, question in QUESTIONS.items():
        assert movement(question, one, two, Adjacency.REPLACE_ONE) <= 1 + 1e-12, name


def test_rows_without_an_id_count_as_nothing():
    X, y, ids = people()
    gaps = np.r_[ids.astype(object), [None, float("nan"), " "]]
    more = host(np.vstack([X, np.ones((3, D))]), np.r_[y, 1e9, 1e9, 1e9], gaps)
    for question in QUESTIONS.values():
        np.testing.assert_array_equal(*(whole_sum(h, question, Squared()) for h in (host(X, y, ids), more)))


def test_every_question_bounds_units_and_what_does_not_is_refused(monkeypatch):
    assert all(rule.by_unit for rule in (*SUMS.values(), *CHOICES.values()))
    X, y, ids = people()
    monkeypatch.setitem(SUMS, Gradient, type(SUMS[Gradient])(**{**vars(SUMS[Gradient]), "by_unit": False}))
    with pytest.raises(PrivacyError, match="all rows with the same id"):
        whole_sum(host(X, y, ids), QUESTIONS["gradient"], Squared())


def test_hosts_refuse_rows_that_do_not_say_whose_they_are():
    X, y, ids = people()
    with pytest.raises(PrivacyError, match="whose they are"):
        MemoryHost(checked(X, 11), y, PATIENTS)
    with pytest.raises(PrivacyError, match="whose they are"):
        host(X, y, ids, FACTS.with_(n_rows=PEOPLE))
    with pytest.raises(PrivacyError, match="whose they are"):
        DiskHost(checked(X, 11), y, PATIENTS, 10**9)


def test_a_unit_is_never_cut():
    X, y, ids = people()
    [shard] = host(X, y, ids, parts=1).shards
    block = shard.blocks[0]
    long = int(np.flatnonzero(np.diff(np.r_[block.unit_starts, y.size]) > 1)[0])
    piece = block.rows(slice(0, int(block.unit_starts[long]) + 1))
    with pytest.raises(PrivacyError, match="whole units"):
        _ = piece.unit_starts
    assert charge_for(QUESTIONS["gradient"], host(X, y, ids)) is not None


def test_units_are_neither_printed_nor_stored():
    import pickle

    found = read_units(["ada", "bob"], 2)
    assert repr(found) == "Units()"
    with pytest.raises(TypeError):
        pickle.dumps(found)
    assert isinstance(found.take(slice(0, 1)), Units)


# ------------------------------------------------------------------------------------------------ T4


def _score(gram: float, meat: float, residual: float) -> ScoreMoments:
    sure = CentredModel(SUPPORT, 0 * MODEL.centre, MODEL.w, 30.0)  # of the second class, so that others have residual 1
    return ScoreMoments(sure, np.ones(SUPPORT.size), False, residual, 0.9, gram, meat)


@pytest.mark.parametrize("classes", [False, True], ids=["numbers", "classes"])
def test_score_moments_of_units_stay_within_the_bound_of_rows(classes):
    facts = PATIENTS.with_(counts_unread=0, counts_clipped=False)
    loss: Any = Squared()
    if classes:
        from dpsparse.queries.losses import target_of

        loss = Logistic()
        facts = facts.with_(target=target_of(loss, 1.0))
    question = _score(0.8, 0.2, 1.0 if classes else 0.6)
    spec = measure(question, MemoryHost(np.zeros((1, D)), np.zeros(1), facts.with_(unit="row")).lattice)
    rng, worst = np.random.default_rng(4), 0.0
    for _ in range(60):
        found = []
        for _ in range(2):
            rows = int(rng.integers(1, 5))
            X = rng.choice([-1.0, 1.0], (rows, D)) * rng.choice([1e-3, 0.3, 1.0], (rows, 1))
            y = rng.integers(0, 2, rows).astype(float) if classes else rng.choice([-3.0, 3.0, 0.3], rows)
            world = MemoryHost(Records(X).by_unit(read_units(np.zeros(rows), rows)), y, facts)
            found.append(whole_sum(world, question, loss) * spec.unit)
        worst = max(worst, float(np.linalg.norm(found[0] - found[1])))
    assert 0.6 * spec.reach.l2(Adjacency.REPLACE_ONE) < worst <= spec.reach.l2(Adjacency.REPLACE_ONE) * (1 + 1e-6)


def test_control_a_meat_of_rows_counted_whole_exceeds_the_bound():
    """T4 rests on weights: scores of rows that count whole are far outside of it."""
    rng = np.random.default_rng(0)
    b = rng.normal(size=3)
    b /= np.linalg.norm(b)
    g, weights = 4 * b, (0.8, 0.2)
    assert np.linalg.norm(2 * g) > np.sqrt(inference.pair_square(*weights, classes=False))
