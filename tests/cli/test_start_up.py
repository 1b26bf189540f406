"""Commands start without what they do not need."""

import subprocess
import sys

import numpy as np
import pytest

from dpsparse import PrivateScaler, PrivateSearch, SparseClassifier, SparseSurvival, make_private_pipeline
from dpsparse.cli import main

PROGRAM = """
import sys
from dpsparse.cli.program import program
try:
    program()
except SystemExit:
    pass
known = ("sklearn", "pandas", "scipy.stats")
known = [name for name in known if name in sys.modules]
print(len(sys.modules), known, file=sys.stderr)
"""
DECLARED = ["--task", "classification", "--classes", "0,1", "--feature-bound", "1"]


def typed(*command):
    """What a program of its own prints, how many modules it had at the end, and which large ones."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, command)], capture_output=True, text=True, check=True
    )
    count, known = run.stderr.splitlines()[-1].split(" ", 1)
    return run.stdout, int(count), known


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and saved models of all kinds."""
    made = tmp_path_factory.mktemp("start")
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, (300, 3)).astype(float)
    y = (X[:, 0] > 0).astype(int)
    rows = "".join(f"{a:g},{b:g},{c:g},{label}\n" for (a, b, c), label in zip(X, y, strict=True))
    (made / "rows.csv").write_text("a,b,c,y\n" + rows)
    model = SparseClassifier(classes=[0, 1], feature_bound=1.0, delta=1e-6, random_state=1)
    model.fit(X, y).save(made / "model.json")
    steps = make_private_pipeline(PrivateScaler(feature_bound=1.0), model, epsilon=2.0, delta=1e-6)
    steps.fit(X, y).save(made / "pipeline.json")
    search = PrivateSearch(model, {"alpha": [0.0, 0.1]}, epsilon=4.0, mean_runs=1.5, random_state=1)
    search.fit(X, y).save(made / "search.json")
    study = SparseSurvival(horizon=10.0, feature_bound=1.0, delta=1e-6, random_state=1)
    study.fit(X, time=rng.uniform(0, 10, 300), event=y).save(made / "survival.json")
    return made


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "--n-rows", "300", "--n-features", "3", *DECLARED],
        ["show", "model.json"],
        ["report", "model.json", "--out", "page.html"],
        ["recipes"],
        ["ledger", "--help"],
        ["audit", "dp_ight", "--runs", "8", "--fits", "0"],
        ["demo", "--n-rows", "300", "--n-features", "30", "--out", "demo"],
        ["fit", "rows.csv", "--target", "y", *DECLARED, "--out", "fitted.json"],
    ],
    ids=lambda command: command[0],
)
def test_a_command_starts_without_scikit_learn_and_pandas(folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    said, count, known = typed(*command)
    assert said
    assert known == "[]"
    assert count < 960


def test_an_audit_of_a_model_loads_but_what_dp_accounting_needs(folder, monkeypatch):
    """dp-accounting, which recomputes the statement's epsilon, imports scipy.stats; nothing of ours does.

    Its top module reads `scipy.stats.norm` when it is imported.
    """
    monkeypatch.chdir(folder)
    said, _, known = typed("audit", "model.json", "--runs", "8", "--fits", "8")
    assert "another library bounds it" in said
    assert known == "['scipy.stats']"


@pytest.mark.parametrize(
    ("command", "name"), [("show", "model"), ("show", "survival"), ("report", "pipeline"), ("report", "search")]
)
def test_a_program_says_of_a_model_what_a_process_with_scikit_learn_says(folder, command, name, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit):
        main([command, f"{name}.json"])
    here = capsys.readouterr().out
    assert here
    assert typed(command, f"{name}.json")[0] == here
