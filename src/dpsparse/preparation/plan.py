"""How a pipeline divides its budget, before anything is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..accounting.costs.base import Bill
from ..privacy import Adjacency, Budget
from ..privacy.words import page


@dataclass(frozen=True, kw_only=True)
class PipelinePlan:
    """The budget of a pipeline.

    Attributes
    ----------
    bill : Bill
        What is paid for all steps together.
    epsilon, delta : float
        The promise for the whole.
    n_rows : int or None
        Public number of rows; None where a step counts them.
    shares : dict
        Part of the whole zCDP that each priced step gets, by name.
    budgets : dict
        The budget of each priced step.
    free : tuple of str
        Steps that cost nothing.
    outlooks : dict
        What to expect of some steps, by name.
    """

    bill: Bill
    epsilon: float
    delta: float
    n_rows: int | None
    shares: dict[str, float]
    budgets: dict[str, Budget]
    free: tuple[str, ...]
    outlooks: Mapping[str, str] = field(default_factory=dict)

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

    def to_dict(self) -> dict[str, object]:
        """Plain JSON types."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": str(self.adjacency),
            "n_rows": self.n_rows,
            "steps": [
                {"name": name, "share": share, "rho": self.budgets[name].as_rho()}
                for name, share in self.shares.items()
            ],
            "free": list(self.free),
            "outlooks": dict(self.outlooks),
        }

    def _repr_html_(self) -> str:
        head = f"A private pipeline of ({self.epsilon:.6g}, {self.delta:.3g})-DP in all."
        return page((), head, good=True, more=str(self))

    def __str__(self) -> str:
        rows = "a noisy count of" if self.n_rows is None else str(self.n_rows)
        lines = [
            f"private pipeline on {rows} rows, {self.adjacency}",
            f"  costs ({self.epsilon:.6g}, {self.delta:.3g})-DP in all",
        ]
        for name, share in self.shares.items():
            lines.append(f"  {name}: {100 * share:.3g} % of the budget, {self.budgets[name]}")
            if self.outlooks.get(name):
                lines.append(f"    {self.outlooks[name]}")
        lines.extend(f"  {name}: free" for name in self.free)
        return "\n".join(lines)
