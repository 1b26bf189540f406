"""The papers' loops with the noise of the papers' own theorems. **NOT PRIVATE as claimed**: see `benchmarks.as_published`.

Nothing is clipped, and constants that a theorem leaves open are 1. Step lengths are measured in units of one over the largest curvature
on as many columns as are kept, which is read from the rows, as a grid search on the data reads it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.as_published.dp_gcd import equation_2
from benchmarks.as_published.dp_ight import corollary_5_6, corollary_5_8
from benchmarks.as_published.dp_scsg_ht import theorem_5_1
from benchmarks.as_published.dp_sgd_ht import theorem_4_1
from benchmarks.as_published.frank_wolfe import printed_scale
from benchmarks.as_published.label_ldp_iht import theorem_5
from dpsparse.ops import hard_threshold

from .cases import Case


def slope(case: Case, X: Any, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Mean gradient of the loss on some rows."""
    margin = np.asarray(X @ w).ravel()
    return np.asarray(X.T @ ((expit(margin) if case.task == "classification" else margin) - y)).ravel() / y.size


def largest_curvature(case: Case, rows: int = 4000) -> float:
    """Largest eigenvalue of the mean loss's curvature on the s columns of largest norm."""
    X, s = case.X[:rows], min(case.sparsity or case.X.shape[1], case.X.shape[1])
    squares = X.multiply(X) if hasattr(X, "multiply") else X.astype(float) ** 2
    kept = np.argsort(-np.asarray(squares.sum(axis=0)).ravel(), kind="stable")[:s]
    X = X[:, kept].astype(float)
    v = np.full(kept.size, 1 / math.sqrt(kept.size))
    value = 1.0
    for _ in range(20):
        v = np.asarray(X.T @ (X @ v)).ravel() / X.shape[0]
        value = float(np.linalg.norm(v))
        v /= max(value, 1e-300)
    return value * (0.25 if case.task == "classification" else 1.0) + (case.alpha if case.penalty == "l2" else 0.0)


def thresholded(
    case: Case,
    X: Any,
    y: np.ndarray,
    *,
    steps: int,
    step_size: float,
    sigma: float = 0.0,
    ridge: float = 0.0,
    seed: int = 0,
) -> np.ndarray:
    """IGHT, with normal noise on the mean gradient where sigma is above 0."""
    w, rng = np.zeros(X.shape[1]), np.random.default_rng(seed)
    s = min(case.sparsity or w.size, w.size)
    for _ in range(steps):
        g = slope(case, X, y, w) + ridge * w
        if sigma > 0:
            g = g + sigma * rng.standard_normal(w.size)
        w = hard_threshold(w - step_size * g, s, 0)
    return w


def dp_ight(case: Case, epsilon: float, delta: float, seed: int, point: int, steps: int = 20) -> np.ndarray:
    """Corollaries 5.6 (linear, with the true norm of the coefficients) and 5.8 (logistic); step 2^-(point - 1)."""
    norm = case.bounds["row_norm"]
    if case.task == "classification":
        sigma = corollary_5_8(case.rows, steps, norm, epsilon, delta)
    else:
        assert case.truth is not None
        signal, s = float(np.linalg.norm(case.truth)), case.truth.size and int(np.count_nonzero(case.truth))
        sigma = corollary_5_6(case.rows, steps, s, norm, signal, math.sqrt(0.1), epsilon, delta)
    step = 2.0 ** (1 - point) / largest_curvature(case)
    return thresholded(case, case.X, case.y, steps=steps, step_size=step, sigma=sigma, seed=seed)


def frank_wolfe(case: Case, epsilon: float, delta: float, seed: int, point: int) -> np.ndarray:
    """T = 0.5 s, s or 1.5 s steps on the ball of the true radius; Laplace noise on the scores, sensitivity of add-remove."""
    assert case.truth is not None
    assert case.sparsity is not None
    steps = max(1, round((0.5, 1.0, 1.5)[point - 1] * case.sparsity))
    radius, rng = float(np.abs(case.truth).sum()), np.random.default_rng(seed)
    reach = float(np.max(np.abs(case.bounds["feature_bound"]))) * case.bounds.get("target_bound", 1.0)
    scale = printed_scale(steps, epsilon, delta) * radius * reach / case.rows
    w = np.zeros(case.X.shape[1])
    for turn in range(1, steps + 1):
        g = radius * slope(case, case.X, case.y, w)
        scores = np.concatenate([-g, g]) + scale * rng.laplace(size=2 * g.size)
        best = int(np.argmax(scores))
        w *= 1 - 2 / (turn + 2)
        w[best % g.size] += 2 / (turn + 2) * radius * (1.0 if best < g.size else -1.0)
    return w


def dpsl_kt(case: Case, epsilon: float, delta: float, seed: int, point: int) -> np.ndarray:
    """Theorem 4.3 with lambda = 10^(point - 7) sqrt(s log d log(1/delta))/(n epsilon); public rows, or U(-1, 1)."""
    rng, d, s = np.random.default_rng(seed), case.X.shape[1], case.sparsity or 1
    ridge = 10.0 ** (point - 7) * math.sqrt(s * math.log(d) * math.log(1 / delta)) / (case.rows * epsilon)
    curvature = largest_curvature(case)
    teacher = thresholded(case, case.X, case.y, steps=50, step_size=1 / (curvature + ridge), ridge=ridge)
    public = rng.uniform(-1, 1, (case.rows, d)) if case.public is None else case.public
    entry = float(np.max(np.abs(case.bounds.get("feature_bound", case.bounds["row_norm"]))))
    gamma = entry if case.task == "classification" else math.sqrt(s) * entry**2
    spread = 1 / 3 if case.public is None else curvature
    strength = gamma * math.sqrt(8 * public.shape[0] * spread * s * math.log(2.5 / delta))
    labels = np.asarray(public @ teacher).ravel()
    labels = labels + strength / (case.rows * epsilon * ridge) * rng.standard_normal(labels.size)
    student = Case(public, labels, "regression", case.bounds, s)
    step = 0.5 / largest_curvature(student)
    return thresholded(student, public, labels, steps=50, step_size=step)


def dp_gcd(case: Case, epsilon: float, delta: float, seed: int, point: int) -> np.ndarray:
    """Algorithm 1 (l2) or 2 with GS-r (l1): T of 2, 4, 10, 20 by the first four points, then with a step twice as long.

    Coordinate-wise constants as in the paper: M_j from the data, clips L_j in proportion to the square root of M_j, at the largest
    entry of a mean row's gradient.
    """
    steps, length = (2, 4, 10, 20)[(point - 1) % 4], (1.0, 2.15)[(point - 1) // 4]
    rng, X, n = np.random.default_rng(seed), case.X, case.rows
    squares = X.multiply(X) if hasattr(X, "multiply") else X**2
    M = np.asarray(squares.mean(axis=0)).ravel() * (0.25 if case.task == "classification" else 1.0)
    M = np.maximum(M, 1e-3 * M.max()) + (case.alpha if case.penalty == "l2" else 0.0)
    L = np.sqrt(M) * (2.0 if case.task == "classification" else float(np.std(case.y)))
    scale, w = 2 * L / (n * equation_2(epsilon, delta, steps)), np.zeros(X.shape[1])
    for _ in range(steps):
        margin = np.asarray(X @ w).ravel()
        slopes = (expit(margin) if case.task == "classification" else margin) - case.y
        g = np.asarray(X.T @ slopes).ravel() / n + (case.alpha * w if case.penalty == "l2" else 0.0)
        noisy = g + scale * rng.laplace(size=g.size)
        shrink = case.alpha if case.penalty == "l1" else 0.0
        moved = _soft(w - noisy / M, shrink / M) - w
        j = int(np.argmax(np.sqrt(M) * np.abs(moved)))
        value = g[j] + scale[j] * rng.laplace()
        w[j] = _soft(w[j] - length * value / M[j], length * shrink / M[j])
    return w


def _soft(v: Any, by: Any) -> Any:
    return np.sign(v) * np.maximum(np.abs(v) - by, 0.0)


def label_ldp_iht(case: Case, epsilon: float, delta: float, seed: int, point: int) -> np.ndarray:
    """Theorem 5's noise for C = 0.05 on every label, the sign that descends, a normal start, T = ceil(log(n/p)), step 0.2 or 0.1."""
    rng, (n, p) = np.random.default_rng(seed), case.X.shape
    reported = case.y + theorem_5(0.05, epsilon, delta) * rng.standard_normal(n)
    w, s = rng.standard_normal(p), case.sparsity or p
    X = case.X.astype(np.float32)
    for _ in range(max(1, math.ceil(math.log(n / p)))):
        w = hard_threshold(w + (0.2, 0.1)[point - 1] / n * (X.T @ (reported - X @ w)), s, 0)
        w = w / max(1.0, float(np.linalg.norm(w)))
    return w


def sgd_ht(case: Case, epsilon: float, delta: float, seed: int, point: int, passes: int = 20) -> np.ndarray:
    """DP-SGD-HT: Theorem 4.1 with l the bound on a gradient, batches of a tenth of the rows, step 10^(2 - point)."""
    batch = max(1, case.rows // 10)
    steps = passes * 10
    sigma = theorem_4_1(case.rows, steps, lipschitz(case), epsilon, delta)
    rng, w = np.random.default_rng(seed), np.zeros(case.X.shape[1])
    for _ in range(steps):
        few = rng.permutation(case.rows)[:batch]
        g = slope(case, case.X[few], case.y[few], w) + case.alpha * w + sigma * rng.standard_normal(w.size)
        w = hard_threshold(w - 10.0 ** (2 - point) * g, case.sparsity or w.size, 0)
    return w


def scsg_ht(case: Case, epsilon: float, delta: float, seed: int, point: int, epochs: int = 10) -> np.ndarray:
    """DP-SCSG-HT, option II: Theorem 5.1, snapshots of half of the rows, ten inner steps each, step 10^(2 - point)."""
    batch, inner = case.rows // 2, max(1, case.rows // 20)
    first, second = (lipschitz(case) * sigma for sigma in theorem_5_1(case.rows, batch, inner, epochs, epsilon, delta))
    rng, w, s = np.random.default_rng(seed), np.zeros(case.X.shape[1]), case.sparsity or case.X.shape[1]
    for _ in range(epochs):
        few = rng.permutation(case.rows)[:batch]
        anchor = w
        snapshot = slope(case, case.X[few], case.y[few], anchor) + first * rng.standard_normal(w.size)
        for _ in range(batch // inner):
            some = rng.permutation(case.rows)[:inner]
            X, y = case.X[some], case.y[some]
            change = slope(case, X, y, w) - slope(case, X, y, anchor) + second * rng.standard_normal(w.size)
            w = hard_threshold(w - 10.0 ** (2 - point) * (snapshot + change + case.alpha * w), s, 0)
    return w


def lipschitz(case: Case) -> float:
    """A bound on the norm of a row's gradient at typical residuals, from the declared bounds."""
    largest = float(np.max(np.abs(case.bounds["feature_bound"]))) if "feature_bound" in case.bounds else math.inf
    norm = min(case.bounds.get("row_norm", math.inf), largest * math.sqrt(case.X.shape[1]))
    return norm * (1.0 if case.task == "classification" else float(case.bounds["target_bound"]))
