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
