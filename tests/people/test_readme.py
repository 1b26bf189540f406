"""What README shows, typed by six people who read nothing else: each reaches the end, and knows what is still open."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def block(language: str, word: str) -> str:
    """The block of README in a language that holds a word."""
    [found] = [text for kind, text in BLOCKS if kind == language and word in text]
    return found


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.stdout + result.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPSPARSE_LEDGER", raising=False)
    return tmp_path


def test_a_biostatistician_and_an_officer_follow_the_four_commands(folder):
    exec(block("python", "patients.csv"), {})
    (folder / "patients.yaml").write_text(block("yaml", "patients.yaml"))
    commands = [line for line in block("sh", "dpsparse fit patients.csv").splitlines() if line.startswith("dpsparse")]
    assert len(commands) == 4
    said = [run(*shlex.split(line, comments=True)[1:]) for line in commands]
    assert "useful" in said[1]
    assert len(said[1].splitlines()) == 6
    assert "odds ratio" in said[2]
    assert "one person: all rows with the same id" in said[2]
    assert "CAVEAT" not in said[2]
    assert len(said[2].splitlines()) <= 40
    assert "No objection found." in said[3]
    page = (folder / "report.html").read_text()
    assert 'type="checkbox"' in page
    assert "Signature" in page


def test_an_engineer_runs_the_six_lines(folder, capsys):
    model = {}
    exec(block("python", "SparseRegressor("), model)
    fitted = model["model"]
    assert {3, 41} <= set(fitted.support_)
    assert "differential privacy" in capsys.readouterr().out
    assert np.allclose(fitted.to_sklearn().predict(model["X"]), fitted.predict(model["X"]), rtol=1e-12, atol=1e-12)


def test_a_clinic_table_that_nobody_prepared_ends_in_named_open_points(folder):
    """Dates, labels and numbers that the dictionary does not describe, and people with several visits: each is named."""
    rng = np.random.default_rng(5)
    with (folder / "clinic.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["patient", "visit date", "sex", "income", "age", "ill"])
        for i in range(4000):
            age, income = rng.uniform(20, 80), rng.uniform(1100, 9000)
            day = f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.1984"
            sex, ill = rng.choice(["weiblich", "maennlich"]), rng.random() < 1 / (1 + np.exp((50 - age) / 8))
            table.writerow([i // 3, day, sex, f"{income:,.2f}", f"{age:.1f}", "yes" if ill else "no"])
    lines = [
        "format: dpsparse-dictionary",
        "version: 1",
        "columns:",
        "- {name: patient, role: id}",
        "- {name: visit date, kind: date, bounds: [1984-01-01, 1988-12-31]}",
        "- {name: sex, kind: category, categories: [female, male]}",
        "- {name: income, kind: number, bounds: [0, 10000]}",
        "- {name: age, kind: number, bounds: [18, 100]}",
        "- {name: ill, role: target, kind: category, categories: ['no', 'yes']}",
    ]
    (folder / "clinic.yaml").write_text("\n".join(lines))
    assert "not understood" in run("fit", "clinic.csv", "--dictionary", "clinic.yaml", "--epsilon", 4)
    found = json.loads(run("report", "model.json", "--json"))
    assert found["release"] == "not yet"
    said = json.dumps(found)
    for name in ("visit date", "sex", "income"):
        assert f"more than half of the cells of '{name}'" in said.lower().replace('\\"', "'"), name
    assert "one 'patient' may have several rows" in said
    assert "cells of 'age'" not in said.lower()


def test_an_operator_and_a_contributor_find_commands_that_exist(folder):
    """Those that README names; what they do is tested elsewhere."""
    rules = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"make ([a-z-]+)", README))
    assert {"demo", "test", "docs", "dist"} <= named
    assert {name for name in named if not re.search(rf"(?m)^{name}:", rules)} == set()
    for link in re.findall(r"\]\(((?:docs/)?[\w/.]+\.\w+)\)", README):
        assert (ROOT / link).exists(), link
