"""The page of a plan: one file, no resource from elsewhere, and the numbers of the planner."""

import html
import json
import re

import pytest
from click.testing import CliRunner

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.cli import main
from dpsparse.report.plan_page import EPSILONS, plan_grid, plan_page

SHAPE = {"n_rows": 1000, "n_features": 6}


@pytest.fixture(scope="module")
def model():
    return SparseClassifier(epsilon=1.5, delta=1e-6, feature_bound=1.0, classes=[0, 1])


@pytest.fixture(scope="module")
def grid(model):
    return plan_grid(model, **SHAPE)


def test_the_grid_holds_what_plans_say(model, grid):
    epsilon, rows, count = grid["start"]
    assert (grid["epsilons"][epsilon], grid["rows"][rows], grid["coefficients"][count]) == (
        1.5,
        1000,
        "the recipe decides",
    )
    assert set(EPSILONS) < set(grid["epsilons"])
    plan = model.plan(**SHAPE)
    low, typical, high, verdict, _ = grid["cells"][count][rows][epsilon][0]
    band = plan.error.test
    assert [low, typical, high] == pytest.approx([band.low, band.typical, band.high], rel=1e-3)
    assert verdict == plan.verdict
    assert grid["success"][count][epsilon] == plan.attacker_success
    told = model.plan(**SHAPE, signal=0.6)
    assert grid["cells"][count][rows][epsilon][3][3:] == [told.verdict, told.why]
    elsewhere = model.plan(3000, 6)
    assert grid["cells"][count][grid["rows"].index(3000)][epsilon][0][1] == pytest.approx(
        elsewhere.error.test.typical, rel=1e-3
    )


def test_more_budget_and_more_rows_are_never_worse(grid):
    typical = [[[cell[0][1] for cell in line] for line in count] for count in grid["cells"]]
    for count in typical:
        for line in [*count, *zip(*count, strict=True)]:
            assert list(line) == sorted(line, reverse=True)
    for line in grid["success"]:
        assert line == sorted(line)


def test_a_known_signal_leaves_nothing_to_choose(model):
    told = plan_grid(model, **SHAPE, known={"signal": 0.5})
    assert told["signals"] == []
    assert {len(cell) for count in told["cells"] for line in count for cell in line} == {1}


def test_the_page_is_one_file_that_asks_for_nothing(model):
    page = plan_page(model, **SHAPE)
    assert not re.search(r"""(src|href)=["'](?!#)""", page)
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "url(" not in page
    assert "default-src 'none'; script-src 'sha256-" in page
    [held] = re.findall(r'<script type="application/json" id="grid">(.*?)</script>', page, re.DOTALL)
    assert json.loads(held)["n_features"] == 6


def test_what_the_page_shows_is_escaped(model, grid, monkeypatch):
    bad = "</script><script>alert(1)</script>"
    monkeypatch.setattr("dpsparse.report.plan_page.plan_grid", lambda *_, **__: {**grid, "unit": bad})
    page = plan_page(model, **SHAPE)
    assert bad not in page
    assert html.escape(bad) in page


def test_a_recipe_without_a_formula_has_no_page():
    model = SparseRegressor(recipe="dp_gcd", feature_bound=1.0, target_bound=1.0)
    with pytest.raises(ValueError, match="no expected error to show for this recipe"):
        plan_page(model, n_rows=1000, n_features=6)


def test_the_command_writes_it_and_prints_the_plan(tmp_path):
    options = ["--n-rows", "500", "--n-features", "4", "--task", "classification", "--feature-bound", "1"]
    done = CliRunner().invoke(main, ["plan", *options, "--html", str(tmp_path / "plan.html")])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Verdict: ")
    assert (tmp_path / "plan.html").read_text().startswith("<!DOCTYPE html>")
    refused = CliRunner().invoke(main, ["plan", *options, "--html", str(tmp_path / "none" / "plan.html")])
    assert refused.exit_code == 2
    assert "--html" in refused.stderr
