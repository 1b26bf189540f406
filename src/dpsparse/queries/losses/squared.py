"""Squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.facts import Vector


@dataclass(frozen=True)
class Squared:
    r"""Squared loss :math:`\tfrac12 (m - y)^2`.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().slope(np.array([2.0]), np.array([0.5]))
    array([1.5])
    """

    name: ClassVar[str] = "squared"
    slope_bound: ClassVar[float] = float("inf")
    curvature: ClassVar[float] = 1.0
    classes: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Half the squared residual."""
        return 0.5 * (margin - y) ** 2

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """The residual."""
        return margin - y

    def bend(self, margin: Vector, y: Vector) -> Vector:
        """The second derivative."""
        return np.ones_like(margin)
