"""Files that are read in blocks: the same rows as in memory, and block files that are damaged."""

import itertools
import os
import stat
import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core.errors import DataError
from dpsparse.io import block_file as format_module
from dpsparse.io import streams as streams_module
from dpsparse.io import svmlight
from dpsparse.io import tabular as tabular_module
from dpsparse.io.block_file import END, MAGIC, TAIL, BlockFile, BlockWriter
from dpsparse.io.files import read_table
from dpsparse.readers import convert, open_rows
from dpsparse.rows.records import Records

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N, D = 700, 9
NAMES = [f"c{j}" for j in range(D)]
SECRET = "7351"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Many pieces and blocks, so that their edges are under test."""
    for module in (streams_module, tabular_module):
        monkeypatch.setattr(module, "PIECE_ENTRIES", 50 * D)
    monkeypatch.setattr(tabular_module, "LEAST_CSV_BLOCK", 2**11)
    monkeypatch.setattr(svmlight, "PIECE", 2**11)
    monkeypatch.setattr("dpsparse.io.block_file.BLOCK_ENTRIES", 20 * D)


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, D)), 3) * (rng.random((N, D)) < 0.5)
    return X, (X[:, 0] + 0.3 * rng.standard_normal(N) > 0).astype(int)


def write_csv(path, X, y, damage=None):
    lines = [",".join([repr(float(v)) for v in row] + [str(t)]) for row, t in zip(X, y, strict=True)]
    if damage is not None:
        lines[damage] = ",".join(["oops", *lines[damage].split(",")[1:]])
    path.write_text(",".join([*NAMES, "y"]) + "\n" + "\n".join(lines) + "\n")
    return path


def write_lists(path, X, y):
    S = sp.csr_matrix(X)
    places = [S.indices[a:b].tolist() for a, b in itertools.pairwise(S.indptr)]
    values = [S.data[a:b].tolist() for a, b in itertools.pairwise(S.indptr)]
    pq.write_table(pa.table({"indices": places, "values": values, "y": y}), path, row_group_size=90)


def stored(folder, X, y):
    """The same rows in every kind of file: path, and how to open it."""
    S = sp.csr_matrix(X)
    write_csv(folder / "a.csv", X, y)
    pq.write_table(
        pa.table({**{n: X[:, j] for j, n in enumerate(NAMES)}, "y": y}), folder / "a.parquet", row_group_size=90
    )
    write_lists(folder / "lists.parquet", X, y)
    dump_svmlight_file(X, y, str(folder / "a.svmlight"), zero_based=False)
    np.save(folder / "a.npy", X)
    np.save(folder / "targets.npy", y)
    np.savez(folder / "a.npz", X=X, y=y)
    np.savez_compressed(folder / "csr.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y)
    convert(folder / "a.csv", folder / "a.dpsrows", "y")
    convert(folder / "a.svmlight", folder / "s.dpsrows", n_features=D)
    return {
        "a.csv": {"target": "y"},
        "a.parquet": {"target": "y"},
        "lists.parquet": {"target": "y", "n_features": D},
        "a.svmlight": {"n_features": D},
        "a.npy": {"target": str(folder / "targets.npy")},
        "a.npz": {},
        "csr.npz": {},
        "a.dpsrows": {},
        "s.dpsrows": {},
    }


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


# ------------------------------------------------------------------------------------------------ the same rows


def test_every_kind_of_file_gives_the_same_rows_targets_and_model(tmp_path):
    X, y = data()
    options = {"epsilon": 2.0, "sparsity": 3, "feature_bound": 4.0, "recipe": "dp_ight", "random_state": 4}
    expected = {form: SparseClassifier(**options).fit(form(X), y) for form in (np.asarray, sp.csr_matrix)}
    for name, how in stored(tmp_path, X, y).items():
        rows = open_rows(tmp_path / name, **how)
        assert rows.shape == (N, D)
        assert rows.finite
        assert rows.targets("labels").tolist() == y.tolist(), name
        np.testing.assert_array_equal(rows.targets("numbers"), y)
        assert rows.targets("numbers").dtype == float
        for start, stop in ((0, N), (0, 1), (33, 35), (123, 477), (N - 1, N)):
            np.testing.assert_array_equal(dense(rows.rows(start, stop)), X[start:stop], err_msg=name)
        for entries in (1, 40, 1000, 10**9):
            edges = rows.cut(entries)
            assert edges[0] == 0
            assert edges[-1] == N
            assert all(a < b for a, b in itertools.pairwise(edges))
        model = SparseClassifier(**options).fit(rows)
        like = expected[sp.csr_matrix if rows.sparse else np.asarray]
        assert model.coef_.tobytes() == like.coef_.tobytes(), name
        assert model.statement_.to_json().replace(".0", "") == like.statement_.to_json().replace(".0", ""), name
        vars(model).pop("feature_names_in_", None)
        margins = model.decision_function(dense(rows.rows(0, N)))
        np.testing.assert_allclose(model.decision_function(rows), margins, rtol=1e-12, atol=1e-12)


def test_a_path_or_a_pattern_stands_for_its_rows_and_y_names_the_target(tmp_path, monkeypatch):
    X, y = data()
    for part, where in enumerate((slice(0, 300), slice(300, None))):
        table = {**{n: X[where, j] for j, n in enumerate(NAMES)}, "y": y[where]}
        pq.write_table(pa.table(table), tmp_path / f"part-{part}.parquet")
    options = {"epsilon": 2.0, "sparsity": 3, "recipe": "dp_sgd_ht", "random_state": 4}
    bound = dict.fromkeys(reversed(NAMES), 4.0)
    expected = SparseClassifier(**options, feature_bound=4.0).fit(X, y)
    model = SparseClassifier(**options, feature_bound=bound).fit(str(tmp_path / "*.parquet"), "y")
    assert model.coef_.tobytes() == expected.coef_.tobytes()
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == D
    monkeypatch.setattr("dpsparse.fitting.session.memory_needed", lambda *_: 2**60)
    limited = SparseClassifier(**options, feature_bound=4.0, memory_limit="40MB")
    limited.fit(open_rows([tmp_path / "part-0.parquet", tmp_path / "part-1.parquet"], "y"))
    assert limited.coef_.tobytes() == expected.coef_.tobytes()
    with pytest.raises(DataError, match="other columns than the data of the fit"):
        model.predict(open_rows(tmp_path / "part-0.parquet", columns=NAMES[::-1]))


def test_rows_of_a_file_come_with_another_target_as_well(tmp_path):
    X, y = data()
    np.save(tmp_path / "X.npy", X)
    model = SparseRegressor(feature_bound=4.0, target_bound=1.0, recipe="dp_ight", random_state=1).fit(
        tmp_path / "X.npy", y
    )
    assert (
        model.coef_.tobytes()
        == SparseRegressor(feature_bound=4.0, target_bound=1.0, recipe="dp_ight", random_state=1)
        .fit(X, y)
        .coef_.tobytes()
    )
    with pytest.raises(DataError, match="target y is None"):
        model.fit(tmp_path / "X.npy")


@pytest.mark.parametrize("damage", [0, 350, N - 1])
def test_a_cell_that_is_no_number_is_a_hole_and_the_others_stay(tmp_path, damage):
    X, y = data()
    path = write_csv(tmp_path / "a.csv", X, y, damage)
    rows = open_rows(path, "y")
    X[damage, 0] = np.nan
    np.testing.assert_array_equal(rows.rows(0, N), X)
    assert rows.targets("labels").tolist() == y.tolist()
    assert not rows.finite
    with pytest.raises(ValueError, match="holds NaN, inf or a cell that is no number"):
        SparseClassifier(feature_bound=4.0).fit(rows)
    SparseClassifier(feature_bound=4.0, on_missing="empty", recipe="dp_ight", random_state=0).fit(rows)


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["yes", "no"], ["yes", "no"]),
        (["1", "0"], [1, 0]),
        ([" 1", "0.5"], [1.0, 0.5]),
        (["1", "x"], ["1", "x"]),
    ],
)
def test_labels_are_what_the_reader_in_memory_makes_of_them(tmp_path, cells, labels):
    X, y = data()
    path = write_csv(tmp_path / "a.csv", X, np.array(cells, dtype=object)[y])
    table, rows = read_table(path, "y", labels=True), open_rows(path, "y")
    assert sorted(set(rows.targets("labels").tolist())) == sorted(labels)
    assert rows.targets("labels").dtype == table.y.dtype
    np.testing.assert_array_equal(rows.targets("labels"), table.y)
    np.testing.assert_array_equal(rows.targets("texts"), read_table(path, "y", text_labels=True).y)
    np.testing.assert_array_equal(rows.targets("numbers"), read_table(path, "y").y)


def test_targets_of_many_values_are_numbers(tmp_path, monkeypatch):
    X, _ = data()
    y = np.random.default_rng(1).normal(size=N)
    path = write_csv(tmp_path / "a.csv", X, y)
    monkeypatch.setattr("dpsparse.io.labels.MOST_LABELS", 100)
    np.testing.assert_array_equal(open_rows(path, "y").targets("numbers"), y)


@pytest.mark.parametrize("classes", [["no", "yes"], [2**53, 2**53 + 1]])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_targets_of_many_texts_are_no_hindrance_to_declared_classes(tmp_path, classes, kind):
    count = 5000
    y = [str(classes[i % 2]) if i % 3 else f"{i + 1}9007199254740993" for i in range(count)]
    if kind == "csv":
        path = write_csv(tmp_path / "a.csv", np.zeros((count, D)), np.array(y, dtype=object))
    else:
        path = tmp_path / "a.parquet"
        stored = pa.array(y) if classes[0] == "no" else pa.array([min(int(v), 2**62) for v in y])
        pq.write_table(pa.table({"a": np.zeros(count), "y": stored}), path)
    model = SparseClassifier(feature_bound=1.0, classes=classes)
    expected = [i % 2 if i % 3 else np.nan for i in range(count)]
    np.testing.assert_array_equal(model.read_rows(str(path), "y", silently=True)[2].coded, expected)
    convert(path, tmp_path / "a.dpsrows", "y", classes=classes)
    np.testing.assert_array_equal(model.read_rows(str(tmp_path / "a.dpsrows"), None, silently=True)[2].coded, expected)


def test_a_gap_among_whole_numbers_costs_the_others_no_digit(tmp_path):
    ids = [2**53, 2**53 + 1, None, 2**53 + 1]
    pq.write_table(pa.table({"a": np.zeros(4), "y": pa.array(ids, pa.int64())}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("a,y\n" + "".join(f"0,{'' if i is None else i}\n" for i in ids))
    model = SparseClassifier(feature_bound=1.0, classes=[2**53, 2**53 + 1], on_missing="empty")
    for path in ("a.parquet", "a.csv"):
        coded = model.read_rows(str(tmp_path / path), "y", silently=True)[2].coded
        np.testing.assert_array_equal(coded, [0, 1, np.nan, 1])
        opened = open_rows(tmp_path / path, "y")
        np.testing.assert_array_equal(model.read_rows(opened, None, silently=True)[2].coded, [0, 1, np.nan, 1])


def test_texts_of_a_typed_column_stay_texts(tmp_path):
    X, y = data()
    pq.write_table(pa.table({"a": X[:, 0], "y": y.astype(str)}), tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet", "y")
    assert set(rows.targets("labels").tolist()) == {"0", "1"}
    with pytest.raises(DataError, match="expected to hold numbers"):
        rows.targets("numbers")


# ------------------------------------------------------------------------------------------------ svmlight

LINES = [
    "1 1:0.5 3:2",
    "-1",
    "+1 2:1e-3 9:-4",
    "0.25 9:1 2:7",
    "1 10:1 2:3",
    "1 0:1",
    "1 2:1 2:2",
    "1 2:x 3:1",
    "1 2",
    "x 1:1",
    "1 1:1:1",
    "nan 1:1",
    "1 3:nan",
    "1 +3:1",
    "1 3:+1",
    "1  3:1",
    " 1 3:1",
    "1 3:1 ",
    "1\t3:1",
    "1 3:1 # a comment 4:4",
    "1 qid:3 3:1",
    "",
    "1 99999999999999999999:1",
    "1 3.0:1",
    "1:2 3:1",
    "+-1 3:1",
    "++1 3:1",
    "+ 3:1",
    "+.5 3:1",
    "+e1 3:1",
    "-+1 3:1",
    "1e400 3:1",
    "1 3:-1e400",
    "1 3:1e-400",
    "01 03:007",
    "1. 3:.5",
]


@pytest.mark.parametrize("line", LINES)
def test_a_record_of_svmlight_is_the_same_among_plain_ones_and_alone(tmp_path, line, monkeypatch):
    """Pieces in the plain form are parsed by columns, others line by line: a record must not depend on its company."""
    plain = "1 1:0.5 3:2\n"
    (tmp_path / "odd.svm").write_text(plain + line + "\n" + plain + "1 3:1 # the whole piece goes line by line\n")
    (tmp_path / "same.svm").write_text(plain + line + "\n" + plain + "1 3:1\n")
    found = [read_table(tmp_path / name, n_features=9) for name in ("odd.svm", "same.svm")]
    np.testing.assert_array_equal(found[0].X.toarray(), found[1].X.toarray())
    np.testing.assert_array_equal(found[0].y, found[1].y)


def test_plain_svmlight_is_parsed_by_columns_and_gives_what_scikit_learn_gives(tmp_path, monkeypatch):
    X, y = data()
    path = tmp_path / "a.svm"
    dump_svmlight_file(X, np.where(y, 1, -1), str(path), zero_based=False)
    monkeypatch.setattr(svmlight, "_slow", lambda *_: pytest.fail("not by columns"))
    table = read_table(path, n_features=D)
    expected, targets = load_svmlight_file(str(path), n_features=D)
    assert (expected != table.X).nnz == 0
    np.testing.assert_array_equal(table.y, targets)


def test_lists_with_columns_that_do_not_exist_are_empty(tmp_path):
    places = [[0, 2], [5, 9], [1, 1], [3], None, [2, None], [-1]]
    values = [[1.0, 2.0], [1.0, 1.0], [1.0, 2.0], [1.0, 2.0], [1.0], [1.0, 2.0], [3.0]]
    pq.write_table(pa.table({"i": places, "v": values}), tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet", n_features=9)
    expected = np.zeros((7, 9))
    expected[0, [0, 2]] = 1.0, 2.0
    np.testing.assert_array_equal(rows.rows(0, 7).toarray(), expected)
    with pytest.raises(DataError, match=r"largest that occurs is private\. Declare n_features"):
        open_rows(tmp_path / "a.parquet")


# ------------------------------------------------------------------------------------------------ block files


@pytest.fixture
def block_file(tmp_path):
    X, y = data()
    path = tmp_path / "a.dpsrows"
    with path.open("wb") as file:
        writer = BlockWriter(file, D, sparse=True)
        writer.add(sp.csr_matrix(X), y)
        writer.finish()
    return path


def refused(path):
    """Refused when it is opened or when its rows are read, without a word of what it holds."""

    def read():
        rows = open_rows(path)
        rows.targets("numbers")
        rows.rows(0, rows.shape[0])

    with pytest.raises(DataError, match=r"could not be read as a block file: it is damaged") as caught:
        read()
    assert SECRET not in str(caught.value)


def test_a_converted_file_is_its_owners_alone_and_appears_whole(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "a.csv", *data())
    convert(path, tmp_path / "a.dpsrows", "y")
    assert stat.S_IMODE(os.stat(tmp_path / "a.dpsrows").st_mode) == 0o600
    before = (tmp_path / "a.dpsrows").read_bytes()
    path.write_text("a,z\n1,2,3\n")
    with pytest.raises(DataError, match="no column 'y'"):
        convert(path, tmp_path / "a.dpsrows", "y")
    assert (tmp_path / "a.dpsrows").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "a.dpsrows"]


@pytest.mark.parametrize("place", [0, 5, 20, 200, 0.3, 0.6, -1, -6, -12, -20, -100])
def test_a_changed_byte_is_noticed(block_file, place):
    content = bytearray(block_file.read_bytes())
    content[int(place * len(content)) if isinstance(place, float) else place] ^= 0x41
    block_file.write_bytes(content)
    refused(block_file)


@pytest.mark.parametrize("left", [0, 10, 100, 0.5, -1, -30])
def test_a_torn_file_is_noticed(block_file, left):
    content = block_file.read_bytes()
    block_file.write_bytes(content[: int(left * len(content)) if isinstance(left, float) else left])
    refused(block_file)


def forged(path, **changes):
    """A file whose header or table was changed, with checksums that fit."""
    content = path.read_bytes()
    length, listed, _, _ = TAIL.unpack(content[-TAIL.size :])
    stop = len(content) - TAIL.size - length - listed
    header = content[stop : stop + length]
    table = np.frombuffer(content[stop + length : -TAIL.size], dtype=format_module.ENTRY).copy()
    for name, value in changes.items():
        if name == "header":
            header = value(header)
        else:
            table[name][0] = value
    rest = header + table.tobytes()
    path.write_bytes(content[:stop] + rest + TAIL.pack(len(header), table.nbytes, zlib.crc32(rest), END))


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 0},
        {"rows": 2**31},
        {"entries": 2**40},
        {"entries": 0},
        {"values": 200},
        {"targets": 100},
        {"targets": 255},
        {"header": lambda h: h.replace(b'"features": 9', b'"features": 3')},
        {"header": lambda h: h.replace(b'"features": 9', b'"features": 1e9')},
        {"header": lambda h: h.replace(b'"features": 9', b'"features": 99999999999')},
        {"header": lambda h: h.replace(b'"sparse": true', b'"sparse": false')},
        {"header": lambda h: h.replace(b'"names": null', b'"names": ["7351"]')},
        {"header": lambda h: b"[" * len(h)},
        {"header": lambda h: b"7351"},
        {"header": lambda h: h.replace(b'"labels": []', b'"labels": [7351]')},
    ],
)
def test_a_forged_file_is_refused(block_file, changes):
    forged(block_file, **changes)
    refused(block_file)


def test_bytes_that_belong_to_no_block_are_refused(block_file):
    content = block_file.read_bytes()
    length, listed, _, _ = TAIL.unpack(content[-TAIL.size :])
    stop = len(content) - TAIL.size - length - listed
    block_file.write_bytes(content[:stop] + bytes(8) + content[stop:])
    refused(block_file)


def test_columns_that_do_not_exist_and_counts_that_do_not_fit_are_refused(tmp_path):
    for wrong in ("indices", "counts"):
        path = tmp_path / f"{wrong}.dpsrows"
        with path.open("wb") as file:
            writer = BlockWriter(file, D, sparse=True)
            X = sp.csr_matrix(np.eye(3, D))
            writer.add(X, None)
            writer.finish()
        content = bytearray(path.read_bytes())
        place = len(MAGIC) + (16 if wrong == "indices" else 0)
        content[place : place + 4] = np.int32(D if wrong == "indices" else 2).tobytes()
        length, listed, _, _ = TAIL.unpack(content[-TAIL.size :])
        stop = len(content) - TAIL.size - length - listed
        path.write_bytes(content)
        forged(path, body=zlib.crc32(content[len(MAGIC) : stop]))
        with pytest.raises(DataError, match="damaged"):
            open_rows(path).rows(0, 3)


def test_a_hole_of_a_terabyte_is_refused_at_once(tmp_path):
    path = tmp_path / "a.dpsrows"
    with path.open("wb") as file:
        file.write(MAGIC)
        file.truncate(2**40)
        file.seek(2**40 - TAIL.size)
        file.write(TAIL.pack(2**40 - 100, 27, 0, END))
    refused(path)


@pytest.mark.parametrize("kind", ["fifo", "folder", "zero"])
def test_only_ordinary_files_are_opened(tmp_path, kind):
    path = tmp_path / "a.dpsrows"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="not an ordinary file"):
        open_rows(path)


@pytest.mark.parametrize(
    ("paths", "how", "says"),
    [
        ("nothing-*.csv", {}, "Check the pattern"),
        ("a.dpsrows", {"target": "z"}, "hold their own target"),
        ("a.dpsrows", {"n_features": 4}, "has 9 features, but 4 were expected"),
        ("a.txt", {}, "ending that is not known"),
        ("a.svmlight", {}, "Declare n_features"),
        ("by_columns.npy", {}, "row by row"),
        ("objects.npy", {}, "expected to hold numbers"),
    ],
)
def test_refusals_say_what_to_do(tmp_path, block_file, paths, how, says):
    np.save(tmp_path / "by_columns.npy", np.asfortranarray(data()[0]))
    np.save(tmp_path / "objects.npy", np.array([[object()]]), allow_pickle=True)
    (tmp_path / "a.txt").write_text("1")
    (tmp_path / "a.svmlight").write_text("1 1:1\n")
    with pytest.raises((DataError, FileNotFoundError), match=says):
        open_rows(str(tmp_path / paths), **how)


def test_rows_in_files_are_not_divided_copied_or_printed(block_file):
    rows = open_rows(block_file)
    assert repr(rows) == "FileRows(sparse, 9 features)"
    with pytest.raises(TypeError, match="not copied"):
        rows.__reduce__()
    with pytest.raises(DataError, match="not divided"):
        Records.of(rows).take(np.arange(3))
    assert isinstance(rows.parts[0], BlockFile)
