"""Servers and sites that are killed at any moment: the run goes on, and every site pays once."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from dpsparse import Ledger
from dpsparse.core import DataError, PrivacyError
from dpsparse.core.errors import RunRepeatedError
from dpsparse.federated import FileStore, Grid, Server, Site, Task
from dpsparse.ledger import Reservation
from dpsparse.sites.federated.coordinator import Saved
from truth.sites import TRUTH, DPFedGDHT, estimator, join, rows

#: One process stands for server and sites; whoever is killed is made again from what is on the disk.
ROUNDS = 2
MODEL = estimator(DPFedGDHT(rounds=ROUNDS, local_steps=1, step_size=0.5, clip=1.0))
ARGUMENTS = {"n_rows": 200, "n_features": TRUTH.size}


class Federation:
    """A server with its state, and sites with ledgers and memories, in a folder."""

    def __init__(self, folder, names):
        self.folder, self.names = folder, names
        self.ledgers = {name: Ledger(f"sqlite:///{folder}/{name}.db") for name in names}

    def create(self):
        for ledger in self.ledgers.values():
            ledger.create("d", epsilon=5.0, delta=1e-4)
        return self

    def server(self):
        return Server.open(
            self.folder / "server.json", MODEL, sites=self.names, least_sites=len(self.names), **ARGUMENTS
        )

    def site(self, server, name, **options):
        given = {"ledger": self.ledgers[name], "dataset": "d", "memory": self.folder / name, "random_state": None}
        return join(server, name, **{**given, **options})

    def run(self):
        server = self.server()
        return Grid(server, [self.site(server, name) for name in self.names]).run()

    def check(self, model):
        """The run ended with all reports, a statement of every site, and one confirmed payment of each."""
        server = self.server()
        assert server.answered == (len(self.names),) * ROUNDS
        assert np.array_equal(server.model().coef_, model.coef_), "a finished run gives its model again"
        statement = model.statement_
        assert statement.private
        assert [note.split(":")[0] for note in statement.notes] == [f"site {name}" for name in self.names]
        assert statement.epsilon == pytest.approx(4.0, rel=1e-6)
        for ledger in self.ledgers.values():
            [entry] = ledger.entries("d")
            assert entry.status == "done"
            ledger.verify()
        assert not list(self.folder.glob("*.report")), "of the server"
        assert not list(self.folder.glob("*/*.key"))


# ------------------------------------------------------------------------------------------------ one of them is killed


class Killed(BaseException):
    """Stands for a signal that ends one of them and not the others."""


VERBS = {"server": ("enrol", "task", "receive", "close", "end"), "site": ("certificate", "answer", "finish")}
#: Every combination; half of them with the suite of every day.
CASES = [
    pytest.param(role, verb, when, turn, marks=[pytest.mark.slow] if (when == "after") == (turn == 0) else [])
    for role, verbs in VERBS.items()
    for verb in verbs
    for when in ("before", "after")
    for turn in (0, ROUNDS - 1)
]


class Cut:
    """Passes calls on to a server or a site, and ends before or after the call that is chosen."""

    def __init__(self, inner, verb, when, number):
        self.inner, self.verb, self.when, self.left = inner, verb, when, number

    def __getattr__(self, name):
        found = getattr(self.inner, name)
        if name != self.verb:
            return found

        def call(*arguments):
            self.left -= 1
            if self.left == -1 and self.when == "before":
                raise Killed
            answer = found(*arguments)
            if self.left == -1:
                raise Killed
            return answer

        return call


@pytest.mark.parametrize(("role", "verb", "when", "turn"), CASES)
def test_whoever_is_killed_before_or_after_a_step_goes_on(role, verb, when, turn, tmp_path):
    federation = Federation(tmp_path, ("a", "b")).create()
    server = federation.server()
    sites = {name: federation.site(server, name) for name in federation.names}
    if role == "server":
        server = Cut(server, verb, when, turn)
    else:
        sites["b"] = Cut(sites["b"], verb, when, turn)
    model = None
    for _ in range(3):
        try:
            model = Grid(server, sites.values()).run()
            break
        except Killed:
            if role == "server":
                server = federation.server()
            else:  # the others, and the server, stay as they are
                sites["b"] = federation.site(server, "b")
    federation.check(model)


def test_a_server_that_is_killed_before_it_made_the_model_has_told_no_site_that_the_run_is_over(tmp_path):
    federation = Federation(tmp_path, ("a",)).create()
    server = Cut(federation.server(), "model", "before", 0)
    told = []

    class Told(Cut):
        def __getattr__(self, name):
            told.append(name)
            return super().__getattr__(name)

    with pytest.raises(Killed):
        Grid(server, [Told(federation.site(server, "a"), "none", "before", 0)]).run()
    assert "answer" in told
    assert "finish" not in told
    federation.check(federation.run())


# ------------------------------------------------------------------------------------------------ all of them are killed


def points(monkeypatch, reached):
    """Call `reached` before and after everything that is written to a disk."""
    places = [
        (FileStore, "add"),
        (FileStore, "keep"),
        (FileStore, "key"),
        (FileStore, "forget"),
        (FileStore, "forget_key"),
        (Saved, "write"),
        (Ledger, "reserve"),
        (Reservation, "start"),
        (Reservation, "confirm"),
    ]

    def around(inner):
        def call(*arguments, **options):
            reached()
            answer = inner(*arguments, **options)
            reached()
            return answer

        return call

    for owner, name in places:
        monkeypatch.setattr(owner, name, around(getattr(owner, name)))


def killed_at(number, federation):
    """Run in another process, which is killed at this point; False if it came to the end."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    try:
        count = iter(range(number + 1))
        with pytest.MonkeyPatch.context() as patch:
            points(patch, lambda: next(count) == number and os.kill(os.getpid(), signal.SIGKILL))
            federation.run()
    finally:
        os._exit(0)


def sweep(tmp_path, names, numbers):
    killed = 0
    for number in numbers:
        folder = tmp_path / str(number)
        folder.mkdir()
        federation = Federation(folder, names).create()
        if not killed_at(number, federation):
            break
        killed += 1
        federation.check(federation.run())
    return killed


def test_a_federation_that_is_killed_at_a_write_goes_on_and_pays_once(tmp_path):
    assert sweep(tmp_path, ("a",), range(1, 64, 5)) >= 8


@pytest.mark.slow
def test_a_federation_that_is_killed_at_every_write_goes_on_and_pays_once(tmp_path):
    assert sweep(tmp_path, ("a", "b"), range(10**6)) >= 60


# ------------------------------------------------------------------------------------------------ states of servers


def test_the_run_is_on_the_disk_before_the_first_task_leaves(tmp_path):
    federation = Federation(tmp_path, ("a",)).create()
    first = federation.server()
    assert federation.server().protocol == first.protocol


def test_a_constructor_never_replaces_a_state_and_says_how_to_go_on(tmp_path):
    path, arguments = tmp_path / "server.json", {"sites": ["a"], **ARGUMENTS}
    server = Server(MODEL, state=path, **arguments)
    content = path.read_bytes()
    with pytest.raises(DataError, match=r"exists and is not replaced.*Server.open\(path"):
        Server(MODEL, state=path, **arguments)
    assert path.read_bytes() == content
    assert Server.open(path, MODEL, **arguments).protocol == server.protocol


def test_two_servers_of_one_run_do_not_replace_what_the_other_wrote(tmp_path):
    federation = Federation(tmp_path, ("a",)).create()
    server, late = federation.server(), federation.server()
    site = federation.site(server, "a")
    for one in (server, late):
        one.enrol(site.certificate())
    server.receive(site.answer(server.task()))
    server.close()
    with pytest.raises(DataError, match="written by another server"):
        late.task()
    assert federation.server().round == 1


def test_reports_are_kept_as_they_come_and_belong_to_their_round(tmp_path):
    federation = Federation(tmp_path, ("a", "b")).create()
    server = federation.server()
    sites = [federation.site(server, name) for name in "ab"]
    for site in sites:
        server.enrol(site.certificate())
    task = server.task()
    server.receive(sites[0].answer(task))
    again = federation.server()
    assert (again.count, again.task()) == (1, task)
    [kept] = tmp_path.glob("*-server-0.report")
    old = kept.read_bytes()
    again.receive(sites[1].answer(task))
    again.close()
    kept.write_bytes(old)
    assert federation.server().count == 0, "of an earlier round"
    kept.write_bytes(b"damaged")
    assert federation.server().count == 0


# ------------------------------------------------------------------------------------------------ sites


def test_a_site_that_is_restarted_with_other_rows_is_refused(tmp_path):
    federation = Federation(tmp_path, ("a",)).create()
    server = federation.server()
    federation.site(server, "a").answer(server.task())
    later = Task(server.protocol.identity, 1, np.zeros(server.protocol.size)).to_bytes()
    for row, changed in ((0, "X"), (199, "y")):
        X, y = rows(100)
        {"X": X[:, 0], "y": y}[changed][row] *= 0.5
        given = {"ledger": federation.ledgers["a"], "dataset": "d", "memory": tmp_path / "a"}
        other = Site(X, y, server.protocol, name="a", epsilon=4.0, delta=1e-5, **given)
        with pytest.raises(PrivacyError, match="other rows"):
            other.answer(later)
    assert federation.site(server, "a").answer(later)


def test_an_older_copy_of_a_memory_and_a_lost_key_are_refused(tmp_path):
    federation = Federation(tmp_path, ("a",)).create()
    server = federation.server()
    first = federation.site(server, "a")
    first.answer(server.task())
    [marks] = (tmp_path / "a").glob("*.rounds")
    [key] = (tmp_path / "a").glob("*.key")
    copy = marks.read_bytes()
    later = Task(server.protocol.identity, 1, np.zeros(server.protocol.size)).to_bytes()
    secret = key.read_bytes()
    key.unlink()
    with pytest.raises(PrivacyError, match="key of this site's run is missing"):
        federation.site(server, "a").answer(later)
    key.write_bytes(secret)
    assert federation.site(server, "a").answer(later)
    marks.write_bytes(copy)
    with pytest.raises(RunRepeatedError, match="older copy"):
        federation.site(server, "a").answer(later)


def test_a_run_that_is_over_sends_what_it_gave_and_computes_nothing(tmp_path):
    federation = Federation(tmp_path, ("a", "b")).create()
    server = federation.server()
    early, away = federation.site(server, "a"), federation.site(server, "b")
    server._least = 1
    server.enrol(early.certificate())
    server.enrol(away.certificate())
    first = server.task()
    server.receive(early.answer(first))
    server.receive(away.answer(first))
    server.close()
    last = server.task()
    server.receive(early.answer(last))
    server.close()
    assert [federation.ledgers[name].entries("d")[0].status for name in "ab"] == ["done", "started"]
    restarted = federation.site(server, "b")
    with pytest.raises(ValueError, match="not the end of this run"):
        restarted.finish(last)
    restarted.finish(server.end())
    assert federation.ledgers["b"].entries("d")[0].status == "done"
    assert federation.site(server, "b").answer(first) == away.answer(first)
    with pytest.raises(PrivacyError, match="over for this site"):
        federation.site(server, "b").answer(last)
    never = join(server, "a", memory=tmp_path / "never")
    never.finish(server.end())
    with pytest.raises(PrivacyError, match="over for this site"):
        never.answer(first)
