"""What "once" means: across restarts, forks and processes, and before the report exists."""

import json
import multiprocessing
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from dpsparse import SparseRegressor
from dpsparse.core import PrivacyError
from dpsparse.local import AnswerClaim, Device, FileStore, MemoryStore, Server

X, Y = np.array([0.5, -0.5, 1.0]), 0.3


def server(epsilon=1.0) -> Server:
    model = SparseRegressor(epsilon=epsilon, recipe="ldp_iht", feature_bound=1.0, target_bound=1.0)
    return Server(model, n_people=10, n_features=3)


def device(run: Server, memory, epsilon=1.0) -> Device:
    return Device(X, Y, run.protocol, epsilon=epsilon, memory=memory)


def test_a_device_that_was_started_again_does_not_answer_again(tmp_path):
    run = server()
    device(run, tmp_path / "answers").answer(run.task())
    again = device(run, str(tmp_path / "answers"))
    with pytest.raises(PrivacyError, match="answers no second one"):
        again.answer(run.task())


def _answers(protocol: str, task: bytes, memory, results) -> None:
    try:
        Device(X, Y, protocol, epsilon=1.0, memory=memory).answer(task)
        results.put("answered")
    except PrivacyError:
        results.put("refused")


def test_of_several_processes_with_one_file_one_answers(tmp_path):
    run = server()
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    text, task = run.protocol.to_json(), run.task()
    several = [fork.Process(target=_answers, args=(text, task, tmp_path / "answers", results)) for _ in range(6)]
    for process in several:
        process.start()
    found = [results.get(timeout=60) for _ in several]
    for process in several:
        process.join()
    assert sorted(found) == ["answered"] + ["refused"] * 5


def test_two_who_read_the_memory_at_the_same_moment_take_turns(tmp_path, monkeypatch):
    """The first waits inside for the second to come in as well, which it does only where there is no lock."""
    from dpsparse.sites.rounds import stores

    run, read, inside = server(), stores._read, threading.Semaphore(0)
    both = threading.Event()

    def slow(*content):
        found = read(*content)
        inside.release()
        if inside._value >= 2:
            both.set()
        both.wait(timeout=2)
        return found

    monkeypatch.setattr(stores, "_read", slow)
    results: list[str] = []
    own = [device(run, tmp_path / "answers") for _ in range(2)]

    def use(one):
        try:
            one.answer(run.task())
            results.append("answered")
        except PrivacyError:
            results.append("refused")

    threads = [threading.Thread(target=use, args=(one,)) for one in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["answered", "refused"]


@pytest.mark.parametrize("memory", ["file", "process"])
def test_a_forked_device_and_its_original_answer_once_together(tmp_path, memory):
    run = server()
    own = device(run, tmp_path / "answers" if memory == "file" else MemoryStore())
    task = run.task()
    child = os.fork()
    if child == 0:
        try:
            own.answer(task)
            os._exit(1 if memory == "process" else 0)
        except PrivacyError:
            os._exit(2)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if memory == "process":  # the copy refuses, the original answers
        assert code == 2
        own.answer(task)
    else:
        assert code == 0
        with pytest.raises(PrivacyError):
            own.answer(task)


def test_the_mark_is_on_the_disk_before_the_row_is_looked_at(tmp_path, monkeypatch):
    run = server()
    own = device(run, tmp_path / "answers")
    synced = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_ino), sync(handle)))

    def crash(*_, **__):
        assert (tmp_path / "answers").stat().st_ino in synced
        assert tmp_path.stat().st_ino in synced, "the name of a new file is on the disk too"
        assert FileStore(tmp_path / "answers").claims()[0].protocol == run.protocol.identity.hex()
        raise KeyboardInterrupt

    monkeypatch.setattr("dpsparse.sites.local.device.contributions", crash)
    with pytest.raises(KeyboardInterrupt):
        own.answer(run.task())
    with pytest.raises(PrivacyError, match="no second one"):
        device(run, tmp_path / "answers").answer(run.task())


def test_what_a_person_allows_is_the_sum_over_all_runs(tmp_path):
    for _ in range(2):
        run = server(epsilon=1.0)
        device(run, tmp_path / "answers", epsilon=2.0).answer(run.task())
    third = server(epsilon=1.0)
    with pytest.raises(PrivacyError, match="in all"):
        device(third, tmp_path / "answers", epsilon=2.9).answer(third.task())
    assert len(FileStore(tmp_path / "answers").claims()) == 2
    device(third, tmp_path / "answers", epsilon=3.0).answer(third.task())


@pytest.mark.parametrize("damage", ["cut", "flip", "text", "binary", "twice", "large"])
def test_a_damaged_memory_allows_nothing(tmp_path, damage):
    path = tmp_path / "answers"
    first = server()
    device(first, path).answer(first.task())
    content = path.read_bytes()
    bad = {
        "cut": content[:-1],
        "flip": content.replace(b"epsilon", b"epsilom", 1),
        "text": content + b"hello\n",
        "binary": content + b"\xff\x00\n",
        "twice": content[:-1] + content,
        "large": content + b" " * 2**21,
    }[damage]
    path.write_bytes(bad)
    run = server()
    with pytest.raises(PrivacyError, match="damaged"):
        device(run, path, epsilon=100.0).answer(run.task())
    assert path.read_bytes() == bad


def test_a_refused_task_leaves_no_mark(tmp_path):
    run, other = server(), server()
    own = device(run, tmp_path / "answers")
    with pytest.raises(ValueError, match="another protocol"):
        own.answer(other.task())
    assert not (tmp_path / "answers").exists()
    own.answer(run.task())


def test_the_file_belongs_to_its_owner_and_is_an_ordinary_one(tmp_path):
    run = server()
    device(run, tmp_path / "answers").answer(run.task())
    assert stat.S_IMODE((tmp_path / "answers").stat().st_mode) == 0o600
    os.mkfifo(tmp_path / "pipe")
    for bad in (tmp_path / "pipe", tmp_path, Path("/dev/full"), tmp_path / "absent" / "answers"):
        with pytest.raises(PrivacyError, match=r"ordinary|remembered"):
            device(run, bad).answer(run.task())


@pytest.mark.parametrize("says", [False, None, 1, "yes"])
def test_an_application_that_does_not_say_true_gets_no_report(says):
    run, asked = server(), []

    def store(claim: AnswerClaim):
        asked.append(claim)
        return says

    with pytest.raises(PrivacyError, match="application does not allow"):
        device(run, store).answer(run.task())
    assert asked == [AnswerClaim(run.protocol.identity.hex(), run.protocol.epsilon(), 0.0)]


def test_an_application_that_stores_the_claim_gets_one_report():
    run, kept = server(), set()

    def store(claim: AnswerClaim) -> bool:
        fresh = claim.protocol not in kept
        kept.add(claim.protocol)
        return fresh

    run.receive(device(run, store).answer(run.task()))
    with pytest.raises(PrivacyError, match="application does not allow"):
        device(run, store).answer(run.task())


def test_other_things_are_no_memory():
    with pytest.raises(TypeError, match="memory must be"):
        device(server(), 3)


# ------------------------------------------------------------------------------------------------ runs


def test_no_report_of_one_run_is_taken_by_another_run_of_the_same_protocol():
    one, two = server(), server()
    fields = [json.loads(s.protocol.to_json()) for s in (one, two)]
    assert fields[0].pop("nonce") != fields[1].pop("nonce")
    assert fields[0] == fields[1]
    for _ in range(5):
        report = device(one, None).answer(one.task())
        with pytest.raises(ValueError, match="another run"):
            two.receive(report)
        one.receive(report)
    assert (one.count, two.count) == (5, 0)


@pytest.mark.parametrize("nonce", ["", "0" * 31, "G" * 32, "A" * 32, "0" * 33, 5, None])
def test_a_protocol_without_a_nonce_is_refused(nonce):
    from dpsparse.local import Protocol

    content = json.loads(server().protocol.to_json())
    content["nonce"] = nonce
    with pytest.raises(PrivacyError, match="not a dpsparse protocol"):
        Protocol.from_json(json.dumps(content))
