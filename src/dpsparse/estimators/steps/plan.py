"""How a pipeline divides its budget, before anything is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ...accounting.costs.base import Cost
from ...core import Adjacency, Budget
from ...core.plain import Printed
from ...core.words import statement_page

if TYPE_CHECKING:
    from ...report.planner import PlannedAsk


@dataclass(frozen=True, kw_only=True)
class PipelinePlan(Printed):
    """The budget of a pipeline.

    Attributes
    ----------
    bill : Bill
        What is paid for all steps together.
    epsilon, delta : float
        The promise for the whole.
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
