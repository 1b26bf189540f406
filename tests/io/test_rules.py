"""How cells are written: rules of a dictionary, and which cells were not understood."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpsparse.io.dictionary.frames import Table
from dpsparse.io.dictionary.rules import CellReader
from dpsparse.rows.cells import CategoryMatcher, parse_date
from dpsparse.tables import Column, Dictionary, DictionaryError, TableEncoder, Target

NAN = math.nan


def number(**rules):
    return Column(name="x", kind="number", bounds=(0, 10_000), **rules)


def dates(*formats):
    return Column(name="x", kind="date", bounds=("1980-01-01", "2020-01-01"), format=list(formats) or None)


def labels(*categories, **rules):
    return Column(name="x", kind="category", categories=categories, **rules)


@pytest.mark.parametrize(
    ("rules", "cell", "value"),
    [
        ({}, "1,804.02", NAN),
        ({}, "<0.5", NAN),
        ({"thousands": ","}, "1,804.02", 1804.02),
        ({"thousands": ","}, "820.00", 820.0),
        ({"thousands": ","}, "-1,234,567e-3", -1234.567),
        ({"thousands": ","}, "1,80", NAN),
        ({"thousands": ","}, "1,8041", NAN),
        ({"thousands": ","}, "12,5", NAN),
        ({"decimal": ","}, "12,5", 12.5),
        ({"decimal": ","}, ",5", 0.5),
        ({"decimal": ","}, "12.5", NAN),
        ({"decimal": ",", "thousands": "."}, "1.804,02", 1804.02),
        ({"decimal": ",", "thousands": "."}, "12.5", NAN),
        ({"thousands": "space"}, "1\u202f804", 1804.0),
        ({"thousands": " "}, "1 804", 1804.0),
        ({"thousands": "'"}, "1’804.5", 1804.5),
        ({"thousands": ","}, ".", NAN),
        ({"thousands": ","}, "٣", NAN),
        ({"thousands": ","}, 1804.02, 1804.02),
        ({"below": "limit"}, "<0.5", 0.5),
        ({"below": "half"}, "< 0.5", 0.25),
        ({"below": "half"}, "≤0.5", 0.25),
        ({"below": "half"}, "> 100", NAN),
        ({"above": "limit"}, ">=100", 100.0),
        ({"above": "limit", "thousands": ","}, "> 1,000", 1000.0),
        ({"below": "half"}, "<low", NAN),
        ({"missing": ["-9", "unk"]}, "-9.0", NAN),
        ({"missing": [-9, "unk"]}, "-8", -8.0),
    ],
)
def test_a_number_is_read_by_its_rules(rules, cell, value):
    [found], _ = CellReader(number(**rules)).values([cell])
    assert found == value or (math.isnan(found) and math.isnan(value))


@pytest.mark.parametrize(
    ("formats", "cell", "iso"),
    [
        ((), "23.08.1984", None),
        (("DD.MM.YYYY",), "23.08.1984", "1984-08-23"),
        (("%d.%m.%Y",), "3.8.1984", "1984-08-03"),
        (("DD.MM.YYYY",), "23.08.84", None),
        (("DD.MM.YYYY",), "1984-08-23", None),
        (("DD.MM.YYYY", "ISO"), "1984-08-23", "1984-08-23"),
        (("MM/DD/YY", "DD.MM.YYYY"), "08/23/84", "1984-08-23"),
        (("YYYYMMDD",), "19840823", "1984-08-23"),
        (("YYYYMMDD",), 19840823.0, "1984-08-23"),
        (("%Y",), "1984", "1984-01-01"),
        (("%Y-%j",), "1984-236", "1984-08-23"),
        (("DD.MM.YYYY",), datetime.date(1984, 8, 23), "1984-08-23"),
        (("DD.MM.YYYY",), "31.02.1984", None),
        (("DD.MM.YYYY HH:mm",), "23.08.1984 12:00", "1984-08-23T12:00"),
    ],
)
def test_a_date_is_read_by_its_formats(formats, cell, iso):
    [found], _ = CellReader(dates(*formats)).values([cell])
    assert math.isnan(found) if iso is None else found == parse_date(iso)


@pytest.mark.parametrize(
    ("column", "cell", "place"),
    [
        (labels("female", "male"), " Female ", 0),
        (labels("female", "male", match="exact"), "Female", CategoryMatcher.FOREIGN),
        (labels("female", "male", match="exact"), " female ", 0),
        (labels("STRASSE"), "straße", 0),
        (labels("none", "graduate"), "None", 0),
        (labels("graduate"), "None", CategoryMatcher.GAP),
        (labels("a"), "n/a", CategoryMatcher.GAP),
        (labels("a", match="exact"), "n/a", CategoryMatcher.FOREIGN),
        (labels("a", missing=["UNK"]), "unk", CategoryMatcher.GAP),
        (labels("1", "2", missing=["9"]), 9.0, CategoryMatcher.GAP),
        (labels("a", "A", match="exact"), "A", 1),
    ],
)
def test_labels_ignore_case_and_space_unless_exact(column, cell, place):
    assert CellReader(column).places([cell])[0].tolist() == [place]


GAP_CELLS = [None, "", " ", "NA", "n/a", NAN, pd.NA, pd.NaT, np.datetime64("NaT", "s"), "Null", "-9", "-9.0", -9, "UNK"]
FOREIGN_CELLS = ["?", "1.804,02", float("inf"), object(), [1], "x" * 2000, b"\xff"]


@pytest.mark.parametrize("kind", ["number", "date", "category", "boolean"])
def test_gaps_and_declared_codes_are_understood_and_nothing_else_is_passed_over(kind):
    needs = {
        "number": {"bounds": (0, 1)},
        "date": {"bounds": ("2000-01-01", "2001-01-01")},
        "category": {"categories": ["a"]},
    }
    column = Column(name="x", kind=kind, missing=["-9", "unk"], **needs.get(kind, {}))
    for cell in [*GAP_CELLS, *FOREIGN_CELLS]:
        reader = CellReader(column)
        _, unread = reader.places([cell]) if kind == "category" else reader.values([cell])
        assert unread.tolist() == [any(cell is foreign for foreign in FOREIGN_CELLS)], cell


def test_codes_beyond_the_digits_of_a_float_are_told_apart():
    column = Column(name="x", kind="number", bounds=(0, 1e17), missing=["9007199254740993"])
    values, unread = CellReader(column).values(["9007199254740993", "9007199254740992", 9007199254740993])
    assert np.isnan(values).tolist() == [True, False, True]
    assert not unread.any()


@pytest.mark.parametrize(
    ("column", "gaps", "others"),
    [
        (
            number(decimal=",", missing=[99.9]),
            ["99,9", "99,90", "99.9", " 99,9 ", 99.9, b"99,9"],
            ["99,8", 99.8, "9,99"],
        ),
        (number(decimal=",", missing=["99,9"]), ["99,9", "99,90", 99.9, "999e-1"], ["99,8", "999"]),
        (
            number(thousands=",", missing=[9999]),
            ["9,999", "9999", "9,999.0", 9999, "9999.00"],
            ["9,998", "9.999", 9.999],
        ),
        (number(decimal=",", thousands=".", missing=[99.9]), ["99,9", 99.9], ["99.900", 99900]),
        (number(below="half", missing=["9"]), ["9", 9.0], ["<18", "<9"]),
        (number(below="limit", missing=["<5"]), ["<5"], ["5", 5, "<4"]),
        (number(missing=[-9]), ["-9", "-9.00", "-09", "-9e0", np.int8(-9), Decimal("-9.0")], ["9"]),
        (
            Column(name="x", kind="date", bounds=("1980-01-01", "2020-01-01"), missing=["1900-01-01"]),
            [
                "1900-01-01",
                "1900-01-01T00:00",
                "1900-01-01 00:00:00",
                datetime.date(1900, 1, 1),
                datetime.datetime(1900, 1, 1),
                pd.Timestamp("1900-01-01"),
                np.datetime64("1900-01-01"),
                np.datetime64("1900-01-01", "ns"),
            ],
            ["1900-01-02", datetime.date(1900, 2, 1)],
        ),
        (
            Column(
                name="x",
                kind="date",
                bounds=("1980-01-01", "2020-01-01"),
                format=["DD.MM.YYYY", "YYYYMMDD"],
                missing=["01.01.1900", "2099-12-31"],
            ),
            ["01.01.1900", "1.1.1900", "19000101", 19000101, pd.Timestamp("1900-01-01"), "31.12.2099", 20991231.0],
            ["02.01.1900", 19000102],
        ),
        (Column(name="x", kind="boolean", missing=["n"]), ["n", "N"], ["no", False, "0"]),
    ],
)
def test_declared_codes_are_gaps_however_they_are_written_or_stored(column, gaps, others):
    values, unread = CellReader(column).values([*gaps, *others])
    assert np.isnan(values).tolist() == [True] * len(gaps) + [False] * len(others)
    assert not unread.any()
    for stored in (float, "datetime64[s]"):
        cells = [cell for cell in gaps if isinstance(cell, float if stored is float else np.datetime64 | datetime.date)]
        if cells:
            values, unread = CellReader(column).values(Table({"x": np.array(cells, dtype=stored)}, ["x"]).cells("x"))
            assert np.isnan(values).all()
            assert not unread.any()


def test_codes_of_floats_are_told_apart_in_arrays_as_in_lists():
    column = Column(name="x", kind="number", bounds=(0, 1e17), missing=["9007199254740993", "9007199254740996"])
    cells = np.array([9007199254740992.0, 9007199254740996.0])
    for given in (cells, cells.tolist()):
        assert np.isnan(CellReader(column).values(given)[0]).tolist() == [False, True]


def test_censored_cells_that_count_as_missing_are_understood():
    _, unread = CellReader(number(below="missing")).values(["<0.5", "<low", ">3"])
    assert unread.tolist() == [False, True, True]


@pytest.mark.parametrize("missing", [None, ["-9"]])
def test_columns_of_floats_are_read_as_their_cells_are(missing):
    cells = np.array([1.0, NAN, np.inf, -9.0, 20_000.0])
    fast, slow = (CellReader(number(missing=missing)).values(given) for given in (cells, cells.tolist()))
    np.testing.assert_array_equal(fast[0], slow[0])
    np.testing.assert_array_equal(fast[1], slow[1])


def test_a_target_is_read_by_its_rules():
    income = Target(Column(name="y", role="target", kind="number", bounds=(0, 9000), thousands=",", missing=["-9"]))
    y, unread = income.read_checked({"y": ["1,804.02", "-9", "1.804,02"]})
    assert y.tolist() == [1804.02, 4500.0, 4500.0]
    assert unread.tolist() == [False, False, True]
    event = Target(Column(name="y", role="target", kind="category", categories=["no", "yes"]))
    y, unread = event.read_checked({"y": ["Yes", "NO", "", "ja"]})
    assert y[:2].tolist() == ["yes", "no"]
    assert unread.tolist() == [False, False, False, True]


# ------------------------------------------------------------------------------------------------ the dictionary

RULED = Dictionary(
    [
        Column(name="visit", kind="date", bounds=("1984-01-01", "1988-12-31"), format=["DD.MM.YYYY", "%Y%m%d", "ISO"]),
        Column(name="income", kind="number", bounds=(0, 10_000), decimal=",", thousands=" ", missing=["-9", "unk"]),
        Column(name="crp", kind="number", bounds=(0, 100), below="half", above="limit", thousands="'"),
        Column(name="sex", kind="category", categories=["f", "F"], match="exact", missing=["?"]),
    ]
)


@pytest.mark.parametrize("ending", ["yaml", "json", "csv"])
def test_rules_survive_every_kind_of_file(tmp_path, ending):
    assert RULED.check() == ()
    RULED.write(tmp_path / f"d.{ending}")
    assert Dictionary.read(tmp_path / f"d.{ending}") == RULED


def test_one_word_in_place_of_a_list_is_a_list_of_one(tmp_path):
    (tmp_path / "d.yaml").write_text(
        "version: 1\ncolumns:\n- {name: x, kind: date, bounds: [2000-01-01, 2001-01-01], format: DD.MM.YYYY, missing: -9}\n"
    )
    [column] = Dictionary.read(tmp_path / "d.yaml").require().columns
    assert (column.formats, column.codes) == (("DD.MM.YYYY",), ("-9",))


def test_a_bar_in_a_code_is_kept_by_yaml_and_refused_by_csv(tmp_path):
    odd = Dictionary([number(missing=["a|b"])])
    with pytest.raises(DictionaryError, match="an entry of missing holds"):
        odd.write(tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            labels("A", "a", "b"),
            "categories differ only in the case of letters: 'A', 'a'. Keep one of them, or write match: exact.",
        ),
        (labels("unk", "b", missing=["UNK"]), "missing and categories both list 'UNK'. Keep one of them."),
        (labels("1", "2", missing=["2.0"]), "missing and categories both list '2.0'. Keep one of them."),
        (dates("DD. MMM YYYY"), "format 'DD. MMM YYYY' is not understood. Write it of YYYY, YY, MM, DD, HH, mm and ss"),
        (dates("%d.%m"), "format '%d.%m' is not understood"),
        (dates("%b %Y"), "format '%b %Y' is not understood"),
        (dates("%d %Y"), "format '%d %Y' is not understood"),
        (dates("%Y %y"), "format '%Y %y' is not understood"),
        (
            number(format="DD.MM.YYYY"),
            "the field format belongs to the kind date, but the kind is 'number'. Leave it out.",
        ),
        (
            labels("a", decimal=","),
            "the field decimal belongs to the kind number, but the kind is 'category'. Leave it out.",
        ),
        (
            number(match="exact"),
            "the field match belongs to the kind category, but the kind is 'number'. Leave it out.",
        ),
        (number(decimal=";"), "decimal must be . or ,, got ';'."),
        (number(thousands="."), "thousands and decimal are both '.'. Declare the other one, too."),
        (number(decimal=",", thousands=","), "thousands and decimal are both ','."),
        (number(below="halve"), "below must be limit, half or missing, got 'halve'. Did you mean 'half'?"),
        (number(above="half"), "above must be limit or missing, got 'half'."),
        (
            Column(name="x", kind="number", bounds=(-1, 1), below="half"),
            "below: half is for quantities that are never negative",
        ),
        (number(missing=[]), "missing must be a list of codes such as -9 or unk"),
        (number(missing=[""]), "missing must be a list of codes such as -9 or unk"),
        (
            Column(name="x", kind="date", bounds=("2000-01-01", "2001-01-01"), format={"a": 1}),
            "format must be text such as DD.MM.YYYY",
        ),
    ],
)
def test_rules_that_make_no_sense_are_refused_in_words(column, message):
    [problem] = column.problems()
    assert problem.startswith(f"column 'x': {message}")


def test_a_misspelt_rule_is_named():
    with pytest.raises(DictionaryError, match=r"unknown field 'thousand'\. Did you mean 'thousands'\?"):
        Dictionary.from_dict({"version": 1, "columns": [{"name": "x", "kind": "number", "thousand": ","}]})


def test_old_dictionaries_read_the_same_cells():
    """Without rules only the case of letters in labels is new."""
    old = Dictionary(
        [
            Column(name="a", kind="number", bounds=(0, 10)),
            Column(name="b", kind="date", bounds=("2000-01-01", "2002-01-01")),
        ]
    )
    cells = {
        "a": ["5", " 7.5 ", "1e1", "1,5", "<3", "x", True],
        "b": ["2001-01-01", "2001-01-01T12:00", "20010101", "01.01.2001", "", None, 7],
    }
    found = TableEncoder(old).fit_transform(cells)
    np.testing.assert_array_equal(found[:, 0], [0, 0.5, 1, 0, 0, 0, -0.8])
    assert np.count_nonzero(found[:, 1]) == 2
