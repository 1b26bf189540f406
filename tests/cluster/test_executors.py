"""Executors of Spark in processes of their own: killed in the middle of a question and of a fit, and behind TLS."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from builders import whole_sum
from dpsparse import SparseClassifier, recipes
from dpsparse.core.facts import Clip, Facts
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Gradient
from dpsparse.rows.hosts import ClusterHost, MemoryHost
from dpsparse.rows.hosts.cluster_rows import gather_arrays
from dpsparse.rows.hosts.spark import SparkHolding, cluster_of, open_parts
from dpsparse.rows.hosts.worker import LoadedPart
from dpsparse.rows.records import Records

pytest.importorskip("pyspark", reason="rows on Spark need the extra 'spark'")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore"),  # warnings of the engine's own surroundings
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="executors are found in /proc"),
]

N, D, PARTS = 400, 8, 4
#: What the program of an executor is called.
EXECUTOR = b"CoarseGrainedExecutorBackend"


def data():
    rng = np.random.default_rng(11)
    X = rng.integers(0, 2, (N, D)).astype(float)
    return X, ((X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(N)) > 0).astype(int)


@pytest.fixture(scope="module")
def session():
    """A driver, a master, and two workers with one executor each, on loopback."""
    with cluster_of("spark:local-cluster[2,1,1024]") as found:
        found.sparkContext.setLogLevel("OFF")
        yield found


def spread(session):
    X, y = data()
    cut = pairwise(N * k // PARTS for k in range(PARTS + 1))
    return open_parts([LoadedPart(X[a:b], y[a:b]) for a, b in cut], gather_arrays, session)


def arguments(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it is gone
        return []


def executors(session):
    """Processes of the executors of a session."""
    own = session.sparkContext.applicationId.encode()
    known = {int(path.name): arguments(path.name) for path in Path("/proc").glob("[0-9]*")}
    return [pid for pid, words in known.items() if own in words and any(EXECUTOR in word for word in words)]


def test_an_executor_killed_in_the_middle_of_a_question_does_not_change_a_sum(session, tmp_path):
    X, y = data()
    flag, name = str(tmp_path / "killed"), EXECUTOR  # executors cannot import this file

    class Killing(Squared):
        def slope(self, margin, target):
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return Squared.slope(self, margin, target)
            pid = os.getpid()
            while name not in Path(f"/proc/{pid}/cmdline").read_bytes():
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])  # its parent
            os.kill(pid, signal.SIGKILL)

    facts = Facts(n_rows=N, n_features=D, lower=-1.0, upper=1.0, row_norm=1.4, target_bound=3.0, intercept=0.5)
    question = Gradient(np.random.default_rng(1).normal(0, 1, D + 1), Clip(0.5))
    expected = whole_sum(MemoryHost(X, y, facts), question, Squared()).tolist()
    host = ClusterHost(Records(spread(session)), y, facts)
    before = executors(session)
    assert whole_sum(host, question, Killing()).tolist() == expected
    assert os.path.exists(flag)
    assert len(set(before) - set(executors(session))) == 1
    assert whole_sum(host, question, Squared()).tolist() == expected
    host.close()


def test_an_executor_killed_in_the_middle_of_a_fit_does_not_change_a_byte(session, monkeypatch):
    X, y = data()
    ordinary, asked, killed = SparkHolding.ask, [], []

    def killing(self, packed):
        asked.append(len(packed))
        if len(asked) == 3:
            killed.append(executors(session)[0])
            os.kill(killed[0], signal.SIGKILL)  # the driver does not know it yet
        return ordinary(self, packed)

    def fitted(*rows):
        recipe = recipes.get("dp_sgd_ht")(steps=5)
        model = SparseClassifier(
            epsilon=3.0, sparsity=3, feature_bound=(0, 1), classes=(0, 1), recipe=recipe, random_state=5
        )
        model.fit(*rows)
        return model.coef_.tobytes(), model.intercept_.tobytes(), model.statement_.to_json()

    expected = fitted(X, y)
    monkeypatch.setattr(SparkHolding, "ask", killing)
    assert fitted(spread(session)) == expected
    assert len(asked) == 5
    assert killed[0] not in executors(session)


PROGRAM = """
import ssl, socket, sys
from dpsparse import SparseClassifier, recipes
from dpsparse.rows.hosts.spark import cluster_of, open_parts
from dpsparse.rows.hosts.worker import LoadedPart
from dpsparse.rows.hosts.cluster_rows import gather_arrays
import numpy as np

loaded = np.load("rows.npz")
X, y = loaded["X"], loaded["y"]
recipe = recipes.get("dp_ight")(steps=3)
model = SparseClassifier(epsilon=3.0, sparsity=3, feature_bound=(0, 1), classes=(0, 1), recipe=recipe, random_state=5)
expected = model.fit(X, y).coef_.tobytes()
with cluster_of("spark:local-cluster[1,1,1024]") as session:
    port = int(session.sparkContext.getConf().get("spark.driver.port"))
    context = ssl.create_default_context(cafile="cluster.pem")
    context.check_hostname = False
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as secure:
        print("spoken:", secure.version())
    chunks = [LoadedPart(X[:200], y[:200]), LoadedPart(X[200:], y[200:])]
    found = model.fit(open_parts(chunks, gather_arrays, session)).coef_.tobytes()
print("same:", found == expected)
"""


def test_executors_behind_tls_give_the_same_model(tmp_path):
    """The example of docs/clusters.md: its keys, and its settings of Spark."""
    page = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text().replace("\\\n", " ")
    for line in re.findall(r"^keytool .*$", page, re.MULTILINE):
        words = shlex.split(line.replace("$SECRET", "a secret of a test"))
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    [settings] = re.findall(r"^# spark-defaults\.conf.*?\n(.*?)```", page, re.MULTILINE | re.DOTALL)
    settings = settings.replace("<from a secret store>", "a secret of a test").replace("/etc/spark", str(tmp_path))
    assert settings.count("a secret of a test") == 4
    (tmp_path / "spark-defaults.conf").write_text(settings)
    (tmp_path / "fit.py").write_text(PROGRAM)
    X, y = data()
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    surroundings = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "fit.py"],
        cwd=tmp_path,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "spoken: TLSv1.3" in run.stdout, run.stderr[-2000:]
    assert "same: True" in run.stdout, run.stderr[-2000:]
