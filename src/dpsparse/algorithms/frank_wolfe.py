r"""Frank-Wolfe on the l1 ball, private when its oracle is.

.. math:: w_{t+1} = (1-\gamma_t)\,w_t + \gamma_t\,r\,\sigma_t e_{j_t}, \qquad
          (j_t, \sigma_t) \approx \arg\min_{j,\,\sigma=\pm1} \sigma\,g_j(w_t), \qquad \gamma_t = \tfrac{2}{t+2}

A step moves towards the vertex of the ball along which the gradient falls most. Only the name of
the vertex is asked for, so the price of a step does not depend on the dimension. The intercept is a
coordinate like the others.

References
----------
.. [TTZ15] Talwar, Thakurta and Zhang, NeurIPS 2015, Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.budget import Budget
from ..core.facts import Clip, Facts, Vector
from ..core.plan import Ask, Noise, Plan
from ..ops import hard_threshold
from ..queries.kinds import Oracle, Path, Vertex


@dataclass(frozen=True, kw_only=True)
class FrankWolfe:
    """Frank-Wolfe with noisy vertices.

    Parameters
    ----------
    steps : int
        Vertices asked for; fixed before any row is read.
    radius : float
        Of the l1 ball.
    clip : Clip
        How much one row may contribute to a gradient; its bound on entries sets the noise.
    sparsity : int
        Nonzero coefficients of the result, without the intercept.
    noise : Noise
        Of the selection; ``Noise.NONE`` for the non-private loop.
    """

    steps: int
    radius: float
    clip: Clip
    sparsity: int
    noise: Noise = Noise.GUMBEL

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """One vertex for each step."""
        return Plan(asks=(Ask(name="vertex", question="Select", noise=self.noise, times=self.steps),))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate; everything here is post-processing."""
        facts = oracle.facts
        w = facts.first()
        for turn in range(self.steps):
            (vertex,) = oracle.select(w, 1, score=Vertex(), clip=self.clip, ask="vertex")
            sign, j = (1.0, vertex) if vertex < facts.dimension else (-1.0, vertex - facts.dimension)
            step = 2.0 / (turn + 2.0)
            w = (1.0 - step) * w
            w[j] += step * sign * self.radius
            if path is not None:
                path.add(w, oracle)
        return hard_threshold(w, self.sparsity, facts.free, facts.groups)
