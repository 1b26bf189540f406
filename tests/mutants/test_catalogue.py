"""The catalogue of mutants follows the code: every change still applies, to one place, and gives another program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

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
    assert rooms >= {"mechanisms", "privacy", "oracles", "answers", "hosts", "data", "statistics"}
