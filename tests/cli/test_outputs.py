"""What a command writes, what it never replaces, and what it says to machines when it refuses."""

import errno
import json
import os
import tempfile

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse import Ledger, PrivateScaler, PrivateSearch, SparseRegressor, make_private_pipeline
from dpsparse.cli import main

OPTIONS = [
    "--target",
    "y",
    "--task",
    "regression",
    "--feature-bound",
    "1",
    "--target-bound",
    "1",
    "--recipe",
    "dp_ight",
]


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def table(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    lines = ["a,b,c,y", *(",".join(f"{v:.4f}" for v in (*row, row[0])) for row in X)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "d.csv"


@pytest.fixture
def budget(tmp_path):
    Ledger(f"sqlite:///{tmp_path}/b.db").create("trial", epsilon=3.0, delta=1e-5)
    return tmp_path / "b.db"


@pytest.mark.parametrize("by", ["name", "hard link", "soft link", "other spelling"])
@pytest.mark.parametrize("which", ["data", "ledger"])
def test_fit_never_replaces_what_it_reads(tmp_path, table, budget, which, by):
    victim = table if which == "data" else budget
    before = victim.read_bytes()
    out = victim
    if by == "hard link":
        out = tmp_path / "out.json"
        os.link(victim, out)
    elif by == "soft link":
        out = tmp_path / "out.json"
        out.symlink_to(victim)
    elif by == "other spelling":
        (tmp_path / "sub").mkdir()
        out = tmp_path / "sub" / ".." / victim.name
    result = run("fit", table, *OPTIONS, "--ledger", f"sqlite:///{budget}", "--dataset", "trial", "--out", out)
    assert result.exit_code == 2, result.output
    assert "not replaced" in result.stderr
    assert victim.read_bytes() == before
    assert Ledger(f"sqlite:///{budget}").entries("trial") == ()


def test_fit_replaces_no_other_file_and_reads_nothing_then(tmp_path, table):
    (tmp_path / "thesis.txt").write_text("years of work")
    result = run("fit", table, *OPTIONS, "--out", tmp_path / "thesis.txt")
    assert result.exit_code == 2
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("victim", ["m.json", "d.csv", "b.db"])
def test_predictions_never_replace_the_model_the_data_or_a_ledger(tmp_path, table, budget, victim):
    assert run("fit", table, *OPTIONS, "--out", tmp_path / "m.json").exit_code == 0
    before = (tmp_path / victim).read_bytes()
    result = run("predict", tmp_path / "m.json", table, "--out", tmp_path / victim)
    assert result.exit_code == 2, result.output
    assert (tmp_path / victim).read_bytes() == before


@pytest.mark.parametrize(
    ("reason", "code"), [(errno.ENOSPC, 4), (errno.EDQUOT, 4), (errno.EROFS, 2), (errno.ENOENT, 2)]
)
def test_only_a_lack_of_space_is_worth_a_retry(tmp_path, monkeypatch, reason, code):
    def fails(**_):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(tempfile, "TemporaryFile", fails)
    result = run("fit", tmp_path / "absent.csv", *OPTIONS, "--out", tmp_path / "m.json")
    assert result.exit_code == code
    assert "could not be written" in result.stderr
    assert ("Free some space" in result.stderr) == (code == 4)


def test_outputs_never_set_the_mask_of_the_process(tmp_path, table, monkeypatch):
    assert run("fit", table, *OPTIONS, "--out", tmp_path / "m.json").exit_code == 0
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the mask belongs to the whole process"))
    assert run("predict", tmp_path / "m.json", table, "--out", tmp_path / "p.csv").exit_code == 0


# ------------------------------------------------------------------------------------------------ errors for machines


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["fit", "absent.csv", *OPTIONS, "--json"], 2),
        (["fit", "absent.csv", "--json"], 2),
        (["fit", "--json", "--no-such-option"], 2),
        (["predict", "absent.json", "absent.csv", "--json"], 2),
        (["show", "absent.json", "--json"], 2),
        (["audit", "--json"], 2),
        (["audit", "no_such_recipe", "--json"], 2),
        (["plan", "--json"], 2),
        (["ledger", "show", "sqlite:///absent.db", "--json"], 2),
        (["ledger", "verify", "sqlite:///absent.db", "--json"], 2),
        (["demo", "--epsilon", "-1", "--json"], 2),
        (["no-such-command", "--json"], 2),
    ],
)
def test_every_command_prints_an_error_object_where_json_was_asked_for(tmp_path, monkeypatch, arguments, code):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == code, result.output
    error = json.loads(result.stdout)["error"]
    assert error["exit_code"] == code
    assert error["message"]
    assert set(error) == {"kind", "message", "exit_code"}
    assert "Error" in result.stderr
    silent = run(*[a for a in arguments if a != "--json"])
    assert silent.stdout == ""


def test_a_refused_budget_has_its_own_kind(tmp_path, table, budget):
    ledger = ["--ledger", f"sqlite:///{budget}", "--dataset", "trial", "--out", tmp_path / "m.json", "--json"]
    result = run("fit", table, *OPTIONS, "--epsilon", "50", *ledger)
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"]["kind"] == "BudgetRefusal"


# ------------------------------------------------------------------------------------------------ show


def test_show_prints_the_statement(tmp_path, table):
    run("fit", table, *OPTIONS, "--out", tmp_path / "m.json")
    result = run("show", tmp_path / "m.json")
    assert result.exit_code == 0
    assert "differential privacy" in result.stdout
    assert "features selected" in result.stdout


def test_show_prints_caveats_first_then_coefficients_digest_and_the_entry_that_paid(tmp_path, table, budget):
    book = Ledger(f"sqlite:///{budget}")
    paid = ["--ledger", book.address, "--dataset", "trial", "--seed", 1]
    assert run("fit", table, *OPTIONS, *paid, "--out", tmp_path / "m.json").exit_code == 7
    lines = run("show", tmp_path / "m.json").stdout.splitlines()
    stored = json.loads((tmp_path / "m.json").read_text())
    entry = book.entries("trial")[0].number
    places = [
        next(i for i, line in enumerate(lines) if line.startswith(start))
        for start in (
            "CAVEAT: fitted with a fixed seed",
            "This model",
            "  intercept",
            f"Digest: {stored['digest']}",
            "Ledger:",
        )
    ]
    assert places[0] == 0
    assert places == sorted(places)
    told = dict(line.strip().split(": ") for line in lines[places[-1] + 1 :])
    assert told == {name: str(value) for name, value in book.cite("trial", entry).items()}
    content = json.loads(run("show", tmp_path / "m.json", "--json").stdout)
    assert content["digest"] == stored["digest"]
    assert content["ledger"] == book.cite("trial", entry)

    run("fit", table, *OPTIONS, "--out", tmp_path / "free.json")
    assert "Ledger: none was charged" in run("show", tmp_path / "free.json").stdout


@pytest.mark.parametrize("extra", [["--seed", 1], ["--recipe", "ight"]], ids=["seeded", "baseline"])
def test_show_cannot_look_green_without_a_promise(tmp_path, table, extra):
    for form in ([], ["--json"]):
        made = run("fit", table, *OPTIONS, *extra, "--out", tmp_path / "m.json", *form)
        assert made.exit_code == 7
        assert "carries no guarantee" in made.stderr
        assert form or made.stdout.endswith(f"Saved: {tmp_path / 'm.json'}\n")
        assert not form or json.loads(made.stdout)["model"] == str(tmp_path / "m.json")
    result = run("show", tmp_path / "m.json")
    assert result.exit_code == 7
    assert result.stdout.startswith("CAVEAT: ")
    assert "WITHOUT privacy" in result.stdout
    assert "carries no guarantee" in result.stderr
    machine = run("show", tmp_path / "m.json", "--json")
    assert machine.exit_code == 7
    assert json.loads(machine.stdout)["private"] is False


def test_a_hopeless_fit_is_told_on_standard_error(tmp_path, table):
    result = run("fit", table, *OPTIONS[:-2], "--epsilon", 0.01, "--out", tmp_path / "m.json")
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: Noise hides the signal")
    assert "Note: the planner called this fit hopeless" in result.stdout


def test_show_and_audit_say_first_that_a_file_was_edited(tmp_path, table):
    run("fit", table, *OPTIONS, "--out", tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content["statement"]["epsilon"] = 0.01
    (tmp_path / "m.json").write_text(json.dumps(content))
    result = run("show", tmp_path / "m.json")
    assert result.exit_code == 2
    assert result.stdout.startswith("CAVEAT: the model file was edited")
    assert "WITHOUT privacy" in result.stdout
    assert "rho = " not in result.stdout
    assert json.loads(run("show", tmp_path / "m.json", "--json").stdout)["edited"] is True
    for command in (["audit", tmp_path / "m.json"], ["predict", tmp_path / "m.json", table]):
        result = run(*command)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "edited after it was saved" in result.stderr


@pytest.mark.parametrize("kind", ["pipeline", "search"])
def test_show_describes_pipelines_and_searches_with_their_own_statement(tmp_path, kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (80, 3))
    model = SparseRegressor(recipe="dp_ight", feature_bound=1.0, target_bound=2.0)
    whole = (
        make_private_pipeline(PrivateScaler(feature_bound=1.0), model, epsilon=2.0, delta=1e-5)
        if kind == "pipeline"
        else PrivateSearch(model, {"sparsity": [2, 3]}, epsilon=2.0, delta=1e-5)
    )
    whole.fit(X, X[:, 0]).save(tmp_path / "whole.json")
    found = run("show", tmp_path / "whole.json", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["statement"] == json.loads(json.dumps(whole.statement_.to_dict()))
    assert "features selected" in run("show", tmp_path / "whole.json").output
