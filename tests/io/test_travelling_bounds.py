"""Bounds travel with encoded rows: which ways need none declared, and which still do."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from dpsparse import PrivateScaler, PublicScaler, SparseClassifier, SparseRegressor, load, make_private_pipeline
from dpsparse.core import PrivacyError
from dpsparse.core.errors import MissingBoundError
from dpsparse.estimators.steps import Bounds
from dpsparse.rows.bounds import read_bounds
from dpsparse.tables import BoundedArray, Column, Dictionary, TableEncoder

CODEBOOK = Dictionary(
    [
        Column(name="age", kind="number", bounds=(0, 100), gap_is_feature=True),
        Column(name="sex", kind="category", categories=["female", "male"]),
        Column(name="smoker", kind="boolean"),
        Column(name="crp", kind="number", bounds=(0, 50)),
    ]
)
LEFT, RIGHT = ["age", "sex"], ["smoker", "crp"]


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(3)
    n = 400
    frame = pd.DataFrame(
        {
            "age": rng.uniform(0, 120, n),
            "sex": rng.choice(["female", "male", "?"], n),
            "smoker": rng.random(n) < 0.5,
            "crp": rng.uniform(0, 60, n),
        }
    )
    return frame, (frame["age"] > 60).to_numpy().astype(int)


def columns(**options):
    sparse = {"sparse_threshold": 1.0} if options.get("sparse_output") else {}
    return ColumnTransformer(
        [
            ("left", TableEncoder(CODEBOOK.only(LEFT), **options), LEFT),
            ("right", TableEncoder(CODEBOOK.only(RIGHT), **options), RIGHT),
        ],
        **sparse,
    )


def facts_of(model):
    """The bounds that a model was fitted with, as its file tells them."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "m.json"))
        stored = load(Path(folder, "m.json"))
    return Bounds.read(stored.feature_bound, stored.row_norm, stored.n_features_in_)


WAYS = {
    "encoder": lambda: TableEncoder(CODEBOOK),
    "sparse encoder": lambda: TableEncoder(CODEBOOK, sparse_output=True),
    "ColumnTransformer": columns,
    "pipeline in ColumnTransformer": lambda: ColumnTransformer(
        [("all", Pipeline([("encode", TableEncoder(CODEBOOK))]), LEFT + RIGHT)]
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_plain_pipeline_needs_no_bounds(way, patients):
    model = make_pipeline(WAYS[way](), SparseClassifier(epsilon=1.0)).fit(*patients)[-1]
    expected = CODEBOOK.output_bounds()
    facts = facts_of(model)
    assert np.array_equal(facts.lower, expected.lower)
    assert np.array_equal(facts.upper, expected.upper)
    assert facts.row_norm == pytest.approx(expected.row_norm)
    assert model.feature_bound is None


@pytest.mark.parametrize("way", [*WAYS, "sparse ColumnTransformer"])
def test_a_private_pipeline_needs_no_bounds(way, patients):
    first = columns(sparse_output=True) if way == "sparse ColumnTransformer" else WAYS[way]()
    pipe = make_private_pipeline(first, SparseClassifier(), epsilon=2.0)
    assert pipe.plan(n_rows=400, n_features=4).epsilon == pytest.approx(
        2.0, rel=1e-3
    )  # selections are priced on a grid
    seen = []

    class Watched(SparseClassifier):
        def fit(self, X, y):
            seen.append((self.feature_bound, self.row_norm))
            return super().fit(X, y)

    Watched.__module__ = "dpsparse.estimators.classifier"
    pipe.steps[-1] = (pipe.steps[-1][0], Watched())
    assert pipe.fit(*patients).statement_.epsilon == pytest.approx(2.0)
    [((lower, upper), norm)] = seen
    expected = CODEBOOK.output_bounds()
    assert np.array_equal(lower, expected.lower)
    assert np.array_equal(upper, expected.upper)
    assert norm == pytest.approx(expected.row_norm)


def test_priced_steps_behind_an_encoder_have_bounds_too(patients):
    pipe = make_private_pipeline(TableEncoder(CODEBOOK), PrivateScaler(), SparseClassifier(), epsilon=2.0)
    assert pipe.fit(*patients).statement_.epsilon == pytest.approx(2.0)


def test_public_scalers_in_a_column_transformer_bring_their_bounds(patients):
    frame, y = patients
    both = ColumnTransformer(
        [("a", PublicScaler(feature_bound=(0, 120)), ["age"]), ("b", PublicScaler(feature_bound=(0, 60)), ["crp"])]
    )
    assert make_private_pipeline(both, SparseClassifier(), epsilon=2.0).fit(frame, y).statement_.epsilon > 1.9


def test_what_passes_through_brings_no_bounds(patients):
    frame, y = patients
    mixed = ColumnTransformer([("left", TableEncoder(CODEBOOK.only(LEFT)), LEFT)], remainder="passthrough")
    for pipe in (
        make_pipeline(mixed, SparseClassifier()),
        make_private_pipeline(mixed, SparseClassifier(), epsilon=1.0),
    ):
        with pytest.raises(MissingBoundError):
            pipe.fit(frame, y)


def test_weights_take_the_bounds_away(patients):
    weighted = columns().set_params(transformer_weights={"left": 100.0})
    with pytest.raises(MissingBoundError):
        make_private_pipeline(weighted, SparseClassifier(), epsilon=1.0).fit(*patients)
    with pytest.raises(MissingBoundError):
        make_pipeline(weighted, SparseClassifier()).fit(*patients)


def test_a_sparse_column_transformer_in_a_plain_pipeline_needs_the_dictionary_named(patients):
    rows = columns(sparse_output=True)
    assert sp.issparse(rows.fit_transform(patients[0]))
    with pytest.raises(MissingBoundError):
        make_pipeline(rows, SparseClassifier()).fit(*patients)
    model = make_pipeline(rows, SparseClassifier(feature_bound=CODEBOOK)).fit(*patients)[-1]
    assert facts_of(model).row_norm == pytest.approx(CODEBOOK.output_bounds().row_norm)
    model = make_pipeline(rows, SparseClassifier(feature_bound=TableEncoder(CODEBOOK))).fit(*patients)[-1]
    assert facts_of(model).row_norm == pytest.approx(CODEBOOK.output_bounds().row_norm)


def test_declared_bounds_win_over_those_that_rows_bring(patients):
    model = make_pipeline(TableEncoder(CODEBOOK), SparseClassifier(row_norm=0.5)).fit(*patients)[-1]
    assert facts_of(model).row_norm == 0.5


def test_a_refit_on_plain_rows_does_not_remember_bounds(patients):
    model = SparseClassifier()
    rows = TableEncoder(CODEBOOK).fit_transform(patients[0])
    model.fit(rows, patients[1])
    with pytest.raises(MissingBoundError):
        model.fit(np.asarray(rows), patients[1])


def test_whatever_is_made_from_bounded_rows_has_no_bounds(patients):
    rows = TableEncoder(CODEBOOK).fit_transform(patients[0])
    assert rows.output_bounds() is not None
    doubled = [
        rows * 2,
        rows[:5],
        rows[:, :2],
        rows.copy(),
        rows + rows,
        np.vstack([rows, rows]),
        rows.T,
        np.sort(rows),
    ]
    doubled += [np.hstack([rows, np.ones((len(rows), 1))]), np.concatenate([rows, rows])]
    for made in doubled:
        assert not isinstance(made, BoundedArray) or made.output_bounds() is None
    twice = np.hstack([rows, rows])
    assert twice.output_bounds().row_norm == pytest.approx(np.sqrt(2) * rows.output_bounds().row_norm)
    assert type(pickle.loads(pickle.dumps(rows))) is np.ndarray
    assert isinstance(np.sum(rows), np.floating)


# ------------------------------------------------------------------------------------------------ by column name


def test_bounds_by_column_name_follow_the_order_of_the_data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"b": rng.uniform(0, 9, 200), "a": rng.uniform(-1, 1, 200)})
    y = frame["a"].to_numpy()
    model = SparseRegressor(epsilon=1.0, feature_bound={"a": 1, "b": (0, 9)}, target_bound=1.0).fit(frame, y)
    assert facts_of(model).lower.tolist() == [0, -1]
    assert facts_of(model).upper.tolist() == [9, 1]
    assert model.plan(n_rows=200, n_features=2) is not None


def test_names_that_are_missing_or_unknown_are_told_at_once():
    frame = pd.DataFrame({"age": [1.0, 2.0], "bmi": [1.0, 2.0], "crp": [0.0, 1.0]})
    model = SparseRegressor(feature_bound={"age": 1, "bmj": 2, "zzz": 3}, target_bound=1.0)
    with pytest.raises(MissingBoundError) as caught:
        model.fit(frame, [0.0, 1.0])
    message = str(caught.value)
    for part in (
        "no bound for 'bmi'",
        "no bound for 'crp'",
        "no column 'bmj' (did you mean 'bmi'?)",
        "no column 'zzz'",
    ):
        assert part in message


def test_bounds_by_column_name_need_names():
    with pytest.raises(PrivacyError, match="the data has no column names"):
        SparseRegressor(feature_bound={"a": 1, "b": 1}, target_bound=1.0).fit(np.zeros((5, 2)), np.zeros(5))


@pytest.mark.parametrize("wrong", [{"a": (1, 2, 3)}, {"a": "x"}, {"a": (2, 1)}, {"a": -1}, {"a": [[1]]}])
def test_wrong_bounds_by_name_are_refused(wrong):
    with pytest.raises(MissingBoundError):
        read_bounds(wrong, None, 1)
