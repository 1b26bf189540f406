"""Intervals of estimators: what they hold, what they cost, what is refused, and that they are made of answers alone."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import dpsparse
from dpsparse import Ledger, PrivateSearch, SparseClassifier, SparseRegressor, audit, recipes
from dpsparse.core import DataError, PrivacyError, RunRepeatedError
from dpsparse.estimators.intervals import INTERCEPT, Intervals
from dpsparse.fitting import session, with_oracles
from dpsparse.fitting.session import open_oracle
from dpsparse.losses import Huber
from dpsparse.rows.hosts import DiskHost

pytestmark = pytest.mark.filterwarnings("ignore::dpsparse.core.NonPrivateRandomnessWarning")

N, D = 4000, 30
B = np.zeros(D)
B[[0, 7, 12]] = 1.0, -0.7, 0.5


def data(seed: int = 0, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, D))
    return X, 0.4 + X @ B + 0.3 * rng.standard_normal(n)


def regressor(**changes) -> SparseRegressor:
    given = {
        "epsilon": 4.0,
        "delta": 1e-5,
        "sparsity": 5,
        "feature_bound": 1.0,
        "target_bound": 3.0,
        "intervals": "split",
    }
    return SparseRegressor(**{**given, "random_state": 3, **changes})


@pytest.fixture(scope="module")
def fitted() -> SparseRegressor:
    return regressor().fit(*data())


def test_each_row_of_the_table_is_a_coefficient_with_its_interval(fitted):
    table = fitted.intervals_
    assert {0, 7, 12} <= set(table.columns) == set(fitted.support_.tolist())
    assert table.features[-1] == INTERCEPT
    assert len(table) == len(table.columns) + 1
    for row in table:
        wanted = 0.4 if row.feature == INTERCEPT else B[row.feature]
        assert abs(row.estimate - wanted) < 5 * row.standard_error
        assert row.low == pytest.approx(row.estimate - 1.959964 * row.standard_error)
        assert row.high == pytest.approx(row.estimate + 1.959964 * row.standard_error)
        assert row.flag == "good"
    assert {row.feature for row in table if row.rejected} >= {0, 7, 12}
    np.testing.assert_allclose(np.diag(fitted.covariance_), table.standard_error**2)
    assert np.all(np.linalg.eigvalsh(fitted.covariance_) > 0)
    assert not np.array_equal(
        fitted.coef_[list(table.columns)], table.estimate[:-1]
    )  # predictions keep the shrunken model


def test_other_levels_and_bands_for_all_together(fitted):
    table = fitted.intervals_
    wider = table.at(0.99)
    assert np.all(wider.half_width > table.half_width)
    bands = table.simultaneous(0.95)
    assert 1.96 < bands.critical < 3.5
    np.testing.assert_allclose(bands.half_width, bands.critical * table.standard_error)
    assert bands.at(0.95).critical is None


def test_intervals_of_the_surface_are_those_of_the_covariance(fitted):
    X, _ = data(5, n=7)
    low, high = fitted.predict_interval(X, level=0.9)
    rows = np.column_stack([X[:, fitted.intervals_.columns], np.ones(7)])
    np.testing.assert_allclose((low + high) / 2, rows @ fitted.intervals_.estimate)
    wide = 1.6448536 * np.sqrt(np.sum(rows @ fitted.covariance_ * rows, axis=1))
    np.testing.assert_allclose((high - low) / 2, wide, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict_interval(sp.csr_matrix(X), level=0.9), (low, high))


def test_classes_have_intervals_of_probabilities():
    X, _ = data()
    rng = np.random.default_rng(1)
    y = (rng.random(N) < 1 / (1 + np.exp(-3 * X @ B))).astype(int)
    model = SparseClassifier(
        epsilon=4.0, delta=1e-5, sparsity=3, feature_bound=1.0, classes=[0, 1], intervals="split", random_state=2
    )
    model.fit(X, y)
    for row in model.intervals_:
        wanted = 0.0 if row.feature == INTERCEPT else 3 * B[row.feature]
        assert abs(row.estimate - wanted) < 5 * row.standard_error
    low, high = model.predict_interval(X[:5])
    assert np.all((low > 0) & (low < high) & (high < 1))
    assert [a.times for a in model.statement_.asks if a.name == "score moments"] == [
        1,
        1,
    ]  # two steps of different noise
    assert "log-odds" in model.summary()


def test_the_summary_says_what_an_interval_means(fitted):
    text = fitted.summary()
    for words in (
        "coef",
        "std err",
        "P>|z|",
        "[0.025",
        "0.975]",
        "given the other selected features",
        "clipped at",
        "not private",
    ):
        assert words in text
    html = fitted._repr_html_()
    assert "<table>" in html
    assert "given the other selected features" in html
    assert "Intervals of" in repr(fitted.intervals_)
    frame = fitted.intervals_.to_frame()
    assert list(frame.columns) == ["feature", "estimate", "standard_error", "low", "high", "p", "rejected", "flag"]


def test_columns_and_targets_in_other_units_have_the_same_intervals_in_other_units(fitted):
    X, y = data()
    unit = 10.0 ** np.arange(D).clip(max=3)
    other = regressor(feature_bound=unit).fit(X * unit, y)
    assert other.intervals_.columns == fitted.intervals_.columns
    np.testing.assert_allclose(other.intervals_.estimate[:-1] * unit[list(fitted.intervals_.columns)], fitted.intervals_.estimate[:-1], rtol=1e-6)  # fmt: skip
    np.testing.assert_allclose(other.intervals_.p, fitted.intervals_.p, rtol=1e-4, atol=1e-300)
    moved = regressor(target_center=50.0).fit(X, y + 50)
    np.testing.assert_allclose(moved.intervals_.estimate - fitted.intervals_.estimate, np.r_[np.zeros(len(moved.intervals_) - 1), 50.0], atol=1e-6)  # fmt: skip


def test_models_without_an_intercept_have_none_in_the_table():
    X, y = data()
    table = regressor(fit_intercept=False).fit(X, y - 0.4).intervals_
    assert INTERCEPT not in table.features
    for row in table:
        assert abs(row.estimate - B[row.feature]) < 5 * row.standard_error


def test_names_of_columns_are_kept_and_a_file_gives_the_intervals_back(tmp_path, fitted):
    import pandas as pd

    X, y = data()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    model = regressor().fit(frame, y)
    assert model.intervals_.features[0] == f"x{model.intervals_.columns[0]}"
    file = tmp_path / "model.json"
    model.save(file)
    again = dpsparse.load(file)
    assert tuple(again.intervals_) == tuple(model.intervals_)
    assert again.summary() == model.summary()
    np.testing.assert_array_equal(again.covariance_, model.covariance_)
    np.testing.assert_array_equal(again.predict_interval(frame), model.predict_interval(frame))


@pytest.mark.parametrize(
    "change",
    [
        {"flag": "splendid"},
        {"estimate": [1.0]},
        {"columns": [10_000, 1, 2, 3, 4]},
        {"covariance": "none"},
        {"kept": 2.0},
        {"more": 1},
    ],
)
def test_damaged_intervals_are_refused(tmp_path, fitted, change):
    file = tmp_path / "model.json"
    fitted.save(file)
    content = json.loads(file.read_text())
    content["intervals"] |= change
    file.write_text(json.dumps(content))
    with pytest.raises(DataError):
        dpsparse.load(file, edited=True)


def test_both_parts_have_the_whole_budget_and_the_statement_says_so(fitted):
    said = fitted.statement_
    assert said.epsilon == pytest.approx(4.0, rel=1e-6)
    assert {a.part for a in said.asks} == {"first", "second"}
    mu = np.sqrt(sum(a.times * a.cost**2 for a in said.asks if a.part == "second"))
    from dpsparse.core.curves import gaussian_mu

    assert mu == pytest.approx(gaussian_mu(4.0, 1e-5), rel=1e-6)
    text = said.details()
    for words in ("each row is in exactly one part", "by its position", "second part of the rows"):
        assert words in text


def test_a_second_opinion_agrees_with_the_price_of_parts(fitted):
    pytest.importorskip("dp_accounting")
    assert audit.recomputed_epsilon(fitted.statement_) < 1.2 * fitted.statement_.epsilon


def test_a_ledger_books_both_parts_once_and_refuses_a_second_release(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path}/budget.db")
    ledger.create("trial", epsilon=5.0, delta=1e-4)
    X, y = data()
    given = {"ledger": ledger, "dataset": "trial", "run_id": "once"}
    model = regressor(**given).fit(X, y)
    [entry] = ledger.entries("trial")
    assert entry.epsilon(1e-5) <= model.statement_.epsilon * (1 + 1e-6)
    assert entry.bill.plan.coins is not None
    assert len(entry.bill.plan.parts) == 2
    with pytest.raises(RunRepeatedError):
        regressor(**given).fit(X, y)
    assert len(ledger.entries("trial")) == 1


def test_rows_on_a_disk_give_the_same_intervals(fitted, monkeypatch):
    opened = []
    monkeypatch.setattr(session, "memory_needed", lambda *_: 2**40)  # as if these rows were many
    monkeypatch.setattr(
        session, "DiskHost", lambda *given, **more: opened.append(DiskHost(*given, **more)) or opened[-1]
    )
    aside = regressor(memory_limit="40MB").fit(*data())
    assert len(opened) == 2  # each part has its own
    np.testing.assert_array_equal(aside.intervals_.estimate, fitted.intervals_.estimate)
    np.testing.assert_array_equal(aside.covariance_, fitted.covariance_)


def test_under_add_remove_coins_are_secret_and_sums_are_divided_by_public_numbers():
    X, y = data()
    model = regressor(adjacency="add-remove", n_rows=4200).fit(X, y)
    assert "in secret" in model.statement_.details()
    assert model.intervals_.n_rows == 2100
    for row in model.intervals_:
        wanted = 0.4 if row.feature == INTERCEPT else B[row.feature]
        assert abs(row.estimate - wanted) < 5 * row.standard_error


def test_the_target_is_not_clipped_before_the_residual():
    """With a bound at 1.2 standard deviations of y the model of the first part is biased, and the intervals are not."""
    X, y = data()
    model = regressor(target_bound=1.0).fit(X, y)
    for row in model.intervals_:
        wanted = 0.4 if row.feature == INTERCEPT else B[row.feature]
        assert abs(row.estimate - wanted) < 5 * row.standard_error


@pytest.mark.parametrize("classes", [False, True])
def test_what_is_told_follows_from_the_answers_alone(classes):
    """Other rows and the same answers give the same model, intervals, covariance and statement."""
    X, y = data(n=1500)
    if classes:
        model = SparseClassifier(
            epsilon=4.0, sparsity=3, feature_bound=1.0, classes=[0, 1], intervals="split", random_state=3
        )
        audit.check_estimator_privacy(model, X, (y > 0).astype(int))
    else:
        audit.check_estimator_privacy(regressor(), X, y)


def test_no_row_is_handed_to_both_parts_and_every_row_to_one():
    X, y = data(n=1000)
    seen = []

    def opener(prepared, X, y, opened):
        seen.append((np.isfinite(y), prepared.facts.target_bound))
        return open_oracle(prepared, X, y, opened)

    with with_oracles(opener):
        regressor().fit(X, y)
    (first, bound), (second, wide) = seen
    np.testing.assert_array_equal(first, ~second)
    assert 400 < first.sum() < 600
    assert bound == 3.0
    assert wide > 1e100  # residuals of the second part are clipped, and targets are not


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_all_rows_of_a_unit_are_in_one_part(adjacency):
    X, y = data(n=1200)
    units = np.repeat(np.arange(400), 3)
    seen = []

    def opener(prepared, X, y, opened):
        seen.append(np.isfinite(y))
        return open_oracle(prepared, X, y, opened)

    with with_oracles(opener):
        model = regressor(adjacency=adjacency, n_rows=400).fit(X, y, units=units)
    first, second = seen
    np.testing.assert_array_equal(first, ~second)
    by_unit = first.reshape(400, 3)
    np.testing.assert_array_equal(by_unit.any(axis=1), by_unit.all(axis=1))
    assert "all rows of a unit are in one part" in model.statement_.details()
    assert model.statement_.unit == "one person: all rows with the same id"
    assert model.statement_.n_rows == 400


def test_units_are_refused_where_they_do_not_fit():
    X, y = data(n=200)
    with pytest.raises(DataError, match="one id for each row"):
        regressor().fit(X, y, units=np.arange(199))


def test_rows_are_dealt_by_the_rule_of_the_plan_alone():
    """A run that is told units which the plan does not know, or the reverse, ends before an answer."""
    from dpsparse.fitting import Shape, fit, plan_fit
    from dpsparse.rows.records import Records
    from dpsparse.rows.units import read_units

    X, y = data(n=300)
    request = regressor().request()
    prepared = plan_fit(request, Shape(n_rows=300, n_features=D))
    with pytest.raises(PrivacyError, match="whose they are"):
        fit(prepared, Records(X).by_unit(read_units(np.arange(300), 300)), [y])


def test_a_search_is_refused_since_the_best_of_several_intervals_is_too_good():
    X, y = data(n=300)
    with pytest.raises(ValueError, match="best of several fits"):
        PrivateSearch(regressor(random_state=None)).fit(X, y)


def test_too_many_coefficients_are_capped_before_anything_is_spent():
    X, y = data(n=600)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = regressor(epsilon=0.5, sparsity=20).fit(X, y)
    assert len(model.intervals_.columns) <= 3
    if model.intervals_.columns:
        assert "20 coefficients were asked for" in model.summary()


def test_a_model_that_selects_nothing_says_so():
    nothing = Intervals((), np.zeros(0), np.zeros((0, 0)), "good", "mean", 0.0, 1.0, 10, False, ())
    assert "No feature was selected" in nothing.summary()
    assert "No feature was selected" in nothing._repr_html_()
    assert len(nothing) == 0


def test_models_without_intervals_say_how_to_get_them():
    X, y = data(n=200)
    model = regressor(intervals=None, epsilon=50.0).fit(X, y)
    with pytest.raises(ValueError, match="intervals='split'"):
        model.summary()
    with pytest.raises(ValueError, match="intervals='split'"):
        model.predict_interval(X)
    assert not hasattr(model, "intervals_")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"intervals": "bootstrap"}, "intervals must be"),
        ({"interval_target": "median"}, "interval_target must be"),
        ({"loss": Huber()}, "squared and logistic"),
        ({"recipe": "lasso"}, "private recipe"),
        ({"recipe": recipes.DPSGD()}, "samples rows"),
        ({"recipe": "ldp_iht"}, "devices"),
        ({"alpha": 0.1}, "penalty"),
    ],
)
def test_what_has_no_intervals_is_refused_before_anything_is_paid(changes, words):
    X, y = data(n=200)
    with pytest.raises(ValueError, match=words):
        regressor(**changes).fit(X, y)


def test_more_than_two_classes_have_no_intervals():
    X, _ = data(n=300)
    with pytest.raises(ValueError, match="two classes"):
        SparseClassifier(epsilon=1.0, feature_bound=1.0, classes=[0, 1, 2], intervals="split").fit(
            X, np.arange(300) % 3
        )
