"""Certified minimisers: right, certified, and the same for sparse and dense rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from builders import Rows
from dpsparse.facts import Clip, Facts
from dpsparse.losses import Custom, Huber, KnownLink, Logistic, Poisson, Squared
from dpsparse.privacy import PrivacyError
from dpsparse.statistics import minimise
from dpsparse.statistics.convex import convex
from dpsparse.statistics.minimise import Problem, minimiser

LOSSES = [Squared(), Huber(threshold=0.4), Logistic(), Poisson(margin_bound=2.0)]
EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def rows_of(loss, n=300, d=6, *, sparse=False, intercept=0.0, shift=0.0, scale=1.0, lattice=True):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, d)) * (rng.random((n, d)) < 0.6) * scale
    y = X @ rng.uniform(-1, 1, d) + 0.3 * rng.standard_normal(n)
    y = (y > 0).astype(float) if loss.classes else np.rint(np.abs(y) * 2) if loss.name == "poisson" else y
    facts = Facts(n_rows=n, n_features=d, row_norm=3.0, target_bound=10.0, intercept=intercept, shift=shift)
    return Rows(sp.csr_matrix(X) if sparse else X, y, facts, lattice=lattice), X, y


def problem_of(rows, loss, support, clip, ridge=2.0, tilt=None, norm=3.0):
    parts = rows.support_rows(support, norm)
    return Problem.of(parts, convex(loss), clip, ridge, np.zeros(support.size) if tilt is None else tilt)


@EVERY_LOSS
def test_the_minimiser_is_that_of_a_general_optimiser(loss):
    rows, X, y = rows_of(loss, lattice=False)
    support, tilt = np.array([0, 2, 5]), np.array([1.0, -4.0, 2.0])
    problem = problem_of(rows, loss, support, None, tilt=tilt)
    found = minimiser(problem, 1e-8)

    def objective(theta):
        m = X[:, support] @ theta
        gradient = X[:, support].T @ loss.slope(m, y) + 2.0 * theta + tilt
        return loss.value(m, y).sum() + theta @ theta + tilt @ theta, gradient

    expected = minimize(objective, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 1000}).x
    np.testing.assert_allclose(found, expected, atol=1e-5)


@EVERY_LOSS
def test_every_record_keeps_within_its_bounds(loss):
    """Gradients within L and curvatures within beta_0 K^2, at any point, for any record: what the proofs rest on."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((20, 4)) * 10.0 ** rng.uniform(-9, 6, (20, 1)), np.zeros(4), [np.nan, 1, 1, 1]])
    y = np.r_[rng.choice([0.0, 1.0, 1e12, -1e12], 20), np.inf, 1.0]
    facts = Facts(n_rows=22, n_features=4, row_norm=5.0, lower=-4.0, upper=4.0, target_bound=1e9, intercept=1.0)
    rows = Rows(X, y, facts)
    clip, K = Clip(0.7, slope=0.5), 1.5
    [part] = rows.support_rows(np.array([0, 3, 4]), K)
    assert np.linalg.norm(part.x, axis=1).max() <= K
    assert not part.x[-2:].any(), "a record with a non-finite value is empty"
    problem = problem_of(rows, loss, np.array([0, 3, 4]), clip, norm=K)
    for _ in range(20):
        theta = rng.standard_normal(3) * 10.0 ** rng.uniform(-2, 3)
        [slope], [bend] = problem.slopes(problem.margins(theta)), problem.bends(problem.margins(theta))
        assert np.abs(slope).max() <= 0.5
        assert (np.abs(slope) * np.linalg.norm(part.x, axis=1)).max() <= 0.7 * (1 + 1e-12)
        assert bend.max() <= convex(loss).curvature
        assert bend.min() >= 0


@pytest.mark.parametrize("shift", [0.0, 0.25])
@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_sparse_and_dense_rows_have_the_same_minimiser(shift, intercept):
    support = np.array([1, 4, 6, 0] if intercept else [1, 4, 0])
    found = [
        minimiser(
            problem_of(
                rows_of(Squared(), sparse=s, intercept=intercept, shift=shift)[0],
                Squared(),
                support,
                Clip(0.5, slope=0.4),
                norm=0.8,
            ),
            1e-8,
        )
        for s in (False, True)
    ]
    np.testing.assert_allclose(*found, atol=1e-3)  # lattices differ by half a unit


@EVERY_LOSS
def test_the_slow_method_alone_reaches_its_tolerance_in_its_proven_number_of_steps(loss, monkeypatch):
    rows, *_ = rows_of(loss)
    problem = problem_of(rows, loss, np.arange(6), Clip(0.5, slope=0.4))
    fast = minimiser(problem, 1e-6)
    monkeypatch.setattr(minimise, "NEWTON_STEPS", 0)
    slow = minimiser(problem, 1e-6)
    for found in (fast, slow):
        assert np.linalg.norm(problem.gradient(found)) <= 1e-6
    assert np.linalg.norm(fast - slow) <= 2 * 1e-6 / problem.ridge


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: loss.name)
def test_conjugate_gradients_find_the_same_minimiser(loss, monkeypatch):
    rows, *_ = rows_of(loss, sparse=True)
    problem = problem_of(rows, loss, np.arange(6), Clip(2.0, slope=1.0))
    formed = minimiser(problem, 1e-8)
    monkeypatch.setattr(minimise, "FORMED", 0)
    np.testing.assert_allclose(minimiser(problem, 1e-8), formed, atol=1e-8)


def test_hard_problems_are_certified():
    """Huge tilts, slopes that are all clipped, hardly any ridge."""
    rng = np.random.default_rng(1)
    rows, *_ = rows_of(Squared(), scale=1e-3)
    for ridge in (1e-4, 1e-1, 1e3):
        for size in (1.0, 1e4):
            problem = problem_of(
                rows, Squared(), np.arange(6), Clip(1e-2, slope=1e-2), ridge, size * rng.standard_normal(6)
            )
            tau = 1e-10 * 300 * 1e-2 + 1e-12 * size
            found = minimiser(problem, tau)
            assert found is not None
            assert np.linalg.norm(problem.gradient(found)) <= tau


@pytest.mark.parametrize(
    "loss",
    [
        KnownLink("tanh"),
        *(
            Custom(derivative=lambda m, y: m - y, curvature=1.0, name=n)
            for n in ("squared", "logistic", "huber", "poisson")
        ),
    ],
    ids=lambda loss: loss.name,
)
def test_losses_without_a_proof_are_refused(loss):
    with pytest.raises(PrivacyError, match="stability proof"):
        convex(loss)


@pytest.mark.parametrize("ridge", [0.0, -1.0, np.nan, np.inf])
def test_a_minimum_without_a_ridge_is_refused(ridge):
    rows, *_ = rows_of(Squared())
    with pytest.raises(PrivacyError, match="positive ridge"):
        problem_of(rows, Squared(), np.arange(6), Clip(1.0), ridge)


def test_a_curvature_that_a_caller_declares_is_not_believed():
    for loss, curvature in ((Logistic, 0.25), (Squared, 1.0)):
        with pytest.raises(TypeError, match="curvature"):
            loss(curvature=1e-9)
        assert convex(loss()).curvature == curvature
