"""Knowledge transfer from a stable teacher."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from builders import Rows, prepared_for
from dpsparse import SparseClassifier, SparseRegressor, load
from dpsparse.algorithms.transfer import Auxiliary, student
from dpsparse.core import PrivacyLeakError
from dpsparse.oracles import ExactOracle
from dpsparse.recipes import DPSLKT, get


def easy(n=2000, d=30, task="regression", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    w = np.zeros(d)
    w[[2, 11, 23]] = 1.0, -0.8, 0.6
    if task == "regression":
        return X, X @ w + 0.5 + 0.05 * rng.standard_normal(n), w
    return X, (rng.random(n) < 1 / (1 + np.exp(-4 * (X @ w)))).astype(int), w


def estimator(recipe, task="regression", **options):
    options = {"epsilon": 1.0, "delta": 1e-5, "sparsity": 3, "feature_bound": 1.0, "recipe": recipe, **options}
    return SparseClassifier(**options) if task == "classification" else SparseRegressor(target_bound=3.0, **options)


def twin(est, X, y):
    """The same solver on the exact oracle."""
    prepared = prepared_for(est, *X.shape, sparse=sp.issparse(X), models=1)
    rows = Rows(X, np.asarray(y, float), prepared.facts, lattice=False)
    w = prepared.solver.run(ExactOracle(rows, est.request().loss, prepared.plan, np.random.default_rng(0)))
    return w[: X.shape[1]]


@pytest.mark.parametrize("release", ["theta", "labels"])
@pytest.mark.parametrize("mechanism", ["dense", "peel"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_known_support_is_found(release, mechanism, sparse):
    X, y, w = easy(6000)
    model = estimator(DPSLKT(release=release, mechanism=mechanism), epsilon=8.0, random_state=0)
    model.fit(sp.csr_matrix(X) if sparse else X, y)
    assert list(model.support_) == [2, 11, 23]
    np.testing.assert_allclose(model.coef_[model.support_], w[[2, 11, 23]], atol=0.25)


@pytest.mark.parametrize("release", ["theta", "labels"])
@pytest.mark.parametrize("intercept", [False, True])
def test_at_a_huge_epsilon_coefficients_are_those_of_the_exact_oracle(release, intercept):
    X, y, _ = easy(4000)
    est = estimator(DPSLKT(release=release), epsilon=1e4, random_state=1, fit_intercept=intercept)
    exact = twin(est, X, y)
    assert np.linalg.norm(est.fit(X, y).coef_ - exact) <= 0.01 * np.linalg.norm(exact)


def test_at_a_huge_epsilon_a_classifier_has_the_objective_of_the_exact_oracle():
    X, y, _ = easy(4000, task="classification")
    est = estimator(DPSLKT(), "classification", epsilon=1e4, random_state=1)
    exact, private = twin(est, X, y), est.fit(X, y).coef_.ravel()

    def loss(w):
        return np.logaddexp(0, -(2 * y - 1) * (X @ w)).mean()

    assert loss(private) <= 1.01 * loss(exact)


def test_the_student_of_a_logistic_teacher_has_log_odds_for_coefficients():
    X, y, w = easy(40000, task="classification")
    for release in ("theta", "labels"):
        model = estimator(DPSLKT(release=release, ridge=1e-3), "classification", epsilon=50.0, random_state=2).fit(X, y)
        np.testing.assert_allclose(model.coef_.ravel(), 4 * w, atol=0.5)


def test_noise_on_labels_is_never_better_than_noise_on_the_teacher():
    """With correlated public rows it is far worse."""
    X, y, _ = easy(3000)
    rng = np.random.default_rng(0)
    public = rng.standard_normal((3000, 30)) * 0.1 + rng.standard_normal((3000, 1))
    exact = twin(estimator(DPSLKT(ridge=0.05, mechanism="peel"), epsilon=4.0), X, y)
    error = {}
    for name, recipe in {
        "theta": DPSLKT(ridge=0.05, mechanism="peel"),
        "labels": DPSLKT(ridge=0.05, mechanism="peel", release="labels"),
        "correlated": DPSLKT(ridge=0.05, mechanism="peel", release="labels", auxiliary=public, steps=2000),
    }.items():
        found = [estimator(recipe, epsilon=4.0, random_state=s).fit(X, y).coef_ for s in range(12)]
        error[name] = math.sqrt(np.mean([np.sum((f - exact) ** 2) for f in found]))
    assert error["theta"] < 1.2 * error["labels"]
    assert error["correlated"] > 3 * error["labels"]


# ------------------------------------------------------------------------------------------------ public rows


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_public_matrix_is_used_and_named_among_the_assumptions(kind):
    X, y, _ = easy(1500)
    public = kind(np.random.default_rng(5).uniform(-1, 1, (400, 30)))
    model = estimator(DPSLKT(release="labels", auxiliary=public), epsilon=20.0).fit(X, y)
    assert list(model.support_) == [2, 11, 23]
    assert any("(400, 30) is public" in a for a in model.statement_.assumptions)
    assert not any("is public" in a for a in estimator(DPSLKT()).fit(X, y).statement_.assumptions)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_the_private_rows_are_not_taken_for_public_ones(kind):
    X, y, _ = easy(200)
    X = kind(X)
    for auxiliary in (X, X[:50]) if kind is np.asarray else (X,):
        for recipe in (DPSLKT(release="labels", auxiliary=auxiliary), get("dpsl_kt@paper")(auxiliary=auxiliary)):
            with pytest.raises(PrivacyLeakError, match=r"brings rows: .*auxiliary.* holds X itself"):
                estimator(recipe).fit(X, y)


def test_drawn_rows_come_from_a_public_seed_and_keep_their_bound():
    from dpsparse.core.facts import Facts

    facts = Facts(n_rows=100, n_features=5, intercept=0.3)
    support = np.array([0, 3, 5])
    one = Auxiliary(rows=50, bound=1.0).design(facts, support)
    np.testing.assert_array_equal(one, Auxiliary(rows=50, bound=1.0).design(facts, support))
    assert not np.array_equal(one, Auxiliary(rows=50, bound=1.0, seed=1).design(facts, support))
    assert np.linalg.norm(one[:, :2], axis=1).max() <= 1.0 + 1e-12
    assert set(one[:, 2]) == {0.3}


def test_a_matrix_with_other_columns_is_refused():
    X, y, _ = easy(50)
    with pytest.raises(ValueError, match="30 columns"):
        estimator(DPSLKT(release="labels", auxiliary=np.ones((5, 4)))).fit(X, y)
    with pytest.raises(TypeError, match="public matrix"):
        DPSLKT(auxiliary=[1, 2, 3])


def test_a_model_file_names_a_public_matrix_and_does_not_hold_it(tmp_path):
    X, y, _ = easy(300)
    public = np.random.default_rng(1).standard_normal((40, 30))
    model = estimator(DPSLKT(release="labels", auxiliary=public)).fit(X, y)
    model.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").stat().st_size < 20_000
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="does not hold it"):
        again.fit(X, y)


@pytest.mark.parametrize(
    "given", [np.ones((5, 30)), "uniform", lambda generator, rows, columns: np.ones((rows, columns))]
)
def test_rows_that_nobody_would_look_at_are_refused(given):
    with pytest.raises(ValueError, match="release='labels' only"):
        DPSLKT(auxiliary=given, auxiliary_bound=1.0)
    with pytest.raises(ValueError, match="release='labels' only"):
        DPSLKT(auxiliary_rows=100)


def test_rows_are_drawn_from_the_law_that_was_named_or_given():
    from dpsparse.core.facts import Facts

    facts = Facts(n_rows=100, n_features=5)
    support = np.array([0, 3])

    def threes(generator, rows, columns):
        return np.full((rows, columns), 3.0)

    made = {
        law: Auxiliary.of(law, facts, rows=200, bound=10.0, seed=1, entry=2.0) for law in ("normal", "uniform", threes)
    }
    uniform = made["uniform"].design(facts, support)
    assert np.abs(uniform).max() <= 1.0
    assert np.abs(uniform).max() > 0.9
    assert 1.5 < np.abs(made["normal"].design(facts, support)).max() <= 2.0
    np.testing.assert_array_equal(made[threes].design(facts, support), np.full((200, 2), 2.0))
    with pytest.raises(ValueError, match="auxiliary_bound"):
        DPSLKT(release="labels", auxiliary=threes)
    with pytest.raises(ValueError, match="of shape"):
        Auxiliary.of(lambda *_: np.ones((1, 1)), facts, rows=200, bound=1.0, seed=0).design(facts, support)


def test_the_threshold_of_the_student_acts_on_more_columns_than_it_keeps():
    X, y, _ = easy(6000)
    est = estimator(DPSLKT(release="labels"), epsilon=8.0, random_state=0)
    assert prepared_for(est, *X.shape, sparse=False, models=1).solver.screening.count == 5
    model = est.fit(X, y)
    assert list(model.support_) == [2, 11, 23]


def test_the_student_solves_sparse_least_squares():
    rng = np.random.default_rng(0)
    design, truth = rng.standard_normal((200, 20)), np.zeros(20)
    truth[[1, 5, 19]] = 1.0, -2.0, 0.1
    np.testing.assert_allclose(student(design, design @ truth, 2, 1, 200), truth, atol=1e-6)


def test_theory_has_the_constants_of_the_paper():
    with pytest.warns(UserWarning, match="more than the 1000"):
        recipe = DPSLKT.from_theory(
            n_rows=800, n_features=1000, epsilon=1.0, delta=0.01, true_sparsity=10, entry_bound=1.0, classification=True
        )
    assert recipe.ridge == pytest.approx(math.sqrt(math.sqrt(10 * math.log(1000) * math.log(100)) / 800))
    assert recipe.sparsity == 1000, "the condition on s is void at this n"
    big = DPSLKT.from_theory(
        n_rows=10, n_features=10**6, epsilon=0.1, delta=1e-9, true_sparsity=1, entry_bound=0.1, classification=True
    )
    assert 1 < big.sparsity < 100
