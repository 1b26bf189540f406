"""Weights, exposures and survival on the command line, by options and by a dictionary."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse.cli import main
from dpsparse.io.dictionary import Column, Dictionary

STUDY = [
    Column(name="age", kind="number", bounds=(18, 100), unit="years"),
    Column(name="sex", kind="category", categories=["f", "m"]),
    Column(name="years", role="time", kind="number", bounds=(0, 5)),
    Column(name="died", role="event", kind="boolean"),
]
RATES = [
    Column(name="age", kind="number", bounds=(18, 100)),
    Column(name="years", role="exposure", kind="number", bounds=(0.1, 5)),
    Column(name="w", role="weight", kind="number", bounds=(0, 3)),
    Column(name="visits", role="target", kind="number", bounds=(0, 20)),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.integers(30, 91, 1500)
    death, end = rng.exponential(8 / np.exp(0.06 * (age - 60))), rng.uniform(1, 6, 1500)
    years = rng.uniform(0.2, 3, 1500)
    write(
        tmp_path / "study.csv",
        ["age", "sex", "years", "died"],
        zip(
            age,
            rng.choice(["f", "m"], 1500),
            np.minimum(death, end).round(3),
            np.where(death <= end, "yes", "no"),
            strict=True,
        ),
    )
    write(
        tmp_path / "rates.csv",
        ["age", "years", "w", "visits"],
        zip(age, years.round(3), np.ones(1500), rng.poisson(years * np.exp(0.02 * (age - 60))), strict=True),
    )
    Dictionary(STUDY).write(tmp_path / "study.yaml")
    Dictionary(RATES).write(tmp_path / "rates.yaml")
    return tmp_path


def write(path, names, rows):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows(rows)


def run(command: str, code: int = 0) -> str:
    found = CliRunner().invoke(main, command.split())
    assert found.exit_code == code, found.output
    return found.output


def test_a_study_is_fitted_by_its_dictionary_and_predicts_curves(folder):
    printed = run("fit study.csv --dictionary study.yaml --epsilon 4 --seed 1 --out study.json", code=7)
    assert "life table: exits" in (folder / "study.json").read_text()
    assert "hazard ratio" in printed
    lines = run("predict study.json study.csv --times 1,5").splitlines()
    assert lines[0] == "survival_1,survival_5"
    assert len(lines) == 1501
    assert run("predict study.json study.csv").splitlines()[0] == "risk"
    run("report study.json --out study.html", 7)  # a seed
    page = (folder / "study.html").read_text()
    assert ">Hazard ratio</th>" in page
    assert "per years" in page, "in the units of the dictionary"
    held = json.loads((folder / "study.json").read_text())
    assert held["format"] == "dpsparse-survival"


def test_options_say_what_the_dictionary_says(folder):
    given = "--task survival --time years --event died --horizon 5 --feature-bound 0,100 --columns age"
    assert "tables" in run(f"fit study.csv {given} --epsilon 4 --seed 1 --out by_options.json", code=7)
    assert json.loads((folder / "by_options.json").read_text())["model"]["feature_names_in"] == ["age"]


@pytest.mark.filterwarnings("error")
def test_a_study_without_a_dictionary_is_applied_and_shown_by_names(folder):
    given = "--task survival --time years --event died --horizon 5 --feature-bound 0,100 --columns age"
    fitted = run(f"fit study.csv {given} --epsilon 4 --seed 1 --out by_options.json", code=7).splitlines()
    assert run("predict by_options.json study.csv --times 1,5").splitlines()[0] == "survival_1,survival_5"
    shown = run("show by_options.json", 7).splitlines()
    table = shown.index("Hazard ratios for one unit:")
    assert shown[table : table + 3] == fitted[-5:-2]
    assert shown[table + 1].split()[0] == "age"


def test_rates_have_an_exposure(folder):
    printed = run(
        "fit rates.csv --dictionary rates.yaml --loss poisson --epsilon 4 --seed 1 --out rates.json --check-cells 0",
        code=7,
    )
    assert "weights, clipped to [0, 3]" in printed
    assert "is added to its margin" in printed
    with_years = run("predict rates.json rates.csv").splitlines()
    again = run("predict rates.json rates.csv --exposure years").splitlines()
    assert with_years == again


def blank(path, row: int, column: str, cell: str = ""):
    """Put another cell in one row of a table."""
    lines = list(csv.reader(path.read_text().splitlines()))
    lines[row][lines[0].index(column)] = cell
    write(path, lines[0], lines[1:])


@pytest.mark.parametrize("row", [1, 700, 1500])
@pytest.mark.parametrize(
    ("table", "column", "cell"),
    [
        ("study", "died", ""),
        ("study", "died", "perhaps"),
        ("study", "years", ""),
        ("study", "years", "-1"),
        ("rates", "w", ""),
        ("rates", "years", "0"),
        ("rates", "visits", ""),
    ],
)
def test_with_a_dictionary_no_cell_refuses_a_fit_and_the_statement_assumes_nothing_about_refusals(
    folder, table, column, cell, row
):
    loss = "" if table == "study" else "--loss poisson"
    command = f"fit {table}.csv --dictionary {table}.yaml --epsilon 4 --seed 1 --out {table}.json {loss}"
    blank(folder / f"{table}.csv", row, column, cell)
    assert "nobody learns whether a fit was refused" not in run(command, 7)  # a seed


@pytest.mark.parametrize(("table", "column"), [("study", "died"), ("rates", "w")])
def test_who_asks_for_refusals_gets_them_and_the_statement_says_so(folder, table, column):
    loss = "" if table == "study" else "--loss poisson"
    command = f"fit {table}.csv --dictionary {table}.yaml --epsilon 4 --seed 1 --on-missing refuse --out m.json {loss}"
    assert "nobody learns whether a fit was refused" in run(command, 7)
    blank(folder / f"{table}.csv", 700, column)
    said = run(command, code=2)
    assert "give --on-missing empty: their records are then ignored." in said
    assert "dpsparse dictionary new" not in said


def test_a_refused_study_says_what_times_and_events_must_be(folder):
    given = "--task survival --time years --event died --horizon 5 --feature-bound 0,100 --columns age"
    blank(folder / "study.csv", 700, "died")
    said = run(f"fit study.csv {given} --epsilon 4 --seed 1 --out m.json", code=2)
    assert (
        "a time, event or entry is missing or cannot be used: times and entries are numbers from 0 on, events are 0 "
        "or 1, and an entry lies before its time and the horizon. Correct such cells by a public rule, or give "
        "--on-missing empty: their records are then ignored."
    ) in " ".join(said.split())


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("fit rates.csv --target visits --task regression --target-bound 9 --feature-bound 1 --weight w", "--weight-bound"),
        ("fit rates.csv --target visits --task regression --target-bound 9 --feature-bound 1 --exposure years", "--offset-bound"),
        ("fit study.csv --task survival --feature-bound 1 --horizon 5", "--time and --event"),
        ("fit study.csv --task survival --feature-bound 1 --time years --event died", "--horizon"),
        ("fit study.csv --task regression --target-bound 1 --feature-bound 1 --time years --target age", "--task survival"),
        ("fit study.csv --dictionary study.yaml --task regression", "means survival"),
        ("fit study.csv --dictionary study.yaml --memory-limit 1GB", "one table in memory"),
        ("plan --dictionary study.yaml --n-rows 100", "not planned yet"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_the_words_of_the_options(folder, command, word):
    assert word in run(command, code=2)


def test_roles_beside_features_are_checked():
    wrong = [
        *STUDY,
        Column(name="y", role="target", kind="number", bounds=(0, 1)),
        Column(name="w", role="weight", kind="number", bounds=(-1, 1)),
        Column(name="e", role="exposure", kind="number", bounds=(0, 1)),
        Column(name="o", role="offset", kind="category", categories=["a", "b"]),
    ]
    found = "\n".join(Dictionary(wrong).check())
    for line in ("take the place of a target", "no weights and no offsets", "at least 0", "must be positive", "Keep one of both",
                 "needs the kind number"):  # fmt: skip
        assert line in found
    assert any("needs a column with the role time" in line for line in Dictionary(STUDY[:3]).check())
