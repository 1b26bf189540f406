"""``dpsparse audit``: verdicts, exit codes, and what it says it audited."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse import SparseClassifier, SparseRegressor, recipes
from dpsparse.cli import main
from dpsparse.oracles import central

FEW = ["--runs", "16", "--fits", "8", "--seed", "1"]


def run(*arguments):
    return CliRunner().invoke(main, ["audit", *(str(a) for a in arguments)])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, (200, 6))
    y = X[:, 0] - X[:, 1]
    recipe = recipes.DPIGHT(mechanism="dense", steps=2)
    SparseRegressor(feature_bound=(0, 2), target_bound=3.0, recipe=recipe).fit(X, y).save(folder / "regressor.json")
    SparseRegressor(feature_bound=(0, 2), target_bound=3.0).fit(X, y).save(folder / "auto.json")
    SparseClassifier(
        feature_bound=(np.zeros(6), np.full(6, 2.0)), recipe="dp_sgd_ht", adjacency="add-remove", n_rows=200
    ).fit(X, y > 0).save(folder / "classifier.json")
    return folder


def test_a_recipe_passes_with_a_verdict_and_an_estimate_at_the_start():
    result = run("dp_cd", *FEW)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("This will take about ")
    assert "Audited: recipe 'dp_cd' as installed here" in result.stdout
    assert result.stdout.rstrip().splitlines()[-1].startswith("Verdict: no violation found.")


@pytest.mark.parametrize(
    ("name", "recipe", "relation"),
    [("regressor", "dp_ight", "replace-one"), ("classifier", "dp_sgd_ht", "add-remove")],
)
def test_a_model_is_audited_with_its_recorded_settings(models, name, recipe, relation):
    result = run(models / f"{name}.json", "--json", *FEW)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["target"] == recipe
    assert relation in found["scope"]
    assert "Not audited: the fit that was made" in found["audited"]
    assert [law["name"] for law in found["laws"]] == ["laws", "sensitivity trace", "second opinion"]
    assert found["verdict"] == "no violation found"


def test_settings_for_each_feature_fix_the_size_of_the_worlds(models):
    found = json.loads(run(models / "classifier.json", "--json", *FEW).stdout)
    assert "6 features" in found["scope"]


def test_the_recipe_that_a_rule_picked_for_the_data_is_audited(models):
    from dpsparse import load

    found = json.loads(run(models / "auto.json", "--json", *FEW).stdout)
    assert found["target"] == load(models / "auto.json").statement_.recipe


def test_a_violation_has_its_own_exit_code(models, monkeypatch):
    ordinary = central.lattice_gaussian
    monkeypatch.setattr(central, "lattice_gaussian", lambda q, scale, r: ordinary(q, scale / 9, r))
    result = run(models / "regressor.json", "--runs", "300", "--fits", "0", "--seed", "1")
    assert result.exit_code == 6
    assert "[VIOLATED] ask 'gradient'" in result.stdout
    assert "Error: the audit of" in result.stderr
    machine = run(models / "regressor.json", "--json", "--runs", "300", "--fits", "0", "--seed", "1")
    assert machine.exit_code == 6
    assert json.loads(machine.stdout)["violated"]


@pytest.fixture(scope="module")
def seeded(tmp_path_factory):
    file = tmp_path_factory.mktemp("seeded") / "seeded.json"
    X = np.random.default_rng(0).uniform(-1, 1, (200, 4))
    recipe = recipes.DPIGHT(mechanism="dense", steps=2)
    model = SparseRegressor(feature_bound=1.0, target_bound=1.0, recipe=recipe, random_state=0)
    model.fit(X, X[:, 0].clip(-1, 1)).save(file)
    return file


def test_a_caveat_that_voids_the_promise_comes_first_and_has_its_own_exit_code(seeded):
    result = run(seeded, *FEW)
    assert result.exit_code == 7
    lines = result.stdout.splitlines()
    assert lines[0] == "CAVEAT: fitted with a fixed seed: not private."
    assert sum(line.startswith("CAVEAT") for line in lines) == 1
    assert lines[-1].startswith("Verdict: NO GUARANTEE. The caveat above voids the guarantee")
    assert "no violation found" not in result.stdout
    assert "carries no guarantee: fitted with a fixed seed" in result.stderr
    machine = run(seeded, "--json", *FEW)
    assert machine.exit_code == 7
    found = json.loads(machine.stdout)
    assert found["void"] is True
    assert found["caveats"] == ["fitted with a fixed seed: not private"]
    assert found["verdict"] == "NO GUARANTEE"


def test_help_names_the_exit_codes():
    text = " ".join(run("--help").output.split())
    assert "with 6 when a guarantee is refuted, and with 7 when a caveat voids it" in text
    assert "7 there is no guarantee" in " ".join(CliRunner().invoke(main, ["--help"]).output.split())


def test_a_weak_promise_is_a_caveat_and_no_failure(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (200, 4))
    recipe = recipes.DPIGHT(mechanism="dense", steps=2)
    model = SparseRegressor(epsilon=50.0, feature_bound=1.0, target_bound=1.0, recipe=recipe)
    model.fit(X, X[:, 0].clip(-1, 1)).save(tmp_path / "weak.json")
    result = run(tmp_path / "weak.json", *FEW)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("CAVEAT: epsilon = 50 is above 10")


def test_lines_read_neither_as_failure_nor_as_nonsense(models):
    text = run(models / "regressor.json", *FEW).stdout
    [opinion] = [line for line in text.splitlines() if "second opinion" in line]
    assert "another library bounds it from above by" in opinion
    assert "0%" not in text.splitlines()[-1]
    assert "checks tried to refute the guarantee and did not" in text.splitlines()[-1]


def test_classification_and_adjacency_of_a_recipe():
    result = run("dp_cd", "--task", "classification", "--adjacency", "add-remove", *FEW)
    assert result.exit_code == 0, result.output
    assert "add-remove" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give a model file or the name of a recipe"),
        (["nope"], "unknown recipe 'nope'"),
        (["missing.json"], "missing.json"),
        (["ight"], "promises no privacy"),
        (["dp_cd", "--papers"], "--papers takes no MODEL_OR_RECIPE"),
        (["dp_cd", "--plot", "x.png"], "--plot belongs to --papers"),
    ],
    ids=["nothing", "name", "file", "baseline", "both", "plot"],
)
def test_what_cannot_be_audited_is_refused(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""
