r"""Where intervals clip: public rules, and what part A leaves to part B.

Two clips decide what the intervals are about: residuals beyond R count as R, and rows longer than Q
weigh less. Both move the target where errors are skewed, or where the mean is not linear. The
target ``robust`` has narrow clips: :math:`R = 1.5` times the .8 quantile of residuals and
:math:`Q^2 = 1.25\,p` for p columns of second moment 1, which is about the .8 quantile of lengths.
For the ``mean``, and for classes, Q is the highest quantile of lengths that part A can read, at
most .995 (and nearer to 1 beyond 10000 rows, so that half the root of the number of rows are beyond
it), unless the noise of the Gram matrix would hide it; then R is c times the .8 quantile of
residuals with :math:`c = .26\,\mu\sqrt{n_B}/Q` within [2.5, 4.5], so that the noise of the score
stays below about .7 of its sampling error; from c = 9 on, half of it. With more and more rows both
clips go to infinity, and what they move vanishes beside the standard error. Constants were chosen
on simulated data; the quantile of Q on six public tables whose mean is not linear (California,
BudgetFood, movies, DoctorAUS, OFP, Computers: least squares with weights and without differ by 3 to
10 standard errors for the .8 quantile, by at most .2 for the .99 one).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..core.facts import Vector
from ..queries.kinds import CentredModel, Indices
from .constants import INTERVALS


@dataclass(frozen=True, eq=False)
class Pilot:
    """What part A leaves to part B: all public.

    Attributes
    ----------
    support : array of int
    centre, scale : arrays of the size of the support
        Columns are measured from and in.
    theta : array
        The pilot in these columns, the constant first where there is one.
    residual, norm : float
        Clips R and Q.
    kept : float
        Part of residuals within R.
    beyond : float
        Part of rows longer than Q, at most.
    limited : float
        Part of rows that a clip holds back: those beyond Q, and residuals beyond R as far as their
        count exceeds its noise.
    typical : float
        About the standard deviation of residuals.
    """

    support: Indices
    centre: Vector
    scale: Vector
    theta: Vector
    residual: float
    norm: float
    kept: float
    beyond: float
    limited: float
    typical: float

    @property
    def constant(self) -> bool:
        """Whether there is a constant column."""
        return self.theta.size > self.support.size

    def model(self, theta: Vector) -> CentredModel:
        """The model of these coefficients."""
        offset = float(theta[0]) if self.constant else 0.0
        return CentredModel(self.support, self.centre, theta[int(self.constant) :] / self.scale, offset)


@dataclass(frozen=True)
class Clips:
    """Rules for clips, of public numbers alone.

    Parameters
    ----------
    robust, classes : bool
    mu : float
        Gaussian budget of part B.
    n_rows : int
        Expected rows of part B.
    gram : float
        Weight of the Gram matrix beside the score.
    reading : float
        Scale of the noise, in rows, of the selection that reads a quantile of lengths.
    """

    robust: bool
    classes: bool
    mu: float
    n_rows: int
    gram: float
    reading: float

    def residual(self, norm: float) -> float:
        """c: the clip of residuals over their quantile, for rows within this norm."""
        if self.robust:
            return INTERVALS.robust
        least, most = INTERVALS.pair.residual
        wanted = INTERVALS.factor * self.mu * math.sqrt(self.n_rows) / norm
        return max(min(max(wanted, least), most), INTERVALS.free * wanted)

    def beyond(self, n_rows: int) -> float:
        """Part of rows that are longer than Q: as few as the rows of part A can distinguish from zero."""
        if self.robust:
            return 1 - INTERVALS.middle
        fewest = min(INTERVALS.fewest, INTERVALS.root / math.sqrt(n_rows))
        return min(max(fewest, INTERVALS.reading * self.reading / n_rows), 1 - INTERVALS.middle)

    def largest_norm(self, size: int) -> float:
        """Q beyond which the noise of the Gram matrix would hide it, for this number of columns."""
        bend = INTERVALS.bend if self.classes else 1.0
        noise = INTERVALS.gram_noise * math.sqrt(2 * size)
        square = INTERVALS.edge * bend * self.n_rows * self.mu * math.sqrt(self.gram) / noise
        return math.sqrt(max(square, INTERVALS.fill * size))
