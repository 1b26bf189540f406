"""A server that is saved and resumed: nothing is lost, nothing is doubled, nothing else is believed."""

import json
import pickle
import threading

import numpy as np
import pytest

from dpsparse import SparseRegressor
from dpsparse.core import DataError
from dpsparse.local import Device, MessageError, Server
from dpsparse.recipes import LDPIHT, LabelLDPIHT

rng = np.random.default_rng(0)
X = rng.choice([-1.0, 1.0], (60, 4))
Y = np.clip(X @ [1.0, -0.6, 0.0, 0.0], -2, 2)


def estimator(recipe=None, **options):
    recipe = recipe or LDPIHT(steps=3)
    return SparseRegressor(epsilon=4.0, recipe=recipe, feature_bound=1.0, target_bound=2.0, **options)


def reports(server: Server, group) -> list[bytes]:
    task = server.task()
    return [Device(X[i], Y[i], server.protocol, epsilon=4.0, number=i).answer(task) for i in group]


@pytest.mark.parametrize("cut", [0, 7, 20])
def test_a_resumed_server_ends_with_the_same_model(tmp_path, cut):
    """Saved in each round after `cut` reports, thrown away, resumed, and sent every message of the round again."""
    straight = Server(estimator(), n_people=60, n_features=4)
    broken = Server(estimator(), n_people=60, n_features=4, nonce=straight.protocol.nonce)
    for turn in range(3):
        told = reports(straight, range(20 * turn, 20 * turn + 20))
        for message in told:
            straight.receive(message)
        straight.close()
        for message in told[:cut]:
            broken.receive(message)
        broken.save(tmp_path / "server.json")
        for message in told[cut:]:  # taken after the save, and lost in the crash
            broken.receive(message)
        broken = Server.resume(tmp_path / "server.json", estimator())
        assert (broken.round, broken.count) == (turn, cut)
        for message in told[:cut]:
            with pytest.raises(MessageError, match="taken already"):
                broken.receive(message)
        for message in told[cut:]:
            broken.receive(message)
        assert broken.count == 20
        broken.close()
    broken.save(tmp_path / "server.json")
    broken = Server.resume(tmp_path / "server.json", estimator())
    assert broken.finished
    one, two = straight.model(), broken.model()
    assert np.array_equal(one.coef_, two.coef_)
    assert one.intercept_ == two.intercept_
    assert one.statement_ == two.statement_


def test_reports_of_an_earlier_round_are_refused_after_a_resume_too(tmp_path):
    server = Server(estimator(), n_people=60, n_features=4)
    told = reports(server, range(5))
    for message in told:
        server.receive(message)
    server.close()
    server.save(tmp_path / "s.json")
    server = Server.resume(tmp_path / "s.json", estimator())
    assert server._seen == {m[26:42] for m in told}
    with pytest.raises(MessageError):
        server.receive(told[0])


@pytest.mark.parametrize("finished", [False, True])
def test_labels_are_saved_too(tmp_path, finished):
    server = Server(estimator(LabelLDPIHT(), sparsity=2), n_people=60, n_features=4, features=X)
    for message in reports(server, range(0, 60, 2)):
        server.receive(message)
    if finished:
        server.close()
    server.save(tmp_path / "s.json")
    again = Server.resume(tmp_path / "s.json", estimator(LabelLDPIHT(), sparsity=2), features=X)
    for one in (server, again):
        if not finished:
            one.close()
    assert np.array_equal(server.model().coef_, again.model().coef_)


def saved(tmp_path) -> dict:
    server = Server(estimator(), n_people=60, n_features=4)
    for turn in range(2):
        for message in reports(server, range(10 * turn, 10 * turn + 10)):
            server.receive(message)
        if turn == 0:
            server.close()
    server.save(tmp_path / "s.json")
    return json.loads((tmp_path / "s.json").read_text())


def test_an_edited_file_is_refused(tmp_path):
    outer = saved(tmp_path)
    outer["content"]["tallies"][0]["total"][0] += 1
    (tmp_path / "s.json").write_text(json.dumps(outer))
    with pytest.raises(DataError, match="edited or damaged"):
        Server.resume(tmp_path / "s.json", estimator())


CHANGES = {
    "a count": lambda c: c["tallies"][1].update(count=9),
    "a count of truth": lambda c: c["tallies"][1].update(count=True),
    "too many": lambda c: c["tallies"][1].update(count=61),
    "an identifier less": lambda c: c["seen"].pop(),
    "an identifier twice": lambda c: c["seen"].append(c["seen"][0]),
    "a bad identifier": lambda c: c["seen"].__setitem__(0, "zz" * 16),
    "a round more": lambda c: c["tallies"].extend([c["tallies"][0]] * 3),
    "no round": lambda c: c["tallies"].clear(),
    "an open end": lambda c: c.update(open=False),
    "an open number": lambda c: c.update(open=1),
    "a short sum": lambda c: c["tallies"][1]["total"].pop(),
    "a sum of fractions": lambda c: c["tallies"][1]["total"].__setitem__(0, 0.5),
    "a huge sum": lambda c: c["tallies"][1]["total"].__setitem__(0, 2**80),
    "a long sum": lambda c: c["tallies"][1]["total"].__setitem__(0, 2**32),
    "labels": lambda c: c["tallies"][1]["labels"].update({"1": 1}),
    "no protocol": lambda c: c.update(protocol="{}"),
    "a list": lambda c: c.update(tallies=[[]]),
}


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_file_that_contradicts_itself_is_refused_though_its_digest_fits(tmp_path, change):
    from dpsparse.core.sealed_files import content_digest

    outer = saved(tmp_path)
    CHANGES[change](outer["content"])
    outer["digest"] = content_digest(outer["content"])
    (tmp_path / "s.json").write_text(json.dumps(outer))
    with pytest.raises(DataError, match=r"edited or damaged|no reports have"):
        Server.resume(tmp_path / "s.json", estimator())


def test_a_file_of_an_earlier_format_says_which_release_goes_on(tmp_path):
    from dpsparse.core.sealed_files import content_digest

    outer = saved(tmp_path)
    outer["content"]["version"] = 1
    outer["digest"] = content_digest(outer["content"])
    (tmp_path / "s.json").write_text(json.dumps(outer))
    with pytest.raises(
        DataError, match=r"of format 1, and this release reads format 2\. Go on with the release that saved"
    ):
        Server.resume(tmp_path / "s.json", estimator())


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"content": 1}', "\x00", "NaN"])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(DataError, match="not a saved server"):
        Server.resume(tmp_path / "s.json", estimator())


def test_another_estimator_is_refused(tmp_path):
    saved(tmp_path)
    with pytest.raises(DataError, match="other settings"):
        Server.resume(tmp_path / "s.json", estimator(target_center=0.5))


def test_saving_replaces_nothing_but_a_saved_server(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    server = Server(estimator(), n_people=60, n_features=4)
    with pytest.raises(DataError, match="not replaced"):
        server.save(tmp_path / "data.csv")
    assert (tmp_path / "data.csv").read_text() == "a,b\n1,2\n"
    server.save(tmp_path / "s.json")
    server.save(tmp_path / "s.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "s.json"]


def test_a_server_is_not_pickled():
    with pytest.raises(TypeError, match=r"server\.save"):
        pickle.dumps(Server(estimator(), n_people=60, n_features=4))


def test_reports_from_several_threads_are_each_taken_once():
    server = Server(estimator(LDPIHT(steps=1)), n_people=400, n_features=4)
    task = server.task()
    told = [Device(X[i % 60], Y[i % 60], server.protocol, epsilon=4.0).answer(task) for i in range(300)]
    taken, start = [], threading.Barrier(8)

    def send(order):
        start.wait()
        for i in order:
            try:
                server.receive(told[i])
                taken.append(i)
            except MessageError:
                pass

    threads = [threading.Thread(target=send, args=(np.random.default_rng(k).permutation(300),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(300))
    assert server.count == 300
    alone = Server(estimator(LDPIHT(steps=1)), n_people=400, n_features=4, nonce=server.protocol.nonce)
    for message in told:
        alone.receive(message)
    assert np.array_equal(alone._tally.total, server._tally.total)
