"""Rows on a disk: limits, what is refused before anything is paid, and what is left behind."""

import gc
import multiprocessing
import os
import sys
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from builders import whole_sum
from dpsparse import Ledger, SparseClassifier, SparseRegressor, recipes
from dpsparse.core import DataError
from dpsparse.core.facts import Clip, Facts
from dpsparse.losses import Squared
from dpsparse.queries.kinds import (
    CentredModel,
    Correlation,
    Count,
    Gradient,
    IntervalContrast,
    MeanAbsolute,
    ModalEntry,
    WeightedGradient,
)
from dpsparse.rows import scratch as scratch_module
from dpsparse.rows.block import clip_and_quantise
from dpsparse.rows.hosts import DiskHost, MemoryHost, memory_budget
from dpsparse.rows.hosts.memory_budget import LEAST_BLOCKS, PER_COORDINATE, PER_ROW, MemoryBudget
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.records import Records
from dpsparse.rows.scratch import Scratch
from dpsparse.rows.scratch_rows import ScratchBlock, compact

FACTS = Facts(n_rows=3000, n_features=40, lower=-1.0, upper=1.0, row_norm=1.0, target_bound=3.0, intercept=0.5)


def data(n=3000, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.uniform(-1, 1, (n, d)), 2) * (rng.random((n, d)) < 0.3)
    return X, X[:, 0] - X[:, 3] + 0.1 * rng.standard_normal(n)


def test_beyond_one_block_memory_grows_by_what_is_kept_of_a_row():
    n = 2 * memory_budget.STORED_ENTRIES // FACTS.n_features
    small, large = (
        memory_budget.memory_needed(Records(np.broadcast_to(np.zeros(40), (rows, 40))), FACTS) for rows in (n, 2 * n)
    )
    assert large - small == n * (40 * memory_budget.KEPT_DENSE + PER_ROW + memory_budget.KEPT_PER_ROW)


def open_files():
    return {
        os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")
    }


@pytest.fixture
def little_memory(monkeypatch):
    """A machine on which nothing fits in a limit, so that every fit with one goes to the disk."""
    monkeypatch.setattr("dpsparse.fitting.session.memory_needed", lambda *_: 2**60)


@pytest.fixture
def scratch_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(scratch_module, "scratch_folder", lambda: tmp_path)
    return tmp_path


# ------------------------------------------------------------------------------------------------ what is at rest


def test_nothing_on_the_disk_has_a_name_and_nothing_is_left(scratch_folder, monkeypatch):
    X, y = data()
    host = DiskHost(X, y, FACTS, 2**26)
    assert os.listdir(scratch_folder) == []
    assert (
        whole_sum(host, Count(), Squared()).tolist() == whole_sum(MemoryHost(X, y, FACTS), Count(), Squared()).tolist()
    )
    host.close()
    with pytest.raises(ValueError, match="closed"):
        whole_sum(host, Count(), Squared())


@pytest.mark.skipif(sys.platform != "linux", reason="looks at open files where Linux lists them")
def test_a_fit_that_fails_gives_the_disk_back(scratch_folder, little_memory, monkeypatch):
    X, y = data()
    model = SparseRegressor(
        epsilon=1.0, feature_bound=1.0, target_bound=3.0, recipe="dp_ight", random_state=0, memory_limit="40MB"
    )

    def here():
        return [name for name in open_files() if str(scratch_folder) in name]

    seen = []

    def failing(self, question, ask):
        seen.append(len(here()))
        raise RuntimeError("an oracle that fails")

    monkeypatch.setattr("dpsparse.oracles.central.CentralOracle.answer", failing)
    with pytest.raises(RuntimeError, match="an oracle that fails"):
        model.fit(X, y)
    assert seen == [1]
    assert here() == []


def test_what_nobody_closed_is_closed_without_a_warning(scratch_folder):
    host = DiskHost(*data(), FACTS, 2**26)
    del host
    gc.collect()  # a warning would be an error here


def test_a_host_and_its_file_are_not_copied_and_tell_nothing():
    host = DiskHost(*data(), FACTS, 2**26)
    assert repr(host) == "DiskHost(40 features)"
    with pytest.raises(TypeError, match="not copied or stored"):
        host.__reduce__()
    with pytest.raises(TypeError, match="not copied or stored"):
        Scratch().__reduce__()
    host.close()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("pinned", [0, 2**30])
def test_a_block_comes_back_as_it_was(form, pinned):
    X, y = data()
    X[5, 2], y[7] = np.nan, np.inf
    lattice = Lattice(FACTS)
    whole = clip_and_quantise(form(X), y, lattice)
    pieces = [
        compact(clip_and_quantise(form(X[a:b]), y[a:b], lattice)) for a, b in ((0, 1000), (1000, 1001), (1001, 3000))
    ]
    scratch = Scratch(pinned)
    blocks = [ScratchBlock(scratch, pieces, 0), ScratchBlock(scratch, pieces[:1], 1)]
    held = blocks[0].x  # whoever holds rows while others are read keeps them
    before = held.copy()
    assert blocks[1].x.shape == (1000, 40)
    for block in (blocks[0], blocks[0].rows(np.arange(3000))):
        for name in ("y", "present", "squares", "largest"):
            np.testing.assert_array_equal(getattr(block, name), getattr(whole, name))
        assert block.x.dtype == whole.x.dtype
        same = block.x != whole.x
        assert not (same.nnz if block.sparse else same.any())
    changed = held != before
    assert not (changed.nnz if sp.issparse(held) else changed.any())
    some = blocks[0].rows(np.array([2, 999, 1500])).rows(np.array([0, 2]))
    np.testing.assert_array_equal(some.y, whole.y[[2, 1500]])
    scratch.close()


def test_memory_is_used_again_only_when_nobody_looks_at_any_part_of_it():
    scratch, kind = Scratch(), np.dtype(float)

    def fresh():
        return scratch.space(1000, kind)

    first = fresh()
    first[:] = 1.0
    address, part = first.ctypes.data, first[500:].reshape(5, 100).T
    del first
    second = fresh()
    second[:] = 2.0
    assert np.all(part == 1.0)
    assert second.ctypes.data != address
    del part
    assert fresh().ctypes.data == address
    assert scratch.space(0, kind).size == 0
    scratch.close()


# ------------------------------------------------------------------------------------------------ limits


def test_room_is_shared_out_within_the_limit():
    facts = FACTS.with_(n_rows=10**6, n_features=10**4)
    found = MemoryBudget(facts, 10**9, True)
    left = 10**9 - facts.dimension * PER_COORDINATE - 10**6 * PER_ROW
    used = (
        found.entries * memory_budget.AT_WORK
        + found.pinned
        + found.kept
        + found.shard_rows * memory_budget.KEPT_PER_ROW
    )
    assert 0.99 * left <= used <= left
    assert found.piece_entries * memory_budget.SANITISED <= left / 2
    assert found.entries >= facts.n_features


def test_a_limit_that_is_too_small_says_what_would_do_from_public_numbers_alone(little_memory):
    X, y = data()
    model = SparseRegressor(epsilon=1.0, feature_bound=1.0, target_bound=3.0, recipe="dp_ight", random_state=0)
    with pytest.raises(DataError, match=r"memory_limit is too small .* at least 17MB") as first:
        model.set_params(memory_limit="1MB").fit(X, y)
    with pytest.raises(DataError) as second:
        model.fit(sp.csr_matrix(np.zeros_like(X)), y)
    assert str(first.value) == str(second.value)
    assert MemoryBudget(FACTS, 17 * 2**20, False).least <= 17 * 2**20
    assert LEAST_BLOCKS == 2**24


def test_rows_that_exceed_the_free_memory_are_refused_and_the_limit_is_named(monkeypatch, tmp_path):
    X, y = data()
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.create("trial", epsilon=2.0, delta=1e-5)
    monkeypatch.setattr(memory_budget, "SMALL", 0)
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 10**5)
    model = SparseRegressor(
        epsilon=1.0,
        feature_bound=1.0,
        target_bound=3.0,
        recipe="dp_ight",
        ledger=ledger,
        dataset="trial",
        random_state=0,
    )
    with pytest.raises(
        DataError, match=r"more memory than is free\. Give memory_limit, such as memory_limit='2GB'"
    ) as caught:
        model.fit(X, y)
    assert not any(character.isdigit() for character in str(caught.value).replace("2GB", ""))
    assert not ledger.entries("trial")
    model.set_params(memory_limit="40MB").fit(X, y)


def test_a_disk_without_room_is_refused_before_anything_is_paid(monkeypatch, little_memory, tmp_path):
    X, y = data()
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.create("trial", epsilon=2.0, delta=1e-5)
    monkeypatch.setattr(memory_budget.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    model = SparseRegressor(
        epsilon=1.0,
        feature_bound=1.0,
        target_bound=3.0,
        recipe="dp_ight",
        ledger=ledger,
        dataset="trial",
        memory_limit="40MB",
    )
    with pytest.raises(DataError, match=r"no space for a scratch file of the rows.*TMPDIR"):
        model.fit(X, y)
    assert not ledger.entries("trial")


@pytest.mark.parametrize("name", ["two_stage", "dpsl_kt", "ldp_iht", "ight"])
def test_what_needs_all_rows_in_one_place_is_refused_before_anything_is_paid_unless_they_fit(
    name, monkeypatch, tmp_path
):
    X, y = data(400, 10)
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.create("trial", epsilon=20.0, delta=1e-2)
    private = recipes.get(name).private and name != "ldp_iht"
    model = SparseRegressor(
        epsilon=4.0,
        sparsity=2,
        feature_bound=1.0,
        target_bound=3.0,
        recipe=name,
        accept=recipes.get(name).needs,
        memory_limit="60MB",
        random_state=1,
        **({"ledger": ledger, "dataset": "trial"} if private else {}),
    )
    with monkeypatch.context() as patch:
        patch.setattr("dpsparse.fitting.session.memory_needed", lambda *_: 2**60)
        with pytest.raises(DataError, match=rf"{name!r} needs all rows in one place.* recipe='auto'"):
            model.fit(X, y)
    assert not ledger.entries("trial")
    assert model.fit(X, y).coef_.shape == (10,)


@pytest.mark.parametrize("given", ["2 parsecs", "-1GB", "", "GB", 0, True, 1.5, "1e400GB"])
def test_what_is_no_amount_of_memory_is_refused(given):
    with pytest.raises(ValueError, match="memory_limit must be an amount of memory such as '2GB'"):
        SparseRegressor(feature_bound=1.0, target_bound=1.0, memory_limit=given).request()


def test_the_system_is_asked_how_much_memory_is_free():
    found = memory_budget.free_memory()
    assert found is None or 2**20 < found < 2**50


def peak(form, limit, shrunk=1):
    """Most memory that a host takes while rows are put aside and asked about, in parts of its limit.

    For a process of its own: kernels that another test compiled would be specialised here, which is no memory of rows.
    The constants that say how much an entry takes are divided by `shrunk`.
    """
    os.environ["DPSPARSE_KERNELS"] = "plain"
    memory_budget.LEAST_BLOCKS = 0
    for name in ("AT_WORK", "AT_WORK_DENSE", "SANITISED", "SANITISED_DENSE"):
        setattr(memory_budget, name, getattr(memory_budget, name) // shrunk)
    n, d = 8000, 300
    rng = np.random.default_rng(0)
    facts = FACTS.with_(n_rows=n, n_features=d, upper=np.linspace(1, 2, d), lower=-np.ones(d), curvature=1.0)
    if form == "dense":
        X = rng.normal(size=(n, d)).astype(np.float32)
    else:
        places = np.arange(n * 100) % d  # each column once in a row
        X = sp.csr_matrix((rng.normal(size=n * 100), places, np.arange(n + 1) * 100), shape=(n, d))
    y, w = rng.normal(size=n), rng.normal(size=d + 1)
    model = CentredModel(np.array([7, 2, 5]), np.zeros(3), np.array([0.7, -1.3, 0.25]), 0.3)
    questions = [
        Gradient(w, Clip(0.5)),
        Gradient(w, Clip(0.5, columns=np.full(d + 1, 0.1))),
        WeightedGradient(w, np.geomspace(0.1, 3, d + 1), 0.5),
        MeanAbsolute(),
        Correlation(model, 0.6, 0.3),
        IntervalContrast(model, 0.6, np.full(d, -0.3), np.full(d, 0.2)),
        ModalEntry(0.5, np.geomspace(0.02, 1, 12)),
        ModalEntry(0.5, np.geomspace(0.02, 1, 12), np.full(d, 0.1)),
    ]
    tracemalloc.start()
    try:
        host = DiskHost(X, y, facts, limit)
        for question in questions:
            whole_sum(host, question, Squared())
        return tracemalloc.get_traced_memory()[1] / limit
    finally:
        tracemalloc.stop()
        host.close()


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_host_stays_within_its_limit(form):
    """Rows in memory would take 24 bytes (sparse) or 4 (dense) for each entry: more than the limit."""
    limit = 6_000_000
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as processes:
        right, control = processes.map(peak, [form] * 2, [limit] * 2, [1, 4])
    assert right <= 1.0
    assert control > 1.0  # constants that are a quarter of what is needed


# ------------------------------------------------------------------------------------------------ whole fits


def test_a_fit_tells_its_progress_in_turns_and_the_model_is_the_same(little_memory, monkeypatch):
    X, y = data()
    labels = (y > 0).astype(int)
    told = []
    bar = SimpleNamespace(start=lambda: None, advance=told.append, stop=lambda: None)
    monkeypatch.setattr("dpsparse.fitting.progress.TerminalBar", lambda *_: bar)
    options = {"epsilon": 1.0, "feature_bound": 1.0, "recipe": "dp_sgd_ht", "sparsity": 3, "random_state": 0}
    model = SparseClassifier(**options, memory_limit="40MB", verbose=True).fit(sp.csr_matrix(X), labels)
    assert told.count("reading rows") == 20
    expected = SparseClassifier(**options).fit(sp.csr_matrix(X), labels)
    assert model.coef_.tobytes() == expected.coef_.tobytes()
    assert model.statement_.to_json() == expected.statement_.to_json()


def test_no_rows_at_all_are_like_any_number_of_them(little_memory):
    options = {"feature_bound": 1.0, "target_bound": 1.0, "recipe": "dp_ight", "adjacency": "add-remove", "n_rows": 50}
    empty = np.zeros((0, 4)), np.zeros(0)
    on_disk = SparseRegressor(**options, random_state=3, memory_limit="40MB").fit(*empty)
    assert on_disk.coef_.tobytes() == SparseRegressor(**options, random_state=3).fit(*empty).coef_.tobytes()
