r"""Losses whose minimisers have a stability proof: convex, with a slope and a curvature that are bounded for sure.

A minimiser is only as stable as its loss is convex and smooth, so here, unlike in a gradient sum, a wrong bound would
break a promise. Hence only losses of this package are taken, by their exact type, and their curvature is stated here
again instead of being read off an object that a caller can change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ..facts import Vector
from ..losses import Huber, Logistic, Loss, Poisson, Squared
from ..privacy.errors import PrivacyError


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


def convex(loss: Loss) -> Convex:
    """The convex parts of a loss; refuses a loss for which they are not proven."""
    if type(loss) is Squared:
        return Convex(loss.slope, lambda m, y: np.ones_like(m), 1.0)
    if type(loss) is Huber:
        return Convex(loss.slope, lambda m, y: (np.abs(m - y) <= loss.threshold).astype(float), 1.0)
    if type(loss) is Logistic:
        return Convex(loss.slope, _logistic_bend, 0.25)
    if type(loss) is Poisson:
        top = loss.margin_bound
        return Convex(loss.slope, lambda m, y: np.exp(np.minimum(m, top)) * (m <= top), math.exp(top))
    raise PrivacyError(
        f"the minimiser of loss {loss.name!r} has no stability proof; this needs squared, Huber, logistic or Poisson loss. "
        "Use a recipe that asks for clipped gradients, such as 'dp_ight'."
    )


def _logistic_bend(m: Vector, y: Vector) -> Vector:
    p = expit(m)
    return np.asarray(p * (1.0 - p))
