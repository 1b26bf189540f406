"""Queries of intervals: the moments of a score at a pilot, and how many residuals are within their clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core.facts import Vector

if TYPE_CHECKING:
    from .questions import CentredModel


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    r"""Mean over rows of score, Gram matrix and meat at a pilot, in one vector.

    All numbers of the vector have the same noise scale.

    A row is :math:`\tilde x = (1, (x_S - \mu)/t)`, its weight
    :math:`w = \min(1, Q^2/\|\tilde x\|^2)`, its residual :math:`\psi`: the slope of the loss with
    the other sign, clipped to :math:`\pm R`. The target is not clipped before. With :math:`C = RQ`,
    and v = 1 for numbers, :math:`v = |\psi|(1-|\psi|)` for classes, :math:`v_{\max}` = 1 or 1/4,
    the answer holds

    .. math:: \frac{w\psi\tilde x}{C}, \qquad
              \sqrt{B_H}\,\frac{w v\,\tilde x\tilde x^\top}{Q^2 v_{\max}}, \qquad
              \sqrt{B_M}\,\frac{w^2\psi^2\tilde x\tilde x^\top}{C^2},

    of the matrices the upper triangle, row by row, entries off the diagonal times :math:`\sqrt2`.

    Parameters
    ----------
    model : CentredModel
        The pilot, with support S and centre :math:`\mu`.
    scale : array of the size of the support
        t: what columns are divided by.
    constant : bool
        Whether there is a constant column.
    residual, norm : float
        R and Q. R is 1 for classes.
    gram, meat : float
        :math:`B_H` and :math:`B_M`: how much of the noise's precision the matrices have for each
        unit of the score's.
    """

    model: CentredModel
    scale: Vector
    constant: bool
    residual: float
    norm: float
    gram: float
    meat: float


@dataclass(frozen=True, eq=False)
class CountWithin:
    """Part of the rows whose slope at `model` is within `bound`: one number."""

    model: CentredModel
    bound: float
