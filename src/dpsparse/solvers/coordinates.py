r"""What coordinate solvers share: curvatures, clips and a step along one coordinate.

The objective is a mean loss plus a penalty. Its smooth part (loss and l2 penalty) has curvature at most
:math:`H_j = M_j + \lambda_2` along coordinate j, with :math:`M_j = \beta_0\,\overline{x_j^2}`; the rest of the penalty (l1 or
a box) is met by its proximal map:

.. math:: w_j \leftarrow \mathrm{prox}_{\gamma\psi_j/H_j}\bigl(w_j - \tfrac{\gamma}{H_j}(\tilde g_j + \lambda_2 w_j)\bigr)

A row's contribution to coordinate j is held within :math:`C_j = R\sqrt{M_j/\beta_0}`, so that every coordinate has the same
sensitivity on the scale :math:`g_j/\sqrt{M_j}` on which coordinates are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..facts import Clip, Facts, Vector
from ..ops import hard_threshold, proximal_step, rough
from ..oracle import Gradient, Oracle, Squares
from ..privacy.plan import Ask, Noise
from .steps import DOUBT


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
        ``Noise.NONE`` for the non-private twin.
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
        return (Ask(name="squares", question="Squares", noise=self.noise, share=self.share),) if self.share else ()

    def read(self, oracle: Oracle) -> Vector:
        """The mean squares to use: at least the public floor, at most what the bounds allow.

        The floor is twice the noise of the release, or a tenth of the guess if that is more: below it a noisy square
        says nothing, and a step of 1 over it would be wild.
        """
        if not self.share:
            return self.guess
        noise = oracle.deviation(Squares(), "squares", 0)
        floor = np.minimum(np.maximum(2 * noise, 0.1 * self.guess), self.bounds)
        if self.noise is Noise.NONE:
            floor = 1e-12 * self.bounds
        return np.clip(oracle.squares(), floor, self.bounds)


@dataclass(frozen=True, kw_only=True, eq=False)
class Coordinates:
    """Curvatures, clip and step sizes, from public facts and released squares."""

    facts: Facts
    curvature: Vector
    clip: Clip
    step_size: float

    @classmethod
    def of(cls, facts: Facts, squares: Vector, residual: float, step_size: float, *, columns: bool) -> Coordinates:
        """Curvatures from mean squares, clips from the residual bound R; `columns`: clip every column by its own square."""
        ridge = facts.penalty.l2 * np.ones(facts.dimension)
        ridge[facts.n_features :] = 0.0
        norm = residual * facts.norm_bound
        clip = Clip(norm, columns=residual * np.sqrt(squares)) if columns else Clip(norm, slope=residual)
        return cls(facts=facts, curvature=facts.curvature * squares + ridge, clip=clip, step_size=step_size)

    def first(self) -> Vector:
        """The start vector, within the box and with no more nonzeros than allowed."""
        penalty = rough(self.facts.penalty)
        w = self.facts.first()
        if penalty.kind == "box":
            w = proximal_step(w, 1.0, penalty, self.facts.free)
        return hard_threshold(w, self.facts.cap, self.facts.free)

    def move(self, w: Vector, j: int, gradient: float, stretch: float = 1.0) -> Vector:
        """A proximal step along coordinate j, `stretch` times as long as usual; the intercept is not penalised."""
        penalty, step = self.facts.penalty, stretch * self.step_size / self.curvature[j]
        out = w.copy()
        if j >= self.facts.n_features:
            out[j] -= step * gradient
        else:
            target = np.array([w[j] - step * (gradient + penalty.l2 * w[j])])
            out[j] = proximal_step(target, float(step), rough(penalty))[0]
        return out


class Stretch:
    r"""How much longer than 1 over the worst-case curvature steps may be, by what released answers show.

    A loss behind a link bends far less than it may: Poisson's by the largest rate that is allowed. When the gradient along
    coordinate j is asked for again after j moved by :math:`\delta`, the two answers show the curvature
    :math:`\Delta g_j/\delta` (and what other coordinates did to it meanwhile); three deviations of their noise are added. Steps at most
    double from one such answer to the next, and fall back to the worst case where an answer shows it. Where margins speak of targets directly (numbers,
    classes) the curvature is known well, and nothing is stretched.
    """

    def __init__(self, oracle: Oracle, at: Coordinates) -> None:
        self.factor = 1.0
        self._oracle = oracle
        self._at = at
        self._active = not oracle.facts.target.direct
        self._last: dict[int, tuple[float, float]] = {}

    def moved(self, j: int, gradient: float, by: float) -> None:
        """Keep what was answered about j, and how far it moved then."""
        self._last[j] = (gradient, by)

    def see(self, j: int, gradient: float, turn: int) -> None:
        """Compare with the last answer about j."""
        if not self._active or j not in self._last or self._last[j][1] == 0:
            return
        before, by = self._last[j]
        question = Gradient(self._at.first(), self._at.clip, np.array([j]))
        doubt = DOUBT * math.sqrt(2) * self._oracle.deviation(question, "values", turn)
        bend = ((gradient - before) / by + doubt / abs(by)) / self._at.curvature[j]
        self.factor = 1.0 if bend >= 1 else min(1 / bend if bend > 0 else math.inf, 2 * self.factor)
