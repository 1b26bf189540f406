r"""Where the columns of a table lie: noisy means of all of them, from rows held at a typical length.

.. math:: \tilde\mu = \mu_0 + \tfrac1n\textstyle\sum_i (x_i - \mu_0)\min(1, R/\|x_i-\mu_0\|) + \text{noise}, \qquad
          \hat\mu_j = E[\mu_j \mid \tilde\mu_j]

The length R is a paid quantile. What is believed of each mean is its expectation under the law of
all means that makes the d noisy ones most likely (Robbins; Kiefer and Wolfowitz): where numbers lie
at the midpoint of their bounds and indicators near an end, means are drawn to either, and where all
is noise, to one place. A second turn measures rows from the means of the first, which makes
rows shorter if those means were far from zero. The two results are averaged, weighted by precision.
Means of few columns are drawn to where they came from (James and Stein).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.facts import Facts, Projection, Vector
from ..core.plan import Ask, Noise
from ..queries.kinds import ColumnMeans, Indices
from .constants import ENGINE, Constants
from .engine import Queries, believed

#: Turns: rows are shorter from the first means, if these were far.
TURNS = 2
#: Places, in half-widths, about which means are thought to lie.
PLACES = np.linspace(-1.0, 1.0, ENGINE.whole.places)


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnLocations:
    """What is believed about the means of all columns; everything in it follows from released numbers.

    Parameters
    ----------
    means : array
        Within the bounds of their columns.
    doubts : array
        Standard deviations of their errors.
    length : float
        Typical length of rows from there.
    """

    means: Vector
    doubts: Vector
    length: float

    @classmethod
    def learn(cls, queries: Queries, lengths: Callable[[float], Vector], choice: Constants) -> ColumnLocations:
        """Ask for the means; `lengths` is the grid up to a length, and `choice` the quantile that is typical."""
        facts = queries.facts
        everything, bounds = np.arange(facts.n_features), facts.half_widths
        centre = doubts = total = np.zeros(facts.n_features)
        precision = length = 0.0
        for turn in range(1, TURNS + 1):
            frame = Projection(support=everything, centre=centre)
            reach = facts.row_bound + float(np.linalg.norm(centre))
            length = queries.row_length(frame, lengths(reach), choice, length_name(turn))
            noisy, noise = queries.noisy(ColumnMeans(everything, length, centre), name(turn))
            noise = max(noise, 1e-9 * reach)
            if facts.n_features < ENGINE.whole.law_columns:
                centre = np.clip(centre + believed(noisy, noise) * noisy, -bounds, bounds)
                doubts = np.full(noisy.size, noise)
                continue
            total, precision = total + (centre + noisy) / noise**2, precision + noise**-2
            centre, doubts = shrink_to_noise(total / precision, precision**-0.5, bounds)
        return cls(means=centre, doubts=doubts, length=length)

    def interval(self, entry: float, bounds: Vector) -> tuple[Vector, Vector]:
        """Intervals about the means within which entries are distinguished.

        They are wide enough for the noise of the means, and within the bounds of their columns.

        Examples
        --------
        >>> means, doubts = np.array([0.0, -0.9]), np.array([0.1, 0.2])
        >>> origin = ColumnLocations(means=means, doubts=doubts, length=1.0)
        >>> [np.round(end, 3).tolist() for end in origin.interval(0.05, np.ones(2))]
        [[-0.1, -1.0], [0.1, -0.7]]
        """
        half = np.minimum(np.maximum(entry, self.doubts), bounds)
        low = np.clip(self.means - half, -bounds, bounds - half)
        return low, np.clip(self.means + half, low + half, bounds)

    def rows_elsewhere(self, support: Indices, bounds: Vector) -> float:
        r"""At most this part of the rows has an entry of these columns at the end of its bounds far from its mean.

        A column within -b..b with the mean m has at most :math:`(b - |m|)/2b` of its entries there.
        """
        inside = 0.5 * (1 - np.abs(self.means[support]) / np.maximum(bounds[support], 1e-300))
        return float(inside.sum())

    def heavy_tailed(self, few: int, bounds: Vector) -> bool:
        r"""Whether noise on whole gradients is less than noise on a selection of `few` columns.

        This is so where columns have little between a few large entries.

        With means inside their bounds by q on average the mean deviation of a column is at most 2q,
        and with rows of length R its standard deviation is about :math:`R/\sqrt d`. A contrast
        has the former as its signal and :math:`\sqrt k` draws to pay for, with a tail of
        :math:`\ln d`; a gradient has the latter, :math:`\sqrt d` coordinates, and a tail of
        :math:`\sqrt{2\ln d}`.
        """
        d = self.means.size
        tail = np.sqrt(np.log(max(d, 2)) / 2)
        inside = float(np.mean(bounds - np.abs(self.means)))
        return bool(2 * inside * np.sqrt(d) < self.length * tail * np.sqrt(few / d))


def shrink_to_noise(noisy: Vector, noise: float, bounds: Vector) -> tuple[Vector, Vector]:
    """Posterior means and standard deviations of column means, by empirical Bayes.

    The prior maximises the likelihood of all noisy means. Means lie within `bounds`, and deviations
    are at most `noise`.

    Examples
    --------
    >>> noisy = np.r_[np.linspace(-0.3, 0.3, 50), np.linspace(-1.1, -0.5, 50)]
    >>> means, doubts = shrink_to_noise(noisy, 0.2, np.ones(100))
    >>> bool(abs(means[:50]).mean() < 0.1), bool(abs(means[50:] + 0.8).mean() < 0.1), bool(doubts.max() <= 0.2)
    (True, True, True)
    """
    scale, width = np.maximum(bounds, 1e-300)[:, None], ENGINE.place_width**2
    told, size = noisy[:, None] / scale, (max(noise, 1e-12) / scale) ** 2
    distance = (told - PLACES) ** 2 / (size + width)
    likely = np.exp(-0.5 * np.minimum(distance - distance.min(axis=1, keepdims=True), 1e3))
    law = np.full(PLACES.size, 1 / PLACES.size)
    for _ in range(ENGINE.whole.place_steps):
        law = law * (likely.T @ (1 / (likely @ law))) / len(likely)
    odds = likely * law
    odds /= odds.sum(axis=1, keepdims=True)
    inside = (PLACES * size + told * width) / (size + width)
    means = (odds * inside).sum(axis=1)
    spread = (odds * inside**2).sum(axis=1) - means**2 + (size * width / (size + width))[:, 0]
    doubts = np.minimum(np.sqrt(np.maximum(spread, 0.0)) * bounds, noise)
    return np.clip(means * bounds, -bounds, bounds), doubts


def name(turn: int) -> str:
    """Name of the ask for means."""
    return f"means {turn}"


def length_name(turn: int) -> str:
    """Name of the ask for a length."""
    return f"length for means {turn}"


def asks(share: float, question: float, gaussian: Noise, gumbel: Noise) -> list[Ask]:
    """What is asked, in order: `share` for the means together, and `question` for each length."""
    found = []
    for turn in range(1, TURNS + 1):
        found.append(Ask(name=length_name(turn), question="Quantile", noise=gumbel, share=question))
        found.append(Ask(name=name(turn), question="ColumnMeans", noise=gaussian, share=share / TURNS))
    return found


def clear(facts: Facts, level: float, share: float) -> bool:
    """Whether means would be told well.

    The noise of one is a small part of its column's half-width, for rows of evenly spread entries.

    `level` is N, rows times the Gaussian budget.
    """
    length = ENGINE.clear_length * float(np.linalg.norm(facts.half_widths))
    largest = float(facts.half_widths.mean()) if facts.n_features else 0.0
    return bool(2 * length / (level * np.sqrt(share / TURNS)) < ENGINE.clear_noise * largest)
