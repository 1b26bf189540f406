r"""The end of a thresholding loop without privacy.

A local optimum on its support, and no better neighbour that the loop would find.

.. math:: w = \arg\min_{\mathrm{supp}(w) \subseteq S} f(w), \qquad
          S = \mathrm{supp}\,H_s\bigl(w - \tfrac1h\nabla f(w)\bigr)

Hard thresholding stops at one of many local optima, and creeps towards it where columns are
correlated. `UntilConverged` runs a loop, minimises on the support that it found, and repeats: a
step from the minimiser that changes the support gives the next one, which is kept only if it is
better. It does the same from the largest coefficients of the minimiser on all columns, and returns
the better of the two. Objectives are compared by the integral of the gradient between two points,
so that gradients are all that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts, Penalty, Vector
from ..core.plan import Ask, Noise, Plan
from ..ops import hard_threshold
from ..queries.kinds import Oracle, Path, Solver
from .proximal import Descent, minimise
from .steps import without_intercept

#: Exchanges of coordinates that are tried from one start, and gradients for one minimisation or comparison.
EXCHANGES = 10
NODES = 8


@dataclass(frozen=True, kw_only=True)
class UntilConverged:
    """A loop on exact answers, and the local optimum that it leads to.

    Parameters
    ----------
    loop : Solver
        Runs first, with its own asks.
    sparsity : int
        Nonzero coefficients.
    ridge : float
        Weight of the l2 penalty.
    steps : int
        Exact gradients at most, after the loop.
    tol : float
        Minimisations stop where a step is this part of their first one.
    restart : bool
        Whether the largest coefficients of the minimiser on all columns are tried too.
    """

    loop: Solver
    sparsity: int
    ridge: float = 0.0
    steps: int = 1500
    tol: float = 1e-6
    restart: bool = False

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """The asks of the loop, and exact gradients."""
        first = self.loop.plan(facts, budget)
        more = Ask(name="settle", question="Gradient", noise=Noise.NONE, times=self.steps)
        return Plan(asks=(*first.asks, more), public=first.public)

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the better optimum; exact answers alone."""
        down = Descent(oracle, "settle", self.steps, self.tol, Penalty(kind="l2", alpha=self.ridge), path)
        best = self._settle(down, self.loop.run(oracle, path))
        if self.restart and self.sparsity < oracle.facts.n_features and down.left:
            whole = Descent(oracle, "settle", down.left // 3, self.tol, down.penalty)
            other = minimise(whole, oracle.facts.first())
            down.left -= down.left // 3 - whole.left
            other = self._settle(down, hard_threshold(other, self.sparsity, oracle.facts.free, oracle.facts.groups))
            best = other if self._rise(down, best, other) < 0 else best
        return best

    def _settle(self, down: Descent, w: Vector) -> Vector:
        """A local optimum from `w`."""
        facts = down.oracle.facts
        w = minimise(down, w, _support(w, facts))
        for _ in range(EXCHANGES):
            if down.left < NODES + 2 or self.sparsity >= facts.n_features:
                break
            g = self._gradient(down, w)
            probe = w - 1e-3 * g
            bend = float((self._gradient(down, probe) - g) @ (probe - w)) / max(
                float((probe - w) @ (probe - w)), 1e-300
            )
            if bend <= 0:
                break
            moved = hard_threshold(w - g / bend, self.sparsity, facts.free, facts.groups)
            if np.array_equal(moved != 0, w != 0):
                break
            moved = minimise(down, moved, _support(moved, facts))
            if self._rise(down, w, moved) >= 0:
                break
            w = moved
        return w

    def _gradient(self, down: Descent, w: Vector) -> Vector:
        return down.gradient(w) + self.ridge * without_intercept(w, down.oracle.facts.free)

    def _rise(self, down: Descent, here: Vector, there: Vector) -> float:
        """The objective there less the one here, by Gauss's rule on the way; 0 without gradients left."""
        if down.left < NODES:
            return 0.0
        at, weight = np.polynomial.legendre.leggauss(NODES)
        way = there - here
        slopes = [float(self._gradient(down, here + (t + 1) / 2 * way) @ way) for t in at]
        return float(weight @ np.array(slopes)) / 2


def _support(w: Vector, facts: Facts) -> np.ndarray:
    """Coordinates that may move: nonzero ones, and the intercept."""
    return np.asarray((w != 0) | (np.arange(w.size) >= facts.n_features))


def settle(loop: Solver, facts: Facts, tol: float | None, *, restart: bool = False) -> Solver:
    """The loop, followed by what `UntilConverged` does; the loop alone without `tol`."""
    if tol is None:
        return loop
    return UntilConverged(loop=loop, sparsity=facts.cap, ridge=facts.penalty.l2, tol=tol, restart=restart)
