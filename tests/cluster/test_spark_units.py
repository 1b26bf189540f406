"""Units on Spark: the engine's own shuffle by the number of a part, the bytes of memory, and no unit in two parts."""

import shutil

import numpy as np
import pandas as pd
import pytest

from builders import whole_sum
from dpsparse import PrivateScaler, SparseClassifier, SparseRegressor, make_private_pipeline, private_score
from dpsparse.core import DataError
from dpsparse.core.facts import Clip, Facts
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Count, Gradient, MeanSquares
from dpsparse.rows.hosts import ClusterHost, MemoryHost
from dpsparse.rows.hosts.cluster_units import STRAYED
from dpsparse.rows.hosts.spark import cluster_of, open_collection
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import PoissonSample
from dpsparse.rows.units import read_units

pytest.importorskip("pyspark", reason="rows on Spark need the extra 'spark'")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore"),  # warnings of the engine's own surroundings
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
]

PEOPLE, D = 30, 5
FACTS = Facts(
    n_rows=PEOPLE, n_features=D, lower=-1.0, upper=1.0, row_norm=1.4, target_bound=3.0, intercept=0.5, unit="patient"
)


@pytest.fixture(scope="module")
def session():
    with cluster_of("spark:local[2]") as found:
        found.sparkContext.setLogLevel("OFF")
        yield found


def visits(seed=3):
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(PEOPLE), rng.integers(1, 7, PEOPLE)))
    X = rng.uniform(-1, 1, (ids.size, D))
    table = pd.DataFrame(X, columns=list("abcde"))
    table["target"] = X @ np.linspace(1, -1, D) + 0.3 * rng.normal(size=ids.size)
    table["patient"] = [f"P{i}" for i in ids]
    table.loc[5, "patient"] = None
    return table


def spread(session, table, parts):
    rows = session.sparkContext.parallelize([tuple(row) for row in table.to_numpy().tolist()], parts)
    kinds = ", ".join(f"{name} {'string' if name == 'patient' else 'double'}" for name in table.columns)
    return session.createDataFrame(rows, kinds)


def features(table):
    return table.drop(columns=["target", "patient"]).to_numpy()


def regressor(**more):
    options = {"epsilon": 3.0, "delta": 1e-6, "feature_bound": 1.0, "target_bound": 3.0, "random_state": 1}
    return SparseRegressor(**options | more)


@pytest.mark.parametrize("parts", [1, 3])
def test_sums_are_those_of_memory(session, parts):
    table = visits()
    memory = MemoryHost(
        Records(features(table)).by_unit(read_units(table["patient"], len(table))), table["target"].to_numpy(), FACTS
    )
    found = open_collection(spread(session, table, parts), "target", units="patient")
    assert sum(found.units) == PEOPLE
    cluster = ClusterHost(Records(found), found.targets("numbers"), FACTS)
    gradient = Gradient(np.linspace(-1, 1, D + 1), Clip(0.4))
    for question, draw in [
        (gradient, None),
        (gradient, PoissonSample(0.4, 99)),
        (Count(), None),
        (MeanSquares(), None),
    ]:
        np.testing.assert_array_equal(*(whole_sum(h, question, Squared(), draw) for h in (memory, cluster)))
    cluster.close()


@pytest.mark.parametrize("recipe", ["tables", "dp_sgd_ht"])
def test_a_fit_gives_the_model_of_memory(session, recipe):
    table = visits()
    one = regressor(recipe=recipe, unit="patient").fit(
        table.drop(columns="target"), table["target"].to_numpy(), units="patient"
    )
    two = regressor(recipe=recipe, unit="patient").fit(spread(session, table, 3), "target", units="patient")
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert two.feature_names_in_.tolist() == list("abcde")
    assert two.statement_.unit == "one patient: all rows with the same id"
    assert two.statement_.n_rows == PEOPLE
    assert not session.sparkContext._jsc.getPersistentRDDs().size()


def test_scalers_pipelines_and_scores_are_those_of_memory(session):
    table = visits()
    table["target"] = (table["target"] > 0).astype(float)
    frame, X, y, ids = spread(session, table, 3), table.drop(columns="target"), table["target"], table["patient"]
    seeds = {"delta": 1e-6, "random_state": 1}
    scalers = [PrivateScaler(epsilon=2.0, feature_bound=1.0, **seeds) for _ in range(2)]
    np.testing.assert_array_equal(
        scalers[0].fit(X, units="patient").scale_, scalers[1].fit(frame.drop("target"), units="patient").scale_
    )
    whole = [
        make_private_pipeline(
            PrivateScaler(feature_bound=1.0, random_state=0),
            SparseClassifier(classes=[0, 1], random_state=0, unit="patient"),
            epsilon=4.0,
            delta=1e-6,
        )
        for _ in range(2)
    ]
    whole[0].fit(X, y, units="patient")
    whole[1].fit(frame, "target", units="patient")
    np.testing.assert_array_equal(*(pipe[-1].coef_ for pipe in whole))
    assert whole[1].statement_.to_json() == whole[0].statement_.to_json()
    cards = [
        private_score(whole[0], rows, target, epsilon=4.0, unit="patient", units="patient", **seeds)
        for rows, target in ((X, y), (frame, "target"))
    ]
    assert str(cards[0]) == str(cards[1])
    assert cards[1].statement.n_rows == PEOPLE
    assert "patient" in cards[1].statement.unit
    assert ids.notna().sum() != PEOPLE


def test_a_row_that_strays_is_refused(session, monkeypatch):
    """The shuffle sends every piece to the next part: no part answers."""
    from dpsparse.rows.hosts import spark, spark_tasks

    def astray(row):
        return row.place + 1, row

    assert spark_tasks.by_part is spark.by_part
    monkeypatch.setattr(spark, "by_part", astray)
    with pytest.raises(DataError) as refusal:
        open_collection(spread(session, visits(), 3), "target", units="patient")
    assert str(refusal.value) == STRAYED


def test_a_column_that_is_not_there_is_named_and_ids_must_be_a_column(session):
    frame = spread(session, visits(), 2)
    with pytest.raises(DataError, match="no column 'person'"):
        regressor().fit(frame, "target", units="person")
    with pytest.raises(DataError, match="targets and ids beside them"):
        regressor().fit(frame, "target", units=["P1"] * 90)
    with pytest.raises(DataError, match="without intervals"):
        regressor(intervals="split").fit(frame, "target", units="patient")
