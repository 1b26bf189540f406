"""DP-SGD with batches of one row, as paper 002 runs it, with our price for its noise.

The recipe `dp_sgd` takes the same steps; a plain loop is needed for the paper's 20 passes, 400,000 steps on one row each.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numba import njit

from dpsparse import recipes
from dpsparse.accounting import price
from dpsparse.core import Budget
from dpsparse.core.facts import Facts

from .cases import Ask, Case


@lru_cache(maxsize=64)
def noise_over_clip(n: int, steps: int, epsilon: float, delta: float) -> float:
    """Standard deviation of the noise on the sum of a batch over the clip: replace-one, rows by coins of chance 1/n."""
    facts, budget = Facts(n_rows=n, n_features=1), Budget.approx(epsilon, delta, "replace-one")
    plan = recipes.DPSGD(steps=steps, batch_size=1.0, step_size=1.0, clip=1.0).solver(facts, budget).plan(facts, budget)
    rho = price(plan, budget, store=None).cost("gradient").rho
    return 2 / math.sqrt(2 * rho)


def batch_of_one(case: Case, ask: Ask) -> np.ndarray:
    """The last iterate."""
    n, d = case.X.shape
    steps = max(1, round(ask.at["passes"] * n))
    clip = float(ask.at["clip"])
    sigma = clip * noise_over_clip(n, steps, ask.epsilon, ask.delta)
    rng = np.random.default_rng(ask.seed)
    if hasattr(case.X, "indptr"):
        if steps > 1:
            raise ValueError("rows that are stored sparsely are not walked through one by one.")
        few = np.flatnonzero(rng.random(n) < 1 / n)
        X, y = case.X[few].toarray(), case.y[few].astype(float)
        counts = np.array([few.size])
        order = np.arange(few.size)
    else:
        X, y = np.ascontiguousarray(case.X, dtype=float), case.y.astype(float)
        counts = rng.binomial(n, 1 / n, steps)
        order = rng.integers(0, n, int(counts.sum()))  # rows of a batch may repeat, with a chance of 1/n
    w = np.zeros(d)
    ridge, shrink = (case.alpha, 0.0) if case.penalty == "l2" else (0.0, case.alpha)
    start = 0
    block = max(1, 4_000_000 // d)
    for first in range(0, steps, block):
        now = counts[first : first + block]
        rows = order[start : start + int(now.sum())]
        start += rows.size
        noise = sigma * rng.standard_normal((now.size, d))
        _walk(w, X, y, now, rows, noise, clip, float(ask.at["step"]), ridge, shrink, case.task == "classification")
    return w


@njit
def _walk(w, X, y, counts, rows, noise, clip, step, ridge, shrink, logistic):  # type: ignore[no-untyped-def]
    """Steps on the rows of each batch in turn."""
    place = 0
    for turn in range(counts.size):
        total = noise[turn]
        for _ in range(counts[turn]):
            x = X[rows[place]]
            off = np.dot(x, w)
            if logistic:
                off = 1 / (1 + np.exp(-off))
            off -= y[rows[place]]
            norm = abs(off) * np.sqrt(np.dot(x, x))
            total += off * min(1.0, clip / max(norm, 1e-300)) * x
            place += 1
        moved = w - step * (total + ridge * w)
        w[:] = np.sign(moved) * np.maximum(np.abs(moved) - step * shrink, 0.0)
