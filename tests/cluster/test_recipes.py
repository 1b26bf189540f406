"""Every central recipe, dense and sparse: in memory, on a disk, on Dask with 1, 2 and 4 workers and on Spark with 1, 2 and 4 partitions, the same bytes."""

import shutil
from dataclasses import fields
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.core import DataError
from dpsparse.rows.hosts import DiskHost
from dpsparse.rows.hosts.cluster_rows import gather_arrays
from dpsparse.rows.hosts.worker import LoadedPart

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore"),  # warnings of the engines' own surroundings
]

N, D = 60, 8
#: Recipes that need all rows in one place.
GATHERING = ("dpsl_kt", "two_stage")
LOCAL = {"label_ldp_iht", "label_ldp_lasso", "ldp_iht", "ldp_moment"}
CENTRAL = sorted(n for n, cls in recipes.REGISTRY.items() if cls.private and n not in LOCAL.union(GATHERING))
#: Few turns each: a question takes Spark tenths of a second.
FEW = {"steps": 3, "rounds": 2, "epochs": 1}
FORMS = {"dense": (np.asarray, "regression"), "sparse": (sp.csr_matrix, "classification")}
#: Further numbers of workers and partitions: ``make test-cluster-slow``.
FURTHER = pytest.mark.slow
EVERY = [pytest.param(name, form, id=f"{name}-{form}") for name in CENTRAL for form in FORMS]


def data():
    rng = np.random.default_rng(11)
    X = rng.integers(0, 2, (N, D)).astype(float)
    return X, ((X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(N)) > 0).astype(int)


def fitted(name, form, X, y, **more):
    """Coefficients and statement, as bytes."""
    kind = recipes.get(name)
    known = {field.name for field in fields(kind)}
    options = {
        "epsilon": 200.0 if name == "tables" else 3.0,
        "delta": 1e-5,
        "sparsity": 3,
        "feature_bound": (0.0, 1.0),
        "recipe": kind(**{key: value for key, value in FEW.items() if key in known}),
        "accept": kind.needs,
        "random_state": 5,
        **more,
    }
    if FORMS[form][1] == "regression":
        model = SparseRegressor(target_bound=1.0, **options)
    else:
        model = SparseClassifier(classes=(0, 1), **options)
    model.fit(X, y)
    return np.r_[model.coef_.ravel(), np.ravel(model.intercept_)].tobytes(), model.statement_.to_json()


@cache
def in_memory(name, form):
    """What rows in memory give; made once."""
    X, y = data()
    return fitted(name, form, FORMS[form][0](X), y)


@pytest.mark.parametrize(("name", "form"), EVERY)
def test_a_disk(name, form, monkeypatch):
    X, y = data()
    made = []
    ordinary = DiskHost.__init__
    monkeypatch.setattr("dpsparse.fitting.session.memory_needed", lambda *_: 2**60)  # nothing fits within a limit
    monkeypatch.setattr(
        DiskHost, "__init__", lambda self, *args, **more: (made.append(1), ordinary(self, *args, **more))[1]
    )
    assert fitted(name, form, FORMS[form][0](X), y, memory_limit="200MB") == in_memory(name, form)
    assert made


# ------------------------------------------------------------------------------------------------ Dask


@pytest.fixture(
    scope="module",
    params=[2, pytest.param(1, marks=FURTHER), pytest.param(4, marks=FURTHER)],
    ids=lambda count: f"{count} workers",
)
def workers(request):
    """A cluster of processes on this machine."""
    distributed = pytest.importorskip("distributed", reason="rows on Dask need the extra 'dask'")
    options = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=request.param, **options) as cluster, distributed.Client(cluster) as client:
        yield client


def on_dask(form):
    import dask.array as da

    X, y = data()
    return da.from_array(X, chunks=(17, -1)).map_blocks(FORMS[form][0], dtype=float), y


@pytest.mark.parametrize(("name", "form"), EVERY)
def test_workers_of_dask(workers, name, form):
    assert fitted(name, form, *on_dask(form)) == in_memory(name, form)


@pytest.mark.parametrize("name", GATHERING)
def test_what_needs_all_rows_is_refused_on_dask(workers, name):
    with pytest.raises(DataError, match=r"needs all rows in one place.* recipe='auto'"):
        fitted(name, "dense", *on_dask("dense"))


# ------------------------------------------------------------------------------------------------ Spark


@pytest.fixture(scope="module")
def session():
    """A driver with two threads of tasks."""
    pytest.importorskip("pyspark", reason="rows on Spark need the extra 'spark'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    from dpsparse.rows.hosts.spark import cluster_of

    with cluster_of("spark:local[2]") as found:
        found.sparkContext.setLogLevel("OFF")
        yield found


@pytest.fixture(
    scope="module",
    params=[2, pytest.param(1, marks=FURTHER), pytest.param(4, marks=FURTHER)],
    ids=lambda count: f"{count} partitions",
)
def partitions(request):
    return request.param


def on_spark(session, form, parts):
    from dpsparse.rows.hosts.spark import open_parts

    X, y = data()
    rows = FORMS[form][0](X)
    edges = [N * k // parts for k in range(parts + 1)]
    return open_parts([LoadedPart(rows[a:b], y[a:b]) for a, b in pairwise(edges)], gather_arrays, session), None


@pytest.mark.parametrize(("name", "form"), EVERY)
def test_partitions_of_spark(session, partitions, name, form):
    assert fitted(name, form, *on_spark(session, form, partitions)) == in_memory(name, form)


@pytest.mark.parametrize("name", GATHERING)
def test_what_needs_all_rows_is_refused_on_spark(session, name):
    with pytest.raises(DataError, match=r"needs all rows in one place.* recipe='auto'"):
        fitted(name, "dense", *on_spark(session, "dense", 2))
