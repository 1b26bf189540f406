"""Run tests of a copy of the tree in forks: note which functions each test enters, and which test fails first."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest


class Recorder:
    """A plugin that notes how long each test takes and which functions of the package it enters.

    What a fixture enters counts for all tests of its file, since only the first one sets it up.
    """

    def __init__(self, package: Path) -> None:
        self.package = str(package) + os.sep
        self.codes: set[CodeType] = set()
        self.shared: dict[str, set[CodeType]] = defaultdict(set)
        self.entered: dict[str, set[CodeType]] = {}
        self.seconds: dict[str, float] = defaultdict(float)
        self.unfit: set[str] = set()

    def _enter(self, frame: FrameType, event: str, argument: object) -> None:
        self.codes.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Trace what fixtures enter."""
        yield from self._traced(self.shared[item.path.name])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Trace what a test enters."""
        yield from self._traced(self.entered.setdefault(item.nodeid, set()))

    def _traced(self, into: set[CodeType]) -> Iterator[None]:
        self.codes = into
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the time; a test that does not pass is not used."""
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.unfit.add(report.nodeid)

    def content(self) -> dict[str, dict[str, Any]]:
        """Of every test: its seconds, and the functions that it enters."""
        return {
            test: {"seconds": round(self.seconds[test], 3), "enters": sorted(self._names(test, codes))}
            for test, codes in self.entered.items()
            if test not in self.unfit
        }

    def _names(self, test: str, codes: set[CodeType]) -> set[str]:
        file = Path(test.partition("::")[0]).name
        own = [code for code in codes | self.shared[file] if code.co_filename.startswith(self.package)]
        return {f"{code.co_filename[len(self.package) :]}:{plain_name(code.co_qualname)}" for code in own}


def plain_name(qualified: str) -> str:
    """`Plan.check.<locals>.inner.<lambda>` is `Plan.check.inner`."""
    return ".".join(part for part in qualified.split(".") if not part.startswith("<"))


class Judge:
    """A plugin that runs chosen tests in the given order and notes the first that fails."""

    def __init__(self, tests: Sequence[str], verdict: Path) -> None:
        self.order, self.verdict = {test: number for number, test in enumerate(tests)}, verdict

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests."""
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed and not self.verdict.exists():
            self.verdict.write_text(report.nodeid)


def fork(folder: Path, arguments: Sequence[str], plugin: Recorder | Judge, out: Path | None = None) -> int:
    """Start pytest on a copy in a child, in a process group of its own; return the process."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.setsid()
        os.chdir(folder)
        log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.path[:0] = [str(folder / "src"), str(folder / "tests"), str(folder)]
        os.environ["PYTHONPATH"] = str(folder / "src")
        sys.dont_write_bytecode = isinstance(plugin, Judge)
        common = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow and not cluster and not browser"]
        code = int(pytest.main([*common, *arguments], plugins=[plugin]))
        if out is not None and isinstance(plugin, Recorder):
            out.write_text(json.dumps(plugin.content()))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(child: int, since: float, limit: float) -> int | None:
    """Exit code of a child; None while it runs; -1 once it was stopped at its time limit."""
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        return os.waitstatus_to_exitcode(status)
    if time.monotonic() - since < limit:
        return None
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1
