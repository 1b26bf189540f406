"""dpsparse fit --unit, dictionaries with role unit, ledger create --unit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse.cli import main

DICTIONARY = """format: dpsparse-dictionary
version: 1
columns:
- {name: age, kind: number, bounds: [-1, 1]}
- {name: dose, kind: number, bounds: [-1, 1]}
- {name: gain, role: target, kind: number, bounds: [-3, 3]}
- {name: pid, role: ROLE}
"""


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["age,dose,gain,pid"]
    for person in range(200):
        for _ in range(rng.integers(1, 6)):
            age, dose = rng.uniform(-1, 1, 2)
            lines.append(f"{age:.4f},{dose:.4f},{age - dose + rng.normal(0, 0.2):.4f},P{person}")
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(main, [str(word) for word in words])
    return found.exit_code, found.output


def test_a_column_of_ids_makes_the_promise_to_a_person(visits, tmp_path):
    out = tmp_path / "model.json"
    words = ["--target", "gain", "--task", "regression", "--feature-bound", "1", "--target-bound", "3"]
    code, said = run("fit", visits, *words, "--unit", "pid", "--unit-name", "patient", "--out", out)
    assert code == 0, said
    stored = json.loads(out.read_text())
    assert stored["statement"]["unit"] == "one patient: all rows with the same id"
    assert stored["statement"]["n_rows"] == 200
    code, said = run("fit", visits, *words, "--unit", "who", "--out", tmp_path / "b.json")
    assert code == 2
    assert "has no column" in said
    code, said = run("fit", visits, *words, "--unit-name", "patient", "--out", tmp_path / "b.json")
    assert code == 2


def test_a_dictionary_names_the_unit_or_the_statement_warns(visits, tmp_path):
    for role, caveat in (("unit", False), ("id", True)):
        dictionary, out = tmp_path / f"{role}.yaml", tmp_path / f"{role}.json"
        dictionary.write_text(DICTIONARY.replace("ROLE", role))
        code, said = run("fit", visits, "--dictionary", dictionary, "--out", out)
        assert code == 0, said
        statement = json.loads(out.read_text())["statement"]
        assert any("may have several" in c for c in statement["caveats"]) is caveat
        assert statement["unit"].startswith("one row" if caveat else "one person")


def test_a_ledger_of_patients(visits, tmp_path):
    address = f"sqlite:///{tmp_path}/budget.db"
    code, said = run("ledger", "create", address, "trial", "--epsilon", 3, "--delta", 1e-5, "--unit", "patient")
    assert code == 0
    assert "one patient: all rows with the same id" in said
    words = ["--target", "gain", "--task", "regression", "--feature-bound", "1", "--target-bound", "3"]
    words += ["--ledger", address, "--dataset", "trial", "--no-resume"]
    code, said = run("fit", visits, *words, "--columns", "age,dose", "--out", tmp_path / "a.json")
    assert code != 0
    assert "protects a patient" in said
    code, said = run("fit", visits, *words, "--unit", "pid", "--unit-name", "patient", "--out", tmp_path / "a.json")
    assert code == 0, said
