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
