r"""One Newton step from a pilot with noisy score, Gram matrix and meat, and its covariance with the noise in it.

.. math:: \Delta = H^{-1}g, \qquad
          V = H^{-1}\bigl[M_+ + \sigma_g^2 I
          + f\,\tfrac12\sigma_H^2(\|\Delta\|^2 I + \Delta\Delta^\top)\bigr]H^{-1}

Given H, the score :math:`g - H\Delta^*` is that of the rows at the target, plus the noise of g,
less :math:`N_H\Delta^*` for the noise :math:`N_H` of H and the way :math:`\Delta^*` from pilot to
target. The first two have covariance :math:`M + \sigma_g^2 I` whatever H is, so that a bad H makes
intervals wide and not wrong; the third has covariance
:math:`\tfrac12\sigma_H^2(\|\Delta^*\|^2I + \Delta^*\Delta^{*\top})`, small for a good pilot.
:math:`\|\Delta\|^2` is too large by the trace of the rest of V, which
:math:`f = \max(0, 1 - \mathrm{tr}V_0/\|\Delta\|^2)` takes off. No ridge and no floor under the
eigenvalues of H: each would add a bias that no interval knows. The meat is projected on positive
matrices, which errs wide, and multiplied by n/(n-p), as usual for few rows (MacKinnon and White's
HC1).

Clips move the target where errors are skewed or the mean is not linear, and no covariance knows by
how much. What can be known is how many rows they hold back: if each of these lost a typical
residual, all in one direction, the score would move by their number times that residual. `clipped`
standard errors of the score are as much as is called good. On public tables whose mean is not
linear the estimates moved by about .4 of this, and by 1.2 in the worst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..core.facts import Vector
from ..queries.kinds import ScoreMoments
from .constants import ENGINE, INTERVALS
from .polish_steps import symmetric

#: How far the noise of the Gram matrix is from hiding its smallest eigenvalue, and whether clips could move the target.
Flag = Literal["good", "clipped", "wide", "too many"]


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over rows, and the standard deviations of the noise in them; of matrices, that on the diagonal."""

    score: Vector
    gram: Vector
    meat: Vector
    score_noise: float
    gram_noise: float
    n_rows: int

    @classmethod
    def of(cls, told: Vector, noise: float, question: ScoreMoments, n_rows: int, *, classes: bool) -> Moments:
        """From an answer, whose units the query says, and the noise in each of its numbers."""
        size = question.scale.size + question.constant
        clip, square = question.residual * question.norm, question.norm**2 * (0.25 if classes else 1.0)
        score, gram, meat = np.split(told * n_rows, [size, size + size * (size + 1) // 2])
        gram_unit, meat_unit = square / math.sqrt(question.gram), clip**2 / math.sqrt(question.meat)
        return cls(
            score=clip * score,
            gram=gram_unit * symmetric(gram, size),
            meat=meat_unit * symmetric(meat, size),
            score_noise=clip * noise * n_rows,
            gram_noise=gram_unit * noise * n_rows,
            n_rows=n_rows,
        )

    def bent(self, kept: float) -> tuple[Vector, float]:
        """The negative derivative of the score, and its noise: a part of residuals is clipped and does not move."""
        return kept * self.gram, kept * self.gram_noise


@dataclass(frozen=True, eq=False)
class Step:
    """Where one step leads, its covariance, and how far the Gram matrix stands clear of its noise.

    Attributes
    ----------
    estimate, covariance : arrays
    edge, least : float
        Edge of the noise's spectrum, and the smallest eigenvalue of the matrix.
    moved : float
        By how many of its standard errors clips could move the score.
    """

    estimate: Vector
    covariance: Vector
    edge: float
    least: float
    moved: float = 0.0

    @property
    def flag(self) -> Flag:
        """``good``, ``wide``, or ``too many`` coefficients for the noise: coverage holds in all three.

        ``clipped``: the target may be another than the mean.
        """
        if self.least <= 0 or self.edge > INTERVALS.wide_edge * self.least:
            return "too many"
        if self.moved > INTERVALS.clipped:
            return "clipped"
        return "wide" if self.edge > INTERVALS.good_edge * self.least else "good"


def newton_step(pilot: Vector, moments: Moments, kept: float, moved: float = 0.0) -> Step:
    """The step and its sandwich; see the head of this file. `moved`: what clips could add to a score, in its units."""
    bent, noise = moments.bent(kept)
    size = pilot.size
    inverse = np.linalg.inv(bent)
    delta = inverse @ moments.score
    values, vectors = np.linalg.eigh(moments.meat)
    few = moments.n_rows / max(moments.n_rows - size, 1)
    filling = few * (vectors * np.maximum(values, 0.0)) @ vectors.T + moments.score_noise**2 * np.eye(size)
    first = float(np.trace(inverse @ filling @ inverse.T))
    length = max(float(delta @ delta), 1e-300)
    believed = max(0.0, 1 - first / length)
    entangled = 0.5 * noise**2 * (length * np.eye(size) + np.outer(delta, delta))
    covariance = inverse @ (filling + believed * entangled) @ inverse.T
    least = float(np.linalg.eigvalsh(bent)[0])
    error = math.sqrt(max(float(np.trace(filling)) / size, 1e-300))
    return Step(pilot + delta, (covariance + covariance.T) / 2, noise * math.sqrt(2 * size), least, moved / error)


def damped_step(pilot: Vector, moments: Moments, kept: float) -> Vector:
    """A shortened step towards a better pilot.

    Eigenvalues within the noise's spectrum, of edge tau, are raised to tau.
    """
    bent, noise = moments.bent(kept)
    values, vectors = np.linalg.eigh(bent)
    tau = ENGINE.edge * noise * math.sqrt(2 * pilot.size)
    return np.asarray(pilot + vectors @ ((vectors.T @ moments.score) / (np.maximum(values, tau / 2) + tau / 2)))
