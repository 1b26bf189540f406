"""Logistic loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from ...core.facts import Vector
from .softmax import Softmax


@dataclass(frozen=True)
class Logistic:
    r"""Logistic loss :math:`\log(1 + e^m) - y m` for targets 0 and 1.

    The slope :math:`\sigma(m) - y` lies in [-1, 1]; the second derivative
    :math:`\sigma(m)(1-\sigma(m))` is at most 1/4.

    Examples
    --------
    >>> Logistic().slope(np.array([0.0]), np.array([1.0]))
    array([-0.5])
    """

    name: ClassVar[str] = "logistic"
    slope_bound: ClassVar[float] = 1.0
    curvature: ClassVar[float] = 0.25
    classes: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Negative log-likelihood."""
        return np.asarray(np.logaddexp(0.0, margin) - y * margin)

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """Predicted probability minus target."""
        return np.asarray(expit(margin) - y)

    def joint(self, n_classes: int) -> Softmax:
        """The loss of many classes at once."""
        return Softmax(n_classes)

    def bend(self, margin: Vector, y: Vector) -> Vector:
        """The second derivative."""
        p = expit(margin)
        return np.asarray(p * (1.0 - p))
