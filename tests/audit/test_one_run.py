"""One fit with many canaries: the bound is the theorem's, right fits pass, and fits with too little noise do not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom

from dpsparse import SparseClassifier, SparseRegressor, audit, recipes
from dpsparse.audit import one_run_epsilon, one_run_p_value
from dpsparse.oracles import central

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (100, 400))
y = 0.1 * X[:, 0]
RECIPE = recipes.DPIGHT(mechanism="dense", steps=1, sparsity=400)


def test_the_number_printed_in_the_paper():
    assert one_run_epsilon(1000, 100, 75, 1e-4, 0.95) == pytest.approx(0.673, abs=5e-4)


def test_without_delta_it_is_a_binomial_tail():
    assert one_run_p_value(50, 20, 15, 1.0, 0.0) == pytest.approx(binom.sf(14, 20, 1 / (1 + np.exp(-1.0))))


def test_the_term_of_delta_is_the_steepest_mean_slope():
    f = [binom.sf(v - 1, 20, 0.5) for v in range(21)]
    slope = max((f[15 - i] - f[15]) / i for i in range(1, 16))
    assert one_run_p_value(50, 20, 15, 0.0, 1e-3) == pytest.approx(f[15] + 2 * 50 * 1e-3 * slope)


def test_randomised_response_is_not_accused_more_often_than_stated():
    """It is the worst case of the theorem. Of 400 audits at confidence 0.9 more than 75 would be wrong with probability below 1e-6."""
    generator = np.random.default_rng(1)
    right = generator.binomial(60, 1 / (1 + np.exp(-1.0)), 400)
    assert sum(one_run_epsilon(60, 60, int(v), 0.0, 0.9) > 1.0 for v in right) <= 75


@pytest.mark.parametrize("v", [0, 10, 15, 20])
def test_more_right_guesses_and_less_delta_prove_more(v):
    assert one_run_epsilon(40, 20, v, 1e-6) <= one_run_epsilon(40, 20, min(20, v + 1), 1e-6)
    assert one_run_epsilon(40, 20, v, 1e-2) <= one_run_epsilon(40, 20, v, 1e-6)


def regressor(**options):
    return SparseRegressor(
        epsilon=1.0, delta=1e-5, feature_bound=1.0, target_bound=1.0, recipe=RECIPE, fit_intercept=False, **options
    )


@pytest.mark.parametrize("access", ["model", "answers"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_right_fit_passes_and_one_with_little_noise_is_caught(adjacency, access, monkeypatch):
    """Same fit, same canaries, a thousandth of the noise: nearly all guesses are right."""
    model = regressor(adjacency=adjacency, n_rows=100 if adjacency == "add-remove" else None, random_state=2)
    found = audit.one_run(model, X, y, canaries=90, access=access, confidence=1 - 1e-6, seed=3)
    assert found.verdict == "no violation found"
    ordinary = central.lattice_gaussian
    monkeypatch.setattr(central, "lattice_gaussian", lambda q, scale, r: ordinary(q, scale / 1000, r))
    found = audit.one_run(model, X, y, canaries=90, access=access, confidence=0.99, seed=3)
    assert found.correct >= 28
    assert found.epsilon > 1.2
    assert found.verdict == "VIOLATED"


def test_classifiers_and_sparse_rows():
    model = SparseClassifier(epsilon=1.0, delta=1e-5, feature_bound=1.0, recipe=RECIPE, classes=("no", "yes"))
    labels = np.where(y > 0, "yes", "no")
    for data in (X, sp.csr_matrix(X)):
        found = audit.one_run(model, data, labels, canaries=30, seed=0, confidence=1 - 1e-7)
        assert (found.canaries, found.guesses) == (30, 10)
        assert found.epsilon <= found.claimed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"canaries": 5, "guesses": 6}, "1 <= guesses <= canaries"),
        ({"access": "loss"}, "access must be"),
    ],
    ids=["guesses", "access"],
)
def test_what_makes_no_sense_is_refused_before_the_fit(options, message):
    with pytest.raises(ValueError, match=message):
        audit.one_run(regressor(), X, y, **options)


def test_classes_must_be_declared():
    with pytest.raises(ValueError, match="declare classes"):
        audit.one_run(SparseClassifier(feature_bound=1.0), X, y > 0)


def test_a_baseline_has_nothing_to_audit():
    with pytest.raises(ValueError, match="nothing to audit"):
        audit.one_run(SparseRegressor(feature_bound=1.0, target_bound=1.0, recipe="ight"), X, y, canaries=4)


def test_it_prints_and_has_plain_values():
    found = audit.OneRun(1.5, 1e-5, 1.0, 90, 30, 29, 0.95, "replace-one")
    assert "29 of 30 guesses right" in str(found)
    assert found.to_dict()["violated"]
