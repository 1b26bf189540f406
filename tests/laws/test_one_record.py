"""One record neither stops nor changes a fit.

A corpus of hostile cells goes through every reader, container, encoder and free step, in one record of a table. Reading must end the same
way, with the same messages and warnings, as with an ordinary cell in that place; and every *other* record must read the same, bit for bit.
(Zeros are compared without their sign, which no lattice keeps.) Each group has a control: the behaviour that the law was written against
is caught by the same comparison.
"""

from __future__ import annotations

import csv
import functools
import io
import types
import warnings
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
)
from sklearn.random_projection import GaussianRandomProjection

from dpsparse import RowNormalizer, SparseClassifier, SparseRegressor, make_private_pipeline, private_score
from dpsparse.audit.transformer_checks import steady_rows
from dpsparse.cli import main
from dpsparse.estimators import input_checks
from dpsparse.estimators.steps import row_map as row_map_module
from dpsparse.estimators.steps.row_map import leave_out, row_map
from dpsparse.io import svmlight, tabular
from dpsparse.io.files import blocks, read_table
from dpsparse.readers import convert, open_rows
from dpsparse.rows.records import Records
from dpsparse.tables import Column, Dictionary, TableEncoder, Target

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
import pyarrow.parquet as pq  # noqa: E402

# ------------------------------------------------------------------------------------------------------ the corpus

#: Cells as text; most of them are no numbers, and some are numbers that few programs agree on.
TEXTS = [
    "", " ", "NA", "N/A", "nan", "NaN", "-nan", "+nan", "nan(7)", "null", "NULL", "None", "NaT", "<NA>", "#N/A", "?", "-", ".", "+",
    "inf", "-inf", "Infinity", "-INFINITY", "1e308", "1e309", "-1e400", "5e-324", "1e-400", "1e", "e5", "0x1p3", "0x10", "0b1", "1_000",
    "1,5", "1.804,02", "1'000", "1 000", "+-1", "++1", "--1", "+1", "+.5", ".5", "5.", " 1 ", "\t1\t", "\u00a01", "1\u2009", "١٢", "１２", "½",
    "²", "1٫5", "−1", "True", "false", "yes", "1e5", "1E5", "1d5", "1f", "1L", "1j", "(1)", "$1", "1%", "2023-01-01", "23.08.1984",
    "2023-99-99", "12:30", "1970-01-01T00:00:00Z", "9007199254740993", "18446744073709551617", "1" + "0" * 400, "0." + "0" * 400 + "1",
    "Jose\u0301", "\ufeff1", "\u202e1\u202c", "\u200b1", "🙂", "\U0001f468\u200d\U0001f469", "a\u0000b", "\x00", "\x1a", "\x7f", "a\tb",
    'a"b', '"', '""', "a,b", ",", ",,,", "a\nb", "a\r\nb", "\n", "a\rb", "#", "# 1", ";", "'", "\\", "\\N", "=1+1", "{}", "[1]", "qid:3", "1:1",
    "HIV+", "red", "x" * 5_000, "9" * 5_000,
]  # fmt: skip
#: Cells as bytes, as no program should have written them.
BYTES = [
    b"Jos\xe9", b"\xff\xfe1\x00", b"\x80", b"\xc3", b"\xed\xa0\x80", b"\xf5\x90\x80\x80", b"\xc0\x80", b"1\xa0", b"x" * 140_000,
    b"0." + b"1" * 140_000, b'"' + b"y,z\n" * 50_000 + b'"',
]  # fmt: skip


class Rude:
    """A cell that answers nothing."""

    def __float__(self) -> float:
        raise RuntimeError("7351")

    __str__ = __repr__ = __hash__ = __len__ = __array__ = __eq__ = __bool__ = __float__  # type: ignore[assignment]


class RudeNumber(int):
    """A whole number that is none when asked."""

    def __float__(self) -> float:
        raise RuntimeError("7351")


#: Cells as Python objects.
OBJECTS = [
    None, pd.NA, pd.NaT, np.nan, float("inf"), float("-inf"), True, False, np.True_, 2**53 + 1, -(2**63), 2**64, 10**400, -(10**5000), 1e308,
    5e-324, np.float16(0.1), np.float32(0.1), np.longdouble("1e400"), np.int8(-3), np.uint64(2**64 - 1), np.str_("7"), np.bytes_(b"7"),
    np.datetime64("NaT"), np.datetime64("2023-01-01"), np.timedelta64(3, "D"), pd.Timestamp("2023-01-01", tz="UTC"), pd.Timedelta("1D"),
    date(2023, 1, 1), datetime(1, 1, 1, tzinfo=UTC), Decimal("0.1"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999"), Fraction(1, 3),
    1j, np.complex64(1), b"7", b"\xff", bytearray(b"7"), (1,), (), [1.0], [1, 2], {}, {"a": 1}, {1}, np.array(5.0), np.array([5.0]), np.zeros((2, 2)),
    np.array([]), sp.csr_matrix([[1.0]]), pd.Series([1.0]), object(), type, len, Rude(), RudeNumber(7), "\ud800", range(3), Ellipsis,
    *TEXTS,
]  # fmt: skip

N = 9
PLACES = (0, 4, N - 1)
#: Cells of the other records: numbers that both parsers of CSV must read alike.
COMPANY = ["0.1", " 2.5", "1e-310", "inf", "NA", "123456789012345678", "-Infinity", "3.0000000000000004", "7"]


@pytest.fixture(autouse=True)
def decided_once(monkeypatch):
    """How many rows a step is given at once is decided on synthetic rows alone: here once for each step, to save time."""
    known = {}

    def decide(step, like, *, fitted=False):
        key = id(step), fitted, type(like), sp.issparse(like)
        if key not in known:
            known[key] = steady_rows(step, like, fitted=fitted)
        return known[key]

    monkeypatch.setattr(row_map_module, "steady_rows", decide)


def test_the_corpus_is_large():
    assert len({repr(text) for text in TEXTS}) + len(BYTES) > 120
    assert len(OBJECTS) - len(TEXTS) > 50


# ------------------------------------------------------------------------------------------------------ the comparison


def ended(run):
    """How a run ends: what it says, what it warns of, and what comes back."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found, said = run(), ""
        except Exception as error:
            found, said = None, f"{type(error).__name__}: {error}"
    return said, [str(warning.message) for warning in warned], found


def frozen(rows, place):
    """The other records, to the bit."""
    rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    rows = np.delete(rows, place, axis=0)
    if rows.dtype.kind in "OU":
        return rows.tolist()
    return (rows.astype(float) + 0.0).tobytes()


def differs(read, cells, ordinary, place):
    """Cells with which reading ends in another way than with the ordinary one, or other records read differently."""
    expected, found = ended(lambda: read(ordinary)), []
    assert not expected[0], expected[0]
    for cell in cells:
        said = ended(lambda cell=cell: read(cell))
        same = said[:2] == expected[:2] and all(
            frozen(one, place) == frozen(two, place) for one, two in zip(said[2], expected[2], strict=True)
        )
        if not same:
            found.append((short(cell), said[0][:80], said[1][:1]))
    return found


def short(cell):
    try:
        return repr(cell)[:30]
    except Exception:
        return type(cell).__name__


# ------------------------------------------------------------------------------------------------------ CSV


def quoted(cell):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="").writerow([cell])
    return out.getvalue().encode("utf-8", "surrogatepass")


def csv_cells():
    raw = [text.encode() for text in TEXTS if not set(text) & set(',"\r\n')]
    return [*raw, *(quoted(text) for text in TEXTS), *BYTES]


def csv_reader(path, column, place, target, ordinary):
    """Write a table with one cell, and read it in every way."""

    def read(cell):
        cell = quoted(ordinary) if cell is None else cell
        lines = [[c.encode(), b"%d" % i, b"note", target[i % 2].encode()] for i, c in enumerate(COMPANY)]
        lines[place][column] = cell
        path.write_bytes(b"a,b,unused,y\n" + b"".join(b",".join(line) + b"\r\n" for line in lines))
        # a byte that is no UTF-8 is none in a Latin-1 name either: the column is not used
        text = target[0] == "no"
        classes = ["no", "yes"] if text else [0, 1]
        table = read_table(path, "y", columns=["a", "b"], text_labels=text)
        rows = open_rows(path, "y", columns=["a", "b"], classes=classes)
        known = table.y if not text else np.array([label if label in classes else "" for label in table.y])
        block = list(blocks(path, ["a", "y"]))
        assert len(block) == 1
        meant = "texts" if text else "numbers"
        return [table.X, known, rows.rows(0, N), rows.targets(meant), block[0]["a"], block[0]["y"]]

    return read


@pytest.mark.parametrize("column", [0, 2, 3], ids=["used", "unused", "target"])
@pytest.mark.parametrize("place", PLACES)
def test_csv(tmp_path, column, place):
    cells = csv_cells()
    for target, ordinary in ((["0", "1"], "1"), (["no", "yes"], "no")):
        read = csv_reader(tmp_path / "a.csv", column, place, target, ordinary)
        every = 1 if place == 4 and (column == 3 or (column == 0 and target[0] == "0")) else 7
        assert differs(read, cells[(place + column) % every :: every], None, place) == []


def test_csv_control(tmp_path, monkeypatch):
    read = csv_reader(tmp_path / "a.csv", 0, 4, ["0", "1"], "1")
    monkeypatch.setattr(csv, "field_size_limit", lambda *_: 131_072)
    assert {found[0][:4] for found in differs(read, BYTES, None, 4)} == {"b'xx", "b'0.", "b'\"y"}
    strict = functools.partial(io.TextIOWrapper, errors=None)
    monkeypatch.undo()
    wrapped = types.SimpleNamespace(TextIOWrapper=lambda file, **how: strict(file, **{**how, "errors": "strict"}))
    monkeypatch.setattr(tabular, "io", wrapped)
    assert len(differs(read, BYTES, None, 4)) >= 7


def test_converted_files(tmp_path):
    def read(cell):
        lines = [c.encode() + b",%d" % i for i, c in enumerate(COMPANY)]
        lines[4] = (b"1" if cell is None else cell) + b",1"
        (tmp_path / "a.csv").write_bytes(b"a,y\n" + b"\n".join(lines) + b"\n")
        convert(tmp_path / "a.csv", tmp_path / "a.dpsrows", "y")
        rows = open_rows(tmp_path / "a.dpsrows")
        return [rows.rows(0, N), rows.targets("numbers")]

    assert differs(read, csv_cells()[::5], None, 4) == []


def test_pieces_of_a_long_file(tmp_path, monkeypatch):
    """A hostile cell in any piece of a file that is parsed piece by piece."""
    count = 3000
    monkeypatch.setattr("dpsparse.io.tabular.LEAST_CSV_BLOCK", 2**12)
    lines = [f"{i / 7!r},{i % 2}".encode() for i in range(count)]

    def read(cell):
        changed = list(lines)
        changed[place] = (b"1" if cell is None else cell) + b",1"
        (tmp_path / "a.csv").write_bytes(b"a,y\n" + b"\n".join(changed) + b"\n")
        rows = open_rows(tmp_path / "a.csv", "y")
        return [rows.rows(0, count), rows.targets("numbers")]

    for place in (0, 1500, count - 1):
        assert differs(read, [b"oops", b"Jos\xe9", b'"a\nb"', b"x" * 140_000], None, place) == []


# ------------------------------------------------------------------------------------------------------ svmlight

LINES = [
    b"1 1:0.5 3:2",
    b"-1",
    b"+1 2:1e-3 4:-4",
    b"0.25 4:1 2:7",
    b"+.5 1:1e300",
    b"-0.5 2:1",
    b"1e3 1:.5",
    b"2. 3:5.",
    b"00 01:1",
]
TOKENS = [
    token
    for text in TEXTS
    if not set(text) & set("\n")
    for token in (text.encode() or b"0",)
]  # fmt: skip


@pytest.mark.parametrize("form", ["target", "value", "column", "line", "comment"])
def test_svmlight(tmp_path, form):
    def read(token):
        lines = list(LINES)
        lines[place] = {
            "target": b"%s 1:1",
            "value": b"1 1:1 2:%s",
            "column": b"1 %s:1",
            "line": b"%s",
            "comment": b"1 1:1 # %s",
        }[form] % (b"1" if token is None else token)
        if not lines[place].split(b"#")[0].split():
            lines[place] = b"nan"  # a line without a word is no record
        (tmp_path / "a.svm").write_bytes(b"\n".join(lines) + b"\n")
        table, rows = read_table(tmp_path / "a.svm", n_features=4), open_rows(tmp_path / "a.svm", n_features=4)
        return [table.X, table.y, rows.rows(0, N), rows.targets("numbers")]

    for place in PLACES:
        every = 1 if place == 4 else 5
        tokens = [*TOKENS, *(cell.replace(b"\n", b" ") for cell in BYTES)]
        assert differs(read, tokens[place % every :: every], None, place) == []


def test_svmlight_in_odd_company(tmp_path, monkeypatch):
    """Whether any other record is usable, and how the piece is parsed, is not told by one record."""

    def read(line):
        odd = [b"x 9:1", b"+-1 1:1", b"++1 2:1", b"1 99:1", b"1 2:2:2"]
        (tmp_path / "a.svm").write_bytes(b"\n".join([*odd, b"x 9:1" if line is None else line]) + b"\n")
        table = read_table(tmp_path / "a.svm", n_features=4)
        return [table.X, table.y]

    for lines in ([b"1 1:1", b"1 1:1 # comment", b"x"], [b"+-1 1:1"]):
        assert differs(read, lines, None, 5) == []

    def plain(line):
        (tmp_path / "a.svm").write_bytes(b"\n".join([b"+-1 1:1", b"++1 2:1", line or b"1 1:1"]) + b"\n")
        table = read_table(tmp_path / "a.svm", n_features=4)
        return [table.X, table.y]

    assert differs(plain, [b"1 1:1 # comment", b"x 1:1"], None, 2) == []
    monkeypatch.setattr(svmlight, "_BEHIND_PLUS", np.ones(256, dtype=bool))
    assert len(differs(plain, [b"1 1:1 # comment", b"x 1:1"], None, 2)) == 2


# ------------------------------------------------------------------------------------------------------ Parquet and arrays


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"

    def feature(cell):
        cells = [0.1, 2.5, 1e-310, np.inf, None, -1.0, 3.0, 4.0, 5.0]
        cells[place] = cell
        pq.write_table(pa.table({"a": pa.array(cells, pa.float64()), "y": np.arange(N) % 2}), path, row_group_size=4)
        return [read_table(path, "y").X, open_rows(path, "y").rows(0, N)]

    def text(cell):
        cells = ["no", "yes", "no", None, "", "yes", "no", "maybe", "yes"]
        cells[place] = cell
        pq.write_table(pa.table({"a": np.arange(9.0), "y": pa.array(cells)}), path, row_group_size=4)
        classes = ["no", "yes"]
        found = read_table(path, "y", labels=True).y
        return [
            np.array([c if c in classes else "" for c in found]),
            open_rows(path, "y", classes=classes).targets("texts"),
        ]

    def whole(cell):
        cells = [2**53, 2**53 + 1] * 4 + [2**53]
        cells[place] = cell
        pq.write_table(pa.table({"a": np.arange(9.0), "y": pa.array(cells, pa.int64())}), path, row_group_size=4)
        model = SparseClassifier(feature_bound=1.0, classes=[2**53, 2**53 + 1], on_missing="empty")
        return [
            model.read_rows(str(path), "y", silently=True)[2].coded,
            model.read_rows(np.zeros((N, 1)), read_table(path, "y", labels=True).y, silently=True)[2].coded,
        ]

    def lists(cell):
        cells = [[0, 2], [1], [], [3, 1], None, [2], [0], [1, 3], [2]]
        cells[place] = cell
        values = [None if c is None else [1.5] * len(c) for c in cells]
        table = {"indices": pa.array(cells, pa.list_(pa.int64())), "values": pa.array(values), "y": np.arange(N) % 2}
        pq.write_table(pa.table(table), path, row_group_size=4)
        return [read_table(path, "y", n_features=4).X, open_rows(path, "y", n_features=4).rows(0, N)]

    for place in PLACES:
        assert differs(feature, [None, np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0], 0.5, place) == []
        assert differs(text, [None, *TEXTS], "no", place) == []
        assert differs(whole, [None, 0, -(2**63), 2**63 - 1, 2**53 + 1], 2**53, place) == []
        assert differs(lists, [None, [], [None], [-1], [99], [1, 1], [2**62], [3, 2, 1, 0]], [1], place) == []


def test_numpy_files(tmp_path):
    def read(cell):
        X, y = np.arange(18.0).reshape(N, 2), np.array(["no", "yes", "no"] * 3, dtype="<U6000")
        X[4, 0], y[4] = (1.0, "no") if cell is None else cell
        np.savez(tmp_path / "a.npz", X=X, y=y)
        np.save(tmp_path / "a.npy", X)
        rows, table = open_rows(tmp_path / "a.npz", classes=["no", "yes"]), open_rows(tmp_path / "a.npy")
        return [rows.rows(0, N), rows.targets("texts"), table.rows(0, N), read_table(tmp_path / "a.npz").X]

    numbers = [np.nan, np.inf, -np.inf, 1e308, 5e-324, 2.0**53 + 2]
    assert differs(read, [(value, text) for value in numbers for text in TEXTS[::7]], None, 4) == []


# ------------------------------------------------------------------------------------------------------ containers


def table_of(cell, place):
    rows = [[float(i), i / 3] for i in range(N)]
    rows[place][1] = cell
    return rows


def objects_of(rows):
    found = np.empty((N, 2), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            found[i, j] = cell
    return found


def frame_of(rows):
    return pd.DataFrame({"a": [row[0] for row in rows], "b": pd.Series([row[1] for row in rows], dtype=object)})


@pytest.mark.parametrize(
    "make",
    [lambda r: r, lambda r: tuple(map(tuple, r)), objects_of, frame_of],
    ids=["list", "tuple", "array", "pandas"],
)
def test_containers_of_objects(make):
    for place in PLACES:

        def read(cell, place=place):
            source = Records.of(make(table_of(cell, place)))
            return [source.rows(0, N), source.rows(3, N) if place < 3 else source.rows(0, N)]

        assert differs(read, OBJECTS, 0.5, place) == []


def test_containers_control():
    def stored_by_numpy(cell):
        return [np.asarray(table_of(cell, 4)).astype(float)]

    assert len(differs(stored_by_numpy, OBJECTS, 0.5, 4)) > 80


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame], ids=["polars", "pyarrow", "pandas"])
def test_frames_of_texts(make):
    for place in PLACES:

        def read(cell, place=place):
            cells = [c if i != place else cell for i, c in enumerate(COMPANY)]
            return [Records.of(make({"a": list(range(N)), "b": cells})).rows(0, N)]

        assert differs(read, [None, *TEXTS], "0.5", place) == []


# ------------------------------------------------------------------------------------------------------ targets


LABELS = [2**53, 2**53 + 1]


def coded(y):
    model = SparseClassifier(feature_bound=1.0, classes=LABELS, on_missing="empty")
    return model.read_rows(np.zeros((N, 1)), y, silently=True)[2].coded


@pytest.mark.parametrize(
    "make", [list, tuple, lambda y: pd.Series(y, dtype=object), lambda y: objects_of([[c, 0] for c in y])[:, 0]]
)
def test_targets(make):
    for place in PLACES:

        def labels(cell, place=place):
            return [coded(make([cell if i == place else LABELS[i % 2] for i in range(N)]))]

        def texts(cell, place=place):
            y = make([cell if i == place else ("no", "yes")[i % 2] for i in range(N)])
            model = SparseClassifier(feature_bound=1.0, classes=["no", "yes"], on_missing="empty")
            return [model.read_rows(np.zeros((N, 1)), y, silently=True)[2].coded]

        def outcomes(cell, place=place):
            y = make([cell if i == place else (0.1, 2**53 + 1, 3, np.float32(0.1))[i % 4] for i in range(N)])
            model = SparseRegressor(feature_bound=1.0, target_bound=1.0, target_center=0.25, on_missing="empty")
            return [model.read_rows(np.zeros((N, 1)), y, silently=True)[2].coded]

        for start, (read, ordinary) in enumerate(((labels, LABELS[0]), (texts, "no"), (outcomes, 0.5))):
            assert differs(read, OBJECTS if place == 4 else OBJECTS[start::3], ordinary, place) == []


def test_labels_are_the_same_however_they_are_stored():
    """A float is the whole number that it is, not one that was rounded to it; numpy alone would compare rounded numbers."""
    whole = [2**53, 2**53 + 1, 2**53 + 2, 7, 2**53, 2**53 + 1, -5, 2**53 + 1, 2**53]
    floats = [float(label) for label in whole]
    for stored in (np.array(whole), np.array(whole, dtype=object), pd.Series(whole), np.array(whole, dtype=np.float64)):
        values = whole if stored.dtype.kind in "iO" else floats
        np.testing.assert_array_equal(coded(stored), [LABELS.index(v) if v in LABELS else np.nan for v in values])
    declared = SparseClassifier(feature_bound=1.0, classes=[2.0**53, 0.5], on_missing="empty")
    np.testing.assert_array_equal(
        declared.read_rows(np.zeros((N, 1)), np.array(whole), silently=True)[2].coded,
        [1 if v == 2**53 else np.nan for v in whole],
    )


def test_targets_control(monkeypatch):
    def labels(cell):
        return [coded([cell if i == 4 else LABELS[i % 2] for i in range(N)])]

    monkeypatch.setattr(input_checks, "_listed", np.asarray)
    assert "nan" in {found[0] for found in differs(labels, OBJECTS, LABELS[0], 4)}


# ------------------------------------------------------------------------------------------------------ encoder

DICTIONARY = Dictionary(
    [
        Column(name="number", kind="number", bounds=(0, 10), gap_is_feature=True),
        Column(name="group", kind="category", categories=["a", "9007199254740992", "9007199254740993"], fill="a"),
        Column(name="flag", kind="boolean", gap_is_feature=True),
        Column(name="day", kind="date", bounds=("2020-01-01", "2024-01-01")),
        Column(name="y", kind="category", role="target", categories=["9007199254740992", "9007199254740993"]),
    ]
)
PLAIN = {
    "number": [1, 2.5, "3", None, "x", 7, 8, np.int8(9), "10"],
    "group": ["a", 2**53, 2**53 + 1, "9007199254740993", None, "b", "9007199254740993.0", 2**53 + 1, 2**53],
    "flag": [True, "no", 0, 1.0, None, "maybe", "T", "false", "1"],
    "day": [
        "2020-01-01",
        date(2021, 1, 1),
        None,
        "x",
        "2023-05-05",
        7,
        "2022-01-01T12:00",
        pd.Timestamp("2022-02-02"),
        "",
    ],
    "y": [2**53, 2**53 + 1, "9007199254740993", None, 2**53, "x", 2**53 + 1, 2**53, 2**53 + 1],
}


def encoded(table):
    encoder = TableEncoder(DICTIONARY).fit(table)
    return [np.asarray(encoder.transform(table)), Target.of(DICTIONARY).read(table)]


@pytest.mark.parametrize("make", [dict, lambda t: pd.DataFrame(t, dtype=object)], ids=["dict", "pandas"])
@pytest.mark.parametrize("column", list(PLAIN))
def test_encoder_of_objects(make, column):
    for place in PLACES[:: 1 if column == "group" else 2]:

        def read(cell, place=place):
            return encoded(make({**PLAIN, column: [cell if i == place else c for i, c in enumerate(PLAIN[column])]}))

        cells = OBJECTS if make is dict else OBJECTS[place % 3 :: 3]
        assert differs(read, cells, PLAIN[column][place], place) == []


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame], ids=["polars", "pyarrow", "pandas"])
def test_encoder_of_texts(make):
    plain = {name: ["" if cell is None else str(cell) for cell in cells] for name, cells in PLAIN.items()}
    for start, (column, cells) in enumerate(plain.items()):

        def read(cell, column=column, cells=cells):
            return encoded(make({**plain, column: [cell if i == 4 else c for i, c in enumerate(cells)]}))

        assert differs(read, [None, *TEXTS][start::3], "9007199254740992", 4) == []


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "pyarrow"]
)
def test_a_column_of_whole_numbers_reads_as_its_texts(make):
    """How a container stores a column may be decided by one text in it: both ways read alike."""
    ids = [2**53, 2**53 + 1, 2**53 + 1, 7, 2**53, 2**53 + 2, -5, 2**63 - 1, 2**53 + 1]
    table = {"number": np.arange(9.0), "flag": [True] * N, "day": ["2020-01-01"] * N}

    def read(cells):
        return encoded(make({**table, "group": cells, "y": cells}))

    texts = [str(i) for i in ids]
    whole, stored = np.array(ids), np.array(texts, dtype=object)
    for one, two in zip(read(whole), read(stored), strict=True):
        assert np.asarray(one).tolist() == np.asarray(two).tolist()


# ------------------------------------------------------------------------------------------------------ free steps


def raises(rows):
    rows = np.asarray(rows, dtype=float)
    if np.any(rows == 7.25) or not np.all(np.isfinite(rows)):
        raise ZeroDivisionError(rows)
    return rows


def odd(rows):
    """Whether rows hold something that synthetic ones do not."""
    return not (np.abs(np.asarray(rows)) < 1e100).all()


NUMBER_STEPS = [
    Normalizer(),
    Binarizer(),
    PolynomialFeatures(2),
    SimpleImputer(strategy="constant", fill_value=0.25, keep_empty_features=True),
    GaussianRandomProjection(n_components=5, random_state=0),
    FunctionTransformer(raises),
    FunctionTransformer(np.log1p),
    FunctionTransformer(lambda rows: np.asarray(rows) @ np.full((3, 2), 0.1)),
    FeatureUnion([("one", Normalizer()), ("two", FunctionTransformer(raises))]),
    make_pipeline(PolynomialFeatures(2), Normalizer("l1")),
    ColumnTransformer([("ours", RowNormalizer(on_missing="empty"), [0, 1]), ("sk", Normalizer(), [1, 2])]),
    FunctionTransformer(lambda rows: rows[(np.abs(rows) < 1e100).all(axis=1)]),  # leaves records out
    FunctionTransformer(lambda rows: rows[:, 0] if odd(rows) else rows),  # another form
    FunctionTransformer(lambda rows: rows[:, :2] if odd(rows) else rows),  # another width
]
NUMBERS = [np.nan, np.inf, -np.inf, 7.25, 1e308, -1e308, 5e-324, 0.0, -0.0, 2.0**53 + 2, 1e200]


@pytest.mark.parametrize(
    ("step", "sparse"),
    [*((step, False) for step in NUMBER_STEPS), *((step, True) for step in NUMBER_STEPS[:3]), (NUMBER_STEPS[4], True)],
)
def test_steps_of_numbers(step, sparse):
    count = 150
    table = np.random.default_rng(0).uniform(-1, 1, (count, 3))
    for place in (0, 70, count - 1)[:: 1 if len(getattr(step, "steps", ())) == 0 else 2]:

        def read(cell, place=place):
            X = table.copy()
            X[place, 1] = cell
            rows, absent = row_map("step", step, sp.csr_matrix(X) if sparse else X, np.arange(count))
            return [leave_out(rows, absent)]

        assert differs(read, NUMBERS, 0.5, place) == []


def fails_on_red(frame):
    if (frame["g"] == "red").any():
        raise KeyError("red")
    return frame[["x"]].astype(float)


FRAME_STEPS = [
    ColumnTransformer(
        [("c", OneHotEncoder(categories=[["a", "b"]], sparse_output=False), ["g"])], remainder="passthrough"
    ),
    ColumnTransformer(
        [("c", OneHotEncoder(categories=[["a", "b"]]), ["g"]), ("x", Normalizer(), ["x"])], sparse_threshold=1.0
    ),
    ColumnTransformer([("c", OrdinalEncoder(categories=[["a", "b"]]), ["g"])], remainder="passthrough"),
    FunctionTransformer(fails_on_red),
]


@pytest.mark.parametrize("step", FRAME_STEPS, ids=lambda step: type(step).__name__)
def test_steps_of_frames(step):
    def read(cell):
        frame = pd.DataFrame({"g": pd.Series([("a", "b")[i % 2] for i in range(N)], dtype=object), "x": np.arange(9.0)})
        frame["g"] = pd.Series([cell if i == 4 else c for i, c in enumerate(frame["g"])], dtype=object)
        return [leave_out(*row_map("step", step, frame))]

    assert differs(read, OBJECTS[len(type(step).__name__) % 7 :: 7], "a", 4) == []


def test_steps_of_texts():
    def read(cell):
        texts = [
            cell if i == 4 else c
            for i, c in enumerate(["to be", "or", "not", "to", "be", "that", "is", "the", "question"])
        ]
        return [leave_out(*row_map("step", HashingVectorizer(n_features=16), texts))]

    assert differs(read, OBJECTS[::2], "be", 4) == []


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: pd.DataFrame(X, columns=["a", "b", "c"])])
def test_a_record_on_which_a_step_fails_is_absent(form):
    X = np.random.default_rng(0).uniform(0.1, 1, (N, 3))
    X[4, 1] = np.nan
    step = Normalizer().set_output(transform="pandas") if form(X[:1]).__class__ is pd.DataFrame else Normalizer()
    rows, absent = row_map("step", step, form(X))
    assert absent.tolist() == [i == 4 for i in range(N)]
    left = leave_out(rows, absent)
    found = Records.of(left).rows(0, N)
    assert type(left) is type(rows)
    assert list(getattr(left, "columns", ())) == list(getattr(rows, "columns", ()))
    found = found.toarray() if sp.issparse(found) else found
    assert (~np.isfinite(found).all(axis=1)).tolist() == absent.tolist()
    everyone, absent = row_map("step", Normalizer(), np.full((N, 3), np.nan))
    assert absent.all()
    assert np.isnan(leave_out(everyone, absent)).all()
    assert row_map("step", Normalizer(), np.zeros((0, 3)))[0].shape == (0, 3)


def test_steps_control(monkeypatch):
    def read(cell):
        X = np.random.default_rng(0).uniform(-1, 1, (N, 3))
        X[4, 1] = cell
        return [row_map("step", Normalizer(), X)[0]]

    assert differs(read, NUMBERS, 0.5, 4) == []
    monkeypatch.setattr(row_map_module._Runs, "group", lambda self, X, places, absent: self.step.transform(X))
    assert {found[0] for found in differs(read, NUMBERS, 0.5, 4)} == {"nan", "inf", "-inf"}


def test_rows_have_the_same_bits_in_any_company(monkeypatch):
    step, X = (
        GaussianRandomProjection(n_components=7, random_state=0),
        np.random.default_rng(0).uniform(-1, 1, (700, 40)),
    )
    whole = row_map("step", step, X)[0]
    for size in (1, 2, 63, 65, 699):
        assert row_map("step", step, X[:size])[0].tobytes() == whole[:size].tobytes()
    if steady_rows(step, X) is None:
        return  # this machine multiplies matrices row by row
    monkeypatch.setattr(row_map_module, "steady_rows", lambda *_, **__: None)
    whole = row_map("step", step, X)[0]
    found = [row_map("step", step, X[:size])[0].tobytes() == whole[:size].tobytes() for size in (1, 2, 63, 65, 699)]
    assert not all(found)


# ------------------------------------------------------------------------------------------------------ whole fits

SETTINGS = {"feature_bound": 1.0, "recipe": "dp_ight", "random_state": 0, "on_missing": "empty", "sparsity": 1}


def stated(model):
    return [np.array([model.statement_.to_json()] * 2)]


def test_fits_end_alike(tmp_path):
    """No exception, the same warnings and the same statement, whatever one record holds."""

    def of_list(cell):
        return stated(SparseRegressor(target_bound=1.0, **SETTINGS).fit(table_of(cell, 4), [i / N for i in range(N)]))

    def of_targets(cell):
        y = [cell if i == 4 else i % 2 for i in range(N)]
        return stated(SparseClassifier(classes=[0, 1], **SETTINGS).fit(np.zeros((N, 2)), y))

    def of_csv(cell):
        lines = [b"%d,%d,%d" % (i, i, i % 2) for i in range(N)]
        lines[4] = (b"1" if cell is None else cell) + b",1,1"
        (tmp_path / "a.csv").write_bytes(b"a,b,y\n" + b"\n".join(lines) + b"\n")
        return stated(SparseClassifier(classes=[0, 1], **SETTINGS).fit(tmp_path / "a.csv", "y"))

    assert differs(of_list, OBJECTS[::4], 0.5, 0) == []
    assert differs(of_targets, OBJECTS[1::4], 1, 0) == []
    assert differs(of_csv, csv_cells()[::16], None, 0) == []


def test_pipelines_end_alike(tmp_path):
    y = np.arange(N) / N

    def of_pipeline(cell):
        model = SparseRegressor(target_bound=1.0, **SETTINGS)
        made = make_private_pipeline(FunctionTransformer(raises), Normalizer(), RowNormalizer(), model, epsilon=1.0)
        return stated(made.fit(np.array(table_of(cell, 4)), y))

    assert differs(of_pipeline, NUMBERS, 0.5, 0) == []
    model = SparseRegressor(target_bound=1.0, **SETTINGS)
    fitted = make_private_pipeline(Normalizer(), model, epsilon=1.0).fit(np.array(table_of(0.5, 4)), y)

    def of_score(cell):
        card = private_score(fitted, np.array(table_of(cell, 4)), y, epsilon=1.0, random_state=0, on_missing="empty")
        return [np.array([card.statement.to_json()] * 2)]

    assert differs(of_score, NUMBERS, 0.5, 0) == []


def test_commands_end_alike(tmp_path):
    """The same exit code and the same output of `dpsparse fit`, but for the model."""

    def run(cell):
        lines = [b"%d,%d,%d" % (i, i, i % 2) for i in range(N)]
        lines[4] = (b"1" if cell is None else cell) + b",1,1"
        (tmp_path / "a.csv").write_bytes(b"a,b,y\n" + b"\n".join(lines) + b"\n")
        (tmp_path / "m.json").unlink(missing_ok=True)
        options = [
            "--target",
            "y",
            "--task",
            "classification",
            "--classes",
            "0,1",
            "--feature-bound",
            "1",
            "--on-missing",
            "empty",
        ]
        out = ["--recipe", "dp_ight", "--seed", "0", "--out", str(tmp_path / "m.json")]
        found = CliRunner().invoke(main, ["fit", str(tmp_path / "a.csv"), *options, *out])
        return [np.array([str(found.exit_code), *found.stderr.splitlines(), "end"])]

    assert differs(run, [b"Jos\xe9", b"x" * 140_000, b"", b"1e400", b'"a\nb"', b"1,2", b"\x00"], None, 0) == []
