r"""What coordinate solvers share: curvatures, clips and a step along one coordinate.

The objective is a mean loss plus a penalty. Its smooth part (loss and l2 penalty) has curvature at
most :math:`H_j = M_j + \lambda_2` along coordinate j, with :math:`M_j = \beta_0\,\overline{x_j^2}`;
the rest of the penalty (l1 or a box) is met by its proximal map:

.. math:: w_j \leftarrow \mathrm{prox}_{\gamma\psi_j/H_j}\bigl(w_j
          - \tfrac{\gamma}{H_j}(\tilde g_j + \lambda_2 w_j)\bigr)

A row's contribution to coordinate j is clipped to :math:`C_j = R\sqrt{M_j/\beta_0}`, so that every
coordinate has the same sensitivity on the scale :math:`g_j/\sqrt{M_j}` on which coordinates are
compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.facts import Clip, Facts, Vector
from ..core.plan import Ask, Noise
from ..ops import hard_threshold, proximal_step, rough
from ..queries.kinds import Gradient, Indices, MeanSquares, Oracle
from .constants import PAPERS, STEPS


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnSquares:
    """Mean squares of the columns: public, or asked for once.

    Parameters
    ----------
    bounds : array of shape (dimension,)
        Largest possible square of each column.
    guess : array of shape (dimension,)
        Public mean square that is used where none is asked for.
    share : float
        Part of the budget that buys a private estimate of all mean squares; 0: none is asked for.
    noise : Noise
        ``Noise.NONE`` for the non-private baseline.
    """

    bounds: Vector
    guess: Vector
    share: float = 0.0
    noise: Noise = Noise.GAUSSIAN

    def __str__(self) -> str:
        if self.share:
            return f"asked for once, {self.share:.3g} of the budget"
        low, high = f"{self.guess.min():.4g}", f"{self.guess.max():.4g}"
        return f"public, {low}" if low == high else f"public, {low} to {high}"

    def asks(self) -> tuple[Ask, ...]:
        """One release of all mean squares, or nothing."""
        return (Ask(name="squares", question="MeanSquares", noise=self.noise, share=self.share),) if self.share else ()

    def read(self, oracle: Oracle) -> Vector:
        """The mean squares to use: at least the public floor, at most what the bounds allow.

        The floor is twice the noise of the release, or a tenth of the guess if that is more: below it a noisy square
        says nothing, and a step of 1 over it would be wild.
        """
        if not self.share:
            return self.guess
        noise = oracle.deviation(MeanSquares(), "squares", 0)
        floor = np.minimum(np.maximum(2 * noise, PAPERS.squares_floor * self.guess), self.bounds)
        if self.noise is Noise.NONE:
            floor = 1e-12 * self.bounds
        return np.clip(oracle.squares(), floor, self.bounds)


def coordinate_bounds(facts: Facts, squares: Vector, residual: float, *, columns: bool) -> tuple[Vector, Clip]:
    """Curvatures from mean squares, and the clip from the residual bound R.

    `columns`: every column by its own square.
    """
    ridge = facts.penalty.l2 * np.ones(facts.dimension)
    ridge[facts.n_features :] = 0.0
    norm = residual * facts.norm_bound
    clip = Clip(norm, columns=residual * np.sqrt(squares)) if columns else Clip(norm, slope=residual)
    return facts.curvature * squares + ridge, clip


class CoordinateSteps:
    r"""The steps of one run along one coordinate at a time, as long as released answers allow.

    A step is `step_size` over the worst-case curvature :math:`H_j`. A loss behind a link bends far
    less than it may: Poisson's by the largest rate that is allowed. When the gradient along
    coordinate j is asked for again after j moved by :math:`\delta`, the two answers show the
    curvature :math:`\Delta g_j/\delta` (and what other coordinates did to it meanwhile); three
    standard deviations of their noise are added. `factor`, by which steps are longer than in the
    worst case, at most doubles from one such answer to the next, and falls back to 1 where an
    answer shows the worst case. Where margins speak of targets directly (numbers, classes) the
    curvature is known well, and the factor stays 1.

    Parameters
    ----------
    oracle : Oracle
    squares : ColumnSquares
        Asked for here, where they have a share.
    residual : float
        Bound R on the slope of the loss of one row.
    step_size : float

    Attributes
    ----------
    curvature : array
        :math:`H_j`.
    clip : Clip
    """

    def __init__(self, oracle: Oracle, squares: ColumnSquares, residual: float, step_size: float) -> None:
        self.oracle, self.step_size, self.factor, self.turn = oracle, step_size, 1.0, 0
        self.curvature, self.clip = coordinate_bounds(
            oracle.facts, squares.read(oracle), residual, columns=squares.share > 0
        )
        self.last: dict[int, tuple[float, float]] = {}  # the gradient along j, and how far j moved then

    def first(self) -> Vector:
        """The start vector, within the box and with no more nonzeros than allowed."""
        facts = self.oracle.facts
        w = facts.first()
        if facts.penalty.kind == "box":
            w = proximal_step(w, 1.0, facts.penalty, facts.free)
        return hard_threshold(w, facts.cap, facts.free, facts.groups)

    def next(self, w: Vector, at: Indices) -> Vector:
        """`w` after a proximal step along the noisy gradient of a coordinate, or of those of a group.

        Along m coordinates together the curvature is at most :math:`m H_j` in each: a matrix that is not
        negative lies below m times its diagonal. The intercept is not penalised.
        """
        facts, penalty = self.oracle.facts, self.oracle.facts.penalty
        g = self.oracle.gradient_at(w, at, clip=self.clip)
        if at.size == 1:
            self._compare(int(at[0]), float(g[0]))
        step, new = self.factor * self.step_size / (at.size * self.curvature[at]), w.copy()
        if at[0] >= facts.n_features:
            new[at] -= step * g
        else:
            new[at] = proximal_step(w[at] - step * (g + penalty.l2 * w[at]), step, rough(penalty))
        if at.size == 1:
            self.last[int(at[0])] = (float(g[0]), float(new[at[0]] - w[at[0]]))
        self.turn += 1
        return new

    def _compare(self, j: int, g: float) -> None:
        """Set the factor by the last answer about j and this one."""
        before, by = self.last.get(j, (0.0, 0.0))
        if self.oracle.facts.target.direct or by == 0:
            return
        query = Gradient(self.oracle.facts.first(), self.clip, np.array([j]))
        doubt = STEPS.doubt * math.sqrt(2) * self.oracle.deviation(query, "values", self.turn)
        bend = ((g - before) / by + doubt / abs(by)) / self.curvature[j]
        self.factor = 1.0 if bend >= 1 else min(1 / bend if bend > 0 else math.inf, 2 * self.factor)
