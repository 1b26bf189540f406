"""How candidates of a selection are scored from a mean gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.facts import Penalty, Vector


@dataclass(frozen=True, eq=False)
class Magnitude:
    r"""Score coordinates by :math:`|b_j - \eta\,g_j|` for the mean gradient g: what a gradient step would leave there.

    Parameters
    ----------
    step : float
        :math:`\eta`.
    base : array or None
        :math:`b`, usually the current iterate; None is zero.
    """

    step: float = 1.0
    base: Vector | None = None


@dataclass(frozen=True)
class Vertex:
    r"""Score the :math:`2d` vertices of the l1 ball by :math:`\mp g_j`.

    Candidate j is :math:`+e_j`, and candidate d + j is :math:`-e_j`.
    """


@dataclass(frozen=True, eq=False)
class Greedy:
    r"""Score coordinates by how much a step along each decreases the loss, on the scale :math:`g_j/\sqrt{H_j}`.

    Parameters
    ----------
    rule : {"gs", "gs-s", "gs-r", "gs-q"}
        Largest gradient; smallest subgradient; longest proximal step; largest guaranteed decrease (its square root).
    curvature : array of shape (dimension,)
        Public :math:`H_j`: the curvature of loss and l2 penalty along each coordinate.
    w : array of shape (dimension,)
        Where the rules stand.
    penalty : Penalty
    """

    rule: str
    curvature: Vector
    w: Vector
    penalty: Penalty


@dataclass(frozen=True, eq=False)
class Grouped:
    """Score groups of columns by the l2 norm of the scores of their columns.

    Parameters
    ----------
    score : Magnitude or Greedy
        Of single columns.
    groups : array of int of shape (n_features,)
        The group of each column, from 0 on. An intercept that is a candidate comes last, by itself.
    """

    score: Magnitude | Greedy
    groups: NDArray[np.intp]

    def labels(self, size: int) -> NDArray[np.intp]:
        """The candidate that each of `size` scores counts for."""
        rest = int(self.groups.max(initial=-1)) + 1 + np.arange(size - self.groups.size)
        return np.concatenate([self.groups, rest])


Score = Magnitude | Vertex | Greedy | Grouped
