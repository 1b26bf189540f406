"""Whole sites, protected by a server that they trust."""

import json
import math
import stat

import numpy as np
import pytest

from dpsparse.accounting import price
from dpsparse.core import Budget, DataError, NotPricedError, PrivacyError
from dpsparse.core.mechanisms import Randomness
from dpsparse.federated import Grid, Report, Server, SitePrivacy
from dpsparse.oracles.client_updates import ClientUpdates, changes_plan
from truth.audit import Stream
from truth.sites import NAMES, FedSGDHT, estimator, join, serve

LOOP = FedSGDHT(rounds=3, local_steps=2, step_size=0.5)


def changes(rate=1.0, epsilon=2.0, adjacency="replace-one", clip=0.5, sites=10):
    return ClientUpdates(price(changes_plan(3, rate), Budget.approx(epsilon, 1e-5, adjacency)), clip, sites)


@pytest.mark.parametrize(("rate", "adjacency"), [(1.0, "replace-one"), (0.5, "add-remove")])
def test_noise_is_that_of_the_price_for_the_stated_sensitivity(rate, adjacency):
    oracle = changes(rate, adjacency=adjacency)
    kappa = 2 if adjacency == "replace-one" else 1
    expected = kappa * 0.5 / oracle.priced.cost("changes").strength / (rate * 10)
    drawn = oracle.average(0, [], 20_000, Stream(1))
    assert np.std(drawn) == pytest.approx(expected, rel=5 / math.sqrt(2 * 20_000))
    assert oracle.receipt.scale == pytest.approx(expected * rate * 10)


def test_one_site_moves_the_sum_by_no_more_than_the_clip_whatever_it_sends():
    oracle, size = changes(), 7
    rng = np.random.default_rng(0)
    wild = [rng.standard_normal(size) * 10.0**k for k in range(-8, 300, 20)] + [
        np.full(size, np.nan),
        np.full(size, np.inf),
    ]
    for change in wild:
        with_it, without = (oracle.average(0, part, size, Stream(4)) for part in ([change], []))
        assert np.linalg.norm(with_it - without) * 10 <= 0.5 * (1 + 1e-12)


def test_who_is_invited_is_drawn_by_coins_and_more_sites_than_there_are_are_refused():
    oracle = changes(rate=0.3)
    counts = [len(oracle.invite(Randomness(k))) for k in range(300)]
    assert np.mean(counts) == pytest.approx(3.0, abs=5 * math.sqrt(2.1 / 300))
    with pytest.raises(PrivacyError, match="11 changes"):
        oracle.average(0, [np.zeros(2)] * 11, 2, Stream(0))
    with pytest.raises(NotPricedError):
        oracle.average(3, [], 2, Stream(0))


def test_a_run_that_protects_sites_says_whom_it_trusts(tmp_path):
    privacy = SitePrivacy(epsilon=4.0, delta=1e-3, clip=0.5, rate=0.5)
    server = serve(NAMES, estimator(LOOP), site_privacy=privacy, random_state=3, state=tmp_path / "server.json")
    sites = [join(server, name, trust="server") for name in NAMES]
    model = Grid(server, sites).run()
    statement = model.statement_
    assert statement.caveats[0].startswith("TRUSTS THE SERVER")
    assert statement.unit.startswith("one whole site")
    assert (statement.n_rows, statement.asks[0].times, statement.asks[0].rate) == (10, 3, 0.5)
    assert statement.epsilon <= 4.0
    assert any("asked in a round" in a for a in statement.assumptions)
    assert any("own state alone" in a for a in statement.assumptions)
    assert server.answered == (), "how many were drawn is secret"
    resumed = Server.resume(
        tmp_path / "server.json",
        estimator(LOOP),
        sites=NAMES,
        n_rows=200,
        n_features=6,
        site_privacy=privacy,
        random_state=3,
    )
    assert np.array_equal(resumed.model().coef_, model.coef_)


def test_a_round_is_noted_as_closed_before_its_noise_is_drawn(tmp_path, monkeypatch):
    path = tmp_path / "server.json"
    privacy = SitePrivacy(epsilon=4.0, delta=1e-3, clip=0.5)
    server = serve(["a"], estimator(LOOP), site_privacy=privacy, state=path)
    site = join(server, "a", trust="server")
    server.enrol(site.certificate())
    server.receive(site.answer(server.task()))

    server.save(path)
    assert '"changes": {}' in path.read_text(), "what a site changed is not written"

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ClientUpdates, "average", crash)
    with pytest.raises(KeyboardInterrupt):
        server.close()
    resumed = Server.resume(path, estimator(LOOP), sites=["a"], n_rows=200, n_features=6, site_privacy=privacy)
    assert (resumed.round, resumed.count) == (1, 0)


def protect(path, names=NAMES, rate=0.4, **options):
    privacy = SitePrivacy(epsilon=4.0, delta=1e-3, clip=0.5, rate=rate)
    return serve(names, estimator(LOOP), site_privacy=privacy, state=path, **options)


def go_on(path, names=NAMES, rate=0.4, **options):
    privacy = SitePrivacy(epsilon=4.0, delta=1e-3, clip=0.5, rate=rate)
    return Server.resume(path, estimator(LOOP), sites=names, n_rows=200, n_features=6, site_privacy=privacy, **options)


OTHERS = {
    "a lower price": {"epsilon": 0.1},
    "a higher price": {"epsilon": 400.0},
    "another delta": {"delta": 1e-6},
    "fewer sites by coins": {"rate": 0.2},
    "other neighbours": {"adjacency": "replace-one"},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_run_goes_on_with_the_noise_with_which_it_began(other, tmp_path):
    """Its statement has one price for all rounds, also for those that were closed before."""
    begun = {"epsilon": 4.0, "delta": 1e-3, "clip": 0.5, "rate": 0.4, "adjacency": "add-remove"}
    path, settings = tmp_path / "server.json", {"sites": NAMES, "n_rows": 200, "n_features": 6}
    server = Server(estimator(LOOP), **settings, site_privacy=SitePrivacy(**begun), state=path)
    server.close()
    with pytest.raises(PrivacyError, match="began with another noise"):
        Server.resume(path, estimator(LOOP), **settings, site_privacy=SitePrivacy(**{**begun, **other}))
    resumed = Server.resume(path, estimator(LOOP), **settings, site_privacy=SitePrivacy(**begun))
    assert (resumed.round, resumed.statement().epsilon) == (1, server.statement().epsilon)


@pytest.mark.parametrize(("first", "then"), [({"random_state": 0}, {}), ({}, {"random_state": 0})])
def test_a_run_that_began_with_a_seed_never_ends_as_a_private_one(first, then, tmp_path):
    server = protect(tmp_path / "server.json", **first)
    server.close()
    with pytest.raises(PrivacyError, match="a random_state only if it had one"):
        go_on(tmp_path / "server.json", **then)
    assert go_on(tmp_path / "server.json", **first).statement().private is server.statement().private


def test_whole_sites_are_not_protected_without_a_state():
    with pytest.raises(PrivacyError, match="needs state"):
        protect(None)


def test_no_round_gets_a_second_noise_whichever_server_was_resumed(tmp_path):
    path = tmp_path / "run" / "server.json"
    server = protect(path, ["a"], 1.0)
    sites = [join(server, "a", trust="server")]
    copy = path.with_name("copy.json")
    copy.write_bytes(path.read_bytes())
    first, second, third = go_on(path, ["a"], 1.0), go_on(path, ["a"], 1.0), go_on(copy, ["a"], 1.0)
    Grid(first, sites).step()
    refusals = {second: "another server of this run", server: "another server", third: "round 0 of this run was closed"}
    for late, why in refusals.items():
        grid = Grid(late, sites)
        with pytest.raises((PrivacyError, DataError), match=why):
            grid.step()
        assert late.round == 0, "nothing was published"
    later = go_on(path, ["a"], 1.0)
    assert (later.round, later.task()) == (1, first.task())
    assert later.state == path, "rounds are noted there from now on"


def test_an_old_copy_of_the_state_skips_the_rounds_that_were_closed(tmp_path):
    path, copy = tmp_path / "server.json", tmp_path / "copy.json"
    server = protect(path, ["a"], 1.0)
    copy.write_bytes(path.read_bytes())
    Grid(server, [join(server, "a", trust="server")]).step()
    assert go_on(copy, ["a"], 1.0).round == 1
    elsewhere = tmp_path / "other" / "server.json"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(copy.read_bytes())
    with pytest.raises(PrivacyError, match="is a copy"):
        go_on(elsewhere, ["a"], 1.0)
    with pytest.raises(PrivacyError, match="one state"):
        server.save(tmp_path / "third.json")
    with pytest.raises(PrivacyError, match="its own state"):
        go_on(path, ["a"], 1.0, state=tmp_path / "third.json")


def test_a_run_is_not_begun_again_over_its_state_nor_under_its_nonce(tmp_path):
    path = tmp_path / "server.json"
    server = protect(path, ["a"], 1.0)
    Grid(server, [join(server, "a", trust="server")]).step()
    with pytest.raises(DataError, match="exists"):
        protect(path, ["a"], 1.0)
    with pytest.raises(FileNotFoundError):
        protect(tmp_path / "new.json", ["a"], 1.0, nonce=server.protocol.nonce)
    assert protect(path, ["a"], 1.0, nonce=server.protocol.nonce).round == 1


def test_who_was_drawn_is_in_no_file_and_no_text(tmp_path):
    path = tmp_path / "server.json"
    server = protect(path, random_state=3)
    Grid(server, [join(server, name, trust="server") for name in NAMES]).step()
    server.save(path)
    content = json.loads(path.read_text())["content"]
    assert (content["invited"], content["answered"], content["changes"]) == ([], [], {})
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert repr(server) == "Server(round 1 of 3)"
    assert server.answered == ()


def test_a_site_that_was_not_asked_is_not_heard(tmp_path):
    server = protect(tmp_path / "server.json", random_state=0)
    for name in NAMES:
        server.enrol(join(server, name, trust="server").certificate())
    absent = next(i for i, name in enumerate(NAMES) if name not in server.invited)
    message = Report(server.protocol.identity, 0, absent, np.zeros(server.protocol.size)).to_bytes()
    with pytest.raises(ValueError, match="not asked"):
        server.receive(message)


def test_arguments_that_do_not_go_together_are_refused():
    privacy = SitePrivacy(epsilon=4.0, clip=0.5)
    with pytest.raises(PrivacyError, match="recipe='fedsgd_ht'"):
        serve(site_privacy=privacy)
    with pytest.raises(ValueError, match="equal weights"):
        serve(model=estimator(LOOP), site_privacy=privacy, weights=[1, 2, 3])
    with pytest.raises(ValueError, match="clip"):
        SitePrivacy(epsilon=1.0, clip=0.0)
    with pytest.raises(ValueError, match="rate"):
        SitePrivacy(epsilon=1.0, clip=1.0, rate=2.0)
