"""Law: whatever is computed for a fit in another process says its release, and another release is refused by name."""

from __future__ import annotations

import dataclasses
import json
import pickle
import zipfile
from contextlib import contextmanager
from types import SimpleNamespace
from typing import get_args, get_type_hints

import numpy as np
import pytest

from builders import charge_for, whole_sum
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core import DataError, release
from dpsparse.core.facts import Facts
from dpsparse.core.sealed_files import content_digest
from dpsparse.federated import Certificate, Report, Server, Site
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Count
from dpsparse.rows.hosts import ClusterHost, ClusterRows, worker
from dpsparse.rows.hosts.message import Message
from dpsparse.rows.hosts.spark_tasks import PartHeader, _stored, sums_of
from dpsparse.rows.hosts.worker import BuildReport as PartReport
from dpsparse.rows.hosts.worker import LoadedPart, WorkerRefusal, answer, combine
from dpsparse.rows.records import Records
from dpsparse.sites import local
from loopback import Holding, Loopback, spread

N, D = 40, 3
FACTS = Facts(n_rows=N, n_features=D, lower=-1.0, upper=1.0, row_norm=1.4, target_bound=3.0, intercept=0.5)
RNG = np.random.default_rng(0)
X, Y = RNG.choice([-1.0, 1.0], (N, D)), RNG.choice([-1.0, 1.0], N)
OURS = release.release()
#: A release that was not updated.
OLD = OURS.replace(release.source_digest(), "0123456789abcdef").replace(release.__version__, "0.0.9")
MODEL = SparseRegressor(epsilon=8.0, recipe="dp_fedgd_ht", feature_bound=1.0, target_bound=2.0, sparsity=1)
PEOPLE = SparseRegressor(epsilon=8.0, recipe="ldp_iht", feature_bound=1.0, target_bound=2.0, sparsity=1)


@contextmanager
def elsewhere(line):
    """What is computed here is computed by a process on ``node7`` with another release."""
    ordinary = release.Origin.here
    release.Origin.here = lambda: release.Origin("process 7 on node7", line)
    try:
        yield
    finally:
        release.Origin.here = ordinary


# ------------------------------------------------------------------------------------------------ carriers: workers


class Mixed(Loopback):
    """The last part is on a worker of another release: when it is looked at, built, or asked."""

    def __init__(self, line, at):
        super().__init__([LoadedPart(X[:20], Y[:20]), LoadedPart(X[20:], Y[20:])])
        self.line, self.at = line, at

    def each(self, function):
        with elsewhere(self.line if function.func.__name__ == self.at else OURS):
            return super().each(function)

    def hold(self, order, own, tell):
        with elsewhere(self.line if self.at == "report" else OURS):
            holding = Holding(self, [pickle.dumps((order, one)) for one in own], tell)
        return Late(holding, self)


class Late:
    """Parts of which some are asked on a worker that joined later."""

    def __init__(self, holding, engine):
        self.holding, self.engine, self.reports = holding, engine, holding.reports
        self.close = holding.close

    def ask(self, packed):
        if self.engine.at == "all":
            with elsewhere(self.engine.line):
                return combine([answer(packed, [one]) for one in self.holding.held])
        [*first, last] = self.holding.held
        sums = [answer(packed, [one]) for one in first]
        with elsewhere(self.engine.line if self.engine.at == "partial" else OURS):
            sums.append(answer(packed, [last]))
        with elsewhere(self.engine.line if self.engine.at == "adder" else OURS):
            return pickle.loads(pickle.dumps(combine(sums)))


def total_of(line, at):
    return whole_sum(ClusterHost(Records(ClusterRows.open(Mixed(line, at))), Y, FACTS), Count(), Squared())


def first_reading(line):
    ClusterRows.open(Mixed(line, "survey"))


def margins(line):
    ClusterRows.open(Mixed(line, "margins")).margins(np.ones((1, D)), np.zeros(1), None)


def built_part(line):
    total_of(line, "report")


def partial_sum(line):
    total_of(line, "partial")


def sum_of_sums(line):
    total_of(line, "adder")


def sum_of_a_whole_cluster(line):
    total_of(line, "all")


def blocks_of_spark(line):
    """Blocks that one executor built, and another adds up."""
    host = ClusterHost(Records(spread(X, Y)), Y, FACTS)
    order, _ = pickle.loads(host._holding.orders[0])
    [shard] = host._holding.held[0]._shards
    blocks = [_stored(0, block) for block in shard.blocks]
    head = PartHeader(PartReport(0, b"seal", None, release.Origin("process 7 on node7", line)), (0,))
    message = SimpleNamespace(value=Message(charge_for(Count(), host), Squared()).packed())
    [found] = sums_of(message, SimpleNamespace(value=order), iter([pickle.dumps(head), *blocks]))
    if isinstance(found, WorkerRefusal):
        raise DataError(found.message)


# ------------------------------------------------------------------------------------------------ carriers: sites, people


def serve(**options):
    return Server(MODEL, sites=["north", "south"], n_rows=N, n_features=D, **options)


def join(server):
    return Site(X, Y, server.protocol, name="north", epsilon=8.0, random_state=1)


def protocol_for_a_site(line):
    server = serve()
    server.protocol = dataclasses.replace(server.protocol, release=line)
    join(server)


def certificate_of_a_site(line):
    server = serve()
    said = json.loads(join(server).certificate())
    server.enrol(json.dumps({**said, "release": line}))


def report_of_a_site(line):
    server = serve()
    site = join(server)
    server.enrol(site.certificate())
    report = Report.from_bytes(site.answer(server.task()))
    server.receive(dataclasses.replace(report, release=line).to_bytes())


def resaved(path, line):
    """A state as a server of another release would have written it."""
    outer = json.loads(path.read_text())
    protocol = outer["content"]["protocol"]
    outer["content"]["protocol"] = json.dumps({**json.loads(protocol), "release": line}, sort_keys=True)
    outer["digest"] = content_digest(outer["content"])
    path.write_text(json.dumps(outer))


def state_of_a_server(line, folder):
    serve().save(folder / "server.json")
    resaved(folder / "server.json", line)
    Server.resume(folder / "server.json", MODEL, sites=["north", "south"], n_rows=N, n_features=D)


def protocol_for_a_device(line):
    server = local.Server(PEOPLE, n_people=N, n_features=D)
    local.Device(X[0], 0.3, dataclasses.replace(server.protocol, release=line), epsilon=8.0)


def state_of_a_local_server(line, folder):
    local.Server(PEOPLE, n_people=N, n_features=D).save(folder / "server.json")
    resaved(folder / "server.json", line)
    local.Server.resume(folder / "server.json", PEOPLE)


#: Every way in which something that was computed elsewhere comes in, and who it is from.
CARRIERS = {
    first_reading: "process 7 on node7",
    margins: "process 7 on node7",
    built_part: "process 7 on node7",
    partial_sum: "process 7 on node7",
    sum_of_sums: "process 7 on node7",
    sum_of_a_whole_cluster: "process 7 on node7",
    blocks_of_spark: "process 7 on node7",
    protocol_for_a_site: "site 'north'",
    certificate_of_a_site: "site 'north'",
    report_of_a_site: "site 'north'",
    state_of_a_server: "the server that saved it",
    protocol_for_a_device: "this device",
    state_of_a_local_server: "the server that saved it",
}
EVERY = pytest.mark.parametrize("carrier", CARRIERS, ids=lambda c: c.__name__)


def exchanged(carrier, line, folder):
    carrier(*([line, folder] if carrier.__name__.startswith("state") else [line]))


@EVERY
def test_another_release_is_refused_and_both_are_named(carrier, tmp_path):
    with pytest.raises(ValueError, match="Records must be handled by one release") as caught:
        exchanged(carrier, OLD, tmp_path)
    for named in (CARRIERS[carrier], OLD, OURS, "dpsparse 0.0.9"):
        assert named in str(caught.value)


@EVERY
def test_the_same_release_is_taken(carrier, tmp_path):
    exchanged(carrier, OURS, tmp_path)


@EVERY
def test_control_without_the_comparison_another_release_is_taken(carrier, tmp_path, monkeypatch):
    """It is this comparison that refuses, and nothing beside it."""
    for module in (
        "core.release",
        "sites.federated.certificate",
        "sites.federated.coordinator",
        "sites.rounds.coordinator",
        "sites.rounds.participant",
    ):
        monkeypatch.setattr(f"dpsparse.{module}.difference", lambda *_: "")
    if not carrier.__name__.startswith("state"):
        exchanged(carrier, OLD, tmp_path)
        return
    # a state holds the release within its protocol, which is compared as a whole
    with pytest.raises(DataError, match="other settings"):
        exchanged(carrier, OLD, tmp_path)


@pytest.mark.parametrize("name", ["numpy", "scipy", "randomgen", "numba", "Python"])
def test_another_version_of_one_library_is_another_release(name):
    [found] = [part.rstrip(")") for part in OURS.split(", ") if part.startswith(f"{name} ")]
    with pytest.raises(DataError, match=f"{name} 0.1"):
        partial_sum(OURS.replace(found, f"{name} 0.1"))


def test_everything_that_functions_of_workers_return_says_where_it_was_made():
    returned = {
        get_type_hints(f)["return"]
        for f in (worker.survey, worker.margins, worker.answer, combine, worker.WorkerShard.report)
    }
    kinds = {kind for found in returned for kind in (get_args(found) or (found,))} - {WorkerRefusal}
    assert len(kinds) == 4
    for kind in kinds:
        [origin] = [f for f in dataclasses.fields(kind) if f.name == "origin"]
        assert origin.default == release.UNKNOWN, "objects of releases that do not say one"


def test_what_an_earlier_release_sent_without_a_release_is_refused():
    """Its objects lack the field, also when they were pickled."""
    rows = spread(X, Y)
    found = dataclasses.replace(rows.surveyed[0])
    del found.__dict__["origin"]
    again = pickle.loads(pickle.dumps(found))

    class Earlier(Loopback):
        def each(self, function):
            return [again]

    with pytest.raises(DataError, match="a worker runs a release of dpsparse that does not say which it is"):
        ClusterRows.open(Earlier([]))


def test_later_questions_compare_lines_and_read_no_file(monkeypatch):
    host = ClusterHost(Records(spread(X, Y)), Y, FACTS)
    expected = whole_sum(host, Count(), Squared()).tolist()
    monkeypatch.setattr(release, "files", lambda _: 1 / 0)
    assert whole_sum(host, Count(), Squared()).tolist() == expected


# ------------------------------------------------------------------------------------------------ statements


def test_statements_and_certificates_list_the_release():
    server = serve()
    site = join(server)
    server.enrol(site.certificate())
    assert Certificate.from_json(site.certificate()).release == OURS
    assert server.federation.releases == (OURS,)
    assert OURS in str(server.federation)
    model = SparseClassifier(feature_bound=1.0, classes=(-1.0, 1.0), recipe="dp_ight", random_state=0).fit(spread(X, Y))
    said = model.statement_.versions
    assert said["source"] == release.source_digest()
    assert (
        f"dpsparse {said['dpsparse']} (source {said['source']}, Python {said['python']}, numpy {said['numpy']}" in OURS
    )


# ------------------------------------------------------------------------------------------------ digests


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in a folder, in place of this one."""
    root = tmp_path / "package"
    (root / "data").mkdir(parents=True)
    (root / "__init__.py").write_text("version = 1\n")
    (root / "data" / "block.py").write_text("clip = 1.0\n")
    monkeypatch.setattr(release, "files", lambda _: root)
    return root


def digest():
    return release.source_digest.__wrapped__()


def test_any_byte_name_or_file_of_the_source_changes_the_digest(package):
    found = [digest()]
    (package / "data" / "block.py").write_text("clip = 2.0\n")
    found.append(digest())
    (package / "data" / "block.py").rename(package / "data" / "other.py")
    found.append(digest())
    (package / "data" / "more.py").write_text("")
    found.append(digest())
    (package / "data" / "constants.toml").write_text("clip = 2.0\n")
    found.append(digest())
    (package / "data" / "constants.toml").write_text("clip = 3.0\n")
    found.append(digest())
    assert len({*found, release.UNREADABLE}) == 7
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "x.py").write_text("")
    (package / "notes.txt").write_text("")
    assert digest() == found[-1], "what is not run does not count"


def test_a_package_in_a_zip_has_the_digest_of_its_files(package, tmp_path, monkeypatch):
    expected = digest()
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as file:
        for path in sorted(package.rglob("*.py"), reverse=True):
            file.write(path, path.relative_to(package).as_posix())
    monkeypatch.setattr(release, "files", lambda _: zipfile.Path(tmp_path / "package.zip"))
    assert digest() == expected


def test_a_source_that_cannot_be_read_is_said_and_never_equal(package, monkeypatch):
    (package / "data" / "constants.toml").write_text("")
    for path in package.rglob("*.py"):
        path.unlink()
    assert digest() == release.UNREADABLE, "compiled files alone"
    monkeypatch.setattr(release, "files", lambda _: package / "nothing")
    assert digest() == release.UNREADABLE
    line = OURS.replace(release.source_digest(), release.UNREADABLE)
    assert "cannot be compared" in release.difference("one", line, "another", line)
    assert release.difference("one", OURS, "another", OURS) == ""
