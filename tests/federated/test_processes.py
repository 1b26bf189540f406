"""SuperLink and SuperNodes as processes on this machine, over TLS, with a key for each node; some of them are killed.

The commands are those of ``docs/federated.md``. Everything listens on the loopback interface alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpsparse import Ledger, SparseRegressor, load
from dpsparse.federated import Server
from dpsparse.recipes import DPFedGDHT

pytest.importorskip("flwr", reason="extra flower")

BIN = Path(sys.executable).parent
MISSING = [
    name
    for name in ("flower-superlink", "flower-supernode", "flwr", "openssl", "ssh-keygen")
    if not ((BIN / name).exists() or shutil.which(name))
]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc"),
]

#: Seconds after which a step of a process counts as hanging, and for which a round waits: machines that test are
#: slow and shared, and Flower takes a task away from a process that was not heard of for half a minute.
PATIENCE, WAIT = 900, 300
NAMES = ("north", "south")

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "killed"
version = "0.1.0"
description = "Processes that are killed"
license = "Apache-2.0"
dependencies = []
[tool.hatch.build.targets.wheel]
packages = ["killed"]
[tool.flwr.app]
publisher = "dpsparse"
[tool.flwr.app.components]
serverapp = "killed.apps:server"
clientapp = "killed.apps:client"
[tool.flwr.app.config]
"""

APPS = '''
"""A server and sites that are killed where a file says so."""
import os
import signal
from pathlib import Path

import numpy as np
from dpsparse.federated.flower import client_app, server_app

from dpsparse import Ledger, SparseRegressor
from dpsparse.federated import Server, Site
from dpsparse.recipes import DPFedGDHT

FOLDER, NAMES = Path("{folder}"), {names}


def die_if_asked(point):
    """Be killed, once, where the file of this point is."""
    try:
        (FOLDER / point).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def cut(cls, role, *verbs):
    """Points before and after methods of a class."""

    def around(verb, inner):
        def call(self, *arguments):
            own = f"{{self.name}}-" if role == "site" else ""
            die_if_asked(f"{{own}}{{role}}-{{verb}}-before")
            answer = inner(self, *arguments)
            die_if_asked(f"{{own}}{{role}}-{{verb}}-after")
            return answer

        return call

    for verb in verbs:
        setattr(cls, verb, around(verb, getattr(cls, verb)))


cut(Server, "server", "enrol", "task", "receive", "close", "model")
cut(Site, "site", "certificate", "answer")
MODEL = SparseRegressor(epsilon=4.0, delta=1e-6, feature_bound=1.0, target_bound=2.0, sparsity=1,
                        recipe=DPFedGDHT(rounds=2, local_steps=1))


def make(context):
    return Server.open(FOLDER / "server.json", MODEL, sites=NAMES, n_rows=400, n_features=3, least_sites=len(NAMES))


def done(model, server):
    model.save(FOLDER / "model.json")


def join(protocol, context):
    name = str(context.node_config["site"])
    X = np.random.default_rng(NAMES.index(name)).choice([-1.0, 1.0], (400, 3))
    ledger = Ledger(f"sqlite:///{{FOLDER}}/{{name}}.db")
    return Site(X, X[:, 1], protocol, name=name, epsilon=4.0, delta=1e-6, ledger=ledger, dataset="patients",
                memory=FOLDER / name)


server = server_app(make, done, timeout={wait}, wait={wait})
client = client_app(join)
'''


def wait_for(condition, what, meanwhile=lambda: None):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited for {what}"
        meanwhile()
        time.sleep(0.5)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Deployment:
    """A SuperLink and a SuperNode for each site, with a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.port = free_port()
        self.processes = []
        self.nodes = {}
        self.environment = {
            **os.environ,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p.endswith("src")),
            "FLWR_HOME": str(self.home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
            "OMP_NUM_THREADS": "1",
        }

    def call(self, *command):
        ran = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def start(self, log, *command):
        with (self.folder / log).open("a") as file:
            made = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=file, stderr=file)
        self.processes.append(made)
        return made

    def prepare(self):
        """Certificates of the server, keys of the sites, ledgers, and the app."""
        new = ("openssl", "req", "-newkey", "rsa:2048", "-nodes")
        self.call(*new, "-x509", "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.crt")
        self.call(*new, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
        (self.folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        by = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        self.call("openssl", "x509", "-req", "-in", "server.csr", *by, "-out", "server.pem")
        for name in NAMES:
            self.call("ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", f"{name}.key")
            Ledger(f"sqlite:///{self.folder}/{name}.db").create("patients", epsilon=8.0, delta=1e-5)
        (self.home / "config.toml").write_text(
            f'[superlink]\ndefault = "hospitals"\n[superlink.hospitals]\naddress = "127.0.0.1:{self.port}"\n'
            f'root-certificates = "{self.folder}/ca.crt"\n'
        )
        app = self.folder / "app" / "killed"
        app.mkdir(parents=True)
        app.with_name("pyproject.toml").write_text(PROJECT)
        (app / "__init__.py").write_text("")
        (app / "apps.py").write_text(APPS.format(folder=self.folder, names=NAMES, wait=WAIT))

    def start_superlink(self):
        tls = ("--ssl-ca-certfile", "ca.crt", "--ssl-certfile", "server.pem", "--ssl-keyfile", "server.key")
        self.start(
            "superlink.log",
            "flower-superlink",
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *tls,
            "--enable-supernode-auth",
            "--disable-runtime-dependency-installation",
        )

        def listens():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return True

        wait_for(listens, "the SuperLink")
        for name in NAMES:
            self.call("flwr", "supernode", "register", f"{name}.key.pub", "hospitals")

    def supervise(self):
        """Start every SuperNode that does not run, as a service manager does.

        A SuperLink refuses a key until the node that was killed with it counts as offline, which
        takes a minute.
        """
        for name in NAMES:
            if name not in self.nodes or self.nodes[name].poll() is not None:
                self.nodes[name] = self.start_supernode(name)

    def start_supernode(self, name):
        return self.start(
            f"{name}.log",
            "flower-supernode",
            *("--superlink", f"127.0.0.1:{self.port}", "--root-certificates", "ca.crt"),
            *("--auth-supernode-private-key", f"{name}.key", "--node-config", f'site="{name}"'),
            *("--host", "127.0.0.1", "--port", str(free_port())),
        )

    def run(self):
        """Submit the run, as after every crash; what the SuperLink says of it."""
        said = self.call("flwr", "run", str(self.folder / "app"), "hospitals", "--format", "json")
        return json.loads(said[said.index("{") :])

    def end(self):
        """End the processes of this deployment, which are those that know its folder."""
        for process in self.processes:
            process.kill()
            process.wait()
        for _ in range(5):
            for found in self.own_processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(found, signal.SIGKILL)
            time.sleep(0.2)

    def own_processes(self):
        mark, found = f"FLWR_HOME={self.home}".encode(), []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found


@pytest.fixture
def deployment(tmp_path):
    made = Deployment(tmp_path)
    try:
        yield made
    finally:
        made.end()


def go(deployment, points):
    """Be killed once at each of these points, all of which are set before the run begins, and then come to the end.

    A point that is set while the run goes on may have been passed already: a site gives its certificate once.
    """
    deployment.prepare()
    left, model = {deployment.folder / point for point in points}, deployment.folder / "model.json"
    for flag in left:
        flag.touch()

    def something_happened():
        return model.exists() or not all(map(Path.exists, left))

    deployment.start_superlink()
    deployment.supervise()
    deployment.run()
    while left:
        wait_for(something_happened, f"one of {left}", deployment.supervise)
        passed = {flag for flag in left if not flag.exists()}
        assert passed, f"the run was over before {left}"
        left -= passed
        for site in {flag.name.split("-")[0] for flag in passed if "-site-" in flag.name}:
            deployment.nodes[site].kill()
        if any(flag.name.startswith("server-") for flag in passed):
            deployment.run()
    wait_for(model.exists, "the model", deployment.supervise)
    check(deployment)


def check(deployment):
    """One model, with what both sites guarantee; each has paid once, and its entry is confirmed."""
    found = load(deployment.folder / "model.json")
    assert [int(j) for j in found.support_] == [1]
    assert found.statement_.private
    assert sorted(note.split(":")[0] for note in found.statement_.notes) == [f"site {name}" for name in NAMES]
    for name in NAMES:
        ledger = Ledger(f"sqlite:///{deployment.folder}/{name}.db")
        wait_for(lambda ledger=ledger: ledger.entries("patients")[0].status == "done", "the end of an entry")
        assert len(ledger.entries("patients")) == 1
        ledger.verify()
    recipe = DPFedGDHT(rounds=2, local_steps=1)
    model = SparseRegressor(epsilon=4.0, delta=1e-6, feature_bound=1.0, target_bound=2.0, sparsity=1, recipe=recipe)
    state = deployment.folder / "server.json"
    server = Server.open(state, model, sites=NAMES, n_rows=400, n_features=3, least_sites=len(NAMES))
    assert server.answered == (2, 2)


def test_a_site_and_the_server_are_killed_and_the_run_goes_on(deployment):
    go(deployment, ["north-site-answer-after", "server-receive-after", "server-close-before"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "points",
    [
        ["server-enrol-before", "server-enrol-after", "server-task-before", "server-task-after"],
        [
            *("server-receive-before", "server-receive-after", "server-close-before", "server-close-after"),
            *("server-model-before", "server-model-after"),  # when all rounds are closed, and no model is kept
        ],
        ["north-site-certificate-before", "south-site-certificate-after"],
        ["north-site-answer-before", "south-site-answer-after", "north-site-answer-after"],
    ],
)
def test_every_point_at_which_processes_are_killed(points, deployment):
    go(deployment, points)
