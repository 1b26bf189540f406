"""``dpsparse plan`` with what to expect."""

import json

import pytest
from click.testing import CliRunner

from dpsparse.cli import main
from dpsparse.tables import Column, Dictionary

DECLARED = ["--n-rows", "3000", "--n-features", "300", "--task", "classification", "--row-norm", "1"]


def run(*arguments):
    return CliRunner().invoke(main, ["plan", *DECLARED, *map(str, arguments)])


def test_it_prints_a_verdict_rows_and_epsilon():
    result = run("--details")
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
    assert result.exit_code == 2
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


def test_sparse_rows_are_planned_for_where_they_are_declared():
    dense, sparse = (json.loads(run("--json", *option).stdout) for option in ((), ("--sparse",)))
    assert (dense["sparse"], sparse["sparse"]) == (False, True)
    assert "energies" in {ask["name"] for ask in sparse["asks"]} - {ask["name"] for ask in dense["asks"]}
    assert "3,000 sparse rows" in run("--sparse").stdout


def test_help_says_how_to_plan_for_sparse_rows():
    said = CliRunner().invoke(main, ["plan", "--help"]).stdout
    assert "--sparse --task classification" in said
    assert "dpsparse plan reviews.svmlight" in said


def test_a_file_of_dense_rows_contradicts_sparse(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    result = run(tmp_path / "t.csv", "--sparse")
    assert result.exit_code == 2
    assert "holds dense rows. Leave --sparse out" in result.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rows.txt", "has an ending that is not known"),
        ("rows.npz", "does not exist. Check the path."),
        ("none/*.parquet", "no file is called like"),
    ],
)
def test_a_file_that_tells_nothing_is_refused(name, said, tmp_path):
    result = run(tmp_path / name)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_what_is_no_npz_is_refused(tmp_path):
    (tmp_path / "rows.npz").write_text("nothing")
    result = run(tmp_path / "rows.npz")
    assert "could not be read as npz" in result.stderr
    assert result.exit_code != 0


def test_a_dictionary_says_how_rows_are_encoded(tmp_path):
    columns = [Column(name="age", kind="number", bounds=(0, 100)), Column(name="died", kind="boolean", role="target")]
    Dictionary(columns).write(tmp_path / "d.yaml")
    given = ["plan", "--dictionary", str(tmp_path / "d.yaml"), "--n-rows", "3000"]
    for option in (["--sparse"], ["--n-features", "3"]):
        result = CliRunner().invoke(main, [*given, *option])
        assert result.exit_code == 2
        assert (
            f"the dictionary says which columns there are, and how they are encoded. Leave {option[0]} out."
            in result.stderr
        )
    assert "3,000 dense rows x 1 features" in CliRunner().invoke(main, given).stdout
