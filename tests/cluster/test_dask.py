"""Rows on Dask: the same bytes on any number of workers, after a kill, from arrays, frames and files."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from builders import whole_sum
from dpsparse import Ledger, PrivateScaler, PrivateSearch, SparseClassifier, SparseRegressor, private_score, recipes
from dpsparse.core import DataError, release
from dpsparse.core.errors import RunRepeatedError
from dpsparse.core.facts import Clip, Facts
from dpsparse.io.cluster import open_cluster
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Count, Gradient
from dpsparse.readers import convert, open_rows
from dpsparse.rows.hosts import ClusterHost, MemoryHost
from dpsparse.rows.hosts.dask import open_collection
from dpsparse.rows.hosts.dask_engine import DaskHolding
from dpsparse.rows.records import Records
from dpsparse.tables import Column, Dictionary, TableEncoder

pytest.importorskip("distributed", reason="rows on Dask need the extra 'dask'")
import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster
from distributed.security import Security

N, D = 60, 8
FACTS = Facts(n_rows=N, n_features=D, lower=-1.0, upper=1.0, row_norm=1.4, target_bound=3.0, intercept=0.5)
pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of the engine's own surroundings


def data(n=N, seed=11):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, D)).astype(float)
    return X, ((X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)) > 0).astype(int)


def fitted(name, X, y, task="classification"):
    options = {
        "epsilon": 200.0 if name == "tables" else 3.0,
        "delta": 1e-5,
        "sparsity": 3,
        "feature_bound": (0.0, 1.0),
        "recipe": name,
        "accept": recipes.get(name).needs,
        "random_state": 5,
    }
    kind = SparseClassifier(classes=(0, 1), **options)
    model = (kind if task == "classification" else SparseRegressor(target_bound=1.0, **options)).fit(X, y)
    return np.r_[model.coef_.ravel(), np.ravel(model.intercept_)].tobytes(), model.statement_.to_json()


def chunked(X, rows, form=np.asarray):
    return da.from_array(X, chunks=(rows, -1)).map_blocks(form, dtype=float)


@pytest.fixture(scope="module")
def threads():
    """A cluster of threads in this process."""
    with Client(processes=False, n_workers=2, threads_per_worker=2, dashboard_address=None) as client:
        yield client


# ------------------------------------------------------------------------------------------------ in this process


def test_a_dask_array_gives_the_model_and_statement_of_rows_in_memory(threads):
    X, y = data()
    expected = fitted("select_polish", sp.csr_matrix(X), y)
    assert fitted("select_polish", chunked(X, 17, sp.csr_matrix), da.from_array(y, chunks=20)) == expected
    assert fitted("select_polish", chunked(X, 60, sp.csr_matrix), y) == expected


def test_a_dask_frame_names_its_target_and_keeps_names(threads):
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(D)]).assign(event=y)
    model = SparseClassifier(epsilon=3.0, feature_bound=(0, 1), classes=(0, 1), recipe="select_polish", random_state=1)
    expected = model.fit(frame.drop(columns="event"), y).coef_.tobytes()
    assert model.fit(dd.from_pandas(frame, npartitions=3), target="event").coef_.tobytes() == expected
    assert model.feature_names_in_.tolist() == [f"c{j}" for j in range(D)]
    cut = dd.from_pandas(frame, npartitions=3)
    assert model.fit(cut.drop(columns="event"), cut["event"]).coef_.tobytes() == expected
    with pytest.raises(DataError, match="different parts"):
        model.fit(cut.drop(columns="event"), dd.from_pandas(frame["event"], npartitions=2))


CODEBOOK = Dictionary(
    [
        Column(name="age", kind="number", bounds=(0, 100)),
        Column(name="sex", kind="category", categories=["f", "m"]),
        Column(name="event", role="target", kind="category", categories=["no", "yes"]),
        Column(name="ward", role="ignore"),
    ]
)


def patients():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 100, 50), "sex": rng.choice(["f", "m"], 50)})
    return frame.assign(event=np.where(frame["age"] > 50, "yes", "no"), ward="north")


def test_a_table_is_encoded_where_it_is(threads):
    frame, codebook = patients(), CODEBOOK
    encoder = TableEncoder(codebook)
    model = SparseClassifier(epsilon=3.0, classes=("no", "yes"), recipe="select_polish", random_state=1)
    expected = model.fit(encoder.fit_transform(frame), frame["event"].to_numpy()).coef_.tobytes()
    rows = open_cluster(dd.from_pandas(frame, npartitions=3), dictionary=codebook)
    assert model.fit(rows).coef_.tobytes() == expected
    assert model.feature_names_in_.tolist() == encoder.get_feature_names_out().tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_a_table_are_encoded_where_they_are_read(threads, tmp_path, kind):
    frame = patients()
    frame.loc[3, "age"] = 400  # outside its bounds
    for part in range(2):
        write_as = getattr(frame[part * 25 : part * 25 + 25], f"to_{kind}")
        write_as(tmp_path / f"rows{part}.{kind}", index=False)
    model = SparseClassifier(epsilon=3.0, classes=("no", "yes"), recipe="select_polish", random_state=1)
    encoder = TableEncoder(CODEBOOK)
    expected = model.fit(encoder.fit_transform(frame), frame["event"].to_numpy()).coef_.tobytes()
    rows = open_cluster(str(tmp_path / f"*.{kind}"), dictionary=CODEBOOK)
    assert rows.counts == [25, 25]
    assert model.fit(rows).coef_.tobytes() == expected
    assert model.feature_names_in_.tolist() == encoder.get_feature_names_out().tolist()
    with pytest.raises(DataError, match="the dictionary says which columns there are"):
        open_cluster(str(tmp_path / f"*.{kind}"), "event", dictionary=CODEBOOK)
    getattr(frame.drop(columns="sex"), f"to_{kind}")(tmp_path / f"rows2.{kind}", index=False)
    with pytest.raises(DataError, match=r"rows2.*sex"):
        open_cluster(str(tmp_path / f"*.{kind}"), dictionary=CODEBOOK)


def test_a_scaler_a_search_a_score_and_intervals_run_on_dask(threads):
    X, y = data()
    rows, there = sp.csr_matrix(X), da.from_array(y, chunks=17)
    scaler = PrivateScaler(epsilon=2.0, feature_bound=1.0, random_state=3)
    expected = scaler.fit(rows).scale_.tobytes()
    assert scaler.fit(chunked(X, 17, sp.csr_matrix)).scale_.tobytes() == expected
    model = SparseClassifier(
        epsilon=3.0, feature_bound=1.0, classes=(0, 1), recipe=recipes.get("dp_ight")(steps=3), random_state=3
    )
    search = PrivateSearch(model, {"recipe__clip": [0.1, 1.0]}, epsilon=6.0, mean_runs=2, random_state=6)
    here = search.fit(rows, y).best_estimator_.coef_.tobytes(), search.statement_.to_json()
    search.fit(chunked(X, 17, sp.csr_matrix), there)
    assert (search.best_estimator_.coef_.tobytes(), search.statement_.to_json()) == here
    model.fit(rows, y)
    card = str(private_score(model, rows, y, "accuracy", epsilon=3.0, random_state=2))
    assert (
        str(private_score(model, chunked(X, 17, sp.csr_matrix), there, "accuracy", epsilon=3.0, random_state=2)) == card
    )
    settings = model.get_params() | {"epsilon": 30.0, "sparsity": 2, "recipe": "select_polish", "intervals": "split"}

    def inferred(*given):  # a new model each time: a second fit of one would say so in its statement
        model = SparseClassifier(**settings).fit(*given)
        return model.coef_.tobytes(), model.covariance_.tobytes(), model.statement_.to_json()

    assert inferred(chunked(X, 17, sp.csr_matrix), there) == inferred(rows, y)


def test_what_others_say_about_a_part_is_not_passed_on(threads):
    X, _ = data()

    def fail(block):
        raise ValueError("could not convert string to float: 'secret 41'")

    with pytest.raises(DataError, match="could not be read on the cluster") as caught:
        open_collection(da.from_array(X, chunks=(20, -1)).map_blocks(fail, dtype=float, meta=np.zeros((0, 0))))
    assert "secret" not in repr(caught.value)
    assert caught.value.__cause__ is None


def held(client):
    """Built parts that workers have."""
    return [key for keys in client.has_what().values() for key in keys if str(key).startswith("WorkerShard")]


def test_workers_forget_parts_when_a_host_is_closed(threads):
    X, y = data()
    host = ClusterHost(Records(open_collection(chunked(X, 20))), y, FACTS)
    assert len(held(threads)) == 3
    host.close()
    for _ in range(100):
        if not held(threads):
            break
        time.sleep(0.05)
    assert held(threads) == []
    with pytest.raises(ValueError, match="closed"):
        whole_sum(host, Count(), Squared())


def test_without_a_client_it_is_said_what_to_do(monkeypatch):
    import distributed

    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(DataError, match=r"make a dask\.distributed\.Client first"):
        SparseClassifier(feature_bound=1.0).fit(da.zeros((4, 2)), np.zeros(4))


def write(folder, kind):
    """Rows in three files of a kind, or in one of blocks; gives their pattern and the name of the target."""
    X, y = data(300)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(D)]).assign(event=y)
    for part in range(3):
        piece, file = frame[part * 100 : part * 100 + 100], folder / f"rows{part}"
        if kind == "csv":
            piece.to_csv(f"{file}.csv", index=False)
        elif kind == "npz":
            np.savez(f"{file}.npz", X=np.ascontiguousarray(piece.to_numpy()[:, :D]), y=piece["event"].to_numpy())
        else:
            piece.to_parquet(f"{file}.parquet", index=False)
    if kind == "dpsrows":
        convert(str(folder / "rows*.parquet"), folder / "all.dpsrows", target="event")
    return str(folder / f"*.{kind}"), "event" if kind in ("csv", "parquet") else None


@pytest.mark.parametrize("kind", ["parquet", "csv", "dpsrows", "npz"])
def test_files_that_workers_read_give_the_model_of_files_that_are_read_here(threads, monkeypatch, tmp_path, kind):
    monkeypatch.setattr("dpsparse.io.block_file.BLOCK_ENTRIES", 50 * D)
    pattern, target = write(tmp_path, kind)
    model = SparseClassifier(epsilon=3.0, feature_bound=(0, 1), recipe="select_polish", sparsity=3, random_state=1)
    here = model.fit(open_rows(pattern, target)).coef_.tobytes(), model.statement_.to_json()
    rows = open_cluster(pattern, target)
    assert len(rows.surveyed) >= 3
    assert (model.fit(rows).coef_.tobytes(), model.statement_.to_json()) == here


def test_a_damaged_file_is_named_and_not_quoted(threads, tmp_path):
    pattern, _ = write(tmp_path, "csv")
    (tmp_path / "rows1.csv").write_text("c0,c1\nsecret 41,2,3\n")
    with pytest.raises(DataError, match=r"rows1\.csv") as caught:
        open_cluster(pattern, "event")
    assert "secret" not in str(caught.value)


# ------------------------------------------------------------------------------------------------ with processes


def cluster_of(workers):
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    )


@pytest.mark.cluster
@pytest.mark.parametrize("name", ["dual_averaging", "dp_sgd_ht"])
def test_a_worker_killed_in_the_middle_of_a_fit_does_not_change_a_byte(monkeypatch, name):
    X, y = data(4000)
    expected = fitted(name, X, y)
    ordinary, asked = DaskHolding._result, []
    with cluster_of(2) as cluster, Client(cluster):

        def killing(self, roots, tasks=()):
            asked.append(len(roots))
            if len(asked) == 8:  # the question is on its way
                os.kill(next(iter(cluster.workers.values())).process.process.pid, signal.SIGKILL)
            return ordinary(self, roots, tasks)

        monkeypatch.setattr(DaskHolding, "_result", killing)
        found = fitted(name, chunked(X, 500), y)
    assert len(asked) > 9
    assert found == expected


@pytest.mark.cluster
def test_a_worker_killed_between_two_questions_is_replaced():
    X, y = data(4000)
    facts = FACTS.with_(n_rows=4000)
    w = np.random.default_rng(1).normal(0, 1, D + 1)
    question = Gradient(w, Clip(0.5))
    expected = whole_sum(MemoryHost(X, y, facts), question, Squared()).tolist()
    with cluster_of(2) as cluster, Client(cluster):
        host = ClusterHost(Records(open_collection(chunked(X, 500))), y, facts)
        assert whole_sum(host, question, Squared()).tolist() == expected
        for worker in list(cluster.workers.values())[:1]:
            os.kill(worker.process.process.pid, signal.SIGKILL)
        assert whole_sum(host, question, Squared()).tolist() == expected
        host.close()


@pytest.mark.cluster
def test_the_command_line_fits_files_on_a_cluster(tmp_path):
    pattern, _ = write(tmp_path, "dpsrows")
    found = []
    for name, extra in (("here", []), ("there", ["--cluster", "local:2"])):
        out = tmp_path / f"{name}.json"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "dpsparse", "fit", pattern, "--task", "classification", "--classes", "0,1"),
                *("--feature-bound", "0,1", "--recipe", "select_polish", "--sparsity", "3", "--seed", "3"),
                *("--out", str(out), *extra),
            ],
            check=False,
            capture_output=True,
        )
        assert done.returncode == 7, done.stderr  # a seed
        found.append(out.read_bytes())
    assert found[0] == found[1]


@pytest.mark.cluster
def test_the_command_line_encodes_a_table_on_a_cluster(tmp_path):
    patients().to_csv(tmp_path / "rows.csv", index=False)
    CODEBOOK.write(tmp_path / "codebook.yaml")
    found = []
    for name, extra in (("here", ["--check-cells", "0"]), ("there", ["--cluster", "local:1"])):  # not counted there
        out = tmp_path / f"{name}.json"
        command = [sys.executable, "-m", "dpsparse", "fit", str(tmp_path / "rows.csv"), "--out", str(out)]
        given = ["--dictionary", str(tmp_path / "codebook.yaml"), "--recipe", "select_polish", "--seed", "3"]
        done = subprocess.run([*command, *given, *extra], check=False, capture_output=True)
        assert done.returncode == 7, done.stderr  # a seed
        found.append(out.read_bytes())
    assert found[0] == found[1]


@pytest.mark.cluster
def test_a_lost_driver_leaves_the_ledger_charged(tmp_path):
    address = f"sqlite:///{tmp_path / 'budget.db'}"
    ledger = Ledger(address)
    ledger.create("trial", epsilon=2.0, delta=1e-6)
    program = f"""
import os, numpy as np
from dpsparse import SparseClassifier
from dpsparse.rows.hosts import ClusterHost
from dpsparse.rows.hosts.dask import cluster_of
import dask.array as da

def main():
    ordinary, count = ClusterHost.total, [0]
    def total(self, *question):
        count[0] += 1
        if count[0] == 3:
            os.kill(os.getpid(), 9)
        return ordinary(self, *question)
    ClusterHost.total = total
    X = da.from_array(np.ones((100, 3)), chunks=(50, 3))
    model = SparseClassifier(epsilon=1.0, delta=1e-6, feature_bound=1.0, classes=(0, 1), recipe="dp_ight",
                             ledger="{address}", dataset="trial", run_id="nightly")
    with cluster_of("local:1"):
        model.fit(X, np.arange(100) % 2)

if __name__ == "__main__":
    main()
"""
    script = tmp_path / "fit.py"
    script.write_text(program)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # workers outlive their driver for a while
    run = subprocess.run([sys.executable, str(script)], check=False, **quiet)
    assert run.returncode == -signal.SIGKILL
    assert ledger.spent("trial").epsilon == pytest.approx(1.0, rel=1e-6)
    [entry] = ledger.entries("trial")
    assert (entry.run_id, entry.status) == ("nightly", "started")
    again = SparseClassifier(
        epsilon=1.0,
        delta=1e-6,
        feature_bound=1.0,
        classes=(0, 1),
        recipe="dp_ight",
        ledger=ledger,
        dataset="trial",
        run_id="nightly",
    )
    with pytest.raises(RunRepeatedError, match=r"was started, and what it answered may have been seen.* which counts"):
        again.fit(np.ones((100, 3)), np.arange(100) % 2)
    assert len(ledger.entries("trial")) == 1


@pytest.mark.cluster
def test_nothing_listens_beyond_this_machine():
    with cluster_of(1) as cluster, Client(cluster) as client:
        addresses = [cluster.scheduler_address, *client.scheduler_info(n_workers=-1)["workers"]]
    assert all("//127.0.0.1:" in address for address in addresses)


@pytest.mark.cluster
@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl, which is not installed")
def test_a_cluster_behind_tls_gives_the_same_model(tmp_path):
    """The example of docs/clusters.md."""
    page = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text()
    for line in re.findall(r"^openssl .*$", page, re.MULTILINE):
        subprocess.run(shlex.split(line), cwd=tmp_path, check=True, capture_output=True)
    kinds = ("client", "scheduler", "worker")
    files = {
        f"tls_{kind}_{what}": str(tmp_path / f"node.{end}")
        for kind in kinds
        for what, end in (("cert", "pem"), ("key", "key"))
    }
    security = Security(tls_ca_file=str(tmp_path / "ca.pem"), require_encryption=True, **files)
    X, y = data()
    expected = fitted("select_polish", X, y)
    options = {"n_workers": 1, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(protocol="tls://", security=security, **options) as cluster:
        assert cluster.scheduler_address.startswith("tls://127.0.0.1:")
        with Client(cluster, security=security):
            assert fitted("select_polish", chunked(X, 20), y) == expected
        with pytest.raises((OSError, TypeError, ValueError, RuntimeError)):
            Client(cluster.scheduler_address.replace("tls://", "tcp://"), timeout="3s")


@pytest.fixture
def mixed(tmp_path):
    """Starts a scheduler with a worker for each folder of sources; gives a client."""
    started, port = [], 40_000 + os.getpid() % 20_000
    tool, at = [sys.executable, "-m", "distributed.cli.dask_scheduler"], f"tcp://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def start(*folders):
        options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        surroundings = {**os.environ, "PYTHONPATH": str(SOURCE)}
        started.append(subprocess.Popen([*tool, *options], cwd=tmp_path, env=surroundings, **quiet))
        for folder in folders:
            command = [sys.executable, "-m", "distributed.cli.dask_worker", at]
            command += ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
            surroundings = {**os.environ, "PYTHONPATH": str(folder)}
            started.append(subprocess.Popen(command, cwd=tmp_path, env=surroundings, **quiet))
        client = Client(at, timeout="120s")
        client.wait_for_workers(len(folders), timeout=120)
        return client

    yield start
    for process in reversed(started):
        process.kill()
        process.wait()


SOURCE = Path(release.__file__).parents[2]


@pytest.mark.cluster
def test_a_worker_that_does_not_clip_since_it_runs_another_release_is_refused_by_name(mixed, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(SOURCE / "dpsparse", other / "dpsparse", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in (
        ("__init__.py", f'__version__ = "{release.__version__}"', '__version__ = "0.0.9"'),
        ("rows/row_bounds.py", "bound / np.maximum(np.sqrt(squares), bound)", "np.ones_like(squares)"),
    ):
        text = (other / "dpsparse" / name).read_text()
        assert old in text
        (other / "dpsparse" / name).write_text(text.replace(old, new))
    X, y = data()
    with (
        mixed(SOURCE, other) as client,
        pytest.raises(DataError, match=r"process \d+ on .* runs dpsparse 0\.0\.9 ") as caught,
    ):
        open_collection(chunked(X, 5), da.from_array(y, chunks=5), client)
    assert release.release() in str(caught.value)


@pytest.mark.cluster
def test_a_worker_without_the_package_is_refused_in_words(mixed, tmp_path):
    empty = tmp_path / "empty" / "dpsparse"
    empty.mkdir(parents=True)
    (empty / "__init__.py").write_text("raise ModuleNotFoundError('No module named dpsparse', name='dpsparse')")
    X, y = data()
    with (
        mixed(empty.parent) as client,
        pytest.raises(DataError, match=r"the worker at tcp://.* does not have this release"),
    ):
        open_collection(chunked(X, 20), da.from_array(y, chunks=20), client)
