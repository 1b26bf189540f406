r"""Coins whose probability is exactly what a price allows.

A float uniform is a multiple of :math:`2^{-53}`. A coin ``uniform < p`` with p such a multiple has
probability p to the last bit, so rounding p towards privacy makes a randomiser exactly as private
as it says.
"""

from __future__ import annotations

import math

from scipy.special import expit

#: Steps of a float uniform.
GRAIN = 2.0**-53

#: Below this epsilon, rounding probabilities to the grain would matter.
SMALLEST_EPSILON = 1e-9


def bounded_probability(log_odds: float) -> float:
    r"""The largest multiple of :math:`2^{-53}` below :math:`1/(1+e^{-t})` for log-odds t, and below 1.

    Guarantee
    ---------
    :math:`p/(1-p) \le e^t`: the sigmoid is right to two steps of the grain, and four are taken off.
    """
    p = math.floor(float(expit(log_odds)) / GRAIN) * GRAIN - 4 * GRAIN
    return min(max(p, 0.0), 1.0 - 4 * GRAIN)


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that no randomiser keeps."""
    if not (math.isfinite(epsilon) and epsilon >= SMALLEST_EPSILON):
        raise ValueError(
            f"a local randomiser needs a finite epsilon of at least {SMALLEST_EPSILON:g}, got {epsilon!r}. "
            "Reports of less say nothing."
        )


def check_positive(value: float, what: str) -> None:
    """Refuse a bound that is not one."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{what} must be positive and finite, got {value!r}.")
