"""Dividing one budget among the steps of a pipeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ...accounting.costs.base import Cost
from ...accounting.costs.fixed import FixedCost, calibrate
from ...core import Budget, BudgetError, PrivacyError, checks
from ...fitting import FitPlan
from ..linear import SparseLinear
from .count import NoisyCount
from .priced import PrivateStep
from .private_bounds import PrivateBounds
from .scaler import PrivateScaler

#: Part of the whole zCDP that a preparing step gets unless the user says otherwise; the model gets the rest.
SHARES: dict[type, float] = {NoisyCount: 0.01, PrivateScaler: 0.02, PrivateBounds: 0.1}


def divided(
    whole: Budget,
    given: Mapping[str, float] | None,
    priced: Mapping[str, PrivateStep | SparseLinear],
    prepared: Callable[[Budget], FitPlan | None],
) -> tuple[dict[str, float], dict[str, Budget], Cost]:
    """Shares and budgets of the priced steps, by name, and the bill of all of them.

    Parameters
    ----------
    whole : Budget
    given : mapping or None
        Shares that the user chose for some of the preparing steps.
    priced : mapping
        Priced steps by name, the model last.
    prepared : function of a budget
        What the model would ask with it, as far as that can be foreseen; or None.
    """
    shares = shares_of(priced, given)
    *before, model = shares
    if not before:  # alone, it may use any accountant
        foreseen = prepared(whole)
        bill = None if foreseen is None else foreseen.bill
        return shares, {model: whole}, _promise(whole, gaussian=False) if bill is None else bill
    careful = _promise(whole, gaussian=whole.mu is not None)
    budgets = _budgets(careful, shares)
    foreseen = prepared(budgets[model])  # refuses a model that cannot be priced
    if foreseen is not None:
        refuse_local(foreseen)
    bill = None if foreseen is None else foreseen.bill
    discrete = any(step.noise == "exact" for step in priced.values())  # rho-zCDP, and not proven to be mu-GDP
    if discrete or careful.gaussian or whole.rho is not None or bill is None or not bill.account.exact:
        return shares, budgets, careful
    exact = _promise(whole, gaussian=True)
    return shares, _budgets(exact, shares), exact


def _budgets(total: FixedCost, shares: Mapping[str, float]) -> dict[str, Budget]:
    """The parts of a total, in its language."""
    if total.gaussian:
        return {name: Budget.gdp(math.sqrt(share) * total.mu(), total.adjacency) for name, share in shares.items()}
    return {name: Budget.zcdp(share * total.rho, total.adjacency) for name, share in shares.items()}


def shares_of(priced: Mapping[str, object], given: Mapping[str, float] | None) -> dict[str, float]:
    """Part of the whole for each priced step; they add up to 1."""
    chosen = {} if given is None else dict(given)
    *before, model = priced
    unknown = [name for name in chosen if name not in before]
    if unknown:
        raise BudgetError(
            f"shares names {unknown[0]!r}, which is not a priced step before the model; those are {before}. The model gets the rest."
        )
    shares = {name: chosen.get(name, SHARES[type(priced[name])]) for name in before}
    if not all(checks.is_number(s) and 0 < s < 1 for s in shares.values()) or math.fsum(shares.values()) >= 1:
        raise BudgetError(f"shares must be positive and leave something for the model, got {shares}.")
    return {**shares, model: 1.0 - math.fsum(shares.values())}


def _promise(whole: Budget, *, gaussian: bool) -> FixedCost:
    """The whole budget in zCDP or GDP."""
    if whole.epsilon is None:
        return FixedCost(whole.as_rho(), gaussian, whole.relation)
    assert whole.delta is not None
    return calibrate(whole.epsilon, whole.delta, lambda rho: FixedCost(rho, gaussian, whole.relation))


def refuse_local(prepared: FitPlan) -> None:
    """Refuse a model whose rows never leave their devices behind a step that reads them all."""
    if prepared.plan.local:
        raise PrivacyError(
            f"recipe {prepared.recipe.name!r} randomises on devices, but a step before it reads all rows in one place. "
            "Use per-record steps only, or a central recipe."
        )
