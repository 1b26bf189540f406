r"""Where along the frequencies of columns the signal is, read off gradients that were released already.

In weighted columns those of one frequency, a bucket b of N columns, learn at the rate
:math:`a_b^2 h_b` and put noise :math:`a_b^2 H_b` into a margin, for :math:`H_b` their part of a
row's squared length and :math:`h_b = H_b/N_b`. The least signal is left at a given noise where
:math:`a_b^2 \propto r_b/h_b`, with :math:`r_b` the energy of the mean gradient in the bucket over
:math:`H_b`. With :math:`r \propto m^\kappa` that is a power :math:`P = (1-\kappa)/2` of the mean:
frequent columns are damped by its root where signal is spread evenly over a row's energy
(:math:`\kappa = 0`), and not at all where it grows with frequency (:math:`\kappa = 1`).

`SignalTest` adds released gradients up, takes their energy bucket by bucket less that of their
noise, which is known, and finds :math:`\kappa` from all buckets but the lowest. That one holds the
columns whose means drown in noise, in text nearly all of them, and no law of frequency says what is
in it. Its own energy does: its columns get the weight that :math:`r_0/h_0` speaks for, beside that
of the law at the next bucket.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.facts import Facts, Vector
from .column_weights import Columns
from .constants import SIGNAL

#: Where kappa is looked for.
KAPPAS = np.linspace(*SIGNAL.pair.kappas, SIGNAL.whole.kappa_points)


@dataclass(frozen=True)
class PowerLaw:
    r"""Ratios of energies :math:`r_b = c\,(m_b/m_{\min})^\kappa`."""

    kappa: float
    scale: float

    @property
    def power(self) -> float:
        """The power of weights for it."""
        least, most = SIGNAL.pair.powers
        return min(max(SIGNAL.slope * (1 - self.kappa), least), most)


class SignalTest:
    """Released gradients of a path, added up.

    Parameters
    ----------
    columns : Columns
    facts : Facts
    """

    def __init__(self, columns: Columns, facts: Facts) -> None:
        self.columns = columns
        self.classes = facts.target.n_classes if facts.target.joint else 1
        spread = (1 - 1 / self.classes) if facts.target.joint else facts.target.spread**2
        self._sampling = SIGNAL.left * spread / facts.n_rows
        self._sum = np.zeros((facts.n_features, self.classes))
        self._weight = 0.0
        self._slope = 0.0
        self._noise = np.zeros(facts.n_features)

    def add(self, step: float, gradient: Vector, deviations: Vector, slope: float = 0.0) -> None:
        """One answer on the features, in units of the columns as they are.

        `deviations` are those of its noise in each column, `slope` is the mean slope of rows, where
        there is an intercept to tell it.
        """
        self._sum += step * gradient.reshape(self._sum.shape)
        self._slope += step * slope
        self._weight += step
        noise = step * deviations
        self._noise += np.square(noise, out=noise)

    def weights(self) -> Vector | None:
        """Weights of the features that the answers speak for; None where too few buckets hold columns."""
        told = self.columns
        seen = np.flatnonzero(told.counts[1:] > 0) + 1
        if seen.size < 2 or not self._weight:
            return None
        ratios, errors, held = self._ratios()
        scatter = SIGNAL.scatter**2 + 2 / (self.classes * told.counts[seen]) + (2 * told.error / held[seen]) ** 2
        law = fitted_law(ratios[seen], errors[seen], told.centres[seen], scatter)
        first = seen[0]
        lowest = 1.0
        if told.counts[0] > 0 and law.scale > self._sampling:
            parts = held / np.maximum(told.counts, 1)
            expected = (law.scale - self._sampling) * parts[0] / parts[first]
            expected *= (told.centres[first] / told.floor) ** (2 * law.power)
            found = shrunk((ratios[0] - self._sampling) / expected, errors[0] / expected)
            # more weight for what is mostly noise costs more than it can bring
            lowest = math.sqrt(min(max(found, SIGNAL.lowest), 1.0))
        return told.weights(law.power, lowest)

    def _ratios(self) -> tuple[Vector, Vector, Vector]:
        """For each bucket: relative energy of the mean gradient, its noise, and energy of rows.

        The energy of the mean gradient is relative to that of rows; its noise is a standard
        deviation.

        For many classes energies add up over them; what is free of noise sums to zero, so that of K
        numbers K - 1 are noisy.
        """
        told, K = self.columns, self.classes
        size = told.counts.size
        squares = ((self._sum - self._common()[:, None]) / self._weight) ** 2
        variance = self._noise / self._weight**2 * (1.0 if K == 1 else (K - 1) / K)
        energy = np.bincount(told.buckets, squares.sum(axis=1) - K * variance, size)
        error = np.sqrt(2 * K * np.bincount(told.buckets, variance**2, size))
        held = np.maximum(np.maximum(told.energies, 2 * told.error), np.finfo(float).tiny)
        return energy / held, error / held, held

    def _common(self) -> Vector:
        r"""What an intercept that is not found yet adds to the gradient of every column: its mean times the mean slope.

        It says nothing about a column, and it is large where classes are rare. Columns whose
        entries are not negative have as mean what was answered, others less: the part between none and
        all is taken that leaves the least of the gradient.
        """
        told = self.columns
        if self.classes > 1 or not self._slope:
            return np.zeros(told.means.size)
        means = np.where(told.buckets > 0, told.means, 0.0)
        precision = 1 / np.maximum(self._noise, np.finfo(float).tiny)
        part = float(means * precision @ self._sum[:, 0]) / max(float(means**2 @ precision), np.finfo(float).tiny)
        return means * float(np.clip(part, min(self._slope, 0.0), max(self._slope, 0.0)))


def fitted_law(ratios: Vector, errors: Vector, means: Vector, scatter: Vector) -> PowerLaw:
    r"""The mean of the power laws that are possible given some ratios.

    Ratios scatter around :math:`c\,m^\kappa`, with the best c for each :math:`\kappa`.

    Parameters
    ----------
    ratios, errors : arrays
        :math:`r_b`, and the standard deviation of their noise.
    means : array
        :math:`m_b`.
    scatter : array
        Variance of a ratio around the law, as a part of the law's square.

    Examples
    --------
    >>> m = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    >>> round(fitted_law(m, 0.001 * m, m, np.full(5, 0.01)).kappa, 1)
    1.0
    """
    prior, doubt = SIGNAL.pair.prior
    law = np.exp(np.outer(KAPPAS, np.log(means / means.min())))
    unit = max(float(np.abs(ratios).max()), float(errors.max())) or 1.0
    ratios, floor = ratios / unit, (errors / unit) ** 2 + 1e-12
    spread = floor
    scale = np.zeros(KAPPAS.size)
    for _ in range(4):
        scale = np.maximum((law * ratios / spread).sum(axis=1) / (law**2 / spread).sum(axis=1), 0.0)
        spread = floor + (scale[:, None] * law) ** 2 * scatter
    misfit = (ratios - scale[:, None] * law) ** 2 / spread + np.log(spread)
    log_odds = -0.5 * misfit.sum(axis=1) - 0.5 * ((KAPPAS - prior) / doubt) ** 2
    odds = np.exp(log_odds - log_odds.max())
    odds /= odds.sum()
    return PowerLaw(float(odds @ KAPPAS), unit * float(odds @ scale))


def shrunk(value: float, error: float) -> float:
    """The mean of a normal number that was believed to be 1 with standard deviation 1, and was seen with this error.

    >>> shrunk(3.0, 1.0)
    2.0
    """
    return (value + error**2) / (1 + error**2)
