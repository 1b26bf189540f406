r"""Choosing a support privately in one shot: the first stage of methods that then work on few coordinates.

By scores: the s features with the largest :math:`|\sum_i \mathrm{clip}(g_{ij}(0))|`, for squared loss
:math:`|\sum_i \mathrm{clip}(x_{ij}y_i)|`. By votes: disjoint parts of the rows each name their s largest, and the s features
with the most votes win.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..facts import Clip
from ..oracle import Indices, Magnitude, Oracle
from ..privacy.plan import Ask, Noise


@dataclass(frozen=True, kw_only=True)
class Screening:
    """One selection of `count` features.

    Parameters
    ----------
    count : int
        Features to choose.
    clip : Clip
        How much one row may contribute to a gradient.
    parts : int or None
        Let this many parts of the rows vote; None: choose by the sums of all rows.
    share : float
        Part of the budget.
    noise : Noise
    """

    count: int
    clip: Clip
    parts: int | None = None
    share: float = 0.3
    noise: Noise = Noise.GUMBEL

    def ask(self) -> Ask:
        """`count` selections in one turn."""
        return Ask(name="select", noise=self.noise, draws=self.count, share=self.share)

    def support(self, oracle: Oracle) -> Indices:
        """The chosen coordinates in increasing order, and the intercept if there is one."""
        facts = oracle.facts
        w = np.zeros(facts.dimension)
        if self.parts is None:
            chosen = oracle.select(w, self.count, score=Magnitude(), clip=self.clip)
        else:
            chosen = oracle.vote(w, self.count, parts=self.parts, clip=self.clip)
        return np.r_[np.sort(chosen), np.arange(facts.n_features, facts.dimension)]
