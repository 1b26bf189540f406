"""Curves from both estimators: chosen by public facts, served as fitted, readable, and stored."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from dpsparse import SparseClassifier, SparseRegressor, load, make_private_pipeline, recipes
from dpsparse.core import Ask, Noise, Plan
from dpsparse.core.facts import Clip
from dpsparse.fitting.shapes import keep_groups, monotone
from dpsparse.queries.kinds import Magnitude
from dpsparse.rows.shapes import Curve, NumberColumn
from dpsparse.tables import Column, Dictionary, TableEncoder

N = 6000


def effect(X):
    return X[:, 0] ** 2 + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (N, 5))
    return X, effect(X) + 0.3 * rng.standard_normal(N)


def regressor(**changes):
    return SparseRegressor(
        **{"epsilon": 4.0, "delta": 1e-6, "feature_bound": 2.0, "target_bound": 6.0, "random_state": 0} | changes
    )


@pytest.fixture(scope="module")
def curved(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return regressor(shapes="auto").fit(*data)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_curves_find_what_a_line_cannot(data, curved):
    X = np.random.default_rng(1).uniform(-2, 2, (4000, 5))
    line = regressor().fit(*data)
    lost = [np.mean((m.predict(X) - effect(X)) ** 2) / effect(X).var() for m in (line, curved)]
    assert lost[0] > 0.5
    assert lost[1] < 0.01


def test_the_plan_and_the_statement_tell_the_terms_that_are_fitted(curved):
    planned = regressor(shapes="auto").plan(N, 5)
    assert planned.n_features == curved.coef_.size == 25
    said = [note for note in curved.statement_.notes if note.startswith("shapes")]
    assert said
    assert "column 0: smooth (5 terms)" in said[0]
    assert said[0] in planned.notes
    assert {ask.name for ask in planned.asks} == {ask.name for ask in curved.statement_.asks}


@pytest.mark.parametrize(("rows", "terms"), [(200, 1), (2500, 3), (40_000, 5)])
def test_the_number_of_terms_follows_public_facts(rows, terms):
    assert regressor(epsilon=1.0, shapes="auto").plan(rows, 5).n_features == 5 * terms


def test_columns_that_cannot_bend_stay_lines():
    bounds = np.array([0.0, -2.0]), np.array([1.0, 2.0])  # 0/1, and a number
    assert regressor(shapes="auto", feature_bound=bounds).plan(N, 2).n_features == 6
    assert regressor(shapes="auto").plan(N, 5, sparse=True).n_features == 5
    named = regressor(shapes={0: "smooth", 1: "line"}, feature_bound=bounds)
    assert named.plan(N, 2).n_features == 6


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shapes": "curvy"}, "shapes must be"),
        ({"shapes": {0: "wavy"}}, "shapes of a column"),
        ({"shapes": {7: "smooth"}}, "no column of numbers"),
        ({"shapes": "smooth", "feature_bound": None, "row_norm": 3.0}, "only row_norm is declared"),
        ({"shapes": "smooth", "start": np.zeros(5)}, "start and feature_center"),
        ({"shapes": "smooth", "feature_bound": (0, 1)}, "no column that can bend"),
        ({"groups": [[0, 9]]}, "groups names 9"),
        ({"groups": "ab"}, "groups must be"),
    ],
)
def test_what_cannot_be_is_refused_before_rows_are_read(changes, said):
    with pytest.raises((ValueError, TypeError), match=said):
        regressor(**changes).plan(N, 5)


def test_sparse_rows_are_refused_where_curves_are_asked_for():
    with pytest.raises(ValueError, match="the rows are sparse"):
        regressor(shapes="smooth").plan(N, 5, sparse=True)


def test_a_saved_model_predicts_the_same(data, curved, tmp_path):
    curved.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert np.array_equal(again.predict(data[0]), curved.predict(data[0]))
    assert again.basis_ == curved.basis_
    assert str(again.shape_(0)) == str(curved.shape_(0))


def test_rows_in_files_and_in_frames_fit_the_same_bytes(data, curved, tmp_path):
    frame = pd.DataFrame(data[0], columns=list("abcde"))
    named = regressor(shapes="auto").fit(frame, data[1])
    frame.assign(y=data[1]).to_parquet(tmp_path / "rows.parquet")
    files = regressor(shapes="auto").fit(tmp_path / "rows.parquet", "y")
    assert np.array_equal(named.coef_, curved.coef_)
    assert np.array_equal(files.coef_, curved.coef_)
    assert np.array_equal(files.predict(frame), named.predict(frame))
    assert named.shapes_[0].column == "a"


def test_predictions_are_those_of_the_terms_behind_the_public_map(data, curved):
    X = data[0]
    terms = curved.shape_transformer().transform(X)
    np.testing.assert_allclose(terms @ curved.coef_ + curved.intercept_, curved._margins(X).ravel(), atol=1e-12)
    assert np.array_equal(clone(curved.shape_transformer()).transform(X[:3]), terms[:3])
    plain = make_pipeline(curved.shape_transformer(), LinearRegression()).fit(X[:100], data[1][:100])
    assert plain.predict(X[:3]).shape == (3,)


def test_a_shape_is_zero_at_its_reference_and_near_the_truth(curved):
    shape = curved.shape_(0)
    assert shape.value[shape.grid == 0.0] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(shape.value, shape.grid**2, atol=0.25)
    assert shape.low is None
    assert [s.column for s in curved.shapes_[:2]] == ["column 0", "column 1"]
    line = regressor().fit(np.zeros((N, 5)), np.zeros(N))
    assert line.shapes_ == ()
    assert line.shape_(3).kind == "line"
    with pytest.raises(ValueError, match="no column of this model"):
        curved.shape_("age")


def test_contributions_and_their_base_sum_to_the_margin(data, curved):
    found = curved.explain(data[0][:20])
    assert found.values.shape == (20, 5)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base, curved._margins(data[0][:20]).ravel())
    assert curved.contrast(0, 2.0, 0.0)[0] == pytest.approx(curved.shape_(0, [2.0]).value[0])


def test_bands_come_with_intervals_and_simultaneous_ones_are_wider(data):
    model = regressor(shapes="smooth", intervals="split").fit(*data)
    assert len(model.intervals_.columns) % 5 == 0  # all terms of a selected column, or none
    shape, band = model.shape_(0), model.shape_(0, simultaneous=True)
    off = shape.grid != shape.reference
    assert np.all((band.high - band.low)[off] > (shape.high - shape.low)[off])
    assert np.mean((shape.low <= shape.grid**2) & (shape.grid**2 <= shape.high)) > 0.5
    assert shape.p < 1e-6
    middle, low, high = model.contrast(0, 2.0, 0.0)
    assert low < middle < high


def test_odds_ratios_compare_two_values(data):
    X, y = data
    model = SparseClassifier(4.0, 1e-6, feature_bound=2.0, shapes="auto", classes=[0, 1], random_state=0)
    model.fit(X, (y > 1.5).astype(int))
    [ratio] = model.odds_ratio(0, 2.0, 0.0)
    assert ratio == pytest.approx(np.exp(model.shape_(0, [2.0]).value[0]))
    assert ratio > 5


def test_many_classes_have_a_curve_each(data):
    X, y = data
    model = SparseClassifier(8.0, 1e-6, feature_bound=2.0, shapes="smooth", classes=[0, 1, 2], random_state=0)
    model.fit(X, np.digitize(y, [0.5, 2.0]))
    assert model.shape_(0).value.shape == (3, 41)
    assert model.explain(X[:4]).values.shape == (3, 4, 5)


def test_monotone_curves_are_the_nearest_that_rise_or_fall():
    curve = Curve(NumberColumn(0, "x", -1.0, 1.0), "monotone", 5, 0.5, -1.0, 1.0)
    grid = np.linspace(-1, 1, 201)
    rng = np.random.default_rng(0)
    for _ in range(20):
        coef = rng.normal(size=5)
        steps = np.diff(curve.at(grid) @ monotone(curve, coef))
        assert np.all(steps >= -1e-9) or np.all(steps <= 1e-9)
    rising = np.array([3.0, 0.1, 0.2, 0.0, 0.0])
    np.testing.assert_allclose(monotone(curve, rising), rising, atol=1e-9)


def test_groups_are_kept_and_dropped_together(data):
    w = np.array([3.0, 0.0, 2.0, 2.5, 1.0, 9.0])
    kept = keep_groups(w, np.array([0, 0, 1, 1, 2]), 1)
    assert kept.tolist() == [0, 0, 2, 2.5, 0, 9]
    model = regressor(sparsity=2, shapes="smooth").fit(*data)
    assert set(model.basis_.parents[model.support_]) == {0, 1}
    grouped = regressor(sparsity=1, groups=[[0, 1, 2]], target_bound=9.0).fit(data[0], data[0][:, :3] @ [1.0, 1, 1])
    assert set(grouped.support_) == {0, 1, 2}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age, bmi = rng.uniform(18, 90, N), rng.uniform(15, 50, N)
    y = ((age - 50) / 20) ** 2 + np.sqrt(bmi - 14) + 0.3 * rng.standard_normal(N)
    cells = {"age": np.where(rng.random(N) < 0.1, np.nan, age), "bmi": bmi, "sex": rng.choice(["f", "m"], N).tolist()}
    return pd.DataFrame(cells), y


CODEBOOK = Dictionary(
    [
        Column(
            name="age",
            kind="number",
            bounds=(18, 90),
            unit="years",
            shape="smooth",
            reference=50,
            gap_is_feature=True,
        ),
        Column(name="bmi", kind="number", bounds=(15, 50), shape="monotone"),
        Column(name="sex", kind="category", categories=["f", "m"], group="who"),
    ]
)


def test_a_dictionary_says_which_columns_bend(table, tmp_path):
    cells, y = table
    model = make_private_pipeline(
        TableEncoder(CODEBOOK), SparseRegressor(target_bound=6.0, target_center=5.0, random_state=0), epsilon=4.0
    )
    planned = model.plan(N, 3)
    model.fit(cells, y)
    fitted = model[-1]
    assert str(fitted.basis_) == "age: smooth (5 terms), bmi: monotone (5 terms)"
    assert any("age: smooth (5 terms)" in note for note in planned.notes)
    age = fitted.shape_("age", [50, 90])
    assert age.unit == "years"
    assert age.value[0] == pytest.approx(0, abs=1e-12)
    assert age.value[1] == pytest.approx(4, abs=1)
    assert np.all(np.diff(fitted.shape_("bmi").value) >= 0)
    model.save(tmp_path / "pipeline.json")
    assert np.array_equal(load(tmp_path / "pipeline.json").predict(cells), model.predict(cells))
    same = SparseRegressor(4.0, target_bound=6.0, target_center=5.0, random_state=0, check_cells=0.02)
    same.fit(TableEncoder(CODEBOOK).fit(cells).transform(cells), y)
    assert same.basis_ == fitted.basis_


def test_a_dictionary_refuses_shapes_that_make_no_sense():
    lines = Dictionary(
        [
            Column(name="a", kind="number", bounds=(0, 1), shape="wavy"),
            Column(name="b", kind="number", bounds=(0, 1), reference=2),
            Column(name="c", kind="boolean", shape="smooth"),
        ]
    ).check()
    assert ["shape must be" in lines[0], "reference must lie" in lines[1], "shape belongs" in lines[2]] == [True] * 3
    assert Dictionary.from_dict(CODEBOOK.to_dict()) == CODEBOOK


def test_the_command_line_plans_fits_shows_and_predicts_curves(table, tmp_path):
    from click.testing import CliRunner

    from dpsparse.cli import main

    cells, y = table
    cells.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    target = Column(name="y", role="target", kind="number", bounds=(-1, 11))
    Dictionary([*CODEBOOK.columns, target]).write(tmp_path / "codebook.yaml")
    where = {name: str(tmp_path / name) for name in ("rows.csv", "codebook.yaml", "model.json")}
    asked = ["--dictionary", where["codebook.yaml"], "--epsilon", "4", "--shapes", "auto"]
    run = CliRunner().invoke
    planned = run(main, ["plan", *asked, "--n-rows", str(N)])
    assert "x 13 features" in planned.output
    fitted = run(main, ["fit", where["rows.csv"], *asked, "--out", where["model.json"]])
    assert "age: smooth (5 terms); 0 at 50 years" in fitted.output
    assert "age: smooth (5 terms); 0 at 50 years" in run(main, ["show", where["model.json"]]).output
    predicted = run(main, ["predict", where["model.json"], where["rows.csv"]])
    assert predicted.exit_code == 0


GROUPS = [list(range(first, first + 3)) for first in range(0, 24, 3)]


@pytest.fixture(scope="module")
def blocks():
    """Eight groups of three columns, of which two have an effect."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (8000, 24))
    return X, X[:, 3:6] @ [1.0, 0.3, -0.4] + X[:, 12:15] @ [0.5, -0.8, 0.2] + 0.2 * rng.standard_normal(8000)


@pytest.mark.parametrize(
    ("recipe", "draws"),
    [
        ("auto", 0),
        ("select_polish", 3),
        ("dual_averaging", 0),
        (recipes.DPIGHT(mechanism="dense"), 0),
        (recipes.DPIGHT(mechanism="peel", steps=3), 6),
        (recipes.DPGCD(steps=12), 12),
        ("two_stage", 2),
        ("dp_sgd_ht", 0),
        ("dp_cd", 0),
    ],
)
def test_every_recipe_keeps_whole_groups_and_sparsity_counts_them(blocks, recipe, draws):
    """Selections are paid for by group: two, and a spare one, for a support of six columns."""
    shared = {"sparsity": 2, "groups": GROUPS, "recipe": recipe, "feature_bound": 1.0, "target_bound": 3.0}
    model = regressor(**shared).fit(*blocks)
    assert model.support_.tolist() == [3, 4, 5, 12, 13, 14]
    selected = [ask for ask in model.statement_.asks if ask.name.startswith("select")]
    assert sum(ask.times * ask.draws for ask in selected) == draws
    assert any("8 groups of 24 coefficients" in note for note in model.statement_.notes)


@dataclass(frozen=True)
class Chosen(recipes.base.PrivateRecipe):
    """A recipe of a user: the six columns with the largest gradients, each with that gradient as its coefficient."""

    name: ClassVar[str] = "chosen"

    def solver(self, facts, budget):
        return self

    def plan(self, facts, budget):
        asks = (
            Ask(name="select", question="Select", noise=Noise.GUMBEL, draws=6, share=0.5),
            Ask(name="values", question="Gradient", noise=Noise.GAUSSIAN, share=0.5),
        )
        return Plan(asks=asks)

    def run(self, oracle, path=None):
        w = oracle.facts.first()
        at = oracle.select(w, 6, score=Magnitude(), clip=Clip(1.0))
        w[at] = -oracle.gradient_at(w, at, clip=Clip(1.0))
        return w


def test_a_recipe_of_a_user_selects_columns_and_groups_are_counted_afterwards(blocks):
    model = regressor(groups=GROUPS, sparsity=1, recipe=Chosen(), feature_bound=1.0, target_bound=3.0).fit(*blocks)
    assert set(model.support_) <= {3, 4, 5}


def test_sites_and_devices_refuse_groups():
    from dpsparse.fitting.request import FitRequest
    from dpsparse.fitting.shapes import refuse_shapes, with_shapes

    request = FitRequest.read(regressor(groups=[[0, 1]]).get_params(deep=False), classifies=False)
    with pytest.raises(ValueError, match="select single columns"):
        refuse_shapes(with_shapes(request, request.shape(N, 5))[0])


def test_groups_that_share_a_column_are_one_and_one_column_each_is_no_group(blocks):
    X, y = blocks
    shared = {"recipe": "select_polish", "feature_bound": 1.0, "target_bound": 3.0, "sparsity": 2}
    joined = regressor(groups=[[3, 4], [4, 5], [12, 13], [14, 13]], **shared).fit(X, y)
    assert joined.support_.tolist() == [3, 4, 5, 12, 13, 14]
    alone, plain = (regressor(groups=groups, **shared).fit(X, y) for groups in ([[0], [5]], None))
    assert np.array_equal(alone.coef_, plain.coef_)


def test_a_contrast_of_a_monotone_column_is_that_of_the_curve_that_is_shown(data):
    model = regressor(shapes={0: "monotone", 2: "monotone"}, intervals="split", epsilon=8.0).fit(*data)
    for column in (0, 2):
        middle, low, high = model.contrast(column, 1.5, 0.0)
        assert middle == pytest.approx(model.shape_(column, [1.5]).value[0])
        assert low < high
