r"""Choosing a support privately in one shot: the first stage of methods that then work on few coordinates.

By scores: the s features with the largest :math:`|\sum_i \mathrm{clip}(g_{ij}(w_0))|`, for squared
loss :math:`|\sum_i \mathrm{clip}(x_{ij}(y_i - b))|`; either chosen by noisy selection, or read off
a gradient with dense noise. By votes: disjoint parts of the rows each name their s largest, and the
s features with the most votes win.

:math:`w_0` is zero but for the intercept, which is asked for first (a mean of the target costs
little): clipped slopes of targets far from zero would all be the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.facts import Clip, Facts, Vector
from ..core.plan import Ask, Noise
from ..ops import groups_of, largest_groups
from ..queries.kinds import Indices, Magnitude, Oracle
from .constants import ENGINE, PAPERS


@dataclass(frozen=True, kw_only=True)
class Screening:
    """One choice of `count` features.

    Parameters
    ----------
    count : int
        Features to choose.
    clip : Clip
        How much one row may contribute to a gradient.
    parts : int or None
        Let this many parts of the rows vote; None: choose by the sums of all rows.
    dense : bool
        Ask for the whole gradient, with dense noise, instead of a selection.
    share : float
        Part of the budget.
    centre : Clip or None
        Ask for the intercept first, with slopes clipped to this; None: no intercept.
    centre_share : float
        Part of the budget for it, out of `share`.
    selection_noise, noise : Noise
        Of selections, and of gradients; ``Noise.NONE`` for the non-private baseline.
    """

    count: int
    clip: Clip
    parts: int | None = None
    dense: bool = False
    share: float = 0.5
    centre: Clip | None = None
    centre_share: float = PAPERS.centre_share
    selection_noise: Noise = Noise.GUMBEL
    noise: Noise = Noise.GAUSSIAN

    def __str__(self) -> str:
        how = "a noisy gradient" if self.dense else f"votes of {self.parts} parts" if self.parts else "noisy selection"
        return f"{self.count} features by {how}"

    def asks(self, facts: Facts) -> tuple[Ask, ...]:
        """The intercept's gradient; then one gradient, or `count` selections in one turn, of groups where there are."""
        left = self.share - (self.centre_share if self.centre else 0.0)
        first = (
            (Ask(name="centre", question="Gradient", noise=self.noise, share=self.centre_share),) if self.centre else ()
        )
        if self.dense:
            return (*first, Ask(name="gradient", question="Gradient", noise=self.noise, share=left))
        kind = "Select" if self.parts is None else "SupportVotes"
        draws = groups_of(self.count, facts.groups) if self.parts is None else self.count
        return (*first, Ask(name="select", question=kind, noise=self.selection_noise, draws=draws, share=left))

    def support(self, oracle: Oracle) -> Indices:
        """The chosen coordinates in increasing order, and the intercept if there is one."""
        facts = oracle.facts
        w = self._centred(oracle)
        if self.dense:
            g = oracle.gradient(w, clip=self.clip)[: facts.n_features]
            chosen = np.argsort(-np.abs(g), kind="stable")[: self.count]
            if facts.groups is not None:
                chosen = largest_groups(g, facts.groups, groups_of(self.count, facts.groups))
        elif self.parts is None:
            chosen = oracle.select(w, self.count, score=Magnitude(), clip=self.clip)
        else:
            chosen = oracle.vote(w, self.count, parts=self.parts, clip=self.clip)
        return np.concatenate([np.sort(chosen), np.arange(facts.n_features, facts.dimension)])

    def _centred(self, oracle: Oracle) -> Vector:
        """The model with an intercept only."""
        facts = oracle.facts
        w = np.zeros(facts.dimension)
        if self.centre is not None:
            g = oracle.gradient_at(w, np.array([facts.n_features]), clip=self.centre, ask="centre")
            w[-1] = intercept_of(facts, float(g[0]) / facts.intercept) / facts.intercept
        return w


def intercept_of(facts: Facts, slope: float) -> float:
    """The intercept of a model without features, from the mean slope of the loss at margin 0."""
    if facts.target.classes:
        share = class_share(slope)
        return math.log(share / (1 - share))
    if facts.target.counts:
        return math.log(min(max(1 - slope, 0.05), facts.curvature))
    return -slope


def class_share(slope: float) -> float:
    """The share of a class, from the noisy mean slope of the loss at margin 0, which is 1/2 less the class."""
    least, most = ENGINE.pair.class_share
    return min(max(0.5 - slope, least), most)
