"""Prices on disk: a file may save time, and can never make a price that does not hold."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dpsparse.accounting import price, pricing
from dpsparse.accounting.price_store import FORMAT, OFF, VARIABLE, PriceStore
from dpsparse.core import Ask, Budget, Noise, Plan

PLAN = Plan(asks=(Ask(name="choice", noise=Noise.GUMBEL, times=4), Ask(name="gradient", noise=Noise.GAUSSIAN, times=3)))
BUDGET = Budget.approx(1.0, 1e-6)


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "_CERTIFIED", {})


@pytest.fixture
def store(tmp_path: Path) -> PriceStore:
    return PriceStore(tmp_path / "prices")


def forget() -> None:
    pricing._CERTIFIED.clear()


def searched(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that grows with every search."""
    seen: list[object] = []
    search = pricing._scale
    monkeypatch.setattr(pricing, "_scale", lambda *given: seen.append(given) or search(*given))
    return seen


def the_file(store: PriceStore) -> Path:
    (found,) = store.folder.iterdir()
    return found


def test_a_stored_price_is_the_same_number_without_a_search(store, monkeypatch):
    first = price(PLAN, BUDGET, store=store)
    forget()
    seen = searched(monkeypatch)
    again = price(PLAN, BUDGET, store=store)
    assert (again.rho_scale, again.accountant, seen) == (first.rho_scale, first.accountant, [])


def test_a_process_prices_a_plan_once_without_a_store(monkeypatch):
    first = price(PLAN, BUDGET, store=None)
    seen = searched(monkeypatch)
    assert price(PLAN, BUDGET, store=None).rho_scale == first.rho_scale
    assert seen == []


@pytest.mark.parametrize("factor", [1 + 2e-3, 1.5, 1e6, 1e300])
def test_a_forged_price_with_less_noise_is_found_out(store, factor):
    honest = price(PLAN, BUDGET, store=store)
    path = the_file(store)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"rho_scale": honest.rho_scale * factor}))
    forget()
    again = price(PLAN, BUDGET, store=store)
    assert again.rho_scale == honest.rho_scale
    assert again.epsilon() <= BUDGET.epsilon
    assert json.loads(path.read_text())["rho_scale"] == honest.rho_scale  # and it is mended


@pytest.mark.parametrize("factor", [0.5, 1e-9])
def test_a_forged_price_of_much_more_noise_is_ignored(store, factor):
    honest = price(PLAN, BUDGET, store=store)
    path = the_file(store)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rho_scale": honest.rho_scale * factor}))
    forget()
    assert price(PLAN, BUDGET, store=store).rho_scale == honest.rho_scale


@pytest.mark.parametrize(
    "change",
    [
        {"format": FORMAT.replace("price 1", "price 2")},
        {"format": FORMAT + ".post1"},
        {"key": "another plan"},
        {"accountant": "an oracle told me"},
        {"accountant": 3},
        {"rho_scale": "0.5"},
        {"rho_scale": 1},
        {"rho_scale": -0.5},
        {"rho_scale": 0.0},
        {"more": 1},
    ],
    ids=str,
)
def test_what_is_wrong_or_foreign_is_ignored(store, change, monkeypatch):
    honest = price(PLAN, BUDGET, store=store)
    path = the_file(store)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    forget()
    seen = searched(monkeypatch)
    assert price(PLAN, BUDGET, store=store).rho_scale == honest.rho_scale
    assert len(seen) == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"rho_scale": NaN}', b"[" * 3000, b"0" * 10_000]
)
def test_a_torn_file_is_ignored(store, content):
    honest = price(PLAN, BUDGET, store=store)
    the_file(store).write_bytes(content)
    forget()
    assert price(PLAN, BUDGET, store=store).rho_scale == honest.rho_scale


def test_the_price_of_another_plan_or_budget_is_not_taken(store, monkeypatch):
    honest = price(PLAN, BUDGET, store=store)
    source = the_file(store).read_text()
    seen = searched(monkeypatch)
    choice = replace(PLAN.asks[0], times=9)
    near = Budget.approx(1.0 + 1e-7, 1e-6)  # prints like the other one
    assert repr(near) == repr(BUDGET)
    for plan, budget in ((Plan(asks=(choice, PLAN.asks[1])), BUDGET), (PLAN, near)):
        found = price(plan, budget, store=store)
        assert found.rho_scale != honest.rho_scale
        assert found.epsilon() <= budget.epsilon
        for path in store.folder.iterdir():  # somebody puts the other price in its place
            path.write_text(source)
        forget()
        assert price(plan, budget, store=store).rho_scale == found.rho_scale
    assert len(seen) == 4


def test_refusals_come_before_a_store_is_read(tmp_path):
    class Untouchable(PriceStore):
        def read(self, key: str) -> tuple[float, str] | None:
            raise AssertionError("read")

    dear = Ask(name="tilt", noise=Noise.OBJECTIVE, offset=2.0)
    for plan, budget in ((Plan(asks=(dear,)), BUDGET), (PLAN, Budget.approx(1.0, 0.0)), (Plan(asks=()), BUDGET)):
        with pytest.raises(pricing.BudgetError):
            price(plan, budget, store=Untouchable(tmp_path))


def test_prices_that_are_found_at_once_are_not_stored(store):
    price(Plan(asks=(PLAN.asks[1],)), BUDGET, store=store)
    price(PLAN, Budget.zcdp(0.1), store=store)
    assert not store.folder.exists()


def test_where_nothing_can_be_written_prices_are_found_all_the_same(tmp_path):
    (tmp_path / "file").write_text("")
    assert price(PLAN, BUDGET, store=PriceStore(tmp_path / "file" / "prices")).rho_scale > 0


def test_the_environment_names_the_folder_or_none(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "here"))
    price(PLAN, BUDGET)
    assert len(list((tmp_path / "here").iterdir())) == 1
    monkeypatch.setenv(VARIABLE, OFF)
    assert PriceStore.default() is None
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    if sys.platform.startswith("linux"):
        assert PriceStore.default() == PriceStore(tmp_path / "caches" / "dpsparse" / "prices")


def test_a_full_folder_takes_nothing(store, monkeypatch):
    monkeypatch.setattr("dpsparse.accounting.price_store.MOST_FILES", 0)
    price(PLAN, BUDGET, store=store)
    assert list(store.folder.iterdir()) == []


def test_a_search_spends_the_budget(store):
    """Half of a percent of delta may be left: the search ends below its target."""
    found = price(PLAN, BUDGET, store=store)
    assert found.epsilon(1e-6 * math.exp(-5e-3)) > BUDGET.epsilon >= found.epsilon()
