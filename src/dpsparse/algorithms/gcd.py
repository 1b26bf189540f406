r"""Greedy coordinate descent, private when its oracle is.

.. math::
    j_t = \arg\max_j u_j(w_t) + \text{noise}, \qquad
    w_{t+1} = w_t \text{ with coordinate } j_t \text{ moved to }
    \mathrm{prox}_{\gamma\psi/H_j}\bigl(w_j - \tfrac{\gamma}{H_j}\tilde g_j(w_t)\bigr)

One ask chooses the coordinate whose step decreases the loss most; another, with noise of its own, gives the gradient
there. Central oracle: DP-GCD [M23]_; exact oracle: greedy coordinate descent with the same rules [N15]_.

References
----------
.. [M23] Mangold, Bellet, Salmon and Tommasi, AISTATS 2023, Algorithms 1 and 2.
.. [N15] Nutini et al., ICML 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts, Vector
from ..core.plan import Ask, Noise, Plan
from ..ops import group_norms, groups_of
from ..queries.kinds import Greedy, Indices, Oracle, Path
from .coordinates import ColumnSquares, CoordinateSteps
from .proximal import Descent, minimise


@dataclass(frozen=True, kw_only=True, eq=False)
class GreedyCD:
    """Greedy coordinate descent.

    Parameters
    ----------
    rule : {"auto", "gs", "gs-s", "gs-r", "gs-q"}
        What the greedy choice compares; see `Greedy`. ``auto``: the gradient alone until a
        coordinate is chosen a second time, then the proximal step: the penalty takes its part of
        every score but not of the noise, and matters only once coefficients stand.
    steps : int
        Coordinates that are chosen and moved, one after the other.
    step_size : float
        Part of the step 1 over the curvature that is taken.
    residual : float
        Bound R on the slope of the loss of one row.
    squares : ColumnSquares
        Mean squares of the columns, from which curvatures and clips follow.
    selection : float
        Part of the rest of the budget that pays for the choices.
    selection_noise, noise : Noise
        What protects a choice, and a gradient.
    settle, tol : int, float
        Without privacy: exact gradients at most, by which `minimise` goes on to the optimum on what
        may move.
    """

    rule: str
    steps: int
    step_size: float
    residual: float
    squares: ColumnSquares
    selection: float = 0.5
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN
    settle: int = 0
    tol: float = 0.0

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Mean squares, if they are asked for; then a choice and a gradient for each step."""
        rest = 1.0 - self.squares.share
        select = Ask(
            name="select", question="Select", noise=self.selection_noise, times=self.steps, share=rest * self.selection
        )
        values = Ask(
            name="values", question="Gradient", noise=self.noise, times=self.steps, share=rest * (1.0 - self.selection)
        )
        more = Ask(name="settle", question="Gradient", noise=Noise.NONE, times=max(1, self.settle))
        return Plan(asks=(*self.squares.asks(), select, values, *([more] if self.settle else [])))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate; everything here is post-processing."""
        facts, steps = oracle.facts, CoordinateSteps(oracle, self.squares, self.residual, self.step_size)
        w, chosen = steps.first(), list[int]()
        for _ in range(self.steps):
            score = Greedy(self._rule(chosen), steps.curvature, w, facts.penalty)
            at = oracle.select(w, 1, score=score, clip=steps.clip, excluded=beyond_cap(w, facts))
            w = steps.next(w, at)
            chosen.append(int(at[0]))
            if path is not None:
                path.add(w, oracle)
        if not self.settle:
            return w
        moving = (w != 0) | (np.arange(w.size) >= facts.n_features) | (facts.cap >= facts.n_features)
        return minimise(Descent(oracle, "settle", self.settle, self.tol, facts.penalty, path), w, moving)

    def _rule(self, chosen: list[int]) -> str:
        """What this choice compares."""
        if self.rule != "auto":
            return self.rule
        return "gs" if len(set(chosen)) == len(chosen) else "gs-r"


def beyond_cap(w: Vector, facts: Facts) -> Indices | None:
    """Coordinates that may not be chosen: once the allowed number, or that of groups, is nonzero, all the others."""
    head, groups = w[: facts.n_features], facts.groups
    used = head != 0 if groups is None else group_norms(head, groups) > 0
    if facts.cap >= facts.n_features or np.count_nonzero(used) < groups_of(facts.cap, groups):
        return None
    return np.flatnonzero(~used if groups is None else ~used[groups])
