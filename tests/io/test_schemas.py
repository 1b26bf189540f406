"""Dictionaries from schemas, codebooks and labels: what they say is taken over, and no cell is read."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dpsparse.cli import main
from dpsparse.io.dictionary.schemas import dictionary_from
from dpsparse.tables import Dictionary, DictionaryError

FRICTIONLESS = {
    "missingValues": ["", "-9"],
    "primaryKey": "patient",
    "fields": [
        {"name": "patient", "type": "string"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "visit", "type": "date", "format": "%d.%m.%Y"},
        {"name": "died", "type": "boolean"},
    ],
}
CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "tableSchema": {
        "columns": [
            {"titles": "age", "datatype": {"base": "integer", "minimum": "0", "maximum": "110"}},
            {"titles": ["sex"], "datatype": {"base": "string", "format": "f|m"}},
            {"name": "visit", "datatype": {"base": "date", "format": "dd.MM.yyyy"}, "null": "-9"},
            {"name": "died", "datatype": "boolean"},
        ]
    },
}
REDCAP = """Variable / Field Name,Field Type,"Choices, Calculations, OR Slider Labels",Text Validation Type OR Show Slider \
Number,Text Validation Min,Text Validation Max,Identifier?
record_id,text,,,,,
age,text,,integer,0,110,
sex,radio,"f, Female | m, Male",,,,
visit,text,,date_dmy,2000-01-01,2030-01-01,
died,yesno,,,,,
phone,text,,,,,y
about,descriptive,,,,,
"""


def by_name(found):
    return {column.name: column for column in found.columns}


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_frictionless_schema(tmp_path):
    found = by_name(dictionary_from(write(tmp_path / "schema.json", FRICTIONLESS)))
    assert found["patient"].role == "id"
    assert found["age"].bounds == (0.0, 110.0)
    assert found["age"].missing == ("-9",)
    assert found["sex"].labels == ("f", "m")
    assert found["visit"].formats == ("%d.%m.%Y",)
    assert found["died"].kind == "boolean"
    package = write(tmp_path / "datapackage.json", {"resources": [{"schema": FRICTIONLESS}]})
    assert by_name(dictionary_from(package)) == found


def test_csvw(tmp_path):
    found = by_name(dictionary_from(write(tmp_path / "t.csv-metadata.json", CSVW)))
    assert found["age"].bounds == (0.0, 110.0)
    assert found["sex"].labels == ("f", "m")
    assert found["visit"].formats == ("DD.MM.YYYY",)
    assert found["visit"].codes == ("-9",)
    assert found["died"].kind == "boolean"


def test_a_redcap_codebook(tmp_path):
    found = by_name(dictionary_from(write(tmp_path / "redcap.csv", REDCAP)))
    assert [found[name].role for name in ("record_id", "phone", "about", "age")] == ["id", "id", "ignore", "feature"]
    assert found["age"].bounds == (0.0, 110.0)
    assert found["sex"].labels == ("f", "m")
    assert found["visit"].bounds == ("2000-01-01", "2030-01-01")
    assert found["died"].kind == "boolean"


def test_a_parquet_schema(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import datetime

    import pyarrow.parquet as pq

    table = pa.table(
        {"age": [1.5], "n": [2], "ok": [True], "day": [datetime.date(2020, 1, 1)], "word": ["secret@example.org"]}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = dictionary_from(tmp_path / "t.parquet")
    assert [column.kind for column in found.columns] == ["number", "number", "boolean", "date", None]
    assert "secret" not in str(found)


def test_stata_labels(tmp_path):
    pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [41.0], "sex": pd.Categorical(["f"], categories=["f", "m"]), "name": ["secret"]})
    frame["day"] = pd.to_datetime(["2020-01-01"])
    frame.to_stata(tmp_path / "t.dta", write_index=False, convert_dates={"day": "td"})
    found = by_name(dictionary_from(tmp_path / "t.dta"))
    assert found["sex"].labels == ("f", "m")
    assert (found["age"].kind, found["day"].kind, found["name"].kind) == ("number", "date", None)
    assert "secret" not in str(found)


def test_spss_labels(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
    import pandas as pd

    frame = pd.DataFrame({"age": [41.0], "sex": [1.0]})
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_value_labels={"sex": {1.0: "f", 2.0: "m"}})
    found = by_name(dictionary_from(tmp_path / "t.sav"))
    assert found["sex"].labels == ("f", "m")
    assert found["age"].kind == "number"


def test_what_is_no_schema_is_refused_without_a_cell(tmp_path):
    for name, content in (
        ("a.json", '{"x": "secret"}'),
        ("b.csv", "secret,y\n1,2\n"),
        ("c.json", "secret"),
        ("d.txt", ""),
    ):
        with pytest.raises(DictionaryError) as refusal:
            dictionary_from(write(tmp_path / name, content))
        assert "secret" not in str(refusal.value)


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "schema.json", FRICTIONLESS)
    words = ["dictionary", "new", "--from", "schema.json", "--target", "died"]
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 0, said.output
    assert "'visit': bounds are missing" in said.output
    assert Dictionary.read("dictionary.yaml").target.name == "died"
    assert CliRunner().invoke(main, ["dictionary", "new"]).exit_code == 2
