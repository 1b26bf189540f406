"""The terms on which answers are given: how much noise each one gets. Public, and readable without a row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

from ..accounting.pricing import PricedPlan
from ..data.rows import PrivateRows
from ..facts import Clip
from ..oracle import Correlation, Gradient, Magnitude, Polish, Question
from ..privacy.plan import Noise, Plan
from .measure import gradient_reach
from .polish import polish_reach
from .scores import spread


class Terms(Protocol):
    """What is known beforehand about the answers of a plan."""

    @property
    def plan(self) -> Plan:
        """What may be asked."""
        ...

    def branch(self, name: str) -> Terms:
        """The terms once a branch of the plan is taken."""
        ...

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Noise in the units of a mean gradient within `clip`."""
        ...

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Standard deviation of the noise in every number of an answer."""
        ...


@dataclass(frozen=True)
class NoNoise:
    """The terms of an exact oracle."""

    plan: Plan

    def branch(self, name: str) -> NoNoise:
        """Likewise for a branch."""
        return NoNoise(self.plan.branch(name))

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """No noise."""
        return 0.0

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """No noise."""
        return 0.0


@dataclass(frozen=True, eq=False, repr=False)
class PricedTerms:
    """The terms of a priced plan. Of the rows only their public bounds are read.

    The rounding of released sums, a millionth of a record's bound, is left out of what is stated here.
    """

    priced: PricedPlan
    bounds: PrivateRows

    @property
    def plan(self) -> Plan:
        """What may be asked."""
        return self.priced.plan

    def branch(self, name: str) -> PricedTerms:
        """At the same price."""
        return replace(self, priced=self.priced.branch(name))

    def scale(self, ask: str, turn: int, clip: Clip) -> float:
        """Noise of a gradient within `clip`: its standard deviation, or the scale of a selection by unit steps."""
        cost = self.priced.cost(ask, turn)
        relation = self.priced.budget.relation
        reach = gradient_reach(clip, self.bounds)
        divisor = cost.sampling_rate * self.bounds.facts.n_rows
        if cost.noise in (Noise.GUMBEL, Noise.PERMUTE_AND_FLIP):
            return spread(Magnitude(), reach, relation, self.bounds.facts.free) / cost.strength / divisor
        if cost.noise is Noise.LAPLACE:
            return math.sqrt(2) * reach.l1(relation) / cost.strength / divisor
        return reach.l2(relation) / cost.strength / divisor

    def deviation(self, question: Question, ask: str, turn: int) -> float:
        """Noise of a mean gradient, or of an answer that polishing asks for."""
        cost = self.priced.cost(ask, turn)
        if isinstance(question, Gradient):
            reach = gradient_reach(question.clip, self.bounds, question.support)
        elif isinstance(question, Polish) and not isinstance(question, Correlation):
            reach = polish_reach(question, self.bounds)
        else:
            raise TypeError(f"the noise of {type(question).__name__} is not stated as a standard deviation.")
        if cost.noise not in (Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN):
            raise TypeError(f"ask {ask!r} has {str(cost.noise)!r} noise, not Gaussian.")
        return reach.l2(self.priced.budget.relation) / cost.strength / (cost.sampling_rate * self.bounds.facts.n_rows)
