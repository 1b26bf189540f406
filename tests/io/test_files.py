"""Readers: what comes back, and what a refusal says (and does not say)."""

import csv
import importlib.util
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core.errors import DataError, MissingValueError
from dpsparse.io import files
from dpsparse.io.dictionary.rules import CellReader
from dpsparse.io.files import UNREADABLE, blocks, read_table
from dpsparse.readers import convert, open_rows
from dpsparse.tables import Column

SECRET = "7351"  # a value that no message may quote


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(params=["pyarrow", "standard library"])
def csv_reader(request, monkeypatch):
    """Both ways to read CSV."""
    if request.param == "standard library":
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name == "pyarrow" else pytest.fail(name)
        )
    else:
        pytest.importorskip("pyarrow")
    return request.param


def refusal(path, **options):
    """What a refusal says, after the name of the file."""
    with pytest.raises(DataError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert SECRET not in message
    assert not re.search(r"\b(row|line) \d|#\d", message.lower())
    assert caught.value.__cause__ is None
    return message


# ------------------------------------------------------------------------------------------------------ CSV


def test_csv_gives_features_target_and_names(tmp_path, csv_reader):
    path = write(tmp_path / "a.csv", "x1,y,x2\n1.5,0,-2\n0.25,1,3\n")
    table = read_table(path, "y")
    np.testing.assert_array_equal(table.X, [[1.5, -2], [0.25, 3]])
    np.testing.assert_array_equal(table.y, [0, 1])
    assert table.feature_names == ("x1", "x2")


def test_csv_without_target_takes_every_column(tmp_path, csv_reader):
    table = read_table(write(tmp_path / "a.csv", "a,b\n1,2\n"))
    assert table.y is None
    assert table.X.shape == (1, 2)


@pytest.mark.parametrize("cells", [("0", "2"), ("0", "255"), ("-1", "1.5"), ("1", str(2**40)), ("1", ""), ("1", "x")])
def test_the_type_of_features_says_nothing_about_their_cells(tmp_path, csv_reader, cells):
    path = write(tmp_path / "a.csv", "a,b,y\n" + ",".join(cells) + ",0.5\n")
    assert read_table(path, "y").X.dtype == np.float64


@pytest.mark.parametrize("cell", ["1", "1.5", "x", "", "300"])
def test_the_type_of_a_target_says_nothing_about_its_cells(tmp_path, csv_reader, cell):
    path = write(tmp_path / "a.csv", f"a,y\n1,0\n2,{cell}\n")
    assert read_table(path, "y").y.dtype == np.float64
    assert read_table(path, "y", text_labels=True).y.dtype.kind == "U"


def test_missing_cells_are_nan(tmp_path, csv_reader):
    X = read_table(write(tmp_path / "a.csv", "a,b,c\n1,,NA\n2,3,NA\n")).X
    np.testing.assert_array_equal(X, [[1, np.nan, np.nan], [2, 3, np.nan]])


def test_columns_are_taken_by_name_and_in_order(tmp_path, csv_reader):
    path = write(tmp_path / "a.csv", "name,b,a\nsomebody,1,2\n")
    table = read_table(path, columns=["a", "b"])
    np.testing.assert_array_equal(table.X, [[2, 1]])


def test_a_target_of_labels_may_be_text(tmp_path, csv_reader):
    path = write(tmp_path / "a.csv", "a,y\n1,yes\n2,no\n")
    assert read_table(path, "y", labels=True).y.tolist() == ["yes", "no"]
    assert np.isnan(read_table(path, "y").y).all()


def test_quoted_names_and_a_byte_order_mark_are_read(tmp_path, csv_reader):
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([["dose, mg", "y"], [1, 2]])
    assert read_table(path, "y").feature_names == ("dose, mg",)


@pytest.mark.parametrize("cell", [SECRET + "x", "true", "2020-01-01", "1_000", "1;2", "0x1F", "+-1"])
def test_text_among_numbers_is_a_hole_and_nothing_is_said(tmp_path, csv_reader, cell):
    rows = "".join(f"{i},{i}\n" for i in range(50))
    path = write(tmp_path / "a.csv", "weight,y\n" + rows + f"{cell},1\n")
    table = read_table(path, "y")
    np.testing.assert_array_equal(table.X.ravel(), [*range(50), np.nan])


def test_the_other_cells_are_the_same_numbers_beside_text(tmp_path, csv_reader):
    cells = [
        "0.1",
        " 2.5",
        "-0",
        "1e-310",
        "1.7976931348623157e308",
        "123456789012345678",
        "inf",
        "-Infinity",
        "3.0000000000000004",
    ]
    clean = write(tmp_path / "a.csv", "a,y\n" + "".join(f"{c},1\n" for c in cells))
    mixed = write(tmp_path / "b.csv", "a,y\n" + "".join(f"{c},1\n" for c in cells) + "text,1\n")
    one, two = read_table(clean, "y").X, read_table(mixed, "y").X[:-1]
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "no column 'y'. Check the name"),
        ("a,Y1,y_\n1,2,3\n", "Did you mean 'y_'?"),
        ("a,a,y\n1,2,3\n", "different names"),
        (",a,y\n0,7351,2\n", "without a name"),
        ("y\n1\n", "at least one feature"),
        ("1.5,7351,0\n1,2,3\n", "line holds numbers. Add a header"),
    ],
)
def test_odd_csv_is_refused_without_quoting_it(tmp_path, csv_reader, text, says):
    message = refusal(write(tmp_path / "a.csv", text), target="y")
    assert message.count(". ") >= 1
    if says is not None:
        assert says in message


def test_counted_columns_are_names(tmp_path, csv_reader):
    assert read_table(write(tmp_path / "a.csv", "0,1\n5,6\n"), "1").feature_names == ("0",)


def test_missing_labels_are_refused(tmp_path, csv_reader):
    path = write(tmp_path / "a.csv", "a,y\n1,yes\n2,\n")
    assert "missing labels" in refusal(path, target="y", labels=True)


def test_names_that_are_no_text_are_refused(tmp_path, csv_reader):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xffa,y\n1,7351\n" * 3)
    assert "column names could not be read as text in UTF-8" in refusal(path, target="y")


@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize(
    "line",
    [b"\xff\xfe\x81,5,1", b"1", b"1,2,3,4", b"Smith, John,5,1", b"x" * 200_000 + b",5,1", b'"a\nb",5,1', b"a\x00b,5,1"],
)
def test_no_line_stops_a_reader_or_changes_another(tmp_path, csv_reader, line, place):
    lines = [b"0.1,0.25,1", b" 2.5,-0.5,0"]
    lines.insert(place - 1, line)
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b,y\n" + b"\n".join(lines) + b"\n")
    table, rows = read_table(path, "y"), open_rows(path, "y")
    others = np.arange(3) != place - 1
    for X, y in ((table.X, table.y), (rows.rows(0, 3), rows.targets("numbers"))):
        np.testing.assert_array_equal(X[others], [[0.1, 0.25], [2.5, -0.5]])
        np.testing.assert_array_equal(y[others], [1, 0])
        assert np.isnan(X[place - 1, 0])


@pytest.mark.parametrize("quoted", [False, True])
def test_a_line_beyond_the_limit_has_gaps(tmp_path, csv_reader, monkeypatch, quoted):
    monkeypatch.setattr("dpsparse.io.tabular.CSV_BLOCK", 2**16)
    long = b"x" * 2**17
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,y\n1,2\n" + (b'"' + long + b'\n",5' if quoted else long + b",5") + b"\n3,4\n")
    table = read_table(path, "y")
    np.testing.assert_array_equal(table.X, [[1.0], [np.nan], [3.0]])
    np.testing.assert_array_equal(table.y[[0, 2]], [2.0, 4.0])
    path.write_bytes(b"a,y\n1,2\n" + b'"' + (b"x" * 2**10 + b"\n") * 2**7 + b"3,4\n")
    assert "is a quote not closed" in refusal(path, target="y")


def test_the_limit_of_the_standard_library_is_given_back(tmp_path, csv_reader):
    before = csv.field_size_limit()
    read_table(write(tmp_path / "a.csv", "a,y\n" + "x" * 200_000 + ",1\n"), "y")
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("ending", ["csv", "svm", "parquet", "npz", "npy"])
def test_a_file_without_rows_is_left_to_the_model(tmp_path, ending):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path, target, form = tmp_path / f"a.{ending}", "y", {}
    if ending == "csv":
        write(path, "a,b,y\n")
    elif ending == "svm":
        write(path, "")
        form = {"n_features": 2}
    elif ending == "parquet":
        pq.write_table(pa.table({name: pa.array([], pa.float64()) for name in "aby"}), path)
    elif ending == "npz":
        np.savez(path, X=np.zeros((0, 2)), y=np.zeros(0))
    else:
        np.save(path, np.zeros((0, 3)))
        target = "2"
    table = read_table(path, target if ending in ("csv", "parquet", "npy") else None, **form)
    assert table.X.shape == (0, 2)
    assert table.y.shape == (0,)
    if ending == "npy":
        return
    rows = open_rows(path, target if ending in ("csv", "parquet") else None, **form)
    convert(path, tmp_path / "a.dpsrows", target if ending in ("csv", "parquet") else None, **form)
    for X, y in ((table.X, table.y), (rows, None), (tmp_path / "a.dpsrows", None)):
        settings = {"feature_bound": 1.0, "target_bound": 1.0, "recipe": "dp_ight", "random_state": 0}
        with pytest.raises(DataError, match="minimum of 1 is required"):
            SparseRegressor(**settings).fit(X, y)
        SparseRegressor(adjacency="add-remove", n_rows=100, **settings).fit(X, y)


def test_another_number_of_features_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,y\n1,2,3\n")
    assert "has 2 features, but 3 were expected" in refusal(path, target="y", n_features=3)


# ------------------------------------------------------------------------------------------------------ Parquet


@pytest.fixture
def parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    def make(**columns):
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({k: pa.array(v) for k, v in columns.items()}), path)
        return path

    return make


def test_parquet_features_are_floats_whatever_their_type(parquet):
    table = read_table(parquet(a=np.array([0, 2], np.int64), b=[True, False], y=[0.5, 1.5]), "y")
    assert table.X.dtype == np.float64
    np.testing.assert_array_equal(table.X, [[0, 1], [2, 0]])
    assert read_table(parquet(a=np.array([0, 2], np.float32), b=np.array([1, 2], np.int8))).X.dtype == np.float64


def test_parquet_holes_are_nan(parquet):
    X = read_table(parquet(a=[1, None], b=[True, None], c=[None, None])).X
    np.testing.assert_array_equal(X, [[1, 1, np.nan], [np.nan, np.nan, np.nan]])


def test_parquet_labels_may_be_text_or_categories(parquet):
    pa = pytest.importorskip("pyarrow")
    path = parquet(a=[1, 2], y=pa.array(["no", "yes"]).dictionary_encode())
    assert read_table(path, "y", labels=True).y.tolist() == ["no", "yes"]


def test_parquet_text_and_lists_name_the_column_only(parquet):
    assert "column 'name'" in refusal(parquet(name=[SECRET + "x"], y=[1]), target="y")
    assert "column 'many'" in refusal(parquet(many=[[1, int(SECRET)]], y=[1]), target="y")


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": [1, 2], "y": [0, 1]}, index=[10, 20]).to_parquet(path)
    assert read_table(path, "y").feature_names == ("a",)


def test_a_file_that_is_no_parquet_is_refused(tmp_path):
    assert "could not be read as Parquet" in refusal(write(tmp_path / "a.parquet", "a,y\n7351,1\n"), target="y")


@pytest.mark.parametrize("line", ["7351", "7351,2", "1,5,2,no", "7351,,,", ",,,", '"1,5,2'])
def test_a_line_with_another_number_of_cells_is_understood_in_no_column(tmp_path, line):
    """As `read_table` has it: a record of gaps. Cells behind one that should have had quotes are not read as other columns."""
    end = "" if line.startswith('"') else "\n4,5,yes\n"  # a quote that is not closed takes all that follows
    path = write(tmp_path / "a.csv", f"a,b,y\n1,2,no\n{line}{end}")
    [block] = blocks(path, ["y", "a", "b"])
    assert [cells[0] for cells in block.values()] == ["no", "1", "2"]
    assert [cells[1] for cells in block.values()] == [UNREADABLE] * 3
    assert [cells[2:] for cells in block.values()] == ([["yes"], ["4"], ["5"]] if end else [[]] * 3)
    assert np.isnan(read_table(path, "y", text_labels=True).X[1]).all()
    needs = ({"kind": "number", "bounds": (0, 9)}, {"kind": "date", "bounds": ("2000-01-01", "2001-01-01")})
    for how in (*needs, {"kind": "boolean"}, {"kind": "category", "categories": ["no", "yes"]}):
        column = Column(name="a", missing=["?"], **how)
        assert CellReader(column).unread([UNREADABLE]).tolist() == [True]


# ------------------------------------------------------------------------------------------------------ svmlight


def test_svmlight_counts_columns_from_one(tmp_path):
    table = read_table(write(tmp_path / "a.svmlight", "1 1:0.5 3:2\n-1 2:1\n"), n_features=4)
    np.testing.assert_array_equal(table.X.toarray(), [[0.5, 0, 2, 0], [0, 1, 0, 0]])
    np.testing.assert_array_equal(table.y, [1, -1])
    assert table.feature_names is None


def test_svmlight_counted_from_zero_has_to_be_said(tmp_path):
    path = write(tmp_path / "a.libsvm", "1 0:0.5 2:2\n")
    assert "zero_based=True" in refusal(path)
    np.testing.assert_array_equal(read_table(path, zero_based=True).X.toarray(), [[0.5, 0, 2]])


@pytest.mark.parametrize(
    "line",
    [
        "1 7351:1",
        "1 0:1 2:3",
        "1 2:1 7:3",
        "1 99999999999999999999:1",
        "1 -3:1",
        "1 2:x",
        "1 2:1 2:2",
        "1 2",
        "1 1:1:1",
        "7351,1,0",
        "nan",
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_record_with_columns_that_do_not_exist_is_absent_and_the_others_stay(tmp_path, line, place):
    lines = ["1 1:0.5 5:2", "-1 2:1"]
    lines.insert(place, line)
    table = read_table(write(tmp_path / "a.svm", "\n".join(lines) + "\n"), n_features=5)
    expected = [[0.5, 0, 0, 0, 2], [0, 1, 0, 0, 0]]
    expected.insert(place, [np.nan, 0, 0, 0, 0])
    np.testing.assert_array_equal(table.X.toarray(), expected)
    assert table.X.nnz == 4
    y = [1, -1]
    y.insert(place, 1 if line.startswith("1") else np.nan)
    np.testing.assert_array_equal(table.y, y)


def fitted(X, **settings):
    model = SparseClassifier(
        classes=[0, 1], feature_bound=1.0, recipe="dp_ight", random_state=0, sparsity=1, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


@pytest.mark.parametrize("wrong", ["1 0:1 2:1", "1 9:1", "1,0.5,2", "1;2", "1 0.5 2", "a,b,y"])
def test_an_svmlight_file_with_wrong_records_is_refused_in_the_usual_words(tmp_path, wrong):
    """Columns that are counted from 0, or CSV under another name: refused alike, whether one record is wrong or all are."""
    said = set()
    for name, lines in (("all", [wrong] * 6), ("one", ["1 1:1", "0 2:1", wrong, "0"]), ("gap", ["1 1:nan", "0 1:1"])):
        path = write(tmp_path / f"{name}.svm", "\n".join(lines) + "\n")
        convert(path, tmp_path / f"{name}.dpsrows", n_features=4)
        opened = open_rows(path, n_features=4)
        np.testing.assert_array_equal(opened.rows(0, len(lines)).toarray(), read_table(path, n_features=4).X.toarray())
        for rows in (opened, open_rows(tmp_path / f"{name}.dpsrows")):
            with pytest.raises(MissingValueError) as refused:
                fitted(rows)
            said.add(str(refused.value))
            assert fitted(rows, on_missing="empty").coef_.shape == (1, 4)
    assert len(said) == 1


def test_a_record_without_pairs_is_a_row_of_zeros(tmp_path):
    path = write(tmp_path / "a.svm", "1\n0 # nothing\n0 qid:3\n")
    table = read_table(path, n_features=2)
    assert (table.X.nnz, table.X.shape) == (0, (3, 2))


def test_a_width_that_is_learned_has_a_limit(tmp_path):
    assert "Declare how many" in refusal(write(tmp_path / "a.svm", "1 1:1\n1 1000000000:1\n"))


@pytest.mark.parametrize("text", ["1 1:7351x\n", "a,b\n7351,2\n", "\x00\x01"])
def test_damaged_svmlight_is_refused(tmp_path, text):
    assert "could not be read as svmlight" in refusal(write(tmp_path / "a.svmlight", text))


# ------------------------------------------------------------------------------------------------------ npz


def test_npz_in_both_layouts(tmp_path):
    X = sp.random(6, 5, 0.4, "csr", dtype=np.float32, random_state=0)
    y = np.arange(6, dtype=np.int8)
    np.savez(tmp_path / "d.npz", X=X.toarray().astype(np.uint8), y=y)
    dense = read_table(tmp_path / "d.npz", "y", 5)
    assert dense.X.dtype == np.uint8
    np.savez(tmp_path / "s.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    sparse = read_table(tmp_path / "s.npz")
    assert sp.issparse(sparse.X)
    np.testing.assert_array_equal(sparse.X.toarray(), X.toarray())
    np.testing.assert_array_equal(sparse.y, y)


@pytest.mark.parametrize(
    "arrays",
    [
        {"X": np.array([["7351"]]), "y": np.zeros(1)},
        {"X": np.zeros((2, 2)), "y": np.zeros(3)},
        {"X": np.zeros(4), "y": np.zeros(4)},
        {"Z": np.zeros((2, 2))},
        {"X": np.array([{"a": 7351}], dtype=object), "y": np.zeros(1)},
        {"data": np.ones(1), "indices": np.array([99]), "indptr": np.array([0, 1]), "shape": (1, 3), "y": np.ones(1)},
        {"data": np.ones(1), "indices": np.array([0]), "indptr": np.array([0, 9]), "shape": (1, 3), "y": np.ones(1)},
    ],
)
def test_npz_of_another_layout_is_refused(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    refusal(tmp_path / "a.npz")


def test_damaged_npz_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.arange(400.0).reshape(20, 20), y=np.zeros(20))
    whole = (tmp_path / "a.npz").read_bytes()
    for damaged in (whole[:200], b"7351", b"", whole[:60] + bytes(100) + whole[160:]):
        (tmp_path / "a.npz").write_bytes(damaged)
        assert "could not be read as npz" in refusal(tmp_path / "a.npz")


def test_names_make_no_sense_for_files_without_them(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((1, 1)), y=np.zeros(1))
    assert "hold their own target" in refusal(tmp_path / "a.npz", target="outcome")
    assert "do not name their columns" in refusal(tmp_path / "a.npz", columns=["a"])


# ------------------------------------------------------------------------------------------------------ files


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected to be a CSV file, but it does not exist\. Check the path"):
        read_table(tmp_path / "nowhere.csv")


def test_an_unknown_ending_lists_the_known_ones(tmp_path):
    assert ".parquet" in refusal(write(tmp_path / "a.xlsx", "x"))


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "a.csv").mkdir()
    assert "not an ordinary file" in refusal(tmp_path / "a.csv")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", "x")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"dpsparse\[data\]"):
        read_table(path, "y")


def test_a_table_prints_without_its_rows(tmp_path):
    table = read_table(write(tmp_path / "a.csv", "a,y\n7351,1\n"), "y")
    assert repr(table) == "Table(dense, 1 features, with target)"


# ------------------------------------------------------------------------------------------------------ data sets


def test_no_reader_unpickles():
    for path in Path(files.__file__).parent.glob("*.py"):
        assert "allow_pickle=True" not in path.read_text(encoding="utf-8")
