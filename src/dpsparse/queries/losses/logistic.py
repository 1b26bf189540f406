"""Losses for classes: logistic loss for two, softmax loss for more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, expm1

from ...core.facts import Target, Vector


@dataclass(frozen=True)
class Softmax:
    r"""Negative log-likelihood of classes :math:`0, \dots, K-1` with a margin each: :math:`\log\sum_k e^{m_k} - m_y`.

    The slope in the margins is :math:`p - e_y` for the probabilities :math:`p_k \propto e^{m_k}`.
    Its norm is at most :math:`\sqrt2`, approached where all of p is on a wrong class; its entries
    sum to zero. The second derivative :math:`\mathrm{diag}(p) - pp^\top` is at most 1/2 in any
    direction, which it is for p = (1/2, 1/2, 0, ...).

    Parameters
    ----------
    n_classes : int
        K, from 3 to 65536; two classes have one margin, and the logistic loss.

    Guarantee
    ---------
    Row i of `slope` is a function of row i of the margins and of target i alone, to the last bit:
    exponentials are computed number by number, and sums over classes from the first to the last.

    Examples
    --------
    >>> Softmax(4).slope(np.zeros((1, 4)), np.array([1.0]))
    array([[ 0.25, -0.75,  0.25,  0.25]])
    """

    n_classes: int

    name: ClassVar[str] = "softmax"
    slope_bound: ClassVar[float] = float(np.sqrt(2.0))
    curvature: ClassVar[float] = 0.5
    classes: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 3 <= self.n_classes <= 2**16:
            raise ValueError(f"a softmax loss is for 3 to 65536 classes, got {self.n_classes!r}.")

    def targets(self, bound: float) -> Target:
        """Classes, up to the last code."""
        return Target(kind="classes", bound=float(self.n_classes - 1), n_classes=self.n_classes)

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Negative log-likelihood of each row, margins of shape (rows, classes)."""
        below = margin - margin.max(axis=1, keepdims=True)
        own = np.where(self._of(y), below, 0.0)
        return np.asarray(np.log(_total(expm1(below) + 1.0)) - _total(own))

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """Predicted probabilities minus 1 for the class: shape (rows, classes)."""
        e = expm1(margin - margin.max(axis=1, keepdims=True))
        e += 1.0
        e /= _total(e)[:, None]
        e -= self._of(y)
        return np.asarray(e)

    def _of(self, y: Vector) -> Vector:
        return np.asarray(np.reshape(y, (-1, 1)) == np.arange(self.n_classes))


def _total(values: Vector) -> Vector:
    """Sum over classes, one after the other."""
    total = np.zeros(values.shape[0])
    for column in values.T:
        total += column
    return total


@dataclass(frozen=True)
class Logistic:
    r"""Logistic loss :math:`\log(1 + e^m) - y m` for targets 0 and 1.

    The slope :math:`\sigma(m) - y` lies in [-1, 1]; the second derivative
    :math:`\sigma(m)(1-\sigma(m))` is at most 1/4.

    Examples
    --------
    >>> Logistic().slope(np.array([0.0]), np.array([1.0]))
    array([-0.5])
    """

    name: ClassVar[str] = "logistic"
    slope_bound: ClassVar[float] = 1.0
    curvature: ClassVar[float] = 0.25
    classes: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Negative log-likelihood."""
        return np.asarray(np.logaddexp(0.0, margin) - y * margin)

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """Predicted probability minus target."""
        return np.asarray(expit(margin) - y)

    def joint(self, n_classes: int) -> Softmax:
        """The loss of many classes at once."""
        return Softmax(n_classes)

    def bend(self, margin: Vector, y: Vector) -> Vector:
        """The second derivative."""
        p = expit(margin)
        return np.asarray(p * (1.0 - p))
