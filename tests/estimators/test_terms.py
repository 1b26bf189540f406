"""Weights, offsets and exposures in fit and predict, and what refuses them."""

from __future__ import annotations

import numpy as np
import pytest

import dpsparse
from dpsparse import Ledger, PrivateSearch, SparseClassifier, SparseRegressor
from dpsparse.core import DataError, MissingValueError

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
N = 1500
X = RNG.uniform(-1, 1, (N, 3))
Y = 2 * X[:, 0] - X[:, 1] + 0.2 * RNG.standard_normal(N)
LABELS = (2 * X[:, 0] + RNG.logistic(size=N) > 0).astype(int)
GIVEN = {"feature_bound": 1.0, "random_state": 1}


def regressor(**more):
    return SparseRegressor(**{"epsilon": 4.0, "target_bound": 4.0, **GIVEN, **more})


def test_weight_one_and_offset_zero_give_the_same_model():
    plain = regressor().fit(X, Y)
    said = regressor(weight_bound=3.0, offset_bound=(-1, 1)).fit(X, Y, sample_weight=np.ones(N), offset=np.zeros(N))
    assert np.array_equal(plain.coef_, said.coef_)
    assert plain.intercept_ == said.intercept_


def test_an_offset_takes_its_part_out_of_the_model():
    offset = RNG.uniform(-2, 2, N)
    found = regressor(offset_bound=(-2, 2), target_bound=6.0).fit(X, Y + offset, offset=offset)
    assert np.allclose(found.coef_, [2, -1, 0], atol=0.15)
    error = found.predict(X, offset=offset) - Y - offset
    assert np.mean(error**2) < 0.1 < np.mean((found.predict(X) - Y - offset) ** 2)


def test_records_of_weight_zero_have_no_say_in_the_slopes():
    weight = (X[:, 2] > 0).astype(float)
    wrong = np.where(weight > 0, Y, -Y)
    found = regressor(weight_bound=1.0).fit(X, wrong, sample_weight=weight)
    assert np.allclose(found.coef_[:2], [2, -1], atol=0.3)


def test_exposure_is_the_logarithm_of_an_offset():
    counts = RNG.poisson(np.exp(0.5 * X[:, 0]), N)
    exposure = RNG.uniform(0.5, 2.0, N)
    model = {"loss": "poisson", "target_bound": 10.0, "offset_bound": (np.log(0.5), np.log(2))}
    one = regressor(**model).fit(X, counts, exposure=exposure)
    two = regressor(**model).fit(X, counts, offset=np.log(exposure))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.allclose(one.predict(X, exposure=np.full(N, 2.0)), np.minimum(2 * one.predict(X), 10.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample_weight": np.ones(N)}, "weight_bound=W"),
        ({"offset": np.ones(N)}, "offset_bound="),
        ({"exposure": np.ones(N)}, "offset_bound="),
    ],
)
def test_terms_need_declared_bounds_before_anything_is_paid(tmp_path, arguments, message):
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("rows", epsilon=10.0, delta=1e-5)
    before = ledger.remaining("rows")
    with pytest.raises(ValueError, match=message):
        regressor(ledger=ledger, dataset="rows").fit(X, Y, **arguments)
    assert ledger.remaining("rows") == before


@pytest.mark.parametrize("recipe", ["two_stage", "dpsl_kt", "ldp_iht"])
def test_minimisers_and_devices_refuse_terms(recipe):
    model = {"sparsity": 2, "weight_bound": 2.0, "accept": ("unproven",), "row_norm": 1.0}
    with pytest.raises(ValueError, match=r"does not take weights|accept|auxiliary"):
        regressor(recipe=recipe, **model).fit(X, Y, sample_weight=np.ones(N))


def test_intervals_refuse_weights_and_take_offsets():
    with pytest.raises(ValueError, match="intervals are not offered with weights"):
        regressor(intervals="split", weight_bound=2.0).fit(X, Y, sample_weight=np.ones(N))
    offset = RNG.uniform(-1, 1, N)
    found = regressor(intervals="split", offset_bound=(-1, 1), target_bound=5.0).fit(X, Y + offset, offset=offset)
    assert abs(found.intervals_.records()[0]["estimate"] - 2) < 0.3


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((N, 2)), "weights", [object()] * 4])
def test_terms_of_another_shape_are_refused_without_a_value(bad):
    with pytest.raises(DataError, match="one number for each row"):
        regressor(weight_bound=2.0).fit(X, Y, sample_weight=bad)


def test_terms_that_are_no_numbers_follow_on_missing():
    weight = np.ones(N)
    weight[7] = np.nan
    with pytest.raises(MissingValueError):
        regressor(weight_bound=2.0).fit(X, Y, sample_weight=weight)
    assert regressor(weight_bound=2.0, on_missing="empty").fit(X, Y, sample_weight=weight).statement_.n_rows == N


def test_searches_and_pipelines_say_who_takes_terms():
    with pytest.raises(TypeError, match="taken by fit of SparseRegressor"):
        PrivateSearch(regressor(random_state=None), {"alpha": [0.0, 1.0]}).fit(X, Y, sample_weight=np.ones(N))


@pytest.mark.parametrize("bound", [0, -1, np.inf, "2"])
def test_bounds_of_weights_are_positive_numbers(bound):
    with pytest.raises(ValueError, match="weight_bound"):
        regressor(weight_bound=bound).fit(X, Y)


@pytest.mark.parametrize("bound", [1.0, (1, 0), (0, np.inf), (0, 1, 2)])
def test_bounds_of_offsets_are_two_numbers_in_order(bound):
    with pytest.raises(ValueError, match="offset_bound"):
        regressor(offset_bound=bound).fit(X, Y)


def test_class_weights_move_the_border_between_classes():
    rare = (2 * X[:, 0] - 2.5 + RNG.logistic(size=N) > 0).astype(int)
    plain = SparseClassifier(epsilon=8.0, **GIVEN).fit(X, rare)
    model = SparseClassifier(epsilon=8.0, class_weight="balanced", class_shares={0: 0.9, 1: 0.1}, **GIVEN)
    assert model.fit(X, rare).predict(X).mean() > plain.predict(X).mean() + 0.1
    alike = SparseClassifier(epsilon=8.0, class_weight={0: 1 / 9, 1: 1.0}, **GIVEN).fit(X, rare)
    assert np.allclose(alike.coef_, model.coef_)


def test_balanced_needs_declared_shares():
    with pytest.raises(ValueError, match="class_shares"):
        SparseClassifier(class_weight="balanced", **GIVEN).fit(X, LABELS)
    with pytest.raises(ValueError, match="sum to 1"):
        SparseClassifier(class_weight="balanced", class_shares={0: 0.9, 1: 0.9}, **GIVEN).fit(X, LABELS)
    with pytest.raises(ValueError, match="not one of the classes"):
        SparseClassifier(class_weight={"yes": 2.0}, **GIVEN).fit(X, LABELS)


def test_statements_and_files_tell_of_terms(tmp_path):
    model = SparseClassifier(class_weight={0: 1.0, 1: 2.0}, offset_bound=(-1, 1), **GIVEN)
    model.fit(X, LABELS, offset=np.zeros(N))
    notes = " ".join(model.statement_.notes)
    assert "weights, clipped to [0, 1]" in notes
    assert "[-1, 1], is added to its margin" in notes
    model.save(tmp_path / "model.json")
    again = dpsparse.load(tmp_path / "model.json")
    assert again.class_weight == {0: 1.0, 1: 2.0}
    assert np.array_equal(again.predict_proba(X, offset=np.ones(N)), model.predict_proba(X, offset=np.ones(N)))


def test_predictions_take_offsets_only_where_the_model_declared_them():
    with pytest.raises(ValueError, match="no offset_bound"):
        regressor().fit(X, Y).predict(X, offset=np.zeros(N))


def test_units_take_weights_and_offsets():
    ids = np.arange(N) // 3
    offset, weight = RNG.uniform(-1, 1, N), np.where(X[:, 2] > 0, 1.0, 0.0)
    wrong = np.where(weight > 0, Y, -Y) + offset
    model = regressor(weight_bound=1.0, offset_bound=(-1, 1), target_bound=5.0, epsilon=8.0)
    found = model.fit(X, wrong, units=ids, sample_weight=weight, offset=offset)
    assert np.allclose(found.coef_[:2], [2, -1], atol=0.4)
    order = np.random.default_rng(1).permutation(N)
    again = regressor(weight_bound=1.0, offset_bound=(-1, 1), target_bound=5.0, epsilon=8.0)
    again.fit(X[order], wrong[order], units=ids[order], sample_weight=weight[order], offset=offset[order])
    assert np.array_equal(again.coef_, found.coef_)
