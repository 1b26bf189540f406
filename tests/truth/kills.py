"""Processes that are killed at a chosen place of a chosen answer, by the signal that cannot be caught."""

from __future__ import annotations

import os
import signal
import traceback

import numpy as np

from dpsparse import Ledger, SparseClassifier, SparseRegressor, recipes
from dpsparse.oracles.tape import TapedOracle
from dpsparse.oracles.tape_file import Answer, TapeFile

#: Before a new answer is drawn; when it was drawn and nothing of it is stored; when half of its record is written; when all of
#: it is written and not yet synced; when it is durable and not yet returned.
POINTS = ("draw", "append", "torn", "sync", "return")

#: Recipes of a curator that can be paid out of a ledger: all that are private, but for those that protect labels only.
CENTRAL = tuple(
    name for name in recipes.names() if recipes.get(name).private and not name.startswith(("label_", "auto"))
)
ACCEPTED = ("unproven", "known-design")


#: What ends processes: the system, a scheduler, a person.
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def arm(point: str, number: int, how: signal.Signals) -> None:
    """Let this process get a signal at a place of its new answer of this number, counted from 0."""
    draw, append, write, drawn = TapedOracle._draw, TapeFile.append, TapeFile._write, [-1]

    def kill():
        signal.raise_signal(how)

    def armed_draw(self, question, asked):
        drawn[0] += 1
        if point == "draw" and drawn[0] == number:
            kill()
        return draw(self, question, asked)

    def armed_append(self, record, data=b""):
        self.armed = isinstance(record, Answer) and drawn[0] == number
        append(self, record, data)
        if self.armed and point == "return":
            kill()

    def armed_write(self, content):
        if self.armed and point == "append":
            kill()
        write(self, content)
        if self.armed and point == "torn":
            os.ftruncate(self._handle, self._end + len(content) // 2)
        if self.armed and point in ("torn", "sync"):
            kill()

    TapedOracle._draw, TapeFile.append, TapeFile._write = armed_draw, armed_append, armed_write


def killed(point: str, number: int, work, how: signal.Signals = signal.SIGKILL) -> bool:
    """Whether a fork that does this work was ended there by a signal; False if it ended before."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts its background jobs without
        try:
            arm(point, number, how)
            work()
        except KeyboardInterrupt:
            os._exit(130)
        except BaseException:
            traceback.print_exc()
            os._exit(9)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) in (0, 130), "the work failed by itself"
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 130


class Counted:
    """How many answers are drawn while this block is entered."""

    def __enter__(self):
        self.drawn, self._draw = 0, TapedOracle._draw

        def draw(oracle, question, asked):
            self.drawn += 1
            return self._draw(oracle, question, asked)

        TapedOracle._draw = draw
        return self

    def __exit__(self, *_):
        TapedOracle._draw = self._draw


class Job:
    """A fit with a seed that is paid out of a ledger and kept in a folder, and what it gives.

    Parameters
    ----------
    folder : Path
    name : str
        Of a recipe.
    task : {"classes", "numbers"}
    """

    def __init__(self, folder, name, task="numbers", rows=None, **arguments):
        rng = np.random.default_rng(5)
        self.folder, self.name, self.rows = folder, name, rows
        self.X = rng.uniform(-1, 1, (150, 6))
        score = self.X[:, 0] - self.X[:, 3] + 0.1 * rng.standard_normal(150)
        self.y = (score > 0).astype(int) if task == "classes" else np.clip(score, -2, 2)
        kind, own = (
            (SparseClassifier, {"classes": [0, 1]}) if task == "classes" else (SparseRegressor, {"target_bound": 2.0})
        )
        self.kind = kind
        # at a smaller epsilon these recipes ask so few rows for the constant only, which is one answer
        epsilon = 200.0 if name in ("auto", "tables", "select_polish", "dual_averaging") else 4.0
        self.arguments = {"epsilon": epsilon, "delta": 1e-5, "feature_bound": 1.0, "random_state": 3, "recipe": name}
        self.arguments |= {"accept": ACCEPTED, **own, **arguments}
        self.ledger = Ledger(f"sqlite:///{folder}/budget.db")

    def open(self):
        self.ledger.create("trial", epsilon=2000.0, delta=1e-2, kind="renyi")
        return self

    def model(self, run_id, **arguments):
        X, y = (self.X, self.y) if self.rows is None else self.rows(self.X, self.y)
        paid = {"ledger": self.ledger, "dataset": "trial", "run_id": run_id, "resume": self.folder / "runs"}
        return self.kind(**{**self.arguments, **paid, **arguments}).fit(X, y)

    def __call__(self, run_id):
        """What a fit releases: coefficients, and what was drawn."""
        model = self.model(run_id)
        return model.coef_.tobytes(), model.statement_.asks

    def statuses(self, run_id):
        return [entry.status for entry in self.ledger.entries("trial") if entry.run_id == run_id]


def survives(job, point, number, total, expected, how=signal.SIGKILL):
    """End a job at a place, run it again, and compare with one that was not disturbed.

    What stands on the tape is played and what does not is drawn: together they are the plan, and one entry pays for them.
    An interrupt that comes before the first answer refunds the entry.
    """
    run_id = f"{point} {number} {how.name}"
    assert killed(point, number, lambda: job(run_id), how)
    durable = number + (point in ("sync", "return"))
    with Counted() as counted:
        assert job(run_id) == expected
    assert counted.drawn == total - durable
    assert [status for status in job.statuses(run_id) if status != "refunded"] == ["done"]
