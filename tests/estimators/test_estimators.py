"""The scikit-learn face: checks, containers, models on file."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpsparse
from dpsparse import Budget, SparseClassifier, SparseRegressor, recipes


def regression(n=400, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, 2 * X[:, 0] - X[:, 3] + 0.1 * rng.standard_normal(n)


def regressor(**options):
    return SparseRegressor(
        **{
            "epsilon": 20.0,
            "delta": 1e-5,
            "sparsity": 2,
            "feature_bound": 1.0,
            "target_bound": 3.5,
            "random_state": 0,
            **options,
        }
    )


def classifier(**options):
    return SparseClassifier(
        **{"epsilon": 20.0, "delta": 1e-5, "sparsity": 2, "feature_bound": 1.0, "random_state": 0, **options}
    )


@parametrize_with_checks(
    [
        SparseRegressor(epsilon=1e4, feature_bound=10.0, target_bound=200.0),
        SparseClassifier(epsilon=1e4, feature_bound=10.0),
    ]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_regression_finds_the_support_and_predicts():
    X, y = regression()
    model = regressor().fit(X, y)
    assert set(model.support_) == {0, 3}
    assert model.coef_.shape == (12,)
    assert model.score(X, y) > 0.9


def test_a_classification_has_probabilities_and_classes_as_given():
    X, y = regression()
    labels = np.where(y > 0, "yes", "no")
    model = classifier().fit(X, labels)
    assert list(model.classes_) == ["no", "yes"]
    assert model.coef_.shape == (1, 12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)
    assert "treated as public" in " ".join(model.statement_.assumptions)


def test_the_same_model_comes_from_arrays_sparse_matrices_and_frames():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = regression()
    names = [f"f{j}" for j in range(12)]
    forms = [X, pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)]
    coefs = [regressor(random_state=1).fit(A, y).coef_ for A in forms]
    for coef in coefs[1:]:
        np.testing.assert_array_equal(coef, coefs[0])
    sparse = [
        regressor(random_state=1, fit_intercept=False, recipe="dual_averaging").fit(A, y).coef_
        for A in (X, sp.csr_matrix(X), sp.coo_array(X))
    ]
    for coef in sparse[1:]:
        np.testing.assert_allclose(coef, sparse[0], atol=1e-4)


def test_feature_names_are_kept_and_checked():
    pd = pytest.importorskip("pandas")
    X, y = regression()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(12)])
    model = regressor().fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


def test_clone_pickle_and_pipeline_work():
    X, y = regression()
    recipe = recipes.DPIGHT(steps=7, mechanism="dense")
    model = regressor(recipe=recipe, random_state=3).fit(X, y)
    assert clone(model).recipe == recipe
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    pipe = make_pipeline(FunctionTransformer(lambda Z: np.clip(Z, -0.9, 0.9)), regressor()).fit(X, y)
    assert pipe.score(X, y) > 0.8


def test_the_intercept_is_learned_inside_the_bound():
    X, y = regression(n=3000)
    shifted = regressor(target_bound=6.0).fit(X, y + 2.0)
    assert abs(shifted.intercept_ - 2.0) < 0.4
    centred = regressor(target_center=2.0, fit_intercept=False).fit(X, y + 2.0)
    assert centred.intercept_ == 2.0


def test_declared_bounds_are_enforced_whatever_the_data():
    X, y = regression()
    model = regressor(random_state=5).fit(np.where(X > 0.9, 1e6, X), np.where(y > 2, 1e12, y))
    assert np.abs(model.coef_).max() < 10


def test_multi_class_splits_one_budget_and_says_so():
    X, y = regression(n=1500)
    labels = np.digitize(y, [-0.7, 0.7])
    model = classifier(epsilon=8.0).fit(X, labels)
    assert model.coef_.shape == (3, 12)
    assert model.statement_.epsilon <= 8.0
    assert any("3 one-versus-rest models" in a for a in model.statement_.assumptions)
    one = classifier(epsilon=8.0).fit(X, (labels > 0).astype(int))
    scale = {m: min(a.cost for a in s.statement_.asks) for m, s in (("many", model), ("one", one))}
    assert scale["many"] < scale["one"]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_records_of_undeclared_classes_count_as_empty():
    X, y = regression()
    labels = (y > 0).astype(int)
    mixed = labels.copy()
    mixed[:50] = 7
    model = classifier(classes=[0, 1]).fit(X, mixed)
    assert list(model.classes_) == [0, 1]
    assert not any("label set" in said for said in model.statement_.assumptions)
    only = classifier(classes=[0, 1]).fit(X, np.ones(400, dtype=int))
    assert list(only.classes_) == [0, 1]


def test_without_a_seed_two_fits_differ_and_with_one_they_agree_and_say_so():
    X, y = regression()
    first, second = (regressor(epsilon=1.0, random_state=None).fit(X, y) for _ in range(2))
    assert not np.array_equal(first.coef_, second.coef_)
    assert not first.statement_.caveats
    with pytest.warns(dpsparse.core.NonPrivateRandomnessWarning, match="not private"):
        seeded = regressor(random_state=0).fit(X, y)
    again = regressor(random_state=0).fit(X, y)
    np.testing.assert_array_equal(seeded.coef_, again.coef_)
    assert str(seeded.statement_).startswith("CAVEAT: fitted with a fixed seed: not private")


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_statement_is_within_a_thousandth_of_the_request_and_never_above(adjacency):
    X, y = regression()
    model = regressor(
        epsilon=1.0, delta=1e-6, adjacency=adjacency, n_rows=400, recipe=recipes.DPIGHT(mechanism="dense", steps=9)
    ).fit(X, y)
    assert 0.999 < model.statement_.epsilon <= 1.0
    from dpsparse.core.curves import gaussian_epsilon

    mu = np.sqrt(sum(a.times * (a.sensitivity / a.scale) ** 2 for a in model.statement_.asks))
    assert abs(gaussian_epsilon(float(mu), 1e-6) - model.statement_.epsilon) < 1e-6


def test_the_noise_of_add_remove_is_half_that_of_replace_one():
    X, y = regression()
    options = {"recipe": recipes.DPIGHT(mechanism="dense", steps=3, clip=1.0, step_size=0.1), "n_rows": 400}
    scales = [
        regressor(adjacency=a, **options).fit(X, y).statement_.asks[0].scale for a in ("replace-one", "add-remove")
    ]
    assert scales[0] / scales[1] == pytest.approx(2.0, rel=1e-4)


def test_budgets_in_other_languages():
    X, y = regression()
    zcdp = regressor(budget=Budget.zcdp(0.5)).fit(X, y).statement_
    assert zcdp.rho == pytest.approx(0.5, rel=1e-6)
    assert zcdp.delta == 1e-5
    gdp = regressor(budget=Budget.gdp(1.0), recipe=recipes.DPIGHT(mechanism="dense")).fit(X, y).statement_
    assert gdp.mu == pytest.approx(1.0, rel=1e-6)
    for text in ("zCDP", "GDP", "differential privacy"):
        assert text in replace(gdp, private=True).details()  # without the seed, which leaves no guarantee


def test_exact_noise_is_priced_by_zcdp_and_needs_more_noise():
    X, y = regression()
    recipe = recipes.DPIGHT(mechanism="dense", steps=2, clip=1.0)
    lattice, exact = (
        regressor(noise=n, recipe=recipe, random_state=None).fit(X, y).statement_ for n in ("lattice", "exact")
    )
    assert exact.asks[0].noise == "discrete-gaussian"
    assert exact.asks[0].scale > lattice.asks[0].scale
    assert exact.epsilon <= 20.0


def test_a_path_is_kept_on_request():
    X, y = regression()
    model = regressor(keep_path=True, recipe=recipes.DPIGHT(steps=4)).fit(X, y)
    assert len(model.path_.iterates) == 4
    assert model.path_.thresholds == [1, 2, 3, 4]
    assert model.path_.passes == sorted(model.path_.passes)
    np.testing.assert_array_equal(model.path_.iterates[-1][:12], model.coef_)
    assert not hasattr(regressor().fit(X, y), "path_")


def test_a_start_vector_is_used():
    X, y = regression()
    start = np.zeros(12)
    start[[0, 3]] = 2.0, -1.0
    quick = {"recipe": recipes.DPIGHT(steps=1, step_size=1e-9, mechanism="dense"), "fit_intercept": False}
    np.testing.assert_allclose(regressor(start=start, **quick).fit(X, y).coef_, start, atol=1e-5)


@pytest.mark.parametrize("task", ["regression", "classification", "many"])
def test_a_model_survives_saving_and_loading(tmp_path, task):
    X, y = regression()
    model = regressor(recipe=recipes.DPIGHT(steps=3)) if task == "regression" else classifier()
    y = {"regression": y, "classification": np.where(y > 0, "b", "a"), "many": np.digitize(y, [-0.7, 0.7])}[task]
    model.fit(X, y).save(tmp_path / "model.json")
    loaded = dpsparse.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.statement_ == model.statement_
    assert loaded.get_params()["sparsity"] == 2
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "model.json"]


def test_generous_budgets_come_close_to_the_exact_twin():
    X, y = regression(n=2000)
    recipe = recipes.DPIGHT(steps=40, step_size=1.0, clip=20.0, mechanism="dense")
    private = regressor(epsilon=1e4, recipe=recipe).fit(X, y)
    exact = regressor(recipe="ight").fit(X, y)
    np.testing.assert_allclose(private.coef_, exact.coef_, rtol=0.01, atol=0.01)
