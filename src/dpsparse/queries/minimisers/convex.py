r"""Losses whose minimisers have a stability proof: convex, with a slope and a curvature that are bounded for sure.

A minimiser is only as stable as its loss is convex and smooth, so here, unlike in a gradient sum, a
wrong bound would break a guarantee. Hence only losses of this package are taken, by their exact type
(`dpsparse.losses.proven`): their slope, its derivative and the bound on that are constants of the
class, which no argument changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from ...core.errors import PrivacyError
from ...core.facts import Vector
from ..losses import Loss, proven


@dataclass(frozen=True)
class Convex:
    r"""The slope :math:`\phi'` of a convex loss, its derivative, and the bound :math:`\beta_0` on that.

    Guarantee
    ---------
    ``slope`` does not fall with the margin, and is :math:`\beta_0`-Lipschitz in it; ``bend`` is its derivative wherever
    it has one, which is everywhere but at finitely many margins for each target.
    """

    slope: Callable[[Vector, Vector], Vector]
    bend: Callable[[Vector, Vector], Vector]
    curvature: float


class Smooth(Loss, Protocol):
    """A loss with a second derivative."""

    def bend(self, margin: Vector, y: Vector) -> Vector:
        """The second derivative in the margin, for each row."""
        ...


def convex(loss: Loss) -> Convex:
    """The convex parts of a loss; refuses a loss for which they are not proven."""
    if not proven(loss):
        raise PrivacyError(
            f"the minimiser of loss {loss.name!r} has no stability proof; this needs squared, "
            "Huber, logistic or Poisson loss. "
            "Use a recipe that asks for clipped gradients, such as 'dp_ight'."
        )
    smooth = cast(Smooth, loss)
    return Convex(smooth.slope, smooth.bend, smooth.curvature)
