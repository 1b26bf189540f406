"""Rows on a cluster, with an engine without machines: sums that come twice, out of order and in groups, and parts that are built again."""

import pickle
import re
from functools import partial as partial_of
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from builders import charge_for, whole_sum
from dpsparse import (
    Ledger,
    PrivateScaler,
    PrivateSearch,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
    private_score,
    recipes,
)
from dpsparse.core import DataError, MissingValueError
from dpsparse.core.facts import Clip, Facts
from dpsparse.io.cluster import FilePart, gather_pieces
from dpsparse.io.streams import ReadOptions
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Count, Gradient, Unread
from dpsparse.rows.hosts import ClusterHost, ClusterRows, MemoryHost, clusters, partial, worker
from dpsparse.rows.hosts.cluster_rows import gather_arrays
from dpsparse.rows.hosts.message import Message
from dpsparse.rows.hosts.partial import PartialSum, add_up, value_of
from dpsparse.rows.hosts.worker import LoadedPart, WorkerRefusal, answer, combine
from dpsparse.rows.lattice import Lattice
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import PoissonSample
from dpsparse.rows.scratch_rows import ScratchBlock
from loopback import Loopback, spread
from questions import FACTS as QUESTION_FACTS
from questions import QUESTIONS

N, D = 60, 8
FACTS = Facts(n_rows=N, n_features=D, lower=-1.0, upper=1.0, row_norm=1.4, target_bound=3.0, intercept=0.5)
LARGEST = 1 << 62


def data(seed=11):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (N, D)).astype(float)
    return X, ((X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(N)) > 0).astype(int)


# ------------------------------------------------------------------------------------------------ sums by number


def parts_of(sums):
    return [PartialSum.of_part(k, bytes([k]), [row]) for k, row in enumerate(sums)]


def sent(found):
    return pickle.loads(pickle.dumps(found))


@pytest.mark.parametrize("scale", [1, 2**20, 2**40, 2**62], ids=["bytes", "short", "long", "beyond 64 bits"])
@pytest.mark.parametrize("density", [0.05, 1.0])
def test_copies_orders_and_trees_of_parts_give_one_sum(scale, density):
    rng = np.random.default_rng(3)
    sums = rng.integers(-scale, scale, (7, 40), endpoint=True) * (rng.random((7, 40)) < density)
    exact = [sum(int(row[j]) for row in sums) for j in range(40)]
    expected = [max(-LARGEST, min(LARGEST, total)) for total in exact]
    seals = {k: bytes([k]) for k in range(7)}
    for seed in range(20):
        order = np.random.default_rng(seed)
        pool = [sent(p) for p in parts_of(sums)]
        pool += [pool[k] for k in order.integers(7, size=3)]  # copies
        pool += [sent(add_up([pool[k] for k in order.permutation(7)[:3]]))] if seed % 2 else []
        mixed = [pool[k] for k in order.permutation(len(pool))]
        try:
            found = add_up(mixed)
        except DataError:
            pytest.fail("copies of parts, and of groups of them, are told apart")
        assert value_of(sent(found), seals, LARGEST).tolist() == expected


def test_sums_that_cannot_be_told_apart_or_lack_a_part_are_refused():
    pool = parts_of(np.arange(12).reshape(4, 3))
    with pytest.raises(DataError, match="cannot be distinguished"):
        add_up([add_up(pool[:2]), add_up(pool[1:3])])
    with pytest.raises(DataError, match="cannot be distinguished"):
        value_of(add_up(pool[:3]), {k: bytes([k]) for k in range(4)}, LARGEST)


def test_a_part_that_changed_is_refused_whether_its_old_sum_is_there_or_not():
    pool = parts_of(np.arange(12).reshape(4, 3))
    other = PartialSum.of_part(2, b"other", [np.arange(3)])
    with pytest.raises(DataError, match="not what they were when they were first read"):
        add_up([*pool, other])
    with pytest.raises(DataError, match="not what they were when they were first read"):
        value_of(add_up([*pool[:2], other, pool[3]]), {k: bytes([k]) for k in range(4)}, LARGEST)


def test_control_a_sum_that_adds_copies_is_noticed(monkeypatch):
    sums = np.arange(12).reshape(4, 3)
    ordinary = partial.Total.add

    def twice(self, integers):
        ordinary(self, integers)
        ordinary(self, integers)

    monkeypatch.setattr(partial.Total, "add", twice)
    found = value_of(add_up(parts_of(sums)), {k: bytes([k]) for k in range(4)}, LARGEST)
    assert found.tolist() != sums.sum(axis=0).tolist()


def test_a_sparse_sum_and_a_sparse_question_take_few_bytes():
    wide = np.zeros(100_000, dtype=np.int64)
    wide[[5, 70_000]] = 3, -(2**40)
    [found] = parts_of([wide])
    assert found.sent_bytes < 100
    w = np.zeros(100_001)
    w[[1, 9]] = 0.25, -0.0
    facts = Facts(n_rows=10, n_features=100_000, row_norm=1.0, intercept=1.0)
    host = SimpleNamespace(facts=facts, shards=None, lattice=Lattice(facts))
    packed = Message(charge_for(Gradient(w, Clip(1.0)), host, PoissonSample(0.5, 7)), Squared()).packed()
    assert len(packed) < 2000
    read = Message.read(packed).charge
    assert read.query.w.tobytes() == w.tobytes()
    assert read.sample == PoissonSample(0.5, 7)
    assert (read.spec.size, read.spec.record) == (100_001, host.lattice.record_units)


# ------------------------------------------------------------------------------------------------ parts


def test_a_built_part_is_not_sent_anywhere_and_prints_nothing():
    X, y = data()
    host = ClusterHost(Records(spread(X, y)), y, FACTS)
    [one, *_] = host._holding.held
    for thing in (one, host, spread(X)):
        with pytest.raises(TypeError, match="not copied"):
            pickle.dumps(thing)
    assert repr(one) == "WorkerShard(0)"
    assert repr(host) == "ClusterHost(8 features)"
    assert repr(spread(sp.csr_matrix(X))) == "ClusterRows(sparse, 8 features)"


def test_rows_are_not_brought_to_the_driver():
    X, _ = data()
    rows = spread(X)
    with pytest.raises(DataError, match="not brought together"):
        Records(rows).rows(0, 3)
    with pytest.raises(DataError, match="not brought together"):
        Records(rows).plain()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("limit", [None, 10**8], ids=["memory", "disk"])
def test_parts_on_a_cluster_give_the_integers_of_rows_in_memory(form, limit, monkeypatch):
    monkeypatch.setattr(worker, "memory_needed", lambda *_: 2**60)  # nothing fits within a limit
    X, y = data()
    X[3, 1] = np.nan
    w = np.random.default_rng(1).normal(0, 1, D + 1)
    draw = PoissonSample(0.4, 2**100 + 7)
    memory = MemoryHost(form(X), y, FACTS)
    for parts in (1, 2, 5):
        host = ClusterHost(Records(spread(form(X), y, parts)), y, FACTS, limit)
        spilled = {isinstance(b, ScratchBlock) for one in host._holding.held for s in one._shards for b in s.blocks}
        assert spilled == {limit is not None}
        for question, who in ((Gradient(w, Clip(0.5)), None), (Gradient(w, Clip(0.5)), draw), (Count(), None)):
            expected = whole_sum(memory, question, Squared(), who).tolist()
            assert whole_sum(host, question, Squared(), who).tolist() == expected
        host.close()


@pytest.mark.parametrize("name", [name for name, question in QUESTIONS.items() if type(question) is not Unread])
def test_every_sum_is_counted_on_workers_as_it_is_here(name):
    """What a message leaves behind, since only noise is made by it, no sum misses."""
    rng, facts = np.random.default_rng(4), QUESTION_FACTS.with_(counts_unread=0)
    X, y = rng.uniform(-1, 1, (61, facts.n_features)), rng.normal(size=61)
    expected = whole_sum(MemoryHost(X, y, facts), QUESTIONS[name], Squared()).tolist()
    assert whole_sum(ClusterHost(Records(spread(X, y)), y, facts), QUESTIONS[name], Squared()).tolist() == expected


def test_control_first_rows_that_are_lost_change_a_sample():
    X, y = data()
    w, draw = np.random.default_rng(1).normal(0, 1, D + 1), PoissonSample(0.4, 2**100 + 7)
    expected = whole_sum(MemoryHost(X, y, FACTS), Gradient(w, Clip(0.5)), Squared(), draw)
    host = ClusterHost(Records(spread(X, y)), y, FACTS)
    for one in host._holding.held:
        for shard in one._shards:
            shard.first_row = 0
    assert whole_sum(host, Gradient(w, Clip(0.5)), Squared(), draw).tolist() != expected.tolist()


def test_some_rows_are_taken_by_number_where_they_are():
    X, y = data()
    which = np.flatnonzero(np.random.default_rng(2).random(N) < 0.5)
    taken = Records(spread(X, y)).take(which)
    again = taken.take(np.arange(0, which.size, 2))
    facts = FACTS.with_(n_rows=which.size)
    w = np.random.default_rng(1).normal(0, 1, D + 1)
    for rows, numbers in ((taken, which), (again, which[::2])):
        assert rows.shape == (numbers.size, D)
        assert rows.spread.targets("numbers").tolist() == y[numbers].tolist()
        host = ClusterHost(rows, y[numbers], facts)
        expected = whole_sum(MemoryHost(X[numbers], y[numbers], facts), Gradient(w, Clip(0.5)), Squared())
        assert whole_sum(host, Gradient(w, Clip(0.5)), Squared()).tolist() == expected.tolist()


# ------------------------------------------------------------------------------------------------ faults


class Broken:
    """A part that cannot be read, and says what it stumbled over."""

    def __init__(self, good, after=0):
        self.good, self.after, self.count = good, after, 0

    def read(self):
        self.count += 1
        if self.count > self.after:
            raise ValueError("could not convert string to float: 'secret 41'")
        return self.good.read()


@pytest.mark.parametrize("after", [0, 1], ids=["at once", "after the first look"])
def test_a_part_that_cannot_be_read_stops_the_fit_and_tells_nothing(after, tmp_path):
    X, y = data()
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.create("trial", epsilon=2.0, delta=1e-5)
    rows = Loopback([LoadedPart(X[:30], y[:30]), Broken(LoadedPart(X[30:], y[30:]), after)])
    model = SparseClassifier(
        epsilon=1.0, feature_bound=1.0, classes=(0, 1), recipe="dp_ight", ledger=ledger, dataset="trial"
    )
    with pytest.raises(DataError, match="could not be read on the cluster") as caught:
        model.fit(ClusterRows.open(rows))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert len(ledger.entries("trial")) == after  # what was reserved before rows are read stays charged


def test_what_fails_in_an_answer_tells_nothing():
    X, y = data()
    host = ClusterHost(Records(spread(X, y)), y, FACTS)
    found = answer(b"no message", host._holding.held)
    assert isinstance(found, WorkerRefusal)
    assert isinstance(combine([found, found]), WorkerRefusal)
    with pytest.raises(DataError, match="could not be answered on the cluster"):
        host.total(charge_for(Gradient(np.zeros(D + 1), Clip(1.0)), host), "no loss")


def test_rows_that_are_not_the_same_when_they_are_read_again_are_refused():
    X, y = data()

    class Changing:
        count = 0

        def read(self):
            Changing.count += 1
            return LoadedPart(X[30:][::-1] if Changing.count > 2 else X[30:], y[30:])

    rows = ClusterRows.open(Loopback([LoadedPart(X[:30], y[:30]), Changing()], rebuild=True))
    host = ClusterHost(Records(rows), y, FACTS)
    with pytest.raises(DataError, match="not what they were when they were first read"):
        whole_sum(host, Count(), Squared())


class Shuffled:
    """A part whose rows come in another order at one of its readings: x of one record would meet y of another."""

    def __init__(self, X, y, at):
        self.chunk, self.at, self.count = (X, y), at, 0

    def read(self):
        self.count += 1
        X, y = self.chunk
        order = np.arange(y.size)[:: -1 if self.count == self.at else 1]
        return LoadedPart(X[order], y[order])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_rows_in_another_order_than_their_targets_were_read_in_are_refused(form):
    X, y = data()
    rows = ClusterRows.open(Loopback([LoadedPart(form(X[:30]), y[:30]), Shuffled(form(X[30:]), y[30:], at=2)]))
    with pytest.raises(DataError, match="not what they were when they were first read"):
        ClusterHost(Records(rows), y, FACTS)


def test_records_are_not_dealt_to_both_parts_of_a_plan_by_a_source_without_an_order():
    """The second part of the plan is another host, and reads the rows again."""
    X, y = data()
    rows = ClusterRows.open(Loopback([Shuffled(X, y, at=3)]))
    model = SparseRegressor(
        epsilon=200.0, feature_bound=1.0, target_bound=1.0, sparsity=2, intervals="split", random_state=0
    )
    with pytest.raises(DataError, match="not what they were when they were first read"):
        model.fit(rows, y.astype(float))


def test_margins_are_those_of_the_rows_whose_targets_were_read():
    X, y = data()
    steady, shuffled = (ClusterRows.open(Loopback([Shuffled(X, y, at)])) for at in (0, 2))
    coef, intercept = np.ones((1, D)), np.zeros(1)
    assert steady.margins(coef, intercept, None).tolist() == X.sum(axis=1, keepdims=True).tolist()
    with pytest.raises(DataError, match="not what they were when they were first read"):
        shuffled.margins(coef, intercept, None)


def test_a_file_that_was_written_again_is_refused(tmp_path):
    X, y = data()
    path = tmp_path / "rows.csv"
    lines = [",".join(map(str, [*x, t])) for x, t in zip(X, y, strict=True)]
    head = ",".join([*(f"x{j}" for j in range(D)), "y"])
    path.write_text("\n".join([head, *lines]))
    rows = ClusterRows.open(Loopback([FilePart(path, ReadOptions("y"))]), partial_of(gather_pieces, path))
    ClusterHost(Records(rows), y, FACTS).close()
    path.write_text("\n".join([head, *lines[::-1]]))
    with pytest.raises(DataError, match="not what they were when they were first read"):
        ClusterHost(Records(rows), y, FACTS)


def test_a_part_with_more_rows_than_were_counted_is_refused():
    X, y = data()

    class Growing:
        count = 0

        def read(self):
            Growing.count += 1
            return LoadedPart(X[29:] if Growing.count > 1 else X[30:])

    rows = ClusterRows.open(Loopback([LoadedPart(X[:30]), Growing()]))
    with pytest.raises(DataError, match="not what they were when they were first read"):
        ClusterHost(Records(rows), y, FACTS)


def test_parts_of_different_forms_are_refused():
    X, y = data()
    for other in (X[:, :5], sp.csr_matrix(X)):
        with pytest.raises(DataError, match="different columns or forms"):
            ClusterRows.open(Loopback([LoadedPart(X, y), LoadedPart(other, y)]))
    with pytest.raises(DataError, match="parts of different lengths"):
        ClusterRows.open(Loopback([LoadedPart(X, y[:-1])]))


def test_a_limit_that_no_part_fits_is_refused_before_anything_is_paid(tmp_path):
    X, y = data()
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.create("trial", epsilon=2.0, delta=1e-5)
    model = SparseClassifier(
        feature_bound=1.0, classes=(0, 1), recipe="dp_ight", ledger=ledger, dataset="trial", memory_limit="20MB"
    )
    with pytest.raises(DataError, match="memory_limit is too small for the parts of a worker") as caught:
        model.fit(spread(X, y))
    assert not ledger.entries("trial")
    [least] = re.findall(r"at least (\d+)MB", str(caught.value))
    enough = spread(X, y)
    model.set_params(memory_limit=f"{int(least) - 1}MB")
    with pytest.raises(DataError, match=f"at least {least}MB"):
        model.fit(enough)
    model.set_params(memory_limit=f"{least}MB").fit(enough)


def test_workers_forget_rows_after_a_fit_and_after_one_that_fails(monkeypatch):
    X, y = data()
    rows = spread(X, y)
    model = SparseClassifier(feature_bound=1.0, classes=(0, 1), recipe="dp_ight", random_state=0)
    model.fit(rows)
    assert rows.engine.closed == 1
    monkeypatch.setattr("dpsparse.oracles.central.CentralOracle.answer", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(rows)
    assert rows.engine.closed == 2


@pytest.mark.parametrize("name", ["two_stage", "dpsl_kt", "ldp_iht", "ight"])
def test_what_needs_all_rows_in_one_place_is_refused_before_anything_is_paid(name, tmp_path):
    X, y = data()
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
        **({"ledger": ledger, "dataset": "trial"} if private else {}),
    )
    with pytest.raises(DataError, match=rf"{name!r} needs all rows in one place.* recipe='auto'"):
        model.fit(spread(X, y))
    assert not ledger.entries("trial")


class ConnectFrame:
    """What a frame of Spark Connect is told by."""

    __module__ = "pyspark.sql.connect.dataframe"


class ConnectSession:
    __module__ = "pyspark.sql.connect.session"


def test_spark_connect_is_refused_with_a_way_out(tmp_path):
    X, y = data()
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.create("trial", epsilon=2.0, delta=1e-5)
    model = SparseClassifier(feature_bound=1.0, classes=(0, 1), ledger=ledger, dataset="trial")
    with pytest.raises(DataError, match=r"Spark Connect gives no access.* ordinary session"):
        model.fit(ConnectFrame(), "event")
    with pytest.raises(DataError, match="Spark Connect"):
        clusters.open_parts([LoadedPart(X, y)], gather_arrays, ConnectSession())
    assert not ledger.entries("trial")


def test_held_parts_answer_one_question_at_a_time(monkeypatch):
    X, y = data()
    host = ClusterHost(Records(spread(X, y, 1)), y, FACTS)
    [one] = host._holding.held
    seen = []

    def watch(charge, shard, loss):
        seen.append(one._lock.locked())
        return np.zeros(1, dtype=np.int64)

    monkeypatch.setattr(worker, "partial_sum", watch)
    one.answer(Message(charge_for(Count(), host), Squared()))
    assert seen == [True]


# ------------------------------------------------------------------------------------------------ steps, searches, scores

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])


@FORMS
def test_a_private_scaler_and_a_pipeline_give_what_they_give_in_memory(form):
    X, y = data()
    scaler = PrivateScaler(epsilon=2.0, feature_bound=1.0, random_state=3)
    expected = scaler.fit(form(X)).scale_
    rows = spread(form(X), y)
    assert scaler.fit(rows).scale_.tobytes() == expected.tobytes()
    assert rows.engine.closed == 1

    def fitted(*rows):  # a new pipeline each time: a second fit of one would say so in its statement
        pipeline = make_private_pipeline(
            PrivateScaler(feature_bound=1.0, random_state=3),
            SparseClassifier(classes=(0, 1), recipe="dp_ight", random_state=4),
            epsilon=3.0,
        ).fit(*rows)
        return pipeline[-1].coef_.tobytes(), pipeline.statement_.to_json()

    assert fitted(spread(form(X), y)) == fitted(form(X), y)


@pytest.mark.parametrize("holdout", [None, 0.4])
def test_a_private_search_gives_what_it_gives_in_memory(holdout):
    X, y = data()
    model = SparseClassifier(feature_bound=1.0, classes=(0, 1), recipe="dp_ight")
    search = PrivateSearch(
        model, {"recipe__clip": [0.1, 1.0]}, epsilon=6.0, mean_runs=4, holdout=holdout, random_state=6
    )
    here = search.fit(X, y).best_estimator_.coef_.tobytes(), search.statement_.to_json(), search.best_score_
    rows = spread(X, y)
    there = search.fit(rows, None).best_estimator_.coef_.tobytes(), search.statement_.to_json(), search.best_score_
    assert there == here
    assert rows.engine.closed >= 1


@FORMS
def test_a_private_score_and_predictions_are_those_of_rows_in_memory(form):
    X, y = data()
    model = SparseClassifier(epsilon=5.0, feature_bound=1.0, classes=(0, 1), recipe="dp_ight", random_state=0).fit(X, y)
    metrics = ("accuracy", "log_loss", "auc")
    here = private_score(model, form(X), y, metrics, epsilon=3.0, random_state=2)
    rows = spread(form(X), y)
    there = private_score(model, rows, None, metrics, epsilon=3.0, random_state=2)
    assert str(there) == str(here)
    assert rows.engine.closed == 1
    np.testing.assert_allclose(model.decision_function(rows), model.decision_function(X), rtol=1e-12, atol=1e-12)


def test_scores_by_group_are_refused_before_anything_is_paid(tmp_path):
    X, y = data()
    ledger = Ledger(f"sqlite:///{tmp_path / 'budget.db'}")
    ledger.create("trial", epsilon=2.0, delta=1e-5)
    model = SparseClassifier(epsilon=5.0, feature_bound=1.0, classes=(0, 1), recipe="dp_ight", random_state=0).fit(X, y)
    paid = {"epsilon": 1.0, "ledger": ledger, "dataset": "trial"}
    with pytest.raises(ValueError, match=r"not scored by group yet.* leave group=None"):
        private_score(model, spread(X, y), None, group=np.zeros(N), groups=[0, 1], **paid)
    assert not ledger.entries("trial")


@FORMS
def test_a_fit_with_intervals_gives_what_it_gives_in_memory(form):
    """Both parts of the rows are dealt by their numbers, and to each the others are absent on every worker."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (400, D)).astype(float)
    y = X[:, 0] - X[:, 1] + 0.2 * rng.standard_normal(400)
    model = SparseRegressor(
        epsilon=30.0,
        delta=1e-5,
        sparsity=2,
        feature_bound=(0.0, 1.0),
        target_bound=2.0,
        recipe="select_polish",
        intervals="split",
        random_state=3,
    )

    def fitted(rows, targets=None):
        model.fit(rows, targets)
        return (
            model.coef_.tobytes(),
            model.statement_.to_json(),
            model.covariance_.tobytes(),
            model.intervals_.estimate.tobytes(),
        )

    expected = fitted(form(X), y)
    rows = spread(form(X), y, rebuild=True)
    assert fitted(rows) == expected
    assert rows.engine.closed == 2


def test_missing_cells_are_refused_or_empty_as_in_memory():
    X, y = data()
    X[40, 2] = np.nan
    model = SparseClassifier(epsilon=5.0, feature_bound=1.0, classes=(0, 1), recipe="dp_ight", random_state=0)
    with pytest.raises(MissingValueError, match="holds NaN"):
        model.fit(spread(X, y))
    model.set_params(on_missing="empty")
    assert model.fit(spread(X, y)).coef_.tobytes() == model.fit(X, y).coef_.tobytes()


def test_many_classes_and_texts_as_labels_come_from_the_parts():
    X, y = data()
    names = np.array(["low", "mid", "high"])[y + (X[:, 2] > 0)]
    model = SparseClassifier(epsilon=5.0, feature_bound=1.0, recipe="dp_ight", random_state=0)
    here = model.fit(X, names).coef_.tobytes(), model.statement_.to_json()
    there = model.fit(spread(X, names)).coef_.tobytes(), model.statement_.to_json()
    assert there == here
    assert model.classes_.tolist() == ["high", "low", "mid"]
