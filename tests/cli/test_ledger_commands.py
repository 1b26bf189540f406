"""``dpsparse ledger``, and fits that are charged from the command line."""

import json
import sqlite3

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse import Ledger
from dpsparse.cli import main
from dpsparse.ledger.chain import EVENTS


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def address(tmp_path):
    where = f"sqlite:///{tmp_path}/budget.db"
    run("ledger", "create", where, "trial", "--epsilon", 3, "--delta", "1e-6")
    return where


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, (500, 6))
    np.savez(tmp_path / "trial.npz", X=X, y=X[:, 0] - X[:, 2])
    return tmp_path / "trial.npz"


def fit(table, address, epsilon, code=0, **more):
    options = [
        "--task",
        "regression",
        "--feature-bound",
        "0,2",
        "--target-bound",
        4,
        "--sparsity",
        2,
        "--recipe",
        "dp_ight",
    ]
    options += ["--delta", "1e-6", "--ledger", address, "--dataset", more.get("dataset", "trial")]
    return run("fit", table, *options, "--epsilon", epsilon, "--out", table.parent / "model.json", "--json", code=code)


def test_a_ledger_is_made_charged_shown_exported_and_verified(address, table):
    statement = json.loads(fit(table, address, 1.0).stdout)["statement"]
    assert statement["ledger"]["dataset"] == "trial"
    shown = json.loads(run("ledger", "show", address, "trial", "--json").stdout)
    assert shown["spent"]["epsilon"] == pytest.approx(1.0, rel=1e-3)
    assert shown["remaining"]["epsilon"] < 3
    assert [e["status"] for e in shown["entries"]] == ["done"]
    text = run("ledger", "show", address).stdout
    assert "trial: total (3, 1e-06) under replace-one, counted by gaussian" in text
    out = table.parent / "ledger.json"
    run("ledger", "export", address, "--out", out)
    head = json.loads(out.read_text())["head"]["hash"]
    assert json.loads(run("ledger", "export", address).stdout) == json.loads(out.read_text())
    found = json.loads(run("ledger", "verify", address, "--head", head, "--json").stdout)
    assert (found["verified"], found["head"]) == (True, head)
    assert "In order: 5 events on 1 datasets" in run("ledger", "verify", address).stdout


def test_a_refused_budget_has_its_exit_code(address, table):
    fit(table, address, 2.9)
    assert "would fit" in fit(table, address, 2.0, code=3).stderr


def test_a_changed_ledger_has_its_exit_code(address, table):
    with sqlite3.connect(address.removeprefix("sqlite:///")) as connection:
        connection.execute(f"DROP TRIGGER {EVENTS}_no_update")
        connection.execute(f"UPDATE {EVENTS} SET dataset = 'other' WHERE number = 2")
    connection.close()
    assert "does not verify" in run("ledger", "verify", address, code=5).stderr


def test_a_ledger_that_cannot_be_charged_is_refused_before_the_data_is_read(tmp_path, address):
    missing = tmp_path / "nowhere.npz"
    assert "there is no ledger at" in fit(missing, f"sqlite:///{tmp_path}/none.db", 1.0, code=2).stderr
    assert "is not in the ledger" in fit(missing, address, 1.0, code=2, dataset="other").stderr
    assert (
        "belong together"
        in run(
            "fit",
            missing,
            "--task",
            "regression",
            "--feature-bound",
            1,
            "--target-bound",
            1,
            "--ledger",
            address,
            code=2,
        ).stderr
    )


def test_a_budget_is_set_once(address):
    again = ["ledger", "create", address, "trial", "--epsilon", 9, "--delta", "1e-6"]
    assert "never set anew" in run(*again, code=2).stderr
    assert Ledger(address).total("trial").epsilon == 3.0


def test_bad_totals_have_the_exit_code_of_budgets(tmp_path):
    where = f"sqlite:///{tmp_path}/other.db"
    for epsilon, delta in ((-1, "1e-6"), (1, 2)):
        run("ledger", "create", where, "trial", "--epsilon", epsilon, "--delta", delta, code=3)
    assert not (tmp_path / "other.db").exists()


def test_an_export_that_cannot_be_written_has_its_exit_code(address, tmp_path):
    run("ledger", "export", address, "--out", tmp_path / "none" / "ledger.json", code=4)


@pytest.mark.parametrize("command", ["create", "show", "export", "verify"])
def test_every_command_shows_an_example(command):
    assert f"dpsparse ledger {command} sqlite:///budget.db" in run("ledger", command, "--help").stdout
