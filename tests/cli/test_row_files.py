"""Commands on files that are read in blocks: convert, fit within a limit, several files, predict."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse.cli import main

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N, D = 400, 5
BOUNDS = ("--task", "classification", "--feature-bound", "2", "--recipe", "dp_ight", "--seed", "3")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A table as one CSV file and as two Parquet files, in the working folder; and no memory, so that a limit means the disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpsparse.fitting.session.memory_needed", lambda *_: 2**60)
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(-2, 2, (N, D)), 3)
    y = np.where(X[:, 0] > 0, "ill", "well")
    names = [f"c{j}" for j in range(D)]
    lines = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "a.csv").write_text(",".join([*names, "y"]) + "\n" + "\n".join(lines) + "\n")
    for part in (slice(0, 150), slice(150, N)):
        table = {**{n: X[part, j] for j, n in enumerate(names)}, "y": y[part]}
        pq.write_table(pa.table(table), tmp_path / f"part-{part.start}.parquet")
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def model(path):
    found = json.loads(path.read_text())
    return found["coef"], found["intercept"], found["classes"], found["statement"], found["feature_names_in"]


def test_every_way_to_the_same_rows_gives_the_same_model(files):
    run("fit", "a.csv", "--target", "y", *BOUNDS, "--out", "memory.json", code=7)
    assert "Saved: a.dpsrows" in run("convert", "a.csv", "a.dpsrows", "--target", "y")
    run("fit", "a.dpsrows", *BOUNDS, "--memory-limit", "40MB", "--out", "blocks.json", code=7)
    run("fit", "part-*.parquet", "--target", "y", *BOUNDS, "--memory-limit", "40MB", "--out", "parts.json", code=7)
    run("fit", "a.csv", "--target", "y", *BOUNDS, "--memory-limit", "40MB", "--out", "csv.json", code=7)
    expected = model(files / "memory.json")
    for name in ("blocks.json", "parts.json", "csv.json"):
        assert model(files / name) == expected, name
    said = [run("predict", "memory.json", data) for data in ("a.csv", "a.dpsrows", "part-*.parquet")]
    assert said[0] == said[1] == said[2]
    assert said[0].count("\n") == N + 1


def test_declared_classes_are_texts_in_files_too(files):
    run("fit", "a.csv", "--target", "y", *BOUNDS, "--classes", "ill,well", "--out", "memory.json", code=7)
    run(
        "fit",
        "a.csv",
        "--target",
        "y",
        *BOUNDS,
        "--classes",
        "ill,well",
        "--memory-limit",
        "40MB",
        "--out",
        "disk.json",
        code=7,
    )
    assert model(files / "memory.json") == model(files / "disk.json")


def test_rows_of_a_dictionary_are_encoded_within_a_limit(files):
    columns = [{"name": f"c{j}", "kind": "number", "bounds": [-2, 2]} for j in range(D)]
    target = {"name": "y", "kind": "category", "role": "target", "categories": ["ill", "well"]}
    (files / "d.json").write_text(
        json.dumps({"format": "dpsparse-dictionary", "version": 1, "columns": [*columns, target]})
    )
    options = ("--dictionary", "d.json", "--recipe", "dp_ight", "--seed", "3")
    run("fit", "a.csv", *options, "--out", "memory.json", code=7)
    run("fit", "a.csv", *options, "--memory-limit", "40MB", "--out", "disk.json", code=7)
    assert model(files / "memory.json") == model(files / "disk.json")


def test_convert_tells_machines_where_it_wrote(files):
    assert json.loads(run("convert", "a.csv", "a.dpsrows", "--target", "y", "--json")) == {"out": "a.dpsrows"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["convert", "a.csv", "a.dpsrows"], 2, "Give its column with --target"),
        (["convert", "a.csv", "b.csv", "--target", "y"], 2, "expected to end with .dpsrows"),
        (["convert", "a.csv", "a.csv", "--target", "y"], 2, "is read by this command"),
        (["convert", "a.csv", "nowhere/a.dpsrows", "--target", "y"], 2, "does not exist"),
        (["convert", "b*.csv", "a.dpsrows", "--target", "y"], 2, "Check the pattern"),
        (["fit", "a.csv", "--target", "y", *BOUNDS, "--memory-limit", "much"], 2, "an amount of memory such as '2GB'"),
        (["fit", "a.csv", "--target", "y", *BOUNDS, "--memory-limit", "1MB"], 2, "memory_limit is too small"),
        (["fit", "a.csv", *BOUNDS, "--memory-limit", "40MB"], 2, "Give its column with --target"),
    ],
)
def test_refusals(files, arguments, code, says):
    assert says in run(*arguments, code=code)
    assert not (files / "a.dpsrows").exists()
