"""Threads: how many, and that all of them are waited for."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest

from dpsparse.core import threads


@pytest.mark.parametrize(
    ("ours", "openmp", "expected"),
    [("3", "1", 3), ("", "5", 5), ("0", "4,2", 4), ("many", "", None), ("100000", "", threads.MOST)],
)
def test_the_environment_says_how_many(ours, openmp, expected, monkeypatch):
    monkeypatch.setenv("DPSPARSE_THREADS", ours)
    monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    assert threads.thread_count() == (expected or min(threads.USUAL, os.cpu_count() or 1))


def test_tasks_run_at_once():
    gate = threading.Barrier(3, timeout=30)
    threads.at_once([gate.wait] * 3)  # each waits for the others
    threads.at_once([])


@pytest.mark.parametrize("which", [0, 1])
def test_all_tasks_end_before_an_error_is_told(which):
    done = []

    def fail() -> None:
        raise ValueError("wrong")

    tasks = [lambda: done.append(1), lambda: done.append(2)]
    tasks[which] = fail
    with pytest.raises(ValueError, match="wrong"):
        threads.at_once(tasks)
    assert len(done) == 1


def _child(found) -> None:
    threads.at_once([lambda: found.put(1), lambda: found.put(2)])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    threads.at_once([int, int])
    context = multiprocessing.get_context("fork")
    found = context.SimpleQueue()
    child = context.Process(target=_child, args=(found,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert {found.get(), found.get()} == {1, 2}
