"""Losses of a margin and a target; the registry that the laws run over."""

from __future__ import annotations

import numpy as np

from ..facts import Vector
from .base import Loss, mean_of
from .custom import Custom
from .huber import Huber
from .link import KnownLink
from .logistic import Logistic
from .poisson import Poisson
from .squared import Squared
from .storage import restored, stored


def _log_cosh(margin: Vector, y: Vector) -> Vector:
    """A loss as a user would write one."""
    return np.asarray(np.logaddexp(margin - y, y - margin) - np.log(2.0))


def _log_cosh_slope(margin: Vector, y: Vector) -> Vector:
    return np.asarray(np.tanh(margin - y))


#: Losses that the laws check, one instance each.
LOSSES: tuple[Loss, ...] = (
    Squared(),
    Logistic(),
    Huber(threshold=1.0),
    Huber(threshold=0.25),
    Poisson(),
    Poisson(margin_bound=1.0),
    KnownLink("sigmoid"),
    KnownLink("tanh"),
    Custom(derivative=_log_cosh_slope, curvature=1.0, slope_bound=1.0, integral=_log_cosh, name="log-cosh"),
)

__all__ = [
    "LOSSES",
    "Custom",
    "Huber",
    "KnownLink",
    "Logistic",
    "Loss",
    "Poisson",
    "Squared",
    "mean_of",
    "restored",
    "stored",
]
