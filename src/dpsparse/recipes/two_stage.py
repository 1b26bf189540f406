"""Two-stage: private support selection, then objective perturbation on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..facts import Clip, Facts
from ..privacy.budget import Budget
from ..solvers.screening import Screening
from ..solvers.two_stage import SelectMinimise
from .base import centred, positive, typical_target, whole
from .dp_ight import default_sparsity


@dataclass(frozen=True, kw_only=True)
class TwoStage:
    """Draft."""

    name: ClassVar[str] = "two_stage"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    needs: ClassVar[tuple[str, ...]] = ()

    stage1: str = "scores"
    parts: int | None = None
    residual: float | None = None
    clip: float | None = None
    row_clip: float | None = None
    ridge: float | None = None
    selection: float = 0.7
    sresidual: float | None = None

    def view(self, facts: Facts) -> Facts:
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None) -> SelectMinimise:
        assert budget is not None
        s = min(facts.sparsity or default_sparsity(facts, budget, peel=True), facts.n_features)
        unit = typical_target(facts)
        R1 = self.sresidual or (0.5 if facts.loss == "logistic" else unit / 5)
        R = self.residual or (1.0 if facts.loss == "logistic" else unit)
        K = (self.row_clip or 1.0) * min(facts.norm_bound, math.hypot(math.sqrt(s) * facts.feature_bound, facts.intercept))
        beta = facts.curvature * K**2
        eps = budget.epsilon if budget.epsilon is not None else budget.as_rho()
        m = math.sqrt(2 * (1 - self.selection) * budget.as_rho())
        ridge = max(2 * beta / eps, (self.ridge or 0.6) * budget.kappa * (R / unit) * K**2 / m)
        parts = None if self.stage1 == "scores" else self.parts or 50
        return SelectMinimise(
            screening=Screening(count=s, clip=Clip(R1 * facts.norm_bound, R1 * facts.entry_bound), parts=parts, share=self.selection),
            clip=Clip(self.clip or R * K, slope=R),
            row_norm=K,
            ridge=ridge,
        )

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        return ()
