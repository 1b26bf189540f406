"""What a search will cost and what each of its runs gets, before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...accounting.costs.fixed import FixedCost
from ...accounting.random_stopping import SearchCost
from ...core import Adjacency
from ...core.plain import Printed
from ...core.words import statement_page
from .scoring import Scoring
from .space import Parameters

if TYPE_CHECKING:
    from ...report.planner import PlannedAsk


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
            f"{self.score_rho:.4g} on "
            f"{'the same' if same else self.validation_rows} rows; noise of standard deviation "
            f"{self.score_deviation:.3g}",
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
