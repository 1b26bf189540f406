"""The catalogue of mutants follows the code: every change still applies, to one place, and gives another program."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from mutants import run
from mutants.catalogue import EXPLAINED, MUTANTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_mutant_changes_one_place_of_its_file(mutant):
    text = (ROOT / "src" / "dpsparse" / mutant.file).read_text()
    assert text.count(mutant.old) == 1
    changed = text.replace(mutant.old, mutant.new)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
    assert mutant.tests
    for test in mutant.tests:
        assert (ROOT / "tests" / test).is_file()


def test_mutants_have_names_of_their_own():
    names = [m.name for m in MUTANTS]
    assert len(set(names)) == len(names)
    assert len(names) >= 40
    assert set(EXPLAINED) <= set(names)


def test_every_trusted_room_has_mutants():
    rooms = {m.file.split("/")[0] for m in MUTANTS}
    assert rooms >= {"core", "oracles", "queries", "rows"}


# ------------------------------------------------------------------------------------------------ results

DOCS = ROOT / "docs"
AFRESH = "run: cd tests && python -m mutants.run --page (or --only NAME, to run a new mutant)"


def test_the_page_says_exactly_which_mutants_of_the_catalogue_have_a_result():
    """Every mutant is either among the results, with the checksum of its text, or named as one without."""
    content = json.loads((DOCS / "mutation.json").read_text())
    assert content == run.content_of(*run.read(DOCS)), AFRESH
    assert (DOCS / "mutation.md").read_text() == run.page_of(content), AFRESH
    judged = {row["mutant"]: row["checksum"] for row in content["results"]}
    assert judged.items() <= {m.name: m.checksum for m in MUTANTS}.items()
    assert {*judged, *content["without a result"]} == {m.name for m in MUTANTS}
    said = f"**{len(judged)} of {len(MUTANTS)} mutants have a result, {content['killed']} of them were killed.**"
    assert said in (DOCS / "mutation.md").read_text()
    assert content["killed"] == sum(row["killed by"] is not None for row in content["results"])
    assert {row["mutant"] for row in content["results"] if row["killed by"] is None} <= set(EXPLAINED)


def test_tests_that_killed_a_mutant_are_still_there():
    content = json.loads((DOCS / "mutation.json").read_text())
    assert content["results"]
    for row in content["results"]:
        if row["killed by"] is not None:
            file, _, test = row["killed by"].partition("::")
            assert f"def {test.split('[')[0]}(" in (ROOT / "tests" / file).read_text(), row


def test_a_result_lapses_when_the_text_of_its_mutant_changes(tmp_path, monkeypatch):
    first, second, third = MUTANTS[:3]
    monkeypatch.setattr(run, "MUTANTS", (first, second, third))
    run.write({first.name: "a/test_a.py::test_one", second.name: "a/test_a.py::test_two"}, {}, tmp_path)
    assert run.read(tmp_path)[0] == {first.name: "a/test_a.py::test_one", second.name: "a/test_a.py::test_two"}
    assert "**2 of 3 mutants have a result, 2 of them were killed.**" in (tmp_path / "mutation.md").read_text()
    other = replace(first, new=first.new + "  # changed")
    assert other.checksum != first.checksum
    monkeypatch.setattr(run, "MUTANTS", (other, second, third))
    assert run.read(tmp_path) == ({second.name: "a/test_a.py::test_two"}, {first.name: "a/test_a.py::test_one"})
    run.write(*run.read(tmp_path), tmp_path)
    assert "**1 of 3 mutants have a result, 1 of them were killed.**" in (tmp_path / "mutation.md").read_text()
    assert json.loads((tmp_path / "mutation.json").read_text())["without a result"] == [first.name, third.name]


def test_a_test_that_fails_without_the_mutant_kills_nothing(tmp_path, monkeypatch):
    """The control of a kill: the copy fails, mutant or not."""
    mutant = replace(MUTANTS[0], file="a.py", old="1", new="2", tests=("test_a.py",))
    copy = run.Copy.__new__(run.Copy)
    copy.folder, copy.passing = tmp_path, set()
    (tmp_path / "src" / "dpsparse").mkdir(parents=True)
    (tmp_path / "src" / "dpsparse" / "a.py").write_text("x = 1")
    monkeypatch.setattr(run.Copy, "tests", lambda *_: (1, "FAILED tests/test_a.py::test_x - no"))
    with pytest.raises(RuntimeError, match="does not pass without any mutant"):
        copy.judged(mutant, 1.0)
    outcomes = iter([(1, "FAILED tests/test_a.py::test_x - no"), (0, "")])
    monkeypatch.setattr(run.Copy, "tests", lambda *_: next(outcomes))
    assert copy.judged(mutant, 1.0).killed_by == "test_a.py::test_x"
    assert (tmp_path / "src" / "dpsparse" / "a.py").read_text() == "x = 1"
