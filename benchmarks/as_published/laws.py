"""Exact epsilons of small experiments: two probability laws, once or many times over."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from dpsparse.core.curves import gaussian_epsilon
from dpsparse.core.facts import Vector

__all__ = ["epsilon_of", "gaussian_epsilon", "hockey_stick", "repeated", "repeated_epsilon"]


def hockey_stick(p: Vector, q: Vector, epsilon: float) -> float:
    """Smallest delta at `epsilon` for outcomes of probabilities p against q."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def epsilon_of(p: Vector, q: Vector, delta: float) -> float:
    """Smallest epsilon at `delta`, in the worse of the two directions; infinite where no epsilon is enough."""
    return max(_one_way(p, q, delta), _one_way(q, p, delta))


def _one_way(p: Vector, q: Vector, delta: float) -> float:
    if float(p[q <= 0].sum()) > delta:
        return math.inf
    if hockey_stick(p, q, 0.0) <= delta:
        return 0.0
    seen = (p > 0) & (q > 0)
    top = float(np.max(np.log(p[seen] / q[seen])))
    if delta <= 0:
        return top
    return float(brentq(lambda e: hockey_stick(p, q, e) - delta, 0.0, top + 1.0, xtol=1e-10))


def repeated(p: float, q: float, times: int) -> tuple[Vector, Vector]:
    """Laws of the number of yeses among `times` answers that are yes with probability p, or q: all that they tell."""
    counts = np.arange(times + 1)
    return binom.pmf(counts, times, p), binom.pmf(counts, times, q)


def repeated_epsilon(p: float, q: float, times: int, delta: float) -> float:
    """Epsilon of a yes-or-no answer given `times` times over."""
    return epsilon_of(*repeated(p, q, times), delta)
