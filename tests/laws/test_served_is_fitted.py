"""The law *served = clipped*: a model is applied to rows clipped to the bounds of its fit, whichever way it is applied.

`clip` below is a transcription of what the fit does to a row. For rows far outside the bounds, every prediction is that of the
clipped rows: to the bit where clipping again changes no bit (boxes, and rows whose norms are exact in floats), and to
rounding otherwise. A model whose bounds were taken away is told apart.
"""

from __future__ import annotations

import copy
import json
import pickle
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpsparse
from dpsparse import (
    PrivateBounds,
    PrivateSearch,
    PublicScaler,
    SparseClassifier,
    SparseRegressor,
    make_private_pipeline,
    private_score,
    recipes,
)
from dpsparse.cli import main
from dpsparse.estimators.model_file import model_digest
from dpsparse.estimators.summary import NO_BOUNDS, WITHIN_BOUNDS
from dpsparse.federated import Grid, Server, Site, SiteData, fit_shared
from dpsparse.losses import Poisson
from dpsparse.readers import open_rows
from dpsparse.rows.row_bounds import RowBounds
from dpsparse.tables import Column, Dictionary, TableEncoder
from loopback import spread

pytestmark = pytest.mark.filterwarnings("ignore::dpsparse.core.HopelessFitWarning")

N, D = 400, 3
LOW, HIGH = np.array([-1.0, -2.0, 0.0]), np.array([3.0, 1.0, 2.0])
RNG = np.random.default_rng(5)
#: A recipe of few steps: the law does not ask for good coefficients, but for some.
FEW = recipes.DPIGHT(steps=20)


def clip(X, lower, upper, norm=np.inf, unit=1.0):
    """What a fit does to rows: entries into the box, then the row down to its norm in units of the columns."""
    X = np.minimum(np.maximum(X, lower), upper)
    length = np.sqrt(((X / unit) ** 2).sum(axis=1))
    return X * np.minimum(1.0, norm / np.maximum(length, 1e-300))[:, None]


def far(n=N):
    """Rows far outside any box here."""
    return 20.0 * RNG.standard_normal((n, D))


def pythagorean(n=N):
    """Rows (3, 4, 0) times powers of two, in any order and with any signs: their norms are exact."""
    rows = RNG.permuted(np.tile([3.0, 4.0, 0.0], (n, 1)), axis=1) * RNG.choice([-1.0, 1.0], (n, D))
    return rows * 2.0 ** RNG.integers(-2, 5, (n, 1))


#: Bounds, rows, and the arguments of `clip`.
CASES = {
    "one bound": ({"feature_bound": 1.5}, far(), (-1.5, 1.5)),
    "one bound a column": ({"feature_bound": HIGH}, far(), (-HIGH, HIGH)),
    "pairs": ({"feature_bound": (LOW, HIGH)}, far(), (LOW, HIGH)),
    "away from zero": ({"feature_bound": (LOW + 3, HIGH + 3)}, far() * (RNG.random((N, D)) < 0.6), (LOW + 3, HIGH + 3)),
    "centred": ({"feature_bound": (LOW, HIGH), "feature_center": [1.0, 0.0, 0.5]}, far(), (LOW, HIGH)),
    "norm": ({"feature_bound": 100.0, "row_norm": 5.0}, pythagorean(), (-100.0, 100.0, 5.0)),
}
STORED = {
    "array": np.asarray,
    "list": lambda X: X.tolist(),
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
    "duplicates": lambda X: sp.csr_matrix(
        (np.r_[X.ravel() / 2, X.ravel() / 2], (np.tile(np.repeat(np.arange(len(X)), D), 2), np.tile(np.arange(D), 2 * len(X)))),
        shape=X.shape,
    ),
}  # fmt: skip


def labels(X):
    return (X[:, 0] - X[:, 1] + 0.1 * X[:, 2] > 0).astype(int)


def numbers(X):
    return X[:, 0] - X[:, 1] + 0.1 * X[:, 2]


def fitted(kind, bounds, X, y=None, **options):
    """A model with coefficients that are not zero: there is next to no noise."""
    known = {"epsilon": 200.0, "delta": 1e-5, "recipe": FEW, **bounds, **options}
    if kind is SparseClassifier:
        return kind(**known).fit(X, labels(np.asarray(X)) if y is None else y)
    return kind(**{"target_bound": 50.0, **known}).fit(X, numbers(np.asarray(X)) if y is None else y)


@cache
def model_of(kind, name):
    """One model for each case, which no test changes."""
    bounds, X, _ = CASES[name]
    return fitted(kind, bounds, X)


def answers(model, X, y):
    """Everything that a model says about rows."""
    said = [model.predict(X), np.array(model.score(X, y))]
    if hasattr(model, "predict_proba"):
        said += [model.predict_proba(X), model.decision_function(X)]
    return said


def check(model, X, clipped, y, stored=np.asarray, exact=True):
    for found, expected in zip(answers(model, stored(X), y), answers(model, stored(clipped), y), strict=True):
        if exact:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def without_bounds(model):
    """The same model, which does not know its bounds, as those of earlier releases."""
    old = copy.deepcopy(model)
    del old._fitted_bounds
    return old


# ------------------------------------------------------------------------------------------------ one model


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [SparseRegressor, SparseClassifier])
def test_predictions_are_those_of_clipped_rows_however_they_are_stored(kind, name):
    _, X, how = CASES[name]
    clipped = clip(X, *how)
    assert not np.array_equal(clipped, X)
    np.testing.assert_array_equal(clip(clipped, *how), clipped)
    model = model_of(kind, name)
    y = labels(X) if kind is SparseClassifier else numbers(X)
    for stored in STORED.values():
        check(model, X, clipped, y, stored)
    by_hand = clipped @ np.ravel(model.coef_) + np.ravel(model.intercept_)
    shown = model.decision_function(X) if kind is SparseClassifier else model.predict(X)
    np.testing.assert_allclose(shown, by_hand, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [SparseRegressor, SparseClassifier])
def test_a_model_without_its_bounds_is_told_apart(kind, name):
    _, X, how = CASES[name]
    y = labels(X) if kind is SparseClassifier else numbers(X)
    with pytest.raises(AssertionError):
        check(without_bounds(model_of(kind, name)), X, clip(X, *how), y)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_a_norm_beside_bounds_of_columns_is_measured_in_their_half_widths(stored):
    """Columns of half-widths 1, 2 and 8 and norm 4: rows have at most 1/1 + 4/4 + (16 - 1 - 4)/64 in squared half-widths."""
    half = np.array([1.0, 2.0, 8.0])
    norm = np.sqrt(1 + 1 + 11 / 64)
    X = far()
    model = fitted(SparseRegressor, {"feature_bound": half, "row_norm": 4.0}, stored(X), numbers(X))
    served, clipped = model.predict(stored(X)), clip(X, -half, half, norm, half)
    assert np.any(np.abs(clip(X, -half, half) - clipped) > 0.1)  # the norm acts
    np.testing.assert_allclose(served, clipped @ model.coef_ + model.intercept_, rtol=1e-7)


def test_rows_within_their_bounds_are_served_as_they_are():
    _, X, how = CASES["pairs"]
    inside = clip(X, *how) / 2
    model = model_of(SparseRegressor, "pairs")
    np.testing.assert_allclose(model.predict(inside), inside @ model.coef_ + model.intercept_, rtol=1e-12, atol=1e-12)
    before = inside.copy()
    model.predict(inside)
    np.testing.assert_array_equal(inside, before)


def test_frames_and_rows_in_files_are_clipped(tmp_path):
    bounds, X, how = CASES["pairs"]
    clipped = clip(X, *how)
    frame, other = (pd.DataFrame(rows, columns=list("abc")) for rows in (X, clipped))
    model = fitted(SparseRegressor, bounds, frame, numbers(X))
    check(model, frame, other, numbers(X), lambda rows: rows)
    for name, rows in (("far", frame), ("clipped", other)):
        rows.to_parquet(tmp_path / f"{name}.parquet")
    found, expected = (model.predict(open_rows(tmp_path / f"{name}.parquet")) for name in ("far", "clipped"))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12)


@pytest.mark.parametrize("name", ["pairs", "norm"])
def test_rows_on_a_cluster_are_clipped(name):
    _, X, how = CASES[name]
    model = model_of(SparseRegressor, name)
    found, expected = (model.predict(spread(rows, numbers(X), 3)) for rows in (X, clip(X, *how)))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-9, atol=1e-9)


def test_many_classes_are_clipped():
    bounds, X, how = CASES["pairs"]
    y = np.digitize(numbers(X), [-10.0, 10.0])
    for recipe in ("dual_averaging", FEW):
        model = fitted(SparseClassifier, bounds, X, y, recipe=recipe)
        assert model.multinomial_ is (recipe == "dual_averaging")
        check(model, X, clip(X, *how), y)


@pytest.mark.parametrize("kind", [SparseRegressor, SparseClassifier])
def test_intervals_of_predictions_are_those_of_clipped_rows(kind):
    bounds, X, how = CASES["pairs"]
    y = labels(X) if kind is SparseClassifier else numbers(X)
    model = fitted(kind, bounds, X, y, recipe="auto", intervals="split", sparsity=2)
    for found, expected in zip(model.predict_interval(X), model.predict_interval(clip(X, *how)), strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(
        model.predict_interval(sp.csr_matrix(X)), model.predict_interval(clip(X, *how)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


# ------------------------------------------------------------------------------------------------ copies and files


@pytest.mark.parametrize("name", ["one bound", "pairs", "norm"])
@pytest.mark.parametrize("kind", [SparseRegressor, SparseClassifier])
def test_copies_and_files_keep_the_bounds(kind, name, tmp_path):
    _, X, how = CASES[name]
    y = labels(X) if kind is SparseClassifier else numbers(X)
    model = model_of(kind, name)
    model.save(tmp_path / "model.json")
    joblib.dump(model, tmp_path / "model.joblib")
    again = clone(model).fit(X, y)
    for one in (
        dpsparse.load(tmp_path / "model.json"),
        joblib.load(tmp_path / "model.joblib"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        check(one, X, clip(X, *how), y)
        np.testing.assert_array_equal(one.predict(X), model.predict(X))
    check(again, X, clip(X, *how), y)


def test_a_file_without_bounds_loads_says_so_and_predicts_as_before(tmp_path):
    bounds, X, _ = CASES["pairs"]
    model = fitted(SparseRegressor, bounds, X, target_bound=1.0)
    file = tmp_path / "model.json"
    model.save(file)
    assert WITHIN_BOUNDS in CliRunner().invoke(main, ["show", str(file)]).output
    assert WITHIN_BOUNDS in model.report_.html()
    content = json.loads(file.read_text())
    assert content["bounds"]["lower"] == LOW.tolist()
    del content["bounds"]
    content["digest"] = model_digest(content)
    file.write_text(json.dumps(content))
    old = dpsparse.load(file)
    assert old.fitted_bounds is None
    np.testing.assert_allclose(old.predict(X), X @ old.coef_ + old.intercept_, rtol=1e-12)
    shown = CliRunner().invoke(main, ["show", str(file)]).output
    assert NO_BOUNDS in shown
    assert WITHIN_BOUNDS not in shown
    assert NO_BOUNDS in old.report_.html()


@pytest.mark.parametrize(
    "change",
    [
        {"lower": [0.0, 0.0]},
        {"lower": "0"},
        {"lower": 9.0},
        {"scale": 0.0},
        {"scale": [1.0, -1.0, 1.0]},
        {"row_norm": 0.0},
        {"row_norm": float("nan")},
        {"other": 1.0},
    ],
)
def test_a_file_with_bounds_that_make_no_sense_is_refused(change, tmp_path):
    file = tmp_path / "model.json"
    model_of(SparseRegressor, "pairs").save(file)
    content = json.loads(file.read_text())
    content["bounds"] |= change
    file.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"damaged|valid JSON"):
        dpsparse.load(file, edited=True)


@pytest.mark.parametrize("kind", ["csv", "npz", "svmlight", "parquet"])
def test_the_command_line_predicts_for_clipped_rows(kind, tmp_path):
    bounds, X, how = CASES["pairs"]
    X = np.round(X, 3)  # a text file holds them whole
    fitted(SparseRegressor, bounds, pd.DataFrame(X, columns=list("abc")), numbers(X)).save(tmp_path / "model.json")
    said = []
    for name, rows in (("far", X), ("clipped", clip(X, *how))):
        file = tmp_path / f"{name}.{kind}"
        frame = pd.DataFrame(rows, columns=list("abc"))
        if kind == "csv":
            frame.to_csv(file, index=False)
        elif kind == "parquet":
            frame.to_parquet(file)
        elif kind == "npz":
            np.savez(file, X=rows)
        else:
            dump_svmlight_file(rows, np.zeros(len(rows)), str(file), zero_based=False)
        result = CliRunner().invoke(main, ["predict", str(tmp_path / "model.json"), str(file)])
        assert result.exit_code == 0, result.output
        said.append(result.output)
    assert said[0] == said[1]
    assert len(set(said[0].splitlines())) > 20


# ------------------------------------------------------------------------------------------------ around a model


def test_pipelines_clip_behind_their_steps(tmp_path):
    bounds, X, how = CASES["pairs"]
    y = numbers(X)
    scaled = make_private_pipeline(PublicScaler((LOW, HIGH)), SparseRegressor(recipe=FEW, target_bound=50.0), epsilon=200.0, delta=1e-5).fit(X, y)  # fmt: skip
    check(scaled, X, clip(X, *how), y)
    learned = make_private_pipeline(PrivateBounds(feature_bound=100.0, target_bound=200.0), SparseRegressor(recipe=FEW), epsilon=200.0, delta=1e-5).fit(X / 9, y)  # fmt: skip
    found = learned[-1].fitted_bounds
    assert found is not None
    wild = 50 * X
    check(learned, wild, clip(wild, found.lower, found.upper, found.row_norm or np.inf, found.scale), y, exact=False)
    learned.save(tmp_path / "pipeline.json")
    np.testing.assert_array_equal(dpsparse.load(tmp_path / "pipeline.json").predict(wild), learned.predict(wild))
    plain = make_pipeline(FunctionTransformer(np.negative), fitted(SparseRegressor, bounds, -X, y))
    np.testing.assert_array_equal(plain.predict(X), plain[-1].predict(clip(-X, *how)))


def test_encoded_tables_are_clipped():
    dictionary = Dictionary(
        [Column(name="a", kind="number", bounds=(-1.0, 3.0)), Column(name="b", kind="number", bounds=(-2.0, 1.0))]
    )
    X = far()[:, :2]
    frame, other = (
        pd.DataFrame(rows, columns=["a", "b"]) for rows in (X, np.minimum(np.maximum(X, LOW[:2]), HIGH[:2]))
    )
    encoder = TableEncoder(dictionary).fit(frame)
    model = SparseRegressor(epsilon=200.0, delta=1e-5, target_bound=50.0).fit(encoder.transform(frame), X[:, 0])
    assert model.fitted_bounds is not None
    np.testing.assert_array_equal(*(model.predict(encoder.transform(rows)) for rows in (frame, other)))
    wide = np.asarray(encoder.transform(frame)) * 7  # rows that are no output of the encoder
    lower, upper = model.fitted_bounds.lower, model.fitted_bounds.upper
    np.testing.assert_array_equal(model.predict(wide), model.predict(np.clip(wide, lower, upper)))


def test_the_best_model_of_a_search_clips_and_was_scored_on_clipped_rows(tmp_path):
    bounds, X, how = CASES["norm"]
    model = SparseRegressor(recipe=FEW, target_bound=50.0, **bounds)
    options = {"epsilon": 200.0, "delta": 1e-5, "mean_runs": 3, "random_state": 3}
    y = numbers(X)
    search = PrivateSearch(model, {"alpha": [0.0, 0.01]}, **options).fit(X, y)
    check(search, X, clip(X, *how), y)
    search.save(tmp_path / "search.json")
    check(dpsparse.load(tmp_path / "search.json"), X, clip(X, *how), y)
    other = PrivateSearch(model, {"alpha": [0.0, 0.01]}, **options).fit(clip(X, *how), y)
    assert other.best_score_ == search.best_score_
    np.testing.assert_array_equal(other.best_estimator_.coef_, search.best_estimator_.coef_)


@pytest.mark.parametrize("name", ["pairs", "away from zero", "norm"])
@pytest.mark.parametrize("kind", [SparseRegressor, SparseClassifier])
def test_private_scores_are_those_of_clipped_rows(kind, name):
    _, X, how = CASES[name]
    y = labels(X) if kind is SparseClassifier else numbers(X)
    model = model_of(kind, name)
    for stored in (np.asarray, sp.csr_matrix):
        found, expected = (
            private_score(model, stored(rows), y, epsilon=50.0, random_state=0).scores for rows in (X, clip(X, *how))
        )
        assert found == expected
    bare = without_bounds(model)
    assert private_score(bare, X, y, epsilon=50.0, random_state=0).scores != found


def test_a_scored_record_with_an_infinite_cell_stays_absent():
    _, X, _ = CASES["pairs"]
    y = numbers(X)
    model = model_of(SparseRegressor, "pairs")
    holed = X.copy()
    holed[::2, 1] = np.inf
    missing = np.where(np.isinf(holed), np.nan, holed)
    for stored in (np.asarray, sp.csr_matrix):
        found, expected = (
            private_score(model, stored(rows), y, epsilon=50.0, on_missing="empty", random_state=0).scores
            for rows in (holed, missing)
        )
        assert found == expected
    with pytest.raises(ValueError, match="NaN"):
        model.predict(holed)


def test_federated_models_clip():
    bounds, X, how = CASES["pairs"]
    y = numbers(X)
    common = {"epsilon": 200.0, "delta": 1e-5, "target_bound": 50.0, **bounds}
    halves = [slice(0, N // 2), slice(N // 2, N)]
    shared = fit_shared(
        SparseRegressor(recipe=FEW, **common),
        [SiteData(name, X[half], y[half]) for name, half in zip("ab", halves, strict=True)],
        honest=2,
    )
    check(shared, X, clip(X, *how), y)
    server = Server(
        SparseRegressor(recipe=recipes.DPFedGDHT(rounds=5), **common), sites=["a", "b"], n_rows=N // 2, n_features=D
    )
    sites = [
        Site(X[half], y[half], server.protocol, name=name, epsilon=200.0, delta=1e-5)
        for name, half in zip("ab", halves, strict=True)
    ]
    check(Grid(server, sites).run(), X, clip(X, *how), y)


# ------------------------------------------------------------------------------------------------ targets


def test_predictions_of_a_regression_stay_within_the_declared_range():
    """Targets of the fit hardly leave their range; at the corners of the box the line does."""
    bounds, X, how = CASES["pairs"]
    small, y = clip(X, *how) / 4, numbers(X)
    model = fitted(SparseRegressor, bounds, small, 2 + numbers(small), target_bound=1.0, target_center=2.0)
    found = model.predict(X)
    assert found.min() == 1.0
    assert found.max() == 3.0
    margins = clip(X, *how) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(found, np.clip(margins, 1.0, 3.0), rtol=1e-9)
    free = without_bounds(model).predict(clip(X, *how))
    assert free.min() < 0.5
    assert free.max() > 3.5
    off = np.abs(np.clip(margins, 1.0, 3.0) - np.clip(y, 1.0, 3.0)).clip(0, 1).mean()
    card = private_score(model, X, y, "mean_absolute_error", epsilon=500.0, random_state=0)
    assert card["mean_absolute_error"].value == pytest.approx(off, abs=0.02)


def test_expected_counts_and_intervals_stay_within_the_declared_range():
    _, X, how = CASES["pairs"]
    y = np.random.default_rng(0).poisson(np.exp(clip(X, *how)[:, 0]))
    counts = fitted(SparseRegressor, {"feature_bound": (LOW, HIGH)}, X, y, loss=Poisson(), target_bound=4.0)
    assert counts.predict(X).min() > 0
    assert counts.predict(X).max() <= 4.0
    free = without_bounds(counts).predict(clip(X, *how))
    np.testing.assert_allclose(counts.predict(X), np.minimum(free, 4.0))
    model = fitted(
        SparseRegressor,
        {"feature_bound": (LOW, HIGH)},
        X,
        recipe="auto",
        intervals="split",
        sparsity=2,
        target_bound=1.0,
    )
    low, high = model.predict_interval(X)
    assert np.all((low >= -1) & (low <= high) & (high <= 1))


# ------------------------------------------------------------------------------------------------ one function


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_the_fit_and_every_prediction_clip_by_one_function(monkeypatch, stored):
    """Without it, a fit sees rows beyond their bounds, and predictions take them as they come."""
    bounds, X, how = CASES["one bound"]
    y = numbers(clip(X, *how))
    options = {"random_state": 0, "recipe": "ight"}
    with_it = fitted(SparseRegressor, bounds, stored(X), y, **options)
    called = []
    monkeypatch.setattr(RowBounds, "clip", lambda self, x: called.append(len(x.shape)))
    without = fitted(SparseRegressor, bounds, stored(X), y, **options)
    assert called
    assert np.abs(without.coef_ - with_it.coef_).max() > 0.1
    del called[:]
    np.testing.assert_allclose(with_it.predict(stored(X)), np.clip(X @ with_it.coef_ + with_it.intercept_, -50, 50))
    assert called


def test_dense_and_sparse_rows_are_clipped_to_the_same_bits():
    rng = np.random.default_rng(9)
    X = np.where(rng.random((300, 40)) < 0.5, 0.0, 3 * rng.standard_normal((300, 40)))
    scale = rng.uniform(0.5, 2.0, 40)
    for bounds in (RowBounds(-2.0, 2.5, 6.0), RowBounds(-scale, 2 * scale, 5.0, scale), RowBounds(-scale, scale, None)):
        dense, sparse = X.copy(), sp.csr_matrix(X)
        bounds.clip(dense)
        bounds.clip(sparse)
        np.testing.assert_array_equal(sparse.toarray(), dense)
        norm = np.inf if bounds.row_norm is None else bounds.row_norm
        expected = clip(X, bounds.lower, bounds.upper, norm, bounds.scale)
        np.testing.assert_allclose(dense, expected, rtol=1e-13)


@pytest.mark.parametrize("saved", ["model", "pipeline"])
def test_models_of_earlier_releases_tell_labels_apart_as_in_their_fit(saved, tmp_path):
    """They were fitted to labels compared letter by letter: one that differs in case was not declared, and stays so."""
    codebook = Dictionary([Column(name="ward", kind="category", categories=("A", "a", "b"), match="exact")])
    table = pd.DataFrame({"ward": ["A", "a", "b", "B"] * 50})
    y = np.tile([3.0, -3.0, 1.0, 0.0], 50)
    model = SparseRegressor(epsilon=50.0, target_bound=4.0, random_state=0)
    path = tmp_path / "model.json"
    if saved == "model":
        encoder = TableEncoder(codebook).fit(table)
        fitted = model.fit(encoder.transform(table), y)
        fitted.dictionary_ = codebook
    else:
        fitted = make_private_pipeline(TableEncoder(codebook), model, epsilon=50.0).fit(table, y)
    fitted.save(path)
    content = json.loads(path.read_text())
    held = content if saved == "model" else content["model"]
    dictionary = (
        held["dictionary"] if saved == "model" else content["steps"][0]["learned"]["dictionary_"]["<dictionary>"]
    )
    assert dictionary["columns"][0].pop("match") == "exact"  # as an earlier release wrote it
    path.write_text(json.dumps(content | {"digest": model_digest(content)}))
    with pytest.raises(ValueError, match="damaged"):  # control: a file of this release would have to say it
        dpsparse.load(path)
    del held["bounds"]
    path.write_text(json.dumps(content | {"digest": model_digest(content)}))
    read = dpsparse.load(path)
    found = read.dictionary_ if saved == "model" else read[0].dictionary_
    assert found == codebook
    np.testing.assert_array_equal(TableEncoder(found).fit_transform(table), TableEncoder(codebook).fit_transform(table))
