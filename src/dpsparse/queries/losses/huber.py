"""Huber loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.facts import Vector


@dataclass(frozen=True)
class Huber:
    r"""Huber loss: squared within `threshold`, linear beyond.

    Clipping the gradients of squared loss is gradient descent on this loss, row by row.

    Examples
    --------
    >>> Huber(threshold=1.0).slope(np.array([5.0, 0.3]), np.array([0.0, 0.0]))
    array([1. , 0.3])
    """

    threshold: float = 1.0
    name: ClassVar[str] = "huber"
    curvature: ClassVar[float] = 1.0
    classes: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.threshold) and self.threshold > 0):
            raise ValueError(f"the Huber threshold must be positive and finite, got {self.threshold!r}.")

    @property
    def slope_bound(self) -> float:
        """The threshold."""
        return self.threshold

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Half the square near zero, linear beyond the threshold."""
        r = np.abs(margin - y)
        return np.where(r <= self.threshold, 0.5 * r**2, self.threshold * (r - 0.5 * self.threshold))

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """The residual, clipped."""
        return np.clip(margin - y, -self.threshold, self.threshold)

    def bend(self, margin: Vector, y: Vector) -> Vector:
        """The second derivative: 1 within the threshold, 0 beyond."""
        return (np.abs(margin - y) <= self.threshold).astype(float)
