"""A run that has a name is charged once, whatever happens between its attempts."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from dpsparse import Ledger, NoisyCount, PrivateScaler, SparseRegressor, private_score
from dpsparse.core import LedgerError, LedgerNotWrittenError, RunRepeatedError
from dpsparse.ledger import Reservation, reserve
from truth.ledgers import bill


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(f"sqlite:///{tmp_path}/budget.db")
    made.create("trial", 3.0, 1e-6)
    made.create("other", 3.0, 1e-6)
    return made


class Broken(Exception):
    """What goes wrong in a fit."""


def test_labels_and_runs_are_kept_with_their_entry(ledger):
    with reserve(ledger, "trial", bill(), label="night job", run_id="2025-06-01", seeded=False):
        pass
    [entry] = ledger.entries("trial")
    assert (entry.label, entry.run_id) == ("night job", "2025-06-01")
    ledger.verify()


def test_a_run_that_is_done_is_refused_and_not_charged_again(ledger):
    with ledger.reserve("trial", bill(), run_id="night") as reservation:
        reservation.start()
    before = ledger.export()
    with pytest.raises(
        RunRepeatedError, match=r"run 'night' is done.*entry 4 of dataset 'trial'.*nothing more was"
    ) as refused:
        ledger.reserve("trial", bill(), run_id="night")
    assert (refused.value.entry, refused.value.status) == (reservation.entry, "done")
    assert pickle.loads(pickle.dumps(refused.value)).entry == reservation.entry
    assert ledger.export() == before


def test_a_run_that_began_to_answer_is_refused(ledger):
    first = ledger.reserve("trial", bill(), run_id="night")
    first.start()
    with pytest.raises(RunRepeatedError, match="was started") as refused:
        ledger.reserve("trial", bill(), run_id="night")
    assert refused.value.status == "started"
    assert len(ledger.entries("trial")) == 1


def test_a_run_that_died_before_its_first_answer_is_taken_up(ledger):
    code = (
        "import os, sys; from dpsparse import Ledger; from truth.ledgers import bill\n"
        "with Ledger(sys.argv[1]).reserve('trial', bill(), run_id='night'):\n    os.kill(os.getpid(), 9)\n"
    )
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code, ledger.address], check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == -9
    taken = ledger.describe("trial")
    with ledger.reserve("trial", bill(), run_id="night") as reservation:
        reservation.start()
    [entry] = ledger.entries("trial")
    assert (entry.number, entry.status) == (reservation.entry, "done")
    assert ledger.describe("trial").totals == taken.totals
    assert reservation.citation() == ledger.cite("trial", entry.number)
    ledger.verify()


def test_of_two_who_hold_one_entry_one_answers(ledger):
    one, two = (ledger.reserve("trial", bill(), run_id="night") for _ in range(2))
    assert one.entry == two.entry
    one.start()
    with pytest.raises(LedgerError, match="cannot start"):
        two.start()
    with pytest.raises(LedgerError, match="cannot refund"):
        two.refund()
    assert len(ledger.entries("trial")) == 1


def test_a_refund_by_one_keeps_the_other_from_answering(ledger):
    one, two = (ledger.reserve("trial", bill(), run_id="night") for _ in range(2))
    two.refund()
    with pytest.raises(LedgerError, match="cannot start"):
        one.start()
    assert ledger.spent("trial").epsilon == 0


def test_a_refunded_run_is_charged_anew(ledger):
    def attempt():
        with ledger.reserve("trial", bill(), run_id="night"):
            raise Broken

    for _ in range(2):
        with pytest.raises(Broken):
            attempt()
    with ledger.reserve("trial", bill(), run_id="night") as reservation:
        reservation.start()
    assert [e.status for e in ledger.entries("trial")] == ["refunded", "refunded", "done"]
    with pytest.raises(RunRepeatedError):
        ledger.reserve("trial", bill(), run_id="night")


def test_another_cost_under_the_same_name_is_refused(ledger):
    ledger.reserve("trial", bill(0.5), run_id="night")
    with pytest.raises(RunRepeatedError, match="another cost"):
        ledger.reserve("trial", bill(0.25), run_id="night")


def test_runs_of_other_datasets_and_other_names_are_others(ledger):
    ledger.reserve("trial", bill(0.5), run_id="night")
    ledger.reserve("other", bill(0.5), run_id="night")
    ledger.reserve("trial", bill(0.5), run_id="Night")
    ledger.reserve("trial", bill(0.5))
    ledger.reserve("trial", bill(0.5))
    assert len(ledger.entries("trial")) == 4


def test_a_run_that_was_reserved_meanwhile_is_found_inside_the_transaction(ledger, monkeypatch):
    from dpsparse.ledger.state import State

    ledger.reserve("trial", bill(0.1))  # decides how to count, so that the price stays good
    priced = State.charge

    def meanwhile(self, cost):
        monkeypatch.undo()  # once: the same run is reserved by another process while this one is being priced
        ledger.reserve("trial", bill(), run_id="night")
        return priced(self, cost)

    monkeypatch.setattr(State, "charge", meanwhile)
    ledger.reserve("trial", bill(), run_id="night")
    assert len(ledger.entries("trial")) == 2


def test_a_retry_after_an_unknown_commit_is_not_charged_twice(ledger, monkeypatch):
    from dpsparse.ledger.sqlite import SqliteStore

    write = SqliteStore.write

    def unknown(self, action):
        write(self, action)
        raise LedgerNotWrittenError("no answer came.", "unknown", 4)

    monkeypatch.setattr(SqliteStore, "write", unknown)
    with pytest.raises(
        LedgerNotWrittenError, match=r"not known whether an entry was reserved.*same run_id is not charged twice"
    ):
        ledger.reserve("trial", bill(), run_id="night")
    monkeypatch.undo()
    ledger.reserve("trial", bill(), run_id="night")
    assert len(ledger.entries("trial")) == 1


@pytest.mark.parametrize("bad", ["", "  ", "a\nb", "x" * 201, 7, "postgresql://u:pw@h/db"])
def test_bad_names_of_runs_and_bad_labels_are_refused(ledger, bad):
    with pytest.raises(LedgerError, match="a run_id must be 1 to 200 printable"):
        ledger.reserve("trial", bill(), run_id=bad)
    if bad != "":
        with pytest.raises(LedgerError, match="a label must be 1 to 200 printable"):
            ledger.reserve("trial", bill(), label=bad)
    assert ledger.entries("trial") == ()


@pytest.mark.parametrize("first", [False, True])
def test_what_was_reserved_without_a_seed_is_not_taken_up_with_one(ledger, first):
    """Nor the other way round: the entry says what its noise was."""
    label = "x [seed: not private]" if first else "x"
    ledger.reserve("trial", bill(), label=label, run_id="night")
    again = reserve(ledger, "trial", bill(), label="x", run_id="night", seeded=not first)
    with pytest.raises(RunRepeatedError, match="reserved for work with another random_state"), again:
        pass
    with reserve(ledger, "trial", bill(), label="x", run_id="night", seeded=first):
        pass
    assert [entry.label for entry in ledger.entries("trial")] == [label]


def test_whoever_pays_for_noise_from_a_seed_says_so_in_the_ledger(ledger):
    paid, X = {"ledger": ledger, "dataset": "trial", "random_state": 0}, np.zeros((50, 2))
    PrivateScaler(epsilon=0.1, delta=1e-7, feature_bound=1.0, **paid).fit(X)
    settings = {"epsilon": 0.1, "delta": 1e-7}
    model = SparseRegressor(**settings, sparsity=1, feature_bound=1.0, target_bound=1.0).fit(X, X[:, 0])
    private_score(model, X, X[:, 0], **settings, **paid)
    assert [entry.label for entry in ledger.entries("trial")] == [
        "private column scales [seed: not private]",
        "private score [seed: not private]",
    ]


def test_a_run_without_a_ledger_is_refused():
    with (
        pytest.raises(LedgerError, match="a run_id belongs to a ledger"),
        reserve(None, None, bill(), label="x", run_id="night", seeded=False),
    ):
        pass


def test_a_fit_that_is_tried_again_pays_once(ledger, monkeypatch):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    fields = {"feature_bound": 1.0, "target_bound": 1.0, "recipe": "dp_ight", "epsilon": 0.5, "delta": 1e-6}
    model = SparseRegressor(**fields, ledger=ledger, dataset="trial", run_id="night", label="night job")
    with monkeypatch.context() as patch:
        patch.setattr(Reservation, "refund", lambda self: None)  # it dies: neither started nor refunded
        patch.setattr(Reservation, "start", lambda self, _="": (_ for _ in ()).throw(Broken()))
        with pytest.raises(Broken):
            model.fit(X, X[:, 0])
    assert [e.status for e in ledger.entries("trial")] == ["reserved"]
    model.fit(X, X[:, 0])
    [entry] = ledger.entries("trial")
    assert (entry.status, entry.label) == ("done", "night job")
    assert ledger.verify_citation(model.statement_.ledger) == entry
    with pytest.raises(RunRepeatedError):
        clone(model).fit(X, X[:, 0])


@pytest.mark.parametrize("step", [PrivateScaler(feature_bound=1.0), NoisyCount()], ids=["scaler", "count"])
def test_a_step_alone_has_a_label_and_is_charged_once_for_a_run(ledger, step):
    if isinstance(step, NoisyCount):
        ledger.create("counted", 3.0, 1e-6, adjacency="add-remove")
    named = {"dataset": "counted" if isinstance(step, NoisyCount) else "trial", "label": "scales", "run_id": "night"}
    fitted = clone(step).set_params(ledger=ledger, **named).fit(np.zeros((50, 2)))
    [entry] = ledger.entries(named["dataset"])
    assert (entry.label, entry.run_id, entry.status) == ("scales", "night", "done")
    assert fitted.statement_.ledger["entry"] == entry.number
    with pytest.raises(RunRepeatedError, match="run 'night' is done"):
        clone(step).set_params(ledger=ledger, **named).fit(np.zeros((50, 2)))
    assert len(ledger.entries(named["dataset"])) == 1
