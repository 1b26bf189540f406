"""Scores for selections, with how fast they can move."""

from __future__ import annotations

import numpy as np

from ..facts import Vector
from ..oracle import Magnitude, Score


def score_of(score: Score, gradient: Vector) -> Vector:
    """Scores of the feature coordinates from their mean gradient."""
    if isinstance(score, Magnitude):
        base = 0.0 if score.base is None else score.base[: gradient.size]
        return np.abs(base - score.step * gradient)
    raise TypeError(f"unknown score {score!r}.")


def lipschitz(score: Score) -> float:
    r"""How much a score can move per unit of its own gradient coordinate.

    ``Magnitude``: :math:`|\,|b - \eta g| - |b - \eta g'|\,| \le |\eta|\,|g - g'|`.
    """
    if isinstance(score, Magnitude):
        return abs(score.step)
    raise TypeError(f"unknown score {score!r}.")
