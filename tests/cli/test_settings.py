"""Fields of recipes, losses, columns, starts, paths, logs and file kinds on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import dpsparse
from dpsparse.cli import main
from dpsparse.core import DataError
from dpsparse.io.files import read_table

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (1500, 6))
Y = X[:, 0] - X[:, 3] + 0.1 * RNG.standard_normal(1500)
FORM = ["--task", "regression", "--target", "y", "--feature-bound", "1", "--target-bound", "3", "--seed", "1"]


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def refusal(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    return " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("settings")
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=Y)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.assign(name="x", day="y1").to_parquet(folder / "text.parquet")
    np.save(folder / "rows.npy", np.column_stack([X, Y]))
    return folder


def test_fields_of_recipes_are_set_with_their_types(folder, tmp_path):
    out = tmp_path / "m.json"
    made = run(
        "fit", folder / "rows.csv", *FORM, "--recipe", "dp_gcd", "--set", "rule=gs-q", "--set", "steps=5", "--out", out
    )
    assert made.exit_code == 7, made.output
    recipe = dpsparse.load(out).recipe
    assert (recipe.rule, recipe.steps, recipe.clip) == ("gs-q", 5, None)
    planned = run(
        "plan", "--n-rows", 1500, "--n-features", 6, *FORM[:2], *FORM[4:8], "--recipe", "dp_gcd", "--set", "steps=none"
    )
    assert planned.exit_code == 0, planned.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "select_polsh"], "Did you mean 'select_polish'?"),
        (["--recipe", "dp_gcd", "--set", "step=5"], "Did you mean 'steps'?"),
        (["--recipe", "dp_gcd", "--set", "steps=many"], "a whole number was expected, got 'many'"),
        (["--recipe", "dp_gcd", "--set", "steps"], "FIELD=VALUE"),
        (["--recipe", "dp_gcd", "--set", "steps=0"], "positive integer"),
        (["--recipe", "dp_gcd", "--auxiliary", "none.npy"], "takes none"),
        (["--loss", "hubber"], "Did you mean 'huber'?"),
        (["--loss", "huber:size=2"], "no setting 'size'"),
        (["--columns", "a,bb,zz"], "no column 'bb'"),
        (["--columns", "a,bb,zz"], "no column 'zz'"),
        (["--epsilom", "1"], "--epsilon"),
    ],
)
def test_slips_are_answered_before_anything_is_read(folder, arguments, message, tmp_path):
    assert message in refusal("fit", folder / "rows.csv", *FORM, *arguments, "--out", tmp_path / "m.json")


def test_losses_columns_starts_and_paths(folder, tmp_path):
    start, out, path = tmp_path / "start.npy", tmp_path / "m.json", tmp_path / "path.npz"
    np.save(start, np.array([0.5, 0.0]))
    arguments = ["--recipe", "dp_ight", "--set", "steps=4", "--columns", "d,a", "--loss", "huber:threshold=0.5"]
    made = run("fit", folder / "rows.csv", *FORM, *arguments, "--start", start, "--path", path, "--out", out)
    assert made.exit_code == 7, made.output
    model = dpsparse.load(out)
    assert model.feature_names_in_.tolist() == ["d", "a"]
    assert model.loss.threshold == 0.5
    with np.load(path) as kept:
        assert kept["iterates"].shape == (4, 3)
    assert "one number for each feature" in refusal("fit", folder / "rows.csv", *FORM, "--start", folder / "rows.npy")


def test_auxiliary_rows_reach_the_recipe(folder, tmp_path):
    np.save(tmp_path / "public.npy", RNG.standard_normal((50, 6)))
    arguments = [
        "--recipe",
        "dpsl_kt",
        "--set",
        "release=labels",
        "--sparsity",
        2,
        "--auxiliary",
        tmp_path / "public.npy",
    ]
    made = run("fit", folder / "rows.csv", *FORM, *arguments, "--out", tmp_path / "m.json")
    assert made.exit_code == 7, made.output
    assert "(50, 6)" in json.loads((tmp_path / "m.json").read_text())["params"]["recipe"]["auxiliary"]


def test_recipes_are_listed_with_their_fields():
    assert "dp_gcd" in run("recipes").stdout
    told = run("recipes", "dp_gcd").stdout
    assert "steps (int or none), default None" in told
    assert "Did you mean" in refusal("recipes", "dp_gdc")
    machine = json.loads(run("recipes", "dp_gcd", "--json").stdout)
    assert {"field": "rule", "type": "str", "default": "auto"} in machine["fields"]
    assert "dp_gcd" in json.loads(run("recipes", "--json").stdout)["recipes"]


def test_settings_of_theorems_are_printed_and_fitted(folder, tmp_path):
    given = ["n_rows=100", "n_features=5", "epsilon=1", "delta=1e-6", "lipschitz=2", "radius=3"]
    told = run("recipes", "dp_sgd", "--from-theory", *given)
    assert told.stdout.split()[:4] == ["--recipe", "dp_sgd", "--set", "steps=145"]
    machine = json.loads(run("recipes", "dp_sgd@paper", "--from-theory", *given, "--json").stdout)
    assert machine["fields"]["clip"] == 2.0
    assert "also needs radius" in refusal("recipes", "dp_sgd", "--from-theory", *given[:-1])
    assert "Did you mean 'n_rows'?" in refusal("recipes", "dp_sgd", "--from-theory", "n_row=3")
    assert "a whole number was expected" in refusal("recipes", "dp_sgd", "--from-theory", "n_rows=many")
    assert "no theorem" in refusal("recipes", "lasso", "--from-theory")
    assert "Ask for its settings: --from-theory" in refusal("recipes", "dp_sgd", "n_rows=3")
    assert "Name one" in refusal("recipes", "--from-theory")
    said = run("recipes", "dp_sgd", "--from-theory", "n_rows=100000", *given[1:])
    assert "more than the 1000" in said.stderr
    out, options = tmp_path / "m.json", ["--recipe", "dp_sgd@paper", "--set", "steps=5", "--set", "radius=2"]
    made = run("fit", folder / "rows.csv", *FORM, *options, "--out", out)
    assert made.exit_code == 7, made.output
    recipe = dpsparse.load(out).recipe
    assert (recipe.name, recipe.steps, recipe.radius) == ("dp_sgd@paper", 5, 2.0)


def test_events_are_lines_of_json_with_public_facts(folder, tmp_path):
    result = run(
        "--log-level", "info", "fit", folder / "rows.csv", *FORM, "--recipe", "dp_ight", "--out", tmp_path / "m.json"
    )
    events = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    assert [event["event"] for event in events] == ["fit planned", "fit done"]
    assert events[0]["recipe"] == "dp_ight"
    assert set(events[1]) == {"time", "level", "event", "recipe", "n_rows", "n_features", "answers", "ledger"}
    quiet = run("fit", folder / "rows.csv", *FORM, "--recipe", "dp_ight", "--out", tmp_path / "m.json")
    assert "fit planned" not in quiet.stderr


def test_npy_tables_and_lists_of_parquet(folder, tmp_path):
    arguments = [
        "--task",
        "regression",
        "--feature-bound",
        "1",
        "--target-bound",
        "3",
        "--seed",
        "1",
        "--out",
        tmp_path / "m.json",
    ]
    made = run("fit", folder / "rows.npy", "--target", "6", *arguments)
    assert made.exit_code == 7, made.output
    assert "does not exist" in refusal("fit", folder / "rows.npy", "--target", "y", *arguments)  # a file of targets
    np.testing.assert_array_equal(read_table(folder / "rows.npy", "6").y, Y)
    rows = {"indices": [[0, 2], [5], [9], [1, 1], [], None], "values": [[1.0, 2.0], [3.0], [1.0], [1.0, 2.0], [], None]}
    pd.DataFrame({**rows, "y": [1.0, 2, 3, 4, 5, 6]}).to_parquet(tmp_path / "lists.parquet")
    table = read_table(tmp_path / "lists.parquet", "y", 6)
    assert sp.issparse(table.X)
    expected = np.zeros((6, 6))
    expected[0, [0, 2]], expected[1, 5] = [1.0, 2.0], 3.0
    np.testing.assert_array_equal(
        table.X.toarray(), expected
    )  # records with columns that do not exist, or twice, are empty
    with pytest.raises(DataError, match="Declare n_features"):
        read_table(tmp_path / "lists.parquet", "y")


def test_all_bad_columns_are_told_at_once(folder):
    with pytest.raises(DataError, match="'name', 'day' were expected to hold numbers"):
        read_table(folder / "text.parquet", "y")
    with pytest.raises(DataError, match=r"no column 'q'.*no column 'r'"):
        read_table(folder / "rows.csv", "y", columns=["a", "q", "r"])


def test_npy_files_that_are_no_tables_are_refused(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros(3))
    np.save(tmp_path / "objects.npy", np.array([[None]]), allow_pickle=True)
    for name in ("one.npy", "objects.npy"):
        with pytest.raises(DataError, match="was expected to hold"):
            read_table(tmp_path / name)
