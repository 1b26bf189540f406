"""DP-GCD."""

from __future__ import annotations
import math
from dataclasses import dataclass
from typing import ClassVar
from ..facts import Facts
from ..privacy.budget import Budget
from ..privacy.plan import Noise
from ..solvers.gcd import GreedyCD
from .base import centred, positive, typical_target, whole
from .coordinate import column_squares


@dataclass(frozen=True, kw_only=True)
class DPGCD:
    name: ClassVar[str] = "dp_gcd"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "box")
    needs: ClassVar[tuple[str, ...]] = ()
    steps: int | None = None
    step_size: float = 1.0
    clip: float | None = None
    rule: str = "gs-r"
    mechanism: str = "gumbel"
    curvature: str = "average"
    selection: float = 0.5
    share: float = 0.02

    def view(self, facts: Facts) -> Facts:
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None) -> GreedyCD:
        R = self.clip / facts.norm_bound if self.clip else typical_target(facts) / 3
        return GreedyCD(
            rule=self.rule,
            steps=self.steps or 20,
            step_size=self.step_size,
            residual=R,
            squares=column_squares(facts, self.curvature, self.share),
            selection=self.selection,
            selection_noise=Noise.GUMBEL if self.mechanism == "gumbel" else Noise.PERMUTE_AND_FLIP,
            noise=Noise.GAUSSIAN if self.mechanism == "gumbel" else Noise.LAPLACE,
        )

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        return ()
