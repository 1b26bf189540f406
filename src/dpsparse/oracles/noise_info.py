"""The terms on which answers are given: how much noise each one gets. Public numbers only, and no rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..accounting.pricing import PricedPlan
from ..core.plan import Ask, Noise, Plan
from ..queries.kinds import Query
from ..queries.rules import SumSpec, measure
from ..rows.lattice import Lattice
from .base import sample_rate


@dataclass(frozen=True)
class ZeroNoise:
    """The terms of an exact oracle."""

    plan: Plan

    def branch(self, name: str) -> ZeroNoise:
        """Likewise for a branch."""
        return ZeroNoise(self.plan.branch(name))

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """No noise."""
        return 0.0


@dataclass(frozen=True, eq=False, repr=False)
class PricedNoise:
    r"""The terms of a priced plan.

    Guarantee
    ---------
    `sensitivity` and `deviation` are what the central oracle draws by: it has no other source of them. Before Gaussian or Laplace
    noise the fine integer sum is rounded to a coarser lattice of step :math:`h`, so that a bin of it holds many floats of the
    sampler. Rounding moves each coordinate by at most h/2, so two sums that differed by :math:`\Delta` differ by less than
    :math:`\Delta + h` per coordinate afterwards: l2 sensitivities grow by :math:`h\sqrt m` and l1 sensitivities by :math:`hm` for an
    answer of m coordinates; by the l2 and l1 norms of the steps where each coordinate has its own. That term is part of the stated
    sensitivity; h is a millionth of one record's bound. Where rows are sampled the price counts in norms of one record, which is
    present or not, so the term is counted once for each of the :math:`\kappa` records.
    """

    priced: PricedPlan
    lattice: Lattice

    @property
    def plan(self) -> Plan:
        """What may be asked."""
        return self.priced.plan

    def branch(self, name: str) -> PricedNoise:
        """At the same price."""
        return replace(self, priced=self.priced.branch(name))

    def divisor(self, ask: str, turn: int) -> float:
        """What sums are divided by: the expected number of rows that answer, from public numbers."""
        return self.priced.cost(ask, turn).sampling_rate * self.lattice.facts.n_rows

    def sensitivity(self, measured: SumSpec, ask: Ask) -> float:
        """How far neighbours move a rounded sum, in the norm that its noise is made for."""
        relation = self.priced.budget.relation
        if ask.noise is Noise.LAPLACE:
            steps = measured.step * np.ones(measured.reach.entry.size)
            return measured.reach.l1(relation) + float(steps.sum())
        records = 1 if sample_rate(ask) is None else relation.kappa
        return measured.reach.l2(relation) + records * measured.step_norm

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Standard deviation of the noise in every number of the answer to a sum."""
        cost = self.priced.cost(ask, turn)  # refuses what was not priced
        paid = self.plan[ask]
        if paid.noise not in (Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN, Noise.LAPLACE):
            raise TypeError(f"the noise of ask {ask!r}, {str(paid.noise)!r}, has no standard deviation in an answer.")
        scale = self.sensitivity(measure(question, self.lattice), paid) / cost.strength
        return self.deviation_of(scale, paid, turn)

    def deviation_of(self, scale: float, ask: Ask, turn: int) -> float:
        """Standard deviation in an answer of noise of this scale in its sum."""
        return (math.sqrt(2) if ask.noise is Noise.LAPLACE else 1.0) * scale / self.divisor(ask.name, turn)
