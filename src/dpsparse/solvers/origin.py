r"""Where the columns of a table lie: noisy means of all of them, from rows held at a typical length.

.. math:: \mu \leftarrow \mu + \kappa\Bigl(\tfrac1n\textstyle\sum_i (x_i - \mu)\min(1, R/\|x_i-\mu\|) + \text{noise}\Bigr), \qquad
          \kappa = \max\bigl(0, 1 - d\sigma^2/\|\cdot\|^2\bigr)

The length R is a paid quantile, and :math:`\kappa` draws what is told to where it came from as far as it is noise (James and Stein). A second
turn is from where the first one ended: rows are shorter from there, if means were far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..facts import Facts, Frame, Vector
from ..oracle import ColumnMeans, Oracle
from ..privacy.plan import Ask, Noise

#: Turns: rows are shorter from the first means, if these were far.
TURNS = 2
#: Half of an interval about a noisy mean is at least this many standard deviations of its noise.
DOUBT = 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Origin:
    """Noisy means of all columns, and the standard deviation of their noise; everything in it was released.

    Parameters
    ----------
    means : array
        Within the bounds of their columns.
    noise : float
    inside : float
        Mean distance of the means from the nearest end of their columns, before they were held within them.
    """

    means: Vector
    noise: float
    inside: float

    @classmethod
    def learn(cls, oracle: Oracle, length: Callable[[Frame, float, str], float]) -> Origin:
        """Ask for the means; `length` asks for a typical length of rows in a frame, at most a number, by a name."""
        facts = oracle.facts
        everything, bounds = np.arange(facts.n_features), facts.half_widths
        centre = told = np.zeros(facts.n_features)
        noise = 0.0
        for turn in range(1, TURNS + 1):
            frame = Frame(support=everything, centre=centre)
            reach = facts.row_bound + float(np.linalg.norm(centre))
            question = ColumnMeans(everything, length(frame, reach, length_name(turn)), centre)
            noisy, noise = np.asarray(oracle.answer(question, name(turn))), oracle.deviation(question, name(turn), 0)
            told = centre + shrinkage(noisy, noise) * noisy
            centre = np.clip(told, -bounds, bounds)
        return cls(means=centre, noise=noise, inside=float(np.mean(bounds - np.abs(told))))

    def interval(self, entry: float, bounds: Vector) -> tuple[Vector, Vector]:
        """Intervals about the means in which entries are told apart, wide enough for their noise, and within the bounds of their columns.

        Examples
        --------
        >>> origin = Origin(means=np.array([0.0, -0.9]), noise=0.1, inside=0.5)
        >>> [end.tolist() for end in origin.interval(0.05, np.ones(2))]
        [[-0.2, -1.0], [0.2, -0.7]]
        """
        half = np.minimum(max(entry, DOUBT * self.noise), bounds)
        low = np.clip(self.means - half, -bounds, bounds - half)
        return low, np.clip(self.means + half, low + half, bounds)

    def spiky(self, length: float, few: int) -> bool:
        r"""Whether columns have so little between a few large entries that noise on whole gradients is less than on a selection of `few`.

        With means inside their bounds by q on average the mean deviation of a column is at most 2q, and with rows of this length its
        standard deviation is about :math:`R/\sqrt d`. A contrast has the former as its signal and :math:`\sqrt k` draws to pay for, with a
        tail of :math:`\ln d`; a gradient has the latter, :math:`\sqrt d` coordinates, and a tail of :math:`\sqrt{2\ln d}`.
        """
        d = self.means.size
        tail = np.sqrt(np.log(max(d, 2)) / 2)
        return bool(2 * self.inside * np.sqrt(d) < length * tail * np.sqrt(few / d))


def shrinkage(noisy: Vector, noise: float) -> float:
    """Part of a noisy vector that is believed (James and Stein)."""
    return max(0.0, 1 - noisy.size * noise**2 / max(float(noisy @ noisy), 1e-300))


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
    """Whether means would be told well: the noise of one is a small part of its column's half-width, for rows of evenly spread entries.

    `level` is N, rows times the Gaussian budget.
    """
    length = 0.6 * float(np.linalg.norm(facts.half_widths))
    largest = float(facts.half_widths.mean()) if facts.n_features else 0.0
    return 2 * length / (level * np.sqrt(share / TURNS)) < 0.5 * largest
