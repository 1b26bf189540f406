"""Law: the default is never much worse than a constant, and its probabilities are calibrated.

Fixed seeds, so nothing here fails by chance; `benchmarks/safety.py` has the whole grid.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.core import HopelessFitWarning

ROWS = 500


def drawn(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Indicators of unequal frequency, and a score of five of them."""
    rng = np.random.default_rng([seed, n, d])
    X = (rng.uniform(size=(n + ROWS, d)) < rng.uniform(0.05, 0.5, d)).astype(float)
    score = (X - X.mean(0))[:, :5] @ [1, -1, 0.6, 0.6, -1]
    return X, score / score.std(), rng


@pytest.mark.parametrize(
    ("n", "d", "epsilon", "sparsity"),
    [(60, 20, 1.0, None), (150, 115, 4.0, 5), (400, 115, 1.0, None), (400, 400, 1.0, 5), (200, 2000, 1.0, None)],
)
def test_no_regression_explodes(n, d, epsilon, sparsity):
    errors = []
    for seed in range(4):
        X, score, rng = drawn(n, d, seed)
        y = score + 0.6 * rng.standard_normal(len(score))
        model = SparseRegressor(
            epsilon=epsilon,
            delta=1e-6,
            feature_bound=(0.0, 1.0),
            target_bound=4.0,
            sparsity=sparsity,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HopelessFitWarning)
            model.fit(X[:n], y[:n])
        errors.append(float(np.mean((model.predict(X[n:]) - y[n:]) ** 2) / np.var(y[n:])))
    assert max(errors) < 2.5
    assert np.mean(errors) < 1.35


@pytest.mark.parametrize(("n", "d", "epsilon", "sparsity"), [(50, 115, 0.5, 5), (400, 115, 1.0, None)])
def test_no_model_of_classes_is_far_worse_than_the_class_share(n, d, epsilon, sparsity):
    losses = []
    for seed in range(4):
        X, score, rng = drawn(n, d, seed)
        y = (rng.uniform(size=len(score)) < 1 / (1 + np.exp(0.7 - 2 * score))).astype(int)
        model = SparseClassifier(
            epsilon=epsilon, delta=1e-6, feature_bound=(0.0, 1.0), classes=[0, 1], sparsity=sparsity, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HopelessFitWarning)
            model.fit(X[:n], y[:n])
        margins, truth = model.decision_function(X[n:]), y[n:]
        share = truth.mean()
        constant = -(share * np.log(share) + (1 - share) * np.log(1 - share))
        losses.append(float(np.mean(np.logaddexp(0, margins) - truth * margins)) / constant)
    assert max(losses) < 2
    assert np.mean(losses) < 1.2


@pytest.mark.parametrize("sparsity", [None, 3])
def test_classes_of_few_records_are_learned_where_they_can_be_and_cost_little_where_not(sparsity):
    """150 records at epsilon 1, where no scale can be asked; without a signal what is shrunk is noise."""
    ratios = {strength: [] for strength in (0.0, 6.0)}
    for strength, found in ratios.items():
        for seed in range(12):
            rng = np.random.default_rng([seed, 150])
            X = rng.uniform(-1, 1, (150 + ROWS, 8))
            y = (rng.uniform(size=len(X)) < 1 / (1 + np.exp(-strength * (X[:, 0] - X[:, 1])))).astype(int)
            model = SparseClassifier(
                epsilon=1.0, delta=1e-6, feature_bound=1.0, classes=[0, 1], sparsity=sparsity, random_state=seed
            ).fit(X[:150], y[:150])
            assert np.count_nonzero(model.coef_) <= (sparsity or 8)
            margins, truth = model.decision_function(X[150:]), y[150:]
            found.append(float(np.mean(np.logaddexp(0, margins) - truth * margins)) / np.log(2))
    assert np.mean(ratios[0.0]) < 1.05
    assert np.mean(ratios[6.0]) < 0.9  # 1 is a constant


@pytest.mark.parametrize("recipe", ["auto", "select_polish", "dual_averaging"])
@pytest.mark.parametrize("shift", [-0.3, -2.2])
def test_probabilities_of_a_true_model_are_calibrated(recipe, shift):
    """The slope of the truth on the log-odds by one Newton step from 1, and the mean probability over the share."""
    rng = np.random.default_rng(0)
    n, d = 12_000, 10
    X = rng.uniform(-1, 1, (2 * n, d))
    y = (rng.uniform(size=2 * n) < 1 / (1 + np.exp(-(X @ np.linspace(-1.5, 1.5, d) + shift)))).astype(int)
    model = SparseClassifier(
        epsilon=4.0, delta=1e-6, feature_bound=1.0, classes=[0, 1], recipe=recipe, random_state=0
    ).fit(X[:n], y[:n])
    margins, truth = model.decision_function(X[n:]), y[n:]
    p = 1 / (1 + np.exp(-margins))
    basis, bend = np.column_stack([margins, np.ones(n)]), p * (1 - p)
    slope = 1 + np.linalg.solve((basis * bend[:, None]).T @ basis, basis.T @ (truth - p))[0]
    within = {"auto": 0.07, "select_polish": 0.2, "dual_averaging": 0.15}[recipe]
    assert abs(slope - 1) < within
    assert abs(p.mean() / truth.mean() - 1) < {"auto": 0.04, "select_polish": 0.1, "dual_averaging": 0.1}[recipe]


@pytest.mark.parametrize("make", [SparseRegressor, SparseClassifier])
@pytest.mark.parametrize("recipe", ["auto", "tables", "select_polish", "dual_averaging"])
def test_a_hopeless_fit_warns_and_releases_the_constant_alone(make, recipe):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (60, 8))
    y = X[:, 0] if make is SparseRegressor else (X[:, 0] > 0).astype(int)
    options = {"target_bound": 1.0} if make is SparseRegressor else {"classes": [0, 1]}
    model = make(epsilon=0.3, delta=1e-6, feature_bound=1.0, recipe=recipe, random_state=0, **options)
    with pytest.warns(HopelessFitWarning, match="only the constant is released"):
        model.fit(X, y)
    assert not np.any(model.coef_)
    assert [ask.name for ask in model.statement_.asks] == ["start"]


def test_a_hopeless_fit_of_many_classes_releases_their_shares_alone():
    rng = np.random.default_rng(2)
    X, y = rng.uniform(-1, 1, (300, 8)), rng.choice(4, 300, p=[0.7, 0.1, 0.1, 0.1])
    model = SparseClassifier(epsilon=0.5, delta=1e-6, feature_bound=1.0, classes=[0, 1, 2, 3], random_state=0)
    with pytest.warns(HopelessFitWarning, match="only the constant is released"):
        model.fit(X, y)
    assert not np.any(model.coef_)
    assert [ask.name for ask in model.statement_.asks] == ["start"]
    shares = model.predict_proba(X[:1])[0]
    assert shares[0] > 0.5
    np.testing.assert_allclose(shares, np.bincount(y) / 300, atol=0.15)


@pytest.mark.parametrize(("target", "most"), [("numbers", 1.15), ("classes", 1.06), ("many", 1.06)])
def test_dual_averaging_of_few_documents_is_about_as_good_as_a_constant(target, most):
    """With 50 documents it was 1.05 to 1.4 times as bad."""
    errors = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 50])
        X = (rng.uniform(size=(50 + ROWS, 800)) < np.minimum(0.9, 5 / (np.arange(800) + 3.0))).astype(float)
        X /= np.sqrt(np.maximum(X.sum(axis=1, keepdims=True), 1.0))
        given = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0, "recipe": "dual_averaging", "random_state": seed}
        score = X[:, :100] @ rng.standard_normal(100)
        score = (score - score.mean()) / score.std() + 0.3 * rng.standard_normal(len(score))
        y = score if target == "numbers" else np.searchsorted([0.4] if target == "classes" else [-1, 0, 0.8], score)
        make = SparseRegressor(target_bound=4.0, **given)
        if target != "numbers":
            make = SparseClassifier(classes=list(range(int(y.max()) + 1)), **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HopelessFitWarning)
            model = make.fit(sparse.csr_matrix(X[:50]), y[:50])
        rows, truth = sparse.csr_matrix(X[50:]), y[50:]
        if target == "numbers":
            errors.append(float(np.mean((model.predict(rows) - truth) ** 2) / np.var(truth)))
            continue
        shares = np.bincount(truth) / len(truth)
        logs = np.log(model.predict_proba(rows)[np.arange(len(truth)), truth])
        errors.append(float(logs.mean() / (shares * np.log(shares)).sum()))
    assert np.mean(errors) < most


@pytest.mark.parametrize(("part", "epsilon", "most"), [(0.02, 4.0, 0.15), (0.05, 4.0, 0.05), (0.05, 1.0, 0.4)])
def test_sparsity_that_is_told_of_rare_indicators_does_no_harm(part, epsilon, most):
    """Selections missed what whole gradients find, and the finish dropped one of four good models."""
    n, d = 5000, 300
    errors = []
    for seed in range(4):
        rng = np.random.default_rng(7000 + seed)
        X = (rng.uniform(size=(n + ROWS, d)) < part).astype(float)
        w = np.zeros(d)
        w[rng.permutation(d)[:10]] = rng.choice([-1, 1], 10) * rng.uniform(0.5, 1, 10)
        score = (X - X.mean(0)) @ w
        score /= score.std()
        y = score + 0.5 * rng.standard_normal(len(score))
        model = SparseRegressor(
            epsilon=epsilon,
            delta=1e-6,
            feature_bound=(0.0, 1.0),
            target_bound=4.0,
            sparsity=10,
            random_state=seed,
        ).fit(X[:n], y[:n])
        errors.append(float(np.mean((model.predict(X[n:]) - score[n:]) ** 2)))
    assert np.mean(errors) < most
    assert max(errors) < 0.7
