"""The encoder: public constants alone, row by row, silent."""

import decimal
import warnings
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dpsparse.tables import Column, Dictionary, DictionaryError, TableEncoder

CODEBOOK = Dictionary(
    [
        Column(name="patient", role="id"),
        Column(name="age", kind="number", bounds=(0, 100), fill=25, gap_is_feature=True, unit="year"),
        Column(name="sex", kind="category", categories=["female", "male"]),
        Column(name="ward", kind="category", categories=[1, 2, 3], fill=2, gap_is_feature=True),
        Column(name="smoker", kind="boolean", fill=True),
        Column(name="visit", kind="date", bounds=("2000-01-01", "2020-01-01"), gap_is_feature=True),
        Column(name="died", role="target", kind="boolean"),
    ]
)
NAMES = [
    "age",
    "age is missing",
    "sex=female",
    "sex=male",
    "ward=1",
    "ward=2",
    "ward=3",
    "ward is missing",
    "smoker",
    "visit",
    "visit is missing",
]
FEATURES = ("age", "sex", "ward", "smoker", "visit")

#: What people find in tables. None of them may be heard of.
CANARIES = [
    "alice@example.org",
    10**400,
    -(10**400),
    "1" * 5000,
    "2023-99-99",
    float("nan"),
    float("inf"),
    -float("inf"),
    None,
    "",
    "NA",
    pd.NA,
    pd.NaT,
    np.datetime64("NaT", "s"),
    np.datetime64("90000-01-01"),
    decimal.Decimal("sNaN"),
    decimal.Decimal("1E+999999"),
    b"\xff\xfe",
    "\x00",
    "\ud800",
    "12_000",
    object(),
    [1, 2],
    {"a": 1},
    (),
    1j,
    True,
    datetime(1, 1, 1),
    datetime.max,
    date.min,
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
    "no",
    "perhaps",
    np.float32(7),
    np.int8(3),
    np.bool_(False),
]


def table(**changes):
    columns = {
        "age": [75, None, 130, -5, "alice@example.org"],
        "sex": ["male", "female", "?", None, "Female"],
        "ward": [1, 2.0, "3", None, 9],
        "smoker": ["yes", 0, None, False, "perhaps"],
        "visit": ["2010-01-01", "2023-99-99", "2030-01-01", date(2000, 1, 1), 20100101],
    }
    return {**columns, **changes}


EXPECTED = np.array(
    [
        [0.5, 0, 0, 1, 1, 0, 0, 0, 1, 0.0001368925393566, 0],
        [-0.5, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1],
        [1.0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0],
        [-1.0, 0, 0, 0, 0, 1, 0, 1, 0, -1, 0],
        [-0.5, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1],  # "Female" is female
    ]
)


def encoder(**options):
    return TableEncoder(CODEBOOK, **options).fit({name: [] for name in FEATURES})


def test_cells_become_numbers_by_public_constants():
    found = encoder().transform(table())
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, EXPECTED, atol=1e-12)
    assert encoder().get_feature_names_out().tolist() == NAMES


def test_without_a_declared_value_a_gap_is_zero():
    plain = Dictionary(
        [
            Column(name="a", kind="number", bounds=(10, 20)),
            Column(name="b", kind="category", categories=["x"]),
            Column(name="c", kind="boolean"),
            Column(name="d", kind="date", bounds=("2000-01-01", "2001-01-01")),
        ]
    )
    gaps = {name: [None] for name in "abcd"}
    assert not np.any(TableEncoder(plain).fit_transform(gaps))
    assert np.all(TableEncoder(plain).fit_transform({"a": [20], "b": ["x"], "c": [1], "d": ["2001-01-01"]}) == 1)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("place", range(len(CANARIES)))
def test_no_cell_is_ever_heard_of(name, place):
    rows = table()
    rows[name] = [CANARIES[place], *rows[name][1:]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = encoder().transform(rows)
    assert type(found) is type(encoder().transform(table()))
    assert found.dtype == np.float64
    assert found.shape == EXPECTED.shape
    assert np.all(np.isfinite(found))
    bounds = encoder().output_bounds()
    assert np.all(found >= bounds.lower)
    assert np.all(found <= bounds.upper)
    np.testing.assert_allclose(found[1:], EXPECTED[1:], atol=1e-12)  # and no other row changes


@given(
    st.lists(
        st.tuples(
            *[st.one_of(st.text(), st.floats(), st.integers(), st.booleans(), st.none(), st.dates(), st.decimals())] * 5
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_row_alone_in_company_and_in_other_company_has_the_same_bytes(rows):
    columns = {name: [row[place] for row in rows] for place, name in enumerate(FEATURES)}
    assert company_does_not_matter(encoder(), columns)
    together = np.asarray(encoder().transform(columns))
    assert np.all(np.linalg.norm(together, axis=1) <= encoder().output_bounds().row_norm * (1 + 1e-12))


def company_does_not_matter(ours, columns):
    """Whether rows alone, in company and in other company have the same bytes."""
    together = np.asarray(ours.transform(columns))
    backwards = np.asarray(ours.transform({name: cells[::-1] for name, cells in columns.items()}))[::-1]
    agree = together.tobytes() == backwards.tobytes()
    for place, row in enumerate(together):
        alone = ours.transform({name: [cells[place]] for name, cells in columns.items()})
        company = {name: [*table()[name], cells[place], *table()[name]] for name, cells in columns.items()}
        agree &= np.asarray(alone).tobytes() == row.tobytes()
        agree &= np.asarray(ours.transform(company))[5].tobytes() == row.tobytes()
    return agree


class FillsWithTheMean(TableEncoder):
    """What everybody does, and what must not be done."""

    def transform(self, X):
        rows = np.array(super().transform(X))
        rows[rows[:, 1] == 1, 0] = rows[rows[:, 1] == 0, 0].mean() if np.any(rows[:, 1] == 0) else 0.0
        return rows


def test_an_encoder_that_looks_at_other_rows_is_found():
    columns = table(age=[75, None, 10, "x", 3])
    assert company_does_not_matter(encoder(), columns)
    assert not company_does_not_matter(FillsWithTheMean(CODEBOOK).fit(columns), columns)


def test_the_norm_of_a_row_is_bounded_and_the_bound_is_reached():
    bounds = encoder().output_bounds()
    # age: a gap is 25, encoded -.5, and an indicator; ward: category and indicator; smoker 1; sex 1; visit 1
    assert bounds.row_norm == pytest.approx(np.sqrt(1.25 + 1 + 2 + 1 + 1))
    worst = encoder().transform(
        {"age": [None], "sex": ["male"], "ward": [None], "smoker": [True], "visit": ["1990-01-01"]}
    )
    assert np.linalg.norm(worst) == pytest.approx(bounds.row_norm)


NUMBERS = [0, 1, 0, 1, 1]


@pytest.mark.parametrize("name", ["age", "ward", "smoker"])
@pytest.mark.parametrize(
    "stored",
    [
        NUMBERS,
        [str(v) for v in NUMBERS],
        [f"{v}.0" for v in NUMBERS],
        [f" {v} " for v in NUMBERS],
        [bytes(str(v), "ascii") for v in NUMBERS],
        [decimal.Decimal(v) for v in NUMBERS],
        [bool(v) for v in NUMBERS],
        np.array(NUMBERS, dtype=np.int8),
        np.array(NUMBERS, dtype=np.uint64),
        np.array(NUMBERS, dtype=np.float32),
        np.array(NUMBERS, dtype=bool),
        np.array(NUMBERS, dtype=object),
        np.array([str(v) for v in NUMBERS]),
        pd.Series(NUMBERS, dtype="category"),
        pd.Series([str(v) for v in NUMBERS], dtype="category"),
        pd.Series(NUMBERS, dtype="Int64"),
        pd.Series(NUMBERS, dtype="Float32"),
        pd.Series(NUMBERS, dtype="int64[pyarrow]"),
        pd.Series(NUMBERS, dtype=object),
        pd.Series([str(v) for v in NUMBERS], dtype="str"),
        pd.Series([bool(v) for v in NUMBERS]),
    ],
    ids=lambda v: str(getattr(v, "dtype", type(v[0]))),
)
def test_how_numbers_are_stored_does_not_matter(name, stored):
    expected = encoder().transform(table(**{name: NUMBERS}))
    columns = table(**{name: stored})
    assert np.array_equal(encoder().transform(columns), expected)
    text = {key: pd.Series(cells, dtype=object) for key, cells in columns.items() if key != name}
    assert np.array_equal(encoder().transform(pd.DataFrame({**text, name: pd.Series(stored)})), expected)


@pytest.mark.parametrize(
    "dtype", ["Int64", "Float64", "int64[pyarrow]", "float64[pyarrow]", "float64", "category", "object", "str"]
)
def test_gaps_of_every_type_of_column_are_gaps(dtype):
    column = pd.Series([75, None, 50, None, 0], dtype=object)
    frame = pd.DataFrame({**{n: pd.Series([None] * 5, dtype=object) for n in FEATURES}, "age": column.astype(dtype)})
    assert encoder().transform(frame)[:, :2].tolist() == [[0.5, 0], [-0.5, 1], [0, 0], [-0.5, 1], [-1, 0]]


def test_dates_are_the_same_in_every_storage():
    days = ["2010-01-01", "2001-02-03", None]
    other = {"age": [1, 2, 3], "sex": ["male"] * 3, "ward": [1, 1, 1], "smoker": [True] * 3}
    expected = encoder().transform({**other, "visit": days})
    python = [None if d is None else date.fromisoformat(d) for d in days]
    for visit in (python, np.array(days, dtype="datetime64[D]"), np.array(days, dtype="datetime64[ns]")):
        assert np.array_equal(encoder().transform({**other, "visit": visit}), expected)
    for frame in (
        pd.DataFrame({**other, "visit": pd.to_datetime(pd.Series(days))}),
        pl.DataFrame({**other, "visit": python}),
        pl.DataFrame({**other, "visit": days}).with_columns(pl.col("visit").str.to_datetime()),
        pa.table({**other, "visit": pa.array(python)}),
    ):
        assert np.array_equal(encoder().transform(frame), expected)


def test_tables_of_every_library_give_the_same_rows():
    columns = {
        "sex": ["male", "female", None],
        "age": [75.0, None, 130.0],
        "visit": ["2010-01-01", "2001-02-03", None],
        "smoker": [True, False, None],
        "ward": [1, 2, None],
        "patient": ["a", "b", "c"],
    }
    expected = encoder().transform(columns)
    records = np.array(list(zip(*columns.values(), strict=True)), dtype=[(name, object) for name in columns])
    array = np.array([columns[name] for name in FEATURES], dtype=object).T
    for X in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), records, array):
        found = TableEncoder(CODEBOOK).fit(X).transform(X)
        assert np.array_equal(found, expected), type(X)


def test_any_data_of_the_same_header_gives_the_same_encoder():
    one = TableEncoder(CODEBOOK).fit(pd.DataFrame(table()))
    other = TableEncoder(CODEBOOK).fit(pd.DataFrame(table(age=["bob@example.org"] * 5, ward=CANARIES[:5])))
    none = TableEncoder(CODEBOOK).fit(pd.DataFrame(columns=list(table())))
    for found in (other, none):
        assert vars(found).keys() == vars(one).keys()
        assert found.n_features_in_ == one.n_features_in_ == 5
        assert found.feature_names_in_.tolist() == one.feature_names_in_.tolist() == list(FEATURES)
        assert found.dictionary_ == one.dictionary_ == CODEBOOK


class Untouchable:
    """Cells that may be counted, and not looked at."""

    def __len__(self):
        return 3

    def __iter__(self):
        raise AssertionError("a cell was read")

    __getitem__ = __array__ = __iter__


def test_fit_reads_no_cell():
    ours = TableEncoder(CODEBOOK).fit({name: Untouchable() for name in FEATURES})
    assert ours.get_feature_names_out().tolist() == NAMES
    with pytest.raises(AssertionError, match="a cell was read"):  # the stand-in works
        ours.transform({name: Untouchable() for name in FEATURES})


def test_columns_that_do_not_fit_are_named_all_at_once_and_without_cells():
    rows = table()
    rows["agee"] = rows.pop("age")
    rows.pop("sex")
    rows["extra"] = ["alice@example.org"] * 5
    with pytest.raises(DictionaryError) as caught:
        TableEncoder(CODEBOOK).fit(rows)
    message = str(caught.value)
    assert all(part in message for part in ("'age'", "'agee'", "'sex'", "'extra'", "Did you mean"))
    assert "alice" not in message


def test_what_is_no_table_is_refused():
    with pytest.raises(DictionaryError, match="one column for each of the 5 features"):
        TableEncoder(CODEBOOK).fit(np.zeros((3, 4)))
    with pytest.raises(TypeError, match="is not a table"):
        TableEncoder(CODEBOOK).fit("alice")
    with pytest.raises(TypeError, match="is not a table"):
        TableEncoder(CODEBOOK).fit(pl.DataFrame(columns := {"age": [1]}).lazy())
    assert columns
    with pytest.raises(DictionaryError, match="same length"):
        encoder().transform(table(age=[1]))
    with pytest.raises(DictionaryError, match="must be text"):
        TableEncoder(CODEBOOK).fit(pd.DataFrame({1: [2]}))
    with pytest.raises(TypeError, match=r"must be a dpsparse\.tables\.Dictionary"):
        TableEncoder({"age": 1}).fit(table())
    with pytest.raises(DictionaryError, match="bounds are missing"):
        TableEncoder(Dictionary([Column(name="age", kind="number")])).fit({"age": []})
    with pytest.raises(ValueError, match="sparse_output"):
        TableEncoder(CODEBOOK, sparse_output="maybe").fit(table())
    twice = pd.DataFrame(np.zeros((1, 6)), columns=[*FEATURES, "age"])
    with pytest.raises(DictionaryError, match=r"twice|more than one"):
        TableEncoder(CODEBOOK).fit(twice)


def test_conventions_of_scikit_learn(tmp_path):
    ours = TableEncoder(CODEBOOK, sparse_output=False)
    with pytest.raises(NotFittedError):
        ours.transform(table())
    copy = clone(ours.fit(table()))
    assert copy.get_params() == {"dictionary": CODEBOOK, "sparse_output": False}
    assert "dictionary_" not in vars(copy)
    frame = clone(ours).set_output(transform="pandas").fit_transform(pd.DataFrame(table()))
    assert frame.columns.tolist() == NAMES
    np.testing.assert_allclose(frame.to_numpy(), EXPECTED, atol=1e-12)
    CODEBOOK.write(tmp_path / "d.yaml")
    assert np.array_equal(TableEncoder(tmp_path / "d.yaml").fit_transform(table()), ours.transform(table()))


def test_many_indicators_come_out_sparse_by_a_rule_of_the_dictionary_alone():
    wide = Dictionary([Column(name="code", kind="category", categories=range(40)), *CODEBOOK.columns])
    rows = {**table(), "code": [3, "39", None, 99, 0.0]}
    found = TableEncoder(wide).fit_transform(rows)
    assert sp.issparse(found)
    assert found.format == "csr"
    assert found.dtype == np.float64
    dense = TableEncoder(wide, sparse_output=False).fit_transform(rows)
    assert np.array_equal(found.toarray(), dense)
    assert not sp.issparse(TableEncoder(CODEBOOK).fit_transform(table()))
    full = {**table(), "code": [1, 2, 3, 4, 5]}
    assert sp.issparse(TableEncoder(wide).fit_transform(full))
    alone = TableEncoder(wide).fit_transform({name: cells[:1] for name, cells in rows.items()})
    assert alone.indices.tobytes() == found[:1].indices.tobytes()
    assert alone.data.tobytes() == found[:1].data.tobytes()


def test_text_is_compared_before_numbers():
    zip_codes = Dictionary([Column(name="zip", kind="category", categories=["01", "1", "10"])])
    cells = ["01", "1", 1, 1.0, "1.0", "10.0", "001", "1e1", "x"]
    found = TableEncoder(zip_codes, sparse_output=False).fit_transform({"zip": cells})
    # a number is the text of that number; text that is not listed counts by its value, first listed first
    assert np.where(found.any(axis=1), found.argmax(axis=1), -1).tolist() == [0, 1, 1, 1, 0, 2, 0, 2, -1]


def test_a_category_may_be_called_na():
    named = Dictionary([Column(name="a", kind="category", categories=["NA", "B"], gap_is_feature=True)])
    found = TableEncoder(named, sparse_output=False).fit_transform({"a": ["NA", "B", None, ""]})
    assert found.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_coefficients_in_the_units_of_the_table():
    ours = encoder()
    rng = np.random.default_rng(0)
    coef, intercept = rng.standard_normal(len(NAMES)), 0.7
    effects = {(e.column, e.level): e for e in ours.decode(coef, intercept)}
    assert len(effects) == len(NAMES) + 1
    assert effects["age", ""].unit == "per year"
    assert effects["visit", ""].unit == "per day"
    person = {"age": [62.5], "sex": ["female"], "ward": [3], "smoker": [True], "visit": ["2011-05-06"]}
    margin = float(np.asarray(ours.transform(person) @ coef)[0]) + intercept
    days = (date(2011, 5, 6) - date(1970, 1, 1)).days
    told = (
        effects["(intercept)", ""].coefficient
        + 62.5 * effects["age", ""].coefficient
        + effects["sex", "female"].coefficient
        + effects["ward", "3"].coefficient
        + effects["smoker", "true"].coefficient
        + days * effects["visit", ""].coefficient
    )
    assert told == pytest.approx(margin, rel=1e-9)
    # a gap: what the filled value does, and its own effect
    gap = float(np.asarray(ours.transform({**person, "age": [None]}) @ coef)[0]) + intercept
    told += (25 - 62.5) * effects["age", ""].coefficient + effects["age", "is missing"].coefficient
    assert told == pytest.approx(gap, rel=1e-9)
    several = ours.decode(np.vstack([coef, -coef]), [1.0, 2.0])
    assert several[0].coefficient == (coef[0] / 50, -coef[0] / 50)
    with pytest.raises(DictionaryError, match="one entry for each of the 11"):
        ours.decode(coef[:3])


@pytest.mark.parametrize("sparse_output", ["auto", True, False])
def test_how_rows_come_out_is_known_before_there_are_any(sparse_output):
    wide = Dictionary([Column(name="town", kind="category", categories=[f"t{i}" for i in range(20)])])
    encoder = TableEncoder(wide, sparse_output=sparse_output)
    known = encoder.output_sparse()
    assert known is (sparse_output is not False)
    assert sp.issparse(encoder.fit_transform({"town": ["t1", "t2"]})) is known
