"""Dictionaries: three formats, one meaning; everything that is wrong is told at once."""

import json
import os

import pytest

from dpsparse.tables import Column, Dictionary, DictionaryError

CODEBOOK = Dictionary(
    [
        Column(name="patient", role="id"),
        Column(name="age", kind="number", bounds=(0, 110), fill=50, gap_is_feature=True, unit="year"),
        Column(name="crp", kind="number", bounds=(0.5, 300.25)),
        Column(name="sex", kind="category", categories=["female", "male"]),
        Column(name="ward", kind="category", categories=[1, 2, 3], fill=2),
        Column(name="smoker", kind="boolean", fill=False),
        Column(name="visit", kind="date", bounds=("2015-01-01", "2025-12-31"), fill="2020-06-01"),
        Column(name="note", role="ignore"),
        Column(name="died", role="target", kind="category", categories=["no", "yes"], base_rate=0.07),
    ]
)


@pytest.mark.parametrize("ending", ["yaml", "yml", "json", "csv"])
def test_a_dictionary_is_the_same_in_every_format(ending, tmp_path):
    path = tmp_path / f"d.{ending}"
    CODEBOOK.write(path)
    assert Dictionary.read(path) == CODEBOOK
    assert Dictionary.read(path).check() == ()


def test_yaml_guesses_nothing(tmp_path):
    path = tmp_path / "d.yaml"
    path.write_text(
        "version: 1\ncolumns:\n"
        "- {name: on, kind: category, categories: [no, yes, 1e3, 010, 2020-01-01, 'null']}\n"
        "- {name: y, kind: date, bounds: [2015-01-01, 2025-12-31], fill: null}\n"
    )
    found = Dictionary.read(path)
    assert found.columns[0].name == "on"
    assert found.columns[0].labels == ("no", "yes", "1e3", "010", "2020-01-01", "null")
    assert found.columns[1].fill is None
    assert found.check() == ()


def test_check_tells_everything_at_once_one_line_each():
    wrong = Dictionary(
        [
            Column(name="age", kind="numbr"),
            Column(name="bmi", kind="number"),
            Column(name="crp", kind="number", bounds=(5, 1)),
            Column(name="sex", kind="category"),
            Column(name="ward", kind="category", categories=["a", "a"]),
            Column(name="site", kind="category", categories=["north", "south"], fill="nroth"),
            Column(name="visit", kind="date", bounds=("2020-99-99", "2021-01-01")),
            Column(name="height", kind="number", bounds=(50, 250), fill=300),
            Column(name="smoker", kind="boolean", bounds=(0, 1)),
            Column(name="weight", role="featur", kind="number", bounds=(1, 2)),
            Column(name="a", kind="number", bounds=(0, 1), categories=["x"]),
            Column(name="b", kind="boolean", gap_is_feature="perhaps"),
            Column(name="c"),
            Column(name="y1", role="target", kind="date", bounds=("2020-01-01", "2021-01-01")),
            Column(name="y2", role="target", kind="boolean", base_rate=0.6),
            Column(name="y3", kind="boolean", base_rate=0.2),
            Column(name="y4", role="ignore", kind="category", categories=["a", "b", "c"], base_rate=0.2),
            Column(name="bmi", role="ignore"),
            Column(name=" "),
        ]
    )
    found = wrong.check()
    assert all("\n" not in line and line.endswith((".", "?")) for line in found)
    for part in (
        "column 'age': kind must be number, category, boolean or date, got 'numbr'. Did you mean 'number'?",
        "column 'bmi': bounds are missing. Give [lowest, highest]",
        "column 'crp': bounds must have the lower one first, got [5, 1].",
        "column 'sex': categories are missing.",
        "column 'ward': categories are listed twice: 'a'.",
        "column 'site': fill must be one of the categories, got 'nroth'. Did you mean 'north'?",
        "column 'visit': bounds must be [first, last]",
        "column 'height': fill must lie within the bounds [50, 250], got 300.0.",
        "column 'smoker': the field bounds belongs to the kind number or date",
        "got 'featur'. Did you mean 'feature'?",
        "column 'a': the field categories belongs to the kind category",
        "column 'b': gap_is_feature must be true or false",
        "column 'c': kind is missing.",
        "column 'y1': a date cannot be the target.",
        "column 'y2': base_rate is the share of the rarer class, above 0 and at most 0.5, got 0.6.",
        "column 'y3': base_rate belongs to a target with two classes.",
        "column 'y4': base_rate belongs to a target with two classes.",
        "there are 2 targets: 'y1', 'y2'.",
        "column 'bmi' is described 2 times.",
        "a column has no name",
    ):
        assert sum(part in line for line in found) == 1, part
    assert len(found) == 20


def test_a_dictionary_without_features_or_with_ambiguous_outputs_is_told():
    assert Dictionary([Column(name="a", role="id")]).check() == (
        "there is no feature. Give at least one column the role feature.",
    )
    twins = [
        Column(name="sex=f", kind="boolean"),
        Column(name="sex", kind="category", categories=["f", "m"]),
    ]
    assert "would both be called 'sex=f'" in Dictionary(twins).check()[0]


def test_unknown_fields_are_suggested_and_do_not_hide_what_is_missing(tmp_path):
    path = tmp_path / "d.json"
    path.write_text(
        json.dumps({"version": 1, "columns": [{"name": "age", "knid": "number"}, {"name": "b", "kind": "number"}]})
    )
    with pytest.raises(DictionaryError) as caught:
        Dictionary.read(path)
    assert "column 'age': unknown field 'knid'. Did you mean 'kind'?" in caught.value.problems
    assert any("column 'b': bounds are missing" in line for line in caught.value.problems)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.yaml", "version: 1\ncolumns: &a [*a]\n", "anchors"),
        ("d.yaml", "version: 1\ncolumns: !!python/object:os.system []\n", "tags"),
        ("d.yaml", "version: 1\ncolumns:\n- {name: a, name: b}\n", "twice"),
        ("d.yaml", "version: 1\ncolumns: [[[[[[1]]]]]]\n", "nested"),
        ("d.yaml", "version: 1\n columns: [\n", "line 2"),
        ("d.yaml", "", "empty"),
        ("d.yaml", "a: 1\n---\nb: 2\n", "more than one document"),
        ("d.json", '{"version": 1, "version": 1, "columns": []}', "twice"),
        ("d.json", "[" * 100_000, "not valid JSON"),
        ("d.json", '{"version": 1, "columns": [{"name": "a", "bounds": [0, NaN]}]}', "NaN"),
        ("d.json", '{"version": 2, "columns": []}', "version 2"),
        ("d.json", '{"columns": []}', "no version"),
        ("d.json", '{"version": 1}', "not a data dictionary"),
        ("d.json", '{"format": "other", "version": 1, "columns": []}', "not a data dictionary"),
        ("d.json", '{"version": 1, "columns": [1]}', "must be a list"),
        ("d.csv", "", "empty"),
        ("d.csv", "name,kind\na,number,3\n", "more cells"),
        ("d.csv", "version,name\n2,a\n", "version '2'"),
        ("d.txt", "", "was expected to end in"),
    ],
)
def test_files_that_are_no_dictionary_are_refused(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DictionaryError, match=message):
        Dictionary.read(path)


def test_only_regular_files_of_limited_size_are_read(tmp_path, monkeypatch):
    with pytest.raises(DictionaryError, match="does not exist"):
        Dictionary.read(tmp_path / "none.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(DictionaryError, match="not an ordinary file"):
        Dictionary.read(tmp_path / "pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(DictionaryError, match=r"not an ordinary file"):
        Dictionary.read(tmp_path / "folder.yaml")
    CODEBOOK.write(tmp_path / "d.yaml")
    monkeypatch.setattr("dpsparse.io.dictionary.formats.MOST_BYTES", 100)
    with pytest.raises(DictionaryError, match="at most 100 are read"):
        Dictionary.read(tmp_path / "d.yaml")
    (tmp_path / "e.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DictionaryError, match="UTF-8"):
        Dictionary.read(tmp_path / "e.yaml")


def test_a_header_that_does_not_fit_is_told_at_once_with_suggestions():
    header = ["patient", "agee", "crp", "sex", "ward", "smoker", "visit", "extra", "crp"]
    lines = CODEBOOK.check(header)
    assert lines == (
        "the table has no column 'age'. Did you mean 'agee'?",
        "the table has no column 'died'.",
        "the table has a column 'agee' that the dictionary does not describe. Did you mean 'age'?",
        "the table has a column 'extra' that the dictionary does not describe. Describe it, or give it the role ignore.",
        "the table has more than one column 'crp'. Rename one.",
    )


def test_a_category_with_a_bar_cannot_be_kept_in_csv(tmp_path):
    bar = Dictionary([Column(name="a", kind="category", categories=["x|y", "z"])])
    with pytest.raises(DictionaryError, match="Write YAML or JSON"):
        bar.write(tmp_path / "d.csv")
    bar.write(tmp_path / "d.yaml")
    assert Dictionary.read(tmp_path / "d.yaml") == bar


def test_dictionaries_are_frozen():
    with pytest.raises(AttributeError):
        CODEBOOK.columns = ()
    with pytest.raises(AttributeError):
        CODEBOOK.columns[0].name = "other"
