"""Squared loss."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import Vector


@dataclass(frozen=True)
class Squared:
    r"""Squared loss :math:`\tfrac12 (m - y)^2`.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().slope(np.array([2.0]), np.array([0.5]))
    array([1.5])
    """

    name: str = "squared"
    slope_bound: float = float("inf")
    curvature: float = 1.0
    classes: bool = False

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Half the squared residual."""
        return 0.5 * (margin - y) ** 2

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """The residual."""
        return margin - y
