"""Rounds between sites and a server without rows: the right model, whoever drops out, and nothing paid or answered twice."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dpsparse import Ledger
from dpsparse.accounting import FixedCost, PlanCost, SumCost, price
from dpsparse.core import (
    Adjacency,
    Ask,
    Budget,
    DataError,
    EveryRow,
    LedgerError,
    Noise,
    Plan,
    PoissonRows,
    PrivacyError,
)
from dpsparse.core.errors import BudgetExceededError, RunRepeatedError
from dpsparse.federated import Certificate, Grid, MessageError, Protocol, Report, Server, Site, Task
from dpsparse.losses import Huber, Logistic, Poisson
from dpsparse.sites.federated.certificate import Federation, state_federation
from dpsparse.sites.rounds import FileStore
from truth.sites import NAMES, TRUTH, DPFedGDHT, DPFedSGDHT, FedSGDHT, estimator, join, rows, serve

LOOP = {"rounds": 4, "local_steps": 3, "step_size": 0.8}


def federation(server, **options):
    return [join(server, name, **options) for name in server.protocol.sites]


# ------------------------------------------------------------------------------------------------ the right model


def test_ten_sites_at_a_huge_epsilon_give_the_result_without_privacy():
    exact = serve(NAMES, estimator(FedSGDHT(batch_size=1e9, **LOOP)))
    private = serve(NAMES, estimator(DPFedGDHT(clip=20.0, **LOOP), epsilon=1e12))
    known = Grid(exact, federation(exact, trust="server")).run()
    found = Grid(private, federation(private, epsilon=1e12)).run()
    assert np.allclose(known.coef_, found.coef_, atol=2e-3)
    assert np.flatnonzero(found.coef_).tolist() == np.flatnonzero(TRUTH).tolist()
    assert not known.statement_.private


@pytest.mark.parametrize("recipe", [DPFedSGDHT(batch_size=60, clip=1.0, **LOOP), DPFedGDHT(rounds=2, local_steps=3)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_site_with_all_rows_is_the_central_recipe(recipe, seed):
    """The same noise gives the same model, so the laws are equal."""
    X, y = rows(100)
    model = estimator(recipe, random_state=seed)
    central = model.fit(X, y)
    server = serve(["all"], estimator(recipe))
    found = Grid(server, [join(server, "all", random_state=seed)]).run()
    assert np.allclose(central.coef_, found.coef_, rtol=0, atol=1e-12)
    assert np.isclose(central.intercept_, found.intercept_, atol=1e-12)
    assert found.statement_.epsilon == pytest.approx(central.statement_.epsilon, rel=1e-9)
    assert [(a.times, a.scale, a.sensitivity) for a in found.statement_.asks] == [
        (a.times, pytest.approx(a.scale), pytest.approx(a.sensitivity)) for a in central.statement_.asks
    ]


@pytest.mark.parametrize(
    ("loss", "kind", "options"),
    [
        (Huber(), "numbers", {}),
        (Poisson(), "counts", {"target_bound": 8.0}),
        (Logistic(), "classes", {"classes": [0, 1]}),
    ],
)
def test_every_kind_of_target_is_fitted_across_sites(loss, kind, options):
    recipe = DPFedGDHT(rounds=6, local_steps=3, step_size=1.0, clip=4.0)
    server = serve(NAMES[:2], estimator(recipe, loss=loss, epsilon=1e6, **options))
    model = Grid(server, federation(server, kind=kind, epsilon=1e6, count=1500)).run()
    assert np.sign(np.ravel(model.coef_)).tolist() == np.sign(TRUTH).tolist()


def test_many_classes_are_one_model_each_within_one_budget():
    server = serve(["a", "b"], estimator(DPFedGDHT(rounds=2, local_steps=2), classes=["x", "y", "z"]))
    sites = []
    for k, name in enumerate("ab"):
        X, y = rows(k)
        labels = np.array(["x", "y", "z"])[np.digitize(y, [-0.3, 0.3])]
        sites.append(Site(X, labels, server.protocol, name=name, epsilon=4.0, delta=1e-5, random_state=k))
    model = Grid(server, sites).run()
    assert model.coef_.shape == (3, TRUTH.size)
    assert model.statement_.asks[0].times == 3 * 4
    assert model.statement_.epsilon <= 4.0


@pytest.mark.parametrize("store", [sp.csr_matrix, pd.DataFrame, lambda X: X.astype(np.float32).astype(float)])
def test_the_same_rows_in_other_storage_give_the_same_report(store):
    server = serve(["a"])
    X, y = rows(0)
    X = X.astype(np.float32).astype(float)
    options = {"name": "a", "epsilon": 2.0, "delta": 1e-5, "random_state": 5}
    known = Site(X, y, server.protocol, **options).answer(server.task())
    assert Site(store(X), y, server.protocol, **options).answer(server.task()) == known


def test_under_add_remove_the_number_of_rows_is_declared_and_no_report_shows_the_true_one():
    server = serve(["a"], estimator(adjacency="add-remove", n_rows=200))
    X, y = rows(0)
    options = {"name": "a", "epsilon": 2.0, "delta": 1e-5, "random_state": 5}
    with pytest.raises(PrivacyError, match="n_rows must be declared"):
        Site(X, y, server.protocol, **options)
    more = np.vstack([X, np.full((1, 6), np.nan)]), np.append(y, np.nan)
    one, two = (Site(*data, server.protocol, n_rows=200, **options).answer(server.task()) for data in ((X, y), more))
    assert one == two, "an empty record counts as nothing"


# ------------------------------------------------------------------------------------------------ statements


def test_every_site_prices_its_own_part_and_the_statement_lists_them():
    server = serve(["a", "b"])
    sites = [join(server, "a", epsilon=1.0), join(server, "b", epsilon=3.0, count=500)]
    model = Grid(server, sites).run()
    assert server.federation["a"].epsilon == pytest.approx(1.0, rel=1e-6)
    assert server.federation["b"].epsilon == pytest.approx(3.0, rel=1e-6)
    assert sites[0].statement.asks[0].scale > 2 * sites[1].statement.asks[0].scale
    statement = model.statement_
    assert (statement.epsilon, statement.n_rows) == (pytest.approx(3.0, rel=1e-6), 700)
    assert statement.unit == "one row of one site"
    assert "site a: (1, 1e-05), 200 rows" in statement.notes
    assert not statement.private, "seeds were given"
    at_both, delta = server.federation.person_at(["a", "b"])
    assert delta == pytest.approx(2e-5)
    assert 3.0 < at_both < 4.0
    assert server.federation.person_at(["a"])[0] == pytest.approx(1.0, rel=1e-6)
    server.federation.verify()


def test_a_site_refuses_to_send_models_without_noise_unless_it_trusts_the_server():
    server = serve(["a"], estimator(FedSGDHT(**LOOP)))
    with pytest.raises(PrivacyError, match="trust='server'"):
        join(server, "a")
    with pytest.raises(LedgerError, match="no price"):
        join(server, "a", trust="server", ledger="sqlite:///x.db", dataset="d")


def test_a_certificate_must_cover_all_rounds_and_promise_no_more_than_its_bill():
    server, other = serve(["a"]), serve(["a"], estimator(DPFedGDHT(rounds=2, local_steps=2)))
    site = join(server, "a")
    with pytest.raises(MessageError, match="another run"):
        other.enrol(site.certificate())
    honest = Certificate.from_json(site.certificate())
    few = PlanCost.of(
        price(Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=2),)), Budget.approx(4.0, 1e-5))
    )
    with pytest.raises(MessageError, match="does not cover"):
        server.enrol(replace(honest, bill=few).to_json())
    server.enrol(site.certificate())
    weaker = replace(honest, statement=replace(honest.statement, epsilon=4.5))
    with pytest.raises(MessageError, match="another certificate"):
        server.enrol(weaker.to_json())


SAMPLED = DPFedSGDHT(rounds=2, local_steps=2, step_size=0.5, clip=1.0, batch_size=20)


def ask_record(certificate, **changes):
    return {"asks": (replace(certificate.statement.asks[0], **changes),)}


@pytest.mark.parametrize(
    "name", ["private", "priced", "ledger", "accountant", "versions", "assumptions", "notes", "caveats"]
)
@pytest.mark.parametrize("value", ["x", -1, 0.5, [], {}, [1], {"x": 1}, {"entry": []}, 10**20])
def test_a_statement_that_cannot_be_repeated_is_refused_like_any_bad_message(name, value):
    server = serve(["a"], estimator(SAMPLED))
    X, y = rows(0)
    site = Site(X, y, server.protocol, name="a", epsilon=4.0, delta=1e-5)
    content = json.loads(site.certificate())
    content["statement"][name] = value
    try:
        server.enrol(json.dumps(content))
    except MessageError:
        assert not server.federation.certificates
        return
    assert str(server.statement())
    assert server.statement().details()


def bill_of(certificate, **changes):
    """The bill for another ask, at the same scale."""
    ask = replace(certificate.bill.plan.asks[0], **changes)
    return replace(certificate.bill, plan=replace(certificate.bill.plan, asks=(ask,)))


@pytest.mark.parametrize(
    ("part", "change", "match"),
    [
        ("statement", lambda c: {"epsilon": 3.99}, "guarantees more"),
        ("statement", lambda c: {"delta": c.statement.delta / 2}, "guarantees more"),
        ("statement", lambda c: {"delta": 2.0}, "not the certificate"),
        ("statement", lambda c: {"rho": c.bill.account.costs.rho * 0.99}, "guarantees more"),
        ("statement", lambda c: {"mu": c.bill.account.costs.mu * 0.99}, "guarantees more"),
        ("statement", lambda c: {"asks": ()}, "guarantees more"),
        ("statement", lambda c: ask_record(c, cost=c.statement.asks[0].cost * 0.99), "guarantees more"),
        ("statement", lambda c: ask_record(c, scale=c.statement.asks[0].scale * 1.01), "guarantees more"),
        ("statement", lambda c: ask_record(c, times=3), "guarantees more"),
        ("statement", lambda c: ask_record(c, rate=0.01), "guarantees more"),
        ("statement", lambda c: ask_record(c, draws=7), "guarantees more"),
        ("statement", lambda c: ask_record(c, offset="x"), "not the certificate"),
        ("statement", lambda c: ask_record(c, part=["x"]), "not the certificate"),
        ("statement", lambda c: ask_record(c, cost_name=["x"]), "not the certificate"),
        ("statement", lambda c: {"adjacency": "add-remove"}, "something else"),
        ("statement", lambda c: {"unit": "one whole site"}, "something else"),
        ("statement", lambda c: {"n_rows": 0}, "not one of a site"),
        ("bill", lambda c: FixedCost(rho=1e-9), "not that of a plan"),
        ("bill", lambda c: SumCost((c.bill,)), "not that of a plan"),
        ("bill", lambda c: bill_of(c, rows=PoissonRows(1e-6)), "another sampling rate"),
        ("bill", lambda c: bill_of(c, rows=EveryRow(), noise=Noise.LAPLACE), "another sampling rate"),
        ("bill", lambda c: replace(c.bill, adjacency=Adjacency.ADD_REMOVE), "another sampling rate"),
        ("bill", lambda c: c.bill.scaled(1.01), "guarantees more"),
        ("bill", lambda c: c.bill.scaled(1e300), "guarantees more"),
        ("bill", lambda c: None, "if, and only if"),
    ],
)
def test_a_certificate_is_priced_again_before_a_site_takes_part(part, change, match):
    server = serve(["a"], estimator(SAMPLED))
    site = join(server, "a")
    honest = Certificate.from_json(site.certificate())
    new = change(honest)
    forged = (
        replace(honest, bill=new) if part == "bill" else replace(honest, statement=replace(honest.statement, **new))
    )
    with pytest.raises(MessageError, match=match):
        server.enrol(forged.to_json())
    server.enrol(site.certificate())
    assert server.federation["a"] == honest.statement


def test_a_federation_is_verified_where_its_statement_is_made_and_people_are_priced_by_bills_alone():
    server = serve(["a", "b"])
    honest = {name: Certificate.from_json(join(server, name).certificate()) for name in "ab"}
    low = {name: replace(c, statement=replace(c.statement, epsilon=0.01)) for name, c in honest.items()}
    forged, true = Federation(low), Federation(honest)
    with pytest.raises(MessageError, match="'a' guarantees more"):
        state_federation(forged, server.protocol.about)
    for names in (["a"], ["a", "b"]):
        assert forged.person_at(names) == true.person_at(names)
    with pytest.raises(ValueError, match="each of them once"):
        true.person_at(["a", "a"])
    with pytest.raises(ValueError, match="each of them once"):
        true.person_at(["z"])


# ------------------------------------------------------------------------------------------------ faults on the way


def garbage(server):
    run, size = server.protocol.identity, server.protocol.size
    good = np.full(size, 1e-3)

    def message(**changes):
        return Report(**{"run": run, "round": server.round, "site": 0, "change": good, **changes}).to_bytes()

    return {
        "no message": b"garbage",
        "damaged": message()[:-1] + b"\0",
        "wrong shape": message(change=np.zeros(size + 1)),
        "nan": message(change=good * np.nan),
        "beyond the radius": message(change=good * (2e3 * server.protocol.radius)),
        "another run": message(run=bytes(16)),
        "an earlier round": message(round=server.round + 1),
        "an unknown site": message(site=99),
        "a task": Task(run, server.round, good).to_bytes(),
    }


@pytest.mark.parametrize("fault", sorted(garbage(serve())))
def test_garbage_changes_neither_the_promise_nor_the_state(fault):
    server = serve()
    site = join(server, "a")
    server.enrol(site.certificate())
    before = server.task()
    with pytest.raises(MessageError):
        server.receive(garbage(server)[fault])
    assert (server.task(), server.count) == (before, 0)
    server.receive(site.answer(server.task()))
    assert server.count == 1


def test_a_replay_and_a_report_of_a_closed_round_are_refused():
    server = serve()
    site = join(server, "a")
    server.enrol(site.certificate())
    report = site.answer(server.task())
    server.receive(report)
    with pytest.raises(MessageError, match="already"):
        server.receive(report)
    server.close()
    with pytest.raises(MessageError, match="of round 0"):
        server.receive(report)


def test_a_site_that_drops_out_changed_nothing_and_no_other_weight_grows():
    server = serve(["a", "b"], weights=[3.0, 1.0])
    site = join(server, "b")
    server.enrol(site.certificate())
    start, report = Task.from_bytes(server.task()).w, site.answer(server.task())
    server.receive(report)
    server.close()
    moved = Task.from_bytes(server.task()).w - start
    change = Report.from_bytes(report).change
    kept = np.flatnonzero(moved)
    assert np.allclose(moved[kept], 0.25 * change[kept])
    assert server.answered == (1,)


def test_a_round_with_too_few_sites_stays_open_if_that_was_configured():
    server = serve(least_sites=2)
    site = join(server, "a")
    server.enrol(site.certificate())
    server.receive(site.answer(server.task()))
    with pytest.raises(MessageError, match="1 sites have answered, and 2 are needed"):
        server.close()
    assert (server.round, server.count) == (0, 1)
    other = join(server, "b")
    server.enrol(other.certificate())
    server.receive(other.answer(server.task()))
    server.close()
    assert server.round == 1


def test_a_report_of_a_site_that_did_not_say_what_it_promises_is_refused():
    server = serve()
    with pytest.raises(MessageError, match="enrol"):
        server.receive(join(server, "a").answer(server.task()))


def test_lost_and_broken_reports_leave_the_statement_as_it_was():
    server = serve()

    def wire(name, turn, report):
        if name == "a":
            return None
        return report if turn or name == "b" else report[::-1]

    grid = Grid(server, federation(server), wire)
    model = grid.run()
    assert server.answered == (1, 2, 2)
    assert [(name, turn) for name, turn, _ in grid.refused] == [("c", 0)]
    assert model.statement_.epsilon == pytest.approx(4.0, rel=1e-6)
    assert model.statement_.asks[0].times == 6


# ------------------------------------------------------------------------------------------------ once


def test_a_site_answers_a_round_once_and_sends_the_same_bytes_again():
    server = serve()
    site = join(server, "a")
    report = site.answer(server.task())
    assert site.answer(server.task()) == report
    other = Task(server.protocol.identity, 0, np.ones(server.protocol.size)).to_bytes()
    with pytest.raises(PrivacyError, match="answers no second time"):
        site.answer(other)


@pytest.mark.parametrize("task", ["another run", "beyond", "wrong size"])
def test_a_task_that_does_not_fit_is_refused_before_anything_is_paid(task, tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=10.0, delta=1e-4)
    server = serve()
    site = join(server, "a", ledger=ledger, dataset="d")
    run, size = server.protocol.identity, server.protocol.size
    wrong = {"another run": (bytes(16), 0, size), "beyond": (run, 3, size), "wrong size": (run, 0, size + 1)}[task]
    with pytest.raises(MessageError):
        site.answer(Task(wrong[0], wrong[1], np.zeros(wrong[2])).to_bytes())
    assert ledger.entries("d") == ()


def test_a_site_that_is_restarted_neither_pays_nor_answers_twice(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=5.0, delta=1e-4)
    options = {"ledger": ledger, "dataset": "d", "memory": tmp_path / "site"}
    server = serve(["a"])
    first = join(server, "a", **options)
    server.enrol(first.certificate())
    task, report = server.task(), first.answer(server.task())
    again = join(server, "a", **{**options, "random_state": 77})
    assert again.answer(task) == report, "the report that was lost, and no new one"
    server.receive(report)
    server.close()
    server.receive(again.answer(server.task()))
    [entry] = ledger.entries("d")
    assert entry.label.endswith(" [seed: not private]"), "of a test"
    with pytest.raises(PrivacyError, match="answers no second time"):
        again.answer(Task(server.protocol.identity, 0, np.ones(server.protocol.size)).to_bytes())


@pytest.mark.parametrize("paid", [True, False])
def test_a_site_that_is_restarted_goes_on_at_the_same_price_only(paid, tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=50.0, delta=1e-4)
    options = {"memory": tmp_path / "site", **({"ledger": ledger, "dataset": "d"} if paid else {})}
    server = serve(["a"])
    join(server, "a", epsilon=1.0, **options).answer(server.task())
    later = Task(server.protocol.identity, 1, np.zeros(server.protocol.size)).to_bytes()
    with pytest.raises(PrivacyError, match="another price"):
        join(server, "a", epsilon=9.0, **options).answer(later)
    assert join(server, "a", epsilon=1.0, **options).answer(later)


@pytest.mark.parametrize("seeds", [(1, None), (None, 1)])
def test_a_site_that_began_with_a_seed_never_goes_on_as_a_private_one(seeds, tmp_path):
    server, memory = serve(["a"]), tmp_path / "site"
    later = Task(server.protocol.identity, 1, np.zeros(server.protocol.size)).to_bytes()
    join(server, "a", memory=memory, random_state=seeds[0]).answer(server.task())
    with pytest.raises(PrivacyError, match="a random_state only if it had one"):
        join(server, "a", memory=memory, random_state=seeds[1]).answer(later)
    assert join(server, "a", memory=memory, random_state=seeds[0]).answer(later)


def test_a_site_does_not_go_on_with_an_entry_of_another_price_that_was_never_started(tmp_path, monkeypatch):
    """Killed when the cost was reserved and not noted; restarted without its ledger at another price; then with it."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=50.0, delta=1e-4)
    memory, paid = {"memory": tmp_path / "site"}, {"ledger": ledger, "dataset": "d"}
    server = serve(["a"])

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FileStore, "note_paid", crash)
        with pytest.raises(KeyboardInterrupt):
            join(server, "a", epsilon=1.0, **memory, **paid).answer(server.task())
    join(server, "a", epsilon=9.0, **memory).answer(server.task())
    later = Task(server.protocol.identity, 1, np.zeros(server.protocol.size)).to_bytes()
    with pytest.raises(RunRepeatedError, match="another cost"):
        join(server, "a", epsilon=9.0, **memory, **paid).answer(later)


def test_a_site_does_not_go_on_with_an_entry_that_was_started_at_another_price(tmp_path):
    """The memory that began at the first price is lost; another one knows another price."""
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=50.0, delta=1e-4)
    server, paid = serve(["a"]), {"ledger": ledger, "dataset": "d"}
    join(server, "a", epsilon=1.0, memory=tmp_path / "one", **paid).answer(server.task())
    join(server, "a", epsilon=9.0, memory=tmp_path / "two").answer(server.task())
    with pytest.raises(RunRepeatedError, match="started for work of another cost"):
        join(server, "a", epsilon=9.0, memory=tmp_path / "two", **paid).answer(server.task())


def test_a_report_that_was_lost_before_it_was_kept_counts_as_answered(tmp_path):
    server = serve(["a"])
    options = {"memory": tmp_path}
    join(server, "a", **options).answer(server.task())
    for report in tmp_path.glob("*.report"):
        report.unlink()
    with pytest.raises(PrivacyError, match="answers no second time"):
        join(server, "a", **options).answer(server.task())


def test_a_site_that_lost_its_memory_is_refused_by_its_ledger(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=9.0, delta=1e-4)
    server = serve(["a"])
    join(server, "a", ledger=ledger, dataset="d", memory=tmp_path / "one").answer(server.task())
    with pytest.raises(RunRepeatedError):
        join(server, "a", ledger=ledger, dataset="d", memory=tmp_path / "two").answer(server.task())


def test_a_site_whose_ledger_has_too_little_left_answers_nothing(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("d", epsilon=1.0, delta=1e-4)
    server = serve(["a"])
    site = join(server, "a", ledger=ledger, dataset="d", memory=tmp_path / "site")
    with pytest.raises(BudgetExceededError):
        site.answer(server.task())
    assert not list((tmp_path / "site").glob("*.report"))


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda content: content.replace(b'"round": 0', b'"round": 5')]
)
def test_a_damaged_file_of_rounds_allows_nothing(damage, tmp_path):
    server = serve(["a"])
    join(server, "a", memory=tmp_path).answer(server.task())
    [file] = tmp_path.glob("*.rounds")
    content = file.read_bytes()
    assert damage(content) != content
    file.write_bytes(damage(content))
    with pytest.raises(PrivacyError, match="damaged"):
        join(server, "a", memory=tmp_path).answer(server.task())


# ------------------------------------------------------------------------------------------------ a killed server


@pytest.mark.parametrize("when", [0, 1, 2])
def test_a_server_that_is_resumed_comes_to_the_same_model(when, tmp_path):
    arguments = {"sites": NAMES[:3], "n_rows": 200, "n_features": TRUTH.size}
    server = Server(estimator(), **arguments)
    sites = federation(server, memory=tmp_path / "sites")
    known = Grid(server, sites)
    for _ in range(when):
        known.step()
    server.receive(sites[1].answer(server.task()))
    server.save(tmp_path / "server.json")
    resumed = Server.resume(tmp_path / "server.json", estimator(), **arguments)
    assert (resumed.round, resumed.count, resumed.task()) == (server.round, 1, server.task())
    for one in (server, resumed):
        one.receive(sites[0].answer(one.task()))
        one.close()
    assert resumed.task() == server.task() if not server.finished else True
    while not resumed.finished:
        for one in (server, resumed):
            for site in sites:
                one.receive(site.answer(one.task()))
            one.close()
    assert np.array_equal(server.model().coef_, resumed.model().coef_)
    assert resumed.model().statement_ == server.model().statement_


def test_an_edited_state_and_other_settings_are_refused(tmp_path):
    path = tmp_path / "server.json"
    server = serve(state=path)
    site = join(server, "a")
    server.enrol(site.certificate())
    server.receive(site.answer(server.task()))
    server.close()
    with pytest.raises(DataError, match="other settings"):
        Server.resume(path, estimator(epsilon=2.0), sites=NAMES[:3], n_rows=200, n_features=6, weights=[1, 2, 3])
    path.write_text(path.read_text().replace('"round": 1', '"round": 2'))
    with pytest.raises(DataError, match="edited or damaged"):
        Server.resume(path, estimator(), sites=NAMES[:3], n_rows=200, n_features=6)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    with pytest.raises(DataError, match="not replaced"):
        server.save(other)


# ------------------------------------------------------------------------------------------------ protocols


def test_a_protocol_is_the_same_after_it_was_sent():
    protocol = serve().protocol
    again = Protocol.from_json(protocol.to_json())
    assert again == protocol
    assert again.identity == protocol.identity
    assert serve().protocol.identity != protocol.identity, "another run"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": 2', '"version": 1'),
        ('"rounds": 3', '"rounds": 0'),
        ('"rate": 1.0', '"rate": 1.5'),
        ('"clip": 1.0', '"clip": -1.0'),
        ('"clip": 1.0', '"clip": 1e999'),
        ('"local_steps": 2', '"local_steps": 3'),
        ('"secant": false', '"secant": true'),
        ('"n_features": 6', '"n_features": 0'),
        ('"sites": ["a", "b", "c"]', '"sites": ["a", "b", "b"]'),
    ],
)
def test_a_protocol_that_no_server_publishes_is_refused(old, new):
    text = serve().protocol.to_json()
    assert old in text
    with pytest.raises(PrivacyError, match="not a federated protocol"):
        Protocol.from_json(text.replace(old, new))


def test_recipes_and_arguments_that_do_not_fit_are_refused():
    with pytest.raises(PrivacyError, match="federated recipes"):
        serve(model=estimator("dp_ight"))
    with pytest.raises(ValueError, match="ledger=None"):
        serve(model=estimator(ledger="sqlite:///x.db", dataset="d"))
    with pytest.raises(ValueError, match="different names"):
        serve(["a", "a"])
    with pytest.raises(ValueError, match="least_sites"):
        serve(least_sites=4)
    with pytest.raises(ValueError, match="one number for each"):
        serve(weights=[1.0])
    with pytest.raises(ValueError, match="no site 'z'"):
        Site(*rows(0), serve().protocol, name="z", epsilon=1.0)
    with pytest.raises(PrivacyError, match="give epsilon"):
        Site(*rows(0), serve().protocol, name="a")
    with pytest.raises(DataError, match="6 features"):
        Site(np.zeros((3, 5)), np.zeros(3), serve().protocol, name="a", epsilon=1.0)
    with pytest.raises(TypeError, match="not copied"):
        pickle.dumps(join(serve(), "a"))
