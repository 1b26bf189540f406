"""One promise per person: fit(X, y, units=ids), scores, steps, statements and ledgers."""

from __future__ import annotations

import json
import re
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpsparse import (
    Ledger,
    NoisyCount,
    PrivateBounds,
    PrivateScaler,
    PrivateSearch,
    SparseClassifier,
    SparseRegressor,
    load,
    make_private_pipeline,
    private_score,
    recipes,
)
from dpsparse.accounting import FixedCost, bare_cost, cost_of_units
from dpsparse.accounting.costs.unit import UnitCost
from dpsparse.core import Adjacency, PrivacyError
from dpsparse.core.errors import DataError, LedgerError
from dpsparse.core.words import neighbours
from dpsparse.estimators.search.runs import split_holdout
from dpsparse.rows.records import Records
from dpsparse.rows.units import read_units

PEOPLE, D = 300, 4
BETA = np.array([1.0, -1.0, 0.5, 0.0])


def panel(seed: int = 0, rows: tuple[int, int] = (1, 7), people: int = PEOPLE) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(people), rng.integers(*rows, people))
    X = rng.uniform(-1, 1, (ids.size, D))
    return X, X @ BETA + rng.normal(size=ids.size) * 0.3, ids


def regressor(**more: Any) -> SparseRegressor:
    given: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "feature_bound": 1.0,
        "target_bound": 4.0,
        "random_state": 0,
    }
    return SparseRegressor(**given | more)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_the_promise_is_made_to_all_rows_with_the_same_id():
    X, y, ids = panel()
    said = regressor(unit="patient", random_state=None).fit(X, y, units=ids).statement_
    assert said.unit == "one patient: all rows with the same id"
    assert said.n_rows == PEOPLE
    assert "replacing all records of any one patient, however many there are, changes" in str(said)
    assert any("each patient has one id" in a for a in said.assumptions)
    assert regressor().fit(X, y, units=ids).statement_.unit == "one person: all rows with the same id"
    assert "adding or removing all records of any one patient" in neighbours("add-remove", said.unit)


def test_order_and_storage_of_a_panel_do_not_matter():
    X, y, ids = panel()
    mixed = np.random.default_rng(1).permutation(y.size)
    one = regressor().fit(X, y, units=ids)
    names = [f"P{i}" for i in ids]
    for other in (
        regressor().fit(X[mixed], y[mixed], units=ids[mixed]),
        regressor().fit(X[mixed], y[mixed], units=ids[mixed].astype(float)),
    ):
        np.testing.assert_array_equal(one.coef_, other.coef_)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(patient=names)
    by_name = regressor().fit(frame, y, units="patient")
    assert by_name.feature_names_in_.tolist() == list("abcd"), "an id is no feature"
    np.testing.assert_array_equal(by_name.coef_, regressor().fit(X, y, units=names).coef_)


@pytest.mark.parametrize("recipe", ["tables", "select_polish", "dual_averaging", "dp_sgd_ht"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_memory_limit_gives_the_same_model(recipe, sparse, monkeypatch):
    import scipy.sparse as sp

    monkeypatch.setattr("dpsparse.fitting.session.memory_needed", lambda *_: 2**60)
    X, y, ids = panel()
    rows = sp.csr_matrix(X) if sparse else X
    one, two = (regressor(recipe=recipe, memory_limit=m).fit(rows, y, units=ids) for m in (None, "40MB"))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.statement_.asks == two.statement_.asks


@pytest.mark.parametrize("recipe", sorted(n for n in recipes.names() if recipes.get(n).private))
def test_every_recipe_fits_units_or_refuses_them_before_anything_is_paid(recipe, tmp_path):
    X, y, ids = panel(people=60)
    address = f"sqlite:///{tmp_path}/budget.db"
    Ledger(address).create("panel", 5.0, 1e-5, unit="person")
    chosen = recipes.get(recipe)
    model = regressor(recipe=recipe, accept=chosen.needs, ledger=address, dataset="panel")
    try:
        said = model.fit(X, y, units=ids).statement_
    except (PrivacyError, LedgerError, ValueError):
        assert Ledger(address).describe("panel").live == 0
    else:
        assert said.n_rows == 60
        assert said.unit == "one person: all rows with the same id"


@pytest.mark.parametrize("recipe", ["two_stage", "dpsl_kt", "ldp_iht"])
def test_minimisers_and_devices_are_refused_with_what_to_use(recipe):
    X, y, ids = panel(people=60)
    chosen = recipes.get(recipe)
    with pytest.raises((PrivacyError, ValueError), match=r"same id|one record|penalty|alpha|classif"):
        regressor(recipe=recipe, accept=chosen.needs, alpha=0.1).fit(X, y, units=ids)


@pytest.mark.parametrize("recipe", ["auto", "select_polish", "dp_sgd_ht", "dp_ight", "dual_averaging"])
def test_numbers_of_rows_stand_nowhere(recipe, tmp_path, caplog):
    """Two panels of as many people: what is public is the same text, but for what was released."""
    told = []
    for rows in ((1, 3), (30, 40)):
        X, y, ids = panel(rows=rows, people=120)
        caplog.clear()
        with caplog.at_level("DEBUG"):
            model = regressor(recipe=recipe, keep_path=False).fit(X, y, units=ids)
        model.save(tmp_path / "model.json")
        text = (tmp_path / "model.json").read_text() + model.statement_.details() + caplog.text
        assert re.search(rf"(?<![\w.]){ids.size}(?!\w)", text) is None
        told.append([(ask.name, ask.times, ask.noise, f"{ask.cost:.9g}") for ask in model.statement_.asks])
        found = load(tmp_path / "model.json")
        assert found.unit is None
        assert found.statement_.n_rows == 120
    assert told[0] == told[1]


def test_bad_units_are_refused_in_words():
    X, y, ids = panel()
    with pytest.raises(ValueError, match="Give their ids"):
        regressor(unit="patient").fit(X, y)
    with pytest.raises(DataError, match="one id for each row"):
        regressor().fit(X, y, units=ids[1:])
    with pytest.raises(DataError, match="names no column"):
        regressor().fit(X, y, units="patient")
    with pytest.raises(ValueError, match="another word than 'row'"):
        regressor(unit="row").fit(X, y, units=ids)
    with pytest.raises(PrivacyError, match="makes no guarantee"):
        SparseRegressor(recipe="ight", feature_bound=1.0, target_bound=4.0).fit(X, y, units=ids)
    with pytest.raises(PrivacyError, match="n_rows=7"):
        regressor(n_rows=7).fit(X, y, units=ids)
    named = regressor(unit="patient", random_state=None)
    with pytest.raises(ValueError, match="Give their ids"):
        make_private_pipeline(named).fit(X, y)
    with pytest.raises(ValueError, match="several: household, patient"):
        make_private_pipeline(PrivateScaler(feature_bound=1.0, unit="household"), named).fit(X, y, units=ids)
    with pytest.raises(ValueError, match="Give their ids"):
        PrivateSearch(named).fit(X, y)
    with pytest.raises(PrivacyError, match="all rows with the same id"):
        PrivateSearch(named, {"recipe": ["two_stage"]}).fit(X, y, units=ids)


def test_fits_of_whole_sites_and_devices_refuse_a_named_unit():
    from dpsparse.sites.federated.server import Server, SitePrivacy
    from dpsparse.sites.local.server import Server as Devices

    named = regressor(unit="patient", random_state=None, recipe="dp_fedgd_ht")
    whole = SitePrivacy(epsilon=1.0, clip=1.0, rate=0.5)
    with pytest.raises(ValueError, match=r"no guarantee|for one row"):
        Server(named.set_params(recipe="fedsgd_ht"), sites=["a", "b"], n_rows=100, n_features=4, site_privacy=whole)
    with pytest.raises(ValueError, match="on devices is for one row"):
        Devices(named, n_people=100, n_features=4)


def test_add_remove_takes_a_declared_number_of_people():
    X, y, ids = panel()
    model = regressor(adjacency="add-remove", n_rows=310, unit="patient").fit(X, y, units=ids)
    assert model.statement_.n_rows == 310
    with pytest.raises(PrivacyError, match="n_rows must be declared"):
        regressor(adjacency="add-remove").fit(X, y, units=ids)


def test_clip_by_unit_is_better_than_the_price_of_many_rows():
    """Ten rows of each person at epsilon 1, against the same noise for one row each (T3)."""
    errors: dict[str, list[float]] = {"units": [], "one row": []}
    for seed in range(4):
        X, y, ids = panel(seed, rows=(10, 11), people=1000)
        first = np.r_[True, np.diff(ids) > 0]
        units = regressor(random_state=seed).fit(X, y, units=ids)
        one = regressor(random_state=seed).fit(X[first], y[first])
        for name, model in (("units", units), ("one row", one)):
            errors[name].append(float(np.sum((model.coef_ - BETA) ** 2)))
    assert np.mean(errors["units"]) < 0.5 * np.mean(errors["one row"])


def test_classes_many_classes_and_sparse_rows_take_units():
    import scipy.sparse as sp

    X, y, ids = panel(people=800)
    two = SparseClassifier(epsilon=4.0, feature_bound=1.0, classes=[0, 1], random_state=0)
    label = (y > 0).astype(int)
    assert two.fit(X, label, units=ids).score(X, label) > 0.8
    many = SparseClassifier(epsilon=4.0, feature_bound=1.0, classes=[0, 1, 2], random_state=0)
    three = np.digitize(y, [-0.5, 0.5])
    assert many.fit(X, three, units=ids).score(X, three) > 0.6
    assert many.statement_.n_rows == 800
    rows = sp.csr_matrix(X * (np.abs(X) > 0.3))
    assert regressor(epsilon=4.0).fit(rows, y, units=ids).score(rows, y) > 0.5


def test_intervals_of_units_are_made_of_the_meat_of_units(tmp_path):
    X, y, ids = panel(people=2000)
    shared = np.random.default_rng(5).normal(size=2000)[ids]
    model = regressor(epsilon=3.0, intervals="split").fit(X, y + shared, units=ids)
    assert model.statement_.n_rows == 2000
    assert "all rows of a unit are in one part" in model.statement_.details()
    assert len(model.intervals_) > 0
    rows = regressor(epsilon=3.0, intervals="split").fit(X, y + shared)
    for said in (model.summary(), str(model.intervals_), model.intervals_._repr_html_()):
        assert "independent rows" not in said
        assert "depend on each other in any way (cluster-robust)" in said
        assert "used different person ids, about 1" in said
    assert "cluster-robust" not in rows.summary()
    assert "They hold for independent rows" in rows.summary()
    model.save(tmp_path / "units.json")
    rows.save(tmp_path / "rows.json")
    assert load(tmp_path / "units.json").intervals_.unit == "person"
    assert "unit" not in json.loads((tmp_path / "rows.json").read_text())["intervals"]  # as earlier releases read it


def test_scores_count_people():
    X, y, ids = panel(people=1000)
    model = regressor(epsilon=4.0).fit(X, y, units=ids)
    sex = np.where(ids % 2, "f", "m")
    card = private_score(
        model, X, y, metrics="mean_absolute_error", units=ids, unit="patient", epsilon=4.0, random_state=0,
        group=sex, groups=["f", "m"],
    )  # fmt: skip
    assert card.statement.unit == "one patient: all rows with the same id"
    assert card.statement.n_rows == 1000
    exact = np.abs(model.predict(X) - y)
    means = np.bincount(ids, exact) / np.bincount(ids)
    assert abs(card["mean_absolute_error"].value - means.mean()) < 0.1
    with pytest.raises(ValueError, match="Give their ids"):
        private_score(model, X, y, unit="patient", random_state=0)


def test_steps_count_people():
    X, _, ids = panel(people=2000)
    bounds = PrivateBounds(epsilon=2.0, feature_bound=50.0, random_state=0, unit="patient").fit(X, units=ids)
    assert bounds.statement_.unit == "one patient: all rows with the same id"
    assert np.all((bounds.bounds_.upper > 0.8) & (bounds.bounds_.upper < 5))
    scaler = PrivateScaler(epsilon=2.0, feature_bound=1.0, random_state=0).fit(X, units=ids)
    np.testing.assert_allclose(scaler.scale_, 1 / np.sqrt(3), rtol=0.1)
    assert scaler.statement_.n_rows == 2000
    count = NoisyCount(epsilon=2.0, random_state=0).fit(X, units=ids)
    assert abs(count.n_rows_ - 2000) < 40
    with pytest.raises(ValueError, match="Give their ids"):
        NoisyCount(unit="patient").fit(X)


# ------------------------------------------------------------------------------------------------ wholes


def _pipeline(**more: Any) -> Any:
    steps = PrivateScaler(feature_bound=1.0, random_state=0), regressor(feature_bound=None, unit="patient")
    return make_private_pipeline(*steps, epsilon=2.0, delta=1e-6, **more)


def test_pipelines_promise_to_all_rows_with_the_same_id():
    X, y, ids = panel()
    one = _pipeline().fit(X, y, units=ids)
    assert one.statement_.unit == "one patient: all rows with the same id"
    assert one.statement_.n_rows == one.named_steps["privatescaler"].statement_.n_rows == PEOPLE
    assert sum("has one id" in a for a in one.statement_.assumptions) == 1
    assert one.named_steps["privatescaler"].unit is None, "steps keep their own arguments"
    mixed = np.random.default_rng(1).permutation(y.size)
    frame = pd.DataFrame(X[mixed], columns=list("abcd")).assign(patient=ids[mixed])
    other = _pipeline().fit(frame, y[mixed], units="patient")
    np.testing.assert_array_equal(one[-1].coef_, other[-1].coef_)


def test_a_pipeline_counts_people_where_their_number_is_private():
    X, y, ids = panel(people=2000)
    steps = NoisyCount(random_state=0), PrivateBounds(feature_bound=9.0, random_state=0), regressor(feature_bound=None)
    made = make_private_pipeline(*steps, epsilon=4.0, delta=1e-6, adjacency="add-remove").fit(X, y, units=ids)
    assert abs(made.statement_.n_rows - 2000) < 400
    assert made.statement_.unit == "one person: all rows with the same id"


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("holdout", [None, 0.3])
def test_searches_promise_to_all_rows_with_the_same_id(holdout, adjacency):
    X, y, ids = panel()
    n_rows = None if adjacency == "replace-one" else PEOPLE
    model = regressor(unit="patient", adjacency=adjacency, n_rows=n_rows)
    given = {"recipe": ["tables", "dp_ight"]}, 4.0
    found = []
    for order in (np.arange(y.size), np.random.default_rng(1).permutation(y.size)):
        search = PrivateSearch(model, *given, mean_runs=2, holdout=holdout, random_state=3)
        found.append(search.fit(X[order], y[order], units=ids[order]))
    assert found[0].statement_.unit == "one patient: all rows with the same id"
    assert found[0].statement_.n_rows == PEOPLE
    assert found[0].best_score_ == found[1].best_score_
    np.testing.assert_array_equal(found[0].best_estimator_.coef_, found[1].best_estimator_.coef_)


@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
def test_a_holdout_takes_whole_persons(adjacency):
    X, _, ids = panel()
    ids = np.where(ids == 7, np.nan, ids)  # without an id: in neither part
    rows = Records(X).by_unit(read_units(ids, ids.size))
    plan: Any = SimpleNamespace(adjacency=adjacency, validation_rows=80)
    session: Any = SimpleNamespace(generator=lambda _: np.random.default_rng(0))
    fitting, scoring = split_holdout(rows, plan, session, 0.3)
    assert not set(ids[fitting]) & set(ids[scoring])
    assert sorted([*fitting, *scoring]) == np.flatnonzero(np.isfinite(ids)).tolist()
    if adjacency is Adjacency.REPLACE_ONE:
        assert np.unique(ids[scoring]).size == 80


def test_ledgers_of_people_pay_for_pipelines_and_searches(tmp_path):
    X, y, ids = panel()
    address = f"sqlite:///{tmp_path}/budget.db"
    Ledger(address).create("panel", 20.0, 1e-5, unit="patient")
    _pipeline(ledger=address, dataset="panel").fit(X, y, units=ids)
    model = regressor(unit="patient", random_state=None)
    search = PrivateSearch(model, {"recipe": ["tables"]}, 1.0, mean_runs=2, ledger=address, dataset="panel")
    search.fit(X, y, units=ids)
    assert [entry.bill.unit for entry in Ledger(address).entries("panel")] == ["patient", "patient"]
    with pytest.raises(LedgerError, match="protects a patient"):
        make_private_pipeline(regressor(), ledger=address, dataset="panel").fit(X, y)


class _Plain(recipes.DPIGHT):
    """A recipe that is not ours: it is tried on made-up rows first."""


def test_recipes_of_others_are_tried_on_people():
    X, y, ids = panel()
    assert regressor(recipe=_Plain(steps=3)).fit(X, y, units=ids).statement_.n_rows == PEOPLE


def test_lines_of_a_file_that_were_not_understood_are_no_person(tmp_path):
    from dpsparse.cli.inputs import DataFile

    (tmp_path / "visits.csv").write_text("patient,x\n1,2\n1,2,3\n007,1\n4,5,6\n")
    ids = DataFile(tmp_path / "visits.csv").ids("patient")
    assert ids == ["1", None, "007", None]


# ------------------------------------------------------------------------------------------------ ledger


def _bill(unit: str, adjacency: str = "replace-one") -> Any:
    from dpsparse.accounting import PlanCost, price
    from dpsparse.core import Ask, Budget, Noise, Plan

    plan = Plan(asks=(Ask(name="g", noise=Noise.GAUSSIAN, times=2),))
    return cost_of_units(PlanCost.of(price(plan, Budget.approx(0.5, 1e-6).under(adjacency))), unit)


@pytest.mark.parametrize(
    ("kept", "billed", "adjacency", "charged"),
    [
        (None, "row", "replace-one", True),
        (None, "patient", "replace-one", True),
        (None, "patient", "add-remove", False),
        ("patient", "row", "replace-one", False),
        ("patient", "patient", "replace-one", True),
        ("patient", "patient", "add-remove", True),
        ("patient", "household", "replace-one", False),
    ],
)
def test_a_ledger_takes_bills_of_its_unit_alone(tmp_path, kept, billed, adjacency, charged):
    book = Ledger(f"sqlite:///{tmp_path}/budget.db")
    book.create("trial", 3.0, 1e-5, adjacency, unit=kept)
    assert book.describe("trial").unit == ("row" if kept is None else kept)
    if charged:
        with book.reserve("trial", _bill(billed, adjacency)):
            pass
        assert book.describe("trial").live == 1
        [entry] = book.entries("trial")
        assert bare_cost(entry.bill) == bare_cost(_bill(billed, adjacency))
    else:
        with pytest.raises(LedgerError, match="protects a"):
            book.reserve("trial", _bill(billed, adjacency))
        assert book.describe("trial").live == 0
    book.verify()


def test_bills_and_states_of_rows_are_written_as_before(tmp_path):
    book = Ledger(f"sqlite:///{tmp_path}/budget.db")
    book.create("trial", 3.0, 1e-5)
    with book.reserve("trial", _bill("row")):
        pass
    assert '"unit"' not in json.dumps(book.export())
    assert isinstance(_bill("patient"), UnitCost)
    assert _bill("patient").epsilon(1e-6) == _bill("row").epsilon(1e-6)
    assert not isinstance(cost_of_units(FixedCost, "row"), UnitCost)  # type: ignore[arg-type]
