"""Pictures by method: on the current axes, on given ones, in a file; and a promise that does not hold says so."""

import numpy as np
import pytest

from dpsparse import PrivateSearch, SparseClassifier, SparseRegressor, make_private_pipeline
from dpsparse.estimators.steps import PublicScaler
from dpsparse.report.attacker import tradeoff

pytest.importorskip("matplotlib")
from matplotlib import pyplot
from matplotlib.figure import Figure

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2000, 4))
Y = X[:, 0] + 0.1 * RNG.standard_normal(2000)
BOUNDS = {"feature_bound": 1.0, "target_bound": 2.0}


@pytest.fixture(scope="module")
def model():
    return SparseRegressor(epsilon=2.0, sparsity=2, recipe="dp_ight", **BOUNDS).fit(X, Y)


def test_the_promise_is_the_curve_of_the_report(model, tmp_path):
    axes = model.statement_.plot(tmp_path / "promise.svg")
    assert (tmp_path / "promise.svg").read_text().startswith("<?xml")
    wrong, right = axes.lines[0].get_data()
    np.testing.assert_allclose(right, 1 - tradeoff(model.statement_, np.asarray(wrong)))
    assert "epsilon 2" in axes.get_title()


def test_what_carries_no_promise_says_so_in_the_picture():
    seeded = SparseRegressor(epsilon=2.0, recipe="dp_ight", random_state=0, **BOUNDS).fit(X, Y)
    for axes in (seeded.statement_.plot(Figure().subplots()), seeded.plot(Figure().subplots())):
        assert axes.get_title().startswith("NO GUARANTEE")
        assert axes.title.get_color() == "#b00020"
    assert np.all(seeded.statement_.plot(Figure().subplots()).lines[0].get_ydata() == 1)


def test_coefficients_are_drawn_the_largest_on_top(model):
    axes = model.plot(Figure().subplots())
    order = sorted(model.support_, key=lambda j: -abs(model.coef_[j]))
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"feature {j}" for j in order]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([model.coef_[j] for j in order])
    assert axes.yaxis_inverted()


def test_intervals_several_classes_searches_and_pipelines_are_drawn():
    known = SparseRegressor(epsilon=4.0, intervals="split", **BOUNDS).fit(X, Y)
    assert "interval" in known.plot(Figure().subplots()).get_xlabel()
    classes = SparseClassifier(epsilon=4.0, feature_bound=1.0).fit(X, np.digitize(Y, [-0.3, 0.3]))
    assert len(classes.plot(Figure().subplots()).patches) == 3 * len(classes.support_)
    search = PrivateSearch(SparseRegressor(recipe="dp_ight", **BOUNDS), {"sparsity": [1]}, mean_runs=2).fit(X, Y)
    pipe = make_private_pipeline(PublicScaler(feature_bound=1.0), SparseRegressor(target_bound=2.0), epsilon=2.0)
    for one in (search, pipe.fit(X, Y)):
        assert one.plot(Figure().subplots()).get_title()


def test_without_a_place_the_current_axes_are_used(model):
    pyplot.switch_backend("agg")
    axes = model.statement_.plot()
    assert axes is pyplot.gca()
    assert SparseRegressor(**BOUNDS).plan(2000, 4).plot() is axes
    pyplot.close("all")


def test_bad_places_and_estimators_that_were_not_fitted_are_refused(model):
    with pytest.raises(TypeError, match="file name or matplotlib axes"):
        model.statement_.plot(3)
    with pytest.raises(AttributeError, match="fit the estimator first"):
        SparseRegressor().plot()
