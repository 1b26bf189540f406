"""More than two classes: one multinomial model with the whole budget where a recipe has such a form, else one versus the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

import dpsparse
from builders import Rows, prepared_for
from dpsparse import PrivateSearch, SparseClassifier, audit, recipes
from dpsparse.core import Budget, Noise
from dpsparse.fitting import Shape, plan_fit
from dpsparse.losses import Custom, Logistic
from dpsparse.oracles import ExactOracle

pytestmark = pytest.mark.filterwarnings("ignore:random_state was given")
NAMES = ["blue", "green", "red", "yellow"]


def data(n: int = 3000, d: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four classes told apart by the first three columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    margins = np.zeros((n, 4))
    margins[:, :3] = 4 * X[:, :3]
    return X, np.array(NAMES)[np.argmax(margins + rng.gumbel(size=(n, 4)), axis=1)]


def model(**options) -> SparseClassifier:
    given = {"epsilon": 4.0, "delta": 1e-5, "feature_bound": 1.0, "recipe": "dual_averaging", "random_state": 1}
    return SparseClassifier(**{**given, **options})


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_one_model_has_the_whole_budget(sparse, adjacency):
    X, y = data()
    fitted = model(adjacency=adjacency, n_rows=3000).fit(sp.csr_matrix(X) if sparse else X, y)
    said = fitted.statement_
    assert fitted.multinomial_
    assert fitted.coef_.shape == (4, 12)
    assert fitted.intercept_.shape == (4,)
    assert said.loss == "softmax"
    assert not any("share" in a for a in said.assumptions), "no budget is split"
    drawn = math.fsum(a.times * a.cost**2 for a in said.asks)
    assert math.sqrt(drawn) == pytest.approx(said.mu, rel=1e-9)
    assert said.epsilon == pytest.approx(4.0, rel=1e-3)
    assert fitted.score(X, y) > 0.55, "chance is 0.27, the truth 0.63"


def test_it_is_better_than_one_versus_the_rest_at_the_same_budget():
    """The logistic loss, written as one's own, has no form for many classes."""
    X, y = data()
    own = Custom(derivative=Logistic().slope, curvature=0.25, slope_bound=1.0, classes=True, name="own")
    together, apart = model(epsilon=0.2).fit(X, y), model(epsilon=0.2, loss=own).fit(X, y)
    assert not apart.multinomial_
    assert together.score(X, y) > apart.score(X, y) + 0.03


def test_probabilities_are_the_softmax_of_margins_and_sum_to_one():
    X, y = data()
    fitted = model().fit(X, y)
    margins = X @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(fitted.decision_function(X), margins)
    np.testing.assert_allclose(fitted.predict_proba(X), softmax(margins, axis=1))
    assert set(fitted.predict(X)) <= set(NAMES)
    np.testing.assert_allclose(fitted.coef_.sum(axis=0), 0.0, atol=1e-9, err_msg="dense rows have no threshold")


def test_with_a_huge_budget_it_is_the_multinomial_model():
    X, y = data()
    fitted = model(epsilon=1e4, recipe=recipes.DualAveraging(clip=3.0)).fit(X, y)
    best = LogisticRegression(C=1e6).fit(X, y)
    np.testing.assert_allclose(fitted.coef_, best.coef_, atol=0.1)
    np.testing.assert_allclose(fitted.intercept_, best.intercept_ - best.intercept_.mean(), atol=0.1)


def test_the_twin_on_exact_answers_reaches_the_minimum():
    X, y = data()
    codes = np.searchsorted(NAMES, y).astype(float)
    prepared = prepared_for(model(epsilon=1e4), *X.shape, sparse=False, models=4)
    solver = replace(prepared.solver, noise=Noise.NONE)
    rows = Rows(X, codes, prepared.facts, lattice=False)
    plan = solver.plan(prepared.facts, Budget.approx(1.0, 0.5))
    w = solver.run(ExactOracle(rows, prepared.loss, plan, np.random.default_rng(0)))
    assert w.shape == (13, 4)
    best = LogisticRegression(C=1e6).fit(X, y)
    np.testing.assert_allclose(w[:12].T, best.coef_, atol=0.05)


@pytest.mark.parametrize("sparsity", [2, 3, 7, 12])
def test_sparsity_counts_features_for_all_classes_together(sparsity):
    X, y = data(d=40) if sparsity < 12 else data()
    fitted = model(sparsity=sparsity).fit(X, y)
    assert fitted.support_.size <= sparsity
    if sparsity == 3:
        assert fitted.support_.tolist() == [0, 1, 2]
        assert np.all(np.count_nonzero(fitted.coef_[:, :3], axis=1) == 3)


@pytest.mark.parametrize("penalty", [{"alpha": 0.3}, {"penalty": "l1", "alpha": 0.05}, {"penalty": "box", "box": 0.5}])
def test_penalties_act_on_every_coefficient(penalty):
    X, y = data()
    free, held = model().fit(X, y), model(**penalty).fit(X, y)
    assert np.abs(held.coef_).sum() < 0.8 * np.abs(free.coef_).sum()
    assert np.abs(held.coef_).max() <= penalty.get("box", math.inf)


def test_a_start_is_that_of_every_class():
    X, y = data(n=500)
    fitted = model(start=np.arange(12.0), epsilon=1e-3).fit(X, y)
    assert np.all(np.abs(fitted.coef_.mean(axis=0) - np.arange(12.0)) < 0.5)


def test_models_are_saved_and_read_with_what_they_are(tmp_path):
    X, y = data(n=800)
    for recipe in ("dual_averaging", "dp_ight"):
        fitted = model(recipe=recipe, sparsity=4).fit(X, y)
        fitted.save(tmp_path / "model.json")
        again = dpsparse.load(tmp_path / "model.json")
        assert again.multinomial_ is fitted.multinomial_ is (recipe == "dual_averaging")
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_paths_hold_a_matrix_for_each_step():
    X, y = data(n=500)
    fitted = model(recipe=recipes.DualAveraging(steps=5), keep_path=True).fit(X, y)
    assert [w.shape for w in fitted.path_.iterates] == [(13, 4)] * 5


def test_auto_takes_it_where_it_takes_dual_averaging():
    X, y = data()
    fitted = model(recipe="auto").fit(X, y)
    assert fitted.multinomial_
    assert any("dual_averaging" in note for note in fitted.statement_.notes)
    wide = prepared_for(model(recipe="auto", sparsity=5), 3000, 2000, sparse=False, models=4)
    assert (wide.recipe.name, wide.models, wide.loss) == ("select_polish", 4, Logistic())


@pytest.mark.parametrize("name", [n for n in recipes.names() if n not in ("auto", "dual_averaging")])
def test_recipes_without_a_form_for_many_classes_fit_one_versus_the_rest(name):
    assert not recipes.get(name).joint


def test_the_plan_says_what_it_is():
    shown = model(classes=NAMES).plan(3000, 12)
    assert shown.models == 1
    assert "one model of 4 classes" in str(shown)
    apart = model(classes=NAMES, recipe="dp_ight", sparsity=3).plan(3000, 12)
    assert "4 one-versus-rest models" in str(apart)


def test_labels_outside_of_the_classes_are_no_records():
    X, y = data(n=600)
    y = y.astype(object)
    odd = y.copy()
    odd[:5] = "mauve"
    rest = X.copy()
    rest[:5] = 0.7
    options = {"classes": NAMES, "random_state": 4}
    one, two = (model(**options).fit(x, odd) for x in (X, rest))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_a_search_scores_it_by_its_own_probabilities():
    X, y = data(n=2000)
    search = PrivateSearch(
        model(random_state=None, epsilon=1.0),
        {"alpha": [0.0, 1e-3]},
        epsilon=6.0,
        delta=1e-5,
        scoring="neg_log_loss",
        random_state=0,
    )
    found = search.fit(X, y)
    assert found.best_estimator_.coef_.shape == (4, 12)


def test_it_obeys_the_laws_of_fits():
    X, y = data(n=300)
    audit.check_estimator_privacy(model(random_state=None, recipe=recipes.DualAveraging(steps=3)), X, y)


def test_shapes_without_classes_are_those_of_two():
    prepared = plan_fit(model().request(), Shape(n_rows=100, n_features=5))
    assert prepared.facts.target.n_classes == 2
    assert prepared.loss == Logistic()


def test_a_form_for_many_classes_of_a_foreign_loss_is_not_used():
    """It was not tried on made-up rows: it could let rows see each other."""

    @dataclass(frozen=True)
    class Own(Logistic):
        pass

    prepared = prepared_for(model(loss=Own()), 3000, 12, sparse=False, models=4)
    assert (prepared.models, prepared.loss) == (4, Own())
