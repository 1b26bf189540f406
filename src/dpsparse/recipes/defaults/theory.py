"""Prescriptions of theorems: one way to say the budget, and a warning where a prescription leaves its range."""

from __future__ import annotations

import math
import warnings

from ...core.budget import Budget


def budget_of(epsilon: float | None, delta: float | None, rho: float | None) -> tuple[float, float]:
    """Epsilon and rho of a budget that was given as (epsilon, delta) or as rho; with rho alone, delta is 1e-6."""
    if (epsilon is None) == (rho is None):
        raise ValueError("give the budget once: epsilon (with delta), or rho.")
    if rho is None:
        assert epsilon is not None
        return epsilon, Budget.approx(epsilon, delta if delta is not None else 1e-6).as_rho()
    return rho + 2 * math.sqrt(rho * math.log(1 / (delta or 1e-6))), rho


def prescribed(value: float, what: str, *, most: int | None = None) -> int:
    """A number of steps or coefficients, rounded up.

    At least 1 and at most `most`, with a warning where that changes it.
    """
    if not value > 0:
        warnings.warn(
            f"the theorem asks for {what} = {value:.3g}: its signal is below its noise at these constants. 1 is taken.",
            UserWarning,
            stacklevel=3,
        )
        return 1
    if most is not None and value > most:
        warnings.warn(
            f"the theorem asks for {what} = {value:.3g}, more than the {most} that there are or "
            f"that can be run. {most} is taken, and "
            "the theorem says nothing about it.",
            UserWarning,
            stacklevel=3,
        )
        return most
    return max(1, math.ceil(value))
