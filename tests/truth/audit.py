"""Statistical audits: what a sample proves about the privacy or the law of a mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import beta, chi2, kstest, norm

#: Two-sided bounds at this many standard errors fail a right mechanism with probability 5.7e-7.
SIGMAS = 5.0
#: Tests that compare a p-value with this one raise a false alarm with this probability.
ALARM = 5e-7


class Stream:
    """Stands in for `Randomness` where many draws are needed: one seeded generator for all of them."""

    secure = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def generator(self) -> np.random.Generator:
        return self._generator


def mu_lower(present: np.ndarray, absent: np.ndarray, alarm: float = ALARM) -> float:
    """A lower bound on mu from outputs in two worlds; too high with probability at most `alarm`.

    A threshold is chosen on half of the runs. On the other half Clopper-Pearson bounds hold for the two error rates.
    """
    thresholds = np.quantile(np.concatenate([present[::2], absent[::2]]), np.linspace(0.1, 0.9, 81))
    best = max(thresholds, key=lambda t: _certain_mu(present[::2] > t, absent[::2] > t, alarm))
    return _certain_mu(present[1::2] > best, absent[1::2] > best, alarm)


def _certain_mu(hits: np.ndarray, false_hits: np.ndarray, alarm: float) -> float:
    """Distance of two normal laws that hits and false hits prove, each by its Clopper-Pearson bound."""
    k, j = int(hits.sum()), int(false_hits.sum())
    low = beta.ppf(alarm / 2, k, hits.size - k + 1) if k else 0.0
    high = beta.ppf(1 - alarm / 2, j + 1, false_hits.size - j) if j < false_hits.size else 1.0
    return float(norm.ppf(low) - norm.ppf(high))


def log_odds_shift(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Shift of the log-odds of a yes/no outcome between two worlds, and its standard error."""
    a, b = before.mean(), after.mean()
    error = math.sqrt(1 / (before.size * a * (1 - a)) + 1 / (after.size * b * (1 - b)))
    return math.log(b / (1 - b)) - math.log(a / (1 - a)), error


def p_value(counts: Sequence[float] | np.ndarray, expected: Sequence[float] | np.ndarray) -> float:
    """Chi-square p-value of counts against expected probabilities, rare cells pooled."""
    counts, expected = np.asarray(counts, float), np.asarray(expected, float) * np.sum(counts)
    rare = expected < 20
    if rare.any():
        counts = np.r_[counts[~rare], counts[rare].sum()]
        expected = np.r_[expected[~rare], expected[rare].sum()]
    keep = expected > 0
    assert not counts[~keep].any(), "an outcome of probability zero was seen"
    return float(chi2.sf(np.sum((counts[keep] - expected[keep]) ** 2 / expected[keep]), keep.sum() - 1))


def ks_p_value(sample: np.ndarray, cdf: object) -> float:
    """Kolmogorov-Smirnov p-value of a sample against a continuous law."""
    return float(kstest(sample, cdf).pvalue)
