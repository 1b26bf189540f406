"""How a pipeline divides its budget among its steps, before anything is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ...accounting.costs.base import Cost
from ...accounting.costs.fixed import FixedCost, calibrate
from ...accounting.costs.plan import PlanCost
from ...accounting.costs.unit import bare_cost
from ...core import Adjacency, Budget, BudgetError, PrivacyError, checks
from ...core.plain import Printed
from ...core.words import statement_page
from ...fitting import FitPlan
from ..linear import SparseLinear
from .priced import PrivateStep
from .private_bounds import PrivateBounds
from .scaler import NoisyCount, PrivateScaler

if TYPE_CHECKING:
    from ...report.planner import PlannedAsk

#: Part of the whole zCDP that a preparing step gets unless the user says otherwise; the model gets the rest.
SHARES: dict[type, float] = {NoisyCount: 0.01, PrivateScaler: 0.02, PrivateBounds: 0.1}


@dataclass(frozen=True, kw_only=True)
class PipelinePlan(Printed):
    """The budget of a pipeline.

    Attributes
    ----------
    bill : Cost
        What is paid for all steps together.
    epsilon, delta : float
        The guarantee for the whole.
    n_rows : int or None
        Public number of rows; None where a step counts them.
    sparse : bool
        Whether the plan is for rows that come sparse.
    shares : dict
        Part of the whole zCDP that each priced step gets, by name.
    budgets : dict
        The budget of each priced step.
    free : tuple of str
        Steps that cost nothing.
    outlooks : dict
        What to expect of some steps, by name.
    asks : dict
        Queries of each priced step, by name, as tuples of `dpsparse.report.planner.PlannedAsk`. The model
        is missing where its columns cannot be foreseen.
    notes : tuple of str
        Notes of the statement that do not depend on answers.
    learned : tuple of str
        Steps that release bounds or a number of rows. The model's queries depend on these, so those
        of `asks` are foreseen, for columns that fill their declared bounds; its budget is fixed.
        Empty: the model asks what is shown.
    """

    shown: ClassVar[tuple[str, ...]] = (
        *("epsilon", "delta", "adjacency", "n_rows", "sparse", "steps", "free", "outlooks", "notes", "learned"),
    )

    bill: Cost
    epsilon: float
    delta: float
    n_rows: int | None
    sparse: bool
    shares: dict[str, float]
    budgets: dict[str, Budget]
    free: tuple[str, ...]
    outlooks: Mapping[str, str] = field(default_factory=dict)
    asks: Mapping[str, tuple[PlannedAsk, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether only the model has a price; it then uses the whole budget in its own way, and `bill` is foreseen."""
        return len(self.shares) == 1

    @property
    def accountant(self) -> str:
        """How the steps were composed."""
        return f"{'Gaussian' if self.bill.mu() < math.inf else 'zCDP'} composition of {len(self.shares)} steps"

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets count as neighbours."""
        return self.bill.adjacency

    @property
    def steps(self) -> list[dict[str, object]]:
        """Each priced step with its share, its zCDP and its queries."""
        return [
            {"name": name, "share": share, "rho": self.budgets[name].as_rho(), "asks": self.asks.get(name)}
            for name, share in self.shares.items()
        ]

    def _repr_html_(self) -> str:
        head = f"A private pipeline of ({self.epsilon:.6g}, {self.delta:.3g})-DP in all."
        return statement_page((), head, good=True, more=str(self))

    def __str__(self) -> str:
        from ...report.planner.asks import ask_lines, kind_of_rows

        rows = "a noisy count of" if self.n_rows is None else str(self.n_rows)
        lines = [
            f"private pipeline on {rows} {kind_of_rows(self.sparse)}, {self.adjacency}",
            f"  costs ({self.epsilon:.6g}, {self.delta:.3g})-DP in all",
        ]
        for name, share in self.shares.items():
            lines.append(f"  {name}: {100 * share:.3g} % of the budget, {self.budgets[name]}")
            if self.outlooks.get(name):
                lines.append(f"    {self.outlooks[name]}")
            lines += [f"  {line}" for line in ask_lines(self.asks.get(name, ()))]
            lines += (
                []
                if name in self.asks
                else ["    asks what cannot be foreseen: a step before it may change its columns"]
            )
        lines += [f"  {note}" for note in self.notes]
        if self.learned:
            *_, model = self.shares
            lines.append(
                f"  what {model} asks may change with what {', '.join(self.learned)} will release; its budget does not"
            )
        lines.extend(f"  {name}: free" for name in self.free)
        return "\n".join(lines)


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
        return shares, {model: whole}, promise(whole, gaussian=False) if bill is None else bill
    careful = promise(whole, gaussian=whole.mu is not None)
    budgets = budgets_of(careful, shares)
    foreseen = prepared(budgets[model])  # refuses a model that cannot be priced
    if foreseen is not None:
        refuse_local(foreseen)
    bill = None if foreseen is None or foreseen.bill is None else bare_cost(foreseen.bill)
    discrete = any(step.noise == "exact" for step in priced.values())  # rho-zCDP, and not proven to be mu-GDP
    if (
        discrete
        or careful.gaussian
        or whole.rho is not None
        or not isinstance(bill, PlanCost)
        or not bill.account.exact
    ):
        return shares, budgets, careful
    exact = promise(whole, gaussian=True)
    return shares, budgets_of(exact, shares), exact


def budgets_of(total: FixedCost, shares: Mapping[str, float]) -> dict[str, Budget]:
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
            f"shares names {unknown[0]!r}, which is not a priced step before the model; those are "
            f"{before}. The model gets the rest."
        )
    shares = {name: chosen.get(name, SHARES[type(priced[name])]) for name in before}
    if not all(checks.is_number(s) and 0 < s < 1 for s in shares.values()) or math.fsum(shares.values()) >= 1:
        raise BudgetError(f"shares must be positive and leave something for the model, got {shares}.")
    return {**shares, model: 1.0 - math.fsum(shares.values())}


def promise(whole: Budget, *, gaussian: bool) -> FixedCost:
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
