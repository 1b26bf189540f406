r"""The mathematics of a polishing step: preconditioner, shrunken step, Stein's scale and the last shrinkage.

All of it is post-processing of answers and of the public size of their noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.facts import Vector
from .constants import ENGINE, POLISH

#: Nodes and weights for expectations over a standard normal number.
NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def symmetric(triangle: Vector, size: int) -> Vector:
    """The matrix of an upper triangle whose off-diagonal entries were multiplied by the root of two."""
    row, column = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[row, column] = triangle * np.where(row == column, 1.0, math.sqrt(0.5))
    return np.asarray(matrix + np.triu(matrix, 1).T)


@dataclass(frozen=True, eq=False)
class Preconditioner:
    r"""Which directions of a noisy Gram matrix are believed, and by how much steps along them are shortened.

    The noise of a symmetric m x m matrix with standard deviation :math:`\sigma_G` on the diagonal and
    :math:`\sigma_G/\sqrt2` off it has its spectrum within about :math:`\pm\tau`, :math:`\tau = 1.1\,\sigma_G\sqrt{2m}`.
    Eigenvalues that stand clear of that edge are divided out; everywhere else the step is :math:`1/h_b`, where

    .. math:: h_b = h\max\bigl(1, \min(m, 1 + \tau/2h_A)/2.5\bigr)

    bounds the overshoot along a spike that hides in the noise: below :math:`1 + \tau/2h_A` it leaves no trace in the
    spectrum (Baik, Ben Arous and Peche). Columns are first brought to one scale by their diagonal entries, as far as
    these differ by more than noise.

    Parameters
    ----------
    root : array
        :math:`D^{-1/2}` of the shrunken diagonal scaling.
    values, vectors : arrays
        Eigenvalues over :math:`h_A`, and eigenvectors.
    edge : float
        :math:`\tau/h_A`.
    """

    root: Vector
    values: Vector
    vectors: Vector
    edge: float

    @classmethod
    def none(cls, size: int) -> Preconditioner:
        """No matrix is known."""
        return cls(np.ones(size), np.ones(size), np.eye(size), 0.0)

    @classmethod
    def of(cls, matrix: Vector, noise: float, norm: float) -> Preconditioner:
        """From a noisy mean of outer products of rows within `norm`; `noise` is that of its diagonal."""
        m = matrix.shape[0]
        mean = max(float(np.trace(matrix)) / m, ENGINE.gram_floor * norm**2 / m)
        root = np.ones(m)
        if m >= POLISH.whole.scaled_columns:
            diagonal = np.diag(matrix) / mean
            spread = max(float(diagonal.var(ddof=1)), 1e-300)
            believed = max(0.0, 1 - 2 * (noise / mean) ** 2 / spread)
            root = 1 / np.sqrt(np.clip(1 + believed * (diagonal - 1), *POLISH.pair.scaling))
        values, vectors = np.linalg.eigh(root[:, None] * matrix * root / mean)
        return cls(root, values, vectors, ENGINE.edge * noise * math.sqrt(2 * m) / mean)

    def inverse(self, curvature: float) -> Vector:
        """P, by which a gradient is multiplied, for the mean curvature h."""
        base = curvature * max(1.0, min(self.root.size, 1 + self.edge / 2) / POLISH.hidden_spike)
        clear = self.values > 1 + self.edge
        lengths = np.where(clear, 1 / np.maximum(curvature * self.values, base), 1 / base)
        return np.asarray((self.root[:, None] * self.vectors * lengths) @ (self.vectors.T * self.root))

    def length(self, step: Vector, gradient: Vector, curvature: float) -> float:
        r"""Part of a step p along the gradient g that does not overshoot: :math:`\min(1, g^Tp/p^THp)`.

        The edge of the spectrum hides spikes that one known direction shows: along it the matrix
        has the noise of one entry only. H is taken 1.5 standard deviations below what the matrix
        says, so that noise seldom shortens a step.
        """
        u = step / self.root
        noise = self.edge / (ENGINE.edge * math.sqrt(2 * self.root.size))
        bend = curvature * (float((self.vectors.T @ u) ** 2 @ self.values) - POLISH.gram_doubt * noise * float(u @ u))
        along = float(gradient @ step)
        return 1.0 if along >= bend else max(along / bend, 0.0)


def gains(step: Vector, noise: Vector, last: Vector, old: NDArray[np.bool_]) -> Vector:
    r"""Part of each step that is taken: :math:`v/(v+r)` on coordinates that had a value before, 1 on the others.

    r is the mean square of `noise`, the standard deviations of the step. v estimates the mean squared
    error that is still in the coefficients: the larger of :math:`3\,\mathrm{mean}(last^2)`, where `last`
    holds the standard deviations of the current coefficients, and
    :math:`4\,(\mathrm{mean}(step^2) - r)`. Means are over `old`.
    """
    taken = np.ones(step.size)
    if old.any():
        r = float(np.mean(noise[old] ** 2))
        v = max(3 * float(np.mean(last[old] ** 2)), 4 * (float(np.mean(step[old] ** 2)) - r))
        taken[old] = v / (v + r) if v + r > 0 else 1.0
    return taken


def stein_scale(variance: float) -> float:
    r"""The root c in [1, 1.5] of :math:`4c\,E\,\sigma'(cz) = 1` for :math:`z \sim N(0, \text{variance})`; 1.5 beyond.

    One logistic step from zero with h = mean(x^2)/4 finds the coefficients times :math:`4E\sigma'(z)` (Stein's lemma).
    """

    def short(c: float) -> bool:
        p = 1 / (1 + np.exp(-np.clip(c * math.sqrt(variance) * NODES, -350, 350)))
        return bool(4 * c * (WEIGHTS @ (p * (1 - p))) < 1)

    if variance <= 0:
        return 1.0
    low, high = 1.0, POLISH.largest_scale
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return high


def shrunken(w: Vector, threshold: Vector) -> Vector:
    r"""Coefficients times :math:`\max(0, 1 - (t_j/|w_j|)^4)`."""
    ratio = threshold / np.maximum(np.abs(w), 1e-150)
    return np.asarray(w * np.maximum(0.0, 1 - np.minimum(ratio, 1.0) ** 4))
