"""Flower as the carrier: its apps on a grid within this process, and its simulation engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpsparse import Ledger, SparseRegressor, load
from dpsparse.core.mechanisms import Randomness
from dpsparse.federated import Grid, MessageError, RunPausedError, Server, SitePrivacy
from dpsparse.sites import local
from dpsparse.sites.federated.flower import (
    RECORD,
    _Sent,
    client_app,
    device_app,
    run_devices,
    run_rounds,
    server_app,
)
from truth.sites import NAMES, TRUTH, FedSGDHT, estimator, join, serve

flwr = pytest.importorskip("flwr", reason="extra flower")
EXAMPLE = Path(__file__).parents[2] / "examples" / "hospitals"


class LoopbackGrid:
    """Calls a ClientApp directly, once for each message; `fault` may lose or change a reply."""

    def __init__(self, app, count, fault=lambda node, reply: reply):
        from flwr.app import Context, RecordDict
        from flwr.supercore.task_identity import TaskIdentity

        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 0, 0
        self.identity = TaskIdentity
        self.app, self.fault = app, fault
        self.replies = {}
        self.contexts = {
            node: Context(
                run_id=1, node_id=node, node_config={"partition-id": node - 1}, state=RecordDict(), run_config={}
            )
            for node in range(1, count + 1)
        }

    def get_node_ids(self):
        return list(self.contexts)

    def send_and_receive(self, messages, *, timeout=None):
        return self.pull_messages(self.push_messages(messages))

    def push_messages(self, messages):
        numbers = []
        for message in messages:
            message.metadata._message_id = f"message {len(self.replies)}"  # the transport gives it
            numbers.append(message.metadata.message_id)
            node = message.metadata.dst_node_id
            self.identity.node_id = node
            self.replies[numbers[-1]] = self.fault(node, self.app(message, self.contexts[node]))
            self.identity.node_id = 0
        return numbers

    def pull_messages(self, message_ids):
        found = {number: self.replies[number] for number in message_ids}
        self.replies.update(dict.fromkeys(found))
        return [reply for reply in found.values() if reply is not None]


def app(server_names, **options):
    def make(protocol, context):
        name = server_names[int(context.node_config["partition-id"])]

        class Fake:
            pass

        fake = Fake()
        fake.protocol = protocol
        return join(fake, name, **options)

    return client_app(make)


def test_a_federation_over_flower_is_that_of_the_grid_of_this_process():
    server, twin = serve(), None
    known = serve(nonce=server.protocol.nonce)
    twin = Grid(known, [join(known, name) for name in NAMES[:3]]).run()
    found = run_rounds(server, LoopbackGrid(app(NAMES), 3), wait=0.0, timeout=0.0)
    assert np.array_equal(found.coef_, twin.coef_)
    assert found.statement_ == twin.statement_


def test_a_node_that_fails_or_sends_garbage_is_left_out_of_its_round():
    server = serve()

    def fault(node, reply):
        if "report" not in reply.content[RECORD]:
            return reply
        if node == 1:
            return None
        if node == 2:
            reply.content[RECORD]["report"] = b"garbage"
        return reply

    model = run_rounds(server, LoopbackGrid(app(NAMES), 3, fault), wait=0.0, timeout=0.0)
    assert server.answered == (1, 1, 1)
    assert model.coef_.shape == TRUTH.shape


def test_a_round_that_may_not_be_closed_is_asked_again_and_then_refused():
    server, lost = serve(least_sites=3), []

    def once(node, reply):
        if node == 2 and "report" in reply.content[RECORD] and not lost:
            lost.append(node)
            return None
        return reply

    run_rounds(server, LoopbackGrid(app(NAMES), 3, once), wait=0.0, timeout=0.0)
    assert server.answered == (3, 3, 3)
    never = serve(least_sites=3)
    with pytest.raises(MessageError, match="2 sites have answered"):
        run_rounds(never, LoopbackGrid(app(NAMES), 2), wait=0.0, timeout=0.0)


def test_a_site_that_comes_back_as_another_node_is_enrolled_again_and_asked_for_what_is_missing(monkeypatch):
    monkeypatch.setattr("dpsparse.sites.federated.flower.PAUSE", 0.0)
    server = serve(least_sites=3)
    grid, died = None, []

    def fault(node, reply):
        if node == 3 and "report" in reply.content[RECORD] and not died:
            died.append(node)
            grid.contexts[7] = grid.contexts[3]  # the same site, started again; the old node is still listed
            return None
        return reply

    grid = LoopbackGrid(app(NAMES), 3, fault)
    found = run_rounds(server, grid, wait=0.0, timeout=60.0)
    assert (died, server.answered) == ([3], (3, 3, 3))
    assert len(found.statement_.notes) == 3


def test_a_site_that_is_lost_is_waited_for_and_a_task_that_was_not_answered_is_sent_again(monkeypatch):
    monkeypatch.setattr("dpsparse.sites.federated.flower.PAUSE", 0.01)
    monkeypatch.setattr(_Sent.__init__, "__defaults__", (0.02, 0))
    server, looks, lost = serve(least_sites=3), [], []

    def fault(node, reply):
        if node == 2 and "report" in reply.content[RECORD] and len(lost) < 2:
            lost.append(node)
            return None
        return reply

    class Away(LoopbackGrid):
        def get_node_ids(self):
            looks.append(1)
            return [node for node in self.contexts if node != 1 or len(looks) > 10]

    run_rounds(server, Away(app(NAMES), 3, fault), wait=60.0, timeout=60.0)
    assert (lost, server.answered) == ([2, 2], (3, 3, 3))


def test_a_node_that_fails_for_a_moment_is_asked_again(monkeypatch):
    from flwr.app import Error, Message

    monkeypatch.setattr("dpsparse.sites.federated.flower.PAUSE", 0.0)
    monkeypatch.setattr("dpsparse.sites.federated.flower.RETRY", 0.0)
    server, failed = serve(least_sites=3), []

    class Failing(LoopbackGrid):
        def push_messages(self, messages):
            [message] = messages
            [number] = super().push_messages([message])
            if message.metadata.dst_node_id == 2 and len(failed) < 2:
                failed.append(number)
                self.replies[number] = Message(Error(code=3, reason="away"), reply_to=message)
            return [number]

    run_rounds(server, Failing(app(NAMES), 3), wait=0.0, timeout=60.0)
    assert (len(failed), server.answered) == (2, (3, 3, 3))


class Late(LoopbackGrid):
    """Node 2 is away in some looks, and what it replies to its first tasks comes in a later one, or is an error."""

    def __init__(self, app, tasks, away=()):
        super().__init__(app, 3)
        self.tasks, self.away, self.looks, self.held = list(tasks), away, 0, {}

    def get_node_ids(self):
        self.looks += 1
        return [node for node in self.contexts if node != 2 or self.looks not in self.away]

    def push_messages(self, messages):
        from flwr.app import Error, Message

        [message] = messages
        [number] = super().push_messages([message])
        if message.metadata.dst_node_id == 2 and "task" in message.content[RECORD] and self.tasks:
            self.held[number], fails = self.tasks.pop(0)
            if fails:
                self.replies[number] = Message(Error(code=3, reason="away"), reply_to=message)
        return [number]

    def pull_messages(self, message_ids):
        return super().pull_messages([number for number in message_ids if self.held.get(number, 0) <= self.looks])


@pytest.mark.parametrize(
    ("tasks", "away"),
    [
        pytest.param([(3, True)], (3,), id="an error while it is away for one look"),
        pytest.param([(4, True), (5, False)], (3,), id="an error of before it was away"),
        pytest.param([(8, False), (0, False), *[(12, False)] * 20], (), id="a report of a round that is closed"),
    ],
)
def test_what_answers_an_earlier_message_is_no_refusal_by_a_node(tasks, away, monkeypatch):
    monkeypatch.setattr("dpsparse.sites.federated.flower.PAUSE", 0.02)
    monkeypatch.setattr("dpsparse.sites.federated.flower.ATTEMPTS", 1)  # the first refusal would pause the run
    monkeypatch.setattr("dpsparse.sites.federated.flower.RETRY", 0.0)
    if not away:
        monkeypatch.setattr(_Sent.__init__, "__defaults__", (0.02, 0))
    server = serve(least_sites=3)
    run_rounds(server, Late(app(NAMES), tasks, away), wait=60.0, timeout=60.0)
    assert server.answered == (3, 3, 3)


def test_too_few_sites_pause_a_run_which_goes_on_with_the_same_call(tmp_path):
    options = {"least_sites": 2, "state": tmp_path / "server.json"}
    server = serve(["a", "b"], **options)
    memory = tmp_path / "memory"
    with pytest.raises(RunPausedError, match="run the same again to go on"):
        run_rounds(server, LoopbackGrid(app(NAMES, memory=memory), 1), wait=0.0, timeout=0.0)
    again = Server.open(
        tmp_path / "server.json", estimator(), sites=["a", "b"], n_rows=200, n_features=TRUTH.size, least_sites=2
    )
    assert again.count == 1
    run_rounds(again, LoopbackGrid(app(NAMES, memory=memory), 2), wait=0.0, timeout=0.0)
    assert again.answered == (2, 2, 2)


class Killed(BaseException):
    """Stands for a signal that ends the server and not the sites."""


class KilledAt(LoopbackGrid):
    """Notes which messages reached a node; a server that sends one of a kind is killed before or after it."""

    def __init__(self, app, count, kind, when):
        super().__init__(app, count)
        self.kind, self.when, self.sent = kind, when, []

    def push_messages(self, messages):
        [message] = messages
        die = message.metadata.message_type == self.kind
        if die and self.when == "before":
            raise Killed
        numbers = super().push_messages(messages)
        self.sent.append(message.metadata.message_type)
        if die:
            raise Killed
        return numbers


@pytest.mark.parametrize(
    ("kind", "when"), [("done", "before"), ("done", "after"), ("evaluate", "before"), ("evaluate", "after")]
)
@pytest.mark.parametrize("stored", [True, False], ids=["with a state", "without a state"])
def test_the_model_is_kept_before_a_site_is_told_that_the_run_is_over(kind, when, stored, tmp_path):
    from flwr.app import Context, RecordDict

    made = tmp_path / "model.json"
    memory, ledger = tmp_path / "memory", Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=20.0, delta=1e-3)
    sites = app(NAMES, memory=memory, ledger=ledger, dataset="d", random_state=None)
    context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={})

    def make(_):
        given = {"sites": NAMES[:2], "n_rows": 200, "n_features": TRUTH.size}
        return Server.open(tmp_path / "server.json", estimator(), **given) if stored else serve(NAMES[:2])

    def done(model, _):
        if (kind, when) == ("done", "before"):
            raise Killed
        model.save(made)
        if kind == "done":
            raise Killed

    grid = KilledAt(sites, 2, kind, when)
    with pytest.raises(Killed):
        server_app(make, done, timeout=0.0, wait=0.0)(grid, context)
    told = "evaluate" in grid.sent
    assert told == ((kind, when) == ("evaluate", "after"))
    assert made.exists() == ((kind, when) != ("done", "before"))
    if not stored:
        return
    kept = [made.read_bytes()] if made.exists() else []
    again = LoopbackGrid(sites, 2)
    server_app(make, lambda model, _: model.save(made), timeout=0.0, wait=0.0)(again, context)
    assert load(made).statement_.private
    assert kept in ([], [made.read_bytes()]), "a run that is started again gives the same model"
    assert [entry.status for entry in ledger.entries("d")] == ["done", "done"]


def test_a_node_cannot_speak_for_another_site():
    server = serve(["a", "b"])
    kept = {}

    def fault(node, reply):
        report = reply.content[RECORD].get("report")
        if report is not None:
            kept[node] = report
            if node == 2:
                reply.content[RECORD]["report"] = kept[1]
        return reply

    run_rounds(server, LoopbackGrid(app(NAMES), 2, fault), wait=0.0, timeout=0.0)
    assert server.answered == (1, 1, 1)


def test_who_was_drawn_to_take_part_is_not_logged(tmp_path, caplog):
    recipe = FedSGDHT(rounds=3, local_steps=2, step_size=0.5)
    privacy = SitePrivacy(epsilon=4.0, delta=1e-3, clip=0.5, rate=0.5)
    server = serve(NAMES[:6], estimator(recipe), site_privacy=privacy, state=tmp_path / "server.json", random_state=1)

    def fault(node, reply):
        if "report" in reply.content[RECORD]:
            reply.content[RECORD]["report"] = b"garbage"
        return reply

    with caplog.at_level("INFO", logger="dpsparse"):
        run_rounds(server, LoopbackGrid(app(NAMES, trust="server"), 6, fault), wait=0.0, timeout=0.0)
    told = [(record.getMessage(), record.facts) for record in caplog.records if record.name == "dpsparse"]
    assert told == [("round closed", {"round": k}) for k in range(3)]


def test_a_site_that_cannot_answer_says_nothing_about_why():
    def broken(protocol, context):
        raise ValueError("row 17 has norm 4.2")

    server = serve(["a"])
    seen = []

    def fault(node, reply):
        seen.append(dict(reply.content[RECORD]))
        return reply

    with pytest.raises(MessageError, match="0 sites have answered"):
        run_rounds(server, LoopbackGrid(client_app(broken), 1, fault), wait=0.0, timeout=0.0)
    assert seen == 3 * [{"refused": "the site could not answer."}]


def test_people_of_the_local_model_answer_once_over_the_same_carrier(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (60, 3))
    model = SparseRegressor(epsilon=50.0, recipe="ldp_iht", feature_bound=1.0, target_bound=2.0, sparsity=1)
    server = local.Server(model, n_people=60, n_features=3)

    def make(protocol, context):
        number = int(context.node_config["partition-id"])
        memory = tmp_path / f"{number}.answers"
        return local.Device(
            X[number], X[number, 1], protocol, epsilon=50.0, memory=memory, randomness=Randomness(number)
        )

    def fault(node, reply):
        return None if node == 3 else reply

    found = run_devices(server, LoopbackGrid(device_app(make), 60, fault), people=60, wait=0.0, timeout=0.0)
    assert [int(j) for j in found.support_] == [1]
    assert len(list(tmp_path.glob("*.answers"))) == 60
    with pytest.raises(ValueError, match="0 devices have answered, and 1 are needed"):
        run_devices(
            local.Server(model, n_people=2, n_features=3, nonce=server.protocol.nonce),
            LoopbackGrid(device_app(max), 2),
            people=2,
            wait=0.0,
            timeout=0.0,
        )


def test_an_app_can_be_sent_to_other_processes():
    pickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(pickle.dumps(client_app(max)))


@pytest.mark.slow
def test_the_hospitals_run_on_the_simulation_engine(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", SIMULATED],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{EXAMPLE}:{os.environ.get('PYTHONPATH', '')}",
            "FLWR_TELEMETRY_ENABLED": "0",
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert "features found: [2, 7, 11]" in ran.stdout, ran.stderr[-2000:]
    assert (tmp_path / "out/hospitals/model.json").exists()


SIMULATED = """
from hospitals import client, server
from flwr.simulation import run_simulation
run_simulation(server.app, client.app, num_supernodes=5)
"""
