r"""Coins whose probability is exactly what a price allows.

A float uniform is a multiple of :math:`2^{-53}`. A coin ``uniform < p`` with p such a multiple has
probability p to the last bit, so rounding p towards privacy makes a randomiser exactly as private
as it says.

Randomisers of vectors also share `polar`, which splits a vector into its direction and its length.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
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


Vector = NDArray[np.float64]


def polar(values: Vector) -> tuple[Vector, Vector]:
    """Unit rows and their norms; a row that is zero or not finite has direction and norm zero.

    >>> polar(np.array([[3.0, 4.0], [1e200, 0.0], [np.nan, 1.0]]))[1]
    array([5.e+000, 1.e+200, 0.e+000])
    """
    v = np.array(values, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", v, v))
    odd = ~((norms > 1e-150) & (norms < 1e150))
    if not odd.any():
        v /= norms[:, None]
        return v, norms
    # zero, not finite, or squares that leave the range of floats: by the largest entry first
    v[odd] = np.where(np.isfinite(v[odd]).all(axis=1)[:, None], v[odd], 0.0)
    top = np.abs(v).max(axis=1, initial=0.0)
    v /= np.where(top > 0, top, 1.0)[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", v, v))
    v /= np.where(lengths > 0, lengths, 1.0)[:, None]
    with np.errstate(over="ignore"):
        return v, lengths * top
