"""DP-CD."""

from __future__ import annotations
import math
from dataclasses import dataclass
from typing import ClassVar
from ..facts import Facts
from ..privacy.budget import Budget
from ..privacy.plan import Noise
from ..solvers.cd import RandomCD
from .base import centred, positive, typical_target, whole
from .coordinate import column_squares


@dataclass(frozen=True, kw_only=True)
class DPCD:
    name: ClassVar[str] = "dp_cd"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")
    needs: ClassVar[tuple[str, ...]] = ()
    steps: int | None = None
    step_size: float = 1.0
    clip: float | None = None
    curvature: str = "average"
    order: str = "shuffled"
    order_seed: int = 0
    share: float = 0.02

    def view(self, facts: Facts) -> Facts:
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None) -> RandomCD:
        R = self.clip / facts.norm_bound if self.clip else typical_target(facts) / 3
        return RandomCD(
            steps=self.steps or 20,
            step_size=self.step_size,
            residual=R,
            squares=column_squares(facts, self.curvature, self.share),
            order=self.order,
            order_seed=self.order_seed,
        )

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        return ()
