r"""One Poisson-sampled Gaussian step: its dominating pair, and the law of its privacy loss on a grid.

Each row takes part with probability q and contributes a vector of norm at most 1 to a sum, to which
Gaussian noise of standard deviation z is added.

Guarantee
---------
**The pair.** Condition on which other rows take part; divergences are jointly convex. With the
contribution :math:`u` of a record (and :math:`v` of the one that replaces it, which keeps its coin)
a step is then :math:`(1-q)N_0 + qN_u` against :math:`N_0`, or against :math:`(1-q)N_0 + qN_v`,
where :math:`N_m = N(m, z^2 I)`. For :math:`\alpha \ge 1`

.. math:: H_\alpha = q\,\mathbb E_{N_u}\Bigl[\Bigl(1 - \alpha\tfrac{dN_v}{dN_u}
          - (\alpha-1)\tfrac{1-q}{q}\tfrac{dN_0}{dN_u}\Bigr)_+\Bigr],

a convex function of a positive combination of two log-normal variables of mean 1, with logarithmic
variances :math:`\|u-v\|^2/z^2` and :math:`\|u\|^2/z^2`. Among all joint laws with given marginals
the comonotone one makes such a sum largest in convex order, and there raising either variance
raises it further (:math:`e^{rZ - r^2/2}` is a martingale in :math:`r^2`) [DDGKV02]_. Both are
reached together by :math:`v = -u, \|u\| = 1`. So :math:`(1-q)N(0, z^2) + qN(1, z^2)` against
:math:`(1-q)N(0, z^2) + qN(-1, z^2)` dominates replace-one; orders below 1 follow by exchanging the
roles, which mirrors the line. Add-remove is the case without :math:`v`, and needs both directions.

**The grid.** A loss between two points is split between them so that its probabilities under P and
under Q are both kept. This replaces :math:`\alpha \mapsto H_\alpha` by its chords, which lie above
it [DGKKM22]_. What is above the grid becomes an infinite loss; what is below it moves up.

References
----------
.. [DDGKV02] Dhaene, Denuit, Goovaerts, Kaas and Vyncke, Insurance: Mathematics and Economics 31, 2002: comonotone sums.
.. [DGKKM22] Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, PETS 2022: connect the dots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ..core.adjacency import Adjacency

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """A dominating pair on a line along which the loss log dP/dQ rises.

    P is :math:`(1-q) N(0) + q N(above)` and Q is :math:`(1-q) N(0) + q N(below)`, with standard
    deviation `multiplier`; a side of 0 leaves N(0) alone.
    """

    rate: float
    multiplier: float
    above: float
    below: float

    def loss(self, x: float) -> float:
        """The loss at a place."""
        return self._log_ratio(x, self.above) - self._log_ratio(x, self.below)

    def _log_ratio(self, x: float, side: float) -> float:
        """The loss against N(0) of one of the two laws."""
        if side == 0:
            return 0.0
        moved = (side * x - 0.5) / self.multiplier**2
        return moved if self.rate >= 1 else float(np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + moved))

    def ends(self, tail: float) -> tuple[float, float]:
        """Losses between which all but `tail` of P lies, on either side."""
        reach = self.multiplier * -float(ndtri(tail))
        return self.loss(-reach), self.loss(self.above + reach)

    def where(self, loss: Array) -> Array:
        """The place at which the loss is reached; infinite where it never is."""
        q, square = self.rate, self.multiplier**2
        if self.above and self.below:
            if q >= 1:
                return np.asarray(square * loss / 2)
            # x = square (loss/2 + log v) with v - 1/v = 2 (1-q)/q exp(1/(2 square)) sinh(loss/2), in logarithms
            half = np.abs(loss) / 2
            with np.errstate(divide="ignore"):
                t = math.log((1 - q) / q) + 0.5 / square + half + np.log(-np.expm1(-2 * half)) - math.log(2)
            large = t + np.log1p(np.sqrt(1 + np.exp(-2 * np.maximum(t, 0.0))))
            inverse = np.where(t > 0, large, np.arcsinh(np.exp(np.minimum(t, 0.0))))
            return np.asarray(square * (loss / 2 + np.sign(loss) * inverse))
        sign = 1.0 if self.above else -1.0
        up = sign * loss
        with np.errstate(divide="ignore"):
            small = np.log1p(np.maximum(np.expm1(np.minimum(up, 30.0)) / q, -1.0))
        large = np.maximum(up, 30.0) - math.log(q) + np.log1p((q - 1) * np.exp(-np.maximum(up, 30.0)))
        return np.asarray(sign * (0.5 + square * np.where(up > 30.0, large, small)))

    def masses(self, x: Array) -> tuple[Array, Array]:
        """Probability of each interval between successive places, under P and under Q."""
        middle = _normal_mass(x / self.multiplier)

        def law(side: float) -> Array:
            if side == 0:
                return middle
            return (1 - self.rate) * middle + self.rate * _normal_mass((x - side) / self.multiplier)

        return law(self.above), law(self.below)

    def losses(
        self, step: float, tail: float, most: int | None = None, least: int | None = None
    ) -> tuple[int, Array, float]:
        """The loss on the multiples of `step`: first index, probabilities, mass beyond the last.

        The mass beyond the last index is the probability of a larger loss.

        First and last are where all but `tail` lies, or no further than `least` and `most`. What is
        below the first moves up.
        """
        lowest, highest = self.ends(tail)
        low = math.floor(lowest / step) if least is None else max(math.floor(lowest / step), least)
        high = max(math.ceil(highest / step), low + 1) if most is None else most
        points = np.asarray(step * np.arange(low, high + 1), dtype=np.float64)
        p, q = self.masses(np.r_[-np.inf, self.where(points), np.inf])
        floor = math.exp(-step)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            kept = np.exp(points[:-1] + np.log(q[1:-1]) - np.log(p[1:-1]))  # between exp(-step) and 1
        kept = np.clip(np.nan_to_num(kept, nan=floor, posinf=floor), floor, 1.0)  # where digits are lost, all moves up
        upper = p[1:-1] * np.clip((1 - kept) / (1 - floor), 0.0, 1.0)
        out = np.zeros(points.size)
        out[:-1] += p[1:-1] - upper
        out[1:] += upper
        out[0] += p[0]
        return low, out, float(p[-1])


def _normal_mass(x: Array) -> Array:
    """Standard normal probability between successive points, each from the nearer tail."""
    side = np.where(x[:-1] > 0, -1.0, 1.0)
    return np.asarray(side * (ndtr(side * x[1:]) - ndtr(side * x[:-1])))


def dominating_pairs(rate: float, multiplier: float, relation: Adjacency) -> tuple[Pair, ...]:
    """One pair for each direction that matters; rate 1 means every row."""
    if relation is Adjacency.REPLACE_ONE:
        return (Pair(rate, multiplier, 1.0, -1.0),)
    return Pair(rate, multiplier, 1.0, 0.0), Pair(rate, multiplier, 0.0, -1.0)
