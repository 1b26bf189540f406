"""docs/architecture.md describes the code: the steps of a fit, the order within one answer, the packages."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from dpsparse import Ledger, SparseRegressor, recipes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
STEP = re.compile(r"^\d+\. `([\w.]+)`:", re.MULTILINE)
PACKAGE = re.compile(r"^\| `(\w+)` \| .+ \| .+ \|$", re.MULTILINE)


def first_calls(run):
    """Names of our functions, in the order of their first call."""
    seen = {}

    def watch(frame, event, _):
        code = frame.f_code
        if event == "call" and "/dpsparse/" in code.co_filename:
            module = code.co_filename.rsplit("/dpsparse/", 1)[1].removesuffix(".py").replace("/", ".")
            seen.setdefault(f"{module}.{code.co_qualname}", len(seen))

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return seen


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    ledger = Ledger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'budget.db'}")
    ledger.create("trial", epsilon=2.0, delta=1e-5)
    X = np.random.default_rng(0).uniform(-1, 1, (60, 4))
    recipe = recipes.DPIGHT(mechanism="dense", steps=2)
    model = SparseRegressor(
        epsilon=1.0, delta=1e-6, feature_bound=1.0, target_bound=1.0, recipe=recipe, ledger=ledger, dataset="trial"
    )
    return first_calls(lambda: model.fit(X, X[:, 0]))


def out_of_order(steps, calls):
    """Steps that are not called, or not after the step before."""
    places = [calls.get(step, -1) for step in steps]
    return [step for step, here, before in zip(steps, places, [-1, *places], strict=False) if here <= before]


def section(title):
    """The text below one heading of the page."""
    return PAGE.read_text().split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_page_shows_one_fit_in_twelve_steps(calls):
    steps = STEP.findall(section("One fit in twelve steps"))
    assert len(steps) == 12
    assert out_of_order(steps, calls) == []


def test_the_page_shows_one_answer_charged_before_it_is_computed(calls):
    steps = STEP.findall(section("One answer"))
    assert len(steps) == 5
    assert out_of_order(steps, calls) == []
    assert steps[0] in STEP.findall(section("One fit in twelve steps"))


def test_the_table_lists_every_package_once():
    source = PAGE.parents[1] / "src" / "dpsparse"
    packages = sorted(path.parent.name for path in source.glob("*/__init__.py"))
    assert sorted(PACKAGE.findall(section("The 15 packages"))) == packages
    assert len(packages) == 15


def test_the_page_says_what_each_tier_that_is_counted_is_for():
    counted = json.loads((PAGE.parents[1] / "tools" / "tiers.json").read_text())
    said = re.findall(r"^\| ([\w-]+) \| .+ \| .+ \|$", section("The 15 packages"), re.MULTILINE)
    assert {name.replace("-", "") for name in said} - {"package", "tier"} == set(counted)


def test_control_two_steps_that_change_places_are_noticed(calls):
    steps = STEP.findall(section("One fit in twelve steps"))
    rows, ledger = "rows.hosts.memory.MemoryHost.__init__", "ledger.ledger.Ledger.reserve"
    swapped = [{rows: ledger, ledger: rows}.get(step, step) for step in steps]
    assert out_of_order(swapped, calls) != []
    assert out_of_order([*steps, "fitting.run.nothing"], calls) == ["fitting.run.nothing"]
