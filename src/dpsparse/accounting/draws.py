r"""What a plan costs at a given noise: the draws it makes, and what may follow them.

One number :math:`r` turns weights into noise through :math:`\rho = r w`, the zCDP scale on which
unlike mechanisms compare:

=================  ====================================  ==========================
noise              what one draw is                      from :math:`\rho`
=================  ====================================  ==========================
Gaussian           mu-GDP, sigma = sensitivity / mu      :math:`\mu = \sqrt{2\rho}`
Gumbel selection   eta-bounded range, b = range / eta    :math:`\eta = \sqrt{8\rho}`
Laplace            epsilon-DP, b = l1 sensitivity / eps  :math:`\epsilon = \sqrt{2\rho}`
permute-and-flip   epsilon-DP, b = 2 sensitivity / eps   :math:`\epsilon = \sqrt{2\rho}`
objective          a public offset, s = sensitivity / m  :math:`m = \sqrt{2\rho}`
local randomiser   epsilon-LDP, or mu-GDP if Gaussian    as Laplace, as Gaussian
=================  ====================================  ==========================

Guarantee
---------
Each total (`rho`, `mu`, `renyi`, `pure`) bounds the adaptive composition of all draws. Where a plan
has branches, one of which is chosen from what was released, the divergence of the rest is at most
the largest over the branches, order by order; totals therefore add the largest branch. The same
holds for parts, of which each record meets one (`core.parts`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from ..core.curves import (
    ORDERS,
    Curve,
    gaussian_renyi,
    laplace_renyi,
    objective_renyi,
    objective_rho,
    pure_mu,
    pure_renyi,
    selection_mu,
    selection_renyi,
)
from ..core.errors import BudgetError
from ..core.participation import OncePerPerson
from ..core.plan import Noise, Plan, RandomTurns
from .pld import LossCounts
from .stages import Stage

NOT_GAUSSIAN = (
    "a plan that samples rows may hold Gaussian asks only, and no branches: no valid account of sampled selections is "
    "known to us."
)
#: Noises for which mu-GDP is exact.
GAUSSIANS = frozenset({Noise.GAUSSIAN, Noise.LOCAL_GAUSSIAN})


@dataclass(frozen=True)
class TurnCost:
    """One draw: which noise, on which fraction of the rows, at which rho = r w, with which offset."""

    noise: Noise
    rho: float
    sampling_rate: float = 1.0
    offset: float = 0.0

    @property
    def strength(self) -> float:
        """Mu of a Gaussian, eta of a selection, epsilon of a pure answer."""
        return math.sqrt((8 if self.noise is Noise.GUMBEL else 2) * self.rho)

    @property
    def mu(self) -> float:
        """A mu for which the draw is mu-GDP; infinite where none is proven."""
        if self.noise in (Noise.DISCRETE_GAUSSIAN, Noise.OBJECTIVE):
            return math.inf
        if self.noise in GAUSSIANS:
            return self.strength
        return selection_mu(self.strength) if self.noise is Noise.GUMBEL else pure_mu(self.strength)

    @property
    def total_rho(self) -> float:
        """The zCDP of the draw."""
        return objective_rho(self.strength, self.offset) if self.noise is Noise.OBJECTIVE else self.rho

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi curve of the draw."""
        if self.noise is Noise.OBJECTIVE:
            return objective_renyi(self.strength, self.offset, orders)
        return {
            Noise.GAUSSIAN: gaussian_renyi,
            Noise.DISCRETE_GAUSSIAN: gaussian_renyi,  # rho-zCDP: the same line, as a bound
            Noise.GUMBEL: selection_renyi,
            Noise.LAPLACE: laplace_renyi,
            Noise.PERMUTE_AND_FLIP: pure_renyi,
            Noise.LOCAL: pure_renyi,
            Noise.LOCAL_GAUSSIAN: gaussian_renyi,
        }[self.noise](self.strength, orders)


@dataclass(frozen=True, eq=False)
class TurnCosts:
    """Draws, counted, and what may follow them.

    `ordered` holds (weight, count) of the selections in the order they run, or None where that is
    not known. Where equal models run one after the other and each takes a branch of its own,
    `one_model` holds the costs of one and their number. `drawn` holds, for each number of turns
    that was drawn from a law of its own, that law and the costs of one turn.
    """

    own: Counter[TurnCost]
    ordered: tuple[tuple[float, int], ...] | None = ()
    branches: tuple[TurnCosts, ...] = ()
    one_model: tuple[TurnCosts, int] | None = None
    drawn: tuple[tuple[RandomTurns, tuple[TurnCost, ...]], ...] = ()

    @classmethod
    def of(cls, plan: Plan, rho_scale: float = 1.0) -> TurnCosts:
        """What `plan` costs at `rho_scale`."""
        counted: Counter[TurnCost] = Counter()
        drawn: dict[RandomTurns, tuple[TurnCost, ...]] = {}
        for ask in plan.asks:
            if ask.noise is Noise.NONE:
                raise BudgetError(f"ask {ask.name!r} has no noise, so no budget can cover it. Use a private recipe.")
            q = ask.sampling_rate
            if ask.law is not None:  # whatever was drawn
                turn = TurnCost(ask.noise, rho_scale * ask.share / ask.law.mean, q)
                drawn[ask.law] = (*drawn.get(ask.law, ()), turn)  # asks of one name share one draw
                continue
            weights = ask.weights()
            if isinstance(ask.rows, OncePerPerson):  # of all turns one person's record moves only these
                weights = weights[: ask.rows.counted]
            for weight in weights:
                counted[TurnCost(ask.noise, rho_scale * weight, q, ask.offset)] += ask.draws
        turns = plan.selections()
        ordered = None if turns is None else tuple((rho_scale * weight, n) for weight, n in _runs(turns))
        # to one record a part is a branch: it meets one of them, whichever
        branches = tuple(cls.of(follower, rho_scale) for follower in plan.followers)
        one_model = (cls.of(plan.once(), rho_scale), plan.models) if plan.models > 1 else None
        return cls(counted, ordered, branches, one_model, tuple(drawn.items()))

    def scaled(self, rho_scale: float) -> TurnCosts:
        """The same draws with every rho times `rho_scale`."""
        own: Counter[TurnCost] = Counter()
        for cost, count in self.own.items():  # rounding may make two costs one: their counts add up
            own[replace(cost, rho=cost.rho * rho_scale)] += count
        ordered = None if self.ordered is None else tuple((rho_scale * weight, k) for weight, k in self.ordered)
        one = None if self.one_model is None else (self.one_model[0].scaled(rho_scale), self.one_model[1])
        branches = tuple(b.scaled(rho_scale) for b in self.branches)
        drawn = tuple((n, tuple(replace(c, rho=c.rho * rho_scale) for c in turn)) for n, turn in self.drawn)
        return TurnCosts(own, ordered, branches, one, drawn)

    def _total(self, one: Callable[[TurnCost], float]) -> float:
        rest = max((b._total(one) for b in self.branches), default=0.0)
        random = math.fsum(law.mean * one(c) for law, turn in self.drawn for c in turn)
        return math.fsum(k * one(c) for c, k in self.own.items()) + random + rest

    @property
    def empty(self) -> bool:
        """Whether nothing is asked."""
        return not self.own and not self.drawn and not self.branches

    @property
    def kinds(self) -> set[Noise]:
        """Every noise that may be drawn."""
        random = {c.noise for _, turn in self.drawn for c in turn}
        return {c.noise for c in self.own}.union(random, *(b.kinds for b in self.branches))

    @property
    def random(self) -> bool:
        """Whether a number of turns was drawn by chance."""
        return bool(self.drawn) or any(b.random for b in self.branches)

    @property
    def sampled(self) -> bool:
        """Whether only a privacy loss distribution accounts for it."""
        return self.random or any(c.sampling_rate < 1 for c in self.own) or any(b.sampled for b in self.branches)

    @property
    def gaussian(self) -> bool:
        """Whether everything is Gaussian noise, of which mu-GDP is proven."""
        return bool(self.kinds) and self.kinds <= GAUSSIANS

    @property
    def local(self) -> bool:
        """Whether everything is a pure report that a person randomised."""
        return self.kinds == {Noise.LOCAL}

    @property
    def mixed(self) -> bool:
        """Whether only the recursion and Renyi curves account for it.

        Reports stay pure: a delta would be a chance of telling everything.
        """
        return not (self.gaussian or self.local or self.sampled)

    def key(self) -> str:
        """Every number that a price depends on, digit by digit; equal for equal costs alone."""
        own = [(str(c.noise), c.rho, c.sampling_rate, c.offset, n) for c, n in self.own.items()]
        one = None if self.one_model is None else (self.one_model[0].key(), self.one_model[1])
        return repr((own, self.ordered, [b.key() for b in self.branches], one, self.drawn))

    @property
    def all_pure(self) -> bool:
        """Whether everything is pure."""
        return all(n.pure for n in self.kinds)

    @property
    def weight(self) -> float:
        """Sum of rho, in expectation over random numbers of turns."""
        return self._total(lambda c: c.rho)

    @property
    def offset(self) -> float:
        """Loss that no noise removes."""
        return self._total(lambda c: c.offset)

    @property
    def pure(self) -> float:
        """Epsilon by plain addition."""
        return self._total(lambda c: c.strength)

    @property
    def rho(self) -> float:
        """Total zCDP; infinite where a number of turns is random, since large orders of its law diverge."""
        return math.inf if self.random else self._total(lambda c: c.total_rho)

    @property
    def mu(self) -> float:
        """Total GDP: exact for unsampled Gaussians, otherwise a bound; infinite where none is proven."""
        return math.inf if self.random else math.sqrt(self._total(lambda c: c.mu**2))

    def renyi(self, orders: Curve = ORDERS) -> Curve:
        """Renyi curve of the composition.

        Sampling and random numbers of turns are not counted (see `sampled_renyi`).
        """
        curve = np.zeros_like(orders)
        for cost, count in self.own.items():
            curve += count * cost.renyi(orders)
        if self.branches:
            curve += np.max([b.renyi(orders) for b in self.branches], axis=0)
        return curve

    def gathered(self) -> TurnCosts:
        r"""The same Renyi curve with one Gaussian in the place of many: orders times :math:`\sum\rho`.

        For searches that look at it often.
        """
        own: Counter[TurnCost] = Counter({c: k for c, k in self.own.items() if c.noise is not Noise.GAUSSIAN})
        gaussian = math.fsum(c.rho * k for c, k in self.own.items() if c.noise is Noise.GAUSSIAN)
        if gaussian:
            own[TurnCost(Noise.GAUSSIAN, gaussian)] = 1
        return replace(self, own=own, branches=tuple(b.gathered() for b in self.branches), one_model=None)

    def then(self, later: TurnCosts) -> TurnCosts:
        """These costs and, whatever was answered, `later` after them."""
        if self.branches:
            return replace(self, branches=tuple(b.then(later) for b in self.branches), one_model=None)
        known = self.ordered is not None and later.ordered is not None
        ordered = (*(self.ordered or ()), *(later.ordered or ())) if known else None
        return TurnCosts(self.own + later.own, ordered, later.branches, None, self.drawn + later.drawn)

    def turns(self) -> list[LossCounts]:
        """The groups of turns of which a privacy loss distribution is composed; refuses others than Gaussians.

        Each group has (sampling rate, rho) of the answers of one turn, and the number of turns.
        """
        if not self.gaussian or self.branches:
            raise BudgetError(NOT_GAUSSIAN)
        fixed = [LossCounts(((c.sampling_rate, c.rho),), n) for c, n in self.own.items()]
        return fixed + [LossCounts(tuple((c.sampling_rate, c.rho) for c in turn), law) for law, turn in self.drawn]

    def multipliers(self, kappa: int) -> list[LossCounts]:
        """The same with sigma over the norm of one record in the place of rho."""
        return [
            LossCounts(tuple((q, kappa / math.sqrt(2 * rho)) for q, rho in answers), n) for answers, n in self.turns()
        ]

    def stage(self) -> Stage | None:
        """The composition for the recursion over selections; None where that does not apply."""
        mixed = {Noise.GUMBEL, Noise.GAUSSIAN, Noise.LAPLACE, Noise.PERMUTE_AND_FLIP, Noise.OBJECTIVE}
        return None if self.sampled or self.gaussian or not self.kinds <= mixed else self._stage()

    def _stage(self) -> Stage | None:
        if self.one_model is not None:
            model, times = self.one_model
            found = model._stage()
            return None if found is None else replace(found, times=times)
        if self.ordered is None:
            return None
        followers = [b._stage() for b in self.branches]
        if any(f is None for f in followers):
            return None
        gaussian = math.fsum(c.rho * k for c, k in self.own.items() if c.noise is Noise.GAUSSIAN)
        laplaces = [(c.rho, k) for c, k in self.own.items() if c.noise is Noise.LAPLACE]
        pures = [(c.rho, k) for c, k in self.own.items() if c.noise is Noise.PERMUTE_AND_FLIP]
        tilts = [(c.rho, c.offset, k) for c, k in self.own.items() if c.noise is Noise.OBJECTIVE]
        return Stage.from_shares(
            self.ordered, gaussian, laplaces, [f for f in followers if f is not None], pures, tilts
        )


def _runs(turns: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    """Selections of one weight that follow one another, counted together."""
    return [(weight, sum(n for _, n in run)) for weight, run in groupby(turns, key=lambda turn: turn[0])]
