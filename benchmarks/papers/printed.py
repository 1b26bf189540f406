"""The papers' loops with the noise of the papers' own theorems. **NOT PRIVATE as claimed**: see `benchmarks.as_published`.

At an infinite epsilon the noise is off. Nothing is clipped but in DP-GCD, whose paper does, and constants that a theorem leaves open
are 1. Step lengths of 000 are measured in units of one over the largest curvature on as many columns as are kept, which is read from the
rows, as a grid search on the data reads it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.as_published.dp_gcd import equation_2
from benchmarks.as_published.dp_ight import corollary_5_6, corollary_5_8, theorem_5_2
from benchmarks.as_published.dp_scsg_ht import theorem_5_1
from benchmarks.as_published.dp_sgd_ht import theorem_4_1
from benchmarks.as_published.frank_wolfe import printed_scale
from benchmarks.as_published.label_ldp_iht import theorem_5
from dpsparse.ops import hard_threshold

from .cases import Ask, Case


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


def dp_ight(case: Case, ask: Ask) -> np.ndarray:
    """Corollaries 5.6 (linear, with the true norm of the coefficients), 5.8 (logistic), Theorem 5.2 (linear without a truth); steps over the curvature."""
    return _full_batch(case, ask, ask.at["step"] / largest_curvature(case))


def gd_ht(case: Case, ask: Ask) -> np.ndarray:
    """DP-GD-HT of paper 004, which is DP-IGHT: the same noise, steps as that paper counts them."""
    return _full_batch(case, ask, step_of(case, ask))


def step_of(case: Case, ask: Ask) -> float:
    """004: the squared loss stands there without its 1/2, so that a step is twice as long."""
    return float(ask.at["step"]) * (2.0 if case.task == "regression" else 1.0)


def _full_batch(case: Case, ask: Ask, step: float) -> np.ndarray:
    norm, steps = lipschitz(case), ask.at["steps"]
    if case.task == "classification":
        sigma = corollary_5_8(case.rows, steps, norm, ask.epsilon, ask.delta)
    elif case.truth is not None:
        signal, s = float(np.linalg.norm(case.truth)), int(np.count_nonzero(case.truth))
        norm = case.bounds["row_norm"]
        sigma = corollary_5_6(case.rows, steps, s, norm, signal, math.sqrt(0.1), ask.epsilon, ask.delta)
    else:
        sigma = theorem_5_2(case.rows, steps, norm, ask.epsilon, ask.delta)
    return thresholded(case, case.X, case.y, steps=steps, step_size=step, sigma=sigma, ridge=case.alpha, seed=ask.seed)


def frank_wolfe(case: Case, ask: Ask) -> np.ndarray:
    """T = 0.5 s, s or 1.5 s steps on the ball of the true radius; Laplace noise on the scores, sensitivity of add-remove."""
    assert case.truth is not None
    assert case.sparsity is not None
    steps = max(1, round(ask.at["steps over s"] * case.sparsity))
    radius, rng = float(np.abs(case.truth).sum()), np.random.default_rng(ask.seed)
    reach = float(np.max(np.abs(case.bounds["feature_bound"]))) * case.bounds.get("target_bound", 1.0)
    scale = printed_scale(steps, ask.epsilon, ask.delta) * radius * reach / case.rows
    w = np.zeros(case.X.shape[1])
    for turn in range(1, steps + 1):
        g = radius * slope(case, case.X, case.y, w)
        scores = np.concatenate([-g, g]) + scale * rng.laplace(size=2 * g.size)
        best = int(np.argmax(scores))
        w *= 1 - 2 / (turn + 2)
        w[best % g.size] += 2 / (turn + 2) * radius * (1.0 if best < g.size else -1.0)
    return w


def dpsl_kt(case: Case, ask: Ask, *, squared: bool = True) -> np.ndarray:
    """Theorem 4.3; c sqrt(s log d log(1/delta))/(n epsilon) is the square of lambda (Theorem 4.5), or lambda itself (section 5).

    Public rows, or U(-1, 1). With the noise off, lambda is that of epsilon 1.
    """
    rng, d, s = np.random.default_rng(ask.seed), case.X.shape[1], case.sparsity or 1
    epsilon = ask.epsilon if math.isfinite(ask.epsilon) else 1.0
    ridge = 10.0 ** ask.at["log10 c"] * math.sqrt(s * math.log(d) * math.log(1 / ask.delta)) / (case.rows * epsilon)
    ridge = math.sqrt(ridge) if squared else ridge
    curvature = largest_curvature(case)
    teacher = thresholded(case, case.X, case.y, steps=50, step_size=1 / (curvature + ridge), ridge=ridge)
    public = rng.uniform(-1, 1, (case.rows, d)) if case.public is None else case.public
    entry = float(np.max(np.abs(case.bounds.get("feature_bound", case.bounds["row_norm"]))))
    gamma = entry if case.task == "classification" else math.sqrt(s) * entry**2
    spread = 1 / 3 if case.public is None else curvature
    strength = gamma * math.sqrt(8 * public.shape[0] * spread * s * math.log(2.5 / ask.delta))
    labels = np.asarray(public @ teacher).ravel()
    labels = labels + strength / (case.rows * ask.epsilon * ridge) * rng.standard_normal(labels.size)
    student = Case(public, labels, "regression", case.bounds, s)
    step = 0.5 / largest_curvature(student)
    return thresholded(student, public, labels, steps=50, step_size=step)


def dp_gcd(case: Case, ask: Ask) -> np.ndarray:
    """Algorithm 1 (l2) or 2 with GS-r (l1), as in the paper: M_j from the data, entries of a record's gradient clipped at C sqrt(M_j/tr M)."""
    steps, rng, n = int(ask.at["passes"]), np.random.default_rng(ask.seed), case.rows
    M = squared_columns(case)
    clip = ask.at["clip"] * np.sqrt(M / M.sum())
    epsilon = math.inf if math.isinf(ask.epsilon) else equation_2(ask.epsilon, ask.delta, steps)
    scale, w = 2 * clip / (n * epsilon), np.zeros(case.X.shape[1])
    shrink = case.alpha if case.penalty == "l1" else 0.0
    for _ in range(steps):
        g = clipped_slope(case, w, clip) + (case.alpha * w if case.penalty == "l2" else 0.0)
        noisy = g + scale * rng.laplace(size=g.size)
        j = int(np.argmax(np.sqrt(M) * np.abs(_soft(w - noisy / M, shrink / M) - w)))
        value, length = g[j] + scale[j] * rng.laplace(), ask.at["step"]
        w[j] = _soft(w[j] - length * value / M[j], length * shrink / M[j])
    return w


def squared_columns(case: Case) -> np.ndarray:
    """Coordinate-wise smoothness: the mean square of each column, times a quarter for the logistic loss, with the ridge."""
    squares = case.X.multiply(case.X) if hasattr(case.X, "multiply") else case.X**2
    M = np.asarray(squares.mean(axis=0)).ravel() * (0.25 if case.task == "classification" else 1.0)
    return np.maximum(M + (case.alpha if case.penalty == "l2" else 0.0), 1e-12)


def clipped_slope(case: Case, w: np.ndarray, clip: np.ndarray) -> np.ndarray:
    """Mean of the records' gradients, each entry of which is clipped."""
    X = case.X
    margin = np.asarray(X @ w).ravel()
    off = (expit(margin) if case.task == "classification" else margin) - case.y
    if not hasattr(X, "indptr"):
        return np.asarray(np.mean(np.clip(X * off[:, None], -clip, clip), axis=0))
    entries = X.data * np.repeat(off, np.diff(X.indptr))
    limit = clip[X.indices]
    return np.bincount(X.indices, weights=np.clip(entries, -limit, limit), minlength=w.size) / case.rows


def _soft(v: Any, by: Any) -> Any:
    return np.sign(v) * np.maximum(np.abs(v) - by, 0.0)


def label_ldp_iht(case: Case, ask: Ask, *, ball: bool = True) -> np.ndarray:
    """Theorem 5's noise for C = 0.05 on every label, the sign that descends, a normal start, T = ceil(log(n/p)); without the ball T = 60."""
    rng, (n, p) = np.random.default_rng(ask.seed), case.X.shape
    reported = case.y + theorem_5(0.05, ask.epsilon, ask.delta) * rng.standard_normal(n)
    w, s = rng.standard_normal(p), case.sparsity or p
    target = case.X.T.astype(np.float32) @ reported / n
    for _ in range(max(1, math.ceil(math.log(n / p))) if ball else 60):
        w = hard_threshold(w + ask.at["step"] * (target - case.moments @ w), s, 0)
        w = w / max(1.0, float(np.linalg.norm(w))) if ball else w
    return w


def sgd_ht(case: Case, ask: Ask) -> np.ndarray:
    """DP-SGD-HT: Theorem 4.1 with l the bound on a gradient, batches of a part of the rows."""
    part, steps = ask.at["part of the rows, steps"]
    sigma = theorem_4_1(case.rows, steps, lipschitz(case), ask.epsilon, ask.delta)
    rng, w, step = np.random.default_rng(ask.seed), np.zeros(case.X.shape[1]), step_of(case, ask)
    for _ in range(steps):
        g = slope(case, *_sample(case, part, rng), w) + case.alpha * w + sigma * rng.standard_normal(w.size)
        w = hard_threshold(w - step * g, case.sparsity or w.size, 0)
    return w


def scsg_ht(case: Case, ask: Ask) -> np.ndarray:
    """DP-SCSG-HT, option II: Theorem 5.1, J snapshots of B rows, B/b inner steps on b rows after each."""
    part, few, epochs = ask.at["B/n, b/n, J"]
    batch, inner = round(part * case.rows), round(few * case.rows)
    noise = theorem_5_1(case.rows, batch, inner, epochs, ask.epsilon, ask.delta)
    first, second = (lipschitz(case) * sigma for sigma in noise)
    rng, w, step = np.random.default_rng(ask.seed), np.zeros(case.X.shape[1]), step_of(case, ask)
    for _ in range(epochs):
        anchor = w
        snapshot = slope(case, *_sample(case, part, rng), anchor) + first * rng.standard_normal(w.size)
        for _ in range(max(1, batch // inner)):
            X, y = _sample(case, few, rng)
            change = slope(case, X, y, w) - slope(case, X, y, anchor) + second * rng.standard_normal(w.size)
            w = hard_threshold(w - step * (snapshot + change + case.alpha * w), case.sparsity or w.size, 0)
    return w


def _sample(case: Case, part: float, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """A part of the rows, without replacement."""
    if part == 1.0:
        return case.X, case.y
    few = rng.permutation(case.rows)[: max(1, round(part * case.rows))]
    return case.X[few], case.y[few]


def lipschitz(case: Case) -> float:
    """A bound on the norm of a row's gradient at typical residuals, from the declared bounds."""
    largest = float(np.max(np.abs(case.bounds["feature_bound"]))) if "feature_bound" in case.bounds else math.inf
    norm = min(case.bounds.get("row_norm", math.inf), largest * math.sqrt(case.X.shape[1]))
    return norm * (1.0 if case.task == "classification" else float(case.bounds["target_bound"]))
