"""The silent door: what a user brings becomes numbers, and nothing is said about any value."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from builders import whole_sum
from dpsparse.core import DataError
from dpsparse.core.facts import Clip, Facts
from dpsparse.losses import Squared
from dpsparse.queries.kinds import Gradient
from dpsparse.rows.hosts import MemoryHost
from dpsparse.rows.records import Records, cell_number, cell_numbers, center_targets, code_classes, has_missing

SECRET = "alice@example.org"


class Rude:
    """An object that speaks whenever somebody looks at it."""

    def __float__(self):
        warnings.warn(SECRET, stacklevel=1)
        raise RuntimeError(SECRET)

    def __hash__(self):
        raise RuntimeError(SECRET)

    def __eq__(self, other):
        raise RuntimeError(SECRET)


NO_NUMBERS = [
    SECRET,
    None,
    10**400,
    -(10**400),
    Rude(),
    1j,
    [1, 2],
    b"HIV+",
    pd.Timestamp("2020-01-01"),
    pd.NA,
    math.nan,
]


@pytest.mark.parametrize("cell", NO_NUMBERS, ids=lambda c: type(c).__name__)
def test_a_cell_that_is_no_number_empties_its_record_and_says_nothing(cell):
    X = np.zeros((4, 2), dtype=object)
    X[:, 0], X[:, 1] = [0.5, -0.5, 0.25, 1.0], 1.0
    bad = X.copy()
    bad[2, 0] = None
    bad[2][0:1][...] = None
    bad[2, 0] = cell if not isinstance(cell, list) else tuple(cell)
    facts = Facts(n_rows=4, n_features=2, target_bound=1.0)
    question = Gradient(np.zeros(2), Clip(1.0))
    rest = [0, 1, 3]
    expected = whole_sum(MemoryHost(X[rest].astype(float), np.ones(3), facts), question, Squared())
    frame = pd.DataFrame({"a": pd.Series(list(bad[:, 0]), dtype=object), "b": [1.0] * 4})
    for given in (bad, frame):
        found = whole_sum(MemoryHost(given, np.ones(4), facts), question, Squared())
        np.testing.assert_array_equal(found, expected)
        assert has_missing(Records(given), np.ones(4))
    assert math.isnan(cell_number(cell))


def test_numbers_are_what_they_are_in_every_dress():
    assert [cell_number(v) for v in (1, 2.5, True, "3.5", np.int8(4), np.float32(0.5))] == [
        1.0,
        2.5,
        1.0,
        3.5,
        4.0,
        0.5,
    ]
    assert cell_numbers(pd.Series([1, 2, None], dtype="Int64"))[:2].tolist() == [1.0, 2.0]
    assert np.isnan(cell_numbers(pd.Series([1, 2, None], dtype="Int64"))[2])
    assert cell_numbers(pd.Series(["1", "x", "2"], dtype="category")).tolist()[::2] == [1.0, 2.0]
    assert math.isnan(cell_numbers(np.ma.masked_array([1.0, 2.0], mask=[False, True]))[1])


@pytest.mark.parametrize(
    "make", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.lil_matrix, sp.csr_array, sp.coo_array]
)
def test_every_sparse_format_is_read_by_rows(make):
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    source = Records(make(X))
    assert source.sparse
    assert source.shape == (3, 2)
    assert source.rows(1, 3).toarray().tolist() == X[1:].tolist()


def test_blocks_cover_all_rows_once_and_names_are_kept():
    frame = pd.DataFrame({"age": [1, 2, 3], "height": [0.5, 1.5, 2.5]})
    source = Records(frame)
    assert source.names == ("age", "height")
    [(x, y)] = list(source.blocks(np.arange(3.0)))
    assert x.tolist() == frame.to_numpy().tolist()
    assert y.tolist() == [0.0, 1.0, 2.0]
    assert Records.of(source) is source


@pytest.mark.parametrize("kind", ["int8", "float32", "bool", "float64", "longdouble"])
def test_rows_of_an_array_of_numbers_are_no_copy_and_say_what_their_floats_say(kind):
    X = np.array([[0, 1], [1, 0], [1, 1]], dtype=kind)
    source = Records(X)
    [(rows, targets, *_)], [(floats, _)] = source.records(np.arange(3.0)), source.blocks(np.arange(3.0))
    assert np.shares_memory(rows, X) is (kind != "longdouble")  # longer floats may become infinite
    assert floats.dtype == np.float64
    assert rows.astype(float).tolist() == floats.tolist() == X.tolist()
    assert targets.tolist() == [0.0, 1.0, 2.0]


def test_rows_of_a_mapped_file_are_no_copy(tmp_path):
    """They are read where they are stored, as rows of an array in memory are."""
    kept = np.arange(24, dtype=np.int8).reshape(8, 3)
    np.save(tmp_path / "rows.npy", kept)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    [(rows, *_)] = Records.of(mapped).records(np.zeros(8))
    assert np.shares_memory(rows, mapped)
    assert rows.dtype == np.int8
    assert Records.of(mapped).rows(0, 8).tolist() == Records.of(kept).rows(0, 8).tolist()


def test_a_frame_of_one_array_is_read_where_it_is():
    X = np.random.default_rng(3).normal(size=(40, 3))
    whole = pd.DataFrame(X, columns=["a", "b", "c"])
    assert np.shares_memory(Records(whole).plain(), whole["a"].to_numpy())
    apart = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2] > 0})
    assert not Records(apart).is_plain
    for frame in (whole, whole.astype("float32"), apart, whole.iloc[::-2], whole.assign(a=[None, *X[1:, 0]])):
        source = Records(frame)
        expected = frame.to_numpy(dtype=float)
        assert source.names == ("a", "b", "c")
        assert np.array_equal(source.rows(0, len(frame)), expected, equal_nan=True)
        assert has_missing(source, np.zeros(len(frame))) is bool(np.isnan(expected).any())
        some = source.take(np.array([2, 0]))
        assert np.array_equal(some.rows(0, 2), expected[[2, 0]], equal_nan=True)
        assert some.names == source.names


@pytest.mark.parametrize(
    "kind", ["runs", "many runs", "one run of two arrays", "long floats", "booleans", "no columns"]
)
def test_columns_of_several_types_are_read_as_each_alone_would_be(kind, monkeypatch):
    monkeypatch.setattr("dpsparse.rows.records.CACHED_ENTRIES", 16)
    monkeypatch.setattr("dpsparse.rows.records.CACHED_COLUMNS", 2)
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(9, 5)).astype(np.float32))
    frame = {
        "runs": pd.concat([wide, wide.astype(np.int8), wide > 0, wide.astype(float)], axis=1),
        "many runs": pd.DataFrame({j: rng.normal(size=9).astype((np.float32, np.int64)[j % 2]) for j in range(130)}),
        "one run of two arrays": pd.concat([wide, wide + 1], axis=1),
        "long floats": wide.astype(np.longdouble).assign(last=np.longdouble(10) ** 400),
        "booleans": pd.DataFrame({j: rng.normal(size=9) > 0 for j in range(3)}),
        "no columns": wide.iloc[:, :0],
    }[kind]
    expected = np.empty(frame.shape)
    for j in range(frame.shape[1]):
        expected[:, j] = cell_numbers(frame.iloc[:, j])
    source, targets = Records(frame), np.zeros(9)
    np.testing.assert_array_equal(source.rows(2, 7), expected[2:7])
    np.testing.assert_array_equal(np.vstack([found[0] for found in source.records(targets)]).astype(float), expected)
    np.testing.assert_array_equal(np.vstack([found[0] for found in source.records(targets, 1, 8)]), expected[1:8])
    assert all(found[0].dtype.itemsize <= 8 for found in source.records(targets))
    assert has_missing(source, targets) is bool(not np.isfinite(expected).all())


def test_a_frame_of_polars_that_is_too_large_to_copy_is_read_in_parts(monkeypatch):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, None, 3], "b": [0.5, 1.5, 2.5]})
    whole = Records(frame)
    monkeypatch.setattr("dpsparse.rows.records.COPIED_ENTRIES", 5)
    parts, targets = Records(frame), np.zeros(3)
    for first, last in ((0, 3), (1, 2), (2, 3)):
        np.testing.assert_array_equal(whole.rows(first, last), parts.rows(first, last))
        found = [np.vstack([r[0] for r in source.records(targets, first, last)]) for source in (whole, parts)]
        np.testing.assert_array_equal(*found)
    assert has_missing(whole, targets)
    assert has_missing(parts, targets)
    assert not has_missing(Records(frame[2:]), targets)


def test_numbers_of_polars_are_read_together_and_what_is_missing_is_found():
    pl = pytest.importorskip("polars")
    columns = {"a": [1.5, None, 3.0], "b": [2**53 + 1, 2, 3], "c": [1, 2, None], "d": [True, None, False]}
    for names in ("a", "ab", "abc", "abcd", "b"):
        frame = pl.DataFrame({name: columns[name] for name in names})
        expected = np.array([[np.nan if v is None else float(v) for v in columns[name]] for name in names]).T
        source = Records(frame)
        assert np.array_equal(source.rows(0, 3), expected, equal_nan=True)
        assert np.array_equal(source.rows(1, 3), expected[1:], equal_nan=True)
        assert has_missing(source, np.zeros(3)) is (names != "b")
    assert has_missing(Records(pl.DataFrame({"a": [1.0, np.inf]})), np.zeros(2))


@pytest.mark.parametrize("given", [[1.0, 2.0], np.zeros(3), np.zeros((2, 2, 2)), [[1], [1, 2]], SECRET])
def test_what_has_no_rows_and_columns_is_refused_without_a_word_about_it(given):
    with pytest.raises(DataError, match="two dimensions") as refusal:
        Records(given)
    assert SECRET not in str(refusal.value)


def test_a_label_outside_the_classes_makes_its_record_empty():
    assert code_classes([0, 1, 7, 0.5, "1", None, Rude(), [1], math.nan], [0, 1])[:2].tolist() == [0.0, 1.0]
    assert np.isnan(code_classes([7, 0.5, "1", None, Rude(), [1], math.nan], [0, 1])).all()
    assert code_classes(np.array([1.0, 0.0, True]), [0, 1]).tolist() == [1.0, 0.0, 1.0]
    assert code_classes(np.array(["b", "a", "c"]), ["a", "b"])[:2].tolist() == [1.0, 0.0]
    assert code_classes(pd.Series(["b", "a"], dtype="category"), np.array(["a", "b"])).tolist() == [1.0, 0.0]


def test_targets_are_centred_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = center_targets([1.0, 10**400, "x", 1.7e308], -1.7e308)
    assert found[0] == 1.0 + 1.7e308
    assert np.isnan(found[1:3]).all()
    assert found[3] == np.finfo(float).max  # beyond all floats, and still a number: it is clipped
    assert center_targets(pd.Series([1, 2], dtype="Int64"), 1.0).tolist() == [0.0, 1.0]


def test_finite_tables_miss_nothing():
    X = np.ones((3, 2))
    for given in (X, sp.csr_matrix(X), pd.DataFrame(X)):
        assert not has_missing(Records(given), np.zeros(3))
        assert has_missing(Records(given), np.array([0.0, np.nan, 0.0]))
    X[1, 1] = np.inf
    for given in (X, sp.csr_matrix(X), pd.DataFrame(X)):
        assert has_missing(Records(given), np.zeros(3))


def test_an_object_that_warns_is_not_heard():
    class Talks:
        def __float__(self):
            warnings.warn(SECRET, stacklevel=1)
            return 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cell_numbers([Talks(), 2.0]).tolist() == [1.0, 2.0]
