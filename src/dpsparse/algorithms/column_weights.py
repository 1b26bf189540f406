r"""Weights of columns, which reduce the influence of frequent columns.

They follow a fixed power of the frequency of a column, or a power that follows the path.

A weight is a power of a noisy mean absolute entry, :math:`a_j = (f/\max(m_j, f))^P`, and all are
scaled so that rows have a norm of about 1. Columns with means below f cannot be distinguished from
their noise and have equal weights; where weights follow the path these columns may have a weight of
their own (`dpsparse.algorithms.signal_test`). The norm of rows follows from their energies in a few
buckets of columns, whatever the weights, so that new weights need no new query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.facts import Vector
from ..core.plan import Ask, Noise
from ..queries.kinds import GroupEnergies, Indices, Oracle
from .constants import AVERAGING

#: Buckets of frequency: below the floor, and doublings of it.
BUCKETS = AVERAGING.whole.buckets


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
        Whether the power follows evidence along the path. Lengths are then made of energies of
        buckets, whatever the weights.
    after, every : float, int
        The power is changed once this part of the budget is spent, after this number of steps.
    balance_share : float
        Part of the budget for the share of the rarer class; 0: not asked for.
    rare, held : float
        If that share is below `rare`, the floor is multiplied by `held`: what distinguishes a rare class
        apart are often columns that are frequent within it, and they keep their weight.
    longer : float
        Where the power is followed, the path is longer by this factor for a rare class: its slopes
        bend less than the bound by which lengths are chosen.
    """

    floor: float
    share: float
    size_share: float
    row_norm: float
    least: float
    fill: float
    power: float = 0.5
    followed: bool = False
    after: float = AVERAGING.after
    every: int = 10
    balance_share: float = 0.0
    rare: float = AVERAGING.rare
    held: float = AVERAGING.rare_floor
    longer: float = AVERAGING.rare_length

    def asks(self, noise: Noise) -> tuple[Ask, ...]:
        """The queries that weights take, in their order."""
        size = ("energies", "GroupEnergies") if self.followed else ("size", "MeanRowNorm")
        kinds = (
            ("balance", "WeightedGradient", self.balance_share),
            ("means", "MeanAbsolute", self.share),
            (*size, self.size_share),
        )
        return tuple(Ask(name=n, question=q, noise=noise, share=s) for n, q, s in kinds if s > 0)


@dataclass(frozen=True, eq=False)
class Columns:
    """What was answered about the columns: enough for weights of any power, without another query.

    Attributes
    ----------
    rule : Weighting
    means : array
        Noisy mean absolute entries.
    floor : float
        From which on weights fall.
    buckets : array of int
    counts : array
        Columns in each bucket.
    centres : array
        Mean of the means in each bucket, the floor for the lowest.
    energies : array
        Mean squared length of rows in each bucket.
    error : float
        Standard deviation of the noise in the energies.
    rare : bool
        Whether one of two classes is rare.
    """

    rule: Weighting
    means: Vector
    floor: float
    buckets: Indices
    counts: Vector
    centres: Vector
    energies: Vector
    error: float
    rare: bool = False

    @cached_property
    def _fall(self) -> Vector:
        """Logarithms of the weights of power 1."""
        return np.asarray(np.log(self.floor / np.maximum(self.means, self.floor)))

    def weights(self, power: float, lowest: float = 1.0) -> Vector:
        """Weights of the features that make rows about as long as 1.

        Those below the floor of means are multiplied by `lowest`.
        """
        raw = np.exp(power * self._fall)
        raw[self.buckets == 0] *= lowest
        size = self.counts.size
        squares = np.bincount(self.buckets, raw**2, size) / np.maximum(self.counts, 1)
        length = math.sqrt(max(float(squares @ self.energies), (self.rule.least * self.rule.row_norm) ** 2))
        return np.asarray(raw / (self.rule.fill * length))


def released_columns(oracle: Oracle, rule: Weighting) -> Columns:
    """Ask for means and for the energies of buckets of columns that are alike frequent."""
    rare, means = _rare(oracle, rule), oracle.absolute_means(ask="means")
    floor = rule.floor * (rule.held if rare else 1.0)
    doublings = np.floor(np.log2(np.maximum(means, rule.floor) / rule.floor)) + 1
    buckets = np.where(means > rule.floor, np.minimum(doublings, BUCKETS - 1), 0).astype(np.intp)
    counts = np.bincount(buckets, minlength=BUCKETS).astype(float)
    centres = np.bincount(buckets, np.maximum(means, 0.0), BUCKETS) / np.maximum(counts, 1)
    centres[0] = rule.floor
    question = GroupEnergies(buckets, BUCKETS)
    told = np.asarray(oracle.answer(question, "energies"))
    error = oracle.deviation(question, "energies", 0)
    energies = np.maximum(told, max(error, 0.0))
    return Columns(rule, means, floor, buckets, counts, centres, energies, error, rare)


def sized_weights(oracle: Oracle, rule: Weighting) -> Vector:
    """Weights of the features by a fixed power, that make rows about as long as 1 by their noisy mean length."""
    facts = oracle.facts
    floor = rule.floor * (rule.held if _rare(oracle, rule) else 1.0)
    weights = (floor / np.maximum(oracle.absolute_means(ask="means"), floor)) ** rule.power
    shown = np.r_[weights, np.zeros(facts.free)]
    size = oracle.row_size(shown, top=rule.row_norm, ask="size")
    return np.asarray(weights / (rule.fill * min(max(size, rule.least * rule.row_norm), rule.row_norm)))


def _rare(oracle: Oracle, rule: Weighting) -> bool:
    """Whether one of two classes is rare, by a noisy count."""
    facts = oracle.facts
    if not rule.balance_share:
        return False
    # with no margin a slope is 1/2 less the class, so their mean shows how many are of each
    last = np.array([facts.n_features])
    slope = oracle.weighted_gradient(
        np.zeros(facts.dimension), np.array([1 / facts.intercept]), norm=0.5, support=last, ask="balance"
    )
    return 0.5 - abs(float(slope[0])) < rule.rare


__all__ = ["BUCKETS", "Columns", "Weighting", "released_columns", "sized_weights"]
