"""Columns in units of their half-widths: what facts say, what rows become, and how coefficients come back."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dpsparse import SparseRegressor
from dpsparse.core.facts import Facts
from dpsparse.fitting import Shape, plan_fit
from dpsparse.fitting.prepare import in_half_widths
from dpsparse.local import Device, Protocol, Server
from dpsparse.recipes import DPSLKT, LDPIHT
from dpsparse.rows.records import Records
from truth import audit

HALF = np.array([1.0, 20.0, 0.5])


def facts(**changes):
    given = {"n_rows": 10, "n_features": 3, "lower": -HALF, "upper": HALF, "row_norm": 1e3, "intercept": 1.0}
    return Facts(**{**given, **changes})


@pytest.mark.parametrize(
    "equal", [{"lower": -3.0, "upper": 3.0}, {"lower": np.array([0.1, 1.1, -5]), "upper": np.array([0.3, 1.3, -4.8])}]
)
def test_columns_of_equal_half_widths_are_left_as_they_are(equal):
    declared = facts(**equal)
    assert in_half_widths(declared) is declared


def test_half_widths_are_from_the_midpoint_of_dense_columns_and_from_zero_elsewhere():
    declared = facts(lower=np.array([0.0, -20.0, 2.0]), upper=np.array([1.0, 20.0, 3.0]))
    np.testing.assert_array_equal(in_half_widths(declared).scale, [0.5, 20.0, 0.5])
    for from_zero in (declared.with_(intercept=0.0), declared.with_(sparse=True)):
        np.testing.assert_array_equal(in_half_widths(from_zero).scale, [1.0, 20.0, 3.0])


def test_a_column_that_is_measured_from_zero_has_its_unit_from_zero():
    """Indicators beside numbers in [-1, 1]: dual averaging leaves both as they are, which others measure from the midpoint."""
    bound = (np.array([0.0, -1.0, -6.0]), np.array([1.0, 1.0, 0.0]))
    for recipe, scale in (("dual_averaging", [1.0, 1.0, 6.0]), ("dp_ight", [0.5, 1.0, 3.0])):
        model = SparseRegressor(feature_bound=bound, target_bound=1.0, recipe=recipe, delta=1e-6, sparsity=1)
        shown = plan_fit(model.request(), Shape(n_rows=50, n_features=3)).facts
        np.testing.assert_array_equal(shown.scale, scale)
        assert shown.feature_bound == 1.0


def test_every_public_number_of_a_column_is_in_its_unit():
    shown = in_half_widths(facts(shift=np.array([0.5, 10.0, 0.0]), start=np.array([2.0, 0.1, 4.0])))
    np.testing.assert_array_equal(shown.lower, -np.ones(3))
    np.testing.assert_array_equal(shown.upper, np.ones(3))
    np.testing.assert_array_equal(shown.shift, [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(shown.start, [2.0, 2.0, 2.0])
    assert shown.row_norm == np.sqrt(3)


@pytest.mark.parametrize("norm", [0.3, 0.9, 1.1, 5.0, 15.0, 20.0])
def test_no_row_within_its_declared_norm_is_longer_than_the_shown_norm_and_one_is_as_long(norm):
    declared = facts(row_norm=norm)
    shown = in_half_widths(declared)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((20_000, 3)) ** 3 * HALF
    x = np.clip(x * (norm / np.linalg.norm(x, axis=1))[:, None], -HALF, HALF)
    lengths = np.linalg.norm(x / shown.scale, axis=1)
    assert lengths.max() <= shown.row_norm
    # the least column first, and then what is left
    order, left, longest = np.argsort(HALF), norm**2, 0.0
    for j in order:
        used = min(left, HALF[j] ** 2)
        longest, left = longest + used / HALF[j] ** 2, left - used
    assert shown.row_norm == pytest.approx(np.sqrt(longest), rel=1e-6)
    assert in_half_widths(facts(row_norm=1e9)).row_norm == np.sqrt(3)


def test_rows_are_divided_in_every_storage_and_their_parts():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (12, 3)).astype(float)
    for given in (X, X.astype("int8"), pd.DataFrame(X), sp.csr_matrix(X), sp.csc_matrix(X), X.tolist()):
        source = Records(given).rescaled(HALF)
        for found, expected in ((source, X), (source.take(np.arange(4, 9)), X[4:9])):
            for rows in (found.rows(0, found.shape[0]), found.plain()):
                np.testing.assert_array_equal(rows.toarray() if sp.issparse(rows) else rows, expected / HALF)
    np.testing.assert_array_equal(Records(X).rescaled(HALF).rescaled(HALF).plain(), X / HALF / HALF)
    np.testing.assert_array_equal(X, np.rint(X))  # what the user brought is not written to


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_number_whose_quotient_is_beyond_all_floats_is_clipped_and_one_that_is_none_stays_none(form):
    X = np.array([[1e300, -1e300, np.nan], [np.inf, 1.0, 1.0]])
    rows = Records(form(X)).rescaled(np.array([1e-60, 1e-60, 1.0])).rows(0, 2)
    found = rows.toarray() if sp.issparse(rows) else rows
    largest = np.finfo(float).max
    np.testing.assert_array_equal(found, [[largest, -largest, np.nan], [np.inf, 1e60, 1.0]])


def fitted(recipe="dual_averaging", **options):
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (4000, 3)) * HALF
    y = np.clip(X @ (np.array([1.0, -1.0, 0.5]) / HALF), -3, 3)
    given = {"epsilon": 20.0, "delta": 1e-6, "feature_bound": HALF, "target_bound": 3.0, "recipe": recipe}
    return SparseRegressor(**{**given, "random_state": 1, **options}).fit(X, y), X, y


@pytest.mark.filterwarnings("ignore::dpsparse.core.NonPrivateRandomnessWarning")
def test_coefficients_and_paths_come_back_in_the_users_units():
    model, X, y = fitted(keep_path=True)
    np.testing.assert_allclose(model.coef_ * HALF, [1.0, -1.0, 0.5], atol=0.15)
    np.testing.assert_array_equal(model.path_.iterates[-1][:3], model.coef_)
    assert np.mean((model.predict(X) - y) ** 2) < 0.02


@pytest.mark.filterwarnings("ignore::dpsparse.core.NonPrivateRandomnessWarning")
def test_a_start_is_in_the_users_units():
    truth = np.array([1.0, -1.0, 0.5]) / HALF
    model, *_ = fitted("ight", start=truth, keep_path=True, sparsity=3)
    np.testing.assert_allclose(model.coef_, truth, rtol=1e-3)
    assert max(np.max(np.abs(w[:3] * HALF - truth * HALF)) for w in model.path_.iterates) < 0.05


@pytest.mark.filterwarnings("ignore::dpsparse.core.NonPrivateRandomnessWarning")
def test_public_rows_of_knowledge_transfer_are_in_the_users_units():
    public = np.random.default_rng(9).uniform(-1, 1, (300, 3))
    options = {"epsilon": 50.0, "sparsity": 3, "accept": DPSLKT.needs}
    truth = np.array([1.0, -1.0, 0.5])
    model, *_ = fitted(DPSLKT(auxiliary=public * HALF, release="labels"), **options)
    wrong, *_ = fitted(DPSLKT(auxiliary=public * HALF**2, release="labels"), **options)
    assert np.linalg.norm(model.coef_ * HALF - truth) < 0.5 * np.linalg.norm(wrong.coef_ * HALF - truth)


def test_the_planner_sees_the_same_facts_in_any_units():
    plans = [
        SparseRegressor(epsilon=1.0, feature_bound=HALF * unit, target_bound=1.0).plan(500, 3).to_dict()
        for unit in (1.0, np.array([4.0, 0.125, 1024.0]))
    ]
    assert plans[0] == plans[1]


def test_devices_divide_their_rows_as_the_simulated_fit_does():
    rng = np.random.default_rng(2)
    X = rng.choice([-1.0, 1.0], (60, 3)) * HALF
    y = np.clip(X[:, 0], -1, 1)
    model = SparseRegressor(epsilon=4.0, recipe=LDPIHT(steps=1), feature_bound=HALF, target_bound=1.0, sparsity=2)
    server = Server(model, n_people=60, n_features=3)
    told = Server(model.set_params(feature_bound=1.0), n_people=60, n_features=3)
    assert json.loads(server.protocol.to_json())["facts"]["scale"] == HALF.tolist()
    task, other = server.task(), told.task()
    for x, t in zip(X, y, strict=True):
        scaled = Device(x, t, server.protocol, epsilon=4.0, randomness=audit.Stream(7))
        plain = Device(x / HALF, t, told.protocol, epsilon=4.0, randomness=audit.Stream(7))
        server.receive(scaled.answer(task))
        told.receive(plain.answer(other))
    server.close()
    told.close()
    np.testing.assert_allclose(server.model().coef_ * HALF, told.model().coef_, rtol=1e-12)


@pytest.mark.parametrize("scale", [[1.0, 0.0, 1.0], [1.0, -1.0, 1.0], 0.0])
def test_a_protocol_with_a_unit_that_is_none_is_refused(scale):
    model = SparseRegressor(epsilon=4.0, recipe="ldp_iht", feature_bound=HALF, target_bound=1.0)
    content = json.loads(Server(model, n_people=60, n_features=3).protocol.to_json())
    content["facts"]["scale"] = scale
    with pytest.raises(Exception, match="not a dpsparse protocol"):
        Protocol.from_json(json.dumps(content))
