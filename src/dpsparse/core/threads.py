"""A few threads for work that lets go of the interpreter's lock.

How many: the environment variable ``DPSPARSE_THREADS``, else ``OMP_NUM_THREADS``, else two where
there are as many cores. No answer depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

#: Threads where nobody says how many.
USUAL = 2
#: More are never started.
MOST = 64

T = TypeVar("T")


class _Threads:
    """The threads of this process."""

    pool: ThreadPoolExecutor | None = None


def thread_count() -> int:
    """How many threads work at once."""
    for name in ("DPSPARSE_THREADS", "OMP_NUM_THREADS"):
        said = os.environ.get(name, "").split(",")[0].strip()
        if said.isdigit() and int(said) > 0:
            return min(int(said), MOST)
    return min(USUAL, os.cpu_count() or 1)


def at_once(tasks: Sequence[Callable[[], None]]) -> None:
    """Run all tasks, the first one here and the others in threads, and wait for them."""
    others = [run_in_thread(task) for task in tasks[1:]]
    try:
        for task in tasks[:1]:
            task()
    finally:
        for other in others:
            other.result()


def run_in_thread(task: Callable[[], T]) -> Future[T]:
    """Start a task in another thread. A task must not start others: they would wait for each other."""
    if _Threads.pool is None:
        _Threads.pool = ThreadPoolExecutor(MOST, thread_name_prefix="dpsparse")
    return _Threads.pool.submit(task)


def _forget() -> None:
    """A forked process has no threads of its parent's pool, and makes a new one."""
    _Threads.pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
