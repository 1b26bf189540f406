r"""Two stages: choose a support, then minimise a perturbed objective on it.

.. math:: S = \text{s features chosen privately}, \qquad
          w_S = \arg\min_{\theta\in\mathbb R^S} \sum_i \Psi_i(\langle x_{iS}, \theta\rangle)
          + \tfrac\lambda2\|\theta\|^2
          + \langle b, \theta\rangle

The random :math:`b` is drawn by who answers. The two-stage method of [KST12]_.

References
----------
.. [KST12] Kifer, Smith and Thakurta, COLT 2012, section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..core.budget import Budget
from ..core.facts import Clip, Facts, Vector
from ..core.plan import Ask, Noise, Plan
from ..queries.kinds import Oracle, Path, PerturbedMinimum
from .screening import Screening


@dataclass(frozen=True, kw_only=True)
class SelectMinimise:
    """Selection and perturbed minimum.

    Parameters
    ----------
    screening : Screening
        The first stage.
    clip : Clip
        Bound on one row's gradient in the second stage.
    row_norm : float
        Rows are scaled down to this norm on the support.
    ridge : float
        Regularisation of the sum; the intercept is regularised too, as the proof needs.
    noise : Noise
        ``Noise.NONE`` for the non-private baseline.
    """

    screening: Screening
    clip: Clip
    row_norm: float
    ridge: float
    noise: Noise = Noise.OBJECTIVE

    def plan(self, facts: Facts, budget: Budget) -> Plan:
        """The first stage, and one minimum, whose offset is that of the ridge."""
        offset = math.log1p(facts.curvature * self.row_norm**2 / self.ridge) if self.noise is Noise.OBJECTIVE else 0.0
        minimum = Ask(
            name="minimum",
            question="PerturbedMinimum",
            noise=self.noise,
            share=1.0 - self.screening.share,
            offset=offset,
        )
        return Plan(asks=(*self.screening.asks(facts), minimum))

    def run(self, oracle: Oracle, path: Path | None = None) -> Vector:
        """Return the minimiser, zero off the support."""
        support = self.screening.support(oracle)
        question = PerturbedMinimum(support, self.clip, self.row_norm, self.ridge)
        w = oracle.facts.first() * 0.0
        w[support] = oracle.estimate(question, ask="minimum")
        if path is not None:
            path.add(w, oracle, thresholds=1)
        return w
