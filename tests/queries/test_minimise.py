"""Certified minimisers: right, certified, and the same for sparse and dense rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from builders import Rows
from dpsparse import SparseRegressor
from dpsparse.accounting import price
from dpsparse.core import Ask, Budget, Noise, Plan, PrivacyError
from dpsparse.core.facts import Clip, Facts
from dpsparse.core.mechanisms import Randomness
from dpsparse.losses import Custom, Huber, KnownLink, Logistic, Poisson, Squared
from dpsparse.oracles import make_oracle
from dpsparse.queries.kinds import PerturbedMinimum, RidgeMinimum
from dpsparse.queries.minimisers import minimise
from dpsparse.queries.minimisers.minimise import Problem, Public, convex, minimiser, refuse_condition
from dpsparse.recipes import DPSLKT, TwoStage
from dpsparse.rows.hosts import MemoryHost

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


# ------------------------------------------------------------------------------------------------ bad conditions


def exact_slope(loss, m, y):
    """Slopes in long double."""
    if loss.name == "logistic":
        return 1 / (1 + np.exp(-m)) - y
    if loss.name == "poisson":
        top = np.longdouble(loss.margin_bound)
        return np.exp(np.minimum(m, top)) - np.clip(y, 0, np.exp(top))
    return m - y if loss.name == "squared" else np.clip(m - y, -loss.threshold, loss.threshold)


def bent(loss, rng):
    """A problem on nearly collinear rows at any allowed condition, and what is public about it."""
    n, d, K = int(rng.choice([3, 50, 300])), int(rng.integers(2, 7)), 10.0 ** rng.uniform(-3, 4)
    X = rng.normal(size=(n, 1)) + rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-9, 0)
    bound = 10.0 ** rng.uniform(-3, 6)
    y = rng.integers(0, 2, n).astype(float) if loss.classes else rng.choice([-bound, bound], n)
    facts = Facts(n_rows=n, n_features=d, lower=-K, upper=K, row_norm=K * d**0.5, target_bound=max(bound, 1.0))
    rows = Rows(X / np.abs(X).max() * K, y, facts)
    clip, curvature = Clip(10.0 ** rng.uniform(-3, 3)), convex(loss).curvature
    ridge = n * curvature * d * K**2 / 10.0 ** rng.uniform(2, 8)
    scale = 10.0 ** rng.uniform(-3, 3) * clip.norm
    public = Public(clip, K * d**0.5, ridge, curvature, d, n, scale * (d**0.5 + 10))
    tilt = rng.normal(size=d) * scale
    return Problem.of(rows.support_rows(np.arange(d), K * d**0.5), convex(loss), clip, ridge, tilt), public


@EVERY_LOSS
def test_the_certificate_holds_at_any_condition_that_is_allowed(loss, monkeypatch):
    """In long double, and within few gradients: neither an answer nor a time depends on how rows are bent."""
    rng, asked = np.random.default_rng(7), []
    gradient = Problem.gradient
    monkeypatch.setattr(Problem, "gradient", lambda self, theta: (asked.append(1), gradient(self, theta))[1])
    for _ in range(40):
        problem, public = bent(loss, rng)
        public.check()
        asked.clear()
        found = minimiser(problem, public.tolerance())
        assert found is not None
        assert len(asked) < 200
        theta = found.astype(np.longdouble)
        [part] = problem.rows
        with np.errstate(over="ignore"):
            m = np.asarray(part.x).astype(np.longdouble) @ theta
            limit = public.clip.norm / np.maximum(part.norms, 1e-300)
            slope = np.clip(exact_slope(loss, m, part.y.astype(np.longdouble)), -limit, limit)
        true = problem.ridge * theta + problem.tilt + np.asarray(part.x).T @ slope
        assert np.linalg.norm(true.astype(float)) <= public.tolerance()


def test_tolerances_count_what_margins_round():
    """Four times (k + 8) half ulps of Q (nL + B); at least a part of the sum itself."""
    public = Public(Clip(2.0), row_norm=3.0, ridge=1e-3, curvature=0.25, size=5, n_rows=1000, tilt=50.0)
    assert public.condition == pytest.approx(1000 * 0.25 * 9.0 / 1e-3)
    assert public.tolerance() == pytest.approx(4 * 13 * 2.0**-53 * public.condition * 2050.0)
    easy = replace(public, ridge=1e3)
    assert easy.tolerance() == pytest.approx(1e-10 * 2000)
    assert replace(easy, n_rows=10).tolerance() == pytest.approx(1e-8 * 2.0)


def test_bad_conditions_are_refused_before_anything_is_charged():
    refuse_condition(0.99e8)
    with pytest.raises(PrivacyError, match="the ridge is too small"):
        refuse_condition(1.01e8)
    with pytest.raises(PrivacyError, match="the ridge is too small"):
        refuse_condition(float("nan"))
    for recipe in (TwoStage(ridge=1e-9), DPSLKT(ridge=1e-9)):
        model = SparseRegressor(feature_bound=1.0, target_bound=1.0, recipe=recipe)
        with pytest.raises(PrivacyError, match="the ridge is too small"):
            model.plan(1000, 20)


@pytest.mark.parametrize("kind", [PerturbedMinimum, RidgeMinimum])
def test_an_oracle_refuses_bad_conditions_before_it_charges(kind):
    noise = Noise.OBJECTIVE if kind is PerturbedMinimum else Noise.GAUSSIAN
    plan = Plan(asks=(Ask(name="a", noise=noise, offset=50.0 if kind is PerturbedMinimum else 0.0),))
    facts = Facts(n_rows=3, n_features=2)
    oracle = make_oracle(
        MemoryHost(np.ones((3, 2)), np.ones(3), facts), Squared(), price(plan, Budget.approx(80.0, 1e-5)), Randomness(0)
    )
    with pytest.raises(PrivacyError, match="the ridge is too small"):
        oracle.answer(kind(np.arange(2), Clip(1.0), 1.0, 1e-9), "a")
    assert oracle.unused_turns == {"a": 1}
