r"""Randomisers for one bounded number or one bit, each a finite mechanism that is exactly epsilon-LDP.

Reports are whole numbers. `unit` turns them into unbiased estimates; it is public, and so is the
set of possible reports, which does not depend on what is reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..randomness import Randomness
from .coins import bounded_probability, check_epsilon, check_positive

Vector = NDArray[np.float64]
Reports = NDArray[np.int32]

#: Cells of the piecewise mechanism.
CELLS = 2**20


@dataclass(frozen=True)
class TwoPoint:
    r"""Duchi et al.'s two points for a number in :math:`[-B, B]` [DJW18]_.

    .. math:: z = \pm\frac{B}{2p-1}, \qquad P(z > 0) = \frac12 + \frac{y}{2B}(2p-1), \qquad
              p = \frac{e^\epsilon}{1+e^\epsilon}

    Guarantee
    ---------
    **Density ratio.** :math:`P(z>0)` lies in :math:`[1-p, p]` for every y, and
    :math:`p/(1-p) \le e^\epsilon`; both ends are multiples of :math:`2^{-53}` and enforced, so the
    ratio holds for the float coin as well, whatever y. **Unbiased.** :math:`E\,z = y`.
    **Variance.** :math:`B^2/(2p-1)^2 - y^2`, at most :math:`B^2(e^\epsilon+1)^2/(e^\epsilon-1)^2`.

    References
    ----------
    .. [DJW18] Duchi, Jordan and Wainwright, Journal of the American Statistical Association 113, 2018.
    """

    epsilon: float
    bound: float = 1.0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_positive(self.bound, "the bound of a number")

    @cached_property
    def keep(self) -> float:
        """Probability p of an answer that is kept."""
        return bounded_probability(self.epsilon)

    @property
    def unit(self) -> float:
        """Size of both points."""
        return self.bound / (2 * self.keep - 1)

    @property
    def largest(self) -> float:
        """Largest size of an estimate."""
        return self.unit

    def reports(self, values: Vector, randomness: Randomness) -> Reports:
        """One report, -1 or 1, for each number; numbers beyond the bound, or not finite, are clipped to it."""
        held = _clipped(values, self.bound)
        up = np.clip(0.5 + held / (2 * self.bound) * (2 * self.keep - 1), 1 - self.keep, self.keep)
        return np.where(randomness.generator().random(held.shape) < up, 1, -1).astype(np.int32)

    def total(self, values: Vector, randomness: Randomness) -> NDArray[np.int64]:
        """The sum of one report for each row of `values`."""
        return np.asarray(self.reports(values, randomness).sum(axis=0, dtype=np.int64))

    def valid(self, reports: Reports) -> bool:
        """Whether these could be reports."""
        return bool(np.all(np.abs(reports.astype(np.int64)) == 1))

    def variance(self, value: float = 0.0) -> float:
        """Variance of the estimate of one number."""
        return self.unit**2 - value**2

    @property
    def worst_variance(self) -> float:
        """Largest over all numbers: at zero."""
        return self.variance(0.0)


@dataclass(frozen=True)
class Piecewise:
    r"""The piecewise mechanism for a number in :math:`[-B, B]` [W19]_, on a finite lattice.

    M cells in a row; a window of W of them whose place encodes the number. The report is a cell of
    the window with probability P and one of the others otherwise, each alike. The number picks the
    place by randomised rounding, from :math:`k = 0` for :math:`-B` to :math:`k = M - W` for B.

    Guarantee
    ---------
    **Density ratio.** A cell has probability :math:`P/W` inside and :math:`(1-P)/(M-W)` outside;
    :math:`P = e^\epsilon W/(e^\epsilon W + M - W)`, rounded down to a multiple of :math:`2^{-53}`,
    makes their ratio at most :math:`e^\epsilon`, exactly, for the float coin as well. A number
    between two places gives a mixture of the two laws. **Unbiased.** The mean cell is linear in k
    with slope :math:`\lambda = P - (1-P)W/(M-W)` around the middle one, so cell j stands for
    :math:`B\,(2j - M + 1)/(\lambda(M-W))`. **Variance**, in the limit of many cells and with
    :math:`h = e^{\epsilon/2}`: :math:`\frac{y^2}{h-1} + B^2\frac{h+3}{3(h-1)^2}`; `variance` has it
    for M cells.

    References
    ----------
    .. [W19] Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu, ICDE 2019, Algorithm 2. The window is theirs:
       :math:`W/M = 1/(e^{\epsilon/2}+1)`.
    """

    epsilon: float
    bound: float = 1.0
    cells: int = CELLS

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_positive(self.bound, "the bound of a number")
        if not 2 <= self.cells <= CELLS:
            raise ValueError(f"the piecewise mechanism has 2 to {CELLS} cells, got {self.cells!r}.")

    @cached_property
    def window(self) -> int:
        """W: how many cells around the number are likelier."""
        share = 1 / (1 + math.exp(min(self.epsilon / 2, 700.0)))
        return min(max(1, round(self.cells * share)), self.cells - 1)

    @cached_property
    def hit(self) -> float:
        """P: the probability of a report within the window."""
        return bounded_probability(self.epsilon + math.log(self.window / (self.cells - self.window)))

    @cached_property
    def unit(self) -> float:
        """What one half cell stands for."""
        rest = self.cells - self.window
        return self.bound / ((self.hit - (1 - self.hit) * self.window / rest) * rest)

    @property
    def largest(self) -> float:
        """Largest size of an estimate."""
        return self.unit * (self.cells - 1)

    def reports(self, values: Vector, randomness: Randomness) -> Reports:
        """One report for each number: twice its cell, counted from the middle."""
        generator = randomness.generator()
        rest = self.cells - self.window
        place = (_clipped(values, self.bound) / self.bound + 1) / 2 * rest
        start = np.clip(np.floor(place + generator.random(place.shape)), 0, rest).astype(np.int64)
        inside = start + generator.integers(0, self.window, place.shape)
        outside = generator.integers(0, rest, place.shape)
        outside += np.where(outside < start, 0, self.window)
        cell = np.where(generator.random(place.shape) < self.hit, inside, outside)
        return (2 * cell - (self.cells - 1)).astype(np.int32)

    def total(self, values: Vector, randomness: Randomness) -> NDArray[np.int64]:
        """The sum of one report for each row of `values`."""
        return np.asarray(self.reports(values, randomness).sum(axis=0, dtype=np.int64))

    def valid(self, reports: Reports) -> bool:
        """Whether these could be reports."""
        whole = reports.astype(np.int64) + (self.cells - 1)
        return bool(np.all((whole >= 0) & (whole <= 2 * (self.cells - 1)) & (whole % 2 == 0)))

    def variance(self, value: float = 0.0) -> float:
        """Variance of the estimate of one number."""
        M, W = self.cells, self.window
        place = (value / self.bound + 1) / 2 * (M - W)
        part = place - math.floor(place)
        centre = (2 * place - (M - W)) ** 2 + 4 * part * (1 - part)  # mean square of the window's centre, in half cells
        inside = centre + (W**2 - 1) / 3
        outside = (M * (M**2 - 1) / 3 - W * inside) / (M - W)
        return self.unit**2 * (self.hit * inside + (1 - self.hit) * outside) - value**2

    @property
    def worst_variance(self) -> float:
        """Largest over all numbers: at the bounds."""
        return self.variance(self.bound)


@dataclass(frozen=True)
class RandomisedResponse:
    r"""Warner's randomised response for one bit.

    .. math:: P(z = b) = p = \frac{e^\epsilon}{1+e^\epsilon}, \qquad \hat b = \frac12 + \frac{z - 1/2}{2p - 1}

    Guarantee
    ---------
    **Density ratio.** :math:`p/(1-p) \le e^\epsilon` with p a multiple of :math:`2^{-53}`: exact,
    and the best possible for a bit. **Unbiased.** :math:`E\,\hat b = b`. **Variance.**
    :math:`p(1-p)/(2p-1)^2 = e^\epsilon/(e^\epsilon-1)^2`.
    """

    epsilon: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @cached_property
    def keep(self) -> float:
        """Probability p of an answer that is kept."""
        return bounded_probability(self.epsilon)

    @property
    def unit(self) -> float:
        """Half the distance of the two estimates."""
        return 0.5 / (2 * self.keep - 1)

    @property
    def largest(self) -> float:
        """Distance of both estimates from their centre."""
        return self.unit

    @property
    def centre(self) -> float:
        """What lies between the two estimates."""
        return 0.5

    def reports(self, values: Vector, randomness: Randomness) -> Reports:
        """One report, -1 or 1, for each bit; whatever is not 1 counts as 0."""
        truth = np.where(np.asarray(values) == 1, 1, -1)
        kept = randomness.generator().random(truth.shape) < self.keep
        return np.where(kept, truth, -truth).astype(np.int32)

    def total(self, values: Vector, randomness: Randomness) -> NDArray[np.int64]:
        """The sum of one report for each row of `values`."""
        return np.asarray(self.reports(values, randomness).sum(axis=0, dtype=np.int64))

    def valid(self, reports: Reports) -> bool:
        """Whether these could be reports."""
        return bool(np.all(np.abs(reports.astype(np.int64)) == 1))

    def variance(self, value: float = 0.0) -> float:
        """Variance of the estimate, the same for both bits."""
        return self.keep * (1 - self.keep) / (2 * self.keep - 1) ** 2


def best_scalar(epsilon: float, bound: float = 1.0) -> TwoPoint | Piecewise:
    """The randomiser of the smaller worst variance: two points below epsilon of about 1.3, piecewise above.

    >>> type(best_scalar(1.0)).__name__, type(best_scalar(2.0)).__name__
    ('TwoPoint', 'Piecewise')
    """
    two, many = TwoPoint(epsilon, bound), Piecewise(epsilon, bound)
    return two if two.worst_variance <= many.worst_variance else many


def _clipped(values: Vector, bound: float) -> Vector:
    finite = np.nan_to_num(np.asarray(values, dtype=float), nan=0.0, posinf=bound, neginf=-bound)
    return np.asarray(np.clip(finite, -bound, bound))
