"""Networks across sites, on the rounds and messages of every federation."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="extra torch")

from dpsparse import Ledger  # noqa: E402
from dpsparse.core import DataError, PrivacyError  # noqa: E402
from dpsparse.federated import Grid  # noqa: E402
from dpsparse.neural import NetworkProtocol, NetworkServer, NetworkSite  # noqa: E402
from truth.networks import images, network, small  # noqa: E402

NAMES = ("a", "b", "c")


GIVEN = {
    "sites": NAMES,
    "rounds": 3,
    "local_steps": 2,
    "step_size": 0.5,
    "sparsity": 120,
    "rate": 0.4,
    "classes": 3,
}
SITE = {"epsilon": 4.0, "delta": 1e-5, "random_state": 0}


def serve(**options):
    return NetworkServer(small(), **{**GIVEN, **options})


def join(server, name, **options):
    number = server.protocol.sites.index(name)
    given = {"epsilon": 4.0, "delta": 1e-5, "random_state": number, **options}
    return NetworkSite(small(), *images(90, seed=number), server.protocol, name=name, **given)


def test_sites_at_a_huge_epsilon_give_the_network_without_privacy():
    options = {"rounds": 6, "local_steps": 3, "step_size": 0.8, "rate": 1.0, "clip": 50.0}
    exact, private = serve(private=False, **options), serve(radius=1e3, **options)
    known = Grid(exact, [join(exact, n, trust="server") for n in NAMES]).run()
    found = Grid(private, [join(private, n, epsilon=1e10) for n in NAMES]).run()
    assert np.allclose(known.w_, found.w_, atol=5e-3)
    assert found.score(*images(200, seed=50)) > 0.85
    assert not known.statement_.private


@pytest.mark.parametrize("seed", [0, 1])
def test_one_site_with_all_rows_is_the_fit_in_one_place(seed):
    server = serve(sites=["all"], rounds=3, local_steps=2, radius=1e3, sparsity=10**6)
    X, y = images(90, seed=0)
    site = NetworkSite(small(), X, y, server.protocol, name="all", epsilon=4.0, delta=1e-5, random_state=seed)
    found = Grid(server, [site]).run()
    known = network(sparsity=10**6, steps=6, step_size=0.5, batch_size=36, random_state=seed).fit(X, y)
    assert np.allclose(found.w_, known.w_, atol=1e-9)
    assert found.statement_.epsilon == pytest.approx(known.statement_.epsilon, rel=1e-6)


def test_the_statement_lists_what_every_site_promised():
    server = serve()
    model = Grid(server, [join(server, "a", epsilon=1.0), join(server, "b", epsilon=2.0)]).run()
    assert server.answered == (2, 2, 2)
    assert model.statement_.recipe == "dp_fedsgd_ht"
    assert model.statement_.epsilon == pytest.approx(2.0, rel=1e-4)
    assert model.statement_.asks[0].times == 6
    assert [note[:7] for note in model.statement_.notes] == ["site a:", "site b:"]
    assert "synthetic rows" in model.statement_.details()


def test_a_restarted_site_and_a_resumed_server_go_on(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=5.0, delta=1e-4)
    options = {"ledger": ledger, "dataset": "d", "memory": tmp_path / "site"}
    server = serve(sites=["a"], state=tmp_path / "server.json")
    first = join(server, "a", **options)
    server.enrol(first.certificate())
    report = first.answer(server.task())
    assert join(server, "a", **options).answer(server.task()) == report
    server.receive(report)
    server.close()
    resumed = NetworkServer.open(tmp_path / "server.json", small(), **{**GIVEN, "sites": ["a"]})
    assert resumed.task() == server.task()
    resumed.receive(join(server, "a", **options).answer(resumed.task()))
    assert len(ledger.entries("d")) == 1
    with pytest.raises(DataError, match="other settings"):
        NetworkServer.open(tmp_path / "server.json", small(), **{**GIVEN, "sites": ["a"], "rounds": 4})
    X, y = images(90, seed=0)
    X[7, 0] += 1
    other = NetworkSite(small(), X, y, server.protocol, name="a", **{**SITE, **options})
    with pytest.raises(PrivacyError, match="other rows"):
        other.answer(resumed.task())


def test_protocols_are_checked_and_other_networks_refused():
    protocol = serve().protocol
    assert NetworkProtocol.from_json(protocol.to_json()) == protocol
    for old, new in (
        ('"rounds": 3', '"rounds": 0'),
        ('"rate": 0.4', '"rate": 2.0'),
        ('"loss": "cross', '"loss": "other'),
    ):
        assert old in protocol.to_json()
        with pytest.raises(PrivacyError, match="not a protocol of networks"):
            NetworkProtocol.from_json(protocol.to_json().replace(old, new))
    with pytest.raises(ValueError, match="other parameters"):
        NetworkSite(torch.nn.Linear(3, 3), *images(), protocol, name="a", epsilon=1.0)
    with pytest.raises(PrivacyError, match="trust='server'"):
        join(serve(private=False), "a")
