r"""Accelerated proximal gradient descent on exact answers: the lasso and its relatives, without privacy.

.. math:: w_{t+1} = \mathrm{prox}_{\psi/L}\bigl(v_t - \tfrac1L\nabla f(v_t)\bigr), \qquad
          v_{t+1} = w_{t+1} + \tfrac{a_t - 1}{a_{t+1}}(w_{t+1} - w_t), \qquad a_{t+1} = \tfrac{1 + \sqrt{1+4a_t^2}}2

:math:`L` starts as the largest eigenvalue that some turns of the power method show and grows whenever two answers differ by
more than it allows. The momentum is forgotten when it points uphill [OC15]_.

References
----------
.. [BT09] Beck and Teboulle, SIAM Journal on Imaging Sciences 2, 2009: FISTA.
.. [OC15] O'Donoghue and Candes, Foundations of Computational Mathematics 15, 2015, section 3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..facts import Clip, Facts, Penalty, Vector
from ..ops import hard_threshold, proximal_step
from ..oracle import Oracle, Path
from ..privacy.budget import Budget
from ..privacy.plan import Ask, Noise, Plan


@dataclass(frozen=True, kw_only=True)
class AcceleratedProximal:
    """FISTA with restarts, for exact oracles.

    Parameters
    ----------
    steps : int
        Gradients asked for.
    penalty : Penalty
        Applied by its proximal map.
    sparsity : int
        Nonzero coefficients of the result, without the intercept.
    power_steps : int
        Turns of the power method for the first guess of the largest curvature.
    """

    steps: int
    sparsity: int
    penalty: Penalty = field(default_factory=Penalty)
    power_steps: int = 20

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Exact gradients, and exact changes of them for the power method."""
        gradient = Ask(name="gradient", question="Gradient", noise=Noise.NONE, times=self.steps)
        return Plan(
            asks=(gradient, Ask(name="change", question="GradientChange", noise=Noise.NONE, times=self.power_steps))
        )

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate."""
        free, clip = oracle.facts.free, Clip(1.0)
        w = oracle.facts.first()
        smoothness = self._largest_curvature(oracle, w)
        v, a = w, 1.0
        before: tuple[Vector, Vector] | None = None
        for _ in range(self.steps):
            g = oracle.gradient(v, clip=clip)
            if before is not None:
                moved = v - before[0]
                seen = float(np.linalg.norm(g - before[1])) / max(float(np.linalg.norm(moved)), 1e-300)
                smoothness = max(smoothness, seen if np.any(moved) else 0.0)
            before = (v, g)
            new = proximal_step(v - g / smoothness, 1.0 / smoothness, self.penalty, free)
            if float((v - new) @ (new - w)) > 0:  # uphill: forget the momentum
                a = 1.0
            larger = (1.0 + math.sqrt(1.0 + 4.0 * a * a)) / 2.0
            v = new + (a - 1.0) / larger * (new - w)
            w, a = new, larger
            if path is not None:
                path.add(w, oracle)
        return hard_threshold(w, self.sparsity, free)

    def _largest_curvature(self, oracle: Oracle, w: Vector) -> float:
        """Of the exact loss at w, by the power method on differences of gradients; a public random start."""
        facts = oracle.facts
        direction = np.random.default_rng(0).standard_normal(w.size)
        found = 0.0
        for _ in range(self.power_steps):
            direction /= max(float(np.linalg.norm(direction)), 1e-300)
            # a short step: gradients of losses that bend less far away are compared near w
            change = oracle.gradient_change(w + 1e-3 * direction, w, clip=Clip(1.0), change=1.0) / 1e-3
            found = max(found, float(np.linalg.norm(change)))
            direction = change if np.any(change) else direction
        return found if found > 0 else 1e-2 * min(facts.curvature, 1.0) * facts.norm_bound**2
