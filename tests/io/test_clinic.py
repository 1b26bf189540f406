"""A made-up clinic's table with its faults, from the command line: named, warned of, and read once the dictionary is right."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpsparse import load
from dpsparse.cli import main
from dpsparse.tables import Dictionary, TableEncoder

N = 6000

FAULTY = """version: 1
columns:
- {name: Patient ID, role: id}
- {name: visit date, kind: date, bounds: [1984-01-01, 1988-12-31]}
- {name: age (years), kind: number, bounds: [18, 90], unit: year}
- {name: sex, kind: category, categories: [female, male], match: exact}
- {name: married, kind: boolean}
- {name: income, kind: number, bounds: [0, 10000], unit: EUR}
- {name: crp, kind: number, bounds: [0, 100]}
- {name: seen doctor, role: target, kind: category, categories: [no, yes]}
- {name: comment, role: ignore}
"""
RIGHT = (
    FAULTY.replace("1988-12-31]}", "1988-12-31], format: DD.MM.YYYY}")
    .replace("match: exact}", "missing: [unk]}")
    .replace("unit: EUR}", 'unit: EUR, thousands: ","}')
    .replace("[0, 100]}", "[0, 100], below: half}")
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """The table as a clinic exports it, and both dictionaries."""
    folder = tmp_path_factory.mktemp("clinic")
    rng = np.random.default_rng(3)
    age = rng.integers(18, 91, N)
    income = rng.lognormal(7.5, 0.8, N).clip(0, 9999)
    frame = pd.DataFrame(
        {
            "Patient ID": [f"P{i:06d}" for i in range(N)],
            "visit date": [f"{d:02d}.{m:02d}.{y}" for d, m, y in rng.integers([1, 1, 1984], [29, 13, 1989], (N, 3))],
            "age (years)": np.where(rng.random(N) < 0.05, "", age.astype(str)),
            "sex": rng.choice(["Female", "male", "unk"], N, p=[0.45, 0.53, 0.02]),
            "married": rng.choice(["Y", "N", "n/a"], N),
            "income": [f"{v:,.2f}" if r > 0.1 else "n/a" for v, r in zip(income, rng.random(N), strict=True)],
            "crp": [f"<{0.5}" if v < 3 else f"{v:.1f}" for v in rng.lognormal(2, 1, N).clip(0, 99)],
            "seen doctor": np.where(rng.random(N) < 0.2 + 0.006 * age, "Yes", "no"),
            "comment": 'pt. anxious, "see letter"',
        }
    )
    frame.to_csv(folder / "clinic.csv", index=False, encoding="utf-8-sig")
    frame.to_parquet(folder / "clinic.parquet", index=False)
    (folder / "faulty.yaml").write_text(FAULTY)
    (folder / "right.yaml").write_text(RIGHT)
    return folder, frame


#: Columns with a fault, and which of their cells are not understood by the first dictionary.
FAULTS = {
    "visit date": lambda cells: np.ones(N, dtype=bool),
    "sex": lambda cells: cells.isin(["Female", "unk"]).to_numpy(),
    "income": lambda cells: cells.str.contains(",").to_numpy(),
    "crp": lambda cells: cells.str.startswith("<").to_numpy(),
}


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def fit(folder, *options, table="clinic.csv", dictionary="faulty.yaml", out="m.json"):
    given = [folder / table, "--dictionary", folder / dictionary, "--epsilon", 1, "--seed", 1, "--out", folder / out]
    return run("fit", *given, *options, code=7)


def told(notes):
    """Shares and standard errors by column, as the note tells them."""
    [note] = [note for note in notes if note.startswith("cells not understood, as a share of each column: ")]
    parts = [part.rsplit(" %", 2) for part in note.split(": ", 1)[1].split("; ") if "standard error" in part]
    return {
        name.rsplit(" ", 1)[0]: (float(name.rsplit(" ", 1)[1]) / 100, float(error.rsplit(" ", 1)[1]) / 100)
        for name, error, _ in parts
    }


def test_all_four_faults_are_named_with_their_shares_and_the_dead_column_has_no_coefficient(clinic):
    folder, frame = clinic
    result = fit(folder)
    model = load(folder / "m.json")
    found = told(model.statement_.notes)
    assert set(found) == set(FAULTS)
    for name, fault in FAULTS.items():
        share, error = found[name]
        assert abs(share - fault(frame[name]).mean()) <= 3 * error, name
        assert 0.01 < error < 0.02
    for name in ("visit date", "income"):
        assert f"Warning: more than half of the cells of '{name}' were not understood" in result.stderr
    assert "'sex'" not in result.stderr
    names = TableEncoder(Dictionary.read(folder / "faulty.yaml")).get_feature_names_out().tolist()
    assert model.coef_[0, names.index("visit date")] == 0
    assert "'visit date' has no coefficient" in result.stdout
    assert "visit date:" not in result.stdout, "no effect of nothing is printed"
    assert model.statement_.epsilon <= 1 + 1e-9


def test_with_the_right_dictionary_all_cells_are_read_and_nothing_is_named(clinic):
    folder, _ = clinic
    result = fit(folder, dictionary="right.yaml", out="right.json")
    assert told(load(folder / "right.json").statement_.notes) == {}
    assert result.stderr == "Error: this model carries no guarantee for anyone in the data; its caveats say why.\n"
    looked = json.loads(
        run("dictionary", "check", "--look", folder / "right.yaml", folder / "clinic.csv", "--json").stdout
    )
    assert {column["not_understood"] for column in looked["columns"]} == {0}


@pytest.mark.parametrize("storage", ["parquet", "aside"])
def test_files_of_any_kind_and_rows_put_aside_tell_the_same(clinic, storage):
    folder, _ = clinic
    fit(folder)
    table, more = ("clinic.parquet", []) if storage == "parquet" else ("clinic.csv", ["--memory-limit", "17MB"])
    fit(folder, *more, table=table, out="other.json")
    one, two = load(folder / "m.json"), load(folder / "other.json")
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.statement_.notes == two.statement_.notes


def test_show_and_report_tell_it_and_the_report_has_an_open_point(clinic):
    folder, _ = clinic
    fit(folder)
    shown = run("show", folder / "m.json", code=7).stdout  # a seed
    assert "Note: cells not understood, as a share of each column: visit date " in shown
    page = folder / "page.html"
    said = run("report", folder / "m.json", "--out", page, code=7).output
    assert "Cells: More than half of the cells of 'visit date' were not understood" in said
    text = page.read_text()
    assert "<h3>Cells not understood</h3>" in text
    assert "has no coefficient: as far as the noise allows to say" in text


def test_without_the_count_the_page_and_the_statement_say_that_nothing_is_known(clinic):
    folder, _ = clinic
    result = fit(folder, "--check-cells", 0, out="none.json")
    assert "cells that were not understood were not counted" in result.stdout
    assert "cells not understood" not in [ask.name for ask in load(folder / "none.json").statement_.asks]
    run("report", folder / "none.json", "--out", folder / "none.html", code=7)
    assert "so it is not known how many cells became fill values" in (folder / "none.html").read_text()


def test_a_local_recipe_does_not_count_and_says_so(clinic):
    folder, _ = clinic
    result = fit(folder, "--recipe", "ldp_iht", "--sparsity", 2, out="local.json")
    assert "cells that were not understood were not counted" in result.stdout
    given = [folder / "clinic.csv", "--dictionary", folder / "faulty.yaml", "--recipe", "ldp_iht", "--sparsity", 2]
    refused = run("fit", *given, "--check-cells", 0.1, "--out", folder / "x.json", code=2)
    assert "this recipe randomises on devices" in refused.stderr


def test_misplaced_options_are_refused_in_words(clinic):
    folder, _ = clinic
    refused = run("fit", folder / "clinic.csv", "--task", "regression", "--check-cells", 0.1, code=2)
    assert "--check-cells counts cells of a table that a --dictionary describes" in refused.stderr
    given = [folder / "clinic.csv", "--dictionary", folder / "faulty.yaml", "--cluster", "local:2"]
    refused = run("fit", *given, "--check-cells", 0.1, "--out", folder / "x.json", code=2)
    assert "cells are not counted where rows stand on a cluster" in refused.stderr
    refused = run("fit", *given[:-2], "--check-cells", 1.5, "--out", folder / "x.json", code=2)
    assert "check_cells must be" in refused.stderr


# ------------------------------------------------------------------------------------------------ for the data holder's eyes


def test_look_tells_exact_numbers_and_examples_and_that_they_must_not_be_released(clinic):
    folder, frame = clinic
    said = run("dictionary", "check", "--look", folder / "faulty.yaml", folder / "clinic.csv").stdout
    assert "NOT PRIVATE" in said
    assert "Do not release" in said
    looked = json.loads(
        run("dictionary", "check", "--look", folder / "faulty.yaml", folder / "clinic.csv", "--json").stdout
    )
    counts = {column["name"]: column["not_understood"] for column in looked["columns"]}
    assert looked["warning"].startswith("NOT PRIVATE")
    assert counts == {**dict.fromkeys(counts, 0), **{n: int(fault(frame[n]).sum()) for n, fault in FAULTS.items()}}
    examples = {column["name"]: column["examples"] for column in looked["columns"]}
    assert examples["sex"] == ["'Female'", "'unk'"] or examples["sex"] == ["'unk'", "'Female'"]
    assert examples["crp"] == ["'<0.5'"]
    assert len(examples["visit date"]) == 5


def test_without_look_no_cell_is_read_or_told(clinic):
    folder, _ = clinic
    said = run("dictionary", "check", folder / "faulty.yaml", folder / "clinic.csv").stdout
    assert said == f"{folder / 'faulty.yaml'} is complete: 6 features become 7 columns.\n"


def test_look_needs_a_table_and_cuts_and_escapes_what_it_shows(tmp_path):
    (tmp_path / "d.yaml").write_text("version: 1\ncolumns:\n- {name: x, kind: number, bounds: [0, 1]}\n")
    refused = run("dictionary", "check", "--look", tmp_path / "d.yaml", code=2)
    assert "--look reads the cells of a table" in refused.stderr
    (tmp_path / "t.csv").write_text("x\n\x1b[31mred\n" + "y" * 500 + "\n0.5\n")
    said = run("dictionary", "check", "--look", tmp_path / "d.yaml", tmp_path / "t.csv").stdout
    assert "\x1b" not in said
    assert "'\\x1b[31mred'" in said
    assert "y" * 50 not in said
