"""Devices and a server: the same model as the simulated fit, one answer each, and nothing that should not be believed."""

import copy
import pickle
from contextlib import nullcontext

import numpy as np
import pytest

from builders import Rows
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core import OncePerPerson, PrivacyError
from dpsparse.fitting import with_oracles
from dpsparse.local import Device, MessageError, Protocol, Report, Server, Task
from dpsparse.losses import Custom, KnownLink
from dpsparse.oracles import LocalOracle
from dpsparse.recipes import LDPIHT, LabelLDPIHT
from dpsparse.rows.hosts import MemoryHost
from truth import audit

rng = np.random.default_rng(0)
X = rng.choice([-1.0, 1.0], (300, 4))
Y = np.clip(X @ [1.0, -0.6, 0.0, 0.0], -2, 2)


def regressor(recipe="ldp_iht", epsilon=4.0, **options):
    return SparseRegressor(epsilon=epsilon, recipe=recipe, **{"feature_bound": 1.0, "target_bound": 2.0, **options})


def served(server: Server, devices: list, deal: np.ndarray):
    for turn in range(server.protocol.rounds):
        task = server.task()
        for device, own in zip(devices, deal, strict=True):
            if own == turn:
                server.receive(device.answer(task))
        server.close()
    return server.model()


# ------------------------------------------------------------------------------------------------ the same model


@pytest.mark.parametrize("mechanism", ["privunit", "duchi", "gaussian"])
def test_with_the_same_randomness_devices_give_the_model_of_the_simulated_fit(mechanism):
    delta = 1e-5 if mechanism == "gaussian" else 0.0
    model = regressor(LDPIHT(steps=3, mechanism=mechanism), delta=delta, sparsity=2)
    stream = audit.Stream(3)

    def one_by_one(prepared, X, y, *_):
        host = MemoryHost(X, y, prepared.facts)
        return nullcontext(LocalOracle(host, prepared.loss, prepared.of_one_model, stream, entries=1))

    with with_oracles(one_by_one):
        simulated = model.fit(X, Y)
    server = Server(model, n_people=300, n_features=4)
    stream = audit.Stream(3)
    devices = [
        Device(x, y, server.protocol.to_json(), epsilon=4.0, delta=delta, randomness=stream)
        for x, y in zip(X, Y, strict=True)
    ]
    found = served(server, devices, OncePerPerson().deal(300, 3))
    assert np.allclose(found.coef_, simulated.coef_, rtol=1e-12)
    assert found.intercept_ == pytest.approx(simulated.intercept_, rel=1e-12)
    for name in ("epsilon", "delta", "unit", "adjacency", "asks"):
        assert getattr(found.statement_, name) == getattr(simulated.statement_, name)
    assert not any("simulated" in a for a in found.statement_.assumptions)
    assert any("every device randomised its own report" in a for a in found.statement_.assumptions)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_labels_alone_can_be_reported_too(task):
    y = Y if task == "regression" else np.where(Y > 0, "b", "a")
    options = {"epsilon": 8.0, "recipe": LabelLDPIHT(), "sparsity": 2, "feature_bound": 1.0}
    model = (
        SparseRegressor(target_bound=2.0, **options)
        if task == "regression"
        else SparseClassifier(classes=["a", "b"], **options)
    )
    server = Server(model, n_people=300, n_features=4, features=X)
    stream = audit.Stream(5)
    for i in range(280):  # twenty people say nothing
        device = Device(X[i], y[i], server.protocol, epsilon=8.0, number=i, randomness=stream)
        server.receive(device.answer(server.task()))
    server.close()
    found = server.model()
    assert set(found.support_) == {0, 1}
    assert str(found.statement_).startswith("CAVEAT: features are treated as public")
    assert np.all(found.predict(X[:1]) == found.predict(X[:1]))


def test_a_model_of_a_server_is_saved_like_any_other(tmp_path):
    import dpsparse

    server = Server(regressor(LDPIHT(steps=2)), n_people=10, n_features=4)
    devices = [Device(x, y, server.protocol, epsilon=4.0) for x, y in zip(X[:10], Y[:10], strict=True)]
    served(server, devices, np.arange(10) % 2).save(tmp_path / "model.json")
    assert dpsparse.load(tmp_path / "model.json").statement_.unit == "one person, one report (local model)"


def test_the_server_has_no_row():
    server = Server(regressor(), n_people=10, n_features=4)
    held = [v for v in vars(server).values() if isinstance(v, Rows)]
    assert not held


# ------------------------------------------------------------------------------------------------ devices


def test_a_device_answers_once_and_no_second_round():
    server = Server(regressor(LDPIHT(steps=2)), n_people=10, n_features=4)
    device = Device(X[0], Y[0], server.protocol, epsilon=4.0)
    assert not device.spoken
    server.receive(device.answer(server.task()))
    assert device.spoken
    with pytest.raises(PrivacyError, match="no second one"):
        device.answer(server.task())
    server.close()
    with pytest.raises(PrivacyError, match="no second one"):
        device.answer(server.task())


def test_a_device_that_failed_after_it_was_charged_does_not_answer_again(monkeypatch):
    server = Server(regressor(), n_people=10, n_features=4)
    device = Device(X[0], Y[0], server.protocol, epsilon=4.0)
    monkeypatch.setattr("dpsparse.sites.local.device.contributions", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        device.answer(server.task())
    with pytest.raises(PrivacyError, match="no second one"):
        device.answer(server.task())


@pytest.mark.parametrize(("epsilon", "delta"), [(3.99, 0.0), (0.1, 0.5), (float("nan"), 0.0)])
def test_a_device_refuses_a_protocol_beyond_its_own_epsilon(epsilon, delta):
    server = Server(regressor(epsilon=4.0), n_people=10, n_features=4)
    with pytest.raises(PrivacyError, match="does not take part"):
        Device(X[0], Y[0], server.protocol, epsilon=epsilon, delta=delta)


def test_a_device_that_allows_no_delta_refuses_gaussian_noise():
    server = Server(regressor(LDPIHT(mechanism="gaussian"), delta=1e-6), n_people=10, n_features=4)
    with pytest.raises(PrivacyError, match="does not take part"):
        Device(X[0], Y[0], server.protocol, epsilon=100.0)
    Device(X[0], Y[0], server.protocol, epsilon=4.0, delta=1e-6)


def test_what_a_device_reports_does_not_depend_on_a_wild_task_more_than_its_radius():
    server = Server(regressor(), n_people=10, n_features=4)
    for w in (np.full(5, 1e300), np.full(5, -1e308)):
        device = Device(X[0], Y[0], server.protocol, epsilon=4.0)
        told = Report.from_bytes(device.answer(Task(server.protocol.identity, 0, 3.0, w).to_bytes()))
        assert server._randomiser.valid(told.values)


def test_tasks_that_do_not_fit_are_refused_and_cost_nothing():
    server = Server(regressor(LDPIHT(steps=2)), n_people=10, n_features=4)
    other = Server(regressor(LDPIHT(steps=2), epsilon=3.0), n_people=10, n_features=4)
    device = Device(X[0], Y[0], server.protocol, epsilon=4.0)
    identity = server.protocol.identity
    for task in (
        other.task(),
        Task(identity, 2, 1.0, np.zeros(5)).to_bytes(),
        Task(identity, 0, 1.0, np.zeros(4)).to_bytes(),
        b"",
        server.task()[:-1],
    ):
        with pytest.raises(MessageError):
            device.answer(task)
    assert not device.spoken
    server.receive(device.answer(server.task()))


def test_devices_are_neither_copied_nor_printed():
    server = Server(regressor(), n_people=10, n_features=4)
    device = Device(X[0], Y[0], server.protocol, epsilon=4.0)
    assert repr(device) == "Device(has not answered)"
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="answers once"):
            make(device)


@pytest.mark.parametrize(
    ("x", "y"), [([np.nan] * 4, 0.0), ([np.inf, 0, 0, 0], 0.0), ([1e300] * 4, 1e300), ([0.0] * 4, np.nan)]
)
def test_any_row_gives_a_possible_report(x, y):
    server = Server(regressor(), n_people=10, n_features=4)
    server.receive(Device(x, y, server.protocol, epsilon=4.0).answer(server.task()))
    assert server.count == 1


# ------------------------------------------------------------------------------------------------ protocol


def test_a_protocol_comes_back_as_it_was_and_has_one_identity():
    server = Server(
        regressor(feature_bound=[1.0, 2.0, 3.0, 4.0], target_center=0.5, loss=KnownLink("tanh", target=3.0)),
        n_people=10,
        n_features=4,
    )
    again = Protocol.from_json(server.protocol.to_json())
    assert again == server.protocol
    assert again.identity == server.protocol.identity
    assert (
        Protocol.from_json(Server(regressor(), n_people=10, n_features=4).protocol.to_json()).identity != again.identity
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"format": "dpsparse-local", "version": 9}',
        '{"format": "dpsparse-local", "version": 1}',
    ],
)
def test_texts_that_are_no_protocol_are_refused(text):
    with pytest.raises(PrivacyError, match="not a dpsparse protocol"):
        Protocol.from_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("strength", -1.0),
        ("strength", "all"),
        ("noise", "none"),
        ("noise", "gaussian"),
        ("randomiser", "loud"),
        ("rounds", 0),
        ("delta", 2.0),
        ("loss", {"loss": "Unknown"}),
        ("facts", {}),
        ("facts", None),
        ("extra", 1),
        ("strength", 1e-300),
        ("classes", [1, 2]),
        ("classes", [1, 2, 3]),
        ("target_center", float("nan")),
        ("target_center", "x"),
    ],
)
def test_protocols_that_were_tampered_with_are_refused(field, value):
    import json

    content = json.loads(Server(regressor(), n_people=10, n_features=4).protocol.to_json())
    content[field] = value
    with pytest.raises(PrivacyError, match="not a dpsparse protocol"):
        Protocol.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("lower", 5.0),
        ("lower", float("nan")),
        ("upper", float("inf")),
        ("row_norm", 0.0),
        ("intercept", -1.0),
        ("intercept", 1e300),
        ("target_bound", 0.0),
        ("n_features", 10**9),
        ("shift", [1.0, 2.0]),
        ("unknown", 1.0),
    ],
)
def test_bounds_that_leave_no_room_for_a_row_are_refused(fact, value):
    import json

    content = json.loads(Server(regressor(), n_people=10, n_features=4).protocol.to_json())
    content["facts"][fact] = value
    with pytest.raises(PrivacyError, match="not a dpsparse protocol"):
        Protocol.from_json(json.dumps(content))


def test_a_text_nested_without_end_is_refused():
    with pytest.raises(PrivacyError, match="not a dpsparse protocol"):
        Protocol.from_json("[" * 100_000)


@pytest.mark.parametrize("radius", [5e-324, 1e-101, 1e101, float("nan")])
def test_a_radius_out_of_the_range_of_floats_is_refused_before_the_row_is_looked_at(radius):
    server = Server(regressor(), n_people=10, n_features=4)
    device = Device(X[0], Y[0], server.protocol, epsilon=4.0)
    with pytest.raises(MessageError, match="radius between"):
        device.answer(Task(server.protocol.identity, 0, radius, np.zeros(5)).to_bytes())
    assert not device.spoken


# ------------------------------------------------------------------------------------------------ the server refuses


def state(server: Server) -> tuple:
    return server.round, server.count, server._tally.total.tobytes(), frozenset(server._seen), len(server._answers)


def test_reports_that_cannot_be_honest_are_refused_and_change_nothing():
    server = Server(regressor(LDPIHT(steps=2)), n_people=10, n_features=4)
    honest = Report.from_bytes(Device(X[0], Y[0], server.protocol, epsilon=4.0).answer(server.task()))
    server.receive(honest.to_bytes())
    before = state(server)
    identity, values = server.protocol.identity, honest.values
    bad = {
        "another protocol": Report(bytes(16), 0, b"a" * 16, values),
        "is of round 1": Report(identity, 1, b"a" * 16, values),
        "holds 5 numbers": Report(identity, 0, b"a" * 16, values[:-1]),
        "norm": Report(identity, 0, b"a" * 16, values * 3),
        "taken already": honest,
    }
    for reason, report in bad.items():
        with pytest.raises(MessageError, match=reason):
            server.receive(report.to_bytes())
        assert state(server) == before
    server.close()
    with pytest.raises(MessageError, match="taken already"):
        server.receive(Report(identity, 1, honest.identifier, values).to_bytes())


def test_a_poisoned_report_moves_the_sum_by_the_norm_of_a_report():
    server = Server(regressor(LDPIHT(steps=1)), n_people=10, n_features=4)
    poison = np.zeros(5, dtype=np.int32)
    poison[0] = round(server._randomiser._span)
    before = server._tally.total.copy()
    server.receive(Report(server.protocol.identity, 0, b"p" * 16, poison).to_bytes())
    moved = np.linalg.norm(server._tally.total - before) * server._randomiser.unit
    assert moved <= server.influence * (1 + 1e-5)


@pytest.mark.parametrize("mechanism", ["two-point", "piecewise"])
def test_a_poisoned_label_is_no_larger_than_the_largest_honest_one(mechanism):
    server = Server(regressor(LabelLDPIHT(mechanism=mechanism)), n_people=300, n_features=4, features=X)
    largest = 1 if mechanism == "two-point" else server._randomiser.cells - 1
    identity = server.protocol.identity
    with pytest.raises(MessageError, match="norm"):
        server.receive(Report(identity, 0, bytes(16), np.array([largest + 2], dtype=np.int32)).to_bytes())
    server.receive(Report(identity, 0, bytes(16), np.array([largest], dtype=np.int32)).to_bytes())
    assert abs(server._tally.total[0]) * server._randomiser.unit <= server.influence * (1 + 1e-12)


def test_labels_of_rows_that_do_not_exist_or_were_reported_are_refused():
    server = Server(regressor("label_ldp_iht"), n_people=300, n_features=4, features=X)
    report = Device(X[5], Y[5], server.protocol, epsilon=4.0, number=5).answer(server.task())
    server.receive(report)
    with pytest.raises(MessageError, match="taken already"):
        server.receive(report)
    values = Report.from_bytes(report).values
    with pytest.raises(MessageError, match="does not exist"):
        server.receive(Report(server.protocol.identity, 0, (300).to_bytes(16, "little"), values).to_bytes())
    with pytest.raises(ValueError, match="number of its row"):
        Device(X[5], Y[5], server.protocol, epsilon=4.0)


def test_rounds_are_closed_in_order_and_the_model_comes_last():
    server = Server(regressor(LDPIHT(steps=1)), n_people=10, n_features=4)
    with pytest.raises(MessageError, match="0 devices have answered, and 1 are needed"):
        server.close()
    with pytest.raises(MessageError, match="close it first"):
        server.model()
    report = Device(X[0], Y[0], server.protocol, epsilon=4.0).answer(server.task())
    server.receive(report)
    server.close()
    assert server.finished
    assert repr(server) == "Server(round 1 of 1, 0 reports)"
    for call in (server.task, server.close, lambda: server.receive(report)):
        with pytest.raises(MessageError, match="all rounds are closed"):
            call()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Server(regressor("dp_ight"), n_people=10, n_features=4), "recipes of the local model only"),
        (lambda: Server(regressor("ight"), n_people=10, n_features=4), "recipes of the local model only"),
        (lambda: Server(regressor(ledger="spent.db"), n_people=10, n_features=4), "holds no dataset to charge"),
        (lambda: Server(regressor("label_ldp_iht"), n_people=10, n_features=4), "needs the public features"),
        (
            lambda: Server(SparseClassifier(recipe="ldp_iht", feature_bound=1.0), n_people=10, n_features=4),
            "two classes declared",
        ),
        (
            lambda: Server(
                regressor(loss=Custom(derivative=lambda m, y: m - y, curvature=1.0)), n_people=10, n_features=4
            ),
            "given as functions",
        ),
        (lambda: Device([1.0], 0.0, Server(regressor(), n_people=9, n_features=4).protocol, epsilon=4.0), "4 features"),
    ],
)
def test_what_cannot_be_served_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_identifiers_that_are_made_up_do_not_fill_the_memory():
    server = Server(regressor(LDPIHT(steps=2)), n_people=10, n_features=4)
    values = Report.from_bytes(Device(X[0], Y[0], server.protocol, epsilon=4.0).answer(server.task())).values
    for turn in range(2):
        for i in range(10):
            server.receive(Report(server.protocol.identity, turn, bytes([turn, i] * 8), values).to_bytes())
        before = state(server)
        with pytest.raises(MessageError, match="10 people were expected"):
            server.receive(Report(server.protocol.identity, turn, b"x" * 16, values).to_bytes())
        assert state(server) == before
        server.close()
    assert server.finished
