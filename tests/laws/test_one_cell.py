"""A cell says the same, however it is read: by whole columns or one by one, by pyarrow or by the standard library."""

from __future__ import annotations

import importlib.util
import random

import numpy as np
import pytest

from dpsparse.io.dictionary.rules import CellReader
from dpsparse.io.files import blocks
from dpsparse.io.labels import Texts
from dpsparse.rows.cells import cell_number, exact, parse_number
from dpsparse.rows.records import cell_numbers
from dpsparse.tables import Column

pa = pytest.importorskip("pyarrow")

#: Texts that some program or other takes for a number.
ODD = [
    "", " ", "NA", "nan", "-nan", "nan(7)", "inf", "-Infinity", "1_000", "1,000", "1.5", " 2.5", "2.5 ", "+1", "--1", "+-1", "1e5", "1E+05",
    "1e", "1e400", "1e-400", "-1e-310", ".5", "5.", ".", "-", "0x1F", "1d5", "1f", "٣", "１", "\u00a01", "\ufeff1", "9007199254740993",
    "-9007199254740992", "9" * 400, "0." + "1" * 5000, "007", "-0", "1\x00", "\x001", "true", "2020-01-01", "<0.5", ">=7", "-9", "-9.0",
]  # fmt: skip


def drawn(seed, alphabet, count, longest):
    rng = random.Random(seed)
    return ["".join(rng.choices(alphabet, k=rng.randrange(longest))) for _ in range(count)]


NUMBERS = [
    *ODD,
    *drawn(0, "0123456789", 200, 25),
    *drawn(1, "0123456789+-.eE", 4000, 9),
    *drawn(2, "0129.eE+-_ xnaif", 4000, 7),
]


def same(one, two):
    return np.array_equal(np.asarray(one, dtype=float), np.asarray(two, dtype=float), equal_nan=True)


def test_numbers_of_a_column_are_those_of_its_cells():
    alone = [cell_number(text) for text in NUMBERS]
    for step in (1, 2, 3, 7):  # with and without cells that no reader of whole columns takes
        some = NUMBERS[::step]
        assert same(Texts(pa.array(some)).numbers(), alone[::step])
        assert same(Texts(some).numbers(), alone[::step])
    assert all(same(Texts(pa.array([text])).numbers(), [number]) for text, number in zip(NUMBERS, alone, strict=True))
    assert same(cell_numbers(np.array(NUMBERS, dtype=object)), alone)
    assert same([cell_number(text.encode()) for text in NUMBERS], alone)
    finite = [
        number if np.isfinite(number) and len(text) <= 1000 else np.nan
        for text, number in zip(NUMBERS, alone, strict=True)
    ]
    assert same([parse_number(text) for text in NUMBERS], finite)
    assert all(
        exact(text) == value or abs(value) >= 2**53
        for text, value in zip(NUMBERS, finite, strict=True)
        if value == value
    )


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"missing": ["-9", "unk", "1e5"]},
        {"decimal": ",", "thousands": "."},
        {"below": "half", "above": "missing"},
        {"kind": "boolean", "bounds": None},
        {"kind": "date", "bounds": ("1970-01-01", "2030-01-01"), "format": ["ISO", "YYYYMMDD"]},
        {"kind": "category", "bounds": None, "categories": ["1", "2.5", "9007199254740993", "true", "-0"]},
    ],
    ids=lambda how: ",".join(how) or "plain",
)
def test_a_declared_column_is_read_as_its_cells(how):
    column = Column(**{"name": "a", "kind": "number", "bounds": (-1e6, 1e6), **how})
    reader = CellReader(column)
    read = reader.places if column.kind == "category" else reader.values
    texts = [*NUMBERS[:1500], "2021-03-04", "20210304", "No", "UNK", "1.234,5"]
    alone = [read([text]) for text in texts]
    for cells in (texts, Texts(texts), Texts(pa.array(texts))):
        values, unread = read(cells)
        assert same(values, [value[0] for value, _ in alone])
        assert unread.tolist() == [bool(flag[0]) for _, flag in alone]


@pytest.mark.parametrize("quoted", [True, False])
def test_both_readers_of_csv_find_the_same_cells(tmp_path, monkeypatch, quoted):
    """Random bytes with quotes, ends of lines and bytes that are no UTF-8, also across the edges of blocks."""
    path, parts = (
        tmp_path / "a.csv",
        [b"a", b"1", b",", b",", b'"' if quoted else b".", b'""' if quoted else b"b", b"\n", b"\r\n", b" "],
    )
    rng = random.Random(int(quoted))
    for turn in range(300):
        alphabet = [*parts, *([b"\xff", b"\x00", b"\r", b"\xc3\xa9"] if turn % 3 == 0 else [])]
        lines = [b"%d,x,%d\n" % (i, i) for i in range(rng.randrange(40))]
        lines.insert(rng.randrange(len(lines) + 1), b"".join(rng.choices(alphabet, k=rng.randrange(25))) + b"\n")
        path.write_bytes(b"a,b,c\n" + b"".join(lines))
        with monkeypatch.context() as patch:
            patch.setattr("dpsparse.io.files.CSV_BYTES", rng.choice([64, 256, 2**20]))
            fast = _cells(path)
            patch.setattr(importlib.util, "find_spec", lambda name: None)
            assert _cells(path) == fast


def _cells(path):
    found = list(blocks(path, ["c", "a"]))
    return [[text for block in found for text in block[name]] for name in ("c", "a")]
