"""Laws on the integers, from their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import laplace, norm


def rounded(cdf: Callable[[np.ndarray], np.ndarray], integers: np.ndarray) -> np.ndarray:
    """Probability that a continuous variable rounds to each integer."""
    return cdf(integers + 0.5) - cdf(integers - 0.5)


def rounded_gaussian(scale: float, integers: np.ndarray) -> np.ndarray:
    """Law of round(scale Z), Z standard normal."""
    return rounded(lambda x: norm.cdf(x, scale=scale), integers)


def rounded_laplace(scale: float, integers: np.ndarray) -> np.ndarray:
    """Law of round(scale L), L standard Laplace."""
    return rounded(lambda x: laplace.cdf(x, scale=scale), integers)


def discrete_gaussian(scale: float, integers: np.ndarray) -> np.ndarray:
    """P(z) proportional to exp(-z^2 / 2 scale^2)."""
    everywhere = np.arange(-40 * math.ceil(scale), 40 * math.ceil(scale) + 1)
    return np.exp(-(integers**2) / (2 * scale**2)) / np.sum(np.exp(-(everywhere**2) / (2 * scale**2)))


def exponential_mechanism(scores: Sequence[float], scale: float) -> np.ndarray:
    """P(j) proportional to exp(score_j / scale)."""
    weights = np.exp((np.asarray(scores) - max(scores)) / scale)
    return weights / weights.sum()


def peeling(scores: Sequence[float], scale: float) -> np.ndarray:
    """Probability of every ordered pair when two are selected one after the other, without replacement."""
    first = exponential_mechanism(scores, scale)
    pairs = np.outer(first, first) / (1 - first)[:, None]
    np.fill_diagonal(pairs, 0.0)
    return pairs


def permute_and_flip(scores: Sequence[float], scale: float) -> np.ndarray:
    """Its definition: take candidates in random order, accept each with exp((score - best) / scale), else go on."""
    accept = np.exp((np.asarray(scores, float) - max(scores)) / scale)

    def remaining(left: frozenset[int]) -> np.ndarray:
        law = np.zeros(accept.size)
        for j in left:
            law[j] += accept[j] / len(left)
            if accept[j] < 1:
                law += (1 - accept[j]) / len(left) * remaining(left - {j})
        return law

    return remaining(frozenset(range(accept.size)))
