r"""Pricing: the least noise with which a plan keeps a budget.

Every turn of every ask has a weight :math:`w`; one number :math:`r` turns weights into noise
through :math:`\rho = r w` (see `draws`). `price` finds the largest :math:`r` that a valid
accountant certifies, then rounds it down. The accountant is chosen by what the plan holds:

* only unsampled Gaussians: the exact composition :math:`\mu = \sqrt{\sum \mu_t^2}` and the exact
  curve;
* a Poisson-sampled ask, or a random number of turns: every Gaussian goes to one privacy loss
  distribution (`pld`), and no such answer has less noise than `CLEAREST` allows, unless the budget
  pays for it without counting on chance;
* selections or Laplace noise: exact Renyi curves with the tight conversion, the recursion of
  `selections`, and, where all is pure, plain addition; whichever certifies the least noise;
* perturbed objectives: the same, with their offset; not proven to be mu-GDP for any mu;
* local randomisers: each person speaks once, so the dearest turn counts, in pure epsilon;
* parts: each at the whole budget, since every record is in one of them (`core.parts`);
* discrete Gaussians: zCDP with the tight conversion, since an exact Gaussian curve is not proven
  for them.

Guarantee
---------
All noise is fixed by the plan before a row is read, so adaptive composition theorems apply: the
solver may choose each query from earlier answers, and one of the plan's branches, never its
price. For a `Budget.approx(epsilon, delta)` the priced plan is (epsilon, delta)-DP; for
`Budget.zcdp` and `Budget.gdp` it is rho-zCDP or mu-GDP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

from ..core.adjacency import Adjacency
from ..core.budget import Budget
from ..core.curves import (
    gaussian_epsilon,
    gaussian_mu,
    largest,
    largest_smooth,
    renyi_delta,
    renyi_epsilon,
    renyi_log_delta,
)
from ..core.errors import BudgetError, NotPricedError
from ..core.plan import Ask, Noise, Plan
from . import pld, selections
from .draws import TurnCost, TurnCosts
from .price_store import PriceStore

#: Rounding of r towards more noise; covers the last-digit error of the closed forms.
SAFETY = 1.0 - 1e-9

#: Bits of a scale that a numeric search found. What is given up, a part of 2^-33, is below that of
#: `SAFETY`; last digits that differ by a part of 1e-15 straddle a step of this size once in 10^5 prices.
SCALE_BITS = 34

#: Parts of r that are given up one after the other until the price is certified: a curve that is
#: the sum of many rounded ones is not smooth to `SAFETY`. For 1e5 selections at epsilon 1e-4 and
#: delta 1e-20 a divergence of 5e-5 has 1e5 roundings of 1e-15 in it, a part of 2e-6.
RETREATS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)

#: Above this epsilon a sampled plan is priced as if every row took part: sampling hardly helps there.
LARGEST_SAMPLED_EPSILON = 100.0

#: Mu of one answer to those who take part in it, at most: twice the 95 % quantile of N(0, 1), so
#: that anyone who knows that a person took part, and holds two equally likely records of them, distinguishes
#: from one answer which it was in at most 95 % of cases (Phi(mu / 2)).
CLEAREST = 2 * 1.6448536269514722

#: Above this epsilon the recursion over selections is left out: its grid grows, and Renyi curves are as good.
LARGEST_RECURSION_EPSILON = 50.0

#: Accountants of plans in which selections or other noise stand beside Gaussians: the ones whose searches take long.
RECURSION, RENYI = "recursion over selections", "Renyi curves, tight conversion"
MIXED = frozenset({RECURSION, RENYI})

#: What was certified in this process, by costs and budget: scale and accountant; and the epsilons
#: of costs. The oldest go when there are too many.
_CERTIFIED: dict[str, tuple[float, str]] = {}
_SPENT: dict[str, float] = {}
MOST_KNOWN = 1024

Known = TypeVar("Known")

NOT_PURE = (
    "delta = 0 needs a plan of pure mechanisms only (Laplace, Gumbel, permute-and-flip); this one has Gaussian noise. "
    "Choose delta > 0."
)


@dataclass(frozen=True, kw_only=True)
class PricedPlan:
    """A plan and the scale r at which it keeps its budget. Public: a solver may read the noise of an ask."""

    plan: Plan
    budget: Budget
    rho_scale: float
    accountant: str

    def cost(self, name: str, turn: int = 0) -> TurnCost:
        """The cost of one draw of an ask at a turn; refuses what was not priced."""
        try:
            ask = self.plan[name]
        except KeyError:
            raise NotPricedError(
                f"the plan has no ask {name!r}; it holds {[a.name for a in self.plan.asks]}. Add "
                "it in plan(facts, budget)."
            ) from None
        if not 0 <= turn < ask.times:
            raise NotPricedError(f"ask {name!r} was priced for {ask.times} turns, but turn {turn + 1} was asked for.")
        return TurnCost(ask.noise, self.rho_scale * self._weights[name][turn], ask.sampling_rate, ask.offset)

    def branch(self, name: str) -> PricedPlan:
        """What is left to ask after a branch was chosen, at the same price."""
        return replace(self, plan=self.plan.branch(name))

    @cached_property
    def parts(self) -> tuple[PricedPlan, ...]:
        """What each part of the rows may be asked, at the same price."""
        return tuple(replace(self, plan=part) for part in self.plan.parts)

    @cached_property
    def _weights(self) -> dict[str, tuple[float, ...]]:
        return {a.name: a.weights() for a in self.plan.asks}

    @cached_property
    def _costs(self) -> TurnCosts:
        return TurnCosts.of(self.plan, self.rho_scale)

    @property
    def kappa(self) -> int:
        """Records' worth of movement between neighbours."""
        return self.budget.kappa

    @property
    def rho(self) -> float:
        """Total zCDP of the plan; an upper bound where rows are sampled, since sampling is not counted."""
        return self._costs.rho

    @property
    def mu(self) -> float:
        """Total GDP of the plan: exact for Gaussians, an upper bound for selections and sampled rows."""
        return self._costs.mu

    def epsilon(self, delta: float | None = None) -> float:
        """The smallest epsilon that an accountant certifies at `delta` (default: the budget's)."""
        delta = self.budget.delta if delta is None else delta
        if delta is None:
            raise BudgetError("this budget has no delta of its own; name one.")
        if self.parts:
            return max(part.epsilon(delta) for part in self.parts)
        asked = self.budget.epsilon if delta == self.budget.delta else None
        key = repr((self._costs.key(), delta, str(self.budget.relation), asked))
        known = _SPENT.get(key)
        return _remember(_SPENT, key, spent_epsilon(self._costs, delta, self.budget, asked)) if known is None else known


def forget_prices() -> None:
    """Forget what was certified in this process: for those who measure."""
    _CERTIFIED.clear()
    _SPENT.clear()


def _remember(memory: dict[str, Known], key: str, value: Known) -> Known:
    if len(memory) >= MOST_KNOWN:
        memory.pop(next(iter(memory)))
    memory[key] = value
    return value


def spent_epsilon(costs: TurnCosts, delta: float, budget: Budget, asked: float | None = None) -> float:
    """The smallest epsilon that any valid accountant certifies for these costs at `delta`.

    `asked` is an epsilon for which a calibration was made: where its delta is certified, it is not searched for again,
    which would only round it up.
    """
    if delta == 0 or costs.local:
        if not costs.all_pure:
            raise BudgetError(NOT_PURE)
        return costs.pure
    if costs.gaussian or costs.sampled:
        steps = costs.multipliers(budget.kappa) if costs.sampled else []
        exact = math.inf if costs.random else gaussian_epsilon(costs.mu, delta)
        return min(exact, pld.sampled_epsilon(steps, delta, budget.relation)) if steps else exact
    found = [renyi_epsilon(costs.renyi(), delta)]
    if costs.all_pure:
        found.append(costs.pure)
    stage = costs.stage() if 0 < found[0] <= 1.5 * LARGEST_RECURSION_EPSILON else None
    if stage is not None and not selections.too_long(stage):
        certified = asked is not None and selections.stage_delta(asked, stage) <= delta
        found.append(asked if certified and asked is not None else selections.stage_epsilon(delta, stage))
    return min(found)


def price(plan: Plan, budget: Budget, *, store: PriceStore | Literal["default"] | None = "default") -> PricedPlan:
    """Find the least noise with which `plan` keeps `budget`, rounding towards more noise.

    Parameters
    ----------
    plan : Plan
    budget : Budget
    store : PriceStore or None
        Where prices that take long to find are kept from process to process. By default the folder
        that the environment variable ``DPSPARSE_PRICES`` names, or that of caches on this system;
        ``DPSPARSE_PRICES=off``, or None: nowhere.

    Guarantee
    ---------
    What is returned keeps the budget: it was certified in this process for these costs and this
    budget, wherever the number came from (`_holds`).

    Examples
    --------
    >>> from dpsparse.accounting import price
    >>> from dpsparse.core import Ask, Budget, Noise, Plan
    >>> plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=10),))
    >>> priced = price(plan, Budget.approx(1.0, 1e-6))
    >>> round(priced.epsilon(), 6)
    1.0
    """
    if plan.coins is not None:
        plan.coins.check(budget.relation)
        return _price_parts(plan, budget)
    unit = TurnCosts.of(plan)
    _refuse_unpriceable(plan, unit, budget)
    key = repr((unit.key(), budget.epsilon, budget.delta, budget.rho, budget.mu, str(budget.relation)))
    known = _CERTIFIED.get(key)
    if known is None:
        found = PriceStore.default() if store == "default" else store
        known = _certified(unit, plan, budget, key, found if unit.mixed and budget.delta else None)
        _remember(_CERTIFIED, key, known)
    return PricedPlan(plan=plan, budget=budget, rho_scale=known[0], accountant=known[1])


def _certified(unit: TurnCosts, plan: Plan, budget: Budget, key: str, store: PriceStore | None) -> tuple[float, str]:
    """A scale that holds, and how it was found: the stored one if it does, else that of a search."""
    stored = None if store is None else store.read(key)
    if stored is not None and stored[1] in MIXED and _plausible(unit, budget, stored[0]):
        priced = PricedPlan(plan=plan, budget=budget, rho_scale=stored[0], accountant=stored[1])
        if _holds(priced):
            return stored
    scale, accountant = _scale(unit, budget)
    for part in RETREATS:
        priced = PricedPlan(plan=plan, budget=budget, rho_scale=scale * SAFETY * (1 - part), accountant=accountant)
        if _holds(priced):
            if store is not None and accountant in MIXED:
                store.write(key, priced.rho_scale, accountant)
            return priced.rho_scale, accountant
    raise BudgetError("pricing failed to certify the plan within its budget; nothing was read. Please report this.")


def _plausible(unit: TurnCosts, budget: Budget, r: float) -> bool:
    """Whether a stored scale is worth an evaluation.

    Not a hundred times of what zCDP allows, and not a part of 1e-6 below what Renyi curves do.
    """
    if r > 100 * budget.as_rho() / unit.weight or budget.epsilon is None or budget.delta is None:
        return False
    return renyi_delta(unit.gathered().scaled(r * (1 + 1e-6)).renyi(), budget.epsilon) > budget.delta


def _refuse_unpriceable(plan: Plan, unit: TurnCosts, budget: Budget) -> None:
    """Refuse a plan that no accountant can price under this budget; `unit` is its cost at r = 1."""
    if unit.empty:
        raise BudgetError("the plan asks for nothing, so there is nothing to price.")
    if plan.local and budget.relation is not Adjacency.REPLACE_ONE:
        raise BudgetError(
            "in the local model the collector of reports sees who reports, so only records are protected and not "
            "taking part. Use adjacency='replace-one'."
        )
    if budget.delta == 0 and not unit.all_pure:
        raise BudgetError(NOT_PURE)
    if unit.sampled:
        unit.turns()  # refuses what no loss distribution accounts for
    if budget.epsilon is None and unit.sampled:
        raise BudgetError(
            "a plan that samples rows is priced in (epsilon, delta) only; give epsilon and delta instead of rho or mu."
        )
    if budget.epsilon is not None and budget.delta and unit.mixed:
        _refuse_offsets(unit, budget.epsilon, "epsilon")


def _price_parts(plan: Plan, budget: Budget) -> PricedPlan:
    """Each part at the whole budget, by the accountant that suits it.

    Shares are changed so that one scale holds for all.

    The change is a rounding of the last digits, which `SAFETY` covers, and every part is certified
    once more.
    """
    each = [price(part, budget) for part in plan.parts]
    scale = each[0].rho_scale
    parts = tuple(p.plan.with_share(p.plan.share * (p.rho_scale / scale)) for p in each)
    names = " and ".join(dict.fromkeys(p.accountant for p in each))
    priced = PricedPlan(
        plan=replace(plan, parts=parts),
        budget=budget,
        rho_scale=scale,
        accountant=f"the more expensive of two parts, by {names}",
    )
    if not all(_holds(part) for part in priced.parts):
        raise BudgetError(
            "pricing failed to certify the parts of a plan within its budget; nothing was read. Please report this."
        )
    return priced


def _scale(unit: TurnCosts, budget: Budget) -> tuple[float, str]:
    if budget.epsilon is None:
        return _scale_for_rho(unit, budget.rho) if budget.rho is not None else _scale_for_mu(unit, budget)
    epsilon, delta = budget.epsilon, budget.delta
    assert delta is not None
    candidates: list[tuple[float, str]] = []
    if unit.all_pure:
        candidates.append(((epsilon / unit.pure) ** 2, "pure composition"))
    if delta > 0 and unit.gaussian:
        exact = 0.0
        if not unit.random:
            exact = gaussian_mu(epsilon, delta) ** 2 / (2 * unit.weight)
            candidates.append((exact, "exact Gaussian composition"))
        if unit.random or (unit.sampled and epsilon <= LARGEST_SAMPLED_EPSILON):
            steps = tuple(unit.turns())
            found = pld.sampled_rate(steps, epsilon, delta, budget.relation, exact * SAFETY, _floor(unit))
            if found == 0:
                raise BudgetError(
                    f"delta = {delta:g} is too small for a random number of turns: its law has too "
                    "heavy a tail. Choose a larger "
                    "delta, or fixed numbers of turns."
                )
            candidates.append((_same_everywhere(found), "privacy loss distribution"))
    elif delta > 0 and unit.mixed:
        candidates += _mixed(unit, epsilon, delta)
    return max(candidates)


def _same_everywhere(scale: float) -> float:
    """A scale of a numeric search rounded down to `SCALE_BITS`: another processor certifies the same one.

    Transforms and sums of arrays differ in their last digits between processors, and a run that goes
    on elsewhere must have the price at which it began.
    """
    mantissa, exponent = math.frexp(scale)
    return math.ldexp(math.floor(math.ldexp(mantissa, SCALE_BITS)), exponent - SCALE_BITS)


def _mixed(unit: TurnCosts, epsilon: float, delta: float) -> list[tuple[float, str]]:
    """Selections among other noise: the recursion, and Renyi curves unless they certify less."""
    found: list[tuple[float, str]] = []
    stage = unit.stage() if epsilon <= LARGEST_RECURSION_EPSILON else None
    if stage is not None:
        r = selections.calibrate_stage(epsilon, delta, stage, lambda r: unit.scaled(r * SAFETY).stage())
        found.append((r, RECURSION))
        if r > 0 and renyi_delta(unit.gathered().scaled(r).renyi(), epsilon) > delta:
            return found
    return [*found, (_renyi_scale(unit, epsilon, delta), RENYI)]


def _floor(unit: TurnCosts) -> float:
    r"""The largest r at which no answer that only some rows or some outcomes give is clearer than `CLEAREST`.

    Sampling and random lengths make answers rare for one person, and a delta that is larger than
    the chance of taking part would pay for answers without noise. So the answer itself, to a person
    who is known to take part, is held to mu <= `CLEAREST`: r w <= CLEAREST^2 / 2.
    """
    rare = [rho for answers, count in unit.turns() for q, rho in answers if q < 1 or not isinstance(count, int)]
    return CLEAREST**2 / (2 * max(rare)) if rare else math.inf


def _scale_for_rho(unit: TurnCosts, rho: float) -> tuple[float, str]:
    _refuse_offsets(unit, rho, "rho")
    if Noise.OBJECTIVE not in unit.kinds:
        return rho / unit.weight, "zCDP sum"
    return largest(lambda r: unit.scaled(r).rho <= rho, 0.0, rho / unit.weight), "zCDP sum"


def _scale_for_mu(unit: TurnCosts, budget: Budget) -> tuple[float, str]:
    mu = budget.mu
    assert mu is not None
    if unit.gaussian:
        return mu**2 / (2 * unit.weight), "exact Gaussian composition"
    for kind, what in (
        (Noise.OBJECTIVE, "a perturbed objective"),
        (Noise.DISCRETE_GAUSSIAN, "the exact discrete Gaussian"),
    ):
        if kind in unit.kinds:
            raise BudgetError(
                f"mu-GDP is not proven for {what}; give epsilon and delta, or rho, or another recipe or noise."
            )
    high = mu**2 / unit.weight
    while unit.scaled(high).mu <= mu:
        high *= 2
    return largest(lambda r: unit.scaled(r).mu <= mu, 0.0, high), "Gaussian composition of dominating curves"


def _refuse_offsets(unit: TurnCosts, budget: float, what: str) -> None:
    """A perturbed objective costs its offset whatever the noise: refuse where that alone takes the budget."""
    if unit.offset and unit.offset >= budget:
        raise BudgetError(
            f"the perturbed objective costs log(1 + beta/lambda) = {unit.offset:.4g} before any "
            "noise, which is not less than "
            f"{what} = {budget:.4g}. Use more regularisation (a larger alpha or ridge) or a larger budget."
        )


def _renyi_scale(unit: TurnCosts, epsilon: float, delta: float) -> float:
    """The largest r at which the Renyi curve keeps the budget, from below."""
    unit = unit.gathered()

    def excess(log_r: float) -> float:
        return renyi_log_delta(unit.scaled(math.exp(log_r)).renyi(), epsilon) - math.log(delta)

    low = math.log(Budget.approx(epsilon, delta).as_rho() / unit.weight)
    while excess(low) > 0:
        low -= 0.5
        if low < -700:
            return 0.0
    high = low + 0.25
    while excess(high) <= 0:
        low, high = high, high + 0.25
    return math.exp(largest_smooth(excess, low, high, 1e-10))


def _holds(priced: PricedPlan) -> bool:
    """Check after the search: never over budget."""
    budget = priced.budget
    if budget.epsilon is not None:
        return priced.epsilon() <= budget.epsilon * (1 + 1e-12)
    if budget.rho is not None:
        return priced.rho <= budget.rho
    assert budget.mu is not None
    return priced.mu <= budget.mu


def describe_ask(ask: Ask) -> str:
    """One line about an ask."""
    often = f"{ask.times} x" if ask.draws == 1 else f"{ask.times} x {ask.draws} x"
    law = "" if ask.law is None else f", a number {ask.law}"
    return f"{often} {ask.name} ({ask.noise}, {ask.rows}{law})"
