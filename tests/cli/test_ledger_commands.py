"""``dpsparse ledger``, and fits that are charged from the command line."""

import json
import signal
import sqlite3

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse import Ledger
from dpsparse.cli import main
from dpsparse.estimators.model_file import model_digest
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
    options += ["--delta", "1e-6", "--dataset", more.pop("dataset", "trial")]
    options += [] if address is None else ["--ledger", address]
    for name, value in more.items():
        options += [f"--{name.replace('_', '-')}", value]
    return run("fit", table, *options, "--epsilon", epsilon, "--out", table.parent / "model.json", "--json", code=code)


def seal(path, content):
    """Write a model file with a digest that fits, as whoever edits one can."""
    path.write_text(json.dumps({**content, "digest": model_digest(content)}))


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
    assert "In order: 5 events on 1 dataset." in run("ledger", "verify", address).stdout


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


def test_bad_totals_are_bad_arguments(tmp_path):
    where = f"sqlite:///{tmp_path}/other.db"
    for epsilon, delta in ((-1, "1e-6"), (1, 2)):
        run("ledger", "create", where, "trial", "--epsilon", epsilon, "--delta", delta, code=2)
    assert not (tmp_path / "other.db").exists()


def test_an_export_that_cannot_be_written_has_its_exit_code(address, tmp_path):
    run("ledger", "export", address, "--out", tmp_path / "none" / "ledger.json", code=2)


@pytest.mark.parametrize("command", ["create", "show", "export", "verify"])
def test_every_command_shows_an_example(command):
    assert f"dpsparse ledger {command} sqlite:///budget.db" in run("ledger", command, "--help").stdout


def test_used_capacity_and_odometer_are_shown_by_their_names(address, table):
    fit(table, address, 1.0)
    shown = json.loads(run("ledger", "show", address, "trial", "--json").stdout)
    assert shown["used"] == pytest.approx(1 / 3, rel=1e-3)
    assert shown["spent"]["epsilon"] < shown["odometer"]["epsilon"] < 1.2
    text = run("ledger", "show", address, "trial").stdout
    assert f"used capacity  epsilon = {shown['spent']['epsilon']:.6g}" in text
    assert "odometer       epsilon = 1.1" in text
    assert "spent" not in text


def test_the_environment_names_the_ledger(tmp_path, monkeypatch):
    where = f"sqlite:///{tmp_path}/budget.db"
    monkeypatch.setenv("DPSPARSE_LEDGER", where)
    run("ledger", "create", "trial", "--epsilon", 3, "--delta", "1e-6")
    assert run("ledger", "show", "trial").stdout == run("ledger", "show", where, "trial").stdout
    assert run("ledger", "show").stdout == run("ledger", "show", where).stdout
    assert run("ledger", "verify").stdout == run("ledger", "verify", where).stdout
    assert run("ledger", "export").stdout == run("ledger", "export", where).stdout
    monkeypatch.delenv("DPSPARSE_LEDGER")
    assert "set DPSPARSE_LEDGER" in run("ledger", "verify", code=2).stderr
    assert "not the address of a ledger" in run("ledger", "show", "trial", code=2).stderr
    assert "no dataset was named" in run("ledger", "create", where, "--epsilon", 3, "--delta", "1e-6", code=2).stderr


def test_a_model_is_verified_by_its_entry(address, table, tmp_path):
    fit(table, address, 1.0)
    model = table.parent / "model.json"
    text = run("ledger", "verify", address, "--model", model).stdout
    assert "was paid for by entry 3 of dataset 'trial' (done)" in text
    found = json.loads(run("ledger", "verify", address, "--model", model, "--json").stdout)
    assert found["model"] == {"dataset": "trial", "entry": 3, "status": "done"}

    run("ledger", "create", f"sqlite:///{tmp_path}/other.db", "trial", "--epsilon", 3, "--delta", "1e-6")
    assert (
        "another ledger" in run("ledger", "verify", f"sqlite:///{tmp_path}/other.db", "--model", model, code=5).stderr
    )


def test_a_model_that_cites_a_cheaper_entry_is_not_verified(address, table):
    fit(table, address, 0.2)
    model = table.parent / "model.json"
    cheap = json.loads(model.read_text())["statement"]["ledger"]
    fit(table, address, 1.0)
    content = json.loads(model.read_text())
    content["statement"]["ledger"] = cheap
    seal(model, content)
    assert "is not the entry of this model" in run("ledger", "verify", address, "--model", model, code=5).stderr


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("statement", "epsilon"), 0.5, "states epsilon = 0.5"),
        (("statement", "mu"), 0.1, "is not the entry of this model"),
        (("statement", "ledger", "entry"), 2, "does not match this ledger"),
        (("statement", "ledger", "head"), "0" * 64, "does not match this ledger"),
        (("statement", "ledger", "entry_hash"), "0" * 64, "does not match this ledger"),
    ],
)
def test_a_model_that_was_edited_is_not_verified(address, table, where, value, message):
    fit(table, address, 1.0)
    model = table.parent / "model.json"
    content = json.loads(model.read_text())
    part = content
    for name in where[:-1]:
        part = part[name]
    part[where[-1]] = value
    model.write_text(json.dumps(content))
    assert "was edited after it was saved" in run("ledger", "verify", address, "--model", model, code=5).stderr
    seal(model, content)
    assert message in run("ledger", "verify", address, "--model", model, code=5).stderr


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "[" * 100_000, '{"statement": {"epsilon": 1}}', '{"ledger": {}}', '{"ledger": {"entry": 3}}'],
)
def test_what_names_no_entry_is_refused(address, tmp_path, text):
    path = tmp_path / "odd.json"
    path.write_text(text)
    run("ledger", "verify", address, "--model", path, code=2)
    assert "not an ordinary file" in run("ledger", "verify", address, "--model", tmp_path, code=2).stderr


def test_notes_are_printed(address, table, monkeypatch):
    """A failure after the reservation whose refund fails too: the entry counts, and the command says so."""
    from dpsparse.core import LedgerNotWrittenError
    from dpsparse.ledger.sqlite import SqliteStore

    def full(self, action):
        raise LedgerNotWrittenError("the disk is full.")

    def fail(*_, **__):
        monkeypatch.setattr(SqliteStore, "write", full)
        raise ValueError("something is wrong.")

    monkeypatch.setattr("dpsparse.fitting.session.MemoryHost", fail)
    said = fit(table, address, 1.0, code=2).stderr
    assert "something is wrong." in said
    assert "Entry 3 could not be refunded and counts as spent." in said


def test_a_disk_that_is_full_before_the_first_answer_says_what_counts(address, table, monkeypatch):
    from dpsparse.core import LedgerNotWrittenError
    from dpsparse.ledger.reservation import Reservation
    from dpsparse.ledger.sqlite import SqliteStore

    start = Reservation.start

    def full(self, action):
        raise LedgerNotWrittenError("the disk is full.")

    def filled(self, name=""):
        monkeypatch.setattr(SqliteStore, "write", full)
        start(self, name)

    monkeypatch.setattr(Reservation, "start", filled)
    said = fit(table, address, 1.0, code=4).stderr
    assert "Nothing was reserved" not in said
    assert "Entry 3 could not be refunded and counts" in said
    monkeypatch.undo()
    assert [e.status for e in Ledger(address).entries("trial")] == ["reserved"]


def test_labels_and_runs_are_given_by_options(address, table, monkeypatch):
    fit(table, address, 0.5, label="night job", run_id="2025-06-01")
    [entry] = Ledger(address).entries("trial")
    assert (entry.label, entry.run_id) == ("night job", "2025-06-01")
    assert "night job  run 2025-06-01" in run("ledger", "show", address, "trial").stdout
    said = fit(table, address, 0.6, code=2, run_id="2025-06-01").stderr
    assert "run '2025-06-01' is done for work of another cost" in said
    monkeypatch.setenv("DPSPARSE_LEDGER", address)
    fit(table, None, 0.5, run_id="2025-06-02")
    assert len(Ledger(address).entries("trial")) == 2


# ------------------------------------------------------------------------------------------------ runs that go on


def text_fit(table, address, *more, code=0):
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
        "dp_gcd",
    ]
    paid = [
        "--epsilon",
        0.5,
        "--delta",
        "1e-6",
        "--ledger",
        address,
        "--dataset",
        "trial",
        "--out",
        table.parent / "model.json",
    ]
    return run("fit", table, *options, *paid, *more, code=code)


def test_a_run_that_is_done_is_no_failure_and_its_model_is_made_again_if_it_is_lost(address, table):
    first = text_fit(table, address, "--run-id", "night")
    model = table.parent / "model.json"
    content = model.read_bytes()
    assert "Run night is done already" in text_fit(table, address, "--run-id", "night").stdout
    model.unlink()
    assert text_fit(table, address, "--run-id", "night").stdout == first.stdout
    assert model.read_bytes() == content, "the same model, with the same citation"
    shown = json.loads(fit(table, address, 0.5, run_id="other", recipe="dp_gcd").stdout)
    assert shown["statement"]["ledger"]["entry"] != json.loads(content)["statement"]["ledger"]["entry"]
    assert text_fit(table, address, "--run-id", "night").stdout == first.stdout, "another model at --out is replaced"
    assert model.read_bytes() == content
    assert len(Ledger(address).entries("trial")) == 2


def test_a_model_that_was_edited_is_made_again(address, table):
    text_fit(table, address, "--run-id", "night")
    model = table.parent / "model.json"
    content = model.read_bytes()
    model.write_bytes(content.replace(b'"coef"', b'"Coef"'))
    text_fit(table, address, "--run-id", "night")
    assert model.read_bytes() == content


@pytest.mark.parametrize("lost", [False, True])
def test_a_run_that_is_done_gives_its_model_whatever_the_rows_are_now(address, table, lost):
    text_fit(table, address, "--run-id", "night")
    model = table.parent / "model.json"
    content = model.read_bytes()
    X = np.random.default_rng(1).uniform(0, 2, (500, 6))
    np.savez(table, X=X, y=-X[:, 1])
    if lost:
        model.unlink()
    text_fit(table, address, "--run-id", "night")
    assert model.read_bytes() == content
    assert len(Ledger(address).entries("trial")) == 1


def test_answers_are_kept_beside_the_ledger_under_a_name_of_their_own(address, table, monkeypatch):
    text_fit(table, address)
    [entry] = Ledger(address).entries("trial")
    assert entry.run_id.startswith("fit-20")
    [tape] = (table.parent / "budget.db.runs").iterdir()
    assert tape.name.startswith(entry.run_id)
    text_fit(table, address, "--resume-dir", table.parent / "mine", "--run-id", "b")
    assert len(list((table.parent / "mine").iterdir())) == 1
    monkeypatch.setenv("DPSPARSE_RESUME", str(table.parent / "environment"))
    text_fit(table, address, "--run-id", "c")
    assert len(list((table.parent / "environment").iterdir())) == 1
    text_fit(table, address, "--run-id", "d", "--no-resume")
    (table.parent / "model.json").unlink()
    said = text_fit(table, address, "--run-id", "d", "--no-resume", code=2).stderr
    assert "is done: use the model that it saved" in said
    assert len(list(table.parent.rglob("*.tape"))) == 3


def test_options_that_contradict_each_other(address, table):
    said = text_fit(table, address, "--no-resume", "--resume-dir", "x", code=2).stderr
    assert "contradict each other" in said
    alone = ["--task", "regression", "--feature-bound", "0,2", "--target-bound", 4, "--resume-dir", "x"]
    assert "needs a ledger" in run("fit", table, *alone, code=2).stderr


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("stopped", "code"),
    [(interrupt, 1), (lambda: signal.raise_signal(signal.SIGTERM), 143)],
    ids=["SIGINT", "SIGTERM"],
)
def test_an_interrupted_run_says_how_to_go_on_and_goes_on(address, table, monkeypatch, stopped, code):
    from dpsparse.oracles.tape import TapedOracle

    ordinary, drawn = TapedOracle._draw, []

    def stop(self, question, asked):
        drawn.append(1)
        if len(drawn) == 3:
            stopped()
        return ordinary(self, question, asked)

    with monkeypatch.context() as patched:
        patched.setattr(TapedOracle, "_draw", stop)
        said = text_fit(table, address, code=code).stderr
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    [entry] = Ledger(address).entries("trial")
    assert f"The same command with --run-id {entry.run_id} goes on" in said
    text_fit(table, address, "--run-id", entry.run_id)
    assert [e.status for e in Ledger(address).entries("trial")] == ["done"]


def test_a_run_that_another_process_has_is_tried_again_later(address, table):
    import fcntl

    text_fit(table, address, "--run-id", "night")
    [tape] = (table.parent / "budget.db.runs").iterdir()
    (table.parent / "model.json").unlink()
    with tape.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another process runs this run_id" in text_fit(table, address, "--run-id", "night", code=4).stderr
    text_fit(table, address, "--run-id", "night")


def test_scores_go_on_too(address, table):
    text_fit(table, address)
    arguments = [
        "score",
        table.parent / "model.json",
        table,
        "--epsilon",
        0.5,
        "--ledger",
        address,
        "--dataset",
        "trial",
    ]
    card = run(*arguments, "--run-id", "scored", "--json").stdout
    assert json.loads(run(*arguments, "--run-id", "scored", "--json").stdout) == json.loads(card)
    assert len(Ledger(address).entries("trial")) == 2
