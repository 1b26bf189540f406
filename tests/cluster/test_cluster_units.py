"""Units on Dask: the bytes of memory for any partition, and no unit in two parts."""

import numpy as np
import pandas as pd
import pytest

from builders import whole_sum
from dpsparse import (
    PrivateBounds,
    PrivateScaler,
    PrivateSearch,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
    private_score,
)
from dpsparse.core import DataError
from dpsparse.core.facts import Clip, Facts
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Count, Gradient, MeanSquares
from dpsparse.rows.hosts import ClusterHost, MemoryHost
from dpsparse.rows.hosts.cluster_units import STRAYED, ShuffledPart, dealt, part_of
from dpsparse.rows.hosts.dask import open_collection
from dpsparse.rows.hosts.worker import LoadedPart
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import PoissonSample
from dpsparse.rows.units import read_units

pytest.importorskip("distributed", reason="rows on Dask need the extra 'dask'")
import dask.array as da
import dask.dataframe as dd
from distributed import Client

PEOPLE, D = 30, 5
FACTS = Facts(
    n_rows=PEOPLE, n_features=D, lower=-1.0, upper=1.0, row_norm=1.4, target_bound=3.0, intercept=0.5, unit="patient"
)
pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of the engine's own surroundings


@pytest.fixture(scope="module")
def client():
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as found:
        yield found


def visits(seed=3):
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(PEOPLE), rng.integers(1, 7, PEOPLE))).astype(float)
    ids[5] = np.nan
    X = rng.uniform(-1, 1, (ids.size, D))
    return X, X @ np.linspace(1, -1, D) + 0.3 * rng.normal(size=ids.size), ids


def regressor(**more):
    options = {"epsilon": 3.0, "delta": 1e-6, "feature_bound": 1.0, "target_bound": 3.0, "random_state": 1}
    return SparseRegressor(**options | more)


@pytest.mark.parametrize("chunk", [7, 25, 1000])
def test_sums_are_those_of_memory(client, chunk):
    X, y, ids = visits()
    memory = MemoryHost(Records(X).by_unit(read_units(ids, y.size)), y, FACTS)
    rows, targets, whose = (da.from_array(v, chunks=(chunk, *v.shape[1:])) for v in (X, y, ids))
    found = open_collection(rows, targets, client, units=whose)
    assert sum(found.units) == PEOPLE
    cluster = ClusterHost(Records(found), found.targets("numbers"), FACTS)
    for question in (Gradient(np.linspace(-1, 1, D + 1), Clip(0.4)), Count(), MeanSquares()):
        np.testing.assert_array_equal(*(whole_sum(h, question, Squared()) for h in (memory, cluster)))
    draw = PoissonSample(0.4, 99)
    question = Gradient(np.linspace(-1, 1, D + 1), Clip(0.4))
    np.testing.assert_array_equal(*(whole_sum(h, question, Squared(), draw) for h in (memory, cluster)))
    cluster.close()


@pytest.mark.parametrize("recipe", ["tables", "dp_sgd_ht"])
@pytest.mark.parametrize("limit", [None, "40MB"])
def test_a_fit_gives_the_model_of_memory(client, recipe, limit, monkeypatch):
    X, y, ids = visits()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(target=y, patient=[f"P{i:g}" for i in ids])
    frame.loc[5, "patient"] = None
    one = regressor(recipe=recipe, unit="patient").fit(frame.drop(columns="target"), y, units="patient")
    if limit is not None:
        monkeypatch.setattr("dpsparse.rows.hosts.worker.memory_needed", lambda *_: 2**60)
    spread = dd.from_pandas(frame, npartitions=4, sort=False)
    two = regressor(recipe=recipe, unit="patient", memory_limit=limit).fit(spread, "target", units="patient")
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert two.feature_names_in_.tolist() == list("abcde")
    assert two.statement_.unit == "one patient: all rows with the same id"
    assert two.statement_.n_rows == PEOPLE


def test_what_takes_no_units_on_a_cluster_refuses_them(client):
    X, y, ids = visits()
    rows, targets, whose = (da.from_array(v, chunks=(25, *v.shape[1:])) for v in (X, y, ids))
    with pytest.raises(DataError, match="without intervals"):
        regressor(intervals="split").fit(rows, targets, units=whose)
    with pytest.raises(DataError, match="targets and ids beside them"):
        regressor().fit(rows, targets, units=ids)
    with pytest.raises(DataError, match="targets and ids beside them"):
        PrivateScaler(feature_bound=1.0).fit(rows, units=ids)
    with pytest.raises(DataError, match="no column 'person'"):
        regressor().fit(dd.from_pandas(pd.DataFrame(X).assign(y=y), npartitions=2), "y", units="person")
    with pytest.raises(DataError, match="on a cluster units are taken"):
        PrivateSearch(SparseRegressor(feature_bound=1.0, target_bound=3.0), {"sparsity": [1, 2]}).fit(
            rows, targets, units=whose
        )
    bounds = PrivateBounds(feature_bound=2.0)
    with pytest.raises(DataError, match="on a cluster units are taken"):
        make_private_pipeline(bounds, regressor(feature_bound=None)).fit(rows, targets, units=whose)


def test_scalers_pipelines_and_scores_are_those_of_memory(client):
    X, y, ids = visits()
    table = pd.DataFrame(X, columns=list("abcde")).assign(target=(y > 0).astype(float), patient=ids)
    spread = dd.from_pandas(table, npartitions=4, sort=False)
    rows, seeds = table.drop(columns="target"), {"delta": 1e-6, "random_state": 1}
    scalers = [PrivateScaler(epsilon=2.0, feature_bound=1.0, **seeds) for _ in range(2)]
    one = scalers[0].fit(rows, units="patient").scale_
    np.testing.assert_array_equal(one, scalers[1].fit(spread.drop(columns="target"), units="patient").scale_)
    pipes = [
        make_private_pipeline(
            PrivateScaler(feature_bound=1.0, random_state=0),
            SparseClassifier(classes=[0, 1], random_state=0, unit="patient"),
            epsilon=4.0,
            delta=1e-6,
        )
        for _ in range(2)
    ]
    pipes[0].fit(rows, table["target"], units="patient")
    pipes[1].fit(spread, "target", units="patient")
    np.testing.assert_array_equal(*(pipe[-1].coef_ for pipe in pipes))
    assert pipes[1].statement_.to_json() == pipes[0].statement_.to_json()
    cards = [
        private_score(pipes[0], *given, epsilon=4.0, unit="patient", units="patient", **seeds)
        for given in ((rows, table["target"]), (spread, "target"))
    ]
    assert str(cards[0]) == str(cards[1])
    assert cards[1].statement.n_rows == PEOPLE
    assert cards[1].statement.unit == "one patient: all rows with the same id"


def test_a_limit_that_is_too_small_says_nothing_of_the_number_of_rows(client):
    said = []
    for times in (1, 40):
        X, y, ids = (np.repeat(v, times, axis=0) for v in visits())
        rows, targets, whose = (da.from_array(v, chunks=(60 * times, *v.shape[1:])) for v in (X, y, ids))
        with pytest.raises(DataError, match="memory_limit is too small") as refusal:
            regressor(memory_limit="1MB").fit(rows, targets, units=whose)
        said.append(str(refusal.value))
    assert said[0] == said[1]


# ------------------------------------------------------------------------------------------------ one part for each unit


def test_every_id_is_in_one_part_in_the_order_of_units():
    X, y, ids = visits()
    units = read_units(ids, ids.size)
    where = part_of(units.digests[units.order], 4)
    assert np.all(np.diff(where) >= 0)
    assert set(where) == set(range(4))
    halves = [dealt(LoadedPart(X[h], y[h]), ids[h], 4) for h in (slice(0, 50), slice(50, None))]
    parts = [ShuffledPart(k, 4, [half[k] for half in halves]).read() for k in range(4)]
    np.testing.assert_array_equal(np.concatenate([part.targets for part in parts]), y[units.order])


def test_a_row_that_strays_is_refused():
    X, y, ids = visits()
    pieces = dealt(LoadedPart(X, y), ids, 4)
    with pytest.raises(DataError, match="not theirs"):
        ShuffledPart(1, 4, [pieces[1], pieces[2]]).read()
    assert not any(str(number) in STRAYED for number in (y.size, *range(10)))
