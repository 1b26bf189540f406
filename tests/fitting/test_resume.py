"""Fits that are killed anywhere go on with the answers that are stored, pay once, and end with the model they would have had."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dpsparse import (
    PrivateScaler,
    PrivateSearch,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
    private_score,
    recipes,
)
from dpsparse.core import PrivacyError, ResumeError, RetryLaterError
from dpsparse.oracles.tape import Tape, TapedOracle
from dpsparse.oracles.tape_file import HEAD, TapeFile, stored_frames, stored_header
from loopback import spread
from truth.kills import CENTRAL, POINTS, SIGNALS, Counted, Job, killed, survives

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are forked and killed")


#: Of the job below.
ANSWERS = 6
#: A sample of recipes; `CENTRAL` are all.
QUICK = ("dp_gcd", "dp_sgd_ht", "select_polish", "dp_frank_wolfe", "two_stage")


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path, "dp_gcd", recipe=recipes.DPGCD(steps=3)).open()


def whole(job):
    """What an undisturbed fit gives, and how many answers it takes."""
    with Counted() as counted:
        expected = job("undisturbed")
    return expected, counted.drawn


# ------------------------------------------------------------------------------------------------ the sweep


@pytest.mark.parametrize(("point", "how", "name"), list(zip(POINTS, itertools.cycle(SIGNALS), QUICK, strict=False)))
def test_a_sample_of_recipes_survives_a_signal(point, how, name, tmp_path):
    job = Job(tmp_path, name, "classes", sparsity=2).open()
    expected, total = whole(job)
    survives(job, point, total // 2, total, expected, how)


@pytest.mark.slow
@pytest.mark.parametrize(("turn", "name"), list(enumerate(CENTRAL)), ids=CENTRAL)
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_every_central_recipe_survives_a_kill(turn, name, task, tmp_path):
    job = Job(tmp_path, name, task, sparsity=2).open()
    expected, total = whole(job)
    point = POINTS[(turn + (task == "numbers")) % len(POINTS)]
    for number, how in zip(sorted({0, total // 2, total - 1}), SIGNALS, strict=False):
        survives(job, point, number, total, expected, how)
    job.ledger.verify()


@pytest.mark.parametrize("how", SIGNALS)
def test_a_signal_at_every_answer(how, job):
    expected, total = whole(job)
    assert total == ANSWERS
    for number, point in zip(range(total), itertools.cycle(POINTS), strict=False):
        survives(job, point, number, total, expected, how)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("how", SIGNALS)
def test_a_signal_at_every_place_of_every_answer(point, how, job):
    expected, total = whole(job)
    for number in range(total):
        survives(job, point, number, total, expected, how)
    assert not killed(point, total, lambda: job("to the end"))


@pytest.mark.slow
@pytest.mark.parametrize("name", CENTRAL)
@pytest.mark.parametrize("place", ["memory", "disk", "cluster"])
def test_every_answer_of_every_recipe_in_every_place(name, place, tmp_path, monkeypatch):
    job = at(place, tmp_path, monkeypatch, name)
    expected, total = whole(job)
    ways = itertools.cycle(itertools.product(SIGNALS, POINTS))
    for number, (how, point) in zip(range(total), ways, strict=False):
        survives(job, point, number, total, expected, how)
    job.ledger.verify()


def at(place, folder, monkeypatch, name, **arguments):
    """A job whose rows are in memory, on a disk, or on a cluster."""
    if place == "disk":
        monkeypatch.setattr("dpsparse.fitting.session.memory_needed", lambda *_: 2**60)  # nothing fits within a limit
        arguments["memory_limit"] = "200MB"
    together = name in ("two_stage", "dpsl_kt", "ldp_iht", "ldp_moment")
    if place != "memory" and together:
        pytest.skip("this recipe needs all rows in one place")
    rows = None if place != "cluster" else lambda X, y: (spread(X), y)
    return Job(folder, name, rows=rows, sparsity=2, **arguments).open()


@pytest.mark.parametrize("place", ["disk", "cluster"])
def test_rows_in_other_places(place, tmp_path, monkeypatch):
    job = at(place, tmp_path, monkeypatch, "dp_gcd", recipe=recipes.DPGCD(steps=3))
    expected, total = whole(job)
    for number, point in enumerate(POINTS[:total]):
        survives(job, point, number, total, expected)


def test_a_fit_that_was_killed_in_memory_goes_on_on_a_cluster(job):
    expected, total = whole(job)
    assert killed("return", 1, lambda: job("moved"))
    job.rows = lambda X, y: (spread(X), y)
    with Counted() as counted:
        assert job("moved") == expected
    assert counted.drawn == total - 2


# ------------------------------------------------------------------------------------------------ whatever is fitted


class Made:
    """Any work that is paid and kept like a job."""

    def __init__(self, job, make):
        self.job, self.make = job, make

    def __call__(self, run_id):
        paid = {"ledger": self.job.ledger, "dataset": "trial", "run_id": run_id, "resume": self.job.folder / "runs"}
        return self.make(self.job, paid)

    def statuses(self, run_id):
        return self.job.statuses(run_id)


def intervals(job, paid):
    bounds = {"feature_bound": 1.0, "target_bound": 2.0}
    model = SparseRegressor(epsilon=200.0, **bounds, intervals="split", random_state=1, **paid)
    model.fit(job.X, job.y)
    return model.coef_.tobytes(), model.intervals_.covariance.tobytes(), model.statement_.asks


def classes(job, paid):
    y = np.digitize(job.y, [-0.5, 0.5])
    made = SparseClassifier(
        epsilon=4.0, feature_bound=1.0, classes=[0, 1, 2], recipe=recipes.DPGCD(steps=2), random_state=1, **paid
    )
    return made.fit(job.X, y).coef_.tobytes()


def counted(job, paid):
    model = SparseRegressor(
        epsilon=4.0,
        feature_bound=1.0,
        target_bound=2.0,
        recipe=recipes.DPGCD(steps=2),
        check_bounds=0.1,
        random_state=1,
        **paid,
    )
    model.fit(job.X, job.y)
    return model.coef_.tobytes(), model.statement_.notes


def pipeline(job, paid):
    model = SparseRegressor(target_bound=2.0, recipe=recipes.DPGCD(steps=2), random_state=3)
    made = make_private_pipeline(PrivateScaler(feature_bound=1.0, random_state=2), model, epsilon=4.0, **paid)
    made.fit(job.X, job.y)
    return made[-1].coef_.tobytes(), made.statement_.asks


def search(job, paid):
    model = SparseRegressor(feature_bound=1.0, target_bound=2.0, recipe=recipes.DPGCD(steps=2))
    space = {"sparsity": [1, 2], "recipe": [recipes.DPGCD(steps=2), recipes.DPIGHT(steps=2)]}
    made = PrivateSearch(model, space, epsilon=8.0, mean_runs=4, holdout=0.3, random_state=5, **paid).fit(job.X, job.y)
    return made.best_estimator_.coef_.tobytes(), made.best_score_, str(made.best_params_), made.statement_.asks


def score(job, paid):
    model = SparseRegressor(feature_bound=1.0, target_bound=2.0, random_state=0).fit(job.X, job.y)
    return str(private_score(model, job.X, job.y, random_state=3, **paid).scores)


@pytest.mark.parametrize("make", [intervals, classes, counted, pipeline, search, score])
def test_whatever_is_fitted_survives(make, job):
    made = Made(job, make)
    expected, total = whole(made)
    numbers = sorted({0, 1, total // 3, total // 2, 2 * total // 3, total - 1})
    for number, point in zip(numbers, itertools.cycle(POINTS), strict=False):
        survives(made, point, number, total, expected)
    with Counted() as drawn:
        assert made("undisturbed") == expected, "a run that is done is made again"
    assert drawn.drawn == 0


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.fixture
def stopped(job):
    """A job that was killed after its second answer."""
    assert killed("return", 1, lambda: job("stopped"))
    return job


def files(job, kind):
    return sorted((job.folder / "runs").glob(f"stopped*.{kind}"))


def refused(job, why, error=ResumeError, **arguments):
    with Counted() as drawn, pytest.raises(error, match=why):
        job.model("stopped", **arguments)
    assert drawn.drawn == 0


def goes_on(job):
    with Counted() as drawn:
        job.model("stopped")
    assert job.statuses("stopped") == ["done"]
    return drawn.drawn


def test_other_rows(stopped):
    stopped.X[7, 2] += 0.01
    refused(stopped, "the rows are others")
    stopped.X[7, 2] -= 0.01
    stopped.y[3] *= 0.5
    refused(stopped, "the rows are others")
    stopped.y[3] *= 2
    goes_on(stopped)


def test_rows_that_would_change_parts(job):
    job.arguments |= {"intervals": "split", "recipe": "auto", "epsilon": 200.0}
    assert killed("return", 1, lambda: job("stopped"))
    order = np.random.default_rng(0).permutation(150)
    job.X, job.y = job.X[order], job.y[order]
    refused(job, "the rows are others")


def test_another_plan_at_the_same_price(stopped):
    refused(stopped, "plan, price, facts, loss or solver are others", target_bound=2.5)


def test_another_loop_at_the_same_plan(stopped):
    refused(stopped, "loss or solver are others", recipe=recipes.DPGCD(steps=3, step_size=0.01))


def test_another_price(stopped):
    refused(stopped, "of another cost", PrivacyError, epsilon=3.0)


def test_another_seed_and_none(stopped):
    refused(stopped, "its seed differ", random_state=4)
    refused(stopped, "with another random_state", PrivacyError, random_state=None)


def test_another_release(stopped, monkeypatch):
    monkeypatch.setattr("dpsparse.oracles.tape_resume.release", lambda: "dpsparse 0.0.9 (another source)")
    refused(stopped, "finished by the release that began it")


def test_an_edited_record(stopped):
    [tape] = files(stopped, "tape")
    content = bytearray(tape.read_bytes())
    content[len(content) // 2] ^= 1
    tape.write_bytes(content)
    refused(stopped, "edited or is damaged")


def test_a_record_that_was_edited_together_with_all_digests_changes_no_price(stopped):
    """Whoever may write the file can forge answers, which were never of the rows; nothing is drawn for their turns."""
    [tape] = files(stopped, "tape")
    frames = list(stored_frames(tape))
    forged = tape.with_suffix(".forged")
    [key] = files(stopped, "key")
    with closing(Tape(forged, frames[0].record, key.read_bytes())) as made:
        for frame in frames[1:-1]:
            made.append(frame.record, frame.data)
        made.append(frames[-1].record, bytes(len(frames[-1].data)))
    os.replace(forged, tape)
    assert goes_on(stopped) == ANSWERS - 2


def test_damaged_lengths_in_the_middle_are_not_taken_for_a_torn_tail(stopped):
    """Otherwise every answer after them would be removed and drawn once more."""
    [tape] = files(stopped, "tape")
    first = next(stored_frames(tape)).end
    for place in (first, first + 4, first + HEAD - 1):
        content = bytearray(tape.read_bytes())
        content[place] ^= 0x40
        tape.write_bytes(content)
        refused(stopped, "edited or is damaged")
        content[place] ^= 0x40
        tape.write_bytes(content)
    goes_on(stopped)


def test_zeros_after_a_power_cut_are_passed_over(stopped):
    [tape] = files(stopped, "tape")
    with tape.open("ab") as file:
        file.write(bytes(500))
    assert goes_on(stopped) == ANSWERS - 2


def test_an_older_copy_of_the_tape_of_a_run_that_is_done(stopped):
    """The model of the run was released: what stands on no tape any more is not drawn a second time."""
    shutil.copytree(stopped.folder / "runs", stopped.folder / "older")
    goes_on(stopped)
    refused(stopped, "an older copy of its tape", resume=stopped.folder / "older")


@pytest.mark.parametrize("moment", ["end", "forget_key"])
def test_a_fit_that_is_killed_at_its_end_draws_nothing_more(job, moment, monkeypatch):
    expected, _ = whole(job)
    with monkeypatch.context() as patched:
        patched.setattr(Tape, moment, lambda *_: os._exit(0))
        child = os.fork()
        if child == 0:
            job("stopped")
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    with Counted() as drawn:
        assert job("stopped") == expected
    assert (drawn.drawn, job.statuses("stopped")) == (0, ["done"])
    assert not files(job, "key")


def test_a_folder_without_rights_is_refused_for_good(job, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("dpsparse.oracles.tape_file.os.open", forbidden)
        refused(job, "permission denied.*ask for the right")
    assert job.statuses("stopped") == ["refunded"]


def test_a_folder_without_locks_is_refused_for_good(job, monkeypatch):
    """It is not said that another process runs the run: there would be no end to wait for."""

    def no_locks(*_):
        raise OSError(37, "No locks available")

    with monkeypatch.context() as patched:
        patched.setattr("fcntl.flock", no_locks)
        refused(job, "no locks available")
    assert job.statuses("stopped") == ["refunded"]


@pytest.mark.parametrize("nested", [False, True])
def test_what_is_played_is_durable_first(nested, job, monkeypatch):
    """A process that was killed before it synced leaves a whole record, which a power cut could still take."""
    work = Made(job, search) if nested else job
    expected, _ = whole(work)
    assert killed("sync", 1, lambda: work("stopped"))
    synced, play, sync = [], TapedOracle._play, os.fsync

    def seen(handle):
        synced.append(os.fstat(handle).st_ino)
        sync(handle)

    def played(oracle, *frame):
        assert os.fstat(oracle._tape._file._handle).st_ino in synced
        return play(oracle, *frame)

    monkeypatch.setattr("dpsparse.oracles.tape_file.os.fsync", seen)
    monkeypatch.setattr(TapedOracle, "_play", played)
    assert work("stopped") == expected


def test_a_missing_tape_and_a_missing_key(stopped):
    [tape], [key] = files(stopped, "tape"), files(stopped, "key")
    hidden = key.rename(key.with_suffix(".hidden"))
    refused(stopped, "the key of a run that is not done, is missing")
    hidden.rename(key)
    shutil.move(tape, stopped.folder / "elsewhere")
    refused(stopped, "is not there: entry 3 counts")
    shutil.move(stopped.folder / "elsewhere", tape)
    goes_on(stopped)


def test_a_copy_from_which_nobody_went_on_is_as_good_and_a_second_one_is_refused(stopped):
    shutil.copytree(stopped.folder / "runs", stopped.folder / "copy")
    assert killed("return", 0, lambda: stopped("stopped"))
    refused(stopped, "went on from another copy", resume=stopped.folder / "copy")
    goes_on(stopped)


def test_an_older_ledger(job):
    job("first")
    older = (job.folder / "budget.db").read_bytes()
    assert killed("draw", 0, lambda: job("stopped"))  # reserved
    reserved = (job.folder / "budget.db").read_bytes()
    assert killed("return", 1, lambda: job("stopped"))
    (job.folder / "budget.db").write_bytes(reserved)
    refused(job, "the ledger is an older copy")
    (job.folder / "budget.db").write_bytes(older)
    refused(job, "belongs to another run: its .*entry_hash")


def test_two_processes_with_one_tape(stopped):
    [tape] = files(stopped, "tape")
    [key] = files(stopped, "key")
    header = stored_header(tape)
    with closing(Tape(tape, header, key.read_bytes())):
        refused(stopped, "another process runs this run_id", RetryLaterError)
    goes_on(stopped)


def test_two_processes_that_begin_in_two_folders_pay_once_and_one_answers(job, tmp_path):
    assert killed("draw", 0, lambda: job("stopped"))  # reserved, and a tape in the first folder
    assert killed("return", 1, lambda: job.model("stopped", resume=tmp_path / "second"))
    refused(job, "began without it")
    with Counted() as drawn:
        job.model("stopped", resume=tmp_path / "second")
    assert drawn.drawn == ANSWERS - 2
    assert job.statuses("stopped") == ["done"]


def test_an_entry_that_was_refunded(job, monkeypatch):
    """A tape without answers is left over; the next entry of the same run begins on it anew."""

    def fail(*_):
        raise KeyError("before anything was asked")

    with monkeypatch.context() as patched:
        patched.setattr("dpsparse.fitting.session.make_oracle", fail)
        with pytest.raises(KeyError):
            job("stopped")
    assert job.statuses("stopped") == ["refunded"]
    with Counted() as drawn:
        job("stopped")
    assert (drawn.drawn, job.statuses("stopped")) == (ANSWERS, ["refunded", "done"])


def test_records_that_were_cut_off_by_hand_are_not_noticed(stopped):
    """A limit that the guarantee states: a killed writer leaves the same file."""
    [tape] = files(stopped, "tape")
    with tape.open("r+b") as file:
        file.truncate(tape.stat().st_size - 10)
    assert goes_on(stopped) == ANSWERS - 1


def test_a_full_disk_gives_the_answer_to_nobody_and_the_run_goes_on(stopped, monkeypatch):
    """Noticed when the system is asked whether the answer is on the disk."""
    write = TapeFile._write

    def full(file, content):
        write(file, content)
        if b'"record":"answer"' in content:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(TapeFile, "_write", full)
        with pytest.raises(RetryLaterError, match=r"no space left.*nobody received it"):
            stopped("stopped")
    assert stopped.statuses("stopped") == ["started"]
    assert goes_on(stopped) == ANSWERS - 2


def test_what_a_folder_holds_and_who_may_read_it(stopped):
    folder = stopped.folder / "runs"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(path.suffix for path in folder.iterdir()) == [".key", ".tape"]
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    goes_on(stopped)
    assert [path.suffix for path in folder.iterdir()] == [".tape"], "the key is removed when the run is done"


def test_the_tape_of_a_search_is_no_longer_than_two_runs(job):
    made = Made(job, search)
    _, total = whole(made)
    assert killed("return", total - 2, lambda: made("stopped"))
    kept = sorted(path.suffix for path in (job.folder / "runs").glob("stopped*"))
    assert kept == [".best", ".key", ".run", ".tape"]
    assert all(
        sum(1 for _ in stored_frames(path)) < 20 for kind in ("best", "run", "tape") for path in files(job, kind)
    )
    made("stopped")
    assert sorted(path.suffix for path in (job.folder / "runs").glob("stopped*")) == [".kept", ".tape"]
    assert stored_header(*files(job, "kept")).run is None, (
        "the number of the best run is a bound on how many there were"
    )


@pytest.mark.parametrize("moment", ["end", "forget_key"])
def test_a_search_that_is_killed_at_its_end_repeats_no_run(job, moment, monkeypatch):
    """Killed before or after the record of the end: the best run is played, and nothing is drawn."""
    made = Made(job, search)
    expected, _ = whole(made)

    def stop(tape, *_):
        if tape.path.suffix == ".tape":
            os._exit(0)
        ordinary(tape, *_)

    ordinary = getattr(Tape, moment)
    with monkeypatch.context() as patched:
        patched.setattr(Tape, moment, stop)
        child = os.fork()
        if child == 0:
            made("stopped")
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    with Counted() as drawn:
        assert made("stopped") == expected
    assert (drawn.drawn, job.statuses("stopped")) == (0, ["done"])


def test_keys_of_samples_are_not_stored(job, monkeypatch):
    """The key of every sample that is drawn, and of noise, is looked for in every file of the run."""
    drawn, ordinary = [], os.urandom
    monkeypatch.setattr(
        "dpsparse.core.mechanisms.randomness.os.urandom", lambda n: drawn.append(ordinary(n)) or drawn[-1]
    )
    job.arguments |= {"recipe": recipes.DPSGD(steps=3, batch_size=30), "random_state": None}
    job.model("sampled")
    stored = b"".join(path.read_bytes() for path in (job.folder / "runs").iterdir())
    keys = [int.from_bytes(one, "little") for one in drawn if len(one) == 16]
    assert len(keys) >= 7  # of three samples, of the noise, and its place for each of three answers
    assert not any(key.to_bytes(16, order) in stored for key in keys for order in ("little", "big"))
    assert not any(f"{key}".encode() in stored or f"{key:032x}".encode() in stored for key in keys)


def test_arguments_that_do_not_say_which_run():
    with pytest.raises(ResumeError, match="resume needs a ledger, a dataset and a run_id"):
        SparseRegressor(feature_bound=1.0, target_bound=1.0, resume="runs").fit(np.eye(3), np.ones(3))


def test_every_sentence_of_the_proof_has_a_test():
    page = Path(__file__).parents[2] / "docs" / "guarantees" / "resume.md"
    named = set(re.findall(r"`(test_\w+)`", page.read_text()))
    assert len(named) >= 20
    assert named <= set(globals())
