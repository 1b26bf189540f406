"""A fault after every step that follows a payment: it is told, the ledger counts what was answered, and nothing paid is lost silently."""

from __future__ import annotations

import inspect
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import dpsparse
from dpsparse import Ledger, PrivateScaler, PrivateSearch, SparseRegressor, make_private_pipeline, recipes
from dpsparse.accounting.random_stopping import PoissonRuns
from dpsparse.ledger.reservation import Reservation

HOME = Path(dpsparse.__file__).parent
#: Rooms whose code stands between an answer that was paid for and the user who gets it.
ROOMS = tuple(str(HOME / room) for room in ("estimators", "fitting", "ledger", "core"))
#: Where the note itself is about to be written.
SILENT = ("reservation.py:__exit__", "reservation.py:_end")
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (40, 3))
Y = np.clip(X[:, 0], -1, 1)
RECIPE = recipes.DPIGHT(mechanism="dense", steps=2)


def plain(**ledger):
    return SparseRegressor(epsilon=0.1, feature_bound=1.0, target_bound=1.0, recipe=RECIPE, **ledger)


def pipeline(**ledger):
    return make_private_pipeline(PrivateScaler(feature_bound=1.0), plain(), epsilon=0.1, **ledger)


def search(**ledger):
    space = {"sparsity": [1, 2]}
    return PrivateSearch(plain(), space, epsilon=0.1, mean_runs=2.0, law="poisson", score_bound=1.0, **ledger)


class Fault(Exception):
    """What no code of ours expects."""


class Faults:
    """Counts the functions of ours that are first called after a reservation was made, and makes one of them fail."""

    def __init__(self, fail: int | None = None) -> None:
        self.fail = fail
        self.seen: dict[object, int] = {}
        self.paid = False
        self.where = ""

    def __call__(self, frame, event, _) -> None:
        code = frame.f_code
        if event == "return" and code.co_name == "reserve":
            self.paid = True
        if event != "call" or not self.paid or not code.co_filename.startswith(ROOMS) or code in self.seen:
            return
        if code.co_flags & inspect.CO_GENERATOR:  # entered again to clean up
            return
        self.seen[code] = len(self.seen)
        if self.seen[code] == self.fail:
            self.where = f"{Path(code.co_filename).name}:{code.co_name}"
            raise Fault(self.where)

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


def attempt(model, fail):
    """Fit with one fault; returns what was raised, what was warned, and where."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with Faults(fail) as faults:
                model.fit(X, Y)
        except Fault as fault:
            return fault, said, faults
    return None, said, faults


@pytest.mark.parametrize(
    "make", [plain, pytest.param(pipeline, marks=pytest.mark.slow), pytest.param(search, marks=pytest.mark.slow)]
)
def test_a_fault_after_a_payment_is_told_and_what_was_answered_counts(make, tmp_path, monkeypatch):
    book = Ledger(f"sqlite:///{tmp_path / 'book.db'}")
    book.create("d", epsilon=1e4, delta=0.1)
    started = []
    ordinary = Reservation.start
    monkeypatch.setattr(Reservation, "start", lambda self, *a: (ordinary(self, *a), started.append(self.entry))[0])
    options = {"ledger": book, "dataset": "d"}
    monkeypatch.setattr(PoissonRuns, "draw", lambda *_: 1)
    fault, _, counted = attempt(make(**options), None)
    assert fault is None
    assert len(counted.seen) > 20
    for fail in range(
        1, len(counted.seen)
    ):  # before the first, the reservation is not entered: it counts, and is not answered
        model = make(**options)
        fault, said, faults = attempt(model, fail)
        if not faults.where:  # caches made this fit call fewer functions
            continue
        entry = book.entries("d")[-1]
        answered = entry.number in started
        assert entry.status in (("started", "done") if answered else ("refunded", "reserved", "started")), faults.where
        if fault is None:  # caught: then there is a model, and a word about it
            assert model.statement_.ledger["entry"] == entry.number, faults.where
            assert [w for w in said if "is charged" in str(w.message)], faults.where
        elif answered and entry.status != "done" and faults.where not in SILENT:
            assert f"Entry {entry.number} counts" in "".join(fault.__notes__), faults.where
    assert book.verify()
