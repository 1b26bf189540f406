"""Units at sites: a person is bounded at each site by itself, and the statement says at how many sites one may be."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from dpsparse import Ledger, SparseRegressor
from dpsparse.accounting.costs.base import read_cost
from dpsparse.core import LedgerError, PrivacyError
from dpsparse.federated import Certificate, Grid, MessageError, Protocol, Server, Site
from dpsparse.recipes import DPFedGDHT, DPFedSGDHT
from dpsparse.sites.federated.certificate import state_federation
from dpsparse_verify import Refused, sha256, verify
from truth.sites import estimator, rows

LOOP = {"rounds": 2, "local_steps": 3, "step_size": 0.8, "clip": 1.0}
NAMES = ("north", "south", "west")


def visits(people=60, seed=0):
    """Rows of several persons in any order, and whose they are."""
    rng = np.random.default_rng(seed)
    X, y = rows(0, people)
    ids = rng.permutation(np.repeat(np.arange(people), rng.integers(1, 6, people)))
    return X[ids] * rng.uniform(0.5, 1.0, (ids.size, 1)), y[ids], ids


def serve(names=NAMES, people=60, **options):
    model = estimator(DPFedGDHT(**LOOP), unit="patient")
    return Server(model, sites=names, n_rows=people, n_features=rows(2)[0].shape[1], **options)


def join(server, name, seed=None, epsilon=2.0, **options):
    X, y, ids = visits()
    return Site(X, y, server.protocol, name=name, epsilon=epsilon, delta=1e-5, units=ids, random_state=seed, **options)


def test_one_site_with_all_rows_is_the_central_fit_of_units():
    X, y, ids = visits()
    server = serve(["all"])
    found = Grid(server, [join(server, "all", seed=3)]).run()
    central = estimator(DPFedGDHT(**LOOP), unit="patient", random_state=3, epsilon=2.0).fit(X, y, units=ids)
    np.testing.assert_allclose(central.coef_, found.coef_, rtol=0, atol=1e-12)
    assert found.statement_.n_rows == 60
    assert found.statement_.unit == "one patient: all rows with the same id of one site"


def test_reports_do_not_depend_on_the_order_of_rows_and_frames_name_their_ids():
    X, y, ids = visits()
    server = serve(["a"])
    table = pd.DataFrame(X).assign(id=[f"{i}" for i in ids])
    order = np.random.default_rng(5).permutation(y.size)
    sites = [
        join(server, "a", seed=1),
        Site(
            table.iloc[order], y[order], server.protocol, name="a", epsilon=2.0, delta=1e-5, units="id", random_state=1
        ),
    ]
    task = server.task()
    one, two = (site.answer(task) for site in sites)
    assert one == two


def test_a_person_at_several_sites_pays_the_bills_of_the_weakest():
    budgets = {"north": 1.0, "south": 2.0, "west": 3.0}
    found = {}
    for most in (1, 2, 3):
        server = serve(sites_per_unit=most)
        sites = [join(server, name, epsilon=budget) for name, budget in budgets.items()]
        model = Grid(server, sites).run()
        found[most] = model.statement_
        weakest = ["west", "south", "north"][:most]
        assert model.statement_.epsilon == server.federation.person_at(weakest, model.statement_.delta)[0]
    assert found[1].epsilon == pytest.approx(3.0, rel=1e-6)
    assert 3.0 < found[2].epsilon < found[3].epsilon < 6.0
    assert found[2].mu == pytest.approx(np.hypot(*(serve_mu(budgets[name]) for name in ("south", "west"))), rel=1e-6)
    assert any("no more than 2 sites" in said for said in found[2].assumptions)
    assert any("at one site" in said for said in found[1].assumptions)


def test_the_weakest_sites_are_those_with_the_least_noise_also_where_each_alone_costs_no_epsilon():
    # at delta = 0.1 none of the sites has a positive epsilon of its own, which then orders nothing
    budgets = {"north": 0.001, "south": 0.1, "west": 0.11}
    server = serve(sites_per_unit=2)
    X, y, ids = visits()
    for name, epsilon in budgets.items():
        site = Site(X, y, server.protocol, name=name, epsilon=epsilon, delta=0.05, units=ids)
        server.enrol(site.certificate())
    stated = state_federation(server.federation, server.protocol.about)
    pairs = [server.federation.person_at(pair, stated.delta)[0] for pair in combinations(NAMES, 2)]
    assert stated.epsilon == max(pairs) > 0.06


@pytest.mark.parametrize("sampled", [False, True])
def test_the_bill_of_a_model_of_several_sites_is_that_of_all_that_may_know_a_unit(sampled, tmp_path):
    budgets = {"north": 1.0, "south": 2.0, "west": 3.0}
    loop = DPFedSGDHT(batch_size=12.0, **LOOP) if sampled else DPFedGDHT(**LOOP)
    server = Server(
        estimator(loop, unit="patient"), sites=NAMES, n_rows=60, n_features=rows(2)[0].shape[1], sites_per_unit=2
    )
    model = Grid(server, [join(server, name, epsilon=budget) for name, budget in budgets.items()]).run()
    said = model.statement_
    assert read_cost(said.bill).epsilon(said.delta) == pytest.approx(said.epsilon, rel=1e-6)
    model.save(tmp_path / "model.json")
    lines = verify((tmp_path / "model.json").read_text())
    computed = float(next(line.split()[2] for line in lines if line.startswith("computed")))
    assert computed == pytest.approx(said.epsilon, rel=0.01)
    content = json.loads((tmp_path / "model.json").read_text())
    content["statement"]["epsilon"] = 0.9 * said.epsilon
    content["digest"] = f"sha256:{sha256({name: value for name, value in content.items() if name != 'digest'})}"
    with pytest.raises(Refused) as refused:
        verify(json.dumps(content))
    assert refused.value.args[1] == 6


def serve_mu(epsilon):
    """mu of one site's bill."""
    server = serve(["a"])
    return join(server, "a", epsilon=epsilon).statement.mu


def test_ids_are_asked_for_and_ledgers_of_rows_refuse_units_under_another_name(tmp_path):
    X, y, ids = visits()
    with pytest.raises(PrivacyError, match="give units="):
        Site(X, y, serve().protocol, name="north", epsilon=2.0)
    plain = Server(estimator(DPFedGDHT(**LOOP)), sites=NAMES, n_rows=60, n_features=X.shape[1])
    with pytest.raises(PrivacyError, match="if, and only if"):
        Site(X, y, plain.protocol, name="north", epsilon=2.0, units=ids)
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    ledger.create("visits", epsilon=4.0, delta=1e-5, unit="household")
    server = serve(["a"])
    site = join(server, "a", ledger=ledger, dataset="visits", memory=tmp_path / "a")
    with pytest.raises(LedgerError, match="household"):
        site.answer(server.task())


def test_a_certificate_for_rows_does_not_pass_as_one_for_units():
    server = serve(["a"])
    honest = Certificate.from_json(join(server, "a").certificate())
    honest.check(server.protocol)
    other = replace(honest, bill=honest.bill.cost)
    with pytest.raises(MessageError, match="unit or neighbours"):
        other.check(server.protocol)


def test_protocols_hold_the_word_and_the_number_of_sites():
    protocol = serve(sites_per_unit=2).protocol
    again = Protocol.from_json(protocol.to_json())
    assert (again.record, again.sites_per_unit) == ("patient", 2)
    assert again.to_json() == protocol.to_json()
    with pytest.raises(ValueError, match="out of range"):
        serve(sites_per_unit=4)
    with pytest.raises(ValueError, match="unit"):
        Server(
            SparseRegressor(recipe="fedsgd_ht", feature_bound=1.0, target_bound=1.0, unit="patient"),
            sites=NAMES,
            n_rows=9,
            n_features=2,
        )
