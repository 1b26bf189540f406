"""What a loss must offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ..facts import Vector


@runtime_checkable
class Loss(Protocol):
    """A smooth loss of a linear model: a function of the margin ``<x, w>`` and the target.

    The gradient of one row is ``slope(margin, y) * x``, so clipping a row's gradient needs one number per row. Every
    privacy bound comes from that clip and not from the loss: a wrong `slope_bound` costs accuracy, never privacy.

    Attributes
    ----------
    name : str
        Shown in statements.
    slope_bound : float
        Bound on ``|slope|``; infinite if there is none.
    curvature : float
        Bound on the second derivative in the margin.
    classes : bool
        Whether targets are classes, coded 0 and 1.
    """

    @property
    def name(self) -> str:
        """Shown in statements."""
        ...

    @property
    def slope_bound(self) -> float:
        """Bound on ``|slope|``."""
        ...

    @property
    def curvature(self) -> float:
        """Bound on the second derivative."""
        ...

    @property
    def classes(self) -> bool:
        """Whether targets are classes."""
        ...

    def value(self, margin: Vector, y: Vector) -> Vector:
        """The loss of each row."""
        ...

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """Its derivative in the margin, for each row."""
        ...


def mean_of(loss: object) -> Callable[[Vector], Vector] | None:
    """What a margin predicts under this loss, for losses behind a link; None where the margin is the prediction."""
    return getattr(loss, "mean", None)
