"""Recipes of the local model from the command line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dpsparse
from dpsparse.cli import main

BOUNDS = ["--feature-bound", "1", "--epsilon", "4", "--no-intercept"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("local") / "people.csv"
    rng = np.random.default_rng(0)
    X = rng.choice([-1, 1], (4000, 4))
    y = X[:, 0] - 0.5 * X[:, 2] + rng.uniform(-0.05, 0.05, 4000)
    lines = [",".join(["a", "b", "c", "d", "y"])] + [",".join(map(str, [*x, t])) for x, t in zip(X, y, strict=True)]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("recipe", ["ldp_iht", "ldp_moment", "label_ldp_iht", "label_ldp_lasso"])
def test_fit_and_predict(recipe, table, tmp_path):
    out = tmp_path / "model.json"
    options = ["--task", "regression", "--target", "y", "--target-bound", "2", "--sparsity", "2", "--recipe", recipe]
    if recipe == "ldp_moment":
        options += ["--accept", "known-design"]
    done = CliRunner().invoke(main, ["fit", str(table), *options, *BOUNDS, "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    statement = json.loads(done.stdout)["statement"]
    assert statement["delta"] == 0
    assert "local model" in statement["unit"]
    assert "not private" not in str(statement["caveats"])
    model = dpsparse.load(out)
    assert set(model.support_) == {0, 2}
    predicted = CliRunner().invoke(main, ["predict", str(out), str(table)])
    assert predicted.exit_code == 0, predicted.output


def test_a_plan_warns_about_too_few_people():
    options = [
        "--n-rows",
        "1000",
        "--n-features",
        "500",
        "--task",
        "regression",
        "--target-bound",
        "2",
        "--sparsity",
        "2",
    ]
    done = CliRunner().invoke(main, ["plan", *options, "--recipe", "ldp_iht", "--feature-bound", "1"])
    assert done.exit_code == 0, done.output
    assert "1000 people are too few for 500 features" in " ".join(done.stdout.split())
