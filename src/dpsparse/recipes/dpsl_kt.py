"""Draft."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..facts import Clip, Facts
from ..privacy.budget import Budget
from ..solvers.screening import Screening
from ..solvers.transfer import Auxiliary, KnowledgeTransfer
from .base import centred, typical_target
from .dp_ight import default_sparsity


@dataclass(frozen=True, kw_only=True)
class DPSLKT:
    """Draft."""

    name: ClassVar[str] = "dpsl_kt"
    private: ClassVar[bool] = True
    penalties: ClassVar[tuple[str, ...]] = ("l2",)
    needs: ClassVar[tuple[str, ...]] = ()

    release: str = "theta"
    auxiliary: Any = None
    auxiliary_rows: int | None = None
    residual: float | None = None
    row_clip: float | None = None
    ridge: float | None = None
    selection: float = 0.5

    def view(self, facts: Facts) -> Facts:
        return centred(facts, facts.intercept > 0)

    def solver(self, facts: Facts, budget: Budget | None) -> KnowledgeTransfer:
        assert budget is not None
        s = min(facts.sparsity or default_sparsity(facts, budget, peel=True), facts.n_features)
        unit = typical_target(facts)
        R1 = 0.5 if facts.loss == "logistic" else unit / 5
        R = self.residual or (1.0 if facts.loss == "logistic" else unit)
        K = (self.row_clip or 1.0) * min(facts.norm_bound, math.hypot(math.sqrt(s) * facts.feature_bound, facts.intercept))
        mu = math.sqrt(2 * (1 - self.selection) * budget.as_rho())
        ridge = (self.ridge or 0.44) * K**2 * math.sqrt(budget.kappa * (R / unit) * facts.n_rows * facts.curvature / (mu * s))
        return KnowledgeTransfer(
            screening=Screening(count=s, clip=Clip(R1 * facts.norm_bound, R1 * facts.entry_bound), share=self.selection),
            clip=Clip(R * K, slope=R),
            row_norm=K,
            ridge=ridge,
            auxiliary=Auxiliary(rows=facts.n_rows, bound=facts.row_bound),
            release=self.release,
        )

    def assumptions(self, facts: Facts) -> tuple[str, ...]:
        return ()
