r"""How much each run of a search may cost: the most that the delta curves of its candidates allow.

Every candidate is priced at one :math:`\rho` of zCDP. The search is charged by a curve that all
candidates are known to keep:

* the exact Gaussian curve, where every candidate was seen to be Gaussian;
* a Gaussian curve with a few per cent more :math:`\rho`, and a slack, where the curve of every
  candidate was seen to be below it (plans of selections and noise are close to Gaussian as a
  whole);
* the curve that zCDP implies, where candidates cannot be seen (too many, or without end) or neither
  holds.

Guarantee
---------
Whatever is compared is public: arguments and shape. A curve is used only after every candidate was
compared with it at the price that the curve gives. If a fit has :math:`\delta \le G_{\mu_1} + s`
and the score that follows is :math:`\mu_2`-GDP whatever the fit released, the run has
:math:`\delta \le G_\mu + s` with :math:`\mu^2 = \mu_1^2+\mu_2^2` (``docs/guarantees/search.md``).
"""

from __future__ import annotations

from collections.abc import Callable

from ...accounting import PricedPlan
from ...accounting.costs.base import write_cost
from ...accounting.costs.plan import PlanCost
from ...accounting.domination import excess
from ...accounting.random_stopping import Geometric, Logarithmic, PoissonRuns, SearchCost, calibrate_search
from ...core import Adjacency
from ...core.codec import canonical_json
from .plan import SearchPlan

#: Most candidates whose curves are compared; one takes about a second, equal plans are compared once.
COMPARED = 32
#: Part of delta that the slack of all runs may take.
SLACK = 1e-3
#: An excess beyond this gains nothing: the Gaussian curve itself gains 10 % of mu, 21 % of rho, over zCDP.
LARGEST_EXCESS = 0.2


def dearest_plan(
    epsilon: float,
    delta: float,
    law: Logarithmic | Geometric | PoissonRuns,
    adjacency: Adjacency,
    planned: Callable[[SearchCost], SearchPlan],
    prices: Callable[[SearchPlan], list[PricedPlan] | None],
) -> SearchPlan:
    """The plan that gives each run the most.

    Parameters
    ----------
    epsilon, delta : float
        For the whole search.
    law
        Of the number of runs.
    adjacency : Adjacency
    planned : (bill) -> SearchPlan
    prices : (plan) -> list of PricedPlan, or None
        Of all candidates at the price of a plan; None where they cannot be seen.
    """

    def calibrated(*, gaussian: bool, excess: float = 0.0, slack: float = 0.0) -> SearchPlan:
        return planned(
            calibrate_search(epsilon, delta, law, gaussian=gaussian, adjacency=adjacency, excess=excess, slack=slack)
        )

    plan = calibrated(gaussian=True)
    seen = prices(plan)
    if seen is not None and all(priced.mu**2 <= 2 * plan.training_rho for priced in seen):
        return plan
    careful = calibrated(gaussian=False)
    seen = prices(careful)
    if seen is None or len(seen) > COMPARED:
        return careful
    slack = SLACK * delta / law.mean
    needed = _needed(seen, careful, slack)
    if needed >= LARGEST_EXCESS:
        return careful
    near = calibrated(gaussian=True, excess=1.02 * needed + 1e-3, slack=slack)  # it hardly changes with the price
    if near.run_rho > careful.run_rho and _needed(prices(near) or [], near, slack) <= near.run.excess:
        return near
    return careful


def _needed(seen: list[PricedPlan], plan: SearchPlan, slack: float) -> float:
    """The largest excess of a candidate."""
    bills = [PlanCost.of(priced) for priced in seen]
    different = {canonical_json(write_cost(bill)): bill for bill in bills}
    return max((excess(bill, plan.training_rho, slack) for bill in different.values()), default=float("inf"))
