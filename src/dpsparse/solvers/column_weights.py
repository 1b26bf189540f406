r"""Weights of columns: how frequent ones are held back, fixed beforehand or followed along a path by evidence.

A weight is a power of a noisy mean absolute entry, :math:`a_j = (f/\max(m_j, f))^P`, and all are scaled so that rows are about as long as 1.
In weighted columns those of one frequency, a bucket b, learn at the rate :math:`a_b^2 h_b` and put noise :math:`a_b^2 H_b` into a margin, for
:math:`h_b` their mean square and :math:`H_b` their part of a row's squared length. The least signal is left at a given noise where
:math:`a_b^2 \propto r_b/h_b`, with :math:`r_b` the energy of the mean gradient in the bucket over :math:`H_b`. With
:math:`r \propto m^\kappa` that is a power :math:`P = (1-\kappa)/2`: frequent columns are held back by the root of their mean where signal is
spread evenly over a row's energy (:math:`\kappa = 0`), and not at all where it grows with frequency (:math:`\kappa = 1`).

`Evidence` reads :math:`\kappa` off gradients that were released already: their weighted mean, bucket by bucket, less the energy of its noise,
which is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..facts import Vector
from ..oracle import BucketEnergies, Indices, Oracle
from ..privacy.plan import Ask, Noise

#: Buckets of frequency: below the floor, and doublings of it.
BUCKETS = 16
#: Where kappa is looked for, and what is believed of it beforehand: mean and standard deviation.
KAPPAS = np.linspace(-0.5, 2.0, 26)
PRIOR, DOUBT = 0.3, 0.4
#: How far buckets scatter around a power law, as a part of it.
SCATTER = 0.5
#: The power that kappa gives: a little more than half of 1 - kappa, since the weights of the start held frequent columns back; within bounds.
SLOPE, LEAST, MOST = 0.55, -0.1, 0.6


@dataclass(frozen=True, kw_only=True)
class Weighting:
    r"""How column weights are made: :math:`a_j = (f/\max(m_j, f))^P` for noisy means :math:`m_j = \mathrm{mean}|x_j|`.

    Then all are divided by `fill` times a noisy mean length of the weighted rows.

    Parameters
    ----------
    floor : float
        f: means below it drown in their noise, and count alike.
    share, size_share : float
        Parts of the budget for the means, and for a mean length or the energies of buckets.
    row_norm : float
        Public bound on the length of a row.
    least : float
        Mean lengths below this part of `row_norm` count as this: they would drown in their noise.
    fill : float
        What part of a mean length becomes 1; longer rows meet the clip.
    power : float
        P; where it is followed, the one of the start.
    followed : bool
        Whether the power follows evidence along the path. Lengths are then made of energies of buckets, whatever the weights.
    after, every : float, int
        The power is changed once this part of the budget is spent, every so many steps.
    balance_share : float
        Part of the budget for the share of the rarer class; 0: not asked for.
    rare, held : float
        If that share is below `rare`, the floor is multiplied by `held`: what tells a rare class apart are often
        columns that are frequent within it, and they keep their weight.
    """

    floor: float
    share: float
    size_share: float
    row_norm: float
    least: float
    fill: float
    power: float = 0.5
    followed: bool = False
    after: float = 0.1
    every: int = 10
    balance_share: float = 0.0
    rare: float = 0.15
    held: float = 3.0

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """The questions that weights take, in their order."""
        size = ("energies", "BucketEnergies") if self.followed else ("size", "RowSize")
        kinds = (
            ("balance", "WeightedGradient", self.balance_share),
            ("means", "AbsoluteMeans", self.share),
            (*size, self.size_share),
        )
        return tuple(Ask(name=n, question=q, noise=noise, share=s) for n, q, s in kinds if s > 0)


@dataclass(frozen=True, eq=False)
class Columns:
    """What was told about the columns: enough for weights of any power, without another question.

    Attributes
    ----------
    rule : Weighting
    means : array
        At least the floor from which weights start.
    floor : float
        That floor.
    buckets : array of int
    counts : array
        Columns in each bucket.
    centres : array
        Mean of the means in each bucket, the floor for the lowest.
    energies : array
        Mean squared length of rows in each bucket.
    error : float
        Standard deviation of the noise in the energies.
    """

    rule: Weighting
    means: Vector
    floor: float
    buckets: Indices
    counts: Vector
    centres: Vector
    energies: Vector
    error: float

    def weights(self, power: float) -> Vector:
        """Weights of the features that make rows about as long as 1."""
        raw = (self.floor / self.means) ** power
        size = self.counts.size
        squares = np.bincount(self.buckets, raw**2, size) / np.maximum(self.counts, 1)
        length = math.sqrt(max(float(squares @ self.energies), (self.rule.least * self.rule.row_norm) ** 2))
        return np.asarray(raw / (self.rule.fill * length))


class Evidence:
    """Released gradients of a path, added up: where along the frequencies the signal is.

    Parameters
    ----------
    columns : Columns
    """

    def __init__(self, columns: Columns, shape: tuple[int, ...]) -> None:
        self.columns = columns
        self._sum = np.zeros(shape)
        self._weight = 0.0
        self._noise = np.zeros(shape[0])

    def add(self, step: float, gradient: Vector, deviations: Vector) -> None:
        """One answer on the features, in units of the columns as they are; `deviations` of its noise in each column."""
        self._sum += step * gradient
        self._weight += step
        self._noise += (step * deviations) ** 2

    def kappa(self, classes: int) -> float | None:
        """The exponent of the law of signal and frequency: a mean over what the answers leave possible; None without buckets.

        For many classes energies add up over them; what is free of noise sums to zero, so that of K numbers K - 1 are noisy.
        """
        told = self.columns
        seen = np.flatnonzero(told.counts[1:] > 0) + 1  # the lowest bucket has no mean of its own
        if seen.size < 2 or not self._weight:
            return None
        size = told.counts.size
        squares = (self._sum / self._weight) ** 2
        variance = self._noise / self._weight**2 * (1.0 if classes == 1 else (classes - 1) / classes)
        own = squares if squares.ndim == 1 else squares.sum(axis=1)
        energy = np.bincount(told.buckets, own - classes * variance, size)
        error = np.sqrt(2 * classes * np.bincount(told.buckets, variance**2, size))
        held = np.maximum(told.energies, 2 * told.error)
        held = np.maximum(held, np.finfo(float).tiny)
        return posterior(
            (energy / held)[seen],
            (error / held)[seen],
            told.centres[seen],
            SCATTER**2 + 2 / (classes * told.counts[seen]) + (2 * told.error / held[seen]) ** 2,
        )


def posterior(ratios: Vector, errors: Vector, means: Vector, scatter: Vector) -> float:
    r"""Mean of :math:`\kappa` given ratios that scatter around :math:`c\,m^\kappa`, with c at its best for each :math:`\kappa`.

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
    >>> round(posterior(m, 0.001 * m, m, np.full(5, 0.01)), 1)
    1.0
    """
    law = np.exp(np.outer(KAPPAS, np.log(means / means.min())))
    unit = max(float(np.abs(ratios).max()), float(errors.max())) or 1.0
    ratios, floor = ratios / unit, (errors / unit) ** 2 + 1e-12
    spread = floor
    scale = np.zeros(KAPPAS.size)
    for _ in range(4):
        scale = np.maximum((law * ratios / spread).sum(axis=1) / (law**2 / spread).sum(axis=1), 0.0)
        spread = floor + (scale[:, None] * law) ** 2 * scatter
    misfit = (ratios - scale[:, None] * law) ** 2 / spread + np.log(spread)
    log_odds = -0.5 * misfit.sum(axis=1) - 0.5 * ((KAPPAS - PRIOR) / DOUBT) ** 2
    odds = np.exp(log_odds - log_odds.max())
    return float(odds @ KAPPAS / odds.sum())


def power_of(kappa: float) -> float:
    """The power of weights for an exponent."""
    return min(max(SLOPE * (1 - kappa), LEAST), MOST)


def told_columns(oracle: Oracle, rule: Weighting) -> Columns:
    """Ask for means and for the energies of buckets of columns that are alike frequent."""
    floor, means = _floor(oracle, rule), oracle.absolute_means(ask="means")
    doublings = np.floor(np.log2(np.maximum(means, rule.floor) / rule.floor)) + 1
    buckets = np.where(means > rule.floor, np.minimum(doublings, BUCKETS - 1), 0).astype(np.intp)
    counts = np.bincount(buckets, minlength=BUCKETS).astype(float)
    centres = np.bincount(buckets, np.maximum(means, 0.0), BUCKETS) / np.maximum(counts, 1)
    centres[0] = rule.floor
    question = BucketEnergies(buckets, BUCKETS)
    told = np.asarray(oracle.answer(question, "energies"))
    error = oracle.deviation(question, "energies", 0)
    return Columns(
        rule, np.maximum(means, floor), floor, buckets, counts, centres, np.maximum(told, max(error, 0.0)), error
    )


def sized_weights(oracle: Oracle, rule: Weighting) -> Vector:
    """Weights of the features by a fixed power, that make rows about as long as 1 by their noisy mean length."""
    facts = oracle.facts
    floor = _floor(oracle, rule)
    weights = (floor / np.maximum(oracle.absolute_means(ask="means"), floor)) ** rule.power
    shown = np.r_[weights, np.zeros(facts.free)]
    size = oracle.row_size(shown, top=rule.row_norm, ask="size")
    return np.asarray(weights / (rule.fill * min(max(size, rule.least * rule.row_norm), rule.row_norm)))


def _floor(oracle: Oracle, rule: Weighting) -> float:
    """Where weights start to fall: higher where one of two classes is rare."""
    facts = oracle.facts
    if not rule.balance_share:
        return rule.floor
    # with no margin a slope is 1/2 less the class, so their mean tells how many are of each
    last = np.array([facts.n_features])
    slope = oracle.weighted_gradient(
        np.zeros(facts.dimension), np.array([1 / facts.intercept]), norm=0.5, support=last, ask="balance"
    )
    return rule.floor * (rule.held if 0.5 - abs(float(slope[0])) < rule.rare else 1.0)


__all__ = ["Columns", "Evidence", "Weighting", "power_of", "sized_weights", "told_columns"]
