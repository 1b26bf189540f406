"""CSV files as people have them: semicolons, tabs and other encodings, by declaration."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse.cli import main
from dpsparse.core.errors import DataError
from dpsparse.io.files import blocks, header, read_table
from dpsparse.io.rows import open_rows
from dpsparse.io.tabular import CsvForm

LINES = [["größe", "note", "y"], ["1.5", "a,b;c", "1"], ["2.5", "ü\t", "0"], ["", "x", "1"]]
FORMS = [
    CsvForm(),
    CsvForm(";"),
    CsvForm("tab"),
    CsvForm("|"),
    CsvForm(encoding="cp1252"),
    CsvForm(";", "latin-1"),
    CsvForm(";", "utf-16"),
]


def write(path, form):
    text = "\n".join(form.delimiter.join(f'"{cell}"' for cell in line) for line in LINES) + "\n"
    path.write_bytes(text.encode(form.encoding))
    return path


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_form_has_the_same_cells(tmp_path, form):
    file = write(tmp_path / "t.csv", form)
    assert header(file, form) == LINES[0]
    [block] = blocks(file, ["note"], form)
    assert list(block["note"]) == [line[1] for line in LINES[1:]]
    found = read_table(file, "y", columns=["größe"], csv=form)
    assert np.array_equal(found.X, [[1.5], [2.5], [np.nan]], equal_nan=True)
    assert np.array_equal(found.y, [1, 0, 1])
    rows = open_rows(file, "y", columns=["größe"], csv=form)
    assert np.array_equal(rows.rows(0, 3), found.X, equal_nan=True)


def test_a_wrong_form_is_named(tmp_path):
    file = write(tmp_path / "t.csv", CsvForm("tab"))
    with pytest.raises(DataError, match="--delimiter tab"):
        header(file)
    with pytest.raises(DataError, match="--delimiter tab"):
        read_table(file)
    file = write(tmp_path / "u.csv", CsvForm(encoding="cp1252"))
    with pytest.raises(DataError, match=r"UTF-8.*--encoding cp1252"):
        header(file)
    for wrong in ({"delimiter": "::"}, {"encoding": "klingon"}):
        with pytest.raises(ValueError, match=r"delimiter|encoding"):
            CsvForm(**wrong)


def command(*words):
    found = CliRunner().invoke(main, [str(word) for word in words])
    return found.exit_code, found.output + found.stderr


def test_text_leads_to_the_dictionary(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "t.csv", CsvForm(";", "cp1252"))
    told = ("fit", "t.csv", "--target", "y", "--task", "classification")
    code, said = command(*told, "--delimiter", ";", "--encoding", "cp1252")
    assert code == 2
    assert "dpsparse dictionary new t.csv" in said
    code, said = command(*told, "--delimiter", ";", "--encoding", "cp1252", "--feature-bound", "5", "--classes", "0,1")
    assert code == 2
    assert "dpsparse dictionary new FILE" in said
    assert command("dictionary", "new", "t.csv", "--delimiter", ";", "--encoding", "cp1252")[0] == 0
    assert command("dictionary", "new", "t.csv", "--delimiter", ";", "--replace")[0] == 2
