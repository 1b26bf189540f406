"""The runner of mutants: which files, which tests, which verdicts; and a page that says what the results say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mutants import judging, page, run
from mutants.operators import digest, mutants

CONTENT = json.loads((run.DOCS / "mutation.json").read_text())
TEXT = "def f(a):\n    return a < 3\n\n\ndef g(a):\n    return a + 1\n"


def mutant(operator: str):
    return next(m for m in mutants("core/a.py", TEXT) if m.operator == operator)


def test_the_page_says_what_the_results_say():
    assert (run.DOCS / "mutation.md").read_text() == page.page_of(CONTENT), (
        "run: cd tests && python -m mutants.run --page"
    )
    rows = CONTENT["results"]
    killed, late = sum(row["verdict"] == "killed" for row in rows), sum(row["late"] for row in rows)
    assert f"**{len(rows)} of " in page.page_of(CONTENT)
    assert f"{killed - late} of them were killed at first" in page.page_of(CONTENT)
    assert f"{late} more late" in page.page_of(CONTENT)


def test_verdicts_belong_to_mutants_of_the_files_they_were_made_from():
    """A file that has changed since is left to the next run, which drops what is gone."""
    for name in {row["file"] for row in CONTENT["results"]}:
        text = (run.SRC / name).read_text() if (run.SRC / name).exists() else ""
        if digest(text) == CONTENT["files"][name]["digest"]:
            found = {m.name for m in mutants(name, text)}
            assert {row["mutant"] for row in CONTENT["results"] if row["file"] == name} <= found
            assert len(found) == CONTENT["files"][name]["mutants"]


def test_every_survivor_is_shown_with_its_change_and_a_reason_or_as_open():
    for row in CONTENT["results"]:
        if row["verdict"] != "killed":
            assert row["before"] != row["after"]
            assert row["why"] == page.read_reasons().get(row["mutant"], "")


def test_a_row_is_killed_explained_or_open():
    files = {"core/a.py": {"tier": "kernel", "digest": "now", "mutants": 9}}
    lines = {"before": "    return a < 3", "after": "    return (a <= 3)", "tests": 4, "tests_of_function": 5}
    rows = [
        {"mutant": "m1", "file_digest": "now", "verdict": "killed", "why": ""},
        {"mutant": "m2", "file_digest": "old", "verdict": "survived", "why": "Equal.", **lines},
        {"mutant": "m3", "file_digest": "now", "verdict": "survived", "why": "", **lines},
        {"mutant": "m4", "file_digest": "now", "verdict": "too long", "why": "", **lines},
        {"mutant": "m5", "file_digest": "now", "verdict": "killed", "why": "", "late": True},
    ]
    rows = [{"file": "core/a.py", "late": False} | row for row in rows]
    text = page.page_of({"seed": 1, "files": files, "results": rows})
    assert "| `core/a.py now` | 9 | 5 | 1 | 1 | 1 | 1 | 1 | 1 | 4% to 62% |" in text
    assert "`m2` (survived; 4 of 5 tests that enter the function): Equal." in text
    assert "`m3` (survived; 4 of 5 tests that enter the function): **open**" in text
    assert "```diff\n-    return a < 3\n+    return (a <= 3)\n```" in text


def test_a_mutant_is_killed_late_if_it_survived_before_and_at_once_if_it_is_new():
    killed, survived = {"verdict": "killed"}, {"verdict": "survived"}
    assert not run.killed_late(killed, None)
    assert run.killed_late(killed, survived | {"late": False})
    assert run.killed_late(killed, killed | {"late": True})
    assert not run.killed_late(killed, killed | {"late": False})
    assert not run.killed_late(survived, killed | {"late": False})


def test_the_wilson_interval_is_that_of_the_books():
    assert page.wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert page.wilson(10, 10)[1] == 1.0
    assert page.wilson(0, 0) == (0.0, 1.0)


def test_files_have_one_tier_by_pattern():
    assert run.tier_of("core/plan.py") == "kernel"
    assert run.tier_of("rows/hosts/disk.py") == "extensions"
    assert run.tier_of("ledger/chain.py") == "books"
    assert run.tier_of("queries/losses/huber.py") == "rowwise"
    assert run.tier_of("accounting/pld.py") == "prices"
    assert run.tier_of("algorithms/iht.py") is None


def test_a_larger_sample_contains_a_smaller_one_whatever_else_changes():
    found = list(mutants("core/a.py", TEXT))
    small, large = ({m.name for m in run.drawn(found, n, seed=5)} for n in (3, 6))
    assert small < large
    more = found + list(mutants("core/b.py", TEXT))
    order = [m.name for m in run.drawn(more, len(more), seed=5) if m in found]
    assert order == [m.name for m in run.drawn(found, len(found), seed=5)]


def test_a_mutant_meets_the_tests_that_enter_its_function_the_quickest_first():
    def entry(seconds, *names):
        return {"seconds": seconds, "enters": [f"core/a.py:{name}" for name in names]}

    tests = {
        "tests/x.py::slow": entry(30.0, "f"),
        "tests/x.py::quick": entry(1.0, "f"),
        "tests/x.py::middle": entry(2.0, "f", "g"),
        "tests/y.py::other": entry(5.0, "f"),
        "tests/y.py::apart": entry(0.1, "g"),
    }
    order = ["tests/x.py::quick", "tests/x.py::middle", "tests/y.py::other", "tests/x.py::slow"]
    assert run.chosen(mutant("edge"), tests, 100.0) == (order, 4, 38.0)
    assert run.chosen(mutant("edge"), tests, 8.0) == (order[:3], 4, 8.0)
    assert run.chosen(mutant("edge"), {"tests/y.py::apart": entry(0.1, "g")}, 8.0) == (["tests/y.py::apart"], 1, 0.1)
    assert run.chosen(mutant("edge"), {}, 8.0) == ([], 0, 0.0)


def test_verdicts_of_lines_that_are_gone_are_dropped():
    found = run.population()[:2]
    rows = {name: {"mutant": name, "file": found[0].file} for name in (found[0].name, "core/gone.py:f edge 0123")}
    assert [row["mutant"] for row in run.content_of(rows, found, 1)["results"]] == [found[0].name]


def test_names_of_functions_are_those_of_the_source():
    assert judging.plain_name("Plan.check.<locals>.inner.<listcomp>") == "Plan.check.inner"


# ------------------------------------------------------------------------------------------------ a small tree

TRIAL = """
import json, sys
from pathlib import Path
from mutants import run

root = Path(sys.argv[1])
run.ROOT, run.SRC, run.PARTS = root, root / "src" / "dpsparse", ("src", "tests", "pyproject.toml")
worker = run.Worker(root / "copy")
tests = run.recorded(worker.folder, ["core"])
verdicts = {}
text = (run.SRC / "core/a.py").read_text()
for mutant in run.mutants("core/a.py", text):
    worker.start(mutant, text, run.chosen(mutant, tests, 60.0)[0], 60.0)
    while (verdict := worker.verdict_now()) is None:
        pass
    verdicts[f"{mutant.function} {mutant.operator}"] = verdict
assert (worker.folder / "src/dpsparse/core/a.py").read_text() == text
print(json.dumps([verdicts, {test: of["enters"] for test, of in tests.items()}]))
"""


def test_a_small_tree_is_judged(tmp_path):
    """The copy is mutated and put back; a failing test kills; a function without a test has survivors."""
    files = {
        "src/dpsparse/__init__.py": "",
        "src/dpsparse/core/__init__.py": "",
        "src/dpsparse/core/a.py": TEXT,
        "tests/core/test_a.py": "from dpsparse.core.a import f\n\n\ndef test_f():\n    assert f(2) and not f(3)\n",
        "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow: s', 'cluster: c', 'browser: b']\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "copy").mkdir()
    command = [sys.executable, "-c", TRIAL, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(run.__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    verdicts, entered = json.loads(done.stdout.splitlines()[-1])
    assert entered == {"tests/core/test_a.py::test_f": ["core/a.py:f"]}
    assert verdicts["f edge"] == ["killed", "tests/core/test_a.py::test_f"]
    assert verdicts["g arithmetic"] == ["survived", ""]
