"""The papers' loops of the studies with their noise off, each beside another transcription of the printed algorithm."""

import math

import numpy as np
import pytest
from benchmarks.papers import batch_of_one as one
from benchmarks.papers import printed
from benchmarks.papers.cases import Ask, Case
from scipy import sparse

N, D, S = 200, 15, 4


def case(task="regression", **more):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (N, D))
    truth = np.r_[rng.uniform(0.3, 1, S), np.zeros(D - S)]
    y = X @ truth + 0.05 * rng.standard_normal(N)
    if task == "classification":
        y = (y > 0).astype(int)
    return Case(X, y, task, {"row_norm": 4.0, "feature_bound": 1.0, "target_bound": 3.0}, S, truth, **more)


def off(**at):
    return Ask(math.inf, 1e-3, 0, at)


def keep(v, s):
    out = np.zeros_like(v)
    best = np.argsort(-np.abs(v), kind="stable")[:s]
    out[best] = v[best]
    return out


def mean_gradient(c, w, rows=slice(None)):
    margin = c.X[rows] @ w
    residual = (1 / (1 + np.exp(-margin)) if c.task == "classification" else margin) - c.y[rows]
    return c.X[rows].T @ residual / residual.size


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_full_batches_are_ight(task):
    c, w = case(task, alpha=0.01), np.zeros(D)
    for _ in range(20):
        w = keep(w - 0.5 * (mean_gradient(c, w) + 0.01 * w), S)
    step = 0.5 / (2 if task == "regression" else 1)
    np.testing.assert_allclose(printed.gd_ht(c, off(steps=20, step=step)), w, atol=1e-12)
    plan = {"part of the rows, steps": (1.0, 20), "step": step}
    np.testing.assert_allclose(printed.sgd_ht(c, off(**plan)), w, atol=1e-12)


def test_scsg_takes_snapshots():
    c, w = case("classification"), np.zeros(D)
    for _ in range(5):
        anchor = w
        w = keep(w - 0.5 * (mean_gradient(c, w) - mean_gradient(c, anchor) + mean_gradient(c, anchor)), S)
    np.testing.assert_allclose(printed.scsg_ht(c, off(**{"B/n, b/n, J": (1.0, 1.0, 5), "step": 0.5})), w, atol=1e-12)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_dp_gcd_clips_each_entry_and_moves_the_best_coordinate(penalty, stored):
    c = case("classification", alpha=0.02, penalty=penalty)
    M = 0.25 * np.mean(c.X**2, axis=0) + (0.02 if penalty == "l2" else 0)
    limit, w = np.sqrt(M / M.sum()), np.zeros(D)
    shrink = 0.02 if penalty == "l1" else 0.0
    for _ in range(10):
        rows = c.X * (1 / (1 + np.exp(-c.X @ w)) - c.y)[:, None]
        assert (np.abs(rows) > limit).any()
        g = np.clip(rows, -limit, limit).mean(axis=0) + (0.02 * w if penalty == "l2" else 0)
        to = [np.sign(v) * max(abs(v) - shrink / m, 0) for v, m in zip(w - g / M, M, strict=True)]
        j = int(np.argmax(np.sqrt(M) * np.abs(np.array(to) - w)))
        moved = w[j] - 0.5 * g[j] / M[j]
        w[j] = np.sign(moved) * max(abs(moved) - 0.5 * shrink / M[j], 0)
    rows = sparse.csr_matrix(c.X) if stored == "sparse" else c.X
    c = Case(rows, c.y, c.task, c.bounds, S, alpha=0.02, penalty=penalty)
    np.testing.assert_allclose(printed.dp_gcd(c, off(passes=10, clip=1.0, step=0.5)), w, atol=1e-12)


def test_noise_of_dp_gcd_grows_with_the_clip():
    """Laplace noise of scale 2 C_j/(n epsilon'): at a clip that no entry reaches, ten times the clip is ten times the noise."""
    c = case(alpha=0.01)
    exact = printed.dp_gcd(c, off(passes=1, clip=50.0, step=1.0))
    spread = [
        np.mean(
            [
                np.abs(printed.dp_gcd(c, Ask(1e3, 1e-3, k, {"passes": 1, "clip": clip, "step": 1.0})) - exact).max()
                for k in range(200)
            ]
        )
        for clip in (50.0, 500.0)
    ]
    assert 6 < spread[1] / spread[0] < 16  # means of 200 draws, each within a tenth


def test_label_ldp_iht_with_and_without_the_ball():
    c = case()
    start = np.random.default_rng(0)
    start.standard_normal(N)  # the noise of the labels comes first
    w = start.standard_normal(D)
    for _ in range(60):
        w = keep(w + 0.2 / N * c.X.T @ (c.y - c.X @ w), S)
    np.testing.assert_allclose(printed.label_ldp_iht(c, off(step=0.2), ball=False), w, atol=1e-4)
    assert np.linalg.norm(printed.label_ldp_iht(c, off(step=0.2))) <= 1 + 1e-6


def test_lambda_of_dpsl_kt_is_a_root_in_the_theorem_and_epsilon_cancels_in_section_5():
    """The noise has n epsilon lambda in its denominator: lambda of section 5 makes it the same at every epsilon."""
    c, at = case(), {"log10 c": 1}
    few, many = (printed.dpsl_kt(c, Ask(e, 1e-3, 0, at), squared=False) for e in (1.0, 1e6))
    assert np.linalg.norm(many - c.truth) > 0.3 * np.linalg.norm(few - c.truth)
    assert np.linalg.norm(printed.dpsl_kt(c, Ask(1e6, 1e-3, 0, at)) - c.truth) < 0.2 * np.linalg.norm(c.truth)


@pytest.mark.parametrize(("task", "penalty"), [("regression", "l1"), ("classification", "l2")])
def test_batches_of_one_are_the_steps_of_dp_sgd(task, penalty, monkeypatch):
    monkeypatch.setattr(one, "noise_over_clip", lambda *_: 0.0)
    c = case(task, alpha=0.05, penalty=penalty)
    found = one.batch_of_one(c, Ask(1.0, 1e-3, 7, {"passes": 2, "clip": 0.3, "step": 0.1}))
    rng = np.random.default_rng(7)
    counts = rng.binomial(N, 1 / N, 2 * N)
    order, w, place = rng.integers(0, N, counts.sum()), np.zeros(D), 0
    for count in counts:
        total = np.zeros(D)
        for row in order[place : place + count]:
            g = mean_gradient(c, w, [row])
            total += g * min(1, 0.3 / max(np.linalg.norm(g), 1e-300))
        place += count
        w = w - 0.1 * (total + (0.05 * w if penalty == "l2" else 0))
        w = np.sign(w) * np.maximum(np.abs(w) - (0.005 if penalty == "l1" else 0), 0)
    np.testing.assert_allclose(found, w, atol=1e-10)


def test_noise_of_batches_of_one_is_enough_by_another_accountant():
    """20 passes at (1, 1/n^2): dp-accounting's add-remove pair costs less than our replace-one, and not a quarter of it."""
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    n = 500
    sigma = one.noise_over_clip(n, 20 * n, 1.0, 1 / n**2)
    law = accounting.from_gaussian_mechanism(sigma, sampling_prob=1 / n, value_discretization_interval=1e-3)
    assert 0.25 < law.self_compose(20 * n).get_epsilon_for_delta(1 / n**2) < 1.0


def test_rows_that_are_stored_sparsely_are_not_walked_through():
    c = case()
    c = Case(sparse.csr_matrix(c.X), c.y, c.task, c.bounds, S)
    with pytest.raises(ValueError, match="not walked through"):
        one.batch_of_one(c, Ask(1.0, 1e-3, 0, {"passes": 2, "clip": 0.3, "step": 0.1}))
