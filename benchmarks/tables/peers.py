"""What the default is compared with: simple private methods with exact Gaussian accounting, and models without privacy.

A method is a function of a table, epsilon, delta and a generator that returns a `Linear`; it is listed in `methods`.
Replace-one throughout. Only `dpgd` and `boosted_adassp` look at the held-out rows: they are what a lucky or dishonest tuner would get.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.tables.purse import gaussian_mu
from benchmarks.tables.scores import Linear, scores
from benchmarks.tables.sets import Array, Table

#: Momentum, constant column and least number of steps of `dpgd`.
MOMENTUM, CONSTANT, STEPS = 0.9, 0.3, 40


def sparse(table: Table) -> bool:
    """Whether rows are those of a text: sparse, not negative, and at most 1 long."""
    return bool(sp.issparse(table.X))


def scaled(table: Table) -> tuple[Any, Array, Array]:
    """Columns clipped to their bounds, in units of their half-width from their midpoint; midpoints; half-widths.

    Sparse rows stay as they are.
    """
    if sparse(table):
        return table.X, np.zeros(table.X.shape[1]), np.ones(table.X.shape[1])
    middle, half = (table.lower + table.upper) / 2, np.maximum((table.upper - table.lower) / 2, 1e-12)
    return (np.clip(table.X, table.lower, table.upper) - middle) / half, middle, half


def unscaled(coef: Array, intercept: float, middle: Array, half: Array, note: str = "") -> Linear:
    """Back to the user's units."""
    return Linear(coef / half, intercept - float(middle @ (coef / half)), note)


def constant(table: Table, epsilon: float, delta: float, rng: np.random.Generator) -> Linear:
    """The mean, or the log-odds of the class shares; not private."""
    share = float(np.clip(np.mean(table.y), 1e-6, 1 - 1e-6)) if table.kind == "classification" else 0.5
    level = float(np.mean(table.y)) if table.kind == "regression" else math.log(share / (1 - share))
    return Linear(np.zeros(table.X.shape[1]), level)


def nonprivate(table: Table, epsilon: float, delta: float, rng: np.random.Generator) -> Linear:
    """Ridge by leave-one-out, or logistic regression with a penalty chosen on a fifth of the training rows."""
    from sklearn.linear_model import LogisticRegression, RidgeCV

    X, middle, half = scaled(table)
    if sparse(table):
        mean, sd, Z, strengths = middle, half, X, (0.1, 1.0, 10.0, 100.0)
    else:
        mean, sd = X.mean(0), np.maximum(X.std(0), 1e-9)
        Z, strengths = (X - mean) / sd, (1e-3, 1e-2, 0.1, 1.0)
    if table.kind == "regression":
        best = RidgeCV(alphas=np.geomspace(0.1, 1e4, 11)).fit(Z, table.y)
        coef, intercept = best.coef_, float(best.intercept_)
    else:
        order = rng.permutation(table.y.size)
        held, kept = order[: order.size // 5], order[order.size // 5 :]

        def held_loss(strength: float) -> float:
            m = LogisticRegression(C=strength, max_iter=300).fit(Z[kept], table.y[kept])
            z = m.decision_function(Z[held])
            return float(np.mean(np.logaddexp(0, z) - table.y[held] * z))

        model = LogisticRegression(C=min(strengths, key=held_loss), max_iter=300).fit(Z, table.y)
        coef, intercept = model.coef_[0], float(model.intercept_[0])
    coef = coef / sd
    return unscaled(coef, intercept - float(mean @ coef), middle, half)


def adassp(table: Table, epsilon: float, delta: float, rng: np.random.Generator) -> Linear:
    """Adaptive sufficient statistics (Wang 2018): smallest eigenvalue, X'X and X'y with Gaussian noise; 5, 60, 35 %."""
    return _boosted(table, gaussian_mu(epsilon, delta), rng, rounds=1, clip=1.0, shares=(0.05, 0.6, 0.35))


def boosted_adassp(table: Table, epsilon: float, delta: float, rng: np.random.Generator) -> Linear:
    """Boosted AdaSSP (Tang et al. 2023): the best on the held-out rows of six settings (rounds, clip of residuals).

    The first clip of 1, with 100 rounds, is the setting of its authors, whose code does not divide the noise by mu.
    """
    mu, best = gaussian_mu(epsilon, delta), (math.inf, constant(table, epsilon, delta, rng))
    for rounds, clip in product((100, 10), (1.0, 0.3, 0.1)):
        model = _boosted(table, mu, rng, rounds=rounds, clip=clip, shares=(0.05, 0.35, 0.6))
        best = min(best, (scores(model, table)["main"], model), key=lambda pair: pair[0])
    return best[1]


def _boosted(
    table: Table,
    total: float,
    rng: np.random.Generator,
    *,
    rounds: int,
    clip: float,
    shares: tuple[float, float, float],
) -> Linear:
    """Rounds of least squares on clipped residuals with one noisy X'X; a round is AdaSSP.

    `shares` of mu squared: smallest eigenvalue, X'X, and all X'r together; `clip` counts half-widths of the target.
    """
    X, middle, half = scaled(table)
    n, d = X.shape
    reach = math.sqrt(d)
    Z = np.hstack([X / reach, np.full((n, 1), 0.5)])
    y = np.clip(table.y - table.center, -table.bound, table.bound)
    longest = 1.25  # squared length of a row of Z, at most
    mu = [total * math.sqrt(share) for share in shares]
    gram = Z.T @ Z
    least = float(np.linalg.eigvalsh(gram)[0]) + longest / mu[0] * (rng.standard_normal() - 1.96)
    noise = rng.standard_normal((d + 1, d + 1))
    sd = math.sqrt(2) * longest / mu[1]  # Frobenius sensitivity of one row replaced
    gram = gram + sd / math.sqrt(2) * (noise + noise.T) / math.sqrt(2)
    ridge = max(0.0, sd / math.sqrt(2) * 2 * math.sqrt(d + 1) - max(0.0, least))
    most, w = clip * table.bound, np.zeros(d + 1)
    for _ in range(rounds):
        residual = np.clip(y - Z @ w, -most, most)
        scale = 2 * math.sqrt(longest * rounds) * most / mu[2]
        w = w + np.linalg.solve(gram + ridge * np.eye(d + 1), Z.T @ residual + scale * rng.standard_normal(d + 1))
    return unscaled(w[:d] / reach, 0.5 * float(w[d]) + table.center, middle, half)


def dpgd(table: Table, epsilon: float, delta: float, rng: np.random.Generator, by: str = "main") -> Linear:
    """DP gradient descent with momentum: the best on the held-out rows of 27 settings (row length, clip, path length).

    `by`: the score that decides which is the best.
    """
    X, middle, half = scaled(table)
    linear = table.kind == "regression"
    clips = table.bound * np.array([1 / 3, 1 / 10, 1 / 30]) if linear else np.array([0.25, 0.5, 1.0])
    pairs = np.array(list(product(clips, (0.5, 1.0, 2.0))))
    y = np.clip(table.y - table.center, -table.bound, table.bound) if linear else table.y
    size = sp.linalg.norm(X, axis=1) if sparse(table) else np.linalg.norm(X, axis=1)
    best: tuple[float, Linear] | None = None
    for part in (1.0, 0.5, 0.25):
        length = part * (1.0 if sparse(table) else math.sqrt(X.shape[1]))
        shrink = np.minimum(1, length / np.maximum(size, 1e-12)) / length
        Z = sp.diags(shrink) @ X if sparse(table) else X * shrink[:, None]
        W = _descents(Z, y, linear, gaussian_mu(epsilon, delta), pairs[:, 0], pairs[:, 1], rng)
        for column, (clip, path) in zip(W.T, pairs, strict=True):
            start = table.center if linear else 0.0
            note = f"length {part:g} clip {clip:.3g} path {path:g}"
            model = unscaled(column[:-1] / length, CONSTANT * column[-1] + start, middle, half, note)
            error = scores(model, table)[by]
            if best is None or error < best[0]:
                best = error, model
    assert best is not None
    return best[1]


def _descents(Z: Any, y: Array, linear: bool, mu: float, clip: Array, path: Array, rng: np.random.Generator) -> Array:
    """Several descents side by side: one column of the result for each clip and path length."""
    n, d = Z.shape
    Z = (sp.hstack if sp.issparse(Z) else np.hstack)([Z, np.full((n, 1), CONSTANT)])
    Z = Z.tocsr() if sp.issparse(Z) else Z
    size = (sp.linalg.norm(Z, axis=1) if sp.issparse(Z) else np.linalg.norm(Z, axis=1))[:, None]
    curvature = 1.0 if linear else 0.25
    total = path * n * mu / 2 / (1.0 if linear else clip)
    steps = max(STEPS, min(400, math.ceil(float(total.max()) * curvature / 19)))
    total = np.minimum(total, 38 * steps / curvature)
    weights = 1 - np.arange(steps) / steps
    weights /= weights.sum()
    W, v = np.zeros((d + 1, clip.size)), np.zeros((d + 1, clip.size))
    for weight in weights:
        z = Z @ W
        r = z - y[:, None] if linear else 1 / (1 + np.exp(-np.clip(z, -35, 35))) - y[:, None]
        r *= np.minimum(1, clip / np.maximum(np.abs(r) * size, 1e-12))
        noise = 2 * clip / (n * mu * math.sqrt(weight)) * rng.standard_normal(W.shape)
        v = MOMENTUM * v + (1 - MOMENTUM) * (Z.T @ r / n + noise)
        W = W - weight * total * v
    return W
