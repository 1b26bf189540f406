"""private_score: values, intervals, one payment, and what a neighbour can move."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline

from builders import halved_constants
from dpsparse import Ledger, PublicScaler, SparseClassifier, SparseRegressor, load, private_score
from dpsparse.core import BudgetExceededError, MissingValueError
from dpsparse.estimators.score.asking import ScoreEstimate, of_proportion
from dpsparse.estimators.score.metrics import area
from dpsparse.rows.margins import row_margins
from dpsparse.rows.records import Records
from truth.neighbours import caught

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (3000, 4))
Y = (2.5 * X[:, 0] - X[:, 1] + RNG.logistic(size=3000) > 0).astype(int)
Z = 1.5 * X[:, 0] + 0.5 * RNG.standard_normal(3000)
BINARY = ("accuracy", "balanced_accuracy", "log_loss", "brier", "auc", "calibration")


def classifier(classes=(0, 1), **arguments):
    model = SparseClassifier(feature_bound=1.0, classes=list(classes), **arguments)
    model.coef_, model.intercept_ = np.array([[2.0, -1.2, 0.0, 0.1]]), np.array([0.2])
    model.classes_, model.n_features_in_ = np.array(classes), 4
    return model


def several(multinomial=False):
    model = SparseClassifier(feature_bound=1.0, classes=[0, 1, 2])
    model.coef_, model.intercept_ = 2 * np.eye(3, 4), np.array([0.1, 0.0, -0.1])
    model.classes_, model.n_features_in_, model.multinomial_ = np.array([0, 1, 2]), 4, multinomial
    return model


def regressor(center=0.0):
    model = SparseRegressor(feature_bound=1.0, target_bound=4.0, target_center=center)
    model.coef_, model.intercept_, model.n_features_in_ = np.array([1.2, 0.1, 0.0, 0.0]), center + 0.1, 4
    return model


def score(model, X, y, metrics, epsilon=1e5, **arguments):
    return private_score(model, X, y, metrics, epsilon, 1e-6, random_state=0, **arguments)


def test_without_noise_to_speak_of_scores_are_those_of_scikit_learn():
    model = classifier()
    card, p = score(model, X, Y, BINARY), model.predict_proba(X)[:, 1]
    truth = {
        "accuracy": model.score(X, Y),
        "balanced_accuracy": balanced_accuracy_score(Y, p > 0.5),
        "log_loss": log_loss(Y, p),
        "brier": brier_score_loss(Y, p),
        "auc": roc_auc_score(Y, p),
    }
    for name, value in truth.items():
        assert card[name].value == pytest.approx(value, abs=4e-3 if name == "auc" else 1e-3), name
    for point in card.curve:
        inside = (p >= point.lower) & (p < point.upper)
        assert point.rows == pytest.approx(inside.sum(), abs=2)
        if inside.sum() > 50:
            assert point.observed == pytest.approx(Y[inside].mean(), abs=0.01)
            assert point.predicted == pytest.approx(p[inside].mean(), abs=0.002)


@pytest.mark.parametrize("center", [0.0, 50.0])
def test_regressions_are_scored_around_their_centre(center):
    model = regressor(center)
    card = score(model, X, Z + center, ["r2", "mean_absolute_error"])
    assert card["r2"].value == pytest.approx(r2_score(Z + center, model.predict(X)), abs=2e-3)
    assert card["mean_absolute_error"].value == pytest.approx(np.abs(Z + center - model.predict(X)).mean(), abs=2e-3)


@pytest.mark.parametrize("multinomial", [False, True])
def test_several_classes(multinomial):
    y, model = np.argmax(X[:, :3] + 0.3 * RNG.standard_normal((3000, 3)), axis=1), several(multinomial)
    card, p = score(model, X, y, ["accuracy", "balanced_accuracy", "log_loss", "brier"]), model.predict_proba(X)
    assert card["accuracy"].value == pytest.approx(model.score(X, y), abs=1e-3)
    assert card["balanced_accuracy"].value == pytest.approx(balanced_accuracy_score(y, model.predict(X)), abs=1e-3)
    assert card["log_loss"].value == pytest.approx(log_loss(y, p), abs=1e-3)
    assert card["brier"].value == pytest.approx(np.sum((p - np.eye(3)[y]) ** 2, axis=1).mean(), abs=1e-3)
    with pytest.raises(ValueError, match="two classes, and this model has 3"):
        score(model, X, y, "auc")


def test_groups_have_scores_of_their_own_and_strangers_count_nowhere():
    model, site = classifier(), np.array(["north", "south", "elsewhere"])[np.arange(3000) % 3]
    card = score(model, X, Y, BINARY[:5], group=site, groups=["north", "south"])
    for place in ("north", "south"):
        inside = site == place
        assert card["accuracy", place].value == pytest.approx(model.score(X[inside], Y[inside]), abs=2e-3)
        assert card["auc", place].value == pytest.approx(
            roc_auc_score(Y[inside], model.decision_function(X[inside])), abs=5e-3
        )
    known = site != "elsewhere"
    assert card["accuracy"].value == pytest.approx(model.score(X[known], Y[known]), abs=2e-3)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(site=site)
    model.feature_names_in_ = np.array(list("abcd"), dtype=object)
    by_name = score(model, frame, Y, "accuracy", group="site", groups=["north", "south"])
    assert by_name["accuracy", "north"].value == pytest.approx(card["accuracy", "north"].value, abs=2e-3)


def test_pipelines_and_files_are_scored_like_their_models(tmp_path):
    data = 10 * X
    pipe = make_pipeline(
        PublicScaler(feature_bound=10.0), SparseClassifier(epsilon=4.0, classes=[0, 1], random_state=1)
    )
    pipe.steps[-1][1].set_params(feature_bound=1.0)
    pipe.fit(data, Y)
    card = score(pipe, data, Y, "accuracy")
    assert card["accuracy"].value == pytest.approx(pipe.score(data, Y), abs=1e-3)
    pipe.steps[-1][1].save(tmp_path / "model.json")
    again = score(load(tmp_path / "model.json"), X, Y, "accuracy")
    assert again["accuracy"].value == pytest.approx(card["accuracy"].value, abs=1e-6)


def test_one_payment_and_one_statement_for_all_metrics(tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.create("trial", epsilon=1.0, delta=1e-6)
    card = private_score(classifier(), X, Y, BINARY, 0.8, 1e-6, ledger=ledger, dataset="trial", label="test rows")
    [entry] = ledger.entries("trial")
    assert entry.label == "test rows"
    assert card.statement.private
    assert card.statement.epsilon == pytest.approx(0.8, rel=1e-6)
    assert card.statement.ledger["entry"] == entry.number
    assert "These scores were computed" in str(card)
    with pytest.raises(BudgetExceededError):
        private_score(classifier(), X, Y, BINARY, 0.8, 1e-6, ledger=ledger, dataset="trial")
    told = json.loads(card.to_json())
    assert {score["metric"] for score in told["scores"]} == set(BINARY[:5])
    assert "<table>" in card._repr_html_()


def test_too_few_rows_are_said_to_be_too_few():
    card = private_score(classifier(), X[:40], Y[:40], ["accuracy", "auc"], 0.5, 1e-6, random_state=1)
    assert math.isnan(card["auc"].value)
    assert (card["auc"].low, card["auc"].high) == (0.0, 1.0)
    assert "too few rows" in str(card["auc"])
    assert json.loads(card.to_json())["scores"][1]["value"] is None


# ------------------------------------------------------------------------------------------------ neighbours


def queries(model, x, t, y, metric):
    """What reaches the noise, with its scale, if the record in the middle is this one."""
    rows, targets = X[:50].copy(), np.array(y[:50], dtype=float)
    rows[20], targets[20] = x, t
    with caught() as seen:
        private_score(model, rows, targets, metric, 1.0, 1e-6, on_missing="empty", random_state=0)
    return [query / scale for _, query, scale in seen]


@pytest.mark.parametrize("metric", [*BINARY, "r2", "mean_absolute_error"])
def test_no_neighbour_moves_an_answer_further_than_its_price_and_half_of_it_would_not_do(metric):
    """Whatever a record is replaced by; every answer of every metric, caught before its noise."""
    classes = metric in BINARY
    model, y = (classifier(), Y) if classes else (regressor(), Z)
    corners = [np.array([a, -a, 0.0, 0.0]) for a in (1.0, -1.0, 0.02, 1e6)] + [np.full(4, np.nan)]
    records = [(x, t) for x in corners for t in ((0.0, 1.0) if classes else (-4.0, 0.0, 4.0))]
    stated = private_score(model, X[:50], y[:50], metric, 1.0, 1e-6, random_state=0).statement
    costs = np.array([ask.cost for ask in stated.asks for _ in range(ask.times)])

    def largest():
        found = [queries(model, x, t, y, metric) for x, t in records]
        # later questions may follow earlier answers, which are exact here: only equal questions are compared
        return np.max(
            [
                [np.linalg.norm(p - q) if p.shape == q.shape else 0.0 for p, q in zip(one, two, strict=True)][
                    : first(metric)
                ]
                for one, two in itertools.combinations(found, 2)
            ],
            axis=0,
        )

    def first(metric):
        return {"auc": 2, "r2": 3}.get(metric, costs.size)

    assert np.all(largest() <= costs[: first(metric)] * (1 + 1e-9))
    assert math.sqrt(np.sum(costs**2)) == pytest.approx(stated.mu, rel=1e-9)
    with halved_constants():
        assert np.any(largest() > 1.5 * costs[: first(metric)])


def test_margins_do_not_depend_on_place_company_or_storage():
    coef, intercept = np.array([[2.0, -1.2, 0.0, 0.1], [1 / 3, 0.7, 1e-9, 3.0]]), np.array([0.2, -1.0])
    whole = row_margins(Records(X), coef, intercept, None)
    order = np.random.default_rng(1).permutation(3000)
    np.testing.assert_array_equal(row_margins(Records(X[order]), coef, intercept, None), whole[order])
    np.testing.assert_array_equal(row_margins(Records(X[7:8]), coef, intercept, None), whole[7:8])
    np.testing.assert_array_equal(row_margins(Records(sp.csr_matrix(X)), coef, intercept, None), whole)
    np.testing.assert_allclose(whole, X @ coef.T + intercept, rtol=1e-12, atol=1e-12)
    holed = X[:3].copy()
    holed[1, 2] = np.nan
    assert np.isnan(row_margins(Records(holed), coef, intercept, None))[1].all()


# ------------------------------------------------------------------------------------------------ refusals and parts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": "acuracy"}, "Did you mean 'accuracy'"),
        ({"metrics": "r2"}, "metrics of a classifier"),
        ({"metrics": []}, "at least one metric"),
        ({"group": X[:, 0]}, "the public list of groups"),
        ({"groups": ["a"]}, "no group column"),
        ({"group": "site", "groups": ["a"]}, "no column 'site'"),
        ({"group": ["a"] * 7, "groups": ["a"]}, "inconsistent numbers"),
        ({"shares": {"auc": 2.0}}, "not among the metrics"),
        ({"loss_bounds": {"r2": 2.0}}, "not a metric with a bound"),
        ({"confidence": 95}, "confidence must be"),
        ({"bins": 1}, "bins must be"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_paid(change, message, tmp_path):
    ledger = Ledger(f"sqlite:///{tmp_path / 'b.db'}")
    ledger.create("trial", epsilon=1.0, delta=1e-6)
    arguments = {"metrics": ["accuracy"], **change}
    with pytest.raises(ValueError, match=message):
        private_score(classifier(), X, Y, epsilon=0.5, ledger=ledger, dataset="trial", **arguments)
    assert not ledger.entries("trial")


def test_models_of_others_and_missing_values_are_refused():
    with pytest.raises(TypeError, match="a pipeline that ends in one"):
        private_score(LogisticRegression(), X, Y)
    holed = X.copy()
    holed[3, 1] = np.nan
    with pytest.raises(MissingValueError):
        private_score(classifier(), holed, Y)
    card = score(classifier(), holed, Y, "accuracy", on_missing="empty")
    rest = np.arange(3000) != 3
    assert card["accuracy"].value == pytest.approx(classifier().score(X[rest], Y[rest]), abs=1e-3)


def test_a_proportion_without_noise_has_wilsons_interval():
    low, high = of_proportion(ScoreEstimate(0.9, 0.0, 0.0), 100.0, 0.95)
    assert (low, high) == (pytest.approx(0.8256, abs=1e-4), pytest.approx(0.9448, abs=1e-4))
    wider = of_proportion(ScoreEstimate(0.9, 0.001, 0.0), 100.0, 0.95)
    assert wider[0] < low < high < wider[1]


def test_the_area_counts_ties_half():
    found = area(np.array([0.0, 0.25, 0.25]), np.array([0.25, 0.25, 0.0]), 0.0, 1000)
    assert found.value == pytest.approx(0.875)
    assert found.noise == 0.0


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Seeded; `benchmarks.score_coverage` and the slow test below take a thousand simulations."""
    from benchmarks.score_coverage import CASES, coverage

    for case in (CASES[0], CASES[3]):
        for name, row in coverage(case, 20, 100_000).items():
            if not name.startswith("calibration"):
                assert row["coverage"] >= 0.8, (case.name, name)


@pytest.mark.slow
def test_coverage_of_a_thousand_simulations():
    from benchmarks.score_coverage import CASES, coverage

    for case in CASES:
        table = coverage(case, 1000)
        curve = [row for name, row in table.items() if name.startswith("calibration") and row["told"] >= 500]
        told = [row for name, row in table.items() if not name.startswith("calibration")]
        if curve:
            told.append({"coverage": np.average([r["coverage"] for r in curve], weights=[r["told"] for r in curve])})
        assert all(0.93 <= row["coverage"] <= 0.98 for row in told), (case.name, table)


def test_models_with_offsets_are_not_scored_as_if_they_had_none():
    rng = np.random.default_rng(0)
    X, years = rng.uniform(0, 1, (400, 2)), rng.uniform(0.2, 4, 400)
    model = SparseRegressor(loss="poisson", feature_bound=(0, 1), target_bound=20.0, offset_bound=(-2, 2))
    model.fit(X, rng.poisson(years).astype(float), exposure=years)
    with pytest.raises(ValueError, match="fitted with offsets or exposures"):
        private_score(model, X, rng.poisson(years).astype(float))


def test_scores_of_rows_say_so_where_the_model_protects_persons():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 3))
    y, ids = (X[:, 0] > 0).astype(int), np.repeat(np.arange(200), 2)
    options = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0}
    model = SparseClassifier(feature_bound=1.0, classes=[0, 1], unit="patient", **options).fit(X, y, units=ids)
    rows = private_score(model, X, y, metrics=["accuracy"], **options)
    assert any("a patient with several rows here is protected less" in caveat for caveat in rows.statement.caveats)
    people = private_score(model, X, y, metrics=["accuracy"], units=ids, unit="patient", **options)
    assert not any("protected less" in caveat for caveat in people.statement.caveats)
