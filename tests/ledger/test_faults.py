"""Killed, or failed by the system, at every call that changes a file: what the ledger says afterwards, and what it said meanwhile."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="faults are preloaded by the linker of Linux"
)

TESTS = Path(__file__).parents[1]
KILLED_BEFORE, KILLED_HALF_WAY, FAILS_ONCE, FULL_FROM_NOW = range(4)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc to compile the faults with")
    made = tmp_path_factory.mktemp("faults") / "faults.so"
    source = TESTS / "truth" / "faults.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"], check=True)
    return made


def points(library, folder, work, stride):
    """The records of ``truth.ledger_faults``."""
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "truth.ledger_faults", *map(str, (library, folder, work, stride))],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {record["mode"] for record in found} == {KILLED_BEFORE, KILLED_HALF_WAY, FAILS_ONCE, FULL_FROM_NOW}
    return found


def check_point(work: str, record) -> None:
    """The sentences of the guarantee, and every sentence that was said, against the ledger."""
    mode = record["mode"]
    assert record["usable"], record
    assert record["kind"] != "raw", record
    assert record["left"] == [], record  # no file stays behind but a journal, which the next one plays back
    if mode in (KILLED_BEFORE, KILLED_HALF_WAY):
        assert record["kind"] == "killed", record
        return
    said = record["said"]
    if work == "create":
        if "It is not known" in said:
            assert mode == FULL_FROM_NOW, record  # only where the ledger cannot be read any more
        elif record["kind"] == "refused":
            assert ("was not opened" in said) == (not record["opened"]), record
            assert ("was opened all the same" in said) == record["opened"], record
        else:
            assert record["opened"], record
        return
    fresh = [(number, status) for number, status in record["entries"][1:]]
    assert len(fresh) <= 1, record
    live = [number for number, status in fresh if status != "refunded"]
    if "Nothing was reserved" in said or re.search(r"Entry \d+ was refunded", said):
        assert live == [], record
    if re.search(r"[Ee]ntry \d+ (counts|is charged|was written)|could not be refunded and counts", said):
        assert len(live) == 1, record
    if "It is not known" in said:
        assert mode == FULL_FROM_NOW, record
    elif record["kind"] == "refused" and live:
        assert re.search(rf"[Ee]ntry {live[0]}\b.* counts", said), record
    if record["kind"] == "done":
        assert [status for _, status in fresh] in (["done"], ["refunded"], ["started"]), record
        if fresh[0][1] == "started":
            assert "is charged, but the ledger could not note" in said, record


@pytest.mark.parametrize("work", ["fit", "refund", "create"])
def test_faults_leave_a_ledger_that_says_what_was_said(library, tmp_path, work):
    for record in points(library, tmp_path, work, 1 if work == "create" else 5):
        check_point(work, record)


@pytest.mark.slow
@pytest.mark.parametrize("work", ["fit", "refund"])
def test_faults_at_every_call_leave_a_ledger_that_says_what_was_said(library, tmp_path, work):
    for record in points(library, tmp_path, work, 1):
        check_point(work, record)
