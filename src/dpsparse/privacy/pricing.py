r"""Pricing: the least noise with which a plan keeps a budget.

Every turn of every ask has a weight :math:`w`; one number :math:`r` turns weights into noise through
:math:`\rho = r w`, the zCDP scale on which unlike mechanisms compare:

=================  ====================================  ==========================
noise              what one draw is                      from :math:`\rho`
=================  ====================================  ==========================
Gaussian           mu-GDP, sigma = sensitivity / mu      :math:`\mu = \sqrt{2\rho}`
Gumbel selection   eta-bounded range, b = range / eta    :math:`\eta = \sqrt{8\rho}`
Laplace            epsilon-DP, b = l1 sensitivity / eps  :math:`\epsilon = \sqrt{2\rho}`
permute-and-flip   epsilon-DP, b = 2 sensitivity / eps   :math:`\epsilon = \sqrt{2\rho}`
objective          a public offset, s = sensitivity / m  :math:`m = \sqrt{2\rho}`
=================  ====================================  ==========================

`price` finds the largest :math:`r` that a valid accountant certifies, then rounds it down. The accountant is chosen by
what the plan holds:

* only unsampled Gaussians: the exact composition :math:`\mu = \sqrt{\sum \mu_t^2}` and the exact curve;
* a Poisson-sampled ask: every Gaussian goes to one privacy loss distribution (`sampled`);
* selections or Laplace noise: exact Renyi curves with the tight conversion, the recursion of `selections`, and, where
  all is pure, plain addition; whichever certifies the least noise;
* perturbed objectives: Renyi curves, which hold their offset; not proven to be mu-GDP for any mu;
* discrete Gaussians: zCDP with the tight conversion, since an exact Gaussian curve is not proven for them.

Guarantee
---------
All noise is fixed by the plan before a row is read, so adaptive composition theorems apply: the solver may choose each
question from earlier answers, never its price. For a `Budget.approx(epsilon, delta)` the priced plan is
(epsilon, delta)-DP; for `Budget.zcdp` and `Budget.gdp` it is rho-zCDP or mu-GDP.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from . import sampled, selections
from .budget import Budget
from .curves import (
    ORDERS,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_renyi,
    laplace_renyi,
    largest,
    objective_renyi,
    objective_rho,
    pure_mu,
    pure_renyi,
    renyi_delta,
    renyi_epsilon,
    selection_mu,
    selection_renyi,
)
from .errors import BudgetError, NotPricedError
from .plan import Ask, Noise, Plan, PoissonRows, RandomTimes
from .stages import Counted, Stage

#: Rounding of r towards more noise; covers the last-digit error of the closed forms.
SAFETY = 1.0 - 1e-9

#: Above this epsilon a sampled plan is priced as if every row took part: sampling hardly helps there.
LARGEST_SAMPLED_EPSILON = 100.0

#: Above this epsilon the recursion over selections is left out: its grid grows, and Renyi curves are as good.
LARGEST_RECURSION_EPSILON = 50.0


@dataclass(frozen=True)
class Cost:
    """One draw: which noise, on which fraction of the rows, at which rho = r w, with which offset.

    With a `law` it stands for as many draws as that law gives, and is counted once.
    """

    noise: Noise
    rho: float
    rate: float = 1.0
    offset: float = 0.0
    law: RandomTimes | None = None

    @property
    def strength(self) -> float:
        """Mu of a Gaussian, eta of a selection, epsilon of a pure answer."""
        return math.sqrt((8 if self.noise is Noise.GUMBEL else 2) * self.rho)


def costs(plan: Plan, rate: float = 1.0) -> Counter[Cost]:
    """How often each cost occurs in a plan at scale `rate`."""
    counted: Counter[Cost] = Counter()
    for ask in plan.asks:
        if ask.noise is Noise.NONE:
            raise BudgetError(f"ask {ask.name!r} has no noise, so no budget can cover it. Use a private recipe.")
        q = ask.rows.rate if isinstance(ask.rows, PoissonRows) else 1.0
        if ask.law is not None:  # whatever was drawn
            counted[Cost(ask.noise, rate * ask.share / ask.law.mean, q, law=ask.law)] += 1
            continue
        for weight in ask.weights():
            counted[Cost(ask.noise, rate * weight, q, ask.offset)] += ask.draws
    return counted


@dataclass(frozen=True, kw_only=True)
class PricedPlan:
    """A plan and the scale r at which it keeps its budget. Public: a solver may read the noise of an ask."""

    plan: Plan
    budget: Budget
    rate: float
    accountant: str

    def cost(self, name: str, turn: int = 0) -> Cost:
        """The cost of one draw of an ask at a turn; refuses what was not priced."""
        try:
            ask = self.plan[name]
        except KeyError:
            raise NotPricedError(
                f"the plan has no ask {name!r}; it holds {[a.name for a in self.plan.asks]}. Add it in plan(facts, budget)."
            ) from None
        if not 0 <= turn < ask.times:
            raise NotPricedError(f"ask {name!r} was priced for {ask.times} turns, but turn {turn + 1} was asked for.")
        q = ask.rows.rate if isinstance(ask.rows, PoissonRows) else 1.0
        return Cost(ask.noise, self.rate * self._weights[name][turn], q, ask.offset)

    @cached_property
    def _weights(self) -> dict[str, tuple[float, ...]]:
        return {a.name: a.weights() for a in self.plan.asks}

    @property
    def kappa(self) -> int:
        """Records' worth of movement between neighbours."""
        return self.budget.kappa

    @cached_property
    def rho(self) -> float:
        """Total zCDP of the plan; an upper bound where rows are sampled, since sampling is not counted.

        Infinite where a number of turns is random: large orders of its law diverge.
        """
        return total_rho(costs(self.plan, self.rate))

    @cached_property
    def mu(self) -> float:
        """Total GDP of the plan: exact for Gaussians, an upper bound for selections and sampled rows."""
        return total_mu(costs(self.plan, self.rate))

    def epsilon(self, delta: float | None = None) -> float:
        """The smallest epsilon that an accountant certifies at `delta` (default: the budget's)."""
        delta = self.budget.delta if delta is None else delta
        if delta is None:
            raise BudgetError("this budget has no delta of its own; name one.")
        counted = costs(self.plan, self.rate)
        found = [spent_epsilon(counted, delta, self.budget)]
        within = 0 < found[0] <= 1.5 * LARGEST_RECURSION_EPSILON and delta > 0
        parts = _recursion_parts(self.plan, costs(self.plan)) if within else None
        if parts is not None:
            stage = Stage.from_shares(*parts).scaled(math.sqrt(self.rate))
            asked = self.budget.epsilon if delta == self.budget.delta else None
            if (
                asked is not None
                and selections.selection_delta(asked, stage.selections, stage.mu, laplaces=stage.laplaces) <= delta
            ):
                found.append(asked)  # what calibration certified; searching epsilon would only round it up again
            else:
                found.append(selections.selection_epsilon(delta, stage.selections, stage.mu, laplaces=stage.laplaces))
        return min(found)


def total_rho(counted: Counter[Cost]) -> float:
    """ZCDP of a composition."""
    if _random(counted):
        return math.inf
    return math.fsum(
        k * (objective_rho(c.strength, c.offset) if c.noise is Noise.OBJECTIVE else c.rho) for c, k in counted.items()
    )


def total_mu(counted: Counter[Cost]) -> float:
    """GDP of a composition, from the GDP of its parts."""
    if _random(counted):
        return math.inf
    square = 0.0
    for cost, count in counted.items():
        if cost.noise in (Noise.DISCRETE_GAUSSIAN, Noise.OBJECTIVE):
            return math.inf  # not proven
        one = {Noise.GAUSSIAN: lambda s: s, Noise.GUMBEL: selection_mu}.get(cost.noise, pure_mu)(cost.strength)
        square += count * one**2
    return math.sqrt(square)


def renyi(counted: Counter[Cost]) -> np.ndarray:
    """Renyi curve of a composition of unsampled mechanisms."""
    curve = np.zeros_like(ORDERS)
    for cost, count in counted.items():
        if cost.noise is Noise.OBJECTIVE:
            curve += count * objective_renyi(cost.strength, cost.offset)
            continue
        one = {
            Noise.GAUSSIAN: gaussian_renyi,
            Noise.DISCRETE_GAUSSIAN: gaussian_renyi,  # rho-zCDP: the same line, as a bound
            Noise.GUMBEL: selection_renyi,
            Noise.LAPLACE: laplace_renyi,
            Noise.PERMUTE_AND_FLIP: pure_renyi,
        }[cost.noise](cost.strength)
        curve += count * one
    return curve


def _kinds(counted: Counter[Cost]) -> set[Noise]:
    return {c.noise for c in counted}


def _random(counted: Counter[Cost]) -> bool:
    return any(c.law is not None for c in counted)


def _sampled(counted: Counter[Cost]) -> bool:
    """Whether only a privacy loss distribution accounts for it."""
    return any(c.rate < 1 for c in counted) or _random(counted)


def _only_gaussian(counted: Counter[Cost]) -> bool:
    return _kinds(counted) == {Noise.GAUSSIAN}


def _pure_total(counted: Counter[Cost]) -> float:
    return math.fsum(c.strength * k for c, k in counted.items())


def _sampled_steps(counted: Counter[Cost], kappa: int) -> list[sampled.SampledGaussian]:
    return [(c.rate, kappa / c.strength, c.law or k) for c, k in counted.items()]


def spent_epsilon(counted: Counter[Cost], delta: float, budget: Budget) -> float:
    """The smallest epsilon that any valid accountant certifies for these costs at `delta`."""
    pure = all(n.pure for n in _kinds(counted))
    if delta == 0:
        if not pure:
            raise BudgetError(
                "delta = 0 needs a plan of pure mechanisms only (Laplace, Gumbel, permute-and-flip); this one has Gaussian noise. Choose delta > 0."
            )
        return _pure_total(counted)
    if _only_gaussian(counted):
        exact = math.inf if _random(counted) else gaussian_epsilon(total_mu(counted), delta)
        if not _sampled(counted):
            return exact
        return min(exact, sampled.sampled_epsilon(_sampled_steps(counted, budget.kappa), delta, budget.relation))
    if _sampled(counted):
        raise BudgetError(
            "a plan that samples rows may hold Gaussian asks only: no valid account of sampled selections is known to us."
        )
    found = [renyi_epsilon(renyi(counted), delta)]
    if pure:
        found.append(_pure_total(counted))
    return min(found)


def price(plan: Plan, budget: Budget) -> PricedPlan:
    """Find the least noise with which `plan` keeps `budget`, rounding towards more noise.

    Examples
    --------
    >>> from dpsparse.privacy import Ask, Budget, Noise, Plan, price
    >>> plan = Plan(asks=(Ask(name="gradient", noise=Noise.GAUSSIAN, times=10),))
    >>> priced = price(plan, Budget.approx(1.0, 1e-6))
    >>> round(priced.epsilon(), 6)
    1.0
    """
    unit = costs(plan)
    if not unit:
        raise BudgetError("the plan asks for nothing, so there is nothing to price.")
    rate, accountant = _rate(plan, unit, budget)
    priced = PricedPlan(plan=plan, budget=budget, rate=rate * SAFETY, accountant=accountant)
    _certify(priced)
    return priced


def _rate(plan: Plan, unit: Counter[Cost], budget: Budget) -> tuple[float, str]:
    weight = math.fsum(c.rho * (c.law.mean if c.law else k) for c, k in unit.items())
    if budget.epsilon is None:
        if _sampled(unit):
            raise BudgetError(
                "a plan that samples rows is priced in (epsilon, delta) only; give epsilon and delta instead of rho or mu."
            )
        if budget.rho is not None:
            _refuse_offsets(unit, budget.rho, "rho")
            if Noise.OBJECTIVE not in _kinds(unit):
                return budget.rho / weight, "zCDP sum"
            rho = budget.rho
            return largest(lambda r: total_rho(_scaled(unit, r)) <= rho, 0.0, rho / weight), "zCDP sum"
        assert budget.mu is not None
        if _only_gaussian(unit):
            return budget.mu**2 / (2 * weight), "exact Gaussian composition"
        if Noise.OBJECTIVE in _kinds(unit):
            raise BudgetError(
                "mu-GDP is not proven for a perturbed objective; give epsilon and delta, or rho, or another recipe."
            )
        if Noise.DISCRETE_GAUSSIAN in _kinds(unit):
            raise BudgetError(
                "mu-GDP is not proven for the exact discrete Gaussian; use noise='lattice', or give epsilon and delta."
            )
        mu = budget.mu
        high = mu**2 / weight
        while total_mu(_scaled(unit, high)) <= mu:
            high *= 2
        return largest(
            lambda r: total_mu(_scaled(unit, r)) <= mu, 0.0, high
        ), "Gaussian composition of dominating curves"
    epsilon, delta = budget.epsilon, budget.delta
    assert delta is not None
    candidates: list[tuple[float, str]] = []
    pure = all(n.pure for n in _kinds(unit))
    if pure:
        candidates.append(((epsilon / _pure_total(unit)) ** 2, "pure composition"))
    if delta > 0:
        if _only_gaussian(unit):
            exact = 0.0
            if not _random(unit):
                exact = gaussian_mu(epsilon, delta) ** 2 / (2 * weight)
                candidates.append((exact, "exact Gaussian composition"))
            if _random(unit) or (_sampled(unit) and epsilon <= LARGEST_SAMPLED_EPSILON):
                steps = tuple((c.rate, c.rho, c.law or k) for c, k in unit.items())
                found = sampled.sampled_rate(steps, epsilon, delta, budget.relation, exact * SAFETY)
                candidates.append((found, "privacy loss distribution"))
        elif _sampled(unit):
            raise BudgetError(
                "a plan that samples rows may hold Gaussian asks only: no valid account of sampled selections is known to us."
            )
        else:
            _refuse_offsets(unit, epsilon, "epsilon")
            candidates.append((_renyi_rate(unit, epsilon, delta, weight), "Renyi curves, tight conversion"))
            parts = _recursion_parts(plan, unit) if epsilon <= LARGEST_RECURSION_EPSILON else None
            if parts is not None:
                found = selections.calibrate(epsilon, delta, parts[0], parts[1], laplace_shares=parts[2])
                candidates.append((found, "recursion over selections"))
    if not candidates:
        raise BudgetError(
            "delta = 0 needs a plan of pure mechanisms only (Laplace, Gumbel, permute-and-flip); this one has Gaussian noise. Choose delta > 0."
        )
    return max(candidates)


def _scaled(unit: Counter[Cost], rate: float) -> Counter[Cost]:
    return Counter({replace(c, rho=c.rho * rate): k for c, k in unit.items()})


def _recursion_parts(plan: Plan, unit: Counter[Cost]) -> tuple[Counted, float, Counted] | None:
    """Shares of selections in order, of all Gaussians, and of Laplace noises; None where the recursion does not apply."""
    ordered = plan.selections()
    if not ordered or _sampled(unit) or not _kinds(unit) <= {Noise.GUMBEL, Noise.GAUSSIAN, Noise.LAPLACE}:
        return None
    gaussian = math.fsum(c.rho * k for c, k in unit.items() if c.noise is Noise.GAUSSIAN)
    return ordered, gaussian, tuple((c.rho, k) for c, k in unit.items() if c.noise is Noise.LAPLACE)


def _refuse_offsets(unit: Counter[Cost], budget: float, what: str) -> None:
    """A perturbed objective costs its offset whatever the noise: refuse where that alone takes the budget."""
    offsets = math.fsum(c.offset * k for c, k in unit.items())
    if offsets >= budget:
        raise BudgetError(
            f"the perturbed objective costs log(1 + beta/lambda) = {offsets:.4g} before any noise, which is not less than "
            f"{what} = {budget:.4g}. Use more regularisation (a larger alpha or ridge) or a larger budget."
        )


def _renyi_rate(unit: Counter[Cost], epsilon: float, delta: float, weight: float) -> float:
    def holds(r: float) -> bool:
        return renyi_delta(renyi(_scaled(unit, r)), epsilon) <= delta

    high = Budget.approx(epsilon, delta).as_rho() / weight
    while holds(2 * high):
        high *= 2
    return largest(holds, 0.0, 2 * high, steps=48)


def _certify(priced: PricedPlan) -> None:
    """Check after the search: never over budget."""
    budget = priced.budget
    if budget.epsilon is not None:
        assert budget.delta is not None
        over = priced.epsilon() > budget.epsilon * (1 + 1e-12)
    elif budget.rho is not None:
        over = priced.rho > budget.rho
    else:
        assert budget.mu is not None
        over = priced.mu > budget.mu
    if over:
        raise BudgetError("pricing failed to certify the plan within its budget; nothing was read. Please report this.")


def describe(ask: Ask) -> str:
    """One line about an ask."""
    often = f"{ask.times} x" if ask.draws == 1 else f"{ask.times} x {ask.draws} x"
    law = "" if ask.law is None else f", a number {ask.law}"
    return f"{often} {ask.name} ({ask.noise}, {ask.rows}{law})"
