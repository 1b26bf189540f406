"""A loss of the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.facts import Vector

#: Pieces and nodes of the quadrature that stands in for a value function.
PIECES = 16
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True)
class Custom:
    r"""A smooth loss given by its slope in the margin.

    The functions must treat every row by itself: a scale, a mean, a rank or a memory taken over
    rows would let one record move what all others contribute, which no clip bounds. Before rows are
    read they are run on synthetic ones, and refused if rows mix (`dpsparse.losses.refuse_mixing`).
    Given that, rows' gradients are clipped whatever the slope says: a wrong slope, `curvature` or
    `slope_bound` costs accuracy and not privacy. Check a loss with ``dpsparse.audit.check_loss``.

    Parameters
    ----------
    derivative : function of (margin, y)
        The slope :math:`\partial\ell/\partial m`, for arrays.
    curvature : float
        Bound on the second derivative in the margin; step sizes come from it.
    slope_bound : float
        Bound on the slope; infinite if the slope is unbounded.
    integral : function of (margin, y) or None
        The loss itself. None: the slope is integrated numerically from margin 0.
    mean : function of margin, or None
        What a margin predicts; None: the margin.
    name : str
        Shown in statements.
    classes : bool
        Whether targets are classes, coded 0 and 1.

    Examples
    --------
    A smooth absolute value:

    >>> loss = Custom(derivative=lambda m, y: np.tanh(m - y), curvature=1.0, slope_bound=1.0, name="log-cosh")
    >>> np.round(loss.value(np.array([2.0]), np.array([0.0])), 4)  # log cosh 2
    array([1.325])
    """

    convex: ClassVar[bool] = False
    rowwise: ClassVar[bool] = False

    derivative: Callable[[Vector, Vector], Vector]
    curvature: float
    slope_bound: float = math.inf
    integral: Callable[[Vector, Vector], Vector] | None = None
    mean: Callable[[Vector], Vector] | None = None
    name: str = "custom"
    classes: bool = False

    def __post_init__(self) -> None:
        if not callable(self.derivative):
            raise TypeError(f"derivative must be a function of margin and target, got {self.derivative!r}.")
        if not (np.isfinite(self.curvature) and self.curvature > 0):
            raise ValueError(f"curvature must be positive and finite, got {self.curvature!r}.")
        if not self.slope_bound > 0:
            raise ValueError(f"slope_bound must be positive, got {self.slope_bound!r}.")

    def value(self, margin: Vector, y: Vector) -> Vector:
        """The integral of the slope from margin 0, or what was given."""
        if self.integral is not None:
            return np.asarray(self.integral(margin, y))
        margin = np.asarray(margin, dtype=float)
        total = np.zeros_like(margin)
        for piece in range(PIECES):
            for node, weight in zip(NODES, WEIGHTS, strict=True):
                at = margin * ((piece + (node + 1) / 2) / PIECES)
                total += weight / (2 * PIECES) * margin * self.derivative(at, y)
        return total

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """The given derivative, as numbers."""
        return np.asarray(self.derivative(margin, y), dtype=float)
