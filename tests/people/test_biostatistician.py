"""A biostatistician with a CSV: from a table to a decision in under ten commands, and no error that was not asked for."""

import json

import yaml
from click.testing import CliRunner

from dpsparse.cli import main

from .table import DICTIONARY, LABS, write

TYPES = [
    "--number",
    "age,bmi," + ",".join(LABS),
    "--category",
    "sex,readmitted",
    "--boolean",
    "smoker",
    "--date",
    "admitted",
]


def test_from_a_table_to_a_decision(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "trial.csv", 3000, 1)
    write(tmp_path / "holdout.csv", 1500, 2)
    used = []

    def run(*arguments, code=0):
        used.append(arguments[0])
        result = CliRunner().invoke(main, [str(a) for a in arguments])
        assert result.exit_code == code, result.output
        return result.stdout + result.stderr

    run("dictionary", "new", "trial.csv", *TYPES, "--id", "patient_id", "--target", "readmitted", "--out", "trial.yaml")
    missing = run("dictionary", "check", "trial.yaml", "trial.csv", code=2)
    assert all(name in missing for name in (*LABS, "age", "sex"))  # all at once
    skeleton = yaml.safe_load((tmp_path / "trial.yaml").read_text())
    assert [c["name"] for c in skeleton["columns"]] == [c["name"] for c in yaml.safe_load(DICTIONARY)["columns"]]
    (tmp_path / "trial.yaml").write_text(DICTIONARY)  # filled in from the handbook
    run("dictionary", "check", "trial.yaml", "trial.csv")
    assert "Verdict" in run("plan", "--n-rows", 3000, "--dictionary", "trial.yaml", "--epsilon", 4, "--sparsity", 4)
    fitted = run(
        "fit",
        "trial.csv",
        "--dictionary",
        "trial.yaml",
        "--epsilon",
        4,
        "--sparsity",
        4,
        "--seed",
        3,
        "--check-bounds",
        0.02,
        code=7,
    )
    assert "age" in fitted
    assert "were clipped to the declared bounds" in fitted
    shown = run("show", "model.json", code=7)  # a seed is for tests: the model carries no promise, and says so first
    assert "not private" in shown
    card = json.loads(
        run("score", "model.json", "holdout.csv", "--epsilon", 2, "--group", "sex", "--groups", "F,M", "--json")
    )
    accuracy = card["scores"][0]
    assert accuracy["metric"] == "accuracy"
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]
    assert run("predict", "model.json", "holdout.csv", "--proba").startswith("probability_no,probability_yes")
    assert len(used) < 10


def test_the_model_is_about_as_good_as_one_without_privacy(tmp_path, monkeypatch):
    """The same table by Python, seeded: within .03 of scikit-learn's l1 at epsilon 4."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from dpsparse import SparseClassifier
    from dpsparse.tables import Dictionary, TableEncoder

    write(tmp_path / "trial.csv", 3000, 1)
    write(tmp_path / "holdout.csv", 3000, 2)
    (tmp_path / "trial.yaml").write_text(DICTIONARY)
    codebook = Dictionary.read(tmp_path / "trial.yaml")
    train, test = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("trial", "holdout"))
    y, t = train.pop("readmitted"), test.pop("readmitted")
    private = make_pipeline(
        TableEncoder(codebook), SparseClassifier(epsilon=4.0, classes=["no", "yes"], random_state=0)
    ).fit(train, y)
    usual = make_pipeline(
        TableEncoder(codebook), LogisticRegression(l1_ratio=1.0, C=1.0, solver="saga", max_iter=1000)
    ).fit(train, y)
    assert private.score(test, t) > usual.score(test, t) - 0.03
