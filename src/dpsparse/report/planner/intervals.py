r"""How wide intervals will be, before anything is spent.

In columns of standard deviation 1 that are hardly correlated, with n rows in the second part, p
columns, residuals of standard deviation :math:`\sigma` clipped at R, of which a part a is within R
and whose clipped square is :math:`e\sigma^2` on average, the variance of a coefficient is about

.. math:: \frac{n\,e\,\sigma^2 + \sigma_g^2}{(n a h)^2}
          \Bigl(1 + \tfrac32\,(p+1)\,\bigl(\tfrac{\sigma_H}{nh}\bigr)^2\Bigr), \qquad
          \sigma_g = \frac{\Delta R Q}{\mu}, \quad
          \sigma_H = \frac{\Delta Q^2v_{\max}}{\mu\sqrt{B_H}},

where :math:`\Delta` is the joint sensitivity and Q the norm that rows are clipped to:
:math:`Q^2 = 1.25p` for the robust target, else 1.25 times the ratio of quantiles of :math:`\chi^2`,
as for normal columns, for each of them; h is 1 for numbers and the mean curvature for classes, for
which :math:`e\sigma^2 = h` and R = 1. The bracket is what the noise of the Gram matrix adds, to
second order. Nothing is calibrated. A poor pilot and correlated columns make intervals wider than
this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from scipy.special import gammaincinv, ndtr, ndtri

from ...algorithms.constants import INTERVALS, PLANNER
from ...algorithms.intervals import SplitIntervals, most_coefficients
from ...core.facts import Facts
from ...core.plain import Printed
from ...fitting import FitPlan
from ...queries.inference import pair_square
from .formulas import margin

#: Rows beyond which the planner does not look.
MOST_ROWS = 10**9
#: Half-widths are those of intervals at 95 %.
CRITICAL = float(-ndtri(0.025))


@dataclass(frozen=True)
class IntervalForecast(Printed):
    """What to expect of intervals.

    Attributes
    ----------
    intervals : SplitIntervals
        The public choices of the fit.
    add_remove : bool
    coefficients : int
        Features that are selected, at most.
    asked : int or None
        The sparsity that was asked for.
    residual, feature : float
        Assumed standard deviations of residuals and of a feature. For classes `residual` is the
        mean curvature of the loss.
    """

    shown: ClassVar[tuple[str, ...]] = (
        *("coefficients", "asked", "half_width", "relative", "flag", "good_coefficients", "residual", "feature"),
        *("most_coefficients=intervals.most", "n_rows=intervals.n_rows"),
    )

    intervals: SplitIntervals
    add_remove: bool
    coefficients: int
    asked: int | None
    residual: float
    feature: float

    @property
    def _columns(self) -> int:
        return self.coefficients + self.intervals.intercept

    @property
    def _distance(self) -> float:
        """The joint sensitivity, over mu of the last step."""
        made = self.intervals
        square = (
            1 + made.gram + made.meat if self.add_remove else pair_square(made.gram, made.meat, classes=made.classes)
        )
        mu = made.mu / 2 if self.add_remove else made.mu
        return math.sqrt(square) / (mu * math.sqrt(INTERVALS.several.steps[-1] if made.classes else 1.0))

    @property
    def edge(self) -> float:
        """Edge of the spectrum of the Gram matrix's noise over its eigenvalues, for uncorrelated columns."""
        return self._gram_noise * math.sqrt(2 * self._columns)

    @property
    def _gram_noise(self) -> float:
        made = self.intervals
        top, bend = (0.25, self.residual) if made.classes else (1.0, 1.0)
        return self._distance * self._norm**2 * top / (math.sqrt(made.gram) * made.n_rows * bend)

    @property
    def _norm(self) -> float:
        """Q: for normal columns that are hardly correlated."""
        made, size = self.intervals, self._columns
        if made.robust:
            return math.sqrt(INTERVALS.fill * size)
        high = float(
            gammaincinv(self.coefficients / 2, 1 - made.clips.beyond(made.n_rows))
            / gammaincinv(self.coefficients / 2, INTERVALS.middle)
        )
        square = INTERVALS.fill * (made.intercept + self.coefficients * max(high, 1.0))
        return min(math.sqrt(square), made.clips.largest_norm(size))

    @property
    def flag(self) -> str:
        """``good``, ``wide`` or ``too many`` coefficients, for columns that are hardly correlated."""
        if self.edge > INTERVALS.wide_edge:
            return "too many"
        return "good" if self.edge <= INTERVALS.good_edge and self.coefficients <= self.good_coefficients else "wide"

    @property
    def relative(self) -> float:
        """Half-width over that of an interval without privacy on as many rows as the second part has."""
        made, n = self.intervals, self.intervals.n_rows
        if made.classes:
            sampled, kept, clipped, clip = self.residual, self.residual, self.residual, 1.0
        else:
            c = made.clips.residual(self._norm) * float(ndtri((1 + INTERVALS.middle) / 2))
            inside = float(2 * ndtr(c) - 1)
            sampled, kept, clip = 1.0, inside, c
            clipped = inside - 2 * c * math.exp(-(c**2) / 2) / math.sqrt(2 * math.pi) + c**2 * (1 - inside)
        noise = (self._distance * clip * self._norm) ** 2
        grown = 1 + PLANNER.gram_growth * (self._columns + 1) * self._gram_noise**2
        without = sampled / (n * (self.residual if made.classes else 1.0) ** 2)
        return math.sqrt((n * clipped + noise) / (n * kept) ** 2 * grown / without)

    @property
    def half_width(self) -> float:
        """Of a 95 % interval, for a feature of the assumed standard deviation."""
        n = self.intervals.n_rows
        alone = 1 / math.sqrt(n * self.residual) if self.intervals.classes else self.residual / math.sqrt(n)
        return CRITICAL * self.relative * alone / self.feature

    @property
    def good_coefficients(self) -> int:
        """Up to how many coefficients intervals should be good."""
        return most_coefficients(self.intervals.n_rows, self.intervals.mu, INTERVALS.good_cap)

    def rows_needed(self, half_width: float) -> int | None:
        """Rows, of both parts together, for intervals of this half-width; None beyond a billion."""
        if not half_width > 0:
            raise ValueError(f"a half-width must be positive, got {half_width!r}.")

        def narrow(n: int) -> bool:
            return replace(self, intervals=replace(self.intervals, n_rows=n)).half_width <= half_width

        low, high = 1, 2
        while not narrow(high):
            low, high = high, 2 * high
            if high > MOST_ROWS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if narrow(middle) else (middle, high)
        return 2 * high

    def brief(self) -> str:
        """The width, in a line."""
        return (
            f"half-width about {self.half_width:.3g}, {self.relative:.3g} times that without privacy on these rows "
            f"({self.flag})"
        )

    def lines(self) -> list[str]:
        """What a plan says about them."""
        made = self.intervals
        half = self.rows_needed(self.half_width / 2)
        found = [
            f"intervals of up to {self.coefficients} coefficients, on about {made.n_rows} rows of "
            f"their own: {self.flag}",
            f"  half-width about {self.half_width:.3g}, {self.relative:.3g} times that without "
            f"privacy on these rows, for a feature of standard deviation {self.feature:.3g}",
            f"  good up to about {self.good_coefficients} coefficients, and at most {made.most} are given",
            f"  about {100 * made.clips.beyond(made.n_rows):.2g} % of rows, the longest in the "
            "selected features, weigh less",
            "  rows for half the width: "
            f"{'more than a billion' if half is None else f'about {round(half, 2 - len(str(half))):,}'}",
        ]
        if self.asked is not None and self.asked > self.coefficients:
            found.append(
                f"  warning: {self.asked} coefficients were asked for, more than this noise "
                f"leaves; {self.coefficients} are selected"
            )
        return found


def forecast(prepared: FitPlan, *, scale: float, signal: float) -> IntervalForecast | None:
    """What to expect of the intervals of a fit; None where it has none.

    Parameters
    ----------
    prepared : FitPlan
    scale : float
        Standard deviation of a feature.
    signal : float
        What the best model explains of the target's variance; of classes, one minus the ratio of error rates.
    """
    inference = prepared.inference
    if inference is None:
        return None
    facts: Facts = inference.first.facts
    coefficients = min(facts.sparsity or inference.intervals.most, inference.intervals.most, facts.n_features)
    residual = margin(signal)[1] if facts.target.classes else facts.target_bound / 3 * math.sqrt(1 - signal)
    return IntervalForecast(
        intervals=inference.intervals,
        add_remove=prepared.request.adjacency.kappa == 1,
        coefficients=coefficients,
        asked=prepared.request.sparsity,
        residual=residual,
        feature=scale,
    )
