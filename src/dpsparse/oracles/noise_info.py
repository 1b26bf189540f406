"""The terms on which rows are asked: what is refused, and how much noise each answer gets.

Public numbers only, and no rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..accounting.pricing import PricedPlan
from ..core.errors import PrivacyError
from ..core.facts import Facts
from ..core.plan import Ask, Noise, Plan
from ..queries.charge import Charge, draws_of
from ..queries.choices import UNIT_SPREAD
from ..queries.kinds import PerturbedMinimum, Query, Select, SupportVotes
from ..queries.losses import Loss
from ..queries.minimisers import proven_offset
from ..queries.rules import CHECKED, CHOICES, MINIMA, SUMS, SumSpecCache, absent_record, measure, try_out
from ..queries.scores import rounding, score_sensitivity
from ..queries.sensitivity import SumSpec, check_support
from ..queries.votes import vote_range
from ..rows.hosts import Host
from ..rows.lattice import Lattice
from ..rows.shard import Shard
from .gate import (
    Gate,
    TurnNoise,
    check_by_unit,
    check_plan,
    check_query,
    refuse_rows_alone,
)


@dataclass(frozen=True, eq=False, repr=False)
class ZeroNoise:
    """The terms of exact answers.

    Parameters
    ----------
    plan : Plan
    facts : Facts
    together : bool
        Whether all rows are in one place.
    lattice : Lattice, optional
        Where sums of whole numbers are asked for, as audits do; without it, sums of floats.
    people : bool
        Whether asks of the local model are taken, too: in a replay, which reads no rows.
    """

    plan: Plan
    facts: Facts
    together: bool = True
    lattice: Lattice | None = None
    people: bool = False

    def branch(self, name: str) -> Self:
        """Likewise for a branch."""
        return replace(self, plan=self.plan.branch(name))

    def check_plan(self) -> None:
        """Refuse kinds of queries that cannot be answered."""
        if not (self.people and self.plan.local):
            check_plan(self.plan, together=self.together, noisy=False)

    def measure(self, query: Query, ask: Ask, turn: int) -> TurnNoise:
        """No noise."""
        if not (self.people and self.plan.local):
            check_query(query, ask, together=self.together, noisy=False)
        rate = ask.sampling_rate
        spec = measure(query, self.lattice) if self.lattice is not None and type(query) in SUMS else None
        return TurnNoise(0.0, math.inf, rate, rate * self.facts.n_rows, spec)

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """No noise."""
        return 0.0


def exact_charge(query: Query, host: Host) -> Charge:
    """A charge for the exact answer of all rows of a host, at no cost: for audits of synthetic rows."""
    plan = Plan(asks=(Ask(name="exact", noise=Noise.NONE, draws=draws_of(query)),))
    return Gate(ZeroNoise(plan, host.facts, host.shards is not None, host.lattice)).next(query, "exact")


@dataclass(frozen=True, eq=False, repr=False)
class PricedNoise:
    r"""The terms of a priced plan.

    Guarantee
    ---------
    `measure` and `deviation` are what oracles draw by: they have no other source. Before Gaussian
    or Laplace noise the fine integer sum is rounded to a coarser lattice of step :math:`h`, so that
    a bin of it holds many floats of the sampler. Rounding moves each coordinate by at most h/2, so
    two sums that differed by :math:`\Delta` differ by less than :math:`\Delta + h` per coordinate
    afterwards: l2 sensitivities grow by :math:`h\sqrt m` and l1 sensitivities by :math:`hm` for an
    answer of m coordinates; by the l2 and l1 norms of the steps where each coordinate has its own.
    That term is part of the stated sensitivity; h is a millionth of one record's bound. Where rows
    are sampled the price counts in norms of one record, which is present or not, so the term is
    counted once for each of the :math:`\kappa` records.

    Parameters
    ----------
    priced : PricedPlan
    lattice : Lattice
    together : bool
        Whether all rows are in one place.
    loss : Loss, optional
        Needed where minimisers are asked for. With it every query is answered for a synthetic record
        before it is paid for, so that a fault of the query costs no turn.
    """

    priced: PricedPlan
    lattice: Lattice
    together: bool = False
    loss: Loss | None = None
    _specs: SumSpecCache = field(init=False, default_factory=SumSpecCache)
    _trials: SumSpecCache = field(init=False, default_factory=lambda: SumSpecCache(CHECKED))

    @cached_property
    def _absent(self) -> Shard:
        return absent_record(self.lattice)

    def _spec(self, query: Query) -> Any:
        """How a sum is counted, or that of a selection; of a query that has been answered for a synthetic record."""
        known = self._specs.known(query)
        if known is not None:
            return known[1]
        of = query.of if type(query) is Select else query
        spec = measure(of, self.lattice) if type(of) in SUMS else None
        if self.loss is not None and self._trials.known(query) is None:
            try_out(query, spec, self._absent, self.loss)
            self._trials.keep(query)
        return self._specs.keep(query, spec)

    @property
    def plan(self) -> Plan:
        """What may be asked."""
        return self.priced.plan

    def branch(self, name: str) -> Self:
        """At the same price."""
        return replace(self, priced=self.priced.branch(name))

    def check_plan(self) -> None:
        """Refuse kinds of queries that cannot be answered on these rows, at their participation, with their noise."""
        check_plan(self.plan, together=self.together)
        if self.lattice.facts.by_unit:
            check_by_unit(self.plan)

    def measure(self, query: Any, ask: Ask, turn: int) -> TurnNoise:
        """The noise of one turn; refuses what must not be answered at its price."""
        check_query(query, ask, together=self.together)
        if self.lattice.facts.by_unit:
            refuse_rows_alone(type(query.of) if type(query) is Select else type(query))
        cost, relation, facts = self.priced.cost(ask.name, turn), self.priced.budget.relation, self.lattice.facts
        kind, strength, divisor = type(query), cost.strength, cost.sampling_rate * facts.n_rows
        spec: Any = None
        if kind in SUMS:
            spec = self._spec(query)
            moved = self.sensitivity(spec, ask)
        elif kind in CHOICES:
            self._spec(query)
            moved = CHOICES[kind].spread(query, relation) * (UNIT_SPREAD if facts.by_unit else 1)
        elif kind is Select:
            spec = self._spec(query)
            largest = self.lattice.largest_total * float(np.max(spec.unit)) / divisor
            moved = score_sensitivity(query.score, spec.reach, relation, facts.free) / divisor
            moved += rounding(query.score, largest)
        elif kind is SupportVotes:
            self._spec(query.of)
            moved = vote_range(query, facts)
        else:
            assert self.loss is not None
            if kind is PerturbedMinimum:
                offset = proven_offset(query, self.loss)
                if offset > cost.offset * (1 + 1e-12):
                    raise PrivacyError(
                        f"ask {ask.name!r} was not priced for a perturbed objective with offset "
                        f"log(1 + beta/lambda) = {offset:.4g}."
                    )
            moved, strength, spec = MINIMA[kind].measure(query, self.loss, facts.n_rows, strength)
            check_support(query.support, facts.dimension)
        if not 0 < moved / strength < math.inf:
            raise PrivacyError(f"ask {ask.name!r}: neighbours move this {kind.__name__} by {moved!r}: no noise fits.")
        return TurnNoise(moved, strength, cost.sampling_rate, divisor, spec)

    def divisor(self, ask: str, turn: int) -> float:
        """What sums are divided by: the expected number of rows that answer, from public numbers."""
        return self.priced.cost(ask, turn).sampling_rate * self.lattice.facts.n_rows

    def sensitivity(self, measured: SumSpec, ask: Ask) -> float:
        """How far neighbours move a rounded sum, in the norm that its noise is made for."""
        relation = self.priced.budget.relation
        if ask.noise is Noise.LAPLACE:
            steps = measured.step * np.ones(measured.size)
            return measured.reach.l1(relation) + float(steps.sum())
        records = 1 if ask.sampling_rate == 1 else relation.kappa
        return measured.reach.l2(relation) + records * measured.step_norm

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Standard deviation of the noise in every number of the answer to a sum."""
        cost = self.priced.cost(ask, turn)  # refuses what was not priced
        paid = self.plan[ask]
        if paid.noise not in (Noise.GAUSSIAN, Noise.DISCRETE_GAUSSIAN, Noise.LAPLACE):
            raise TypeError(f"the noise of ask {ask!r}, {str(paid.noise)!r}, has no standard deviation in an answer.")
        scale = self.sensitivity(self._spec(question), paid) / cost.strength
        return self.deviation_of(scale, paid, self.divisor(ask, turn))

    def deviation_of(self, scale: float, ask: Ask, divisor: float) -> float:
        """Standard deviation in an answer of noise of this scale in its sum, which is divided by a number."""
        return (math.sqrt(2) if ask.noise is Noise.LAPLACE else 1.0) * scale / divisor
