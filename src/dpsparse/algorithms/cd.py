r"""Coordinate descent in a random public order, private when its oracle is.

.. math:: w_{t+1} = w_t \text{ with coordinate } j_t \text{ moved to }
    \mathrm{prox}_{\gamma\psi/H_j}\bigl(w_j - \tfrac{\gamma}{H_j}\tilde g_j(w_t)\bigr),
    \qquad j_1, j_2, \ldots \text{ public}

Nothing is paid for the choice of coordinates, since it does not look at the data. Central oracle: DP-CD [M22]_.

References
----------
.. [M22] Mangold, Bellet, Salmon and Tommasi, ICML 2022, Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.budget import Budget
from ..core.facts import Facts, Vector
from ..core.plan import Ask, Noise, Plan
from ..ops import hard_threshold
from ..queries.kinds import Indices, Oracle, Path
from .constants import PAPERS
from .coordinates import ColumnSquares, CoordinateSteps


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomCD:
    """Coordinate descent in a random public order.

    Parameters
    ----------
    steps : int
        Coordinates that are moved, one after the other.
    step_size : float
        Part of the step 1 over the curvature that is taken.
    residual : float
        Bound R on the slope of the loss of one row.
    squares : ColumnSquares
        Mean squares of the columns, from which curvatures and clips follow.
    order : {"shuffled", "uniform"}
        A new permutation for every pass over the coordinates, the intercept first; or independent draws.
    order_seed : int
        Seed of the public order.
    noise : Noise
        ``Noise.NONE`` for a run without privacy.
    """

    steps: int
    step_size: float
    residual: float
    squares: ColumnSquares
    order: str = "shuffled"
    order_seed: int = 0
    noise: Noise = Noise.GAUSSIAN

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """Mean squares, if they are asked for; one gradient entry for each step; and the public order."""
        values = Ask(
            name="values", question="Gradient", noise=self.noise, times=self.steps, share=1.0 - self.squares.share
        )
        return Plan(asks=(*self.squares.asks(), values), public={"order": self._order(facts)})

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the last iterate, thresholded to the allowed number of nonzeros.

        Everything here is post-processing.
        """
        facts, steps = oracle.facts, CoordinateSteps(oracle, self.squares, self.residual, self.step_size)
        w, every = steps.first(), -(-self.steps // PAPERS.whole.path_kept)
        for turn, j in enumerate(oracle.plan.public["order"], start=1):
            w = steps.next(w, np.array([j], dtype=np.intp))
            if path is not None and (turn % every == 0 or turn == self.steps):
                path.add(w, oracle)
        scale = np.sqrt(steps.curvature)
        return hard_threshold(w * scale, facts.cap, facts.free, facts.groups) / scale

    def _order(self, facts: Facts) -> Indices:
        """Which coordinates, from public randomness."""
        generator = np.random.default_rng(self.order_seed)
        if self.order == "uniform":
            return generator.integers(facts.dimension, size=self.steps)
        passes = -(-self.steps // facts.dimension)
        intercept = np.arange(facts.n_features, facts.dimension)
        return np.concatenate([np.r_[intercept, generator.permutation(facts.n_features)] for _ in range(passes)])[
            : self.steps
        ]
