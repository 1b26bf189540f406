"""``dpsparse plan`` with what to expect."""

import json

import pytest
from click.testing import CliRunner

from dpsparse.cli import main

DECLARED = ["--n-rows", "3000", "--n-features", "300", "--task", "classification", "--row-norm", "1"]


def run(*arguments):
    return CliRunner().invoke(main, ["plan", *DECLARED, *map(str, arguments)])


def test_it_prints_a_verdict_rows_and_epsilon():
    result = run()
    assert result.exit_code == 0
    for said in ("verdict: ", "rows for a useful fit at epsilon = 1", "epsilon for a useful fit with 3000 rows"):
        assert said in result.stdout


def test_json_holds_what_to_expect():
    found = json.loads(run("--json", "--base-rate", 0.2, "--signal", 0.5).stdout)
    assert found["error"]["constant"] == 0.2
    assert found["error"]["signal"] == 0.5
    assert found["verdict"] in ("useful", "borderline", "hopeless")
    assert found["rows_needed"] > 0
    assert found["epsilon_needed"] > 0
    assert found["smallest_coefficient"] > 0


def test_it_draws_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    result = run("--plot", tmp_path / "error.svg")
    assert result.exit_code == 0
    assert (tmp_path / "error.svg").read_text().startswith("<?xml")


def test_a_picture_that_cannot_be_written_is_refused_first(tmp_path):
    result = run("--plot", tmp_path / "missing" / "error.png")
    assert result.exit_code == 4
    assert "choose another --plot" in result.stderr
    assert result.stdout == ""


def test_an_unknown_format_is_refused(tmp_path):
    pytest.importorskip("matplotlib")
    result = run("--plot", tmp_path / "error.nonsense")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_nonsense_about_the_data_is_refused():
    result = run("--signal", 3)
    assert result.exit_code == 2
    assert "signal must be a number above 0 and below 1, got 3.0" in result.stderr
