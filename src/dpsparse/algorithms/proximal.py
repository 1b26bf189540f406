r"""Accelerated proximal gradient descent on exact answers: the lasso and its relatives, without privacy.

.. math:: w_{t+1} = \mathrm{prox}_{\psi/L}\bigl(v_t - \tfrac1L\nabla f(v_t)\bigr), \qquad
          v_{t+1} = w_{t+1} + \tfrac{a_t - 1}{a_{t+1}}(w_{t+1} - w_t), \qquad a_{t+1} = \tfrac{1 + \sqrt{1+4a_t^2}}2

:math:`L` starts as the largest eigenvalue that some turns of the power method show and grows
whenever two answers differ by more than it allows. The momentum is forgotten when it points uphill
[OC15]_.

References
----------
.. [BT09] Beck and Teboulle, SIAM Journal on Imaging Sciences 2, 2009: FISTA.
.. [OC15] O'Donoghue and Candes, Foundations of Computational Mathematics 15, 2015, section 3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..core.budget import Budget
from ..core.facts import Clip, Facts, Penalty, Vector
from ..core.plan import Ask, Noise, Plan
from ..ops import hard_threshold, proximal_step
from ..queries.kinds import Oracle, Path

#: Turns of the power method for the first guess of the largest curvature.
POWER_STEPS = 20


@dataclass(frozen=True, kw_only=True)
class AcceleratedProximal:
    """FISTA with restarts, for exact oracles.

    Parameters
    ----------
    steps : int
        Gradients asked for at most.
    tol : float
        Stop where the proximal step is this part of the first one.
    penalty : Penalty
        Applied by its proximal map.
    sparsity : int
        Nonzero coefficients of the result, without the intercept.
    """

    steps: int
    sparsity: int
    tol: float = 0.0
    penalty: Penalty = field(default_factory=Penalty)

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Exact gradients."""
        return Plan(asks=(Ask(name="gradient", question="Gradient", noise=Noise.NONE, times=self.steps),))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate."""
        w = minimise(Descent(oracle, "gradient", self.steps, self.tol, self.penalty, path), oracle.facts.first())
        return hard_threshold(w, self.sparsity, oracle.facts.free, oracle.facts.groups)


@dataclass
class Descent:
    """Exact gradients for `minimise`: who answers, under which name, how many are left, and when they are enough."""

    oracle: Oracle
    ask: str
    left: int
    tol: float
    penalty: Penalty
    path: Path | None = None

    def gradient(self, w: Vector) -> Vector:
        """One of the gradients that are left."""
        self.left -= 1
        return self.oracle.gradient(w, clip=Clip(1.0), ask=self.ask)


def minimise(down: Descent, w: Vector, moving: NDArray[np.bool_] | None = None) -> Vector:
    """The minimiser of loss and penalty from `w` on the coordinates that are `moving` (all: None); others stay."""
    if down.left < POWER_STEPS + 2:
        return w
    free = down.oracle.facts.free
    mask = np.ones(w.size) if moving is None else moving.astype(float)
    smoothness = _largest_curvature(down, w, mask)
    v, a, first, small = w, 1.0, 0.0, 0
    before: tuple[Vector, Vector] | None = None
    while down.left:
        g = mask * down.gradient(v)
        if before is not None:
            moved = v - before[0]
            seen = float(np.linalg.norm(g - before[1])) / max(float(np.linalg.norm(moved)), 1e-300)
            # differences of a loop that has settled are rounding
            if float(np.linalg.norm(moved)) > 1e-9 * float(np.linalg.norm(v)):
                smoothness = max(smoothness, seen)
        before = (v, g)
        new = np.where(mask > 0, proximal_step(v - g / smoothness, 1.0 / smoothness, down.penalty, free), w)
        step = smoothness * float(np.linalg.norm(v - new))
        if float((v - new) @ (new - w)) > 0:  # uphill: forget the momentum
            a = 1.0
        larger = (1.0 + math.sqrt(1.0 + 4.0 * a * a)) / 2.0
        v = new + (a - 1.0) / larger * (new - w)
        w, a, first = new, larger, max(first, step)
        if down.path is not None:
            down.path.add(w, down.oracle)
        small = small + 1 if step <= down.tol * first else 0
        if small == 3:
            break
    return w


def _largest_curvature(down: Descent, w: Vector, mask: Vector) -> float:
    """Of the exact loss at w, by the power method on differences of gradients; a public random start."""
    facts = down.oracle.facts
    here = down.gradient(w)
    direction = mask * np.random.default_rng(0).standard_normal(w.size)
    found = 0.0
    for _ in range(POWER_STEPS):
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
        # a short step: gradients of losses that bend less far away are compared near w
        change = mask * (down.gradient(w + 1e-3 * direction) - here) / 1e-3
        found = max(found, float(np.linalg.norm(change)))
        direction = change if np.any(change) else direction
    return found if found > 0 else 1e-2 * min(facts.curvature, 1.0) * facts.norm_bound**2
