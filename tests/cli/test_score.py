"""``dpsparse score``: rows of files, groups, ledgers and refusals."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse import Ledger, SparseRegressor, SparseSurvival
from dpsparse.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scores")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (3000, 4))
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(3000) > 0, "yes", "no")
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "y", "sex"])
        writer.writerows([*row, t, "FM"[i % 2]] for i, (row, t) in enumerate(zip(X.tolist(), y.tolist(), strict=True)))
    with (folder / "train.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "y"])
        writer.writerows([*row, t] for row, t in zip(X.tolist(), y.tolist(), strict=True))
    form = ["--task", "classification", "--target", "y", "--classes", "no,yes", "--feature-bound", "0,2"]
    made = run("fit", folder / "train.csv", *form, "--epsilon", 5, "--seed", 1, "--out", folder / "m.json")
    assert made.exit_code == 7, made.output
    regressor = SparseRegressor(epsilon=4.0, feature_bound=(0, 2), target_bound=3.0, random_state=0)
    regressor.fit(X, (X[:, 0] - X[:, 1]).astype(float)).save(folder / "numbers.json")
    np.savez(folder / "numbers.npz", X=X, y=(X[:, 0] - X[:, 1]).astype(float))
    return folder


def test_scores_with_groups_as_text_and_as_json(folder):
    arguments = ["score", folder / "m.json", folder / "rows.csv", "--target", "y", "--metrics", "accuracy,auc"]
    told = run(*arguments, "--group", "sex", "--groups", "F,M", "--epsilon", 4)
    assert told.exit_code == 0, told.output
    assert "accuracy [F]: " in told.stdout
    assert "These scores were computed" in told.stdout
    machine = json.loads(run(*arguments, "--json").stdout)
    assert [score["metric"] for score in machine["scores"]] == ["accuracy", "auc"]
    assert machine["scores"][0]["low"] < machine["scores"][0]["value"] < machine["scores"][0]["high"]


def test_regressions_and_files_without_names(folder):
    told = run("score", folder / "numbers.json", folder / "numbers.npz", "--epsilon", 4)
    assert told.exit_code == 0, told.output
    assert "r2: " in told.stdout


def test_a_ledger_is_charged_once(folder, tmp_path):
    address = f"sqlite:///{tmp_path / 'budget.db'}"
    Ledger(address).create("holdout", epsilon=1.0, delta=1e-5)
    charged = ["--ledger", address, "--dataset", "holdout", "--epsilon", "0.9"]
    arguments = ["score", folder / "m.json", folder / "rows.csv", "--target", "y", *charged]
    assert run(*arguments).exit_code == 0
    assert run(*arguments).exit_code == 3
    assert len(Ledger(address).entries("holdout")) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--target", "y", "--metrics", "acuracy"], 2, "Did you mean 'accuracy'"),
        (["--target", "y", "--group", "sex"], 2, "belong together"),
        (["--target", "y", "--group", "site", "--groups", "a,b"], 2, "no column 'site'"),
        ([], 2, "--target"),
        (["--target", "y", "--ledger", "sqlite:///x.db"], 2, "belong together"),
        (["--target", "y", "--seed", "1"], 7, "no guarantee"),
    ],
)
def test_refusals(folder, arguments, code, message):
    result = run("score", folder / "m.json", folder / "rows.csv", *arguments)
    assert result.exit_code == code, result.output
    assert message in " ".join(result.stderr.split())


def test_a_model_of_persons_is_scored_for_persons(folder, tmp_path):
    lines = (folder / "train.csv").read_text().splitlines()
    table = tmp_path / "visits.csv"
    table.write_text(
        "\n".join([f"pid;{lines[0]}", *(f"P{i // 3};{line}" for i, line in enumerate(lines[1:]))]).replace(",", ";")
    )
    form = ["--task", "classification", "--target", "y", "--classes", "no,yes", "--feature-bound", "0,2"]
    csv_form = ["--delimiter", ";"]
    unit = ["--unit", "pid", "--unit-name", "patient"]
    made = run("fit", table, *form, *csv_form, *unit, "--epsilon", 5, "--out", tmp_path / "m.json")
    assert made.exit_code == 0, made.output
    score = ["score", tmp_path / "m.json", table, "--target", "y", *csv_form, "--metrics", "accuracy", "--json"]
    named = json.loads(run(*score, "--unit", "pid").stdout)["statement"]
    assert named["unit"] == "one patient: all rows with the same id"
    assert named["n_rows"] == 1000
    refused = run(*score)
    assert refused.exit_code == 2
    assert "Name the column of ids with --unit" in json.loads(refused.stdout)["error"]["message"]
    assert "no column 'who'" in run(*score, "--unit", "who").output


def test_the_dictionary_of_a_model_names_the_unit_of_its_scores(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "d.yaml").write_text(
        "format: dpsparse-dictionary\nversion: 1\ncolumns:\n- {name: pid, role: unit}\n"
        "- {name: x, kind: number, bounds: [-1, 1]}\n- {name: y, role: target, kind: number, bounds: [-2, 2]}\n"
    )
    rows = [f"P{i // 3},{x:.3f},{x:.3f}" for i, x in enumerate(rng.uniform(-1, 1, 900))]
    (tmp_path / "t.csv").write_text("\n".join(["pid,x,y", *rows]) + "\n")
    made = run("fit", tmp_path / "t.csv", "--dictionary", tmp_path / "d.yaml", "--out", tmp_path / "m.json")
    assert made.exit_code == 0, made.output
    told = run("score", tmp_path / "m.json", tmp_path / "t.csv", "--epsilon", 4, "--json")
    statement = json.loads(told.stdout)["statement"]
    assert statement["unit"] == "one person: all rows with the same id"
    assert "whether a fit was refused" not in str(statement["assumptions"]), "no cell refuses a described table"


def test_a_survival_model_is_named_in_the_refusal(tmp_path):
    rng = np.random.default_rng(0)
    model = SparseSurvival(horizon=5.0, feature_bound=1.0)
    model.fit(rng.uniform(-1, 1, (300, 2)), time=rng.uniform(0, 5, 300), event=rng.integers(0, 2, 300))
    model.save(tmp_path / "s.json")
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n")
    assert "holds a SparseSurvival" in run("score", tmp_path / "s.json", tmp_path / "t.csv", "--target", "y").output
