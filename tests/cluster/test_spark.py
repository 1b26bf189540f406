"""Rows on Spark: the same bytes for any number of partitions, after a killed worker, from frames, tables and files."""

import os
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from builders import whole_sum
from dpsparse import PrivateScaler, PrivateSearch, SparseClassifier, SparseRegressor, private_score, recipes
from dpsparse.core import DataError
from dpsparse.core.facts import Clip, Facts
from dpsparse.io.cluster import open_cluster
from dpsparse.losses import Squared
from dpsparse.queries.kinds import (
    CentredGradient,
    CentredModel,
    Correlation,
    Count,
    Gradient,
    Gram,
    MeanAbsolute,
    MeanSquares,
    ModalEntry,
    WeightedGradient,
)
from dpsparse.rows.hosts import ClusterHost, ClusterRows, MemoryHost
from dpsparse.rows.hosts.cluster_rows import gather_arrays
from dpsparse.rows.hosts.spark import cluster_of, open_parts
from dpsparse.rows.hosts.worker import LoadedPart
from dpsparse.rows.records import Records
from dpsparse.rows.sampling import PoissonSample
from dpsparse.tables import Column, Dictionary, TableEncoder

pytest.importorskip("pyspark", reason="rows on Spark need the extra 'spark'")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore"),  # warnings of the engine's own surroundings
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
]

N, D = 60, 8
FACTS = Facts(
    n_rows=N, n_features=D, lower=-1.0, upper=1.0, row_norm=1.4, target_bound=3.0, intercept=0.5, curvature=1.0
)
PARTS = pytest.mark.parametrize("parts", [1, 2, 4])
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
W = np.random.default_rng(1).normal(0, 1, D + 1)
MODEL = CentredModel(np.array([7, 2, 5]), np.array([0.2, -0.1, 0.0]), np.array([0.7, -1.3, 0.25]), 0.3)
QUESTIONS = {
    "gradient": (Gradient(W, Clip(0.5)), None),
    "a sample's gradient": (Gradient(W, Clip(0.5)), PoissonSample(0.4, 2**100 + 7)),
    "weighted": (WeightedGradient(W, np.geomspace(0.1, 3.0, D + 1), 0.5), None),
    "centred": (CentredGradient(MODEL, 0.4), None),
    "correlation": (Correlation(MODEL, 0.6, 0.3), None),
    "gram": (Gram(MODEL.support, MODEL.centre, 0.6), None),
    "squares": (MeanSquares(), None),
    "absolute": (MeanAbsolute(), None),
    "typical": (ModalEntry(0.5, np.geomspace(0.02, 1.0, 12)), None),
    "count": (Count(), None),
}


def data(n=N, seed=11):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, D)).astype(float)
    return X, ((X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)) > 0).astype(int)


@pytest.fixture(scope="module")
def session():
    """A driver with two threads of tasks, each of which may fail and be run again."""
    with cluster_of("spark:local[2,4]") as found:
        found.sparkContext.setLogLevel("OFF")
        yield found


def spread(session, X, y, parts):
    edges = [X.shape[0] * k // parts for k in range(parts + 1)]
    chunks = [LoadedPart(X[a:b], y[a:b]) for a, b in pairwise(edges)]
    return open_parts(chunks, gather_arrays, session)


def frame_of(session, X, y, parts):
    """A Spark frame whose partitions hold the rows in their order."""
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(D)]).assign(event=y)
    rows = session.sparkContext.parallelize([tuple(row) for row in table.to_numpy().tolist()], parts)
    return session.createDataFrame(rows, list(table.columns)), table


@PARTS
@FORMS
def test_any_number_of_partitions_gives_the_integers_of_rows_in_memory(session, form, parts):
    X, y = data()
    X[3, 1] = np.nan
    memory = MemoryHost(form(X), y, FACTS)
    host = ClusterHost(Records(spread(session, form(X), y, parts)), y, FACTS)
    for name, (question, draw) in QUESTIONS.items():
        expected = whole_sum(memory, question, Squared(), draw).tolist()
        assert whole_sum(host, question, Squared(), draw).tolist() == expected, name
    host.close()


@PARTS
def test_a_frame_of_any_number_of_partitions_gives_the_model_and_statement_of_rows_in_memory(session, parts):
    """Of files and arrays, and for every recipe: see `test_recipes`."""
    X, y = data()
    frame, table = frame_of(session, X, y, parts)
    model = SparseClassifier(
        epsilon=3.0, sparsity=3, feature_bound=(0, 1), classes=(0, 1), recipe="select_polish", random_state=5
    )
    here = model.fit(table.drop(columns="event"), y).coef_.tobytes(), model.statement_.to_json()
    there = model.fit(frame, target="event").coef_.tobytes(), model.statement_.to_json()
    assert there == here
    assert model.feature_names_in_.tolist() == [f"c{j}" for j in range(D)]


def test_a_killed_python_worker_does_not_change_a_sum(session, tmp_path):
    X, y = data()
    flag = str(tmp_path / "killed")

    class Killing(Squared):
        def slope(self, margin, target):
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return Squared.slope(self, margin, target)
            os.kill(os.getpid(), signal.SIGKILL)

    host = ClusterHost(Records(spread(session, X, y, 3)), y, FACTS)
    question = Gradient(W, Clip(0.5))
    expected = whole_sum(MemoryHost(X, y, FACTS), question, Squared()).tolist()
    assert whole_sum(host, question, Killing()).tolist() == expected
    assert os.path.exists(flag)
    host.close()


def test_many_partitions_are_added_up_in_a_tree(session):
    X, y = data()
    host = ClusterHost(Records(spread(session, X, y, 11)), y, FACTS)
    question = Gradient(W, Clip(0.5))
    expected = whole_sum(MemoryHost(X, y, FACTS), question, Squared()).tolist()
    assert whole_sum(host, question, Squared()).tolist() == expected
    host.close()


def test_a_scaler_a_search_a_score_and_intervals_run_on_spark(session):
    X, y = data()
    frame, table = frame_of(session, X, y, 2)
    rows = table.drop(columns="event")
    scaler = PrivateScaler(epsilon=2.0, feature_bound=1.0, random_state=3)
    expected = scaler.fit(rows).scale_.tobytes()
    assert scaler.fit(frame.drop("event")).scale_.tobytes() == expected
    model = SparseClassifier(
        epsilon=3.0, feature_bound=1.0, classes=(0, 1), recipe=recipes.get("dp_ight")(steps=3), random_state=3
    )
    search = PrivateSearch(model, {"recipe__clip": [0.1, 1.0]}, epsilon=6.0, mean_runs=2, random_state=6)
    here = search.fit(rows, y).best_estimator_.coef_.tobytes(), search.statement_.to_json()
    assert (search.fit(frame, "event").best_estimator_.coef_.tobytes(), search.statement_.to_json()) == here
    model.fit(rows, y)
    card = str(private_score(model, rows, y, "accuracy", epsilon=3.0, random_state=2))
    assert str(private_score(model, frame, "event", "accuracy", epsilon=3.0, random_state=2)) == card
    given = {"epsilon": 30.0, "sparsity": 2, "recipe": "select_polish", "intervals": "split", "random_state": 3}
    # estimators of their own: statements count the fits of one estimator and its clones
    one, two = (SparseClassifier(feature_bound=1.0, classes=(0, 1), **given) for _ in range(2))
    here = one.fit(rows, y).coef_.tobytes(), one.covariance_.tobytes(), one.statement_.to_json()
    two.fit(frame, "event")
    assert (two.coef_.tobytes(), two.covariance_.tobytes(), two.statement_.to_json()) == here


def test_a_table_is_encoded_on_executors(session):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(0, 100, 50), "sex": rng.choice(["f", "m"], 50)})
    table["event"] = np.where(table["age"] > 50, "yes", "no")
    codebook = Dictionary(
        [
            Column(name="age", kind="number", bounds=(0, 100)),
            Column(name="sex", kind="category", categories=["f", "m"]),
            Column(name="event", role="target", kind="category", categories=["no", "yes"]),
        ]
    )
    encoder = TableEncoder(codebook)
    model = SparseClassifier(epsilon=3.0, classes=("no", "yes"), recipe="select_polish", random_state=1)
    expected = model.fit(encoder.fit_transform(table), table["event"].to_numpy()).coef_.tobytes()
    frame = session.createDataFrame(table).coalesce(1)
    assert model.fit(open_cluster(frame, dictionary=codebook)).coef_.tobytes() == expected


def test_what_cannot_be_read_is_told_without_a_value(session):
    from pyspark.sql.functions import udf

    X, y = data()
    frame, _ = frame_of(session, X, y, 2)

    @udf("double")
    def fail(value):
        raise ValueError("could not convert string to float: 'secret 41'")

    with pytest.raises(DataError, match="could not be read on the cluster") as caught:
        SparseRegressor(feature_bound=1.0, target_bound=1.0).fit(frame.withColumn("c0", fail("c0")), "event")
    assert "secret" not in repr(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises(DataError, match="no column 'absent'"):
        SparseRegressor(feature_bound=1.0, target_bound=1.0).fit(frame, "absent")


def test_statistics_are_refused(session):
    X, y = data()
    frame, _ = frame_of(session, X, y, 2)
    model = SparseRegressor(
        feature_bound=1.0, target_bound=1.0, recipe="two_stage", accept=recipes.get("two_stage").needs
    )
    with pytest.raises(DataError, match="needs all rows in one place"):
        model.fit(frame, "event")


def test_spark_connect_is_still_where_it_is_refused_by():
    """Its classes need a server: they are looked for by their files."""
    import pyspark.sql

    folder = Path(pyspark.sql.__file__).parent / "connect"
    assert "\nclass DataFrame(" in (folder / "dataframe.py").read_text()
    assert "\nclass SparkSession" in (folder / "session.py").read_text()


def test_rows_that_change_between_two_readings_are_refused(session, tmp_path):
    X, y = data()
    flag = str(tmp_path / "read")

    class Changing:
        def read(self):
            built = os.path.exists(flag)
            return LoadedPart(X[::-1] if built else X, y)

    rows = ClusterRows.open(open_parts([Changing()], gather_arrays, session).engine)
    host = ClusterHost(Records(rows), y, FACTS)
    open(flag, "w").close()
    host._holding._stored.unpersist()  # as if its executor had been lost
    with pytest.raises(DataError, match="not what they were when they were first read"):
        whole_sum(host, Gradient(W, Clip(0.5)), Squared())
    host.close()


def test_the_command_line_fits_files_on_spark(tmp_path):
    X, y = data(200)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(D)]).assign(event=y)
    for part in range(2):
        table[part * 100 : part * 100 + 100].to_parquet(tmp_path / f"rows{part}.parquet", index=False)
    found = []
    for name, extra in (("here", []), ("there", ["--cluster", "spark:local[2]"])):
        out = tmp_path / f"{name}.json"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "dpsparse", "fit", str(tmp_path / "rows*.parquet"), "--target", "event"),
                *("--task", "classification", "--classes", "0,1", "--feature-bound", "0,1", "--recipe", "dp_ight"),
                *("--set", "steps=3", "--seed", "3", "--out", str(out), *extra),
            ],
            check=False,
            capture_output=True,
        )
        assert done.returncode == 7, done.stderr  # a seed
        found.append(out.read_bytes())
    assert found[0] == found[1]


OWN_SESSION = """
import os
import sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from dpsparse import SparseRegressor

builder = SparkSession.builder.master("local[2]").config("spark.driver.host", "127.0.0.1")
session = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
level = session._jvm.org.apache.logging.log4j.LogManager.getRootLogger

def failing(words):
    @udf("double")
    def fail(value):
        if value > 0.5:
            raise ValueError(words)
        return value
    return frame.withColumn("a", fail("a"))

def fit(rows):
    SparseRegressor(feature_bound=1.0, target_bound=1.0, epsilon=4.0, random_state=1).fit(rows, "t")

frame = session.createDataFrame([(k / 50, k / 50) for k in range(51)], ["a", "t"]).repartition(4)
for job in (lambda: failing("a job of the user").collect(), lambda: fit(frame), lambda: fit(failing("secret 41"))):
    before = level().getLevel().toString()
    try:
        job()
        print("ended", before, level().getLevel().toString())
    except Exception as error:
        print("failed", before, level().getLevel().toString(), "secret" in str(error))
"""


def test_the_log_of_a_user_s_own_session_quotes_no_cell_of_a_fit(tmp_path):
    """Control: it quotes one of a job of the user's."""
    (tmp_path / "own.py").write_text(OWN_SESSION)
    ran = subprocess.run([sys.executable, str(tmp_path / "own.py")], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["failed INFO INFO False", "ended INFO INFO", "failed INFO OFF False"]
    assert "a job of the user" in ran.stderr
    assert " INFO " not in ran.stderr, "below the threshold of a session"
    assert "secret" not in ran.stderr
