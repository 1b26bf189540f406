"""Curvature of coordinates: mean squares of columns, steps, and how much a budget can see."""

from __future__ import annotations

import math

import numpy as np

from ...algorithms.constants import PAPERS
from ...algorithms.coordinates import ColumnSquares
from ...core.budget import Budget
from ...core.facts import Facts
from ...core.plan import Noise

CURVATURES = ("auto", "average", "bounds", "private")


def column_squares(facts: Facts, budget: Budget, curvature: str, share: float = PAPERS.square_share) -> ColumnSquares:
    r"""Mean squares of the columns, from which curvatures :math:`M_j = \beta_0\overline{x_j^2}` follow.

    ``bounds``: the largest possible ones, :math:`B_j^2`. ``average``: what they are on average if
    rows spread their norm over columns as the bounds do, :math:`B_j^2\min(1, K_2^2/\sum_k B_k^2)`,
    and at least :math:`B_j^2/8`. ``private``: one release of all mean squares, for the part `share`
    of the budget. ``auto``: private where the average would fall below :math:`B_j^2/8` and twice
    the noise of the release would not; average elsewhere. The intercept's square is known.
    """
    bounds = facts.half_widths**2
    part = facts.row_bound**2 / float(bounds.sum())
    if curvature == "auto":
        # l2 sensitivity of the sum of squares is at most sqrt(kappa) B K2
        noise = math.sqrt(budget.kappa) * facts.entry_bound * facts.norm_bound
        noise /= facts.n_rows * math.sqrt(2 * share * budget.as_rho())
        readable = 2 * noise <= PAPERS.least_square * facts.entry_bound**2 and budget.delta != 0
        shifted = facts.sparse and bool(np.any(facts.shift))
        curvature = "private" if part < PAPERS.least_square and readable and not shifted else "average"
    guess = bounds * (1.0 if curvature == "bounds" else min(1.0, max(part, PAPERS.least_square)))
    if curvature == "private" and facts.sparse and np.any(facts.shift):
        raise ValueError(
            "curvature='private' clips every column by itself, which sparse rows with a "
            "feature_center cannot do; use curvature='average'."
        )
    constant = [facts.intercept**2] * facts.free
    return ColumnSquares(
        bounds=np.r_[bounds, constant],
        guess=np.r_[guess, constant],
        share=share if curvature == "private" else 0.0,
        noise=Noise.LAPLACE if budget.delta == 0 else Noise.GAUSSIAN,
    )


def signal(facts: Facts, squares: ColumnSquares, budget: Budget, strength: float) -> float:
    r"""How much a budget can see: :math:`q\,n\,u\,\sqrt{v}/\kappa`.

    A typical margin over the noise that one step, if it had the whole budget of strength :math:`u`,
    would add to it when slopes are clipped at a typical one. :math:`v` is the mean square of a
    column over the square of its clip, and q is 1/4 for classes and 1 otherwise.
    """
    part = 1.0 if squares.share else float(squares.guess[0] / squares.bounds[0])
    q = PAPERS.class_signal if facts.target.classes else 1.0
    return q * facts.n_rows * strength * math.sqrt(part) / budget.kappa


def residual_limit(facts: Facts, wanted: float, least: float) -> float:
    """R: `wanted` typical targets, at least `least`, at most three (the target bound), and no more than any slope."""
    return min(facts.target.typical * min(max(wanted, least), 3.0), facts.slope_bound)


def relaxation(facts: Facts, residual: float) -> float:
    r"""Part of the step 1 over the curvature: :math:`P(|Z| \le R/u)^{-1/2}`, at most 1.6; 1 for classes.

    Rows beyond the clip have no curvature. At first, residuals are of the size u of a typical target and only a part
    :math:`P(|Z| \le R/u)` of the rows curves the clipped loss; in the end nearly all do. The root lies between.
    """
    if facts.target.classes:
        return 1.0
    return min(PAPERS.most_relaxation, 1.0 / math.sqrt(math.erf(residual / facts.target.typical / math.sqrt(2))))
