r"""What a search will cost and what each of its runs may spend, before anything is read.

`SearchPlan` shows both. `dearest_plan` finds the most that each run may cost, which is what the delta curves of the
candidates allow. Every candidate is priced at one :math:`\rho` of zCDP. The search is charged by a curve that all
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
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...accounting import PricedPlan
from ...accounting.costs.base import write_cost
from ...accounting.costs.fixed import FixedCost
from ...accounting.costs.plan import PlanCost
from ...accounting.domination import excess
from ...accounting.random_stopping import Geometric, Logarithmic, PoissonRuns, SearchCost, calibrate_search
from ...core import Adjacency
from ...core.codec import canonical_json
from ...core.plain import Printed
from ...core.words import statement_page
from .space import Parameters

if TYPE_CHECKING:
    from ...report.planner import PlannedAsk
    from .runs import Scoring


#: Candidates whose queries are printed.
MOST_SHOWN = 2


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """What the fit of one candidate would ask.

    Attributes
    ----------
    parameters : dict
    recipe : str
    asks : tuple of PlannedAsk
    notes : tuple of str
        Notes of its statement that do not depend on answers.
    """

    parameters: Parameters
    recipe: str
    asks: tuple[PlannedAsk, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SearchPlan(Printed):
    """The budget of a search.

    Attributes
    ----------
    bill : SearchCost
        What is paid, whatever number of runs is drawn.
    epsilon, delta : float
        The guarantee for the whole search.
    n_rows : int
        Public number of rows.
    training_rows, validation_rows : int
        Public number of rows that fit and that score.
    training_rho, score_rho : float
        zCDP of one fit and of one score.
    scoring : Scoring
    candidates : int or None
        Size of the space; None if it is not finite.
    sparse : bool
        Whether the plan is for rows that come sparse.
    runs : tuple of PlannedRun, or None
        What the fit of each candidate would ask; None where they are too many to list, or without end.
    score_asks : tuple of PlannedAsk
        What every run asks besides, for its score.
    """

    shown: ClassVar[tuple[str, ...]] = (
        *("epsilon", "delta", "adjacency", "law=bill.law.name", "mean_runs=bill.law.mean", "no_run=bill.law.none"),
        *("run_rho", "run_epsilon", "composed_epsilon", "training_rho", "score_rho", "score_deviation"),
        *("score=scoring", "n_rows", "training_rows", "validation_rows", "candidates", "sparse", "runs", "score_asks"),
    )

    bill: SearchCost
    epsilon: float
    delta: float
    n_rows: int
    training_rows: int
    validation_rows: int
    training_rho: float
    score_rho: float
    scoring: Scoring
    candidates: int | None
    sparse: bool = False
    runs: tuple[PlannedRun, ...] | None = None
    score_asks: tuple[PlannedAsk, ...] = ()

    @property
    def adjacency(self) -> Adjacency:
        """Which datasets count as neighbours."""
        return self.bill.adjacency

    @property
    def run(self) -> FixedCost:
        """What one run, a fit and its score, has to keep."""
        assert isinstance(self.bill.base, FixedCost)
        return self.bill.base

    @property
    def run_rho(self) -> float:
        """The zCDP of one run."""
        return self.run.rho

    @property
    def run_epsilon(self) -> float:
        """Epsilon of one run alone, at the same delta."""
        return self.bill.base.epsilon(self.delta)

    @property
    def score_deviation(self) -> float:
        """Standard deviation of the noise in a score."""
        return self.scoring.deviation(self.score_rho, self.validation_rows)

    @property
    def composed_epsilon(self) -> float:
        """Epsilon of publishing as many runs as are expected, each with its score, instead of the best one."""
        return self.bill.base.scaled(self.bill.law.mean).epsilon(self.delta)

    def _repr_html_(self) -> str:
        head = (
            f"A private search of ({self.epsilon:.6g}, {self.delta:.3g})-DP in all, "
            f"over about {self.bill.law.mean:.4g} runs."
        )
        return statement_page((), head, good=True, more=str(self))

    def __str__(self) -> str:
        from ...report.planner.asks import ask_lines, kind_of_rows

        law = self.bill.law
        same = self.training_rows + self.validation_rows > self.n_rows
        lines = [
            f"private search over {'infinitely many' if self.candidates is None else self.candidates} candidates on "
            f"{self.n_rows} {kind_of_rows(self.sparse)}, {self.adjacency}",
            f"  costs ({self.epsilon:.6g}, {self.delta:.3g})-DP in all: the best of a random, secret number of runs "
            f"({law.name} law, mean {law.mean:.4g})",
            f"  each run: ({self.run_epsilon:.4g}, {self.delta:.3g})-DP, rho = {self.run_rho:.4g}; "
            f"publishing {law.mean:.4g} such runs would cost epsilon {self.composed_epsilon:.4g}",
            f"  its fit: rho = {self.training_rho:.4g} on {self.training_rows} rows",
            f"  its score: {self.scoring.name}, losses within [0, {self.scoring.bound:.4g}], rho = "
            f"{self.score_rho:.4g} on {'the same' if same else self.validation_rows} rows; noise of standard "
            f"deviation {self.score_deviation:.3g}",
        ]
        lines += [f"  {line}" for line in ask_lines(self.score_asks)]
        for run in (self.runs or ())[:MOST_SHOWN]:
            lines.append(f"  its fit with {run.parameters}: {run.recipe}")
            lines += [f"  {line}" for line in ask_lines(run.asks)]
        if self.runs is None or len(self.runs) > MOST_SHOWN:
            lines.append("  the fits of other candidates are priced alike; to_dict() lists up to 256")
        if law.none:
            lines.append(f"  no run at all with probability {law.none:.2g}: the answer is then the start vector")
        return "\n".join(lines)


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
