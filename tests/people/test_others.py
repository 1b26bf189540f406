"""An engineer, a researcher, a data protection officer, a contributor and an operator: their first tasks, as the pages tell them."""

import json
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV

import dpsparse
from dpsparse import (
    Ledger,
    PrivateSearch,
    RowNormalizer,
    SparseClassifier,
    SparseRegressor,
    audit,
    make_private_pipeline,
    private_score,
)
from dpsparse.cli import main
from dpsparse.core import PrivacyLeakError, RepeatedFitWarning
from dpsparse.recipes import registry

from .table import DICTIONARY, write

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments, code=0, env=None):
    result = CliRunner().invoke(main, [str(a) for a in arguments], env=env)
    assert result.exit_code == code, result.output
    return result.stdout + result.stderr


def texts(n):
    rng = np.random.default_rng(0)
    words = np.array(["good", "fine", "great", "bad", "awful", "poor", "day", "night", "film", "book"])
    y = rng.integers(0, 2, n)
    odds = np.where(y[:, None] == 1, [3, 3, 3, 1, 1, 1, 2, 2, 2, 2], [1, 1, 1, 3, 3, 3, 2, 2, 2, 2]) / 20
    return [" ".join(rng.choice(words, 8, p=p / p.sum())) for p in odds], y


def test_an_engineer_moves_a_text_pipeline(tmp_path):
    rows, y = texts(2400)
    model = SparseClassifier(sparsity=20, classes=[0, 1], random_state=0)
    with pytest.raises(PrivacyLeakError, match="TfidfVectorizer"):
        make_private_pipeline(TfidfVectorizer(), model, epsilon=2.0)
    pipe = make_private_pipeline(
        HashingVectorizer(n_features=256, alternate_sign=False), RowNormalizer(), model, epsilon=2.0
    )
    pipe.fit(rows[:1800], y[:1800])
    card = private_score(pipe, rows[1800:], y[1800:], ["accuracy"], epsilon=2.0, random_state=1)
    assert card["accuracy"].low > 0.55
    pipe.save(tmp_path / "pipe.json")
    assert np.array_equal(dpsparse.load(tmp_path / "pipe.json").predict(rows[:50]), pipe.predict(rows[:50]))
    X = HashingVectorizer(n_features=64).transform(rows)
    with pytest.warns(RepeatedFitWarning, match="PrivateSearch"):
        GridSearchCV(SparseClassifier(row_norm=1.0, random_state=0), {"sparsity": [5, 20]}, cv=2).fit(X, y)
    search = PrivateSearch(
        SparseClassifier(row_norm=1.0), {"sparsity": [5, 20]}, epsilon=2.0, mean_runs=2, random_state=0
    )
    assert search.fit(X, y).statement_.epsilon == pytest.approx(2.0, rel=1e-3)


def test_a_researcher_brings_an_algorithm(tmp_path, monkeypatch, capsys):
    """The example is complete, and under 40 lines of code; a class without a method is told which."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "REGISTRY", dict(registry.REGISTRY))
    source = (ROOT / "examples" / "own_recipe.py").read_text()
    assert len([line for line in source.splitlines() if line.strip()]) < 40
    runpy.run_path(str(ROOT / "examples" / "own_recipe.py"), run_name="__main__")
    assert "differential privacy" in capsys.readouterr().out
    registry.REGISTRY.pop("noisy_descent")  # a new program
    np.savez("mine.npz", X=np.random.default_rng(0).uniform(-1, 1, (400, 3)), y=np.zeros(400))
    bounds = ("--task", "regression", "--feature-bound", 1, "--target-bound", 1, "--epsilon", 2, "--seeds", 2)
    compared = run(
        *("bench", "--recipe", ROOT / "examples" / "own_recipe.py", "--recipe", "dp_ight", "--data", "mine.npz"),
        *(*bounds, "--processes", 1),
    )
    assert "noisy_descent better than dp_ight" in compared
    incomplete = type("Mine", (), {"name": "mine"})
    with pytest.raises(TypeError, match="it lacks the method solver"):
        dpsparse.recipes.register(incomplete)


@pytest.fixture
def trial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "trial.csv", 800, 1)
    (tmp_path / "trial.yaml").write_text(DICTIONARY)
    return ["fit", "trial.csv", "--dictionary", "trial.yaml", "--sparsity", 3]


def test_an_officer_reads_what_was_promised(trial, tmp_path):
    address = "sqlite:///budget.db"
    run("ledger", "create", address, "trial", "--epsilon", 3, "--delta", "1e-6")
    run(*trial, "--epsilon", 2, "--ledger", address, "--dataset", "trial", "--label", "first look")
    shown = run("show", "model.json")
    assert "differential privacy" in shown
    assert "guesses right at most" in shown
    assert "Digest: sha256:" in shown
    run("ledger", "verify", address, "--model", "model.json")
    edited = json.loads((tmp_path / "model.json").read_text())
    edited["statement"]["epsilon"] = 0.1
    (tmp_path / "edited.json").write_text(json.dumps(edited))
    assert "edited after it was saved" in run("show", "edited.json", code=2)
    run(*trial, "--epsilon", 2, "--seed", 1, "--out", "seeded.json", code=7)
    assert "no guarantee" in run("show", "seeded.json", code=7)


def test_a_contributor_adds_a_loss_and_the_laws_catch_a_wrong_one():
    from dpsparse.losses import Custom

    right = Custom(derivative=lambda m, y: np.tanh(m - y), curvature=1.0, slope_bound=1.0, name="log-cosh")
    audit.check_loss(right)
    mixing = Custom(derivative=lambda m, y: np.tanh(m - y.mean()), curvature=1.0, slope_bound=1.0, name="mixing")
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    with pytest.raises((AssertionError, ValueError, PrivacyLeakError)):
        SparseRegressor(loss=mixing, feature_bound=1.0, target_bound=1.0).fit(X, X[:, 0])


def test_an_operator_runs_jobs_on_one_budget(trial):
    env = {"DPSPARSE_LEDGER": "sqlite:///budget.db"}
    run("ledger", "create", "trial", "--epsilon", 1, "--delta", "1e-6", env=env)
    job = [*trial, "--epsilon", 0.7, "--dataset", "trial", "--run-id", "night-1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = run("--log-level", "info", *job, env=env)
        assert '"event": "fit done"' in told
        assert "Run night-1 is done already" in run(*job, env=env)  # a retry does not pay twice, and is no failure
        assert "less left" in run(*job[:-1], "night-2", code=3, env=env)
    listed = json.loads(run("ledger", "show", "--json", env=env))
    assert "trial" in json.dumps(listed)
    assert len(Ledger("sqlite:///budget.db").entries("trial")) == 1
