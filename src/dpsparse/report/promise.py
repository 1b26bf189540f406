r"""What an attacker can at most learn, as numbers for a picture.

An attacker who sees the release decides whether one row was x or x'. Of those who hold x they accuse a part alpha wrongly, and
of those who hold x' they miss a part beta. A promise bounds beta from below for every alpha (the trade-off curve):

* (epsilon, delta): :math:`\beta \ge \max(0,\; 1 - \delta - e^{\epsilon}\alpha,\; e^{-\epsilon}(1 - \delta - \alpha))`;
* mu-GDP: :math:`\beta \ge \Phi(\Phi^{-1}(1 - \alpha) - \mu)`.

Each holds, so their maximum does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from ..facts import Vector
from ..privacy import Statement

#: What an attacker thinks before they see the release, in the table of posterior beliefs.
PRIORS = (0.001, 0.01, 0.1, 0.5)


@dataclass(frozen=True, eq=False)
class Learned:
    """What can be learned from a release about one row, at most."""

    false_alarms: Vector
    detections: Vector
    success: float
    beliefs: tuple[tuple[float, float], ...]


def tradeoff(statement: Statement, alphas: Vector) -> Vector:
    """The least part that an attacker misses, at each part that they accuse wrongly; 0 where nothing is promised.

    >>> from types import SimpleNamespace
    >>> promised = SimpleNamespace(private=True, epsilon=0.0, delta=0.0, mu=math.inf)
    >>> tradeoff(promised, np.array([0.0, 0.25, 1.0]))
    array([1.  , 0.75, 0.  ])
    """
    if not statement.private:
        return np.zeros_like(alphas)
    growth = math.exp(min(statement.epsilon, 700.0))
    first = 1 - statement.delta - growth * alphas
    second = (1 - statement.delta - alphas) / growth
    bounds = [np.zeros_like(alphas), first, second]
    if math.isfinite(statement.mu):
        bounds.append(ndtr(ndtri(1 - alphas) - statement.mu))
    found: Vector = np.max(bounds, axis=0)
    return found


def learned(statement: Statement) -> Learned:
    """The picture of a promise."""
    alphas = np.concatenate([[0.0], np.geomspace(1e-4, 1e-2, 20)[:-1], np.linspace(1e-2, 1.0, 100)])
    return Learned(
        false_alarms=alphas,
        detections=1 - tradeoff(statement, alphas),
        success=statement.attacker_success,
        beliefs=tuple((prior, belief(prior, statement)) for prior in PRIORS),
    )


def belief(prior: float, statement: Statement) -> float:
    r"""How sure an attacker can be at most, who held something for likely with this probability before.

    Odds are multiplied by at most :math:`e^\epsilon`, but for outcomes whose probability is at most about delta.
    """
    if not statement.private or statement.epsilon > 500:
        return 1.0
    odds = prior / (1 - prior) * math.exp(statement.epsilon)
    return odds / (1 + odds)
