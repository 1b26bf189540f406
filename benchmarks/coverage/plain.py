"""Estimates without privacy, and intervals from noisy second moments, which is the usual private way."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import norm


def least_squares(X: np.ndarray, y: np.ndarray, person: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Least squares with an intercept, last, and standard errors that are robust: of rows, or of persons who count alike."""
    D, w = _weighted(X, person)
    inverse = np.linalg.inv((D * w).T @ D)
    b = inverse @ ((D * w).T @ y)
    return b, _errors(inverse, D * w * (y - D @ b)[:, None], person)


def _weighted(X: np.ndarray, person: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a constant, last, and the weight of each."""
    w = np.ones(len(X)) if person is None else 1 / np.bincount(person)[person]
    return np.column_stack([X, np.ones(len(X))]), w[:, None]


def _errors(inverse: np.ndarray, scores: np.ndarray, person: np.ndarray | None) -> np.ndarray:
    if person is not None:
        scores = np.add.reduceat(scores, np.flatnonzero(np.diff(person, prepend=-1)), axis=0)
    return np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))


def logistic(X: np.ndarray, y: np.ndarray, person: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The same for classes, or for their probabilities."""
    D, w = _weighted(X, person)
    b = np.zeros(D.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(D @ b, -30, 30)))
        inverse = np.linalg.inv((D * w * (p * (1 - p))[:, None]).T @ D + 1e-9 * np.eye(D.shape[1]))
        step = inverse @ ((D * w).T @ (y - p))
        b = b + step
        if np.abs(step).max() < 1e-8:
            break
    return b, _errors(inverse, D * w * (y - p)[:, None], person)


def noisy_moments(X: np.ndarray, y: np.ndarray, bound: float, mu: float, rng: np.random.Generator) -> float:
    """Mean half-width of intervals from noisy second moments of (x, y) on half of the rows, the usual way, at the same budget."""
    half = rng.random(len(y)) < 0.5
    D = np.column_stack([np.ones(half.sum()), X[half]])
    p = D.shape[1]
    Q = math.sqrt(1.25 * p)
    t = bound / Q
    z = np.column_stack([D, np.clip(y[half], -bound, bound) / t])
    longest = math.sqrt(2) * Q
    w = np.minimum(1, longest**2 / np.sum(z**2, axis=1))
    sigma = math.sqrt(2) * longest**2 / mu
    noise = np.triu(rng.standard_normal((p + 1, p + 1)), 1) / math.sqrt(2)
    T = (z * w[:, None]).T @ z + sigma * (noise + noise.T + np.diag(rng.standard_normal(p + 1)))
    inverse = np.linalg.inv(T[:p, :p])
    b = inverse @ T[:p, p]
    s2 = max((T[p, p] - 2 * b @ T[:p, p] + b @ T[:p, :p] @ b) / half.sum(), 1e-6)
    V = inverse @ (s2 * T[:p, :p] + sigma**2 / 2 * ((1 + b @ b) * np.eye(p) + np.outer(b, b))) @ inverse
    return float(norm.isf(0.025) * t * np.mean(np.sqrt(np.maximum(np.diag(V)[1:], 0))))
